"""What is played while the program is killed: one scene a process, deterministic, on a folder that was prepared.

python -m tests.torture.scene round FOLDER
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import uuid
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import config
from conversation import Conversation, TurnSteps
from domain.workers import CancelToken
from interfaces.debug_log import DebugLog
from jobs.chapters import ChapterWriter
from jobs.rebuild import erase
from llm import Llm
from memory import Memory, Surroundings, own_place
from tests.jobs.writing_chapters import Writer
from tests.support.past import bring, talk
from tests.support.talking import models_at

#: Stands in the turns that the scene ``erase`` takes out, and nowhere else.
MARKER = "Quintessenz-7731"
TYPED = "The lighthouse keeper is called Ambrose."
#: What the scene ``import`` brings along.
BROUGHT = [
    talk(f"c{number}", "P: The sails are new.", "C: White?", "... 9h later", "P: They tore.", "C: Oh no.")
    for number in range(3)
]


class Stage:
    """The house on a folder, without a terminal; the built-in demo model answers.

    ``index``: the vector index is kept, in its thread. ``debug``: everything is written into the debug log. ``url`` is
    that of a database, in place of the files.
    """

    def __init__(
        self,
        folder: Path,
        *,
        index: bool = False,
        debug: bool = False,
        kept: Callable[[], None] = lambda: None,
        url: str = "",
    ) -> None:
        self.kept, self.url = kept, url
        environment = {"MAX_CONV_NUM": "3", "REFRESH_EVERY_CONV_NUM": "2", "EMBEDDING_MODEL": "built-in"}
        self.settings = config.load_settings(folder, environment)
        self.debug = DebugLog(self.settings.log_dir, on=debug)
        self.llm = Llm(self.settings, self.debug.log, clock=now)
        self.memory = Memory(
            own_place(self.settings.data_dir, url),
            self.llm.embedder,
            clock=now,
            new_id=new_id,
            log=self.debug.log,
            around=Surroundings([self.settings.log_dir], [lambda needles: self.debug.remove_files(needles.are_in)]),
        )
        if index:
            self.memory.index.start()
        session, resumed = self.memory.sessions.resume_or_start()
        self.talk = Conversation(
            TurnSteps(self.settings, self.memory, self.llm), session, new_id=new_id, resumed=resumed
        )
        # Without an index recall would start it.
        self.talk.recalling = index

    def say(self, text: str) -> None:
        """One round, and the fold that is due."""
        list(self.talk.turn(text, CancelToken()))
        self.kept()
        self.talk.compact_now()

    def save(self) -> None:
        """``/save``."""
        list(self.talk.save(CancelToken()))

    def erase(self) -> None:
        """``/forget`` of everything that holds the marker, and making anew what was made from it."""
        list(erase(self.memory, self.llm, self.memory.erasure.scope_of_words(MARKER), CancelToken()))

    def bring(self) -> None:
        """An import of some conversations, a few turns a commit."""
        bring(self.memory, *BROUGHT, at_once=4)

    def keep_alone(self, *said: str) -> None:
        """Sessions of one message each beside the present one, archived by their own words."""
        for words in said:
            session_id = self.memory.sessions.start(before=self.talk.session.session_id).session_id
            self.memory.rounds.store(session_id, words, "Yes.", now().isoformat(), "stop")
            self.memory.rounds.save(session_id, words, {}, open_next=False)

    def write_chapters(self) -> None:
        """All chapters that are due, by a model that always writes the same."""
        writer = Writer()
        llm = models_at("http://model.invalid/v1", transport=lambda: writer.transport, stream=False, group_size=2)
        list(ChapterWriter(self.memory, llm).run(CancelToken()))
        llm.close()

    def indexed(self) -> list[str]:
        """Every text that the index holds."""
        vectors = self.memory._opened_search().vectors
        return sorted(text_id.decode() for text_id in vectors.ids().tolist()) if vectors.has_table else []

    def read(self, query: str) -> list[tuple[Any, ...]]:
        """What SQL finds in the database, read past the memory."""
        return self.read_all([query])[0]

    def read_all(self, queries: Iterable[str]) -> list[list[tuple[Any, ...]]]:
        """What each of several queries finds, on one connection."""
        if self.url:
            return [[tuple(row) for row in self.memory._of.database.run(query)] for query in queries]
        with closing(sqlite3.connect(self.memory.folder / "memory.db", timeout=60)) as connection:
            return [connection.execute(query).fetchall() for query in queries]

    def close(self) -> None:
        """Leave."""
        self.talk.close()
        self.memory.close()
        self.debug.close()


def now() -> datetime:
    """A clock that stands still: what is compared afterwards must not depend on it."""
    return datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def new_id() -> str:
    """Ids as in life."""
    return uuid.uuid4().hex


def prepare(folder: Path, scene: str, url: str = "") -> None:
    """What stands before the scene begins: an archived session, and a present one with a few rounds."""
    stage = Stage(folder, index=True, debug=scene == "erase", url=url)
    lines = ["My boat is called Petrel.", "She lies in Husum."]
    if scene == "erase":
        lines.insert(1, f"My secret word is {MARKER}.")
    for line in lines:
        stage.say(line)
    stage.save()
    for line in ("I painted the hull.", "It is green now.", "The mast is next.")[scene == "round" :]:
        stage.say(line)
    if scene == "fold":
        list(stage.talk.turn(TYPED, CancelToken()))
    if scene == "erase":
        stage.say(f"Never repeat {MARKER} to anyone.")
    if scene == "chapters":
        stage.keep_alone("The sails are patched.", "I bought a compass.", "The anchor is rusty.", "We sail in June.")
    if scene == "reset":
        stage.say(TYPED)
        stage.memory.rounds.keep_step(stage.talk.session.session_id, "summary", "{}")
        stage.memory.sessions.note_in_flight(stage.talk.session.session_id, "And who")
    assert stage.memory.index.settle(300)
    stage.close()


SCENES: dict[str, Callable[[Stage], object]] = {
    "round": lambda stage: stage.say(TYPED),
    "fold": lambda stage: stage.talk.compact_now(),
    "turn": lambda stage: stage.say(TYPED),
    "save": Stage.save,
    "reset": lambda stage: stage.talk.reset(),
    "erase": Stage.erase,
    "chapters": Stage.write_chapters,
    "import": Stage.bring,
}


def play(scene: str, folder: Path, *, index: bool = True) -> None:
    """Play one scene to its end, and let the index catch up."""
    stage = Stage(folder, index=index, debug=scene == "erase", kept=lambda: print("kept", flush=True))
    SCENES[scene](stage)
    if index:
        assert stage.memory.index.settle(300)
    stage.close()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    # By itself a scene is watched for what it does to the database alone.
    play(sys.argv[1], Path(sys.argv[2]), index=False)
