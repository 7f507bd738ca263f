"""Where the next line comes from: an editor line in a terminal, or plain lines."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TextIO

from domain.text import clean_text
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

    def read_input(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next line, or lines. None: the person leaves.

        ``prefill`` is there to be edited, or ``selected``: sent as it is or replaced by what is typed.
        """
        ...

    def ask_question(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off."""
        ...

    def watch_typing(self) -> None:
        """Take in what is typed while a reply streams, so that it is not echoed."""
        ...

    def lend_terminal(self) -> AbstractContextManager[None]:
        """Give the terminal to another program, such as an editor, inside this block."""
        ...


class PlainReader:
    """Lines of standard input, as the terminal or the pipe gives them; nothing is drawn."""

    def __init__(self, stdin: TextIO, screen: Screen, wishes: Wishes, hint: Callable[[], None]) -> None:
        self._descriptor = stdin.fileno()
        self._screen = screen
        self._wishes = wishes
        self._hint = hint
        self._unread = b""
        self._ended = False
        self._interactive = stdin.isatty()

    def read_input(self, prefill: str = "", *, selected: bool = False) -> Typed | None:
        """The next line, or block of lines. What is offered again is shown; an empty line sends it."""
        if prefill:
            self._screen.line(prefill, "quiet")
        self._wishes.begin()
        hinted: float | None = None
        while True:
            self._show_prompt(PROMPT)
            line = self._read_line()
            if line is not None and not is_block_mark(line):
                return Typed(line or prefill, kept=not line)
            if line is not None and (block := self._read_block()) is not None:
                return Typed(block, kept=False, block=True)
            twice = hinted is not None and time.monotonic() - hinted <= TWICE_WITHIN
            if self._ended or (twice and not self._unread):
                if self._interactive:
                    self._screen.line()
                return None
            self._screen.line()
            self._hint()
            hinted = time.monotonic()

    def ask_question(
        self, question: str, *, hidden: bool = False, choices: Iterable[str] = (), default: str = ""
    ) -> str | None:
        """The answer to a question; None when it was broken off."""
        self._show_prompt(question)
        with _Silence(self._descriptor, hidden and self._interactive):
            line = self._read_line()
        if line is None or hidden:
            self._screen.line()
        return None if line is None else line.strip() or default

    def watch_typing(self) -> None:
        """Nothing is echoed here that is not the terminal's own doing."""

    def lend_terminal(self) -> AbstractContextManager[None]:
        """The terminal was never changed."""
        return nullcontext()

    def _show_prompt(self, text: str) -> None:
        if self._interactive:
            self._screen.write_spans([(text, ("words",))])

    def _read_block(self) -> str | None:
        """The lines up to the mark that ends the block, or to the end of input; None when it was broken off."""
        lines: list[str] = []
        while True:
            self._show_prompt(" " * len(PROMPT))
            line = self._read_line()
            if line is None and (self._wishes.leaving or not self._ended):
                return None
            if line is None or is_block_mark(line):
                return "\n".join(lines)
            lines.append(line)

    def _read_line(self) -> str | None:
        """One line without its end; None at the end of input, or when Ctrl-C was pressed."""
        while b"\n" not in self._unread:
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
            self._unread += part
        if not self._unread and self._ended:
            return None
        line, _, self._unread = self._unread.partition(b"\n")
        return clean_text(line.decode("utf-8", "replace"))


class _Silence:
    """No echo while a secret is typed."""

    def __init__(self, descriptor: int, wanted: bool) -> None:
        self._descriptor = descriptor
        self._wanted = wanted

    def __enter__(self) -> None:
        if self._wanted:
            import termios

            self._before = termios.tcgetattr(self._descriptor)
            without_echo = [*self._before]
            without_echo[3] &= ~termios.ECHO
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, without_echo)

    def __exit__(self, *fault: object) -> None:
        if self._wanted:
            import termios

            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
