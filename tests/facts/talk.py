"""Stretches of talk, drafts of a model and stored facts, written short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from domain.facts import Change, Fact, NewFact
from domain.records import PREFIX, Turn
from facts.comparing import Outcome
from facts.drafts import FactDraft, NoteDraft
from facts.grounding import Checked, grounded
from facts.slots import Names, slot_of

MARA = Names(("Mara", "Mara Lindqvist"), ("Juniper", "Old Friend"))
CHEN = Names(("陈默",), ("老友",))


def talk(day: str, *said: str) -> list[Turn]:
    """Turns of one evening: a line that begins with ``>`` is the companion's."""
    found = []
    for at, text in enumerate(said):
        role = "assistant" if text.startswith(">") else "user"
        words = text.removeprefix(">").strip()
        when = f"{day}T20:00:{at:02}+00:00"
        found.append(Turn(at + 1, f"{day}/{at + 1}", "session", when, role, PREFIX[role] + words, at // 2))
    return found


def fact_draft(statement: str, *turns: int, **fields: object) -> FactDraft:
    """A fact as a model would write it."""
    plain = FactDraft(statement, "", "matter", "", "person", "stated", (), (), (), "", "", "", turns or (1,))
    return replace(plain, **fields)  # type: ignore[arg-type]


def note_draft(text: str, *facts: FactDraft, private: bool = True, turns: tuple[int, ...] = ()) -> NoteDraft:
    """A note as a model would write it, resting on the turns of its facts."""
    rests = turns or tuple(dict.fromkeys(turn for fact in facts for turn in fact.turns)) or (1,)
    return NoteDraft(text, "topic", 5, "active", private, rests, facts)


def checked(
    draft: FactDraft, turns: Sequence[Turn], names: Names = MARA, before: Sequence[Turn] = ()
) -> Checked:
    """One fact in a note of its own, checked against a stretch of talk."""
    numbers = count()
    return grounded(
        [note_draft(draft.restatement, draft)], turns, before, names, lambda: f"id{next(numbers)}"
    )


def reason(
    statement: str, turns: Sequence[Turn], *handles: int, names: Names = MARA, **fields: object
) -> str:
    """Why a statement is not believed; "" when it is."""
    found = checked(fact_draft(statement, *handles, **fields), turns, names)
    if found.facts:
        return ""
    return next((why for why in found.rejected if why != "start or end"), "")


def new_fact(
    name: str,
    attribute: str,
    value: str,
    said: str,
    *,
    subject: str = "Mara",
    text: str = "",
    **fields: object,
) -> NewFact:
    """A fact that is not stored yet, resting on one turn."""
    slot, single = slot_of(subject, attribute, "person", MARA)
    statement = text or f"{subject}: {attribute} {value}"
    plain = NewFact(
        name, "note", statement, subject, attribute, value, slot, single, "person", "stated", said, (f"turn {name}",)
    )  # fmt: skip
    return replace(plain, **fields)  # type: ignore[arg-type]


def stored(known: Iterable[Fact], outcome: Outcome) -> list[Fact]:
    """What a store holds afterwards."""
    facts = {fact.text_id: fact for fact in known}
    for fact in outcome.facts:
        facts[fact.text_id] = _as_stored(fact, len(facts) + 1)
    for change in outcome.changes:
        facts[change.fact] = _changed(facts[change.fact], change)
    return list(facts.values())


def _as_stored(fact: NewFact, number: int) -> Fact:
    return Fact(
        number, fact.text_id, fact.note, "session", fact.restatement, fact.subject, fact.attribute, fact.value,
        fact.slot, fact.single, fact.about, fact.stance, fact.said, fact.said, fact.turns, start=fact.start,
        end=fact.end, since=fact.start or fact.said,
    )  # fmt: skip


def _changed(fact: Fact, change: Change) -> Fact:
    if change.verdict == "same":
        return replace(fact, seen=max(fact.seen, change.when), doubtful_since="")
    if change.verdict == "corrects":
        return replace(fact, corrected=True, replaced_by=change.by)
    if change.verdict == "doubts":
        return replace(fact, doubtful_since=change.when)
    if fact.until and fact.until <= change.when:
        return fact
    return replace(fact, until=change.when, replaced_by=change.by, doubtful_since="")
