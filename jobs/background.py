"""Work in the background: one piece at a time, in a thread that many may share, and what it has to tell.

Promises: two pieces of one background never run at once; nothing begins while there is a pause, however close the two
come, and what the pause cut off or held up begins when it is over; what still waits for a thread is given up at once; a
fault reaches the log and the person and ends nothing else.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from domain import errors
from domain.events import Notice
from domain.workers import Scheduled, Stop, Workers

#: One piece of work. It ends with Interrupted, soon after its wish to stop is set, and can be done again from there.
Work = Callable[[Stop], None]

#: Seconds that work which is given up has for coming to its end.
_GRACE = 1.0


class Background:
    """One piece at a time, in a thread of ``workers``; without them in one of its own.

    >>> background = Background("fold", "fold.failed", log)
    >>> background.begin(work)
    >>> with background.paused(): ...
    """

    def __init__(self, name: str, failed: str, log: logging.Logger, workers: Workers | None = None) -> None:
        """``failed`` is the key of the notice that tells of a fault."""
        self._name = name
        self._failed = failed
        self._log = log
        self._lock = threading.Lock()
        self._pauses = 0
        self._work: Work | None = None
        self._put_off: Work | None = None
        self._stop = Stop()
        self.workers = workers or Workers(name, 1)
        self._task: Scheduled | None = None
        #: Set while nothing is under way.
        self.resting = threading.Event()
        self.resting.set()
        #: What the person should know and was not told yet; whoever tells it takes it out.
        self.notices: list[Notice] = []

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        return not self.resting.is_set()

    def begin(self, work: Work) -> None:
        """Do this now, unless something is under way; during a pause it is put off to its end."""
        with self._lock:
            if self._pauses:
                self._put_off = work
            elif not self.busy:
                self._start(work)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is done meanwhile; what was under way is begun again afterwards."""
        with self._lock:
            self._pauses += 1
            self._put_off = self._put_off or self._work
        try:
            self._give_up(None)
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if self._put_off and not self._pauses and not self.busy:
                    self._start(self._put_off)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done; what takes longer than ``timeout`` seconds is given up."""
        if not self.resting.wait(timeout):
            self._give_up(_GRACE)

    def end(self, timeout: float) -> None:
        """The same, and nothing begins any more."""
        with self._lock:
            self._pauses += 1
        self.wait(timeout)

    def run(self, work: Work) -> None:
        """Do this in the thread that calls; what goes wrong is told in the same way."""
        self._guarded(work, Stop())

    def _start(self, work: Work) -> None:
        """Begin; the lock is held."""
        self._work, self._put_off, self._stop = work, None, Stop()
        self.resting.clear()
        self._task = self.workers.add(partial(self._do, work, self._stop))

    def _do(self, work: Work, stop: Stop) -> None:
        try:
            self._guarded(work, stop)
        finally:
            self._rest()

    def _rest(self) -> None:
        with self._lock:
            self._work = None
            self.resting.set()

    def _guarded(self, work: Work, stop: Stop) -> None:
        try:
            work(stop)
        except errors.Interrupted:
            pass
        except errors.OldFriendError as fault:
            self._tell_fault(fault, fault)
        except Exception as fault:
            # A fault of ours in a thread must reach the log and the person, and must not end silently.
            self._tell_fault(fault, errors.OldFriendError(reason=type(fault).__name__))

    def _tell_fault(self, fault: Exception, told: errors.OldFriendError) -> None:
        self._log.error("%s failed", self._name, exc_info=fault)
        self.notices.append(Notice(self._failed, {"error": told}))

    def _give_up(self, timeout: float | None) -> None:
        self._stop.set()
        if self._task and self.workers.cancel(self._task):
            self._rest()
        self.resting.wait(timeout)
