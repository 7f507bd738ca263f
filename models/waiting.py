"""Waiting for slow work without standing still: the work runs in a thread, the caller goes on drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from domain import errors
from domain.events import Beat, Stop

T = TypeVar("T")
#: Seconds between two beats: a screen that is redrawn this often looks alive, and Ctrl-C is heard at once.
BEAT = 0.05


def waiting(work: Callable[[], T], stop: Stop, beat: float = BEAT) -> Generator[Beat, None, T]:
    """Run ``work`` in a daemon thread; yield a Beat every ``beat`` seconds; return its result.

    Raises what the work raised, or Interrupted as soon as ``stop`` is set. The thread is left to itself
    then, so ``work`` must not change anything that is shared.

    >>> result = yield from waiting(slow, stop)
    """
    job = _Job(work)
    threading.Thread(target=job.run, name="waiting", daemon=True).start()
    while not job.done.wait(beat):
        if stop.is_set:
            raise errors.Interrupted()
        yield Beat()
    return job.result()


class _Job(Generic[T]):
    """One piece of work and what came of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._failure: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as failure:  # handed to the thread that waits
            self._failure = failure
        finally:
            self.done.set()

    def result(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._results[0]
