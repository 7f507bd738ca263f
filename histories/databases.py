"""Databases of other programs, opened to be read only, also while those programs use them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def opened(path: Path) -> sqlite3.Connection:
    """A connection that can write nothing."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    connection.row_factory = sqlite3.Row
    return connection


def tables_of(connection: sqlite3.Connection) -> frozenset[str]:
    """The names of its tables."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return frozenset(row["name"] for row in rows)


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """The names of a table's columns."""
    return frozenset(
        row["name"] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    )


def rows_of(connection: sqlite3.Connection, statement: str, *values: Any) -> Iterator[sqlite3.Row]:
    """The rows that a statement finds, one at a time."""
    yield from connection.execute(statement, values)
