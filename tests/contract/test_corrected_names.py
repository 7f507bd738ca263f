"""A name that was corrected is right wherever else it stands, until the correction is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from domain.facts import Change, Fact, NewRelation, Slot
from domain.records import Round
from facts.slots import Names, known_people
from tests.contract.stores import Store, Teller, at
from tests.contract.test_knowing import finds, known, learned, new_fact

#: Of each language: a wrong name, the right one, and a fact of another who has the wrong one in theirs.
NAMES = [("Katja", "Katya", "Katjana"), ("林晓", "林筱", "林大晓")]


def fact_of(name: str, spoken: Round, attribute: str, text: str, value: str, **given: Any) -> Any:
    usual = {"slot": Slot("ann", attribute), "attribute": attribute, "single": False, "restatement": text}
    return new_fact(name, spoken, value, **usual | given)


class Misnamed:
    """A sister under a wrong name, what else was said of her, and of others; the correction in another window."""

    def __init__(self, store: Store, teller: Teller, wrong: str, right: str, other: str) -> None:
        self.store = store
        first, later = teller.say("s1", f"My sister is {wrong}."), teller.say("s1", f"She is {right}.")
        self.rounds = {"first": first, "later": later}
        sister = fact_of("sister", first, "sibling", f"Ann's sister is {wrong}.", wrong)
        wedding = fact_of(
            "wedding", first, "wedding", f"{wrong} marries in May.", "May", subject=wrong, persons=("Ann", wrong),
            keywords=(f"wedding of {wrong}",), slot=Slot(wrong.casefold(), "wedding"), stance="planned",
        )  # fmt: skip
        friend = fact_of("friend", first, "friend", f"Ann's friend is {other}.", other)
        relation = NewRelation("Ann", "sister", wrong, "wedding")
        both = fact_of("both", first, "event", f"Ann mixes up {wrong} and {right}.", "mixed up")
        assert store.at(at(90)).fact_log.learn(learned([first], sister, wedding, friend, both, relations=(relation,)))
        self.right = fact_of("right", later, "sibling", f"Ann's sister is {right}, not {wrong}.", right)

    def correct(self, *others: Any, verdict: Any = "corrects") -> str:
        change = Change("sister", verdict, self.right.said, "right")
        assert self.store.at(at(91)).fact_log.learn(
            learned([self.rounds["later"]], self.right, *others, changes=[change])
        )
        return self.rounds["later"].assistant.text_id

    def wedding(self) -> Fact:
        return known(self.store, "wedding")


@pytest.mark.parametrize(("wrong", "right", "other"), NAMES)
def test_a_corrected_name_is_right_in_what_else_was_said_of_that_one(
    store: Store, teller: Teller, wrong: str, right: str, other: str
) -> None:
    life = Misnamed(store, teller, wrong, right, other)
    life.correct()
    fact = life.wedding()
    assert (fact.restatement, fact.subject, fact.value) == (f"{right} marries in May.", right, "May")
    assert (fact.persons, fact.keywords) == (("Ann", right), (f"wedding of {right}",))
    assert (fact.slot, fact.first_statement) == (Slot(right.casefold(), "wedding"), f"{wrong} marries in May.")
    assert store.facts.find(fact.number) == fact
    assert fact in store.facts.all(current=True)
    assert store.facts.in_slots([Slot(right.casefold(), "wedding")]) == [fact]
    assert fact in store.facts.of_messages(fact.messages)[fact.messages[0]]
    assert [one.target for one in store.relations.all()] == [right]
    assert known(store, "friend").restatement == f"Ann's friend is {other}."
    assert known(store, "both").restatement == f"Ann mixes up {wrong} and {right}."
    assert known(store, "sister").restatement == f"Ann's sister is {wrong}."
    assert known(store, "right").restatement == f"Ann's sister is {right}, not {wrong}."


@pytest.mark.parametrize(("wrong", "right", "other"), NAMES)
def test_a_name_is_as_it_was_when_its_correction_is_taken_back(
    store: Store, teller: Teller, wrong: str, right: str, other: str
) -> None:
    life = Misnamed(store, teller, wrong, right, other)
    before = store.facts.all()
    window = life.correct()
    assert life.wedding().subject == right
    store.fact_log.unlearn_windows([window])
    assert store.facts.all() == before


def test_a_name_is_as_it_was_when_a_person_says_that_the_correction_is_wrong(store: Store, teller: Teller) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    life.correct()
    store.at(at(92)).fact_log.correct_by_hand("right", None)
    assert life.wedding().restatement == "Katja marries in May."


def test_what_a_person_puts_right_by_hand_corrects_a_name_as_well(store: Store, teller: Teller) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    by_hand = fact_of("hand", life.rounds["first"], "sibling", "Ann's sister is Katya.", "Katya")
    store.at(at(92)).fact_log.correct_by_hand("sister", by_hand)
    assert life.wedding().restatement == "Katya marries in May."


def found_by(store: Store, word: str) -> set[str]:
    """The facts that a word finds."""
    numbers = {number for number, _ in finds(store, word)}
    return {fact.text_id for fact in store.facts.all() if fact.number in numbers}


def test_a_fact_is_found_by_the_right_name_and_no_longer_by_the_wrong_one_until_that_is_taken_back(
    store: Store, teller: Teller
) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    assert found_by(store, "katja") == {"sister", "wedding", "both"}
    window = life.correct()
    # What was corrected in talk still finds its turn, which is then marked as untrue.
    assert found_by(store, "katya") == {"wedding", "both", "right"}
    assert found_by(store, "katja") == {"sister", "both", "right"}
    store.fact_log.unlearn_windows([window])
    assert found_by(store, "katja") == {"sister", "wedding", "both"}
    assert found_by(store, "katya") == {"both"}


def test_what_a_person_puts_right_is_found_by_its_new_words_alone_until_that_is_taken_back(
    store: Store, teller: Teller
) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    by_hand = fact_of("hand", life.rounds["first"], "sibling", "Ann's sister is Katya.", "Katya")
    store.at(at(92)).fact_log.correct_by_hand("sister", by_hand)
    assert found_by(store, "katja") == {"both"}
    assert found_by(store, "katya") == {"wedding", "both", "hand"}
    store.at(at(93)).fact_log.correct_by_hand("wedding", None)
    assert found_by(store, "katya") == {"both", "hand"}
    assert store.fact_log.undo_decision("wedding")
    assert store.fact_log.undo_decision("sister")
    assert found_by(store, "katja") == {"sister", "wedding", "both"}
    assert found_by(store, "katya") == {"both"}


def test_what_was_called_by_a_wrong_name_is_found_by_it_so_that_it_can_be_forgotten(
    store: Store, teller: Teller
) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    life.correct()
    assert "Katja" in life.wedding().all_words
    assert finds(store, "katja")


@pytest.mark.parametrize(
    ("attribute", "wrong", "right", "told"),
    [
        ("boss", "Gareth", "Tom", "Ann's boss is Tom, not Gareth."),
        ("rent", "870", "780", "Ann's rent is 780, not 870."),
        ("likes", "咖啡", "咖喱", "安喜欢咖喱。"),
        ("home", "Leeds", "York", "Ann lives in York, not in Leeds."),
    ],
)
def test_a_correction_that_is_more_than_a_name_leaves_everything_else_as_it_was_said(
    store: Store, teller: Teller, attribute: str, wrong: str, right: str, told: str
) -> None:
    first, later = teller.say("s1", wrong), teller.say("s1", right)
    facts = (
        fact_of("known", first, attribute, f"Ann: {wrong}.", wrong),
        fact_of("else", first, "event", f"Ann spoke of {wrong}.", wrong),
    )
    assert store.at(at(90)).fact_log.learn(learned([first], *facts))
    new = fact_of("right", later, attribute, told, right)
    change = Change("known", "corrects", new.said, "right")
    assert store.at(at(91)).fact_log.learn(learned([later], new, changes=[change]))
    assert known(store, "else").restatement == f"Ann spoke of {wrong}."


def test_what_is_no_name_in_a_fact_stays_as_it_is(store: Store, teller: Teller) -> None:
    life = Misnamed(store, teller, "May", "Mae", "Mara")
    life.correct()
    fact = life.wedding()
    assert (fact.subject, fact.persons, fact.value) == ("Mae", ("Ann", "Mae"), "May")


def test_a_name_that_changed_stays_in_what_was_said_before(store: Store, teller: Teller) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    life.correct(verdict="changes")
    assert life.wedding().restatement == "Katja marries in May."


def test_a_name_that_somebody_else_has_too_stays_in_what_was_said(store: Store, teller: Teller) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    colleague = fact_of("two", life.rounds["later"], "colleague", "Ann's colleague is Katja.", "Katja")
    life.correct(colleague)
    assert life.wedding().restatement == "Katja marries in May."


def test_who_is_spoken_of_after_the_correction_may_have_that_name(store: Store, teller: Teller) -> None:
    life = Misnamed(store, teller, *NAMES[0])
    life.correct()
    after = teller.say("s1", "Katja from the gym rang.")
    gym = fact_of("gym", after, "event", "Katja from the gym rang.", "rang", subject="Katja")
    assert store.at(at(93)).fact_log.learn(learned([after], gym))
    assert known(store, "gym").restatement == "Katja from the gym rang."
    assert life.wedding().restatement == "Katya marries in May."


@pytest.mark.parametrize(
    ("wrong", "right", "bond", "told"),
    [
        ("Katja", "Katya", "Ann's sister is {}.", "Ann had the name misspelt as Katja: it is Katya."),
        ("林晓", "林筱", "陈默的女朋友叫{}", "陈默一直把名字打错成林晓，正确的是竹字头那个筱，林筱"),
    ],
    ids=["en", "zh"],
)
def test_a_correction_of_a_name_alone_leaves_who_that_is_as_it_was_until_it_is_taken_back(
    store: Store, teller: Teller, wrong: str, right: str, bond: str, told: str
) -> None:
    first, later = teller.say("s1", wrong), teller.say("s1", right)
    partner = fact_of("partner", first, "partner", bond.format(wrong), wrong, single=True)
    teaches = fact_of("teaches", first, "job", f"{wrong} teaches.", "teaches", subject=wrong)
    assert store.at(at(90)).fact_log.learn(learned([first], partner, teaches))
    before = store.facts.all()
    name = fact_of("right", later, "spelling", told, right)
    changes = [Change(one, "corrects", name.said, "right") for one in ("partner", "teaches")]
    assert store.at(at(91)).fact_log.learn(learned([later], name, changes=changes))
    fact = known(store, "partner")
    assert (fact.current, fact.restatement, fact.value) == (True, bond.format(right), right)
    assert [one.kind for one in store.facts.events_of("partner")] == ["learned", "renamed"]
    assert (known(store, "teaches").current, known(store, "teaches").restatement) == (True, f"{right} teaches.")
    assert right in "\n".join(known_people(store.facts.all(), Names(("Ann",)), told))
    store.at(at(92)).fact_log.correct_by_hand("right", None)
    assert known(store, "partner").restatement == bond.format(wrong)
    store.fact_log.unlearn_windows([later.assistant.text_id])
    assert store.facts.all() == before
