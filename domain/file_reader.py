"""Reads files that this process may have open as a database: a child process does.

SQLite's locks on a file belong to the process, and closing any other descriptor of the file drops all of them: another
program then writes into the middle of our transaction. So no file of a live database is ever opened here.

As a script this module is the child. What is searched for comes through a pipe: arguments are visible to everybody.
"""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

#: The file of a memory in its folder.
DATABASE = "memory.db"
#: Bytes of a file that are searched at a time.
PART = 1 << 20


def open_bytes(path: Path, count: int = -1) -> BinaryIO:
    """A file to be read; of a memory its first ``count`` bytes as they are now, all by default. Raises OSError."""
    if path.resolve().name != DATABASE or not path.is_file():
        return path.open("rb")
    return io.BytesIO(_run_child(read=str(path.absolute()), count=count))


def find_bytes(
    paths: Iterable[Path], needles: Mapping[str, bytes], besides: Sequence[Path] = (), part: int = PART
) -> tuple[int, list[tuple[Path, str]]]:
    """How many files there are of these and below these folders, and each that has a needle, with the needle's name.

    Links are not followed, and nothing of what is ``besides`` is read. Raises OSError where a file cannot be read.
    """
    sought = {name: base64.b64encode(needle).decode() for name, needle in needles.items()}
    places = {"paths": [str(path.absolute()) for path in paths], "besides": [str(path.absolute()) for path in besides]}
    found = json.loads(_run_child(needles=sought, part=part, **places))
    return found["files"], [(Path(path), name) for path, name in found["traces"]]


def find_in_parts(parts: Iterable[bytes], needles: Mapping[str, bytes]) -> list[str]:
    """The names of the needles that bytes have which are read in parts; the rest is not read once all are found."""
    left = dict(needles)
    overlap = max(map(len, needles.values()), default=1) - 1
    present, tail = list[str](), b""
    for part in parts if left else ():
        window = tail + part
        found = [name for name, needle in left.items() if needle in window]
        present += found
        left = {name: needle for name, needle in left.items() if name not in found}
        if not left:
            break
        tail = window[-overlap:] if overlap else b""
    return present


def _run_child(**request: object) -> bytes:
    command = [sys.executable, "-ISB", __file__]
    ended = subprocess.run(command, input=json.dumps(request).encode(), capture_output=True, check=False)
    if ended.returncode:
        raise OSError(ended.returncode, os.strerror(ended.returncode), *ended.stderr.decode().splitlines()[-1:])
    return ended.stdout


def _answer(request: dict[str, Any]) -> bytes:
    if path := request.get("read"):
        with open(path, "rb") as file:
            return file.read(request["count"])
    needles = {name: base64.b64decode(needle) for name, needle in request["needles"].items()}
    files = list(_files_below(request["paths"], set(request["besides"])))
    traces = [(path, name) for path in files for name in _find_in_file(path, needles, request["part"])]
    return json.dumps({"files": len(files), "traces": traces}).encode()


def _files_below(paths: Iterable[str], besides: set[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isfile(path):
            yield path
        for place, below, names in os.walk(path):
            below[:] = sorted(name for name in below if os.path.join(place, name) not in besides)
            paths = (os.path.join(place, name) for name in sorted(names))
            yield from (one for one in paths if os.path.isfile(one) and not os.path.islink(one) and one not in besides)


def _find_in_file(path: str, needles: Mapping[str, bytes], size: int) -> list[str]:
    with suppress(FileNotFoundError), open(path, "rb") as file:
        return find_in_parts(iter(lambda: file.read(size), b""), needles)
    return []


if __name__ == "__main__":
    try:
        sys.stdout.buffer.write(_answer(json.load(sys.stdin)))
    except OSError as fault:
        sys.stderr.write(str(fault.filename))
        sys.exit(fault.errno)
