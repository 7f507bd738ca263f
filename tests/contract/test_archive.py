"""Memories that are no longer searched: which go first, what never goes, and what brings them back."""

from __future__ import annotations

from domain.tree import ForgetLimit
from tests.contract.stores import Store, Teller, holding


def test_what_was_visited_longest_ago_is_archived_first_and_stays_readable(store: Store, teller: Teller) -> None:
    teller.say("s1", "apple")
    teller.say("s1", "pear")
    teller.say("s1", "plum", served=["u1"])
    store.opening("s2").rounds.save("s1", teller.summary("fruit"), {})
    assert store.archive.count_searched() == 7
    assert store.archive.next_batch(ForgetLimit(7, 50)) == []
    assert [one.name for one in store.archive.next_batch(ForgetLimit(6, 30))] == ["a1", "u2"]
    assert [one.name for one in store.archive.oldest_visited(9)] == ["a1", "u2", "a2", "u3", "a3", "u1"]
    store.archive.archive(store.archive.oldest_visited(2))
    assert store.archive.count_searched() == 5
    assert [[one.text for one in batch] for batch in store.archive.texts()] == [
        ["Assistant: You say apple", "User: pear"]
    ]
    assert (set(store.archive.all()), store.archive.has_any()) == ({"a1", "u2"}, True)
    assert holding(store, "pear") == ["a2"]
    store.archive.restore(["u2"])
    assert holding(store, "pear") == ["u2", "a2"]


def test_a_session_goes_when_all_its_messages_are_archived_and_nothing_of_an_active_one(
    store: Store, teller: Teller
) -> None:
    teller.say("s1", "apple")
    assert store.archive.oldest_visited(9) == []
    store.opening("s2").rounds.save("s1", teller.summary("fruit"), {})
    store.archive.archive(store.archive.oldest_visited(9))
    assert [(one.name, one.is_session) for one in store.archive.oldest_visited(9)] == [("s1", True)]
