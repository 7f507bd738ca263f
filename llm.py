"""What is asked of a model: the layered prompt, folding into summaries, what is noted of talk, less of the past.

Promises: the roles of a prompt alternate, whatever is missing; what was recalled never leaves its fence; every memory
carries its weekday and age, and a mark stands before the first words of each day. What is stable stands first and is
the same, byte for byte, from turn to turn of a session: the clock is the last thing in the system role. Nothing here is
stored, shown or decided; a failed call leaves nothing behind. No session is stuck for good, by a context that outgrew
the model or by what a provider filters. How a server is spoken to, and a task worded, stands in ``models/``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from domain import errors
from domain import text as texts
from domain.events import Notice, Reply, ReplyEvent, StreamEvent
from domain.languages import Language, age_in, day_in, language_of, weekday_in, whole_day_in
from domain.recollection import Recollection
from domain.records import Role, Round
from domain.settings import Described, Settings, described
from domain.vectors import Embedder
from domain.workers import Stop
from facts.slots import NOBODY, Names
from models.chat import ChatModel, Message, Patience, kept_reply, merged
from models.client import connect
from models.embeddings import remote_embedder
from models.memories import Telling, notes_on, records
from models.note_tasks import NotingTasks
from models.relaying import Relay
from models.replies import summary_of
from models.sentence_embedder import BestEmbedder, own_embedder
from prompts import TEMPLATES, Templates

if TYPE_CHECKING:
    from models.client import Transport
    from models.search_prompts import SearchTask
    from models.tasks import Task

__all__ = ["Answered", "Layers", "Llm", "Message", "assemble", "profile_and_memories"]

#: A pause that the model is told of.
_GAP_WORTH_TELLING = timedelta(hours=2)


@dataclass(frozen=True)
class Layers:
    """Everything one turn is answered from.

    ``system`` is the system prompt; None takes the template of ``language``. ``last_spoken`` is when the two last
    talked before this stretch of talk, where that is worth telling; ``companion`` and ``person`` are names; an empty
    one becomes the template's own word.
    """

    text: str
    now: datetime
    language: Language = "en"
    system: str | None = None
    self_image: str = ""
    user_image: str = ""
    summary: str = ""
    recalled: Recollection = field(default_factory=Recollection)
    rounds: tuple[Round, ...] = ()
    last_spoken: datetime | None = None
    companion: str = ""
    person: str = ""

    @property
    def templates(self) -> Templates:
        """The templates of this language."""
        return TEMPLATES[self.language]

    @property
    def names(self) -> dict[str, str]:
        """What companion and person are called, to fill templates with."""
        return names_in(self.language, self.companion, self.person)


def assemble(layers: Layers, boundary: str) -> tuple[Message, ...]:
    """The messages of one turn: system first, then user and assistant alternating, a user's last.

    ``boundary`` fences the recalled memories; it must be new for every prompt.
    """
    return merged(
        (
            Message("system", "\n\n".join(_system(layers))),
            Message("user", _recalled(layers, boundary)),
            *_spoken(layers),
        )
    )


def profile_and_memories(layers: Layers, boundary: str) -> tuple[str, str]:
    """What the chat of another program is told: of the person, the same from turn to turn, and what was recalled."""
    text = texts.without_control_tokens(layers.user_image)
    own = replace(layers, language=language_of(text))  # whatever language is spoken in this turn
    profile = own.templates.user_image.format(text=text, **own.names) if text.strip() else ""
    return profile, _recalled(layers, boundary)


def _system(layers: Layers) -> Iterator[str]:
    """The layers that stand in the system role."""
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
    yield time_in(layers.language, layers.now, layers.last_spoken)


def _recalled(layers: Layers, boundary: str) -> str:
    memories = "\n".join(_memories(layers, boundary))
    notes = notes_on(layers.recalled, layers.templates).format(**layers.names)
    return memories and layers.templates.recalled.format(boundary=boundary, notes=notes, memories=memories)


def _memories(layers: Layers, boundary: str) -> Iterator[str]:
    speakers: dict[Role, str] = {"user": layers.names["person"], "assistant": layers.names["companion"]}
    return records(layers.recalled, Telling(layers.language, layers.now, speakers, boundary))


def _spoken(layers: Layers) -> Iterator[Message]:
    """The rounds and the input, with a mark before the first words of each day but where all is of today."""
    before = layers.now.date().isoformat()
    for one in layers.rounds:
        yield Message("user", _of_day(layers.language, one.user.timestamp, before) + one.user.words)
        yield Message(
            "assistant", layers.templates.unanswered if one.assistant.standin else one.assistant.words
        )
        before = one.user.timestamp[:10]
    yield Message("user", _of_day(layers.language, layers.now.isoformat(), before) + layers.text)


def _of_day(language: Language, timestamp: str, before: str) -> str:
    """The mark of a day that is another than the one before."""
    day = texts.day_of(timestamp)
    return f"[{day_in(language, day)}]\n" if day and timestamp[:10] != before else ""


def time_in(language: Language, now: datetime, last_spoken: datetime | None) -> str:
    """What time it is, and when the two last talked, where that is long ago."""
    templates = TEMPLATES[language]
    told = templates.now.format(now=texts.date_of(now.isoformat()), weekday=weekday_in(language, now))
    if last_spoken is None or now - last_spoken < _GAP_WORTH_TELLING:
        return told
    day, today = last_spoken.date(), now.date()
    if day >= today:
        count = (now - last_spoken) // timedelta(hours=1)
        when = templates.hours_ago.format(time=f"{last_spoken:%H:%M}", count=count)
    else:
        age = age_in(language, day, today)
        when = templates.days_ago.format(day=whole_day_in(language, day), age=age)
    return told + "\n" + templates.last_spoken.format(when=when)


def called_in(language: Language, settings: Settings, names: Names = NOBODY) -> dict[str, str]:
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


# -- asking

#: The longest turn that is put before a model to be summarised, in characters, and the shortest worth trying.
_LONGEST_TURN, _SHORTEST_TURN = 100_000, 400
#: How many rounds after those that are folded show how it went on.
_FOLLOWING = 2


@dataclass(frozen=True)
class Answered:
    """What was sent in the end, and what came back. ``shortened``: not all of the past could be sent."""

    layers: Layers
    messages: tuple[Message, ...]
    reply: Reply
    shortened: bool


@dataclass(frozen=True)
class _Fold:
    """What stays the same through all parts of one fold. ``following``: rounds that only show how it went on."""

    language: Language
    stop: Stop
    left_out: Callable[[Round], object]
    following: Sequence[Round]
    names: Names


class Llm(NotingTasks):
    """The models that the settings name. Made quickly; the client library is loaded by the first call.

    ``transport`` makes what takes the place of the network for both servers. ``boundary`` makes the marks
    around fenced data.
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
        stream: bool = True,
    ) -> None:
        self.settings = settings
        self._standin = settings.standin
        self.clock = clock
        self.log = log
        self._boundary = boundary
        self._stream = stream
        self._described = described(settings)
        self._client = connect(settings, transport)
        self._remote = remote_embedder(settings, log, clock, transport)
        model, patience = self._described.model, patience or Patience()
        self._chat = ChatModel(self._client, model, log, clock=clock, patience=patience)
        self.embedder: Embedder = self._remote or own_embedder(settings.embedding_model, log)
        self._fallback_told = False

    def describe(self) -> Described:
        """Who talks."""
        return self._described

    def chat(
        self,
        messages: Sequence[Message],
        stop: Stop,
        *,
        stream: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        options: Mapping[str, float] | None = None,
    ) -> Iterator[ReplyEvent]:
        """The events of one reply, as ``ChatModel.say`` tells them; ``metadata`` goes with the request."""
        stream = self._stream if stream is None else stream
        return self._chat.say(messages, stop, stream=stream, metadata=metadata, options=options)

    def answer(
        self,
        layers: Layers,
        stop: Stop,
        *,
        stream: bool | None = None,
        keep_partial: Callable[[str], None] = lambda shown: None,
        watched: bool = False,
    ) -> Generator[StreamEvent | Notice, None, Answered]:
        """Ask until there is a reply, with less of the past where the model refuses the prompt.

        ``keep_partial`` is handed what was shown so far, now and then. ``watched``: somebody sees the words come, so
        that those before a broken connection are a reply that was interrupted. Raises ModelError or Interrupted.
        """
        less: Layers | None = layers
        while less is not None:
            messages = assemble(less, self._boundary())
            about = self._told("", less.language, less.names)
            events = self.chat(messages, stop, stream=stream, metadata=about)
            try:
                reply = yield from kept_reply(events, keep_partial, self.describe().model, watched=watched)
            except (errors.ContextTooLong, errors.ContentFiltered) as fault:
                refused = fault
                less = None if fault.details.get("shown") else _with_less(less, fault)
                continue
            if less is not layers:
                told = {"rounds": len(less.rounds), "recalled": bool(less.recalled), "error": refused}
                yield Notice("turn.shortened", told)
            return Answered(less, messages, reply, less is not layers)
        raise refused

    def summarise(
        self,
        summary: str,
        rounds: Sequence[Round],
        language: Language,
        stop: Stop,
        left_out: Callable[[Round], object] = lambda one: None,
        following: Sequence[Round] = (),
        names: Names = NOBODY,
    ) -> str:
        """One new summary out of the summary so far and the rounds that followed it; ``following`` came after those.

        What is too long for the model is folded in smaller parts; a round that its filter refuses is left
        out, and ``left_out`` is told of it. Empty when there was no summary and every round is left out.
        Raises ModelError or Interrupted.
        """
        how = _Fold(language, stop, left_out, following, names)
        return self._fold(how, summary, rounds, _LONGEST_TURN)

    def prepare(self) -> None:
        """Load what makes vectors here; without this, whoever needs the first vector waits for it."""
        if isinstance(self.embedder, BestEmbedder):
            self.embedder.embed(["ready"])

    def take_notices(self) -> list[Notice]:
        """What is worth saying of the models and was not yet said."""
        own = self.embedder
        if self._fallback_told or not isinstance(own, BestEmbedder) or not own.decided or not own.fault:
            return []
        self._fallback_told = True
        return [Notice("embedding.fell_back", {"reason": own.fault})]

    def search(
        self,
        name: SearchTask,
        question: str,
        found: Recollection,
        language: Language,
        stop: Stop,
        known: Mapping[str, Sequence[str]],
        names: Names = NOBODY,
    ) -> Iterator[ReplyEvent]:
        """The events of a reply to a task of planned search, shown what was ``found``; ``known`` stands beside it."""
        task = self._task(language, names)
        companion, person = task.names["companion"], task.names["person"]
        layers = Layers(question, task.now, language, recalled=found, companion=companion, person=person)
        messages = task.search(name, question, known, list(_memories(layers, task.boundary)))
        return self.chat(messages, stop, metadata=self._told(name, language, task.names))

    def models(self) -> list[str]:
        """The names of the models that the chat server offers, sorted. Raises ModelError."""
        return self._chat.names()

    def relay(self, *, vectors: bool = False) -> Relay:
        """What passes requests of other programs on to the chat server; for ``vectors`` to theirs, if there is one."""
        client = self._remote.client if vectors and self._remote else self._client
        return Relay(client, self.describe().model, self.clock)

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        self._client.close()
        if self._remote is not None:
            self._remote.close()

    def _fold(self, how: _Fold, summary: str, rounds: Sequence[Round], longest: int) -> str:
        task = self._task(how.language, how.names)
        messages = task.fold(summary, rounds, longest, how.following[:_FOLLOWING])
        try:
            return summary_of(self._whole(task, "fold", messages, how.stop))
        except (errors.ContextTooLong, errors.ContentFiltered) as error:
            if how.following:
                return self._fold(replace(how, following=()), summary, rounds, longest)
            if len(rounds) > 1:
                half = len(rounds) // 2
                first = self._fold(how, summary, rounds[:half], longest)
                return self._fold(how, first, rounds[half:], longest)
            if isinstance(error, errors.ContextTooLong) and longest > _SHORTEST_TURN:
                return self._fold(how, summary, rounds, longest // 4)
            if isinstance(error, errors.ContextTooLong):
                raise
            for one in rounds:
                how.left_out(one)
            return summary

    def _task(self, language: Language, names: Names = NOBODY) -> Task:
        from models.tasks import Task

        return Task(language, called_in(language, self.settings, names), self._boundary(), self.clock())

    def _whole(self, task: Task, name: str, messages: Sequence[Message], stop: Stop) -> Reply:
        """The reply alone, when nobody watches it come."""
        return next(event for event in self._events(task, name, messages, stop) if isinstance(event, Reply))

    def _events(self, task: Task, name: str, messages: Sequence[Message], stop: Stop) -> Iterator[ReplyEvent]:
        return self.chat(messages, stop, metadata=self._told(name, task.language, task.names))

    def _told(self, task: str, language: Language, names: Mapping[str, str]) -> Mapping[str, str] | None:
        """What only the built-in stand-in is told about a request; a real server reads the prompt."""
        return {"task": task, "language": language, **names} if self._standin else None


def _with_less(layers: Layers, refused: errors.ModelError) -> Layers | None:
    """The prompt with less of the past than the one that was refused; None when only the input is left.

    First without recalled memories; then with half of the rounds, and half again, to none (where a passage is at fault
    and not the length, with none at once); then without the summary; at last without the images.
    """
    if layers.recalled:
        return replace(layers, recalled=Recollection())
    if layers.rounds:
        kept = len(layers.rounds) // 2 if isinstance(refused, errors.ContextTooLong) else 0
        return replace(layers, rounds=layers.rounds[len(layers.rounds) - kept :])
    if layers.summary:
        return replace(layers, summary="")
    if layers.self_image or layers.user_image:
        return replace(layers, self_image="", user_image="")
    return None
