"""How fast an import is, how much memory it takes, and whether kills leave a trace. ``python -m bench.imports --help``.

A synthetic export of ChatGPT goes through the real program (``main.py --import``): once from beginning to end, once
more, and into another folder with kills on the way. The databases are compared by what they hold: every turn with its
session and place, and every posting of the index of words. Vectors are not made here; ``bench.scale`` measures those.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tests.importers.making import chatgpt_export

_ROOT = Path(__file__).resolve().parents[1]
_PROGRAM = [sys.executable, str(_ROOT / "main.py")]
_LOOK = 0.02
#: What a program takes that only looks into an export of nearly nothing.
_SMALL = 100


def main() -> None:
    """Measure, and say what came of it."""
    asked = _arguments()
    folder = Path(asked.folder or tempfile.mkdtemp(prefix="old-friend-imports-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _measure(folder, asked.messages, asked.kills)
    finally:
        if not asked.folder:
            shutil.rmtree(folder, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.imports", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=100_000, help="messages of the export")
    parser.add_argument("--kills", type=int, default=10, help="kills on the way (0: none)")
    parser.add_argument("--folder", help="keep everything here")
    return parser.parse_args()


def _measure(folder: Path, messages: int, kills: int) -> None:
    export, small = folder / "conversations.json", folder / "small.json"
    chatgpt_export(export, messages)
    chatgpt_export(small, _SMALL)
    _say(f"export: {messages:,} messages, {export.stat().st_size / 1e6:.0f} MB")
    _, base, _ = _run(folder, "small", small)
    seconds, peak, processor = _run(folder, "once", export)
    _say(f"imported in {seconds:.1f} s ({processor:.1f} s of a processor), {messages / seconds:,.0f} messages a second")
    _say(f"memory: {peak:.0f} MB at most, {peak - base:.0f} MB above an import of {_SMALL} messages ({base:.0f} MB)")
    once = _content(folder / "once")
    seconds, _, _ = _run(folder, "once", export)
    _say(f"once more: {seconds:.1f} s, {'nothing' if _content(folder / 'once') == once else 'SOMETHING'} added")
    if kills:
        done = _killed(folder / "killed", export, kills, seconds)
        same = _content(folder / "killed") == once
        _say(f"killed {done} times on the way: {'the same' if same else 'NOT the same'} as without a kill")


def _run(folder: Path, name: str, export: Path) -> tuple[float, float, float]:
    """Import a file: seconds, the most memory in MB, and seconds of a processor."""
    began = time.perf_counter()
    process = _started(folder / name, export)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the import ended with {process.returncode}")
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return time.perf_counter() - began, used.ru_maxrss / unit, used.ru_utime + used.ru_stime


def _started(data: Path, export: Path) -> subprocess.Popen[bytes]:
    home = data.with_name(f"{data.name}-home")
    home.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "LOG_DIR": str(home / "logs"), "LANGUAGE": "en"}
    return subprocess.Popen(
        [*_PROGRAM, "--data-dir", str(data), "--import", str(export)],
        cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _killed(data: Path, export: Path, kills: int, seconds: float) -> int:
    """Import with so many kills, each once more has been stored than before; then to the end. Returns how many came."""
    done, messages = 0, 0
    for _ in range(kills):
        process = _started(data, export)
        while process.poll() is None and _messages(data) <= messages:
            time.sleep(_LOOK)
        time.sleep(min(1.0, seconds / (2 * kills)))
        process.send_signal(signal.SIGKILL)
        done += process.wait() == -signal.SIGKILL
        messages = _messages(data)
        _say(f"  killed after {messages:,} messages")
    process = _started(data, export)
    if process.wait():
        raise SystemExit(f"the import ended with {process.returncode}")
    return done


def _messages(data: Path) -> int:
    path = data / "memory.db"
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(path)) as database:
            return int(database.execute("SELECT count(*) FROM conversation").fetchone()[0])
    except sqlite3.Error:  # the program writes, or its file is just being made
        return 0


def _content(data: Path) -> str:
    """A digest of all that was brought along, without ids and the hours of storing."""
    whole = hashlib.sha256()
    with closing(sqlite3.connect(data / "memory.db")) as database:
        for row in _rows(database):
            whole.update(repr(row).encode())
    return whole.hexdigest()


def _rows(database: sqlite3.Connection) -> Iterator[tuple[object, ...]]:
    places = (
        "SELECT row_number() OVER (ORDER BY position), start_timestamp, end_timestamp, status, client, session_id"
        " FROM session WHERE client = 'import' ORDER BY position"
    )
    for place, *session, name in database.execute(places).fetchall():
        yield (place, *session)
        messages = (
            "SELECT c.timestamp, c.role, c.text, c.round, c.compacted, c.position, c.speaker, c.undated, l.length,"
            " l.marks, w.tokens, p.kind FROM conversation c JOIN message_length l ON l.seq = c.seq"
            " JOIN message_words w ON w.rowid = c.seq JOIN pending p USING (text_id)"
            " WHERE c.session_id = ? ORDER BY c.position"
        )
        yield from database.execute(messages, (name,))
        yield from database.execute(
            "SELECT m.summary, m.upto_round, l.length FROM summary m JOIN summary_length l USING (seq)"
            " WHERE m.session_id = ?",
            (name,),
        )
    yield from database.execute(
        "SELECT i.messages, i.due, i.role_play FROM imported_session i JOIN session s USING (session_id)"
        " ORDER BY s.position"
    )
    yield from database.execute("SELECT conversation, message FROM imported_message ORDER BY 1, 2")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
