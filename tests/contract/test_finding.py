"""Words, facts and vectors: found from the commit on, gone from the commit on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from domain.indexes import MARKS
from storage.messages import MessageColumns
from tests.contract.stores import Store, Teller, at, holding, with_files

MODEL = "a-model"


def embed_all(store: Store, model: str = MODEL) -> None:
    """Give every waiting text a vector."""
    digests = {text_id: f"of {text_id}" for text_id in sorted(store.embeddings.waiting(999))}
    store.embeddings.set_dimension(model, 4)
    for number, text_id in enumerate(digests, start=1):
        store.embeddings.store(text_id, model, digests[text_id], np.full(4, number, np.float16))
    store.embeddings.mark_done(digests, model)


def kept(store: Store, model: str = MODEL) -> list[str]:
    """The texts that have a vector."""
    return sorted(row.text_id for batch in store.embeddings.batches(model, 2) for row in batch)


def test_words_are_found_with_how_often_and_not_after_they_went(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "a quokka, a quokka, a wombat", "Fine")
    found = store.words.postings("message", ("quokka", "wombat", "nobody"), 10)
    assert found["quokka"].seqs.tolist() == [spoken.user.seq]
    assert found["quokka"].counts.tolist() == [2]
    assert found["nobody"].seqs.tolist() == []
    store.rounds.undo("s1", 1)
    assert holding(store, "quokka") == []


def test_a_table_of_words_tells_about_how_many_rows_it_has(store: Store, teller: Teller) -> None:
    assert (store.words.rows("message"), store.words.rows("fact")) == (0, 0)
    spoken = [teller.say("s1", words) for words in ("one", "two", "three")]
    store.at(at(5)).naming("f1").learn_key("s1", "counts", [spoken[0].user.seq])
    store.rounds.compact("s1", 1, teller.summary("one"))
    assert store.words.rows("message") >= 6
    assert (store.words.rows("fact"), store.words.rows("summary")) == (1, 1)


def test_what_recall_reads_by_number_agrees_with_what_was_said(store: Store, teller: Teller) -> None:
    store.start("s2", at(1))
    one, two, three = teller.say("s1", "one"), teller.say("s2", "two"), teller.say("s1", "three")
    rows = store.messages.columns_after(0, 99)
    numbers = {name: store.sessions.number_of(name) for name in ("s1", "s2", "nobody")}
    messages = [message for spoken in (one, two, three) for message in spoken.messages]
    assert list(rows.seq) == [message.seq for message in messages]
    assert list(rows.session) == [numbers["s1"]] * 2 + [numbers["s2"]] * 2 + [numbers["s1"]] * 2
    assert list(rows.by_user) == [1, 0] * 3
    assert rows.day == [date.fromisoformat(message.timestamp[:10]).toordinal() for message in messages]
    assert numbers["nobody"] is None
    of_s1 = [at for at, session in zip(rows.position, rows.session, strict=True) if session == numbers["s1"]]
    assert of_s1 == sorted(of_s1) == [message.position for one_ in (one, three) for message in one_.messages]
    assert list(store.messages.columns_after(messages[2].seq, 1).seq) == [messages[3].seq]
    assert len(store.messages.columns_after(messages[-1].seq, 1).seq) == 0
    assert store.messages.numbers_of([two.user.text_id, "nobody"]) == {two.user.text_id: two.user.seq}
    assert store.messages.words_of([two.user.text_id, "nobody"]) == {two.user.text_id: two.user.words}
    store.rounds.compact("s2", 1, teller.summary("two"))
    summary = store.summaries.of("s2")
    assert summary is not None
    assert numbers["s2"] is not None
    assert store.summaries.of_sessions([n for n in numbers.values() if n]) == {numbers["s2"]: summary}
    by_both = store.summaries.sessions_of(seqs=[summary.seq], text_ids=[summary.text_id])
    assert by_both == {summary.seq: numbers["s2"], summary.text_id: numbers["s2"]}
    assert store.summaries.sessions_after(summary.seq - 1) == {summary.seq: numbers["s2"]}
    assert store.summaries.sessions_after(summary.seq) == {}


def test_each_message_bears_the_marks_of_what_it_is(store: Store, teller: Teller) -> None:
    teller.say("s1", "Is it so?", "It is, as far as anybody who was there at that time of the year could tell.")
    asks, little = (1 << MARKS.index(mark) for mark in ("@asks", "@little"))
    assert list(store.messages.columns_after(0, 9).marks) == [asks | little, 0]


#: Numbers of messages in a block.
BLOCK = 2048


def fill_blocks(store: Store, teller: Teller) -> None:
    """Some messages in each of two full blocks, sealed, and some after them; most numbers are never used."""
    for number in range(3):
        for word in ("apple", "pear", "plum"):
            teller.say("s1", f"{word} {number}")
        with store.database.write() as tx:
            tx.next("conversation", BLOCK - 6)
    for _ in range(3):  # one at a time
        embed_all(store)


def sealed(store: Store) -> list[int]:
    """The blocks that are sealed."""
    return sorted(row[0] for row in store.database.run("SELECT number FROM message_block"))


def values(parts: list[MessageColumns]) -> list[list[float]]:
    """The rows of columns."""
    return [list(map(float, row)) for part in parts for row in zip(*part, strict=True)]


def read_whole(store: Store) -> list[list[float]]:
    """Where all messages are, sealed or not."""
    parts = list(store.messages.sealed_columns())
    last = max((int(part.seq[-1]) for part in parts if len(part.seq)), default=0)
    return values([*parts, store.messages.columns_after(last, 99)])


def test_full_blocks_are_sealed_and_read_as_their_rows_are(store: Store, teller: Teller) -> None:
    fill_blocks(store, teller)
    assert sealed(store) == [0, 1, 2]
    assert read_whole(store) == values([store.messages.columns_after(0, 99)])
    assert len(read_whole(store)) == 18
    teller.say("s1", "after them")
    assert sealed(store) == [0, 1, 2]
    assert read_whole(store) == values([store.messages.columns_after(0, 99)])


def _undo_and_redo(store: Store) -> Iterator[None]:
    gone = store.rounds.undo("s1", 5)
    yield
    store.rounds.redo(gone)


def _hide_and_unhide(store: Store) -> Iterator[None]:
    store.rounds.hide(["u5"])
    yield
    store.rounds.unhide(["u5"])


def _archive_and_restore(store: Store) -> Iterator[None]:
    store.opening("s2").rounds.save("s1", "fruit", {})
    yield
    store.archive.archive([one for one in store.archive.oldest_visited(99) if one.name == "u5"])
    yield
    store.archive.restore(["u5"])


def _replace_words(store: Store) -> Iterator[None]:
    (message,) = store.messages.with_ids(["u5"])
    with store.database.write() as tx:
        store.of.index.add_messages(tx, [replace(message, text="User: rather many other words than there were")])
    yield


def _erase(store: Store) -> Iterator[None]:
    store.erasure.commit(store.erasure.scope_of_message("u5"))
    yield


@pytest.mark.parametrize("change", [_undo_and_redo, _hide_and_unhide, _archive_and_restore, _replace_words, _erase])
def test_a_block_goes_with_the_first_change_of_one_of_its_messages(
    store: Store, teller: Teller, change: Callable[[Store], Iterator[None]]
) -> None:
    fill_blocks(store, teller)
    for _ in change(store):
        assert read_whole(store) == values([store.messages.columns_after(0, 99)])
        assert 0 in sealed(store)
        if change is not _archive_and_restore:
            assert 1 not in sealed(store)
        for _ in range(3):
            embed_all(store)
        assert sealed(store) == [0, 1, 2]
        assert read_whole(store) == values([store.messages.columns_after(0, 99)])
    assert read_whole(store) == values([store.messages.columns_after(0, 99)])


def test_a_block_with_a_flipped_bit_is_read_from_its_rows(store: Store, teller: Teller) -> None:
    fill_blocks(store, teller)
    ((data,),) = store.database.run("SELECT data FROM message_block WHERE number = 1")
    with store.database.write() as tx:
        tx.do("UPDATE message_block SET data = ? WHERE number = 1", bytes([data[0] ^ 1]) + data[1:])
    assert read_whole(store) == values([store.messages.columns_after(0, 99)])


@with_files
def test_nothing_of_an_erased_message_is_left_in_a_block(store: Store, teller: Teller) -> None:
    fill_blocks(store, teller)
    ((data,),) = store.database.run("SELECT data FROM message_block WHERE number = 1")
    size = (len(data) - 4) // 6
    rows = [data[at : at + size] for at in range(0, 6 * size, size)]

    def written() -> list[bool]:
        content = b"".join(path.read_bytes() for path in sorted(store.folder.iterdir()) if path.is_file())
        return [row in content for row in rows]

    assert written() == [True] * 6
    store.erasure.erase(store.erasure.scope_of_message("u5"))
    for _ in range(3):
        embed_all(store)
    assert sealed(store) == [0, 1, 2]
    assert written() == [True, True, False, True, True, True]


def test_a_fact_finds_its_turns_and_goes_with_any_of_them(store: Store, teller: Teller) -> None:
    first, second = teller.say("s1", "one"), teller.say("s1", "two")
    store.at(at(5)).naming("f1").learn_key("s1", "plays the violin", [first.user.seq, second.user.seq])
    (fact,) = store.words.postings("fact", ("violin",), 9)["violin"].seqs.tolist()
    assert set(store.facts.messages_of([fact])) == {(fact, first.user.seq), (fact, second.user.seq)}
    rests_on = [first.user.seq, second.user.seq]
    assert [one.tolist() for one in store.facts.messages_after(fact - 1)] == [[fact] * 2, rests_on]
    assert [one.tolist() for one in store.facts.messages_after(fact)] == [[], []]
    store.rounds.undo("s1", 1)
    assert store.words.postings("fact", ("violin",), 9)["violin"].seqs.tolist() == []
    assert store.facts.messages_of([fact]) == []


def test_a_text_waits_for_its_vector_from_the_commit_on(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "one")
    assert set(store.embeddings.waiting(9)) == {message.text_id for message in spoken.messages}
    embed_all(store)
    assert store.embeddings.waiting(9) == []
    assert store.embeddings.queue_effort() == (0, 0)
    counts = store.embeddings.counts(MODEL)
    assert (counts.vectors, counts.pending) == (2, 0)
    (row,) = store.embeddings.rows(MODEL, [spoken.user.text_id, "nobody"])
    assert (row.type, row.session_id, row.vector.tolist()) == ("conversation", "s1", [2.0] * 4)
    assert store.embeddings.take_stock(MODEL).tolist() == sorted(
        message.text_id.encode() for message in spoken.messages
    )


def test_an_answer_for_other_words_takes_no_text_off_the_queue(store: Store, teller: Teller) -> None:
    text_id = teller.say("s1", "one").user.text_id
    store.embeddings.store(text_id, MODEL, "of other words", np.ones(4, np.float16))
    store.embeddings.mark_done({text_id: "of these words"}, MODEL)
    assert text_id in store.embeddings.waiting(9)
    assert store.embeddings.with_vector(MODEL, {text_id: "of these words"}) == set()
    assert store.embeddings.with_vector(MODEL, {text_id: "of other words"}) == {text_id}


def test_what_is_refused_three_times_is_set_aside_until_it_is_tried_again(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "one")
    for _ in range(3):
        store.embeddings.record_failure(spoken.user.text_id, "too long")
    assert store.embeddings.waiting(9) == [spoken.assistant.text_id]
    assert [(one.text_id, one.reason) for one in store.embeddings.set_aside()] == [(spoken.user.text_id, "too long")]
    store.embeddings.try_again()
    assert len(store.embeddings.waiting(9)) == 2
    assert store.embeddings.set_aside() == []


def test_effort_changes_with_all_that_was_achieved_or_failed_and_with_nothing_else(
    store: Store, teller: Teller
) -> None:
    text_id = teller.say("s1", "one").user.text_id
    assert store.embeddings.queue_effort() == store.embeddings.queue_effort() == (2, 0)
    store.embeddings.record_failure(text_id, "too long")
    assert store.embeddings.queue_effort() == (2, 1)
    embed_all(store)
    assert store.embeddings.queue_effort() == (0, 0)


def test_vectors_that_are_forgotten_are_gone_of_every_model_and_wait_for_none(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "one")
    for model in (MODEL, "another"):
        embed_all(store, model)
        store.embeddings.take_stock("another")
    teller.say("s1", "two")
    store.embeddings.remove([spoken.user.text_id, "nobody"])
    assert kept(store) == kept(store, "another") == [spoken.assistant.text_id]
    assert spoken.user.text_id not in store.embeddings.waiting(99)
    assert len(store.embeddings.waiting(99)) == 2


def test_a_vector_goes_with_its_text_and_those_after_it_are_made_again(store: Store, teller: Teller) -> None:
    rounds = [teller.say("s1", words) for words in ("one", "two", "three", "four")]
    embed_all(store)
    teller.say("s1", "instead", instead_of=rounds[1])
    gone = {message.text_id for message in rounds[1].messages}
    again = {message.text_id for message in rounds[2].messages}
    assert not gone & set(kept(store))
    assert again <= set(store.embeddings.waiting(9))
    assert {message.text_id for message in rounds[0].messages} <= set(kept(store))
    assert not {message.text_id for message in rounds[3].messages} & set(store.embeddings.waiting(9))


def test_vectors_of_two_models_and_of_two_lengths_never_meet(store: Store, teller: Teller) -> None:
    teller.say("s1", "one")
    embed_all(store)
    assert kept(store, "another") == []
    assert store.embeddings.dimension("another") is None
    assert store.embeddings.take_stock("another").tolist() == []
    embed_all(store, "another")
    assert kept(store, "another") == kept(store)
    store.embeddings.set_dimension(MODEL, 8)
    assert kept(store) == []
    assert (store.embeddings.dimension(MODEL), store.embeddings.dimension("another")) == (8, 4)


def test_checksums_of_the_index_are_kept_replaced_and_forgotten(store: Store) -> None:
    store.embeddings.store_checksums({"a": "1", "b": "2"}, [])
    store.embeddings.store_checksums({"b": "3", "c": "4"}, ["a"])
    assert store.embeddings.checksums() == {"b": "3", "c": "4"}
    store.embeddings.remove_checksums()
    assert store.embeddings.checksums() == {}
    assert store.versions.written_number("user") is None


def test_a_rebuild_of_the_index_is_asked_for_and_met_once(store: Store, teller: Teller) -> None:
    spoken = teller.say("s1", "amber")
    embed_all(store)
    assert store.embeddings.embedded(MODEL) == {message.text_id for message in spoken.messages}
    asked = store.embeddings.ask_for_rebuild()
    assert store.embeddings.rebuilds() == (asked, 0)
    store.embeddings.note_rebuilt("vectors", asked)
    assert store.embeddings.rebuilds() == (asked, asked)
