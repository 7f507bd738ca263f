"""How the memory of the process grows with what is written. ``python -m bench.growth --help``.

Each way of writing runs in a process of its own: ``memory`` stores rounds, as a chat does, and archives a session after
every twenty; ``process`` says one thing after another through the verb of the memory service, which recalls as well.
A line for every thousand writes tells what is resident, and how much of that the program holds on purpose, which grows
with what is stored: the rows of the vector index and the table of messages in memory.

Bar: what is resident beyond that after all writes is at most a tenth more than after the first three thousand.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from bench import life
from bench.serve import HOUSE, opened
from people import ME, Companion, People

#: LanceDB begins its indexes, with their threads, within the first writes.
_EACH, _WARM = 1_000, 3_000
_BAR = 1.10
_PATIENCE = 60.0
#: So many writes may wait for the index at the most, so that it is measured at work and not behind.
_UNSETTLED = 50
#: Bytes of a number of a vector in memory.
_BYTES_A_NUMBER = 4
#: Messages that are made up before they are said again.
_DIFFERENT = 2_000
_WHEN = "2026-01-01T09:00:00+00:00"


def main() -> None:
    """Print a line for every thousand writes, and end with 1 where the bar was not held."""
    asked = _arguments()
    if asked.folder:
        sys.exit(_measure(asked))
    failed = False
    for way in asked.ways.split(","):
        with tempfile.TemporaryDirectory(prefix="old-friend-growth-") as folder:
            command = [sys.executable, "-m", "bench.growth", "--ways", way, "--folder", folder]
            command += ["--writes", str(asked.writes), "--embedding-model", asked.embedding_model]
            failed |= subprocess.run(command, check=False, cwd=HOUSE).returncode != 0
    sys.exit(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.growth", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ways", default=",".join(_WAYS), help=f"of {', '.join(_WAYS)}")
    parser.add_argument("--writes", type=int, default=10_000)
    parser.add_argument("--embedding-model", default="", help="as EMBEDDING_MODEL; our own where it is empty")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.set_defaults(base="http://127.0.0.1:9/v1", database="")
    return parser.parse_args()


def _measure(asked: argparse.Namespace) -> int:
    beyond = {}
    with opened(asked) as people, people.companion(ME) as companion:
        people.prepare()
        for count, _ in enumerate(_WAYS[asked.ways](companion, people), 1):
            if not count % _UNSETTLED:
                companion.memory.index.settle(_PATIENCE)
            if not count % _EACH:
                beyond[count] = _line(asked.ways, count, companion)
            if count == asked.writes:
                break
    last, first = max(beyond), min(_WARM, max(beyond))
    grown = beyond[last] / beyond[first]
    print(f"{asked.ways}: {grown:.2f} times from {first} to {last} writes (bar {_BAR:.2f})", flush=True)
    return int(grown > _BAR)


def _line(way: str, count: int, companion: Companion) -> float:
    """Print what is resident now. Returns how much of it is no index, in megabytes."""
    companion.memory.index.settle(_PATIENCE)
    gc.collect()
    status = companion.memory.index.status()
    resident = _resident()
    rows = status.vectors * (status.dimension or 0) * _BYTES_A_NUMBER / 1e6
    print(
        f"{way}: {count} writes, resident {resident:.1f} MB, of these {rows:.1f} MB for {status.vectors} vectors; "
        f"{len(os.listdir('/proc/self/fd'))} open files, {len(gc.get_objects())} objects",
        flush=True,
    )
    return resident - rows


def _resident() -> float:
    """What this process has in memory now, in megabytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# -- the ways of writing, an item for each write -------------------------------------------------------------------


def _rounds(companion: Companion, people: People) -> Iterator[None]:
    memory = companion.memory
    memory.start()
    session, _ = memory.sessions.resume_or_start()
    for spoken in cycle(list(life.sessions(_DIFFERENT))):
        for user, assistant in spoken.rounds:
            memory.rounds.store(session.session_id, user, assistant, _WHEN, "stop")
            yield
        session = memory.rounds.save(session.session_id, spoken.summary, {})


def _processed(companion: Companion, people: People) -> Iterator[None]:
    from interfaces.service.memory_service import MemoryService

    service = MemoryService(people)
    for number, spoken in enumerate(cycle(list(life.sessions(_DIFFERENT)))):
        for user, _ in spoken.rounds:
            service.process(f"{user} ({number})", ME)  # what is said twice in one session is stored once
            yield


_WAYS: dict[str, Callable[[Companion, People], Iterator[None]]] = {"memory": _rounds, "process": _processed}

if __name__ == "__main__":
    main()
