"""What the memory service is asked and answers, field for field, the same through every door.

A field stands where it stands: the order of the fields is the order in which they are written, so that a body is equal
byte for byte whichever door hands it over (``model_dump_json``). Numbers and texts are taken as they are, never turned
into one another. Times are of UTC, to the second: ``2026-11-22T09:30:00Z``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

#: As long may an input be, in characters, and an id of a person, and an id that a client gives a request.
LONGEST_INPUT, LONGEST_ID = 100_000, 128

UserId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, description="Whose memory is meant.")]
Input = Annotated[
    str, Field(min_length=1, max_length=LONGEST_INPUT, description="What the person said, word for word.")
]
RequestId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=LONGEST_ID,
        description="A name for this request: sent again under the same name it is stored once.",
    ),
]
Score = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
Success = Literal["success"]


class _Body(BaseModel):
    """One body: strict, and never changed once it is made."""

    model_config = ConfigDict(strict=True, frozen=True)


# -- what is asked -----------------------------------------------------------------------------------------------


class ProcessRequest(_Body):
    """Something a person said."""

    input: Input
    user_id: UserId
    request_id: RequestId = None


class DebugRequest(_Body):
    """The same, only looked at."""

    input: Input
    user_id: UserId


class EndSessionRequest(_Body):
    """Whose session is to end."""

    user_id: UserId


class PersonRequest(_Body):
    """Whose memory is looked at."""

    user_id: UserId


class GraphRequest(PersonRequest):
    """At most so many relations of it."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class RecallRequest(PersonRequest):
    """What is looked for, and how much of it is told at the most."""

    query: Input
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class RememberRequest(PersonRequest):
    """What is to be kept, word for word."""

    text: Input
    request_id: RequestId = None


class ForgetRequest(PersonRequest):
    """Which memory is to be erased."""

    memory_id: Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]


class DayRequest(PersonRequest):
    """Which day is looked at: 2026-11-22."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


# -- what is answered --------------------------------------------------------------------------------------------


class MemoryFound(_Body):
    """A memory of an earlier session, and how well it fits."""

    content: str
    score: Score


class RelationFound(_Body):
    """How two things stand to each other, as far as is known now."""

    source: str
    relation: str
    target: str


class ProcessMetadata(_Body):
    """How long it took, and whether anything is known."""

    retrieval_time_ms: Count
    has_memory: bool


class ProcessResponse(_Body):
    """What is remembered for an input; ``resolved_query`` is the input with what its pronouns mean."""

    status: Success = "success"
    resolved_query: str
    memories: tuple[MemoryFound, ...]
    relations: tuple[RelationFound, ...]
    metadata: ProcessMetadata


class EndedSession(_Body):
    """A session that has ended."""

    event_count: Count
    duration_seconds: Count
    created_at: str
    ended_at: str


class EndSessionResponse(_Body):
    """Whether there was a session to end."""

    status: Success = "success"
    message: Literal["Session ending, consolidation started", "No active session"]
    session_info: EndedSession | None


class ActiveSession(_Body):
    """A session that goes on, and how long it goes on by itself."""

    event_count: Count
    created_at: str
    last_active_at: str
    time_until_timeout_seconds: Count


class SessionStatusResponse(_Body):
    """Whether a session is open."""

    status: Success = "success"
    has_active_session: bool
    session_info: ActiveSession | None


class Candidate(_Body):
    """Something that was found, by its id."""

    text_id: str
    score: Score
    source: Literal["fact", "turn", "summary", "other"]


class DebugFindings(_Body):
    """How an answer came about. ``sql_ms`` is reading the session and what is known, ``vector_ms`` the search."""

    pronouns: tuple[str, ...]
    context_events_used: Count
    candidates: tuple[Candidate, ...]
    sql_ms: Count
    vector_ms: Count
    degraded: tuple[str, ...]
    would_store: bool


class DebugResponse(ProcessResponse):
    """What ``process`` would answer, and how that came about; nothing is stored."""

    debug: DebugFindings


class GraphNode(_Body):
    """Something that relations name. Relations name it by its id, which is its name."""

    id: str
    name: str


class GraphRelation(RelationFound):
    """A relation, and when it was said."""

    created_at: str


class GraphResponse(_Body):
    """What is known to stand to each other, the newest first; nodes in the order in which relations name them."""

    status: Success = "success"
    user_id: str
    nodes: tuple[GraphNode, ...]
    relations: tuple[GraphRelation, ...]


class ErrorCode(_Body):
    """What went wrong, as a word for programs."""

    code: str


class ErrorResponse(_Body):
    """Why nothing came of a request; ``message`` is a sentence."""

    status: Literal["error"] = "error"
    message: str
    error: ErrorCode


# -- beyond the five ---------------------------------------------------------------------------------------------


class Remembered(_Body):
    """One memory: a fact that holds now, something that was said, or what a session came to.

    ``id`` is what ``forget`` needs; ``date`` is when it was said. One of kind ``other`` is of a memory that is only
    read, begins with the name of that source, and is in nobody's power to forget; its ``date`` may be empty.
    """

    id: str
    kind: Literal["fact", "turn", "summary", "other"]
    date: str
    text: str
    score: Score


class RecallResponse(_Body):
    """What was found, best first. ``truncated``: more was found than there is room for."""

    status: Success = "success"
    memories: tuple[Remembered, ...]
    relations: tuple[RelationFound, ...]
    truncated: bool


class RememberResponse(_Body):
    """What is stored now, word for word. ``new`` is false where it was stored a moment before."""

    status: Success = "success"
    id: str
    text: str
    date: str
    new: bool


class ErasureProof(_Body):
    """What the search of every file found afterwards: so many files, and traces left in so many of them."""

    files_searched: Count
    traces_left: Count


class ForgetResponse(_Body):
    """What was erased with a memory, and the proof."""

    status: Success = "success"
    id: str
    turns: Count
    summaries: Count
    notes: Count
    facts: Count
    proof: ErasureProof


class KnownPerson(_Body):
    """Somebody who was served, and since when."""

    user_id: str
    since: str


class StoredMemory(_Body):
    """A fact, or something that was said and by whom. ``id`` is what erasing it takes."""

    id: str
    kind: Literal["fact", "user", "assistant"]
    date: str
    text: str


class StoredMemories(_Body):
    """A part of what is stored of a person; ``more``: there is more behind it."""

    status: Success = "success"
    memories: tuple[StoredMemory, ...]
    more: bool


class ErasedPerson(_Body):
    """Who was erased whole, with so many memories, and the proof."""

    status: Success = "success"
    user_id: str
    memories: Count
    proof: ErasureProof


class ProfileFact(_Body):
    """A fact that holds now."""

    id: str
    text: str
    since: str


class ProfileResponse(_Body):
    """Who the person is: the image of them, and the facts about them that hold now, the newest first."""

    status: Success = "success"
    user_id: str
    image: str
    facts: tuple[ProfileFact, ...]
    truncated: bool


class DayResponse(_Body):
    """What the person said on a day and what is known since it, in that order. ``truncated``: there was more."""

    status: Success = "success"
    user_id: str
    date: str
    memories: tuple[Remembered, ...]
    truncated: bool
