"""The background worker: every text gets its vector once, trouble passes, the erased never comes back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain.indexes import VectorRow
from storage.engine import Row
from storage.vectors.indexing import Indexing
from tests.storage.vectors.indexed import PATIENCE, IndexedStore, Oracle

TEXTS = ["the cat sleeps", "it sleeps all day", "we sailed to Corfu", "a fine ship", "tea or coffee", "green tea"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def store(folder: Path) -> Iterator[IndexedStore]:
    opened = IndexedStore(folder).started()
    opened.add_session("s1")
    yield opened
    opened.close()


def until(condition: Callable[[], object]) -> None:
    """Wait for something that happens in the background."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def ids(store: IndexedStore) -> set[str]:
    return {text_id.decode() for text_id in store.vectors.ids().tolist()}


def contents(store: IndexedStore) -> list[bytes]:
    """Every file of the index."""
    return [path.read_bytes() for path in (store.folder / "vectors").rglob("*") if path.is_file()]


def test_settling_waits_also_for_a_text_that_was_stored_and_not_yet_told(store: IndexedStore) -> None:
    assert store.settle()
    wake, store.indexing.wake = store.indexing.wake, lambda: None
    (text_id,) = store.add_messages("s1", TEXTS[:1])
    store.indexing.wake = wake
    assert store.settle()
    assert ids(store) == {text_id}


def test_a_new_text_is_found_by_meaning_soon_after(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    assert store.search("a ship to Corfu")[0].text_id in {"s1-2", "s1-3"}
    assert store.indexing.status().waiting == 0
    assert store.indexing.degraded == ()


def test_an_empty_store_is_ready_and_not_degraded(store: IndexedStore) -> None:
    assert store.settle()
    assert store.search("anything") == []
    assert store.indexing.degraded == ()
    assert store.indexing.progress() is None
    assert not (store.folder / "vectors").exists()


def test_it_can_be_waited_for_until_it_is_ready(folder: Path) -> None:
    store = IndexedStore(folder)
    assert not store.indexing.await_open(PATIENCE)
    store.started()
    assert store.indexing.await_open(PATIENCE)
    store.close()


@pytest.fixture
def reopened(store: IndexedStore, folder: Path) -> Iterator[IndexedStore]:
    """A store with an index that is opened, and not started yet."""
    store.add_messages("s1", [f"{text} {number}" for number in range(40) for text in TEXTS])
    assert store.settle()
    store.close()
    opened = IndexedStore(folder)
    yield opened
    opened.close()


def test_an_index_is_searched_while_its_ids_are_still_compared(
    reopened: IndexedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reopened.add_messages("s1", ["one that waits for its vector"], first=10_000)
    compare, let_go = reopened.embeddings.take_stock, threading.Event()
    monkeypatch.setattr(reopened.embeddings, "take_stock", lambda model: let_go.wait(PATIENCE) and compare(model))
    reopened.started()
    assert reopened.indexing.await_open(PATIENCE)
    assert reopened.search("a fine ship 7", 1)
    assert reopened.indexing.degraded == ("index",)
    let_go.set()
    assert reopened.settle()
    assert reopened.indexing.degraded == ()


def test_an_index_is_opened_without_reading_a_row_for_each_text(
    reopened: IndexedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    run = reopened.database.run

    def count_rows(sql: str, *values: object) -> list[Row]:
        rows = run(sql, *values)
        read.extend(rows)
        return rows

    monkeypatch.setattr(reopened.database, "run", count_rows)
    reopened.started()
    assert reopened.settle()
    files = len(reopened.embeddings.checksums())
    assert len(read) <= 2 * files + 20 < len(reopened.vectors.ids())


def test_a_message_and_its_place_in_the_queue_are_one_commit(store: IndexedStore) -> None:
    with pytest.raises(RuntimeError):
        with store.database.write() as tx:
            store.embeddings.enqueue(tx, [("t1", "conversation")])
            raise RuntimeError
    assert store.embeddings.waiting() == []


def test_both_rows_of_a_round_enter_the_index_in_one_commit(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS[:2])
    assert store.settle()
    before = store.vectors.versions()
    store.add_messages("s1", TEXTS[2:4], first=2)
    assert store.settle()
    assert store.vectors.versions() == before + 1


def test_summaries_and_messages_are_both_indexed(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    store.add_summary("s1", "cats and ships")
    assert store.settle()
    hits = store.vectors.search(store.oracle.vector("cats"), kind="summary", exclude_session=None, limit=3)[0]
    assert [hit.text_id for hit in hits] == ["summary-s1"]


def test_a_second_start_asks_the_model_for_nothing(store: IndexedStore, folder: Path) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    before = store.search("a ship")
    store.close()
    again = IndexedStore(folder).started()
    assert again.settle()
    assert again.oracle.asked == []
    assert again.search("a ship") == before
    again.close()


def test_what_was_not_embedded_before_the_end_is_embedded_after_the_next_start(folder: Path) -> None:
    first = IndexedStore(folder)
    first.add_session("s1")
    first.add_messages("s1", TEXTS)
    first.database.close()
    again = IndexedStore(folder).started()
    assert again.settle()
    assert len(ids(again)) == len(TEXTS)
    again.close()


def test_a_text_that_never_reached_the_queue_is_found_at_the_start(store: IndexedStore, folder: Path) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    with store.database.write() as tx:
        tx.do("DELETE FROM embedding WHERE text_id = 's1-3'")
    store.close()
    again = IndexedStore(folder).started()
    assert again.settle()
    assert again.oracle.asked == [TEXTS[3]]
    again.close()


def test_a_changed_text_gets_a_new_vector_in_place_of_the_old(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    with store.database.write() as tx:
        tx.do("UPDATE conversation SET text = 'a white horse' WHERE text_id = 's1-0'")
        store.embeddings.enqueue(tx, [("s1-0", "conversation")])
    store.indexing.wake()
    assert store.settle()
    assert store.search("a white horse", 1)[0].text_id == "s1-0"
    assert store.vectors.count() == len(TEXTS)


def test_an_answer_for_a_text_that_changed_meanwhile_is_thrown_away(store: IndexedStore) -> None:
    changed = threading.Event()

    def change() -> None:
        if not changed.is_set():
            changed.set()
            with store.database.write() as tx:
                tx.do("UPDATE conversation SET text = 'a white horse' WHERE text_id = 's1-0'")
                store.embeddings.enqueue(tx, [("s1-0", "conversation")])

    store.oracle.before_answer = change
    store.add_messages("s1", TEXTS[:2])
    assert store.settle()
    assert "a white horse" in store.oracle.asked
    assert store.search("a white horse", 1)[0].similarity > 0.99


def test_a_text_erased_while_the_model_works_never_comes_back(store: IndexedStore) -> None:
    store.oracle.before_answer = lambda: store.remove_messages(["s1-0"])
    store.add_messages("s1", TEXTS)
    assert store.settle()
    assert "s1-0" not in ids(store)
    assert store.embeddings.bytes_of(["s1-0"]) == []


def test_an_erased_text_leaves_the_index(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    store.remove_messages(["s1-2", "s1-3"])
    assert store.settle()
    assert ids(store) == {"s1-0", "s1-1", "s1-4", "s1-5"}


def test_a_text_erased_just_before_a_crash_leaves_the_index_later(store: IndexedStore, folder: Path) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    assert store.indexing.close(PATIENCE)
    with store.database.write() as tx:
        tx.do("DELETE FROM conversation WHERE text_id = 's1-2'")
        store.embeddings.remove(["s1-2"])
    store.close()
    again = IndexedStore(folder).started()
    assert again.settle()
    assert "s1-2" not in ids(again)
    again.close()


def test_scrubbing_leaves_no_byte_of_an_erased_vector(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    needles = store.embeddings.bytes_of(["s1-2"])
    assert any(needles[0] in content for content in contents(store))
    store.remove_messages(["s1-2"])
    assert store.indexing.scrub(PATIENCE)
    assert not any(needle in content for needle in [*needles, b"s1-2"] for content in contents(store))
    assert len(ids(store)) == len(TEXTS) - 1


def test_scrubbing_works_on_an_index_that_cannot_be_written(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    for path in (store.folder / "vectors").rglob("*.manifest"):
        path.write_bytes(b"")
    store.remove_messages(["s1-2"])
    store.indexing.scrub(PATIENCE)
    until(lambda: not any(b"s1-2" in content for content in contents(store)))
    until(store.settle)
    assert len(ids(store)) == len(TEXTS) - 1


def test_the_next_two_messages_depend_on_an_erased_one(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    store.add_session("s2")
    store.add_messages("s2", TEXTS)
    assert store.messages.dependents(["s1-1"]) == ["s1-2", "s1-3"]
    assert store.messages.dependents(["s1-1", "s1-2"]) == ["s1-3", "s1-4"]
    assert store.messages.dependents(["s1-5"]) == []


def test_one_text_that_is_refused_is_set_aside_and_the_others_go_on(store: IndexedStore) -> None:
    store.oracle.refuses = lambda text: "Corfu" in text
    store.add_messages("s1", TEXTS)
    assert store.settle()
    status = store.indexing.status()
    assert [aside.text_id for aside in status.set_aside] == ["s1-2"]
    assert "refused" in status.set_aside[0].reason
    assert status.degraded == ()
    assert sum("Corfu" in text for text in store.oracle.asked) == 3
    assert len(ids(store)) == len(TEXTS) - 1


def test_what_was_set_aside_is_tried_again_by_reindexing(store: IndexedStore) -> None:
    store.oracle.refuses = lambda text: "Corfu" in text
    store.add_messages("s1", TEXTS)
    assert store.settle()
    store.oracle.refuses = lambda text: False
    store.indexing.reindex()
    assert store.settle()
    assert store.indexing.status().set_aside == ()
    assert len(ids(store)) == len(TEXTS)


def test_a_server_that_is_down_is_tried_again_quietly(store: IndexedStore) -> None:
    store.oracle.down = True
    store.add_messages("s1", TEXTS)
    until(lambda: len(store.oracle.asked) > len(TEXTS))
    assert not store.indexing.settle(0.1)
    assert store.indexing.degraded == ("embeddings",)
    store.oracle.down = False
    until(lambda: store.embeddings.waiting() == [])
    assert store.settle()
    assert store.indexing.degraded == ()
    assert store.indexing.status().set_aside == ()


def test_an_embedder_that_breaks_does_not_end_the_worker(store: IndexedStore) -> None:
    broken = iter([True])

    def breaks() -> None:
        if next(broken, False):
            raise ZeroDivisionError

    store.oracle.before_answer = breaks
    store.add_messages("s1", TEXTS)
    until(lambda: not store.embeddings.waiting())
    assert store.settle()


def test_a_server_that_gives_too_few_vectors_is_not_believed(folder: Path) -> None:
    class Short(Oracle):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            return super().embed(texts)[:-1]

    store = IndexedStore(folder, Short()).started()
    store.add_session("s1")
    store.add_messages("s1", TEXTS)
    until(lambda: "embeddings" in store.indexing.degraded)
    assert store.embeddings.counts(store.oracle.model).vectors == 0
    store.close()


def test_no_lock_of_sqlite_is_held_while_the_model_works(store: IndexedStore) -> None:
    inside, go_on = threading.Event(), threading.Event()
    store.oracle.before_answer = lambda: (inside.set(), go_on.wait(PATIENCE))[0]
    store.add_messages("s1", TEXTS[:2])
    assert inside.wait(PATIENCE)
    written: list[str] = []
    writer = threading.Thread(target=lambda: written.extend(store.add_messages("s1", TEXTS[2:4], first=2)))
    writer.start()
    writer.join(PATIENCE)
    assert written == ["s1-2", "s1-3"]
    go_on.set()
    assert store.settle()


def test_closing_does_not_wait_for_a_model_that_hangs(folder: Path) -> None:
    store = IndexedStore(folder).started()
    store.add_session("s1")
    inside, go_on = threading.Event(), threading.Event()
    store.oracle.before_answer = lambda: (inside.set(), go_on.wait(PATIENCE))[0]
    store.add_messages("s1", TEXTS)
    assert inside.wait(PATIENCE)
    assert not store.indexing.close(0.1)
    go_on.set()
    store.close()


def test_a_memory_that_is_closed_while_its_model_works_says_nothing_of_its_closed_database(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked, release = threading.Event(), threading.Event()
    store = IndexedStore(folder)
    store.indexing = Indexing(store.embeddings, store.vectors, store.pending, logging.getLogger("index"))
    store.oracle.before_answer = lambda: (asked.set(), release.wait(PATIENCE))[0]
    store.indexing.start()
    store.add_session("s1")
    store.add_messages("s1", ["Hello there"])
    assert asked.wait(PATIENCE)
    assert not store.indexing.close(0.0)
    store.vectors.close()
    store.database.close()
    release.set()
    assert store.indexing.close(PATIENCE)
    assert caplog.messages == []


def test_another_model_re_embeds_everything_and_mixes_nothing(store: IndexedStore, folder: Path) -> None:
    texts = [f"{text} number {number}" for number, text in enumerate(TEXTS * 20)]
    store.add_messages("s1", texts)
    assert store.settle()
    store.close()
    other = IndexedStore(folder, Oracle("oracle-2", dimension=48))
    inside, go_on = threading.Event(), threading.Event()
    other.oracle.before_answer = lambda: (inside.set(), go_on.wait(PATIENCE))[0]
    other.started()
    assert inside.wait(PATIENCE)
    assert other.search("a ship") == []
    assert other.indexing.degraded == ("index",)
    progress = other.indexing.progress()
    assert progress
    assert (progress.doing, progress.done, progress.total) == ("embedding", 0, len(texts))
    go_on.set()
    assert other.settle()
    assert other.indexing.degraded == ()
    assert other.vectors.count() == len(texts)
    assert len(other.oracle.asked) == len(texts)
    other.close()


def test_re_embedding_goes_on_where_it_stopped(store: IndexedStore, folder: Path) -> None:
    texts = [f"{text} number {number}" for number, text in enumerate(TEXTS * 40)]
    store.add_messages("s1", texts)
    assert store.settle()
    store.close()
    calls = 0

    def fail_later() -> None:
        nonlocal calls
        calls += 1
        other.oracle.down = calls > 2

    other = IndexedStore(folder, Oracle("oracle-2"))
    other.oracle.before_answer = fail_later
    other.started()
    until(lambda: "embeddings" in other.indexing.degraded)
    other.close()
    made = other.oracle
    third = IndexedStore(folder, Oracle("oracle-2")).started()
    assert third.settle()
    assert third.vectors.count() == len(texts)
    assert 0 < len(third.oracle.asked) < len(texts)
    assert made.asked
    third.close()


def test_going_back_to_a_known_model_asks_for_nothing(store: IndexedStore, folder: Path) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    before = store.search("a ship")
    store.close()
    other = IndexedStore(folder, Oracle("oracle-2")).started()
    assert other.settle()
    other.close()
    back = IndexedStore(folder).started()
    assert back.settle()
    assert back.oracle.asked == []
    assert back.search("a ship") == before
    back.close()


def test_a_model_that_keeps_its_name_and_changes_its_dimension_is_noticed(store: IndexedStore, folder: Path) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    store.close()
    other = IndexedStore(folder, Oracle("oracle-1", dimension=48)).started()
    other.add_messages("s1", ["one more"], first=len(TEXTS))
    until(lambda: other.embeddings.dimension("oracle-1") == 48)
    assert other.settle()
    assert other.vectors.count() == len(TEXTS) + 1
    assert other.search("a ship")
    other.close()


def test_a_single_vector_of_another_dimension_changes_nothing(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    calls = 0

    def stumble() -> None:
        nonlocal calls
        calls += 1
        store.oracle.dimension = 48 if calls == 1 else 64

    store.oracle.before_answer = stumble
    store.add_messages("s1", ["one more"], first=len(TEXTS))
    until(lambda: not store.embeddings.waiting())
    assert store.settle()
    assert store.vectors.count() == len(TEXTS) + 1
    assert calls == 2


def test_rounds_one_by_one_end_with_few_files(store: IndexedStore) -> None:
    for number in range(0, 140, 2):
        store.add_messages("s1", [f"said {number}", f"answered {number}"], first=number)
        assert store.settle()
    assert store.vectors.count() == 140
    assert sum(path.is_file() for path in (store.folder / "vectors").rglob("*")) < 120


def test_a_store_that_was_left_untidy_is_tidied_at_the_next_start(store: IndexedStore, folder: Path) -> None:
    for number in range(0, 62, 2):
        store.add_messages("s1", [f"said {number}", f"answered {number}"], first=number)
        assert store.settle()
    store.close()
    again = IndexedStore(folder).started()
    assert again.settle()
    again.add_messages("s1", ["one", "two"], first=100)
    assert again.settle()
    until(lambda: again.vectors.versions() < 5)
    again.close()


def test_rows_of_nobody_leave_the_index_at_the_start(store: IndexedStore, folder: Path) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    assert store.indexing.close(PATIENCE)
    store.vectors.upsert([VectorRow("stranger", "conversation", "s9", store.oracle.vector("ship"))])
    store.close()
    again = IndexedStore(folder).started()
    assert again.settle()
    assert "stranger" not in ids(again)
    again.close()


def test_after_many_new_texts_the_index_is_put_in_order_once_none_is_waiting(store: IndexedStore) -> None:
    store.add_messages("s1", TEXTS)
    assert store.settle()
    store.add_messages("s1", [f"word{at} of a long letter" for at in range(1_100)], first=len(TEXTS))
    assert store.settle()
    assert store.vectors.versions() <= 2
    assert store.vectors.count() == 1_106
