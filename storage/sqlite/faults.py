"""What a fault of SQLite means for a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain import errors

_KINDS: dict[int, type[errors.StorageError]] = {
    sqlite3.SQLITE_FULL: errors.DiskFull,
    sqlite3.SQLITE_READONLY: errors.ReadOnly,
    sqlite3.SQLITE_CANTOPEN: errors.ReadOnly,
    sqlite3.SQLITE_PERM: errors.ReadOnly,
    sqlite3.SQLITE_CORRUPT: errors.Damaged,
    sqlite3.SQLITE_NOTADB: errors.Damaged,
    sqlite3.SQLITE_BUSY: errors.DataInUse,
}


@contextmanager
def as_ours(path: Path) -> Iterator[None]:
    """Raise SQLite's faults as the StorageError that says what they mean."""
    try:
        yield
    except sqlite3.Error as fault:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        raise _KINDS.get(code, errors.StorageError)(path=str(path), reason=str(fault)) from fault
