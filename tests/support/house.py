"""The whole house below the terminal, opened on a folder: real SQLite, real LanceDB, a real server on loopback."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import config
from conversation import Conversation, Replied, TurnSteps
from domain.workers import CancelToken
from jobs.maintenance import session_to_open
from jobs.saving import Saved, SaveEvent
from llm import Llm
from memory import Memory, Surroundings
from models.chat import Patience
from tests.support.server import Exchange, Play, ScriptedServer, say

#: How the first line of each task begins, in either language.
_BEGINS = {
    "fold": ("Task: summarise", "任务：总结"),
    "notes": ("Task: take notes", "任务：做笔记"),
    "verify": ("Task: check", "任务：核对"),
    "forget": ("Task: read a request to forget", "任务：判断是否请求忘掉"),
    "compare": ("Task: compare", "任务：把新的"),
    "chapter": ("Task: write a chapter", "任务：写一章"),
    "diary": ("Task: write a page", "任务：写一页"),
    "persona": ("Task: bring the persona", "任务：更新"),
}


def marked(request: Any, task: str) -> bool:
    """Whether a chat request is one of the tasks: "fold", "notes", "verify", "compare"; "self" or "user" for a persona.

    "talk" is what is none of them.
    """
    first = request["messages"][0]["content"].splitlines()[0]
    if task == "talk":
        return not first.startswith(tuple(each for both in _BEGINS.values() for each in both))
    if task not in ("self", "user"):
        return first.startswith(_BEGINS[task])
    of_self = "(the assistant)" in first or "（助手）" in first
    return first.startswith(_BEGINS["persona"]) and of_self == (task == "self")


def talks(request: Any) -> bool:
    """Whether a request is no task: background work, which comes when it likes, then takes no reply of a script."""
    match request:
        case {"messages": [{"content": str(first)}, *_]} if first:
            return marked(request, "talk")
    return True


def material(request: Any) -> Any:
    """The fenced JSON of a task that is one record."""
    (found,) = records(request)
    return found


def records(request: Any) -> list[Any]:
    """The fenced JSON of a task, a record a line."""
    return read_lines(request["messages"][-1]["content"].split("\n")[1:-1])


def read_lines(lines: Iterable[str]) -> list[Any]:
    """The records of a task; numbered lines by what they are, each with the day above it where that is a new one."""
    found, kind, about = list[Any](), "", dict[str, str]()
    for one in map(json.loads, lines):
        if isinstance(one, dict) and one.keys() == {"date"}:
            about = one
        elif isinstance(one, dict) and len(one) == 1 and (name := next(iter(one))) in ("new", "known"):
            kind, about = name, {"said": one[name]}
        else:
            found.append(_read_line(one, kind) | about if isinstance(one, str) else one)
            about = {}
    return found


def _read_line(line: str, kind: str) -> dict[str, Any]:
    number, _, rest = line.partition(" ")
    if number.startswith("m"):
        return {"message": int(number[1:]), "text": rest}
    if kind:
        fact = re.fullmatch(r"(.*?)(?: \(([^()]*)\))?", rest, re.DOTALL)
        assert fact
        return {kind: int(number), "fact": fact[1]} | ({"more": fact[2].split("; ")} if fact[2] else {})
    if number == "open":
        return {"open": rest}
    if asked := re.fullmatch(r"m([\d, -]+?)(, open \w+)?: (.*?)(?: \(([a-z]+)\))?", rest, re.DOTALL):
        stance = {"stance": asked[4]} if asked[4] else {}
        return {
            "statement": int(number),
            "of": asked[1],
            "says": asked[3],
            **stance,
            **({"open": True} if asked[2] else {}),
        }
    speaker, _, text = rest.partition(": ")
    return ({"turn": int(number)} if number != "-" else {}) | {"speaker": speaker, "text": text}


def friend(request: Any) -> str:
    """A deterministic model.

    It takes every possible request to forget for one but "let's". It summarises by listing what the user said, notes
    each of it word for word, of both of the two, says yes to every statement, and adds every fact as a line to both
    personas.
    """
    if marked(request, "fold"):
        given = material(request)
        said = [row["text"] for row in given["rounds"] if row["speaker"] in _PERSON]
        return " | ".join(filter(None, [given["summary_so_far"], *said]))
    if marked(request, "notes"):
        return json.dumps({"notes": [_noted(one) for one in records(request) if _is_noted(one)]})
    if marked(request, "chapter"):
        return "A chapter\n" + " | ".join(part["text"] for part in records(request))
    if marked(request, "diary"):
        said = (one for one in records(request) if one.get("speaker") in _PERSON)
        return "\n".join(f"{one['speaker']}: {one['text']} [{one['turn']}]" for one in said)
    if marked(request, "verify"):
        return "\n".join(f"{one['statement']} yes" for one in records(request) if "statement" in one)
    if marked(request, "forget"):
        *said, asked = records(request)
        words = said[asked["in_question"] - 1]["text"]
        idiom = "let's" in words or not re.search(
            "forget|mention|bring|between us|keep|typed|忘|提|保密|当我没说", words.lower()
        )
        return json.dumps({"asks": "nothing" if idiom else "hide", "turns": []})
    if marked(request, "compare"):
        return '{"verdicts": []}'
    for persona in ("self", "user"):
        if marked(request, persona):
            return json.dumps({"operations": list(_added(persona, records(request)))})
    return f"Reply to: {request['messages'][-1]['content'].splitlines()[-1]}"


_PERSON = ("the user", "用户")


def _is_noted(one: Any) -> bool:
    return "turn" in one and one["speaker"] in _PERSON


def _noted(one: Any) -> dict[str, Any]:
    text = f"{one['speaker']}: “{one['text']}”"
    slot = {"turns": [one["turn"]], "restatement": text, "attribute": "said", "value": one["text"]}
    facts = [
        {**slot, "about": "person", "subject": one["speaker"]},
        {**slot, "about": "companion", "subject": "Old Friend"},
    ]
    return {"turns": [one["turn"]], "text": text, "topic": "talk", "importance": 5, "facts": facts}


def _added(persona: str, given: list[Any]) -> Iterator[dict[str, Any]]:
    lines = [one["text"] for one in given if "line" in one]
    for one in given:
        line = f"{persona}: {one['text'].split(': ', 1)[-1]}" if "fact" in one else ""
        if line and line not in lines:
            yield {"facts": [one["fact"]], "operation": "add", "text": line, "date": one["said"]}


class Mind:
    """Plays a model that answers some tasks as it is told, and the others as a friend does."""

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server
        self._told: dict[str, list[Play]] = {}
        server.script(*[self] * 1_000)

    def answers(self, task: str, *plays: Play | str) -> None:
        """What it answers to a task next, the last of them ever after."""
        self._told[task] = [say(play) if isinstance(play, str) else play for play in plays]

    def asked(self, task: str) -> list[Any]:
        """The requests of a task that came."""
        return [request for request in self._server.chats if marked(request, task)]

    def __call__(self, exchange: Exchange) -> None:
        for task, plays in self._told.items():
            if marked(exchange.json, task):
                (plays.pop(0) if len(plays) > 1 else plays[0])(exchange)
                return
        say(friend(exchange.json))(exchange)


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
        self.settings = config.load_settings(folder, environment)
        self.llm = Llm(self.settings, log, clock=clock, patience=Patience(most=0.0))
        self.memory = Memory(
            self.settings.data_dir,
            self.llm.embedder,
            clock=clock,
            new_id=new_id,
            log=log,
            around=Surroundings([self.settings.log_dir], external=self.settings.external_memories),
        )
        self.memory.index.start()
        session, resumed = session_to_open(self.memory, self.settings, clock())
        self.talk = Conversation(
            TurnSteps(self.settings, self.memory, self.llm), session, new_id=new_id, resumed=resumed
        )

    def say(self, text: str) -> str:
        """Say something, fold, and wait for the index; returns the reply."""
        events = list(self.talk.turn(text, CancelToken()))
        assert self.talk.compact_now() == []
        self.settle()
        assert isinstance(events[-1], Replied)
        return events[-1].reply.text

    def save(self) -> Saved:
        """``/save``."""
        events: list[SaveEvent] = list(self.talk.save(CancelToken()))
        self.settle()
        assert isinstance(events[-1], Saved)
        return events[-1]

    def settle(self) -> None:
        """Every vector is made and in the index."""
        assert self.memory.index.settle(300)

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
    """A house that is opened and left; the demo model answers where there is no server.

    Vectors are those of hashed words, which take no time to load, unless ``EMBEDDING_MODEL`` says otherwise.
    """
    environment = {"EMBEDDING_MODEL": "built-in", "DIARY": "off", **settings}
    if server is not None:
        served = {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "sk-test", "CHAT_MODEL": "test-model"}
        environment = served | environment
    opened = House(folder, environment, clock, new_id, log)
    try:
        yield opened
    finally:
        opened.close()
