"""The whole house below the terminal, opened on a folder: real SQLite, real LanceDB, a real server on loopback."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import config
from conversation import Conversation, Replied
from domain.events import Stop
from jobs.keeping import session_to_open
from jobs.saving import Saved, SaveEvent
from llm import Llm
from memory import Memory
from models.chat import Patience
from prompts import TEMPLATES
from tests.server import ScriptedServer


def marked(request: Any, task: str) -> bool:
    """Whether a chat request is one of the three tasks."""
    templates = [getattr(each, f"{task}_task") for each in TEMPLATES.values()]
    return request["messages"][0]["content"].splitlines()[0] in [each.splitlines()[0] for each in templates]


def material(request: Any) -> Any:
    """The fenced JSON of a task."""
    return json.loads(request["messages"][-1]["content"].split("\n", 1)[1].rsplit("\n", 1)[0])


def friend(request: Any) -> str:
    """A deterministic model: it summarises by listing what the user said, and images by adding the summary."""
    if marked(request, "fold"):
        given = material(request)
        said = [row["text"] for row in given["rounds"] if row["speaker"] in ("the user", "用户")]
        return " | ".join(filter(None, [given["summary_so_far"], *said]))
    for task in ("self", "user"):
        if marked(request, task):
            given = material(request)
            return f"{given['present_image']}\n{task}: {given['summary_of_the_conversation']}".strip()
    return f"Reply to: {request['messages'][-1]['content'].splitlines()[-1]}"


class House:
    """A conversation with everything below it."""

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        log: logging.Logger,
    ) -> None:
        self.settings = config.load(folder, environment)
        self.llm = Llm(self.settings, log, clock=clock, patience=Patience(most=0.0))
        self.memory = Memory(
            self.settings.data_dir,
            self.llm.embedder,
            clock=clock,
            new_id=new_id,
            log=log,
            also_searched=[self.settings.log_dir],
        )
        self.memory.start_index()
        session, resumed = session_to_open(self.memory, self.settings, clock())
        self.talk = Conversation(
            self.settings, self.memory, self.llm, log,
            session=session, resumed=resumed, clock=clock, new_id=new_id,
        )  # fmt: skip

    def say(self, text: str) -> str:
        """Say something, fold, and wait for the index; returns the reply."""
        events = list(self.talk.turn(text, Stop()))
        assert self.talk.fold_now() == []
        self.settle()
        assert isinstance(events[-1], Replied)
        return events[-1].reply.text

    def save(self) -> Saved:
        """``/save``."""
        events: list[SaveEvent] = list(self.talk.save(Stop()))
        self.settle()
        assert isinstance(events[-1], Saved)
        return events[-1]

    def settle(self) -> None:
        """Every vector is made and in the index."""
        assert self.memory.settle_index(30)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table."""
        return [dict(row) for row in self.read(f"SELECT * FROM {table}")]

    def read(self, query: str) -> list[sqlite3.Row]:
        """What SQL finds in the database, read past the memory."""
        with closing(sqlite3.connect(self.memory.folder / "memory.db", timeout=60)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(query).fetchall()

    def indexed(self) -> dict[str, tuple[str, str]]:
        """What LanceDB holds, read from its folder: text_id -> (type, session_id)."""
        import lancedb

        table = lancedb.connect(self.memory.folder / "vectors").open_table("vectors")
        rows = table.to_arrow().to_pylist()
        assert len({row["text_id"] for row in rows}) == len(rows)
        return {row["text_id"]: (row["type"], row["session_id"]) for row in rows}

    def close(self) -> None:
        """Leave, as ``/exit`` does."""
        self.talk.close()
        self.memory.close(settle=10)
        self.llm.close()


@contextmanager
def house(
    folder: Path,
    server: ScriptedServer | None,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    log: logging.Logger,
    **settings: str,
) -> Iterator[House]:
    """A house that is opened and left; the stand-in answers where there is no server.

    Vectors are those of hashed words, which take no time to load, unless ``EMBEDDING_MODEL`` says otherwise.
    """
    environment = {"EMBEDDING_MODEL": "built-in", **settings}
    if server is not None:
        environment |= {
            "OPENAI_API_BASE": server.base,
            "OPENAI_API_KEY": "sk-test",
            "CHAT_MODEL": "test-model",
        }
    opened = House(folder, environment, clock, new_id, log)
    try:
        yield opened
    finally:
        opened.close()
