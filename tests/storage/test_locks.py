"""SQLite's locks belong to a process and go when it closes any descriptor of the file: it opens none of its own."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain import errors
from domain.file_reader import DATABASE, open_bytes
from domain.workers import CancelToken
from importers.memory_dumps import open_whole_export
from importers.recognition import recognise_export
from interfaces.terminal.parsing import with_files
from jobs.importing import digest_of
from storage.backup import back_up, restore, write_portable
from storage.erasure import find_traces, forms
from storage.external import read_source
from storage.sqlite.database import SqliteDatabase

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def look_into_export(folder: Path) -> None:
    with open_whole_export(folder / DATABASE) as whole:
        assert whole is None


def look_into_import(folder: Path) -> None:
    with pytest.raises(errors.UsageError):
        recognise_export(folder)


def attach(folder: Path) -> None:
    with suppress(errors.UsageError):
        with_files(f"@{folder / DATABASE}")


READING: dict[str, Callable[[Path, SqliteDatabase], object]] = {
    "a proof": lambda folder, _: find_traces([folder], forms("The tram was late.")),
    "a backup": lambda folder, _: back_up(folder, folder.parent / "copy.db"),
    "an export": lambda folder, _: write_portable(folder, folder.parent / "copy.json", lambda: NOON),
    "a check": lambda _, database: (database.problems(), database.altered_rows()),
    "restoring elsewhere": lambda folder, _: restore(folder / DATABASE, folder.parent / "again", lambda: NOON),
    "reading it as an external memory": lambda folder, _: read_source(folder),
    "looking at it as an import": lambda folder, _: look_into_import(folder),
    "looking at it as a whole export": lambda folder, _: look_into_export(folder),
    "its digest": lambda folder, _: digest_of(folder, CancelToken()),
    "attaching it": lambda folder, _: attach(folder),
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    (tmp_path / "data").mkdir()
    with closing(SqliteDatabase(tmp_path / "data" / DATABASE, logging.Logger("quiet"))) as database:
        yield database


def locks_on(path: Path) -> set[str]:
    """The locks that all programs have on a file, as the kernel lists them."""
    inode = f":{path.stat().st_ino}"
    lines = Path("/proc/locks").read_text(encoding="utf-8").splitlines()
    return {line.partition(": ")[2] for line in lines if any(word.endswith(inode) for word in line.split())}


def may_write(path: Path) -> bool:
    """Whether another program gets into a transaction now."""
    script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], 0).execute('BEGIN IMMEDIATE')"
    return not subprocess.run([sys.executable, "-c", script, str(path)], check=False, capture_output=True).returncode


@pytest.mark.parametrize("act", READING.values(), ids=READING)
def test_no_lock_is_lost_beside_a_transaction(
    act: Callable[[Path, SqliteDatabase], object], tmp_path: Path, database: SqliteDatabase
) -> None:
    assert may_write(database.path)
    with database.write():
        before = locks_on(database.path)
        assert before or not Path("/proc/locks").exists()
        act(tmp_path / "data", database)
        assert locks_on(database.path) == before
        assert not may_write(database.path)


def test_what_a_person_opens_is_read_as_it_is(tmp_path: Path) -> None:
    for name in (DATABASE, "notes.txt"):
        (tmp_path / name).write_bytes(b"0123456789")
        with open_bytes(tmp_path / name) as file:
            assert file.read() == b"0123456789"
    with open_bytes(tmp_path / DATABASE, 4) as file:
        assert file.read() == b"0123"
    (tmp_path / DATABASE).chmod(0)
    with suppress(PermissionError), open_bytes(tmp_path / DATABASE) as file:
        assert file.read() == b"0123456789"  # whoever is root may read it
    with pytest.raises(FileNotFoundError):
        open_bytes(tmp_path / "none" / DATABASE)
