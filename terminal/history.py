"""What was typed at the prompt, kept across runs in a file that only its owner may read.

One JSON string a line. A file that cannot be written never stops the program: the history then
lives as long as it does. ``scrub`` takes a text out of the file, for erasing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from errors import StorageError
from storage.files import replace_file
from text import clean

#: How many entries are kept when the file is next opened.
_KEPT = 5_000


class PromptHistory(History):
    """The history of the prompt. ``writing`` tells whether anything may be written now."""

    def __init__(self, path: Path, writing: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._path = path
        self._writing = writing
        self._remembering = False

    def load_history_strings(self) -> Iterable[str]:
        """What the file holds, newest first."""
        return reversed(_shortened(self._path))

    def store_string(self, string: str) -> None:
        """Add an entry to the file."""
        if self._remembering or not self._writing():
            return
        line = json.dumps(clean(string), ensure_ascii=False) + "\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(line)
        except OSError:
            return

    def remember(self, text: str) -> None:
        """Bring a line back with Up as long as the program runs, without writing it down."""
        self._remembering = True
        try:
            self.append_string(text)
        finally:
            self._remembering = False

    def forget(self, text: str) -> None:
        """Take every entry that holds this text out of the file and out of memory."""
        scrub(self._path, text)
        self._loaded_strings = [entry for entry in self._loaded_strings if not _holds(entry, text)]


def scrub(path: Path, text: str) -> int:
    """Take every entry that holds ``text`` out of a history file. Returns how many went.

    Case does not count. Raises StorageError when the file cannot be replaced.
    """
    entries = _read(path)
    kept = [entry for entry in entries if not _holds(entry, text)]
    if len(kept) < len(entries):
        _write(path, kept)
    return len(entries) - len(kept)


def _holds(entry: str, text: str) -> bool:
    return bool(text.strip()) and text.strip().casefold() in entry.casefold()


def _shortened(path: Path) -> list[str]:
    entries = _read(path)
    if len(entries) > 2 * _KEPT:
        entries = entries[-_KEPT:]
        with suppress(StorageError):
            _write(path, entries)
    return entries


def _read(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    return [entry for line in lines if (entry := _entry(line))]


def _entry(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    return clean(entry) if isinstance(entry, str) else ""


def _write(path: Path, entries: Iterable[str]) -> None:
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    replace_file(path, lines.encode("utf-8"))
