"""Memories that were written out whole: our own export, MemForest's messages, and notes of OpenMemory, mem0 and Claude.

Our own export has all rows of a memory, of which the turns are talk, read as those of any other program. It can be read
whole as well, row by row, for laying it back as it was, with notes, facts and personas. Notes are what no one said.

MemForest has two layouts: ``<chatbot>.db`` of SQLite, and ``memory_units.json`` beside two others. What is read are
messages (units of rank 0) with their metadata and visits, and the summaries of sessions; what is above these is rebuilt
from them. Units follow their links, and file order where there are none.
The JSON layout is one object over all units, so this is the one format whose messages are all in memory at once.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from domain.file_reader import open_bytes
from domain.forests import DERIVED
from domain.imports import PastConversation, PastMessage, Spoken
from domain.records import PREFIX
from importers import databases
from importers.json_stream import JsonError, JsonStream, as_number, as_object, as_text, enter_path, objects_in
from importers.reading import ConversationBuilder, DatabaseFormat, Found, JsonFormat, LeftOut, NotRead, Reading

FORMAT = "old-friend"
_BY: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}


def _fits_export(element: Mapping[str, Any]) -> bool:
    return element.get("format") == FORMAT and isinstance(element.get("tables"), dict)


def _read_export(reading: Reading) -> Iterator[Found]:
    """Every session with its turns, which are adjacent."""
    for key, messages in groupby(_message_rows(reading), lambda row: as_text(row.get("session_id"))):
        yield _read_session(key, messages, reading)


def _message_rows(reading: Reading) -> Iterator[Mapping[str, Any]]:
    """The rows of turns, as far as the file is sound."""
    with reading.tolerate_damage(), reading.open_json() as stream:
        for _ in stream.iterate_items() if enter_path(stream, ("tables", "conversation")) else ():
            yield as_object(stream.read_value())


def _read_session(key: str, messages: Iterator[Mapping[str, Any]], reading: Reading) -> PastConversation:
    builder = ConversationBuilder(reading.source, key)
    for message in messages:
        role = as_text(message.get("role"))
        if role not in _BY:
            builder.leave_out(LeftOut.MISSHAPEN)
        elif message.get("hidden"):
            builder.leave_out(LeftOut.NOT_REMEMBERED)
        else:
            prefix = PREFIX["user" if role == "user" else "assistant"]
            said, speaker = reading.parse_time(message.get("timestamp")), as_text(message.get("speaker"))
            words = as_text(message.get("text")).removeprefix(prefix)
            by = "somebody" if speaker else _BY[role]
            builder.add_message(as_text(message.get("text_id")), by, words, said, speaker)
    return builder.build()


@contextmanager
def open_whole_export(path: Path) -> Iterator[tuple[int, Iterator[tuple[str, dict[str, Any]]]] | None]:
    """The whole memory that a file has: the number of its schema, and the rows, each with the name of its table.

    None where the file is something else. Going through the rows raises JsonError where it is cut off or broken. A byte
    that is no UTF-8 comes out as a lone surrogate, which no database takes.
    """
    with open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape") as file:
        stream = JsonStream(file)
        head, fields = _read_head(stream)
        schema = head.get("schema")
        own = head.get("format") == FORMAT and isinstance(schema, int) and not isinstance(schema, bool)
        yield (int(str(schema)), _read_rows(stream, fields)) if own else None


def _read_head(stream: JsonStream) -> tuple[dict[str, Any], Iterator[str]]:
    """The part before the tables, and the rest of the document."""
    head: dict[str, Any] = {}
    try:
        fields = stream.iterate_fields() if stream.peek_mark() == "{" else iter(())
        for key in fields:
            if key == "tables":
                return head, fields
            if not head and key != "format":
                break
            head[key] = stream.read_value()
    except JsonError:
        pass
    return {}, iter(())


def _read_rows(stream: JsonStream, fields: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in stream.iterate_fields():
        for _ in stream.iterate_items():
            yield table, dict(as_object(stream.read_value()))
    for _ in fields:
        stream.skip_value()


# -- MemForest

_TABLES = frozenset(("memory_units", "session_memories", "mu_sequence_edges", "session_unit_membership"))
_FIELDS = frozenset(("content", "rank", "pre_id", "next_id", "group_id", "never_delete"))
_PERSON = frozenset(("user", "human"))
_COMPANION = frozenset(("ai", "assistant", "bot", "chatbot"))
#: An id that can be kept as it is.
_ID = re.compile(r"[0-9A-Za-z_.-]{8,64}")
#: More visits, or rounds, are taken for so many.
_MOST_VISITS = 1 << 31


@dataclass(frozen=True, slots=True)
class _Unit:
    id: str
    content: str
    said: datetime | None
    source: str
    before: str
    after: str
    parent: str
    metadata: Mapping[str, Any]
    visits: tuple[int, int]
    never_delete: bool


def _fits_units(element: Mapping[str, Any]) -> bool:
    """Whether this is ``memory_units.json``: units by their ids."""
    return any(as_object(value).keys() >= _FIELDS for value in element.values())


def _read_units(reading: Reading) -> Iterator[Found]:
    sessions: dict[str, list[_Unit]] = {}
    summaries: dict[str, str] = {}
    with reading.tolerate_damage(), reading.open_json() as stream:
        for key in stream.iterate_fields() if enter_path(stream, ()) else ():
            given = as_object(stream.read_value())
            rank = int(as_number(given.get("rank")))
            if rank == 0:
                group = as_text(given.get("group_id"))
                sessions.setdefault(group, []).append(_parse_unit({**given, "id": key}, reading))
            elif rank == 1:
                summaries[key] = as_text(given.get("content"))
    for session_id, units in sessions.items():
        yield _build_session(session_id, units, summaries, reading)


def _read_database(reading: Reading) -> Iterator[Found]:
    """Every session of the SQLite layout with what was said in it, then what is in none."""
    assert reading.part.path is not None
    with closing(databases.open_readonly(reading.part.path)) as connection:
        try:
            yield from _read_sessions(connection, reading)
        except sqlite3.Error as error:
            yield reading.make_unread(NotRead.DAMAGED, said=str(error))
    reading.count_bytes(reading.part.size)


def _read_sessions(connection: sqlite3.Connection, reading: Reading) -> Iterator[Found]:
    sessions = [row["id"] for row in connection.execute(databases.FOREST_SESSIONS)]
    summaries = dict(connection.execute(databases.FOREST_SUMMARIES).fetchall())
    for session_id in [*sessions, ""]:
        rows = databases.forest_units(connection, session_id)
        if rows or session_id:
            yield _build_session(session_id, [_parse_unit(dict(row), reading) for row in rows], summaries, reading)


def _parse_unit(given: Mapping[str, Any], reading: Reading) -> _Unit:
    metadata = given.get("metadata")
    if isinstance(metadata, str):
        with suppress(ValueError):
            metadata = json.loads(metadata)
    return _Unit(
        as_text(given.get("id")), as_text(given.get("content")), reading.parse_time(given.get("creation_time")),
        as_text(given.get("source")).strip(), as_text(given.get("pre_id")), as_text(given.get("next_id")),
        as_text(given.get("parent_id")), _own_metadata(as_object(metadata), as_text(given.get("source")).strip()),
        (_as_count(given.get("visit_count")), _as_count(given.get("last_visit"))), bool(given.get("never_delete")),
    )  # fmt: skip


def _own_metadata(given: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """Without what every message of our own export has."""
    if not given.keys() >= set(DERIVED):
        return given
    role = "user" if _speaker_role(source) == "person" else "assistant"
    return {key: value for key, value in given.items() if key not in DERIVED or (key == "role" and value != role)}


def _as_count(value: Any) -> int:
    return min(max(0, int(as_number(value))), _MOST_VISITS)


def _build_session(
    key: str, units: Sequence[_Unit], summaries: Mapping[str, str], reading: Reading
) -> PastConversation:
    builder = ConversationBuilder(reading.source, key)
    by_id = {unit.id: unit for unit in units}
    for unit in _sort_by_links(list(units)):
        by = _speaker_role(unit.source)
        builder.add_message(unit.id, by, unit.content, unit.said, unit.source if by == "somebody" else "")
    found = builder.build()
    messages = tuple(_with_details(message, by_id) for message in found.messages)
    # A summary has the id of its session, or is the one unit above all its messages.
    above = [key, *({unit.parent for unit in units} if len({unit.parent for unit in units}) == 1 else ())]
    summary = next((summaries[one] for one in above if one in summaries), "")
    return replace(found, messages=messages, session_id=_usable_id(key), summary=summary)


def _with_details(message: PastMessage, units: Mapping[str, _Unit]) -> PastMessage:
    message = replace(message, text_id=_usable_id(message.key))
    if (unit := units.get(message.key)) is None:
        return message
    return replace(message, metadata=unit.metadata, visits=unit.visits, never_delete=unit.never_delete)


def _usable_id(given: str) -> str:
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


# -- notes

_GONE = frozenset(("deleted", "archived"))


def _fits_notes(element: Mapping[str, Any]) -> bool:
    """Whether this is a backup of OpenMemory, a dump of mem0, a line of either, or what Claude noted."""
    if "conversations_memory" in element or "project_memories" in element:
        return True
    if any("memory" in one or "content" in one for one in _find_notes(element)):
        return True
    return "id" in element and (_is_mem0(element) or _is_open_memory(element))


def _find_notes(element: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("results", "memories"):
        yield from (one for one in objects_in(element.get(key)) if _is_mem0(one) or _is_open_memory(one))


def _is_mem0(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("memory"), str) and ("hash" in one or "user_id" in one or "created_at" in one)


def _is_open_memory(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("content"), str) and "state" in one and "role" not in one


def _read_notes(reading: Reading) -> Iterator[Found]:
    """Says how many notes there are, but for those that are gone there too."""
    elements = (element for _, element in reading.read_elements() if isinstance(element, dict))
    notes = (one for element in elements for one in list(_find_notes(element)) or [element])
    yield reading.make_unread(NotRead.NOTES, count=sum(as_text(one.get("state")) not in _GONE for one in notes))


JSON_FORMATS = (
    JsonFormat("old_friend", _fits_export, _read_export),
    JsonFormat("memforest", _fits_units, _read_units),
    JsonFormat("notes", _fits_notes, _read_notes),
)
DATABASE_FORMATS = (DatabaseFormat("memforest", _TABLES.issubset, _read_database),)
