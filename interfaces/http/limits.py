"""How much one caller may ask of a server: the size of a body, requests in a minute and at once, tokens in a day.

Promises: a request counts until the last byte of its answer is out, also a streamed one; a body is read whole before
anything is done with it, so that neither a slow nor an endless one holds a memory; who asks too much is told when to
come again, and costs nobody else anything. Requests at once are counted for each person, also those of a token for many
people, from when they name whom they are for. What the model read and wrote for a reply is counted before the reply is
out, by the day of the person's clock, for as long as the server runs; who has used up a day gets no further reply, and
all else as before.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from threading import Lock
from typing import Annotated, Any

from fastapi import Depends
from pydantic import StringConstraints
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.languages import estimate_all
from interfaces.http.callers import Caller
from interfaces.http.error_answers import Problem, Problems

#: Bytes of a body, and characters of one text, at most.
LARGEST_BODY = 8 * 1024 * 1024
LONGEST_TEXT = 1_000_000
#: Seconds in which a body has to come.
BODY_TIMEOUT = 30.0
_MINUTE = 60.0
#: Under which a door finds, in the state of its request, whether a reply may be had and where to tell what it took.
_SPENT = "tokens_spent"
#: Where a body may hold what is no finite number.
_PERHAPS_NONE = re.compile(rb"NaN|Infinity|\d[eE]\+?\d{3}|\d{309}")

#: A text of a caller, of a length that can be dealt with.
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]


@dataclass
class _Use:
    """What one caller asks of us: when each request of the last minute came, and how many tokens the model read and
    wrote on the day that is named."""

    came: deque[float] = field(default_factory=deque)
    day: date | None = None
    tokens: int = 0


class _Spent:
    """How many tokens one request took; what is told last holds. ``check`` raises where none is left."""

    def __init__(self, use: _Use, check: Callable[[_Use], None]) -> None:
        self._use = use
        self._check = check
        self._tokens = 0

    def check(self) -> None:
        """Raises what answers a request for a reply where the day is used up."""
        self._check(self._use)

    def tell(self, tokens: int) -> None:
        """So many, all in all."""
        self._use.tokens += tokens - self._tokens
        self._tokens = tokens


class OverLimit(Exception):
    """A request that is not answered otherwise."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _UnderWay:
    """How many requests are under way for each person, and for each caller that uses nobody's memory."""

    def __init__(self, most: int, full: Callable[[], Problem]) -> None:
        """``full`` is what answers one more than ``most``."""
        self._most = most
        self._full = full
        self._lock = Lock()
        #: By the person, or by the name of the caller.
        self._counts: dict[tuple[str | None, str], int] = {}

    @contextmanager
    def request(self, caller: Caller) -> Iterator[Callable[[str | None], None]]:
        """While one request is under way: what to call with whose memory it uses, which raises OverLimit."""
        held: set[tuple[str | None, str]] = set()

        def admit(person: str | None) -> None:
            key = (person, "" if person is not None else caller.name)
            with self._lock:
                if key in held:
                    return
                if self._counts.get(key, 0) >= self._most:
                    raise OverLimit(self._full())
                self._counts[key] = self._counts.get(key, 0) + 1
                held.add(key)

        try:
            yield admit
        finally:
            with self._lock:
                for key in held:
                    self._counts[key] -= 1
                    if not self._counts[key]:
                        del self._counts[key]


class _Gone(Exception):
    """Whoever asked has hung up."""


class Limits:
    """Lets a request pass within the limits of its caller, or answers it with 408, 413, 422 or 429."""

    def __init__(
        self,
        app: ASGIApp,
        problems: Problems,
        *,
        per_minute: int,
        at_once: int,
        tokens_per_day: int = 0,
        now: Callable[[], datetime] = datetime.now,
        largest_body: int = LARGEST_BODY,
        body_timeout: float = BODY_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._problems = problems
        self._per_minute = per_minute
        self._under_way = _UnderWay(
            at_once, lambda: problems.of(429, "served.too_many", wait=1, most=at_once)
        )
        self._tokens_per_day = tokens_per_day
        self._now = now
        self._largest = largest_body
        self._timeout = body_timeout
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer who asks for more than their share; pass everything else on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            with self._counted(scope.setdefault("state", {})):
                body = await self._body(scope, receive)
                if not _has_numbers_alone(body):
                    raise OverLimit(self._no_number())
                await self._app(scope, _again(body, receive), send)
        except OverLimit as refused:
            await self._problems.answer(scope["path"], refused.problem)(scope, receive, send)
        except _Gone:
            return

    @contextmanager
    def _counted(self, state: dict[str, Any]) -> Iterator[None]:
        """Count a request while it is under way. What anybody may ask for is not counted."""
        caller: Caller | None = state.get("caller")
        if caller is None:
            yield
            return
        use = self._uses.setdefault(caller.name, _Use())
        self._admit(use)
        with self._under_way.request(caller) as admit:
            if caller.only is not None:
                admit(caller.only)
            use.came.append(self._clock())
            state[_SPENT] = _Spent(use, self._check_day)
            state["caller"] = replace(caller, admit=admit)
            yield

    def _admit(self, use: _Use) -> None:
        now = self._clock()
        while use.came and now - use.came[0] >= _MINUTE:
            use.came.popleft()
        if len(use.came) >= self._per_minute:
            wait = use.came[0] + _MINUTE - now
            raise OverLimit(self._problems.of(429, "served.too_often", wait=wait, most=self._per_minute))

    def _check_day(self, use: _Use) -> None:
        now = self._now()
        if use.day != now.date():
            use.day, use.tokens = now.date(), 0
        if 0 < self._tokens_per_day <= use.tokens:
            midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
            wait = (midnight - now).total_seconds()
            raise OverLimit(self._problems.of(429, "served.too_much", wait=wait, most=self._tokens_per_day))

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        told = Headers(scope=scope).get("content-length", "")
        if told.isdecimal() and len(told) < 20 and int(told) > self._largest:
            raise OverLimit(self._too_large())
        try:
            async with asyncio.timeout(self._timeout):
                return await self._read(receive)
        except TimeoutError:
            problem = self._problems.of(408, "served.too_slow", seconds=round(self._timeout))
            raise OverLimit(problem) from None

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise _Gone
            body += message.get("body", b"")
            if len(body) > self._largest:
                raise OverLimit(self._too_large())
            if not message.get("more_body", False):
                return bytes(body)

    def _no_number(self) -> Problem:
        problem = self._problems.of(422, "served.no_number")
        return replace(problem, invalid=({"type": "finite_number", "loc": ["body"], "msg": problem.message},))

    def _too_large(self) -> Problem:
        return self._problems.of(413, "served.too_large", most=self._largest)


async def affordable(request: Request) -> None:
    """Refuses a reply where the tokens of the caller's day are used up."""
    spent: _Spent = request.scope["state"][_SPENT]
    spent.check()


#: Of a path operation that has a model reply: it is refused where the caller's day is used up.
Affordable = Depends(affordable)


def spend(request: Request, asked: int | None, said: int | None, texts: Iterable[str]) -> None:
    """Count what a reply took against its caller's day: as the model's server counted, else about as many as the
    ``texts`` that were sent and came back have."""
    counted = None if asked is None or said is None else asked + said
    spent: _Spent = request.scope["state"][_SPENT]
    spent.tell(estimate_all(texts) if counted is None else counted)


def _has_numbers_alone(body: bytes) -> bool:
    """Whether every number in a body of JSON is one; Python also reads NaN and what is larger than any number."""
    if not _PERHAPS_NONE.search(body):
        return True
    try:
        json.loads(body, parse_constant=_finite, parse_float=_finite)
    except OverflowError:
        return False
    except (ValueError, RecursionError):
        return True  # no JSON at all, which is told elsewhere
    return True


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise OverflowError
    return number


def _again(body: bytes, receive: Receive) -> Receive:
    """Hands a body over that was read already; then tells what else comes, which is that somebody hangs up."""
    handed = False

    async def from_here() -> Message:
        nonlocal handed
        if handed:
            return await receive()
        handed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return from_here
