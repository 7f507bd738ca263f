"""The chat API with memory: ``/api/v1/chat``. Its other paths are operations (``interfaces.operations``).

Bodies and status codes are those that its clients know; additional keys may be present, which they ignore. Its
sentences are Chinese, as its clients expect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, FastAPI, Header, HTTPException, Request
from pydantic import BaseModel, Field, Strict

from client_history import ClientMessage
from domain import errors
from domain.records import Finish
from interfaces.http.guards import AsText, CurrentCaller, PersonHeader
from interfaces.http.limits import Affordable, count_tokens
from interfaces.service.chat_memory import ChatMemory

#: Bounds of a request: messages, and characters of one. A text of the greatest length fits into the greatest body.
_MOST_MESSAGES, _LONGEST_TEXT = 10_000, 500_000

Number = Annotated[int, Strict(), Field(ge=1, le=2**63 - 1)]
Content = Annotated[str, Field(max_length=_LONGEST_TEXT)]


class ChatMessage(BaseModel):
    """One message of the history."""

    role: Literal["user", "assistant", "system"]
    content: Content


class ChatBody(BaseModel):
    """The whole history, the last message of the person at its end."""

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=_MOST_MESSAGES)]
    system_instruction_id: Number | None = None
    temperature: Annotated[float, Strict(), Field(ge=0, le=2)] | None = None
    max_tokens: Number | None = None


class TokenUsage(BaseModel):
    """What the model server counted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatReply(BaseModel):
    """The reply; how many memories were shown for it, and how many windows of fifty messages are full."""

    message: str
    memories_used: int
    round: int
    usage: TokenUsage | None
    finish_reason: Finish


@cache
def router() -> APIRouter:
    """The chat API."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.people.resume_client_histories()
        yield

    routes = APIRouter(prefix="/api/v1", lifespan=life, dependencies=[PersonHeader])

    @routes.post("/chat", tags=["chat"], dependencies=[Affordable])
    def chat(
        body: ChatBody,
        caller: CurrentCaller,
        request: Request,
        x_session_id: Annotated[str | None, AsText, Header()] = None,
    ) -> ChatReply:
        """Answer the last message, with what is remembered of those before."""
        messages = tuple(ClientMessage(one.role, one.content) for one in body.messages)
        if not any(one.role == "user" for one in messages):
            raise HTTPException(422, "messages: nothing in them was said by the user")
        person, options = caller.person(), body.model_dump(include={"temperature", "max_tokens"}, exclude_none=True)
        service: ChatMemory = request.app.state.chat_memory
        with _gateway_errors():
            answered = service.answer_chat(person, messages, body.system_instruction_id, x_session_id, options)
        reply, usage = answered.reply, None
        asked, said = reply.prompt_tokens, reply.completion_tokens
        count_tokens(request, asked, said, [*(one.text for one in messages), reply.text])
        if asked is not None and said is not None:
            usage = TokenUsage(prompt_tokens=asked, completion_tokens=said, total_tokens=asked + said)
        return ChatReply(
            message=reply.text,
            memories_used=answered.memories_used,
            round=answered.round,
            usage=usage,
            finish_reason=reply.finish,
        )

    return routes


@contextmanager
def _gateway_errors() -> Iterator[None]:
    """Errors of a model server as those of a gateway, without its address."""
    try:
        yield
    except errors.ModelError as fault:
        late = isinstance(fault, errors.TimedOut)
        wait = {"Retry-After": str(max(1, round(fault.retry_after)))} if fault.retry_after else None
        raise HTTPException(504 if late else 502, f"the model did not answer ({fault.key})", wait) from fault
