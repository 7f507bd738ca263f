"""Tables in a reply: gathered row by row, drawn when they are whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from interfaces.terminal.markdown.inline import settled
from interfaces.terminal.style import Meanings, style

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_DELIMITER = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)*\s*:?-*:?\s*\|?\s*$")
_SEPARATOR = re.compile(r"(?<!\\)\|")


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
