"""Believes of a model's drafts only what stands in the turns that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.facts import NewFact, NewNote, NewRelation
from domain.records import Turn
from facts.drafts import NoteDraft
from facts.slots import Names, slot_of


@dataclass(frozen=True, slots=True)
class Checked:
    """What holds of a model's drafts, ready to be stored, and how much went for which reason."""

    notes: tuple[NewNote, ...]
    facts: tuple[NewFact, ...]
    relations: tuple[NewRelation, ...]
    rejected: Counter[str]


def grounded(
    drafts: Sequence[NoteDraft],
    window: Sequence[Turn],
    before: Sequence[Turn],
    names: Names,
    new_id: Callable[[], str],
) -> Checked:
    """The drafts that rest on turns of this window, as notes, facts and relations.

    ``window`` are the turns 1 to n of the drafts, ``before`` those that only stood there as context (named 0 and below
    by nobody). ``new_id`` names what is new.
    """
    notes, facts, relations = [], [], []
    for draft in drafts:
        turns = [window[n - 1] for n in draft.turns if 0 < n <= len(window)]
        if not turns:
            continue
        note = NewNote(
            new_id(), draft.text, draft.topic, draft.importance, draft.memory_type,
            tuple(turn.text_id for turn in turns), draft.private,
        )  # fmt: skip
        notes.append(note)
        for fact in draft.facts:
            rests = [window[n - 1] for n in fact.turns if 0 < n <= len(window)]
            if not rests:
                continue
            slot, single = slot_of(fact.subject, fact.attribute, fact.about, names)
            new = NewFact(
                new_id(), note.text_id, fact.restatement, fact.subject, fact.attribute, fact.value, slot, single,
                fact.about, fact.stance, rests[-1].timestamp, tuple(turn.text_id for turn in rests), fact.keywords,
                fact.persons, fact.entities, fact.location, fact.start, fact.end,
            )  # fmt: skip
            facts.append(new)
            relations += [NewRelation(r.source, r.relation, r.target, new.text_id) for r in fact.relations]
    return Checked(tuple(notes), tuple(facts), tuple(relations), Counter())
