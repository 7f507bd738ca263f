"""A background thread that does one thing after another, and can be waited for and ended at any time.

It knows nothing of what it does: a ``step`` does one piece of work and says when to be called again.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

#: From ``step``: call again at once; or after so many seconds; or, with None, when woken.
Again = float | None
AT_ONCE = 0.0

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
    """One daemon thread.

    A ``step`` that takes long asks ``proceed`` between its parts, and comes back when it says no.
    """

    def __init__(self, name: str, step: Callable[[], Again], log: logging.Logger) -> None:
        self._name = name
        self._step = step
        self._log = log
        #: When it was last woken from its rest.
        self.woken = 0.0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._busy = False
        self._due: float | None = AT_ONCE

    def start(self) -> None:
        """Begin; a second call does nothing."""
        with self._changed:
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._thread is not None and not self._ended

    def wake(self) -> None:
        """There is work."""
        with self._changed:
            if self._resting():
                self.woken = time.monotonic()
            self._due = AT_ONCE
            self._changed.notify_all()

    def proceed(self) -> bool:
        """For ``step``, between two pieces of its work: False when it is over."""
        return not self._ended

    def rest(self, timeout: float) -> bool:
        """Wait until all work that is to be done now is done; False when that takes longer."""
        with self._changed:
            if self._thread is None:
                return False
            return self._changed.wait_for(self._resting, timeout)

    def end(self, timeout: float) -> bool:
        """Stop after the work in hand, waiting for it so long; False when it is still at it."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
            return not thread.is_alive()
        return True

    def _resting(self) -> bool:
        return self._ended or not (self._busy or self._due == AT_ONCE)

    def _run(self) -> None:
        while self._wait():
            again = self._one_step()
            with self._changed:
                self._busy = False
                if again is not None and self._due != AT_ONCE:
                    self._due = time.monotonic() + again if again else AT_ONCE
                self._changed.notify_all()

    def _wait(self) -> bool:
        """Until there is work; False when it is over."""
        with self._changed:
            while not self._ended:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._due, self._busy = None, True
                    return True
                self._changed.wait(left)
            return False

    def _one_step(self) -> Again:
        """A step that fails never ends the thread: it is tried again later."""
        try:
            return self._step()
        except Exception:
            if not self._ended:
                self._log.exception("%s: a step failed", self._name)
            return _AFTER_A_FAULT
