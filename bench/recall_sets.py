"""Sets of conversations with questions, as they are read for measuring recall.

A set is one JSON file, gzip'ed or not, ``{name, lang, hays, questions}``: ``hays[id].sessions[]`` has ``date``,
``summary``, ``facts`` (``{text, tids}``) and ``turns`` (``{tid, speaker, text, reply?}``); a question has
``hid``, ``q``, ``cat``, ``groups`` of evidence (a group is found when any of its turns is), ``before``
(only sessions with a smaller index exist when it is asked) and ``ctx`` (the last messages, ending with the
question). ``answer`` is read for ``bench.answers`` alone: recall is measured by the evidence.

The file that LoCoMo publishes is read too: a list of samples, each with ``conversation`` (``session_1``,
``session_1_date_time``, ...) and ``qa`` (``question``, ``answer``, ``evidence``, ``category`` 1 to 5). A picture is its
caption behind the text; questions whose evidence is not given in ids of messages are kept without it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from domain.records import Role
from language.times import written_dates

_LOCOMO_SESSION = re.compile(r"session_(\d+)")
#: What LoCoMo's numbers of categories mean.
_LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_BEGINNING = datetime(2023, 1, 1, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who said it, and the id of the turn of the set that it belongs to."""

    role: Role
    text: str
    tid: str


@dataclass(frozen=True, slots=True)
class Talk:
    """One session: rounds of a user's and an assistant's message, either of which may be missing."""

    date: datetime
    rounds: tuple[tuple[Said | None, Said | None], ...]
    summary: str
    facts: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """What is asked, what was said right before it, and which turns answer it."""

    text: str
    context: str
    category: str
    history: str
    groups: tuple[frozenset[str], ...]
    before: int
    answer: str = ""


@dataclass(frozen=True)
class Set:
    """Histories by id, and the questions to them."""

    name: str
    language: str
    histories: dict[str, tuple[Talk, ...]]
    questions: tuple[SetQuestion, ...]


def read(path: Path) -> Set:
    """Read one set."""
    packed = path.read_bytes()
    data = json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)
    if isinstance(data, list):
        data = _of_locomo(data)
    histories = {name: _talks(hay["sessions"]) for name, hay in data["hays"].items()}
    questions = tuple(_question(asked, histories) for asked in data["questions"])
    return Set(name_of(path), data["lang"], histories, questions)


def _of_locomo(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """LoCoMo's published samples as a set."""
    hays: dict[str, Any] = {}
    questions: list[dict[str, Any]] = []
    for place, sample in enumerate(samples, 1):
        name, spoken = str(sample.get("sample_id", place)), sample["conversation"]
        numbers = sorted(int(found[1]) for key in spoken if (found := _LOCOMO_SESSION.fullmatch(key)) and spoken[key])
        sessions = [
            {
                "date": spoken[f"session_{number}_date_time"], "summary": "", "facts": [],
                "turns": [_locomo_turn(message) for message in spoken[f"session_{number}"]],
            }
            for number in numbers
        ]  # fmt: skip
        hays[name] = {"sessions": sessions}
        ids = {message["tid"] for session in sessions for message in session["turns"]}
        for asked in sample["qa"]:
            category = _LOCOMO_CATEGORIES[int(asked["category"])]
            groups = [[one] for one in asked.get("evidence", ()) if one in ids]
            answer = "" if category == "adversarial" else asked.get("answer")
            questions.append({"hid": name, "q": asked["question"], "cat": category, "groups": groups, "answer": answer})
    return {"lang": "en", "hays": hays, "questions": questions}


def _locomo_turn(message: dict[str, Any]) -> dict[str, str]:
    picture = f" [picture: {message['blip_caption']}]" if message.get("blip_caption") else ""
    return {
        "tid": message["dia_id"],
        "speaker": message["speaker"],
        "text": f"{message.get('text', '')}{picture}".strip(),
    }


def name_of(path: Path) -> str:
    """What a set is called: its file's name."""
    return path.name.removesuffix(".gz").removesuffix(".json")


def shuffled(data: Set, seed: int = 7) -> Set:
    """The same set with its messages dealt out anew over the sessions of each history: neighbours mean nothing.

    Every session keeps its day and its length. The evidence of one question does not stay together either.
    """
    histories = {name: _dealt(talks, Random(f"{seed} {name}")) for name, talks in data.histories.items()}
    asked = tuple(replace(one, before=len(histories[one.history])) for one in data.questions)
    return Set(f"{data.name}-shuffled", data.language, histories, asked)


def _dealt(talks: Sequence[Talk], chance: Random) -> tuple[Talk, ...]:
    rounds = [spoken for talk in talks for spoken in talk.rounds]
    users, replies = [user for user, _ in rounds], [reply for _, reply in rounds]
    chance.shuffle(users)
    chance.shuffle(replies)
    dealt = iter(zip(users, replies, strict=True))
    return tuple(replace(talk, rounds=tuple(next(dealt) for _ in talk.rounds), summary="", facts=()) for talk in talks)


def _question(asked: dict[str, Any], histories: dict[str, tuple[Talk, ...]]) -> SetQuestion:
    everything = len(histories[asked["hid"]])
    return SetQuestion(
        text=asked["q"],
        context=str(asked.get("ctx") or "").removesuffix(asked["q"]).strip(),
        category=asked["cat"],
        history=asked["hid"],
        groups=tuple(frozenset(map(str, group)) for group in asked["groups"]),
        before=min(int(asked.get("before", everything)), everything),
        answer=str(asked["answer"]) if asked.get("answer") is not None else "",
    )


def _talks(sessions: Sequence[dict[str, Any]]) -> tuple[Talk, ...]:
    talks: list[Talk] = []
    for session in sessions:
        day = _date(session["date"]) or (talks[-1].date + timedelta(hours=1) if talks else _BEGINNING)
        facts = tuple((fact["text"], tuple(map(str, fact["tids"]))) for fact in session["facts"])
        talks.append(Talk(day, _rounds(session["turns"]), session["summary"], facts))
    return tuple(talks)


def _date(text: str) -> datetime | None:
    """The day that a free text names."""
    days = [one.meant.first for one in written_dates(text.replace("-", " ")) + written_dates(text) if one.meant]
    return datetime.combine(days[0], _BEGINNING.timetz()) if days else None


def _rounds(messages: Sequence[dict[str, Any]]) -> tuple[tuple[Said | None, Said | None], ...]:
    """Messages paired into rounds; where one side speaks twice, the other's place stays empty."""
    said = [message for stored_message in messages for message in _messages(stored_message)]
    if any(message is None for message in said):
        return _taking_turns(messages)
    rounds: list[tuple[Said | None, Said | None]] = []
    for message in (message for message in said if message):
        if message.role == "assistant" and rounds and rounds[-1][1] is None:
            rounds[-1] = (rounds[-1][0], message)
        else:
            rounds.append((message, None) if message.role == "user" else (None, message))
    return tuple(rounds)


def _messages(message: dict[str, Any]) -> list[Said | None]:
    """A turn's messages; [None] where the speaker is neither a user nor an assistant but a person with a name."""
    tid, speaker, text = str(message["tid"]), str(message["speaker"]).lower(), message["text"]
    if "reply" in message:
        return [Said("user", text, tid), Said("assistant", message["reply"], tid)]
    if speaker in ("user", ""):
        return [Said("user", text, tid)]
    return [Said("assistant", text, tid)] if speaker == "assistant" else [None]


def _taking_turns(messages: Sequence[dict[str, Any]]) -> tuple[tuple[Said | None, Said | None], ...]:
    """People talking to each other: each message says who speaks, as in a chat that was taken in from elsewhere."""
    roles: tuple[Role, Role] = ("user", "assistant")
    said = [
        Said(roles[at % 2], f"{message['speaker']}: {message['text']}", str(message["tid"]))
        for at, message in enumerate(messages)
    ]
    return tuple((said[at], said[at + 1] if at + 1 < len(said) else None) for at in range(0, len(said), 2))
