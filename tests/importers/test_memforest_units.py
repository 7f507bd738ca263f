"""MemForest's memory is read in both of its layouts: what was said, in its order, with who said it and when."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from domain.errors import UsageError
from tests.importers.exports import Read, read

TABLES = """
CREATE TABLE memory_units (id TEXT PRIMARY KEY, content TEXT NOT NULL, creation_time TEXT, end_time TEXT, source TEXT,
    metadata TEXT, last_visit INTEGER, visit_count INTEGER, never_delete INTEGER, rank INTEGER);
CREATE TABLE session_memories (id TEXT PRIMARY KEY, creation_time TEXT, end_time TEXT);
CREATE TABLE mu_sequence_edges (unit_id TEXT PRIMARY KEY, pre_unit_id TEXT UNIQUE, next_unit_id TEXT UNIQUE);
CREATE TABLE mu_hierarchy_edges (child_unit_id TEXT PRIMARY KEY, parent_unit_id TEXT NOT NULL);
CREATE TABLE session_unit_membership (session_id TEXT, unit_id TEXT, PRIMARY KEY (session_id, unit_id));
"""


def unit(
    key: str, content: str, source: str | None = "user", group: str | None = "session-1", **more: Any
) -> dict[str, Any]:
    """A unit as MemForest writes it."""
    return {
        "id": key, "parent_id": None, "content": content, "creation_time": "2025-06-01T10:00:00", "end_time": None,
        "source": source, "metadata": {}, "last_visit": 0, "visit_count": 0, "never_delete": False, "children_ids": [],
        "rank": 0, "pre_id": None, "next_id": None, "group_id": group, **more,
    }  # fmt: skip


def as_json(tmp_path: Path, *units: dict[str, Any]) -> Read:
    folder = tmp_path / "bot"
    folder.mkdir()
    (folder / "memory_units.json").write_text(json.dumps({one["id"]: one for one in units}), "utf-8")
    (folder / "session_memories.json").write_text('{"session-1": {"id": "session-1"}}', "utf-8")
    (folder / "long_term_memories.json").write_text('{"me": {"id": "me"}}', "utf-8")
    return read(folder)


def as_tables(tmp_path: Path, *units: dict[str, Any]) -> Read:
    path = tmp_path / "bot.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        for one in units:
            values = (one["id"], one["content"], one["creation_time"], None, one["source"], "{}", 0, 0, 0, one["rank"])
            connection.execute("INSERT INTO memory_units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            edges = (one["id"], one["pre_id"], one["next_id"])
            connection.execute("INSERT INTO mu_sequence_edges VALUES (?, ?, ?)", edges)
            if one["group_id"]:
                session = (one["group_id"],)
                connection.execute("INSERT OR IGNORE INTO session_memories VALUES (?, NULL, NULL)", session)
                belongs = (one["group_id"], one["id"])
                connection.execute("INSERT INTO session_unit_membership VALUES (?, ?)", belongs)
        connection.commit()
    return read(path)


pytestmark = pytest.mark.parametrize("layout", [as_json, as_tables])


def test_units_stand_as_they_point_at_each_other(tmp_path: Path, layout) -> None:
    found = layout(
        tmp_path,
        unit("unit-0003", "three", pre_id="unit-0002"),
        unit("unit-0001", "one", next_id="unit-0002"),
        unit("unit-0002", "two", "ai", pre_id="unit-0001", next_id="unit-0003"),
    )
    assert (found.sources, found.unread) == (["memforest"], [])
    assert found.said == [("person", "one"), ("companion", "two"), ("person", "three")]


def test_units_that_point_at_nothing_or_in_a_circle_stand_as_they_lie(tmp_path: Path, layout) -> None:
    found = layout(
        tmp_path,
        unit("unit-0001", "one", next_id="unit-0002", pre_id="unit-0002"),
        unit("unit-0002", "two", next_id="unit-0001", pre_id="unit-0001"),
        unit("unit-0003", "three", pre_id="unit-gone"),
    )
    assert sorted(text for _, text in found.said) == ["one", "three", "two"]


def test_what_sessions_came_to_is_not_taken_for_what_was_said(tmp_path: Path, layout) -> None:
    found = layout(tmp_path, unit("unit-0001", "one"), unit("session-1", "A summary.", "ai", rank=1))
    assert found.said == [("person", "one")]


def test_ids_times_and_names_are_kept(tmp_path: Path, layout) -> None:
    found = layout(tmp_path, unit("unit-0001", "one", "Ann"), unit("x y", "two"))
    (talk,) = found.talks
    first, second = talk.messages
    assert (first.text_id, first.by, first.speaker, talk.session_id) == ("unit-0001", "somebody", "Ann", "session-1")
    assert first.said is not None
    assert first.said.isoformat() == "2025-06-01T10:00:00+08:00"
    assert (second.key, second.text_id) == ("x y", ""), "no memory can keep an id like this"


def test_what_is_in_no_session_comes_too(tmp_path: Path, layout) -> None:
    found = layout(tmp_path, unit("unit-0001", "one"), unit("unit-0002", "alone", group=None))
    assert sorted(one.text for talk in found.talks for one in talk.messages) == ["alone", "one"]


def test_one_of_the_other_files_alone_is_refused(tmp_path: Path, layout) -> None:
    layout(tmp_path, unit("unit-0001", "one"))
    alone = tmp_path / "session_memories.json"
    alone.write_text('{"session-1": {"id": "session-1"}}', "utf-8")
    with pytest.raises(UsageError):
        read(alone)
