"""Code in a reply, coloured a line at a time as the lines arrive."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interfaces.terminal.style import Meaning, Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

#: How many lines before the present one are read again to colour it, so that long code stays linear.
_CONTEXT = 24
#: A line longer than this is not coloured.
_LONGEST = 2_000


class Code:
    """One block of code. Its text is shown exactly; colour is added where the language is known."""

    def __init__(self, language: str) -> None:
        self._language = language.strip().split(" ")[0][:40]
        self._before: list[str] = []

    def line(self, text: str) -> list[Span]:
        """The next line as spans."""
        lexer = _lexer(self._language) if len(text) <= _LONGEST else None
        spans = _last_line(lexer, "\n".join([*self._before, text])) if lexer else []
        self._before = [*self._before, text[:_LONGEST]][-_CONTEXT:]
        return spans if "".join(part for part, _ in spans) == text else [(text, ("words",))]


def _last_line(lexer: Lexer, code: str) -> list[Span]:
    spans: list[Span] = []
    for kind, value in lexer.get_tokens(code):
        *ended, rest = value.split("\n")
        if ended:
            spans = []
        if rest:
            spans.append((rest, (_meaning(kind),)))
    return spans


@cache
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _meaning(kind: _TokenType) -> Meaning:
    from pygments.token import Comment, Keyword, Name, Number, String

    table: tuple[tuple[_TokenType, Meaning], ...] = (
        (Comment, "comment"),
        (Keyword, "keyword"),
        (String, "literal"),
        (Number, "number"),
        (Name.Function, "name"),
        (Name.Class, "name"),
        (Name.Tag, "keyword"),
    )
    return next((meaning for parent, meaning in table if kind in parent), "words")
