"""The sessions of the memory service, which open and end automatically.

    nothing -> (something is said) -> active -> (asked to, timed out, or full) -> ended -> archived

Promises: at most one per person is active; it ends after ``SESSION_TIMEOUT`` without a message, after
``SESSION_MAX_DURATION``, or when it is full and another message comes, which opens the next; what was said is stored
word for word, and once however often a client sends it. Open sessions are listed in the registry before
their first message is stored, so a start after a crash looks at those people and opens no other memory.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from domain import errors
from domain.records import SERVICE_CLIENT, Message, Role, Session, pair_messages
from domain.settings import Settings
from jobs.client_memories import ended_sessions
from jobs.forgetting import follow_forget_request
from memory import Memory
from people import Companion, People

#: No session is open longer, whatever the setting says, in seconds.
_A_CENTURY = 100 * 366 * 86_400.0
#: An identical message within this time was sent twice.
_SENT_AGAIN = timedelta(seconds=5)
#: A failed consolidation is tried again after one minute, then two, four, and so on, up to an hour.
_FIRST_RETRY, _LAST_RETRY = timedelta(minutes=1), timedelta(hours=1)


#: Who writes a message: the person, a program of theirs, or a program since the person wants back what they erased.
Written = Literal["by person", "by program", "again"]


@dataclass(frozen=True)
class OpenSession:
    """An open session with its messages, oldest first."""

    session: Session
    events: tuple[Message, ...]

    @property
    def started_at(self) -> datetime:
        """When it was opened."""
        return datetime.fromisoformat(self.session.start_timestamp)

    @property
    def last_active(self) -> datetime:
        """When something was said in it last."""
        return datetime.fromisoformat(self.events[-1].timestamp) if self.events else self.started_at


@dataclass(frozen=True)
class StoredEvent:
    """A stored message; ``new`` is false where it was stored before.

    ``reading``: a model is to read whether it asks to have something forgotten.
    """

    message: Message
    new: bool
    reading: bool = False


class ServiceSessions:
    """The sessions of one memory."""

    def __init__(
        self, memory: Memory, settings: Settings, clock: Callable[[], datetime], new_id: Callable[[], str]
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._new_id = new_id
        self._timeout = timedelta(seconds=settings.session_timeout)
        self._longest = timedelta(seconds=min(settings.session_max_duration, _A_CENTURY))
        self._most = settings.session_max_events
        self._readable = not settings.demo

    def find_open(self) -> OpenSession | None:
        """The open session, None where its time is over; changes nothing."""
        found = self._find_active()
        return found if found and self._clock() < self.end_time(found) else None

    def end_time(self, found: OpenSession) -> datetime:
        """When a session ends without another message."""
        return min(found.last_active + self._timeout, found.started_at + self._longest)

    def end_if_over(self) -> bool:
        """End the session whose time is over. Returns whether there was one."""
        with self._memory.in_one_commit():
            found = self._find_active()
            return found is not None and self._end_by_clock(found, self._clock())

    def end(self) -> tuple[OpenSession, datetime] | None:
        """End the session that goes on. Returns it and when it ended."""
        with self._memory.in_one_commit():
            found, now = self._find_active(), self._clock()
            if found is None or self._end_by_clock(found, now):
                return None
            self._end_session(found, now)
            return found, now

    def find_repeated(
        self, text: str, request_id: str | None, going_on: OpenSession | None, role: Role = "user"
    ) -> Message | None:
        """The message that an earlier copy of this request stored."""
        if request_id is not None:
            return next(iter(self._memory.messages.with_ids([_id_of(request_id)])), None)
        last = going_on.events[-1] if going_on and going_on.events else None
        if last is None or (last.role, last.words) != (role, text):
            return None
        since = self._clock() - datetime.fromisoformat(last.timestamp)
        return last if abs(since) <= _SENT_AGAIN else None

    def store(
        self,
        text: str,
        request_id: str | None = None,
        written: Written = "by person",
        role: Role = "user",
        metadata: Mapping[str, Any] | None = None,
    ) -> StoredEvent:
        """Store a message in the open session, or in a new one where none is open or it is full.

        One of the ``role`` "assistant" is what the program's own companion said.

        Raises UsageError for what was erased: a request that is sent again, or words that a program writes.
        """
        with self._memory.in_one_commit():
            found, now = self._find_active(), self._clock()
            if found and self._end_by_clock(found, now):
                found = None
            if before := self.find_repeated(text, request_id, found, role):
                return StoredEvent(before, new=False)
            if found and len(found.events) >= self._most:
                self._end_session(found, now)
                found = None
            text_id = self._new_id() if request_id is None else _id_of(request_id)
            said = now.isoformat() if written == "by person" else ""
            if written == "again":
                self._memory.bring_back(text, text_id)
            elif self._memory.says_erased(text, said, text_id):
                raise errors.UsageError("memory.erased")
            session = found.session if found else self._memory.sessions.start(client=SERVICE_CLIENT, client_key="")
            message = self._memory.rounds.store_alone(session.session_id, text, text_id, role=role, metadata=metadata)
            rounds = pair_messages([message], alone=True)
            read = [follow_forget_request(self._memory, one, readable=self._readable).reading for one in rounds]
            return StoredEvent(message, new=True, reading=any(read))

    def _find_active(self) -> OpenSession | None:
        found = self._memory.sessions.active(SERVICE_CLIENT)
        session = next((one for one in reversed(found) if one.end_timestamp is None), None)
        return OpenSession(session, tuple(self._memory.messages.of_session(session.session_id))) if session else None

    def _end_by_clock(self, found: OpenSession, now: datetime) -> bool:
        """End a session whose time is over; it ended when that was."""
        over = self.end_time(found)
        if now < over:
            return False
        self._end_session(found, over)
        return True

    def _end_session(self, found: OpenSession, moment: datetime) -> None:
        self._memory.sessions.end(found.session.session_id, moment.isoformat(timespec="seconds"))


class SessionWatch:
    """When each person's sessions are checked next: whether they have ended, and are to be consolidated."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._lock = threading.Lock()
        #: When to check whom; those only in the registry at once.
        self._checks: dict[str, datetime] = {}

    def expect_end(self, person: str) -> None:
        """Record that this person has, or is about to have, a session that will have to end."""
        with self._lock:
            if person not in self._checks:
                self._people.registry.mark_open(person)
                self._checks[person] = self._people.clock() + _FIRST_RETRY

    def check_soon(self, companion: Companion, sessions: ServiceSessions, *, retry: bool = False) -> None:
        """Check a person's sessions: consolidation of those that ended begins at once."""
        person, when = companion.person, self._next_check(companion, sessions, retry=retry)
        with self._lock:
            if when is not None:
                self._checks[person] = when
            elif self._checks.pop(person, None) is not None:
                self._people.registry.unmark_open(person)

    def check(self, companion: Companion, sessions: ServiceSessions) -> bool:
        """End a person's session if its time is over, and consolidate what has ended. Returns whether one ended."""
        ended = sessions.end_if_over()
        self.check_soon(companion, sessions, retry=True)
        return ended

    def remove_person(self, person: str) -> None:
        """Check this person no more."""
        with self._lock:
            self._checks.pop(person, None)

    def sweep(self, sessions_of: Callable[[Companion], ServiceSessions]) -> int:
        """Check everyone whose time has come. Returns how many sessions ended."""
        now = self._people.clock()
        with self._lock:
            for person in self._people.registry.open_persons():
                self._checks.setdefault(person, now)
            due = [person for person, when in self._checks.items() if when <= now]
        return sum(self._check_person(person, sessions_of) for person in due)

    def _check_person(self, person: str, sessions_of: Callable[[Companion], ServiceSessions]) -> bool:
        """Check one person; an error of their memory is logged, and the others are checked."""
        if not self._people.has_person(person):
            return False
        try:
            with self._people.companion(person) as companion:
                return self.check(companion, sessions_of(companion))
        except errors.StorageError as fault:
            self._people.log.error("a session could not be checked", exc_info=fault)
            return False

    def _next_check(self, companion: Companion, sessions: ServiceSessions, *, retry: bool) -> datetime | None:
        """When to check again; never where nothing is open and there is nothing to do."""
        going_on = sessions.find_open()
        checks = [sessions.end_time(going_on)] if going_on else []
        if ended_sessions(companion.memory, SERVICE_CLIENT) or companion.memory.rebuilds.due_requests():
            companion.maintenance.queue.request("consolidate", SERVICE_CLIENT, at_once=retry)
            job = companion.memory.jobs.find("consolidate", SERVICE_CLIENT)
            delay = _FIRST_RETRY * 2 ** min(job.attempts if job else 0, 10)
            checks.append(self._people.clock() + min(_LAST_RETRY, delay))
        return min(checks, default=None)


def _id_of(request_id: str) -> str:
    """The id of what a request stores, so that the same request never stores twice."""
    return hashlib.sha256(b"request\0" + request_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
