"""The memory service over HTTP: the five verbs of a memory that other programs use, with their bodies.

Somebody else's memory is not found, never forbidden. Path operations block, and run in threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from interfaces.http.callers import Calling
from interfaces.http.error_answers import Problem
from interfaces.service.bodies import (
    LONGEST_ID,
    DebugRequest,
    DebugResponse,
    EndSessionRequest,
    EndSessionResponse,
    ErrorCode,
    ErrorResponse,
    GraphResponse,
    ProcessRequest,
    ProcessResponse,
    SessionStatusResponse,
)
from interfaces.service.memory_service import MemoryService

#: So many relations of a graph are told at once.
_MOST_RELATIONS = 1_000

_Person = Annotated[str, Path(min_length=1, max_length=LONGEST_ID, description="Whose memory is meant.")]
_Limit = Annotated[int, Query(ge=1, le=_MOST_RELATIONS, description="How many relations at the most.")]


def router(service: MemoryService) -> APIRouter:
    """The paths of the memory service."""
    routes = APIRouter(tags=["memory service"])

    @routes.post("/process", response_model=ProcessResponse, summary="Store what was said, and remember")
    def process(asked: ProcessRequest, caller: Calling) -> Response:
        person = caller.person(asked.user_id)
        return _whole(service.process(asked.input, person, asked.request_id))

    @routes.post("/end-session", response_model=EndSessionResponse, summary="End the open session")
    def end_session(asked: EndSessionRequest, caller: Calling) -> Response:
        return _whole(service.end_session(caller.person(asked.user_id)))

    @routes.get(
        "/session-status/{user_id:path}",
        response_model=SessionStatusResponse,
        summary="Whether a session is open",
    )
    def session_status(user_id: _Person, caller: Calling) -> Response:
        return _whole(service.session_status(caller.person(user_id)))

    @routes.post("/debug", response_model=DebugResponse, summary="What would be remembered; stores nothing")
    def debug(asked: DebugRequest, caller: Calling) -> Response:
        return _whole(service.debug(asked.input, caller.person(asked.user_id)))

    @routes.get("/graph/{user_id:path}", response_model=GraphResponse, summary="What is known to be related")
    def graph(user_id: _Person, caller: Calling, limit: _Limit = 100) -> Response:
        return _whole(service.graph(caller.person(user_id), limit))

    return routes


def error_form(problem: Problem) -> Mapping[str, Any]:
    """The body of whatever goes wrong under these paths."""
    return ErrorResponse(message=problem.message, error=ErrorCode(code=problem.code)).model_dump()


def _whole(body: BaseModel) -> Response:
    """A body as it is through every door, byte for byte."""
    return Response(body.model_dump_json(), media_type="application/json")
