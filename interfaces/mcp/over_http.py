"""The tools at ``/mcp`` of the server: the guards and limits of all doors stand before it, and it keeps no sessions.

Whose memory is meant comes from the token of each request, or with a token for many people from ``X-User-Id`` or the
tool call; somebody else's is not found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, HTTPException
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.routing import Route

from interfaces.http.callers import Caller
from interfaces.http.limits import OverLimit
from interfaces.mcp.server import Ctx, Declined, make_server
from interfaces.messages import Words, choose
from interfaces.service.memory_service import MemoryService
from interfaces.socket.verbs import HeldHere
from people import People

#: The guards look at Host and Origin of every request, and know the names that this server may be called by.
_GUARDED = TransportSecuritySettings(enable_dns_rebinding_protection=False)
#: Where the five tools are, and where all of them are: some hosts take no address that ends otherwise than in /mcp.
_FIVE, _FULL = ("/mcp",), ("/mcp/full", "/full/mcp")


def add_mcp(app: FastAPI, people: People, service: MemoryService, version: str) -> None:
    """Open the door. It is there inside of ``mcp_running``."""
    words = Words(choose(people.settings.language, {}))
    app.state.mcp = []
    for paths in (_FIVE, _FULL):
        server = make_server(
            HeldHere(service), words, people.log, version=version, full=paths is _FULL, person_of=_person
        )
        made = server.streamable_http_app(
            json_response=True, stateless_http=True, transport_security=_GUARDED
        )
        (route,) = (one for one in made.routes if isinstance(one, Route))
        # Nothing is ever sent of our own accord, so there is no stream to listen to and no session to end.
        app.router.routes += [Route(path, endpoint=route.endpoint, methods=["POST"]) for path in paths]
        app.state.mcp.append(server.session_manager)


@asynccontextmanager
async def mcp_running(app: FastAPI) -> AsyncIterator[None]:
    """Requests are answered inside of this."""
    async with AsyncExitStack() as running:
        for manager in app.state.mcp:
            await running.enter_async_context(manager.run())
        yield


def _person(ctx: Ctx, named: str) -> str:
    request = ctx.request_context.request
    assert isinstance(request, Request)
    caller: Caller = request.scope["state"]["caller"]
    try:
        return caller.person(named or None)
    except HTTPException as fault:
        raise LookupError(named) from fault
    except OverLimit as fault:
        raise Declined(fault.problem.message) from fault
