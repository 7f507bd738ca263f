"""Keys that are typed while a reply streams: not echoed into it, and read as lines, in order, each with whether Enter
ended it. A paste stays one line, since the terminal is asked to mark pastes meanwhile.

The terminal is kept quiet (no echo, no line editing) from the first prompt to the end; the prompt
puts its own mode on top of that and takes it off again. Ctrl-C stays a signal throughout.
"""

from __future__ import annotations

import os
import re
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

from domain.patterns import pattern_of
from domain.text import clean_text, is_blank
from interfaces.terminal.parsing import opens_block

#: Shift-Enter and Ctrl-Enter as terminals send them: CSI-u and xterm's modifyOtherKeys.
NEW_LINE_SEQUENCES = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
_NEW_LINE = pattern_of("|".join(map(re.escape, ("\x1b\r", *NEW_LINE_SEQUENCES))))
_PASTE = pattern_of(r"\x1b\[200~(.*?)(?:\x1b\[201~|\Z)", re.DOTALL)
#: Escape sequences of arrows and function keys; then a lone escape with its letter.
_SEQUENCES = pattern_of(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
#: Bytes that are kept at the most.
_MOST = 1_000_000
_ERASE, _ERASE_WORD, _ERASE_LINE = "\x7f\x08", "\x17", "\x15"
_MARK_PASTES, _LEAVE_PASTES = "\x1b[?2004h", "\x1b[?2004l"


@dataclass(frozen=True)
class Ahead:
    """One line that was typed ahead.

    ``pasted``: it holds a block that was pasted. ``entered``: Enter ended it, so it may be sent. ``entered_earlier``:
    Enter ended it, but the person is to see it first.
    """

    text: str
    pasted: bool = False
    entered: bool = False
    entered_earlier: bool = False


class TypeAhead:
    """Keeps a terminal quiet and collects what is typed into it.

    >>> with TypeAhead(0) as ahead:
    ...     ahead.take_keys()
    ...     lines = ahead.take_lines()
    """

    def __init__(self, descriptor: int, terminal: TextIO | None = None) -> None:
        """``descriptor`` is read; the ``terminal``, where one is given, is asked to mark pastes."""
        self._descriptor = descriptor
        self._terminal = terminal
        self._before: termios._AttrReturn | None = None
        self._bytes = b""

    def __enter__(self) -> TypeAhead:
        self._before = termios.tcgetattr(self._descriptor)
        self._make_quiet()
        return self

    def __exit__(self, *fault: object) -> None:
        self._restore_terminal()

    @contextmanager
    def lend_terminal(self) -> Iterator[None]:
        """The terminal as it was before, for another program."""
        self._restore_terminal()
        try:
            yield
        finally:
            self._make_quiet()

    def mark_pastes(self) -> None:
        """Ask the terminal to mark pastes; a line editor that ends takes this mode away."""
        self._ask_for(_MARK_PASTES)

    def _ask_for(self, mode: str) -> None:
        if self._terminal is not None:
            with suppress(OSError):  # the terminal may be gone
                self._terminal.write(mode)
                self._terminal.flush()

    def _make_quiet(self) -> None:
        quiet = termios.tcgetattr(self._descriptor)
        quiet[0] &= ~termios.ICRNL  # else Enter and Ctrl-J would look alike
        quiet[3] = (quiet[3] & ~(termios.ECHO | termios.ICANON)) | termios.ISIG | termios.NOFLSH
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)

    def _restore_terminal(self) -> None:
        self._ask_for(_LEAVE_PASTES)
        if self._before is not None:
            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def take_keys(self) -> None:
        """Take in what was typed since the last look; never waits.

        A program that was stopped with Ctrl-Z comes back to a terminal that echoes again; it is made quiet again.
        """
        if termios.tcgetattr(self._descriptor)[3] & termios.ECHO:
            self._make_quiet()
        while select.select([self._descriptor], [], [], 0)[0]:
            part = os.read(self._descriptor, 4096)
            if not part:
                return
            self._bytes = (self._bytes + part)[:_MOST]

    def take_lines(self) -> list[Ahead]:
        """The lines that were typed up to now; they are returned once."""
        self.take_keys()
        return self.take_watched()

    def take_watched(self) -> list[Ahead]:
        """The lines that were typed up to the last look; keys that came since stay in the terminal."""
        typed, self._bytes = self._bytes, b""
        return lines_typed(typed.decode("utf-8", "replace"))


def lines_typed(typed: str) -> list[Ahead]:
    """The lines that these keys make: Enter ends one, erasing keys erase in it, keys that move do nothing.

    Enter inside a block that three quotation marks opened begins a new line of it, as at the prompt.

    >>> [(line.text, line.entered) for line in lines_typed("helo\\x7flo\\x1b[D\\r/sa")]
    [('hello', True), ('/sa', False)]
    """
    found: list[Ahead] = []
    kept, pasted = "", False
    for part in re.split(r"(\x1b\[200~.*?(?:\x1b\[201~|\Z)|\r)", _NEW_LINE.sub("\n", typed), flags=re.DOTALL):
        if part == "\r" and opens_block(kept) and not pasted:
            kept += "\n"
        elif part == "\r":
            found.append(Ahead(_finish_line(kept), pasted, entered=True))
            kept, pasted = "", False
        elif block := _PASTE.fullmatch(part):
            text = block[1].replace("\r\n", "\n").replace("\r", "\n")
            kept, pasted = kept + text, pasted or "\n" in text
        else:
            kept = apply_keys(part, kept)
    found.append(Ahead(_finish_line(kept), pasted))
    return [line for line in found if not is_blank(line.text)]


def apply_keys(typed: str, before: str = "") -> str:
    """The text after plain keys are typed behind the given one."""
    kept = list(before)
    for key in _SEQUENCES.sub("", typed):
        if key in _ERASE:
            del kept[-1:]
        elif key == _ERASE_WORD:
            kept = list(re.sub(r"\S*\s*$", "", "".join(kept)))
        elif key == _ERASE_LINE:
            kept = []
        else:
            kept.append(key)
    return "".join(kept)


def _finish_line(text: str) -> str:
    return clean_text(text).strip("\n")
