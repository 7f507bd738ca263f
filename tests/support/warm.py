"""Starts the program from a process that has its libraries loaded: each run is a process of its own all the same.

Loading them is most of the work of a run, and there are some hundred runs. So one process loads them once, and each run
is a fork of it that plays ``main.py``, or the program of a test (a file, or ``-c``), from its first line, with
arguments, environment, streams and a terminal of its own, and that is a child of whoever asked for it. A run begins
with Python itself where its environment says something to Python, or holds ``COLD_START``, or this one does; and on
every system but Linux, where no process can adopt.

python -m tests.support.warm SOCKET    waits for orders on this descriptor, until its other end is closed
"""

from __future__ import annotations

import array
import atexit
import ctypes
import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import pty
import runpy
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pexpect
from ptyprocess import PtyProcess

ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = (
    "lancedb", "main", "numpy.typing", "numpy.ma", "openai", "pyarrow.dataset",
    "lance_namespace", "httpcore2", "rich.text", "rich.table", "rich.logging",
    "prompt_toolkit.shortcuts", "Stemmer", "dotenv", "encodings.utf_8_sig", "encodings.idna",
    "anyio._backends._asyncio", "anyio.streams.tls", "pydantic.v1", "fastapi.telemetry._runtime", "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio", "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
_OURS = ("domain", "facts", "importers", "interfaces", "jobs", "models", "recall", "storage")
#: What the environment of the loaded process says to Python, and so that of every run that it begins.
OF_PYTHON = {"PYTHONUTF8": "1", "PYTHONWARNINGS": "ignore"}
_MOST = 100_000
_PR_SET_CHILD_SUBREAPER = 36
#: Threads that begin their first runs at once share one loaded process.
_LOADING = threading.Lock()


@dataclass(frozen=True)
class Order:
    """What a run is to be given, beside its three streams."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    umask: int


# -- whoever asks for a run


class Piped(subprocess.Popen[bytes]):
    """A process with pipes; one of this Python that plays a file, or ``-c CODE``, is forked."""

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        folder, environment, pipes = rest[4], rest[5], rest[9:15]
        streams = [theirs if theirs >= 0 else ours for ours, theirs in enumerate((pipes[0], pipes[3], pipes[5]))]
        if (loaded := _loaded_for(args, environment)) is None:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        try:
            self.pid = loaded.run(args[1:], environment, folder, streams)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


class InTerminal(pexpect.spawn):  # type: ignore[misc]
    """A process in a pseudo-terminal; a run of the program is forked in the same way."""

    def _spawnpty(self, args: Sequence[str], **options: Any) -> PtyProcess:
        if (loaded := _loaded_for(args, options["env"])) is None:
            return super()._spawnpty(args, **options)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *options["dimensions"], 0, 0))
        try:
            return PtyProcess(loaded.run(args[1:], options["env"], Path.cwd(), (theirs,) * 3), ours)
        finally:
            os.close(theirs)


class _Loaded:
    """The process that has all loaded. It ends with this one."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        environment = {
            "PATH": os.environ["PATH"], "LANG": "en_US.UTF-8", "TZ": "UTC", **OF_PYTHON,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm", str(theirs.fileno())],
            cwd=ROOT, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        theirs.close()

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: str | Path, streams: Sequence[int]
    ) -> int:
        """Begin a run; its process id."""
        order = Order([*arguments], {**environment}, str(folder), _umask())
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))
        with self._one_at_a_time:
            self._line.sendmsg([json.dumps(asdict(order)).encode()], [rights])
            return int(self._line.recv(_MOST))


def _loaded_for(command: Sequence[str], environment: Mapping[str, str]) -> _Loaded | None:
    """The process to ask for this run; None where it must begin with Python itself, or is no run of the program."""
    if command[0] != sys.executable or not (command[1] == "-c" or command[1].endswith(".py")):
        return None
    to_python = {name: value for name, value in environment.items() if name.startswith("PYTHON")}
    if to_python.get("PYTHONPATH") == str(ROOT):  # where every run looks
        del to_python["PYTHONPATH"]
    cold = "COLD_START" in {**os.environ, **environment} or to_python != OF_PYTHON
    if cold or not sys.platform.startswith("linux"):
        return None
    with _LOADING:
        return _loaded()


@functools.cache
def _loaded() -> _Loaded | None:
    adopts = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    return _Loaded() if adopts else None


def _umask() -> int:
    """The mask of new files, read without being changed for the other threads."""
    rows = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1], 8) for row in rows if row.startswith("Umask:"))


# -- the process that has all loaded


def main(descriptor: int) -> None:
    """Load, then begin a run an order."""
    for name in (*_LIBRARIES, *_modules_of_ours()):
        importlib.import_module(name)
    _make_what_every_run_makes()
    gc.freeze()
    with socket.socket(fileno=descriptor) as line:
        while (ordered := _next_run(line)) is None:
            pass
    if isinstance(ordered, tuple):
        _play(*ordered)


def _modules_of_ours() -> Iterator[str]:
    for room in _OURS:
        yield from (found.name for found in pkgutil.walk_packages([str(ROOT / room)], f"{room}."))


def _make_what_every_run_makes() -> None:
    """The file of a new database, which a process makes once and copies, the tools, and the compiled patterns."""
    from domain.patterns import Guarded, pattern_of
    from interfaces.mcp_server import described_tool
    from interfaces.operations import OPERATIONS
    from storage.sqlite.schema import empty_database, expected_scripts

    empty_database()
    expected_scripts()
    for name, operation in OPERATIONS.items():
        if operation.tool:
            described_tool(name)
    late = type(pattern_of(""))
    for one in gc.get_objects():
        if type(one) is late:
            for use in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub"):
                getattr(one, use)
        elif type(one) is Guarded:
            one.pattern  # noqa: B018


def _next_run(line: socket.socket) -> tuple[Order, list[int]] | bool | None:
    """None once a run has begun; in the run itself its order and streams. False when nobody is left to ask."""
    told, rights, *_ = line.recvmsg(_MOST, socket.CMSG_SPACE(3 * 4))
    if not told:
        return False
    streams = [*array.array("i", rights[0][2])]
    reading, writing = os.pipe()
    # What is between ends at once: the run is an orphan then, and whoever asked adopts it. It is forked past Python,
    # so that lancedb begins its thread anew in the run alone, and none is about to begin while the run is forked.
    if (between := ctypes.PyDLL(None).fork()) == 0:
        if run := os.fork():
            os.write(writing, str(run).encode())
            os._exit(0)
        os.close(reading)
        os.close(writing)
        return Order(**json.loads(told)), streams
    os.waitpid(between, 0)
    line.send(os.read(reading, 32))
    for one in (reading, writing, *streams):
        os.close(one)
    return None


def _play(order: Order, streams: Sequence[int]) -> None:
    """The run: everything as Python would have laid it out, then ``main.py``."""
    os.umask(order.umask)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    time.tzset()
    if os.isatty(streams[0]):
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    kind: dict[str, Any] = {"encoding": "utf-8", "newline": "\n", "closefd": False}
    sys.stdin = open(0, errors="surrogateescape", **kind)  # noqa: SIM115
    sys.stdout = open(1, "w", errors="surrogateescape", **kind)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", **kind)  # noqa: SIM115
    vars(sys).update(__stdin__=sys.stdin, __stdout__=sys.stdout, __stderr__=sys.stderr)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv, sys.path[0] = order.arguments, str(ROOT)
    if order.arguments[0] != "-c":
        sys.path.insert(0, str(Path(order.arguments[0]).resolve().parent))  # where a program looks first
        runpy.run_path(order.arguments[0], run_name="__main__")
    else:
        exec(order.arguments.pop(1), {"__name__": "__main__"})
        # As Python ends, but that it frees nothing: that alone would copy all that is shared with the loaded process.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
