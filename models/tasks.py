"""The three tasks a model has beside talking: the summary, the self-image, the user image.

What it works on is fenced data, without quotations of older memories; what comes back is checked before it
is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain import errors
from domain import text as texts
from domain.events import Reply
from domain.languages import Language
from domain.quoting import encoded, entry, harmless
from domain.records import Image, Round, Turn
from models.messages import Message
from prompts import TEMPLATES, Templates

_LONGEST_PIN = 1_000
#: The longest summary that is taken, in characters: it stands in every prompt.
_LONGEST_SUMMARY = 40_000
_SENTENCE_END = re.compile(r"[.!?。！？…\n](?=\s|$)|[。！？…]")
_CODE_FENCE = re.compile(r"\A```[a-z]{0,20}\n(.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True)
class Names:
    """What the two are called; an empty name becomes the template's own word."""

    companion: str
    person: str

    def filled(self, templates: Templates) -> dict[str, str]:
        """The names as templates take them."""
        return {"companion": self.companion or templates.companion, "person": self.person or templates.person}


@dataclass(frozen=True)
class Task:
    """How the three tasks are put to a model: in which language, with which names, behind which marks."""

    language: Language
    names: Names
    boundary: str

    def fold(self, summary: str, rounds: Sequence[Round], longest: int) -> tuple[Message, ...]:
        """The prompt that folds rounds into a summary, each turn cut to ``longest`` characters."""
        said = [self._said(turn, longest) for one in rounds for turn in (one.user, one.assistant)]
        material = self._templates.fold_material.format(
            boundary=self.boundary,
            summary=self._encoded(summary),
            rounds=encoded([one for one in said if one["text"]]),
        )
        return self._messages(self._templates.fold_task.format(**self._called), material)

    def rewrite(self, image: Image, current: str, summary: str, pins: Sequence[str]) -> tuple[Message, ...]:
        """The prompt that rewrites an image from a session's summary. ``pins`` are lines that must stay."""
        templates = self._templates
        told = templates.self_task if image == "self" else templates.user_task
        lines = "\n".join(texts.one_line(harmless(pin, self.boundary), _LONGEST_PIN) for pin in pins)
        material = templates.image_material.format(
            boundary=self.boundary, image=self._encoded(current), summary=self._encoded(summary)
        )
        pinned = templates.pins.format(lines=lines) if pins else ""
        return self._messages(told.format(pins=pinned, **self._called), material)

    @property
    def _templates(self) -> Templates:
        return TEMPLATES[self.language]

    @property
    def _called(self) -> dict[str, str]:
        return self.names.filled(self._templates)

    def _messages(self, task: str, material: str) -> tuple[Message, ...]:
        return Message("system", task), Message("user", material)

    def _encoded(self, text: str) -> str:
        return encoded(harmless(texts.without_quotations(text), self.boundary))

    def _said(self, turn: Turn, longest: int) -> Mapping[str, str]:
        speaker = self._called["person" if turn.role == "user" else "companion"]
        words = _shortened(texts.without_quotations(turn.words), longest)
        return entry(turn.timestamp, self.boundary, words, speaker=speaker)


def summary_of(reply: Reply) -> str:
    """The summary in a reply; one that was cut, or goes on without end, loses its half sentence.

    Raises BadReply when nothing is left, Interrupted when the person stopped it.
    """
    text = _result(reply)
    if reply.finish == "length" or len(text) > _LONGEST_SUMMARY:
        text = text[:_LONGEST_SUMMARY]
        ends = [found.end() for found in _SENTENCE_END.finditer(text)]
        text = text[: ends[-1]].strip() if ends else text
    return text


def image_of(reply: Reply) -> str:
    """The image in a reply.

    Raises BadReply for one that is empty or was cut: half an image would forget the other half.
    """
    text = _result(reply)
    if reply.finish == "length":
        raise errors.BadReply("model.cut_reply")
    return text


def _result(reply: Reply) -> str:
    if reply.finish == "interrupted":
        raise errors.Interrupted()
    text = texts.without_quotations(reply.text).strip()
    fenced = _CODE_FENCE.match(text)
    text = harmless(fenced[1] if fenced else text)
    if not text:
        raise errors.BadReply("model.empty_reply")
    return text


def _shortened(text: str, longest: int) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= longest:
        return text
    return text[: longest // 2] + " … " + text[-longest // 2 :]
