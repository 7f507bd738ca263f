"""Styled text: what each meaning looks like, how wide text is, how it is laid out in rows, and excerpts of it.

The rest of the program names meanings, never colours: one style a meaning, from the sixteen ANSI colours only. Rows are
laid out word by word, and a word is written when it can no longer move to the next row; nothing that was written
changes, so the scrollback stays clean in a small window and while the window is resized.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

from rich.style import Style

from domain.patterns import pattern_of
from domain.text import make_inert

Meaning = Literal[
    "words", "strong", "emphasis", "struck", "heading", "code", "link", "bullet", "quotation", "quiet", "title",
    "warning", "trouble", "good", "added", "removed", "person", "keyword", "literal", "number", "comment", "name",
]  # fmt: skip
Meanings = tuple[Meaning, ...]
#: A part of a text and what it means.
Span = tuple[str, Meanings]

STYLES: dict[Meaning, str] = {
    "words": "none",
    "strong": "bold",
    "emphasis": "italic",
    "struck": "strike",
    "heading": "bold",
    "code": "cyan",
    "link": "underline",
    "bullet": "dim",
    "quotation": "dim",
    "quiet": "dim",
    "title": "bold",
    "warning": "yellow",
    "trouble": "red",
    "good": "green",
    "added": "green",
    "removed": "red",
    "person": "bold",
    "keyword": "magenta",
    "literal": "green",
    "number": "cyan",
    "comment": "dim",
    "name": "bold",
}
_ASCII = pattern_of(r"[\x20-\x7e]*")


@cache
def style_of(meanings: Meanings) -> Style:
    """The look of text that means all of these at once.

    >>> str(style_of(("quiet", "strong")))
    'bold dim'
    """
    return Style.combine([Style.parse(STYLES[meaning]) for meaning in meanings])


def cells_of(text: str) -> int:
    """Columns that the text takes; characters that do not show take none."""
    if _ASCII.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


#: A part that cannot be broken inside, a space, or one character of any other kind.
_TOKEN = pattern_of(r"[!-~]+|\s|.", re.DOTALL)
#: Marks that may not begin a row, and marks that may not end one.
_CLOSING = frozenset("，。、！？；：）」』】》〉〕…—～·’”,.!?;:)]}%％’”")
_OPENING = frozenset("（「『【《〈〔‘“([{")


class Flow:
    """Lays out styled text in rows of the width that the window has when the row begins.

    >>> flow = Flow(lambda: 10)
    >>> flow.begin_row([], ("", ("words",)))
    >>> flow.write_text("one two three", ("words",))
    >>> flow.end_row()
    >>> "".join(text for text, _ in flow.take_spans())
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

    def begin_row(self, lead: list[Span], hanging: Span) -> None:
        """Begin a row with a lead (a bullet, a bar); rows that follow by wrapping begin with ``hanging``."""
        self._row_width = max(2, self._width())
        self._hanging = hanging
        for text, meanings in lead:
            self._emit_text(text, meanings)

    def write_text(self, text: str, meanings: Meanings) -> None:
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

    def write_verbatim(self, spans: list[Span]) -> None:
        """A whole row as it is; the terminal wraps it if it must, so that copied code stays right."""
        self._out += [*spans, ("\n", ("words",))]

    def take_spans(self) -> list[Span]:
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
            self._emit_text(" " * self._spaces, self._space_meanings)
        self._spaces = 0
        for text, meanings in self._word:
            self._emit_cut(text, meanings)
        self._word, self._word_cells = [], 0

    def _emit_cut(self, text: str, meanings: Meanings) -> None:
        """A word that is longer than a row is cut where the row ends."""
        if self._column + cells_of(text) <= self._row_width:
            self._emit_text(text, meanings)
            return
        for character in text:
            if self._column + cells_of(character) > self._row_width:
                self._new_row(self._hanging[0])
            self._emit_text(character, meanings)

    def _new_row(self, lead: str) -> None:
        self._out.append(("\n", ("words",)))
        self._column = 0
        self._row_width = max(2, self._width())
        if lead:
            self._emit_text(*self._hanging)

    def _emit_text(self, text: str, meanings: Meanings) -> None:
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
        flow.begin_row([], ("", ("words",)))
        flow.write_text(line, ("words",))
        flow.end_row()
    rows = "".join(part for part, _ in flow.take_spans())
    return rows.removesuffix("\n") + " " * (len(text) - len(text.rstrip(" ")))


def may_break(before: str, after: str) -> bool:
    """Whether a row may end between these two characters; spaces are not asked about.

    >>> may_break("你", "好"), may_break("好", "。"), may_break("a", "b")
    (True, False, False)
    """
    if after in _CLOSING or before in _OPENING:
        return False
    return cells_of(before) > 1 or cells_of(after) > 1


#: Letters of a stem that must be the same: "stories" is found by "stori".
_LATIN = pattern_of(r"[a-z0-9À-ɏ'’]+\Z", re.IGNORECASE)
_MARKS = ("[", "]")


def make_excerpt(text: str, words: Sequence[str], cells: int, *, plain: bool) -> list[Span]:
    """As much of a text as fits, around the first of the words, each of them marked; in brackets on a plain screen.

    >>> make_excerpt("I sort rivets on Mondays", ["rivet"], 40, plain=True)
    [('I sort ', ('words',)), ('[rivets]', ('words',)), (' on Mondays', ('words',))]
    """
    line = " ".join(make_inert(text).split())
    wanted = _words_pattern(words)
    found = wanted.search(line) if wanted else None
    shown = _cut_around(line, found.span() if found else (0, 0), cells)
    return _mark_words(shown, wanted, plain) if wanted else [(shown, ("words",))]


def _words_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """What finds any of the words, the longest first, so that a part of a word never hides the whole."""
    parts = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    forms = [rf"\b{re.escape(word)}\w*" if _LATIN.match(word) else re.escape(word) for word in parts]
    return re.compile("|".join(forms), re.IGNORECASE) if forms else None


def _cut_around(line: str, span: tuple[int, int], cells: int) -> str:
    """The line itself if it fits, else an excerpt with this span in its middle."""
    if cells_of(line) <= cells:
        return line
    begin, end = span
    room = max(1, cells - cells_of(line[begin:end]) - 2)
    begin = _step_back(line, begin, room // 2)
    end = _step_on(line, end, cells - 2 - cells_of(line[begin:end]))
    begin = _step_back(line, begin, cells - 2 - cells_of(line[begin:end]))
    return "…" * (begin > 0) + line[begin:end].strip() + "…" * (end < len(line))


def _step_back(line: str, at: int, cells: int) -> int:
    """The place so many columns before this one."""
    while at > 0 and (cells := cells - cells_of(line[at - 1])) >= 0:
        at -= 1
    return at


def _step_on(line: str, at: int, cells: int) -> int:
    """The place so many columns behind this one."""
    while at < len(line) and (cells := cells - cells_of(line[at])) >= 0:
        at += 1
    return at


def _mark_words(line: str, wanted: re.Pattern[str], plain: bool) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for found in wanted.finditer(line):
        spans.append((line[at : found.start()], ("words",)))
        spans.append((found[0].join(_MARKS), ("words",)) if plain else (found[0], ("strong",)))
        at = found.end()
    spans.append((line[at:], ("words",)))
    return [span for span in spans if span[0]]
