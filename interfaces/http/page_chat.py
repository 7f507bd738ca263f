"""Work that the page watches: a line of JSON for everything that happens, ``application/x-ndjson``.

    a reply     begun, recalled, text ..., notice, retrying, replied
    a save      begun, stage ..., notice, saved or nothing

``stopped`` or ``failed`` may follow at any place. The work has a thread of its own. Promises: what goes wrong before
it begins has its status; ``replied`` and ``saved`` are sent once everything is stored; whoever hangs up stops the work,
and what was shown of a reply until then is kept, marked as stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from threading import Thread
from typing import Any

from fastapi import HTTPException
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from domain import errors
from domain.events import Notice, Recalled, Replied, Reply, Retrying, TextDelta, TurnEvent
from domain.records import Session
from domain.workers import Stop
from interfaces.http.error_answers import Problems
from interfaces.http.page_shapes import recalled_shape, turn_shape
from interfaces.messages import Words
from jobs.keeping import session_to_open
from people import Companion, People

Line = dict[str, Any]
#: What is done for a companion, as the lines that say so.
Work = Callable[[Companion, Stop], Iterator[Line]]
#: What comes out of the thread of a turn; None at its end.
_Came = Line | Exception | None


class PageLines(StreamingResponse):
    """The lines of some work as a response. Whoever hangs up stops it, also before the first line was read."""

    def __init__(self, work: PageWork) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(work.lines(), media_type="application/x-ndjson", headers=headers)
        self._hang_up = work.hang_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the turn line by line; end it when the browser has left."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hang_up()


class PageWork:
    """Some work for one person, under way."""

    def __init__(self, people: People, words: Words, person: str, work: Work) -> None:
        self._people = people
        self._words = words
        self._person = person
        self._work = work
        self._stop = Stop()
        self._loop = asyncio.get_running_loop()
        self._came: asyncio.Queue[_Came] = asyncio.Queue()
        self._first: Line | None = None

    async def begin(self, server: Stop) -> None:
        """Start it, and wait until it has begun. Raises what kept it from beginning. ``server`` ends it as well."""
        Thread(target=self._run, args=(server,), name="page-chat", daemon=True).start()
        begun = await self._came.get()
        if isinstance(begun, Exception):
            raise begun
        self._first = begun

    async def lines(self) -> AsyncIterator[bytes]:
        """What happens, as it happens."""
        came: _Came = self._first
        while came is not None:
            line = self._failed(came) if isinstance(came, Exception) else came
            yield json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            came = await self._came.get()

    def hang_up(self) -> None:
        """Nobody listens any more: what is under way is stopped."""
        self._stop.set()

    def _run(self, server: Stop) -> None:
        try:
            with server.calling(self._stop.set):
                self._do()
        except Exception as fault:  # it is told where the lines are, or raised where none was yet
            self._tell(fault)
        self._tell(None)

    def _do(self) -> None:
        with self._people.companion(self._person, wait=self._stop) as companion:
            for line in self._work(companion, self._stop):
                self._tell(line)

    def _tell(self, came: _Came) -> None:
        """Nobody listens any more where the server has ended; the work itself does not depend on it."""
        put: Callable[[_Came], None] = self._came.put_nowait
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(put, came)

    def _failed(self, fault: Exception) -> Line:
        """In words; whoever stopped it knows."""
        if isinstance(fault, errors.Interrupted):
            return {"is": "stopped"}
        problem = Problems(self._words, self._people.log).problem_of(fault)
        return {"is": "failed", "text": problem.message, "code": problem.code}


async def begun(work: PageWork, server: Stop) -> PageLines:
    """The answer to a request for some work, once that has begun. Raises what kept it from beginning."""
    await work.begin(server)
    return PageLines(work)


# -- the work


def reply_work(
    words: Words, text: str, wanted: str | None, count: Callable[[Reply], None], *, again: bool
) -> Work:
    """A turn in a session: the one with the id ``wanted``, a new one for "", the present one for None.

    ``again``: the reply takes the place of the last one. ``count`` gets the reply before anybody sees its end.
    """

    def work(companion: Companion, stop: Stop) -> Iterator[Line]:
        with companion.turns:
            conversation = companion.conversation(_session_to_talk_in(companion, wanted))
            yield {"is": "begun", "session": conversation.session.session_id}
            for event in conversation.turn(text, stop, again=again, watched=True):
                if isinstance(event, Replied):
                    count(event.reply)
                if line := _line(words, event):
                    yield line
            conversation.fold_ahead()

    return work


def save_work(words: Words, session_id: str) -> Work:
    """Save and archive a session. 404 where there is none, 409 where it is not one that is talked in here."""

    def work(companion: Companion, stop: Stop) -> Iterator[Line]:
        from jobs.saving import NothingToSave, Saved, Stage

        with companion.turns:
            conversation = companion.conversation(_open_session(companion, session_id))
            yield {"is": "begun", "session": session_id}
            for event in conversation.save(stop):
                match event:
                    case Stage(name, done):
                        yield {"is": "stage", "name": name, "done": done}
                    case Notice():
                        yield {"is": "notice", "text": words.notice(event)}
                    case NothingToSave():
                        yield {"is": "nothing"}
                    case Saved():
                        news = companion.memory.facts.news_of(session_id)
                        yield {"is": "saved", "session": session_id, "facts": news.new + news.changed}

    return work


def _line(words: Words, event: TurnEvent) -> Line | None:
    match event:
        case TextDelta(text):
            return {"is": "text", "text": text}
        case Recalled(found):
            return {"is": "recalled", **asdict(recalled_shape(words, found))}
        case Notice():
            return {"is": "notice", "text": words.notice(event)}
        case Retrying(_, attempt, of, seconds):
            return {"is": "retrying", "attempt": attempt, "of": of, "seconds": round(seconds)}
        case Replied(spoken, _):
            user, assistant = (asdict(turn_shape(turn)) for turn in spoken.turns)
            return {"is": "replied", "user": user, "assistant": assistant}
    return None


def _session_to_talk_in(companion: Companion, wanted: str | None) -> Session:
    """An archived session that is named becomes active again: to write in it is to go on with it."""
    memory = companion.memory
    if wanted is None:
        return session_to_open(memory, companion.settings, companion.clock())[0]
    if not wanted:
        newest, _ = memory.sessions.resume_or_start()
        empty = not memory.messages.of_session(newest.session_id) and not memory.sessions.in_flight(
            newest.session_id
        )
        return newest if empty else memory.sessions.start()
    session = memory.sessions.find(wanted)
    if session and session.status == "archived":
        with memory.in_one_commit():  # beside the sessions that are active, in the place of an empty one
            return memory.rounds.resume(wanted, memory.sessions.start().session_id)
    return _open_session(companion, wanted)


def _open_session(companion: Companion, session_id: str) -> Session:
    session = companion.memory.sessions.find(session_id)
    if session is None:
        raise HTTPException(404, "Not Found")
    if session.status != "active" or session.door:
        raise HTTPException(409, "Conflict")
    return session
