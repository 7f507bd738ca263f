"""MemForest's memory, in both of its layouts: ``<chatbot>.db`` of SQLite, and ``memory_units.json`` beside two others.

Only what was said is read, units of rank 0: summaries are drawn from it anew. Units stand in the order in which they
point at each other, and where they do not, as they lie in the file. The JSON is one object over all units, so that of
such a file, and of no other, everything said is held at once.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.histories import PastConversation, PastMessage, Spoken
from histories import databases, omissions
from histories.readings import Found, Reading
from histories.shapes import number, record, text
from histories.streaming import enter
from histories.talks import Talk

NEEDS = frozenset(("memory_units", "session_memories", "mu_sequence_edges", "session_unit_membership"))
_FIELDS = frozenset(("content", "rank", "pre_id", "next_id", "group_id", "never_delete"))
_PERSON = frozenset(("user", "human"))
_COMPANION = frozenset(("ai", "assistant", "bot", "chatbot"))
#: An id that can be kept as it is.
_ID = re.compile(r"[0-9A-Za-z_.-]{8,64}")


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is read of a unit."""

    id: str
    content: str
    said: datetime | None
    source: str
    before: str
    after: str


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is ``memory_units.json``: units by their ids."""
    return any(record(value).keys() >= _FIELDS for value in element.values())


def read(reading: Reading) -> Iterator[Found]:
    """Every session of the JSON layout with what was said in it."""
    sessions: dict[str, list[_Unit]] = {}
    with reading.sound(), reading.stream() as stream:
        if enter(stream, ()):
            for key in stream.fields():
                given = record(stream.value())
                if int(number(given.get("rank"))) == 0:
                    group = text(given.get("group_id"))
                    sessions.setdefault(group, []).append(_unit({**given, "id": key}, reading))
    for session_id, units in sessions.items():
        yield _session(session_id, units, reading)


def read_database(reading: Reading) -> Iterator[Found]:
    """Every session of the SQLite layout with what was said in it, then what is in none."""
    assert reading.part.path is not None
    with closing(databases.opened(reading.part.path)) as connection:
        try:
            for session_id in [*databases.forest_sessions(connection), ""]:
                rows = databases.forest_units(connection, session_id)
                if rows or session_id:
                    yield _session(session_id, [_unit(dict(row), reading) for row in rows], reading)
        except sqlite3.Error as error:
            yield reading.unread(omissions.DAMAGED, said=str(error))
    reading.count(reading.part.size)


def _unit(given: Mapping[str, Any], reading: Reading) -> _Unit:
    return _Unit(
        text(given.get("id")), text(given.get("content")), reading.time(given.get("creation_time")),
        text(given.get("source")).strip(), text(given.get("pre_id")), text(given.get("next_id")),
    )  # fmt: skip


def _session(key: str, units: Iterable[_Unit], reading: Reading) -> PastConversation:
    talk = Talk(reading.source, key)
    for unit in _in_order(list(units)):
        by = _by(unit.source)
        talk.take(unit.id, by, unit.content, unit.said, unit.source if by == "somebody" else "")
    found = talk.finished()
    kept = tuple(_kept(message) for message in found.messages)
    return PastConversation(
        found.source, found.key, found.title, kept, left_out=found.left_out, session_id=kept_id(key)
    )


def _kept(message: PastMessage) -> PastMessage:
    return PastMessage(
        message.key, message.by, message.text, message.said, message.speaker, kept_id(message.key)
    )


def kept_id(given: str) -> str:
    """An id that may be kept as it is, or ""."""
    return given if _ID.fullmatch(given) else ""


def _by(source: str) -> Spoken:
    """Whose words these are; what a program calls a person or itself is no name."""
    name = source.casefold()
    return "person" if name in _PERSON else "companion" if name in _COMPANION else "somebody"


def _in_order(units: list[_Unit]) -> Iterator[_Unit]:
    """The units as they point at each other: each chain from its first, the chains as they lie in the file.

    What only points in a circle comes last, as it lies there.
    """
    named = {unit.id: unit for unit in units}
    behind = {unit.before: unit for unit in units if unit.before in named}
    behind |= {unit.id: named[unit.after] for unit in units if unit.after in named}
    not_first = {unit.id for unit in behind.values()}
    told: set[str] = set()
    for first in [*(unit for unit in units if unit.id not in not_first), *units]:
        at: _Unit | None = first
        while at is not None and at.id not in told:
            told.add(at.id)
            yield at
            at = behind.get(at.id)
