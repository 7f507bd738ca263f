"""The memory server of a chat at the terminal.

Promises: nothing is loaded before a program connects, or has open sessions here; the chat is not affected; at its end
accepted requests are answered, and clients then look for another server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from conversation import Conversation
from interfaces.socket.protocol import ServerGone
from people import ME, Companion, People, Registry, registry_in

if TYPE_CHECKING:
    from interfaces.messages import Words
    from interfaces.service.memory_service import MemoryService
    from interfaces.socket.memory_server import MemoryServer

#: Seconds that requests under way have when the chat ends.
_FINISHING = 2.0


class ChatMemoryServer:
    """Serves from ``begin`` until ``close``, which may be called in any order and thread."""

    def __init__(self, conversation: Conversation, words: Words, new_id: Callable[[], str]) -> None:
        self._companion = Companion(ME, None, conversation.maintenance, new_id)
        self._words = words
        self._lock = threading.Lock()
        self._closed = False
        self._open_things = ExitStack()
        self._server: MemoryServer | None = None
        self._served: tuple[People, MemoryService] | None = None

    def begin(self) -> None:
        """Serve other programs from now on."""
        from interfaces.socket.memory_server import MemoryServer

        folder = self._companion.settings.data_dir
        with self._lock:
            if self._closed:
                return
            self._server = MemoryServer(folder, self._open_people, self._words, self._companion.log)
            self._open_things.callback(self._server.close, _FINISHING)
        if registry_in(folder).exists():
            self._open_people()

    def close(self) -> None:
        """Stop serving."""
        with self._lock:
            self._closed = True
        self._open_things.close()
        if self._served:
            people, _ = self._served
            people.close()
            people.registry.close()

    def _open_people(self) -> tuple[People, MemoryService]:
        from interfaces.service.memory_service import MemoryService

        with self._lock:
            if self._served:
                return self._served
            if self._closed:
                raise ServerGone("the chat has ended")
            own = self._companion
            registry = Registry(registry_in(own.settings.data_dir), own.clock, own.settings.database_url)
            people = People(
                own.settings, own.llm, registry, own.log,
                clock=own.clock, new_id=own.new_id, most_open=own.settings.open_memories,
            )  # fmt: skip
            people.add_open(own)
            self._served = people, MemoryService(people)
            if self._server:
                self._server.start_sweeping()
            return self._served
