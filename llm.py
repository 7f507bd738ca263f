"""What is asked of a model: the layered prompt, folding older rounds into summaries, the images, and less of the past.

Nothing here is stored, shown or decided; a failed call leaves nothing behind. A session can never be stuck for good:
neither a context that outgrew the model, nor a passage that a provider's filter does not like, stands in the way of
the next reply. How a server is spoken to stands in ``models/``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from domain import errors
from domain import text as texts
from domain.events import Notice, Reply, ReplyEvent, Stop, StreamEvent, TextDelta
from domain.languages import Language
from domain.recollection import RecalledSummary, RecalledTurn, Recollection
from domain.records import PREFIX, Image, Round, Turn
from domain.settings import Settings
from domain.vectors import Embedder
from models.chat import ChatModel, Message, Patience
from models.client import Described, connect, described, model_names
from models.embeddings import remote_embedder
from models.replies import image_of, summary_of
from prompts import TEMPLATES, Templates, names_in, time_in
from recall.hashed_embedder import HashedEmbedder
from storage.image_text import with_pins

if TYPE_CHECKING:
    from models.client import Transport

__all__ = ["Answered", "Described", "Layers", "Llm", "Message", "Task", "assemble"]

#: Seconds between two writings of a reply that is still streaming.
_KEEP_PARTIAL_EVERY = 0.5
#: The longest turn that is put before a model to be summarised, in characters, and the shortest worth trying.
_LONGEST_TURN, _SHORTEST_TURN = 100_000, 400
_LONGEST_PIN = 1_000


# --- the layered prompt: the system role, recalled memories as fenced data, the rounds, the input


@dataclass(frozen=True)
class Layers:
    """Everything one turn is answered from.

    ``system`` is the system prompt; None takes the template of ``language``. ``gap`` is the time since the
    last message, ``companion`` and ``person`` are names; an empty one becomes the template's own word.
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
    gap: timedelta | None = None
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
            *_rounds(layers.rounds),
            Message("user", layers.text),
        )
    )


def merged(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with neighbours of one role joined; empty ones leave nothing behind.

    Strict chat templates refuse a prompt whose roles do not alternate.
    """
    found: list[Message] = []
    for message in messages:
        if found and message.content.strip() and found[-1].role == message.role:
            found[-1] = Message(message.role, f"{found[-1].content}\n\n{message.content}")
        elif message.content.strip():
            found.append(message)
    return tuple(found)


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
    yield time_in(layers.language, layers.now, layers.gap)


def _recalled(layers: Layers, boundary: str) -> str:
    memories = "\n".join(_memories(layers, boundary))
    return memories and layers.templates.recalled.format(boundary=boundary, memories=memories)


def _memories(layers: Layers, boundary: str) -> Iterator[str]:
    """Each memory as a record, oldest first; numbers tell which turns are of one conversation."""
    speakers = {"user": layers.names["person"], "assistant": layers.names["companion"]}
    numbers: dict[str, int] = {}
    found: list[RecalledTurn | RecalledSummary] = [*layers.recalled.summaries, *layers.recalled.turns]
    for memory in sorted(found, key=lambda memory: datetime.fromisoformat(memory.timestamp)):
        number = numbers.setdefault(memory.session_id, len(numbers) + 1)
        if isinstance(memory, RecalledTurn):
            about = {"speaker": speakers[memory.role]}
            text = memory.text.removeprefix(PREFIX[memory.role])
        else:
            about, text = {"kind": "summary"}, memory.text
        yield texts.record(conversation=number, **texts.entry(memory.timestamp, boundary, text, **about))


def _rounds(rounds: tuple[Round, ...]) -> Iterator[Message]:
    for one in rounds:
        yield Message("user", one.user.words)
        yield Message("assistant", one.assistant.words)


# --- the three tasks: what they work on is fenced data without quotations; what comes back is checked


@dataclass(frozen=True)
class Task:
    """How the three tasks are put to a model: in which language, with which names, behind which marks."""

    language: Language
    names: Mapping[str, str]
    boundary: str

    def fold(self, summary: str, rounds: Sequence[Round], longest: int) -> tuple[Message, ...]:
        """The prompt that folds rounds into a summary, each turn cut to ``longest`` characters."""
        said = [self._said(turn, longest) for one in rounds for turn in (one.user, one.assistant)]
        templates = self._templates
        material = templates.fold_material.format(
            boundary=self.boundary,
            summary=self._encoded(summary),
            rounds=texts.encoded([one for one in said if one["text"]]),
        )
        return Message("system", templates.fold_task.format(**self.names)), Message("user", material)

    def rewrite(self, image: Image, current: str, summary: str, pins: Sequence[str]) -> tuple[Message, ...]:
        """The prompt that rewrites an image from a session's summary. ``pins`` are lines that must stay."""
        templates = self._templates
        told = templates.self_task if image == "self" else templates.user_task
        lines = "\n".join(texts.one_line(texts.harmless(pin, self.boundary), _LONGEST_PIN) for pin in pins)
        material = templates.image_material.format(
            boundary=self.boundary, image=self._encoded(current), summary=self._encoded(summary)
        )
        pinned = templates.pins.format(lines=lines) if pins else ""
        return Message("system", told.format(pins=pinned, **self.names)), Message("user", material)

    @property
    def _templates(self) -> Templates:
        return TEMPLATES[self.language]

    def _encoded(self, text: str) -> str:
        return texts.encoded(texts.harmless(texts.without_quotations(text), self.boundary))

    def _said(self, turn: Turn, longest: int) -> Mapping[str, str]:
        speaker = self.names["person" if turn.role == "user" else "companion"]
        words = _shortened(texts.without_quotations(turn.words), longest)
        return texts.entry(turn.timestamp, self.boundary, words, speaker=speaker)


def _shortened(text: str, longest: int) -> str:
    """The beginning and the end of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"


@dataclass(frozen=True)
class Answered:
    """What was sent in the end, and what came back. ``shortened``: not all of the past could be sent."""

    layers: Layers
    messages: tuple[Message, ...]
    reply: Reply
    shortened: bool


@dataclass(frozen=True)
class _Fold:
    """What stays the same through all parts of one fold."""

    language: Language
    stop: Stop
    left_out: Callable[[Round], object]


class Llm:
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
        self._settings = settings
        self._clock = clock
        self._boundary = boundary
        self._stream = stream
        self._client = connect(settings, transport)
        self._remote = remote_embedder(settings, log, clock, transport)
        self._chat = ChatModel(
            self._client, self.describe().model, log, clock=clock, patience=patience or Patience()
        )
        self.embedder: Embedder = self._remote or HashedEmbedder()

    def describe(self) -> Described:
        """Who talks."""
        return described(self._settings)

    def chat(
        self,
        messages: Sequence[Message],
        stop: Stop,
        *,
        stream: bool | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Iterator[ReplyEvent]:
        """The events of one reply, as ``ChatModel.say`` tells them; ``metadata`` goes with the request."""
        stream = self._stream if stream is None else stream
        return self._chat.say(messages, stop, stream=stream, metadata=metadata)

    def answer(
        self,
        layers: Layers,
        stop: Stop,
        *,
        stream: bool | None = None,
        keep_partial: Callable[[str], None] = lambda shown: None,
    ) -> Generator[StreamEvent | Notice, None, Answered]:
        """Ask until there is a reply, with less of the past where the model refuses the prompt.

        ``keep_partial`` is handed what was shown so far, now and then. Raises ModelError or Interrupted.
        """
        less: Layers | None = layers
        while less is not None:
            messages = assemble(less, self._boundary())
            about = self._told("", less.language, less.names)
            events = self.chat(messages, stop, stream=stream, metadata=about)
            try:
                reply = yield from _shown(events, keep_partial)
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
    ) -> str:
        """One new summary out of the summary so far and the rounds that followed it.

        What is too long for the model is folded in smaller parts; a round that its filter refuses is left
        out, and ``left_out`` is told of it. Empty when there was no summary and every round is left out.
        Raises ModelError or Interrupted.
        """
        return self._fold(_Fold(language, stop, left_out), summary, rounds, _LONGEST_TURN)

    def rewrite_image(
        self, image: Image, current: str, summary: str, pins: Sequence[str], language: Language, stop: Stop
    ) -> str:
        """The image after a session with this summary; ``pins`` are lines that stay whatever the model says.

        Raises ModelError or Interrupted.
        """
        task = self._task(language)
        reply = self._whole(task, image, task.rewrite(image, current, summary, pins), stop)
        return with_pins(image_of(reply), pins)

    def models(self) -> list[str]:
        """The names of the models that the chat server offers, sorted. Raises ModelError."""
        return model_names(self._client, self.describe().model, self._clock)

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        self._client.close()
        if self._remote is not None:
            self._remote.close()

    def _fold(self, how: _Fold, summary: str, rounds: Sequence[Round], longest: int) -> str:
        task = self._task(how.language)
        messages = task.fold(summary, rounds, longest)
        try:
            return summary_of(self._whole(task, "fold", messages, how.stop))
        except (errors.ContextTooLong, errors.ContentFiltered) as error:
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

    def _task(self, language: Language) -> Task:
        names = names_in(language, self._settings.companion_name, self._settings.user_name)
        return Task(language, names, self._boundary())

    def _whole(self, task: Task, name: str, messages: Sequence[Message], stop: Stop) -> Reply:
        """The reply alone, when nobody watches it come."""
        about = self._told(name, task.language, task.names)
        events = self.chat(messages, stop, metadata=about)
        return next(event for event in events if isinstance(event, Reply))

    def _told(self, task: str, language: Language, names: Mapping[str, str]) -> Mapping[str, str] | None:
        """What only the built-in stand-in is told about a request; a real server reads the prompt."""
        return {"task": task, "language": language, **names} if self._settings.standin else None


def _shown(
    events: Iterator[ReplyEvent], keep_partial: Callable[[str], None]
) -> Generator[StreamEvent, None, Reply]:
    """The events of a reply but for the Reply itself; what was shown is kept from time to time."""
    shown, kept_at = "", time.monotonic()
    for event in events:
        if isinstance(event, Reply):
            return event
        if isinstance(event, TextDelta):
            shown += event.text
            if time.monotonic() - kept_at > _KEEP_PARTIAL_EVERY:
                keep_partial(shown)
                kept_at = time.monotonic()
        yield event
    raise errors.BadReply("model.empty_reply")


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
