"""A memory in PostgreSQL while programs are killed, connections cut, the server stopped, lost or without room.

A round is acknowledged when its turn has ended without an error: its reply was reported as stored. What fails is said
again, as a person would. In the end each round that was acknowledged is there, and each once.

python -m tests.torture.databases PART-SCENE FIRST STRIDE      some points of a scene, as JSON
python -m tests.torture.databases say URL FOLDER NAME COUNT    rounds of one program, a line for each acknowledged
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from domain import errors
from storage.postgres.trips import Trips
from tests.storage.postgres.server import Cluster, prepared, running_cluster
from tests.torture import judging, scene
from tests.torture.disks import NO_MOUNT, crowded, mounted
from tests.torture.kills import ROOT, Tried, every_point, print_points, run_apart, scratch
from tests.torture.scene import Stage

_MOST = 2_000
#: Attempts to say something, and seconds between them: a server needs a moment to start.
_ATTEMPTS, _PAUSE = 60, 0.5
#: Kilobytes of a disk with a server on it, and those that are left of it when something is said.
_DISK_KB, _LEFT_KB = 120_000, (0, 600, 3_000)
_CUT = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'app' AND datname = %s"


def points(part: str, name: str, every: int) -> Callable[[], Tried]:
    """Kill the program, or cut its connections, before every so-manieth statement of a scene, and after each commit.

    So connections break while they are idle (also while a model is awaited), in a transaction and in its commit.
    """
    return partial(every_point, f"{part}-{name}", 1, every, "tests.torture.databases")


# -- before every statement of a scene


def _some_points(part_and_name: str, first: int, stride: int) -> Tried:
    part, _, name = part_and_name.partition("-")
    tried = Tried(f"database: {part} in {name}")
    with running_cluster() as server, scratch("pg") as where:
        folders = iter(range(_MOST))

        def fresh() -> Path:
            return Path(where, str(next(folders)))

        base = _url_of(server, "base")
        run_apart(partial(scene.prepare, fresh(), name, base))
        _end_claims(server, "base")
        before = run_apart(partial(judging.contents, fresh(), base))
        with _copied(server, "base", "whole") as url:
            _play(part, name, fresh(), url, server, _MOST)
            _end_claims(server, "whole")
            wanted = run_apart(partial(judging.contents, fresh(), url))
        for point in range(first, _MOST, stride):
            with _copied(server, "base", "tried") as url:
                kept, reached = _play(part, name, fresh(), url, server, point)
                _end_claims(server, "tried")
                found = run_apart(partial(_judged, name, fresh(), before, wanted, url, kept))
                tried.violations += [f"{part} {name} at statement {point}: {what}" for what in found]
            if not reached:
                return tried
            tried.points += 1
    tried.violations.append(f"{name} was still sending after {_MOST} statements")
    return tried


def _play(part: str, name: str, folder: Path, url: str, server: Cluster, point: int) -> tuple[bool, bool]:
    """Play a scene in a process of its own: whether it was acknowledged, and whether it came to that point."""
    acknowledged, reached = folder.with_suffix(".kept"), folder.with_suffix(".reached")

    def act() -> None:
        reached.touch()
        if part == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        _cut(server, "tried")

    def play() -> None:
        stage = Stage(folder, index=True, debug=name == "erase", url=url, kept=acknowledged.touch)
        _count_statements(point, act)
        for _ in range(2):
            with suppress(errors.StorageError):
                return _end(stage, name)

    child = os.fork()
    if not child:
        signal.alarm(120)
        with suppress(BaseException):
            play()
        os._exit(0)
    os.waitpid(child, 0)
    return acknowledged.exists(), reached.exists()


def _end(stage: Stage, name: str) -> None:
    """Play it, once more where the first time failed and nothing of it was stored."""
    if name != "round" or scene.TYPED not in _said(stage):
        scene.SCENES[name](stage)


def _count_statements(point: int, act: Callable[[], None]) -> None:
    """In this process act before the statement of this number, or at the moment between a commit and its answer."""
    count, acting = 0, False

    def step(sent: Callable[[], object] = lambda: None) -> bool:
        nonlocal count, acting
        if threading.current_thread() is not threading.main_thread() or acting:
            return False
        count += 1
        if count == point:
            acting = True
            sent()
            act()
            acting = False
        return count == point

    send, execute = Trips.send, psycopg.Connection.execute

    def send_and_step(trips: Trips, connection: Any, statements: Any) -> Any:
        asked = list(statements)
        for at in range(len(asked)):
            step(partial(send, trips, connection, asked[:at]))  # the server has what came before
        answer = send(trips, connection, asked)
        if step():
            connection.close()
            raise psycopg.OperationalError("the answer is lost")
        return answer

    def execute_and_step(*given: Any, **named: Any) -> Any:
        step()
        return execute(*given, **named)

    for owner, method, call in ((Trips, "send", send_and_step), (psycopg.Connection, "execute", execute_and_step)):
        setattr(owner, method, call)


def _judged(name: str, folder: Path, before: Any, wanted: Any, url: str, kept: bool) -> list[str]:
    try:
        if kept and name == "round":
            stage = Stage(folder, url=url)
            if _said(stage)[scene.TYPED] != 1:
                return ["an acknowledged round is not there once"]
            stage.close()
        return list(judging.judge(name, folder, before, wanted, url))
    except Exception as fault:
        return [f"opened again it broke: {fault!r}"]


# -- the whole server


def stopped() -> Tried:
    """The server is stopped in the middle of rounds, and started again."""
    tried = Tried("database: immediate stop")
    with running_cluster() as server, scratch("pg") as where:
        with _talking(_url_of(server, "friend"), Path(where), tried) as wait:
            for _ in range(4):
                wait(3)
                server.stop()
                server.start()
                tried.points += 1
    return tried


def promoted() -> Tried:
    """The server is lost in the middle of rounds, and its synchronous standby takes over."""
    tried = Tried("database: promoted standby")
    with running_cluster() as server, scratch("pg") as where, tempfile.TemporaryDirectory(prefix="pg-") as second:
        standby = Cluster(Path(second))
        url = _url_of(server, "friend")
        standby.run("pg_basebackup", "-D", f"{second}/data", "-R", "-h", str(server.folder), "-U", "postgres")
        standby.start()
        try:
            with psycopg.connect(server.administrator, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
            both = f"{url},{standby.folder}&target_session_attrs=read-write"
            with _talking(both, Path(where), tried) as wait:
                wait(5)
                server.stop()
                standby.run("pg_ctl", "-w", "promote")
                tried.points += 1
            server.start()
        finally:
            standby.stop()
    return tried


def full() -> Tried:
    """The disk of the server has no room, for its tables, its log or both; then it has again."""
    tried = Tried("database: full disk")
    with (
        scratch("pg") as where,
        tempfile.TemporaryDirectory(prefix="pg-") as place,
        mounted(Path(place), _DISK_KB) as disk,
    ):
        if disk is None:
            tried.skipped = NO_MOUNT
            return tried
        server = Cluster(disk)
        server.create("--wal-segsize=1")
        server.start()
        url = _url_of(server, "friend")
        for left in _LEFT_KB:
            folder = Path(where, str(left))
            with _talking(url, folder, tried, f"with {left} kB") as wait:
                wait(1)
                with crowded(disk, left):
                    threading.Event().wait(4)
                with suppress(AssertionError):  # a server that found no room for its log has ended
                    server.start()
                tried.points += 1
        server.stop()
    return tried


def side_by_side() -> Tried:
    """Two programs of one person, one of them killed again and again."""
    tried = Tried("database: two programs")
    with running_cluster() as server, scratch("pg") as where:
        url, heard = _url_of(server, "friend"), list[str]()
        for number in range(4):
            names = [f"{side}{number}" for side in "ab"]
            ran = [_program(url, Path(where, name), name, 12) for name in names]
            for _ in range(2 + number):
                heard.append(str(ran[0].stdout and ran[0].stdout.readline()).strip())
            ran[0].kill()
            heard += [line for one in reversed(ran) for line in one.communicate()[0].split("\n") if line]
            tried.points += 1
            if len([one for one in heard if f" b{number} " in one]) != 12:
                tried.violations.append(f"the other program was refused: {ran[1].returncode}")
        tried.violations += _lost(url, Path(where, "end"), heard)
    return tried


def _program(url: str, folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-B", "-W", "ignore", "-m", "tests.torture.databases", "say", url]
    return subprocess.Popen([*command, str(folder), name, str(count)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


@contextmanager
def _talking(url: str, folder: Path, tried: Tried, name: str = "") -> Iterator[Callable[[int], None]]:
    """Somebody talks all the while; yields what waits for so many more rounds. What is lost then is a violation."""
    acknowledged, enough, faults = list[str](), threading.Event(), list[str]()
    moved = threading.Condition()

    def talk() -> None:
        try:
            stage = Stage(folder, url=url)
            while not enough.is_set():
                text = f"I count {len(acknowledged)} boats {name}."
                _say(stage, text)
                with moved:
                    acknowledged.append(text)
                    moved.notify_all()
            stage.close()
        except BaseException as fault:
            faults.append(f"{name} it ended with {fault!r}")
            with moved:
                moved.notify_all()

    def wait(more: int) -> None:
        wanted = len(acknowledged) + more
        with moved:
            moved.wait_for(lambda: len(acknowledged) >= wanted or faults, 120)

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield wait
        wait(2)
    finally:
        enough.set()
        thread.join()
    tried.violations += [*faults, *_lost(url, folder / "end", acknowledged)]


def _say(stage: Stage, text: str) -> None:
    """Say something until it is stored; what fails after that, as a compaction may, is made good later."""
    stored = threading.Event()
    stage.kept = stored.set
    for _ in range(_ATTEMPTS):
        with suppress(errors.StorageError):
            stage.say(text)
        if stored.is_set():
            return
        threading.Event().wait(_PAUSE)
    raise AssertionError(f"it was refused {_ATTEMPTS} times")


def _lost(url: str, folder: Path, acknowledged: list[str]) -> Iterator[str]:
    stage = Stage(folder, url=url)
    stored = _said(stage)
    yield from (f"lost: {text}" for text in acknowledged if text not in stored)
    yield from (f"{count} times: {text}" for text, count in stored.items() if count > 1)
    yield from (one for one in judging.unsound(stage) if "active session" not in one)
    stage.close()


def _said(stage: Stage) -> Counter[str]:
    said = stage.read("SELECT text FROM conversation WHERE role = 'user'")
    return Counter(str(text).removeprefix("User: ") for (text,) in said)


# -- databases


def _url_of(server: Cluster, name: str) -> str:
    return prepared(server.administrator, name)


@contextmanager
def _copied(server: Cluster, source: str, name: str) -> Iterator[str]:
    """A copy of a database, for as long as the block lasts."""
    with psycopg.connect(server.administrator, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source}".encode())
        yield server.administrator.replace("postgres@/postgres", f"app:secret@/{name}")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _end_claims(server: Cluster, name: str) -> None:
    """Let the time pass after which a program that was killed has no claims any more."""
    with psycopg.connect(server.administrator, dbname=name, autocommit=True) as connection:
        connection.execute("DELETE FROM registry.program")


def _cut(server: Cluster, name: str) -> None:
    with psycopg.connect(server.administrator, autocommit=True) as connection:
        connection.execute(_CUT, [name])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    if sys.argv[1] == "say":
        talker = Stage(Path(sys.argv[3]), url=sys.argv[2])
        for place in range(int(sys.argv[5])):
            _say(talker, words := f"I count {place} boats {sys.argv[4]} .")
            print(words, flush=True)
        talker.close()
    else:
        print_points(partial(_some_points, sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
