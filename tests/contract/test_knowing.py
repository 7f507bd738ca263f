"""What is known: learned from windows, kept true, put right by hand, taken back, gone with the turns it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from domain.facts import Change, Fact, Learned, NewFact, NewNote, NewRelation, Quote, SessionChanges, Slot, Window
from domain.recollection import FactFilter
from domain.records import ErasureScope, Round
from storage.messages import NewMessage
from tests.contract.stores import Store, Teller, at

HOME = Slot("ann", "home")


def new_fact(name: str, spoken: Round, value: str = "", **given: Any) -> NewFact:
    """A fact that rests on what the person said in a round: where Ann lives, unless something else is given."""
    value = value or name
    usual: dict[str, Any] = {
        "text_id": name, "note": f"note of {name}", "restatement": f"Ann lives in {value}.", "subject": "Ann",
        "attribute": "home", "value": value, "slot": HOME, "single": True, "about": "person", "stance": "stated",
        "said": spoken.user.timestamp, "messages": (spoken.user.text_id,),
    }  # fmt: skip
    return NewFact(**usual | given)


def new_note(fact: NewFact) -> NewNote:
    return NewNote(fact.note, f"Of {fact.value}.", "homes", 7, "active", fact.messages)


def window_of(*rounds: Round) -> Window:
    messages = tuple(message.text_id for spoken in rounds for message in spoken.messages)
    return Window(messages[-1], rounds[0].user.session_id, messages)


def learned(rounds: Sequence[Round], *facts: NewFact, changes: Sequence[Change] = (), **given: Any) -> Learned:
    notes = tuple(new_note(fact) for fact in facts)
    return Learned(window_of(*rounds), notes, facts, changes=tuple(changes), **given)


def learn(store: Store, spoken: Round, *values: str, changes: Sequence[Change] = ()) -> str:
    """Learn a round that says where Ann lives. Returns the name of the window."""
    facts = [new_fact(value, spoken) for value in values]
    assert store.at(at(90)).fact_log.learn(learned([spoken], *facts, changes=changes))
    return spoken.assistant.text_id


def current(store: Store) -> list[str]:
    return [fact.value for fact in store.facts.all(current=True)]


def known(store: Store, text_id: str) -> Fact:
    (fact,) = store.facts.with_ids([text_id])
    return fact


def finds(store: Store, word: str) -> list[tuple[int, int]]:
    """Which turns a word finds through facts."""
    return store.facts.messages_of(store.words.postings("fact", (word,), 1_000)[word].seqs.tolist())


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
        stance="supposed", end="2026-05", messages=(second.user.text_id, first.user.text_id),
    )  # fmt: skip
    note = replace(new_note(home), memory_type="passive", private=False, importance=9)
    all_of_it = Learned(window_of(first, second), (note,), (home, cat), (NewRelation("Ann", "keeps", "Momo", "cat"),))
    assert store.at(at(50)).fact_log.learn(all_of_it)
    store.close()
    again = reopen()
    one, two = again.facts.all()
    expected = {name: getattr(home, name) for name in ("text_id", "note", "restatement", "subject", "attribute")}
    expected |= {
        name: getattr(home, name) for name in ("value", "slot", "single", "about", "stance", "said", "messages")
    }
    expected |= {name: getattr(home, name) for name in ("keywords", "persons", "entities", "location", "start", "end")}
    assert {name: getattr(one, name) for name in expected} == expected
    assert (one.session_id, one.since, one.until, one.seen, one.importance, one.topic) == (
        "s1", "2020", "", home.said, 9, "homes",
    )  # fmt: skip
    assert (one.current, one.corrected, one.kept, one.decided, one.doubtful_since) == (True, False, False, "model", "")
    assert two.messages == (first.user.text_id, second.user.text_id)
    assert again.facts.find(two.number) == two
    (stored,) = again.notes.of_session("s1")
    assert (stored.text, stored.topic, stored.importance, stored.memory_type, stored.private) == (
        "Of Lyon.", "homes", 9, "passive", False,
    )  # fmt: skip
    assert stored.messages == (first.user.text_id, second.user.text_id)
    assert stored.timestamp == second.user.timestamp
    (relation,) = again.relations.all()
    assert (relation.source, relation.relation, relation.target, relation.fact) == ("Ann", "keeps", "Momo", two)
    assert again.facts.of_messages([first.user.text_id, first.assistant.text_id]) == {first.user.text_id: [one, two]}
    assert again.facts.resting_on([first.user.seq, first.assistant.seq]) == {first.user.seq: [one, two]}
    assert again.facts.of_sessions(["s1", "s2"]) == {"s1": [one, two]}
    assert [event.kind for event in again.facts.events_of("Lyon")] == ["learned"]
    assert again.facts.events_of("nobody") == []
    again.close()


def test_a_fact_finds_its_turns_by_every_word_of_it(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "there")
    given = new_fact(
        "a", spoken, "amber", keywords=("birch",), persons=("Copper",), entities=("Dune",), location="Ember"
    )
    store.at(at(50)).fact_log.learn(learned([spoken], given))
    number = store.facts.all()[0].number
    for word in ("amber", "birch", "copper", "dune", "ember"):
        assert finds(store, word) == [(number, spoken.user.seq)]


def test_a_window_that_is_learned_twice_changes_nothing(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "I live in Lyon")
    learn(store, spoken, "Lyon")
    before = store.facts.all(), store.notes.of_session("s1")
    assert not store.at(at(99)).fact_log.learn(learned([spoken], new_fact("other", spoken)))
    assert (store.facts.all(), store.notes.of_session("s1")) == before


def test_read_messages_are_read_and_the_others_are_not(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "one"), teller.say("s1", "two")
    assert store.messages.unread("s1") == [*one.messages, *two.messages]
    windows = [store.messages.next_window("s1", 3, all_of_it=whole) for whole in (False, True)]
    assert windows == [[], [*one.messages, two.user]]  # all of it is in the context
    learn(store, one)
    assert store.messages.unread("s1") == list(two.messages)
    store.rounds.hide([two.user.text_id])
    assert store.messages.unread("s1") == [two.assistant]
    answered = (NewMessage("u9", at(9), "user", "hello"), NewMessage("a9", at(10), "assistant", "…", demo=True))
    said = store.at(at(9)).rounds.add("s1", answered, "stop")
    assert store.messages.unread("s1") == [two.assistant, said.user]
    moments = [store.messages.last_moment("s1", unread=unread) for unread in (False, True)]
    assert moments == [said.assistant.timestamp, said.user.timestamp]
    assert store.messages.last_moment("s2") is None


@pytest.mark.parametrize("fate", ["read", "gone", "hidden", "hidden before"])
def test_a_window_whose_messages_are_not_as_they_were_read_is_not_learned(
    store: Store, teller: Teller, fate: str
) -> None:
    before, one, two = (teller.say("s1", words) for words in ("before", "one", "two"))
    late = learned([one, two], new_fact("late", one))
    late = replace(late, window=replace(late.window, before=tuple(message.text_id for message in before.messages)))
    if fate == "read":
        learn(store, two)
    elif fate == "gone":
        store.rounds.undo("s1", 1)
    else:
        store.rounds.hide([(before if "before" in fate else one).user.text_id])
    assert not store.at(at(99)).fact_log.learn(late)
    assert (store.facts.all(), store.notes.of_session("s1")) == ([], [])
    assert one.assistant in store.messages.unread("s1")


def test_what_names_no_message_or_a_message_of_elsewhere_is_not_stored(store: Store, teller: Teller) -> None:
    elsewhere, spoken = teller.say("s1", "elsewhere"), teller.say("s1", "here")
    facts = (
        new_fact("foreign", spoken, messages=(spoken.user.text_id, elsewhere.user.text_id)),
        new_fact("groundless", spoken, messages=()),
        new_fact("good", spoken, note=""),
    )
    notes = (new_note(facts[0]), new_note(facts[1]))
    relations = tuple(NewRelation("Ann", "knows", "Bob", fact.text_id) for fact in facts)
    assert store.at(at(50)).fact_log.learn(Learned(window_of(spoken), notes, facts, relations))
    assert [fact.text_id for fact in store.facts.all()] == ["good"]
    assert [one.fact.text_id for one in store.relations.all()] == ["good"]
    assert store.notes.of_session("s1") == []


def test_a_kept_reply_is_there_until_its_window_is_learned_or_a_message_goes(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "one"), teller.say("s1", "two")
    store.at(at(3)).windows.store_reply("a1", "notes", "digest", "the reply")
    store.at(at(3)).windows.store_reply("a1", "notes", "digest", "the later reply")
    store.at(at(3)).windows.store_reply("a2", "notes", "digest", "another")
    store.at(at(3)).windows.store_reply("u1", "notes", "digest", "of a shorter window")
    assert store.steps.of("window", "a1") == {"notes": ("the later reply", "digest")}
    assert store.windows.replies("a1") == {"notes": ("the later reply", "digest")}
    learn(store, one)
    assert (store.steps.of("window", "a1"), store.steps.of("window", "u1")) == ({}, {})
    assert store.steps.of("window", "a2") != {}
    store.rounds.undo("s1", 1)
    assert store.steps.of("window", two.assistant.text_id) == {}


# -- kept true -------------------------------------------------------------------------------------------------------


def test_what_a_later_window_changed_keeps_its_place_and_says_until_when(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "I moved to Oslo")
    learn(store, one, "Lyon")
    learn(store, two, "Oslo", changes=[Change("Lyon", "changes", "2026-02", "Oslo")])
    lyon, oslo = store.facts.all()
    assert (lyon.until, lyon.replaced_by, lyon.current, oslo.current) == ("2026-02", "Oslo", False, True)
    assert store.facts.all(current=True) == [oslo]
    assert store.facts.all(current=False) == [lyon]
    assert store.facts.in_slots([HOME, HOME]) == [lyon, oslo]
    assert [(event.kind, event.when, event.by) for event in store.facts.events_of("Lyon")] == [
        ("learned", lyon.said, ""),
        ("changed", "2026-02", "Oslo"),
    ]


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("ends", {"until": "2026-05", "replaced_by": "new", "current": False}),
        ("corrects", {"until": "", "corrected": True, "replaced_by": "new", "current": False}),
        ("doubts", {"doubtful_since": "2026-05", "current": True}),
        ("same", {"seen": "2026-05", "doubtful_since": "", "current": True}),
    ],
)
def test_a_verdict_does_what_it_says_and_is_taken_back_whole(
    store: Store, teller: Teller, verdict: Any, expected: dict[str, object]
) -> None:
    one, two = teller.say("s1", "I swim"), teller.say("s1", "not any more")
    store.at(at(50)).fact_log.learn(learned([one], new_fact("swims", one, single=False)))
    before = known(store, "swims")
    new = new_fact("new", two, single=False)
    store.at(at(51)).fact_log.learn(learned([two], new, changes=[Change("swims", verdict, "2026-05", "new")]))
    after = known(store, "swims")
    assert {name: getattr(after, name) for name in expected} == expected
    store.fact_log.unlearn_windows([two.assistant.text_id])
    assert known(store, "swims") == before
    assert store.messages.unread("s1") == list(two.messages)


def test_the_plans_that_ended_are_those_that_a_fact_ended_and_none_that_came_true(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "Oslo, then the exam"), teller.say("s1", "all off")
    stances = {"trip": "planned", "dog": "wished", "exam": "planned", "job": "stated", "choir": "planned"}
    facts = [new_fact(name, one, single=False, stance=stance) for name, stance in stances.items()]
    mine = new_fact("promise", one, single=False, stance="planned", about="companion")
    store.at(at(50)).fact_log.learn(learned([one], *facts, mine))
    verdicts = {"trip": "ends", "dog": "ends", "exam": "changes", "job": "ends", "promise": "ends"}
    changes = [Change(name, verdict, "2026-05", "new") for name, verdict in verdicts.items()]
    store.at(at(51)).fact_log.learn(learned([two], new_fact("new", two, single=False), changes=changes))
    assert [fact.text_id for fact in store.facts.ended_plans()] == ["trip", "dog"]
    store.fact_log.unlearn_windows([two.assistant.text_id])
    assert store.facts.ended_plans() == []


def test_doubt_goes_when_the_fact_is_confirmed_or_ends(store: Store, teller: Teller) -> None:
    rounds = [teller.say("s1", word) for word in ("gym", "moved", "still there", "closed")]
    store.at(at(50)).fact_log.learn(learned(rounds[:1], new_fact("gym", rounds[0], single=False)))
    doubtful = []
    for spoken, verdict in zip(rounds[1:], ("doubts", "same", "doubts"), strict=True):
        store.at(at(51)).fact_log.learn(learned([spoken], changes=[Change("gym", verdict, spoken.user.timestamp)]))  # type: ignore[arg-type]
        doubtful.append(known(store, "gym").doubtful_since)
    assert doubtful == [rounds[1].user.timestamp, "", rounds[3].user.timestamp]
    last = teller.say("s1", "it burnt down")
    store.at(at(52)).fact_log.learn(
        learned([last], changes=[Change("gym", "ends", "2026-03-02"), Change("gym", "doubts", "2026")])
    )
    assert (known(store, "gym").until, known(store, "gym").doubtful_since) == ("2026-03-02", "")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_one_value_is_current_in_a_single_slot_whatever_the_order_of_arrival(
    store: Store, teller: Teller, order: tuple[int, ...]
) -> None:
    values = ("Lyon", "Oslo", "Rome")
    rounds = [teller.say("s1", f"I live in {value}") for value in values]
    for number in order:
        learn(store, rounds[number], values[number])
    told = {fact.value: fact for fact in store.facts.all()}
    assert current(store) == ["Rome"]
    assert (told["Lyon"].until, told["Lyon"].replaced_by) == (rounds[1].user.timestamp, "Oslo")
    assert (told["Oslo"].until, told["Oslo"].replaced_by) == (rounds[2].user.timestamp, "Rome")
    assert [event.kind for event in store.facts.events_of("Oslo")] == ["learned", "changed"]


def test_only_what_was_stated_takes_a_slot_and_what_was_over_when_it_was_told_does_not(
    store: Store, teller: Teller
) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "more")
    plan, past = new_fact("Oslo", two, stance="planned"), new_fact("Rome", two, start="2010", end="2015")
    learn(store, one, "Lyon")
    store.at(at(51)).fact_log.learn(learned([two], plan, past))
    assert current(store) == ["Lyon", "Oslo"]
    assert (known(store, "Rome").since, known(store, "Rome").until) == ("2010", "2015")


# -- by hand ---------------------------------------------------------------------------------------------------------


def test_what_a_person_called_wrong_never_was_and_no_model_changes_that(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "again")
    learn(store, one, "Lyon")
    assert store.at(at(60)).fact_log.correct_by_hand("Lyon", None)
    wrong = known(store, "Lyon")
    assert (wrong.corrected, wrong.current, wrong.decided) == (True, False, "hand")
    learn(store, two, changes=[Change("Lyon", "same", at(61)), Change("nobody", "ends", at(61))])
    assert known(store, "Lyon") == wrong
    assert [event.kind for event in store.facts.events_of("Lyon")] == ["learned", "put_right"]
    assert not store.at(at(62)).fact_log.correct_by_hand("nobody", None)


def test_what_a_person_put_in_its_place_wins_for_good(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "of Rome")
    learn(store, one, "Lyon")
    assert store.at(at(60)).fact_log.correct_by_hand("Lyon", new_fact("Como", one, messages=()))
    assert known(store, "Lyon").replaced_by == "Como"
    learn(store, two, "Rome", changes=[Change("Como", "changes", at(61), "Rome")])
    assert current(store) == ["Como"]
    by_hand = known(store, "Como")
    assert (by_hand.messages, by_hand.note, by_hand.decided) == ((one.user.text_id,), "note of Lyon", "hand")
    assert (known(store, "Rome").until, known(store, "Rome").replaced_by) == (two.user.timestamp, "Como")
    assert finds(store, "como") == [(by_hand.number, one.user.seq)]
    store.at(at(62)).fact_log.correct_by_hand("Como", new_fact("Nice", one))
    assert current(store) == ["Nice"]


def test_a_decision_that_is_taken_back_never_was(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "I moved to Rome")
    learn(store, one, "Lyon")
    learn(store, two, "Rome", changes=[Change("Lyon", "changes", at(50), "Rome")])
    before = store.facts.all()
    for decide in (
        lambda: store.at(at(60)).fact_log.correct_by_hand("Rome", None),
        lambda: store.at(at(60)).fact_log.correct_by_hand("Rome", new_fact("Como", two)),
        lambda: store.at(at(60)).fact_log.correct_by_hand("Lyon", new_fact("Como", one)),
        lambda: store.at(at(60)).fact_log.keep_fact("Rome", True),
    ):
        decide()
        assert store.facts.all() != before
        decided = "Lyon" if known(store, "Lyon").decided == "hand" else "Rome"
        assert store.fact_log.undo_decision(decided)
        assert store.facts.all() == before
        assert finds(store, "como") == []
        assert not store.fact_log.undo_decision(decided), "there is none any more"
    assert not store.fact_log.undo_decision("nobody")


def test_of_several_decisions_the_last_is_taken_back(store: Store, teller: Teller) -> None:
    learn(store, teller.say("s1", "I live in Lyon"), "Lyon")
    store.at(at(60)).fact_log.keep_fact("Lyon", True)
    store.at(at(61)).fact_log.correct_by_hand("Lyon", None)
    assert store.fact_log.undo_decision("Lyon")
    assert (known(store, "Lyon").kept, known(store, "Lyon").current) == (True, True)
    assert store.fact_log.undo_decision("Lyon")
    assert not known(store, "Lyon").kept


def test_what_a_person_called_wrong_stays_so_without_what_they_put_in_its_place(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "I live in Lyon")
    learn(store, spoken, "Lyon")
    store.at(at(60)).fact_log.correct_by_hand("Lyon", new_fact("Como", spoken))
    store.erasure.commit(ErasureScope(facts=(known(store, "Como"),)))
    assert [fact.value for fact in store.facts.all()] == ["Lyon"]
    assert current(store) == []


def test_what_a_fact_did_to_others_never_was_either_once_a_person_called_it_wrong(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon and swim"), teller.say("s1", "I moved to Rome")
    pool = new_fact("pool", one, slot=Slot("ann", "sport"), single=False)
    assert store.at(at(50)).fact_log.learn(learned([one], new_fact("Lyon", one), pool))
    moved = [Change("Lyon", "changes", at(58), "Rome"), Change("pool", "doubts", at(58), "Rome")]
    before = known(store, "Lyon"), known(store, "pool")
    learn(store, two, "Rome", changes=moved)
    after = known(store, "Lyon"), known(store, "pool")
    store.at(at(60)).fact_log.correct_by_hand("Rome", None)
    assert (known(store, "Lyon"), known(store, "pool")) == before
    store.at(at(61)).fact_log.correct_by_hand("Rome", new_fact("Roma", two))
    assert (known(store, "Lyon"), known(store, "pool")) == after
    store.erasure.commit(ErasureScope(facts=(known(store, "Roma"),)))
    assert (known(store, "Lyon"), known(store, "pool")) == before


def test_a_fact_that_a_person_keeps_is_in_doubt_no_more(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "again")
    learn(store, one, "Lyon")
    learn(store, two, changes=[Change("Lyon", "doubts", at(58))])
    assert known(store, "Lyon").doubtful_since == at(58)
    store.at(at(60)).fact_log.keep_fact("Lyon", True)
    assert known(store, "Lyon").doubtful_since == ""


def test_a_fact_can_be_kept_and_let_go(store: Store, teller: Teller) -> None:
    learn(store, teller.say("s1", "I live in Lyon"), "Lyon")
    kept = []
    for wish in (True, False):
        assert store.at(at(60)).fact_log.keep_fact("Lyon", wish)
        kept.append(known(store, "Lyon").kept)
    assert kept == [True, False]
    assert known(store, "Lyon").decided == "model"
    assert not store.at(at(61)).fact_log.keep_fact("nobody", True)


# -- what goes with its turns ----------------------------------------------------------------------------------------


def go_by_undo(store: Store, spoken: Round) -> None:
    store.rounds.undo("s1", 1)


def go_by_reset(store: Store, spoken: Round) -> None:
    store.rounds.reset("s1")


def go_by_hiding(store: Store, spoken: Round) -> None:
    store.rounds.hide([spoken.user.text_id])


def go_by_another_reply(store: Store, spoken: Round) -> None:
    messages = (NewMessage("u99", at(80), "user", "other"), NewMessage("a99", at(80), "assistant", "words"))
    store.at(at(80)).rounds.add("s1", messages, "stop", instead_of=spoken)


def go_by_erasure(store: Store, spoken: Round) -> None:
    store.erasure.commit(ErasureScope((spoken.user,)))


WAYS = [go_by_undo, go_by_reset, go_by_hiding, go_by_another_reply, go_by_erasure]


@pytest.mark.parametrize("go", WAYS)
def test_what_rests_on_a_message_goes_with_it_and_what_it_did_to_others_is_taken_back(
    store: Store, teller: Teller, go: Callable[[Store, Round], None]
) -> None:
    store.start("s0", at(0))
    one, two = teller.say("s0", "I live in Lyon"), teller.say("s1", "I moved to Oslo")
    store.at(at(50)).fact_log.learn(
        learned([one], new_fact("Lyon", one), new_fact("gym", one, slot=Slot("ann", "gym")))
    )
    before, notes = store.facts.all(), store.notes.of_session("s0")
    changes = [Change("Lyon", "changes", at(40), "Oslo"), Change("gym", "doubts", at(40))]
    whole = learned([two], new_fact("Oslo", two), changes=changes)
    relation = NewRelation("Ann", "lives in", "Oslo", "Oslo")
    assert store.at(at(51)).fact_log.learn(replace(whole, relations=(relation,)))
    store.at(at(52)).windows.store_reply("elsewhere", "compare", "digest", "Oslo")
    assert (len(store.relations.all()), current(store)) == (1, ["gym", "Oslo"])
    go(store, two)
    assert store.facts.all() == before
    assert store.notes.of_session("s0") == notes
    assert (
        store.notes.of_session("s1"),
        store.relations.all(current=False),
        store.steps.of("window", "elsewhere"),
    ) == ([], [], {})
    assert finds(store, "oslo") == []
    assert [event.kind for event in store.facts.events_of("Lyon")] == ["learned"]
    assert store.database.problems() == []


def test_a_note_goes_with_any_of_its_turns_and_a_fact_that_rests_on_another_stays(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "with Momo")
    home, cat = new_fact("Lyon", one), new_fact("cat", two, note="note of Lyon", single=False)
    store.at(at(50)).fact_log.learn(Learned(window_of(one, two), (new_note(home),), (home, cat)))
    store.rounds.hide([one.user.text_id])
    (left,) = store.facts.all()
    assert (left.text_id, left.note, left.topic, left.importance) == ("cat", "", "", 5)
    assert store.notes.of_session("s1") == []
    store.fact_log.unlearn_windows([two.assistant.text_id])
    assert store.facts.all() == []


def test_messages_that_come_back_are_unread_again(store: Store, teller: Teller) -> None:
    one, two = teller.say("s1", "I live in Lyon"), teller.say("s1", "I moved")
    for spoken, value in ((one, "Lyon"), (two, "Oslo")):
        learn(store, spoken, value)
    rounds = store.rounds.undo("s1", 1)
    store.rounds.redo(rounds)
    assert store.messages.unread("s1") == list(two.messages)
    store.rounds.put_back(store.rounds.reset("s1"))
    assert store.messages.unread("s1") == [*one.messages, *two.messages]
    store.rounds.hide([one.user.text_id])
    store.rounds.unhide([one.user.text_id])
    assert one.user in store.messages.unread("s1")
    learn(store, one, "Lyon")
    assert current(store) == ["Lyon"]


def test_an_old_fact_that_only_finds_its_turns_is_shown_to_nobody(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "there")
    store.at(at(5)).naming("old").learn_key("s1", "plays the violin", [spoken.user.seq])
    assert finds(store, "violin") == [(1, spoken.user.seq)]
    assert (store.facts.all(), store.facts.find(1), store.facts.with_ids(["old"])) == ([], None, [])
    assert store.facts.of_messages([spoken.user.text_id]) == {}
    assert store.facts.resting_on([spoken.user.seq]) == {}
    store.rounds.undo("s1", 1)
    assert finds(store, "violin") == []


def test_a_fact_that_was_over_when_it_was_said_stays_so_when_another_message_of_its_window_goes(
    store: Store, teller: Teller
) -> None:
    one, two = teller.say("s1", "I used to live in Lyon"), teller.say("s1", "I had soup")
    over = Change("Lyon", "ends", at(1), "Lyon")
    assert store.at(at(50)).fact_log.learn(learned([one, two], new_fact("Lyon", one), changes=[over]))
    before = known(store, "Lyon")
    store.rounds.undo("s1", 1)
    assert (known(store, "Lyon"), before.current, before.replaced_by) == (before, False, "")
    assert [(event.kind, event.by) for event in store.facts.events_of("Lyon")] == [("learned", ""), ("ended", "")]


def test_what_is_known_is_counted_and_a_session_says_what_is_new_by_it(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "I live in Oslo")
    teller.say("s1", "not read")
    assert store.facts.count_all().unread == 4
    window = learn(store, spoken, "Oslo")
    assert (store.facts.count_all().current, store.facts.count_all().unread) == (1, 2)
    assert [note.text for note in store.notes.all()] == ["Of Oslo."]
    assert store.notes.of_messages([spoken.user.text_id]) == store.notes.of_session("s1") == store.notes.all()
    assert store.facts.session_changes("s1") == SessionChanges(new=1)
    assert store.windows.replies(window) == {}


def test_relations_are_found_by_their_fact_and_by_a_name_in_a_text(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "Bob is my brother")
    related = NewRelation("Ann", "brother", "Bob", "f1")
    assert store.fact_log.learn(learned([spoken], new_fact("f1", spoken), relations=(related,)))
    (relation,) = store.relations.of_facts(["f1"])
    assert (relation.source, relation.target) == ("Ann", "Bob")
    assert store.relations.about([], "Where is Bob?") == [relation] == store.relations.all()
    assert store.relations.about([], "Where is my sister?") == []


def test_a_memory_that_was_filled_with_rows_finds_its_facts_once_they_are_indexed(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "I live in Oslo")
    learn(store, spoken, "Oslo")
    before = finds(store, "oslo")
    with store.database.write() as tx:
        store.fact_log.index_all(tx)
    assert finds(store, "oslo") == before != []
    assert store.fact_log.new_id() != store.fact_log.new_id()


def test_a_fact_that_was_known_before_may_be_what_changes_another(store: Store, teller: Teller) -> None:
    rounds = [teller.say("s1", words) for words in ("I live in Oslo", "I live in Bergen", "I said so")]
    learn(store, rounds[0], "Oslo")
    learn(store, rounds[1], "Bergen")
    change = Change("Oslo", "changes", "2026-03-01", "Bergen")
    assert store.at(at(95)).fact_log.learn(learned([rounds[2]], changes=[change]))
    assert store.facts.events_of("Oslo")[-1].by == known(store, "Bergen").text_id
    assert current(store) == ["Bergen"]


# -- what a fact is believed on ----------------------------------------------------------------------------------------


def test_a_fact_keeps_the_words_it_rests_on(store: Store, teller: Teller, reopen: Callable[[], Store]) -> None:
    spoken = teller.say("s1", "我搬到里昂了。I live in Lyon now.")
    quote = Quote(spoken.user.text_id, 7, 27)
    learn_one(store, spoken, new_fact("Lyon", spoken, quotes=(quote,), basis="quoted"))
    (fact,) = reopen().facts.all()
    assert [(one.words, one.role) for one in fact.quotes] == [("I live in Lyon now.", "user")]
    assert fact.basis == "quoted"


def test_only_a_verified_fact_is_the_value_of_a_slot(store: Store, teller: Teller) -> None:
    learn(store, teller.say("s1", "I live in Lyon"), "Lyon")
    spoken = teller.say("s1", "Oslo, they say")
    learn_one(store, spoken, new_fact("Oslo", spoken, basis="quoted"))
    assert known(store, "Lyon").current
    assert known(store, "Oslo").current
    assert [known(store, name).verified for name in ("Lyon", "Oslo")] == [True, False]


def learn_one(store: Store, spoken: Round, fact: NewFact) -> None:
    assert store.at(at(91)).fact_log.learn(learned([spoken], fact))


def test_a_quoted_fact_is_found_by_its_words_alone_until_it_is_verified(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "We moved to the amber house.")
    quote = Quote(spoken.user.text_id, 0, 28)
    quoted = new_fact("Birch Street", spoken, keywords=("copper",), quotes=(quote,), basis="quoted")
    learn_one(store, spoken, quoted)
    number = known(store, "Birch Street").number
    assert finds(store, "amber") == [(number, spoken.user.seq)]
    assert (finds(store, "birch"), finds(store, "copper")) == ([], [])
    store.fact_log.verify(spoken.user.text_id, ["Birch Street"])
    assert (finds(store, "birch"), finds(store, "copper")) == ([(number, spoken.user.seq)],) * 2
    assert known(store, "Birch Street").basis == "verified"


def test_a_fact_that_is_verified_later_takes_its_place_in_the_slot_once(store: Store, teller: Teller) -> None:
    learn(store, teller.say("s1", "I live in Lyon"), "Lyon")
    spoken = teller.say("s1", "Oslo now")
    learn_one(store, spoken, new_fact("Oslo", spoken, basis="quoted"))
    ends = Change("Lyon", "changes", at(91), "Oslo")
    for _ in range(2):
        store.fact_log.verify(spoken.user.text_id, ["Oslo", "nobody"], [ends])
        assert [one.kind for one in store.facts.events_of("Oslo")] == ["learned", "verified"]
        assert [one.kind for one in store.facts.events_of("Lyon")] == ["learned", "changed"]
        assert current(store) == ["Oslo"]
    store.fact_log.unlearn_windows([spoken.user.text_id])
    assert [(one.value, one.verified) for one in store.facts.all(current=True)] == [("Lyon", True), ("Oslo", False)]


def test_a_verified_fact_stays_so_where_another_message_of_its_window_goes(store: Store, teller: Teller) -> None:
    first, second = teller.say("s1", "I live in Oslo"), teller.say("s1", "and ski")
    window = window_of(first, second).name
    assert store.at(at(90)).fact_log.learn(learned([first, second], new_fact("Oslo", first, basis="quoted")))
    store.fact_log.verify(window, ["Oslo"])
    with store.database.write() as tx:
        store.fact_log.forget_messages(tx, [second.user.seq])
    assert known(store, "Oslo").verified


def test_a_person_may_verify_a_fact_and_take_that_back(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "Oslo now")
    learn_one(store, spoken, new_fact("Oslo", spoken, basis="quoted"))
    assert [one.value for one in store.facts.quoted_in(window_of(spoken).name)] == ["Oslo"]
    store.fact_log.verify("", ["Oslo"])
    assert known(store, "Oslo").verified
    assert store.facts.quoted_in(window_of(spoken).name) == []
    assert store.fact_log.undo_decision("Oslo")
    assert not known(store, "Oslo").verified


def test_what_is_only_quoted_is_verified_when_it_is_said_again(store: Store, teller: Teller) -> None:
    first, again = teller.say("s1", "Oslo"), teller.say("s1", "I live in Oslo")
    learn_one(store, first, new_fact("Oslo", first, basis="quoted"))
    assert store.at(at(95)).fact_log.learn(learned([again], changes=[Change("Oslo", "verifies", at(95))]))
    assert known(store, "Oslo").verified
    store.fact_log.unlearn_windows([window_of(again).name])
    assert not known(store, "Oslo").verified


def test_what_is_inferred_stands_apart_and_finds_nothing(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "Early again, and glad of it.")
    quote = Quote(spoken.user.text_id, 0, 28)
    learn_one(store, spoken, new_fact("mornings", spoken, quotes=(quote,), basis="inferred"))
    assert store.facts.all() == store.facts.in_slots([Slot("ann", "home")]) == []
    assert store.facts.of_messages([spoken.user.text_id]) == {}
    (fact,) = store.facts.inferred()
    assert store.facts.find(fact.number) == fact
    assert (fact.believed, finds(store, "mornings"), finds(store, "early")) == ("", [], [])
    assert (store.facts.count_all().current, len(store.facts.inferred())) == (0, 1)
    store.fact_log.correct_by_hand("mornings", None)
    assert store.facts.inferred() == []


def test_what_was_not_believed_is_counted_by_reason(store: Store, teller: Teller) -> None:
    first, second = teller.say("s1", "I live in Lyon"), teller.say("s1", "with Momo")
    assert store.windows.rejected() == {}
    for spoken, rejected in ((first, {"name": 2, "companion's words": 1}), (second, {"name": 1})):
        assert store.fact_log.learn(replace(learned([spoken]), rejected=rejected))
    assert store.windows.rejected() == {"name": 3, "companion's words": 1}
    store.fact_log.unlearn_windows([window_of(first).name])
    assert store.windows.rejected() == {"name": 1}


# -- by their parts ----------------------------------------------------------------------------------------------------


def test_facts_are_filtered_by_name_place_topic_and_time_in_any_case(store: Store, teller: Teller) -> None:
    first, second = teller.say("s1", "Tom was in Oslo"), teller.say("s1", "Zoe is in Rome")
    oslo = new_fact(
        "Oslo", first, persons=("Tom Miller",), entities=("Fjord Café",), location="Oslo, Norway",
        start="2026-05-02T14:00", subject="Ann", single=False,
    )  # fmt: skip
    rome = new_fact("Rome", second, persons=("Zoe",), location="Rome", start="2026-06", single=False)
    assert store.fact_log.learn(learned([first, second], oslo, rome))
    for wanted, found in (
        (FactFilter(persons=("tom",)), ["Oslo"]),
        (FactFilter(persons=("TOM MILLER", "ann")), ["Oslo"]),
        (FactFilter(persons=("Tom", "Zoe")), []),
        (FactFilter(entities=("fjord",)), ["Oslo"]),
        (FactFilter(location="oslo"), ["Oslo"]),
        (FactFilter(topic="Homes"), ["Rome", "Oslo"]),
        (FactFilter(since="2026-05", until="2026-05"), ["Oslo"]),
        (FactFilter(since="2026-05-02", until="2026-05-02"), ["Oslo"]),
        (FactFilter(since="2026-05-03"), ["Rome"]),
        (FactFilter(until="2026-05-01"), []),
        (FactFilter(persons=("Tom",), location="Rome"), []),
    ):
        assert [fact.value for fact in store.facts.matching(wanted, 10)] == found, wanted
    assert [fact.value for fact in store.facts.matching(FactFilter(topic="homes"), 1)] == ["Rome"]
    store.fact_log.unlearn_windows([second.assistant.text_id])
    assert store.database.run("SELECT count(*) FROM fact_part")[0][0] == 0
