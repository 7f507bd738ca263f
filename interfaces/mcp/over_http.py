"""The tools at ``/mcp`` of the HTTP server, behind its guards and limits, without sessions.

Whose memory is meant comes from the token of each request, or with a token for many people from ``X-User-Id`` or the
tool call; another person's is not found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, HTTPException
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.routing import Route

from interfaces.http.guards import Caller
from interfaces.http.limits import OverLimit
from interfaces.mcp.server import Ctx, Declined, make_server
from interfaces.messages import Words, choose_language
from interfaces.operations import LocalMemories
from interfaces.service.memory_service import MemoryService
from people import People

#: Our guards check Host and Origin of every request.
_GUARDED = TransportSecuritySettings(enable_dns_rebinding_protection=False)
#: Paths of the basic tools, and of all: some hosts only accept an address that ends in /mcp.
_BASIC, _FULL = ("/mcp",), ("/mcp/full", "/full/mcp")


def add_mcp(app: FastAPI, people: People, service: MemoryService, version: str) -> None:
    """Add the paths; they answer inside of ``mcp_running``."""
    words = Words(choose_language(people.settings.language, {}))
    app.state.mcp = []
    for paths in (_BASIC, _FULL):
        server = make_server(
            LocalMemories(service), words, people.log, version=version, full=paths is _FULL, person_of=_person_of
        )
        made = server.streamable_http_app(json_response=True, stateless_http=True, transport_security=_GUARDED)
        (route,) = (one for one in made.routes if isinstance(one, Route))
        # The server sends nothing unasked, so there is no stream to listen to and no session to end.
        app.router.routes += [Route(path, endpoint=route.endpoint, methods=["POST"]) for path in paths]
        app.state.mcp.append(server.session_manager)


@asynccontextmanager
async def mcp_running(app: FastAPI) -> AsyncIterator[None]:
    """Requests are answered inside of this."""
    async with AsyncExitStack() as running:
        for manager in app.state.mcp:
            await running.enter_async_context(manager.run())
        yield


def _person_of(ctx: Ctx, named: str) -> str:
    request = ctx.request_context.request
    assert isinstance(request, Request)
    caller: Caller = request.scope["state"]["caller"]
    try:
        return caller.person(named or None)
    except HTTPException as fault:
        raise LookupError(named) from fault
    except OverLimit as fault:
        raise Declined(fault.problem.message) from fault
