"""What a chat API owes to its memories, done behind the answers: one thread for everybody, one companion at a time.

Promises: an answer never waits for it; what is owed is noted in the registry until it is done, so that it goes on after
a restart without a memory being opened in vain; it stops within a moment, and what it had not finished it begins again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from domain import errors
from domain.events import Stop
from jobs.cleaning import Cleaning
from people import People

_Key = tuple[str, int | None]


class Upkeep:
    """The thread, and for whom it has something to do."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._changed = threading.Condition()
        self._waiting: OrderedDict[_Key, None] = OrderedDict()
        self._present: _Key | None = None
        self._thread: threading.Thread | None = None
        self._stop = Stop()
        self._pauses = 0

    def resume(self) -> None:
        """Go on with what was owed when the program ended."""
        for key in self._people.registry.owed():
            self.begin(*key)

    def begin(self, person: str, instruction: int | None) -> None:
        """Do what is due in a companion's memory, soon."""
        with self._changed:
            self._waiting[person, instruction] = None
            self._hire()

    def wait(self, timeout: float) -> bool:
        """Wait until there is nothing to do. False when there still is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._present is None, timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Let go of what is under way; it goes on at the next start."""
        with self._changed:
            self._waiting.clear()
            self._pauses += 1
            self._stop.set()
            self._changed.wait_for(lambda: self._present is None, timeout)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is done meanwhile; what was under way is begun again afterwards."""
        with self._changed:
            self._pauses += 1
            present = self._present
            self._stop.set()
            self._changed.wait_for(lambda: self._present is None)
            if present is not None:
                self._waiting[present] = None
        try:
            yield
        finally:
            with self._changed:
                self._pauses -= 1
                self._hire()

    def _hire(self) -> None:
        """See that somebody works; the lock is held."""
        if self._waiting and not self._pauses and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            key, stop = taken
            try:
                self._keep_up(key, stop)
            except errors.Interrupted:
                pass
            except Exception as fault:
                # Nobody waits for this thread: a fault must reach the log, and must not end the upkeep of others.
                self._people.llm.log.error("upkeep failed", exc_info=fault)

    def _next(self) -> tuple[_Key, Stop] | None:
        with self._changed:
            self._present = None
            self._changed.notify_all()
            if self._pauses or not self._waiting:
                self._thread = None
                return None
            self._present, _ = self._waiting.popitem(last=False)
            self._stop = Stop()
            return self._present, self._stop

    def _keep_up(self, key: _Key, stop: Stop) -> None:
        with self._people.companion(*key) as companion:
            Cleaning(companion.memory, companion.llm, self._people.clock).keep_up(stop)
            with companion.turns:
                # An answer may have made something due since; that is noted before it is stored, under the same lock.
                if not companion.memory.doors.due_cleanings() and key in self._people.registry.owed():
                    self._people.registry.settle(*key)
