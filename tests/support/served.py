"""Serving, really: the application on a port of its own in this process, or the program with ``--serve``; and a client.

with here(tmp_path) as server:                     # the application with the routes of ``trying``
    server.ask("POST", "/turn", {"text": "Hello"}).json
with program(tmp_path, **connected(model.base)) as server: ...
"""

from __future__ import annotations

import http.client
import json
import logging
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

import config
from conversation import Conversation
from domain import errors
from domain.events import Replied
from interfaces.http.app import add_api, make_app
from interfaces.http.guards import CurrentCaller, ServerToken
from interfaces.http.limits import Text
from interfaces.http.serving import ServerThread, listening_on
from interfaces.service.memory_service import MemoryService
from jobs.maintenance import session_to_open
from llm import Llm
from people import People, Registry, registry_in
from tests.interfaces.terminal.pseudo import ROOT, environment
from tests.support.warm import Piped

PATIENCE = 120.0
VERSION = "9.9.9"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Server:
    """A server that runs, and what is asked of it. ``token`` is sent with every request unless it is empty."""

    port: int
    token: str = ""
    registry: Registry | None = None
    people: People | None = None
    running: ServerThread | None = None
    service: MemoryService | None = None
    process: subprocess.Popen[str] | None = None
    lines: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str) -> Answer:
        """One request on a connection of its own. ``Content_Type="text/plain"`` sets a header; "" leaves it out."""
        given = {"Authorization": f"Bearer {sent}"} if (sent := self.token if token is None else token) else {}
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if raw is not None:
            given["Content-Type"] = "application/json"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in given.items() if value}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as line:
            line.request(method, path, raw, given)
            came = line.getresponse()
            return Answer(came.status, {k.lower(): v for k, v in came.getheaders()}, came.read())


# -- routes to try things with


class Said(BaseModel):
    """Something said to a companion."""

    model_config = ConfigDict(strict=True)
    text: Text = Field(min_length=1)
    person: str | None = None
    temperature: float = Field(default=0.7, ge=0, le=2)


class Spoken(BaseModel):
    """What was said back."""

    reply: str


def trying(people: People, wait: Callable[[], object] = lambda: None) -> APIRouter:
    """A turn, a stream that goes on while ``wait`` blocks, and whatever can go wrong."""
    routes = APIRouter()

    @routes.post("/turn")
    def turn(said: Said, caller: CurrentCaller, stop: ServerToken) -> Spoken:
        with people.companion(caller.person(said.person)) as companion, companion.turns:
            session, _ = session_to_open(companion.memory, companion.settings, people.clock())
            talk = Conversation(companion.turn_steps(), session, new_id=people.new_id)
            *_, replied = talk.turn(said.text, stop)
            assert isinstance(replied, Replied)
            return Spoken(reply=replied.reply.text)

    @routes.get("/stream", include_in_schema=False)
    def stream() -> StreamingResponse:
        def parts() -> Iterator[str]:
            yield "first\n"
            wait()
            yield "last\n"

        return StreamingResponse(parts(), media_type="text/plain")

    @routes.put("/stream", include_in_schema=False)
    def put_stream() -> None:
        wait()

    @routes.get("/breaks", include_in_schema=False)
    def breaks(kind: str) -> None:
        raise getattr(errors, kind)("model.failed", path="/secret/path") if kind else ValueError("secret")

    return routes


# -- in this process


@contextmanager
def here(
    folder: Path,
    *,
    routers: Callable[[People], list[Any]] = lambda people: [(trying(people),)],
    only_here: bool = True,
    grace: float = 30.0,
    clock: Callable[[], datetime] | None = None,
    connections: int = 1000,
    head_timeout: float | None = None,
    **settings: str,
) -> Iterator[Server]:
    """The application on a port of its own. ``routers``: the arguments of ``add_api`` after the application."""
    log, clock = logging.Logger("served", logging.CRITICAL), clock or _now
    chosen = config.load_settings(
        folder, {"EMBEDDING_MODEL": "built-in", **settings}, {"DATA_DIR": str(folder / "data")}
    )
    llm = Llm(chosen, log, clock=clock)
    with closing(Registry(registry_in(chosen.data_dir), clock)) as registry, listening_on("127.0.0.1", 0) as bound:
        people = People(llm, registry, new_id=lambda: uuid.uuid4().hex)
        app = make_app(people, VERSION, only_here=only_here)
        for arguments in routers(people):
            add_api(app, *arguments)
        running = ServerThread(app, bound, grace, log, connections=connections, head_timeout=head_timeout)
        try:
            yield Server(
                bound.getsockname()[1], registry=registry, people=people, running=running, service=app.state.service
            )  # fmt: skip
        finally:
            running.stop()
            running.wait_for_end(PATIENCE)
            people.close()
            llm.close()


def _now() -> datetime:
    return datetime.now(UTC)


# -- the program


@contextmanager
def program(home: Path, *arguments: str, script: Path = ROOT / "main.py", **settings: str) -> Iterator[Server]:
    """The program with ``--serve`` on a free port, its data under ``home``; killed at the end if it still runs."""
    process = started(home, *arguments, script=script, **settings)
    server = Server(0, process=process)
    try:
        while line := process.stdout.readline() if process.stdout else "":
            server.lines.append(line.rstrip("\n"))
            if found := re.search(r"http://\S+?:\d+(?= )", line):
                server.port = urlsplit(found[0]).port or 0
                break
        assert server.port, (server.lines, process.stderr.read() if process.stderr else "")
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def started(home: Path, *arguments: str, script: Path = ROOT / "main.py", **settings: str) -> subprocess.Popen[str]:
    """The program, begun with ``--serve``."""
    (home / "env").touch(0o600)
    chosen = environment(home, LOG_DIR=str(home / "logs"), **settings)
    if script != ROOT / "main.py":
        chosen["PYTHONPATH"] = str(ROOT)
    where = ("--env-file", str(home / "env"), "--data-dir", str(home / "data"))
    port = () if "--port" in arguments else ("--port", "0")
    return Piped(  # type: ignore[return-value]
        [sys.executable, str(script), "--serve", *port, *where, *arguments],
        env=chosen, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(server: Server, number: int = signal.SIGTERM) -> tuple[int, str, str]:
    """Ask the program to end; its exit code, and what it wrote since it was ready."""
    assert server.process
    server.process.send_signal(number)
    out, err = server.process.communicate(timeout=PATIENCE)
    return server.process.returncode, out, err


def until(true: Callable[[], object]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
