"""A life lived through the program: both sides' words are fixed, whatever a model makes of them is made anew.

    python -m bench.lived --life life-en.json --base http://127.0.0.1:8920/v1 --keep FOLDER

Every evening is a session: its turns are said in their order at their times, the companion's replies are those of the
file, and folds, summaries and images come from the model behind ``--base`` (any OpenAI-compatible server). Then the
questions are asked in a new session, each answered by that model. Every request that reached the model lies in
``--keep`` with its reply, so that a second run asks only what is new (``bench.kept_replies``); the prompts of the fixed
replies lie beside them.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

import config
from bench.kept_replies import KeptReplies, answered
from conversation import Conversation, Replied
from domain.events import Stop
from llm import Llm
from memory import Memory
from models.search_prompts import SEARCH_TEMPLATES, SearchTask
from prompts import TEMPLATES

#: Few rounds fit into the context here, so that an evening is long enough to be folded.
_SETTINGS = {
    "OPENAI_API_BASE": "http://life.invalid/v1",
    "OPENAI_API_KEY": "none",
    "CHAT_MODEL": "life",
    "MAX_CONV_NUM": "4",
    "REFRESH_EVERY_CONV_NUM": "2",
    "REQUEST_TIMEOUT": "600",
}


@dataclass
class SetClock:
    """A clock that stands where the life is."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass
class FixedReplies(httpx2.BaseTransport):
    """Takes the place of the network: what is said in the file is said, everything else is asked of the model."""

    replies: KeptReplies
    said: list[str] = field(default_factory=list)
    seen: list[tuple[str, Path]] = field(default_factory=list)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request answered, and kept."""
        body = json.loads(request.read())
        messages, kind = body["messages"], _kind(body["messages"][0]["content"])
        text = self.said.pop(0) if kind == "talk" and self.said else self.replies.reply(messages)
        self.seen.append((kind, self.replies.put(messages, text)))
        return answered(text, stream=bool(body.get("stream")))


def _kind(system: str) -> str:
    """Which task a prompt is, by the first line of its template; talk where it is none."""
    for language in TEMPLATES:
        tasks = {kind: getattr(TEMPLATES[language], f"{kind}_task") for kind in ("fold", "self", "user")}
        searches: tuple[SearchTask, ...] = ("plan", "reflect", "answer")
        tasks |= {kind: SEARCH_TEMPLATES[language].of(kind) for kind in searches}
        for kind, template in tasks.items():
            if system.startswith(template.split("\n", 1)[0]):
                return kind
    return "talk"


def evenings(life: Mapping[str, Any]) -> Iterator[list[tuple[datetime, str, str]]]:
    """Each session as rounds: when, what the person says, what the companion answers."""
    for session in life["sessions"]:
        turns = session["turns"]
        yield [
            (datetime.fromisoformat(first["at"]).astimezone(), first["text"], second["text"])
            for first, second in pairwise(turns)
            if first["role"] == "user" and second["role"] == "assistant"
        ]


def live(life: Mapping[str, Any], transport: FixedReplies, folder: Path) -> Iterator[tuple[str, str]]:
    """Live it all, then ask; yields each question with its answer."""
    asked_on = datetime.fromisoformat(life["asked_on"]).replace(hour=23).astimezone()
    clock = SetClock(asked_on)
    settings = config.load(folder, _SETTINGS)
    log = logging.Logger("life", logging.CRITICAL)
    llm = Llm(settings, log, clock=clock, transport=lambda: transport)
    memory = Memory(settings.data_dir, llm.embedder, clock=clock, new_id=lambda: uuid.uuid4().hex, log=log)
    try:
        for rounds in evenings(life):
            clock.now = rounds[0][0]
            # No reply of an evening is the model's, so none is worth a plan.
            talk = _conversation(replace(settings, recall_planning="off"), memory, llm, log, clock)
            transport.said += [answer for _, _, answer in rounds]
            for when, said, _ in rounds:
                clock.now = when
                list(talk.turn(said, Stop()))
                talk.fold_now()
            clock.now += timedelta(minutes=1)
            list(talk.save(Stop()))
            memory.settle_index(60)
        clock.now = asked_on
        for question in life["questions"]:
            talk = _conversation(settings, memory, llm, log, clock)
            *_, last = talk.turn(question["q"], Stop())
            yield question["q"], last.reply.text if isinstance(last, Replied) else ""
            talk.reset()
    finally:
        memory.close()
        llm.close()


def _conversation(
    settings: Any, memory: Memory, llm: Llm, log: logging.Logger, clock: SetClock
) -> Conversation:
    session, resumed = memory.resume_or_start()
    return Conversation(
        settings, memory, llm, log,
        session=session, resumed=resumed, clock=clock, new_id=lambda: uuid.uuid4().hex,
    )  # fmt: skip


def main(given: Sequence[str] | None = None) -> None:
    """Live a life and print the questions with their answers."""
    parser = argparse.ArgumentParser(prog="python -m bench.lived")
    parser.add_argument("--life", type=Path, required=True)
    parser.add_argument("--base", required=True, help="an OpenAI-compatible server")
    parser.add_argument("--keep", type=Path, required=True, help="a folder for requests and replies")
    parser.add_argument("--questions", type=int, default=None, help="ask only the first so many")
    options = parser.parse_args(given)
    options.keep.mkdir(parents=True, exist_ok=True)
    life = json.loads(options.life.read_text(encoding="utf-8"))
    life["questions"] = life["questions"][: options.questions]
    transport = FixedReplies(KeptReplies(options.base, options.keep, "life"))
    with tempfile.TemporaryDirectory() as folder:
        for question, answer in live(life, transport, Path(folder)):
            print(f"{question}\n    {answer}")
    for number, (kind, path) in enumerate(transport.seen, 1):
        print(f"{number:3} {kind:5} {path.name}")


if __name__ == "__main__":
    main()
