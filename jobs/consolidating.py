"""Consolidating: what ended sessions come to, drawn from them in the background, for many people at once.

    ended session -> what an erasure left is made anew -> notes, facts, relations -> images -> archived

Promises: a few people at a time, one session after another, and never beside other work in the background of the same
memory, so that whoever erases pauses this too; an empty session asks no model; what fails, is stopped or killed leaves
the session ended and not yet archived, and goes on where it stopped when it is asked for again, nothing twice.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from domain import errors
from domain.events import Notice, Stop
from domain.records import Session
from jobs.background import Background
from jobs.noting import Noting
from jobs.renewing import renew
from jobs.saving import Saving
from llm import Llm
from memory import Memory

#: So many people's sessions are consolidated at once.
_AT_ONCE = 2
#: Seconds between two looks whether other work of a memory has ended.
_GLANCE = 0.05


@dataclass(frozen=True)
class Workplace:
    """A memory, the models that read it, and where its work in the background is done."""

    memory: Memory
    llm: Llm
    background: Background


#: Opens the memory of a person, and keeps it open meanwhile.
Opens = Callable[[str], AbstractContextManager[Workplace]]


def ended_sessions(memory: Memory, door: str) -> list[Session]:
    """The sessions of a door that have ended and are not archived yet, oldest first."""
    return [one for one in memory.doors.active_sessions_of_door(door) if one.end_timestamp is not None]


def consolidate(memory: Memory, llm: Llm, door: str, stop: Stop) -> Generator[Notice, None, bool]:
    """Draw from every ended session of a door what it came to, and archive it. Returns whether nothing is left.

    Raises ModelError, Interrupted, StorageError; what is done by then is kept.
    """
    yield from _notices(renew(memory, llm, stop))
    stop.check()
    while ended := ended_sessions(memory, door):
        if not (yield from _consolidated(memory, llm, ended[0], stop)):
            return False
    return not memory.renewals()


def _consolidated(memory: Memory, llm: Llm, session: Session, stop: Stop) -> Generator[Notice, None, bool]:
    """One session; false where a model failed to note it, which leaves it ended."""
    if not memory.turns_of(session.session_id):
        memory.archive(session.session_id, "", {}, open_next=False)
        return True
    if not (yield from _noted(memory, llm, session, stop)):
        return False
    yield from _notices(Saving(memory, llm).run(session, stop, open_next=False))
    return True


def _noted(memory: Memory, llm: Llm, session: Session, stop: Stop) -> Generator[Notice, None, bool]:
    noting = Noting(memory, llm).run(session.session_id, stop, all_of_it=True)
    while True:
        try:
            event = next(noting)
        except StopIteration as end:
            return bool(end.value)
        if isinstance(event, Notice):
            yield event


def _notices(events: Iterator[object]) -> Iterator[Notice]:
    return (event for event in events if isinstance(event, Notice))


class Consolidating:
    """The people whose ended sessions wait, and those who have their turn.

    >>> consolidating.add("ann")
    >>> consolidating.wait("ann", timeout=60)
    True
    """

    def __init__(self, opens: Opens, door: str, log: logging.Logger, at_once: int = _AT_ONCE) -> None:
        self._opens = opens
        self._door = door
        self._log = log
        self._at_once = at_once
        self._changed = threading.Condition()
        self._waiting: dict[str, None] = {}
        self._running: dict[str, Stop] = {}
        self._failed: Counter[str] = Counter()
        self._threads = 0
        self._closed = False

    def add(self, person: str) -> None:
        """Have this person's ended sessions consolidated, once more where that is under way."""
        with self._changed:
            self._waiting[person] = None
            self._begin()

    def failures(self, person: str) -> int:
        """How often in a row it could not be done, or not all of it."""
        with self._changed:
            return self._failed[person]

    def wait(self, person: str, timeout: float) -> bool:
        """Wait until nothing waits or runs for a person; false when that takes longer."""
        with self._changed:
            return self._changed.wait_for(
                lambda: person not in self._waiting and person not in self._running, timeout
            )

    def close(self, timeout: float) -> None:
        """Stop what is under way, and begin nothing any more; the next start goes on."""
        with self._changed:
            self._closed = True
            for stop in self._running.values():
                stop.set()
            self._changed.wait_for(lambda: not self._running, timeout)

    def _begin(self) -> None:
        """Another thread where somebody could have their turn; the lock is held."""
        if self._threads < self._at_once and self._next() is not None:
            self._threads += 1
            threading.Thread(target=self._work, name="consolidate", daemon=True).start()

    def _next(self) -> str | None:
        """Who has their turn now; the lock is held."""
        free = (one for one in self._waiting if one not in self._running)
        return None if self._closed else next(free, None)

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            person, stop = taken
            done = False
            try:
                done = self._done(person, stop)
            finally:
                self._end(person, done=done or stop.is_set)

    def _take(self) -> tuple[str, Stop] | None:
        with self._changed:
            person = self._next()
            if person is None:
                self._threads -= 1
                return None
            del self._waiting[person]
            stop = self._running[person] = Stop()
            return person, stop

    def _done(self, person: str, stop: Stop) -> bool:
        """Consolidate; whether nothing is left. A fault of ours must reach the log, and must not end the thread."""
        try:
            with self._opens(person) as place:
                return _Piece(place, self._door, stop, self._log).done()
        except Exception as fault:
            self._log.error("consolidating failed", exc_info=fault)
            return False

    def _end(self, person: str, *, done: bool) -> None:
        with self._changed:
            del self._running[person]
            if done:
                del self._failed[person]
            else:
                self._failed[person] += 1
            self._changed.notify_all()


class _Piece:
    """The work for one person, which waits for its turn among the other work in the background of that memory."""

    def __init__(self, place: Workplace, door: str, stop: Stop, log: logging.Logger) -> None:
        self._place = place
        self._door = door
        self._stop = stop
        self._log = log
        self._over = threading.Event()
        self._left = True

    def done(self) -> bool:
        """Wait until it is done, or the wish to stop comes; whether nothing is left. A pause only puts it off."""
        while not self._over.wait(_GLANCE):
            if self._stop.is_set:
                self._place.background.wait(0.0)
                break
            self._place.background.begin(self._work)
        return not self._left

    def _work(self, stop: Stop) -> None:
        try:
            with self._stop.calling(stop.set):
                self._left = not self._consolidated(stop)
        except errors.Interrupted:
            raise
        except errors.OldFriendError as fault:
            self._log.error("consolidating failed", exc_info=fault)
        self._over.set()

    def _consolidated(self, stop: Stop) -> bool:
        work = consolidate(self._place.memory, self._place.llm, self._door, stop)
        while True:
            try:
                told = next(work)
            except StopIteration as end:
                return bool(end.value)
            self._log.warning("consolidating: %s %s", told.key, told.details.get("error", ""))
