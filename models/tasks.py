"""The tasks as prompts: folding rounds into a summary, taking notes, comparing facts, bringing an image up to date,
writing a chapter, and searching memory by a plan.

What a task works on is fenced data without quotations, with its dates, numbered where the answer must name it: a small
number costs a model nothing and cannot be misspelt. What comes back is checked in ``models.replies`` and in ``facts``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain import text as texts
from domain.facts import Change, Fact, NewFact, Note
from domain.languages import Language, day_in, language_of, when_in
from domain.records import PREFIX, Image, Role, Round, Turn
from domain.tree import Member
from models.chapter_prompts import CHAPTER_TEMPLATES, Material
from models.chat import Message
from models.note_prompts import NOTE_TEMPLATES, NoteTemplates
from models.search_prompts import SEARCH_TEMPLATES, SearchTask
from prompts import TEMPLATES, Templates


@dataclass(frozen=True)
class Changed:
    """A known fact that a new one did something to; ``by`` is None where a person did."""

    change: Change
    known: Fact
    by: Fact | None


@dataclass(frozen=True)
class ImageTask:
    """What an image is brought up to date from: its lines by number, and what a session came to.

    ``turns`` gives the turns that notes and changes rest on their numbers. ``spoken`` are the times of the session's
    first and last words.
    """

    image: Image
    lines: Mapping[int, str]
    notes: Sequence[Note]
    changes: Sequence[Changed]
    turns: Mapping[str, int]
    spoken: tuple[str, str]


@dataclass(frozen=True)
class Task:
    """How the tasks are put to a model: in which language, with which names, behind which marks, on which day."""

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

    def notes(self, window: Sequence[Turn], before: Sequence[Turn], longest: int) -> tuple[Message, ...]:
        """The prompt that takes notes of a window, whose turns count from 1; those ``before`` have no number."""
        shown = [self._turn(turn, longest) for turn in before]
        numbered = [{"turn": number, **self._turn(turn, longest)} for number, turn in enumerate(window, 1)]
        return self._asked(self._tasks.notes, [one for one in [*shown, *numbered] if one["text"]])

    def compare(self, new: Sequence[NewFact], known: Sequence[Fact]) -> tuple[Message, ...]:
        """The prompt that compares new facts with known ones; both count from 1."""
        records = [
            *({"new": number, **self._stated(fact)} for number, fact in enumerate(new, 1)),
            *({"known": number, **self._stated(fact)} for number, fact in enumerate(known, 1)),
        ]
        return self._asked(self._tasks.compare, records)

    def image_operations(self, about: ImageTask) -> tuple[Message, ...]:
        """The prompt that brings an image up to date."""
        tasks = self._tasks
        told = tasks.operations.format(
            whose=tasks.whose[about.image].format(**self.names),
            belongs=tasks.belongs[about.image].format(**self.names),
            tongue=tasks.tongue_of_image if about.lines else tasks.tongue_of_notes,
            **self.names,
        )
        records: list[Mapping[str, object]] = [
            {"today": self._today, "dates_of_the_conversation": self._days(about.spoken)},
            *({"line": number, "text": self._plain(line)} for number, line in about.lines.items()),
            *(self._noted(note, about.turns) for note in about.notes),
            *(self._changed(one, about.turns) for one in about.changes),
        ]
        return Message("system", told), self._lines(records)

    def chapter(self, members: Sequence[Member], material: Material) -> tuple[Message, ...]:
        """The prompt that makes a chapter of turns, of summaries, or of chapters."""
        told = CHAPTER_TEMPLATES[self.language]
        records = [
            {"days": self._days((one.start, one.end)), **self._member(one, material)} for one in members
        ]
        return self._asked(told.chapter, records, material=told.material[material])

    def _member(self, member: Member, material: Material) -> Mapping[str, str]:
        """What a chapter is made from, as it is told; who said a turn stands before it."""
        roles: tuple[Role, Role] = ("user", "assistant")
        spoken = (role for role in roles if material == "turns" and member.text.startswith(PREFIX[role]))
        if (role := next(spoken, None)) is None:
            return {"text": self._plain(member.text)}
        speaker = self._plain(member.speaker) or self.names["person" if role == "user" else "companion"]
        return {"speaker": speaker, "text": self._plain(member.text.removeprefix(PREFIX[role]))}

    @property
    def _tasks(self) -> NoteTemplates:
        return NOTE_TEMPLATES[self.language]

    def _asked(
        self, template: str, records: Iterable[Mapping[str, object]], **more: str
    ) -> tuple[Message, ...]:
        return Message("system", template.format(**self.names, **more)), self._lines(records)

    def _lines(self, records: Iterable[Mapping[str, object]]) -> Message:
        """Records between two marks, one a line."""
        return Message("user", "\n".join([self.boundary, *map(texts.encoded, records), self.boundary]))

    def _stated(self, fact: NewFact | Fact) -> Mapping[str, object]:
        """A fact as it is compared; a stance is only worth telling where it is not the usual one."""
        stance = {"stance": fact.stance} if fact.stance != "stated" else {}
        return {"said": fact.said[:10], **stance, "fact": self._plain(fact.restatement)}

    def _noted(self, note: Note, numbers: Mapping[str, int]) -> Mapping[str, object]:
        said = {"said": note.timestamp[:10], "importance": note.importance, "note": self._plain(note.text)}
        return {"turns": _numbered(note.turns, numbers), **said}

    def _changed(self, one: Changed, numbers: Mapping[str, int]) -> Mapping[str, object]:
        """What became of a known fact."""
        turns = {"turns": _numbered(one.by.turns, numbers)} if one.by else {}
        now = {"now": self._plain(one.by.restatement)} if one.by else {}
        before = self._plain(one.known.restatement)
        return {**turns, "change": one.change.verdict, "when": one.change.when[:10], "before": before, **now}

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
        speaker = self._plain(turn.speaker) or self.names["person" if turn.role == "user" else "companion"]
        words = _shortened(texts.own_words(turn), longest)
        when = {} if turn.undated else when_in(self.language, turn.timestamp)
        told = texts.entry(turn.timestamp, self.boundary, words, **when, speaker=speaker)
        return {**told, "date": texts.UNKNOWN_DATE} if turn.undated else told

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


def _numbered(text_ids: Sequence[str], numbers: Mapping[str, int]) -> list[int]:
    return [numbers[text_id] for text_id in text_ids if text_id in numbers]


def _shortened(text: str, longest: int) -> str:
    """The beginning and the end of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"
