"""The memory service, opened on a folder: real people, real memories, a real model server on loopback."""

from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import config
from interfaces.service.memory_service import MemoryService
from llm import Llm
from models.chat import Patience
from people import ME, People, Registry, folder_of
from tests.support.server import ScriptedServer

#: Seconds that a test waits for what is drawn in the background: long, since a slow machine is no failure.
PATIENCE = 120.0


class OpenedService:
    """A service with the people it serves."""

    def __init__(self, people: People) -> None:
        self.people = people
        self.service = MemoryService(people)

    def consolidate(self, person: str = ME) -> None:
        """End the open session, and wait until what it came to is drawn from it and can be found by its vectors."""
        self.service.end_session(person)
        assert self.service.settle(person, PATIENCE)
        with self.people.companion(person) as companion:
            assert companion.memory.index.settle(PATIENCE)

    def read(self, query: str, person: str = ME) -> list[tuple[Any, ...]]:
        """What SQL finds in a person's database, read past the memory."""
        path = folder_of(self.people.settings.data_dir, person) / "memory.db"
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            return connection.execute(query).fetchall()

    def said(self, person: str = ME) -> list[tuple[str, str]]:
        """Everything that is stored as said: role and text."""
        return self.read("SELECT role, text FROM conversation ORDER BY seq", person)

    def statuses(self, person: str = ME) -> list[str]:
        """What became of each session, oldest first: active, ending or archived."""
        query = (
            "SELECT CASE WHEN status = 'active' AND end_timestamp IS NOT NULL THEN 'ending' ELSE status END"
            " FROM session WHERE client = 'service' ORDER BY position"
        )
        return [status for (status,) in self.read(query, person)]


@contextmanager
def opened_people(
    folder: Path,
    server: ScriptedServer | None,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    **settings: str,
) -> Iterator[People]:
    """People with memories below a folder; vectors are those of hashed words, which take no time to load."""
    environment = {"EMBEDDING_MODEL": "built-in", **settings}
    if server is not None:
        connected = {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "sk-test", "CHAT_MODEL": "test-model"}
        environment = {**connected, **environment}
    log = logging.Logger("quiet", logging.CRITICAL)
    chosen = config.load_settings(folder, environment)
    llm = Llm(chosen, log, clock=clock, patience=Patience(most=0.0, tries=1))
    registry = Registry(chosen.data_dir / "registry.db", clock)
    people = People(llm, registry, new_id=new_id)
    try:
        yield people
    finally:
        people.close()
        registry.close()
        llm.close()


@contextmanager
def opened_service(
    folder: Path,
    server: ScriptedServer | None,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    **settings: str,
) -> Iterator[OpenedService]:
    """The service on such people, closed before they are."""
    with opened_people(folder, server, clock, new_id, **settings) as people:
        yield OpenedService(people)


def main() -> None:
    """A program that serves what is asked on its standard input, a Python expression of ``service`` a line."""
    import uuid

    folder, base = Path(sys.argv[1]), sys.argv[2]
    settings = {"OPENAI_API_BASE": base, "OPENAI_API_KEY": "sk-test", "CHAT_MODEL": "test-model"}
    clock, new_id = (lambda: datetime.now().astimezone()), (lambda: uuid.uuid4().hex)
    with opened_service(folder, None, clock, new_id, **settings) as opened:
        for line in sys.stdin:
            print(eval(line, {"service": opened.service}), flush=True)


if __name__ == "__main__":
    main()
