"""Persona updates: a model names operations on numbered lines, and the program applies them.

Guarantees: a model never copies a line, so none is lost, translated or invented; it is not asked when a session has
nothing about the persona; outdated statements do not return; an answer that is unreadable or refused changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

from domain import errors
from domain.events import Notice
from domain.facts import About, Change, Fact, Note, PersonaDraft
from domain.records import Message, Persona
from domain.workers import CancelToken
from facts.evidence import telling_terms
from facts.persona_lines import (
    Allowed,
    AppliedOperations,
    OperationsRead,
    apply_operations,
    find_concerning_messages,
    number_lines,
    read_operations,
)
from facts.slots import Names
from jobs.extraction import names_of_both
from language.scripts import Language, language_of
from llm import Llm
from memory import Memory
from models.tasks import Changed, PersonaTask, language_of_persona

#: Which facts belong into which persona.
_BELONGS: Mapping[About, Persona] = {"person": "user", "other": "user", "companion": "self"}

#: What happened to a fact, as a comparison would say it.
_DONE: Mapping[str, Literal["changes", "ends", "corrects"]] = {
    "changed": "changes",
    "ended": "ends",
    "corrected": "corrects",
}


@dataclass(frozen=True)
class Material:
    """What a session has about a persona, and the messages it is based on, oldest first."""

    persona: Persona
    notes: tuple[Note, ...]
    changes: tuple[Changed, ...]
    turns: tuple[Message, ...]
    facts: tuple[Fact, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.notes or self.changes)

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it as texts."""
        changed = [fact.restatement for one in self.changes for fact in (one.known, one.by) if fact]
        return (*(note.text for note in self.notes), *changed)

    @property
    def language(self) -> Language:
        """The language in which it is written."""
        return language_of(*self.texts)


class PersonaUpdate:
    """Updates the personas of one memory, both from the facts known when it is first used."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    @cached_property
    def _all_facts(self) -> list[Fact]:
        return self._memory.facts.all()

    def find_material(self, persona: Persona, session_id: str) -> Material:
        """What a session has about a persona that is still true."""
        found = self._memory.notes.of_session(session_id)
        facts: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in dict.fromkeys(chain.from_iterable(self._memory.facts.of_turns(_message_ids(found)).values())):
            facts[fact.note].append(fact)
        notes = [note for note in found if persona in self._concerned_personas(note, facts[note.text_id])]
        own = list(chain.from_iterable(facts.values()))
        changes = [one for one in self._find_changes(own) if _BELONGS[one.known.about] == persona]
        rests = [*_message_ids(notes), *(turn for one in changes if one.by for turn in one.by.turns)]
        turns = self._memory.messages.with_ids(list(dict.fromkeys(rests)))
        return Material(persona, tuple(notes), tuple(changes), tuple(turns), tuple(own))

    def _concerned_personas(self, note: Note, own: Sequence[Fact]) -> set[Persona]:
        """The personas that a note's current facts are about.

        A note without new facts is about those of the facts it confirmed; without any, about its speaker.
        """
        turns = [] if own else self._memory.messages.with_ids(note.turns)
        times = {turn.timestamp for turn in turns}
        if facts := own or [fact for when, fact in self._confirmations if when in times]:
            return {_BELONGS[fact.about] for fact in facts if fact.current}
        return {"self" if {turn.role for turn in turns} == {"assistant"} else "user"}

    @cached_property
    def _confirmations(self) -> list[tuple[str, Fact]]:
        """The known facts that were said again, each with the time of the turn that did."""
        again = [fact for fact in self._all_facts if fact.seen != fact.said]
        history = [(event, fact) for fact in again for event in self._memory.facts.events_of(fact.text_id)]
        return [(event.when, fact) for event, fact in history if event.kind == "confirmed"]

    def _find_changes(self, by: Sequence[Fact]) -> Iterable[Changed]:
        """The known facts to which these facts did something, as far as they hold themselves."""
        # One that had ended when it was stated, and was not replaced, still holds as well: that it ended is true.
        new = {
            fact.text_id: fact
            for fact in by
            if fact.current or (fact.end and not fact.replaced_by and not fact.corrected)
        }
        for known in self._all_facts:
            name = known.text_id
            if known.replaced_by in new:
                done = [event.kind for event in self._memory.facts.events_of(name) if event.by == known.replaced_by]
                verdict = _DONE.get(done[-1], "changes") if done else "changes"
                change = Change(name, verdict, known.until or known.seen, known.replaced_by)
                yield Changed(change, known, new[known.replaced_by])
            elif known.doubtful_since and known.current:
                events = self._memory.facts.events_of(name)
                doubts = (event for event in events if event.kind == "doubted" and event.by in new)
                yield from (Changed(Change(name, "doubts", one.when, one.by), known, new[one.by]) for one in doubts)

    def update(
        self, current: PersonaDraft, material: Material, cancel: CancelToken
    ) -> Generator[Notice, None, PersonaDraft]:
        """The persona after a session; unchanged, with a notice, if the model's answer cannot be used.

        Raises ModelError when the model cannot be asked now, or Interrupted.
        """
        turns = material.turns
        # What the model is shown: lines and turns by small numbers.
        task = PersonaTask(
            material.persona,
            dict(enumerate(number_lines(current.text), 1)),
            material.notes,
            material.changes,
            {turn.text_id: number for number, turn in enumerate(turns, 1)},
            (turns[0].timestamp, turns[-1].timestamp),
        )
        language = language_of_persona(current.text, material.language)
        names = names_of_both([fact for fact in self._all_facts if fact.current], self._llm.settings)
        try:
            reply = self._llm.update_persona(task, language, cancel, names)
        except (errors.ContentFiltered, errors.ContextTooLong) as fault:
            # It would be refused the next time as well, and nothing may be stuck on it for good.
            yield Notice("save.persona_refused", {"persona": material.persona, "error": fault})
            return current
        cancel.check()
        found = read_operations(reply)
        if not found.understood:
            unreadable = errors.BadReply("model.no_json")
            yield Notice("save.persona_refused", {"persona": material.persona, "error": unreadable})
        made = self._apply_operations(current, material, found, language, names)
        if made.moved:
            yield Notice("save.persona_moved", {"persona": material.persona})
        return PersonaDraft(made.text, made.lines)

    def _apply_operations(
        self, current: PersonaDraft, material: Material, found: OperationsRead, language: Language, names: Names
    ) -> AppliedOperations:
        made = apply_operations(
            current.text,
            current.lines,
            found.operations,
            material.turns,
            self._memory.personas.pins(material.persona),
            language,
            self._llm.settings.persona_tokens,
            self._llm.clock().date(),
            names=names,
            shown=material.texts,
            allowed=Allowed(material.persona == "self", self._concerned_lines(current, material, names)),
        )
        self._llm.log.info(
            "persona %s: %d operations; rejected: %s; refused: %s; moved out: %d",
            material.persona, len(found.operations), dict(found.rejected), dict(made.refused), len(made.moved),
        )  # fmt: skip
        return made

    def _concerned_lines(self, current: PersonaDraft, material: Material, names: Names) -> dict[str, frozenset[str]]:
        """Which lines the facts of a session concern, and the turns that say so."""
        rests = sorted({turn for line in current.lines for turn in line.turns})
        changes = [(one.known, one.by) for one in material.changes if one.by]
        own = telling_terms(" ".join((*names.person, *names.companion)))
        return find_concerning_messages(
            current.lines,
            self._memory.facts.of_turns(rests),
            (*material.facts, *(by for _, by in changes)),
            changes,
            own,
        )


def _message_ids(notes: Iterable[Note]) -> list[str]:
    return list(dict.fromkeys(turn for note in notes for turn in note.turns))
