"""Limits for each caller: connections, the size of a body, requests in a minute and at once, tokens
in a day.

Promises: a connection that sends no complete request head in time is closed, however slowly the bytes come; while the
server is full, the connection that has been idle longest is closed for the next one; where all are busy, a request is
answered with 503 in the form of its API. A body is read completely before anything is done with it, so that neither a
slow nor an endless one keeps a memory open. A request counts until the last byte of its answer is sent, also a streamed
one; a caller above its limits gets a ``Retry-After``, and does not slow down others. Requests at once are counted for
each person, also those of a token for many people. The tokens of a reply are counted before its end is sent, by the day
of the person's clock; a caller who has used up a day gets no further reply, and everything else as before. Servers that
share a database count together (``storage.registry``).
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any

import h11
from anyio import CancelScope, CapacityLimiter, to_thread
from fastapi import Depends
from pydantic import StringConstraints
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from domain.errors import StorageError
from interfaces.http.error_responses import Problem, Problems
from interfaces.http.guards import Caller
from language.scripts import estimate_all
from people import Usage

#: Bytes of a body, and characters of one text, at most.
LARGEST_BODY = 8 * 1024 * 1024
LONGEST_TEXT = 1_000_000
#: Seconds in which a body has to come.
BODY_TIMEOUT = 30.0
#: Seconds in which the head of a request has to come, from its first byte or from the opening of the connection.
HEAD_TIMEOUT = 10.0
#: Seconds after which it is worth trying again where the server is full.
_RETRY_AFTER = 2
#: Threads that count requests, apart from those that wait for models.
_COUNTING = 8
#: Where the state of a request holds the count of its tokens.
_TOKEN_COUNT = "tokens_spent"
#: Where a body may hold what is no finite number.
_PERHAPS_NONE = re.compile(rb"NaN|Infinity|\d[eE]\+?\d{3}|\d{309}")

#: A text of a caller, of a length that can be dealt with.
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]


class Connection(H11Protocol):
    """One connection, as uvicorn serves it, with a deadline for each head. At most ``limit_concurrency`` of them."""

    def __init__(self, *args: Any, head_timeout: float = HEAD_TIMEOUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timeout = head_timeout
        self._deadline: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        #: Counted here: uvicorn's own answer has no API's form, and counts idle connections as busy.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connects."""
        super().connection_made(transport)
        self._await_head()
        if self._most is not None and len(self.connections) > self._most and not self._make_room():
            self.app = self._refuse

    def data_received(self, data: bytes) -> None:
        """A part of a head or of a body came."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._deadline is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """A request was answered; the keep-alive time begins, or the next request that came meanwhile."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        self._idle_since = self.loop.time()
        self._deadline = self.loop.call_later(self._head_timeout, self._close)

    def _stop_waiting(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self._stop_waiting()
        self.timeout_keep_alive_handler()

    def _make_room(self) -> bool:
        """Close the connection that has been idle longest; False where all others are busy."""
        idle = [one for one in self.connections if isinstance(one, Connection) and one._is_idle and one is not self]
        if not idle:
            return False
        longest = min(idle, key=lambda one: one._idle_since)
        longest._close()
        self.connections.discard(longest)
        return True

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problems: Problems = self.config.app.state.problems  # type: ignore[union-attr]
        problem = problems.make_problem(503, "served.full", wait=_RETRY_AFTER)
        self.cycle.keep_alive = False
        await problems.make_response(scope["path"], problem)(scope, receive, send)


@dataclass(frozen=True)
class Quota:
    """The limits of one caller: requests in a minute and at once, and tokens in a day; 0 for no limit of tokens."""

    per_minute: int
    at_once: int
    tokens_per_day: int = 0


class _Counted:
    """One request: what it is counted for while it is under way, and its tokens, of which the last count is valid."""

    def __init__(self, limits: Limits, caller: Caller) -> None:
        self.under_way: set[str] = set()
        self.caller = caller
        self._limits = limits
        self._lock = threading.Lock()
        self._tokens = 0

    def admit(self, person: str | None) -> None:
        """Count it once for the person whose memory it uses, else for its caller. Raises OverLimit."""
        who = f"caller {self.caller.name}" if person is None else f"person {person}"
        with self._lock:
            if who not in self.under_way:
                self._limits.begin(who)
                self.under_way.add(who)

    def check_day(self) -> None:
        """Raises what answers a request for a reply where the day is used up."""
        self._limits.check_day(self.caller.name)

    def set_tokens(self, tokens: int) -> None:
        """Set the total."""
        self._limits.spend(self.caller.name, tokens - self._tokens)
        self._tokens = tokens


class OverLimit(Exception):
    """A request above a limit, with its response."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Gone(Exception):
    """The client has hung up."""


class Limits:
    """Lets a request pass within the limits of its caller, or answers it with 408, 413, 422 or 429."""

    def __init__(
        self,
        app: ASGIApp,
        problems: Problems,
        quota: Quota,
        *,
        usage: Usage,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """``usage`` counts; ``now`` is the person's clock, by which days are counted."""
        self._app = app
        self._problems = problems
        self._quota = quota
        self._usage = usage
        self._now = now
        self._threads: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a caller above its limits; pass everything else on. Paths without authentication are not counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        counted = _Counted(self, caller) if (caller := state.get("caller")) else None

        async def send_counted(message: Message) -> None:
            # Before its last byte: whoever has that may ask again.
            if counted and message["type"] == "http.response.body" and not message.get("more_body", False):
                await self._end(counted)
            await send(message)

        try:
            if counted:
                await self._in_thread(partial(self._begin, counted))
                state[_TOKEN_COUNT] = counted
                state["caller"] = replace(counted.caller, admit=counted.admit)
            body = await self._receive_body(scope, receive)
            self._check_numbers(body)
            await self._app(scope, _with_body(body, receive), send_counted)
        except OverLimit as refused:
            await self._problems.make_response(scope["path"], refused.problem)(scope, receive, send_counted)
        except _Gone:
            return
        finally:
            if counted:
                await self._end(counted)

    def begin(self, who: str) -> None:
        """Count a request that is under way. Raises OverLimit."""
        if not self._usage.begin(who, self._quota.at_once):
            raise self._refuse(429, "served.too_many", wait=1, most=self._quota.at_once)

    def spend(self, caller: str, tokens: int) -> None:
        """Count tokens of a caller's day."""
        self._usage.spend(caller, self._now().date().isoformat(), tokens)

    def check_day(self, caller: str) -> None:
        """Raises OverLimit where the tokens of a caller's day are used up."""
        most, now = self._quota.tokens_per_day, self._now()
        if 0 < most <= self._usage.spent(caller, now.date().isoformat()):
            midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
            raise self._refuse(429, "served.too_much", wait=(midnight - now).total_seconds(), most=most)

    def _begin(self, counted: _Counted) -> None:
        if counted.caller.only is not None:
            counted.admit(counted.caller.only)
        if wait := self._usage.let_in(counted.caller.name, self._quota.per_minute):
            raise self._refuse(429, "served.too_often", wait=wait, most=self._quota.per_minute)

    async def _end(self, counted: _Counted) -> None:
        """Count a request no longer, also where it was cancelled."""
        while counted.under_way:
            who = counted.under_way.pop()
            with CancelScope(shield=True):
                try:
                    await self._in_thread(partial(self._usage.end, who))
                except StorageError as fault:  # its answer is complete all the same
                    self._problems.report_unexpected(fault)

    async def _in_thread(self, count: Callable[[], None]) -> None:
        self._threads = self._threads or CapacityLimiter(_COUNTING)
        await to_thread.run_sync(count, limiter=self._threads)

    async def _receive_body(self, scope: Scope, receive: Receive) -> bytes:
        stated = Headers(scope=scope).get("content-length", "")
        if stated.isdecimal() and len(stated) < 20 and int(stated) > LARGEST_BODY:
            raise self._refuse(413, "served.too_large", most=LARGEST_BODY)
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                return await self._join_parts(receive)
        except TimeoutError:
            raise self._refuse(408, "served.too_slow", seconds=round(BODY_TIMEOUT)) from None

    async def _join_parts(self, receive: Receive) -> bytes:
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise _Gone
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_BODY:
                raise self._refuse(413, "served.too_large", most=LARGEST_BODY)
        return bytes(body)

    def _check_numbers(self, body: bytes) -> None:
        if not _has_finite_numbers(body):
            problem = self._problems.make_problem(422, "served.no_number")
            wrong = {"type": "finite_number", "loc": ["body"], "msg": problem.message}
            raise OverLimit(replace(problem, invalid=(wrong,)))

    def _refuse(self, status: int, key: str, **details: Any) -> OverLimit:
        return OverLimit(self._problems.make_problem(status, key, **details))


def _check_day(request: Request) -> None:
    """Refuses a reply where the tokens of the caller's day are used up."""
    counted: _Counted = request.scope["state"][_TOKEN_COUNT]
    counted.check_day()


#: Of a path operation that has a model reply: it is refused where the caller's day is used up.
Affordable = Depends(_check_day)


def count_tokens(request: Request, asked: int | None, said: int | None, texts: Iterable[str]) -> None:
    """Count the tokens of a reply: those that the model server reported, else an estimate for ``texts``."""
    counted: _Counted = request.scope["state"][_TOKEN_COUNT]
    counted.set_tokens(estimate_all(texts) if asked is None or said is None else asked + said)


def _has_finite_numbers(body: bytes) -> bool:
    """Whether every number in a JSON body is finite; Python also reads NaN and infinities."""
    if not _PERHAPS_NONE.search(body):
        return True

    def parse_finite(text: str) -> float:
        if not math.isfinite(number := float(text)):
            raise OverflowError
        return number

    try:
        json.loads(body, parse_constant=parse_finite, parse_float=parse_finite)
    except OverflowError:
        return False
    except (ValueError, RecursionError):
        return True  # no JSON at all, which is refused elsewhere
    return True


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Pass on a body that was read already, then the next message, which says that the client hung up."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def from_here() -> Message:
        return whole.pop() if whole else await receive()

    return from_here
