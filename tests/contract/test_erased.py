"""What was erased is recognised by digests, and each erasure has its receipt."""

from __future__ import annotations

from domain.records import ErasureScope
from storage.erased import SaidMessage
from tests.contract.stores import Store, Teller, at
from tests.support.known import fact

SECRET = "My sister Patty is expecting a child in May."


def test_an_erasure_has_a_receipt_and_its_proof_is_noted_when_the_files_are_searched(store: Store) -> None:
    spoken = Teller(store).say("s1", SECRET)
    assert store.of.erased.receipts() == []
    store.at(at(5)).erasure.commit(ErasureScope((spoken.user,)))
    assert store.of.erased.unproven() == [(at(5), 1)]
    (one,) = store.of.erased.receipts()
    assert (one.erased_at, one.reason, one.messages, one.files) == (at(5), "person", 1, 0)
    with store.database.write() as tx:
        store.of.erased.record_proof(tx, [(at(5), 1)], 7, 3, 0)
    (one,) = store.of.erased.receipts()
    assert (one.files, one.searched, one.traces) == (7, 3, 0)
    assert store.of.erased.unproven() == []


def test_a_message_that_was_erased_is_recognised_until_it_is_brought_back(store: Store) -> None:
    spoken = Teller(store).say("s1", SECRET)
    said = SaidMessage.of(spoken.user)
    assert store.of.erased.recognise([said]) == [False]
    store.at(at(5)).erasure.commit(ErasureScope((spoken.user,)))
    other, later = SaidMessage("user", SECRET, at(1)), SaidMessage("user", SECRET, at(9))
    assert store.of.erased.recognise([said, other, later]) == [True, True, False]
    assert store.of.erased.holds([SECRET, "It rains."]) == {SECRET}
    with store.database.write() as tx:
        store.of.erased.remove(tx, [said])
    assert store.of.erased.recognise([said, other]) == [False, False]


def test_a_rejected_value_is_recognised_until_that_is_taken_back(store: Store) -> None:
    Teller(store).say("s1", SECRET)
    wrong, gone = fact("Ann lives in Lyon.", said=at(1)), fact("Ann lives in Rome.", value="Rome", said=at(1))
    with store.at(at(5)).database.write() as tx:
        store.of.erased.add_values(tx, [wrong])
        store.of.erased.add_scope(tx, ErasureScope(facts=(gone,)))
    assert store.of.erased.find_values([wrong]) == {"fact-1": "rejected"}
    assert store.of.erased.find_values([gone]) == {"fact-1": "erased"}
    assert store.of.erased.find_values([fact("Ann lives in Lyon.", said=at(9))]) == {}
    with store.database.write() as tx:
        store.of.erased.remove_values(tx, [wrong])
    assert store.of.erased.find_values([wrong]) == {}


def test_what_is_known_of_erasures_is_taken_over_by_another_copy_once(store: Store) -> None:
    spoken = Teller(store).say("s1", SECRET)
    store.rounds.hide([spoken.assistant.text_id])
    store.at(at(5)).erasure.commit(ErasureScope((spoken.user,)))
    record = store.of.erased.record()
    assert record.hidden == [spoken.assistant.text_id]
    with store.database.write() as tx:
        store.of.erased.remove(tx, [SaidMessage.of(spoken.user)])
        for _ in range(2):
            store.of.erased.take_over(tx, record)
    assert store.of.erased.record() == record


def test_what_is_here_although_it_was_erased_is_found(store: Store) -> None:
    teller = Teller(store)
    first, second = teller.say("s1", SECRET, "Oh."), teller.say("s1", SECRET, "Again?")
    store.at(at(5)).erasure.commit(ErasureScope((first.user,)))
    assert [message.text_id for message in store.erasure.find_erased()] == [second.user.text_id]
