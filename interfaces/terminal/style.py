"""What each kind of text looks like: one style a meaning, from the sixteen ANSI colours only; and how wide it is.

All else here speaks of meanings, never of colours, so the look is changed here and nowhere else.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from rich.style import Style

from domain.text import pattern_of

Meaning = Literal[
    "words", "strong", "emphasis", "struck", "heading", "code", "link", "bullet", "quotation", "quiet", "title",
    "warning", "trouble", "good", "added", "removed", "person", "keyword", "literal", "number", "comment", "name",
]  # fmt: skip
Meanings = tuple[Meaning, ...]
#: A stretch of text and what it means.
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
def style(meanings: Meanings) -> Style:
    """The look of text that means all of these at once.

    >>> str(style(("quiet", "strong")))
    'bold dim'
    """
    return Style.combine([Style.parse(STYLES[meaning]) for meaning in meanings])


def cells_of(text: str) -> int:
    """Columns that the text takes; characters that do not show take none."""
    if _ASCII.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
