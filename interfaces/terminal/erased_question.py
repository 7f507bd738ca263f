"""The question before something that was erased comes back with a file: whether to leave it out.

Where no one can answer it is left out, with a line that says how to bring it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from interfaces.messages import Words
from interfaces.terminal.command_context import is_no
from interfaces.terminal.line_source import Reader
from interfaces.terminal.screen import Screen


@dataclass(frozen=True)
class ErasedQuestion:
    """Asks at a terminal. ``reader`` is None where no one can answer; ``with_erased`` was said beforehand."""

    words: Words
    screen: Screen
    reader: Reader | None
    with_erased: bool

    def leaves_out(self, count: int | None, path: Path) -> bool:
        """Whether to leave out what was erased, so many things; None where the present memory cannot say."""
        if count is None:
            self.screen.line(self.words.say("erased.unknown"), "warning")
            return True
        found = {"things": self.words.count("thing", count), "path": path}
        if self.with_erased:
            self.screen.line(self.words.say("erased.brought_back", **found), "warning")
            return False
        if self.reader is None:
            self.screen.line(self.words.say("erased.left_out", **found), "warning")
            return True
        return not is_no(self.reader.ask_question(self.words.say("erased.ask", **found) + " ") or "")
