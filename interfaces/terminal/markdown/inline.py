"""Marks inside a line: emphasis, code, links. Told as soon as they are certain, and never before.

A mark that has no partner within ``HOLD`` characters is the writer's own character and is shown:
nothing of a reply is ever swallowed. Work is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from domain.text import pattern_of
from interfaces.terminal.style import Meaning, Meanings, Span

#: How far a partner is looked for, in characters. So long, at most, is text held back while it streams.
HOLD = 300
#: How many candidates for a partner are tried, so that a line of nothing but marks stays cheap.
_CANDIDATES = 12

_PLAIN = pattern_of(r"[^\\`*_~\[!]+")
_LINK = pattern_of(r"!?\[([^\[\]]{0,300})\]\(([^()\s]{1,2000})(?:\s+\"[^\"]{0,300}\")?\)")
_PERHAPS_LINK = pattern_of(r"!?\[[^\[\]]{0,300}(?:\](?:\([^()]{0,2000})?)?$")
_MARKS: tuple[tuple[str, Meaning], ...] = (
    ("**", "strong"),
    ("__", "strong"),
    ("~~", "struck"),
    ("*", "emphasis"),
    ("_", "emphasis"),
)


@dataclass(frozen=True)
class _Unit:
    """Spans that stand for the source up to ``end``."""

    spans: tuple[Span, ...]
    end: int


def settled(text: str, meanings: Meanings, *, final: bool, before: str = " ") -> tuple[list[Span], int]:
    """The spans that are certain, and how many characters of the source they stand for.

    ``final`` says that no more of this line comes; ``before`` is the character in front of the text.

    >>> settled("a **b", ("words",), final=False)
    ([('a ', ('words',))], 2)
    >>> settled("a **b** c", ("words",), final=True)[0]
    [('a ', ('words',)), ('b', ('words', 'strong')), (' c', ('words',))]
    """
    spans: list[Span] = []
    position = 0
    for unit in _units(text, meanings, final, before):
        spans += unit.spans
        position = unit.end
    return spans, position


def reaches_on(text: str) -> bool:
    """Whether emphasis is open at the beginning of this text, the end of a line, so that the next may end it.

    >>> reaches_on("**bold that"), reaches_on("**bold**"), reaches_on("* 3")
    (True, False, False)
    """
    if not text or text[0] not in "*_~":
        return False
    return _emphasis(text + "\n", 0, ("words",), len(text) + 1 < HOLD, " ") is None


def _units(text: str, meanings: Meanings, final: bool, before: str) -> Iterator[_Unit]:
    position = 0
    while position < len(text):
        unit = _unit(text, position, meanings, final, text[position - 1] if position else before)
        if unit is None:
            return
        yield unit
        position = unit.end


def _unit(text: str, at: int, meanings: Meanings, final: bool, before: str) -> _Unit | None:
    """The next unit, or None while it cannot be told what it is."""
    if found := _PLAIN.match(text, at):
        return _Unit(((found[0], meanings),), found.end())
    waits = not final and len(text) - at < HOLD
    if text[at] == "\\":
        return _escape(text, at, meanings, waits)
    if text[at] == "`":
        return _code(text, at, meanings, waits)
    if text[at] in "![":
        return _link(text, at, meanings, waits)
    return _emphasis(text, at, meanings, waits, before)


def _literal(text: str, at: int, meanings: Meanings, length: int = 1) -> _Unit:
    return _Unit(((text[at : at + length], meanings),), at + length)


def _escape(text: str, at: int, meanings: Meanings, waits: bool) -> _Unit | None:
    following = text[at + 1 : at + 2]
    if not following and waits:
        return None
    if following and following in "\\`*_{}[]()#+-.!|~>":
        return _Unit(((following, meanings),), at + 2)
    return _literal(text, at, meanings)


def _code(text: str, at: int, meanings: Meanings, waits: bool) -> _Unit | None:
    ticks = re.compile(r"`+").match(text, at)
    assert ticks
    mark = ticks[0]
    end = text.find(mark, ticks.end(), at + 20 * HOLD)
    while end >= 0 and text[end + len(mark) : end + len(mark) + 1] == "`":
        end = text.find(mark, end + len(mark) + 1, at + 20 * HOLD)
    if end >= 0 and not (waits and end + len(mark) == len(text)):
        inside = text[ticks.end() : end]
        stripped = (
            inside[1:-1] if inside.startswith(" ") and inside.endswith(" ") and inside.strip() else inside
        )
        return _Unit(((stripped, (*meanings, "code")),), end + len(mark))
    return None if waits else _literal(text, at, meanings, len(mark))


def _link(text: str, at: int, meanings: Meanings, waits: bool) -> _Unit | None:
    if found := _LINK.match(text, at):
        label, address = found[1], found[2]
        shown: tuple[Span, ...] = ((label or address, (*meanings, "link")),)
        if label and label != address:
            shown += ((f" ({address})", (*meanings, "quiet")),)
        return _Unit(shown, found.end())
    if waits and (_PERHAPS_LINK.match(text, at) or text[at:] == "!"):
        return None
    return _literal(text, at, meanings)


def _emphasis(text: str, at: int, meanings: Meanings, waits: bool, before: str) -> _Unit | None:
    mark, meaning = next(((m, meaning) for m, meaning in _MARKS if text.startswith(m, at)), ("", "words"))
    if not mark:
        return None if waits and len(text) == at + 1 else _literal(text, at, meanings)
    inside = at + len(mark)
    if inside >= len(text) or (len(mark) == 1 and inside + 1 >= len(text) and text[inside] == mark):
        return None if waits else _literal(text, at, meanings, len(mark))
    if text[inside].isspace() or (mark[0] == "_" and before.isalnum()):
        return _literal(text, at, meanings, len(mark))
    end = _partner(text, inside, mark, waits)
    if end is None:
        return None if waits else _literal(text, at, meanings, len(mark))
    spans, _ = settled(text[inside:end], (*meanings, meaning), final=True)
    return _Unit(tuple(spans), end + len(mark))


def _partner(text: str, start: int, mark: str, waits: bool) -> int | None:
    """Where the closing mark stands, or None."""
    at = start
    for _ in range(_CANDIDATES):
        at = text.find(mark, at + 1, start + HOLD)
        if at < 0:
            return None
        run = re.compile(re.escape(mark[0]) + "+").match(text, at)
        assert run
        if waits and run.end() == len(text) and len(run[0]) < 3:
            return None
        if _closes(text, at, mark, run.end()):
            return at + (len(run[0]) - len(mark) if len(run[0]) > len(mark) else 0)
        at = run.end() - 1
    return None


def _closes(text: str, at: int, mark: str, run_end: int) -> bool:
    """Whether the run of marks here ends the emphasis: not after a space, not another kind of mark."""
    if text[at - 1].isspace():
        return False
    length = run_end - at
    if length != len(mark) and length != 3:
        return False
    return not (mark[0] == "_" and text[run_end : run_end + 1].isalnum())
