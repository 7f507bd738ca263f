"""How much each caller uses: requests in the last minute, those under way, and the tokens of a day.

One server of a folder counts in its memory, as long as it runs. Servers that share a database count there, so that a
limit holds for all of them together (``storage.postgres.database.ServedUsage``).
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from threading import Lock
from typing import Protocol

_MINUTE = 60.0


class Usage(Protocol):
    """Counts. Safe to use from several threads. Raises StorageError."""

    def let_in(self, caller: str, most: int) -> float:
        """Count a request. The seconds until one is let in where ``most`` came in the last minute; else 0."""

    def begin(self, who: str, most: int) -> bool:
        """Count a request that is under way; False, and nothing, where ``most`` are."""

    def end(self, who: str) -> None:
        """Count it no longer."""

    def spend(self, caller: str, day: str, tokens: int) -> None:
        """Count tokens of a day."""

    def spent(self, caller: str, day: str) -> int:
        """The tokens of this day."""


class ProcessUsage:
    """The usage of what one process serves."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._arrivals: defaultdict[str, deque[float]] = defaultdict(deque)
        self._under_way: Counter[str] = Counter()
        self._tokens: dict[str, tuple[str, int]] = {}

    def let_in(self, caller: str, most: int) -> float:
        """See ``Usage``."""
        with self._lock:
            arrivals, now = self._arrivals[caller], self._clock()
            while arrivals and now - arrivals[0] >= _MINUTE:
                arrivals.popleft()
            if len(arrivals) >= most:
                return arrivals[0] + _MINUTE - now
            arrivals.append(now)
            return 0.0

    def begin(self, who: str, most: int) -> bool:
        """See ``Usage``."""
        with self._lock:
            if self._under_way[who] >= most:
                return False
            self._under_way[who] += 1
            return True

    def end(self, who: str) -> None:
        """See ``Usage``."""
        with self._lock:
            self._under_way -= Counter([who])  # drops what is no longer under way

    def spend(self, caller: str, day: str, tokens: int) -> None:
        """See ``Usage``."""
        with self._lock:
            self._tokens[caller] = day, self._of_day(caller, day) + tokens

    def spent(self, caller: str, day: str) -> int:
        """See ``Usage``."""
        with self._lock:
            return self._of_day(caller, day)

    def _of_day(self, caller: str, day: str) -> int:
        counted, tokens = self._tokens.get(caller, (day, 0))
        return tokens if counted == day else 0
