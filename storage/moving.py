"""Moves a person's memory between a data folder and a database of many: every row as it is, one commit.

Words are indexed afresh, since each engine has them in its own form; vectors are copied. Notes about files
of the one place (which version lies in a persona file, checksums of an index) stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from domain import errors
from domain.file_reader import DATABASE
from domain.files import make_private_folder
from storage.engine import Database, Row
from storage.repositories import OnServer, Repositories, index_all
from storage.sqlite.schema import copied_columns

Open = Callable[[Path | OnServer], Repositories]

#: Rows read at once.
_AT_ONCE = 2_000
#: What making the words again asks for, and the vectors that are there already.
_AFTER_WORDS = ("pending", "embedding")
#: A memory that holds nothing may have rows in these.
_BORN_WITH = ("meta", "counter")
#: A table is read in parts where its key is one of these.
_KEYS = ("seq", "number")
#: What ``meta`` says of files, by how the keys begin.
_OF_FILES = ("persona.", "index.", "erasing", "unindexed")


def move_person(source: Path | OnServer, target: Path | OnServer, opened: Open) -> int:
    """Copy a memory to a place that holds none. Returns how many rows. Raises StorageError, and nothing is copied."""
    if isinstance(source, Path) and not (source / DATABASE).exists():
        raise errors.StorageError("person.nothing", path=str(source))
    if isinstance(target, Path) and (target / DATABASE).exists():
        raise errors.StorageError("person.exists", path=str(target))
    if isinstance(target, Path):
        make_private_folder(target)
    out = opened(source)
    try:
        into = opened(target)
        try:
            return copy_rows(out, into)
        finally:
            into.database.close()
    finally:
        out.database.close()


def copy_rows(source: Repositories, target: Repositories) -> int:
    """Copy all rows into a memory that holds none; how many. Raises StorageError (``person.exists``)."""
    tables = copied_columns()
    copied = 0
    with source.database.write(), target.database.write() as tx:
        if any(target.database.run(f"SELECT 1 FROM {table} LIMIT 1") for table in tables if table not in _BORN_WITH):
            raise errors.StorageError("person.exists", path=str(target.database.path))
        target.database.defer_checks()

        def copy(table: str) -> int:
            columns = tables[table]
            marks = ", ".join("?" * len(columns))
            again = " ON CONFLICT DO NOTHING" if table in _BORN_WITH else ""
            sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}){again}"
            count = 0
            for rows in rows_of(source.database, table, columns):
                given = [[memoryview(one) if isinstance(one, bytes) else one for one in row] for row in rows]
                tx.many(sql, given if table == "embedding" else [list(row) for row in rows])
                count += len(rows)
            return count

        copied += sum(copy(table) for table in tables if table not in _AFTER_WORDS)
        index_all(target)
        tx.do("DELETE FROM pending")
        return copied + sum(map(copy, _AFTER_WORDS))


def rows_of(database: Database, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
    """The rows of a table, some at a time; of ``meta`` those that say nothing of files."""
    names = ", ".join(columns)
    key = columns[0]
    if key not in _KEYS:
        rows = database.run(f"SELECT {names} FROM {table}")
        yield [row for row in rows if table != "meta" or not str(row["key"]).startswith(_OF_FILES)]
        return
    last, part = -1, f"SELECT {names} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?"
    while rows := database.run(part, last, _AT_ONCE):
        yield rows
        last = rows[-1][key]
