"""When something is stored, and under which id: the clock and the ids that are injected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


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
