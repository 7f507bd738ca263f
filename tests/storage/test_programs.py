"""Any number of programs in one data directory, one of them writing; what needs it alone says who is there (P12)."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain import errors
from memory import Memory
from recall.embedding import HashedEmbedder
from storage import programs
from storage.engine import read_meta, set_meta
from storage.programs import FolderLock, Programs, living_programs, lock_now
from storage.sqlite import database as database_module
from storage.sqlite.database import SqliteDatabase
from tests.conftest import Count, SetClock
from tests.support.served import until

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUSE = Path(__file__).parents[2]


#: Opens the database of a folder, and writes the number under ``other`` again and again; a commit takes a while.
SATURATING = """
    import logging, sys, time
    from pathlib import Path
    from storage.engine import set_meta
    from storage.sqlite.database import SqliteDatabase
    database, number = SqliteDatabase(Path(sys.argv[1]) / "memory.db", logging.Logger("quiet")), 0
    while True:
        number += 1
        with database.write():
            set_meta(database, "other", str(number))
            time.sleep(0.01)
        if number == 1:
            print("ready", flush=True)
"""
#: Stays inside of a write.
STAYING = """
    import logging, sys
    from pathlib import Path
    from storage.engine import set_meta
    from storage.sqlite.database import SqliteDatabase
    database = SqliteDatabase(Path(sys.argv[1]) / "memory.db", logging.Logger("quiet"))
    with database.write():
        set_meta(database, "other", "never")
        print("ready", flush=True)
        sys.stdin.read()
"""
#: Opens a memory in each of the folders whose names it reads, and says which.
STARTING = """
    import logging, sys, uuid
    from datetime import UTC, datetime
    from pathlib import Path
    from memory import Memory
    from recall.embedding import HashedEmbedder
    from storage.registry import Registry, registry_in
    opened = []
    print("ready", flush=True)
    for line in sys.stdin:
        memory = Memory(Path(line.strip()), HashedEmbedder(), clock=lambda: datetime(2026, 1, 2, tzinfo=UTC),
                        new_id=lambda: uuid.uuid4().hex, log=logging.Logger("quiet"))
        memory.sessions.start()
        registry = Registry(registry_in(memory.folder), lambda: datetime(2026, 1, 2, tzinfo=UTC))
        registry.add_person("ann")
        opened += [memory, registry]
        print(len(memory.sessions.recent()) > 0, flush=True)
"""


def owner(folder: Path) -> FolderLock:
    return FolderLock(folder, lambda: NOON)


@contextmanager
def other_program(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A second process that holds the directory until it is ended."""
    script = """
        import sys
        from datetime import UTC, datetime
        from pathlib import Path
        from storage.programs import FolderLock
        FolderLock(Path(sys.argv[1]), lambda: datetime(2026, 1, 2, tzinfo=UTC)).acquire()
        print("held", flush=True)
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOUSE) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def running(script: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another program, from its first line until it is killed."""
    command = [sys.executable, "-c", textwrap.dedent(script), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOUSE) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def database(tmp_path: Path, log: logging.Logger) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(tmp_path / "memory.db", log)) as opened:
        yield opened


def is_queued(folder: Path) -> bool:
    """Whether somebody waits at the gate in front of all others, or has just come through it."""
    with (folder / ".memory.db.queue").open() as file:
        return not lock_now(file.fileno(), fcntl.LOCK_SH)


def test_whoever_waits_to_write_goes_before_a_program_that_has_just_written(
    tmp_path: Path, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    is_locked = database_module._is_locked

    def looked(descriptor: int) -> bool:
        """Note how often the other one had written when this one was the first in the queue."""
        locked = is_locked(descriptor)
        if locked and os.path.samestat(os.fstat(descriptor), os.stat(tmp_path / ".memory.db.queue")):
            ((number,),) = looking.execute("SELECT value FROM meta WHERE key = 'other'").fetchall()
            waiting.append(int(number))
        return locked

    monkeypatch.setattr(database_module, "_is_locked", looked)
    with running(SATURATING, tmp_path), closing(sqlite3.connect(database.path, timeout=60)) as looking:
        for _ in range(12):
            waiting: list[int] = []
            with database.write():
                seen.append((waiting[-1], int(read_meta(database, "other") or 0)))
    # The one that writes by then may come to its end; it does not begin again.
    assert all(inside - queued <= 1 for queued, inside in seen), seen


def test_what_another_program_wrote_is_found_however_often_it_was_read_before(
    tmp_path: Path, database: SqliteDatabase
) -> None:
    for number in range(3):
        assert [read_meta(database, "said") for _ in range(3)] == [str(number - 1) if number else None] * 3
        with closing(SqliteDatabase(tmp_path / "memory.db", logging.Logger("quiet"))) as other:
            set_meta(other, "said", str(number))
    assert read_meta(database, "said") == "2"


def test_a_program_that_stays_in_a_transaction_is_named_to_those_who_wait(
    tmp_path: Path, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_REPORT", 0.0)
    monkeypatch.setattr(database_module, "_PATIENCE", 0.2)
    with running(STAYING, tmp_path) as other:
        other.send_signal(signal.SIGSTOP)
        with pytest.raises(errors.DataInUse) as refused, database.write():
            pass
        assert (refused.value.key, refused.value.details["pid"]) == ("storage.writing", str(other.pid))
        assert refused.value.details["kind"] == "python"
        assert database.awaited
        assert read_meta(database, "other") is None, "reading waits for no one"
    with database.write() as tx:  # the kernel freed what was killed
        tx.do("INSERT INTO meta (key, value) VALUES ('own', 'said')")
    assert (read_meta(database, "other"), read_meta(database, "own"), database.awaited) == (None, "said", None)


def test_a_program_that_was_stopped_while_it_waited_holds_nobody_up(tmp_path: Path, database: SqliteDatabase) -> None:
    with running(SATURATING, tmp_path) as waiting:
        with running(STAYING, tmp_path):
            until(lambda: is_queued(tmp_path))
            waiting.send_signal(signal.SIGSTOP)
            assert is_queued(tmp_path)
        set_meta(database, "own", "written")
    assert read_meta(database, "own") == "written"


def test_who_is_interrupted_while_it_waits_holds_no_one_up(
    tmp_path: Path, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        assert is_queued(tmp_path)
        raise KeyboardInterrupt

    with running(STAYING, tmp_path):
        with (tmp_path / ".memory.db.gate").open("r+b") as gate:  # a name that was cut in the middle of a letter
            gate.seek(database_module._PASSED)
            gate.write("1 友".encode()[:-1] + b"\0")
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr("storage.sqlite.database.time.sleep", interrupt)
            patched.setattr(database_module, "_REPORT", 0.0)
            with database.write():
                pass
        assert database.awaited
        assert not is_queued(tmp_path)


@pytest.mark.parametrize("broken", [lambda *_: None, OSError(errno.ENOLCK, "No locks available")], ids=["vain", "none"])
def test_a_folder_whose_locks_exclude_nobody_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: logging.Logger, broken: object
) -> None:
    def flock(*_: object) -> None:
        if isinstance(broken, OSError):
            raise broken

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(errors.StorageError) as refused:
        SqliteDatabase(tmp_path / "memory.db", log)
    assert refused.value.key == "storage.no_locks"
    assert not (tmp_path / "memory.db").exists()


def test_two_programs_may_start_a_memory_at_once(tmp_path: Path) -> None:
    tries = int(os.environ.get("FIRST_STARTS", "4"))
    with running(STARTING, tmp_path) as first, running(STARTING, tmp_path) as second:
        for number in range(tries):
            for one in (first, second):
                assert one.stdin
                one.stdin.write(f"{tmp_path}/{number}\n")
                one.stdin.flush()
            for one in (first, second):
                assert one.stdout
                assert one.stdout.readline() == "True\n"
            with closing(sqlite3.connect(f"file:{tmp_path}/{number}/memory.db?mode=ro", uri=True)) as looking:
                assert looking.execute("SELECT count(*) FROM session").fetchone() == (2,)


def test_a_program_lives_until_its_process_ends_however_that_happens(tmp_path: Path) -> None:
    own = Programs(tmp_path, lambda: NOON)
    own.enter()
    with running(STARTING, tmp_path) as other:
        assert other.stdin
        assert other.stdout
        other.stdin.write(f"{tmp_path}\n")
        other.stdin.flush()
        other.stdout.readline()
        found = {one["pid"]: str(one["name"]) for one in living_programs(tmp_path)}
        assert found.keys() == {os.getpid(), other.pid}
        other.send_signal(signal.SIGSTOP)
        assert own.lives(found[other.pid])
        with pytest.raises(errors.DataInUse):
            owner(tmp_path).acquire()
    assert own.lives(own.name)
    assert not own.lives(found[other.pid])
    own.leave()
    assert living_programs(tmp_path) == []
    with owner(tmp_path):
        with pytest.raises(errors.DataInUse):
            own.enter()


def test_a_program_whose_new_file_another_removed_before_it_was_locked_lives_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, open_private, removed = Programs(tmp_path, lambda: NOON), programs.open_private, []

    def open_and_remove(path: Path) -> int:
        descriptor = open_private(path)
        if path.suffix == ".new" and not removed:
            removed.append(path)
            path.unlink()
        return descriptor

    monkeypatch.setattr(programs, "open_private", open_and_remove)
    own.enter()
    assert removed
    assert own.lives(own.name)
    own.leave()


def test_a_second_program_is_told_who_holds_the_data(tmp_path: Path) -> None:
    with other_program(tmp_path) as process, pytest.raises(errors.DataInUse) as refused:
        owner(tmp_path).acquire()
    details = refused.value.details
    assert details["pid"] == process.pid
    assert details["host"] == socket.gethostname()
    assert details["since"] == "2026-01-02T00:00:00+00:00"
    assert details["path"] == str(tmp_path)
    assert refused.value.exit_code == errors.Exit.DATA


def test_a_program_that_is_killed_frees_the_data(tmp_path: Path) -> None:
    with other_program(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with owner(tmp_path):
            pass


def test_the_data_is_free_again_after_release(tmp_path: Path) -> None:
    first = owner(tmp_path)
    first.acquire()
    first.release()
    first.release()
    with owner(tmp_path):
        pass


def test_two_owners_in_one_program_exclude_each_other_too(tmp_path: Path) -> None:
    with owner(tmp_path), pytest.raises(errors.DataInUse):
        owner(tmp_path).acquire()


def test_acquiring_twice_is_one_ownership(tmp_path: Path) -> None:
    held = owner(tmp_path)
    held.acquire()
    held.acquire()
    held.release()
    with owner(tmp_path):
        pass


@pytest.mark.parametrize("content", [b"", b"\xff\x00 not json", b"[1]", b'{"pid": 1}'], ids=repr)
def test_a_file_left_behind_holds_nobody_back(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".owner").write_bytes(content)
    with owner(tmp_path):
        assert b"pid" in (tmp_path / ".owner").read_bytes()


def test_an_unreadable_holder_is_still_a_holder(tmp_path: Path) -> None:
    with owner(tmp_path):
        (tmp_path / ".owner").write_bytes(b"\xff")
        with pytest.raises(errors.DataInUse) as refused:
            owner(tmp_path).acquire()
    assert refused.value.details["pid"] is None


def test_a_program_started_by_the_owner_does_not_inherit_the_lock(tmp_path: Path) -> None:
    with owner(tmp_path):
        waiting = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        child = subprocess.Popen(waiting, stdin=subprocess.PIPE)
    try:
        with owner(tmp_path):
            pass
    finally:
        child.communicate()


def test_folder_and_file_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with owner(tmp_path / "data"):
            assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
            assert stat.S_IMODE((tmp_path / "data" / ".owner").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_file_in_place_of_the_folder_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(errors.StorageError):
        owner(tmp_path / "data").acquire()


def test_a_memory_that_fails_to_open_leaves_its_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: SetClock, new_id: Count
) -> None:
    def fail(*_: object) -> None:
        raise errors.StorageError

    def opened() -> Memory:
        return Memory(tmp_path, HashedEmbedder(), clock=clock, new_id=new_id, log=logging.Logger("test"))

    with monkeypatch.context() as broken:
        broken.setattr("memory.Rounds", fail)
        with pytest.raises(errors.StorageError):
            opened()
    opened().close()
