"""Fading: how much may be searched, and the leaves of the tree that go first where there is more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

#: What becomes of a memory that fades: it leaves the indexes and stays in the archive; or it is erased.
ForgetMode = Literal["fade", "delete"]


@dataclass(frozen=True, slots=True)
class ForgetLimit:
    """How many memories are searched at the ``most``, 0 for no limit; how much of them goes at a time, and how."""

    most: int
    percentage: int
    mode: ForgetMode = "fade"

    def step(self, searched: int) -> int:
        """How many go at once while so many are searched.

        >>> ForgetLimit(1000, 10).step(1200), ForgetLimit(1000, 10).step(1000)
        (120, 0)
        """
        if not self.most or searched <= self.most:
            return 0
        return max(1, searched * self.percentage // 100)


class FadedText(NamedTuple):
    """The text of a turn that has faded, and where and when it was said."""

    seq: int
    session_id: str
    timestamp: str
    text: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A turn, or a session of which every turn has faded, with its summary. ``name`` is what the tree knows it by."""

    name: str
    session_id: str
    timestamp: str
    text: str
    visit_count: int
    last_visit: int
    is_session: bool
