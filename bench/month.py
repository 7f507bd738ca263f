"""A month with a companion that may speak first: what it said at each opening, and the pages of its diary.

    python -m bench.month --month month.json --language en --base http://127.0.0.1:8920/v1 --keep FOLDER [--json]

The person's messages are fixed: ``{"en": {"days": [{"date": "2026-10-01", "messages": ["Hi", ...]}]}, "zh": ...}``.
Every reply, greeting, summary and page is the model's, each kept with its request. A day is one session, saved at its
end. What is printed is for a reader to judge: each greeting with the words it rests on, each sentence of the diary with
its messages. A model that is slow may be: here a greeting has minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import config
from bench.kept_replies import KeptReplies, KeptTransport
from bench.living import SetClock
from conversation import Conversation, TurnSteps
from domain.events import Replied
from domain.workers import CancelToken
from llm import Llm
from memory import Memory

_SETTINGS = {
    "OPENAI_API_BASE": "http://month.invalid/v1",
    "OPENAI_API_KEY": "none",
    "CHAT_MODEL": "month",
    "REQUEST_TIMEOUT": "600",
    "RECALL_PLANNING": "off",
    "GREETING": "on",
    "DIARY": "on",
}
#: Always the same, so that a request that is made again is found.
_MARK = "=== 000000000000000000000000 ==="
_PATIENCE, _SETTLE = 600.0, 60.0
_HOUR = 19


def live(
    days: list[dict[str, Any]], replies: KeptReplies, folder: Path, log: logging.Logger
) -> Iterator[dict[str, Any]]:
    """Each day as it went: ``greeting`` with its evidence, ``talk``; last the ``diary``."""
    settings, transport, ids = config.load_settings(folder, _SETTINGS), KeptTransport(replies), itertools.count(1)
    clock = SetClock(_evening(days[0]))

    def new_id() -> str:
        return f"{next(ids):032x}"

    with closing(Llm(settings, log, clock=clock, transport=lambda: transport, boundary=lambda: _MARK)) as llm:
        memory = Memory(settings.data_dir, llm.embedder, clock=clock, new_id=new_id, log=log)
        with closing(memory):
            for day in days:
                clock.now = _evening(day)
                session, resumed = memory.sessions.resume_or_start()
                steps = TurnSteps(settings, memory, llm)
                with closing(Conversation(steps, session, new_id=new_id, resumed=resumed)) as talk:
                    yield {"date": day["date"], **_day(talk, clock, day["messages"])}
                memory.index.settle(_SETTLE)
                if transport.failure:
                    raise transport.failure
            yield {"diary": _diary(memory)}


def _evening(day: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(day["date"]).replace(hour=_HOUR).astimezone()


def _day(talk: Conversation, clock: SetClock, messages: list[str]) -> dict[str, Any]:
    """Open, listen, talk, save."""
    *_, greeting = None, *talk.greet(CancelToken(), _PATIENCE)
    said = []
    for message in messages:
        clock.now += timedelta(minutes=1)
        replied = [event for event in talk.turn(message, CancelToken()) if isinstance(event, Replied)]
        said += [(message, one.reply.text) for one in replied]
    clock.now += timedelta(minutes=1)
    for _ in talk.save(CancelToken()):
        pass
    talk.maintenance.wait()
    rests_on = [f"{one.kind} {one.said[:10]}: {one.words}" for one in greeting.matters] if greeting else []
    return {"greeting": greeting.text if greeting else "", "rests_on": rests_on, "talk": said}


def _diary(memory: Memory) -> list[dict[str, Any]]:
    pages = memory.chapters.pages()
    texts = memory.messages.with_ids([one for page in pages for _, ids in page.sentences for one in ids])
    words = {one.text_id: one.text for one in texts}
    return [
        {
            "date": page.start[:10],
            "lines": [(line, [words.get(one, "gone") for one in ids]) for line, ids in page.sentences],
        }
        for page in pages
    ]


def main() -> None:
    """Live a month and print it."""
    parser = argparse.ArgumentParser(description="A month with a companion that may speak first.")
    parser.add_argument("--month", type=Path, required=True, help="the person's messages by day")
    parser.add_argument("--language", required=True, help="which of its languages")
    parser.add_argument("--base", required=True, help="an OpenAI-compatible server")
    parser.add_argument("--model", default="month")
    parser.add_argument("--keep", type=Path, required=True, help="folder of the replies, for a run that goes on")
    parser.add_argument("--json", action="store_true", help="print one object of JSON a line")
    asked = parser.parse_args()
    asked.keep.mkdir(parents=True, exist_ok=True)
    days = json.loads(asked.month.read_text(encoding="utf-8"))[asked.language]["days"]
    with tempfile.TemporaryDirectory() as folder:
        log = logging.getLogger("month")
        for found in live(days, KeptReplies(asked.base, asked.keep, asked.model), Path(folder), log):
            print(json.dumps(found, ensure_ascii=False, indent=None if asked.json else 1), flush=True)


if __name__ == "__main__":
    main()
