"""The whole memory as plain rows in one JSON document, and a memory made from such rows again.

    {"format": "old-friend", "version": 1, "schema": 6, "tables": {"session": [{...}, ...], "conversation": [...], ...}}

For other programs, and for people who want to see what is there: every row that is not made from other rows, under the
names of its table and columns. Words and vectors are left out, since they are made anew from the texts.

Promises: what is written while another program chats is of one moment; read back, it is equal row by row; a document
that is cut off, of a newer program, or holds what cannot be, is refused before anything is laid in place.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from domain import errors
from domain.files import make_private, put_in_place, storage_error, write_file
from storage.backup import copy_of, lay_in_place
from storage.owner import Owner
from storage.sqlite import schema
from storage.sqlite.database import as_ours
from storage.sqlite.plain_rows import PlainRow, fill, plain_rows, tables_told

FORMAT, VERSION = "old-friend", 1


def write_portable(folder: Path, target: Path, clock: Callable[[], datetime]) -> int:
    """Write the memory of a data directory into a new file. Returns how many rows.

    Raises StorageError (``backup.exists``, ``backup.nothing``), Damaged, DiskFull, ReadOnly.
    """
    copy = target.with_name(f".{target.name}.rows")
    unfinished = target.with_name(f".{target.name}.new")
    try:
        copy_of(folder, target, copy)
        with as_ours(copy), closing(sqlite3.connect(copy)) as connection:
            make_private(unfinished)
            with unfinished.open("w", encoding="utf-8") as file:
                written = _write(connection, file, clock())
                file.flush()
                os.fsync(file.fileno())
        put_in_place(unfinished, target)
    except OSError as fault:
        raise storage_error(fault, target) from fault
    finally:
        for rest in (copy, unfinished):
            with suppress(OSError):
                rest.unlink()
    return written


def _write(connection: sqlite3.Connection, file: TextIO, now: datetime) -> int:
    head = {"format": FORMAT, "version": VERSION, "schema": schema.version_of(connection)}
    head["written"] = now.isoformat(timespec="seconds")
    file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "tables": {')
    written = 0
    for place, table in enumerate(tables_told(connection)):
        file.write(f'{"," if place else ""}\n"{table}": [')
        for number, row in enumerate(plain_rows(connection, table)):
            file.write(f"{',' if number else ''}\n{json.dumps(row, ensure_ascii=False)}")
            written += 1
        file.write("]")
    file.write("\n}}\n")
    return written


def restore_portable(
    version: int, rows: Iterable[tuple[str, PlainRow]], folder: Path, clock: Callable[[], datetime]
) -> Path | None:
    """Make a memory from rows, each with the name of its table, and put it in the place of what is there.

    ``version`` is that of the document's schema. Returns where the former database lies now, None where there was none.
    Words are made anew when it is first opened. Raises DataInUse, Damaged, NewerSchema, DiskFull.
    """
    if version != schema.VERSION:
        raise errors.NewerSchema(path=FORMAT, found=version, known=schema.VERSION)
    with Owner(folder, clock):
        unfinished = folder / ".memory.db.restored"
        try:
            unfinished.unlink(missing_ok=True)
            make_private(unfinished)
            write_file(unfinished, schema.newborn())
            with as_ours(unfinished):
                fill(unfinished, rows)
            return lay_in_place(unfinished, folder)
        finally:
            unfinished.unlink(missing_ok=True)
