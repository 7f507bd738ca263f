"""Keys that are typed while a reply streams: not echoed into it, kept, and offered as the next input's
text.

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

from domain.text import clean

#: Escape sequences of arrows, function keys and bracketed paste; then a lone escape with its letter.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
#: What is kept at the most, in bytes.
_MOST = 1_000_000
_ERASE, _ERASE_WORD, _ERASE_LINE = "\x7f\x08", "\x17", "\x15"


class TypeAhead:
    """Holds a terminal quiet and collects what is typed into it.

    >>> with TypeAhead(0) as ahead:
    ...     ahead.watch()
    ...     text = ahead.take()
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: termios._AttrReturn | None = None
        self._bytes = b""

    def __enter__(self) -> TypeAhead:
        self._before = termios.tcgetattr(self._descriptor)
        self._quieten()
        return self

    def __exit__(self, *fault: object) -> None:
        self._give_back()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal as it was before, for another program."""
        self._give_back()
        try:
            yield
        finally:
            self._quieten()

    def _quieten(self) -> None:
        quiet = termios.tcgetattr(self._descriptor)
        quiet[3] = (quiet[3] & ~(termios.ECHO | termios.ICANON)) | termios.ISIG | termios.NOFLSH
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, quiet)

    def _give_back(self) -> None:
        if self._before is not None:
            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def watch(self) -> None:
        """Take in what was typed since the last look; never waits.

        A program that was stopped with Ctrl-Z comes back to a terminal that echoes again; it is made quiet anew.
        """
        if termios.tcgetattr(self._descriptor)[3] & termios.ECHO:
            self._quieten()
        while select.select([self._descriptor], [], [], 0)[0]:
            part = os.read(self._descriptor, 4096)
            if not part:
                return
            self._bytes = (self._bytes + part)[:_MOST]

    def take(self) -> str:
        """What was typed, as text to be edited; it is handed over once."""
        self.watch()
        typed, self._bytes = self._bytes, b""
        return edited(typed.decode("utf-8", "replace"))


def edited(typed: str) -> str:
    """The text that these keys come to: erasing keys erase, keys that move do nothing.

    >>> edited("helo\\x7flo\\x1b[D\\r")
    'hello'
    """
    kept: list[str] = []
    for key in _SEQUENCES.sub("", typed).replace("\r\n", "\n").replace("\r", "\n"):
        if key in _ERASE:
            del kept[-1:]
        elif key == _ERASE_WORD:
            kept = list(re.sub(r"\S*\s*$", "", "".join(kept)))
        elif key == _ERASE_LINE:
            kept = []
        else:
            kept.append(key)
    return clean("".join(kept)).strip("\n")
