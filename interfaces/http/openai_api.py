"""The OpenAI-compatible API: a client gains a memory by changing its base URL.

Requests and replies pass through unchanged; errors have OpenAI's own form. Promises: the end of a stream is sent only
after the round is stored, and never after an error; where something is erased before an answer begins, the model is
asked again without it, and one that has begun by then ends with an error; if a client hangs up, its request is
cancelled and nothing of it is stored; a program that acts for everyone names the person, or switches the memory off.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from http import HTTPStatus
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Depends, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from domain import errors
from domain.receipts import ErasedMeanwhile
from domain.workers import CancelToken
from interfaces.http.error_responses import Problem, Problems
from interfaces.http.guards import AsText, Caller, ClientToken, CurrentCaller
from interfaces.http.limits import Affordable, count_tokens
from interfaces.service.client_chats import OWN_MODEL, RelayedChat, RelayedChats, ResponsePast, read_request
from interfaces.service.openai_forms import CompletionForm, ResponsesForm, completion_forms, join_completions
from interfaces.service.schemas import LONGEST_ID
from language.scripts import estimate_all
from models.relaying import Answer, Relay, RelayedReply
from people import People

#: Seconds without data after which a comment keeps the connection of a stream open.
_KEEP_ALIVE = 15.0
#: What switches the memory off.
_OFF = ("off", "0", "false", "no")
Json = Annotated[Any, Body()]


class Refused(BaseModel):
    """The body of whatever went wrong, in OpenAI's own form."""

    error: dict[str, str | None]


def error_body(problem: Problem) -> Mapping[str, Any]:
    """An error in OpenAI's own form."""
    kind = "invalid_request_error" if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    code = "invalid_api_key" if problem.status == HTTPStatus.UNAUTHORIZED else problem.code
    return {"error": {"message": problem.message, "type": kind, "param": None, "code": code}}


@cache
def router() -> APIRouter:
    """``/v1``: chat completions, responses, completions, embeddings, models."""
    api = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])

    @api.post("/chat/completions", dependencies=[Affordable])
    def complete(asked: Request, caller: CurrentCaller, gone: ClientToken, headers: Sender, body: Json) -> Response:
        """A reply with memory, whole or as a stream. ``X-Memory: off`` sends the request on alone."""
        chats: RelayedChats = asked.app.state.relayed_chats
        person, request = _person_of(caller, headers, body), read_request(body)

        def exchange() -> _Exchange:
            chat = chats.prepare_chat(person, request, headers.session, gone, switched_off=headers.is_off)
            return _Exchange(caller.people.llm.relay(), chats, chat, asked, gone)

        return _answer(exchange, [])

    @api.post("/responses", dependencies=[Affordable])
    def respond(asked: Request, caller: CurrentCaller, gone: ClientToken, headers: Sender, body: Json) -> Response:
        """The same as a response, which a later request may go on after by its id (``previous_response_id``)."""
        chats: RelayedChats = asked.app.state.relayed_chats
        person, fields = _person_of(caller, headers, body), body if isinstance(body, dict) else {}
        previous, response = str(fields.get("previous_response_id") or ""), f"resp_{caller.people.new_id()}"

        def reply_of(response: str) -> str:
            return str(chats.find_past(person, response).messages[-1]["content"])

        def exchange() -> _Exchange:
            past = chats.find_past(person, previous) if previous else ResponsePast()
            form = ResponsesForm(body, response, _unix_seconds(caller.people), past.messages, reply_of)
            name, request = headers.session or past.name, read_request(form.chat)
            chat = chats.prepare_chat(person, request, name, gone, switched_off=headers.is_off)
            if fields.get("store") is not False:
                chat = replace(chat, response=form.id, previous=previous)
            return _Exchange(caller.people.llm.relay(), chats, chat, asked, gone, form)

        return _answer(exchange, [])

    @api.post("/completions", dependencies=[Affordable])
    def complete_prompt(
        asked: Request, caller: CurrentCaller, gone: ClientToken, headers: Sender, body: Json
    ) -> Response:
        """The same for a prompt, or several; each is a message of the person."""
        chats: RelayedChats = asked.app.state.relayed_chats
        person, answers, spent = _person_of(caller, headers, body), list[Response](), list[int]()
        for form in completion_forms(body, f"cmpl-{caller.people.new_id()}", _unix_seconds(caller.people)):

            def exchange(form: CompletionForm = form) -> _Exchange:
                request = read_request(form.chat)
                chat = chats.prepare_chat(person, request, headers.session, gone, switched_off=headers.is_off)
                return _Exchange(caller.people.llm.relay(), chats, chat, asked, gone, form)

            answers.append(_answer(exchange, spent))
        failed = [one for one in answers if one.status_code != HTTPStatus.OK]
        if failed or len(answers) == 1:
            return (failed or answers)[0]
        return JSONResponse(join_completions([_parse_object(bytes(one.body)) for one in answers]))

    _add_model_routes(api)
    return api


def _add_model_routes(api: APIRouter) -> None:
    """What passes through without a memory."""

    @api.post("/embeddings")
    def embed(caller: CurrentCaller, gone: ClientToken, body: Json) -> Response:
        """Vectors, as the server makes them."""
        caller.without_person()
        return _pass_on(caller.people.llm.relay(vectors=True), "POST", "/embeddings", body, gone)

    @api.get("/models")
    def models(caller: CurrentCaller, gone: ClientToken) -> Response:
        """The models of the server, and ``old-friend`` for the one that is set."""
        caller.without_person()
        listed = _pass_on(caller.people.llm.relay(), "GET", "/models", None, gone)
        found = _parse_object(bytes(listed.body))
        if listed.status_code != HTTPStatus.OK or not isinstance(found.get("data"), list):
            return listed
        return JSONResponse({**found, "data": [_OWN_MODEL_ENTRY, *found["data"]]})

    @api.get("/models/{name:path}")
    def model(caller: CurrentCaller, gone: ClientToken, name: str) -> Response:
        """One model."""
        caller.without_person()
        if name == OWN_MODEL:
            return JSONResponse(_OWN_MODEL_ENTRY)
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise HTTPException(404, "Not Found")  # no way to other paths of the server, which knows our key
        return _pass_on(caller.people.llm.relay(), "GET", f"/models/{quote(name)}", None, gone)


_OWN_MODEL_ENTRY = {"id": OWN_MODEL, "object": "model", "created": 0, "owned_by": "old-friend"}


@dataclass(frozen=True)
class _Headers:
    """What the headers of a request for a reply say."""

    user: str | None
    session: str | None
    is_off: bool
    hints: tuple[str | None, ...]


async def _read_headers(
    x_user_id: Annotated[str | None, AsText, Header(max_length=LONGEST_ID)] = None,
    x_session_id: Annotated[str | None, AsText, Header(max_length=200)] = None,
    x_memory: Annotated[str, Header(max_length=20)] = "on",
    x_openwebui_user_id: Annotated[str | None, AsText, Header(max_length=LONGEST_ID)] = None,
    x_openwebui_chat_id: Annotated[str | None, AsText, Header(max_length=200)] = None,
) -> _Headers:
    is_off = x_memory.strip().lower() in _OFF
    return _Headers(x_user_id, x_session_id or x_openwebui_chat_id, is_off, (x_openwebui_user_id,))


Sender = Annotated[_Headers, Depends(_read_headers)]


def _unix_seconds(people: People) -> int:
    return int(people.clock().timestamp())


def _person_of(caller: Caller, headers: _Headers, body: object) -> str | None:
    """Whose memory is meant; None where it is switched off, so that there is none.

    Only the hints of a program that speaks for everybody are relayed: others speak for one person, whatever they call
    their users.
    """
    if headers.is_off:
        caller.without_person()
        return None
    if caller.only is not None:
        return caller.person(headers.user or None)
    hints = (*headers.hints, body.get("user") if isinstance(body, dict) else None)
    hinted = (one for one in hints if isinstance(one, str) and 0 < len(one) <= LONGEST_ID)
    return caller.person(headers.user or next(hinted, None))


def _answer(exchange: Callable[[], _Exchange], spent: list[int]) -> Response:
    """The answer to a request, which is sent on again where something was erased before any of the answer was sent."""
    while True:
        with suppress(ErasedMeanwhile):
            return replace(exchange(), spent=spent).answer()


@dataclass(frozen=True)
class _Exchange:
    """A request that is sent on, and its answer on the way back, in the ``form`` that was asked for.

    ``spent`` are the tokens of all that the client's request led to so far, this one's last.
    """

    relay: Relay
    chats: RelayedChats
    chat: RelayedChat
    asked: Request
    gone: CancelToken
    form: CompletionForm | ResponsesForm | None = None
    spent: list[int] = field(default_factory=list)

    def answer(self) -> Response:
        """The answer of the model server, whole or as a stream."""
        self.spent.append(0)
        return self._answer_stream() if self.chat.request.streams else self._answer_whole()

    def _answer_whole(self) -> Response:
        answer = self.relay.send("POST", "/chat/completions", self.chat.body, self.gone)
        self.gone.check()
        self._count_tokens(answer.reply)
        body = answer.body
        if self.form and answer.status == HTTPStatus.OK:
            body = json.dumps(self.form.make_answer(_parse_object(body)), ensure_ascii=False).encode()
        self._store_round(answer.reply)
        return Response(body, answer.status, {**answer.headers, **self.chat.headers})

    def _answer_stream(self) -> Response:
        stop = self.gone.derive()
        events = self.relay.stream("/chat/completions", self.chat.body, stop)
        first = next(events)
        if isinstance(first, Answer):
            return Response(first.body, first.status, {**first.headers, **self.chat.headers})
        bodies = _add_keepalives(events)
        begun = list(islice(bodies, 1))
        self._count_tokens(RelayedReply())  # counted even if the client hangs up
        try:
            self.chats.require_current(self.chat)  # nothing was sent yet
        except ErasedMeanwhile:
            stop.set()
            raise
        headers = {**self.chat.headers, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        lines = self._stream_lines(chain(begun, bodies))
        return StreamingResponse(lines, media_type="text/event-stream", headers=headers)

    def _stream_lines(self, events: Iterator[bytes]) -> Iterator[bytes]:
        """The stream as the client gets it; its end comes once the round is stored."""
        form, relayed = self.form, RelayedReply()
        try:
            yield from map(_event_line, form.begin_events() if form else ())
            yield from self._relay_events(events, relayed)
            if relayed.failed:
                return
            relayed.check_finished()
            self.gone.check()
            self._store_round(relayed)
            yield from map(_event_line, form.end_events() if form else ())
            yield form.last if form else b"data: [DONE]\n\n"
        except Exception as fault:  # the answer has begun: there is no other place to report it
            problems: Problems = self.asked.app.state.problems
            problem = problems.from_error(fault)
            failed = form.error_events(problem.message, problem.code) if form else [error_body(problem)]
            yield from map(_event_line, failed)
        finally:
            self.gone.set()
            self._count_tokens(relayed)

    def _relay_events(self, events: Iterator[bytes], relayed: RelayedReply) -> Iterator[bytes]:
        """The events in the form of the client, up to an error that the model server reports in that form itself."""
        for event in events:
            relayed.add_body(body := _parse_object(event))
            if relayed.failed and (self.form or "error" not in body):
                raise errors.ServerFault
            if event and self.form:
                yield from map(_event_line, self.form.piece_events(body))
            else:
                yield b"data: " + event + b"\n\n" if event else b": keepalive\n\n"
            if relayed.failed:
                return

    def _store_round(self, relayed: RelayedReply) -> None:
        """Store the round; a reply that calls tools waits for their results."""
        self.chats.store_round(self.chat, relayed)
        if relayed.calls:
            form = self.form
            self.chats.await_tools(self.chat, [*form.messages, form.reply] if isinstance(form, ResponsesForm) else ())

    def _count_tokens(self, relayed: RelayedReply) -> None:
        """Count the tokens of a reply, also of one that broke off: the model has read the request."""
        usage = relayed.usage or {}
        counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        read, written = (one if isinstance(one, int) else None for one in counts)
        texts = [json.dumps(self.chat.body.get("messages"), ensure_ascii=False), relayed.text]
        self.spent[-1] = estimate_all(texts) if read is None or written is None else read + written
        count_tokens(self.asked, sum(self.spent), 0, ())


def _event_line(body: Mapping[str, Any]) -> bytes:
    """One event of a stream, with its name where it has one."""
    name = f"event: {body['type']}\n" if "type" in body else ""
    return f"{name}data: {json.dumps(body)}\n\n".encode()


def _add_keepalives(events: Iterator[Answer | bytes], after: float = _KEEP_ALIVE) -> Iterator[bytes]:
    """The events as they come, and an empty one whenever nothing came for a while."""
    came: SimpleQueue[bytes | BaseException | None] = SimpleQueue()

    def read() -> None:
        try:
            for event in (one for one in events if isinstance(one, bytes) and one):
                came.put(event)
            came.put(None)
        except BaseException as fault:  # raised again in the thread of the stream
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


def _pass_on(relay: Relay, method: Literal["GET", "POST"], path: str, body: Any, gone: CancelToken) -> Response:
    answer = relay.send(method, path, body, gone)
    return Response(answer.body, answer.status, dict(answer.headers))


def _parse_object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
