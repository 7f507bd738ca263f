"""What is remembered, as a model is shown it: recalled memories as lines of JSON, and personas with annotated lines.

The lines of a prompt, each group oldest first: chapters of a period that was asked about; facts; then a line for each
day of each conversation with its summary and its messages; texts of external memories with the name of their source;
notes on a client's history. Annotations beside a message or a summary say what has changed since.

Guarantee: every text stays inside its line, and nothing in it can act (``domain.text.make_harmless``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.quotations import memory_text
from domain.recollection import (
    Annotation,
    ClientNote,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    Recollection,
)
from domain.records import PREFIX, Role
from domain.text import format_record, make_harmless
from language.calendar import UNKNOWN_DATE, date_of, in_zone, vague_age_in, when_in
from language.scripts import Language, language_of
from prompts import TEMPLATES, Templates

#: A message that follows the one before sooner gets no time of its own.
_WORTH_A_TIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RecordContext:
    """What the wording of a record depends on: language, time, the names of the speakers, and the fence."""

    language: Language
    now: datetime
    speakers: Mapping[Role, str]
    boundary: str

    def date_fields(self, timestamp: str, *, known: bool = True) -> dict[str, str]:
        """The date of a record, its weekday and its age, where it is ``known``."""
        if not known:
            return {"date": UNKNOWN_DATE}
        return {"date": date_of(timestamp), **when_in(self.language, timestamp, self.now)}

    def harmless_text(self, text: str) -> str:
        """What was said, with nothing in it that could act."""
        return make_harmless(text, self.boundary)


@dataclass(slots=True)
class _Day:
    """One day of one conversation, as far as it was recalled."""

    timestamp: str
    summaries: list[RecalledSummary] = field(default_factory=list)
    turns: list[RecalledMessage] = field(default_factory=list)


def prompt_records(found: Recollection, context: RecordContext) -> Iterator[str]:
    """What was recalled, a line a format_record."""
    for chapter in sorted(found.chapters, key=lambda one: _parse_time(one.start)):
        drawn = {"from": chapter.start[:10], "to": chapter.end[:10], "drawn_from_conversations": chapter.sessions}
        yield format_record(chapter=context.harmless_text(chapter.text), **drawn)
    for fact in sorted(found.facts, key=lambda one: _parse_time(one.said)):
        yield format_record(**_fact_fields(fact, context))
    days = _group_by_day(found)
    lasting = [session for session, count in Counter(session for session, _ in days).items() if count > 1]
    for session, day in days:
        number = {"conversation": lasting.index(session) + 1} if session in lasting else {}
        summary = {}
        if day.summaries:
            summary["summary"] = context.harmless_text("\n".join(one.text for one in day.summaries))
            summary |= _annotation_fields((mark for one in day.summaries for mark in one.annotations), context)
        turns = {"turns": list(_message_fields(day.turns, context))} if day.turns else {}
        clients = [
            *(one.client for one in day.turns if one.client),
            *(one.client for one in day.summaries if one.client),
        ]
        client = {"through": TEMPLATES[context.language].clients[clients[0]]} if clients else {}
        dated = not day.turns or not all(turn.undated for turn in day.turns)
        yield format_record(**number, **context.date_fields(day.timestamp, known=dated), **client, **summary, **turns)
    for other in sorted(found.external, key=lambda one: one.timestamp):
        yield format_record(**_external_fields(other, context))
    for note in sorted(found.notes, key=lambda one: one.number):
        yield format_record(**_note_fields(note, context))


def explain_records(found: Recollection, templates: Templates) -> str:
    """What has to be explained of records; "" where nothing in them has to."""
    marks = [*(turn.annotations for turn in found.turns), *(summary.annotations for summary in found.summaries)]
    marked = templates.recalled_notes if found.facts or any(marks) else ""
    faint = templates.recalled_faint if any(turn.archived for turn in found.turns) else ""
    external = templates.recalled_others if found.external else ""
    stored = any(one.client for one in found.turns) or any(one.client for one in found.summaries)
    external += templates.recalled_clients if stored else ""
    return (templates.recalled_chapters if found.chapters else "") + marked + faint + external


def annotated_persona(persona: str, marks: Mapping[str, Iterable[Annotation]]) -> str:
    """The persona with the annotations of each line appended, in the language of the line; ``marks`` are by line.

    >>> annotated_persona("Home: Lyon.", {"Home: Lyon.": [Annotation("changed", "2026-05", "Ann lives in Oslo.")]})
    'Home: Lyon. [changed since 2026-05: Ann lives in Oslo.]'
    """
    lines = []
    for line in persona.split("\n"):
        annotated = line
        for mark in marks.get(line.strip(), ()):
            template = TEMPLATES[language_of(line)].became[mark.became]
            annotated += template.format(when=mark.when[:10], text=" ".join(mark.text.split()))
        lines.append(annotated)
    return "\n".join(lines)


def _group_by_day(found: Recollection) -> list[tuple[str, _Day]]:
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
    return sorted(named, key=lambda one: _parse_time(one[1].timestamp))


def _message_fields(turns: Iterable[RecalledMessage], context: RecordContext) -> Iterator[dict[str, object]]:
    before: datetime | None = None
    faint = TEMPLATES[context.language].faint
    for turn in turns:
        spoken, said = _parse_time(turn.timestamp), context.harmless_text(turn.text.removeprefix(PREFIX[turn.role]))
        # In which tone something that is archived is to be mentioned.
        age = vague_age_in(context.language, spoken.date(), context.now.date()) if turn.archived else ""
        late = before is not None and abs(spoken - before) >= _WORTH_A_TIME
        before = spoken
        speaker = context.harmless_text(turn.speaker) or context.speakers[turn.role]
        if turn.client == "stored" and turn.role == "user":  # what a program stored is its own words
            speaker = TEMPLATES[context.language].stored_by.format(person=context.speakers["user"])
        yield {
            **({"at": date_of(turn.timestamp)[11:]} if late else {}),
            "speaker": speaker,
            "text": said,
            **_annotation_fields(turn.annotations, context),
            **({"faint": faint.format(age=age)} if turn.archived else {}),
        }


def _annotation_fields(marks: Iterable[Annotation], context: RecordContext) -> dict[str, str]:
    """What became of what was said; several of one kind stand behind each other."""
    grouped: dict[str, list[str]] = {}
    for mark in marks:
        about = f": {context.harmless_text(mark.text)}" if mark.text else ""
        grouped.setdefault(mark.became, []).append((mark.when[:10] + about).removeprefix(": "))
    return {became: "; ".join(each) for became, each in grouped.items()}


def _fact_fields(fact: RecalledFact, context: RecordContext) -> dict[str, object]:
    how_said = {} if fact.stance == "stated" else {"only": fact.stance}
    planned = {"was_planned_for": fact.planned_for[:10]} if fact.planned_for else {}
    since = {"since": fact.since[:10]} if fact.since and not planned else {}
    doubt = {"doubtful_since": fact.doubtful_since[:10]} if fact.doubtful_since else {}
    return {
        "known": context.harmless_text(fact.text),
        **how_said,
        **context.date_fields(fact.said[:10]),
        **since,
        **planned,
        **doubt,
    }


def _external_fields(other: RecalledExternal, context: RecordContext) -> dict[str, object]:
    """A text of a memory that is not ours: always with the name of its source."""
    place = {"place": context.harmless_text(other.place)} if other.place else {}
    speaker = {"speaker": TEMPLATES[context.language].others_speakers[other.role]} if other.role else {}
    date_fields = context.date_fields(other.timestamp) if other.timestamp else {}
    return {
        "source": context.harmless_text(other.source),
        **place,
        **date_fields,
        **speaker,
        "text": context.harmless_text(other.text),
    }


def _note_fields(note: ClientNote, context: RecordContext) -> dict[str, object]:
    points = [context.harmless_text(memory_text(point)) for point in json.loads(note.key_points)]
    fields = {"memory": context.harmless_text(memory_text(note.summary)), "importance": note.importance}
    return {**context.date_fields(note.created_at), **fields, **({"key_points": points} if points else {})}


def ids_shown(recalled: Recollection) -> tuple[str, ...]:
    """The ids of what a model is shown, and of facts those of the turns that they rest on, each once."""
    ids = [*(one.text_id for one in recalled.summaries), *(one.text_id for one in recalled.turns)]
    ids += [one.text_id for one in recalled.chapters]
    return tuple(dict.fromkeys([*ids, *(turn for fact in recalled.facts for turn in fact.turns)]))


def _parse_time(timestamp: str) -> datetime:
    moment = datetime.fromisoformat(timestamp)
    return moment if moment.tzinfo else in_zone(moment)
