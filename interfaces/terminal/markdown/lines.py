"""What kind of line a line of Markdown is, told as soon as its beginning is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.text import pattern_of

LineKind = Literal["text", "blank", "heading", "item", "quote", "rule", "quoting", "row"]

_HEADING = pattern_of(r" {0,3}(#{1,6})\s+")
_ITEM = pattern_of(r"(\s{0,40})([-*+•]|\d{1,9}[.)])(\s{1,4})")
_QUOTE = pattern_of(r" {0,3}(?:> ?)+")
_RULE = pattern_of(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_FENCE = pattern_of(r"\s{0,40}(`{3,}|~{3,})([^`]*)$")
_SPACE = pattern_of(r"\s*")
#: Beginnings that may still become something else than text.
_UNCERTAIN = pattern_of(
    r"\s*(?:#{1,6}|[-*_+•][-*_ \t]*|\d{1,9}[.)]?|`{1,3}[^`]*|~{1,3}[^~]*|(?:> ?)+|\|.*)?$"
)


@dataclass(frozen=True)
class LineStart:
    """A line's kind, what leads it, and where its content begins."""

    kind: LineKind
    lead: str = ""
    indent: int = 0
    start: int = 0


def uncertain(text: str) -> bool:
    """Whether the beginning of a line can still become another kind of line.

    >>> uncertain("1"), uncertain("1. a"), uncertain("**bo")
    (True, False, False)
    """
    return _UNCERTAIN.match(text) is not None


def classify(text: str) -> LineStart:
    """What kind of line this is; called when it is certain, or when the line has ended."""
    if not text.strip():
        return LineStart("blank")
    if found := _FENCE.match(text):
        return LineStart("quoting", lead=found[1], start=found.start(2))
    if _RULE.match(text):
        return LineStart("rule")
    if found := _HEADING.match(text):
        return LineStart("heading", lead=found[1], start=found.end())
    if found := _QUOTE.match(text):
        return LineStart("quote", start=found.end())
    if text.lstrip().startswith("|"):
        return LineStart("row")
    if found := _ITEM.match(text):
        return LineStart("item", lead=found[2], indent=len(found[1].expandtabs(4)), start=found.end())
    spaces = _SPACE.match(text)
    assert spaces
    return LineStart("text", indent=min(40, len(spaces[0].expandtabs(4))), start=spaces.end())


def closes_fence(text: str, opening: str) -> bool:
    """Whether this line ends the code that ``opening`` began."""
    stripped = text.strip()
    return stripped.startswith(opening) and not stripped.strip(opening[0])
