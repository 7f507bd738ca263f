"""Who calls: the token of a request, and whose memory it may use.

Somebody else's memory is not found, never forbidden: who may not see it learns nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from domain.workers import Stop
from people import EVERYBODY, ME, Token


@dataclass(frozen=True)
class Caller:
    """A program that was let in. Without a token it is on this machine, while there are no tokens at all."""

    token: Token | None

    @property
    def name(self) -> str:
        """What its requests are counted by."""
        return self.token.name if self.token else ""

    @property
    def own_person(self) -> str:
        """Whose memory is meant where none is named; a program that speaks for everybody has to name somebody."""
        return self.token.person if self.token and self.token.person != EVERYBODY else ME

    def person(self, named: str | None = None) -> str:
        """Whose memory is meant. Raises 404 where this caller does not speak for the one that was named."""
        wanted = self.own_person if named is None else named
        if not (self.token.speaks_for(wanted) if self.token else wanted == ME):
            raise HTTPException(404, "Not Found")
        return wanted


async def calling(request: Request) -> Caller:
    """The caller of a request, whom the guards let in."""
    caller: Caller = request.state.caller
    return caller


async def stopping(request: Request) -> Stop:
    """Set when the server ends and can wait no longer for what is under way."""
    stop: Stop = request.app.state.stop
    return stop


async def leaving(request: Request) -> AsyncIterator[Stop]:
    """Set when whoever asked hangs up, or the server ends: what nobody waits for is not gone on with."""
    gone = Stop()

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    ending: Stop = request.app.state.stop
    listening = asyncio.create_task(listen())
    try:
        with ending.calling(gone.set):
            yield gone
    finally:
        listening.cancel()
        gone.set()  # whoever left before the answer began is noticed by nobody else


#: The parameter of a path operation that needs to know who calls.
Calling = Annotated[Caller, Depends(calling)]
#: The parameter of a path operation that asks a model: what it hands to a turn.
Stopping = Annotated[Stop, Depends(stopping)]
#: The same, which is also set when the caller hangs up. For answers whose cost is not worth paying for nobody.
Leaving = Annotated[Stop, Depends(leaving)]
