"""The scheduler: one job at a time in a lane, none in a pause, each finished once, and a fault stops no other."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain import errors
from domain.workers import CancelToken, Workers
from jobs.scheduler import JobQueue, Lane, Outcome, Scheduler
from storage.engine import Stamp
from storage.jobs import Job
from storage.repositories import Repositories

Step = Callable[[CancelToken], None]


class Pieces:
    """Steps that are handed in one after another."""

    def __init__(self, pool: Workers, log: logging.Logger) -> None:
        self._steps: list[Step] = []
        self.lane = Lane(self._next, pool, log)

    def add(self, step: Step) -> None:
        """Have this done."""
        self._steps.append(step)
        self.lane.wake()

    def _next(self, cancel: CancelToken) -> bool:
        if self._steps:
            self._steps[0](cancel)
            del self._steps[0]
        return bool(self._steps)


@pytest.fixture
def pieces(log) -> Iterator[Pieces]:
    begun = Pieces(Workers("work", 1), log)
    yield begun
    begun.lane.end(10)


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def until_cancelled(cancel: CancelToken) -> None:
    assert cancel.wait(60)
    raise errors.Interrupted


def test_nothing_runs_in_a_pause_however_close_it_begins(restless, log):
    paused, over, overlaps = threading.Event(), threading.Event(), []

    def step(cancel: CancelToken) -> bool:
        if paused.is_set():
            overlaps.append(1)
        return False

    lane = Lane(step, Workers("work", 2), log)

    def wake_again_and_again() -> None:
        while not over.is_set():
            lane.wake()

    eager = threading.Thread(target=wake_again_and_again, daemon=True)
    eager.start()
    try:
        for _ in range(500):
            with lane.paused():
                paused.set()
                paused.clear()
    finally:
        over.set()
    eager.join()
    lane.end(10)
    assert overlaps == []


def test_two_steps_of_a_lane_never_run_at_once(restless, log):
    running, most = [], []

    def step(cancel: CancelToken) -> bool:
        running.append(1)
        most.append(len(running))
        running.pop()
        return False

    lane = Lane(step, Workers("work", 4), log)
    eager = [threading.Thread(target=lambda: [lane.wake() for _ in range(200)]) for _ in range(4)]
    for one in eager:
        one.start()
    for one in eager:
        one.join()
    lane.wait()
    assert set(most) == {1}


def test_what_a_pause_cut_off_is_run_again_after_the_outermost(pieces):
    begun: list[CancelToken] = []
    under_way = threading.Event()

    def step(cancel: CancelToken) -> None:
        begun.append(cancel)
        under_way.set()
        if len(begun) == 1:
            until_cancelled(cancel)

    pieces.add(step)
    assert under_way.wait(20)
    with pieces.lane.paused():
        with pieces.lane.paused():
            assert not pieces.lane.busy
            assert len(begun) == 1
        assert not pieces.lane.busy
    pieces.lane.wait()
    assert len(begun) == 2


def test_what_is_asked_for_in_a_pause_begins_after_it_and_after_the_end_never(pieces):
    done: list[int] = []
    with pieces.lane.paused():
        pieces.add(lambda cancel: done.append(1))
        assert done == []
    pieces.lane.wait()
    assert done == [1]
    pieces.lane.end(10)
    pieces.add(lambda cancel: done.append(2))
    pieces.lane.wait()
    assert done == [1]


def test_what_takes_too_long_is_given_up(pieces):
    pieces.add(until_cancelled)
    pieces.lane.end(0)
    assert not pieces.lane.busy


def test_what_waits_for_a_thread_of_others_is_given_up_at_once_and_begins_after_the_pause(log):
    pool, held, begun = Workers("shared", 1), threading.Event(), threading.Event()
    pool.add(lambda: held.wait(20) if begun.set() is None else None)
    assert begun.wait(20)
    waiting, done = Pieces(pool, log), []
    waiting.add(lambda cancel: done.append(1))
    assert waiting.lane.busy
    with waiting.lane.paused():
        assert not waiting.lane.busy
        held.set()
    waiting.lane.wait()
    assert done == [1]


def test_many_share_a_few_threads_and_one_that_is_slow_does_not_hold_up_the_rest(log):
    pool = Workers("shared", 2)
    slow, done = Pieces(pool, log), []
    slow.add(until_cancelled)
    many = [Pieces(pool, log) for _ in range(50)]
    for one in many:
        one.add(lambda cancel: done.append(1))
    for one in many:
        one.lane.wait(20)
    assert len(done) == 50
    assert slow.lane.busy
    slow.lane.end(0)
    assert not slow.lane.busy


# -- jobs ------------------------------------------------------------------------------------------------------------


class Played:
    """A queue whose jobs do what they are told to, over a real database."""

    def __init__(self, of: Repositories, clock, log, scheduler: Scheduler | None = None) -> None:
        self.of = of
        self.ran: list[tuple[str, str]] = []
        self.does: dict[str, Callable[[Job, CancelToken], Outcome]] = {}
        self.queue = JobQueue(of.jobs, self._handle, lambda: None, scheduler or Scheduler(2), clock, log)

    def _handle(self, job: Job, cancel: CancelToken) -> tuple[Outcome, str]:
        self.ran.append((job.kind, job.key))
        does = self.does.get(job.kind)
        return (does(job, cancel) if does else "done"), "why"

    def wait(self) -> None:
        self.queue.maintenance.wait()

    def left(self) -> list[str]:
        return [str(row["kind"]) for row in self.of.database.run("SELECT kind FROM job ORDER BY priority")]


@pytest.fixture
def of(tmp_path: Path, clock, new_id, log) -> Iterator[Repositories]:
    opened = Repositories(tmp_path, str.split, Stamp(clock, new_id), log)
    yield opened
    opened.database.close()


@pytest.fixture
def played(of, clock, log) -> Iterator[Played]:
    one = Played(of, clock, log)
    yield one
    one.queue.maintenance.end(10)
    one.queue.compaction.end(10)


def test_jobs_run_in_the_order_of_their_urgency_and_leave_nothing(played):
    with played.queue.maintenance.paused():
        for kind in ("archive", "import_backlog", "extract", "autosave"):
            played.queue.request(kind)
    played.wait()
    assert [kind for kind, _ in played.ran] == ["autosave", "extract", "import_backlog", "archive"]
    assert played.left() == []


def test_a_job_that_is_asked_for_again_while_it_runs_is_run_once_more(played):
    def ask_again(job: Job, cancel: CancelToken) -> Outcome:
        if len(played.ran) == 1:
            played.of.jobs.request("extract", "s1")
        return "done"

    played.does["extract"] = ask_again
    played.queue.request("extract", "s1")
    played.wait()
    assert played.ran == [("extract", "s1")] * 2
    assert played.left() == []


def test_a_job_that_was_cut_off_is_done_by_whoever_opens_the_memory_next_and_only_once(played, of, clock, log):
    begun = threading.Event()
    played.does["chapters"] = lambda job, cancel: begun.set() or until_cancelled(cancel)  # type: ignore[func-returns-value,return-value]
    played.queue.request("chapters")
    assert begun.wait(20)
    played.queue.maintenance.end(10)
    assert played.left() == ["chapters"]
    for expected in ([("chapters", "")], []):
        again = Played(of, clock, log)
        again.queue.request_due()
        again.wait()
        assert again.ran == expected
        again.queue.maintenance.end(10)


def test_a_job_that_fails_waits_longer_each_time_and_stops_no_other(played, clock):
    played.does["extract"] = lambda job, cancel: "left"
    for waits in (60, 120, 240):
        played.queue.request("extract", "s1")
        played.queue.request("chapters")
        played.wait()
        job = played.of.jobs.find("extract", "s1")
        assert waits - 10 <= job.not_before - clock().timestamp() <= waits
        played.queue.request("extract", "s1")
        played.wait()
        clock.pass_by(seconds=waits)
    assert [kind for kind, _ in played.ran] == ["extract", "chapters"] * 3
    played.of.jobs.retry_all()
    assert played.of.jobs.find("extract", "s1").not_before == 0


def test_what_must_be_urgent_comes_between_two_parts_of_a_long_job(played):
    def one_part(job: Job, cancel: CancelToken) -> Outcome:
        if len(played.ran) == 1:
            played.of.jobs.request("extract", "s1")
        return "again" if len(played.ran) < 4 else "done"

    played.does["import_backlog"] = one_part
    played.queue.request("import_backlog")
    played.wait()
    assert [kind for kind, _ in played.ran] == ["import_backlog", "extract", "import_backlog", "import_backlog"]


def test_no_more_jobs_of_a_kind_run_at_once_than_the_limit_and_all_of_them_run(tmp_path, clock, new_id, log):
    scheduler, lock, running, most = Scheduler(4, limits={"consolidate": 2}), threading.Lock(), set(), []

    def work(job: Job, cancel: CancelToken) -> Outcome:
        with lock:
            running.add(threading.get_ident())
            most.append(len(running))
        CancelToken().wait(0.01)
        with lock:
            running.discard(threading.get_ident())
        return "done"

    town = []
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        town.append(Played(Repositories(folder, str.split, Stamp(clock, new_id), log), clock, log, scheduler))
    for one in town:
        one.does["consolidate"] = work
        one.queue.request("consolidate")
    assert all(one.queue.settle("consolidate", 20) for one in town)
    for one in town:
        one.queue.maintenance.end(10)
        one.of.database.close()
    assert max(most) == 2
    assert len(most) == 6
