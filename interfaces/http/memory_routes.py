"""The operations over HTTP: the routes of the memory service, and those of administration below ``/admin``.

Made from ``interfaces.operations``. Another person's memory is not found, never forbidden; to a caller without a token
for many people the administration is not found either. Path operations block, and run in threads.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from interfaces.http.error_responses import Detail, Problem
from interfaces.http.guards import CurrentCaller
from interfaces.operations import OPERATIONS, MemoryOperation, Route, annotated_type
from interfaces.service.memory_service import MemoryService
from interfaces.service.schemas import Schema

_ADMIN = "/admin"
#: The parameter in a path: it names the person.
_IN_PATH = re.compile(r"\{(\w+):path\}")
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


def memory_router(service: MemoryService) -> APIRouter:
    """The routes of the memory service."""
    return _add_routes(APIRouter(tags=["memory service"]), service, admin=False)


def admin_router(service: MemoryService) -> APIRouter:
    """The routes of administration."""
    routes = APIRouter(tags=["administration"], dependencies=[Depends(_check_administrator)])
    return _add_routes(routes, service, admin=True)


def _add_routes(routes: APIRouter, service: MemoryService, *, admin: bool) -> APIRouter:
    for operation in OPERATIONS.values():
        if (route := operation.route) and route.path.startswith(_ADMIN) == admin:
            routes.add_api_route(
                route.path,
                _make_endpoint(operation, route, service),
                methods=[route.method],
                summary=route.summary,
                response_model=None if operation.result is bytes else operation.result,
                response_class=StreamingResponse if operation.result is bytes else JSONResponse,
                responses=_extra_responses(operation, route),
                name=route.name or operation.name,
            )
    return routes


def _make_endpoint(operation: MemoryOperation, route: Route, service: MemoryService) -> Callable[..., Response]:
    """The function of a route: its signature is what FastAPI reads."""
    result = TypeAdapter(operation.result) if operation.result is not bytes else None

    def call(caller: CurrentCaller, asked: BaseModel | None = None, **given: Any) -> Response:
        arguments = asked.model_dump() if asked else given
        if "user_id" in arguments:
            arguments["user_id"] = caller.person(arguments["user_id"])
        else:
            caller.without_person()
        found = getattr(service, operation.name)(**arguments)
        if result is None:
            return StreamingResponse(_read_parts(found), media_type="application/zip", headers=_ZIP_HEADERS)
        return Response(result.dump_json(found), media_type="application/json")

    fields = operation.parameters.model_fields
    parameters = {name: _describe_parameter(field, name, route) for name, field in fields.items()}
    if route.method == "POST":
        parameters = {"asked": (operation.parameters, inspect.Parameter.empty)}
    call.__name__ = operation.name
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, (annotation, default) in {
                "caller": (CurrentCaller, inspect.Parameter.empty),
                **parameters,
            }.items()
        ]
    )
    return call


def _describe_parameter(field: FieldInfo, name: str, route: Route) -> tuple[Any, Any]:
    """The type and the default of a parameter in the path or in the query."""
    in_path = _IN_PATH.findall(route.path)
    if name == "user_id" and in_path:
        described = Path(alias=in_path[0], description=field.description)
    else:
        described = Query(description=field.description)
    return annotated_type(field, described), inspect.Parameter.empty if field.is_required() else field.default


def _extra_responses(operation: MemoryOperation, route: Route) -> dict[int | str, dict[str, Any]]:
    zipped = _ZIP if operation.result is bytes else {}
    return {**zipped, **({409: {"model": Detail, "description": route.conflict}} if route.conflict else {})}


def _check_administrator(caller: CurrentCaller) -> None:
    if caller.only is not None:
        raise HTTPException(404, "Not Found")


def _read_parts(whole: IO[bytes]) -> Iterator[bytes]:
    with whole:
        while part := whole.read(_AT_ONCE):
            yield part
