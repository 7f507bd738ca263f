"""A memory in MemForest's shapes: units of rank 0 (what was said), 1 (of a session) and 2 (of a life), in a tree.

They are exported for MemForest and returned by the interface that uses its names; the field names are MemForest's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

from domain.records import Message

#: The ``source`` of a unit by role; otherwise it is a speaker's name.
PERSON, COMPANION = "user", "ai"
#: The speaker if no name is known.
UNKNOWN_SPEAKER = "?"
#: Metadata that every message has, unless its own have another value under that name.
DERIVED = ("session_id", "role", "round")
#: How a filter may compare.
OPERATORS = ("==", "!=", ">", ">=", "<", "<=", "in", "not in", "contains")
#: A field, or a key of the metadata, with how it is compared, and with what.
UnitFilter = tuple[str, str, Any]


class UnitPlace(NamedTuple):
    """Where a message is among the units, and how often it was visited."""

    pre_id: str | None = None
    next_id: str | None = None
    parent_id: str | None = None
    visit_count: int = 0
    last_visit: int = 0
    never_delete: bool = False


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """One unit: a message, or a summary of a session or of several.

    ``source`` is "user", "ai", or the speaker's name. ``last_visit`` is a round number. The summary of a session has
    the session's id; ``group_id`` is the session, or the life for units above sessions.
    """

    id: str
    content: str
    rank: int = 0
    source: str | None = None
    creation_time: datetime | None = None
    end_time: datetime | None = None
    parent_id: str | None = None
    children_ids: tuple[str, ...] = ()
    pre_id: str | None = None
    next_id: str | None = None
    group_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    last_visit: int = 0
    visit_count: int = 0
    never_delete: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return as_values(self)


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """One session with its units in order."""

    id: str
    memory_unit_ids: tuple[str, ...]
    creation_time: datetime | None
    end_time: datetime | None


@dataclass(frozen=True, slots=True)
class LongTermMemory:
    """A life: its sessions in order, and the units that summarise several of them."""

    id: str
    chatbot_id: str
    session_ids: tuple[str, ...]
    summary_unit_ids: tuple[str, ...]
    visit_count: int
    last_session_id: str | None
    creation_time: datetime | None
    end_time: datetime | None


@dataclass(frozen=True, slots=True)
class Forest:
    """A whole memory: units in order, sessions, and their life."""

    units: tuple[MemoryUnit, ...]
    sessions: tuple[SessionMemory, ...]
    life: LongTermMemory


def as_values(one: MemoryUnit | SessionMemory | LongTermMemory) -> dict[str, Any]:
    """The JSON form of any of these: times as ISO 8601, rows as lists."""
    return {each.name: _plain(getattr(one, each.name)) for each in fields(one)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def unit_of_message(message: Message, place: UnitPlace, metadata: Mapping[str, Any]) -> MemoryUnit:
    """A message as a unit, with its own metadata."""
    said = datetime.fromisoformat(message.timestamp)
    return MemoryUnit(
        id=message.text_id,
        content=message.words,
        rank=0,
        source=source_of(message),
        creation_time=said,
        end_time=said,
        group_id=message.session_id,
        metadata={**{name: getattr(message, name) for name in DERIVED}, **metadata},
        **place._asdict(),
    )


def source_of(message: Message) -> str | None:
    """The speaker of a message in MemForest's words; None if unknown."""
    if message.speaker:
        return message.speaker if message.speaker != UNKNOWN_SPEAKER else None
    return PERSON if message.role == "user" else COMPANION
