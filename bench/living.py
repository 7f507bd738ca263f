"""A life lived through the program: both sides' words are fixed, whatever a model makes of them is made anew.

    Lived: evening -> its turns at their times -> fold -> /save -> the next; then questions in a new session

Folds, summaries, notes, comparisons and personas come from the model behind a ``KeptReplies``, each reply kept with its
request. Apart from that model nothing is left to chance: the clock stands where the life is, and ids are counted.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

import config
from bench.kept_replies import KeptReplies, Messages, answered
from conversation import Conversation, Replied, TurnSteps
from domain import errors
from domain.events import Notice
from domain.settings import Settings
from domain.workers import CancelToken
from llm import Llm
from memory import Memory

#: Few rounds fit into the context here, so that an evening is long enough to be folded.
_SETTINGS = {
    "OPENAI_API_BASE": "http://life.invalid/v1",
    "OPENAI_API_KEY": "none",
    "CHAT_MODEL": "life",
    "MAX_CONV_NUM": "4",
    "REFRESH_EVERY_CONV_NUM": "2",
    "REQUEST_TIMEOUT": "600",
}
#: How the prompt of a task begins, in each language; every other prompt is talk.
_TASKS = ("Task: ", "任务：")
_SETTLE = 60.0
#: How a fault in the background is told.
_FAULT = "opening.autosave_failed"
#: Always the same, so that a question takes as many tokens whenever it is asked.
_MARK = "=== 000000000000000000000000 ==="
Life = Mapping[str, Any]


@dataclass
class SetClock:
    """A clock that stands where the life is."""

    now: datetime

    def __call__(self) -> datetime:
        """The moment that the life has reached."""
        return self.now


@dataclass(frozen=True)
class Seen:
    """A request that reached the model: what kind, what it held, where it lies; ``said`` is the input of a talk."""

    kind: str
    messages: Messages
    path: Path
    said: str = ""


@dataclass
class FixedReplies(httpx2.BaseTransport):
    """Takes the place of the network: what stands in ``said`` is said, everything else is asked of the model.

    ``failure`` is what the model's server did in place of a reply: the program goes on without it, a measurement may
    not.
    """

    replies: KeptReplies
    said: list[str] = field(default_factory=list)
    spoken: str = ""
    seen: list[Seen] = field(default_factory=list)
    failure: Exception | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered, and kept."""
        body = json.loads(request.read())
        messages: Messages = body["messages"]
        kind = kind_of(messages)
        path = self.replies.path(messages)
        if kind == "talk" and self.said:
            self.replies.put(messages, text := self.said.pop(0))
        else:  # kept as the model gave it, which may not be what is handed on
            text = self._asked(messages)
        self.seen.append(Seen(kind, messages, path, self.spoken if kind == "talk" else ""))
        return answered(text, stream=bool(body.get("stream")))

    def _asked(self, messages: Messages) -> str:
        if self.failure:
            raise self.failure
        try:
            return self.replies.reply(messages)
        except Exception as fault:
            self.failure = fault
            raise


def kind_of(messages: Messages) -> str:
    """Which task a request is, in the words of its prompt; "talk" where it is none."""
    first = messages[0]["content"].split("\n", 1)[0]
    named = [first.removeprefix(task) for task in _TASKS if first.startswith(task)]
    return named[0].strip(" .。") if named else "talk"


def read_life(path: Path) -> Life:
    """A life as its file tells it."""
    life: Life = json.loads(path.read_text(encoding="utf-8"))
    return life


def evenings(life: Life) -> Iterator[list[tuple[datetime, str, str]]]:
    """Each session as rounds: when, what the person says, what the companion answers."""
    for session in life["sessions"]:
        messages = session["turns"]
        yield [
            (datetime.fromisoformat(first["at"]).astimezone(), first["text"], second["text"])
            for first, second in pairwise(messages)
            if first["role"] == "user" and second["role"] == "assistant"
        ]


@dataclass
class Lived:
    """A life that is over, and the memory that is left of it."""

    memory: Memory
    transport: FixedReplies
    _clock: SetClock
    _settings: Settings
    _llm: Llm
    _log: logging.Logger
    _ids: Iterator[int]

    def evening(self, rounds: list[tuple[datetime, str, str]], settings: Settings) -> None:
        """Live one evening to its end: saved, and what is done behind a save is done.

        Raises what the model's server, or a fault in the background, did in place of a reply.
        """
        self._clock.now = rounds[0][0]
        with self._answered(), closing(self._conversation(settings)) as talk:
            self.transport.said += [answer for _, _, answer in rounds]
            for when, said, _ in rounds:
                self._clock.now, self.transport.spoken = when, said
                self._told(talk.turn(said, CancelToken()))
                self._told(talk.compact_now())
            self._clock.now += timedelta(minutes=1)
            self._told(talk.save(CancelToken()))
            talk.maintenance.wait()
            self._told(talk.maintenance.notices)
        self.memory.index.settle(_SETTLE)

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Ends with what the model's server did in place of a reply, whatever the program made of it or did without."""
        try:
            yield
        except errors.ModelError:
            if not self.transport.failure:
                raise
        if self.transport.failure:
            raise self.transport.failure

    def ask(self, question: str, reply: str | None = None) -> tuple[Seen, str]:
        """Ask in a new session of which nothing stays: the request that the reply came to, and the reply.

        ``reply`` stands for the model's own.
        """
        talk = self._conversation(self._settings, incognito=True)
        self.transport.said += [reply] if reply is not None else []
        self.transport.spoken = question
        with self._answered():
            *_, last = talk.turn(question, CancelToken())
        assert isinstance(last, Replied)
        return self.transport.seen[-1], last.reply.text

    def at(self, day: str) -> None:
        """Let it be the evening of a day."""
        self._clock.now = datetime.fromisoformat(day).replace(hour=23).astimezone()

    def _told(self, events: Any) -> None:
        """Let things happen, and write down what was told of them; a fault of ours in the background is raised."""
        for event in events:
            if isinstance(event, Notice):
                self._log.info("%s %s %s", self._clock.now, event.key, dict(event.details))
                fault = event.details.get("error")
                if event.key == _FAULT and isinstance(fault, Exception):
                    raise fault

    def _conversation(self, settings: Settings, *, incognito: bool = False) -> Conversation:
        session, resumed = self.memory.sessions.resume_or_start()
        return Conversation(
            TurnSteps(settings, self.memory, self._llm), session,
            new_id=self.new_id, resumed=resumed, incognito=incognito,
        )  # fmt: skip

    def new_id(self) -> str:
        """The next id; the same in every run."""
        return f"{next(self._ids):032x}"


@contextmanager
def lived(
    life: Life, replies: KeptReplies, folder: Path, log: logging.Logger, planning: str = "off"
) -> Iterator[Lived]:
    """Live a life in a folder; what is left of it may be asked while the context is open.

    ``planning`` is how a search of memory is planned for a question; no reply of an evening is worth a plan.
    """
    evening_settings = config.load_settings(folder, _SETTINGS | {"RECALL_PLANNING": "off"})
    settings = config.load_settings(folder, _SETTINGS | {"RECALL_PLANNING": planning})
    transport, ids = FixedReplies(replies), itertools.count(1)
    clock = SetClock(datetime.fromisoformat(life["sessions"][0]["date"]).astimezone())
    llm = Llm(settings, log, clock=clock, transport=lambda: transport, boundary=lambda: _MARK)
    memory = Memory(settings.data_dir, llm.embedder, clock=clock, new_id=lambda: f"{next(ids):032x}", log=log)
    whole = Lived(memory, transport, clock, settings, llm, log, ids)
    try:
        for rounds in evenings(life):
            whole.evening(rounds, evening_settings)
        whole.at(life["asked_on"])
        yield whole
    finally:
        memory.close()
        llm.close()
