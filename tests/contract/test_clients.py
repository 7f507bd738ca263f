"""What a store keeps for other clients: rounds of held histories, what is due of them, and memories that are listed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from domain.facts import Learned, NewNote, Window
from domain.recollection import ClientNote
from domain.records import DueExtraction, ErasureScope
from tests.contract.stores import Store, Teller, at


def remember(store: Store, teller: Teller, words: str, minute: int = 1) -> ClientNote:
    """A round, and a memory that rests on it."""
    spoken = teller.say("s1", words)
    note = NewNote(f"n-{words}", f"Ann: {words}", "talk", 7, "active", (spoken.user.text_id,))
    ids = tuple(message.text_id for message in spoken.messages)
    assert store.at(at(minute)).fact_log.learn(Learned(Window(ids[-1], "s1", ids, ()), (note,), (), (), ()))
    return store.clients.memories()[0]


def test_a_message_of_a_history_is_found_by_its_digests_and_another_round_takes_its_place(store: Store) -> None:
    for digest, session_id, text_id, message in [
        ("d1", "s1", "u1", 0), ("d2", "s1", "u2", 2), ("d1", "s2", "u3", 0), ("d1", "s1", "u4", 4),
        ("d1", "s1", "u4", 4), ("d3", "s1", "u4", 4),
    ]:  # fmt: skip
        store.at(at(1)).clients.record_digest(digest, session_id, text_id, message)
    assert [(one.session_id, one.text_id) for one in store.clients.digests_matching(["d1"])] == [
        ("s1", "u1"), ("s2", "u3"), ("s1", "u4"),
    ]  # fmt: skip
    store.clients.move_digests("u4", "u5")
    assert [(one.digest, one.text_id, one.message) for one in store.clients.digests_in_sessions(["s1"])] == [
        ("d1", "u1", 0), ("d2", "u2", 2), ("d1", "u5", 4), ("d3", "u5", 4),
    ]  # fmt: skip
    assert store.clients.digests_in_sessions(["nowhere"]) == []


def test_sessions_of_clients_are_known_among_others(store: Store) -> None:
    store.start("own", at(0))
    assert store.sessions.clients_of(["own", "nowhere"]) == {}
    store.start("theirs", at(1), client="openai")
    assert store.sessions.clients_of(["own", "theirs"]) == {"theirs": "openai"}
    assert store.sessions.clients_of([]) == {}


def test_that_a_round_was_stored_is_known_when_it_is_gone(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "a secret")
    store.clients.record_digest("c1", "s1", spoken.user.text_id, 0)
    store.erasure.commit(ErasureScope(messages=spoken.messages))
    assert [one.text_id for one in store.clients.digests_matching(["c1"])] == [spoken.user.text_id]


def test_what_is_due_is_noted_once_and_left_until_it_is_done(store: Store, reopen: Callable[[], Store]) -> None:
    first, second = (DueExtraction(f"c{number}", number, "key", ("a", f"c{number}")) for number in (1, 2))
    assert [store.at(at(1)).clients.owe_extraction(one) for one in (first, second, first)] == [True, True, False]
    store.close()
    again = reopen()
    assert again.clients.due_extractions() == [first, second]
    again.at(at(2)).clients.end_extraction(first)
    assert again.clients.due_extractions() == [second]
    assert not again.at(at(3)).clients.owe_extraction(first)
    assert again.clients.due_extractions() == [second]
    again.close()


def test_a_hidden_memory_is_listed_no_more_and_a_memory_goes_with_its_turns(store: Store, teller: Teller) -> None:
    first, second, third = (remember(store, teller, words) for words in ("one", "two", "three"))
    assert store.clients.memories() == [third, second, first]
    assert store.clients.memories([first.number]) == [first]
    assert store.clients.importances() == {one.number: 7 for one in (first, second, third)}
    assert store.at(at(9)).clients.hide(second.number)
    assert not store.at(at(9)).clients.hide(second.number)
    assert not store.at(at(9)).clients.hide(99)
    assert store.clients.memories() == [third, first]
    (message,) = store.clients.messages_of(third.number)
    store.erasure.commit(ErasureScope(messages=tuple(store.messages.with_ids([message]))))
    assert store.clients.memories() == [first]
    assert store.clients.messages_of(second.number) != []


def test_memories_are_hidden_by_the_time_at_which_they_were_made(store: Store, teller: Teller) -> None:
    remember(store, teller, "old", minute=1)
    new = remember(store, teller, "new", minute=30)
    assert store.at(at(40)).clients.hide_before(datetime.fromisoformat(at(30))) == 1
    assert store.clients.memories() == [new]
    assert store.at(at(40)).clients.hide_before(datetime.fromisoformat("2026-03-01T11:30:00+02:00")) == 0
    assert store.at(at(40)).clients.hide_before(datetime.fromisoformat("2026-03-01T11:31:00+02:00")) == 1
    assert store.at(at(40)).clients.hide_before(datetime.fromisoformat("2027-01-01T00:00:00+00:00")) == 0


def test_a_memory_has_a_vector_of_each_model_as_long_as_it_is_there(store: Store, teller: Teller) -> None:
    np = pytest.importorskip("numpy")
    kept = remember(store, teller, "one")
    vector = np.array([0.5, -1.0, 2.0], np.float32)
    store.clients.store_vectors("a", [(kept.number, vector), (99, vector)])
    store.clients.store_vectors("b", [(kept.number, vector * 2)])
    numbers, table = store.clients.vectors("a", 3)
    assert (numbers, table.tolist()) == ([kept.number], [[0.5, -1.0, 2.0]])
    assert store.clients.vectors("a", 4)[0] == []
    assert (store.clients.without_vector("a"), store.clients.without_vector("c")) == ([], [kept.number])
    store.erasure.commit(ErasureScope(messages=tuple(store.messages.with_ids(store.clients.messages_of(kept.number)))))
    assert store.clients.vectors("a", 3)[0] == store.clients.without_vector("a") == []


def test_those_who_read_the_tables_find_whose_memory_it_is(store: Store, teller: Teller) -> None:
    remember(store, teller, "tea")
    store.clients.name_owner("ann", 3, 50)
    store.clients.name_owner("ann", 3, 50)
    assert store.database.run("SELECT user_id, system_instruction_id FROM conversation_memories")[0][:] == ("ann", "3")
