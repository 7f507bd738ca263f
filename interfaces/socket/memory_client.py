"""The memory client: one memory for many programs. The first one opens and serves it; when it ends, another does.

    call -> open here?      -> the service
            open elsewhere? -> over the socket
            nowhere         -> open it here

Promises: a program without a chat never keeps a chat from opening the memory: it closes it when asked to, and uses the
chat's server from then on; a request that lost its server is sent to the next one, and stored once.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from domain import errors
from domain.settings import Settings
from interfaces.messages import Words
from interfaces.operations import OPERATIONS, LocalMemories
from interfaces.service.memory_service import MemoryService
from interfaces.service.service_sessions import OF_INTERFACE
from interfaces.socket import protocol
from interfaces.socket.memory_server import MemoryServer
from interfaces.socket.protocol import ServerGone
from llm import Llm
from people import ME, People, Registry, registry_in

#: Seconds until some program serves the memory, and between two checks.
_PATIENCE, _CHECK = 20.0, 0.05
#: Seconds for the program that asked for the memory to open it.
_RELEASED = 5.0


class MemoryClient:
    """The memories below a data folder, open here or in another program. ``opened`` opens the people there, as long as
    they are open here.

    >>> memory = MemoryClient(folder, opened, words)
    >>> memory.call("process", input="I moved to Lyon.", user_id="me")
    """

    def __init__(self, folder: Path, opened: Callable[[], AbstractContextManager[People]], words: Words) -> None:
        self._folder = folder
        self._opened = opened
        self._words = words
        self._changed = threading.Condition()
        self._local: LocalMemories | None = None
        self._open_things = ExitStack()
        self._server: MemoryServer | None = None
        self._under_way = 0
        self._not_before = 0.0
        self._closed = False

    def call(self, name: str, **arguments: object) -> BaseModel:
        """The result of an operation. Raises UsageError, StorageError; DataInUse where the server cannot be asked."""
        operation = OPERATIONS.get(name)
        if operation and "request_id" in operation.parameters.model_fields and not arguments.get("request_id"):
            arguments["request_id"] = OF_INTERFACE + uuid.uuid4().hex
        late = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._try_call(name, arguments)
            except ServerGone as fault:
                if time.monotonic() > late:
                    raise errors.DataInUse(path=str(self._folder), pid=None, host=None, since=None) from fault
            time.sleep(_CHECK)

    def close(self) -> None:
        """Close what is open here."""
        with self._changed:
            self._closed = True
        if self._server:
            self._server.close()
        self._release_memory()

    # -- inside --------------------------------------------------------------------------------------------------

    def _try_call(self, name: str, arguments: dict[str, object]) -> BaseModel:
        """Call it here where the memory is open here, else in the other program. Raises ServerGone if that failed."""
        with self._changed:  # what is open here stays so until the call has ended
            local = self._local
            self._under_way += local is not None
        if local is None:
            return self._ask_server(name, arguments)
        try:
            return local.call(name, **arguments)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def _ask_server(self, name: str, arguments: dict[str, object]) -> BaseModel:
        try:
            *_, answer = protocol.send_request(self._folder, name, arguments)
            result: BaseModel = OPERATIONS[name].result.model_validate_json(json.dumps(answer["answer"]))
            return result
        except ServerGone:
            self._open_here()
            raise

    def _open_here(self) -> None:
        """Open the memory here if no other program has."""
        with self._changed:
            if self._closed or self._local or time.monotonic() < self._not_before:
                return
            opened = ExitStack()
            try:
                people = opened.enter_context(self._opened())
                opened.enter_context(people.companion(ME))
            except errors.DataInUse:
                opened.close()
                return
            except BaseException:
                opened.close()
                raise
            service = MemoryService(people)
            self._local, self._open_things = LocalMemories(service), opened
            self._server = MemoryServer(
                self._folder, lambda: (people, service), self._words, people.log, self._release_memory
            )
            self._server.start_sweeping()

    def _release_memory(self) -> None:
        """Close it once what is under way here is answered; another program may open it."""
        with self._changed:
            self._local = None
            self._not_before = time.monotonic() + _RELEASED
            self._changed.wait_for(lambda: not self._under_way)
            self._open_things.close()


@contextmanager
def open_people(
    settings: Settings,
    log: logging.Logger,
    *,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    scrubbers_of: Callable[[Path], Sequence[Callable[[Any], None]]] = lambda folder: (),
) -> Iterator[People]:
    """Everyone below a data folder, with the models of the settings, until the block ends. Raises StorageError."""
    with (
        closing(Registry(registry_in(settings.data_dir), clock, settings.database_url)) as registry,
        closing(Llm(settings, log, clock=clock)) as llm,
    ):
        people = People(
            settings, llm, registry, log,
            clock=clock, new_id=new_id, most_open=settings.open_memories,
            scrubbers_of=scrubbers_of,
        )  # fmt: skip
        with closing(people):
            yield people
