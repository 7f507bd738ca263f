"""Bringing an image up to date: a model names operations on its numbered lines, the program applies them.

Promises: a model never copies a line, so none is lost, translated or invented on the way; nothing is asked where a
session came to nothing that concerns the image; what has since changed is not brought back; an answer that cannot be
read, or that the model's filter refuses, changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from domain import errors
from domain.events import Notice
from domain.facts import About, Change, Fact, ImageDraft, Note
from domain.languages import Language, language_of
from domain.records import Image, Turn
from domain.workers import Stop
from facts.bearing import concerned
from facts.evidence import telling
from facts.operations import Allowed, Applied, OperationsRead, applied, numbered, read_operations
from facts.slots import Names
from jobs.noting import names_of_both
from llm import Llm
from memory import Memory
from models.tasks import Changed, ImageTask, language_of_image

#: Which facts belong into which image.
_BELONGS: Mapping[About, Image] = {"person": "user", "other": "user", "companion": "self"}

#: What happened to a fact, as a comparison would say it.
_DONE: Mapping[str, Literal["changes", "ends", "corrects"]] = {
    "changed": "changes",
    "ended": "ends",
    "corrected": "corrects",
}


@dataclass(frozen=True)
class Material:
    """What a session came to that concerns an image, and the turns that it rests on, oldest first."""

    image: Image
    notes: tuple[Note, ...]
    changes: tuple[Changed, ...]
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.notes or self.changes)

    @property
    def told(self) -> tuple[str, ...]:
        """Everything that is told of it, in words."""
        changed = [text for one in self.changes for text in _both(one)]
        return (*(note.text for note in self.notes), *changed)

    @property
    def language(self) -> Language:
        """The language in which it is written."""
        return language_of(*self.told)


class Updating:
    """Brings the images of one memory up to date, both by what is known when it is first asked for."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    @cached_property
    def _known(self) -> list[Fact]:
        return self._memory.facts.all()

    def material(self, image: Image, session_id: str) -> Material:
        """What of a session concerns an image and holds still."""
        found = self._memory.facts.notes_of(session_id)
        facts = _by_note(self._memory.facts.of_turns(_turns_of(found)).values())
        notes = [note for note in found if image in self._concerned(note, facts[note.text_id])]
        own = [fact for each in facts.values() for fact in each]
        changes = [one for one in self._changed(own) if _BELONGS[one.known.about] == image]
        rests = [*_turns_of(notes), *(turn for one in changes if one.by for turn in one.by.turns)]
        turns = self._memory.messages.with_ids(list(dict.fromkeys(rests)))
        return Material(image, tuple(notes), tuple(changes), tuple(turns), tuple(own))

    def _concerned(self, note: Note, own: Sequence[Fact]) -> set[Image]:
        """The images of those of whom a note tells something that holds still.

        A note of which nothing was new tells of whom the facts are that it said again; where nothing tells, it is of
        whoever said it.
        """
        if told := own or self._said_again(note):
            return {_BELONGS[fact.about] for fact in told if fact.current}
        roles = {turn.role for turn in self._memory.messages.with_ids(note.turns)}
        return {"self" if roles == {"assistant"} else "user"}

    def _said_again(self, note: Note) -> list[Fact]:
        times = {turn.timestamp for turn in self._memory.messages.with_ids(note.turns)}
        return [fact for when, fact in self._confirmed if when in times]

    @cached_property
    def _confirmed(self) -> list[tuple[str, Fact]]:
        """The known facts that were said again, each with the time of the turn that did."""
        again = [fact for fact in self._known if fact.seen != fact.said]
        history = [(event, fact) for fact in again for event in self._memory.facts.history(fact.text_id)]
        return [(event.when, fact) for event, fact in history if event.what == "confirmed"]

    def _changed(self, by: Sequence[Fact]) -> Iterable[Changed]:
        """The known facts to which these facts did something, as far as they hold themselves."""
        new = {fact.text_id: fact for fact in by if fact.current or _tells_an_end(fact)}
        for known in self._known:
            if known.replaced_by in new:
                yield Changed(self._change(known), known, new[known.replaced_by])
            elif known.doubtful_since and known.current:
                yield from self._doubted(known, new)

    def _change(self, known: Fact) -> Change:
        """What the fact that took its place did to a known one."""
        done = [event for event in self._memory.facts.history(known.text_id) if event.by == known.replaced_by]
        verdict = _DONE.get(done[-1].what, "changes") if done else "changes"
        return Change(known.text_id, verdict, known.until or known.seen, known.replaced_by)

    def _doubted(self, known: Fact, new: Mapping[str, Fact]) -> Iterable[Changed]:
        for event in self._memory.facts.history(known.text_id):
            if event.what == "doubted" and event.by in new:
                change = Change(known.text_id, "doubts", event.when, event.by)
                yield Changed(change, known, new[event.by])

    def updated(
        self, current: ImageDraft, material: Material, stop: Stop
    ) -> Generator[Notice, None, ImageDraft]:
        """The image after a session; as it is where the model's answer cannot be used, and the person is told.

        Raises ModelError when the model cannot be asked now, or Interrupted.
        """
        language = language_of_image(current.text, material.language)
        names = names_of_both([fact for fact in self._known if fact.current], self._llm.settings)
        try:
            reply = self._llm.image_operations(_task(current, material), language, stop, names)
        except (errors.ContentFiltered, errors.ContextTooLong) as fault:
            # It would be refused the next time as well, and nothing may be stuck on it for good.
            yield Notice("save.image_refused", {"image": material.image, "error": fault})
            return current
        stop.check()
        found = read_operations(reply)
        if not found.understood:
            unreadable = errors.BadReply("model.no_json")
            yield Notice("save.image_refused", {"image": material.image, "error": unreadable})
        made = self._applied(current, material, found, language, names)
        if made.moved:
            yield Notice("save.image_moved", {"image": material.image})
        return ImageDraft(made.text, made.lines)

    def _applied(
        self,
        current: ImageDraft,
        material: Material,
        found: OperationsRead,
        language: Language,
        names: Names,
    ) -> Applied:
        made = applied(
            current.text,
            current.lines,
            found.operations,
            material.turns,
            self._memory.personas.pins(material.image),
            language,
            self._llm.settings.image_tokens,
            self._llm.clock().date(),
            names=names,
            told=material.told,
            allowed=Allowed(material.image == "self", self._concerned_lines(current, material, names)),
        )
        self._llm.log.info(
            "image %s: %d operations; rejected: %s; refused: %s; moved out: %d",
            material.image, len(found.operations), dict(found.rejected), dict(made.refused), len(made.moved),
        )  # fmt: skip
        return made

    def _concerned_lines(
        self, current: ImageDraft, material: Material, names: Names
    ) -> dict[str, frozenset[str]]:
        """Which lines the facts of a session concern, and the turns that say so."""
        rests = sorted({turn for line in current.lines for turn in line.turns})
        changes = [(one.known, one.by) for one in material.changes if one.by]
        own = telling(" ".join((*names.person, *names.companion)))
        return concerned(
            current.lines,
            self._memory.facts.of_turns(rests),
            (*material.facts, *(by for _, by in changes)),
            changes,
            own,
        )


def _task(current: ImageDraft, material: Material) -> ImageTask:
    """What the model is shown: lines and turns by small numbers."""
    return ImageTask(
        material.image,
        dict(enumerate(numbered(current.text), 1)),
        material.notes,
        material.changes,
        {turn.text_id: number for number, turn in enumerate(material.turns, 1)},
        (material.turns[0].timestamp, material.turns[-1].timestamp),
    )


def _tells_an_end(fact: Fact) -> bool:
    """Whether a fact was over when it was told, and nothing took its place: that it ended still holds."""
    return bool(fact.end) and not fact.replaced_by and not fact.corrected


def _both(one: Changed) -> tuple[str, ...]:
    return (one.known.restatement, *((one.by.restatement,) if one.by else ()))


def _turns_of(notes: Iterable[Note]) -> list[str]:
    return list(dict.fromkeys(turn for note in notes for turn in note.turns))


def _by_note(facts: Iterable[Sequence[Fact]]) -> defaultdict[str, list[Fact]]:
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in dict.fromkeys(fact for each in facts for fact in each):
        found[fact.note].append(fact)
    return found
