"""How much one caller may ask of a server: the size of a body, requests in a minute, requests at once.

Promises: a request counts until the last byte of its answer is out, also a streamed one; a body is read whole before
anything is done with it, so that neither a slow nor an endless one holds a memory; who asks too much is told when to
come again, and costs nobody else anything.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import StringConstraints
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interfaces.http.callers import Caller
from interfaces.http.error_answers import Problem, Problems

#: Bytes of a body, characters of one text, and messages of one request, at most.
LARGEST_BODY = 8 * 1024 * 1024
LONGEST_TEXT = 1_000_000
MOST_MESSAGES = 10_000
#: Seconds in which a body has to come.
BODY_TIMEOUT = 30.0
_MINUTE = 60.0

#: A text of a caller, of a length that can be dealt with.
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]


@dataclass
class _Use:
    """What one caller asks of us: when each request of the last minute came, and how many are under way."""

    came: deque[float] = field(default_factory=deque)
    under_way: int = 0


class _Refused(Exception):
    """A request that is not answered otherwise."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Gone(Exception):
    """Whoever asked has hung up."""


class Limits:
    """Lets a request pass within the limits of its caller, or answers it with 408, 413 or 429."""

    def __init__(
        self,
        app: ASGIApp,
        problems: Problems,
        *,
        per_minute: int,
        at_once: int,
        largest_body: int = LARGEST_BODY,
        body_timeout: float = BODY_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._problems = problems
        self._per_minute = per_minute
        self._at_once = at_once
        self._largest = largest_body
        self._timeout = body_timeout
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            with self._counted(scope.get("state", {}).get("caller")):
                body = await self._body(scope, receive)
                await self._app(scope, _again(body, receive), send)
        except _Refused as refused:
            await self._problems.answer(scope["path"], refused.problem)(scope, receive, send)
        except _Gone:
            return

    @contextmanager
    def _counted(self, caller: Caller | None) -> Iterator[None]:
        """Count a request while it is under way. What anybody may ask for is not counted."""
        if caller is None:
            yield
            return
        use = self._uses.setdefault(caller.name, _Use())
        self._admit(use)
        use.under_way += 1
        try:
            yield
        finally:
            use.under_way -= 1

    def _admit(self, use: _Use) -> None:
        now = self._clock()
        while use.came and now - use.came[0] >= _MINUTE:
            use.came.popleft()
        if len(use.came) >= self._per_minute:
            wait = use.came[0] + _MINUTE - now
            raise _Refused(self._problems.of(429, "served.too_often", wait=wait, most=self._per_minute))
        if use.under_way >= self._at_once:
            raise _Refused(self._problems.of(429, "served.too_many", wait=1, most=self._at_once))
        use.came.append(now)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        told = Headers(scope=scope).get("content-length", "")
        if told.isdecimal() and len(told) < 20 and int(told) > self._largest:
            raise _Refused(self._too_large())
        try:
            async with asyncio.timeout(self._timeout):
                return await self._read(receive)
        except TimeoutError:
            problem = self._problems.of(408, "served.too_slow", seconds=round(self._timeout))
            raise _Refused(problem) from None

    async def _read(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise _Gone
            body += message.get("body", b"")
            if len(body) > self._largest:
                raise _Refused(self._too_large())
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> Problem:
        return self._problems.of(413, "served.too_large", most=self._largest)


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
