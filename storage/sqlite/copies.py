"""Copies of a database: whole, as plain rows table by table, and filled from such rows.

Rows that are made from others (words, vectors, notes about files) are left out. Guarantees: rows come in one order,
those of a session together; a row that the schema does not allow, or that refers to nothing, is refused.

``read_memory`` reads another Old Friend's memory, its folder or a backup of it. Its file is never opened as a database,
since even a reader of SQLite takes a lock and may make files beside it: its bytes are read, twice over while its owner
writes, and opened in memory. No byte is written, what is half written is never taken for whole, and what its person
asked to have forgotten, or the demo model said, is not read.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from domain import errors
from domain.file_reader import open_bytes
from domain.files import make_private
from domain.records import Role
from storage.sqlite.schema import APPLICATION_ID, bad_dates, refuse_unknown

#: A row of a table, by the names of its columns.
PlainRow = dict[str, Any]

#: In ``meta`` while the rows of a store that was filled from elsewhere have no words yet.
UNINDEXED = "unindexed"
#: Rebuilt from the other tables, and so left out.
_REBUILT = ("embedding", "pending", "index_file", "note_vector", "row_digest", "changed_row", "claim", "message_block")
#: Notes of a store about its own files, by how their keys begin.
_OF_FILES = ("dimension:", "index.", "persona.", "erasing", UNINDEXED)
#: What holds the turns of one session together, for whoever reads them as they stand.
_ORDER = {
    "session": "ORDER BY position",
    "conversation": "ORDER BY (SELECT s.position FROM session s WHERE s.session_id = t.session_id), position",
}
_FIRST = ("session", "conversation", "summary")
#: What a value raises that no column takes: another kind, a number too large, text that is no Unicode.
_REFUSED = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError, OverflowError, UnicodeEncodeError)


def exported_tables(connection: sqlite3.Connection) -> list[str]:
    """The tables whose rows are made from no others, sessions first, so that who reads may meet them before turns."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    names = {str(name) for (name,) in found.fetchall()}
    exported = {name for name in names if "_words" not in name and not name.endswith("_length")}
    kept = exported - set(_REBUILT) - {name for name in exported if name.startswith("sqlite_stat")}
    return [*(name for name in _FIRST if name in kept), *sorted(kept - set(_FIRST))]


def plain_rows(connection: sqlite3.Connection, table: str) -> Iterator[PlainRow]:
    """The rows of one of ``exported_tables``, unchanged."""
    cursor = connection.execute(f'SELECT t.* FROM "{table}" t {_ORDER.get(table, "")}')
    columns = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(columns, values, strict=True))
        if table != "meta" or not str(row["key"]).startswith(_OF_FILES):
            yield row


def write_rows(path: Path, rows: Iterable[tuple[str, PlainRow]]) -> None:
    """Write rows, each with the name of its table, into a database that holds nothing. Raises Damaged."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        known = {
            table: {str(row[0]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
            for table in exported_tables(connection)
        }
        connection.execute("BEGIN IMMEDIATE")
        for table, row in rows:
            _insert_row(connection, path, table, row, known.get(table, set()))
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, '1')", (UNINDEXED,))
        connection.execute("COMMIT")
        if broken := connection.execute("PRAGMA foreign_key_check").fetchone():
            raise errors.Damaged(path=str(path), reason=f"foreign key: {broken[0]}")
        for what in bad_dates(connection):
            raise errors.Damaged("storage.unreadable", path=str(path), what=what)


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, without what was deleted from it. Raises Damaged or NewerSchema."""
    with closing(_read_only(source)) as connection:
        refuse_unknown(connection, source)
        target.unlink()
        connection.execute("VACUUM INTO ?", (str(target),))
        make_private(target)


def _insert_row(connection: sqlite3.Connection, path: Path, table: str, row: PlainRow, known: set[str]) -> None:
    if not row or not row.keys() <= known:
        raise errors.Damaged("storage.wrong_schema", path=str(path), what=table)
    try:
        marks = ", ".join("?" * len(row))
        connection.execute(f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({marks})', list(row.values()))
    except _REFUSED as fault:
        raise errors.Damaged(path=str(path), reason=str(fault)) from fault


def check_copy(path: Path) -> None:
    """Refuse what is no whole memory. Raises Damaged or NewerSchema."""
    with closing(_read_only(path)) as connection:
        refuse_unknown(connection, path)
        found = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise errors.Damaged(path=str(path), reason=found[0])
        for what in bad_dates(connection):
            raise errors.Damaged("storage.unreadable", path=str(path), what=what)


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)


# -- another memory, only read

#: How often a file that is being written is read again, and seconds between.
_TRIES, _PAUSE = 20, 0.25
#: Where SQLite's header says that a log is written beside; a copy in memory has none (sqlite.org/fileformat2.html).
_JOURNAL_KIND, _PLAIN = slice(18, 20), b"\x01\x01"


def is_a_memory(path: Path) -> bool:
    """Whether this file is a database of Old Friend, by its own mark."""
    try:
        with open_bytes(path, 100) as file:
            header = file.read(100)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and int.from_bytes(header[68:72], "big") == APPLICATION_ID


#: A message: its session, when it was said, by whom, and its text.
Row = tuple[str, str, Role, str]


def read_memory(path: Path, largest: int, most: int, longest: int) -> tuple[list[Row], int]:
    """The ``most`` newest messages of a memory, oldest first, and how many more it has.

    Of each no more than the ``longest`` beginning. Raises StorageError ``external.busy``, ``external.broken``, and
    ``external.too_large`` for a file of more than ``largest`` bytes.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.deserialize(_read_between_writes(path, largest))
            return _read_messages(connection, most, longest)
        except sqlite3.Error as fault:
            raise errors.StorageError("external.broken", reason=str(fault)) from fault


def _read_between_writes(path: Path, largest: int) -> bytearray:
    """The bytes of a database between two writes of its owner."""
    if path.stat().st_size > largest:
        raise errors.StorageError("external.too_large", megabytes=path.stat().st_size // 1_000_000)
    for _ in range(_TRIES):
        before = _file_state(path)
        with open_bytes(path) as file:
            content = bytearray(file.read())
        if before is not None and before == _file_state(path):
            content[_JOURNAL_KIND] = _PLAIN
            return content
        time.sleep(_PAUSE)
    raise errors.StorageError("external.busy")


def _file_state(path: Path) -> tuple[int, int, bytes] | None:
    """What changes with every write; None while one is under way, or its log is not yet taken over."""
    for end in ("-journal", "-wal"):
        beside = path.with_name(path.name + end)
        if beside.exists() and beside.stat().st_size:
            return None
    with open_bytes(path, 100) as file:
        header = file.read(100)
    now = path.stat()
    return now.st_size, now.st_mtime_ns, header


def _read_messages(connection: sqlite3.Connection, most: int, longest: int) -> tuple[list[Row], int]:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(conversation)")}
    visible = " AND ".join(f"NOT {name}" for name in ("hidden", "demo") if name in columns) or "1"
    (count,) = connection.execute(f"SELECT count(*) FROM conversation WHERE {visible}").fetchone()
    newest = (
        "SELECT session_id, timestamp, role, substr(text, 1, ?) FROM conversation"
        f" WHERE {visible} ORDER BY seq DESC LIMIT ?"
    )
    rows = connection.execute(newest, (longest, most)).fetchall()[::-1]
    return rows, count - len(rows)
