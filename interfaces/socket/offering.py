"""A server holds the person's memory while it serves, and serves it to the programs of its machine over the socket too.

Promises: where a chat holds it, the server goes on without it, and takes it when the chat has ended; a chat that begins
beside the server gets it as soon as what is under way is answered.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack

from domain import errors
from domain.workers import Stop
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
        self._lock = threading.Lock()
        #: What is held now; None while somebody else has the memory.
        self._held: ExitStack | None = None
        self._thread = threading.Thread(target=self._run, name="offering", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Serve no program of this machine any more."""
        self._over.set()
        self._thread.join(_MAKING_WAY)
        self._let_go()

    def _run(self) -> None:
        try:
            while not self._over.is_set:
                if self._took() or not gave_way(self._people.settings.data_dir, _MAKING_WAY):
                    self._over.wait(_AGAIN)
        except errors.StorageError as fault:
            self._people.log.error("the memory cannot be held", exc_info=fault)

    def _took(self) -> bool:
        """Whether it is held here, by now or already. Raises StorageError where it never can be."""
        people, folder = self._people, self._people.settings.data_dir
        with self._lock, ExitStack() as held:
            if self._held:
                return True
            try:
                held.enter_context(people.companion(ME))
            except errors.DataInUse:
                return False
            holding = Holding(
                folder, lambda: (people, self._service), self._words, people.log, self._make_way
            )
            held.callback(holding.close, _SETTLE)
            self._held = held.pop_all()
            return True

    def _make_way(self) -> None:
        self._let_go()
        self._people.make_way(ME)

    def _let_go(self) -> None:
        with self._lock:
            held, self._held = self._held, None
        if held:
            held.close()
