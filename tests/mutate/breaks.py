"""What a break is: which promise, which line, what it becomes, and the tests that must notice.

The lists stand in ``breaks_of_storage``, ``breaks_of_knowing``, ``breaks_of_talk``, ``breaks_of_asking`` and
``breaks_of_past``: at least two a promise. What is promised and not yet
built (P19: several persons) has no line to break here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Break:
    """``old`` stands exactly once in ``file``; with ``new`` in its place one of the ``tests`` fails."""

    name: str
    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
