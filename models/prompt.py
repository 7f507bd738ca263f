"""The layered prompt: what a model is sent for one turn.

In this order, each empty layer leaving nothing behind: system prompt, self-image, user image, summary
(system role); recalled memories (fenced data in the user's role, never in the system's); the rounds in
context; the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from domain.languages import Language
from domain.quoting import entry, record, without_control_tokens
from domain.recollection import RecalledSummary, RecalledTurn, Recollection
from domain.records import PREFIX, Round
from models.messages import Message, merged
from prompts import TEMPLATES, Templates

_GAP_WORTH_TELLING = timedelta(hours=2)
_GAP_IN_DAYS = timedelta(hours=48)


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
        return {
            "companion": self.companion or self.templates.companion,
            "person": self.person or self.templates.person,
        }


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
            yield template.format(text=without_control_tokens(text), **names)
    yield _time(layers)


def _time(layers: Layers) -> str:
    """What time it is, and how long ago the last message was, where that is long."""
    templates = layers.templates
    told = templates.now.format(
        now=layers.now.strftime("%Y-%m-%d %H:%M"), weekday=templates.weekdays[layers.now.weekday()]
    )
    if layers.gap is None or layers.gap < _GAP_WORTH_TELLING:
        return told
    if layers.gap < _GAP_IN_DAYS:
        length = templates.hours.format(count=int(layers.gap / timedelta(hours=1)))
    else:
        length = templates.days.format(count=layers.gap.days)
    return told + "\n" + templates.gap.format(gap=length)


def _recalled(layers: Layers, boundary: str) -> str:
    if not layers.recalled:
        return ""
    memories = "\n".join(_memories(layers, boundary))
    return layers.templates.recalled.format(boundary=boundary, memories=memories)


def _memories(layers: Layers, boundary: str) -> Iterator[str]:
    """Each memory as a record, oldest first; conversations are numbered so that turns of one stand
    together."""
    speakers = {"user": layers.names["person"], "assistant": layers.names["companion"]}
    recalled = layers.recalled
    numbers: dict[str, int] = {}
    found: list[RecalledTurn | RecalledSummary] = [*recalled.summaries, *recalled.turns]
    for memory in sorted(found, key=lambda memory: datetime.fromisoformat(memory.timestamp)):
        number = numbers.setdefault(memory.session_id, len(numbers) + 1)
        if isinstance(memory, RecalledTurn):
            about = {"speaker": speakers[memory.role]}
            text = memory.text.removeprefix(PREFIX[memory.role])
        else:
            about, text = {"kind": "summary"}, memory.text
        yield record(conversation=number, **entry(memory.timestamp, boundary, text, **about))


def _rounds(rounds: tuple[Round, ...]) -> Iterator[Message]:
    for one in rounds:
        yield Message("user", one.user.words)
        yield Message("assistant", one.assistant.words)
