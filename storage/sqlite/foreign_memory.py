"""Another Old Friend's memory, only read: its folder, or a backup of it.

The file is never opened as a database, since even a reader of SQLite takes a lock and may make files beside it. Its
bytes are read, twice over while its owner writes, and opened in memory.

Promises: no lock is taken and no byte written; what is half written is never taken for whole; what its person asked to
have forgotten, and what the demo model said, is not read.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from domain import errors
from domain.file_reader import open_bytes
from domain.records import Role
from storage.sqlite.schema import APPLICATION_ID

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


def read_memory(
    path: Path, largest: int, most: int, longest: int, sleep: Callable[[float], object] = time.sleep
) -> tuple[list[Row], int]:
    """The ``most`` newest messages of a memory, oldest first, and how many more it has.

    Of each no more than the ``longest`` beginning. Raises StorageError ``external.busy``, ``external.broken``, and
    ``external.too_large`` for a file of more than ``largest`` bytes.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.deserialize(_read_between_writes(path, largest, sleep))
            return _read_messages(connection, most, longest)
        except sqlite3.Error as fault:
            raise errors.StorageError("external.broken", reason=str(fault)) from fault


def _read_between_writes(path: Path, largest: int, sleep: Callable[[float], object]) -> bytearray:
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
        sleep(_PAUSE)
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
