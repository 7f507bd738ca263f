"""Which messages of a tree were shown: from the one shown last up to the first. Linear, whatever the tree is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime


def way_up(parents: Mapping[str, str | None], leaf: str | None) -> list[str]:
    """The nodes from the first to the leaf; it ends where a parent is missing, or was met before.

    >>> way_up({"a": None, "b": "a", "c": "a"}, "c")
    ['a', 'c']
    """
    way: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in way:
        way[leaf] = None
        leaf = parents[leaf]
    return list(reversed(way))


def newest_leaf(parents: Mapping[str, str | None], said: Callable[[str], datetime | None]) -> str | None:
    """The node that nobody names as parent and that was said last; of several, the one that stands last.

    In a tree that is nothing but circles, any node may be the last.
    """
    named = set(parents.values())
    leaves = [node for node in parents if node not in named] or list(parents)
    return max(enumerate(leaves), key=lambda leaf: (_order(said(leaf[1])), leaf[0]), default=(0, None))[1]


def _order(when: datetime | None) -> float:
    return when.timestamp() if when else float("-inf")
