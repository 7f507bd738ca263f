"""Backups: a copy of the database in one file, and the whole memory as plain rows in one JSON document.

    {"format": "old-friend", "version": 1, "schema": 1, "tables": {"session": [{...}, ...], "conversation": [...], ...}}

The database is the friend: the personas are in it as versions, vectors as bytes, and everything else is made from it.
Guarantees: a backup may be made while another program chats, and is of one moment; it is checked before it counts, in
its schema and in every value; restoring keeps what was there under another name, and leaves other people's memories
alone; a document that is cut off, of another schema, or holds what cannot be, is refused before anything is replaced.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from domain import errors
from domain.file_reader import DATABASE
from domain.files import make_private, make_private_folder, put_in_place, storage_error, write_file
from storage.programs import FolderLock
from storage.sqlite import schema
from storage.sqlite.copies import PlainRow, check_copy, copy_database, exported_tables, plain_rows, write_rows
from storage.sqlite.database import as_ours

#: Where a copy is made whole, below its folder; a crash may leave it, and an erasure removes it like every other copy.
_COPY = ".memory.before-restoring"
#: Changes a copy before it takes the place of the present database, given both paths.
Prepare = Callable[[Path, Path], None]


def back_up(folder: Path, target: Path) -> int:
    """Copy the memory of a data directory into a new file. Returns its size in bytes.

    Raises StorageError (``backup.exists``, ``backup.no_folder``, ``backup.nothing``), Damaged, DiskFull, ReadOnly.
    """
    if not target.absolute().parent.is_dir():
        raise errors.StorageError("backup.no_folder", path=str(target.absolute().parent))
    unfinished = target.with_name(f".{target.name}.new")
    try:
        copy_of(folder, target, unfinished)
        put_in_place(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target.stat().st_size


def copy_of(folder: Path, target: Path, copy: Path) -> None:
    """Copy the database of a data directory, of one moment and examined, on the way to a new ``target``."""
    source = folder / DATABASE
    if not source.exists():
        raise errors.StorageError("backup.nothing", path=str(folder))
    if target.exists():
        raise errors.StorageError("backup.exists", path=str(target))
    copy.unlink(missing_ok=True)
    make_private(copy)
    with as_ours(source):
        copy_database(source, copy)
        check_copy(copy)


def restore(
    backup: Path, folder: Path, clock: Callable[[], datetime], prepare: Prepare = lambda copy, present: None
) -> Path | None:
    """Put a backup in the place of a memory. Returns where the former database lies now, None where there was none.

    The index is rebuilt from it, and the personas are laid into their files. Raises DataInUse, Damaged, NewerSchema.
    """
    if not backup.exists():
        raise errors.StorageError("backup.missing", path=str(backup))
    with as_ours(backup):
        check_copy(backup)
    with FolderLock(folder, clock), _place_for_copy(folder) as unfinished:
        make_private(unfinished)
        with as_ours(backup):
            copy_database(backup, unfinished)
        prepare(unfinished, folder / DATABASE)
        return lay_in_place(unfinished, folder)


@contextmanager
def _place_for_copy(folder: Path) -> Iterator[Path]:
    """Where a memory is made before it takes the place of another, in a folder of its own that goes with the block."""
    apart = folder / _COPY
    shutil.rmtree(apart, ignore_errors=True)
    make_private_folder(apart)
    try:
        yield apart / DATABASE
    finally:
        shutil.rmtree(apart, ignore_errors=True)


def lay_in_place(unfinished: Path, folder: Path) -> Path | None:
    """Let a database that lies whole in a folder be its memory. Returns where the former one lies now, if there was."""
    descriptor = os.open(unfinished, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    former = _set_aside(folder)
    put_in_place(unfinished, folder / DATABASE)
    return former


def _set_aside(folder: Path) -> Path | None:
    """Rename what is there: the personas first, so that they are never taken for edits of the restored ones."""
    number = 1
    while any(folder.glob(f"*.before-restore-{number}*")):
        number += 1
    persona, database = folder / "persona", folder / DATABASE
    if persona.exists():
        persona.rename(folder / f"persona.before-restore-{number}")
    shutil.rmtree(folder / "vectors", ignore_errors=True)
    if not database.exists():
        return None
    former = folder / f"memory.before-restore-{number}.db"
    for end in ("-journal", "-wal", "-shm", ""):
        beside = database.with_name(database.name + end)
        if beside.exists():
            beside.rename(former.with_name(former.name + end))
    return former


FORMAT, VERSION = "old-friend", 1


def write_portable(folder: Path, target: Path, clock: Callable[[], datetime]) -> int:
    """Write the memory of a data directory into a new file. Returns how many rows.

    Raises StorageError (``backup.exists``, ``backup.nothing``), Damaged, DiskFull, ReadOnly.
    """
    copy = target.with_name(f".{target.name}.rows")
    unfinished = target.with_name(f".{target.name}.new")
    try:
        copy_of(folder, target, copy)
        make_private(unfinished)
        with as_ours(copy), closing(sqlite3.connect(copy)) as copied, unfinished.open("w", encoding="utf-8") as file:
            written = _write_rows(copied, file, clock())
            file.flush()
            os.fsync(file.fileno())
        put_in_place(unfinished, target)
    except OSError as fault:
        raise storage_error(fault, target) from fault
    finally:
        for left in (copy, unfinished):
            with suppress(OSError):
                left.unlink()
    return written


def _write_rows(connection: sqlite3.Connection, file: TextIO, now: datetime) -> int:
    head = {"format": FORMAT, "version": VERSION, "schema": schema.version_of(connection)}
    head["written"] = now.isoformat(timespec="seconds")
    file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "tables": {')
    written = 0
    for place, table in enumerate(exported_tables(connection)):
        file.write(f'{"," if place else ""}\n"{table}": [')
        for number, row in enumerate(plain_rows(connection, table)):
            file.write(f"{',' if number else ''}\n{json.dumps(row, ensure_ascii=False)}")
            written += 1
        file.write("]")
    file.write("\n}}\n")
    return written


def restore_portable(
    version: int,
    rows: Iterable[tuple[str, PlainRow]],
    folder: Path,
    clock: Callable[[], datetime],
    prepare: Prepare = lambda copy, present: None,
) -> Path | None:
    """Make a memory from rows, each with the name of its table, and put it in the place of what is there.

    ``version`` is that of the document's schema. Returns where the former database lies now, None where there was none.
    Words are rebuilt when it is first opened. Raises DataInUse, Damaged, NewerSchema, DiskFull.
    """
    if version != schema.VERSION:
        raise errors.NewerSchema(path=FORMAT, found=version, known=schema.VERSION)
    with FolderLock(folder, clock), _place_for_copy(folder) as unfinished:
        make_private(unfinished)
        write_file(unfinished, schema.empty_database())
        with as_ours(unfinished):
            write_rows(unfinished, rows)
        prepare(unfinished, folder / DATABASE)
        return lay_in_place(unfinished, folder)
