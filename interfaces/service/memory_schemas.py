"""What the operations on single memories and on whole persons return. See ``schemas`` for the rules."""

from __future__ import annotations

from typing import Literal

from interfaces.service.schemas import Count, RelationFound, Schema, Score, Success


class Remembered(Schema):
    """One memory: a current fact, something that was said, or the summary of a session.

    ``id`` is what ``forget`` takes; ``date`` is when it was said. Kind ``other`` is from an external memory: its text
    begins with the name of the source, it cannot be forgotten here, and its ``date`` may be empty.
    """

    id: str
    kind: Literal["fact", "turn", "summary", "other"]
    date: str
    text: str
    score: Score


class RecallResponse(Schema):
    """What was found, best first. ``truncated``: more was found than fits."""

    status: Success = "success"
    memories: tuple[Remembered, ...]
    relations: tuple[RelationFound, ...]
    truncated: bool


class RememberResponse(Schema):
    """What is stored, word for word. ``new`` is false where it was stored a moment before."""

    status: Success = "success"
    id: str
    text: str
    date: str
    new: bool


class ErasureProof(Schema):
    """The search of every file afterwards, in a database of every table too: how many, and the traces left there."""

    files_searched: Count
    traces_left: Count


class ForgetResponse(Schema):
    """What was erased with a memory, and the proof."""

    status: Success = "success"
    id: str
    messages: Count
    summaries: Count
    notes: Count
    facts: Count
    proof: ErasureProof


class Erasure(Schema):
    """An erasure: how many messages of which days ("" unknown), and how much was made from them. Not what they said.

    ``reason`` is "person", "limit" (of memories) or "restore" (left out of a restored memory); ``proof`` is missing
    where the search was cut short.
    """

    erased_at: str
    reason: str
    messages: Count
    days: dict[str, int]
    sessions: Count
    derived: Count
    proof: ErasureProof | None


class ErasedResponse(Schema):
    """What was erased, without its content, the earliest first."""

    status: Success = "success"
    user_id: str
    erasures: tuple[Erasure, ...]


class ProfileFact(Schema):
    """A current fact."""

    id: str
    text: str
    since: str


class ProfileResponse(Schema):
    """Who the person is: their persona (``image``), and the current facts about them, the newest first."""

    status: Success = "success"
    user_id: str
    image: str
    facts: tuple[ProfileFact, ...]
    truncated: bool


class DayResponse(Schema):
    """What the person said on a day, then what is known since it. ``truncated``: there was more."""

    status: Success = "success"
    user_id: str
    date: str
    memories: tuple[Remembered, ...]
    truncated: bool


class KnownPerson(Schema):
    """A person who was served, and since when."""

    user_id: str
    since: str


class StoredMemory(Schema):
    """A fact, or something that was said and by whom. ``id`` is what erasing it takes."""

    id: str
    kind: Literal["fact", "user", "assistant"]
    date: str
    text: str


class StoredMemories(Schema):
    """One page of what is stored of a person; ``more``: there is another page."""

    status: Success = "success"
    memories: tuple[StoredMemory, ...]
    more: bool


class ErasedPerson(Schema):
    """A person who was erased completely, the number of their memories, and the proof."""

    status: Success = "success"
    user_id: str
    memories: Count
    proof: ErasureProof
