"""What is remembered, as a model is shown it: recalled memories as lines of JSON that are data and nothing else, and
images with what became of their lines.

Of what was recalled first the chapters of a stretch that was asked for, each with its days and the number of
conversations it was drawn from; then what is known, a line a fact with the day on which it was said; then what was
said, a line for each day of each conversation: its date, weekday and age, its summary where that was recalled, and
its turns, each with its speaker. Beside a summary, and in a turn, stands what became of what it says. A conversation
of several days has a number. Where an hour and more passed between two turns the later one has its time. What came
through another program says so. At last what memories of others hold, a line a text, each with the name of its source.
Each part stands oldest first.

Promises: whatever was said stays inside its line, and nothing in it can act (``domain.text.harmless``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.held import KeptMemory
from domain.languages import Language, language_of, vague_age_in, when_in
from domain.recollection import (
    Client,
    FactMark,
    RecalledFact,
    RecalledOther,
    RecalledSummary,
    RecalledTurn,
    Recollection,
)
from domain.records import PREFIX, Role
from domain.text import UNKNOWN_DATE, date_of, harmless, in_zone, memory_text, record
from prompts import TEMPLATES, Templates

#: Turns that follow each other sooner are of one time.
_WORTH_A_TIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Telling:
    """How memories are told: in which language, how late it is, what the speakers are called, and the fence."""

    language: Language
    now: datetime
    speakers: Mapping[Role, str]
    boundary: str

    def when(self, timestamp: str, *, known: bool = True) -> dict[str, str]:
        """The date of a record, its weekday and its age, where it is ``known``."""
        if not known:
            return {"date": UNKNOWN_DATE}
        return {"date": date_of(timestamp), **when_in(self.language, timestamp, self.now)}

    def said(self, text: str) -> str:
        """What was said, with nothing in it that could act."""
        return harmless(text, self.boundary)


@dataclass(slots=True)
class _Day:
    """One day of one conversation, as far as it was recalled."""

    timestamp: str
    summaries: list[RecalledSummary] = field(default_factory=list)
    turns: list[RecalledTurn] = field(default_factory=list)


def records(found: Recollection, how: Telling) -> Iterator[str]:
    """What was recalled, a line a record."""
    for chapter in sorted(found.chapters, key=lambda one: _moment(one.start)):
        drawn = {
            "from": chapter.start[:10],
            "to": chapter.end[:10],
            "drawn_from_conversations": chapter.sessions,
        }
        yield record(chapter=how.said(chapter.text), **drawn)
    for fact in sorted(found.facts, key=lambda one: _moment(one.said)):
        yield record(**_known(fact, how))
    days = _days(found)
    lasting = [session for session, count in Counter(session for session, _ in days).items() if count > 1]
    for session, day in days:
        number = {"conversation": lasting.index(session) + 1} if session in lasting else {}
        summary = _summary(day.summaries, how) if day.summaries else {}
        turns = {"turns": list(_turns(day.turns, how))} if day.turns else {}
        dated = not day.turns or not all(turn.undated for turn in day.turns)
        yield record(
            **number, **how.when(day.timestamp, known=dated), **_client(day, how), **summary, **turns
        )
    for other in sorted(found.others, key=lambda one: one.timestamp):
        yield record(**_of_others(other, how))


def kept_records(memories: Iterable[KeptMemory], how: Telling) -> Iterator[str]:
    """What a chat API keeps of talk, a line a memory, oldest first."""
    for one in sorted(memories, key=lambda one: one.number):
        points = {"key_points": [how.said(memory_text(point)) for point in json.loads(one.key_points)]}
        told = {"memory": how.said(memory_text(one.summary)), "importance": one.importance}
        yield record(**how.when(one.created_at), **told, **(points if points["key_points"] else {}))


def notes_on(found: Recollection, templates: Templates) -> str:
    """What has to be explained of records; "" where nothing in them has to."""
    marks = [*(turn.marks for turn in found.turns), *(summary.marks for summary in found.summaries)]
    marked = templates.recalled_notes if found.facts or any(marks) else ""
    faint = templates.recalled_faint if any(turn.faded for turn in found.turns) else ""
    of_others = templates.recalled_others if found.others else ""
    stored = any(one.client for one in found.turns) or any(one.client for one in found.summaries)
    of_others += templates.recalled_clients if stored else ""
    return (templates.recalled_chapters if found.chapters else "") + marked + faint + of_others


def marked_image(image: str, marks: Mapping[str, Iterable[FactMark]]) -> str:
    """An image with what became of what its lines tell, behind each and in its language; ``marks`` are by line.

    >>> marked_image("Home: Lyon.", {"Home: Lyon.": [FactMark("changed", "2026-05", "Ann lives in Oslo.")]})
    'Home: Lyon. [changed since 2026-05: Ann lives in Oslo.]'
    """
    return "\n".join(
        line + "".join(_mark(mark, language_of(line)) for mark in marks.get(line.strip(), ()))
        for line in image.split("\n")
    )


def _mark(mark: FactMark, language: Language) -> str:
    text = " ".join(mark.text.split())
    return TEMPLATES[language].became[mark.became].format(when=mark.when[:10], text=text)


def _days(found: Recollection) -> list[tuple[str, _Day]]:
    """The days of the conversations, each with the id of its session; a summary stands with the first of its own."""
    days: dict[tuple[str, str], _Day] = {}
    first: dict[str, _Day] = {}
    for turn in found.turns:
        day = days.setdefault((turn.session_id, turn.timestamp[:10]), _Day(turn.timestamp))
        day.turns.append(turn)
        first.setdefault(turn.session_id, day)
    for summary in found.summaries:
        if summary.session_id not in first:
            first[summary.session_id] = days[summary.session_id, ""] = _Day(summary.timestamp)
        first[summary.session_id].summaries.append(summary)
    named = [(session, day) for (session, _), day in days.items()]
    return sorted(named, key=lambda one: _moment(one[1].timestamp))


def _client(day: _Day, how: Telling) -> dict[str, str]:
    """Through which kind of program a day's conversation came into memory, where it was another one."""
    clients: list[Client] = [*(one.client for one in day.turns), *(one.client for one in day.summaries)]
    client: Client = next((one for one in clients if one), "")
    return {"through": TEMPLATES[how.language].clients[client]} if client else {}


def _speaker(turn: RecalledTurn, how: Telling) -> str:
    """Who said a turn; what a program stored is its own words."""
    if turn.client == "stored" and turn.role == "user":
        return TEMPLATES[how.language].stored_by.format(person=how.speakers["user"])
    return how.said(turn.speaker) or how.speakers[turn.role]


def _summary(summaries: Iterable[RecalledSummary], how: Telling) -> dict[str, str]:
    """The summary of a day's conversation, and what became of what it says."""
    told = how.said("\n".join(one.text for one in summaries))
    return {"summary": told, **_became((mark for one in summaries for mark in one.marks), how)}


def _turns(turns: Iterable[RecalledTurn], how: Telling) -> Iterator[dict[str, object]]:
    before: datetime | None = None
    for turn in turns:
        told, said = _moment(turn.timestamp), how.said(turn.text.removeprefix(PREFIX[turn.role]))
        late = before is not None and abs(told - before) >= _WORTH_A_TIME
        before = told
        yield {
            **({"at": date_of(turn.timestamp)[11:]} if late else {}),
            "speaker": _speaker(turn, how),
            "text": said,
            **_became(turn.marks, how),
            **(_faint(turn, how) if turn.faded else {}),
        }


def _became(marks: Iterable[FactMark], how: Telling) -> dict[str, str]:
    """What became of what was said; several of one kind stand behind each other."""
    told: dict[str, list[str]] = {}
    for mark in marks:
        about = f": {how.said(mark.text)}" if mark.text else ""
        told.setdefault(mark.became, []).append((mark.when[:10] + about).removeprefix(": "))
    return {became: "; ".join(each) for became, each in told.items()}


def _faint(turn: RecalledTurn, how: Telling) -> dict[str, str]:
    """In which tone something is to be told that has faded."""
    age = vague_age_in(how.language, _moment(turn.timestamp).date(), how.now.date())
    return {"faint": TEMPLATES[how.language].faint.format(age=age)}


def _known(fact: RecalledFact, how: Telling) -> dict[str, object]:
    how_said = {} if fact.stance == "stated" else {"only": fact.stance}
    planned = {"was_planned_for": fact.planned_for[:10]} if fact.planned_for else {}
    since = {"since": fact.since[:10]} if fact.since and not planned else {}
    doubt = {"doubtful_since": fact.doubtful_since[:10]} if fact.doubtful_since else {}
    return {"known": how.said(fact.text), **how_said, **how.when(fact.said[:10]), **since, **planned, **doubt}


def _of_others(other: RecalledOther, how: Telling) -> dict[str, object]:
    """A text of a memory that is not ours: always with the name of its source."""
    place = {"place": how.said(other.place)} if other.place else {}
    speaker = {"speaker": TEMPLATES[how.language].others_speakers[other.role]} if other.role else {}
    when = how.when(other.timestamp) if other.timestamp else {}
    return {"source": how.said(other.source), **place, **when, **speaker, "text": how.said(other.text)}


def served_by(recalled: Recollection) -> tuple[str, ...]:
    """The ids of what a model is told, and of facts those of the turns that they rest on, each once."""
    told = [*(one.text_id for one in recalled.summaries), *(one.text_id for one in recalled.turns)]
    told += [one.text_id for one in recalled.chapters]
    return tuple(dict.fromkeys([*told, *(turn for fact in recalled.facts for turn in fact.turns)]))


def _moment(timestamp: str) -> datetime:
    moment = datetime.fromisoformat(timestamp)
    return moment if moment.tzinfo else in_zone(moment)
