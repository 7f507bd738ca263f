"""A bounded number of threads for the work of many: what is due is done in the order in which it became due.

    Scheduled -> queue by due time -> the next free thread

Promises: never more threads than ``most``; a thread lives only while something waits to be done, so whoever has nothing
to do costs none; what waits for its time keeps no thread from what is due. Whoever has much to do hands it in piece by
piece, and others come in between.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


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

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
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
            while self._queue and not self._watched:
                left = self._queue[0].due - time.monotonic()
                if left <= 0:
                    return self._taken()
                self._watched = True
                self._changed.wait(left)
                self._watched = False
            self._threads -= 1
            return None

    def _taken(self) -> Callable[[], None] | None:
        task = heapq.heappop(self._queue)
        work, task.work = task.work, None
        if self._queue:
            self._hire()
        return work
