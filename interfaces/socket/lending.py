"""The terminal lends the memory that it holds: while a chat is open, other programs use it through the chat's process.

Promises: nothing is loaded for it before somebody asks, or has sessions here that will have to end; the chat goes on as
if nobody else was there; when it ends, the others are answered, and then have to look for another holder.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from conversation import Conversation
from interfaces.socket.line import Gone
from people import ME, Companion, People, Registry, registry_in

if TYPE_CHECKING:
    from domain.workers import Stop
    from interfaces.messages import Words
    from interfaces.service.memory_service import MemoryService
    from interfaces.socket.holding import Holding

#: Seconds that what is under way for others has when the chat ends.
_SETTLE = 2.0


class LentPeople(People):
    """Everybody, of whom one is open already, and is closed by whoever opened it."""

    def __init__(self, lent: Companion, registry: Registry) -> None:
        super().__init__(
            lent.settings, lent.llm, registry, lent.log,
            clock=lent.clock, new_id=lent.new_id, most_open=lent.settings.open_memories,
        )  # fmt: skip
        self._lent = lent

    @contextmanager
    def companion(
        self, person: str, instruction: int | None = None, *, wait: Stop | None = None
    ) -> Iterator[Companion]:
        """The one that is lent, or another one, opened as ever."""
        if (person, instruction) == (ME, None):
            yield self._lent
            return
        with super().companion(person, instruction, wait=wait) as companion:
            yield companion


class Lending:
    """What the terminal lends, from when it is ready until it closes. Both may come in any order and thread."""

    def __init__(
        self,
        conversation: Conversation,
        words: Words,
        log: logging.Logger,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._lent = Companion(
            ME, None, conversation.settings, conversation.memory, conversation.llm, log,
            conversation.background, clock, new_id,
        )  # fmt: skip
        self._words = words
        self._lock = threading.Lock()
        self._over = False
        self._open = ExitStack()
        self._holding: Holding | None = None
        self._served: tuple[People, MemoryService] | None = None

    def begin(self) -> None:
        """Serve the others from now on."""
        from interfaces.socket.holding import Holding

        folder = self._lent.settings.data_dir
        with self._lock:
            if self._over:
                return
            self._holding = Holding(folder, self._people, self._words, self._lent.log)
            self._open.callback(self._holding.close, _SETTLE)
        if registry_in(folder).exists():
            self._people()

    def close(self) -> None:
        """Serve nobody any more."""
        with self._lock:
            self._over = True
        self._open.close()
        if self._served:
            people, service = self._served
            service.close(_SETTLE)
            people.close()
            people.registry.close()

    def _people(self) -> tuple[People, MemoryService]:
        from interfaces.service.memory_service import MemoryService

        with self._lock:
            if self._served is None and self._over:
                raise Gone("the chat has ended")
            if self._served is None:
                registry = Registry(registry_in(self._lent.settings.data_dir), self._lent.clock)
                people = LentPeople(self._lent, registry)
                self._served = people, MemoryService(people)
                if self._holding:
                    self._holding.sweep()
            return self._served
