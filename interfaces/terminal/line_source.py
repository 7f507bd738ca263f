"""Where the next line comes from: an editor line in a terminal, or plain lines."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TextIO

from domain.text import clean
from interfaces.interrupting import Wishes
from interfaces.terminal.parsing import Typed, is_block_mark
from interfaces.terminal.screen import Screen

PROMPT = "> "
#: Seconds within which a second Ctrl-C at an empty prompt leaves.
TWICE_WITHIN = 2.0
#: Seconds between two looks at whether Ctrl-C was pressed.
_LOOK = 0.05


class Reader(Protocol):
    """Reads what a person types."""

    def read(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next line, or lines. None: the person leaves.

        ``prefill`` stands there to be edited, or ``selected``: to be sent as it is or replaced by what is typed.
        """
        ...

    def ask(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off."""
        ...

    def watch(self) -> None:
        """Take in what is typed while a reply streams, so that it is not echoed."""
        ...

    def lent(self) -> AbstractContextManager[None]:
        """The terminal is another program's inside of this, an editor's."""
        ...


class PlainReader:
    """Lines of standard input, as the terminal or the pipe gives them; nothing is drawn."""

    def __init__(self, stdin: TextIO, screen: Screen, wishes: Wishes, hint: Callable[[], None]) -> None:
        self._descriptor = stdin.fileno()
        self._screen = screen
        self._wishes = wishes
        self._hint = hint
        self._held = b""
        self._ended = False
        self._interactive = stdin.isatty()

    def read(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next line, or block of lines. What is offered again is shown; an empty line sends it."""
        if prefill:
            self._screen.line(prefill, "quiet")
        self._wishes.begin()
        hinted: float | None = None
        while True:
            self._prompt(PROMPT)
            line = self._line()
            if line is not None and not is_block_mark(line):
                return Typed(line or prefill, kept=not line)
            if line is not None and (block := self._block()) is not None:
                return Typed(block, kept=False, block=True)
            twice = hinted is not None and time.monotonic() - hinted <= TWICE_WITHIN
            if self._ended or (twice and not self._held):
                if self._interactive:
                    self._screen.line()
                return None
            self._screen.line()
            self._hint()
            hinted = time.monotonic()

    def ask(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off."""
        self._prompt(question)
        with _Silence(self._descriptor, hidden and self._interactive):
            line = self._line()
        if line is None or hidden:
            self._screen.line()
        return None if line is None else line.strip() or default

    def watch(self) -> None:
        """Nothing is echoed here that is not the terminal's own doing."""

    def lent(self) -> AbstractContextManager[None]:
        """The terminal was never changed."""
        return nullcontext()

    def _prompt(self, text: str) -> None:
        if self._interactive:
            self._screen.spans([(text, ("words",))])

    def _block(self) -> str | None:
        """The lines up to the mark that ends the block, or to the end of input; None when it was broken off."""
        lines: list[str] = []
        while True:
            self._prompt(" " * len(PROMPT))
            line = self._line()
            if line is None and (self._wishes.leaving or not self._ended):
                return None
            if line is None or is_block_mark(line):
                return "\n".join(lines)
            lines.append(line)

    def _line(self) -> str | None:
        """One line without its end; None at the end of input, or when Ctrl-C was pressed."""
        while b"\n" not in self._held:
            if self._wishes.stop.is_set:
                self._ended = self._wishes.leaving
                self._wishes.begin()
                return None
            if not select.select([self._descriptor], [], [], _LOOK)[0]:
                continue
            part = os.read(self._descriptor, 65536)
            if not part:
                self._ended = True
                break
            self._held += part
        if not self._held and self._ended:
            return None
        line, _, self._held = self._held.partition(b"\n")
        return clean(line.decode("utf-8", "replace"))


class _Silence:
    """No echo while a secret is typed."""

    def __init__(self, descriptor: int, wanted: bool) -> None:
        self._descriptor = descriptor
        self._wanted = wanted

    def __enter__(self) -> None:
        if self._wanted:
            import termios

            self._before = termios.tcgetattr(self._descriptor)
            silent = [*self._before]
            silent[3] &= ~termios.ECHO
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, silent)

    def __exit__(self, *fault: object) -> None:
        if self._wanted:
            import termios

            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
