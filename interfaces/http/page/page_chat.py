"""Work that the page follows: a line of JSON for each event, ``application/x-ndjson``.

    a reply     begun, recalled, text ..., notice, retrying, replied
    a save      begun, stage ..., notice, saved or nothing

``stopped`` or ``failed`` may follow at any place. The work has its own thread. Promises: an error before it begins has
its own status; ``replied`` and ``saved`` are sent once everything is stored; a client that hangs up stops the work, and
the part of the reply that it received is stored, marked as stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from threading import Thread

from fastapi import HTTPException
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from domain import errors
from domain.events import Notice, Recalled, Replied, Reply, Retrying, TextDelta, TurnEvent
from domain.records import Session
from domain.workers import CancelToken
from interfaces.http.error_responses import Problems
from interfaces.http.page.views import View, message_view, recalled_view
from interfaces.messages import Words
from jobs.maintenance import session_to_open
from people import Companion, People

#: What is done for a companion, as the lines that say so.
Work = Callable[[Companion, CancelToken], Iterator[View]]
#: What the thread returns; None at its end.
_Result = View | Exception | None


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
        self._stop = CancelToken()
        self._loop = asyncio.get_running_loop()
        self._results: asyncio.Queue[_Result] = asyncio.Queue()
        self._first: View | None = None

    async def begin(self, server: CancelToken) -> None:
        """Start the work and wait for its first line, or raise its error. ``server`` ends it as well."""
        Thread(target=self._run_thread, args=(server,), name="page-chat", daemon=True).start()
        begun = await self._results.get()
        if isinstance(begun, Exception):
            raise begun
        self._first = begun

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines, as they come."""
        came: _Result = self._first
        while came is not None:
            line = self._failure_line(came) if isinstance(came, Exception) else came
            yield json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            came = await self._results.get()

    def hang_up(self) -> None:
        """The client is gone: stop the work."""
        self._stop.set()

    def _run_thread(self, server: CancelToken) -> None:
        try:
            with server.calling(self._stop.set):
                self._run_work()
        except Exception as fault:  # sent as a line, or raised if no line was sent yet
            self._send_result(fault)
        self._send_result(None)

    def _run_work(self) -> None:
        with self._people.companion(self._person, wait=self._stop) as companion:
            for line in self._work(companion, self._stop):
                self._send_result(line)

    def _send_result(self, came: _Result) -> None:
        """Ignored once the server has ended; the work does not depend on it."""
        put: Callable[[_Result], None] = self._results.put_nowait
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(put, came)

    def _failure_line(self, fault: Exception) -> View:
        """An error in words; nothing more for work that was stopped."""
        if isinstance(fault, errors.Interrupted):
            return {"is": "stopped"}
        problem = Problems(self._words, self._people.log).from_error(fault)
        return {"is": "failed", "text": problem.message, "code": problem.code}


async def start_work(work: PageWork, server: CancelToken) -> PageLines:
    """The response to a request for some work, once that has begun. Raises its error otherwise."""
    await work.begin(server)
    return PageLines(work)


# -- the work


def reply_work(words: Words, text: str, wanted: str | None, count: Callable[[Reply], None], *, again: bool) -> Work:
    """A turn in a session: the one with the id ``wanted``, a new one for "", the present one for None.

    ``again``: the reply takes the place of the last one. ``count`` gets the reply before anybody sees its end.
    """

    def work(companion: Companion, stop: CancelToken) -> Iterator[View]:
        with companion.turns:
            conversation = companion.open_conversation(_session_to_talk_in(companion, wanted))
            yield {"is": "begun", "session": conversation.session.session_id}
            for event in conversation.turn(text, stop, again=again, watched=True):
                if isinstance(event, Replied):
                    count(event.reply)
                if line := _event_line(words, event):
                    yield line
            conversation.compact_ahead()

    return work


def save_work(words: Words, session_id: str) -> Work:
    """Save and archive a session. 404 where there is none, 409 where it is not one that is talked in here."""

    def work(companion: Companion, stop: CancelToken) -> Iterator[View]:
        from jobs.saving import NothingToSave, Saved, Stage

        with companion.turns:
            conversation = companion.open_conversation(_open_session(companion, session_id))
            yield {"is": "begun", "session": session_id}
            for event in conversation.save(stop):
                match event:
                    case Stage(name, done):
                        yield {"is": "stage", "name": name, "done": done}
                    case Notice():
                        yield {"is": "notice", "text": words.describe_notice(event)}
                    case NothingToSave():
                        yield {"is": "nothing"}
                    case Saved():
                        news = companion.memory.facts.session_changes(session_id)
                        yield {"is": "saved", "session": session_id, "facts": news.new + news.changed}

    return work


def _event_line(words: Words, event: TurnEvent) -> View | None:
    match event:
        case TextDelta(text):
            return {"is": "text", "text": text}
        case Recalled(found):
            return {"is": "recalled", **recalled_view(words, found)}
        case Notice():
            return {"is": "notice", "text": words.describe_notice(event)}
        case Retrying(_, attempt, of, seconds):
            return {"is": "retrying", "attempt": attempt, "of": of, "seconds": round(seconds)}
        case Replied(spoken, _):
            user, assistant = map(message_view, spoken.turns)
            return {"is": "replied", "user": user, "assistant": assistant}
    return None


def _session_to_talk_in(companion: Companion, wanted: str | None) -> Session:
    """An archived session that is named becomes active again: to write in it is to go on with it."""
    memory = companion.memory
    if wanted is None:
        return session_to_open(memory, companion.settings, companion.clock())[0]
    if not wanted:
        newest, _ = memory.sessions.resume_or_start()
        empty = not memory.messages.of_session(newest.session_id) and not memory.sessions.in_flight(newest.session_id)
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
    if session.status != "active" or session.client:
        raise HTTPException(409, "Conflict")
    return session
