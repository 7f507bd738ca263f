"""A memory as a database of MemForest's: its tables, filled once, for that program and whoever else reads them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from domain.forests import Forest, LongTermMemory, MemoryUnit, SessionMemory
from storage.sqlite.database import as_ours

_TABLES = """
CREATE TABLE memory_units (
    id TEXT PRIMARY KEY, content TEXT NOT NULL, creation_time TEXT, end_time TEXT, source TEXT, metadata TEXT,
    last_visit INTEGER DEFAULT 0, visit_count INTEGER DEFAULT 0, never_delete INTEGER DEFAULT 0, rank INTEGER DEFAULT 0
);
CREATE INDEX idx_mu_creation_time ON memory_units (creation_time);
CREATE INDEX idx_mu_rank ON memory_units (rank);
CREATE TABLE session_memories (id TEXT PRIMARY KEY, creation_time TEXT, end_time TEXT);
CREATE TABLE long_term_memories (
    id TEXT PRIMARY KEY, chatbot_id TEXT NOT NULL, visit_count INTEGER DEFAULT 0, last_session_id TEXT,
    creation_time TEXT, end_time TEXT
);
CREATE TABLE mu_hierarchy_edges (
    child_unit_id TEXT PRIMARY KEY REFERENCES memory_units (id) ON DELETE CASCADE,
    parent_unit_id TEXT NOT NULL REFERENCES memory_units (id) ON DELETE CASCADE
);
CREATE INDEX idx_mu_hierarchy_parent ON mu_hierarchy_edges (parent_unit_id);
CREATE TABLE mu_sequence_edges (
    unit_id TEXT PRIMARY KEY REFERENCES memory_units (id) ON DELETE CASCADE,
    pre_unit_id TEXT UNIQUE REFERENCES memory_units (id) ON DELETE SET NULL,
    next_unit_id TEXT UNIQUE REFERENCES memory_units (id) ON DELETE SET NULL
);
"""
#: Which things belong to which: the table, and its two columns with what each points at.
_MEMBERSHIPS = (
    ("mu_session_group_membership", "unit_id", "memory_units", "session_id", "session_memories"),
    ("mu_ltm_group_membership", "unit_id", "memory_units", "ltm_id", "long_term_memories"),
    ("session_unit_membership", "session_id", "session_memories", "unit_id", "memory_units"),
    ("ltm_session_membership", "ltm_id", "long_term_memories", "session_id", "session_memories"),
    ("ltm_summary_unit_membership", "ltm_id", "long_term_memories", "summary_unit_id", "memory_units"),
)


def write_forest(path: Path, forest: Forest) -> None:
    """Fill an empty file. Raises StorageError."""
    with as_ours(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(_TABLES)
        for table, one, of_one, other, of_other in _MEMBERSHIPS:
            connection.execute(
                f"CREATE TABLE {table} ({one} TEXT NOT NULL REFERENCES {of_one} (id) ON DELETE CASCADE,"
                f" {other} TEXT NOT NULL REFERENCES {of_other} (id) ON DELETE CASCADE, PRIMARY KEY ({one}, {other}))"
            )
        connection.execute("BEGIN IMMEDIATE")
        _write_units(connection, forest)
        _write_groups(connection, forest)
        connection.execute("COMMIT")


def _write_units(connection: sqlite3.Connection, forest: Forest) -> None:
    units = "INSERT INTO memory_units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    connection.executemany(units, (_row_values(unit) for unit in forest.units))
    edges = "INSERT INTO mu_hierarchy_edges VALUES (?, ?)"
    connection.executemany(edges, ((one.id, one.parent_id) for one in forest.units if one.parent_id))
    sequence = "INSERT INTO mu_sequence_edges VALUES (?, ?, ?)"
    beside = [(one.id, one.pre_id, one.next_id) for one in forest.units if one.pre_id or one.next_id]
    connection.executemany(sequence, beside)


def _row_values(unit: MemoryUnit) -> tuple[object, ...]:
    metadata = json.dumps(dict(unit.metadata), ensure_ascii=False)
    counted = (unit.last_visit, unit.visit_count, int(unit.never_delete), unit.rank)
    return (unit.id, unit.content, *_time_bounds(unit), unit.source, metadata, *counted)


def _write_groups(connection: sqlite3.Connection, forest: Forest) -> None:
    life = forest.life
    for session in forest.sessions:
        connection.execute("INSERT INTO session_memories VALUES (?, ?, ?)", (session.id, *_time_bounds(session)))
    connection.execute(
        "INSERT INTO long_term_memories VALUES (?, ?, ?, ?, ?, ?)",
        (life.id, life.chatbot_id, life.visit_count, life.last_session_id, *_time_bounds(life)),
    )
    within = [(unit_id, one.id) for one in forest.sessions for unit_id in one.memory_unit_ids]
    above = [(one.id, life.id) for one in forest.units if one.group_id == life.id]
    rows = (
        within,
        above,
        [(session_id, unit_id) for unit_id, session_id in within],
        [(life.id, session_id) for session_id in life.session_ids],
        [(life.id, unit_id) for unit_id in life.summary_unit_ids],
    )
    for (table, *_), pairs in zip(_MEMBERSHIPS, rows, strict=True):
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", pairs)


def _time_bounds(one: MemoryUnit | SessionMemory | LongTermMemory) -> tuple[str | None, str | None]:
    begins, ends = one.creation_time, one.end_time
    return begins.isoformat() if begins else None, ends.isoformat() if ends else None
