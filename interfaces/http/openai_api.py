"""The address for clients of OpenAI: any of them gains a memory by changing its base URL.

What a client sends and what the server answers passes through as it is; errors have OpenAI's own shape. Promises: the
end of a stream is told only after the round is stored; a client that hangs up has its request hung up.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from domain import errors
from domain.events import Stop
from interfaces.http.callers import Caller, Calling, Stopping
from interfaces.http.errors import Problem, Problems
from interfaces.service.chat_requests import ChatRequest, read_request
from interfaces.service.relayed_chats import OWN_MODEL, Prepared, RelayedChats
from models.relaying import Answer, Heard, Relay
from people import EVERYBODY, People

#: Seconds of silence after which a comment keeps the connection of a stream open.
_KEEP_ALIVE = 15.0
Json = Annotated[Any, Body()]


class Refused(BaseModel):
    """The body of whatever went wrong, in OpenAI's own shape."""

    error: dict[str, str | None]


def refused(problem: Problem) -> Mapping[str, Any]:
    """An error in OpenAI's own shape."""
    kind = "invalid_request_error" if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    code = "invalid_api_key" if problem.status == HTTPStatus.UNAUTHORIZED else problem.code
    return {"error": {"message": problem.message, "type": kind, "param": None, "code": code}}


def router(people: People) -> APIRouter:
    """``/v1``: chat completions, embeddings, models."""
    api = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
    chats = RelayedChats(people)

    @api.post("/chat/completions")
    def complete(
        asked: Request,
        caller: Calling,
        ending: Stopping,
        body: Json,
        x_user_id: Annotated[str | None, Header(max_length=128)] = None,
        x_session_id: Annotated[str | None, Header(max_length=200)] = None,
        x_memory: Annotated[str, Header(max_length=20)] = "on",
    ) -> Response:
        """A reply with memory, whole or as a stream. ``X-Memory: off`` sends the request on alone."""
        request = read_request(body)
        person = caller.person(x_user_id or _hint(caller, request))
        prepared = chats.prepare(
            person, request, x_session_id, switched_off=x_memory.strip().lower() == "off"
        )
        if request.streams:
            return _streamed(people.llm.relay(), chats, prepared, ending, asked.app.state.problems)
        return _whole(people.llm.relay(), chats, prepared, ending)

    @api.post("/embeddings")
    def embed(caller: Calling, ending: Stopping, body: Json) -> Response:
        """Vectors, as the server makes them."""
        return _passed_on(people.llm.relay(), "POST", "/embeddings", body, ending)

    @api.get("/models")
    def models(caller: Calling, ending: Stopping) -> Response:
        """The models of the server, and ``old-friend`` for the one that is set."""
        return _with_ours(_passed_on(people.llm.relay(), "GET", "/models", None, ending))

    @api.get("/models/{name:path}")
    def model(caller: Calling, ending: Stopping, name: str) -> Response:
        """One model."""
        if name == OWN_MODEL:
            return _json(_OURS)
        return _passed_on(people.llm.relay(), "GET", f"/models/{quote(name)}", None, ending)

    return api


_OURS = {"id": OWN_MODEL, "object": "model", "created": 0, "owned_by": "old-friend"}


def _hint(caller: Caller, request: ChatRequest) -> str | None:
    """Whom a program that speaks for everybody names in the body."""
    named = request.body.get("user")
    for_all = caller.token is not None and caller.token.person == EVERYBODY
    return named if for_all and isinstance(named, str) and named else None


def _whole(relay: Relay, chats: RelayedChats, prepared: Prepared, ending: Stop) -> Response:
    answer = relay.send("POST", "/chat/completions", prepared.body, ending)
    chats.keep(prepared, answer.heard)
    return Response(answer.body, answer.status, {**answer.headers, **prepared.headers})


def _streamed(
    relay: Relay, chats: RelayedChats, prepared: Prepared, ending: Stop, problems: Problems
) -> Response:
    stop = Stop()
    events = relay.stream("/chat/completions", prepared.body, stop)
    first = next(events)
    if isinstance(first, Answer):
        return Response(first.body, first.status, {**first.headers, **prepared.headers})

    def told() -> Iterator[bytes]:
        heard = Heard()
        try:
            with ending.calling(stop.set):
                for event in _kept_alive(events):
                    heard.take(_object(event))
                    yield b"data: " + event + b"\n\n" if event else b": keepalive\n\n"
            chats.keep(prepared, heard)
            yield b"data: [DONE]\n\n"
        except errors.OldFriendError as fault:
            yield b"data: " + json.dumps(refused(problems.problem_of(fault))).encode() + b"\n\n"
        finally:
            stop.set()

    headers = {**prepared.headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told(), media_type="text/event-stream", headers=headers)


def _kept_alive(events: Iterator[Answer | bytes]) -> Iterator[bytes]:
    """The events as they come, and an empty one whenever nothing came for a while."""
    came: SimpleQueue[bytes | BaseException | None] = SimpleQueue()

    def read() -> None:
        try:
            for event in events:
                if isinstance(event, bytes) and event:
                    came.put(event)
            came.put(None)
        except BaseException as fault:  # it is raised where the stream is told
            came.put(fault)

    threading.Thread(target=read, name="relay", daemon=True).start()
    while True:
        try:
            event = came.get(timeout=_KEEP_ALIVE)
        except Empty:
            yield b""
            continue
        if event is None:
            return
        if isinstance(event, BaseException):
            raise event
        yield event


def _passed_on(relay: Relay, method: Literal["GET", "POST"], path: str, body: Any, ending: Stop) -> Response:
    answer = relay.send(method, path, body, ending)
    return Response(answer.body, answer.status, dict(answer.headers))


def _with_ours(listed: Response) -> Response:
    found = _object(bytes(listed.body))
    if listed.status_code != 200 or not isinstance(found.get("data"), list):
        return listed
    return _json({**found, "data": [_OURS, *found["data"]]})


def _object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _json(content: Any) -> Response:
    return Response(json.dumps(content, ensure_ascii=False).encode(), media_type="application/json")
