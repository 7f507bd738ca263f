"""Excerpts: a stretch of a long text around the words that were looked for, with those words marked.

A word is found in any of its forms: ``rivet`` in ``Rivets``; of scripts without spaces, exactly as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain.text import inert, pattern_of
from interfaces.terminal.style import Span, cells_of

#: Letters of a stem that must be the same: "stories" is found by "stori".
_LATIN = pattern_of(r"[a-z0-9À-ɏ'’]+\Z", re.IGNORECASE)
_MARKS = ("[", "]")


def excerpt(text: str, words: Sequence[str], cells: int, *, plain: bool) -> list[Span]:
    """As much of a text as fits, around the first of the words, each of them marked; in brackets on a plain screen.

    >>> excerpt("I sort rivets on Mondays", ["rivet"], 40, plain=True)
    [('I sort ', ('words',)), ('[rivets]', ('words',)), (' on Mondays', ('words',))]
    """
    line = " ".join(inert(text).split())
    wanted = _pattern(words)
    found = wanted.search(line) if wanted else None
    shown = _around(line, found.span() if found else (0, 0), cells)
    return _marked(shown, wanted, plain) if wanted else [(shown, ("words",))]


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """What finds any of the words, the longest first, so that a part of a word never hides the whole."""
    parts = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    forms = [rf"\b{re.escape(word)}\w*" if _LATIN.match(word) else re.escape(word) for word in parts]
    return re.compile("|".join(forms), re.IGNORECASE) if forms else None


def _around(line: str, span: tuple[int, int], cells: int) -> str:
    """The line itself if it fits, else a stretch with this span in its middle."""
    if cells_of(line) <= cells:
        return line
    begin, end = span
    room = max(1, cells - cells_of(line[begin:end]) - 2)
    begin = _back(line, begin, room // 2)
    end = _on(line, end, cells - 2 - cells_of(line[begin:end]))
    begin = _back(line, begin, cells - 2 - cells_of(line[begin:end]))
    return "…" * (begin > 0) + line[begin:end].strip() + "…" * (end < len(line))


def _back(line: str, at: int, cells: int) -> int:
    """The place so many columns before this one."""
    while at > 0 and (cells := cells - cells_of(line[at - 1])) >= 0:
        at -= 1
    return at


def _on(line: str, at: int, cells: int) -> int:
    """The place so many columns behind this one."""
    while at < len(line) and (cells := cells - cells_of(line[at])) >= 0:
        at += 1
    return at


def _marked(line: str, wanted: re.Pattern[str], plain: bool) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for found in wanted.finditer(line):
        spans.append((line[at : found.start()], ("words",)))
        spans.append((found[0].join(_MARKS), ("words",)) if plain else (found[0], ("strong",)))
        at = found.end()
    spans.append((line[at:], ("words",)))
    return [span for span in spans if span[0]]
