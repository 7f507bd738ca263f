"""Questions about a stretch of time, asked in the midst of a life: is the node handed over that covers it best?

python -m bench.stretches

Two lives of a year, in English and Chinese, made for this (``sets/stretches.json``): what was said, what each session
came to, and a chapter for each group that should come of it, with groups of four. They are lived through the program;
in place of a model that writes chapters stands the chapter that was written for just these parts, and none for others.
Before each question everything up to its day is lived. Right is one of the nodes that are named for a question: the
numbers of the sessions under a chapter, or of a single session. The first that was handed over counts.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

import config
from domain.events import Notice
from domain.recollection import Recollection
from domain.workers import CancelToken
from jobs.chapters import ChapterWriter
from llm import Llm
from memory import Memory

SETS = Path(__file__).parent / "sets" / "stretches.json"
_SETTINGS = {
    "OPENAI_API_BASE": "http://model.invalid/v1", "OPENAI_API_KEY": "none", "CHAT_MODEL": "none", "GROUP_SIZE": "4",
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """A question, the nodes that are right for it, and the one that was handed over first; "" for none."""

    language: str
    question: str
    right: Sequence[str]
    handed: str

    @property
    def is_right(self) -> bool:
        """Whether that is one of them."""
        return self.handed in self.right


class WrittenChapters(httpx2.BaseTransport):
    """Takes the place of the network: to the parts of a chapter it answers with the one that was written for them.

    ``parts`` says by its text which sessions each part covers.
    """

    def __init__(self, chapters: Mapping[str, str], summaries: Sequence[str]) -> None:
        self._chapters = chapters
        self._parts = {text: (at, at) for at, text in enumerate(summaries, 1)}
        self._parts |= {text: _ends(name) for name, text in chapters.items()}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered."""
        lines = json.loads(request.read())["messages"][-1]["content"].splitlines()[1:-1]
        covered = [self._parts[json.loads(line)["text"]] for line in lines]
        text = self._chapters[f"{covered[0][0]}-{covered[-1][1]}"]
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"object": "chat.completion", "model": "none", "choices": [choice]})


class _Lived:
    """One life, as far as it is lived."""

    def __init__(self, life: Mapping[str, Any], folder: Path) -> None:
        self._sessions: list[list[str]] = life["sessions"]
        self._names: dict[str, str] = {}
        self._made = 0
        self.now = _evening(self._sessions[0][0])
        self.settings = config.load_settings(folder, _SETTINGS)
        written = WrittenChapters(life["chapters"], [session[-1] for session in self._sessions])
        log = logging.Logger("quiet", logging.CRITICAL)
        self.llm = Llm(self.settings, log, clock=self.clock, transport=lambda: written)
        self.llm.stream = False
        self.memory = Memory(self.settings.data_dir, self.llm.embedder, clock=self.clock, new_id=self._new_id, log=log)
        self.memory.index.start()

    def until(self, day: str) -> None:
        """Live all sessions up to a day that were not lived yet, and write the chapters that are due."""
        for at in range(len(self._names) + 1, len(self._sessions) + 1):
            if self._sessions[at - 1][0] > day:
                break
            self._live(at)
        for event in ChapterWriter(self.memory, self.llm).run(CancelToken()):
            if isinstance(event, Notice):
                raise RuntimeError(event.details["error"])
        self.memory.index.settle(60)
        self.now = _evening(day)

    def recall(self, question: str) -> Recollection:
        """What is handed over for a question, asked at the beginning of a session."""
        return self.memory.recall([question], "", self.now, self.settings.recall_limits)

    def named(self, found: Recollection) -> str:
        """The node that was handed over first: the numbers of the first and the last session under it."""
        if found.chapters:
            chapters = {one.text_id: one for one in self.memory.chapters.all()}
            under = sorted(chapters[found.chapters[0].text_id].sessions)
            return f"{under[0]}-{under[-1]}"
        return self._names[found.summaries[0].session_id] if found.summaries else ""

    def close(self) -> None:
        """Let go of everything."""
        self.memory.close()
        self.llm.close()

    def clock(self) -> datetime:
        """What time it is."""
        return self.now

    def _live(self, number: int) -> None:
        day, *said, summary = self._sessions[number - 1]
        self.now = _evening(day)
        session = self.memory.sessions.start()
        self._names[session.session_id] = str(number)
        for user, assistant in zip(said[::2], said[1::2], strict=True):
            started = self.now.isoformat()
            self.now += timedelta(minutes=2)
            self.memory.rounds.store(session.session_id, user, assistant, started, "stop")
        self.memory.rounds.save(session.session_id, summary, {}, open_next=False)

    def _new_id(self) -> str:
        self._made += 1
        return f"{self._made:032x}"


def answers(language: str) -> Iterator[Answer]:
    """All questions of a life, each asked on its day."""
    life = json.loads(SETS.read_text(encoding="utf-8"))[language]
    with _lived(life) as lived:
        for day, question, right in sorted(life["questions"]):
            lived.until(day)
            yield Answer(language, question, right, lived.named(lived.recall(question)))


@contextmanager
def _lived(life: Mapping[str, Any]) -> Iterator[_Lived]:
    with tempfile.TemporaryDirectory(prefix="stretches-") as folder:
        lived = _Lived(life, Path(folder))
        try:
            yield lived
        finally:
            lived.close()


def _ends(name: str) -> tuple[int, int]:
    first, last = name.split("-")
    return int(first), int(last)


def _evening(day: str) -> datetime:
    return datetime.fromisoformat(f"{day}T20:00:00+00:00")


def main() -> None:
    """Ask all questions and say how many were answered by the right node."""
    every = [answer for language in ("en", "zh") for answer in answers(language)]
    for one in every:
        if not one.is_right:
            print(f"{one.language}  {one.question}  {one.handed or 'nothing'}, not {' or '.join(one.right)}")
    for language in ("en", "zh"):
        asked = [one for one in every if one.language == language]
        print(f"{language}: {sum(one.is_right for one in asked)} of {len(asked)} answered by the right node")


if __name__ == "__main__":
    main()
