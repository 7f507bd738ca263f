"""The operations of a memory, as one table for every interface.

HTTP routes, MCP tools and resources, and the methods of ``Friend`` are made from it. Each operation is a method of
``MemoryService``, or for the chat API of ``ChatMemory``, whose signature says what it takes and returns: parameters are
checked by that, in the same way for every interface. Descriptions of tools are in English only: models
choose tools by them, and still answer in the person's language.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import NoneType, UnionType
from typing import IO, Annotated, Any, get_args, get_type_hints

from pydantic import BaseModel, ValidationError, create_model
from pydantic.fields import FieldInfo

from domain import errors
from interfaces.service.chat_memory import ChatMemory
from interfaces.service.memory_service import MemoryService
from interfaces.service.schemas import Schema


class Access(Enum):
    """Who may call: a person's own programs, or clients of the chat API, for that person; the administrator for all."""

    PERSON = auto()
    CHAT = auto()
    ADMIN = auto()


class Effect(Enum):
    """The effect on the memory. ``END`` and ``ERASE`` are idempotent."""

    READ = auto()
    ADD = auto()
    END = auto()
    ERASE = auto()


@dataclass(frozen=True)
class Route:
    """An HTTP route. Parameters that are not in the path are in the body if there is one, else in the query.

    ``conflict`` describes when it is answered with 409, ``missing`` what is said with 404 where there is no result;
    ``name`` is its name in OpenAPI, if not the operation's.
    """

    method: str
    path: str
    summary: str
    conflict: str = ""
    missing: str = "Not Found"
    name: str = ""
    status: int = 200

    @property
    def has_body(self) -> bool:
        """Whether parameters are in a body; clients of the chat API send one query with POST."""
        return self.method in ("POST", "PUT", "PATCH") and not self.path.endswith("/clear-old")


@dataclass(frozen=True)
class Tool:
    """An MCP tool. ``basic`` tools are always offered; ``hides`` are parameters that a model does not set."""

    name: str
    title: str
    description: str
    basic: bool = False
    hides: tuple[str, ...] = ("request_id",)


@dataclass(frozen=True)
class Resource:
    """An MCP resource."""

    uri: str
    description: str


@dataclass(frozen=True)
class MemoryOperation:
    """One operation. ``result`` is the type of its body; ``bytes`` for a ZIP file."""

    name: str
    parameters: type[BaseModel]
    result: Any
    effect: Effect
    access: Access = Access.PERSON
    route: Route | None = None
    tool: Tool | None = None
    resource: Resource | None = None


def _operation(
    method: Callable[..., Any],
    effect: Effect,
    route: Route | None = None,
    access: Access = Access.PERSON,
    *,
    tool: Tool | None = None,
    resource: Resource | None = None,
) -> MemoryOperation:
    """The operation that a method is: its parameters with their types and defaults, and what it returns."""
    name, hints = method.__name__, get_type_hints(method, include_extras=True)
    returned = hints.pop("return")
    if isinstance(returned, UnionType):  # None where there is no such thing
        (returned,) = (one for one in get_args(returned) if one is not NoneType)
    result = bytes if returned == IO[bytes] else returned
    defaults = {one.name: one.default for one in inspect.signature(method).parameters.values()}
    fields: dict[str, Any] = {
        field: (kind, ... if defaults[field] is inspect.Parameter.empty else defaults[field])
        for field, kind in hints.items()
    }
    title = name.title().replace("_", "") + "Request"
    parameters = create_model(title, __base__=Schema, __doc__=f"What ``{name}`` takes.", **fields)
    return MemoryOperation(name, parameters, result, effect, access, route, tool, resource)


_PROFILE = "Who the person is: a short portrait, and the facts that hold now. Call it at the start of a conversation."
_INSTRUCTIONS = "/api/v1/system-instructions"
_TABLE = (
    _operation(
        MemoryService.process,
        Effect.ADD,
        Route("POST", "/process", "Store what was said, and remember"),
        tool=Tool(
            "process_memory",
            "Store and remember",
            "Store what the person just said and get what is remembered for it. Call it once a message, before you "
            "answer, when the person states something about themselves, people they know, plans or preferences, or "
            "refers to something said earlier. Not needed for small talk, for your own words, or twice for one "
            "message.",
            basic=True,
            hides=("request_id", "role", "metadata"),
        ),
    ),
    _operation(
        MemoryService.end_session,
        Effect.END,
        Route("POST", "/end-session", "End the open session"),
        tool=Tool(
            "end_session",
            "End the session",
            "End the person's session, so that what was said becomes long-term memory. Call it when the person says "
            "goodbye or changes to something entirely different. Sessions also end by themselves; ending one that is "
            "not open is fine.",
            basic=True,
        ),
    ),
    _operation(
        MemoryService.session_status,
        Effect.READ,
        Route("GET", "/session-status/{user_id:path}", "Whether a session is open"),
        tool=Tool(
            "get_session_status",
            "Session status",
            "Whether a session of the person is open, and how long it stays so. Changes nothing.",
            basic=True,
        ),
    ),
    _operation(
        MemoryService.debug,
        Effect.READ,
        Route("POST", "/debug", "What would be remembered; stores nothing"),
        tool=Tool(
            "debug_process_memory",
            "Look without storing",
            "What process_memory would answer, and how it was found; stores nothing. Call it to look something up "
            "without storing the question, or to find out why something was or was not remembered.",
            basic=True,
        ),
    ),
    _operation(
        MemoryService.graph,
        Effect.READ,
        Route("GET", "/graph/{user_id:path}", "What is known to be related"),
        tool=Tool(
            "get_user_graph",
            "Relations",
            "How the people, places and things of the person's life stand to each other, the newest first. Call it for "
            "questions about relationships: who is whose sister, who works where. Changes nothing.",
            basic=True,
            hides=("limit",),
        ),
    ),
    _operation(
        MemoryService.recall,
        Effect.READ,
        tool=Tool(
            "recall",
            "Search the memory",
            "Search the person's memory: facts, what was said, summaries, with ids and dates. Call it when the answer "
            "could lie in earlier conversations. Stores nothing.",
        ),
    ),
    _operation(
        MemoryService.search,
        Effect.READ,
        Route("POST", "/search", "Search by words, meaning, names, place, topic and time"),
        tool=Tool(
            "search",
            "Search by parts",
            "Search the person's memory by who, what, where, when and topic, each alone or together, and by words and "
            "meaning. Without a query the latest come first. Call it to list what is known of a person, a place or a "
            "day. Stores nothing.",
        ),
    ),
    _operation(
        MemoryService.remember,
        Effect.ADD,
        tool=Tool(
            "remember",
            "Remember",
            "Store something for the person, word for word. Call it when they ask you to remember something. Write a "
            "whole sentence that names whom it is about. Not needed for what went through process_memory already.",
        ),
    ),
    _operation(
        MemoryService.forget,
        Effect.ERASE,
        Route("DELETE", "/admin/memories/{person:path}", "Erase one memory of a person, with proof"),
        tool=Tool(
            "forget",
            "Forget for good",
            "Erase one memory for good, out of every file, with what was drawn from it. Only when the person asks to "
            "forget something: find its id with recall first, and say what you are about to erase. There is no way "
            "back.",
        ),
    ),
    _operation(
        MemoryService.erased,
        Effect.READ,
        Route("GET", "/erased/{user_id:path}", "What was erased and when, without its content"),
        tool=Tool(
            "erased",
            "What was erased",
            "When something of the person's memory was erased, how many messages of which days, and whether any file "
            "still holds it. It does not tell what was erased. Changes nothing.",
        ),
    ),
    _operation(
        MemoryService.open_matters,
        Effect.END,
        Route("POST", "/open", "What is open: events ahead, deadlines, promises, questions, worries, birthdays"),
        tool=Tool(
            "open_matters",
            "What is open",
            "What is still ahead or unsettled in the person's life, by date, in their own words: events, deadlines, "
            "promises of either side, questions, worries, birthdays. Call it at the start of a conversation to take up "
            "one thing that is due. With a number it settles that one first, and only when the person says so: it is "
            "done, they never want it mentioned again (drop), or not before a day (later).",
        ),
    ),
    _operation(
        MemoryService.diary,
        Effect.READ,
        Route("GET", "/diary/{user_id:path}", "The companion's diary: a page after each saved conversation"),
        tool=Tool(
            "diary",
            "The diary",
            "The companion's own diary: a short page after each conversation, every sentence with the messages it "
            "rests on. Call it to look back on a day or a month with the person. Changes nothing.",
        ),
    ),
    _operation(
        MemoryService.profile,
        Effect.READ,
        tool=Tool("profile", "Who the person is", _PROFILE),
        resource=Resource("memory://{user_id}/profile", _PROFILE),
    ),
    _operation(
        MemoryService.day,
        Effect.READ,
        resource=Resource(
            "memory://{user_id}/day/{date}", "What the person said on a day (2026-11-22), and what is known since then."
        ),
    ),
    _operation(
        MemoryService.known_people,
        Effect.READ,
        Route("GET", "/admin/people", "Everybody who was ever served", name="persons"),
        Access.ADMIN,
    ),
    _operation(
        MemoryService.erase_person,
        Effect.ERASE,
        Route(
            "DELETE",
            "/admin/people/{person:path}",
            "Erase a person whole, with proof",
            conflict="The owner of the server",
            name="erase",
        ),
        Access.ADMIN,
    ),
    _operation(
        MemoryService.export_person,
        Effect.READ,
        Route("GET", "/admin/export/{person:path}", "All there is of a person, as a ZIP file", name="export"),
        Access.ADMIN,
    ),
    _operation(
        MemoryService.stored_memories,
        Effect.READ,
        Route("GET", "/admin/memories/{person:path}", "What is stored of a person", name="memories"),
        Access.ADMIN,
    ),
    _operation(
        ChatMemory.memory_list,
        Effect.READ,
        Route("GET", "/api/v1/memory/list", "What is remembered, the newest first"),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.delete_memory,
        Effect.ERASE,
        Route(
            "DELETE",
            "/api/v1/memory/{memory_id:int}",
            "Remember something no more; with purge it is erased from every file, with what was said of it",
            missing="记忆不存在",
        ),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.clear_old,
        Effect.END,
        Route("POST", "/api/v1/memory/clear-old", "Remember no more what is older than so many months"),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.add_instruction,
        Effect.ADD,
        Route("POST", _INSTRUCTIONS, "Make a companion of its own, with a memory of its own", status=201),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.instructions,
        Effect.READ,
        Route("GET", _INSTRUCTIONS, "All system instructions, the oldest first"),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.instruction,
        Effect.READ,
        Route("GET", f"{_INSTRUCTIONS}/{{number:int}}", "One system instruction"),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.replace_instruction,
        Effect.END,
        Route(
            "PUT",
            f"{_INSTRUCTIONS}/{{number:int}}",
            "Replace its title and text; its memory stays",
            conflict="The companion's own",
        ),
        Access.CHAT,
    ),
    _operation(
        ChatMemory.change_instruction,
        Effect.END,
        Route(
            "PATCH",
            f"{_INSTRUCTIONS}/{{number:int}}",
            "Change its title or its text; its memory stays",
            conflict="The companion's own",
        ),
        Access.CHAT,
    ),
)
#: Every operation by its name, in the order in which they are offered.
OPERATIONS: Mapping[str, MemoryOperation] = {one.name: one for one in _TABLE}


def annotated_type(field: FieldInfo, *more: object) -> Any:
    """The type of a parameter with its bounds and ``more`` metadata, for the signature of a function."""
    return Annotated[field.annotation, *field.metadata, *more]


def set_signature(function: Callable[..., Any], parameters: Mapping[str, tuple[Any, Any]], returns: Any) -> None:
    """Let a function of any arguments be seen as one of these: names, each with its type and default."""
    kind = inspect.Parameter.KEYWORD_ONLY
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind, annotation=one, default=default) for name, (one, default) in parameters.items()],
        return_annotation=returns,
    )
    function.__annotations__ = {**{name: one for name, (one, _) in parameters.items()}, "return": returns}


class Memories:
    """The memories of a service, by the names of its operations."""

    def __init__(self, service: MemoryService) -> None:
        self._service = service

    def call(self, name: str, **arguments: object) -> BaseModel:
        """The result of an operation that a person's own program may call. Raises UsageError, StorageError."""
        operation = OPERATIONS.get(name)
        if operation is None or operation.access is not Access.PERSON:
            raise errors.UsageError("operation.unknown", given=name)
        try:
            given = operation.parameters.model_validate(arguments)
        except ValidationError as fault:
            problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in fault.errors())
            raise errors.UsageError("operation.invalid", problems=problems) from None
        result: BaseModel = getattr(self._service, name)(**given.model_dump())
        return result
