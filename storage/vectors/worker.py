"""Background work that does one thing after another, and can be waited for and ended at any time.

It knows nothing of what it does: a ``step`` does one piece of work and says when to be called again. Two steps of one
worker never run at once, whoever lends the threads; a worker that ends waits for its own step and for nobody else's.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

from domain.workers import Scheduled, Workers

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
