"""What is asked of a model: the layered prompt, with less of the past where it is refused, and the background tasks.

Promises: the roles of a prompt alternate, whatever is missing; what was recalled never leaves its fence; every memory
carries its weekday and age, and a mark stands before the first words of each day. What is stable stands first and is
the same, byte for byte, from turn to turn of a session: the clock is the last thing in the system role. Nothing here is
stored, shown or decided; a failed call leaves nothing behind. No session is stuck for good, by a context that outgrew
the model or by what a provider filters. Every text of a memory stays inside its line, and nothing in it can
act (``domain.text.make_harmless``). ``models`` speaks to the server and builds the prompts of the tasks.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING

from domain import errors
from domain import text as texts
from domain.events import Notice, Reply, ReplyEvent, StreamEvent
from domain.quotations import memory_text, without_quotations
from domain.recollection import Annotation, Recollection
from domain.records import PREFIX, Message, Role, Round
from domain.settings import Settings, describe_model
from domain.workers import CancelToken
from facts.slots import NO_NAMES, Names
from language.calendar import (
    UNKNOWN_DATE,
    age_in,
    away_in,
    date_of,
    day_in,
    day_of,
    in_zone,
    moment_in,
    weekday_in,
    whole_day_in,
)
from language.scripts import Language, language_of
from models.chat import ChatModel, Patience, PromptMessage, answer_of, merge_messages, save_partial_reply, summary_of
from models.client import open_client
from models.embeddings import BestEmbedder, own_embedder, remote_embedder
from prompts import TEMPLATES, Material, SearchTask, Templates

if TYPE_CHECKING:
    from domain.facts import Fact, NewFact
    from domain.indexes import Embedder
    from domain.matters import OpenMatter
    from domain.recollection import ClientNote, RecalledExternal, RecalledFact, RecalledMessage, RecalledSummary
    from domain.tree import Member
    from facts.spans import Testimony
    from models.client import Transport
    from models.relaying import Relay
    from models.tasks import ExtractionTask, PersonaTask, Task

__all__ = ["Layers", "Llm", "ModelAnswer", "PromptMessage", "assemble_prompt", "profile_and_memories"]

#: A message that follows the one before sooner gets no time of its own.
_WORTH_A_TIME = timedelta(hours=1)
#: A pause this long is mentioned to the model.
_GAP_WORTH_TELLING = timedelta(hours=2)


@dataclass(frozen=True)
class Layers:
    """Everything one turn is answered from.

    ``system`` is the system prompt; None takes the template of ``language``. ``last_spoken`` is when the two last
    talked before this stretch of talk, where that is worth telling; ``greeting`` is what the companion said first, and
    the input answers, ``coming`` what is near in time; ``companion`` and ``person`` are names; an empty one becomes the
    template's own word. ``examples`` are inputs with replies that a former model gave;
    ``said_before`` is what the companion said of itself and has taken back. ``client`` are the messages
    that a client holds itself, in the place of rounds and input; ``instruction`` is the whole system prompt then, in
    the place of all layers of that role.
    """

    text: str
    now: datetime
    language: Language = "en"
    system: str | None = None
    self_image: str = ""
    user_image: str = ""
    summary: str = ""
    recalled: Recollection = field(default_factory=Recollection)
    examples: tuple[tuple[str, str], ...] = ()
    said_before: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()
    last_spoken: datetime | None = None
    greeting: str = ""
    coming: tuple[OpenMatter, ...] = ()
    companion: str = ""
    person: str = ""
    client: tuple[PromptMessage, ...] | None = None
    instruction: str | None = None

    @property
    def templates(self) -> Templates:
        """The templates of this language."""
        return TEMPLATES[self.language]

    @property
    def names(self) -> dict[str, str]:
        """What companion and person are called, to fill templates with."""
        return names_in(self.language, self.companion, self.person)


def assemble_prompt(layers: Layers, boundary: str) -> tuple[PromptMessage, ...]:
    """The messages of one turn: system first, then user and assistant alternating, a user's last.

    ``boundary`` fences the recalled memories; it must be new for every prompt. What a client holds itself stays as it
    is, with the memories behind the last words of the person.
    """
    memories = _fence_memories(layers, boundary)
    if layers.coming:
        records = "\n".join(matter_records(layers.coming, layers.language, layers.now, boundary))
        near = layers.templates.coming.format(boundary=boundary, records=records, **layers.names)
        memories = f"{memories}\n\n{near}" if memories else near
    system = "\n\n".join(_system_layers(layers)) if layers.instruction is None else layers.instruction
    if layers.client is None:
        fenced = PromptMessage("user", memories)
        return merge_messages((PromptMessage("system", system), fenced, *_round_messages(layers)))
    messages = list(layers.client)
    last = max((at for at, one in enumerate(messages) if one.role == "user"), default=-1)
    if memories and last >= 0:
        messages[last] = PromptMessage("user", f"{messages[last].content}\n\n{memories}")
    return (*([PromptMessage("system", system)] if system.strip() else ()), *messages)


def profile_and_memories(layers: Layers, boundary: str) -> tuple[str, str]:
    """What a prompt of another program gets: of the person, the same from turn to turn, and what was recalled."""
    text = texts.without_control_tokens(layers.user_image)
    own = replace(layers, language=language_of(text))  # whatever language is spoken in this turn
    profile = own.templates.user_image.format(text=text, **own.names) if text.strip() else ""
    return profile, _fence_memories(layers, boundary)


def _system_layers(layers: Layers) -> Iterator[str]:
    templates, names = layers.templates, layers.names
    if layers.system is None:
        yield templates.system.format(**names)
    elif layers.system.strip():
        yield layers.system.strip()
    for template, text in (
        (templates.self_image, layers.self_image),
        (templates.user_image, layers.user_image),
        (templates.summary, layers.summary),
    ):
        if text.strip():
            yield template.format(text=texts.without_control_tokens(text), **names)
    yield describe_time(layers.language, layers.now, layers.last_spoken)


def _fence_memories(layers: Layers, boundary: str) -> str:
    parts = list(_voice_layers(layers, boundary)) if layers.examples or layers.said_before else []
    if layers.recalled and (memories := "\n".join(_memory_records(layers, boundary))):
        notes = _explain_records(layers.recalled, layers.templates).format(**layers.names)
        parts.append(layers.templates.recalled.format(boundary=boundary, notes=notes, memories=memories))
    return "\n\n".join([*parts, *([layers.templates.recalled_unknown] if layers.recalled.unknown else [])])


def _voice_layers(layers: Layers, boundary: str) -> Iterator[str]:
    """How the companion has talked, for a model that takes over, and what it said of itself before."""
    lines = "\n".join(
        texts.format_record(they=texts.make_harmless(said, boundary), you=texts.make_harmless(reply, boundary))
        for said, reply in layers.examples
    )
    if lines:
        yield layers.templates.examples.format(boundary=boundary, examples=lines, **layers.names)
    if layers.said_before:
        said = texts.encode_json([texts.make_harmless(one, boundary) for one in layers.said_before])
        yield layers.templates.said_before.format(statements=said)


def matter_records(matters: Sequence[OpenMatter], language: Language, now: datetime, boundary: str) -> Iterator[str]:
    """Open matters as lines of JSON: the words, who said them when, their day and how far away that is."""
    from language.yearly import YearlyDay

    for one in matters:
        yearly = YearlyDay.parse(one.yearly)
        due = yearly.nearest(now.date()) if yearly else day_of(one.due_from)
        said = day_of(one.said)
        record: dict[str, str] = {
            "open": one.kind,
            "words": texts.make_harmless(without_quotations(one.words), boundary),
        }
        record |= {"on": day_in(language, said)} if said else {}
        if yearly and yearly.calendar == "unclear":
            record["calendar"] = "unclear"
        elif due:
            until = "" if one.precision in ("", "time", "day") else f" .. {one.due_to[:10]}"
            record |= {
                "day": day_in(language, due) + until + one.due_from[10:].replace("T", " "),
                "away": away_in(language, due, now.date()),
            }
        if one.role == "assistant":
            record["by"] = "you"
        yield texts.encode_json(record)


def _memory_records(layers: Layers, boundary: str) -> Iterator[str]:
    speakers: dict[Role, str] = {"user": layers.names["person"], "assistant": layers.names["companion"]}
    return prompt_records(layers.recalled, RecordContext(layers.language, layers.now, speakers, boundary))


def _round_messages(layers: Layers) -> Iterator[PromptMessage]:
    """The rounds and the input, with a mark before the first words of each day but where all is of today."""
    before = layers.now.date().isoformat()
    spoken = [
        (one.user.timestamp, one.greeting and one.greeting.words, one.user.words, one.assistant)
        for one in layers.rounds
    ]
    for timestamp, greeting, words, reply in (*spoken, (layers.now.isoformat(), layers.greeting, layers.text, None)):
        day = day_of(timestamp)
        mark = f"[{day_in(layers.language, day)}]\n" if day and timestamp[:10] != before else ""
        if greeting:
            yield PromptMessage("user", mark + layers.templates.opens)
            yield PromptMessage("assistant", greeting)
            mark = ""
        yield PromptMessage("user", mark + words)
        if reply:
            yield PromptMessage("assistant", layers.templates.unanswered if reply.demo else reply.words)
        before = timestamp[:10]


def describe_time(language: Language, now: datetime, last_spoken: datetime | None) -> str:
    """What time it is, and when the two last talked, where that is long ago."""
    templates = TEMPLATES[language]
    line = templates.now.format(now=date_of(now.isoformat()), weekday=weekday_in(language, now))
    if last_spoken is None or now - last_spoken < _GAP_WORTH_TELLING:
        return line
    day, today = last_spoken.date(), now.date()
    if day >= today:
        count = (now - last_spoken) // timedelta(hours=1)
        when = templates.hours_ago.format(time=f"{last_spoken:%H:%M}", count=count)
    else:
        age = age_in(language, day, today)
        when = templates.days_ago.format(day=whole_day_in(language, day), age=age)
    return line + "\n" + templates.last_spoken.format(when=when)


def names_for_prompt(language: Language, settings: Settings, names: Names = NO_NAMES) -> dict[str, str]:
    """What the two are called, to fill templates with: by the settings, else by what was stated."""
    companion = settings.companion_name or names.companion_called
    return names_in(language, companion, settings.user_name or names.person_called)


def names_in(language: Language, companion: str, person: str) -> dict[str, str]:
    """What the two are called, to fill templates with; an empty name becomes the language's own word."""
    templates = TEMPLATES[language]
    named = bool(person) and person != templates.person
    return {
        "companion": companion or templates.companion,
        "person": person or templates.person,
        "the_person": templates.introduced.format(person=person) if named else templates.person,
    }


# -- what is remembered, as a model is shown it

# The lines of a prompt, each group oldest first: chapters of a period that was asked about; facts; then a line for each
# day of each conversation with its summary and its messages; texts of external memories with the name of their source;
# notes on a client's history. What was said is a list: each message under the name of its speaker, and between them, as
# plain strings, what the program remarks: an annotation of what precedes it, a later time, "…" for a gap.
# A verified fact is "known"; one that is only quoted is shown as its words, and an inference as what may be.


@dataclass(frozen=True, slots=True)
class RecordContext:
    """What the wording of a record depends on: language, time, the names of the speakers, and the fence."""

    language: Language
    now: datetime
    speakers: Mapping[Role, str]
    boundary: str

    def harmless_text(self, text: str) -> str:
        """What was said, with nothing in it that could act."""
        return texts.make_harmless(text, self.boundary)


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
        yield texts.format_record(chapter=context.harmless_text(chapter.text), **drawn)
    for fact in sorted(found.facts, key=lambda one: _parse_time(one.said)):
        yield texts.format_record(**_fact_fields(fact, context))
    days = _group_by_day(found)
    lasting = [session for session, count in Counter(session for session, _ in days).items() if count > 1]
    for session, day in days:
        number = {"conversation": lasting.index(session) + 1} if session in lasting else {}
        dated = not day.messages or not all(message.undated for message in day.messages)
        yield texts.format_record(
            **number,
            when=moment_in(context.language, day.timestamp, context.now) if dated else UNKNOWN_DATE,
            **_day_fields(day, context),
        )
    for other in sorted(found.external, key=lambda one: one.timestamp):
        yield texts.format_record(**_external_fields(other, context))
    for note in sorted(found.notes, key=lambda one: one.number):
        yield texts.format_record(**_note_fields(note, context))


def _explain_records(found: Recollection, templates: Templates) -> str:
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
    if fact.basis != "verified":
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
    return {"known": context.harmless_text("".join([text, *remarks])), **how_said, "when": when, **since}


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


# -- asking

#: The longest message in a prompt for a summary and the shortest limit to try, in characters.
_LONGEST_SUMMARISED, _SHORTEST = 100_000, 400
#: The longest message in a prompt for extraction, in the order they are tried.
_LENGTHS_EXTRACTED = (8_000, 2_000, 500, 125)
#: The longest message in a prompt for reading a forget request.
_LONGEST_FORGOTTEN = 1_000
#: How many rounds after those that are summarised show how it went on.
_FOLLOWING = 2


@dataclass(frozen=True)
class ModelAnswer:
    """What was sent in the end, and what came back. ``shortened``: not all of the past could be sent."""

    layers: Layers
    messages: tuple[PromptMessage, ...]
    reply: Reply
    shortened: bool


class Llm:
    """The models that the settings name. Made quickly; the client library is loaded by the first call.

    ``transport`` makes what takes the place of the network for both servers. ``boundary`` makes the marks
    around fenced data.

    The tasks of the background return the model's reply as it is; ``facts`` parses and checks it. JSON modes are not
    used, since servers refuse or ignore them, or answer with blanks. All raise ModelError or Interrupted.
    """

    def __init__(
        self,
        settings: Settings,
        log: logging.Logger,
        *,
        clock: Callable[[], datetime],
        transport: Transport | None = None,
        patience: Patience | None = None,
        boundary: Callable[[], str] = texts.new_boundary,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.log = log
        self._boundary = boundary
        #: Whether replies are streamed where a caller does not say it.
        self.stream = True
        #: Who talks.
        self.described = describe_model(settings)
        self._client = open_client(settings, transport)
        self._remote = remote_embedder(settings, log, clock, transport)
        self._chat = ChatModel(self._client, self.described.model, log, clock=clock, patience=patience or Patience())
        self.embedder: Embedder = self._remote or own_embedder(settings.embedding_model, log)
        self._fallback_reported = False
        self._counting = Lock()
        self._spent: dict[str, tuple[int, int]] = {}

    def prepare(self) -> None:
        """Load what makes vectors here; without this, whoever needs the first vector waits for it."""
        if isinstance(self.embedder, BestEmbedder):
            self.embedder.embed(["ready"])

    def take_notices(self) -> list[Notice]:
        """What is worth saying of the models and was not yet said."""
        fault = self.embedder.fault if isinstance(self.embedder, BestEmbedder) else ""
        if self._fallback_reported or not fault:
            return []
        self._fallback_reported = True
        return [Notice("embedding.fell_back", {"reason": fault})]

    def models(self) -> list[str]:
        """The names of the models that the chat server offers, sorted. Raises ModelError."""
        return self._chat.list_models()

    def relay(self, *, vectors: bool = False) -> Relay:
        """What passes requests of other programs on to the chat server; for ``vectors`` to theirs, if there is one."""
        from models.relaying import Relay

        client = self._remote.client if vectors and self._remote else self._client
        return Relay(client, self.described.model, self.clock)

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        self._client.close()
        if self._remote is not None:
            self._remote.client.close()

    # -- a turn --------------------------------------------------------------------------------------------------

    def chat(
        self,
        messages: Sequence[PromptMessage],
        stop: CancelToken,
        *,
        stream: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        options: Mapping[str, float] | None = None,
    ) -> Iterator[ReplyEvent]:
        """The events of one reply, as ``ChatModel.stream_reply`` yields them; ``metadata`` goes with the request."""
        stream = self.stream if stream is None else stream
        return self._chat.stream_reply(messages, stop, stream=stream, metadata=metadata, options=options)

    def answer(
        self,
        layers: Layers,
        stop: CancelToken,
        *,
        stream: bool | None = None,
        keep_partial: Callable[[str], None] = lambda shown: None,
        watched: bool = False,
        options: Mapping[str, float] | None = None,
    ) -> Generator[StreamEvent | Notice, None, ModelAnswer]:
        """Ask until there is a reply, with less of the past where the model refuses the prompt.

        ``keep_partial`` gets what was shown so far, now and then. ``watched``: somebody sees the words come, so
        that those before a broken connection are a reply that was interrupted. Raises ModelError or Interrupted.
        """
        less: Layers | None = layers
        while less is not None:
            messages = assemble_prompt(less, self._boundary())
            about = self._demo_metadata("", less.language, less.names)
            events = self.chat(messages, stop, stream=stream, metadata=about, options=options)
            try:
                reply = yield from save_partial_reply(events, keep_partial, self.described.model, watched=watched)
            except (errors.ContextTooLong, errors.ContentFiltered) as fault:
                refused = fault
                less = None if fault.details.get("shown") else _shorten(less, fault)
                continue
            if less is not layers:
                details = {"rounds": len(less.rounds), "recalled": bool(less.recalled), "error": refused}
                yield Notice("turn.shortened", details)
            return ModelAnswer(less, messages, reply, less is not layers)
        raise refused

    def search(
        self,
        name: SearchTask,
        question: str,
        found: Recollection,
        language: Language,
        stop: CancelToken,
        known: Mapping[str, Sequence[str]],
        names: Names = NO_NAMES,
    ) -> Iterator[ReplyEvent]:
        """The events of a reply to a task of planned search, shown what was ``found``; ``known`` goes with it."""
        task = self._task(language, names)
        companion, person = task.names["companion"], task.names["person"]
        layers = Layers(question, task.now, language, recalled=found, companion=companion, person=person)
        messages = task.search_prompt(name, question, known, list(_memory_records(layers, task.boundary)))
        return self._ask(task, name, messages, stop)

    # -- the tasks of the background -----------------------------------------------------------------------------

    def summarise(
        self,
        summary: str,
        rounds: Sequence[Round],
        stop: CancelToken,
        following: Sequence[Round] = (),
        names: Names = NO_NAMES,
        language: Language | None = None,
    ) -> Generator[Notice, None, str]:
        """One new summary out of the summary so far and the rounds that followed it; ``following`` came after those.

        ``language`` is that of the memory; without it the person's. Empty where nothing remains to be said.

        What is too long for the model is summarised in smaller parts; rounds that its filter refuses are left out, with
        one notice; they stay stored word for word. Empty when there was no summary and every round is left out.
        """
        language, refused = language or _spoken_language(rounds), list[Round]()

        def compact(so_far: str, part: Sequence[Round], after: Sequence[Round], longest: int) -> str:
            task = self._task(language, names)
            prompt = task.compaction_prompt(so_far, part, longest, after[:_FOLLOWING])
            try:
                text = summary_of(self._ask(task, "fold", prompt, stop))
                return "" if text.strip('-–—“”" .。') == "" else text
            except (errors.ContextTooLong, errors.ContentFiltered) as error:
                if after:
                    return compact(so_far, part, (), longest)
                if len(part) > 1:
                    half = len(part) // 2
                    return compact(compact(so_far, part[:half], (), longest), part[half:], (), longest)
                if isinstance(error, errors.ContentFiltered):
                    refused.extend(part)
                    return so_far
                if longest <= _SHORTEST:
                    raise
                return compact(so_far, part, (), longest // 4)

        text = compact(summary, rounds, following, _LONGEST_SUMMARISED)
        stop.check()
        if refused:
            yield Notice("compaction.left_out", {"rounds": len(refused)})
        return text

    def extract_notes(
        self, shown: ExtractionTask, language: Language, stop: CancelToken, names: Names = NO_NAMES
    ) -> str:
        """The reply with the notes of a window, whose messages are shortened if it does not fit into the model."""
        task = self._task(language, names)
        for longest in _LENGTHS_EXTRACTED:
            try:
                return answer_of(self._ask(task, "notes", task.extraction_prompt(shown, longest), stop))
            except errors.ContextTooLong as fault:
                refused = fault
        raise refused

    def check_statements(
        self, asked: Sequence[Testimony], language: Language, stop: CancelToken, names: Names = NO_NAMES
    ) -> str:
        """The reply to whether words say statements, all of them in one call."""
        task = self._task(language, names)
        return answer_of(self._ask(task, "verify", task.verification_prompt(asked), stop))

    def compare_facts(
        self,
        new: Sequence[NewFact],
        known: Sequence[Fact],
        language: Language,
        stop: CancelToken,
        names: Names = NO_NAMES,
    ) -> str:
        """The reply with the comparison of new and known facts."""
        task = self._task(language, names)
        return answer_of(self._ask(task, "compare", task.comparison_prompt(new, known), stop))

    def update_persona(self, about: PersonaTask, language: Language, stop: CancelToken, names: Names = NO_NAMES) -> str:
        """The reply with the operations of a persona update."""
        task = self._task(language, names)
        return answer_of(self._ask(task, about.persona, task.persona_operations(about), stop))

    def write_chapter(
        self,
        members: Sequence[Member],
        material: Material,
        stop: CancelToken,
        names: Names = NO_NAMES,
        language: Language | None = None,
        vital: Sequence[str] = (),
    ) -> str:
        """A chapter from these messages, summaries or chapters: a title and the text below it.

        ``language`` is that of the memory; without it that of the material. ``vital`` statements must be in it.
        """
        task = self._task(language or language_of(*(one.text for one in members)), names)
        return summary_of(self._ask(task, "chapter", task.chapter_prompt(members, material, vital), stop))

    def write_page(self, messages: Sequence[Message], language: Language, stop: CancelToken, names: Names) -> str:
        """A page of the diary on these messages: sentences, each with the numbers of those it rests on."""
        task = self._task(language, names)
        for longest in _LENGTHS_EXTRACTED:
            try:
                return summary_of(self._ask(task, "diary", task.diary_prompt(messages, longest), stop))
            except errors.ContextTooLong as fault:
                refused = fault
        raise refused

    def read_forget_request(
        self, window: Sequence[Message], asked: int, language: Language, stop: CancelToken, names: Names = NO_NAMES
    ) -> str:
        """The reply that says what message number ``asked`` of a window asks to have forgotten."""
        task = self._task(language, names)
        return answer_of(self._ask(task, "forget", task.forget_prompt(window, asked, _LONGEST_FORGOTTEN), stop))

    def _task(self, language: Language, names: Names) -> Task:
        from models.tasks import Task

        return Task(language, names_for_prompt(language, self.settings, names), self._boundary(), self.clock())

    def _ask(self, task: Task, name: str, messages: Sequence[PromptMessage], stop: CancelToken) -> Iterator[ReplyEvent]:
        for event in self.chat(messages, stop, metadata=self._demo_metadata(name, task.language, task.names)):
            if isinstance(event, Reply):
                self._count_spent(name, event)
            yield event

    def _count_spent(self, name: str, reply: Reply) -> None:
        with self._counting:
            calls, tokens = self._spent.get(name, (0, 0))
            self._spent[name] = calls + 1, tokens + (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)

    @property
    def spent(self) -> Mapping[str, tuple[int, int]]:
        """The calls and tokens of each task so far, as the server counted them."""
        with self._counting:
            return dict(self._spent)

    def _demo_metadata(self, task: str, language: Language, names: Mapping[str, str]) -> Mapping[str, str] | None:
        """What only the built-in demo model learns about a request; a real server reads the prompt."""
        return {"task": task, "language": language, **names} if self.settings.demo else None


def _spoken_language(rounds: Sequence[Round]) -> Language:
    """The language that the person speaks in these rounds."""
    return language_of(
        *(spoken.user.words for spoken in rounds),
        *(without_quotations(spoken.assistant.words) for spoken in rounds[-2:]),
    )


def _shorten(layers: Layers, refused: errors.ModelError) -> Layers | None:
    """The prompt with less of the past than the one that was refused; None when only the input is left.

    First without recalled memories; then with half of the rounds, and half again, to none (where a passage is at fault
    and not the length, with none at once); then without the summary; at last without the personas.
    """
    if layers.recalled or layers.examples:
        return replace(layers, recalled=Recollection(), examples=())
    if layers.rounds:
        kept = len(layers.rounds) // 2 if isinstance(refused, errors.ContextTooLong) else 0
        return replace(layers, rounds=layers.rounds[len(layers.rounds) - kept :])
    if layers.summary:
        return replace(layers, summary="")
    if layers.self_image or layers.user_image:
        return replace(layers, self_image="", user_image="")
    return None
