"""Work that waits to be done in the background of memories, a few memories at once: for many people, one queue.

    add(key) -> its turn -> the memory is opened -> its own background -> done, or to be asked for again

Promises: what is done for a memory is never done beside other work in the background of the same memory, so that
whoever erases pauses this too; what was asked for again meanwhile is done once more; a fault of one reaches the log and
keeps nobody else waiting.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

from domain import errors
from domain.workers import Stop, Workers
from jobs.background import Background

#: Seconds between two looks whether other work of a memory has ended.
_GLANCE = 0.05
#: Seconds that a thread waits for the next memory.
_LINGER = 2.0


class WorkPlace(Protocol):
    """A memory that is open, as far as this room needs to know it."""

    @property
    def background(self) -> Background:
        """Where its work in the background is done."""
        ...


Key = TypeVar("Key", bound=Hashable)
Opened = TypeVar("Opened", bound=WorkPlace)


class BackgroundQueue(Generic[Key, Opened]):
    """The memories for which something waits, and those that have their turn.

    >>> queue = BackgroundQueue(people.companion, consolidate_all, log, at_once=2)
    >>> queue.add("ann")
    >>> queue.wait("ann", timeout=60)
    True
    """

    def __init__(
        self,
        opens: Callable[[Key], AbstractContextManager[Opened]],
        work: Callable[[Opened, Stop], bool],
        log: logging.Logger,
        *,
        at_once: int,
        done: Callable[[Key, Opened], None] = lambda key, place: None,
    ) -> None:
        """``opens`` a memory and keeps it open; ``work`` tells whether nothing is left of it.

        ``done`` is called outside of the background, where other locks may be waited for, when nothing was left.
        """
        self._opens = opens
        self._work = work
        self._done = done
        self._log = log
        self._at_once = at_once
        self._workers = Workers("background queue", at_once, _LINGER)
        self._changed = threading.Condition()
        self._waiting: dict[Key, None] = {}
        self._running: dict[Key, Stop] = {}
        self._failed: Counter[Key] = Counter()
        self._threads = 0
        self._closed = False

    def add(self, key: Key) -> None:
        """Have this done for a memory, once more where that is under way."""
        with self._changed:
            self._waiting[key] = None
            self._begin()

    def failures(self, key: Key) -> int:
        """How often in a row it could not be done, or not all of it."""
        with self._changed:
            return self._failed[key]

    def wait(self, key: Key, timeout: float) -> bool:
        """Wait until nothing waits or runs for a memory; false when that takes longer."""
        with self._changed:
            return self._changed.wait_for(
                lambda: key not in self._waiting and key not in self._running, timeout
            )

    def wait_for_all(self, timeout: float) -> bool:
        """Wait until nothing waits or runs at all; false when that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._running, timeout)

    def close(self, timeout: float) -> None:
        """Stop what is under way, and begin nothing any more; the next start goes on."""
        with self._changed:
            self._closed = True
            for stop in self._running.values():
                stop.set()
            self._changed.wait_for(lambda: not self._running, timeout)

    def _begin(self) -> None:
        """Another thread where somebody could have their turn; the lock is held."""
        if self._threads < self._at_once and self._next():
            self._threads += 1
            self._workers.add(self._run)

    def _next(self) -> list[Key]:
        """Whose turn it is now, or nobody's; the lock is held."""
        free = [] if self._closed else [one for one in self._waiting if one not in self._running]
        return free[:1]

    def _run(self) -> None:
        while taken := self._take():
            for key, stop in taken:
                whole = False
                try:
                    whole = self._did(key, stop)
                finally:
                    self._end(key, whole=whole or stop.is_set)

    def _take(self) -> list[tuple[Key, Stop]]:
        with self._changed:
            taken = self._next()
            if not taken:
                self._threads -= 1
            for key in taken:
                del self._waiting[key]
                self._running[key] = Stop()
            return [(key, self._running[key]) for key in taken]

    def _did(self, key: Key, stop: Stop) -> bool:
        """Do it; whether nothing is left. A fault of ours must reach the log, and must not end the thread."""
        try:
            with self._opens(key) as place:
                if whole := _Piece(place, self._work, stop, self._log).done():
                    self._done(key, place)
                return whole
        except Exception as fault:
            self._log.error("work in the background failed", exc_info=fault)
            return False

    def _end(self, key: Key, *, whole: bool) -> None:
        with self._changed:
            del self._running[key]
            if whole:
                del self._failed[key]
            else:
                self._failed[key] += 1
            self._changed.notify_all()


class _Piece(Generic[Opened]):
    """The work for one memory, which waits for its turn among the other work in the background there."""

    def __init__(
        self, place: Opened, work: Callable[[Opened, Stop], bool], stop: Stop, log: logging.Logger
    ) -> None:
        self._place = place
        self._work = work
        self._stop = stop
        self._log = log
        self._over = threading.Event()
        self._left = True

    def done(self) -> bool:
        """Wait until it is done, or the wish to stop comes; whether nothing is left. A pause only puts it off."""
        while True:
            self._place.background.begin(self._do)
            if self._over.wait(_GLANCE):
                return not self._left
            if self._stop.is_set:
                self._place.background.wait(0.0)
                return not self._left

    def _do(self, stop: Stop) -> None:
        if self._over.is_set():  # it was put off, and done meanwhile
            return
        try:
            with self._stop.calling(stop.set):
                self._left = not self._work(self._place, stop)
        except errors.Interrupted:
            raise
        except errors.OldFriendError as fault:
            self._log.error("work in the background failed", exc_info=fault)
        self._over.set()
