"""The values of one slot in time: which is current, and until when each of the others held.

A slot that holds one value at a time has at most one that is stated and current. The one that was told last is,
whatever came in whichever order; what a person put right stands above all. A value holds until the next begins.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from domain.facts import Change, Fact, NewFact
from domain.text import pattern_of
from facts.cues import takes_back
from facts.evidence import telling
from facts.numbers import mentioned

_PAST = pattern_of(r"\bused to\b|\bformer(?:ly)?\b|\bpreviously\b|以前|曾经?|从前|原先", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact in the time of its slot: since when it holds, and when it was told last. ``known``: it is stored."""

    name: str
    value: str
    restatement: str
    since: str
    told: str
    until: str
    replaced_by: str
    by_hand: bool
    known: Fact | None
    new: NewFact | None

    @property
    def current(self) -> bool:
        """Whether it could hold now."""
        return not self.until

    @property
    def was_past(self) -> bool:
        """Whether it was over when it was told; it says nothing about what came when then."""
        return bool(self.until) and (self.new is not None or self.until <= self.told)


def entry_of_known(fact: Fact) -> Entry:
    """A stored fact."""
    since = fact.since or fact.start or fact.said
    told = max(since, fact.seen, fact.said)
    return Entry(
        fact.text_id, fact.value, fact.restatement, since, told, fact.until, fact.replaced_by,
        fact.decided == "hand", fact, None,
    )  # fmt: skip


def entry_of_new(fact: NewFact) -> Entry:
    """A fact that is not stored yet; what had ended when it was told is past from the beginning."""
    since = fact.start or fact.said
    over = bool(fact.end) and fact.said[: len(fact.end)] > fact.end
    until = fact.end if over else fact.said if _PAST.search(fact.restatement) else ""
    return Entry(
        fact.text_id, fact.value, fact.restatement, since, max(since, fact.said), until, "", False, None, fact
    )  # fmt: skip


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """By when they were told last; what a person put right comes last, what arrives comes after what is known."""
    return sorted(entries, key=lambda each: (each.by_hand and each.current, each.told, each.new is not None))


def settled(entries: Sequence[Entry]) -> list[Change]:
    """What must become of the entries of one slot, so that the last one alone is current."""
    found = [Change(each.name, "ends", each.until, "") for each in entries if each.new and each.until]
    ordered = in_order(each for each in entries if not each.was_past)
    ends = [
        each for each in ordered if each.until and each.known and not _is_among(each.replaced_by, ordered)
    ]
    for at, each in enumerate(ordered):
        following = ordered[at + 1] if at + 1 < len(ordered) else None
        if change := _change(each, following, ends):
            found.append(change)
    return found


def _change(each: Entry, following: Entry | None, ends: Sequence[Entry]) -> Change | None:
    """What becomes of one entry, given the one after it and when the slot was known to be empty."""
    if each.by_hand:
        return None
    ended = next((other for other in ends if each.new and other.told <= each.told < other.until), None)
    if ended and not (following and following.since <= ended.until):
        return Change(each.name, "ends", ended.until, "")
    if following is None:
        return None
    when = following.since if following.since >= each.since else max(following.told, each.since)
    if each.current or (each.replaced_by and following.new and each.until > when):
        return Change(each.name, "changes", when, following.name)
    return None


def counts_from(new: NewFact, known: Fact) -> str:
    """From when a change counts: when the new fact begins, or was over, but not before the known one began."""
    begins = over_since(new) or new.start or new.said
    return begins if begins >= known.since else new.said


def over_since(new: NewFact) -> str:
    """Until when a new fact held that was over when it was told; "" where it holds."""
    return entry_of_new(new).until


def is_of_before(fact: Fact, change: NewFact, known: Iterable[Fact]) -> bool:
    """Whether a known fact was learned before a change, so that it may not have outlived it.

    What was said of the time from the change on, on the day of the change, or together with the plan of it tells how
    things are to be after it.
    """
    begins, last = change.start or change.said, max(fact.said, fact.seen)
    of_after = bool(fact.start) and fact.start >= begins[: len(fact.start)]
    of_its_day = begins[:10] <= last[:10] == change.said[:10]
    plans = (one for one in known if one.slot == change.slot and _is_ahead(one))
    with_plan = any((fact.note and one.note == fact.note) or {*one.turns} & {*fact.turns} for one in plans)
    return not (of_after or of_its_day or with_plan) and last < max(begins, change.said)


def _is_ahead(fact: Fact) -> bool:
    """Whether something was still to come when it was told."""
    return fact.stance in ("planned", "wished") or (fact.stance == "stated" and fact.start > fact.said)


def _is_among(name: str, entries: Sequence[Entry]) -> bool:
    return bool(name) and any(each.name == name for each in entries)


# --- equal values


def same_value(one: str, other: str) -> bool:
    """Whether two values are one: equal letters, or equal words and numbers however they are written.

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


def is_less_exact(one: str, other: str) -> bool:
    """Whether a value says no more than another: "York" beside "Fishergate, York"."""
    value, beside = _value_of(one), _value_of(other)
    return bool(value.words) and value.words < beside.words and value.numbers <= beside.numbers


class ToldValue(Protocol):
    """A value and the statement that tells it: a fact, known or new, or its entry."""

    @property
    def value(self) -> str:
        """The value."""

    @property
    def restatement(self) -> str:
        """The statement."""


def same_matter(one: ToldValue, other: ToldValue) -> bool:
    """Whether two statements of a slot say the same, and neither takes back what the other says."""
    equal = (
        same_value(one.value, other.value)
        if one.value or other.value
        else _bare(one.restatement) == _bare(other.restatement)
    )
    return equal and takes_back(one.restatement) == takes_back(other.restatement)


_MARKS = pattern_of(r"[\W_]+")
#: So many values are read once: each is compared with several others.
_VALUES_HELD = 512


@dataclass(frozen=True, slots=True)
class _Value:
    """What a value says: its letters alone, its numbers, and its terms without those that only write a number."""

    bare: str
    numbers: frozenset[str]
    words: frozenset[str]


@lru_cache(_VALUES_HELD)
def _value_of(text: str) -> _Value:
    return _Value(_bare(text), _numbers(text), _words(text))


def _bare(text: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _numbers(text: str) -> frozenset[str]:
    found = mentioned(text)
    return frozenset(number for number in found if len(number) > 1) or found


_UNIT = frozenset(
    """
    pound dollar euro yuan 元 块 块钱 gbp usd rmb cny eur a day month year per 每月 每年 一个月
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in telling(text) if not mentioned(term)) - _UNIT
