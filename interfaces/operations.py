"""The operations of a memory, as one table for every interface.

HTTP routes, MCP tools and resources, and the methods of ``Friend`` are made from it. Each name is a method
of ``MemoryService``; of an operation of the chat API, of ``ChatMemory``.
Parameters are checked here, in the same way for every interface. Descriptions of tools are in English only: models
choose tools by them, and still answer in the person's language.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationError, create_model
from pydantic.fields import FieldInfo

from domain import errors
from domain.text import clean_text
from interfaces.service import memory_schemas as memory
from interfaces.service import schemas
from interfaces.service.chat_memory import InstructionItem, MemoriesCleared, MemoryDeleted, MemoryItem
from interfaces.service.memory_service import MemoryService
from interfaces.service.schemas import Schema
from interfaces.service.search_schemas import DiaryResponse, OpenResponse, SearchResponse

#: Most characters of an input, and of an id of a person or a request.
LONGEST_INPUT, LONGEST_ID = 100_000, 128
#: Most characters of the metadata of a message, as JSON.
LONGEST_METADATA = 8_000
#: The largest integer that every JSON client can write.
_LARGEST = 2**53 - 1


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


def _clean_instruction(text: str) -> str:
    if not clean_text(text).strip():
        raise ValueError("says nothing")
    return clean_text(text)


def _text_of(longest: int, description: str | None = None, kind: Any = str) -> Any:
    return Annotated[kind, Field(min_length=1, max_length=longest, description=description)]


_USER_ID = _text_of(LONGEST_ID, "Whose memory is meant.")
_TEXT = _text_of(LONGEST_INPUT)
_INPUT = _text_of(
    LONGEST_INPUT, "What the person said, word for word, in their own language; not a summary, and not your own words."
)
_SENT_AGAIN = "A name for this request: sent again under the same name it is stored once."
_REQUEST_ID = (_text_of(LONGEST_ID, _SENT_AGAIN, str | None), None)
_ROLE = "Who said it: the person, or the program's own companion."


def _check_size(metadata: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    if metadata and len(json.dumps(metadata)) > LONGEST_METADATA:
        raise ValueError("is too long")
    return metadata


_METADATA = (
    Annotated[
        dict[str, JsonValue] | None,
        Field(description="What the program says of it, kept with it and returned by debug."),
        AfterValidator(_check_size),
    ],
    None,
)
_BRING_BACK = "Store it although the person erased it; only when they say that they want it back."
_MEMORY_ID = _text_of(LONGEST_ID, "An id that recall returned.")
_INSTRUCTIONS = "/api/v1/system-instructions"
#: Numbers of the chat API.
_CHAT_NUMBER = Annotated[int, Field(ge=0, le=2**63 - 1)]
_INSTRUCTION = (Annotated[int | None, Field(ge=1, le=2**63 - 1)], None)
_INSTRUCTION_TEXT = Annotated[str, Field(min_length=1, max_length=50_000), AfterValidator(_clean_instruction)]
_TITLE = Annotated[str, Field(max_length=200), AfterValidator(clean_text)]
_DATE = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
_PROFILE = "Who the person is: a short portrait, and the facts that hold now. Call it at the start of a conversation."


def _names(description: str) -> Any:
    one = Annotated[str, Field(max_length=200)]
    return Annotated[tuple[one, ...], Field(max_length=20, strict=False, description=description)]


def _moment(description: str) -> Any:
    """A year, month or day, or nothing."""
    return Annotated[str, Field(pattern=r"^(?:\d{4}(?:-\d{2}(?:-\d{2})?)?)?$", description=description)]


def _operation(
    name: str,
    result: Any,
    effect: Effect,
    route: Route | None = None,
    access: Access = Access.PERSON,
    *,
    tool: Tool | None = None,
    resource: Resource | None = None,
    **fields: Any,
) -> MemoryOperation:
    """An operation; ``fields`` are its parameters, a type each, or a type and a default.

    The first one names the person, if none of them does; with ``None`` none does.
    """
    fields = fields if "user_id" in fields else {"user_id": _USER_ID, **fields}
    described: dict[str, Any] = {
        field: one if isinstance(one, tuple) else (one, ...) for field, one in fields.items() if one is not None
    }
    title = name.title().replace("_", "") + "Request"
    parameters = create_model(title, __base__=Schema, __doc__=f"What ``{name}`` takes.", **described)
    return MemoryOperation(name, parameters, result, effect, access, route, tool, resource)


_TABLE = (
    _operation(
        "process",
        schemas.ProcessResponse,
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
        input=_INPUT,
        user_id=_USER_ID,
        request_id=_REQUEST_ID,
        role=(Annotated[Literal["user", "assistant"], Field(description=_ROLE)], "user"),
        metadata=_METADATA,
    ),
    _operation(
        "end_session",
        schemas.EndSessionResponse,
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
        "session_status",
        schemas.SessionStatusResponse,
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
        "debug",
        schemas.DebugResponse,
        Effect.READ,
        Route("POST", "/debug", "What would be remembered; stores nothing"),
        tool=Tool(
            "debug_process_memory",
            "Look without storing",
            "What process_memory would answer, and how it was found; stores nothing. Call it to look something up "
            "without storing the question, or to find out why something was or was not remembered.",
            basic=True,
        ),
        input=_INPUT,
        user_id=_USER_ID,
    ),
    _operation(
        "graph",
        schemas.GraphResponse,
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
        limit=(Annotated[int, Field(ge=1, le=1_000, description="How many relations at the most.")], 100),
    ),
    _operation(
        "recall",
        memory.RecallResponse,
        Effect.READ,
        tool=Tool(
            "recall",
            "Search the memory",
            "Search the person's memory: facts, what was said, summaries, with ids and dates. Call it when the answer "
            "could lie in earlier conversations. Stores nothing.",
        ),
        query=_TEXT,
        user_id=_USER_ID,
        limit=(Annotated[int, Field(ge=1, le=50)], 10),
    ),
    _operation(
        "search",
        SearchResponse,
        Effect.READ,
        Route("POST", "/search", "Search by words, meaning, names, place, topic and time"),
        tool=Tool(
            "search",
            "Search by parts",
            "Search the person's memory by who, what, where, when and topic, each alone or together, and by words and "
            "meaning. Without a query the latest come first. Call it to list what is known of a person, a place or a "
            "day. Stores nothing.",
        ),
        query=(Annotated[str, Field(max_length=LONGEST_INPUT, description="Words, or a question; may be empty.")], ""),
        persons=(_names("People it must name, all of them."), ()),
        entities=(_names("Things or organisations it must name, all of them."), ()),
        location=(Annotated[str, Field(max_length=200, description="Where it happens.")], ""),
        topic=(Annotated[str, Field(max_length=200, description="What it is about.")], ""),
        since=(_moment("The first year, month or day: 2026, 2026-05, 2026-05-01."), ""),
        until=(_moment("The last year, month or day."), ""),
        limit=(Annotated[int, Field(ge=1, le=50)], 10),
    ),
    _operation(
        "remember",
        memory.RememberResponse,
        Effect.ADD,
        tool=Tool(
            "remember",
            "Remember",
            "Store something for the person, word for word. Call it when they ask you to remember something. Write a "
            "whole sentence that names whom it is about. Not needed for what went through process_memory already.",
        ),
        text=_TEXT,
        user_id=_USER_ID,
        request_id=_REQUEST_ID,
        bring_back=(Annotated[bool, Field(description=_BRING_BACK)], False),
    ),
    _operation(
        "forget",
        memory.ForgetResponse,
        Effect.ERASE,
        Route("DELETE", "/admin/memories/{person:path}", "Erase one memory of a person, with proof"),
        tool=Tool(
            "forget",
            "Forget for good",
            "Erase one memory for good, out of every file, with what was drawn from it. Only when the person asks to "
            "forget something: find its id with recall first, and say what you are about to erase. There is no way "
            "back.",
        ),
        memory_id=_MEMORY_ID,
        user_id=_USER_ID,
    ),
    _operation(
        "erased",
        memory.ErasedResponse,
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
        "open_matters",
        OpenResponse,
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
        number=(Annotated[int | None, Field(ge=1, le=_LARGEST, description="What to settle; none only lists.")], None),
        deed=(Annotated[Literal["done", "drop", "later"], Field(description="What becomes of it.")], "done"),
        when=(Annotated[str, Field(max_length=100, description="For later: the day, such as 2026-12-01.")], ""),
    ),
    _operation(
        "diary",
        DiaryResponse,
        Effect.READ,
        Route("GET", "/diary/{user_id:path}", "The companion's diary: a page after each saved conversation"),
        tool=Tool(
            "diary",
            "The diary",
            "The companion's own diary: a short page after each conversation, every sentence with the messages it "
            "rests on. Call it to look back on a day or a month with the person. Changes nothing.",
        ),
        date=(_moment("A year, month or day: 2026, 2026-05, 2026-05-01. Empty: the last month that has a page."), ""),
    ),
    _operation(
        "profile",
        memory.ProfileResponse,
        Effect.READ,
        tool=Tool("profile", "Who the person is", _PROFILE),
        resource=Resource("memory://{user_id}/profile", _PROFILE),
    ),
    _operation(
        "day",
        memory.DayResponse,
        Effect.READ,
        resource=Resource(
            "memory://{user_id}/day/{date}", "What the person said on a day (2026-11-22), and what is known since then."
        ),
        date=_DATE,
    ),
    _operation(
        "known_people",
        list[memory.KnownPerson],
        Effect.READ,
        Route("GET", "/admin/people", "Everybody who was ever served", name="persons"),
        Access.ADMIN,
        user_id=None,
    ),
    _operation(
        "erase_person",
        memory.ErasedPerson,
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
        "export_person",
        bytes,
        Effect.READ,
        Route("GET", "/admin/export/{person:path}", "All there is of a person, as a ZIP file", name="export"),
        Access.ADMIN,
    ),
    _operation(
        "stored_memories",
        memory.StoredMemories,
        Effect.READ,
        Route("GET", "/admin/memories/{person:path}", "What is stored of a person", name="memories"),
        Access.ADMIN,
        limit=(Annotated[int, Field(ge=1, le=1_000)], 100),
        offset=(Annotated[int, Field(ge=0, le=_LARGEST)], 0),
    ),
    _operation(
        "memory_list",
        list[MemoryItem],
        Effect.READ,
        Route("GET", "/api/v1/memory/list", "What is remembered, the newest first"),
        Access.CHAT,
        system_instruction_id=_INSTRUCTION,
        limit=(Annotated[int | None, Field(ge=1, le=2**63 - 1)], None),
        offset=(_CHAT_NUMBER, 0),
    ),
    _operation(
        "delete_memory",
        MemoryDeleted,
        Effect.ERASE,
        Route(
            "DELETE",
            "/api/v1/memory/{memory_id:int}",
            "Remember something no more; with purge it is erased from every file, with what was said of it",
            missing="记忆不存在",
        ),
        Access.CHAT,
        memory_id=_CHAT_NUMBER,
        purge=(bool, False),
    ),
    _operation(
        "clear_old",
        MemoriesCleared,
        Effect.END,
        Route("POST", "/api/v1/memory/clear-old", "Remember no more what is older than so many months"),
        Access.CHAT,
        months=(Annotated[int, Field(ge=1, le=1200)], 3),
        system_instruction_id=_INSTRUCTION,
    ),
    _operation(
        "add_instruction",
        InstructionItem,
        Effect.ADD,
        Route("POST", _INSTRUCTIONS, "Make a companion of its own, with a memory of its own", status=201),
        Access.CHAT,
        text=_INSTRUCTION_TEXT,
        title=(_TITLE, ""),
    ),
    _operation(
        "instructions",
        list[InstructionItem],
        Effect.READ,
        Route("GET", _INSTRUCTIONS, "All system instructions, the oldest first"),
        Access.CHAT,
    ),
    _operation(
        "instruction",
        InstructionItem,
        Effect.READ,
        Route("GET", f"{_INSTRUCTIONS}/{{number:int}}", "One system instruction"),
        Access.CHAT,
        number=_CHAT_NUMBER,
    ),
    _operation(
        "replace_instruction",
        InstructionItem,
        Effect.END,
        Route(
            "PUT",
            f"{_INSTRUCTIONS}/{{number:int}}",
            "Replace its title and text; its memory stays",
            conflict="The companion's own",
        ),
        Access.CHAT,
        number=_CHAT_NUMBER,
        text=_INSTRUCTION_TEXT,
        title=(_TITLE, ""),
    ),
    _operation(
        "change_instruction",
        InstructionItem,
        Effect.END,
        Route(
            "PATCH",
            f"{_INSTRUCTIONS}/{{number:int}}",
            "Change its title or its text; its memory stays",
            conflict="The companion's own",
        ),
        Access.CHAT,
        number=_CHAT_NUMBER,
        title=(_TITLE | None, None),
        text=(_INSTRUCTION_TEXT | None, None),
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
