"""A bounded number of threads for the work of many: what is due is done in the order in which it became due.

    Scheduled -> queue by due time -> the next free thread

Promises: never more threads than ``most``; a thread lives only while something waits to be done, and one of them a
while longer where that is wished, so whoever has nothing to do costs none; what waits for its time keeps no thread from
what is due. Whoever has much to do hands it in piece by
piece, and others come in between.

A ``Worker`` does so: one step after another, of which it knows nothing but when the next one is due. Two steps of one
worker never run at once, whoever lends the threads; a worker that ends waits for its own step and for nobody else's.

A ``Stop`` tells work that is under way, in whatever thread, that the person wants it to end.
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


@dataclass(order=True)
class Scheduled:
    """A piece of work and when it is due, by the monotonic clock; in one thread, once."""

    due: float
    number: int
    work: Callable[[], None] | None = field(compare=False)


class Workers:
    """Threads that come when they are needed. What is handed in must not raise.

    >>> workers = Workers("index", most=4)
    >>> task = workers.add(work, after=1.5)
    >>> workers.cancel(task)
    True
    """

    def __init__(self, name: str, most: int, linger: float = 0.0) -> None:
        """``linger``: seconds that one thread waits for more to do. To begin one costs as much as a short piece."""
        self._name = name
        self._most = most
        self._linger = linger
        self._changed = threading.Condition()
        self._queue: list[Scheduled] = []
        self._numbers = itertools.count()
        #: How many threads there are, and whether one of them waits for the next task to become due.
        self._threads, self._watched = 0, False

    def add(self, work: Callable[[], None], after: float = 0.0) -> Scheduled:
        """Do this in a thread, after so many seconds; with fewer than none, before what is due by now."""
        with self._changed:
            task = Scheduled(time.monotonic() + after, next(self._numbers), work)
            heapq.heappush(self._queue, task)
            self._hire()
            return task

    def cancel(self, task: Scheduled) -> bool:
        """Whether it had not begun; then it never will."""
        with self._changed:
            waiting = task.work is not None
            task.work = None
            if waiting:
                self._queue = [one for one in self._queue if one is not task]
                heapq.heapify(self._queue)
                self._changed.notify()
            return waiting

    def _hire(self) -> None:
        """Let somebody look at the queue, as long as there are threads to be had; the lock is held."""
        if self._watched:
            self._changed.notify()
        elif self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Callable[[], None] | None:
        """What is due, as soon as something is; None when this thread is not needed."""
        with self._changed:
            idle_until = time.monotonic() + self._linger
            while not self._watched and (left := self._left(idle_until)) is not None:
                if left <= 0:
                    return self._taken()
                self._watched = True
                self._changed.wait(left)
                self._watched = False
            self._threads -= 1
            return None

    def _left(self, idle_until: float) -> float | None:
        """Seconds until there is something to do or to stop waiting for; None when there is nothing to wait for."""
        now = time.monotonic()
        if self._queue:
            return self._queue[0].due - now
        return idle_until - now if idle_until > now else None

    def _taken(self) -> Callable[[], None] | None:
        task = heapq.heappop(self._queue)
        work, task.work = task.work, None
        if self._queue:
            self._hire()
        return work


#: From ``step``: call again at once; or after so many seconds; or, with None, when woken.
Again = float | None
AT_ONCE = 0.0

#: When the first step is due: before everything else that others wait for.
_FIRST = -1.0
_AFTER_A_FAULT = 30.0


class Backoff:
    """When something that failed may be tried again."""

    def __init__(self, delays: Sequence[float]) -> None:
        self._delays = delays
        self._until = 0.0
        self.failures = 0

    def failed(self) -> None:
        """Wait longer each time."""
        delay = self._delays[min(self.failures, len(self._delays) - 1)]
        self.failures += 1
        self._until = time.monotonic() + delay

    def give_up(self) -> None:
        """No later try can succeed: none is made until ``worked``."""
        self.failures += 1
        self._until = math.inf

    def worked(self) -> None:
        """All is well again."""
        self.failures, self._until = 0, 0.0

    def left(self) -> float:
        """Seconds to wait; 0 when it may be tried now, infinite when never."""
        return max(0.0, self._until - time.monotonic())


class Worker:
    """Does one step after another, in threads of ``workers``; without them in one of its own.

    A ``step`` that takes long asks ``proceed`` between its parts, and comes back when it says no. Between two steps
    others who share the threads have their turn.
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
        self._due: float | None = _FIRST

    def start(self) -> None:
        """Begin; a second call does nothing."""
        with self._changed:
            if not self._started and not self._ended:
                self._started = True
                self._schedule()

    @property
    def alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._started and not self._ended

    def wake(self) -> None:
        """There is work."""
        with self._changed:
            if self._resting():
                self.woken = time.monotonic()
            if not self._at_once():
                self._due = AT_ONCE
                self._schedule()

    def proceed(self) -> bool:
        """For ``step``, between two pieces of its work: False when it is over."""
        return not self._ended

    def rest(self, timeout: float) -> bool:
        """Wait until all work that is to be done now is done; False when that takes longer."""
        with self._changed:
            if not self._started:
                return False
            return self._changed.wait_for(self._resting, timeout)

    def end(self, timeout: float) -> bool:
        """Stop after the work in hand, waiting for it so long; False when it is still at it."""
        with self._changed:
            self._ended = True
            self._schedule()
            self._changed.notify_all()
            if self._thread is threading.current_thread():
                return True
            return self._changed.wait_for(lambda: self._thread is None, timeout)

    def _resting(self) -> bool:
        return self._ended or not (self._thread or self._at_once())

    def _at_once(self) -> bool:
        return self._due is not None and self._due <= AT_ONCE

    def _schedule(self) -> None:
        """Have the next step done when it is due; the lock is held. A step under way sees to the next itself."""
        self._unschedule()
        if self.alive and self._thread is None and self._due is not None:
            self._task = self._workers.add(self._run, self._after(self._due))

    @staticmethod
    def _after(due: float) -> float:
        return -math.inf if due == _FIRST else max(0.0, due - time.monotonic())

    def _unschedule(self) -> None:
        if self._task:
            self._workers.cancel(self._task)
            self._task = None

    def _run(self) -> None:
        with self._changed:
            if self._ended or self._thread:
                return
            self._unschedule()
            self._due, self._thread = None, threading.current_thread()
        again = self._one_step()
        with self._changed:
            self._thread = None
            if again is not None and not self._at_once():
                self._due = time.monotonic() + again if again else AT_ONCE
            self._schedule()
            self._changed.notify_all()

    def _one_step(self) -> Again:
        """A step that fails ends nothing: it is tried again later."""
        try:
            return self._step()
        except Exception:
            if not self._ended:
                self._log.exception("%s: a step failed", self._name)
            return _AFTER_A_FAULT


class Stop:
    """Set by whoever hears Ctrl-C; looked at by whoever works, and heard by whoever waits.

    Without locks: a signal handler may set it in the very thread that looks at it or waits for it.

    >>> stop = Stop()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        self._is_set = False
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_set(self) -> bool:
        """Whether the person asked to stop."""
        return self._is_set

    def set(self) -> None:
        """Ask to stop. Safe in a signal handler and in any thread."""
        self._is_set = True
        for callback in tuple(self._callbacks):
            callback()

    def clear(self) -> None:
        """Forget an earlier wish to stop, before new work."""
        self._is_set = False

    def check(self) -> None:
        """Raise Interrupted when the person asked to stop."""
        if self._is_set:
            raise Interrupted

    def wait(self, seconds: float) -> bool:
        """Wait for the wish to stop, ``seconds`` at the most; true when it came."""
        woken: SimpleQueue[None] = SimpleQueue()
        with self.calling(lambda: woken.put(None)), suppress(Empty):
            woken.get(timeout=max(0.0, seconds))
        return self._is_set

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Meanwhile ``callback`` is called when the wish to stop comes, at once where it came before.

        It runs in the thread, or the signal handler, that sets this, perhaps twice: it must be quick and take no lock.
        """
        self._callbacks.append(callback)
        try:
            if self._is_set:
                callback()
            yield
        finally:
            self._callbacks.remove(callback)
