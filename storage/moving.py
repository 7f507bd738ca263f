"""Moves a person between a data folder and a database of many: every row of a memory as it is, in one commit.

Words are indexed afresh, since each engine has them in its own form; vectors are copied. Notes about files
of the one place (which version lies in a persona file, checksums of an index) stay there. A person's system
instructions go along under new numbers, each with its memory. The own memory comes last: until then the person counts
as not moved, and what was cut short goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from domain import errors
from domain.file_reader import DATABASE
from domain.files import make_private_folder
from domain.records import ME
from storage.engine import Database, Row
from storage.registry import REGISTRY, Registry, has_memory, registry_in
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


def move_person(served: Registry, person: str, folder: Path, opened: Open, *, outwards: bool) -> int:
    """Copy a person out of a database into a new data folder, or the one of a data folder into it; how many rows.

    Raises StorageError (``person.nothing``, ``person.exists``).
    """
    if outwards:
        make_private_folder(folder)
    elif not any((folder / name).exists() for name in (DATABASE, REGISTRY)):
        raise errors.StorageError("person.nothing", path=str(folder))
    with closing(Registry(registry_in(folder), served.clock)) as local:
        homes = [(served, person), (local, ME)] if outwards else [(local, ME), (served, person)]
        return _move(*homes[0], *homes[1], opened)


def _move(source: Registry, person: str, target: Registry, other: str, opened: Open) -> int:
    def places(number: int | None, new: int | None) -> tuple[Path | OnServer, Path | OnServer]:
        return source.place_of(person, number), target.place_of(other, new)

    instructions, own = source.instructions(person), places(None, None)
    if not instructions and not has_memory(own[0]):
        raise errors.StorageError("person.nothing", path=f"{source.address} ({person})")
    if not _is_empty(own[1], opened):
        raise errors.StorageError("person.exists", path=target.address)
    count, brought = 0, set[int]()
    # What is due in these memories is in them; a server looks where it is marked, before it can be lost.
    if other != ME:
        target.add_person(other)
    target.mark_open(other)
    target.mark_due(other, None)
    for one in instructions:
        new = target.bring_instruction(other, one, brought)
        brought.add(new)
        pair = places(one.number, new)
        if has_memory(pair[0]) and _is_empty(pair[1], opened):
            target.mark_due(other, new)
            moved = move_memory(*pair, opened)
            if not moved:
                target.unmark_due(other, new)
            count += moved
    return count + (move_memory(*own, opened) if has_memory(own[0]) else 0)


def _is_empty(place: Path | OnServer, opened: Open) -> bool:
    if not has_memory(place):
        return True
    of = opened(place)
    with closing(of.database):
        return not _is_filled(of)


def _is_filled(of: Repositories) -> bool:
    tables = (table for table in copied_columns() if table not in _BORN_WITH)
    return any(of.database.run(f"SELECT 1 FROM {table} LIMIT 1") for table in tables)


def move_memory(source: Path | OnServer, target: Path | OnServer, opened: Open) -> int:
    """Copy one memory to a place that holds none; how many rows. Raises StorageError, and nothing is copied."""
    if isinstance(target, Path):
        make_private_folder(target)
    out = opened(source)
    with closing(out.database):
        into = opened(target)
        with closing(into.database):
            return _copy_rows(out, into)


def _copy_rows(source: Repositories, target: Repositories) -> int:
    tables = copied_columns()
    copied = 0
    with source.database.write(), target.database.write() as tx:
        if _is_filled(target):
            raise errors.StorageError("person.exists", path=str(target.database.path))
        target.database.expect_memory(target.stamp.clock().timestamp())

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
