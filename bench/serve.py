"""Many people at once, over HTTP: does anything go wrong, does anything leak, what does the memory cost.

``python -m bench.serve --help``

A real server process with real memories, a scripted model of 50 ms on loopback, and people who each say something
through ``/api/v1/chat``, read the reply, think for a while and go on. Every person has a marker word of their own: one
found in another's prompt, answer or file, or in any log, is a leak. The cost of a round is its time as the person sees
it, less the time of the model. The same rounds go through the terminal's way, ``Conversation.turn`` in one process, in
the same run.

Bars: no errors, no leaks, a cost of 60 ms at the median and of 250 ms at the 95th percentile, resident memory that does
not grow with the people known.

With ``--database`` several server processes share a prepared PostgreSQL database, each person with one of them, as
behind a balancer: all ``--known`` people say something, then ``--people`` of them go on until there were ``--writes``
rounds. Bars: 300 ms at the 95th percentile, resident memory flat within a tenth while they do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from bench import life
from bench.scripted_model import MARKER, Model, marker_of, posted, scripted_model

if TYPE_CHECKING:
    from people import People, Registry

HOUSE = Path(__file__).parents[1]
#: What the cost of a round may be, in milliseconds, and how much the memory may grow between the first people and all.
_MEDIAN_BAR, _P95_BAR, _GROWTH_BAR = 60.0, 250.0, 1.15
#: The same of servers that share a database.
_SHARED_P95_BAR, _SHARED_GROWTH_BAR = 300.0, 1.1
#: How many messages people who go on for long send again, and after how many rounds the memory is looked at.
_SENT_AGAIN, _LOOKED_EVERY = 20, 1_000
_MARKER_BYTES = re.compile(MARKER.pattern.encode())


def main() -> None:
    """Measure, print a line for each figure, and end with 1 where a bar was not held."""
    asked = _arguments()
    if asked.one == "http":
        _serve(asked)
    elif asked.one == "terminal":
        _talk(asked)
    else:
        with tempfile.TemporaryDirectory(prefix="old-friend-serve-") as folder:
            sys.exit(asyncio.run((_measure_shared if asked.database else _measure)(asked, Path(folder))))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.serve", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--people", type=int, default=200, help="people at once")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each")
    parser.add_argument("--known", type=int, default=1_000, help="people known in the end")
    parser.add_argument("--think", type=float, default=10.0, help="seconds from a reply to the next words")
    parser.add_argument("--rate", type=float, default=20.0, help="rounds a second, with --database")
    parser.add_argument("--model", type=float, default=0.05, help="seconds that the model takes")
    parser.add_argument("--embedding-model", default="", help="as EMBEDDING_MODEL; our own where it is empty")
    parser.add_argument("--database", default="", help="URL of a prepared, empty database, for servers that share it")
    parser.add_argument("--servers", type=int, default=2, help="so many of these")
    parser.add_argument("--writes", type=int, default=20_000, help="rounds that are stored by them")
    parser.add_argument("--one", choices=("http", "terminal"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--base", help=argparse.SUPPRESS)
    return parser.parse_args()


# -- the run -------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What was measured and what went wrong."""

    costs: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


async def _measure(asked: argparse.Namespace, folder: Path) -> int:
    async with scripted_model(asked.model) as model:
        terminal = await asyncio.to_thread(_terminal_costs, asked, folder / "terminal", model)
        with _server(asked, folder / "served", model) as served:
            await _round(served, model, Seen(), asked.known, "somebody before all others")
            for person in range(asked.people):
                await asyncio.to_thread(served.meet, person)
            seen, resident = Seen(), [served.resident()]
            worked, began = served.worked(), time.perf_counter()
            await _everybody(asked, served, model, seen)
            worked, took = served.worked() - worked, time.perf_counter() - began
            print(
                f"the server's work: {worked / len(seen.costs) * 1000:.1f} ms of a processor a round, "
                f"{worked / took * 100:.0f}% of one all the while"
            )
            resident.append(served.resident())
            await _newcomers(asked, served, model, seen)
            resident.append(served.resident())
    seen.leaks += [*model.leaks, *_leaks_in_files(asked, folder / "served")]
    return _report(asked, seen, terminal, resident)


async def _measure_shared(asked: argparse.Namespace, folder: Path) -> int:
    """Several servers on one database, and what each takes of the memory of the machine meanwhile."""
    async with scripted_model(asked.model) as model:
        with ExitStack() as running:
            servers = [
                running.enter_context(_server(asked, folder / f"served-{number}", model))
                for number in range(asked.servers)
            ]

            def look(when: str) -> list[float]:
                resident = [one.resident() for one in servers]
                print(f"{when}: {', '.join(f'{one:.0f}' for one in resident)} MB resident", flush=True)
                return resident

            look("at the start")
            first, said = Seen(), iter(_rounds(asked.known + asked.writes))
            await _in_turn(servers, model, first, range(asked.known), said, 8)
            before, seen, began = (
                look(f"with {asked.known} people known"),
                Seen(errors=first.errors),
                time.perf_counter(),
            )
            worked = -sum(one.worked() for one in servers)
            people = [number % asked.people for number in range(asked.writes)]
            for start in range(0, asked.writes, _LOOKED_EVERY):
                part = people[start : start + _LOOKED_EVERY]
                await _in_turn(servers, model, seen, part, said, round(asked.rate * asked.model) + 1, 1 / asked.rate)
                after = look(f"after {start + len(part)} rounds, p95 {_p95(seen.costs[-_LOOKED_EVERY:]):.0f} ms")
            took = time.perf_counter() - began
            worked += sum(one.worked() for one in servers)
    grown, p95 = max(new / old for new, old in zip(after, before, strict=True)), _p95(seen.costs)
    print(f"people {asked.known}, of them active {asked.people}, servers {asked.servers}")
    first_round = statistics.median(first.costs)
    print(f"rounds {len(seen.costs)}, {len(seen.costs) / took:.1f} a second; a first round {first_round:.0f} ms")
    print(f"the servers' work: {worked / len(seen.costs) * 1000:.1f} ms of a processor a round")
    print(f"errors {len(seen.errors)}, words of one person found with another {len(model.leaks) + len(seen.leaks)}")
    print(
        f"cost of a round: median {statistics.median(seen.costs):.0f} ms, p95 {p95:.0f} ms (bar {_SHARED_P95_BAR:.0f})"
    )
    print(f"resident memory grew {grown:.2f} times (bar {_SHARED_GROWTH_BAR})")
    for wrong in [*seen.errors, *model.leaks, *seen.leaks][:10]:
        print(f"  {wrong}")
    held = p95 < _SHARED_P95_BAR and grown < _SHARED_GROWTH_BAR
    return 0 if held and not seen.errors and not model.leaks and not seen.leaks else 1


async def _in_turn(
    servers: Sequence[Served],
    model: Model,
    seen: Seen,
    people: Iterable[int],
    said: Iterator[str],
    most: int,
    pause: float = 0.0,
) -> None:
    """A round of each of these people, ``pause`` seconds after one another as far as at most ``most`` wait."""
    at_once, rounds = asyncio.Semaphore(most), list[asyncio.Task[None]]()

    async def say(person: int, words: str) -> None:
        try:
            served = servers[person % len(servers)]
            await _round(served, model, seen, person, words)
            del served.histories[person][:-_SENT_AGAIN]
        finally:
            at_once.release()

    for person in people:
        await at_once.acquire()
        rounds.append(asyncio.create_task(say(person, next(said))))
        await asyncio.sleep(pause)
    await asyncio.gather(*rounds)


async def _everybody(asked: argparse.Namespace, served: Served, model: Model, seen: Seen) -> None:
    """All people at once, each one round after the other."""
    rounds = _rounds(asked.rounds)

    async def live(person: int) -> None:
        chance = random.Random(person)
        await asyncio.sleep(chance.random() * asked.think)
        for said in rounds:
            await _round(served, model, seen, person, said)
            await asyncio.sleep(asked.think * (0.5 + chance.random()))

    await asyncio.gather(*(live(person) for person in range(asked.people)))


async def _newcomers(asked: argparse.Namespace, served: Served, model: Model, seen: Seen) -> None:
    """A round each of people who were never here, so that others have to be closed for them; not measured."""
    (said,) = _rounds(1)
    others = Seen(errors=seen.errors, leaks=seen.leaks)
    at_once = asyncio.Semaphore(4)

    async def come(person: int) -> None:
        async with at_once:
            await _round(served, model, others, person, said)

    await asyncio.gather(*(come(person) for person in range(asked.people, asked.known)))
    if others.costs:
        print(f"a first round, four at a time: {statistics.median(others.costs):.0f} ms besides the model")


async def _round(served: Served, model: Model, seen: Seen, person: int, said: str) -> None:
    """One round of one person, and what it cost."""
    await asyncio.to_thread(served.meet, person)
    marker, before = marker_of(person), model.spent.get(marker_of(person), 0.0)
    began = time.perf_counter()
    try:
        reply = await _said(served, person, f"{marker} {said}")
    except (OSError, ValueError, asyncio.IncompleteReadError) as fault:
        seen.errors.append(f"{marker}: {fault!r}")
        return
    took = time.perf_counter() - began
    seen.costs.append((took - (model.spent.get(marker, 0.0) - before)) * 1000)
    seen.first += seen.costs[-1:] if len(served.histories[person]) == 2 else []
    if found := set(MARKER.findall(reply)) - {marker}:
        seen.leaks.append(f"an answer to {marker} holds {found}")


async def _said(served: Served, person: int, text: str) -> str:
    """Say something as a person: the one place that knows the address and its bodies."""
    told = [*served.histories[person], {"role": "user", "content": text}]
    body = json.dumps({"messages": told}).encode()
    answer = await posted(served.port, "/api/v1/chat", body, served.tokens[person])
    reply = json.loads(answer)["message"]
    assert isinstance(reply, str)
    served.histories[person] = [*told, {"role": "assistant", "content": reply}]
    return reply


def _report(asked: argparse.Namespace, seen: Seen, terminal: Sequence[float], resident: Sequence[float]) -> int:
    median, p95, alone = statistics.median(seen.costs), _p95(seen.costs), statistics.median(terminal)
    grown = resident[2] / resident[1]
    print(f"people {asked.people}, rounds {len(seen.costs)}, the model takes {asked.model * 1000:.0f} ms")
    print(f"errors {len(seen.errors)}, words of one person found with another or in a log {len(seen.leaks)}")
    print(f"cost of a round: median {median:.1f} ms (bar {_MEDIAN_BAR:.0f}), p95 {p95:.1f} ms (bar {_P95_BAR:.0f})")
    print(f"  of these a first round, which makes a memory: median {statistics.median(seen.first):.1f} ms")
    print(
        f"the terminal's way: median {alone:.1f} ms, p95 {_p95(terminal):.1f} ms; over HTTP {median / alone:.2f} times"
    )
    print(
        f"resident memory: {resident[0]:.0f} MB at the start, {resident[1]:.0f} MB with {asked.people} people, "
        f"{resident[2]:.0f} MB with {asked.known} known ({grown:.2f} times)"
    )
    for wrong in [*seen.errors, *seen.leaks][:10]:
        print(f"  {wrong}")
    held = median < _MEDIAN_BAR and p95 < _P95_BAR and grown < _GROWTH_BAR
    return 0 if held and not seen.errors and not seen.leaks else 1


def _leaks_in_files(asked: argparse.Namespace, folder: Path) -> list[str]:
    """Marker words in a folder of somebody else, and in anything that belongs to all."""
    from people import folder_of

    data, leaks = folder / "data", []
    own = {folder_of(data, f"person {person}"): marker_of(person) for person in range(asked.known + 1)}
    for path in folder.rglob("*"):
        if path.is_file() and (found := set(_MARKER_BYTES.findall(path.read_bytes()))):
            owner = next((own[place] for place in path.parents if place in own), "")
            if strange := {one.decode() for one in found} - {owner}:
                leaks.append(f"{path.relative_to(folder)} holds {sorted(strange)[:3]}")
    return leaks


def _rounds(count: int) -> list[str]:
    """What is said; every third looks for something that was said before."""
    spoken = [user for each in life.sessions(2 * count) for user, _ in each.rounds]
    return [
        f"What was it about {' '.join(spoken[at - 2].split()[:6])}?" if at % 3 == 2 else spoken[at]
        for at in range(count)
    ]


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


# -- the server, in a process of its own ---------------------------------------------------------------------


@dataclass
class Served:
    """A server that runs, with the token of each person and what they and the companion said."""

    process: subprocess.Popen[str]
    port: int
    registry: Registry
    tokens: dict[int, str] = field(default_factory=dict)
    histories: dict[int, list[dict[str, str]]] = field(default_factory=dict)

    def meet(self, person: int) -> None:
        """Give a person a token, as ``--token add`` does beside a running server."""
        if person not in self.tokens:
            self.tokens[person] = self.registry.add_token(f"person-{person}", f"person {person}")
            self.histories[person] = []

    def worked(self) -> float:
        """Seconds of the processor that it took so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> float:
        """Its memory now, in megabytes (Linux)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def _server(asked: argparse.Namespace, folder: Path, model: Model) -> Iterator[Served]:
    from people import Registry, registry_in

    process = _child("http", asked, folder, model)
    try:
        port = int(_line(process))
        with closing(Registry(registry_in(folder / "data"), _now, asked.database)) as registry:
            yield Served(process, port, registry)
    finally:
        process.terminate()
        if process.wait(60):
            print(f"the server ended with {process.returncode}")


def _terminal_costs(asked: argparse.Namespace, folder: Path, model: Model) -> list[float]:
    process = _child("terminal", asked, folder, model)
    told = json.loads(_line(process))
    process.wait(60)
    return [float(cost) for cost in told]


def _child(one: str, asked: argparse.Namespace, folder: Path, model: Model) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.serve", "--one", one, "--folder", str(folder)]
    command += ["--base", f"http://127.0.0.1:{model.port}/v1", "--rounds", str(asked.rounds)]
    command += ["--model", str(asked.model), "--embedding-model", asked.embedding_model, "--database", asked.database]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HOUSE)


def _line(process: subprocess.Popen[str]) -> str:
    stream: IO[str] | None = process.stdout
    assert stream is not None
    if not (line := stream.readline()):
        raise SystemExit("a part of the measurement ended before its time")
    return line


def _environment(asked: argparse.Namespace) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "sk-none", "OPENAI_API_BASE": asked.base, "CHAT_MODEL": "scripted",
        "EMBEDDING_MODEL": asked.embedding_model, "RECALL_PLANNING": "off",
        "REQUESTS_PER_MINUTE": "100000", "REQUESTS_AT_ONCE": "1000", "DATABASE_URL": asked.database,
    }  # fmt: skip


@contextmanager
def opened(asked: argparse.Namespace) -> Iterator[People]:
    """Open people in a folder of their own, and remove it afterwards."""
    import config
    from interfaces.debug_log import DebugLog
    from llm import Llm
    from people import People, Registry, registry_in

    settings = config.load_settings(Path(asked.folder), _environment(asked))
    debug = DebugLog(settings.log_dir, settings.secrets)
    llm = Llm(settings, debug.log, clock=_now)
    registry = Registry(registry_in(settings.data_dir), _now, settings.database_url)
    people = People(llm, registry, new_id=_new_id)
    try:
        yield people
    finally:
        people.close()
        llm.close()
        registry.close()
        debug.close()


def _serve(asked: argparse.Namespace) -> None:
    """The server: its port on standard output, then people until it is told to end."""
    import uvicorn

    from interfaces.http.app import make_app
    from interfaces.http.serving import shorten_thread_turns

    shorten_thread_turns()

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    with opened(asked) as people:
        people.prepare()
        server = uvicorn.Server(uvicorn.Config(make_app(people, "bench"), log_level="warning", backlog=2_000))
        print(listening.getsockname()[1], flush=True)
        signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn hears it, and sends it again when it has ended
        server.run(sockets=[listening])


def _talk(asked: argparse.Namespace) -> None:
    """The same rounds as in the terminal: one memory, one session, and the model's time taken off each."""
    from conversation import Conversation
    from domain.workers import CancelToken

    with opened(asked) as people, people.companion("me") as me:
        people.prepare()
        me.memory.start()
        costs = []
        for _ in range(3):
            conversation = Conversation(me.turn_steps(), me.memory.sessions.start(), new_id=_new_id)
            for said in _rounds(asked.rounds):
                began = time.perf_counter()
                list(conversation.turn(f"{marker_of(0)} {said}", CancelToken(), stream=False))
                costs.append((time.perf_counter() - began - asked.model) * 1000)
                conversation.compact_ahead()
                me.memory.index.settle(10)
            conversation.close()
    print(json.dumps(costs[1:]), flush=True)


def _now() -> datetime:
    return datetime.now().astimezone()


def _new_id() -> str:
    return uuid.uuid4().hex


if __name__ == "__main__":
    main()
