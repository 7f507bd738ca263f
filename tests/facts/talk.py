"""Stretches of talk, drafts of a model and stored facts, written short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from itertools import count

from domain.fact_states import (
    EVENT_OF_VERDICT,
    Event,
    FactState,
    LearnedFact,
    apply_event,
    is_alone,
    settle_slot,
    state_of,
)
from domain.facts import Fact, NewFact
from domain.records import PREFIX, Message
from facts.checking import CheckedNotes, check_notes
from facts.comparing import Outcome
from facts.drafts import FactDraft, NoteDraft
from facts.slots import Names, slot_of

MARA = Names(("Mara", "Mara Lindqvist"), ("Juniper", "Old Friend"))
CHEN = Names(("陈默",), ("老友",))


def talk(day: str, *said: str) -> list[Message]:
    """Turns of one evening: a line that begins with ``>`` is the companion's."""
    found = []
    for at, text in enumerate(said):
        role = "assistant" if text.startswith(">") else "user"
        words = text.removeprefix(">").strip()
        when = f"{day}T20:00:{at:02}+00:00"
        found.append(Message(at + 1, f"{day}/{at + 1}", "session", when, role, PREFIX[role] + words, at // 2))
    return found


def fact_draft(statement: str, *messages: int, **fields: object) -> FactDraft:
    """A fact as a model would write it."""
    plain = FactDraft(statement, "", "matter", "", "person", "stated", (), (), (), "", "", "", messages or (1,))
    return replace(plain, **fields)  # type: ignore[arg-type]


def note_draft(text: str, *facts: FactDraft, private: bool = True, messages: tuple[int, ...] = ()) -> NoteDraft:
    """A note as a model would write it, resting on the turns of its facts."""
    rests = messages or tuple(dict.fromkeys(message for fact in facts for message in fact.messages)) or (1,)
    return NoteDraft(text, "topic", 5, "active", private, rests, facts)


def checked(
    draft: FactDraft, messages: Sequence[Message], names: Names = MARA, before: Sequence[Message] = ()
) -> CheckedNotes:
    """One fact in a note of its own, checked against a stretch of talk."""
    numbers = count()
    return check_notes([note_draft(draft.restatement, draft)], messages, before, names, lambda: f"id{next(numbers)}")


def reason(statement: str, messages: Sequence[Message], *handles: int, names: Names = MARA, **fields: object) -> str:
    """Why a statement is not believed; "" when it is."""
    found = checked(fact_draft(statement, *handles, **fields), messages, names)
    if any(one.basis != "quoted" for one in found.facts):
        return ""
    return next((why for why in found.rejected if why != "start or end"), "")


def new_fact(
    name: str, attribute: str, value: str, said: str, *, subject: str = "Mara", text: str = "", **fields: object
) -> NewFact:
    """A fact that is not stored yet, resting on one turn."""
    slot, single = slot_of(subject, attribute, "person", MARA)
    statement = text or f"{subject}: {attribute} {value}"
    plain = NewFact(
        name, "note", statement, subject, attribute, value, slot, single, "person", "stated", said, (f"turn {name}",)
    )  # fmt: skip
    return replace(plain, **fields)  # type: ignore[arg-type]


def stored(known: Iterable[Fact], outcome: Outcome) -> list[Fact]:
    """What a store holds afterwards, by the rules by which it settles states."""
    facts = {fact.text_id: fact for fact in known}
    for fact in outcome.facts:
        facts[fact.text_id] = _as_stored(fact, len(facts) + 1)
    states = {fact.number: _state(fact) for fact in facts.values()}
    for change in outcome.changes:
        number, by = facts[change.fact].number, change.by if change.by != change.fact else ""
        states[number] = apply_event(states[number], Event(EVENT_OF_VERDICT[change.verdict], change.when, by))
    for slot in {fact.slot for fact in facts.values() if is_alone(fact)}:
        group = [_learned(fact) for fact in facts.values() if fact.slot == slot and is_alone(fact)]
        states |= settle_slot(group, {one.number: states[one.number] for one in group})
    return [replace(fact, **asdict(states[fact.number])) for fact in facts.values()]


def _as_stored(fact: NewFact, number: int) -> Fact:
    learned = LearnedFact(number, fact.text_id, is_alone(fact), False, fact.said, fact.start, fact.end)
    return Fact(
        number, fact.text_id, fact.note, "session", fact.restatement, fact.subject, fact.attribute, fact.value,
        fact.slot, fact.single, fact.about, fact.stance, fact.said, messages=fact.messages, start=fact.start, end=fact.end,
        persons=fact.persons, **asdict(state_of(learned, ())),
    )  # fmt: skip


def _state(fact: Fact) -> FactState:
    return FactState(**{field.name: getattr(fact, field.name) for field in fields(FactState)})


def _learned(fact: Fact) -> LearnedFact:
    by_hand = fact.decided == "hand"
    return LearnedFact(fact.number, fact.text_id, is_alone(fact), by_hand, fact.said, fact.start, fact.end)
