"""The sessions of one memory that this service holds: they open by themselves, and end by themselves.

    nothing -> (something is said) -> active -> (asked to, by the clock, when full) -> ending -> archived

Promises: at most one is active; it ends after ``SESSION_TIMEOUT`` of silence, ``SESSION_MAX_DURATION`` of life, or when
one more event than ``SESSION_MAX_EVENTS`` comes, which opens the next; only what the person said is stored, as it came,
and once however often a client sends it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.pleas import heard
from domain.records import EVENT_DOOR, Session, Turn
from domain.settings import Settings
from jobs.consolidating import ended_sessions
from memory import Memory

#: The door that holds these sessions.
DOOR = EVENT_DOOR
#: How the name of a request begins that a door gave it, not its client: what a client sends twice is still heard once.
OF_A_DOOR = "door\0"
#: What is said twice within so short a time, word for word, was sent twice.
_SENT_AGAIN = timedelta(seconds=5)


@dataclass(frozen=True)
class OpenSession:
    """A session that goes on, with what was said in it, oldest first."""

    session: Session
    events: tuple[Turn, ...]

    @property
    def began(self) -> datetime:
        """When it was opened."""
        return datetime.fromisoformat(self.session.start_timestamp)

    @property
    def last_active(self) -> datetime:
        """When something was said in it last."""
        return datetime.fromisoformat(self.events[-1].timestamp) if self.events else self.began


@dataclass(frozen=True)
class StoredEvent:
    """What was said, as it is stored; ``new`` is false where it was stored before."""

    turn: Turn
    new: bool


class ServiceSessions:
    """The sessions of one memory."""

    def __init__(
        self,
        memory: Memory,
        settings: Settings,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._new_id = new_id
        self._timeout = timedelta(seconds=settings.session_timeout)
        self._longest = timedelta(seconds=settings.session_max_duration)
        self._most = settings.session_max_events

    def open(self) -> OpenSession | None:
        """The session that goes on now; nothing is changed where the time of one is over."""
        found = self._active()
        return found if found and self._clock() < self.ends(found) else None

    def ends(self, found: OpenSession) -> datetime:
        """When a session ends if nothing more is said in it."""
        return min(found.last_active + self._timeout, found.began + self._longest)

    def waits(self) -> bool:
        """Whether something is to be drawn from sessions that have ended, or to be made anew."""
        return bool(ended_sessions(self._memory, DOOR) or self._memory.rebuilds.due())

    def end_over(self) -> bool:
        """End the session whose time is over. Returns whether there was one."""
        with self._memory.in_one_commit():
            found, now = self._active(), self._clock()
            return found is not None and self._ended_by_clock(found, now)

    def end(self) -> tuple[OpenSession, datetime] | None:
        """End the session that goes on. Returns it and when it ended."""
        with self._memory.in_one_commit():
            found, now = self._active(), self._clock()
            if found is None or self._ended_by_clock(found, now):
                return None
            self._end(found, now)
            return found, now

    def sent_before(self, text: str, request_id: str | None, going_on: OpenSession | None) -> Turn | None:
        """What is stored already of a request that is sent again."""
        if request_id is not None:
            found = next(iter(self._memory.messages.with_ids([_id_of(request_id)])), None)
            if found or not request_id.startswith(OF_A_DOOR):
                return found
        last = going_on.events[-1] if going_on and going_on.events else None
        if last is None or last.words != text:
            return None
        since = self._clock() - datetime.fromisoformat(last.timestamp)
        return last if abs(since) <= _SENT_AGAIN else None

    def store(self, text: str, request_id: str | None = None) -> StoredEvent:
        """Store what was said in the session that goes on, in a new one where none does or it is full."""
        with self._memory.in_one_commit():
            found, now = self._active(), self._clock()
            if found and self._ended_by_clock(found, now):
                found = None
            if before := self.sent_before(text, request_id, found):
                return StoredEvent(before, new=False)
            if found and len(found.events) >= self._most:
                self._end(found, now)
                found = None
            session = found.session if found else self._memory.sessions.start_for(DOOR, "")
            text_id = self._new_id() if request_id is None else _id_of(request_id)
            turn = self._memory.rounds.store_alone(session.session_id, text, text_id)
            self._hear_plea(turn, found.events if found else ())
            return StoredEvent(turn, new=True)

    def _hear_plea(self, said: Turn, before: Sequence[Turn]) -> None:
        """Whoever asks to have something forgotten is heard: it is told nobody any more."""
        if plea := heard(said.words):
            meant = [*before[-1:], said] if plea.alone else [said]
            self._memory.rounds.hide([turn.text_id for turn in meant])

    def _active(self) -> OpenSession | None:
        found = self._memory.sessions.active(DOOR)
        going_on = [session for session in found if session.end_timestamp is None]
        if not going_on:
            return None
        return OpenSession(going_on[-1], tuple(self._memory.messages.of_session(going_on[-1].session_id)))

    def _ended_by_clock(self, found: OpenSession, now: datetime) -> bool:
        """End a session whose time is over; it ended when that was."""
        over = self.ends(found)
        if now < over:
            return False
        self._end(found, over)
        return True

    def _end(self, found: OpenSession, moment: datetime) -> None:
        self._memory.sessions.end(found.session.session_id, moment.isoformat(timespec="seconds"))


def _id_of(request_id: str) -> str:
    """The id of what a request stores, so that the same request never stores twice."""
    return hashlib.sha256(b"request\0" + request_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
