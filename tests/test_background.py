"""Work in the background: one piece at a time, none in a pause, and a fault that is told and ends nothing else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from domain import errors
from domain.workers import Stop, Workers
from jobs.background import Background


@pytest.fixture
def background(log) -> Iterator[Background]:
    begun = Background("work", "fold.failed", log)
    yield begun
    begun.end(10)


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def until_stopped(stop: Stop) -> None:
    assert stop.wait(60)
    raise errors.Interrupted


def test_nothing_runs_in_a_pause_however_close_it_begins(background, restless):
    paused, over, overlaps = threading.Event(), threading.Event(), []

    def work(stop: Stop) -> None:
        if paused.is_set():
            overlaps.append(1)

    def begin_again_and_again() -> None:
        while not over.is_set():
            background.begin(work)

    eager = threading.Thread(target=begin_again_and_again, daemon=True)
    eager.start()
    try:
        for _ in range(500):
            with background.paused():
                paused.set()
                paused.clear()
    finally:
        over.set()
    eager.join()
    assert overlaps == []


def test_two_pieces_never_run_at_once(background, restless):
    running, most = [], []

    def work(stop: Stop) -> None:
        running.append(1)
        most.append(len(running))
        running.pop()

    def begin() -> None:
        for _ in range(200):
            background.begin(work)

    eager = [threading.Thread(target=begin) for _ in range(4)]
    for one in eager:
        one.start()
    for one in eager:
        one.join()
    background.wait()
    assert set(most) == {1}


def test_what_a_pause_cut_off_is_begun_again_after_the_outermost(background):
    begun: list[Stop] = []
    under_way = threading.Event()

    def work(stop: Stop) -> None:
        begun.append(stop)
        under_way.set()
        if len(begun) == 1:
            until_stopped(stop)

    background.begin(work)
    assert under_way.wait(20)
    with background.paused():
        with background.paused():
            assert not background.busy
            assert len(begun) == 1
        assert not background.busy
    background.wait()
    assert len(begun) == 2
    assert background.notices == []


def test_what_is_called_for_in_a_pause_begins_after_it_and_after_the_end_never(background):
    done: list[int] = []
    with background.paused():
        background.begin(lambda stop: done.append(1))
        assert done == []
    background.wait()
    assert done == [1]
    background.end(10)
    background.begin(lambda stop: done.append(2))
    background.wait()
    assert done == [1]


def test_what_takes_too_long_is_given_up(background):
    background.begin(until_stopped)
    background.wait(0)
    assert not background.busy


@pytest.mark.parametrize("fault", [errors.DiskFull(), ZeroDivisionError()], ids=["ours", "any"])
def test_a_fault_is_told_once_and_ends_nothing_else(background, fault):
    def fail(stop: Stop) -> None:
        raise fault

    background.begin(fail)
    background.wait()
    (told,) = background.notices
    assert told.key == "fold.failed"
    assert str(told.details["error"])
    done: list[int] = []
    background.begin(lambda stop: done.append(1))
    background.wait()
    assert done == [1]


def test_what_waits_for_a_thread_of_others_is_given_up_at_once_and_begun_again_after_the_pause(log):
    workers, held, begun = Workers("shared", 1), threading.Event(), threading.Event()
    workers.add(lambda: held.wait(20) if begun.set() is None else None)
    assert begun.wait(20)
    waiting, done = Background("work", "fold.failed", log, workers), []
    waiting.begin(lambda stop: done.append(1))
    assert waiting.busy
    with waiting.paused():
        assert not waiting.busy
        held.set()
    waiting.wait()
    assert done == [1]


def test_many_share_a_few_threads_and_one_that_is_slow_does_not_hold_up_the_rest(log):
    workers = Workers("shared", 2)
    slow, done = Background("slow", "fold.failed", log, workers), []
    slow.begin(until_stopped)
    many = [Background("work", "fold.failed", log, workers) for _ in range(50)]
    for one in many:
        one.begin(lambda stop: done.append(1))
    for one in many:
        one.wait(20)
    assert len(done) == 50
    assert slow.busy
    slow.end(0)
    assert not slow.busy
