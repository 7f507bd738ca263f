"""Compares new facts with known ones: which say the same, and what the new ones change.

Decisions become events; ``domain.fact_states`` alone derives states from them. Only verified facts change anything, and
only verified ones are changed. A model's verdict is followed only if it is about a fact that was in the prompt, has
stated evidence and touches nothing that a person corrected. Two values of one conversation are not before and after
unless the words, their days or a verdict say so: both hold. A death ends what depends on the one who died, and is never
over itself. ``find_near`` selects the known facts for the prompt by slot, dependent slots and rare words, without a
model or vectors.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, filterfalse
from math import log
from typing import Literal

from domain.fact_states import Event, FactState, LearnedFact, in_order, is_alone, settle_slot, state_of
from domain.facts import EVENTS, Change, Fact, NewFact, Slot
from domain.patterns import Guarded, pattern_of
from facts.cues import ends_or_denies, is_denial, takes_back
from facts.drafts import DoubtDraft, VerdictDraft
from facts.evidence import is_named_in, telling_terms, telling_terms_of_value
from facts.slots import COMPANION, PERSON, are_apart, depends_on, normalize_text
from language.calendar import seconds_of
from language.numbers import find_numbers, is_number
from language.words import terms
from storage.facts import CorrectedValue, Renaming, renaming_of

#: The most known facts in one comparison.
MOST_COMPARED = 20
#: When one of these attributes changes, facts that depend on it become doubtful.
_TRIGGERS = frozenset({"home", "employer", "job title", "partner", "relationship status", "death"})
#: Values said within so many seconds are of one conversation.
_CONVERSATION = 6 * 3600.0
#: Words that say that a value is another than before.
_CHANGES = pattern_of(
    r"\b(?:now(?:adays)?|no longer|any ?more|instead|switch\w*|chang\w*|mov(?:ed|es|ing)|becomes?|became|left|quit"
    r"|used to|until|since|new|correct\w*|actually|rather|not|replac\w*|(?:down|up) (?:to|from)|rais\w*|promot\w*"
    r"|just|start\w*|stop\w*)\b"
    r"|现在|如今|改|换|搬|不再|不是|以前|之前|原来|后来|变|升|降|涨|起|其实|新|刚|开始|戒|停|成了|到了",
    re.IGNORECASE,
)
#: Words for what somebody keeps saying that they will do: nothing has changed by that.
_SAYS_WILL = pattern_of(
    r"\b(?:sa(?:id|ys?|ying)|sw(?:ore|ears?)|vow\w*|talk\w*)\b.*\b(?:will|'ll|going to|to|of|about)"
    r" (?P<does>(?:quit|stop|start|giv|chang|switch|mov|leav|cut)\w*)"
    r"|[说嚷喊念叨][^，。]{0,8}[要想会](?P<zh>[戒停换搬辞改])",
    re.IGNORECASE,
)
#: Words for what somebody has got but may not have yet, and for the day on which it begins.
_GOT = pattern_of(
    r"\b(?:got|gets?|landed|accepted|offered|hired|found|signed)\b|拿到|得到|录取|录用|找到|签了|租到|买了|offer",
    re.IGNORECASE,
)
_BEGINS = pattern_of(r"\b(?:start\w*|begin\w*|join\w*|mov(?:e|es|ing))\b|开始|入职|上班|报到|到岗|搬", re.IGNORECASE)
#: Slots whose names also mean the whole field, so that a deed of a day may be in them: work, home, a partner.
_FIELDS = _TRIGGERS - {"death"}
#: What people do on a day without beginning or ending such a state; any other word may be a new job, home or partner.
_DEEDS = pattern_of(
    r"\b(?:visit(?:s|ed)|met up|caught up|worked (?:late|overtime|all night)|submitted|presented|wrote|sent|painted"
    r"|(?:handed|turned) in(?! (?:\w+ )?(?:notice|resignation))|decorated|cleaned|tidied|cooked|repaired|fixed the"
    r"|finished (?:the|an?|her|his|their) (?!job|contract|probation|degree)|argued|quarrell?ed|fought|talked|watched"
    r"|celebrated|helped|trip|cried|had (?:\w+ ){0,2}(?:breakfast|brunch|lunch|dinner|coffee|drinks?|tea|row|fight"
    r"|argument|talk|chat|call|meeting|guests|party))\b"
    r"|加班|出差|开会|汇报|述职|报告|交[了的上完](?!.{0,4}[男女]|房)|[写弄做忙]完|吵|拌嘴|冷战|闹别扭|吃[饭了火]|喝酒|看电影|逛|打电话|聊"
    r"|旅[游行](?!公司|社|局|集团)|爬山|拜访|探望|做客|聚[餐会]|打扫|收拾|刷[墙了]|修[好了]|装修|迟到|请假|过生日|送了",
    re.IGNORECASE,
)
_CANCELS = Guarded(
    "cancel|off|fell through|not happening|取消|泡汤|黄了|不|没",
    r"\b(?:cancel\w*|called off|(?:is|was) off\b|fell through|not happening)\b"
    r"|取消|泡汤|黄了|不[去办搞来]了|没[去办]成",
    any_case=True,
)
#: Words for the notice that somebody gives, or that something will end: no new value yet.
_NOTICE = pattern_of(
    r"\b(?:g[ai]v(?:e|es|en|ing)|put(?:s|ting)? in|hand(?:s|ed|ing) in|serv(?:es|ed|ing))(?: \w+){0,3} notice\b"
    r"|\bleav(?:es?|ing)\b|\b(?:lease|tenancy|contract) (?:ends|expires|runs out|is up)\b"
    r"|退[租房]|到期|[辞离]职|离开|解约",
    re.IGNORECASE,
)
#: Words for the last day of a job or in a home.
_LAST_DAY = pattern_of(
    r"\blast (?:working )?day (?:at|in|with)\b|\bleav(?:e|es|ing) (?:the|her|his|their|my) (?:job|flat|house|company)\b"
    r"|\bmov(?:e|es|ing) out\b|最后一(?:天|个工作日)|离职|搬出|退租",
    re.IGNORECASE,
)
#: Before what there is instead.
_BUT = pattern_of(r"[,;，；。]|\b(?:but|and)\b|而是|现在")
#: Words that are in what is said of any job or home, and name none.
_OF_ANY = "work job house home flat company 公司 单位 工作 上班 房子 家"
_PAST = pattern_of(r"\bused to\b|\bformer(?:ly)?\b|\bpreviously\b|以前|曾经?|从前|原先", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The new facts to store, the changes to facts (also to new ones that are already past), and the ignored verdicts.

    ``replaced``: facts that give way to another one of their slot, by id; that is no event.
    """

    facts: tuple[NewFact, ...]
    changes: tuple[Change, ...]
    replaced: Mapping[str, str]
    ignored: Counter[str]


def compare_facts(
    new: Sequence[NewFact],
    known: Sequence[Fact],
    shown: Sequence[Fact] = (),
    verdicts: Sequence[VerdictDraft] = (),
    doubts: Sequence[DoubtDraft] = (),
) -> Outcome:
    """What the new facts change. Verdicts name ``new`` and ``shown`` by their places, from 1.

    ``known`` are all known facts of the slots of ``new``, past ones too, and current ones of their subjects; with no
    verdicts the slots alone decide.
    """
    dated = [_with_day_ahead(fact, new) for fact in new]
    lasting = [replace(fact, start=fact.start or fact.end, end="") if _is_death(fact) else fact for fact in dated]
    comparison = _Comparison(lasting, {fact.text_id: fact for fact in (*known, *shown)})
    comparison.follow_verdicts(verdicts, shown)
    comparison.correct_names()
    comparison.settle_slots()
    comparison.raise_doubts(doubts, shown)
    return Outcome(comparison.facts_to_store(), comparison.all_changes(), comparison.replaced, comparison.ignored)


class _Comparison:
    """Collects the changes; of several changes to one fact the first counts."""

    def __init__(self, new: Sequence[NewFact], known: Mapping[str, Fact]) -> None:
        self._listed = tuple(new)
        self._new = {fact.text_id: fact for fact in new}
        self._known = known
        self._slots = _by_slot(known.values())
        self._dropped: dict[str, str] = {}
        self._changes: dict[str, Change] = {}
        self._confirmed: dict[str, Change] = {}
        #: Verdicts "changes" and "ends" by the known fact and the new one of the same slot.
        self._placed: dict[tuple[str, str], str] = {}
        #: New facts of which a model says that they change or end what is so, but nothing in their own slot.
        self._elsewhere: set[str] = set()
        self.replaced: dict[str, str] = {}
        self._renames: list[Change] = []
        self.ignored: Counter[str] = Counter()

    def facts_to_store(self) -> tuple[NewFact, ...]:
        """The new facts to store; one that replaced a known fact comes last."""
        placed = {by for _, by in self._placed}
        kept = [self._new[fact.text_id] for fact in self._listed if fact.text_id not in self._dropped]
        return tuple(sorted(kept, key=lambda fact: fact.text_id in placed))

    def all_changes(self) -> tuple[Change, ...]:
        """Every change, at most one per fact; a changed fact is not also confirmed."""
        confirmed = [change for name, change in self._confirmed.items() if name not in self._changes]
        return (*confirmed, *self._changes.values(), *self._renames)

    # --- verdicts

    def follow_verdicts(self, verdicts: Sequence[VerdictDraft], shown: Sequence[Fact]) -> None:
        """Apply a model's verdicts, as far as they are plausible; those of one matter before those of two."""

        def of_two(verdict: VerdictDraft) -> bool:
            there = 0 < verdict.new <= len(self._listed) and 0 < verdict.known <= len(shown)
            return there and self._listed[verdict.new - 1].slot != shown[verdict.known - 1].slot

        for verdict in sorted(verdicts, key=of_two):
            if not 0 < verdict.new <= len(self._listed):
                self.ignored["unknown fact"] += 1
            elif verdict.verdict != "adds":
                self._follow_verdict(verdict, shown)
        changing = [
            (self._listed[one.new - 1], shown[one.known - 1])
            for one in verdicts
            if one.verdict in ("changes", "ends") and 0 < one.new <= len(self._listed) and 0 < one.known <= len(shown)
        ]
        of_slot = {new.text_id for new, known in changing if new.slot == known.slot}
        others = {
            new.text_id for new, known in changing if known.stance == "stated" and not are_apart(new.slot, known.slot)
        }
        self._elsewhere = others - of_slot

    def _follow_verdict(self, verdict: VerdictDraft, shown: Sequence[Fact]) -> None:
        new = self._listed[verdict.new - 1]
        if not 0 < verdict.known <= len(shown):
            self.ignored["not shown"] += 1
            return
        known = shown[verdict.known - 1]
        if reason := _reason_to_ignore(verdict, new, known):
            self.ignored[reason] += 1
        elif verdict.verdict == "same":
            self._confirm_known(new, known)
        elif verdict.verdict == "corrects":
            self._changes.setdefault(known.text_id, Change(known.text_id, "corrects", new.said, new.text_id))
        elif new.slot == known.slot and is_alone(new) and is_alone(known) and not _over_since(new):
            self._placed[known.text_id, new.text_id] = verdict.verdict
        elif verdict.verdict in ("changes", "ends") and not any(known.text_id == placed for placed, _ in self._placed):
            change = Change(known.text_id, verdict.verdict, _counts_from(new, known), new.text_id)
            self._changes.setdefault(known.text_id, change)

    def correct_names(self) -> None:
        """Let what says that a name was wrong rename the known facts, where no verdict corrects one by it."""
        done = {one.by for one in self._changes.values() if one.verdict == "corrects"}
        for new in (one for one in self._new.values() if one.text_id not in done):
            if new.basis != "verified" or new.stance != "stated" or not (name := _renaming_by(new, "")):
                continue
            for known in self._known.values():
                named = known.verified and known.slot != new.slot and name.wrong in known.restatement
                if named and known.said <= new.said and _renaming_by(new, known.value) == name:
                    self._renames.append(Change(known.text_id, "renames", new.said, new.text_id))
                    break

    # --- slots

    def settle_slots(self) -> None:
        """Merge repetitions, and leave one current value in each single-valued slot."""
        slots: dict[Slot, list[NewFact]] = defaultdict(list)
        for fact in self._listed:
            if fact.text_id not in self._dropped:
                slots[fact.slot].append(fact)
        for slot, facts in slots.items():
            alone = self._one_after_another(slot, [fact for fact in facts if is_alone(fact)])
            beside = [self._new[fact.text_id] for fact in facts if fact not in alone]
            self._merge_repeated(slot, [fact for fact in beside if fact.text_id not in self._dropped])
            if alone:
                self._settle_slot(slot, alone)
            self._fulfil_plans(slot, [fact for fact in facts if fact.stance == "stated" and fact.basis == "verified"])

    def _one_after_another(self, slot: Slot, facts: Sequence[NewFact]) -> list[NewFact]:
        """The facts that take the place of a value, or give way to one.

        The others hold beside a value of the same conversation, which a later conversation replaces with it.
        """
        placed = {by for _, by in self._placed}
        there = [fact for fact in self._slots.get(slot, ()) if _holds(fact) and fact.text_id not in self._changes]
        beside = [fact for fact in there if not fact.single]
        kept: list[NewFact] = []
        for fact in sorted(facts, key=lambda one: one.text_id not in placed):
            values: list[Fact | NewFact] = [*(one for one in there if one.single), *kept]
            ended = [one for one in values if _tells_of_end(fact, one)]
            if ended or (not values and _tells_of_end(fact)):
                # That something is over stays true beside what comes after it.
                self._new[fact.text_id] = replace(fact, single=False)
                for one in ended:
                    change = Change(one.text_id, "ends", _counts_from(fact, one), fact.text_id)
                    self._changes.setdefault(one.text_id, change)
            elif again := next((one for one in beside if _says_the_same(fact, one)), None):
                self._confirm_known(fact, again)
            elif fact.text_id not in placed and (
                any(_is_said_with(fact, one) for one in values)
                or _is_deed(fact, elsewhere=fact.text_id in self._elsewhere)
                or self._goes_before_plan(fact)
                or _only_says_will(fact.restatement)
                or (values and _is_death(fact))  # one dies once: what is said of it later is more of the same
            ):
                self._new[fact.text_id] = replace(fact, single=False)
            else:
                kept.append(fact)
                for one in beside if not _over_since(fact) else ():
                    open_to = one.decided != "hand" and not takes_back(one.restatement)  # an end stays true
                    if open_to and one.said < fact.said and not _is_said_with(fact, one):
                        change = Change(one.text_id, "changes", _counts_from(fact, one), fact.text_id)
                        self._changes.setdefault(one.text_id, change)
        return [fact for fact in facts if fact in kept]

    def _goes_before_plan(self, fact: NewFact) -> bool:
        """Whether a fact only says that a value of its slot, which changes later, will end: notice given on a flat."""
        ahead = any(one.slot == fact.slot and one.stance == "planned" and _is_ahead(one) for one in self._listed)
        gives_notice = _NOTICE.search(fact.restatement) and not _CHANGES.search(fact.restatement)
        return bool(ahead and gives_notice and not fact.start)

    def _merge_repeated(self, slot: Slot, facts: Sequence[NewFact]) -> None:
        """Store each value of a multi-valued slot once; of a plan that was put off, the later day counts."""
        there = [fact for fact in self._slots.get(slot, ()) if fact.current]
        kept: list[NewFact] = []
        for fact in facts:
            known = next((one for one in there if _says_the_same(fact, one) and one.text_id not in self._changes), None)
            for one in there if fact.stance in ("planned", "wished") else ():
                put_off = one.stance == fact.stance and one.decided != "hand" and one.said < fact.said
                if put_off and not known and fact.basis == one.basis == "verified" and _is_same_matter(fact, one):
                    self._changes.setdefault(one.text_id, Change(one.text_id, "changes", fact.said, fact.text_id))
            earlier = next((one for one in kept if _says_the_same(fact, one)), None)
            if known:
                self._confirm_known(fact, known)
            elif earlier:
                self._merge_new(fact, earlier)
            else:
                kept.append(fact)

    def _settle_slot(self, slot: Slot, facts: Sequence[NewFact]) -> None:
        """Drop values that repeat their neighbour in time, then record which values replace which."""
        placed = {by for _, by in self._placed}
        decided = {name for name, one in self._changes.items() if one.verdict in ("corrects", "ends", "changes")}
        known = [
            fact
            for fact in self._slots.get(slot, ())
            if is_alone(fact) and not fact.corrected and fact.text_id not in decided
        ]
        first = 1 + max((fact.number for fact in known), default=0)
        facts = [self._as_agreed(fact, known) for fact in facts]
        new = sorted(facts, key=lambda fact: fact.text_id in placed)
        values = self._without_repeated(
            [*map(_known_value, known), *(_new_value(fact, number) for number, fact in enumerate(new, first))]
        )
        settled = settle_slot([one.learned for one in values], {one.learned.number: one.state for one in values})
        for one in values:
            self._note_place(one, settled[one.learned.number])

    def _as_agreed(self, fact: NewFact, known: Iterable[Fact]) -> NewFact:
        """A fact from the day of what is announced for a day ahead, if it is about that: the pay of a job to come."""
        there = [one for one in known if one.current and one.text_id != fact.text_id]
        ahead = [one for one in there if one.said < fact.said < one.start] if not (fact.start or fact.end) else []
        now = [one for one in known if one not in ahead and one.text_id != fact.text_id]
        if any(_is_same_matter(fact, one) for one in now):
            return fact  # "38,500 until she starts there"
        own = telling_terms(" ".join((fact.subject, fact.attribute, *(one.restatement for one in now))))
        about = telling_terms(fact.restatement) - own
        for one in ahead:
            of_it = fact.slot.attribute == "salary" and about & telling_terms(one.restatement)
            if of_it or (one.text_id, fact.text_id) in self._placed:
                fact = self._new[fact.text_id] = replace(fact, start=one.start)
        return fact

    def _note_place(self, one: _Value, settled: FactState) -> None:
        name, by = one.learned.text_id, settled.replaced_by
        if by and (by, settled.until) != (one.state.replaced_by, one.state.until):
            self.replaced[name] = by
            if self._placed.get((name, by)) == "ends":
                self._changes.setdefault(name, Change(name, "ends", settled.until, by))
        elif one.state.until and not one.learned.end and isinstance(one.fact, NewFact):
            self._changes.setdefault(name, Change(name, "ends", one.state.until, name))

    def _without_repeated(self, values: Sequence[_Value]) -> list[_Value]:
        by_number = {one.learned.number: one for one in values}
        ordered = in_order([one.learned for one in values], {one.learned.number: one.state for one in values})
        kept: list[_Value] = []
        for one in (by_number[learned.number] for learned in ordered):
            before = kept[-1] if kept and self._is_repeated(one, kept[-1]) else None
            if before and isinstance(one.fact, NewFact):
                self._merge_into(one.fact, before.fact)
                continue
            if before and isinstance(before.fact, NewFact):
                self._merge_into(before.fact, one.fact)
                kept.pop()
            kept.append(one)
        return kept

    def _is_repeated(self, one: _Value, before: _Value) -> bool:
        apart = (before.learned.text_id, one.learned.text_id) in self._placed
        return not apart and _is_repeated(one, before)

    def _merge_into(self, new: NewFact, other: Fact | NewFact) -> None:
        if isinstance(other, Fact):
            self._confirm_known(new, other)
        else:
            self._merge_new(new, other)

    def _fulfil_plans(self, slot: Slot, facts: Sequence[NewFact]) -> None:
        """End the plans that are stated as done, or as cancelled by a fact of the same subject."""
        for fact in facts:
            for known in self._known.values() if _CANCELS.search(fact.restatement) else ():
                if _is_cancelled(known, fact):
                    self._changes.setdefault(known.text_id, Change(known.text_id, "ends", fact.said, fact.text_id))
        for known in self._slots.get(slot, ()):
            done = known.current and known.verified and known.stance in ("planned", "wished")
            by = next((fact for fact in facts if done and _is_same_matter(fact, known)), None)
            if by and known.decided != "hand":
                self._changes.setdefault(
                    known.text_id, Change(known.text_id, "changes", _counts_from(by, known), by.text_id)
                )

    def _confirm_known(self, new: NewFact, known: Fact) -> None:
        self._dropped[new.text_id] = known.text_id
        when = max(new.start or new.said, new.said)
        before = self._confirmed.get(known.text_id)
        if before is None or before.when < when:
            self._confirmed[known.text_id] = Change(known.text_id, "same", when, new.text_id)

    def _merge_new(self, new: NewFact, earlier: NewFact) -> None:
        """Merge two facts of one window that say the same; the evidence of both is kept."""
        self._dropped[new.text_id] = earlier.text_id
        one = self._new[earlier.text_id]
        self._new[earlier.text_id] = replace(
            one,
            messages=_join_unique(one.messages, new.messages),
            keywords=_join_unique(one.keywords, new.keywords),
            persons=_join_unique(one.persons, new.persons),
            entities=_join_unique(one.entities, new.entities),
            said=max(one.said, new.said),
            start=one.start or new.start,
            end=one.end or new.end,
            location=one.location or new.location,
        )

    # --- doubts

    def raise_doubts(self, doubts: Sequence[DoubtDraft], shown: Sequence[Fact]) -> None:
        """Doubt facts that may no longer hold after a change of home, job or partner, or a death.

        A model's doubt has the cause that it names, and begins with it; a plan is one if its day is known, and so is
        what it says of somebody whom the doubted fact names. Where it names what is no cause, the first change of the
        window is. So is the last day of a job or in a home.
        """
        triggers = [fact for fact in self.facts_to_store() if self._is_trigger(fact)]
        causes = {fact.text_id for fact in triggers}
        for draft in doubts:
            named = self._listed[draft.new - 1 : draft.new] if draft.new > 0 else triggers[:1]
            real = [one for one in named if one.basis == "verified" and one.stance in ("stated", "planned")]
            able = [one for one in real if self._dropped.get(one.text_id, one.text_id) in causes or _is_ahead(one)]
            if not 0 < draft.known <= len(shown):
                self.ignored["not shown"] += 1
                continue
            stated = [one for one in real if one.stance == "stated" and triggers]
            about = [one for one in stated if _is_about_somebody_in(shown[draft.known - 1], one)]
            if not (by := next(iter(able or about or (real and triggers)), None)):
                self.ignored["doubt without a change"] += 1
            else:
                cause = self._dropped.get(by.text_id, by.text_id)
                self._doubt_fact(shown[draft.known - 1], replace(by, text_id=cause))
        for leaves in self.facts_to_store():
            for fact in self._known.values() if _is_last_day(leaves) else ():
                if _is_left(fact, leaves):
                    self._doubt_fact(fact, leaves)
        for trigger in triggers:
            for fact in (known for known in self._known.values() if _hangs_on(known, trigger)):
                self._doubt_fact(fact, trigger, "ends" if _is_death(trigger) else "doubts")

    def _doubt_fact(self, fact: Fact, trigger: NewFact, verdict: Literal["ends", "doubts"] = "doubts") -> None:
        spoken_of = (
            fact.text_id in self._changes
            or fact.text_id in self._confirmed
            or any(new.slot == fact.slot and is_alone(new) for new in self.facts_to_store())
        )
        if fact.kept or fact.decided == "hand" or not fact.current or not fact.verified or spoken_of:
            self.ignored["doubt of what is settled"] += 1
        elif (
            (verdict == "ends" or not fact.doubtful_since)
            and not fact.is_over(trigger.start or trigger.said)
            and _was_known_before(fact, trigger, self._known.values())
        ):
            self._changes[fact.text_id] = Change(fact.text_id, verdict, _counts_from(trigger, fact), trigger.text_id)

    def _is_trigger(self, fact: NewFact) -> bool:
        stated = fact.stance == "stated" and fact.basis == "verified"
        if not stated or fact.slot.attribute not in _TRIGGERS or fact.text_id in self.replaced:
            return False
        gone = {name for name, by in self.replaced.items() if by == fact.text_id}
        gone |= {change.fact for change in self._changes.values() if change.by == fact.text_id}
        before = [self._known[name] for name in gone if name in self._known]
        # A known fact that is only less exact is no other matter.
        return _is_death(fact) or any(
            one.slot.attribute in _TRIGGERS and one.stance == "stated" and not _is_less_exact(one.value, fact.value)
            for one in before
        )


@dataclass(frozen=True, slots=True)
class _Value:
    """A known or new fact with what decides its order in its slot."""

    fact: Fact | NewFact
    learned: LearnedFact
    state: FactState


def _known_value(fact: Fact) -> _Value:
    by_hand = fact.decided == "hand"
    learned = LearnedFact(fact.number, fact.text_id, True, by_hand, fact.said, fact.start, fact.end)
    since = fact.since or fact.start or fact.said
    return _Value(fact, learned, FactState(
        since, fact.until, fact.replaced_by, fact.corrected, fact.doubtful_since, fact.kept, fact.decided, fact.seen,
        fact.verified,
    ))  # fmt: skip


def _new_value(fact: NewFact, number: int) -> _Value:
    """A fact that is not stored yet; if its words call it past, it ended when it was said."""
    learned = LearnedFact(number, fact.text_id, True, False, fact.said, fact.start, fact.end)
    state = state_of(learned, ())
    if not state.until and not _is_death(fact) and _PAST.search(fact.restatement):
        state = state_of(learned, [Event("ended", fact.said, "")])
    return _Value(fact, learned, state)


def _is_repeated(one: _Value, before: _Value) -> bool:
    """Whether neighbours in time say the same; after an end it is a new start."""
    new, new_before = isinstance(one.fact, NewFact), isinstance(before.fact, NewFact)
    if not (new or new_before) or bool(new and one.state.until) != bool(new_before and before.state.until):
        return False
    if not new_before and before.state.until and before.state.until < max(one.state.since, one.state.seen):
        return False
    if before.fact.start > before.fact.said and not _is_same_day(one.fact, before.fact):
        return False  # it was put off
    denied = [takes_back(fact.restatement) for fact in (one.fact, before.fact)]
    less = new and denied[0] == denied[1] and _is_less_exact(one.fact.value, before.fact.value)
    return less or _is_same_matter(one.fact, before.fact)


def _is_cancelled(plan: Fact, fact: NewFact) -> bool:
    """Whether a fact that tells of a cancellation names what a known plan of its subject, or of that plan, is about."""
    ahead = plan.stance in ("planned", "wished") or (plan.stance == "stated" and plan.start > plan.said)
    if not (ahead and plan.current and plan.verified) or plan.decided == "hand" or plan.said > fact.said:
        return False
    names = telling_terms(f"{plan.subject} {fact.subject}") - telling_terms(plan.attribute)
    wanted = telling_terms(plan.value or plan.restatement) - names
    words = telling_terms(f"{fact.restatement} {fact.value} {fact.attribute}")
    days_apart = fact.start and plan.start and not _is_same_day(fact, plan)
    return bool(wanted) and 2 * len(wanted & words) >= len(wanted) and not days_apart


def _is_said_with(one: NewFact, other: Fact | NewFact) -> bool:
    """Whether two values of a slot were said in one conversation, and nothing says which of them came first."""
    if abs(seconds_of(one.said) - seconds_of(other.said)) > _CONVERSATION or _is_same_matter(one, other):
        return False
    exact = _is_less_exact(one.value, other.value) or _is_less_exact(other.value, one.value)
    words = " ".join([one.restatement, *(quote.words for quote in one.quotes)])
    return not (exact or one.start or one.end or other.start or other.end or _CHANGES.search(words))


def _only_says_will(text: str) -> bool:
    """Whether a statement tells that somebody says that they will change something, and of no change."""
    found = _SAYS_WILL.search(text)
    at, end = found.span(found.lastgroup or 0) if found else (0, 0)
    return bool(found) and not any(one.search(f"{text[:at]} {text[end:]}") for one in (_CHANGES, _BEGINS))


def _is_deed(fact: NewFact, *, elsewhere: bool) -> bool:
    """Whether a fact tells only what somebody did, on a day or ``elsewhere``: no lasting state ends by that."""
    words = " ".join([fact.restatement, *(quote.words for quote in fact.quotes)])
    of_a_day = len(fact.start) >= len("2026-03-01") and fact.start[:10] <= fact.said[:10]
    does = fact.slot.attribute in _FIELDS and _DEEDS.search(fact.restatement) is not None
    turns = any(pattern.search(words) for pattern in (_CHANGES, _GOT, _BEGINS, _PAST))
    return (of_a_day or elsewhere) and does and not turns and not ends_or_denies(words)


def _with_day_ahead(fact: NewFact, listed: Iterable[NewFact]) -> NewFact:
    """What was got and begins later, from the day that another fact of its note gives: a job, its pay, a home."""
    got = fact.slot.attribute == "salary" or (fact.slot.attribute in _TRIGGERS and _GOT.search(fact.restatement))
    if fact.start or not got or not is_alone(fact):
        return fact
    own = telling_terms(fact.subject)
    about = telling_terms(fact.restatement) - own
    days = (
        one.start
        for one in listed
        if one.note == fact.note
        and one.slot.subject == fact.slot.subject
        and one.start > fact.said[: len(one.start)]
        and _BEGINS.search(one.restatement)
        and not about.isdisjoint(telling_terms(one.restatement) - own)
    )
    return replace(fact, start=min(days, default=""))


def _tells_of_end(fact: NewFact, value: Fact | NewFact | None = None) -> bool:
    """Whether a fact tells that something is over: this ``value`` of its slot, which it names, if there is one."""
    if fact.slot.attribute not in _FIELDS or not takes_back(fact.restatement):
        return False
    over = telling_terms(f"{value.restatement} {value.value}") if value else frozenset[str]()
    names = telling_terms(f"{fact.subject} {value.subject if value else ''}")
    new = telling_terms(fact.value) - over - names
    if any(new & telling_terms(part) and not takes_back(part) for part in _BUT.split(fact.restatement)):
        return False  # it also says what there is now: "no longer in Leeds but in York"
    return not (over & telling_terms(fact.restatement)) <= names if value else not is_denial(fact.restatement)


def _is_last_day(fact: NewFact) -> bool:
    """Whether a fact gives the day on which a job or a home ends."""
    return bool(fact.start and fact.basis == "verified" and _LAST_DAY.search(fact.restatement))


def _is_left(value: Fact, leaves: NewFact) -> bool:
    """Whether a current value is the job or the home, by name, of which a fact gives the last day."""
    if value.slot.subject != leaves.slot.subject or value.slot.attribute not in _FIELDS:
        return False
    named = telling_terms(f"{value.value} {value.restatement}") & telling_terms(leaves.restatement)
    return not named <= telling_terms(f"{leaves.subject} {_OF_ANY}")


def _renaming_by(new: NewFact, value: str) -> Renaming | None:
    """What a fact does to a name if it corrects a fact of this value."""
    return renaming_of(CorrectedValue(new.slot, value, new.value, new.restatement, new.said, 0))


def _is_ahead(fact: Fact | NewFact) -> bool:
    """Whether a fact begins after it was said."""
    return fact.start > fact.said[: len(fact.start)]


def _is_death(fact: Fact | NewFact) -> bool:
    return fact.slot.attribute == "death"


def _holds(fact: Fact) -> bool:
    """Whether a known fact is a value that holds now."""
    return fact.current and fact.verified and fact.stance == "stated"


def _reason_to_ignore(verdict: VerdictDraft, new: NewFact, known: Fact) -> str:
    if new.basis != "verified" or not known.verified:
        return "not verified"
    if known.decided == "hand" and verdict.verdict != "same":
        return "decided by hand"
    if _is_death(known) and verdict.verdict in ("changes", "ends"):
        return "a death"
    if known.corrected or (known.until and verdict.verdict != "corrects"):
        return "not current"
    promise_is_over = verdict.verdict == "ends" and known.slot.attribute in ("promise", "plan")
    if are_apart(new.slot, known.slot) and not (promise_is_over and known.slot.subject == COMPANION):
        return "of somebody else"
    if verdict.verdict == "same":
        return "" if _adds_nothing(new, known) else "not the same"
    if new.stance != "stated" and (known.stance == "stated" or new.stance != known.stance):
        return "not stated"
    return "said earlier" if new.said < known.said else ""


def _adds_nothing(new: NewFact, known: Fact) -> bool:
    """Whether a fact that is called the same says no number that is not known, and is as certain at the most."""
    known_numbers = find_numbers(f"{known.restatement} {known.value}")
    alike = known.stance in (new.stance, "stated") and takes_back(new.restatement) <= takes_back(known.restatement)
    one_value = (
        not (new.single and new.slot == known.slot)
        or _says_the_same(new, known)
        or _is_less_exact(new.value, known.value)
    )
    return alike and one_value and find_numbers(new.value) <= known_numbers and _is_same_day(new, known)


def _says_the_same(new: NewFact, other: Fact | NewFact) -> bool:
    """Whether two facts say the same of the same days, and are believed on the same ground."""
    alike = new.stance == other.stance and (new.basis == "verified") == (other.basis == "verified")
    return alike and _is_same_day(new, other) and _is_same_matter(new, other)


def _is_same_day(one: Fact | NewFact, other: Fact | NewFact) -> bool:
    """Whether two facts begin on the same day, as far as both say so."""
    return one.start.startswith(other.start[:10]) or other.start.startswith(one.start[:10])


def _hangs_on(fact: Fact, trigger: NewFact) -> bool:
    """Whether a known fact depends on what changed: by its attribute, or because it mentions someone who died."""
    if fact.text_id == trigger.text_id or fact.slot == trigger.slot or not fact.current:
        return False
    if fact.stance != "stated":
        names = map(normalize_text, (fact.subject, fact.value, *fact.persons))
        return _is_death(trigger) and fact.stance in ("planned", "wished") and trigger.slot.subject in names
    if fact.slot.subject == trigger.slot.subject:
        hangs = fact.slot.attribute in depends_on(trigger.slot)
    else:
        hangs = _is_death(trigger) and trigger.slot.subject == normalize_text(fact.value)
    # What only says that something ended stays true after any change.
    return hangs and not (ends_or_denies if fact.slot.attribute == "plan" else takes_back)(fact.restatement)


def _is_about_somebody_in(fact: Fact, new: NewFact) -> bool:
    """Whether a new fact is about somebody else whom a known one names."""
    named = normalize_text(new.slot.subject)
    return named not in ("", PERSON, COMPANION) and is_named_in(named, normalize_text(fact.restatement))


def _join_unique(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


# --- what is worth a comparison

#: A word in so many known facts, or a tenth of them, is not too common to connect two.
_RARE = 2
#: Words that are in what is said of anything, and connect nothing.
_OF_TALK = frozenset(
    """
    say said tell told ask want wish think thought feel felt keep kept come came went look call take took start stop
    like love see saw place one two first last new old time day week month year today hour minut back nobodi everi alway
    alreadi reason opinion favourit favorit part lot way bit thing
    觉得 感觉 喜欢 想要 希望 打算 开始 现在 今天 昨天 明天 今年 去年 时候 每天 一个 已经 还是 整个 说过 答应
    原因 看法 感受
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: Of a slot that holds more values than this, only the nearest are sure to be compared.
_SMALL_SLOT = 12
#: What a known fact scores in the same slot, in a related one, in a dependent one, and with the same subject.
_SAME_SLOT, _AKIN_SLOT, _DEPENDENT, _SAME_SUBJECT = 100.0, 30.0, 20.0, 1.5
#: What the nearest known fact of a new one scores more, and the next ones a half, a third of it.
_NEAREST = 10.0


def find_near(new: Sequence[NewFact], known: Sequence[Fact], most: int = MOST_COMPARED) -> tuple[Fact, ...]:
    """The known facts worth comparing with the new ones, nearest first; if there are none, no call is needed.

    Those of related slots are all there (``_related_slots``); the others fill up to ``most``.
    """
    new = [fact for fact in new if fact.basis == "verified"]
    texts = [(fact, _text_of(fact)) for fact in known if fact.current and fact.verified]
    slots = _by_slot(fact for fact, _ in texts)
    # The names of person and companion are too common to connect facts.
    facts: list[Fact | NewFact] = [*new, *(fact for fact, _ in texts)]
    own = telling_terms(" ".join({one.subject for one in facts if one.slot.subject in (PERSON, COMPANION)}))
    everything = "\n".join(text for _, text in texts)
    ends = list(accumulate(len(text) + 1 for _, text in texts))
    common = min(_SMALL_SLOT, max(_RARE, len(texts) // 10))
    holding: dict[str, list[Fact]] = {}
    scores: dict[str, float] = defaultdict(float)
    for one in new:
        changed = _changed_by(one, slots)
        text = f"{_text_of(one)} {changed}"
        telling = telling_terms_of_value(text) - own - _OF_TALK
        # A fixed order makes the sums of scores, and so the prompt, reproducible.
        roots = dict.fromkeys([_root_of(term) for term in terms(text) if term in telling])
        for root in roots.keys() - holding.keys():
            having, at = list[Fact](), everything.find(root)
            while at >= 0 and len(having) <= _SMALL_SLOT:  # no more than are needed to show that the word is common
                place = bisect(ends, at)
                having.append(texts[place][0])
                at = everything.find(root, ends[place])
            holding[root] = having
        shared = [holding[root] for root in roots if 0 < len(holding[root]) <= common]
        nearest = _score_known(one, slots, shared, len(texts))
        for root in map(_root_of, terms(changed)) if one.slot.attribute in _TRIGGERS else ():
            for fact in holding.get(root, ()) if len(holding.get(root, ())) <= _SMALL_SLOT else ():
                nearest[fact.text_id] = max(nearest[fact.text_id], _DEPENDENT)
        # The nearest of each new fact come before those that are near to many.
        for place, name in enumerate(sorted(nearest, key=nearest.__getitem__, reverse=True)):
            scores[name] = max(scores[name], nearest[name] + _NEAREST / (1 + place))
    wanted = _related_slots(new, slots)
    for slot in wanted:
        for fact in slots[slot]:
            scores[fact.text_id] = max(scores[fact.text_id], _AKIN_SLOT)
    found = (fact for fact, _ in texts if scores[fact.text_id])
    kept = sorted(found, key=lambda fact: (-scores[fact.text_id], -fact.number))
    left = most - sum(fact.slot in wanted for fact in kept)
    others = [fact.text_id for fact in kept if fact.slot not in wanted][: max(0, left)]
    return tuple(fact for fact in kept if fact.slot in wanted or fact.text_id in others)


def _changed_by(new: NewFact, slots: Mapping[Slot, Sequence[Fact]]) -> str:
    """What a new fact may change, in words: who died, the values of its slot so far."""
    if _is_death(new):
        return normalize_text(new.subject)
    return normalize_text(" ".join(fact.value for fact in slots.get(new.slot, ()) if new.single))


def _related_slots(new: Iterable[NewFact], slots: Mapping[Slot, Sequence[Fact]]) -> set[Slot]:
    """The small slots that are those of new facts, depend on them, or share a word of their names."""
    attributes: dict[str, set[str]] = defaultdict(set)
    words: dict[str, set[str]] = defaultdict(set)
    for slot in {fact.slot for fact in new}:
        attributes[slot.subject] |= {slot.attribute, *depends_on(slot)}
        words[slot.subject] |= _words_of(slot.attribute)
    return {
        slot
        for slot, facts in slots.items()
        if len(facts) <= _SMALL_SLOT
        and slot.subject in attributes
        and (
            slot.attribute in attributes[slot.subject] or not words[slot.subject].isdisjoint(_words_of(slot.attribute))
        )
    }


def _words_of(attribute: str) -> frozenset[str]:
    """The words of an attribute that name a matter: of "feeling about the speech" the last."""
    return telling_terms(attribute) - _OF_TALK


def _text_of(fact: Fact | NewFact) -> str:
    return normalize_text(" ".join((fact.restatement, fact.value, *fact.keywords, *fact.persons, *fact.entities)))


def _root_of(term: str) -> str:
    """The letters common to all forms of a word."""
    return term[:-1] if len(term) > 3 and term.endswith("i") else term


def _by_slot(facts: Iterable[Fact]) -> Mapping[Slot, list[Fact]]:
    found: dict[Slot, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact.slot].append(fact)
    return found


def _score_known(
    new: NewFact, slots: Mapping[Slot, Sequence[Fact]], rare: Iterable[Sequence[Fact]], known: int
) -> defaultdict[str, float]:
    """The scores of known facts for a new one, by id: from slot, dependent slots and shared words."""
    scores: defaultdict[str, float] = defaultdict(float)
    for found in rare:
        weight = log(1 + known / len(found))
        for fact in found:
            scores[fact.text_id] += weight * (_SAME_SUBJECT if fact.slot.subject == new.slot.subject else 1.0)
    for fact in slots.get(new.slot, ()):
        scores[fact.text_id] += _SAME_SLOT
    for attribute in depends_on(new.slot):
        for fact in slots.get(Slot(new.slot.subject, attribute), ()):
            scores[fact.text_id] += _DEPENDENT
    return scores


def _counts_from(new: NewFact, known: Fact | NewFact) -> str:
    """When a change takes effect: when the new fact starts or ended, but not before the known one started."""
    begins = _over_since(new) or new.start or new.said
    # A plan, or what was awaited until a day, is over once it is known what comes of it.
    awaited = known.slot != new.slot and known.end > known.said[: len(known.end)]
    is_news = (known.stance == "planned" or known.slot.attribute in EVENTS or awaited) and new.said < begins
    since = known.since if isinstance(known, Fact) else known.start or known.said
    return new.said if is_news or begins < since else begins


def _over_since(new: NewFact) -> str:
    """When a new fact ended if it was already past when said, else ""."""
    return _new_value(new, 0).state.until


def _was_known_before(fact: Fact, change: NewFact, known: Iterable[Fact]) -> bool:
    """Whether a known fact describes the time before a change, so that it may no longer hold.

    Facts said on the day of the change, about the time after it, or with the plan for it describe the time after.
    """
    begins, last = change.start or change.said, max(fact.said, fact.seen)
    of_after = bool(fact.start) and fact.start >= begins[: len(fact.start)]
    of_its_day = begins[:10] <= last[:10] == change.said[:10]
    ahead = ("planned", "wished")
    plans = (
        one
        for one in known
        if one.slot == change.slot and (one.stance in ahead or (one.stance == "stated" and one.start > one.said))
    )
    with_plan = any((fact.note and one.note == fact.note) or {*one.messages} & {*fact.messages} for one in plans)
    return not (of_after or of_its_day or with_plan) and last < max(begins, change.said)


# --- equal values


def same_value(one: str, other: str) -> bool:
    """Whether two values are equal: the same letters, or the same words and numbers in any notation.

    >>> same_value("£38,500", "38500 pounds"), same_value("三万一", "31000元"), same_value("York", "Leeds")
    (True, True, False)
    """
    value, beside = _value_of(one), _value_of(other)
    if value.bare == beside.bare:
        return True
    words, others = value.words, beside.words
    if value.numbers or beside.numbers:
        return bool(value.numbers & beside.numbers) and (words <= others or others <= words)
    return bool(words) and words == others


def _is_less_exact(one: str, other: str) -> bool:
    """Whether a value is less exact than another: "York" and "Fishergate, York"."""
    value, beside = _value_of(one), _value_of(other)
    return bool(value.words) and value.words < beside.words and value.numbers <= beside.numbers


def _is_same_matter(one: Fact | NewFact, other: Fact | NewFact) -> bool:
    """Whether two facts of a slot say the same and neither denies the other."""
    if one.value or other.value:
        equal = same_value(one.value, other.value) and _has_same_object(one, other)
    else:
        equal = _letters_of(one.restatement) == _letters_of(other.restatement)
    return equal and takes_back(one.restatement) == takes_back(other.restatement)


#: Words that leave to the rest of the statement what a value is about.
_POINTS = pattern_of(r"\b(?:it|this|that|these|those|them|him|her)\b|[它这那]", re.IGNORECASE)


def _has_same_object(one: Fact | NewFact, other: Fact | NewFact) -> bool:
    """Whether facts of equal values are about one thing, where the values do not say what: "I'll keep it"."""
    if one.slot.attribute != "promise" and not _POINTS.search(f"{one.value} {other.value}"):
        return True
    beside = telling_terms(f"{one.value} {other.value} {one.attribute} {other.attribute}")
    objects = sorted((telling_terms(fact.restatement) - beside for fact in (one, other)), key=len)
    return objects[0] <= objects[1]


#: How many parsed values are cached; each is compared with several others.
_MOST_CACHED = 512


@dataclass(frozen=True, slots=True)
class _ReadValue:
    """A parsed value: its letters, its numbers, and its terms without number words."""

    bare: str
    numbers: frozenset[str]
    words: frozenset[str]


@lru_cache(_MOST_CACHED)
def _value_of(text: str) -> _ReadValue:
    found = find_numbers(text)
    numbers = frozenset(number for number in found if len(number) > 1) or found
    words = frozenset(filterfalse(is_number, telling_terms(text))) - _UNIT
    return _ReadValue(_letters_of(text), numbers, words)


def _letters_of(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


_UNIT = frozenset(
    """
    pound dollar euro yuan 元 块 块钱 gbp usd rmb cny eur a day month year per 每月 每年 一个月
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
