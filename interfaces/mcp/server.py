"""The memory as tools of the Model Context Protocol, on the official SDK; the same for stdio and HTTP.

Promises: a tool's result is byte for byte the body that HTTP answers with, and the same as structured content; what
goes wrong is a result the model can read and act on, never a path, a process or a traceback; nothing depends on a
connection, so both revisions of the protocol in use work, also side by side.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, Field, ValidationError

from domain import errors
from interfaces.mcp import descriptions
from interfaces.mcp.tool_arguments import invalid, unknown
from interfaces.messages import Words
from interfaces.service import bodies
from interfaces.socket.verbs import Memories

Ctx = Context[Any, Any]
#: Whose memory a request means that names somebody, or "" for nobody. Raises LookupError where it may not be used.
PersonOf = Callable[[Ctx, str], str]


class Declined(Exception):
    """Why a request is not answered: a sentence."""


_UserId = Annotated[str, Field(max_length=bodies.LONGEST_ID, description=descriptions.USER_ID)]
_Input = Annotated[str, Field(min_length=1, max_length=bodies.LONGEST_INPUT, description=descriptions.INPUT)]
_LOOKS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_ENDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_ERASES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
_JSON = "application/json"


def make_server(
    memory: Memories,
    words: Words,
    log: logging.Logger,
    *,
    version: str,
    full: bool = False,
    person_of: PersonOf,
) -> MCPServer[Any]:
    """A server over these memories; ``full`` adds recall, remember, forget and profile to the five tools."""
    with _logging_untouched():
        server: MCPServer[Any] = _Server(words, version)
    asking = _Asking(memory, words, log, person_of)
    _add_five(server, asking)
    if full:
        _add_more(server, asking)
    _add_resources(server, asking)
    return server


class _Server(MCPServer[Any]):
    """The SDK's, with three differences.

    Arguments that a tool does not take are refused instead of passed over; what is wrong with arguments is a sentence
    in place of a validator's report; an unknown prompt has the code of the protocol in place of 0.
    """

    def __init__(self, words: Words, version: str) -> None:
        super().__init__(
            "old-friend", title="Old Friend", instructions=descriptions.INSTRUCTIONS, version=version
        )
        self._words = words

    async def list_tools(self) -> list[Tool]:
        """All tools; each takes no arguments but its own."""
        closed = {"additionalProperties": False}
        return [
            one.model_copy(update={"input_schema": {**one.input_schema, **closed}})
            for one in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Ctx | None = None
    ) -> CallToolResult | InputRequiredResult:
        """The result of a tool."""
        taken = {one.name: list(one.input_schema["properties"]) for one in await self.list_tools()}
        if name not in taken:
            return _failed(self._words.say("mcp.no_such_tool", tool=name, tools=", ".join(taken)))
        if problem := unknown(self._words, name, arguments, taken[name]):
            return _failed(problem)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as fault:
            if not isinstance(fault.__cause__, ValidationError):
                raise
            return _failed(invalid(self._words, name, fault.__cause__))

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Ctx | None = None
    ) -> GetPromptResult:
        """There are none."""
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")


class _Asking:
    """Asks the memories on behalf of a request, and tells what went wrong in words."""

    def __init__(self, memory: Memories, words: Words, log: logging.Logger, person_of: PersonOf) -> None:
        self._memory = memory
        self._words = words
        self._log = log
        self._person_of = person_of

    def tool(self, ctx: Ctx, verb: str, user_id: str, **arguments: object) -> CallToolResult:
        """The result of a tool."""
        try:
            body = self._body(ctx, verb, user_id, arguments)
        except Exception as fault:
            return _failed(self.sentence(fault, user_id))
        text = TextContent(type="text", text=body.model_dump_json())
        return CallToolResult(content=[text], structured_content=body.model_dump())

    def resource(self, ctx: Ctx, verb: str, user_id: str, **arguments: object) -> str:
        """The text of a resource."""
        try:
            return self._body(ctx, verb, user_id, arguments).model_dump_json()
        except LookupError as fault:
            raise ResourceNotFoundError(self.sentence(fault, user_id)) from fault
        except Exception as fault:
            raise ResourceError(self.sentence(fault, user_id)) from fault

    def sentence(self, fault: Exception, user_id: str) -> str:
        """What went wrong, for a model that has to go on."""
        match fault:
            case Declined():
                return str(fault)
            case LookupError():
                return self._words.say("mcp.no_such_person", given=user_id)
            case errors.UsageError():
                return self._words.error(fault)
            case errors.DataInUse():
                return self._words.say("served.in_use")
            case errors.DiskFull():
                return self._words.say("served.disk_full")
            case errors.StorageError():
                self._log.error("%s", fault, exc_info=fault)
                return self._words.say("served.storage")
        self._log.error("unexpected", exc_info=fault)
        return self._words.say("mcp.unexpected")

    def _body(self, ctx: Ctx, verb: str, user_id: str, arguments: dict[str, object]) -> BaseModel:
        return self._memory.call(verb, user_id=self._person_of(ctx, user_id), **arguments)


def _failed(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


def _add_five(server: MCPServer[Any], asking: _Asking) -> None:
    @server.tool(description=descriptions.PROCESS, annotations=_ADDS, title="Store and remember")
    def process_memory(
        ctx: Ctx, input: _Input, user_id: _UserId = ""
    ) -> Annotated[CallToolResult, bodies.ProcessResponse]:
        return asking.tool(ctx, "process", user_id, input=input)

    @server.tool(description=descriptions.END_SESSION, annotations=_ENDS, title="End the session")
    def end_session(ctx: Ctx, user_id: _UserId = "") -> Annotated[CallToolResult, bodies.EndSessionResponse]:
        return asking.tool(ctx, "end_session", user_id)

    @server.tool(description=descriptions.STATUS, annotations=_LOOKS, title="Session status")
    def get_session_status(
        ctx: Ctx, user_id: _UserId = ""
    ) -> Annotated[CallToolResult, bodies.SessionStatusResponse]:
        return asking.tool(ctx, "session_status", user_id)

    @server.tool(description=descriptions.DEBUG, annotations=_LOOKS, title="Look without storing")
    def debug_process_memory(
        ctx: Ctx, input: _Input, user_id: _UserId = ""
    ) -> Annotated[CallToolResult, bodies.DebugResponse]:
        return asking.tool(ctx, "debug", user_id, input=input)

    @server.tool(description=descriptions.GRAPH, annotations=_LOOKS, title="Relations")
    def get_user_graph(ctx: Ctx, user_id: _UserId = "") -> Annotated[CallToolResult, bodies.GraphResponse]:
        return asking.tool(ctx, "graph", user_id)


def _add_more(server: MCPServer[Any], asking: _Asking) -> None:
    @server.tool(description=descriptions.RECALL, annotations=_LOOKS, title="Search the memory")
    def recall(
        ctx: Ctx,
        query: Annotated[str, Field(min_length=1, max_length=bodies.LONGEST_INPUT)],
        user_id: _UserId = "",
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> Annotated[CallToolResult, bodies.RecallResponse]:
        return asking.tool(ctx, "recall", user_id, query=query, limit=limit)

    @server.tool(description=descriptions.REMEMBER, annotations=_ADDS, title="Remember")
    def remember(
        ctx: Ctx,
        text: Annotated[str, Field(min_length=1, max_length=bodies.LONGEST_INPUT)],
        user_id: _UserId = "",
    ) -> Annotated[CallToolResult, bodies.RememberResponse]:
        return asking.tool(ctx, "remember", user_id, text=text)

    @server.tool(description=descriptions.FORGET, annotations=_ERASES, title="Forget for good")
    def forget(
        ctx: Ctx,
        memory_id: Annotated[
            str, Field(min_length=1, max_length=bodies.LONGEST_ID, description="The id that recall told.")
        ],
        user_id: _UserId = "",
    ) -> Annotated[CallToolResult, bodies.ForgetResponse]:
        return asking.tool(ctx, "forget", user_id, memory_id=memory_id)

    @server.tool(description=descriptions.PROFILE, annotations=_LOOKS, title="Who the person is")
    def profile(ctx: Ctx, user_id: _UserId = "") -> Annotated[CallToolResult, bodies.ProfileResponse]:
        return asking.tool(ctx, "profile", user_id)


def _add_resources(server: MCPServer[Any], asking: _Asking) -> None:
    @server.resource(
        "memory://{user_id}/profile", name="profile", description=descriptions.PROFILE, mime_type=_JSON
    )
    def profile_of(user_id: str, ctx: Ctx) -> str:
        return asking.resource(ctx, "profile", user_id)

    @server.resource(
        "memory://{user_id}/day/{date}",
        name="day",
        description="What the person said on a day (2026-11-22), and what is known since then.",
        mime_type=_JSON,
    )
    def day_of(user_id: str, date: str, ctx: Ctx) -> str:
        return asking.resource(ctx, "day", user_id, date=date)


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """The SDK lets everything that is logged in this process go to stderr; what is logged here goes into our files."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:], root.level = before, level
