"""A backup is one file: a whole copy of the database, from which everything else is made.

The images lie in it as versions, vectors as bytes, so that one file holds the friend. It holds one memory, that of its
folder: what lies below of other people is no part of it, and restoring leaves that alone. Promises: a backup may be
made while another program chats; it is checked before it counts, in its shape and in every value; restoring keeps what
was there, under another name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from domain import errors
from domain.files import make_private, put_in_place
from storage.owner import Owner
from storage.sqlite.copies import copy_database, examine
from storage.sqlite.database import as_ours

_DATABASE = "memory.db"


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
    source = folder / _DATABASE
    if not source.exists():
        raise errors.StorageError("backup.nothing", path=str(folder))
    if target.exists():
        raise errors.StorageError("backup.exists", path=str(target))
    copy.unlink(missing_ok=True)
    make_private(copy)
    with as_ours(source):
        copy_database(source, copy)
        examine(copy)


def restore(backup: Path, folder: Path, clock: Callable[[], datetime]) -> Path | None:
    """Put a backup in the place of a memory. Returns where the former database lies now, None where there was none.

    The index is made anew from it, and the images are laid into their files. Raises DataInUse, Damaged, NewerSchema.
    """
    if not backup.exists():
        raise errors.StorageError("backup.missing", path=str(backup))
    with as_ours(backup):
        examine(backup)
    with Owner(folder, clock):
        unfinished = folder / f".{_DATABASE}.restored"
        shutil.copyfile(backup, unfinished)
        make_private(unfinished)
        return lay_in_place(unfinished, folder)


def lay_in_place(unfinished: Path, folder: Path) -> Path | None:
    """Let a database that lies whole in a folder be its memory. Returns where the former one lies now, if there was."""
    descriptor = os.open(unfinished, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    former = _set_aside(folder)
    put_in_place(unfinished, folder / _DATABASE)
    return former


def _set_aside(folder: Path) -> Path | None:
    """Give what is there other names: the images first, so that they are never taken for edits of the restored ones."""
    number = 1
    while any(folder.glob(f"*.before-restore-{number}*")):
        number += 1
    persona, database = folder / "persona", folder / _DATABASE
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
