"""Consolidating: what ended sessions come to, drawn from them in the background of a memory.

    ended session -> what an erasure left is made anew -> notes, facts, relations -> images -> archived

Promises: one session after another; an empty session asks no model; what fails, is stopped or killed leaves the session
ended and not yet archived, and goes on where it stopped when it is asked for again, nothing twice. Many people's come a
few at a time (``jobs.background_queue``).
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator

from domain.events import Notice
from domain.records import Session
from domain.workers import Stop
from jobs.noting import Noting
from jobs.renewing import renew
from jobs.saving import Saving
from llm import Llm
from memory import Memory


def ended_sessions(memory: Memory, door: str) -> list[Session]:
    """The sessions of a door that have ended and are not archived yet, oldest first."""
    return [one for one in memory.sessions.active(door) if one.end_timestamp is not None]


def consolidate(memory: Memory, llm: Llm, door: str, stop: Stop) -> Generator[Notice, None, bool]:
    """Draw from every ended session of a door what it came to, and archive it. Returns whether nothing is left.

    Raises ModelError, Interrupted, StorageError; what is done by then is kept.
    """
    yield from _notices(renew(memory, llm, stop))
    stop.check()
    while ended := ended_sessions(memory, door):
        if not (yield from _consolidated(memory, llm, ended[0], stop)):
            return False
    return not memory.rebuilds.due()


def _consolidated(memory: Memory, llm: Llm, session: Session, stop: Stop) -> Generator[Notice, None, bool]:
    """One session; false where a model failed to note it, which leaves it ended."""
    if not memory.messages.of_session(session.session_id):
        memory.rounds.save(session.session_id, "", {}, open_next=False)
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


def consolidated(memory: Memory, llm: Llm, door: str, stop: Stop, log: logging.Logger) -> bool:
    """The same, with what is to be told in the log. Returns whether nothing is left."""
    work = consolidate(memory, llm, door, stop)
    while True:
        try:
            told = next(work)
        except StopIteration as end:
            return bool(end.value)
        log.warning("consolidating: %s %s", told.key, told.details.get("error", ""))
