"""A memory in MemForest's shapes: units of rank 0 (what was said), 1 (of a session) and 2 (of a life), in a tree.

These are what is written for MemForest and handed out by the face with its names; the names of the fields are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from domain.records import Turn
from domain.tree import Node

#: What a unit's ``source`` is called where it is neither of these but somebody's name.
PERSON, COMPANION = "user", "ai"
#: Who spoke where nobody knows a name.
_NOBODY = "?"


@dataclass(frozen=True, slots=True)
class MemoryUnit:
    """One unit: what was said, or what a session or several came to.

    ``source`` is "user", "ai", or the name of whoever said it. ``last_visit`` is the number of a round. The summary of
    a session has the session's own id; ``group_id`` is the session, of what stands above sessions the life.
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
        """As it stands in JSON."""
        return as_values(self)


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """One session with the units that were said in it, in order."""

    id: str
    memory_unit_ids: tuple[str, ...]
    creation_time: datetime | None
    end_time: datetime | None


@dataclass(frozen=True, slots=True)
class LongTermMemory:
    """A life: its sessions in order, and the units of what several of them came to."""

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
    """A whole memory: units in their order in life, sessions, and the life that holds them."""

    units: tuple[MemoryUnit, ...]
    sessions: tuple[SessionMemory, ...]
    life: LongTermMemory


def as_values(one: MemoryUnit | SessionMemory | LongTermMemory) -> dict[str, Any]:
    """Any of these as it stands in JSON: times as ISO 8601, rows as lists."""
    return {each.name: _plain(getattr(one, each.name)) for each in fields(one)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def unit_of_turn(turn: Turn, node: Node | None, before: str | None, after: str | None) -> MemoryUnit:
    """A turn as a unit, between those before and after it in its session."""
    said = datetime.fromisoformat(turn.timestamp)
    return MemoryUnit(
        id=turn.text_id,
        content=turn.words,
        rank=0,
        source=source_of(turn),
        creation_time=said,
        end_time=said,
        parent_id=node.parent if node else None,
        pre_id=before,
        next_id=after,
        group_id=turn.session_id,
        metadata={"session_id": turn.session_id, "role": turn.role, "round": turn.round},
        last_visit=node.last_visit if node else 0,
        visit_count=node.visit_count if node else 0,
        never_delete=node.never_delete if node else False,
    )


def source_of(turn: Turn) -> str | None:
    """Who said a turn, as MemForest names it; None where nobody knows."""
    if turn.speaker:
        return turn.speaker if turn.speaker != _NOBODY else None
    return PERSON if turn.role == "user" else COMPANION
