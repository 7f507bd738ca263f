"""The operations over HTTP: the memory service, the chat API's memories, and administration below ``/admin``.

Made from ``interfaces.operations``. Another person's memory is not found, never forbidden; to a caller without a token
for many people the administration is not found either. Path operations block, and run in threads.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import IO, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter, create_model

from interfaces.http.error_responses import Detail, Problem
from interfaces.http.guards import CurrentCaller, PersonHeader
from interfaces.operations import OPERATIONS, Access, MemoryOperation, Route, annotated_type, set_signature
from interfaces.service.schemas import Schema

_CHAT, _ADMIN = "/api/v1", "/admin"
#: The parameters in a path; one of another name names the person.
_IN_PATH = re.compile(r"\{(\w+):\w+\}")
#: Bytes of a file that are sent at once.
_AT_ONCE = 65_536
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
}
_ZIP_HEADERS = {"Content-Disposition": 'attachment; filename="person.zip"', "Cache-Control": "no-store"}


class ErrorCode(Schema):
    """What went wrong, as a word for programs."""

    code: str


class ErrorResponse(Schema):
    """Why a request failed; ``message`` is a sentence."""

    status: Literal["error"] = "error"
    message: str
    error: ErrorCode


def error_body(problem: Problem) -> Mapping[str, Any]:
    """The body of every error on the paths of the memory service."""
    return ErrorResponse(message=problem.message, error=ErrorCode(code=problem.code)).model_dump()


@cache
def memory_router() -> APIRouter:
    """The routes of the memory service."""
    return _add_routes(APIRouter(tags=["memory service"]), "/")


@cache
def chat_memory_router() -> APIRouter:
    """The memories and system instructions of the chat API; the header names the person."""
    return _add_routes(APIRouter(tags=["chat"], dependencies=[PersonHeader]), _CHAT)


@cache
def admin_router() -> APIRouter:
    """The routes of administration."""
    routes = APIRouter(tags=["administration"], dependencies=[Depends(_check_administrator)])
    return _add_routes(routes, _ADMIN)


def _add_routes(routes: APIRouter, prefix: str) -> APIRouter:
    others = tuple({_CHAT, _ADMIN} - {prefix})
    for operation in OPERATIONS.values():
        route, zipped = operation.route, operation.result is bytes
        if not route or not route.path.startswith(prefix) or route.path.startswith(others):
            continue
        responses = dict(_ZIP) if zipped else {}
        if route.conflict:
            responses[409] = {"model": Detail, "description": route.conflict}
        routes.add_api_route(
            route.path,
            _make_endpoint(operation, route, "chat_memory" if prefix == _CHAT else "service"),
            methods=[route.method],
            status_code=route.status,
            summary=route.summary,
            response_model=None if zipped else operation.result,
            response_class=StreamingResponse if zipped else JSONResponse,
            responses=responses,
            name=route.name or operation.name,
        )
    return routes


def _make_endpoint(operation: MemoryOperation, route: Route, service: str) -> Callable[..., Response]:
    """The function of a route, by a ``service`` of the application: its signature is what FastAPI reads."""
    result = TypeAdapter(operation.result) if operation.result is not bytes else None

    def call(caller: CurrentCaller, request: Request, asked: BaseModel | None = None, **given: Any) -> Response:
        arguments = {**given, **(asked.model_dump() if asked else {})}
        if "user_id" in operation.parameters.model_fields:
            arguments["user_id"] = caller.person(arguments.get("user_id"))
        else:
            caller.without_person()
        found = getattr(getattr(request.app.state, service), operation.name)(**arguments)
        if found is None:
            raise HTTPException(404, route.missing)
        if result is None:
            return StreamingResponse(_read_parts(found), media_type="application/zip", headers=_ZIP_HEADERS)
        body = result.dump_json(found, exclude_none=operation.access is Access.CHAT)
        return Response(body, route.status, media_type="application/json")

    call.__name__ = operation.name
    empty = inspect.Parameter.empty
    ours = {"caller": (CurrentCaller, empty), "request": (Request, empty)}
    set_signature(call, {**ours, **_parameters(operation, route)}, Response)
    return call


def _parameters(operation: MemoryOperation, route: Route) -> dict[str, tuple[Any, Any]]:
    """The parameters of a route, each with its type and default; those of a body are ``asked``."""
    fields = dict(operation.parameters.model_fields)
    if operation.access is Access.CHAT:
        del fields["user_id"]  # the header names the person
    parameters, in_body = dict[str, tuple[Any, Any]](), dict[str, Any]()
    in_path = _IN_PATH.findall(route.path)
    for name, field in fields.items():
        default = inspect.Parameter.empty if field.is_required() else field.default
        if name in in_path or (name == "user_id" and in_path):
            path = Path(alias=name if name in in_path else in_path[0], description=field.description)
            parameters[name] = annotated_type(field, path), default
        elif route.has_body and name == "user_id":
            # A token or the header may name the person as well.
            in_body[name] = (annotated_type(field) | None, Field(None, description=field.description))
        elif route.has_body:
            in_body[name] = (field.annotation, field)
        else:
            parameters[name] = annotated_type(field, Query(description=field.description)), default
    if in_body:
        model = operation.parameters
        if "user_id" in in_body or in_body.keys() != model.model_fields.keys():
            model = create_model(model.__name__, __base__=Schema, **in_body)
        parameters["asked"] = (model, inspect.Parameter.empty)
    return parameters


def _check_administrator(caller: CurrentCaller) -> None:
    if caller.only is not None:
        raise HTTPException(404, "Not Found")


def _read_parts(whole: IO[bytes]) -> Iterator[bytes]:
    with whole:
        while part := whole.read(_AT_ONCE):
            yield part
