"""The scheduler: work that must happen later, in a fixed pool of threads.

    request -> a row of the table ``job`` -> the next free thread -> its handler -> removed, or postponed

Guarantees: of several programs one does a job, and another takes it over when that one has ended; two jobs of one lane
of a memory never run at once; none begins during a pause, and what a pause cut off is run again after it; a job is
removed only when its handler has ended and no one asked for it again meanwhile, so a job that is killed anywhere is
finished by whoever opens the memory next; a job that failed is postponed and stops no other. After each job its thread
is free for the jobs of other memories.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from domain import errors
from domain.workers import CancelToken, Scheduled, Workers
from storage.jobs import Job, JobKind, Jobs

#: What became of a job: ``again`` runs it once more behind more urgent ones, ``left`` later.
Outcome = Literal["done", "again", "left"]

#: What the next turn waits for, and all the rest.
_AWAITED: tuple[JobKind, ...] = ("forget_request", "compact")
_MAINTENANCE: tuple[JobKind, ...] = tuple(kind for kind in get_args(JobKind) if kind not in _AWAITED)

#: Seconds that work which is given up has for coming to its end.
_GRACE = 1.0
#: Seconds until a job that failed is tried again, doubled with each failure, and at most.
_FIRST_RETRY, _LAST_RETRY = 60.0, 3600.0
#: Seconds between two looks at what whoever waits for a job waits for.
_LOOK = 0.02


class Scheduler:
    """The threads for the jobs of all memories of a process, and how many jobs of a kind may run at once."""

    def __init__(self, most: int, linger: float = 0.0, limits: Mapping[JobKind, int] | None = None) -> None:
        self.pool = Workers("old-friend-work", most, linger)
        self._limits = limits or {}
        self._lock = threading.Lock()
        self._running: Counter[JobKind] = Counter()
        self._waiting: dict[JobKind, list[Callable[[], None]]] = defaultdict(list)

    def begin(self, kind: JobKind, wake: Callable[[], None]) -> bool:
        """Whether one more job of this kind may run; where not, ``wake`` is called as soon as one has ended."""
        with self._lock:
            if self._running[kind] >= self._limits.get(kind, self._running[kind] + 1):
                self._waiting[kind].append(wake)
                return False
            self._running[kind] += 1
            return True

    def end(self, kind: JobKind) -> None:
        """A job of this kind has ended."""
        with self._lock:
            self._running[kind] -= 1
            waiting = self._waiting.pop(kind, [])
        for wake in waiting:
            wake()


class Lane:
    """Runs one step after another in threads of a pool, until there is nothing more to do.

    >>> lane = Lane(step, pool, log)
    >>> lane.wake()
    >>> with lane.paused(): ...
    """

    def __init__(self, step: Callable[[CancelToken], bool], pool: Workers, log: logging.Logger) -> None:
        """``step`` does one piece of work and returns whether there may be more; cancelled, it raises Interrupted."""
        self._step = step
        self._pool = pool
        self._log = log
        self._lock = threading.Lock()
        self._pauses = 0
        self._wanted = False
        self._cancel = CancelToken()
        self._task: Scheduled | None = None
        #: Set while no step runs or waits for a thread.
        self.idle = threading.Event()
        self.idle.set()

    @property
    def busy(self) -> bool:
        """Whether a step runs, or waits for a thread."""
        return not self.idle.is_set()

    def wake(self) -> None:
        """There is work; during a pause it begins when that is over."""
        with self._lock:
            self._wanted = True
            if not self.busy:
                self._start_step()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing runs meanwhile; a step that was under way is cancelled and run again afterwards."""
        with self._lock:
            self._pauses += 1
        try:
            self._give_up(None)
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if not self.busy:
                    self._start_step()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until there is nothing more to do; what takes longer than ``timeout`` seconds is given up."""
        if not self.idle.wait(timeout):
            self._give_up(_GRACE)

    def end(self, timeout: float) -> None:
        """The same, and nothing begins any more."""
        with self._lock:
            self._pauses += 1
        self.wait(timeout)

    def _start_step(self) -> None:
        """Give the next step to the pool, if one is wanted and may run. Call with the lock."""
        if not self._wanted or self._pauses:
            self.idle.set()
            return
        self._wanted, self._cancel = False, CancelToken()
        self.idle.clear()
        self._task = self._pool.add(self._run_step)

    def _run_step(self) -> None:
        more = False
        try:
            more = self._step(self._cancel)
        except errors.Interrupted:
            more = True
        except Exception as fault:
            more = self._cancel.is_set  # it was given up, and perhaps the memory was closed under it
            if not more:  # what cannot be stored in the database must at least reach the log
                self._log.error("the scheduler failed", exc_info=fault)
        with self._lock:
            self._wanted = self._wanted or more
            self._start_step()

    def _give_up(self, timeout: float | None) -> None:
        with self._lock:
            self._cancel.set()
            if self._task and self._pool.cancel(self._task):
                self._wanted = True
                self.idle.set()
        self.idle.wait(timeout)


@dataclass
class JobQueue:
    """The jobs of one memory. Compaction and the reading of forget requests have a lane of their own, since the next
    turn waits for them.

    ``handle`` does a job; ``plan`` requests what is due, when that was asked for.
    """

    jobs: Jobs
    handle: Callable[[Job, CancelToken], tuple[Outcome, str]]
    plan: Callable[[], None]
    scheduler: Scheduler
    clock: Callable[[], datetime]
    log: logging.Logger
    compaction: Lane = field(init=False)
    maintenance: Lane = field(init=False)

    def __post_init__(self) -> None:
        pool = self.scheduler.pool
        self.compaction = Lane(self._run_compaction, pool, self.log)
        self.maintenance = Lane(self._run_maintenance, pool, self.log)
        self._plan_wanted = False
        #: The job that runs in each lane; a lane whose job waits for others of its kind is parked.
        self._current: dict[Lane, Job] = {}
        self._parked = False

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits for its turn."""
        return self.compaction.busy or self.maintenance.busy or self._parked

    def request(self, kind: JobKind, key: str = "", payload: str = "", *, at_once: bool = False) -> None:
        """Have a job done soon; durable when this returns."""
        self.jobs.request(kind, key, payload, at_once=at_once)
        self.lane_of(kind).wake()

    def request_due(self) -> None:
        """Look for everything that is due, and do it."""
        self._plan_wanted = True
        self.compaction.wake()
        self.maintenance.wake()

    def run_now(self, kind: JobKind, key: str, payload: str = "", *, at_once: bool = False) -> None:
        """Do a job in the thread that calls; one that failed just before only ``at_once``."""
        lane = self.lane_of(kind)
        if kind in _AWAITED:
            lane.wait()
        with lane.paused():
            self.jobs.request(kind, key, payload, at_once=at_once)
            job = self.jobs.find(kind, key)
            if job and job.not_before <= self._timestamp() and self.jobs.claim(job):
                self._run_job(job, CancelToken())

    def settle(self, kind: JobKind, timeout: float) -> bool:
        """Wait until no job of a kind runs or is to be run now; false when that takes longer."""
        ended = threading.Event()
        left = timeout
        while self._is_pending(kind):
            if left <= 0:
                return False
            ended.wait(min(left, _LOOK))
            left -= _LOOK
        return True

    def lane_of(self, kind: JobKind) -> Lane:
        """Where the jobs of a kind run."""
        return self.compaction if kind in _AWAITED else self.maintenance

    def _is_pending(self, kind: JobKind) -> bool:
        current = self._current.get(self.lane_of(kind))
        return bool(current and current.kind == kind) or self.jobs.next([kind], self._timestamp()) is not None

    def _run_compaction(self, cancel: CancelToken) -> bool:
        return self._run_next(_AWAITED, self.compaction, cancel)

    def _run_maintenance(self, cancel: CancelToken) -> bool:
        if self._plan_wanted:
            self._plan_wanted = False
            self.plan()
        return self._run_next(_MAINTENANCE, self.maintenance, cancel)

    def _run_next(self, kinds: Collection[JobKind], lane: Lane, cancel: CancelToken) -> bool:
        cancel.check()
        job = self.jobs.next(kinds, self._timestamp())
        self._parked = job is not None and not self.scheduler.begin(job.kind, lane.wake)
        if job is None or self._parked:
            return False
        self._current[lane] = job
        try:
            if self.jobs.claim(job):
                self._run_job(job, cancel)
        finally:
            del self._current[lane]
            self.scheduler.end(job.kind)
        return True

    def _run_job(self, job: Job, cancel: CancelToken) -> None:
        outcome, reason = self.handle(job, cancel)
        if outcome == "done":
            self.jobs.finish(job)
        elif outcome == "left":
            cancel.check()
            delay = min(_LAST_RETRY, _FIRST_RETRY * 2 ** min(job.attempts, 10))
            self.jobs.postpone(job, reason, self._timestamp() + delay)

    def _timestamp(self) -> float:
        return self.clock().timestamp()
