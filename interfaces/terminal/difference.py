"""Two versions of a text, as the lines that went and the lines that came."""

from __future__ import annotations

import difflib

from interfaces.terminal.screen import Screen
from interfaces.terminal.style import Meaning

_LOOKS: dict[str, Meaning] = {"+": "added", "-": "removed"}


def show_difference(screen: Screen, before: str, after: str, most: int = 24) -> None:
    """Show what changed, without what stayed; at most this many lines."""
    lines = changed_lines(before, after)
    for line in lines[:most]:
        screen.line(line[2:], _LOOKS[line[0]], lead=line[:2])
    if len(lines) > most:
        screen.line(f"… {len(lines) - most}", "quiet")


def changed_lines(before: str, after: str) -> list[str]:
    """The changed lines, each behind ``- `` or ``+ ``.

    >>> changed_lines("a\\nb", "a\\nc")
    ['- b', '+ c']
    """
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    body = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return [f"{line[0]} {line[1:]}" for line in body]
