"""What many tests stand on: a clock that can be set, ids that count, a quiet log, a database in a folder of its own."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from storage.sqlite.database import SqliteDatabase
from tests.support.house import Mind
from tests.support.server import ScriptedServer

# A busy machine is no failure, the same examples come every time, and nothing is left behind.
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


_ROOT = Path(__file__).parents[1]
#: Where folders of tests lie, and the bytes that must be free there.
_MEMORY, _ROOM = Path("/dev/shm"), 2_000_000_000


def pytest_configure(config: pytest.Config) -> None:
    """Lay the folders of tests in memory where there is room: a disk makes each of many thousand commits wait.

    What a program asks of a disk is the same there: that it syncs, and in which order, is read from its system calls.
    """
    if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Twice as many as there are cores: a test waits a part of its time, for a thread, a program or a pause."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 * cores


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Read the tests by turns: each worker begins with a share of its own, which the others then find compiled.

    To prepare the assertions of all of them is most of the work before the first test. Nothing of it is garbage.
    """
    gc.disable()
    worker = getattr(session.config, "workerinput", None)
    if worker is None or not all(Path(given).is_dir() for given in session.config.args):
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    unwanted, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # whoever collects it says what is wrong with it
            importlib.import_module(".".join(file.relative_to(_ROOT).with_suffix("").parts))
    sys.dont_write_bytecode = unwanted


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected stays to the end: no garbage is looked for among thousands of tests again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


class SetClock:
    """A clock that moves a second at each look, and whither it is told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def pass_by(self, **span: float) -> None:
        """Let time go by, or run back."""
        self.now += timedelta(**span)


class Count:
    """Ids that count."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self) -> str:
        self.given += 1
        return f"{self.given:012d}"


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def new_id() -> Count:
    return Count()


@pytest.fixture
def log() -> logging.Logger:
    return logging.Logger("test", logging.CRITICAL)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model server on loopback; what it answers is told to it."""
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def mind(server: ScriptedServer) -> Mind:
    """What its model answers: as a friend does, while a task is not answered otherwise."""
    return Mind(server)


@pytest.fixture
def database(tmp_path: Path, log: logging.Logger) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "memory.db", log)
    yield opened
    opened.close()
