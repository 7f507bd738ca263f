"""Rows: text is laid out word by word, and a word is let out when it can no longer move to the next
row.

Because nothing that was let out ever changes, the scrollback stays clean in a small window and
while the window is resized, and copied text has no trailing spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from domain.text import pattern_of
from interfaces.terminal.style import Meanings, Span, cells_of

#: A stretch that cannot be broken inside, a space, or one character of any other kind.
_TOKEN = pattern_of(r"[!-~]+|\s|.", re.DOTALL)
#: Marks that may not begin a row, and marks that may not end one.
_CLOSING = frozenset("，。、！？；：）」』】》〉〕…—～·’”,.!?;:)]}%％’”")
_OPENING = frozenset("（「『【《〈〔‘“([{")


class Flow:
    """Lays out styled text in rows of the width that the window has when the row begins.

    >>> flow = Flow(lambda: 10)
    >>> flow.begin([], ("", ("words",)))
    >>> flow.write("one two three", ("words",))
    >>> flow.end_row()
    >>> "".join(text for text, _ in flow.take())
    'one two\\nthree\\n'
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self._width = width
        self._out: list[Span] = []
        self._word: list[Span] = []
        self._word_cells = 0
        self._spaces = 0
        self._space_meanings: Meanings = ("words",)
        self._column = 0
        self._row_width = 0
        self._hanging: Span = ("", ("quiet",))

    def begin(self, lead: list[Span], hanging: Span) -> None:
        """Begin a row with a lead (a bullet, a bar); rows that follow by wrapping begin with ``hanging``."""
        self._row_width = max(2, self._width())
        self._hanging = hanging
        for text, meanings in lead:
            self._emit(text, meanings)

    def write(self, text: str, meanings: Meanings) -> None:
        """Text that flows on; it has no line ends."""
        for token in _TOKEN.findall(text.expandtabs(4)):
            if token.isspace():
                self._let_out()
                self._spaces += 1
                self._space_meanings = meanings
            else:
                if self._word and may_break(self._word[-1][0][-1], token[0]):
                    self._let_out()
                self._word.append((token, meanings))
                self._word_cells += cells_of(token)

    def end_row(self) -> None:
        """End the row that was begun."""
        self._let_out()
        self._spaces = 0
        self._new_row("")

    def verbatim(self, spans: list[Span]) -> None:
        """A whole row as it is; the terminal wraps it if it must, so that copied code stays right."""
        self._out += [*spans, ("\n", ("words",))]

    def take(self) -> list[Span]:
        """What is ready to be written, once."""
        out, self._out = self._out, []
        return out

    def _let_out(self) -> None:
        if not self._word:
            return
        hanging = cells_of(self._hanging[0])
        if self._column + self._spaces + self._word_cells > self._row_width and self._column > hanging:
            self._new_row(self._hanging[0])
        else:
            self._emit(" " * self._spaces, self._space_meanings)
        self._spaces = 0
        for text, meanings in self._word:
            self._emit_cut(text, meanings)
        self._word, self._word_cells = [], 0

    def _emit_cut(self, text: str, meanings: Meanings) -> None:
        """A word that is longer than a row is cut where the row ends."""
        if self._column + cells_of(text) <= self._row_width:
            self._emit(text, meanings)
            return
        for character in text:
            if self._column + cells_of(character) > self._row_width:
                self._new_row(self._hanging[0])
            self._emit(character, meanings)

    def _new_row(self, lead: str) -> None:
        self._out.append(("\n", ("words",)))
        self._column = 0
        self._row_width = max(2, self._width())
        if lead:
            self._emit(*self._hanging)

    def _emit(self, text: str, meanings: Meanings) -> None:
        if not text:
            return
        self._column += cells_of(text)
        if self._out and self._out[-1][1] == meanings and self._out[-1][0] != "\n":
            self._out[-1] = (self._out[-1][0] + text, meanings)
        else:
            self._out.append((text, meanings))


def in_rows(text: str, width: int) -> str:
    """A text in rows that end between words; a space at its end stays.

    >>> in_rows("Erase it for good? [y/N] ", 20)
    'Erase it for good?\\n[y/N] '
    """
    flow = Flow(lambda: width)
    for line in text.rstrip(" ").split("\n"):
        flow.begin([], ("", ("words",)))
        flow.write(line, ("words",))
        flow.end_row()
    rows = "".join(part for part, _ in flow.take())
    return rows.removesuffix("\n") + " " * (len(text) - len(text.rstrip(" ")))


def may_break(before: str, after: str) -> bool:
    """Whether a row may end between these two characters; spaces are not asked about.

    >>> may_break("你", "好"), may_break("好", "。"), may_break("a", "b")
    (True, False, False)
    """
    if after in _CLOSING or before in _OPENING:
        return False
    return cells_of(before) > 1 or cells_of(after) > 1
