"""A memory as plain rows, table by table, and a database filled with such rows.

Only what is made from nothing else is told: words, vectors and notes about files are left out. Promises: rows are told
in one order, those of a session together; a row that no step lays down so, or that points at nothing, is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from domain import errors
from storage.sqlite.schema import bad_dates

#: A row of a table, by the names of its columns.
PlainRow = dict[str, Any]

#: In ``meta`` while the rows of a store that was filled from elsewhere have no words yet.
UNINDEXED = "unindexed"
#: Made anew from what is written, and so left out.
_MADE_ANEW = ("embedding", "pending", "note_vector", "row_digest", "changed_row")
#: Notes of a store about its own files, by how their keys begin.
_OF_FILES = ("index:", "dimension:", "persona.", "erasing", UNINDEXED)
#: What holds the turns of one session together, for whoever reads them as they stand.
_ORDER = {
    "session": "ORDER BY position",
    "conversation": "ORDER BY (SELECT s.position FROM session s WHERE s.session_id = t.session_id), position",
}
_FIRST = ("session", "conversation", "summary")
#: What a value raises that no column takes: another kind, a number too large, text that is no Unicode.
_REFUSED = (
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    UnicodeEncodeError,
)


def tables_told(connection: sqlite3.Connection) -> list[str]:
    """The tables whose rows are made from no others, sessions first, so that who reads may meet them before turns."""
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    names = {str(name) for (name,) in found.fetchall()}
    told = {name for name in names if "_words" not in name and not name.endswith("_length")}
    kept = told - set(_MADE_ANEW) - {name for name in told if name.startswith("sqlite_stat")}
    return [*(name for name in _FIRST if name in kept), *sorted(kept - set(_FIRST))]


def plain_rows(connection: sqlite3.Connection, table: str) -> Iterator[PlainRow]:
    """The rows of one of ``tables_told``, as they stand."""
    cursor = connection.execute(f'SELECT t.* FROM "{table}" t {_ORDER.get(table, "")}')
    columns = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(columns, values, strict=True))
        if table != "meta" or not str(row["key"]).startswith(_OF_FILES):
            yield row


def fill(path: Path, rows: Iterable[tuple[str, PlainRow]]) -> None:
    """Write rows, each with the name of its table, into a database that holds nothing. Raises Damaged."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        known = {table: _columns(connection, table) for table in tables_told(connection)}
        connection.execute("BEGIN IMMEDIATE")
        for table, row in rows:
            if table not in known or not row or not row.keys() <= known[table]:
                raise errors.Damaged("storage.misshapen", path=str(path), what=table)
            _write(connection, path, table, row)
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, '1')", (UNINDEXED,))
        connection.execute("COMMIT")
        if broken := connection.execute("PRAGMA foreign_key_check").fetchone():
            raise errors.Damaged(path=str(path), reason=f"foreign key: {broken[0]}")
        for what in bad_dates(connection):
            raise errors.Damaged("storage.unreadable", path=str(path), what=what)


def _write(connection: sqlite3.Connection, path: Path, table: str, row: PlainRow) -> None:
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    try:
        connection.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values()))
    except _REFUSED as fault:
        raise errors.Damaged(path=str(path), reason=str(fault)) from fault


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
