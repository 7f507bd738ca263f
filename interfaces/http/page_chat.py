"""A reply of the page's chat, as it comes: a line of JSON for everything that happens, ``application/x-ndjson``.

    begun, recalled, text ..., notice, retrying, replied      or failed, at any place

The turn has a thread of its own, which holds the companion's turns from its beginning to its end. Promises: what goes
wrong before the turn begins has its status; ``replied`` is told after the round is stored; whoever hangs up stops the
turn, and what was shown until then is kept, marked as stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import asdict
from threading import Thread
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from domain import errors
from domain.events import Notice, Recalled, Replied, Reply, Retrying, TextDelta, TurnEvent
from domain.workers import Stop
from interfaces.http.error_answers import Problems
from interfaces.http.page_shapes import recalled_shape, turn_shape
from interfaces.messages import Words
from jobs.keeping import session_to_open
from people import People

Line = dict[str, Any]
#: What comes out of the thread of a turn; None at its end.
_Came = Line | Exception | None


class PageReply(StreamingResponse):
    """The lines of a turn as a response. Whoever hangs up stops the turn, also before the first line was read."""

    def __init__(self, turn: PageChat) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(turn.lines(), media_type="application/x-ndjson", headers=headers)
        self._hang_up = turn.hang_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the turn line by line; end it when the browser has left."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hang_up()


class PageChat:
    """One turn of one person, under way."""

    def __init__(
        self, people: People, words: Words, person: str, text: str, count: Callable[[Reply], None]
    ) -> None:
        """``count`` is told what a reply took, before anybody sees its end."""
        self._people = people
        self._words = words
        self._person = person
        self._text = text
        self._count = count
        self._stop = Stop()
        self._loop = asyncio.get_running_loop()
        self._came: asyncio.Queue[_Came] = asyncio.Queue()

    async def begin(self, server: Stop) -> None:
        """Start it, and wait until it has begun. Raises what kept it from beginning. ``server`` ends it as well."""
        Thread(target=self._run, args=(server,), name="page-chat", daemon=True).start()
        begun = await self._came.get()
        if isinstance(begun, Exception):
            raise begun
        self._came.put_nowait(begun)

    async def lines(self) -> AsyncIterator[bytes]:
        """What happens, as it happens."""
        while (came := await self._came.get()) is not None:
            line = self._failed(came) if isinstance(came, Exception) else came
            yield json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def hang_up(self) -> None:
        """Nobody listens any more: what is under way is stopped."""
        self._stop.set()

    def _run(self, server: Stop) -> None:
        try:
            with server.calling(self._stop.set):
                self._turn()
        except Exception as fault:  # it is told where the lines are, or raised where none was yet
            self._tell(fault)
        self._tell(None)

    def _turn(self) -> None:
        with self._people.companion(self._person, wait=self._stop) as companion, companion.turns:
            session, _ = session_to_open(companion.memory, companion.settings, self._people.clock())
            conversation = companion.conversation(session)
            self._tell({"is": "begun", "session": session.session_id})
            for event in conversation.turn(self._text, self._stop, watched=True):
                if line := self._line(event):
                    self._tell(line)
            conversation.fold_ahead()

    def _tell(self, came: _Came) -> None:
        """Nobody listens any more where the server has ended; the turn itself does not depend on it."""
        put: Callable[[_Came], None] = self._came.put_nowait
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(put, came)

    def _line(self, event: TurnEvent) -> Line | None:
        match event:
            case TextDelta(text):
                return {"is": "text", "text": text}
            case Recalled(found):
                return {"is": "recalled", **asdict(recalled_shape(self._words, found))}
            case Notice():
                return {"is": "notice", "text": self._words.notice(event)}
            case Retrying(_, attempt, of, seconds):
                return {"is": "retrying", "attempt": attempt, "of": of, "seconds": round(seconds)}
            case Replied(spoken, reply):
                self._count(reply)
                user, assistant = (asdict(turn_shape(turn)) for turn in spoken.turns)
                return {"is": "replied", "user": user, "assistant": assistant}
        return None

    def _failed(self, fault: Exception) -> Line:
        """In words; whoever stopped it knows."""
        if isinstance(fault, errors.Interrupted):
            return {"is": "stopped"}
        problem = Problems(self._words, self._people.log).problem_of(fault)
        return {"is": "failed", "text": problem.message, "code": problem.code}
