"""Whole copies of a database, and the examination of one that lies somewhere."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from domain import errors
from domain.files import make_private
from storage.sqlite.schema import bad_dates, refuse_unknown


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, without what was deleted from it. Raises Damaged or NewerSchema."""
    with closing(_read_only(source)) as connection:
        refuse_unknown(connection, source)
        target.unlink()
        connection.execute("VACUUM INTO ?", (str(target),))
        make_private(target)


def examine(path: Path) -> None:
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
