"""What a fact is now, from what was said and what happened to it since: pure rules, no database.

    how it was learned + its events, in order -> a state -> settled with what else stands in its slot

Promises: a state follows from the facts and events that are there and from nothing else, so that whatever is taken back
leaves the state as if it had never been; at most one value is current in a slot that holds one at a time, whatever came
in whichever order, and what a person put right stands above what was said; a name that was corrected is right in
whatever else was said of that one before, and wrong again when the correction is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from domain.facts import Change, Decided, Fact, Slot
from domain.languages import is_name, is_unspaced
from domain.text import pattern_of

#: What can happen to a fact after it was learned. The last three are done by a person.
Happened = Literal[
    "confirmed", "changed", "ended", "corrected", "doubted", "put_right", "kept", "let_go"
]  # fmt: skip
#: What a verdict of the comparison does to a known fact.
EVENT_OF: Mapping[str, Happened] = {
    "same": "confirmed",
    "changes": "changed",
    "ends": "ended",
    "corrects": "corrected",
    "doubts": "doubted",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as it was learned. ``alone``: of such facts one at a time is current in a slot."""

    number: int
    text_id: str
    slot: tuple[str, str]
    alone: bool
    by_hand: bool
    said: str
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a fact; ``by`` is the fact that did it, or ""."""

    what: Happened
    moment: str
    by: str


@dataclass(frozen=True, slots=True)
class FactState:
    """What follows for a fact; the fields mean what they mean in ``domain.facts.Fact``."""

    since: str
    until: str
    replaced_by: str
    corrected: bool
    doubtful_since: str
    kept: bool
    decided: Decided
    seen: str

    @property
    def current(self) -> bool:
        """Whether it holds now."""
        return not self.until and not self.corrected

    @property
    def wrong(self) -> bool:
        """Whether a person said that it never was."""
        return self.corrected and self.decided == "hand"


def event_of(change: Change) -> Event:
    """What a change that a model found does."""
    return Event(EVENT_OF[change.verdict], change.when, change.by)


def state_of(told: Told, events: Iterable[Event]) -> FactState:
    """The state of a fact by itself."""
    state = FactState(
        since=told.start or told.said,
        until=told.end if told.alone and _past(told) else "",
        replaced_by="",
        corrected=False,
        doubtful_since="",
        kept=False,
        decided="hand" if told.by_hand else "model",
        seen=told.said,
    )
    for event in events:
        state = _after(state, event)
    return state


def settled(told: Sequence[Told], states: Mapping[int, FactState]) -> dict[int, FactState]:
    """The states of all facts of one slot: of those that could be current the last one stays, the others are past.

    What a person put right stands above everything that was ever said; else the later said counts. A value holds until
    the next one begins.
    """
    rivals = sorted((one for one in told if one.alone and states[one.number].current), key=_rank)
    result = dict(states)
    for one, following in pairwise(rivals):
        state, begins = states[one.number], states[following.number].since
        result[one.number] = replace(
            state, until=max(begins, state.since), replaced_by=following.text_id, doubtful_since=""
        )
    return result


def _past(told: Told) -> bool:
    """Whether what is told had ended when it was said."""
    return bool(told.end) and told.said[: len(told.end)] > told.end


def _rank(told: Told) -> tuple[bool, float, int]:
    """By whom, when it was said, and which was stored later; of what a person decided only the last of these counts."""
    return told.by_hand, 0.0 if told.by_hand else _instant(told.said), told.number


def _instant(said: str) -> float:
    """A time as a number; what cannot be read is older than everything."""
    try:
        return datetime.fromisoformat(said).timestamp()
    except ValueError:
        return float("-inf")


def _after(state: FactState, event: Event) -> FactState:
    match event.what:
        case "confirmed":
            return replace(state, seen=max(state.seen, event.moment), doubtful_since="")
        case "changed" | "ended":
            if state.until and state.until <= event.moment:
                return state
            return replace(state, until=event.moment, replaced_by=event.by, doubtful_since="")
        case "corrected":
            return replace(state, corrected=True, replaced_by=event.by, doubtful_since="")
        case "doubted":
            since = state.doubtful_since or event.moment
            return replace(state, doubtful_since=since) if state.current else state
        case "put_right":
            return replace(state, corrected=True, replaced_by=event.by, doubtful_since="", decided="hand")
        case "kept":
            return replace(state, kept=True, doubtful_since="")
        case "let_go":
            return replace(state, kept=False)


# -- names that were wrong

#: The attributes whose value is what somebody, or an animal, is called.
_CALLED = frozenset(
    """
    name,nickname,partner,child,pet,sibling,parent,friend,colleague,neighbour,boss,doctor,living with
    """.strip().split(",")
)
#: What tells that a name was only written or heard wrong.
_MISNAMED = pattern_of(
    r"\b(?:called|names?|named|spel(?:t|led|ling)|autocorrect\w*|misheard|typo)\b|[叫名字]|打错|写错|听错",
    re.IGNORECASE,
)
_BEHIND_NAME = pattern_of(r"\s*[,，;；(（].*")
#: Two spellings that are so much alike are of one name.
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class Corrected:
    """A value that never was, and the one that a later statement ``told`` in its place; ``by`` is that one's number."""

    slot: Slot
    wrong: str
    right: str
    told: str
    said: str
    by: int


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that was wrong in all that was said until then, and the right one."""

    wrong: str
    right: str
    said: str
    by: int


def renaming_of(corrected: Corrected) -> Renaming | None:
    """What a correction does to a name wherever else it stands; None where it says more than that a name was wrong.

    "My boss is Tom, not Gareth" is about two people, "she is called Annika, not Annette" about one.
    """
    wrong, right = (_BEHIND_NAME.sub("", value).strip() for value in (corrected.wrong, corrected.right))
    if not (is_name(wrong) and is_name(right)) or wrong == right:
        return None
    alike = _alike(wrong.casefold(), right.casefold())
    misnamed = _MISNAMED.search(corrected.told) is not None and (alike or _stands(wrong, corrected.told))
    if misnamed or (alike and corrected.slot.attribute in _CALLED):
        return Renaming(wrong, right, corrected.said, corrected.by)
    return None


def is_of_another(corrected: Corrected, slot: Slot, value: str) -> bool:
    """Whether a fact of this slot and value calls somebody else by the name that was wrong."""
    return (
        slot != corrected.slot
        and slot.attribute in _CALLED - {"name", "nickname"}
        and value == corrected.wrong
    )


def renamed(fact: Fact, names: Sequence[Renaming]) -> Fact:
    """A fact under the names that turned out to be right after it was said."""
    if fact.corrected:
        return fact
    later = [one for one in names if one.by != fact.number and fact.said <= one.said]
    text = under_right_names(fact.restatement, later)
    slot = Slot(_folded(fact.slot.subject, later), fact.slot.attribute)
    if text == fact.restatement and slot == fact.slot:
        return fact
    return replace(
        fact,
        restatement=text,
        subject=under_right_names(fact.subject, later),
        value=under_right_names(fact.value, later),
        slot=slot,
        keywords=tuple(under_right_names(one, later) for one in fact.keywords),
        persons=tuple(under_right_names(one, later) for one in fact.persons),
        entities=tuple(under_right_names(one, later) for one in fact.entities),
        first_told=fact.restatement,
    )


def under_right_names(text: str, names: Iterable[Renaming]) -> str:
    """A text with the right names in the place of wrong ones; one that holds the right one already stays."""
    for one in names:
        if not _stands(one.right, text):
            text = _whole(one.wrong).sub(lambda _, right=one.right: right, text)  # type: ignore[misc]
    return text


def slots_under_all_names(slots: Iterable[Slot], names: Sequence[Renaming]) -> list[Slot]:
    """These slots, with those that are stored under a name that was wrong."""
    found = dict.fromkeys(slots)
    for one in names:
        wrong, right = one.wrong.casefold(), one.right.casefold()
        found |= dict.fromkeys(Slot(wrong, slot.attribute) for slot in [*found] if slot.subject == right)
    return [*found]


def _folded(subject: str, names: Iterable[Renaming]) -> str:
    plain = (replace(one, wrong=one.wrong.casefold(), right=one.right.casefold()) for one in names)
    return under_right_names(subject, plain)


def _alike(one: str, other: str) -> bool:
    if any(map(is_unspaced, one + other)):
        return len(one) == len(other) and any(a == b for a, b in zip(one, other, strict=True))
    return one[:3] == other[:3] or SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _stands(name: str, text: str) -> bool:
    return name in text and _whole(name).search(text) is not None


def _whole(name: str) -> re.Pattern[str]:
    """A name as a word of its own; where words do not stand apart, wherever it stands."""
    if any(map(is_unspaced, name)):
        return re.compile(re.escape(name))
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
