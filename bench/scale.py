"""How speed and size change as a life grows. ``python -m bench.scale --help``.

Everything goes through the real ``Memory``: rounds are stored and sessions archived as in life (many in one
transaction, which only saves time), the real worker makes the vectors and the index. Each measurement runs in
a process of its own. With ``--peers`` the plain ways of storing vectors run beside it in the same run, in a
virtual environment of their own; what cannot be installed there is skipped with a line.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import life

if TYPE_CHECKING:
    from domain.records import Kind
    from memory import Memory
    from storage.repositories import OnServer, Repositories

_FILL_AT_ONCE = 200
#: What the folder of a memory in a database ends with; beside it is that of the same memory in a folder.
_IN_DATABASE = "-postgres"
_QUESTIONS = 60
_ASKED_FOR: tuple[tuple[Kind, int], ...] = (("conversation", 300), ("summary", 60))
_A_LONG_TIME = 36_000.0
_WHEN = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)


def main() -> None:
    """Run what was asked for, and print a table."""
    asked = _arguments()
    if asked.one:
        print(json.dumps(_MEASURES[asked.one](asked)))
        return
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="old-friend-scale-"))
    try:
        _report(asked, folder)
    finally:
        if not asked.folder:
            shutil.rmtree(folder, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.scale", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", default="1000,100000,1000000", help="turns stored, separated by commas")
    parser.add_argument("--dimension", type=int, default=384, help="length of the vectors")
    parser.add_argument("--rounds", type=int, default=10_000, help="rounds stored one by one (0: leave out)")
    parser.add_argument("--folder", help="keep the stores here and use them again")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite", help="measure this one too")
    parser.add_argument("--database", default="", help="URL of a prepared database, for --store postgres")
    parser.add_argument("--peers", action="store_true", help="measure the plain ways of storing vectors too")
    parser.add_argument("--peer-sizes", default="10000,100000", help="rows they store, separated by commas")
    parser.add_argument("--peer-rows", type=int, default=1_000, help="rows they store one by one after that")
    parser.add_argument("--one", choices=sorted(_MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def _report(asked: argparse.Namespace, folder: Path) -> None:
    sizes = _numbers(asked.sizes)
    results = {}
    for size in sizes:
        for url in ("", asked.database) if asked.store == "postgres" else ("",):
            store = folder / f"{size}{_IN_DATABASE if url else ''}"
            if not store.exists():
                _say(_run(asked, "fill", size, store, url))
            measured = [_run(asked, measure, size, store, url) for measure in ("recall", "nearest", "store")]
            found = {name: value for part in measured for name, value in part.items()}
            _say({"store": "postgres" if url else "sqlite"} | found)
            if not url:
                results[size] = found
            else:
                for name in ("store_round_ms", "recall_ms", "question_ms"):
                    print(f"{name}: postgres / sqlite = {found[name] / results[size][name]:.2f}")
    if len(sizes) > 1:
        few, many = results[sizes[0]], results[sizes[-1]]
        for name in ("store_round_ms", "bytes_a_turn", "recall_ms"):
            print(f"{name}: {sizes[-1]} turns / {sizes[0]} turns = {many[name] / few[name]:.2f}")
    if asked.rounds:
        _say(_run(asked, "one_by_one", asked.rounds, folder / "one-by-one"))
    if asked.peers:
        from bench import scale_peers

        scale_peers.report(_numbers(asked.peer_sizes), asked.dimension, asked.peer_rows, folder)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _run(asked: argparse.Namespace, measure: str, size: int, folder: Path, url: str = "") -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.scale", "--one", measure, "--size", str(size)]
    command += ["--folder", str(folder), "--dimension", str(asked.dimension), "--database", url]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[1])
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _say(measured: dict[str, Any]) -> None:
    shown = (
        f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}" for name, value in measured.items()
    )
    print("  ".join(shown), flush=True)


# -- what is measured, each in its own process -------------------------------------------------------------


def _fill(asked: argparse.Namespace) -> dict[str, Any]:
    """A store of ``size`` turns; in a database the one that is in a folder already, moved there."""
    from storage.moving import move_memory

    began = time.perf_counter()
    if asked.database:
        move_memory(Path(asked.folder.removesuffix(_IN_DATABASE)), _place(asked), _open)
    memory = _memory(asked)
    held: list[life.Spoken] = []
    for spoken in life.sessions(0 if asked.database else asked.size):
        held.append(spoken)
        if len(held) == _FILL_AT_ONCE:
            _store(memory, held)
            held = []
    _store(memory, held)
    stored = time.perf_counter()
    memory.index.start()
    settled = memory.index.settle(_A_LONG_TIME)
    ended = time.perf_counter()
    memory.close()
    return {"fill": asked.size, "store_s": stored - began, "index_s": ended - stored, "settled": settled}


def _store(memory: Memory, held: Sequence[life.Spoken]) -> None:
    with memory.in_one_commit():
        for spoken in held:
            session, _ = memory.sessions.resume_or_start()
            for user, assistant in spoken.rounds:
                memory.rounds.store(session.session_id, user, assistant, _WHEN.isoformat(), "stop")
            memory.rounds.save(session.session_id, spoken.summary, {})


def _recall(asked: argparse.Namespace) -> dict[str, Any]:
    """Recall as before every reply, with the last round and the new input.

    A question that looks for something and a remark that only says something are both searched for twice: alone, and
    with the last round.
    """
    import config

    settings = config.load_settings(Path(asked.folder), {})
    memory = _memory(asked)
    session, _ = memory.sessions.resume_or_start()
    began, busy = time.perf_counter(), time.process_time()
    memory.recall(["a first question"], session.session_id, _WHEN, settings.recall_limits, gated=False)
    answered, answered_busy = time.perf_counter() - began, time.process_time() - busy
    ready = memory.index.settle(_A_LONG_TIME)
    opened, opened_busy = time.perf_counter() - began, time.process_time() - busy
    took: dict[bool, list[float]] = {False: [], True: []}
    found = 0
    for words, last_round in _questions(asked.size):
        for seeks, said in ((False, f"{words}."), (True, f"What was it about {words}?")):
            began = time.perf_counter()
            recalled = memory.recall([last_round, said], session.session_id, _WHEN, settings.recall_limits, gated=False)
            took[seeks].append((time.perf_counter() - began) * 1000)
            found += bool(recalled.messages)
    resident, peak = _memory_used()
    memory.close()
    return {
        "turns": asked.size,
        "ready": ready,
        "first_answer_s": answered,
        "first_answer_cpu_s": answered_busy,
        "open_s": opened,
        "open_cpu_s": opened_busy,
        "recall_ms": statistics.median(took[False]),
        "p95_ms": _p95(took[False]),
        "question_ms": statistics.median(took[True]),
        "question_p95_ms": _p95(took[True]),
        "found": found / (2 * _QUESTIONS),
        "resident_mb": resident,
        "peak_mb": peak,
    }


def _nearest(asked: argparse.Namespace) -> dict[str, Any]:
    """The searches of the vector index alone, as recall asks them: 300 turns and 60 summaries."""
    embedder, memory = life.WordSums(asked.dimension), _memory(asked)
    memory.index.start()
    memory.index.settle(_A_LONG_TIME)
    took: dict[Kind, list[float]] = {"conversation": [], "summary": []}
    for question, _ in _questions(asked.size):
        for kind, limit in _ASKED_FOR:
            query = embedder.embed([question])[0]
            assert query is not None
            began = time.perf_counter()
            memory.index.nearest(query, kind, limit)
            took[kind].append((time.perf_counter() - began) * 1000)
    memory.close()
    return {f"nearest_{kind}_ms": statistics.median(times) for kind, times in took.items()}


def _questions(size: int) -> list[tuple[str, str]]:
    """Some words, and a last round, of what was said here and there."""
    spoken = [item for item, _ in zip(life.sessions(size), range(_QUESTIONS), strict=False)]
    rounds = [item.rounds[at % len(item.rounds)] for at, item in enumerate(spoken)]
    while len(rounds) < _QUESTIONS:
        rounds += rounds
    return [(" ".join(user.split()[:8]), f"{user}\n{reply}") for user, reply in rounds[:_QUESTIONS]]


def _store_round(asked: argparse.Namespace) -> dict[str, Any]:
    """A round more, as the person waits for it, and its way into the index behind their back."""
    memory = _memory(asked)
    memory.index.start()
    memory.index.settle(_A_LONG_TIME)
    session, _ = memory.sessions.resume_or_start()
    waited, indexed = [], []
    for number in range(40):
        began = time.perf_counter()
        memory.rounds.store(session.session_id, f"another word {number}", "and an answer", _WHEN.isoformat(), "stop")
        stored = time.perf_counter()
        memory.index.settle(60)
        waited.append((stored - began) * 1000)
        indexed.append((time.perf_counter() - stored) * 1000)
    while memory.rounds.undo(session.session_id, 40):
        pass
    memory.index.settle(60)
    _, peak = _memory_used()
    memory.close()
    files, total = _size(Path(asked.folder))
    return {
        "store_round_ms": statistics.median(waited),
        "index_round_ms": statistics.median(indexed),
        "peak_with_upkeep_mb": peak,
        "files": files,
        "megabytes": total / 1e6,
        "bytes_a_turn": total / asked.size,
    }


def _one_by_one(asked: argparse.Namespace) -> dict[str, Any]:
    """Rounds stored one after another, each waiting until it is indexed, as in a very long evening."""
    memory = _memory(asked)
    memory.index.start()
    session, _ = memory.sessions.resume_or_start()
    began = time.perf_counter()
    for spoken in life.sessions(asked.size * 2):
        for user, assistant in spoken.rounds:
            memory.rounds.store(session.session_id, user, assistant, _WHEN.isoformat(), "stop")
            assert memory.index.settle(60)
        session = memory.rounds.save(session.session_id, spoken.summary, {})
    took = time.perf_counter() - began
    memory.close()
    files, total = _size(Path(asked.folder) / "vectors")
    vectors = asked.size * 2 * asked.dimension * 4
    return {
        "one_by_one": asked.size,
        "ms_a_round": took / asked.size * 1000,
        "files": files,
        "megabytes": total / 1e6,
        "bytes_of_vectors": total / vectors,
    }


# -- helpers -----------------------------------------------------------------------------------------------


def _memory(asked: argparse.Namespace) -> Memory:
    from memory import Memory

    embedder = life.WordSums(asked.dimension)
    return Memory(_place(asked), embedder, clock=life.Clock(), new_id=_new_id, log=logging.getLogger("bench"))


def _place(asked: argparse.Namespace) -> Path | OnServer:
    from memory import own_place

    return own_place(Path(asked.folder), asked.database, str(Path(asked.folder)))


def _open(place: Path | OnServer) -> Repositories:
    from language.words import tokens
    from storage.engine import Stamp
    from storage.repositories import Repositories

    return Repositories(place, tokens, Stamp(life.Clock(), _new_id), logging.getLogger("bench"))


def _new_id() -> str:
    return uuid.uuid4().hex


def _size(folder: Path) -> tuple[int, int]:
    sizes = [os.path.getsize(path) for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _memory_used() -> tuple[float, float]:
    """Resident now and at the most, in megabytes (Linux)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(lines["VmRSS"].split()[0]) / 1024, int(lines["VmHWM"].split()[0]) / 1024


_MEASURES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "fill": _fill,
    "recall": _recall,
    "store": _store_round,
    "nearest": _nearest,
    "one_by_one": _one_by_one,
}

if __name__ == "__main__":
    main()
