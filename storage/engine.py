"""What repositories and engines share: the clock and ids, lists as one value, commits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal


@dataclass(frozen=True)
class Stamp:
    """The clock and the source of ids of one memory."""

    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    def now(self) -> str:
        """The moment as it is stored, to the second."""
        return self.clock().isoformat(timespec="seconds")

    def today(self) -> str:
        """The day, as ``2026-11-22``."""
        return self.clock().date().isoformat()

    def new_session_id(self) -> str:
        """An id for a session that starts now."""
        minute = self.clock().isoformat()[:16].replace("-", "").replace(":", "").replace("T", "-")
        return f"{minute}-{self.new_id()[-6:]}"


def instant(timestamp: str) -> float:
    """A timestamp as the number that it is ordered by: seconds since 1970."""
    return datetime.fromisoformat(timestamp).timestamp()


#: In place of a list that is passed as one value: ``WHERE text_id IN {EACH}``. An empty list finds nothing.
EACH = "(SELECT value FROM json_each(?))"


#: What else than rows follows a change: vectors are made or dropped, the files of the personas are written.
Follows = Literal["vectors", "personas"]


@dataclass
class Commit:
    """What one transaction did that others follow: texts that left every index, and what is to be looked at."""

    removed: list[str] = field(default_factory=list)
    follows: set[Follows] = field(default_factory=set)
