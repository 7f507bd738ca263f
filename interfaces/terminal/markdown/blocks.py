"""Parts of a reply that are not laid out word by word: code, coloured line by line, and tables, drawn when whole."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from domain.text import pattern_of
from interfaces.terminal.markdown.inline import settled
from interfaces.terminal.style import Meaning, Meanings, Span, style

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType
    from rich.table import Table
    from rich.text import Text

#: How many lines before the present one are read again to colour it, so that long code stays linear.
_CONTEXT = 24
#: A line longer than this is not coloured.
_LONGEST = 2_000
_DELIMITER = pattern_of(r"\s*\|(?:\s*:?-+:?\s*\|)*\s*:?-*:?\s*\|?\s*$")
_SEPARATOR = pattern_of(r"(?<!\\)\|")


class CodeBlock:
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


def is_table(rows: list[str]) -> bool:
    """Whether these lines are a table: a header and the line of dashes under it."""
    return len(rows) >= 2 and "-" in rows[1] and _DELIMITER.match(rows[1]) is not None


def drawn(rows: list[str], meanings: Meanings) -> Table:
    """The table, its columns as wide as the window allows."""
    from rich import box
    from rich.table import Table

    header, delimiter, *body = (_cells(row) for row in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style=style(("quiet",)))
    for at, title in enumerate(header):
        align = _alignment(delimiter[at] if at < len(delimiter) else "")
        table.add_column(_text(title, (*meanings, "strong")), justify=align, overflow="fold")
    for row in body:
        table.add_row(*(_text(cell, meanings) for cell in row[: len(header)]))
    return table


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _SEPARATOR.split(inner)]


def _alignment(dashes: str) -> Literal["left", "center", "right"]:
    if dashes.startswith(":") and dashes.endswith(":"):
        return "center"
    return "right" if dashes.endswith(":") else "left"


def _text(cell: str, meanings: Meanings) -> Text:
    from rich.text import Text

    spans, _ = settled(cell, meanings, final=True)
    return Text.assemble(*((text, style(meaning)) for text, meaning in spans))
