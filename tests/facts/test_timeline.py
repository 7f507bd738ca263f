"""Of the values of one slot the one that was told last holds, whatever order they come in."""

from __future__ import annotations

from itertools import permutations

import pytest

from domain.facts import Change, Fact, NewFact, Slot
from facts.timeline import Entry, entry_of_known, entry_of_new, in_order, settled

HOME = Slot("person", "home")
NOON = "2026-03-01T12:00:00+00:00"


def known(name: str, said: str = NOON, decided: str = "model") -> Entry:
    fact = Fact(
        1, name, "note", "s", f"Ann lives in {name}.", "Ann", "home", name, HOME, True, "person", "stated", said, said,
        ("t",), since=said, decided=decided,  # type: ignore[arg-type]
    )  # fmt: skip
    return entry_of_known(fact)


def new(name: str, said: str = NOON) -> Entry:
    restatement = f"Ann lives in {name}."
    return entry_of_new(
        NewFact(name, "note", restatement, "Ann", "home", name, HOME, True, "person", "stated", said, ("t",))
    )


@pytest.mark.parametrize(
    ("entries", "order"),
    [
        ((known("Lyon"), new("Oslo")), ["Lyon", "Oslo"]),
        ((known("Lyon", "2026-03-02T12:00:00+00:00"), new("Oslo")), ["Oslo", "Lyon"]),
        ((known("Lyon", decided="hand"), new("Oslo")), ["Oslo", "Lyon"]),
        ((known("Lyon", decided="hand"), new("Oslo", "2026-03-02T12:00:00+00:00")), ["Oslo", "Lyon"]),
    ],
    ids=["of two told at once what arrives", "the later", "what a person put right", "also what is older"],
)
def test_the_value_that_wins_stands_last_in_whatever_order_they_come(
    entries: tuple[Entry, ...], order: list[str]
) -> None:
    for given in permutations(entries):
        assert [one.name for one in in_order(given)] == order


def test_of_two_values_that_were_told_at_the_same_time_the_one_that_arrives_takes_the_others_place() -> None:
    for given in permutations((known("Lyon"), new("Oslo"))):
        assert settled(given) == [Change("Lyon", "changes", NOON, "Oslo")]
