"""Work that the page follows: a line of JSON for each event, ``application/x-ndjson``.

    a reply     begun, recalled, text ..., notice, retrying, replied
    a save      begun, stage ..., notice, saved or nothing
    a greeting  begun, greeting ...; each with all of it so far

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
from typing import TYPE_CHECKING

from fastapi import HTTPException
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from domain import errors
from domain.events import Notice, Recalled, Replied, Reply, Retrying, TextDelta, TurnEvent
from domain.records import Session
from domain.workers import CancelToken
from interfaces.http.error_responses import Problems
from interfaces.http.guards import Caller
from interfaces.http.page.views import View, matter_view, message_view, recalled_view
from interfaces.messages import Words
from jobs.maintenance import session_to_open
from people import Companion

if TYPE_CHECKING:
    from jobs.greeting import Greeting
    from jobs.saving import SaveEvent

#: What is done for a companion, as the lines that say so.
Work = Callable[[Companion, CancelToken], Iterator[View]]
#: What the thread returns; None at its end.
_Result = View | Exception | None


class _PageLines(StreamingResponse):
    """The lines of some work as a response. Whoever hangs up stops it, also before the first line was read."""

    def __init__(self, lines: AsyncIterator[bytes], stop: CancelToken) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(lines, media_type="application/x-ndjson", headers=headers)
        self._stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines; end the work when the browser has left."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._stop.set()


async def start_work(caller: Caller, words: Words, work: Work, server: CancelToken) -> StreamingResponse:
    """The response to a request for some work, once that has begun. Raises its error otherwise.

    ``server`` ends it as well.
    """
    stop, loop = CancelToken(), asyncio.get_running_loop()
    people, person = caller.people, caller.person()
    results: asyncio.Queue[_Result] = asyncio.Queue()

    def send_result(came: _Result) -> None:
        with suppress(RuntimeError):  # the server has ended; the work does not depend on it
            loop.call_soon_threadsafe(results.put_nowait, came)

    def run() -> None:
        try:
            with server.calling(stop.set), people.companion(person) as companion:
                for line in work(companion, stop):
                    send_result(line)
        except Exception as fault:  # sent as a line, or raised if no line was sent yet
            send_result(fault)
        send_result(None)

    async def lines() -> AsyncIterator[bytes]:
        came = first
        while came is not None:
            if isinstance(came, errors.Interrupted):
                came = {"is": "stopped"}
            elif isinstance(came, Exception):
                problem = Problems(words, people.log).from_error(came)
                came = {"is": "failed", "text": problem.message, "code": problem.code}
            yield json.dumps(came, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            came = await results.get()

    Thread(target=run, name="page-chat", daemon=True).start()
    first = await results.get()
    if isinstance(first, Exception):
        raise first
    return _PageLines(lines(), stop)


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
                yield from _event_line(words, event, count)
            conversation.compact_ahead()

    return work


def greeting_work(words: Words, wanted: str | None, count: Callable[[Greeting], None]) -> Work:
    """What the companion says first in the session that is to be talked in; nothing, and no session, in most cases."""

    def work(companion: Companion, stop: CancelToken) -> Iterator[View]:
        from jobs.greeting import find_due

        yield {"is": "begun"}
        if not companion.settings.greeting or not find_due(companion.memory, companion.clock()):
            return
        with companion.turns:
            session = _open_session(companion, wanted) if wanted else _session_to_talk_in(companion, wanted)
            conversation = companion.open_conversation(session)
        for greeting in conversation.greet(stop):
            count(greeting)
            memories = [matter_view(words, one, companion.clock()) for one in greeting.matters]
            yield {"is": "greeting", "text": greeting.text, "memories": memories}

    return work


def save_work(words: Words, session_id: str) -> Work:
    """Save and archive a session. 404 where there is none, 409 where it is not one that is talked in here."""

    def work(companion: Companion, stop: CancelToken) -> Iterator[View]:
        with companion.turns:
            conversation = companion.open_conversation(_open_session(companion, session_id))
            yield {"is": "begun", "session": session_id}
            for event in conversation.save(stop):
                yield from _save_line(words, event, companion, session_id)

    return work


def _save_line(words: Words, event: SaveEvent, companion: Companion, session_id: str) -> Iterator[View]:
    from jobs.saving import NothingToSave, Saved, Stage

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


def _event_line(words: Words, event: TurnEvent, count: Callable[[Reply], None]) -> Iterator[View]:
    match event:
        case TextDelta(text):
            yield {"is": "text", "text": text}
        case Recalled(found):
            yield {"is": "recalled", **recalled_view(words, found)}
        case Notice():
            yield {"is": "notice", "text": words.describe_notice(event), "doubted": event.doubted}
        case Retrying(_, attempt, of, seconds):
            yield {"is": "retrying", "attempt": attempt, "of": of, "seconds": round(seconds)}
        case Replied(spoken, _):
            count(event.reply)
            said = {one.role if one.round > 0 else "greeting": message_view(one) for one in spoken.messages}
            yield {"is": "replied", **said}


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
