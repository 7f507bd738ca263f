"""The history of the prompt, as prompt_toolkit wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit.history import History

from interfaces.terminal import history_file


class PromptHistory(History):
    """Up, Down and Ctrl-R go through it. ``writing`` tells whether anything may be written now."""

    def __init__(self, path: Path, writing: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._path = path
        self._writing = writing
        self._remembering = False

    def load_history_strings(self) -> Iterable[str]:
        """What the file holds, newest first."""
        return reversed(history_file.load(self._path))

    def store_string(self, string: str) -> None:
        """Add an entry to the file."""
        if not self._remembering and self._writing():
            history_file.add(self._path, string)

    def remember(self, text: str) -> None:
        """Bring a line back with Up as long as the program runs, without writing it down."""
        self._remembering = True
        try:
            self.append_string(text)
        finally:
            self._remembering = False

    def forget(self, text: str) -> None:
        """Take every entry that holds this text out of the file and out of memory."""
        history_file.scrub(self._path, text)
        self._loaded_strings = [
            entry for entry in self._loaded_strings if not history_file.holds(entry, text)
        ]
