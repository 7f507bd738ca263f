"""The chat API with memory: ``/api/v1/chat``, ``/api/v1/memory``, ``/api/v1/system-instructions``.

Bodies and status codes are those that its clients know; additional keys may be present, which they ignore. Its
sentences are Chinese, as its clients expect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, tzinfo
from typing import Annotated, Literal

from fastapi import APIRouter, FastAPI, Header, HTTPException, Path, Query, Request
from pydantic import BaseModel, Field, Strict

from client_history import ClientMessage
from domain import errors
from domain.events import Reply
from domain.records import Finish
from domain.text import clean_text
from domain.workers import CancelToken
from interfaces.http.guards import AsText, CurrentCaller, PersonHeader
from interfaces.http.limits import Affordable, count_tokens
from interfaces.service.client_chats import ChatMemory, ChatQuestion, ListedMemory
from language.calendar import in_zone
from people import Instruction, People

_LARGEST = 2**63 - 1
#: Bounds of a request: messages, characters of one, of a system instruction and of its title. A text of the greatest
#: length, whatever it holds, fits into the greatest body.
_MOST_MESSAGES, _LONGEST_TEXT, _LONGEST_INSTRUCTION, _LONGEST_TITLE = 10_000, 500_000, 50_000, 200

Number = Annotated[int, Strict(), Field(ge=1, le=_LARGEST)]
InPath = Annotated[int, Path(ge=0, le=_LARGEST)]
InstructionQuery = Annotated[int | None, Query(ge=1, le=_LARGEST)]
Content = Annotated[str, Field(max_length=_LONGEST_TEXT)]
Written = Annotated[str, Field(min_length=1, max_length=_LONGEST_INSTRUCTION)]
Title = Annotated[str, Field(max_length=_LONGEST_TITLE)]


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

    def options(self) -> dict[str, float]:
        """What goes to the model beside the messages."""
        named = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {name: value for name, value in named.items() if value is not None}


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


class MemoryItem(BaseModel):
    """One memory. ``key_points`` is a list in JSON; ``created_at`` is local time without an offset."""

    id: int
    summary: str
    key_points: str
    memory_type: Literal["active", "passive"]
    importance_score: int
    created_at: str


class PurgeProof(BaseModel):
    """What the search of every file found after an erasure."""

    files: int
    searched: int
    skipped: int
    traces: int


class MemoryDeleted(BaseModel):
    """A memory is listed and recalled no more; with a ``proof`` it is in no file either."""

    message: str
    id: int
    proof: PurgeProof | None = None


class MemoriesCleared(BaseModel):
    """So many memories are listed and recalled no more."""

    message: str
    count: int


class InstructionBody(BaseModel):
    """A system instruction: the whole system prompt of a companion that has a memory of its own."""

    title: Title = ""
    text: Written


class InstructionChange(BaseModel):
    """What is to be changed of a system instruction."""

    title: Title | None = None
    text: Written | None = None


class InstructionItem(BaseModel):
    """A system instruction as it is."""

    id: int
    title: str
    text: str
    created_at: str
    updated_at: str


def router(people: People) -> APIRouter:
    """The chat API over these people's memories."""
    service = ChatMemory(people)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        service.resume()
        yield

    routes = APIRouter(prefix="/api/v1", lifespan=life, dependencies=[PersonHeader])
    _add_chat(routes, service)
    _add_memories(routes, service, people)
    _add_instructions(routes, people)
    return routes


def _add_chat(routes: APIRouter, service: ChatMemory) -> None:
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
        asked = ChatQuestion(messages, body.system_instruction_id, x_session_id, body.options())
        person = caller.person()
        with _gateway_errors():
            answered = service.answer_chat(person, asked, _server_token(request))
        reply = answered.reply
        count_tokens(
            request, reply.prompt_tokens, reply.completion_tokens, [*(one.text for one in messages), reply.text]
        )
        return ChatReply(
            message=answered.reply.text,
            memories_used=answered.memories_used,
            round=answered.round,
            usage=_usage_of(answered.reply),
            finish_reason=answered.reply.finish,
        )


def _add_memories(routes: APIRouter, service: ChatMemory, people: People) -> None:
    @routes.get("/memory/list", tags=["memory"])
    def memory_list(
        caller: CurrentCaller,
        system_instruction_id: InstructionQuery = None,
        limit: Annotated[int | None, Query(ge=1, le=_LARGEST)] = None,
        offset: Annotated[int, Query(ge=0, le=_LARGEST)] = 0,
    ) -> list[MemoryItem]:
        """What is remembered, the newest first."""
        found = service.list_memories(caller.person(), system_instruction_id)[offset:]
        zone = people.clock().tzinfo
        return [_memory_item(one, zone) for one in (found if limit is None else found[:limit])]

    @routes.delete("/memory/{memory_id:int}", tags=["memory"], response_model_exclude_none=True)
    def delete_memory(memory_id: InPath, caller: CurrentCaller, request: Request, purge: bool = False) -> MemoryDeleted:
        """Remember something no more. With ``purge`` it is erased from every file, with what was said of it."""
        proof = None
        if purge:
            erased = service.erase_memory(caller.person(), memory_id, _server_token(request))
            gone = erased is not None
            if erased:
                found = erased.proof
                proof = PurgeProof(
                    files=found.files, searched=found.searched, skipped=found.skipped, traces=len(found.traces)
                )  # fmt: skip
        else:
            gone = service.delete_memory(caller.person(), memory_id)
        if not gone:
            raise HTTPException(404, "记忆不存在")
        return MemoryDeleted(message="记忆已删除", id=memory_id, proof=proof)

    @routes.post("/memory/clear-old", tags=["memory"])
    def clear_old(
        caller: CurrentCaller,
        months: Annotated[int, Query(ge=1, le=1200)] = 3,
        system_instruction_id: InstructionQuery = None,
    ) -> MemoriesCleared:
        """Remember no more what is older than so many months."""
        count = service.clear_old(caller.person(), months, system_instruction_id)
        return MemoriesCleared(message=f"已清理 {count} 条旧记忆", count=count)


def _add_instructions(routes: APIRouter, people: People) -> None:
    registry = people.registry

    @routes.post("/system-instructions", status_code=201, tags=["system instructions"])
    def add_instruction(body: InstructionBody, caller: CurrentCaller) -> InstructionItem:
        """Make a companion of its own, with a memory of its own."""
        return _instruction_item(
            registry.add_instruction(caller.person(), clean_text(body.title), _instruction_text(body.text))
        )

    @routes.get("/system-instructions", tags=["system instructions"])
    def instructions(caller: CurrentCaller) -> list[InstructionItem]:
        """All that there are, the oldest first."""
        return [_instruction_item(one) for one in registry.instructions(caller.person())]

    @routes.get("/system-instructions/{number:int}", tags=["system instructions"])
    def instruction(number: InPath, caller: CurrentCaller) -> InstructionItem:
        """One of them."""
        return _instruction_item(_found_or_404(registry.instruction(caller.person(), number)))

    @routes.put("/system-instructions/{number:int}", tags=["system instructions"])
    def replace_instruction(number: InPath, body: InstructionBody, caller: CurrentCaller) -> InstructionItem:
        """Put another title and text in its place; its memory stays."""
        changed = registry.change_instruction(
            caller.person(), number, clean_text(body.title), _instruction_text(body.text)
        )
        return _instruction_item(_found_or_404(changed))

    @routes.patch("/system-instructions/{number:int}", tags=["system instructions"])
    def change_instruction(number: InPath, body: InstructionChange, caller: CurrentCaller) -> InstructionItem:
        """Change its title or its text; its memory stays."""
        known = _found_or_404(registry.instruction(caller.person(), number))
        title = known.title if body.title is None else clean_text(body.title)
        text = known.text if body.text is None else _instruction_text(body.text)
        return _instruction_item(_found_or_404(registry.change_instruction(caller.person(), number, title, text)))


@contextmanager
def _gateway_errors() -> Iterator[None]:
    """Errors of a model server as those of a gateway, without its address."""
    try:
        yield
    except errors.ModelError as fault:
        late = isinstance(fault, errors.TimedOut)
        wait = {"Retry-After": str(max(1, round(fault.retry_after)))} if fault.retry_after else None
        raise HTTPException(504 if late else 502, f"the model did not answer ({fault.key})", wait) from fault
    except errors.UsageError as fault:
        status = {"instruction.unknown": 404, "input.too_long": 413}.get(fault.key, 422)
        raise HTTPException(status, fault.key) from fault


def _server_token(request: Request) -> CancelToken:
    """The cancel token of the server."""
    stop = getattr(request.app.state, "stop", None)
    return stop if isinstance(stop, CancelToken) else CancelToken()


def _usage_of(reply: Reply) -> TokenUsage | None:
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    asked, said = reply.prompt_tokens, reply.completion_tokens
    return TokenUsage(prompt_tokens=asked, completion_tokens=said, total_tokens=asked + said)


def _memory_item(one: ListedMemory, zone: tzinfo | None) -> MemoryItem:
    made = in_zone(datetime.fromisoformat(one.memory.created_at), zone).replace(tzinfo=None)
    return MemoryItem(
        id=one.number,
        summary=one.memory.summary,
        key_points=one.memory.key_points,
        memory_type=one.memory.memory_type,
        importance_score=one.memory.importance,
        created_at=made.isoformat(timespec="seconds"),
    )


def _found_or_404(instruction: Instruction | None) -> Instruction:
    if instruction is None:
        raise HTTPException(404, "Not Found")
    return instruction


def _instruction_text(text: str) -> str:
    """The text of an instruction, which must say something."""
    if not clean_text(text).strip():
        raise HTTPException(422, "text: says nothing")
    return clean_text(text)


def _instruction_item(one: Instruction) -> InstructionItem:
    return InstructionItem(
        id=one.number, title=one.title, text=one.text, created_at=one.created_at, updated_at=one.updated_at
    )
