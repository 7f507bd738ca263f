"""Tab: names of commands and what they take, each with its line of help."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from domain.text import inert
from interfaces.terminal.command_context import Choices


class CommandCompleter(Completer):
    """Completes the first line of what looks like a command; a message is left alone."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What may stand at the cursor."""
        before = document.text_before_cursor
        if not before.startswith("/") or "\n" in document.text:
            return
        *words, part = before.split(" ")
        for choice in self._choices(tuple(word for word in words if word)):
            if choice.text.lower().startswith(part.lower()):
                yield Completion(choice.text, -len(part), display_meta=inert(choice.help))


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
