"""How many columns a text takes, and where a row may end."""

from __future__ import annotations

import re

#: Marks that may not begin a row, and marks that may not end one.
_CLOSING = frozenset("，。、！？；：）」』】》〉〕…—～·’”,.!?;:)]}%％’”")
_OPENING = frozenset("（「『【《〈〔‘“([{")

_ASCII = re.compile(r"[\x20-\x7e]*")


def cells_of(text: str) -> int:
    """Columns that the text takes; characters that do not show take none."""
    if _ASCII.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def may_break(before: str, after: str) -> bool:
    """Whether a row may end between these two characters; spaces are not asked about.

    >>> may_break("你", "好"), may_break("好", "。"), may_break("a", "b")
    (True, False, False)
    """
    if after in _CLOSING or before in _OPENING:
        return False
    return cells_of(before) > 1 or cells_of(after) > 1
