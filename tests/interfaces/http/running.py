"""The application on a real port, over the memories of a folder, with a scripted model behind it."""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import uvicorn

import config
from domain.workers import CancelToken
from interfaces.http.app import make_app
from llm import Llm
from people import People, Registry
from tests.support.server import ScriptedServer


@dataclass
class Running:
    """A server that runs: where, whose memories, and its wish to end."""

    base: str
    people: People
    stop: CancelToken


def now() -> datetime:
    return datetime.now().astimezone()


@contextmanager
def running(
    home: Path, model: ScriptedServer | None, clock: Callable[[], datetime] = now, **settings: str
) -> Iterator[Running]:
    """Serve until the block ends."""
    given = {"EMBEDDING_MODEL": "built-in", **({"OPENAI_API_BASE": model.base, "CHAT_MODEL": "m"} if model else {})}
    read = config.load_settings(home, given | settings)
    log = logging.getLogger("served")
    llm = Llm(read, log, clock=clock)
    registry = Registry(read.data_dir / "registry.db", clock, read.database_url)
    people = People(llm, registry, new_id=lambda: uuid.uuid4().hex)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = make_app(people, "test")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            threading.Event().wait(0.01)
        yield Running(f"http://127.0.0.1:{port}", people, app.state.stop)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        people.close()
        registry.close()
        llm.close()
