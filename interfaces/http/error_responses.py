"""Errors as a status and a body: one table for every API.

    UsageError          422  (400 where no one is named, 404 where there is no such thing, 413 where it is too long)
    Interrupted         503  the server is ending
    ModelError          502  and 504 too late, 503 a fault, 429 too many requests, 413 too long, 422 filtered
    EmbeddingError      503
    StorageError        503  (507 where the disk is full)
    anything else       500  its traceback is in the log, and nowhere else

Promises: a body contains no path, process, server or key of this machine; ``Retry-After`` is set where waiting helps. A
body is ``{"detail": ...}``; an API may have its own form for all paths with its prefix.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain import errors
from interfaces.messages import Words

#: The default of ``Retry-After``, in seconds.
_SOON = 2


@dataclass(frozen=True)
class Problem:
    """What went wrong with one request. ``code`` is for programs: it stays the same in every language.

    ``invalid`` is what was wrong with each value of an invalid request.
    """

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    invalid: tuple[Mapping[str, Any], ...] = ()


#: Makes the body of an error.
ErrorBody = Callable[[Problem], Mapping[str, Any]]


class Detail(BaseModel):
    """The body of an error. ``detail`` is a sentence, or what was wrong with each value."""

    detail: str | list[dict[str, Any]]


def detail_body(problem: Problem) -> Mapping[str, Any]:
    """The body for an API without a form of its own."""
    return {"detail": list(problem.invalid) or problem.message}


#: Kind, status, message, and whether it is soon worth trying again. The first row that fits counts.
_TABLE = (
    (errors.Interrupted, 503, "served.stopped", True),
    (errors.TimedOut, 504, "served.timed_out", True),
    (errors.RateLimited, 429, "served.rate_limited", True),
    (errors.ServerFault, 503, "served.model_down", True),
    (errors.Unreachable, 502, "served.unreachable", False),
    (errors.Insecure, 502, "served.unreachable", False),
    (errors.QuotaExhausted, 502, "served.model_quota", False),
    (errors.Unauthorized, 502, "served.model_key", False),
    (errors.ContextTooLong, 413, "served.too_long", False),
    (errors.ContentFiltered, 422, "served.filtered", False),
    (errors.BadReply, 502, "served.bad_reply", False),
    (errors.ModelError, 502, "served.model_refused", False),
    (errors.EmbeddingError, 503, "served.no_vectors", True),
    (errors.DataInUse, 503, "served.in_use", True),
    (errors.DiskFull, 507, "served.disk_full", False),
    (errors.StorageError, 503, "served.storage", True),
    (errors.OldFriendError, 500, "served.unexpected", False),
)
#: The status of a UsageError by its key; 422 otherwise.
_USAGE = {
    "instruction.unknown": 404,
    "instruction.own": 409,
    "input.too_long": 413,
    "memory.erased": 409,
    "memory.unknown": 404,
    "person.unknown": 404,
    "session.in_use": 409,
    "session.saved": 409,
    "person.owner": 409,
    "person.unnamed": 400,
    "person.two": 400,
    "chat.prompt_needed": 400,
    "chat.input_needed": 400,
    "chat.not_served": 400,
    "chat.no_such_response": 400,
}
#: Codes of statuses whose phrase differs between versions of Python.
_CODES = {413: "too_large", 422: "invalid_request"}
#: What every operation may answer beside its own.
_DOCUMENTED = (400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 500, 502, 503, 504, 507)


def documented_errors(model: type[BaseModel] = Detail) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of an API whose errors have this form."""
    # FastAPI makes a validator for every ``model`` of every route: one is enough to describe the form.
    first, *others = _DOCUMENTED
    referred = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {
        first: {"model": model, "description": HTTPStatus(first).phrase},
        **{status: {"description": HTTPStatus(status).phrase, "content": referred} for status in others},
    }


class Problems:
    """Turns errors into responses in the form of the API that was called."""

    def __init__(self, words: Words, log: logging.Logger) -> None:
        self._words = words
        self._log = log
        self._forms: dict[str, ErrorBody] = {}
        self._routes: list[APIRoute] = []

    def set_form(self, router: APIRouter, form: ErrorBody) -> None:
        """Errors on all paths with the first words of this router's paths are answered in this form."""
        routes = [route for route in router.routes if isinstance(route, APIRoute)]
        self._routes += routes
        self._forms |= {_first_word(route.path): form for route in routes}

    def add_handlers(self, app: FastAPI) -> None:
        """Answer every exception of an application's routes."""

        async def answer(request: Request, fault: Exception) -> JSONResponse:
            return self.make_response(request.url.path, self.from_error(fault, request.url.path))

        for kind in (errors.OldFriendError, HTTPException, RequestValidationError):
            app.add_exception_handler(kind, answer)
        app.add_middleware(_Unexpected, problems=self)

    def make_response(self, path: str, problem: Problem) -> JSONResponse:
        """The response for a path."""
        form = self._forms.get(_first_word(path), detail_body)
        return JSONResponse(form(problem), problem.status, dict(problem.headers))

    def make_problem(self, status: int, key: str, *, wait: float | None = None, **details: object) -> Problem:
        """A problem with these words; ``wait``: seconds after which it is worth trying again."""
        headers = {} if wait is None else _retry_after(wait)
        if status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return Problem(status, _error_code(status), self._words.say(key, **details), headers)

    def from_error(self, fault: Exception, path: str = "") -> Problem:
        """The problem of an error on a ``path``."""
        match fault:
            case errors.OldFriendError():
                return self._from_own_error(fault)
            case HTTPException():
                return self._from_http(fault, path)
            case RequestValidationError():
                return self._from_validation(fault.errors())
        return self.report_unexpected(fault)

    def report_unexpected(self, fault: Exception) -> Problem:
        """Any other error: its details are in the log alone."""
        self._log.error("unexpected", exc_info=fault)
        return self.make_problem(500, "served.unexpected")

    def _from_own_error(self, fault: errors.OldFriendError) -> Problem:
        if isinstance(fault, errors.UsageError):
            status = _USAGE.get(fault.key, 422)
            return Problem(status, fault.key, self._words.describe_error(fault))
        _, status, message, soon = next(row for row in _TABLE if isinstance(fault, row[0]))
        broken = isinstance(fault, errors.StorageError) and not isinstance(fault, errors.DataInUse)
        if broken or status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self._log.error("%s", fault, exc_info=fault)
        wait = fault.retry_after if isinstance(fault, errors.ModelError) else None
        if wait is None and soon:
            wait = _SOON
        headers = {} if wait is None else _retry_after(wait)
        return Problem(status, fault.key, self._words.say(message), headers)

    def _from_http(self, fault: HTTPException, path: str) -> Problem:
        headers = dict(fault.headers or {})
        if fault.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            routes = [route for route in self._routes if route.path_regex.match(path)]
            if allowed := {method for route in routes for method in route.methods or ()}:
                headers["Allow"] = ", ".join(sorted(allowed))
        return Problem(fault.status_code, _error_code(fault.status_code), str(fault.detail), headers)

    def _from_validation(self, found: Sequence[Any]) -> Problem:
        """Never repeats the values: they may be long, private, or no text."""
        invalid = tuple(
            {"type": one["type"], "loc": [_valid_text(at) for at in one["loc"]], "msg": _valid_text(one["msg"])}
            for one in found
        )
        lines = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in invalid)
        message = self._words.say("served.invalid", problems=lines)
        return Problem(422, _error_code(422), message, invalid=invalid)


class _Unexpected:
    """The outermost layer: an error that was not caught becomes a 500, or ends the answer that had begun."""

    def __init__(self, app: ASGIApp, problems: Problems) -> None:
        self._app = app
        self._problems = problems

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = False

        async def watched(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as fault:
            problem = self._problems.from_error(fault)
            if not began:
                await self._problems.make_response(scope["path"], problem)(scope, receive, send)


def _valid_text(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _first_word(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else ""


def _error_code(status: int) -> str:
    return _CODES.get(status) or HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")


def _retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
