"""What is remembered, as a model is shown it: recalled memories as lines of JSON, and personas with annotated lines.

The lines of a prompt, each group oldest first: chapters of a period that was asked about; facts; then a line for each
day of each conversation with its summary and its messages; texts of external memories with the name of their source;
notes on a client's history. What was said is a list: each message under the name of its speaker, and between them, as
plain strings, what the program remarks: an annotation of what precedes it, a later time, "…" for what is left out.
A verified fact is "known"; one that is only quoted is shown as its words, and an inference as what may be.

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
from language.calendar import UNKNOWN_DATE, age_in, date_of, in_zone, moment_in
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

    def harmless_text(self, text: str) -> str:
        """What was said, with nothing in it that could act."""
        return make_harmless(text, self.boundary)


@dataclass(slots=True)
class _Day:
    """One day of one conversation, as far as it was recalled."""

    timestamp: str
    summaries: list[RecalledSummary] = field(default_factory=list)
    messages: list[RecalledMessage] = field(default_factory=list)


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
        dated = not day.messages or not all(message.undated for message in day.messages)
        yield format_record(
            **number,
            when=moment_in(context.language, day.timestamp, context.now) if dated else UNKNOWN_DATE,
            **_day_fields(day, context),
        )
    for other in sorted(found.external, key=lambda one: one.timestamp):
        yield format_record(**_external_fields(other, context))
    for note in sorted(found.notes, key=lambda one: one.number):
        yield format_record(**_note_fields(note, context))


def explain_records(found: Recollection, templates: Templates) -> str:
    """What has to be explained of records; "" where nothing in them has to."""
    marks = [
        *(message.annotations for message in found.messages),
        *(summary.annotations for summary in found.summaries),
    ]
    marked = templates.recalled_notes if found.facts or any(marks) else ""
    faint = templates.recalled_faint if any(message.archived for message in found.messages) else ""
    external = templates.recalled_others if found.external else ""
    stored = any(one.client for one in found.messages) or any(one.client for one in found.summaries)
    external += templates.recalled_clients if stored else ""
    return (templates.recalled_chapters if found.chapters else "") + marked + faint + external


def annotated_persona(persona: str, marks: Mapping[str, Iterable[Annotation]]) -> str:
    """The persona with the annotations of each line appended, in the language of the line; ``marks`` are by line.

    >>> annotated_persona("Home: Lyon.", {"Home: Lyon.": [Annotation("until", "2026-05", "Ann lives in Lyon.")]})
    'Home: Lyon. [Ann lives in Lyon: until 2026-05]'
    """
    return "\n".join(
        line + "".join(_remark(mark, TEMPLATES[language_of(line)]) for mark in marks.get(line.strip(), ()))
        for line in persona.split("\n")
    )


def _remark(mark: Annotation, templates: Templates, *, about: bool = True) -> str:
    """An annotation in words, to be appended to a line; it says what it is ``about`` where that is not plain."""
    became = templates.became[mark.became].format(when=mark.when[:10], text=mark.text)
    subject = f"“{mark.value}”" if mark.value else mark.text.rstrip(".。 ")
    said = templates.about.format(about=subject, became=became) if about else became
    return templates.remark.format(became=" ".join(said.split()))


def _group_by_day(found: Recollection) -> list[tuple[str, _Day]]:
    """The days of the conversations, each with the id of its session; a summary stands with the first of its own."""
    days: dict[tuple[str, str], _Day] = {}
    first: dict[str, _Day] = {}
    for message in found.messages:
        day = days.setdefault((message.session_id, message.timestamp[:10]), _Day(message.timestamp))
        day.messages.append(message)
        first.setdefault(message.session_id, day)
    for summary in found.summaries:
        if summary.session_id not in first:
            first[summary.session_id] = days[summary.session_id, ""] = _Day(summary.timestamp)
        first[summary.session_id].summaries.append(summary)
    named = [(session, day) for (session, _), day in days.items()]
    return sorted(named, key=lambda one: _parse_time(one[1].timestamp))


def _day_fields(day: _Day, context: RecordContext) -> dict[str, object]:
    """What was said on a day; each annotation stands once in the summary, and once with what was said."""
    clients = [one.client for one in day.messages if one.client] + [one.client for one in day.summaries if one.client]
    archived = [message for message in day.messages if message.archived]
    fields: dict[str, object] = {}
    if clients:
        fields["through"] = TEMPLATES[context.language].clients[clients[0]]
    if archived:  # in which tone it is to be mentioned
        age = age_in(context.language, _parse_time(day.timestamp).date(), context.now.date())
        fields["faint"] = TEMPLATES[context.language].faint.format(age=age)
    if day.summaries:
        text = context.harmless_text("\n".join(one.text for one in day.summaries))
        marks = [mark for one in day.summaries for mark in one.annotations]
        fields["summary"] = text + "".join(_new_remarks(marks, context, {}))
    if day.messages:
        fields["said"] = list(_said(day.messages, context))
    return fields


def _said(messages: Iterable[RecalledMessage], context: RecordContext) -> Iterator[dict[str, str] | str]:
    before: RecalledMessage | None = None
    remarks: dict[str, None] = {}
    for message in messages:
        if before:
            apart = _parse_time(message.timestamp) - _parse_time(before.timestamp)
            left_out = message.place != before.place + 1 and min(message.place, before.place) >= 0
            between = ["…"] if left_out else []
            between += [date_of(message.timestamp)[11:]] if abs(apart) >= _WORTH_A_TIME else []
            if between:
                yield " ".join(between)
        before = message
        speaker = context.harmless_text(message.speaker) or context.speakers[message.role]
        if message.client == "stored" and not message.speaker:  # what a program stored is its own words
            speaker = TEMPLATES[context.language].stored_by.format(person=context.speakers["user"])
        yield {speaker: context.harmless_text(message.text.removeprefix(PREFIX[message.role]))}
        yield from map(str.strip, _new_remarks(message.annotations, context, remarks))


def _new_remarks(marks: Iterable[Annotation], context: RecordContext, before: dict[str, None]) -> Iterator[str]:
    """Annotations in words, without those ``before``, where these are added."""
    for mark in marks:
        said = context.harmless_text(_remark(mark, TEMPLATES[context.language]))
        if said not in before:
            before[said] = None
            yield said


def _fact_fields(fact: RecalledFact, context: RecordContext) -> dict[str, object]:
    when = moment_in(context.language, fact.said[:10], context.now)
    if fact.basis == "quoted":
        said = []
        for quote in fact.quotes:
            speaker = context.harmless_text(quote.speaker)
            own = context.speakers["assistant" if quote.role == "assistant" else "user"]
            said.append({speaker or own: context.harmless_text(memory_text(quote.words))})
        return {"when": when, "said": said}
    text = fact.text
    doubt = Annotation("doubtful_since", fact.doubtful_since, text) if fact.doubtful_since else None
    planned = Annotation("was_planned_for", fact.planned_for, text) if fact.planned_for else None
    remarks = [_remark(mark, TEMPLATES[context.language], about=False) for mark in (doubt, planned) if mark]
    how_said = {} if fact.stance == "stated" else {"only": TEMPLATES[context.language].stances[fact.stance]}
    begins = "from" if fact.since[:10] > context.now.date().isoformat() else "since"
    since = {begins: fact.since[:10]} if fact.since and not planned else {}
    known = "maybe" if fact.basis == "inferred" else "known"
    return {known: context.harmless_text("".join([text, *remarks])), **how_said, "when": when, **since}


def _external_fields(other: RecalledExternal, context: RecordContext) -> dict[str, object]:
    """A text of a memory that is not ours: always with the name of its source."""
    place = {"place": context.harmless_text(other.place)} if other.place else {}
    speaker = {"speaker": TEMPLATES[context.language].others_speakers[other.role]} if other.role else {}
    when = {"when": moment_in(context.language, other.timestamp, context.now)} if other.timestamp else {}
    return {
        "source": context.harmless_text(other.source),
        **place,
        **when,
        **speaker,
        "text": context.harmless_text(other.text),
    }


def _note_fields(note: ClientNote, context: RecordContext) -> dict[str, object]:
    points = [context.harmless_text(memory_text(point)) for point in json.loads(note.key_points)]
    fields = {"memory": context.harmless_text(memory_text(note.summary)), "importance": note.importance}
    return {
        "when": moment_in(context.language, note.created_at, context.now),
        **fields,
        **({"key_points": points} if points else {}),
    }


def ids_shown(recalled: Recollection) -> tuple[str, ...]:
    """The ids of what a model is shown, and of facts those of the turns that they rest on, each once."""
    ids = [*(one.text_id for one in recalled.summaries), *(one.text_id for one in recalled.messages)]
    ids += [one.text_id for one in recalled.chapters]
    return tuple(dict.fromkeys([*ids, *(message for fact in recalled.facts for message in fact.messages)]))


def _parse_time(timestamp: str) -> datetime:
    moment = datetime.fromisoformat(timestamp)
    return moment if moment.tzinfo else in_zone(moment)
