"""The program itself, run as a script runs it: a process, its streams, its exit code, what it left behind."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.interfaces.terminal.pseudo import ROOT, environment
from tests.support.server import ScriptedServer
from tests.support.warm import Piped

#: Seconds after which a run is given up: long, since a slow machine is no failure.
_PATIENCE = 120.0
KEY = "sk-test-0123456789abcdef0123"
MODEL = "wanted-model"


@dataclass(frozen=True)
class Ran:
    """One run of the program, ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Stored:
    """One round as it lies in the database."""

    user: str
    assistant: str
    finish: str


def connected(base: str, **more: str) -> dict[str, str]:
    """The settings that connect the program to a server."""
    return {"OPENAI_API_BASE": base, "OPENAI_API_KEY": KEY, "CHAT_MODEL": MODEL, "DIARY": "off", **more}


def started(
    home: Path, *arguments: str, piped: bool = True, script: Path = ROOT / "main.py", **settings: str
) -> subprocess.Popen[bytes]:
    """The program, begun, with its data and logs under ``home``; something is piped in, or nothing is.

    ``script`` begins it in another way than ``main.py``.
    """
    chosen = environment(home, LOG_DIR=str(home / "logs"), **settings)
    if script != ROOT / "main.py":
        chosen["PYTHONPATH"] = str(ROOT)
    return Piped(
        [sys.executable, str(script), "--data-dir", str(home / "data"), *arguments],
        env=chosen, cwd=home, stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(home: Path, *arguments: str, given: str | bytes = "", **settings: str) -> Ran:
    """The program, run to its end; ``given`` stands on its standard input."""
    process = started(home, *arguments, **settings)
    return ended(process, given if isinstance(given, bytes) else given.encode())


def ended(process: subprocess.Popen[bytes], given: bytes = b"") -> Ran:
    """Wait for a run to end."""
    try:
        out, err = process.communicate(given if process.stdin else None, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def interrupted(process: subprocess.Popen[bytes], when: Callable[[], bool]) -> Ran:
    """A run that gets Ctrl-C as soon as something is true."""
    until = time.monotonic() + _PATIENCE
    while not when() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.wait(_PATIENCE)
    return ended(process)


def stored(home: Path) -> list[Stored]:
    """Every round in the database, in order."""
    rows = _read(home, "SELECT role, text, finish FROM conversation ORDER BY seq")
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return [
        Stored(user[1].removeprefix("User: "), reply[1].removeprefix("Assistant: "), reply[2]) for user, reply in pairs
    ]


def in_flight(home: Path) -> list[str]:
    """What was typed and got no reply."""
    return [row[0] for row in _read(home, "SELECT text FROM in_flight")]


def asked(server: ScriptedServer, text: str) -> int:
    """How often a server was sent a prompt that ends with this text."""
    return sum(chat["messages"][-1]["content"].endswith(text) for chat in server.chats)


def _read(home: Path, query: str) -> list[tuple[str, ...]]:
    path = home / "data" / "memory.db"
    if not path.exists():
        return []
    # Not read-only: what a kill left half written is rolled back by whoever reads first.
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()
