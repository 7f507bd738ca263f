"""What was typed at the prompt, kept across runs in a file that only its owner may read.

One JSON string a line. A file that cannot be written never stops the program: the history then
lives as long as it does. ``scrub`` takes a text out of the file, for erasing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from domain.errors import StorageError
from domain.files import replace_file
from domain.text import clean_text

#: How many entries are kept when the file is next opened.
_KEPT = 5_000


def load_entries(path: Path) -> list[str]:
    """The entries, oldest first; a file that has grown long is shortened."""
    entries = _read_lines(path)
    if len(entries) > 2 * _KEPT:
        entries = entries[-_KEPT:]
        with suppress(StorageError):
            _write_entries(path, entries)
    return entries


def add_entry(path: Path, entry: str) -> None:
    """Add an entry at the end, if the file can be written."""
    line = json.dumps(clean_text(entry), ensure_ascii=False) + "\n"
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(line)


def scrub_history(path: Path, texts: Sequence[str]) -> None:
    """Take every entry that holds one of these texts out of a history file, in any case.

    Raises StorageError when the file cannot be replaced.
    """
    entries = _read_lines(path)
    kept = [entry for entry in entries if not any(contains_text(entry, text) for text in texts)]
    if len(kept) < len(entries):
        _write_entries(path, kept)


def contains_text(entry: str, text: str) -> bool:
    """Whether an entry says this, in any case."""
    return bool(text.strip()) and text.strip().casefold() in entry.casefold()


def _read_lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    return [entry for line in lines if (entry := _join_entry(line))]


def _join_entry(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    return clean_text(entry) if isinstance(entry, str) else ""


def _write_entries(path: Path, entries: Iterable[str]) -> None:
    lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    replace_file(path, lines.encode("utf-8"))
