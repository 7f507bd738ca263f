"""The state of a fact: the pure functions that alone decide which fact is current.

    how it was learned + its events, in order -> a state of its own -> settled with the other facts of its slot

A state depends only on the existing facts and events, so deleting some leaves the states as if they had never existed.
Only a verified fact counts in its slot.
A single-valued slot has at most one current value: the one said or confirmed last, in whatever order they arrived. A
correction by hand wins over everything else. A value holds until the next one starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import zip_longest
from math import inf
from typing import Literal

from domain.facts import Decided, Fact, NewFact

#: Events after a fact was learned. The last three are actions of a person.
EventKind = Literal[
    "confirmed", "verified", "changed", "ended", "corrected", "renamed", "doubted", "put_right", "kept", "let_go"
]  # fmt: skip
#: The event of each verdict of a comparison.
EVENT_OF_VERDICT: Mapping[str, EventKind] = {
    "same": "confirmed",
    "changes": "changed",
    "ends": "ended",
    "corrects": "corrected",
    "doubts": "doubted",
    "verifies": "verified",
    "renames": "renamed",
}


@dataclass(frozen=True, slots=True)
class LearnedFact:
    """A fact as it was learned. ``alone``: only one such fact of its slot is current, once it is verified."""

    number: int
    text_id: str
    alone: bool
    by_hand: bool
    said: str
    start: str
    end: str
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a fact; ``by`` is the fact that caused it, or ""."""

    kind: EventKind
    moment: str
    by: str


@dataclass(frozen=True, slots=True)
class FactState:
    """The state of a fact; for the fields see ``domain.facts.Fact``."""

    since: str
    until: str
    replaced_by: str
    corrected: bool
    doubtful_since: str
    kept: bool
    decided: Decided
    seen: str
    verified: bool = True

    @property
    def current(self) -> bool:
        """Whether it holds now."""
        return not self.until and not self.corrected

    @property
    def wrong(self) -> bool:
        """Whether a person said that it was never true."""
        return self.corrected and self.decided == "hand"


def is_alone(fact: Fact | NewFact) -> bool:
    """Whether only one such fact of its slot is current."""
    return fact.single and fact.stance == "stated" and fact.basis == "verified"


def state_of(learned: LearnedFact, events: Iterable[Event]) -> FactState:
    """The state of a fact, without regard to its slot."""
    # What happened on one day is no state that ended with it.
    happened = len(learned.end) == len("2026-03-01") and learned.start == learned.end
    was_over = bool(learned.end) and not happened and learned.said[: len(learned.end)] > learned.end
    state = FactState(
        since=learned.start or learned.said,
        until=learned.end if learned.alone and was_over else "",
        replaced_by="",
        corrected=False,
        doubtful_since="",
        kept=False,
        decided="hand" if learned.by_hand else "model",
        seen=learned.said,
        verified=learned.verified or learned.by_hand,
    )
    for event in events:
        state = apply_event(state, event)
    return state


def apply_event(state: FactState, event: Event) -> FactState:
    """A state after one more event."""
    match event.kind:
        case "confirmed":
            return replace(state, seen=max(state.seen, event.moment), doubtful_since="")
        case "verified":
            return replace(state, verified=True)
        case "changed" | "ended":
            if state.until and state.until <= event.moment:
                return state
            return replace(state, until=event.moment, replaced_by=event.by, doubtful_since="")
        case "corrected":
            return replace(state, corrected=True, replaced_by=event.by, doubtful_since="")
        case "renamed":
            return state
        case "doubted":
            since = state.doubtful_since or event.moment
            return replace(state, doubtful_since=since) if state.current else state
        case "put_right":
            return replace(state, corrected=True, replaced_by=event.by, doubtful_since="", decided="hand")
        case "kept":
            return replace(state, kept=True, doubtful_since="")
        case "let_go":
            return replace(state, kept=False)


def settle_slot(learned: Sequence[LearnedFact], states: Mapping[int, FactState]) -> dict[int, FactState]:
    """The states of all facts of one slot, by number, such that each value holds until the next one starts.

    A fact that ended with nothing in its place keeps its end, which also ends what was last said in between.
    The date that a verdict gave counts while nothing else came in between.
    """
    counted = [one for one in learned if one.alone and states[one.number].verified]
    ordered = in_order([one for one in counted if not states[one.number].corrected], states)
    line = [one for one in ordered if _is_on_time_line(one, ordered, states)]
    ended = [one.number for one in line if not states[one.number].current and not _gave_way(one, ordered, states)]
    result = dict(states)
    for one, following in zip_longest(line, line[1:]):
        if one.number in ended:
            continue
        state, after = states[one.number], states[following.number] if following else None
        begins = _as_instant(after.since) if after else inf
        empty = (states[number] for number in ended)
        empty_since = next(
            (end.until for end in empty if _is_within(state, end) and _as_instant(end.until) < begins), ""
        )
        if empty_since and not one.by_hand:
            result[one.number] = replace(state, until=empty_since, replaced_by="", doubtful_since="")
        elif following and after and state.replaced_by != following.text_id:
            follows = begins >= _as_instant(state.since)
            until = after.since if follows else max(_last_said(after), state.since, key=_as_instant)
            result[one.number] = replace(state, until=until, replaced_by=following.text_id, doubtful_since="")
    return result


def in_order(learned: Iterable[LearnedFact], states: Mapping[int, FactState]) -> list[LearnedFact]:
    """The facts of a slot by when they were last said; what a person corrected comes last, in the order of storing."""

    def rank(one: LearnedFact) -> tuple[bool, float, int]:
        state = states[one.number]
        by_hand = one.by_hand and state.current
        return by_hand, 0.0 if by_hand else _as_instant(_last_said(state)), one.number

    return sorted(learned, key=rank)


def _is_on_time_line(one: LearnedFact, ordered: Sequence[LearnedFact], states: Mapping[int, FactState]) -> bool:
    """Whether a fact says what came when; one that was over when it was said does not, and by hand only the current."""
    state = states[one.number]
    if state.current or one.by_hand:
        return state.current
    return _gave_way(one, ordered, states) or not _was_over(state)


def _gave_way(one: LearnedFact, ordered: Sequence[LearnedFact], states: Mapping[int, FactState]) -> bool:
    """Whether a fact ended because a later one of its slot took its place, which itself was not over when said."""
    state = states[one.number]
    if not state.until or not state.replaced_by:
        return False
    later = ordered[ordered.index(one) + 1 :]
    successor = next((other for other in later if other.text_id == state.replaced_by), None)
    return successor is not None and (not _was_over(states[successor.number]) or _gave_way(successor, ordered, states))


def _was_over(state: FactState) -> bool:
    return bool(state.until) and _as_instant(state.until) <= _as_instant(_last_said(state))


def _is_within(state: FactState, ended: FactState) -> bool:
    """Whether something was last said between when an ended fact was last said and its end."""
    return _as_instant(_last_said(ended)) <= _as_instant(_last_said(state)) < _as_instant(ended.until)


def _last_said(state: FactState) -> str:
    return max(state.since, state.seen, key=_as_instant)


@lru_cache(1024)
def _as_instant(moment: str) -> float:
    """A time or a day, month or year as a number; what cannot be read is older than everything."""
    try:
        read = datetime.fromisoformat(moment + "-01-01"[len(moment) - 10 :] if len(moment) < 10 else moment)
    except ValueError:
        return -inf
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
