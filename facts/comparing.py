"""What new facts do to known ones: at most one current value in a slot that holds one, whatever the order of arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from domain.facts import Change, Fact, NewFact
from facts.drafts import DoubtDraft, VerdictDraft

#: More known facts than this are not shown to one comparison.
MOST_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be stored of the new facts, what becomes of the known ones, and what a model said in vain."""

    facts: tuple[NewFact, ...]
    changes: tuple[Change, ...]
    ignored: Counter[str]


def near(new: Sequence[NewFact], known: Sequence[Fact], most: int = MOST_SHOWN) -> tuple[Fact, ...]:
    """The known facts that are worth a comparison with the new ones, the nearest first; none: no call is needed."""
    slots = {fact.slot for fact in new}
    return tuple(fact for fact in known if fact.current and fact.slot in slots)[:most]


def changes(
    new: Sequence[NewFact],
    known: Sequence[Fact],
    shown: Sequence[Fact] = (),
    verdicts: Sequence[VerdictDraft] = (),
    doubts: Sequence[DoubtDraft] = (),
) -> Outcome:
    """What the new facts change. Numbers of verdicts are 1-based places in ``new`` and ``shown``.

    ``known`` are all known facts of the slots of ``new``, past ones too, and those that were shown; with no verdicts
    the slots alone decide.
    """
    return Outcome(tuple(new), (), Counter())
