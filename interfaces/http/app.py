"""The application: guards and limits before every request, then a router for each API; and ``GET /health``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from anyio import CapacityLimiter, create_task_group, sleep, to_thread
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Response
from fastapi.security import HTTPBearer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Route

from domain import errors
from domain.workers import CancelToken
from interfaces.http import chat_api, docs_page, openai_api
from interfaces.http.error_responses import Detail, ErrorBody, Problems, detail_body, documented_errors
from interfaces.http.guards import TEXT_HEADERS, AccountOf, Caller, Guards, HostNames, account_of
from interfaces.http.limits import Limits, OverLimit, Quota
from interfaces.http.memory_routes import ErrorResponse, admin_router, chat_memory_router, error_body, memory_router
from interfaces.http.page import assets, routes
from interfaces.mcp_server import Ctx, Declined, make_server
from interfaces.messages import Words, choose_language
from interfaces.operations import Memories
from interfaces.service.chat_memory import ChatMemory
from interfaces.service.client_chats import RelayedChats
from interfaces.service.memory_service import MemoryService
from people import People

#: Path operations that may block at the same time, most of them waiting for a model.
_THREADS = 256
#: How a caller says who it is, for the description of the API; the guards look at it.
_TOKEN = HTTPBearer(auto_error=False, scheme_name="token", description="A token of --token add.")

#: Our guards check Host and Origin of every request.
_GUARDED = TransportSecuritySettings(enable_dns_rebinding_protection=False)
#: Paths of the basic tools, and of all: some hosts only accept an address that ends in /mcp.
_BASIC, _FULL = ("/mcp",), ("/mcp/full", "/full/mcp")


class Checks(BaseModel):
    """What was checked. ``outbox_pending``: texts of open memories that have no vector yet."""

    database: Literal["ok", "failed"]
    vector_index: Literal["ok", "degraded"]
    outbox_pending: int


class Health(BaseModel):
    """Whether all is well. Degraded: requests are answered, but recall works in part, or a disk fails."""

    status: Literal["ok", "degraded"]
    version: str
    checks: Checks


def make_app(people: People, version: str, *, only_here: bool = True, account_of: AccountOf = account_of) -> FastAPI:
    """Every API over HTTP, on these people's memories. ``people`` is closed by the caller.

    ``only_here``: only this machine can reach the server, so a client without a token may be let in as long as there
    are none, and ``account_of`` its connection is the account of the server. ``app.state.stop`` is set when the server
    ends and no longer waits for what is under way.
    """
    settings = people.settings
    problems = Problems(Words(choose_language(settings.language, {})), people.log)
    app = FastAPI(
        title="Old Friend",
        version=version,
        docs_url=None,
        redoc_url=None,
        lifespan=_run_app,
        responses=documented_errors(),
    )
    app.state.stop = CancelToken()
    app.state.check_interval = settings.session_check_interval_seconds
    app.state.problems = problems
    app.state.people, app.state.uploads = people, routes.Uploads()
    app.state.service, app.state.relayed_chats = MemoryService(people), RelayedChats(people)
    app.state.chat_memory = ChatMemory(people, app.state.stop)
    app.include_router(_health_router(people, version))
    app.include_router(docs_page.router(app))
    app.include_router(assets.router())
    add_api(app, chat_api.router())
    add_api(app, chat_memory_router())
    add_api(app, memory_router(), error_body, ErrorResponse)
    add_api(app, openai_api.router(), openai_api.error_body, openai_api.Refused)
    add_api(app, routes.router())
    add_api(app, admin_router())
    _add_mcp(app, people, app.state.service, version)
    quota = Quota(settings.requests_per_minute, settings.requests_at_once, settings.tokens_per_day)
    app.add_middleware(Limits, problems=problems, quota=quota, usage=people.registry.usage, now=people.clock)
    names = HostNames(settings.server_names.split(","), settings.allowed_origins)
    app.add_middleware(
        Guards, problems=problems, people=people, names=names, only_here=only_here, account_of=account_of
    )
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["*"],
            allow_headers=["Authorization", "Content-Type", *TEXT_HEADERS],
            expose_headers=["Retry-After"],
        )
    problems.add_handlers(app)
    return app


def add_api(app: FastAPI, router: APIRouter, form: ErrorBody = detail_body, model: type[BaseModel] = Detail) -> None:
    """Add an API. Errors on its paths are answered in its ``form``, which ``model`` describes."""
    problems: Problems = app.state.problems
    problems.set_form(router, form)
    app.include_router(router, dependencies=[Depends(_TOKEN)], responses=documented_errors(model))


def _add_mcp(app: FastAPI, people: People, service: MemoryService, version: str) -> None:
    """The tools at ``/mcp``, without sessions, behind the same guards and limits.

    Whose memory is meant comes from the token, or with a token for many people from ``X-User-Id`` or the tool call.
    """
    words = Words(choose_language(people.settings.language, {}))
    app.state.mcp = []
    for paths in (_BASIC, _FULL):
        server = make_server(
            Memories(service), words, people.log, version=version, full=paths is _FULL, person_of=_person_of_call
        )
        made = server.streamable_http_app(json_response=True, stateless_http=True, transport_security=_GUARDED)
        (route,) = (one for one in made.routes if isinstance(one, Route))
        # The server sends nothing unasked, so there is no stream to listen to and no session to end.
        app.router.routes += [Route(path, endpoint=route.endpoint, methods=["POST"]) for path in paths]
        app.state.mcp.append(server.session_manager)


def _person_of_call(ctx: Ctx, named: str) -> str:
    request = ctx.request_context.request
    assert isinstance(request, Request)
    caller: Caller = request.scope["state"]["caller"]
    try:
        return caller.person(named or None)
    except HTTPException as fault:
        raise LookupError(named) from fault
    except OverLimit as fault:
        raise Declined(fault.problem.message) from fault


@asynccontextmanager
async def _run_app(app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = _THREADS
    service: MemoryService = app.state.service
    async with AsyncExitStack() as running:
        for manager in app.state.mcp:
            await running.enter_async_context(manager.run())
        tasks = await running.enter_async_context(create_task_group())
        tasks.start_soon(_sweep_sessions, service, app.state.problems, app.state.check_interval)
        yield
        tasks.cancel_scope.cancel()


async def _sweep_sessions(service: MemoryService, problems: Problems, interval: float) -> None:
    """Sessions end on time also without requests."""
    while True:
        try:
            await to_thread.run_sync(service.sweep)
        except Exception as fault:  # the next check tries again
            problems.report_unexpected(fault)
        await sleep(interval)


def _health_router(people: People, version: str) -> APIRouter:
    """``GET /health``, without personal data; it waits for no thread in which a turn is under way."""
    routes = APIRouter()
    aside = CapacityLimiter(1)

    @routes.get("/health", summary="Whether the server is well")
    async def health(response: Response) -> Health:
        checks = await to_thread.run_sync(_check_health, people, limiter=aside)
        well = checks.database == "ok" and checks.vector_index == "ok"
        response.headers["Cache-Control"] = "no-store"
        return Health(status="ok" if well else "degraded", version=version, checks=checks)

    return routes


def _check_health(people: People) -> Checks:
    pending, well, reading = 0, True, True
    try:
        people.registry.persons()
        for companion in people.open_now():
            index = companion.memory.index
            pending += index.status().waiting
            # An index that is still being opened, or catches up, is well.
            progress = index.progress()
            well = well and not (progress is not None and progress.doing == "failed")
            well = well and "embeddings" not in index.degraded
    except errors.StorageError:
        reading = False
    return Checks(
        database="ok" if reading else "failed", vector_index="ok" if well else "degraded", outbox_pending=pending
    )
