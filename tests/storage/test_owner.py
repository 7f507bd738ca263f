"""One program a data directory (P12)."""

from __future__ import annotations

import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain import errors
from memory import Memory
from recall.embedding import HashedEmbedder
from storage.owner import Owner
from tests.conftest import Count, SetClock

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOUSE = Path(__file__).parents[2]


def owner(folder: Path) -> Owner:
    return Owner(folder, lambda: NOON)


@contextmanager
def other_program(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A second process that holds the directory until it is ended."""
    script = """
        import sys
        from datetime import UTC, datetime
        from pathlib import Path
        from storage.owner import Owner
        Owner(Path(sys.argv[1]), lambda: datetime(2026, 1, 2, tzinfo=UTC)).acquire()
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
