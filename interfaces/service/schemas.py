"""What the operations of programs take, and what the five of ``process`` and of sessions return, field by field.

Fields are written in the order in which they are declared, so a body is equal byte for byte in every interface
(``model_dump_json``). Numbers and texts are never converted. Times are UTC, to the second: ``2026-11-22T09:30:00Z``.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

#: Most characters of an input, and of an id of a person or a request; of the metadata of a message, as JSON.
LONGEST_INPUT, LONGEST_ID, LONGEST_METADATA = 100_000, 128, 8_000
#: The largest integer that every JSON client can write.
LARGEST = 2**53 - 1


def _check_size(metadata: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    if metadata and len(json.dumps(metadata)) > LONGEST_METADATA:
        raise ValueError("is too long")
    return metadata


_SAID = "What the person said, word for word, in their own language; not a summary, and not your own words."
_SENT_AGAIN = "A name for this request: sent again under the same name it is stored once."
_KEPT = "What the program says of it, kept with it and returned by debug."
UserId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, description="Whose memory is meant.")]
Input = Annotated[str, Field(min_length=1, max_length=LONGEST_INPUT, description=_SAID)]
LongText = Annotated[str, Field(min_length=1, max_length=LONGEST_INPUT)]
RequestId = Annotated[str | None, Field(min_length=1, max_length=LONGEST_ID, description=_SENT_AGAIN)]
Metadata = Annotated[dict[str, JsonValue] | None, Field(description=_KEPT), AfterValidator(_check_size)]
Limit = Annotated[int, Field(ge=1, le=50)]
Name = Annotated[str, Field(max_length=200)]
Score = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
Success = Literal["success"]


class Schema(BaseModel):
    """One body: strict and frozen."""

    model_config = ConfigDict(strict=True, frozen=True)


class MemoryFound(Schema):
    """A memory of an earlier session, and how well it fits. ``consolidated`` is given only where it is false."""

    content: str
    score: Score
    consolidated: Annotated[bool, Field(exclude_if=bool)] = True


class RelationFound(Schema):
    """A relation between two things, as far as it is known."""

    source: str
    relation: str
    target: str


class ProcessMetadata(Schema):
    """How long it took, and whether anything is known."""

    retrieval_time_ms: Count
    has_memory: bool


class ProcessResponse(Schema):
    """What is remembered for an input; ``resolved_query`` is the input with its pronouns resolved."""

    status: Success = "success"
    resolved_query: str
    memories: tuple[MemoryFound, ...]
    relations: tuple[RelationFound, ...]
    metadata: ProcessMetadata


class EndedSession(Schema):
    """A session that has ended."""

    event_count: Count
    duration_seconds: Count
    created_at: str
    ended_at: str


class EndSessionResponse(Schema):
    """Whether there was a session to end."""

    status: Success = "success"
    message: Literal["Session ending, consolidation started", "No active session"]
    session_info: EndedSession | None


class ActiveSession(Schema):
    """An open session, and when it ends unless something is said."""

    event_count: Count
    created_at: str
    last_active_at: str
    time_until_timeout_seconds: Count


class SessionStatusResponse(Schema):
    """Whether a session is open."""

    status: Success = "success"
    has_active_session: bool
    session_info: ActiveSession | None


class Candidate(Schema):
    """A memory that was found, by its id, with the metadata of its messages where there is any."""

    text_id: str
    score: Score
    source: Literal["fact", "turn", "summary", "other"]
    metadata: Annotated[dict[str, JsonValue], Field(exclude_if=lambda value: not value)] = {}


class DebugFindings(Schema):
    """How a result was found. ``sql_ms`` is reading the session and facts, ``vector_ms`` the search."""

    pronouns: tuple[str, ...]
    context_events_used: Count
    candidates: tuple[Candidate, ...]
    sql_ms: Count
    vector_ms: Count
    degraded: tuple[str, ...]
    would_store: bool


class DebugResponse(ProcessResponse):
    """What ``process`` would return, and how it was found; nothing is stored."""

    debug: DebugFindings


class GraphNode(Schema):
    """A thing that relations name. Its id is its name."""

    id: str
    name: str


class GraphRelation(RelationFound):
    """A relation, and when it was said."""

    created_at: str


class GraphResponse(Schema):
    """Known relations, the newest first, and their nodes in order of appearance."""

    status: Success = "success"
    user_id: str
    nodes: tuple[GraphNode, ...]
    relations: tuple[GraphRelation, ...]
