"""MemForest's memory, in both of its layouts: ``<chatbot>.db`` of SQLite, and ``memory_units.json`` beside two others.

Only messages are read (units of rank 0); summaries are rebuilt from them. Units follow their links, and file order
where there are none. The JSON layout is one object over all units, so this is the one format whose messages are all in
memory at once.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.imports import PastConversation, PastMessage, Spoken
from importers import databases
from importers.conversation_builder import ConversationBuilder
from importers.json_stream import enter_path
from importers.json_values import as_number, as_object, as_text
from importers.reading import Found, NotRead, Reading

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


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is ``memory_units.json``: units by their ids."""
    return any(as_object(value).keys() >= _FIELDS for value in element.values())


def read_export(reading: Reading) -> Iterator[Found]:
    """Every session of the JSON layout with what was said in it."""
    sessions: dict[str, list[_Unit]] = {}
    with reading.tolerate_damage(), reading.open_json() as stream:
        if enter_path(stream, ()):
            for key in stream.iterate_fields():
                given = as_object(stream.read_value())
                if int(as_number(given.get("rank"))) == 0:
                    group = as_text(given.get("group_id"))
                    sessions.setdefault(group, []).append(_parse_unit({**given, "id": key}, reading))
    for session_id, units in sessions.items():
        yield _build_session(session_id, units, reading)


def read_database(reading: Reading) -> Iterator[Found]:
    """Every session of the SQLite layout with what was said in it, then what is in none."""
    assert reading.part.path is not None
    with closing(databases.open_readonly(reading.part.path)) as connection:
        try:
            for session_id in [*databases.forest_sessions(connection), ""]:
                rows = databases.forest_units(connection, session_id)
                if rows or session_id:
                    yield _build_session(session_id, [_parse_unit(dict(row), reading) for row in rows], reading)
        except sqlite3.Error as error:
            yield reading.make_unread(NotRead.DAMAGED, said=str(error))
    reading.count_bytes(reading.part.size)


def _parse_unit(given: Mapping[str, Any], reading: Reading) -> _Unit:
    return _Unit(
        as_text(given.get("id")), as_text(given.get("content")), reading.parse_time(given.get("creation_time")),
        as_text(given.get("source")).strip(), as_text(given.get("pre_id")), as_text(given.get("next_id")),
    )  # fmt: skip


def _build_session(key: str, units: Iterable[_Unit], reading: Reading) -> PastConversation:
    builder = ConversationBuilder(reading.source, key)
    for unit in _sort_by_links(list(units)):
        by = _speaker_role(unit.source)
        builder.add_message(unit.id, by, unit.content, unit.said, unit.source if by == "somebody" else "")
    found = builder.build()
    kept = tuple(_with_id(message) for message in found.messages)
    return PastConversation(
        found.source, found.key, found.title, kept, left_out=found.left_out, session_id=usable_id(key)
    )


def _with_id(message: PastMessage) -> PastMessage:
    return PastMessage(message.key, message.by, message.text, message.said, message.speaker, usable_id(message.key))


def usable_id(given: str) -> str:
    """An id that may be kept as it is, or ""."""
    return given if _ID.fullmatch(given) else ""


def _speaker_role(source: str) -> Spoken:
    """Whose words these are; what a program calls a person or itself is no name."""
    name = source.casefold()
    return "person" if name in _PERSON else "companion" if name in _COMPANION else "somebody"


def _sort_by_links(units: list[_Unit]) -> Iterator[_Unit]:
    """The units as they point at each other: each chain from its first, the chains as they lie in the file.

    What only points in a circle comes last, as it lies there.
    """
    named = {unit.id: unit for unit in units}
    behind = {unit.before: unit for unit in units if unit.before in named}
    behind |= {unit.id: named[unit.after] for unit in units if unit.after in named}
    not_first = {unit.id for unit in behind.values()}
    seen: set[str] = set()
    for first in [*(unit for unit in units if unit.id not in not_first), *units]:
        at: _Unit | None = first
        while at is not None and at.id not in seen:
            seen.add(at.id)
            yield at
            at = behind.get(at.id)
