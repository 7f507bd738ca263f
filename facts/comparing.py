"""What new facts do to known ones: at most one current value in a slot that holds one, whatever the order of arrival.

The slots decide first, with no model; its verdicts add what slots cannot see, and are followed only where they speak of
something that was shown, rest on something stated, and touch nothing that a person put right. Nothing is deleted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from domain.facts import Change, Fact, NewFact, Slot
from facts.cues import ends_or_denies, takes_back
from facts.drafts import DoubtDraft, VerdictDraft
from facts.nearness import MOST_SHOWN, TRIGGERS, by_slot, near
from facts.numbers import mentioned
from facts.slots import are_apart, depends_on, folded
from facts.timeline import (
    Entry,
    counts_from,
    entry_of_known,
    entry_of_new,
    in_order,
    is_less_exact,
    is_of_before,
    over_since,
    same_matter,
    settled,
)

__all__ = ["MOST_SHOWN", "Outcome", "change_counts", "changes", "near"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be stored of the new facts, what becomes of facts (also of new ones that are past at once), and what
    a model said in vain."""

    facts: tuple[NewFact, ...]
    changes: tuple[Change, ...]
    ignored: Counter[str]


def changes(
    new: Sequence[NewFact],
    known: Sequence[Fact],
    shown: Sequence[Fact] = (),
    verdicts: Sequence[VerdictDraft] = (),
    doubts: Sequence[DoubtDraft] = (),
) -> Outcome:
    """What the new facts change. Numbers of verdicts are 1-based places in ``new`` and ``shown``.

    ``known`` are all known facts of the slots of ``new``, past ones too, and current ones of their subjects; with no
    verdicts the slots alone decide.
    """
    comparison = _Comparison(new, {fact.text_id: fact for fact in (*known, *shown)})
    comparison.follow(verdicts, shown)
    comparison.settle_slots()
    comparison.doubt(doubts, shown)
    return Outcome(tuple(comparison.stored()), comparison.all_changes(), comparison.ignored)


class _Comparison:
    """Gathers what becomes of each fact; of several changes of one fact the first one counts."""

    def __init__(self, new: Sequence[NewFact], known: Mapping[str, Fact]) -> None:
        self._listed = tuple(new)
        self._new = {fact.text_id: fact for fact in new}
        self._known = known
        self._slots = by_slot(known.values())
        self._dropped: dict[str, str] = {}
        self._changes: dict[str, Change] = {}
        self._confirmed: dict[str, Change] = {}
        self._ended: dict[tuple[str, str], str] = {}
        self.ignored: Counter[str] = Counter()

    def stored(self) -> Iterator[NewFact]:
        """The new facts that are to be stored."""
        return (self._new[fact.text_id] for fact in self._listed if fact.text_id not in self._dropped)

    def all_changes(self) -> tuple[Change, ...]:
        """Every change, at most one a fact; a fact that changed is not confirmed as well."""
        confirmed = [change for name, change in self._confirmed.items() if name not in self._changes]
        return (*confirmed, *self._changes.values())

    # --- verdicts

    def follow(self, verdicts: Sequence[VerdictDraft], shown: Sequence[Fact]) -> None:
        """Follow the verdicts of a model, as far as they can be believed."""
        for verdict in verdicts:
            if not 0 < verdict.new <= len(self._listed):
                self.ignored["unknown fact"] += 1
            elif verdict.verdict != "adds":
                self._follow(verdict, shown)

    def _follow(self, verdict: VerdictDraft, shown: Sequence[Fact]) -> None:
        new = self._listed[verdict.new - 1]
        if not 0 < verdict.known <= len(shown):
            self.ignored["not shown"] += 1
            return
        known = shown[verdict.known - 1]
        if reason := _unbelievable(verdict, new, known):
            self.ignored[reason] += 1
        elif verdict.verdict == "same":
            self._drop(new, known)
        elif verdict.verdict == "corrects":
            self._changes.setdefault(known.text_id, Change(known.text_id, "corrects", new.said, new.text_id))
        elif new.slot == known.slot and _is_alone(new) and _is_alone(known) and not over_since(new):
            self._ended[known.text_id, new.text_id] = verdict.verdict
        elif verdict.verdict in ("changes", "ends"):
            change = Change(known.text_id, verdict.verdict, counts_from(new, known), new.text_id)
            self._changes.setdefault(known.text_id, change)

    # --- slots

    def settle_slots(self) -> None:
        """Merge what says the same, and leave one current value in each slot that holds one."""
        slots: dict[Slot, list[NewFact]] = defaultdict(list)
        for fact in self._listed:
            if fact.text_id not in self._dropped:
                slots[fact.slot].append(fact)
        for slot, facts in slots.items():
            self._merge_repeated(slot, [fact for fact in facts if not _is_alone(fact)])
            alone = [fact for fact in facts if _is_alone(fact)]
            if alone:
                self._settle(slot, alone)

    def _merge_repeated(self, slot: Slot, facts: Sequence[NewFact]) -> None:
        """Facts that may stand beside each other: each is stored once."""
        there = [fact for fact in self._slots.get(slot, ()) if fact.current]
        kept: list[NewFact] = []
        for fact in facts:
            known = next(
                (one for one in there if _says_the_same(fact, one) and one.text_id not in self._changes), None
            )
            earlier = next((one for one in kept if _repeats(fact, one)), None)
            if known:
                self._drop(fact, known)
            elif earlier:
                self._merge(fact, earlier)
            else:
                kept.append(fact)

    def _settle(self, slot: Slot, facts: Sequence[NewFact]) -> None:
        there = [
            entry_of_known(fact)
            for fact in self._slots.get(slot, ())
            if _is_alone(fact) and not fact.corrected and not self._is_corrected(fact)
        ]
        # Of what was said in one breath, that counts last of which the model says that it took a place.
        placed = {by for _, by in self._ended}
        told = sorted(facts, key=lambda fact: fact.text_id in placed)
        entries = self._merged([*there, *map(entry_of_new, told)])
        for change in settled(entries):
            verdict = self._ended.get((change.fact, change.by), change.verdict)
            self._changes.setdefault(change.fact, replace(change, verdict=verdict))  # type: ignore[arg-type]
        self._fulfil(slot, facts)

    def _merged(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries in order, without new ones that say what their neighbour says."""
        kept: list[Entry] = []
        for entry in in_order(entries):
            before = kept[-1] if kept else None
            if before and self._is_repeated(entry, before):
                if entry.new:
                    self._take_in(entry.new, before)
                    continue
                if before.new:
                    self._take_in(before.new, entry)
                    kept.pop()
            kept.append(entry)
        return kept

    @staticmethod
    def _is_repeated(entry: Entry, before: Entry) -> bool:
        """Whether neighbours in time say the same; after an end it is a new beginning."""
        if not (entry.new or before.new) or bool(entry.new and entry.until) != bool(
            before.new and before.until
        ):
            return False
        if before.known and before.until and before.until < entry.told:
            return False
        return same_matter(entry, before) or bool(entry.new and is_less_exact(entry.value, before.value))

    def _take_in(self, new: NewFact, other: Entry) -> None:
        if other.known:
            self._drop(new, other.known)
        elif other.new:
            self._merge(new, other.new)

    def _fulfil(self, slot: Slot, facts: Sequence[NewFact]) -> None:
        """A plan that is stated as done is no plan any more."""
        for known in self._slots.get(slot, ()):
            done = known.current and known.stance in ("planned", "wished")
            by = next((fact for fact in facts if done and same_matter(fact, known)), None)
            if by and known.decided != "hand":
                self._changes.setdefault(
                    known.text_id, Change(known.text_id, "changes", counts_from(by, known), by.text_id)
                )

    def _is_corrected(self, fact: Fact) -> bool:
        change = self._changes.get(fact.text_id)
        return change is not None and change.verdict in ("corrects", "ends", "changes")

    def _drop(self, new: NewFact, known: Fact) -> None:
        """A new fact that says what is known confirms it."""
        self._dropped[new.text_id] = known.text_id
        when = max(new.start or new.said, new.said)
        before = self._confirmed.get(known.text_id)
        if before is None or before.when < when:
            self._confirmed[known.text_id] = Change(known.text_id, "same", when, new.text_id)

    def _merge(self, new: NewFact, earlier: NewFact) -> None:
        """Two facts of one window that say the same are one, which rests on the turns of both."""
        self._dropped[new.text_id] = earlier.text_id
        one = self._new[earlier.text_id]
        self._new[earlier.text_id] = replace(
            one,
            turns=_joined(one.turns, new.turns),
            keywords=_joined(one.keywords, new.keywords),
            persons=_joined(one.persons, new.persons),
            entities=_joined(one.entities, new.entities),
            said=max(one.said, new.said),
            start=one.start or new.start,
            end=one.end or new.end,
            location=one.location or new.location,
        )

    # --- doubts

    def doubt(self, doubts: Sequence[DoubtDraft], shown: Sequence[Fact]) -> None:
        """Mark what may no longer hold because a home, a job, a partner or a life is not what it was."""
        triggers = [fact for fact in self.stored() if self._is_trigger(fact)]
        for draft in doubts:
            if not 0 < draft.known <= len(shown):
                self.ignored["not shown"] += 1
            elif not triggers:
                self.ignored["doubt without a change"] += 1
            else:
                by = self._listed[draft.new - 1] if 0 < draft.new <= len(self._listed) else triggers[0]
                self._doubt(shown[draft.known - 1], by if by in triggers else triggers[0])
        for trigger in triggers:
            for fact in self._known.values():
                if _hangs_on(fact, trigger):
                    self._doubt(fact, trigger)

    def _doubt(self, fact: Fact, trigger: NewFact) -> None:
        spoken_of = (
            fact.text_id in self._changes
            or fact.text_id in self._confirmed
            or any(new.slot == fact.slot and new.single for new in self.stored())
        )
        if fact.kept or fact.decided == "hand" or not fact.current or spoken_of:
            self.ignored["doubt of what is settled"] += 1
        elif not fact.doubtful_since and is_of_before(fact, trigger, self._known.values()):
            since = counts_from(trigger, fact)
            self._changes[fact.text_id] = Change(fact.text_id, "doubts", since, trigger.text_id)

    def _is_trigger(self, fact: NewFact) -> bool:
        """Whether a new fact changed one of the matters on which others hang: another value went for it."""
        if fact.stance != "stated" or fact.slot.attribute not in TRIGGERS:
            return False
        if (own := self._changes.get(fact.text_id)) and (own.by or own.verdict != "ends"):
            return False
        gone = [
            self._known[change.fact]
            for change in self._changes.values()
            if change.by == fact.text_id and change.fact in self._known
        ]
        other = [one for one in gone if change_counts(one, fact)]
        return fact.slot.attribute == "death" or bool(other)


def change_counts(known: Fact, new: NewFact) -> bool:
    """Whether a known fact that went was about the same matter, and not only told less exactly."""
    about = known.slot.attribute in TRIGGERS and known.stance == "stated"
    return about and not is_less_exact(known.value, new.value)


def _unbelievable(verdict: VerdictDraft, new: NewFact, known: Fact) -> str:
    """Why a verdict is not followed; nothing when it is."""
    if known.decided == "hand" and verdict.verdict != "same":
        return "decided by hand"
    if known.corrected or (known.until and verdict.verdict != "corrects"):
        return "not current"
    if are_apart(new.slot, known.slot):
        return "of somebody else"
    if verdict.verdict == "same":
        return "" if _adds_nothing(new, known) else "not the same"
    if new.stance != "stated" and (known.stance == "stated" or new.stance != known.stance):
        return "not stated"
    return "said earlier" if new.said < known.said else ""


def _adds_nothing(new: NewFact, known: Fact) -> bool:
    """Whether a fact that is called the same says no number that is not known, and is as certain at the most."""
    told = mentioned(f"{known.restatement} {known.value}")
    alike = known.stance in (new.stance, "stated")
    one_value = (
        not (new.single and new.slot == known.slot)
        or _says_the_same(new, known)
        or is_less_exact(new.value, known.value)
    )
    return alike and one_value and mentioned(new.value) <= told


def _is_alone(fact: Fact | NewFact) -> bool:
    """Whether of such facts one is current in a slot."""
    return fact.single and fact.stance == "stated"


def _says_the_same(new: NewFact, known: Fact) -> bool:
    return new.stance == known.stance and same_matter(new, known)


def _repeats(new: NewFact, earlier: NewFact) -> bool:
    return new.stance == earlier.stance and same_matter(new, earlier)


def _is_told_as_over(fact: Fact) -> bool:
    """Whether a fact only says that something is no more: that stays so, whatever else changes."""
    return (ends_or_denies if fact.slot.attribute == "plan" else takes_back)(fact.restatement)


def _hangs_on(fact: Fact, trigger: NewFact) -> bool:
    """Whether a known fact hangs on what changed: by its attribute, or because it speaks of somebody who died."""
    if (
        fact.text_id == trigger.text_id
        or fact.slot == trigger.slot
        or not fact.current
        or fact.stance != "stated"
        or _is_told_as_over(fact)
    ):
        return False
    if fact.slot.subject == trigger.slot.subject:
        return fact.slot.attribute in depends_on(trigger.slot)
    return trigger.slot.attribute == "death" and trigger.slot.subject == folded(fact.value)


def _joined(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
