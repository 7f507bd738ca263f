"""What a fact is now, from what was said and what happened to it since: pure rules, no database.

    how it was learned + its events, in order -> a state -> settled with what else stands in its slot

Promises: a state follows from the facts and events that are there and from nothing else, so that whatever is taken back
leaves the state as if it had never been; at most one value is current in a slot that holds one at a time, whatever came
in whichever order, and what a person put right stands above what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Literal

from domain.facts import Change, Decided

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
