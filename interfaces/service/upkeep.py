"""What a chat API owes to its memories, done behind the answers: one companion at a time, in its own background.

Promises: an answer never waits for it; what is owed is noted in the registry until it is done, so that it goes on after
a restart without a memory being opened in vain; whoever erases pauses it with everything else of that companion.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from domain.workers import Stop
from jobs.background_queue import BackgroundQueue
from jobs.cleaning import Cleaning
from people import Companion, People

_Key = tuple[str, int | None]


class Upkeep:
    """For whom there is something to do."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._queue = BackgroundQueue(self._opened, self._keep_up, people.log, at_once=1, done=self._settle)
        self.wait = self._queue.wait_for_all

    def resume(self) -> None:
        """Go on with what was owed when the program ended."""
        for key in self._people.registry.owed():
            self.begin(*key)

    def begin(self, person: str, instruction: int | None) -> None:
        """Do what is due in a companion's memory, soon."""
        self._queue.add((person, instruction))

    def close(self, timeout: float = 5.0) -> None:
        """Let go of what is under way; it goes on at the next start."""
        self._queue.close(timeout)

    def _opened(self, key: _Key) -> AbstractContextManager[Companion]:
        return self._people.known_companion(*key)

    def _keep_up(self, companion: Companion, stop: Stop) -> bool:
        return Cleaning(companion.memory, companion.llm, self._people.clock).keep_up(stop)

    def _settle(self, key: _Key, companion: Companion) -> None:
        """An answer may have made something due since; that is noted before it is stored, under the same lock."""
        with companion.turns:
            if not companion.memory.clients.due_cleanings() and key in self._people.registry.owed():
                self._people.registry.settle(*key)
