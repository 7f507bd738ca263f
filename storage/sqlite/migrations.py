"""The schema, as a list of numbered steps. A step that was released is never changed; a new one is added.

Promises: a step and its number are committed together; before a step on existing data a copy of the database is
laid beside it; a database of a newer program, or a file that is none of ours, is refused before anything is written.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from domain import errors
from domain.files import make_private
from storage.sqlite import digests
from storage.sqlite.schema import DOORS, FIRST, KNOWN, SECOND, STANDIN_MARKED, THIRD
from storage.sqlite.schema_digests import DIGESTS
from storage.sqlite.schema_imports import IMPORTED
from storage.sqlite.schema_tree import CHAPTERS

#: "OFRD" in SQLite's application_id: tells our database from anybody else's.
APPLICATION_ID = 0x4F465244

#: Before the name of a table: the index that holds its rows that cannot be read (see ``shape``).
GUARD = "unsound_"

STEPS: tuple[str, ...] = (FIRST, SECOND, THIRD, STANDIN_MARKED, KNOWN, DOORS, CHAPTERS, IMPORTED, DIGESTS)


def version_of(connection: sqlite3.Connection) -> int:
    """How many steps this database has taken."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_unknown(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what a newer program, or another program, wrote.

    Raises NewerSchema or Damaged; nothing has been written then.
    """
    version = version_of(connection)
    if version > len(STEPS):
        raise errors.NewerSchema(path=str(path), found=version, known=len(STEPS))
    mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if tables and mark != APPLICATION_ID:
        raise errors.Damaged("storage.not_ours", path=str(path))
    if version and not tables:
        raise errors.Damaged(path=str(path), reason="no tables")


def migrate(connection: sqlite3.Connection, path: Path, upto: int | None = None) -> None:
    """Take every step that is missing, or of the first ``upto``, each with its number in one transaction."""
    taken, steps = version_of(connection), len(STEPS) if upto is None else upto
    if 0 < taken < steps:
        _copy_beside(connection, path, taken)
    for number in range(taken + 1, steps + 1):
        _take(connection, number)


def _take(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for kind, name in _made_of_columns(connection):
            connection.execute(f"DROP {kind} {name}")
        for statement in statements(STEPS[number - 1]):
            connection.execute(statement)
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'changed_row'").fetchone():
            digests.queue_every_row(connection)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _made_of_columns(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Indexes and triggers that name every column, and so would prevent a step; ``shape.mend`` makes them again."""
    found = connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('index', 'trigger')"
    ).fetchall()
    ours = (GUARD, digests.TRIGGER)
    return [(kind, name) for kind, name in map(tuple, found) if name.startswith(ours) and name.isidentifier()]


def statements(script: str) -> list[str]:
    """The single statements of a script; ``executescript`` would commit on its own."""
    found, held = [], ""
    for line in script.splitlines():
        held += line + "\n"
        if sqlite3.complete_statement(held):
            found.append(held.strip())
            held = ""
    return found


def _copy_beside(connection: sqlite3.Connection, path: Path, version: int) -> None:
    copy = path.with_name(f"{path.stem}.before-{version + 1}{path.suffix}")
    copy.unlink(missing_ok=True)
    connection.execute("VACUUM INTO ?", (str(copy),))
    make_private(copy)
