"""A few threads for the work of many: all of it is done, none of it at the cost of others, and idle threads go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from domain.workers import Workers

PATIENCE = 120.0


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


def threads_of(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def test_all_is_done_by_no_more_threads_than_there_may_be() -> None:
    workers, done, most, busy = Workers("of-many", 3), [], [], []

    def work() -> None:
        busy.append(1)
        most.append(len(busy))
        time.sleep(0.001)
        busy.pop()
        done.append(1)

    for number in range(200):
        workers.add(work, after=0.001 * (number % 5))
    until(lambda: len(done) == 200)
    assert max(most) <= 3


def test_whoever_has_nothing_to_do_costs_no_thread() -> None:
    workers, done = Workers("idle", 2), threading.Event()
    assert threads_of("idle") == 0
    workers.add(done.set)
    assert done.wait(PATIENCE)
    until(lambda: threads_of("idle") == 0)


def test_one_thread_stays_for_a_while_where_that_is_wished_and_takes_what_comes() -> None:
    workers, done = Workers("lingering", 2, linger=PATIENCE), []
    for number in range(5):
        workers.add(lambda: done.append(threading.get_ident()))
        until(lambda number=number: len(done) == number + 1)
        until(lambda: threads_of("lingering") == 1)
    assert len(set(done)) == 1
    short = Workers("short", 2, linger=0.01)
    short.add(lambda: None)
    until(lambda: threads_of("short") == 0)


def test_what_waits_for_its_time_keeps_one_thread_and_no_work() -> None:
    workers, done = Workers("waiting", 1), threading.Event()
    later = [workers.add(lambda: None, after=3_600) for _ in range(5)]
    assert threads_of("waiting") == 1
    workers.add(done.set)
    assert done.wait(PATIENCE)
    assert all(workers.cancel(task) for task in later)
    until(lambda: threads_of("waiting") == 0)


def test_what_is_due_first_is_done_first() -> None:
    workers, done = Workers("order", 1), []
    held = threading.Event()
    workers.add(lambda: held.wait(PATIENCE) and None)
    for number, after in enumerate((0.3, 0.1, 0.2)):
        workers.add(lambda number=number: done.append(number), after=after)  # type: ignore[misc]
    workers.add(lambda: done.append(3))
    held.set()
    until(lambda: len(done) == 4)
    assert done == [3, 1, 2, 0]


def test_what_was_called_off_is_never_done_and_what_began_cannot_be() -> None:
    workers, done = Workers("off", 1), []
    begun, held = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        held.wait(PATIENCE)
        done.append("first")

    first, second = workers.add(work), workers.add(lambda: done.append("second"))
    assert begun.wait(PATIENCE)
    assert not workers.cancel(first)
    assert workers.cancel(second)
    assert not workers.cancel(second)
    held.set()
    until(lambda: threads_of("off") == 0)
    assert done == ["first"]
