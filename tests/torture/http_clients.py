"""Served requests while the program is killed, the power is cut, or the disk fills up.

What was answered with success is stored, once; what was not is not half there, and sent again it is stored once; what
goes on behind the answers (an ended session is archived) goes on at the next start.

python -m tests.torture.http_clients play FOLDER      asks each request once, and says what was kept
"""

from __future__ import annotations

import http.client
import importlib
import json
import logging
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import config
from llm import Llm
from people import ME, People, Registry, registry_in
from tests.torture.disks import NO_MOUNT, crowded, small_disk
from tests.torture.kills import Scene, Tried, every_point, scene_process, tell_points
from tests.torture.power import Played, every_cut
from tests.torture.scene import new_id, now

#: Seconds in which a server that has all it needs has to answer.
_PATIENCE = 60.0


@dataclass(frozen=True)
class Request:
    """A request that stores something: where it goes, what it stores, and its body."""

    path: str
    said: str
    body: dict[str, Any]

    @property
    def word(self) -> str:
        """What stands in its text and in no other."""
        return self.said.split()[-1].strip(".")


def _requests() -> Iterator[Request]:
    for path, said, more in (
        ("/api/v1/chat", "The lighthouse keeper is called Ambrose.", {}),
        ("/v1/chat/completions", "The ferry is called Petrel.", {"model": "old-friend"}),
        ("/v1/chat/completions", "The baker is called Quentin.", {"model": "old-friend", "stream": True}),
    ):
        yield Request(path, said, {"messages": [{"role": "user", "content": said}], **more})
    event = "The harbour is in Husum."
    yield Request("/process", event, {"input": event, "user_id": ME, "request_id": "one"})


REQUESTS = tuple(_requests())
END = Request("/end-session", "", {"user_id": ME})


@dataclass
class Served:
    """A server in this process."""

    port: int
    people: People
    service: Any

    def ask(self, asked: Request) -> tuple[int, bytes]:
        """One request; its status and its whole body. Raises OSError, HTTPException."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)) as line:
            line.request("POST", asked.path, json.dumps(asked.body), {"Content-Type": "application/json"})
            came = line.getresponse()
            return came.status, came.read()

    def answers(self, asked: Request) -> bool:
        """Whether it is answered with success, to the end where it is a stream."""
        status, body = self.ask(asked)
        return status == 200 and (b"data: [DONE]" in body or not asked.body.get("stream"))


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """All APIs over the memories of a folder, with the demo model, until the block ends."""
    import uvicorn

    from interfaces.http.app import make_app

    log = logging.Logger("quiet", logging.CRITICAL)
    settings = config.load_settings(folder, {"EMBEDDING_MODEL": "built-in", "OPEN_MEMORIES": "9"})
    with closing(Registry(registry_in(settings.data_dir), now)) as registry:
        llm = Llm(settings, log, clock=now)
        people = People(llm, registry, new_id=new_id)
        app = make_app(people, "torture")
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on"))
        with socket.create_server(("127.0.0.1", 0)) as bound:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
            thread.start()
            try:
                while not server.started:
                    time.sleep(0.01)
                yield Served(bound.getsockname()[1], people, app.state.service)
            finally:
                server.should_exit = True
                thread.join()
                people.close()
                llm.close()


# -- kills, and what power cuts are played from


def play(folder: Path, answered: Callable[[str], object]) -> None:
    """Ask each request once, end the session, and let what goes on behind the answers come to its end."""
    with serving(folder) as server:
        for asked in REQUESTS:
            if server.answers(asked):
                answered(asked.word)
        assert server.answers(END)
        assert server.service.settle(ME, _PATIENCE)


def play_noted(folder: Path) -> None:
    """The same; what was answered stands beside the folder."""
    with _noted(folder).open("a", encoding="ascii") as notes:
        play(folder, lambda word: print(word, file=notes, flush=True))


def judge(folder: Path) -> Iterator[str]:
    """What was promised and does not hold after a kill."""
    noted = _noted(folder)
    answered = noted.read_text(encoding="ascii").split() if noted.exists() else []
    noted.unlink(missing_ok=True)
    yield from _stored_as_answered(folder, answered)
    with serving(folder) as server:
        for asked in REQUESTS:
            if not server.answers(asked):
                yield f"{asked.path} does not answer afterwards"
        with server.people.companion(ME) as companion:
            yield from companion.memory.problems()
        if not (server.answers(END) or server.service.settle(ME, _PATIENCE)):
            yield "the session does not end"
        if not server.service.settle(ME, _PATIENCE):
            yield "what an ended session came to is not drawn from it"
    yield from (f"{asked.word} is there {n} times" for asked in REQUESTS if (n := _times(folder, asked.word)) != 1)
    if open_ones := _read(folder, "SELECT status FROM session WHERE client = 'service' AND status = 'active'"):
        yield f"{len(open_ones)} ended sessions are not archived"


def _stored_as_answered(folder: Path, answered: list[str]) -> Iterator[str]:
    for asked in REQUESTS:
        times = _times(folder, asked.word)
        if times > 1 or (asked.word in answered and not times):
            yield f"{asked.word} is there {times} times, answered: {asked.word in answered}"


def _noted(folder: Path) -> Path:
    return folder.with_name(f"answered-in-{folder.name}")


def _times(folder: Path, word: str) -> int:
    """How often the person's words are stored."""
    said = f"SELECT 1 FROM conversation WHERE role = 'user' AND text LIKE '%{word}%'"
    return len(_read(folder, said))


def _read(folder: Path, query: str) -> list[tuple[Any, ...]]:
    path = folder / "data" / "memory.db"
    with closing(sqlite3.connect(path, timeout=60)) as connection, suppress(sqlite3.OperationalError):
        return connection.execute(query).fetchall()
    return []


# -- full disks


def full(rooms_kb: tuple[int, ...] = (0, 8, 16, 32, 64, 128)) -> Tried:
    """Ask each request with less and less room on the disk, then with room again."""
    tried = Tried("full disk below a server")
    with tempfile.TemporaryDirectory(prefix="full-served-") as where:
        for room in rooms_kb:
            Path(where, str(room)).mkdir()
            with small_disk(Path(where, str(room))) as disk:
                if disk is None:
                    tried.skipped = NO_MOUNT
                    return tried
                tried.points += len(REQUESTS)
                tried.violations += [f"with {room} kB left: {what}" for what in _full_once(disk, room)]
    return tried


def _full_once(disk: Path, room: int) -> Iterator[str]:
    folder = disk / "home"
    with serving(folder) as server:
        server.ask(Request("/process", "", {"input": "Hello.", "user_id": ME}))
        with crowded(disk, room):
            answered = [asked.word for asked in REQUESTS if server.answers(asked)]
            unanswered = [asked for asked in REQUESTS if asked.word not in answered and not asked.body.get("stream")]
            refused = [server.ask(asked)[0] for asked in unanswered]
            yield from (f"status {status}" for status in refused if status not in (200, 507))
            yield from _stored_as_answered(folder, answered)
            ended = server.answers(END)
    yield from judge(folder)
    if ended and not _read(folder, "SELECT 1 FROM session WHERE status = 'archived'"):
        yield "an ended session is not archived"


def prepare(folder: Path) -> None:
    """A memory that was served before."""
    with serving(folder) as server:
        assert server.answers(END)


SCENE = Scene(
    "served",
    prepare=prepare,
    play=play_noted,
    contents=lambda folder: None,
    judge=lambda folder, before, wanted: judge(folder),
    alone=False,  # what was answered is noted beside the folder
)


def killed(first: int, stride: int) -> Tried:
    """Kill the server before some of the writes that its requests make."""
    return every_point(SCENE.name, first, stride, module="tests.torture.http_clients")


#: What is played for power cuts.
_REQUESTS = Played(
    "power cut below a server",
    lambda folder: scene_process(
        "import pathlib, sys; from tests.torture import http_clients; http_clients.prepare(pathlib.Path(sys.argv[1]))",
        str(folder),
    ),
    lambda folder: [sys.executable, "-B", "-W", "ignore", "-m", "tests.torture.http_clients", "play", str(folder)],
    {f"kept {asked.word}": asked.word for asked in REQUESTS},
)


def cut(seeds: int = 2, stride: int = 1) -> Tried:
    """Cut the power at every ``stride``-th system call of requests."""
    return every_cut(seeds, _REQUESTS, stride)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    if sys.argv[1] == SCENE.name:
        # Loaded once for all trials.
        importlib.import_module("interfaces.http.app")
        importlib.import_module("uvicorn")
        importlib.import_module("openai")
        tell_points(SCENE, int(sys.argv[2]), int(sys.argv[3]))
    else:
        play(Path(sys.argv[2]), lambda word: print(f"kept {word}", flush=True))
