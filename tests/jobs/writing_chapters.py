"""A model that writes chapters the same way each time, and a memory of many sessions to write them of."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from domain.events import Notice
from domain.workers import CancelToken
from jobs.chapters import ChapterWriter, ChapterWritten
from llm import Llm
from memory import Memory
from models.chat import Patience
from recall.embedding import HashedEmbedder
from tests.support.talking import models_at

QUIET = logging.Logger("quiet", logging.CRITICAL)
TITLE = "A stretch of time"


class Writer:
    """Takes the place of the network. A chapter is a title, and under it all that its parts say.

    ``says``: what it writes instead; ``failing``: the status that it answers with; ``asked`` are the prompts that came.
    """

    def __init__(self) -> None:
        self.failing, self.says = 0, ""
        self.asked: list[list[dict[str, str]]] = []
        self.transport = httpx2.MockTransport(self._answer)

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.asked)

    def parts(self, call: int = -1) -> list[dict[str, str]]:
        """What it was shown."""
        return [json.loads(line) for line in self.asked[call][-1]["content"].splitlines()[1:-1]]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(json.loads(request.read())["messages"])
        if self.failing:
            message = "maximum context length is 9 tokens" if self.failing == 400 else "no"
            code = "context_length_exceeded" if self.failing == 400 else None
            return httpx2.Response(self.failing, json={"error": {"message": message, "code": code}})
        said = " ".join(part["text"].removeprefix(TITLE).strip() for part in self.parts() if "text" in part)
        said = self.says or said
        reply = {"role": "assistant", "content": f"{TITLE}\n{said}"}
        choice = {"index": 0, "message": reply, "finish_reason": "stop"}
        return httpx2.Response(200, json={"object": "chat.completion", "model": "m", "choices": [choice]})


class Life:
    """A memory, its clock, and a model that writes chapters of it."""

    def __init__(self, folder: Path, **changed: Any) -> None:
        self.folder = folder
        self.writer = Writer()
        self.now = datetime(2025, 1, 1, 9, tzinfo=UTC)
        self.made = 0
        self.llm: Llm = models_at(
            "http://model.invalid/v1", transport=lambda: self.writer.transport, stream=False,
            patience=Patience(tries=1), **changed,
        )  # fmt: skip
        self.memory = self.opened()

    def opened(self) -> Memory:
        """The memory of this folder."""
        return Memory(self.folder, HashedEmbedder(), clock=lambda: self.now, new_id=self.new_id, log=QUIET)

    def new_id(self) -> str:
        """Ids that count."""
        self.made += 1
        return f"{self.made:032x}"

    def say(self, session_id: str, words: str) -> None:
        """One round, a minute later."""
        started = self.now.isoformat()
        self.now += timedelta(minutes=1)
        self.memory.rounds.store(session_id, words, "Yes.", started, "stop", ended=self.now.isoformat())

    def session(self, *said: str, before: str | None = None, summary: str | None = None) -> str:
        """A session of these rounds, archived, and half a day of silence."""
        session = self.memory.sessions.start(before=before)
        for words in said:
            self.say(session.session_id, words)
        self.memory.rounds.save(session.session_id, " ".join(said) if summary is None else summary, {}, open_next=False)
        self.now += timedelta(hours=12)
        return session.session_id

    def sessions(self, count: int) -> list[str]:
        """So many sessions of one word each."""
        return [self.session(f"word{self.made}") for _ in range(count)]

    def grow(self) -> list[ChapterWritten | Notice]:
        """All chapters that are due, in as many runs as that takes."""
        told: list[ChapterWritten | Notice] = []
        while events := list(ChapterWriter(self.memory, self.llm).run(CancelToken())):
            told += events
            if isinstance(events[-1], Notice):
                break
        return told

    def close(self) -> None:
        """Let go of everything."""
        self.memory.close()
        self.llm.close()


@contextmanager
def life(folder: Path, **changed: Any) -> Iterator[Life]:
    """A life in a folder."""
    whole = Life(folder, **changed)
    try:
        yield whole
    finally:
        whole.close()
