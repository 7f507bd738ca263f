"""Persona updates: a model names operations on numbered lines, and the program applies them.

Guarantees: a line says only what verified facts say, or quotes; a model never copies a line, so none is lost; it is not
asked when a session has nothing about the persona. What it asks for in vain it may correct once, with the reason; the
rest is reported. A name that was corrected is right in the lines of the program. An answer that is unreadable or
refused changes nothing. How the companion talks is in its persona without any model: ``with_manner``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from domain import errors
from domain.events import Notice
from domain.facts import About, Change, Fact, LineEvidence, PersonaDraft
from domain.quotations import own_words
from domain.records import Persona
from domain.settings import Settings
from domain.workers import CancelToken
from facts.cues import takes_back
from facts.evidence import telling_terms
from facts.persona_lines import (
    Grounds,
    PersonaEditing,
    QuotedFact,
    Refusal,
    facts_in_line,
    find_concerning,
    is_past,
    number_lines,
    read_operations,
)
from facts.slots import Names, known_people
from facts.spans import quotation_of
from jobs.extraction import names_of_both
from language.reactions import manner_lines, manner_of, running_jokes
from language.scripts import Language, estimate
from llm import Llm
from memory import Memory
from models.tasks import Changed, PersonaTask
from storage.personas import lines_of

#: Which facts belong into which persona.
_BELONGS: Mapping[About, Persona] = {"person": "user", "other": "user", "companion": "self"}

#: What happened to a fact, as a comparison would say it.
_DONE: Mapping[str, Literal["changes", "ends", "corrects"]] = {
    "changed": "changes",
    "ended": "ends",
    "corrected": "corrects",
}

#: How much a line on the manner matters: it is the first to go.
_MANNER = 1


@dataclass(frozen=True)
class Material:
    """What a session has about a persona: facts with their words, and what they changed.

    ``spoken`` are the times of its first and last message.
    """

    persona: Persona
    facts: tuple[QuotedFact, ...]
    changes: tuple[Changed, ...]
    spoken: tuple[str, str]

    def __bool__(self) -> bool:
        return bool(self.facts)

    @property
    def texts(self) -> tuple[str, ...]:
        """All of it as texts."""
        changed = [f"{one.change.verdict} {one.known.restatement}" for one in self.changes]
        return (*(f"{one.fact.basis} {one.fact.restatement} {one.quotation}" for one in self.facts), *changed)


class PersonaUpdate:
    """Updates the personas of one memory, both from the facts known when it is first used."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    @cached_property
    def _all_facts(self) -> list[Fact]:
        return self._memory.facts.all()

    def find_material(self, persona: Persona, session_id: str) -> Material:
        """What a session has about a persona that is still true: what it stated, and what it confirmed.

        Nothing where only other people spoke; of the companion, what is only quoted is in its own words.
        """
        messages = self._memory.messages.of_session(session_id)
        if messages and all(one.speaker for one in messages):
            return Material(persona, (), (), (messages[0].timestamp, messages[-1].timestamp))
        times = {one.timestamp for one in messages}
        own = [one for one in self._all_facts if one.session_id == session_id and one.basis != "inferred"]
        again = [one for one in self._all_facts if one.seen != one.said and one.seen in times and one not in own]
        changes = [one for one in self._find_changes(own) if _BELONGS[one.known.about] == persona]
        changing = {one.by.text_id for one in changes if one.by}
        before: dict[str, list[str]] = {}
        for each in changes:
            if each.by and each.change.verdict != "corrects":
                before.setdefault(each.by.text_id, []).append(each.known.restatement)
        facts = [
            QuotedFact(one, quotation_of(one.quotes, messages), tuple(before.get(one.text_id, ())))
            for one in (*own, *again)
            if one.text_id in changing or (_holds(one) and _BELONGS[one.about] == persona)
        ]
        spoken = (messages[0].timestamp, messages[-1].timestamp) if messages else ("", "")
        speaker = "assistant" if persona == "self" else None
        shown = tuple(
            one
            for one in facts
            if one.fact.basis == "verified"
            or (one.quotation and (not speaker or any(each.role == speaker for each in one.fact.quotes)))
        )
        if len(shown) < len(facts):
            self._llm.log.info(
                "persona %s: %d quoted facts without words of their own", persona, len(facts) - len(shown)
            )
        return Material(persona, shown, tuple(changes), spoken)

    def _find_changes(self, by: Sequence[Fact]) -> Iterable[Changed]:
        """The known facts to which these facts did something, as far as they hold themselves."""
        new = {fact.text_id: fact for fact in by if _holds(fact)}
        for known in self._all_facts:
            name = known.text_id
            if known.replaced_by in new:
                done = [event.kind for event in self._memory.facts.events_of(name) if event.by == known.replaced_by]
                if not done and takes_back(known.restatement):
                    continue  # that something is over stays true beside what came after
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
        language = self._memory.language()
        persona, limit = material.persona, self._llm.settings.persona_tokens
        known = [fact for fact in self._all_facts if fact.current]
        names = names_of_both(known, self._llm.settings)
        pins = self._memory.personas.pins(persona)
        renamed = self._memory.shown.draft(current, pins)
        grounds = self._find_grounds(renamed, material, names)
        editing = PersonaEditing(renamed.text, renamed.lines, pins, grounds, language)
        lines = dict(enumerate(number_lines(renamed.text), 1))
        task = PersonaTask(
            persona, lines, material.facts, material.changes, material.spoken, limit, editing.fixed,
            {number: whole for number, line in lines.items() if (whole := grounds.past.get(line.strip())) is not None},
            known_people(self._all_facts, names, "\n".join(material.texts)),
        )  # fmt: skip
        try:
            refused = yield from self._ask(task, editing, language, cancel, names)
            if refused:
                refused = yield from self._ask(replace(task, refused=refused), editing, language, cancel, names)
        except (errors.ContentFiltered, errors.ContextTooLong) as fault:
            # It would be refused the next time as well, and nothing may be stuck on it for good.
            yield Notice("save.persona_refused", {"persona": persona, "error": fault})
            return current
        made = editing.finish()
        if refused:
            key = "save.lines_refused" if len(refused) > 1 else "save.lines_refused.one"
            yield Notice(key, {"persona": persona, "lines": len(refused)})
        if made.moved:
            yield Notice(
                "save.persona_moved", {"persona": persona, "lines": " · ".join(one.line for one in made.moved)}
            )
        if made.tokens > limit:
            yield Notice("save.persona_full", {"persona": persona, "tokens": made.tokens, "limit": limit})
        self._llm.log.info("persona %s: %d lines moved out, %d tokens", persona, len(made.moved), made.tokens)
        return PersonaDraft(made.text, made.lines, tuple(one.line for one in made.moved))

    def _ask(
        self, task: PersonaTask, editing: PersonaEditing, language: Language, cancel: CancelToken, names: Names
    ) -> Generator[Notice, None, tuple[Refusal, ...]]:
        """Ask for operations and apply them. Returns as many as were not applied, also where a second reply leaves out
        some that were refused, or is unreadable.
        """
        reply = self._llm.update_persona(task, language, cancel, names)
        cancel.check()
        found = read_operations(reply)
        if not found.understood:
            if not task.refused:
                unreadable = errors.BadReply("model.no_json")
                yield Notice("save.persona_refused", {"persona": task.persona, "error": unreadable})
            return tuple(task.refused)
        refused = editing.apply_operations(found.operations)
        self._llm.log.info(
            "persona %s: %d operations; unreadable: %s; refused: %s",
            task.persona, len(found.operations), dict(found.rejected),
            [f"{one.operation.deed} {list(one.operation.lines)}: {one.reason}" for one in refused],
        )  # fmt: skip
        return (*refused, *task.refused[len(found.operations) :])

    def _find_grounds(self, current: PersonaDraft, material: Material, names: Names) -> Grounds:
        """What the lines may become: what the session's facts concern, and what is past."""
        today = self._llm.clock().date()
        messages = {message for line in current.lines for message in line.messages}
        resting: dict[str, list[Fact]] = {message: [] for message in messages}
        for fact in self._all_facts:
            for message in messages.intersection(fact.messages):
                resting[message].append(fact)
        verified = [one.fact for one in material.facts if one.fact.basis == "verified"]
        changes = [(one.known, one.by) for one in material.changes if one.by]
        own = telling_terms(" ".join((*names.person, *names.companion)))
        concerned, overruled = find_concerning(current.lines, resting, verified, changes, own)
        past = {
            one.line.strip(): whole
            for one in current.lines
            if (whole := is_past(one.line, facts_in_line(one, resting), today, one.date)) is not None
        }
        limit = self._llm.settings.persona_tokens
        return Grounds(material.facts, today, limit, names, concerned, overruled, past)


def _holds(fact: Fact) -> bool:
    """Whether what a fact says is so; of one that had ended when it was stated, and was not replaced, that it ended."""
    return fact.current or bool(fact.end and not fact.replaced_by and not fact.corrected)


def with_manner(memory: Memory, settings: Settings, session_id: str, draft: PersonaDraft) -> PersonaDraft:
    """The self persona at the save of a session, with a line on each part of how the companion talks by its replies.

    A line changes in its place. What a person wrote, pinned or removed stays so. The lines get the room that is left.
    """
    replies = [
        (one, words, then) for one, then in memory.voice.replies(session_id) if (words := own_words(one).strip())
    ]
    person = settings.user_name or memory.names().person_called
    there, evidence = manner_lines(draft.text), {one.line.strip(): one for one in draft.lines}
    language = memory.language()
    shown = manner_of([words for _, words, _ in replies], person, language, there.get("length", ""))
    shown |= running_jokes([(one.session_id, words, then) for one, words, then in replies], language)
    if there == {part: line for part, (line, _) in shown.items()}:
        return draft
    versions, lines = memory.personas.versions, draft.text.split("\n")
    by_hand, pinned = versions.manner_by_hand(), {line for pin in versions.pins("self") for line in lines_of(pin)}
    for part in dict.fromkeys((*there, *shown)):
        old, (new, by) = there.get(part, ""), shown.get(part, ("", []))
        if new == old or part in by_hand or (old and (old not in evidence or old in pinned)):
            continue
        places = [at for at, line in enumerate(lines) if line.strip() == old] if old else [len(lines)]
        at, rest = places[0], [line for at, line in enumerate(lines) if at not in places]
        evidence.pop(old, None)
        lines = [*rest[:at], new, *rest[at:]]
        if not new or estimate("\n".join(lines)) > settings.persona_tokens:
            lines = rest
            continue
        messages = [replies[number][0] for number in by]
        evidence[new] = LineEvidence(new, tuple(one.text_id for one in messages), messages[-1].timestamp[:10], _MANNER)
    return replace(draft, text="\n".join(lines).strip(), lines=tuple(evidence.values()))
