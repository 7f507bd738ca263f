"""Of the values of one slot the one that was said last is current, in whatever order they arrive or are removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.fact_states import Event, FactState, LearnedFact, in_order, settle_slot, state_of

NOON = "2026-03-01T12:00:00+00:00"
LATER = "2026-03-02T12:00:00+00:00"


@dataclass
class Life:
    """Facts of one slot, with what happened to each."""

    learned: list[LearnedFact] = field(default_factory=list)
    events: list[tuple[int, Event]] = field(default_factory=list)

    def states(self) -> dict[int, FactState]:
        """The states of all facts, from scratch."""
        own = {
            one.number: state_of(one, [event for number, event in self.events if number == one.number])
            for one in self.learned
        }
        return settle_slot(self.learned, own)

    def without(self, name: str) -> Life:
        """As if a fact had never been learned: what it did to others never happened."""
        gone = {one.number for one in self.learned if one.text_id == name}
        kept = [(number, event) for number, event in self.events if number not in gone and event.by != name]
        return Life([one for one in self.learned if one.text_id != name], kept)

    def current(self) -> list[str]:
        """The facts that hold now."""
        states = self.states()
        return [one.text_id for one in self.learned if states[one.number].current]


def learned(number: int, name: str, said: str = NOON, *, by_hand: bool = False) -> LearnedFact:
    return LearnedFact(number, name, True, by_hand, said, "", "")


@pytest.mark.parametrize(
    ("facts", "order"),
    [
        ((learned(1, "Lyon"), learned(2, "Oslo")), ["Lyon", "Oslo"]),
        ((learned(1, "Lyon", LATER), learned(2, "Oslo")), ["Oslo", "Lyon"]),
        ((learned(1, "Lyon", by_hand=True), learned(2, "Oslo")), ["Oslo", "Lyon"]),
        ((learned(1, "Lyon", by_hand=True), learned(2, "Oslo", LATER)), ["Oslo", "Lyon"]),
    ],
    ids=["of two said at once what arrives", "the later", "what a person corrected", "also what is older"],
)
def test_the_value_that_wins_is_last_in_whatever_order_they_come(
    facts: tuple[LearnedFact, ...], order: list[str]
) -> None:
    states = {one.number: state_of(one, ()) for one in facts}
    for given_order in permutations(facts):
        assert [one.text_id for one in in_order(given_order, states)] == order
        assert Life(list(given_order)).current() == order[-1:]


def test_of_two_values_said_at_the_same_time_the_one_that_arrives_replaces_the_other() -> None:
    for given_order in permutations((learned(1, "Lyon"), learned(2, "Oslo"))):
        lyon = Life(list(given_order)).states()[1]
        assert (lyon.until, lyon.replaced_by) == (NOON, "Oslo")


def test_an_offset_of_the_clock_does_not_change_what_was_said_later() -> None:
    one, other = learned(1, "Lyon", "2026-03-01T12:00:00+08:00"), learned(2, "Oslo", "2026-03-01T05:00:00+00:00")
    assert Life([one, other]).current() == ["Oslo"]


def test_a_value_said_before_an_end_that_left_the_slot_empty_ended_with_it() -> None:
    life = Life([learned(1, "Tom"), learned(2, "Josef", LATER)], [(1, Event("ended", "2026-07-06", ""))])
    states = life.states()
    assert [states[1].until, states[2].until, states[2].replaced_by] == ["2026-07-06", "2026-07-06", ""]
    assert life.without("Tom").current() == ["Josef"]


def test_the_date_of_a_verdict_counts_while_nothing_was_said_in_between() -> None:
    life = Life([learned(1, "Lyon"), learned(3, "Oslo", LATER)], [(1, Event("changed", "2026-02", "Oslo"))])
    assert (life.states()[1].until, life.states()[1].replaced_by) == ("2026-02", "Oslo")
    between = replace(life, learned=[*life.learned, learned(2, "Rome", "2026-03-01T18:00:00+00:00")])
    assert (between.states()[1].until, between.states()[1].replaced_by) == ("2026-03-01T18:00:00+00:00", "Rome")
    assert between.without("Rome").states() == life.states()


def test_a_value_that_began_before_the_one_it_replaces_ends_that_one_when_it_was_said() -> None:
    since_long = replace(learned(2, "Oslo", LATER), start="2010")
    lyon = Life([learned(1, "Lyon"), since_long]).states()[1]
    assert (lyon.until, lyon.replaced_by) == (LATER, "Oslo")


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """Facts said at different times, some of them over, planned or corrected by hand, with events between them."""
    many = draw(st.integers(1, 6))
    days = draw(st.permutations(range(1, many + 1)))
    facts = [
        LearnedFact(
            number, f"f{number}", draw(st.integers(0, 9)) > 0, draw(st.integers(0, 9)) == 0,
            f"2025-0{day}-10T18:00:00+00:00", draw(st.sampled_from(["", "", f"2025-0{day}-25", "2024"])),
            draw(st.sampled_from(["", "", "", "2020", "2026-01"])),
        )
        for number, day in enumerate(days, 1)
    ]  # fmt: skip
    happened = st.tuples(
        st.integers(1, many),
        st.builds(
            Event,
            st.sampled_from(["confirmed", "changed", "ended", "corrected", "doubted", "put_right", "kept", "let_go"]),
            st.integers(1, 9).map(lambda day: f"2025-0{day}-15T18:00:00+00:00"),
            st.sampled_from(["", *(f"f{number}" for number in range(1, many + 1))]),
        ),
    )
    return Life(facts, draw(st.lists(happened, max_size=6)))


@settings(max_examples=300, deadline=None)
@given(lives(), st.randoms(use_true_random=False))
def test_states_are_the_same_in_whatever_order_facts_are_read(life: Life, chance: object) -> None:
    mixed = list(life.learned)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert replace(life, learned=mixed).states() == life.states()


@settings(max_examples=300, deadline=None)
@given(lives())
def test_a_slot_has_at_most_one_current_value_and_settling_it_again_changes_nothing(life: Life) -> None:
    states = life.states()
    alone = {one.number for one in life.learned if one.alone}
    assert sum(states[number].current for number in alone) <= 1
    assert settle_slot(life.learned, states) == states


@settings(max_examples=200, deadline=None)
@given(lives(), st.randoms(use_true_random=False))
def test_what_is_removed_leaves_the_states_as_if_it_had_never_been_in_any_order(life: Life, chance: object) -> None:
    gone: Sequence[str] = [one.text_id for one in life.learned[::2]]
    expected = life
    for name in gone:
        expected = expected.without(name)
    mixed = list(gone)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    left = life
    for name in mixed:
        left = left.without(name)
    assert left.states() == expected.states()
