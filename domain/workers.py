"""A bounded thread pool for many workers, which runs tasks in the order in which they become due.

    Scheduled -> queue by due time -> the next free thread

Guarantees: never more than ``most`` threads; threads exist only while tasks are waiting (one may linger), so idle
workers cost none; a task scheduled for later does not block one that is due.

A ``Worker`` runs one step after another on such a pool, so that long work takes turns with other work. Two steps of
one worker never run at once; ending a worker waits for its own step only.

A ``CancelToken`` tells running work, in any thread, that the person wants to stop it.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from domain.errors import Interrupted

#: Seconds between two looks whether a task still runs.
_LOOK = 0.01


@dataclass(order=True)
class Scheduled:
    """A task and when it is due, by the monotonic clock; it runs once."""

    due: float
    number: int
    work: Callable[[], None] | None = field(compare=False)


class Workers:
    """A pool of threads started on demand. Tasks must not raise.

    >>> workers = Workers("index", most=4)
    >>> workers.cancel(workers.add(print, after=1.5))
    True
    """

    def __init__(self, name: str, most: int, linger: float = 0.0) -> None:
        """``linger``: seconds that one thread waits for more tasks, since starting one is as slow as a short task."""
        self._name = name
        self._most = most
        self._linger = linger
        self._changed = threading.Condition()
        self._queue: list[Scheduled] = []
        self._numbers = itertools.count()
        #: How many threads there are, and whether one of them waits for the next task to become due.
        self._threads, self._watched = 0, False

    def add(self, work: Callable[[], None], after: float = 0.0) -> Scheduled:
        """Run this in a thread after so many seconds; if negative, before other due tasks."""
        with self._changed:
            task = Scheduled(time.monotonic() + after, next(self._numbers), work)
            heapq.heappush(self._queue, task)
            self._need_thread()
            return task

    def cancel(self, task: Scheduled) -> bool:
        """Cancel a task; False if it has already started."""
        with self._changed:
            waiting = task.work is not None
            task.work = None
            if waiting:
                self._queue = [one for one in self._queue if one is not task]
                heapq.heapify(self._queue)
                self._changed.notify()
            return waiting

    def finish(self, timeout: float) -> bool:
        """Wait until no task runs; tasks that still wait are not waited for. False if that takes too long."""
        until = time.monotonic() + timeout
        while self._threads > self._watched and time.monotonic() < until:
            time.sleep(_LOOK)
        return self._threads <= self._watched

    def _need_thread(self) -> None:
        """Wake or start a thread, unless all are busy; the caller has the lock."""
        if self._watched:
            self._changed.notify()
        elif self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._run_tasks, name=self._name, daemon=True).start()

    def _run_tasks(self) -> None:
        while (work := self._next_work()) is not None:
            work()

    def _next_work(self) -> Callable[[], None] | None:
        """The next task, once it is due; None when this thread is not needed."""
        with self._changed:
            idle_until = time.monotonic() + self._linger
            while not self._watched and (left := self._seconds_left(idle_until)) is not None:
                if left <= 0:
                    return self._take_first()
                self._watched = True
                self._changed.wait(left)
                self._watched = False
            self._threads -= 1
            return None

    def _seconds_left(self, idle_until: float) -> float | None:
        """Seconds until the next task is due or the thread stops lingering; None when there is nothing to wait for."""
        now = time.monotonic()
        if self._queue:
            return self._queue[0].due - now
        return idle_until - now if idle_until > now else None

    def _take_first(self) -> Callable[[], None] | None:
        task = heapq.heappop(self._queue)
        work, task.work = task.work, None
        if self._queue:
            self._need_thread()
        return work


#: Returned by ``step``: call again after so many seconds, or with None when woken.
Again = float | None
AT_ONCE = 0.0

#: The first step is due before all other tasks.
_FIRST = -1.0
_AFTER_A_FAULT = 30.0


class Backoff:
    """When something that failed may be tried again."""

    def __init__(self, delays: Sequence[float]) -> None:
        self._delays = delays
        self._until = 0.0
        self.failures = 0

    def add_failure(self) -> None:
        """Record a failure, and wait longer each time."""
        delay = self._delays[min(self.failures, len(self._delays) - 1)]
        self.failures += 1
        self._until = time.monotonic() + delay

    def give_up(self) -> None:
        """No later try can succeed: none is made until ``reset_failures``."""
        self.failures += 1
        self._until = math.inf

    def reset_failures(self) -> None:
        """Record a success."""
        self.failures, self._until = 0, 0.0

    def seconds_left(self) -> float:
        """Seconds to wait; 0 when it may be tried now, infinite when never."""
        return max(0.0, self._until - time.monotonic())


class Worker:
    """Runs one step after another in threads of ``workers``, or in a thread of its own.

    A long ``step`` checks ``proceed`` between its parts and returns when it is False. Other workers of the pool run
    between two steps.
    """

    def __init__(
        self, name: str, step: Callable[[], Again], log: logging.Logger, workers: Workers | None = None
    ) -> None:
        self._name = name
        self._step = step
        self._log = log
        self._workers = workers or Workers(name, 1)
        #: When it was last woken from its rest.
        self.woken = 0.0
        self._changed = threading.Condition()
        self._task: Scheduled | None = None
        self._thread: threading.Thread | None = None
        self._started = self._ended = False
        self._due = _FIRST

    def start(self) -> None:
        """Start; a second call does nothing."""
        with self._changed:
            if not self._started and not self._ended:
                self._started = True
                self._schedule()

    @property
    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._started and not self._ended

    def wake(self) -> None:
        """Run the next step now."""
        with self._changed:
            if self._is_resting():
                self.woken = time.monotonic()
            if self._due > AT_ONCE:
                self._due = AT_ONCE
                self._schedule()

    def proceed(self) -> bool:
        """For ``step``: False when it should return."""
        return not self._ended

    def rest(self, timeout: float) -> bool:
        """Wait until all due work is done; False if that takes longer than ``timeout``."""
        with self._changed:
            if not self._started:
                return False
            return self._changed.wait_for(self._is_resting, timeout)

    def end(self, timeout: float) -> bool:
        """Stop after the current step, waiting for it; False if it is still running after ``timeout``."""
        with self._changed:
            self._ended = True
            self._schedule()
            self._changed.notify_all()
            if self._thread is threading.current_thread():
                return True
            return self._changed.wait_for(lambda: self._thread is None, timeout)

    def _is_resting(self) -> bool:
        return self._ended or (self._thread is None and self._due > AT_ONCE)

    def _schedule(self) -> None:
        """Schedule the next step, unless one is running, which does so itself; the caller has the lock."""
        self._cancel_scheduled()
        if self._started and not self._ended and self._thread is None and self._due < math.inf:
            delay = -math.inf if self._due == _FIRST else max(0.0, self._due - time.monotonic())
            self._task = self._workers.add(self._run_step, delay)

    def _cancel_scheduled(self) -> None:
        if self._task:
            self._workers.cancel(self._task)
            self._task = None

    def _run_step(self) -> None:
        with self._changed:
            if self._ended or self._thread:
                return
            self._cancel_scheduled()
            self._due, self._thread = math.inf, threading.current_thread()
        again: Again = _AFTER_A_FAULT
        try:
            again = self._step()
        except Exception:
            if not self._ended:
                self._log.exception("%s: a step failed", self._name)
        with self._changed:
            self._thread = None
            if again is not None and self._due > AT_ONCE:
                self._due = time.monotonic() + again if again else AT_ONCE
            self._schedule()
            self._changed.notify_all()


class CancelToken:
    """Set on Ctrl-C; checked by running work, and wakes waiting work.

    Without locks: a signal handler may set it in the very thread that checks it or waits for it.

    >>> stop = CancelToken()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        #: Whether the person asked to stop.
        self.is_set = False
        self._callbacks: list[Callable[[], object]] = []

    def set(self) -> None:
        """Ask to stop. Safe in a signal handler and in any thread."""
        self.is_set = True
        for callback in tuple(self._callbacks):
            callback()

    def derive(self) -> CancelToken:
        """Another one that is set with this one, which keeps it; for one part of the work, to be stopped alone."""
        part = CancelToken()
        self._callbacks.append(part.set)
        if self.is_set:
            part.set()
        return part

    def check(self) -> None:
        """Raise Interrupted when the person asked to stop."""
        if self.is_set:
            raise Interrupted

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds``; True if it was set."""
        woken: SimpleQueue[None] = SimpleQueue()
        with self.calling(lambda: woken.put(None)), suppress(Empty):
            woken.get(timeout=max(0.0, seconds))
        return self.is_set

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call ``callback`` when this is set, or at once if it is set already.

        It runs in the thread or signal handler that sets this, perhaps twice: it must be quick and take no lock.
        """
        self._callbacks.append(callback)
        try:
            if self.is_set:
                callback()
            yield
        finally:
            self._callbacks.remove(callback)
