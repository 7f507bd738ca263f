"""What the line editor offers of its own: earlier lines with Up, Down and Ctrl-R, commands and names with Tab."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from domain.text import inert
from interfaces.terminal import history_file
from interfaces.terminal.attaching import begun_path, paths_for
from interfaces.terminal.command_context import Choices


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
        history_file.scrub(self._path, [text])
        self._loaded_strings = [
            entry for entry in self._loaded_strings if not history_file.holds(entry, text)
        ]


class MessageCompleter(Completer):
    """Completes the first line of what looks like a command, and in a message the name of a file behind ``@``."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What may stand at the cursor."""
        before = document.text_before_cursor
        if not before.startswith("/") or "\n" in document.text:
            yield from _files(document.current_line_before_cursor)
            return
        *words, part = before.split(" ")
        if words[:1] == ["/import"]:
            yield from (Completion(path, -len(part)) for path in paths_for(part))
        for choice in self._choices(tuple(word for word in words if word)):
            if choice.text.lower().startswith(part.lower()):
                yield Completion(choice.text, -len(part), display_meta=inert(choice.help))


def _files(before: str) -> Iterable[Completion]:
    begun = begun_path(before)
    if begun is not None:
        for path in paths_for(begun):
            yield Completion(path, -len(begun))


class ListCompleter(Completer):
    """Completes from a list of names, for questions."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The names that hold what was typed, those that begin with it first."""
        part = document.text_before_cursor
        found = [name for name in self._names if part.lower() in name.lower()]
        for name in sorted(found, key=lambda name: not name.lower().startswith(part.lower())):
            yield Completion(name, -len(part))
