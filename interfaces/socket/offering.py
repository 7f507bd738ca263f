"""A server holds the person's memory from its start, and serves it to the programs of its machine over the socket too.

Where a chat holds it at that time, the server goes on without it, and takes it when the chat has ended.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack

from domain import errors
from domain.events import Stop
from interfaces.messages import Words
from interfaces.service.memory_service import MemoryService
from interfaces.socket.holding import Holding
from interfaces.socket.line import gave_way
from people import ME, People

#: Seconds between two looks at whether the memory is free, and for making way.
_AGAIN, _MAKING_WAY = 5.0, 10.0
_SETTLE = 5.0


class Offering:
    """What a server offers to its machine. It begins at once, in a thread of its own."""

    def __init__(self, people: People, service: MemoryService, words: Words) -> None:
        self._people = people
        self._service = service
        self._words = words
        self._over = Stop()
        self._held = ExitStack()
        self._thread = threading.Thread(target=self._run, name="offering", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Serve no program of this machine any more."""
        self._over.set()
        self._thread.join(_MAKING_WAY)
        self._held.close()

    def _run(self) -> None:
        while not self._over.is_set and not self._took():
            if not gave_way(self._people.settings.data_dir, _MAKING_WAY):
                self._over.wait(_AGAIN)

    def _took(self) -> bool:
        people, folder = self._people, self._people.settings.data_dir
        try:
            self._held.enter_context(people.companion(ME))
        except errors.DataInUse:
            return False
        except errors.StorageError as fault:
            people.log.error("the memory cannot be held", exc_info=fault)
            return True
        holding = Holding(folder, lambda: (people, self._service), self._words, people.log)
        self._held.callback(holding.close, _SETTLE)
        return True
