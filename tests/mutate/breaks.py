"""What a break is: which promise, which line, what it becomes, and the tests that must notice.

The lists are the other modules here: at least two breaks a promise.
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
