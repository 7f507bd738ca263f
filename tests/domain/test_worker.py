"""Workers that share threads: each keeps its own order and its own end, and none holds up the others."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from domain.workers import AT_ONCE, Again, Worker, Workers
from storage.vectors.indexing import Indexing
from tests.domain.test_workers import PATIENCE, threads_of, until
from tests.storage.vectors.indexed import DELAYS, IndexedStore


class Counted:
    """A step that does so many pieces of work each time that it is woken."""

    def __init__(self, pieces: int, workers: Workers, log) -> None:
        self.pieces = self.left = pieces
        self.done = self.inside = self.most_inside = 0
        self.worker = Worker("counted", self.step, log, workers)

    def step(self) -> Again:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.done += 1
        self.left -= 1
        self.inside -= 1
        return AT_ONCE if self.left > 0 else None


def test_two_hundred_workers_share_four_threads_and_each_does_one_thing_at_a_time(log) -> None:
    workers = Workers("four", 4)
    many = [Counted(5, workers, log) for _ in range(200)]
    for one in many:
        one.worker.start()
    assert threads_of("four") <= 4
    assert all(one.worker.rest(PATIENCE) for one in many)
    assert {(one.done, one.most_inside) for one in many} == {(5, 1)}
    until(lambda: threads_of("four") == 0)


def test_one_that_always_has_work_lets_the_others_have_their_turn(log) -> None:
    workers = Workers("one", 1)
    restless = Worker("restless", lambda: AT_ONCE, log, workers)
    restless.start()
    other = Counted(3, workers, log)
    other.worker.start()
    assert other.worker.rest(PATIENCE)
    assert other.done == 3
    assert restless.end(PATIENCE)


def test_one_that_is_slow_holds_up_neither_the_others_nor_their_end(log) -> None:
    workers, held, begun = Workers("two", 2), threading.Event(), threading.Event()

    def slow() -> Again:
        begun.set()
        held.wait(PATIENCE)
        return None

    slow_one = Worker("slow", slow, log, workers)
    slow_one.start()
    assert begun.wait(PATIENCE)
    others = [Counted(2, workers, log) for _ in range(20)]
    for one in others:
        one.worker.start()
    assert all(one.worker.rest(PATIENCE) and one.worker.end(0.0) for one in others)
    assert not slow_one.end(0.0)
    held.set()
    assert slow_one.end(PATIENCE)


def test_one_that_still_waits_for_a_thread_ends_at_once(log) -> None:
    workers, held, begun = Workers("taken", 1), threading.Event(), threading.Event()
    workers.add(lambda: held.wait(PATIENCE) if begun.set() is None else None)
    assert begun.wait(PATIENCE)
    waiting = Counted(1, workers, log)
    waiting.worker.start()
    assert not waiting.worker.rest(0.01)
    assert waiting.worker.end(0.0)
    held.set()
    until(lambda: threads_of("taken") == 0)
    assert waiting.done == 0


def test_a_wake_in_the_middle_of_a_step_is_not_lost(log) -> None:
    workers, steps = Workers("woken", 2), []

    def step() -> Again:
        steps.append(1)
        if len(steps) == 1:
            worker.wake()
        return None

    worker = Worker("woken", step, log, workers)
    worker.start()
    assert worker.rest(PATIENCE)
    assert len(steps) == 2
    assert worker.end(PATIENCE)


@pytest.fixture
def stores(tmp_path: Path) -> list[IndexedStore]:
    workers, made = Workers("shared-index", 2), []
    for number in range(12):
        (tmp_path / str(number)).mkdir()
        one = IndexedStore(tmp_path / str(number))
        one.indexing = Indexing(one.embeddings, one.vectors, one.pending, one.log, delays=DELAYS, workers=workers)
        one.add_session("s1")
        made.append(one)
    return made


def test_one_slow_embedding_model_does_not_hold_up_the_indexes_of_the_others(stores) -> None:
    held = threading.Event()
    stores[0].oracle.before_answer = lambda: held.wait(PATIENCE) and None
    stores[0].add_messages("s1", ["the slow one"])
    stores[0].started()
    for one in stores[1:]:
        one.add_messages("s1", [f"of store {one.folder.name}", "a reply"])
        one.started()
    assert all(one.settle() for one in stores[1:])
    assert threads_of("shared-index") <= 2
    for one in stores[1:]:
        assert [hit.text_id for hit in one.search(f"of store {one.folder.name}", 1)] == ["s1-0"]
        one.close()
    held.set()
    assert stores[0].settle()
    stores[0].close()


def test_a_first_step_comes_before_the_later_ones_of_others(log) -> None:
    workers, order = Workers("first", 1), []
    held, begun = threading.Event(), threading.Event()
    workers.add(lambda: held.wait(PATIENCE) if begun.set() is None else None)
    assert begun.wait(PATIENCE)
    for number in range(5):
        workers.add(lambda number=number: order.append(number))  # type: ignore[misc]
    opening = Worker("opening", lambda: order.append("opening"), log, workers)  # type: ignore[func-returns-value]
    opening.start()
    held.set()
    assert opening.rest(PATIENCE)
    until(lambda: len(order) == 6)
    assert order[0] == "opening"
