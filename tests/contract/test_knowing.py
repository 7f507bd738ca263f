"""What is known: learned from windows, kept true, put right by hand, taken back, and gone with the turns it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from domain.facts import Change, Fact, Learned, NewFact, NewNote, NewRelation, Slot, Window
from domain.records import Round
from storage.store import NewTurn, Store
from tests.contract.stores import Teller, at

HOME = Slot("ann", "home")


def new_fact(name: str, spoken: Round, value: str = "", **given: Any) -> NewFact:
    """A fact that rests on what the person said in a round: where Ann lives, unless something else is given."""
    value = value or name
    usual: dict[str, Any] = {
        "text_id": name, "note": f"note of {name}", "restatement": f"Ann lives in {value}.", "subject": "Ann",
        "attribute": "home", "value": value, "slot": HOME, "single": True, "about": "person", "stance": "stated",
        "said": spoken.user.timestamp, "turns": (spoken.user.text_id,),
    }  # fmt: skip
    return NewFact(**usual | given)


def new_note(fact: NewFact) -> NewNote:
    return NewNote(fact.note, f"Of {fact.value}.", "homes", 7, "active", fact.turns)


def window_of(*rounds: Round) -> Window:
    turns = tuple(turn.text_id for spoken in rounds for turn in spoken.turns)
    return Window(turns[-1], rounds[0].user.session_id, turns)


def learned(
    rounds: Sequence[Round], *facts: NewFact, changes: Sequence[Change] = (), **given: Any
) -> Learned:
    notes = tuple(new_note(fact) for fact in facts)
    return Learned(window_of(*rounds), notes, facts, changes=tuple(changes), **given)


def learn(store: Store, spoken: Round, *values: str, changes: Sequence[Change] = ()) -> str:
    """Learn a round that says where Ann lives. Returns the name of the window."""
    facts = [new_fact(value, spoken) for value in values]
    assert store.learn(learned([spoken], *facts, changes=changes), at(90))
    return spoken.assistant.text_id


def current(store: Store) -> list[str]:
    return [fact.value for fact in store.facts(current=True)]


def known(store: Store, text_id: str) -> Fact:
    (fact,) = store.facts_with_ids([text_id])
    return fact


def finds(store: Store, word: str) -> list[tuple[int, int]]:
    """Which turns a word finds through facts."""
    return store.turns_of_facts(store.postings("fact", (word,), 1_000)[word].seqs.tolist())


# -- learning --------------------------------------------------------------------------------------------------------


def test_what_a_window_came_to_is_there_whole_also_after_reopening(
    store: Store, teller: Teller, reopen: Callable[[], Store]
) -> None:
    first, second = teller.say("s1", "I live in Lyon"), teller.say("s1", "with Momo")
    home = new_fact(
        "Lyon", first, keywords=("city", "home town"), persons=("Ann",), entities=("Lyon",), location="France",
        start="2020", about="person",
    )  # fmt: skip
    cat = new_fact(
        "cat", second, "Momo", slot=Slot("ann", "pet"), attribute="pet", single=False, note=home.note,
        stance="supposed", end="2026-05", turns=(second.user.text_id, first.user.text_id),
    )  # fmt: skip
    note = replace(new_note(home), memory_type="passive", private=False, importance=9)
    all_of_it = Learned(
        window_of(first, second), (note,), (home, cat), (NewRelation("Ann", "keeps", "Momo", "cat"),)
    )
    assert store.learn(all_of_it, at(50))
    store.close()
    again = reopen()
    one, two = again.facts()
    expected = {
        name: getattr(home, name) for name in ("text_id", "note", "restatement", "subject", "attribute")
    }
    expected |= {
        name: getattr(home, name) for name in ("value", "slot", "single", "about", "stance", "said", "turns")
    }
    expected |= {
        name: getattr(home, name) for name in ("keywords", "persons", "entities", "location", "start", "end")
    }
    assert {name: getattr(one, name) for name in expected} == expected
    assert (one.session_id, one.since, one.until, one.seen, one.importance, one.topic) == (
        "s1", "2020", "", home.said, 9, "homes",
    )  # fmt: skip
    assert (one.current, one.corrected, one.kept, one.decided, one.doubtful_since) == (
        True,
        False,
        False,
        "model",
        "",
    )
    assert two.turns == (first.user.text_id, second.user.text_id)
    assert again.fact(two.number) == two
    (stored,) = again.notes_of("s1")
    assert (stored.text, stored.topic, stored.importance, stored.memory_type, stored.private) == (
        "Of Lyon.", "homes", 9, "passive", False,
    )  # fmt: skip
    assert stored.turns == (first.user.text_id, second.user.text_id)
    assert stored.timestamp == second.user.timestamp
    (relation,) = again.relations()
    assert (relation.source, relation.relation, relation.target, relation.fact) == (
        "Ann",
        "keeps",
        "Momo",
        two,
    )
    assert again.facts_of_turns([first.user.text_id, first.assistant.text_id]) == {
        first.user.text_id: [one, two]
    }
    assert [event.what for event in again.history("Lyon")] == ["learned"]
    assert again.history("nobody") == []
    again.close()


def test_a_fact_finds_its_turns_by_every_word_of_it(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "there")
    given = new_fact(
        "a", spoken, "amber", keywords=("birch",), persons=("Copper",), entities=("Dune",), location="Ember"
    )
    store.learn(learned([spoken], given), at(50))
    number = store.facts()[0].number
    for word in ("amber", "birch", "copper", "dune", "ember"):
        assert finds(store, word) == [(number, spoken.user.seq)]


def test_a_window_that_is_learned_twice_changes_nothing(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "I live in Lyon")
    learn(store, spoken, "Lyon")
    before = store.facts(), store.notes_of("s1")
    assert not store.learn(learned([spoken], new_fact("other", spoken)), at(99))
    assert (store.facts(), store.notes_of("s1")) == before


def test_read_turns_are_read_and_the_others_are_not(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "one"), teller.say("s1", "two")
    assert store.unread("s1") == [*one.turns, *two.turns]
    learn(store, one)
    assert store.unread("s1") == list(two.turns)
    store.withhold([two.user.text_id])
    assert store.unread("s1") == [two.assistant]
    answered = (NewTurn("u9", at(9), "user", "hello"), NewTurn("a9", at(9), "assistant", "…", standin=True))
    said = store.store_round("s1", answered, "stop", at(9))
    assert store.unread("s1") == [two.assistant, said.user]


@pytest.mark.parametrize("fate", ["read", "gone", "withheld", "withheld before"])
def test_a_window_whose_turns_are_not_as_they_were_read_is_not_learned(
    store: Store, teller: Teller, fate: str
) -> None:
    before, one, two = (teller.say("s1", words) for words in ("before", "one", "two"))
    late = learned([one, two], new_fact("late", one))
    late = replace(late, window=replace(late.window, before=tuple(turn.text_id for turn in before.turns)))
    if fate == "read":
        learn(store, two)
    elif fate == "gone":
        store.undo("s1", 1)
    else:
        store.withhold([(before if "before" in fate else one).user.text_id])
    assert not store.learn(late, at(99))
    assert (store.facts(), store.notes_of("s1")) == ([], [])
    assert one.assistant in store.unread("s1")


def test_what_names_no_turn_or_a_turn_of_elsewhere_is_not_stored(store: Store, teller: Teller) -> None:
    elsewhere, spoken = teller.say("s1", "elsewhere"), teller.say("s1", "here")
    facts = (
        new_fact("foreign", spoken, turns=(spoken.user.text_id, elsewhere.user.text_id)),
        new_fact("groundless", spoken, turns=()),
        new_fact("good", spoken, note=""),
    )
    notes = (new_note(facts[0]), new_note(facts[1]))
    relations = tuple(NewRelation("Ann", "knows", "Bob", fact.text_id) for fact in facts)
    assert store.learn(Learned(window_of(spoken), notes, facts, relations), at(50))
    assert [fact.text_id for fact in store.facts()] == ["good"]
    assert [one.fact.text_id for one in store.relations()] == ["good"]
    assert store.notes_of("s1") == []


def test_a_kept_reply_is_there_until_its_window_is_learned_or_a_turn_goes(
    store: Store, teller: Teller
) -> None:
    one, two = teller.say("s1", "one"), teller.say("s1", "two")
    store.keep_reply("a1", "notes", "digest", "the reply", at(3))
    store.keep_reply("a1", "notes", "digest", "the later reply", at(3))
    store.keep_reply("a2", "notes", "digest", "another", at(3))
    (kept,) = store.kept_replies("a1").items()
    assert (kept[0], kept[1].base, kept[1].reply) == ("notes", "digest", "the later reply")
    learn(store, one)
    assert store.kept_replies("a1") == {}
    assert store.kept_replies("a2") != {}
    store.undo("s1", 1)
    assert store.kept_replies(two.assistant.text_id) == {}
