"""Connections to the server: how long a caller may take for a request's head, and how many there may be at once.

Promises: whoever opens a connection and sends no whole head is hung up on, however slowly the bytes drip; while the
server is full, the one that has been idle longest makes room for the next, so that idle callers keep nobody out; where
all are busy, a request is answered with 503 in the form of its API.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from interfaces.http.error_answers import Problems

#: Seconds in which the head of a request has to come, from its first byte or from the opening of the connection.
HEAD_TIMEOUT = 10.0
#: Seconds after which it is worth trying again where the server is full.
_SOON = 2


class Connection(H11Protocol):
    """One connection, as uvicorn serves it, with a deadline for each head. At most ``limit_concurrency`` of them."""

    def __init__(self, *args: Any, head_timeout: float = HEAD_TIMEOUT, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timeout = head_timeout
        self._deadline: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        #: Counted here: uvicorn's own answer has no API's form, and takes idle connections for busy ones.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(transport)
        self._await_head()
        if self._most is not None and len(self.connections) > self._most and not self._made_room():
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
        """Somebody is gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        self._idle_since = self.loop.time()
        self._deadline = self.loop.call_later(self._head_timeout, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        self._stop_waiting()
        self.timeout_keep_alive_handler()

    def _made_room(self) -> bool:
        """Hang up on whoever has been idle longest; False where all others are busy."""
        idle = [
            one
            for one in self.connections
            if isinstance(one, Connection) and one._is_idle and one is not self
        ]
        if not idle:
            return False
        longest = min(idle, key=lambda one: one._idle_since)
        longest._hang_up()
        self.connections.discard(longest)
        return True

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problems: Problems = self.config.app.state.problems  # type: ignore[union-attr]
        problem = problems.of(503, "served.full", wait=_SOON)
        self.cycle.keep_alive = False
        await problems.answer(scope["path"], problem)(scope, receive, send)
