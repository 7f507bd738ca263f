"""Watches over the sessions that are open: which end by the clock, and which have ended and wait to be consolidated.

Whose sessions there are is written down in the registry before the first word of one is stored, so that a start after a
crash looks at those people and at nobody else. Nobody's memory is opened before its time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from domain import errors
from interfaces.service.service_sessions import ServiceSessions
from jobs.background_queue import BackgroundQueue
from people import Companion, People

#: After a failure it is tried again after a minute, then two, four, and so on, up to an hour.
_FIRST, _LAST = timedelta(minutes=1), timedelta(hours=1)


class Watch:
    """When whose sessions are to be looked at next."""

    def __init__(self, people: People, consolidating: BackgroundQueue[str, Companion]) -> None:
        self._people = people
        self._consolidating = consolidating
        self._lock = threading.Lock()
        #: When to look at whom; of those in the registry who are not here, at once.
        self._looks: dict[str, datetime] = {}
        #: When to try again what waits.
        self._tries: dict[str, datetime] = {}

    def listen(self, person: str) -> None:
        """Write down that this person has, or is about to have, a session that will have to end."""
        with self._lock:
            if person not in self._looks:
                self._people.registry.listen(person)
                self._looks[person] = self._people.clock() + _FIRST

    def heard(self, person: str, sessions: ServiceSessions) -> None:
        """Look at a person's sessions as they are now: what has ended is begun with at once."""
        when = self._next_look(person, sessions)
        with self._lock:
            if when is not None:
                self._looks[person] = when
            elif self._looks.pop(person, None) is not None:
                self._people.registry.unlisten(person)

    def forget(self, person: str) -> None:
        """Look at nothing of this person any more."""
        with self._lock:
            self._looks.pop(person, None)
            self._tries.pop(person, None)

    def sweep(self, sessions_of: Callable[[Companion], ServiceSessions]) -> int:
        """Look at everybody whose time has come. Returns how many sessions ended."""
        now = self._people.clock()
        with self._lock:
            for person in self._people.registry.listened():
                self._looks.setdefault(person, now)
            due = [person for person, when in self._looks.items() if when <= now]
        return sum(self._look(person, sessions_of) for person in due)

    def _look(self, person: str, sessions_of: Callable[[Companion], ServiceSessions]) -> bool:
        """One memory that cannot be opened must not keep the others waiting."""
        if not self._people.knows(person):
            return False
        try:
            with self._people.companion(person) as companion:
                sessions = sessions_of(companion)
                ended = sessions.end_over()
                self.heard(person, sessions)
                return ended
        except errors.StorageError as fault:
            self._people.log.error("a session could not be looked at", exc_info=fault)
            return False

    def _next_look(self, person: str, sessions: ServiceSessions) -> datetime | None:
        """When to look again; never where nothing is open and nothing waits."""
        going_on = sessions.open()
        looks = [sessions.ends(going_on)] if going_on else []
        if sessions.waits():
            looks.append(self._begun(person))
        else:
            self._tries.pop(person, None)
        return min(looks, default=None)

    def _begun(self, person: str) -> datetime:
        """Begin with what waits, unless it failed a moment before. Returns when to try again."""
        now, failures = self._people.clock(), self._consolidating.failures(person)
        if not failures or self._tries.get(person, now) <= now:
            self._consolidating.add(person)
            self._tries[person] = now + min(_LAST, _FIRST * 2 ** min(failures, 10))
        return self._tries[person]
