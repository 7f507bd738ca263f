"""The application: what stands before every request, then a router for each kind of client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import create_task_group, sleep, to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from pydantic import BaseModel

from domain.workers import Stop
from interfaces.http import admin_api, chat_api, docs_page, health, memory_api, openai_api, page_api
from interfaces.http.accounts import AccountOf, account_of
from interfaces.http.error_answers import Detail, ErrorBody, Problems, detail, documented
from interfaces.http.guards import Guards, HostNames
from interfaces.http.limits import Limits
from interfaces.http.page import router as page_files
from interfaces.mcp.over_http import add_mcp, mcp_running
from interfaces.messages import Words, choose
from interfaces.service.bodies import ErrorResponse
from interfaces.service.memory_service import MemoryService
from people import People

#: Path operations block while a model answers: so many may wait at the same time.
_THREADS = 256
#: Seconds between two looks at which sessions have ended.
_SWEEP = 60
#: How a caller says who it is, for the description of the API; the guards look at it.
_TOKEN = HTTPBearer(auto_error=False, scheme_name="token", description="A token of --token add.")


def make_app(
    people: People, version: str, *, only_here: bool = True, account_of: AccountOf = account_of
) -> FastAPI:
    """All doors over HTTP, on these people's memories. ``people`` is closed by whoever opened it.

    ``only_here``: nobody but this machine can reach the server, so whoever has no token may be let in as long as there
    are none, and ``account_of`` the connection is the account that the server runs in. ``app.state.stop`` is set when
    the server ends and what is under way is no longer waited for.
    """
    settings = people.settings
    problems = Problems(Words(choose(settings.language, {})), people.log)
    app = FastAPI(
        title="Old Friend",
        version=version,
        docs_url=None,
        redoc_url=None,
        lifespan=_life,
        responses=documented(),
    )
    app.state.stop = Stop()
    app.state.problems = problems
    app.state.service = MemoryService(people)
    app.include_router(health.router(people, version))
    app.include_router(docs_page.router(app))
    app.include_router(page_files.router())
    # The doors, a line each: add_door(app, x.router(people)), with the form of its errors where it has one of its own.
    add_door(app, chat_api.router(people))
    add_door(app, memory_api.router(app.state.service), memory_api.error_form, ErrorResponse)
    add_door(app, openai_api.router(people), openai_api.refused, openai_api.Refused)
    add_door(app, page_api.router(people))
    add_door(app, admin_api.router(people, app.state.service))
    add_mcp(app, people, app.state.service, version)
    app.add_middleware(
        Limits,
        problems=problems,
        per_minute=settings.requests_per_minute,
        at_once=settings.requests_at_once,
        tokens_per_day=settings.tokens_per_day,
        now=people.clock,
    )
    names = HostNames(settings.server_names.split(","))
    app.add_middleware(
        Guards,
        problems=problems,
        registry=people.registry,
        names=names,
        only_here=only_here,
        account_of=account_of,
    )
    problems.handle(app)
    return app


def add_door(
    app: FastAPI, router: APIRouter, form: ErrorBody = detail, model: type[BaseModel] = Detail
) -> None:
    """Open a door. Whatever goes wrong under its paths is told in its ``form``, which ``model`` describes."""
    problems: Problems = app.state.problems
    problems.speak_as(router, form)
    app.include_router(router, dependencies=[Depends(_TOKEN)], responses=documented(model))


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = _THREADS
    service: MemoryService = app.state.service
    async with mcp_running(app), create_task_group() as tasks:
        tasks.start_soon(_sweep, service, app.state.problems)
        yield
        tasks.cancel_scope.cancel()
    await to_thread.run_sync(service.close)


async def _sweep(service: MemoryService, problems: Problems) -> None:
    """Sessions end by the clock also when nobody asks for anything."""
    while True:
        try:
            await to_thread.run_sync(service.sweep)
        except Exception as fault:  # the next minute may bring what this one did not
            problems.unexpected(fault)
        await sleep(_SWEEP)
