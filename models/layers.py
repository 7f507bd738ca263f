"""The layered prompt of one turn: the system role, recalled memories as fenced data, the rounds, the input.

Promises: the roles alternate, whatever is missing; what was recalled never leaves its fence; every memory carries its
weekday and age, and a mark stands before the first words of each day. What is stable stands first and is the same, byte
for byte, from turn to turn of a session: the clock is the last thing in the system role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from domain import text as texts
from domain.languages import Language
from domain.recollection import RecalledSummary, RecalledTurn, Recollection
from domain.records import PREFIX, Round
from models.chat import Message
from prompts import TEMPLATES, Templates, age_in, day_in, names_in, time_in


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
    yield time_in(layers.language, layers.now, layers.last_spoken)


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
        about = when_in(layers.language, memory.timestamp, layers.now) | about
        yield texts.record(conversation=number, **texts.entry(memory.timestamp, boundary, text, **about))


def when_in(language: Language, timestamp: str, now: datetime | None = None) -> dict[str, str]:
    """The weekday of a record and, told when it is now, its age."""
    day = texts.day_of(timestamp)
    if day is None:
        return {}
    told = {"weekday": TEMPLATES[language].weekdays[day.weekday()]}
    age = age_in(language, day, now.date()) if now else ""
    return told | ({"age": age} if age else {})


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
