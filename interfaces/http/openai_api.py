"""The address for clients of OpenAI: any of them gains a memory by changing its base URL.

What a client sends and what the server answers passes through as it is; errors have OpenAI's own shape. Promises: the
end of a stream is told only after the round is stored, and never where something went wrong; a client that hangs up has
its request hung up, and nothing of it is stored; a program that speaks for everybody names the person, or switches the
memory off.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Depends, Header, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from domain import errors
from domain.workers import Stop
from interfaces.http.callers import AsText, Caller, Calling, Leaving
from interfaces.http.error_answers import Problem, Problems
from interfaces.http.limits import Affordable, spend
from interfaces.service.chat_requests import read_request
from interfaces.service.openai_forms import Form, ResponsesForm, completion_forms, joined
from interfaces.service.relayed_chats import OWN_MODEL, Prepared, RelayedChats, ResponsePast
from models.relaying import Answer, Heard, Relay
from people import People

#: Seconds of silence after which a comment keeps the connection of a stream open.
_KEEP_ALIVE = 15.0
#: Longer ids are nobody's.
_LONGEST_ID = 128
#: What switches the memory off.
_OFF = ("off", "0", "false", "no")
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
    """``/v1``: chat completions, responses, completions, embeddings, models."""
    api = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
    chats = RelayedChats(people)

    @api.post("/chat/completions", dependencies=[Affordable])
    def complete(asked: Request, caller: Calling, gone: Leaving, headers: Sender, body: Json) -> Response:
        """A reply with memory, whole or as a stream. ``X-Memory: off`` sends the request on alone."""
        request = read_request(body)
        person = _whose(caller, headers, body)
        prepared = chats.prepare(person, request, headers.session, gone, switched_off=headers.is_off)
        if request.streams:
            return _streamed(people.llm.relay(), chats, prepared, asked, gone)
        return _whole(people.llm.relay(), chats, prepared, asked, gone)

    @api.post("/responses", dependencies=[Affordable])
    def respond(asked: Request, caller: Calling, gone: Leaving, headers: Sender, body: Json) -> Response:
        """The same as a response, which a later request may go on after by its id (``previous_response_id``)."""
        person, fields = _whose(caller, headers, body), body if isinstance(body, dict) else {}
        previous = str(fields.get("previous_response_id") or "")
        past = chats.past(person, previous, gone) if previous else ResponsePast()

        def reply_of(response: str) -> str:
            return str(chats.past(person, response, gone).messages[-1]["content"])

        form = ResponsesForm(body, f"resp_{people.new_id()}", _seconds(people), past.messages, reply_of)
        named = headers.session or past.named
        prepared = chats.prepare(person, read_request(form.chat), named, gone, switched_off=headers.is_off)
        if fields.get("store") is not False:
            prepared = replace(prepared, response=form.id, previous=previous)
        if prepared.request.streams:
            return _streamed(people.llm.relay(), chats, prepared, asked, gone, form)
        return _whole(people.llm.relay(), chats, prepared, asked, gone, form)

    @api.post("/completions", dependencies=[Affordable])
    def complete_prompt(
        asked: Request, caller: Calling, gone: Leaving, headers: Sender, body: Json
    ) -> Response:
        """The same for a prompt, or several; each is a message of the person."""
        person = _whose(caller, headers, body)
        answers = []
        for form in completion_forms(body, f"cmpl-{people.new_id()}", _seconds(people)):
            request = read_request(form.chat)
            prepared = chats.prepare(person, request, headers.session, gone, switched_off=headers.is_off)
            if request.streams:
                return _streamed(people.llm.relay(), chats, prepared, asked, gone, form)
            answers.append(_whole(people.llm.relay(), chats, prepared, asked, gone, form))
        failed = [one for one in answers if one.status_code != HTTPStatus.OK]
        if failed or len(answers) == 1:
            return (failed or answers)[0]
        return _json(joined([_object(bytes(one.body)) for one in answers]))

    @api.post("/embeddings")
    def embed(caller: Calling, gone: Leaving, body: Json) -> Response:
        """Vectors, as the server makes them."""
        caller.nobody()
        return _passed_on(people.llm.relay(vectors=True), "POST", "/embeddings", body, gone)

    @api.get("/models")
    def models(caller: Calling, gone: Leaving) -> Response:
        """The models of the server, and ``old-friend`` for the one that is set."""
        caller.nobody()
        return _with_ours(_passed_on(people.llm.relay(), "GET", "/models", None, gone))

    @api.get("/models/{name:path}")
    def model(caller: Calling, gone: Leaving, name: str) -> Response:
        """One model."""
        caller.nobody()
        if name == OWN_MODEL:
            return _json(_OURS)
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise HTTPException(404, "Not Found")  # no way to other paths of the server, which knows our key
        return _passed_on(people.llm.relay(), "GET", f"/models/{quote(name)}", None, gone)

    return api


_OURS = {"id": OWN_MODEL, "object": "model", "created": 0, "owned_by": "old-friend"}


@dataclass(frozen=True)
class _Headers:
    """What the headers of a request for a reply say."""

    user: str | None
    session: str | None
    is_off: bool
    hints: tuple[str | None, ...]


async def _headers(
    x_user_id: Annotated[str | None, AsText, Header(max_length=_LONGEST_ID)] = None,
    x_session_id: Annotated[str | None, AsText, Header(max_length=200)] = None,
    x_memory: Annotated[str, Header(max_length=20)] = "on",
    x_openwebui_user_id: Annotated[str | None, AsText, Header(max_length=_LONGEST_ID)] = None,
    x_openwebui_chat_id: Annotated[str | None, AsText, Header(max_length=200)] = None,
) -> _Headers:
    is_off = x_memory.strip().lower() in _OFF
    return _Headers(x_user_id, x_session_id or x_openwebui_chat_id, is_off, (x_openwebui_user_id,))


Sender = Annotated[_Headers, Depends(_headers)]


def _seconds(people: People) -> int:
    return int(people.clock().timestamp())


def _whose(caller: Caller, headers: _Headers, body: object) -> str | None:
    """Whose memory is meant; None where it is switched off, so that there is none.


    Only the hints of a program that speaks for everybody are heard: others speak for one person, whatever they call
    their users.
    """
    if headers.is_off:
        caller.nobody()
        return None
    if caller.only is not None:
        return caller.person(headers.user or None)
    hints = (*headers.hints, body.get("user") if isinstance(body, dict) else None)
    hinted = (one for one in hints if isinstance(one, str) and 0 < len(one) <= _LONGEST_ID)
    return caller.person(headers.user or next(hinted, None))


def _spend(asked: Request, prepared: Prepared, heard: Heard) -> None:
    """Count what a reply took, also one that broke off: the model has read what was sent."""
    usage = heard.usage or {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    told, said = (one if isinstance(one, int) else None for one in counts)
    spend(asked, told, said, [json.dumps(prepared.body.get("messages"), ensure_ascii=False), heard.text])


def _whole(
    relay: Relay,
    chats: RelayedChats,
    prepared: Prepared,
    asked: Request,
    gone: Stop,
    form: Form | None = None,
) -> Response:
    answer = relay.send("POST", "/chat/completions", prepared.body, gone)
    gone.check()
    _spend(asked, prepared, answer.heard)
    chats.keep(prepared, answer.heard, gone)
    body = answer.body
    if form and answer.status == HTTPStatus.OK:
        body = json.dumps(form.whole(_object(body)), ensure_ascii=False).encode()
        _await_tools(chats, prepared, answer.heard, form)
    return Response(body, answer.status, {**answer.headers, **prepared.headers})


def _await_tools(chats: RelayedChats, prepared: Prepared, heard: Heard, form: Form) -> None:
    if heard.calls and prepared.response and isinstance(form, ResponsesForm):
        chats.await_tools(prepared, [*form.messages, form.reply])


def _streamed(
    relay: Relay,
    chats: RelayedChats,
    prepared: Prepared,
    asked: Request,
    gone: Stop,
    form: Form | None = None,
) -> Response:
    problems: Problems = asked.app.state.problems
    events = relay.stream("/chat/completions", prepared.body, gone)
    first = next(events)
    if isinstance(first, Answer):
        return Response(first.body, first.status, {**first.headers, **prepared.headers})

    def told() -> Iterator[bytes]:
        heard = Heard()
        _spend(asked, prepared, heard)  # whoever hangs up was sent for all the same
        try:
            yield from map(_event, form.begin() if form else ())
            for event in _kept_alive(events):
                heard.take(body := _object(event))
                if heard.failed and (form or "error" not in body):
                    raise errors.ServerFault
                if event and form:
                    yield from map(_event, form.take(body))
                else:
                    yield b"data: " + event + b"\n\n" if event else b": keepalive\n\n"
                if heard.failed:
                    return
            heard.end()
            gone.check()
            chats.keep(prepared, heard, gone)
            if form:
                _await_tools(chats, prepared, heard, form)
                yield from map(_event, form.end())
            yield form.last if form else b"data: [DONE]\n\n"
        except Exception as fault:  # the answer has begun: there is no other place to tell it
            problem = problems.problem_of(fault)
            broken = form.broken(problem.message, problem.code) if form else [refused(problem)]
            yield from map(_event, broken)
        finally:
            gone.set()
            _spend(asked, prepared, heard)

    headers = {**prepared.headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(told(), media_type="text/event-stream", headers=headers)


def _event(body: Mapping[str, Any]) -> bytes:
    """One event of a stream, with its name where it has one."""
    name = f"event: {body['type']}\n" if "type" in body else ""
    return f"{name}data: {json.dumps(body)}\n\n".encode()


def _kept_alive(events: Iterator[Answer | bytes], after: float = _KEEP_ALIVE) -> Iterator[bytes]:
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
            event = came.get(timeout=after)
        except Empty:
            yield b""
            continue
        if event is None:
            return
        if isinstance(event, BaseException):
            raise event
        yield event


def _passed_on(relay: Relay, method: Literal["GET", "POST"], path: str, body: Any, gone: Stop) -> Response:
    answer = relay.send(method, path, body, gone)
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
