"""How long a person waits for the first prompt, and how quickly keys answer. ``python -m bench.start
--help``.

The program runs in a pseudo-terminal with a memory of many sessions, as it does for a person. With
peers, other chat programs that pip can install start beside it in the same run, in turn, from a
virtual environment of their own (``.venv/peers``): trust the ratios. What cannot be installed is
skipped with a line.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench import life

HOUSE = Path(__file__).parents[1]
_ROUNDS_OF_A_SESSION = 4
_PATIENCE = 60.0
_KEYS = 60
_BETWEEN_KEYS = 0.05
#: The cursor is shown when the line editor has drawn its prompt.
_OURS = b"\x1b[?25h"
#: Seconds after the prompt at which the first key is pressed while the companion speaks first, or could.
_FIRST_KEYS = (0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0)
_SAID = "I have a job interview at the harbour office."


@dataclass(frozen=True)
class Program:
    """Something that shows a prompt: how it is started, and what its prompt looks like."""

    name: str
    command: tuple[str, ...]
    prompt: bytes
    package: str = ""


PEERS = (
    Program("llm chat", ("llm", "chat", "-m", "gpt-4o-mini"), b"\n> ", "llm"),
    Program("sgpt --repl", ("sgpt", "--repl", "temp"), b">>> ", "shell-gpt"),
)


def main() -> None:
    """Measure, and print a table."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="old-friend-start-") as folder:
        home = Path(folder)
        (home / "env").touch(0o600)
        _remember(home / "data", asked.sessions)
        if asked.greeting:
            _report_first_keys(home, asked.runs)
            return
        ours = (
            sys.executable,
            str(HOUSE / "main.py"),
            "--data-dir",
            str(home / "data"),
            "--env-file",
            str(home / "env"),
        )
        programs = [Program(f"Old Friend, {asked.sessions} sessions", ours, _OURS)]
        programs += [] if asked.alone else list(_installed_peers())
        _report(programs, asked.runs, _environment(home))
        helped = [_seconds((*ours[:2], "--help"), _environment(home)) for _ in range(asked.runs)]
        print(f"{'--help':32} {statistics.median(helped):7.3f} s")
        delays = _key_delays(ours, _environment(home))
        print(f"{'a key, while libraries load':32} {statistics.median(delays):7.3f} s, at most {max(delays):.3f} s")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=1_000, help="archived sessions that are remembered")
    parser.add_argument("--runs", type=int, default=9, help="how often each program is started")
    parser.add_argument("--greeting", action="store_true", help="the first key alone, with a greeting and without")
    parser.add_argument("--alone", action="store_true", help="without other programs")
    return parser.parse_args()


def _report(programs: Sequence[Program], runs: int, environment: Mapping[str, str]) -> None:
    """Start all programs in turn, and print the medians beside our own."""
    waited: dict[str, list[float]] = {program.name: [] for program in programs}
    for _ in range(runs + 1):
        for program in programs:
            waited[program.name].append(_to_prompt(program, environment))
    first = statistics.median(waited[programs[0].name][1:])
    for name, seconds in waited.items():
        median = statistics.median(seconds[1:])
        print(f"{name:32} {median:7.3f} s to the prompt, {median / first:5.2f} times ours")


class _Model(BaseHTTPRequestHandler):
    """A model that greets a word at a time, as a slow one does."""

    def do_POST(self) -> None:
        """One streamed reply."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for word in ("How ", "did ", "the ", "interview ", "go? ", "Tell ", "me."):
                time.sleep(0.2)
                choice = {"index": 0, "delta": {"content": word}}
                chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.flush()
        except OSError:
            pass  # a key was pressed

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _report_first_keys(home: Path, runs: int) -> None:
    """The first key at different moments after the prompt, in turn with a greeting that is being made and without."""
    _make_due(home / "data")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    waited: dict[str, list[float]] = {"off": [], "on": []}
    base = f"http://127.0.0.1:{server.server_address[1]}/v1"
    given = {"OPENAI_API_BASE": base, "OPENAI_API_KEY": "sk-none", "CHAT_MODEL": "m", "EMBEDDING_MODEL": "built-in"}
    for number in range(runs):
        for greeting, delays in waited.items():
            data = home / f"data-{number}-{greeting}"
            shutil.copytree(home / "data", data)
            command = (sys.executable, str(HOUSE / "main.py"), "--data-dir", str(data), "--env-file", str(home / "env"))
            settings = {**_environment(home), **given, "GREETING": greeting, "DIARY": "off"}
            delays.append(_first_key(command, settings, _FIRST_KEYS[number % len(_FIRST_KEYS)]))
            shutil.rmtree(data)
    server.shutdown()
    for greeting, delays in waited.items():
        print(f"the first key, GREETING={greeting:8} {statistics.median(delays):7.3f} s, at most {max(delays):.3f} s")


def _first_key(command: Sequence[str], environment: Mapping[str, str], after: float) -> float:
    from pexpect import spawn

    process = spawn(command[0], list(command[1:]), env=dict(environment), encoding=None)
    process.delaybeforesend = None
    try:
        process.expect_exact(_OURS, timeout=_PATIENCE)
        time.sleep(after)
        return _delay(process.send, process.expect_exact, b"q")
    finally:
        process.kill(signal.SIGKILL)
        process.wait()
        process.close()


def _make_due(folder: Path) -> None:
    """An interview that was told of three days ago, and was yesterday."""
    from domain.facts import Learned, Window
    from domain.matters import NewMatter
    from memory import Memory
    from recall.embedding import HashedEmbedder

    log, now = logging.Logger("bench", logging.CRITICAL), datetime.now().astimezone()
    memory = Memory(folder, HashedEmbedder(), clock=life.Clock(), new_id=lambda: uuid.uuid4().hex, log=log)
    day, last = ((now + timedelta(days)).date().isoformat() for days in (-1, 9))
    try:
        session, _ = memory.sessions.resume_or_start()
        then = (now - timedelta(days=3)).isoformat(timespec="seconds")
        spoken = memory.rounds.store(session.session_id, _SAID, "Good luck!", then, "stop", ended=then)
        ids = tuple(one.text_id for one in spoken.messages)
        matter = NewMatter("event", ids[0], 0, len(_SAID), due_from=day, due_to=day, precision="day",
                           key="harbour interview job office", next_review=day, expires=last)  # fmt: skip
        memory.fact_log.learn(Learned(Window(ids[1], session.session_id, ids)), [matter])
    finally:
        memory.close()


def _remember(folder: Path, sessions: int) -> None:
    """A memory with so many archived sessions, its index in place."""
    from memory import Memory
    from recall.embedding import HashedEmbedder

    memory = Memory(
        folder,
        HashedEmbedder(),
        clock=life.Clock(),
        new_id=lambda: uuid.uuid4().hex,
        log=logging.Logger("bench", logging.CRITICAL),
    )
    try:
        spoken = life.sessions(sessions * 2 * life.ROUNDS_OF_A_SESSION)
        for _, each in zip(range(sessions), spoken, strict=False):
            session, _ = memory.sessions.resume_or_start()
            for user, assistant in each.rounds[:_ROUNDS_OF_A_SESSION]:
                memory.rounds.store(session.session_id, user, assistant, session.start_timestamp, "stop")
            memory.rounds.save(session.session_id, each.summary, {})
        memory.start()
        memory.index.settle(600)
    finally:
        memory.close()


def _environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "", "LOG_DIR": str(home / "logs"),
    }  # fmt: skip


def _to_prompt(program: Program, environment: Mapping[str, str]) -> float:
    """Seconds from the start of the process until its prompt stands."""
    from pexpect import spawn

    needed = {"OPENAI_API_KEY": "sk-none"} if program.package else {}
    began = time.perf_counter()
    process = spawn(program.command[0], list(program.command[1:]), env={**environment, **needed}, encoding=None)
    process.delaybeforesend = None
    try:
        process.expect_exact(program.prompt, timeout=_PATIENCE)
        return time.perf_counter() - began
    finally:
        process.close(force=True)


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=dict(environment), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _key_delays(command: Sequence[str], environment: Mapping[str, str]) -> list[float]:
    """Seconds from each key to its echo, from the moment in which the prompt stands."""
    from pexpect import spawn

    process = spawn(command[0], list(command[1:]), env=dict(environment), encoding=None)
    process.delaybeforesend = None
    try:
        process.expect_exact(_OURS, timeout=_PATIENCE)
        return [_delay(process.send, process.expect_exact, letter) for letter in _letters()]
    finally:
        process.close(force=True)


def _letters() -> list[bytes]:
    return [b"abcdefghij"[at % 10 : at % 10 + 1] for at in range(_KEYS)]


def _delay(send: Callable[[bytes], int], expect: Callable[..., int], letter: bytes) -> float:
    began = time.perf_counter()
    send(letter)
    expect(letter, timeout=_PATIENCE)
    seconds = time.perf_counter() - began
    time.sleep(_BETWEEN_KEYS)
    return seconds


def _installed_peers() -> list[Program]:
    """The peers that can be installed here, by the paths of their programs."""
    place = HOUSE / ".venv" / "peers"
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    found = []
    for peer in PEERS:
        pip = [
            str(place / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            peer.package,
        ]
        if subprocess.run(pip, capture_output=True, check=False).returncode != 0:
            print(f"{peer.name}: skipped, {peer.package} cannot be installed here")
            continue
        path = str(place / "bin" / peer.command[0])
        found.append(Program(peer.name, (path, *peer.command[1:]), peer.prompt, peer.package))
    return found


if __name__ == "__main__":
    main()
