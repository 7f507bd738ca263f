"""The tasks as prompts: folding rounds into a summary, rewriting the two images, and searching memory by a plan.

What a task works on is fenced data without quotations, with its dates; today's date stands in each. What comes back is
checked in ``models.replies``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain import text as texts
from domain.languages import Language, day_in, language_of, when_in
from domain.records import Image, Round, Turn
from models.chat import Message
from models.search_prompts import SEARCH_TEMPLATES, SearchTask
from prompts import TEMPLATES, Templates

_LONGEST_PIN = 1_000


@dataclass(frozen=True)
class Task:
    """How the three tasks are put to a model: in which language, with which names, behind which marks, on which day."""

    language: Language
    names: Mapping[str, str]
    boundary: str
    now: datetime

    def fold(
        self, summary: str, rounds: Sequence[Round], longest: int, following: Sequence[Round] = ()
    ) -> tuple[Message, ...]:
        """The prompt that folds rounds into a summary, each turn cut to ``longest`` characters.

        ``following`` are rounds that only show how it went on.
        """
        material = {
            "today": self._today,
            "summary_so_far": self._plain(summary),
            "rounds": self._said(rounds, longest),
            "next_rounds": self._said(following, longest),
        }
        told = self._templates.fold_task.format(**self.names)
        return Message("system", told), self._fenced(material, optional=("next_rounds",))

    def rewrite(
        self,
        image: Image,
        current: str,
        summary: str,
        pins: Sequence[str],
        spoken: tuple[str, str] | None = None,
    ) -> tuple[Message, ...]:
        """The prompt that rewrites an image from a session's summary. ``pins`` are lines that must stay.

        ``spoken`` are the times of the session's first and last words.
        """
        templates = self._templates
        told = templates.self_task if image == "self" else templates.user_task
        tongue = templates.tongue_of_image if current.strip() else templates.tongue_of_conversation
        lines = "\n".join(texts.one_line(texts.harmless(pin, self.boundary), _LONGEST_PIN) for pin in pins)
        material = {
            "today": self._today,
            "present_image": self._plain(current),
            "dates_of_the_conversation": self._days(spoken) if spoken else "",
            "summary_of_the_conversation": self._plain(summary),
        }
        pinned = templates.pins.format(lines=lines) if pins else ""
        return (
            Message("system", told.format(pins=pinned, tongue=tongue, **self.names)),
            self._fenced(material, optional=("dates_of_the_conversation",)),
        )

    @property
    def _templates(self) -> Templates:
        return TEMPLATES[self.language]

    @property
    def _today(self) -> str:
        return day_in(self.language, self.now.date())

    def _days(self, spoken: tuple[str, str]) -> str:
        """From which day to which."""
        days = dict.fromkeys(day for time in spoken if (day := texts.day_of(time)))
        return " – ".join(day_in(self.language, day) for day in days)

    def _plain(self, text: str) -> str:
        return texts.harmless(texts.without_quotations(text), self.boundary)

    def _said(self, rounds: Sequence[Round], longest: int) -> list[Mapping[str, str]]:
        said = [self._turn(turn, longest) for one in rounds for turn in one.turns if not turn.standin]
        return [one for one in said if one["text"]]

    def _turn(self, turn: Turn, longest: int) -> Mapping[str, str]:
        speaker = self.names["person" if turn.role == "user" else "companion"]
        # What a person pastes is their own; a companion's quotation is an old memory.
        spoken = texts.own_words(turn) if turn.role == "user" else texts.without_quotations(turn.words)
        words = _shortened(spoken, longest)
        when = when_in(self.language, turn.timestamp)
        return texts.entry(turn.timestamp, self.boundary, words, **when, speaker=speaker)

    def _fenced(self, material: Mapping[str, object], optional: Sequence[str]) -> Message:
        """The material as one line of JSON between two marks; of what is optional, only what holds anything."""
        filled = {name: value for name, value in material.items() if value or name not in optional}
        return Message("user", f"{self.boundary}\n{texts.encoded(filled)}\n{self.boundary}")

    def search(
        self, name: SearchTask, question: str, known: Mapping[str, Sequence[str]], records: Sequence[str]
    ) -> tuple[Message, ...]:
        """The prompt of a task of planned search: what is ``known`` of a question, then records that were found.

        Of what is known only what holds anything is told. ``records`` are lines of JSON, harmless already.
        """
        listed = {about: [self._plain(one) for one in told] for about, told in known.items() if told}
        head = {"today": self._today, **listed, "question": self._plain(question)}
        templates, rows = SEARCH_TEMPLATES[self.language], "\n".join([texts.encoded(head), *records])
        return (
            Message("system", templates.of(name).format(unknown=templates.unknown, **self.names)),
            Message("user", f"{self.boundary}\n{rows}\n{self.boundary}"),
        )


def language_of_image(current: str, spoken: Language) -> Language:
    """The language to rewrite an image in: its own, whatever was spoken; that of the talk for the first one."""
    return language_of(current) if current.strip() else spoken


def _shortened(text: str, longest: int) -> str:
    """The beginning and the end of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"
