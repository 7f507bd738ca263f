"""One memory for many programs: whoever comes first holds it and serves the others; when it goes, another one does.

    call -> held here?  -> the service
            held there? -> over the socket
            by nobody   -> hold it here

Promises: a program that only asks never keeps one that a person sits at from opening the memory: it lets go when it is
asked to, and asks there from then on; what was asked while a holder went away is asked again of the next one, and is
stored once.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from pydantic import BaseModel

from domain import errors
from interfaces.messages import Words
from interfaces.service.memory_service import MemoryService
from interfaces.service.service_sessions import OF_A_DOOR
from interfaces.socket import line
from interfaces.socket.holding import Holding
from interfaces.socket.line import Gone
from interfaces.socket.verbs import VERBS, HeldHere
from people import ME, People

#: Seconds for a memory to be held by somebody who can be asked, and between two looks.
_PATIENCE, _LOOK = 20.0, 0.05
#: Seconds that somebody for whom we made way has for taking the memory.
_WAY = 5.0
#: What stores something, and so is named, so that it is stored once however often it is asked.
_STORES = ("process", "remember")


class SharedMemory:
    """The memories below a data folder, held here or elsewhere. ``opened`` opens the people there, for as long as they
    are held here.

    >>> memory = SharedMemory(folder, opened, words)
    >>> memory.call("process", input="I moved to Lyon.", user_id="me")
    """

    def __init__(
        self, folder: Path, opened: Callable[[], AbstractContextManager[People]], words: Words
    ) -> None:
        self._folder = folder
        self._opened = opened
        self._words = words
        self._changed = threading.Condition()
        self._here: HeldHere | None = None
        self._held = ExitStack()
        self._holding: Holding | None = None
        self._under_way = 0
        self._not_before = 0.0
        self._closed = False

    def call(self, name: str, **arguments: object) -> BaseModel:
        """The answer of a verb. Raises UsageError, StorageError; DataInUse where the holder cannot be asked."""
        if name in _STORES and not arguments.get("request_id"):
            arguments["request_id"] = OF_A_DOOR + uuid.uuid4().hex
        late = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._asked(name, arguments)
            except Gone as fault:
                if time.monotonic() > late:
                    raise errors.DataInUse(path=str(self._folder), pid=None, host=None, since=None) from fault
            time.sleep(_LOOK)

    def close(self) -> None:
        """Let go of what is held here."""
        with self._changed:
            self._closed = True
        if self._holding:
            self._holding.close()
        self._let_go()

    # -- inside --------------------------------------------------------------------------------------------------

    def _asked(self, name: str, arguments: dict[str, object]) -> BaseModel:
        """Ask here where the memory is held here, and there where it is not. Raises Gone where that was in vain."""
        if self._enter():
            try:
                assert self._here
                return self._here.call(name, **arguments)
            finally:
                self._leave()
        try:
            came = list(line.asked(self._folder, name, arguments))
            return VERBS[name].answer.model_validate_json(json.dumps(came[-1]["answer"]))
        except Gone:
            self._hold()
            raise

    def _enter(self) -> bool:
        """Whether the memory is held here, and stays so until ``_leave``."""
        with self._changed:
            held = self._here is not None
            self._under_way += held
            return held

    def _leave(self) -> None:
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def _hold(self) -> None:
        """Hold the memory here if nobody does."""
        with self._changed:
            if self._closed or self._here or time.monotonic() < self._not_before:
                return
            held = ExitStack()
            try:
                people = held.enter_context(self._opened())
                held.enter_context(people.companion(ME))
            except errors.DataInUse:
                held.close()
                return
            except BaseException:
                held.close()
                raise
            service = MemoryService(people)
            held.callback(service.close)
            self._here, self._held = HeldHere(service), held
            self._holding = Holding(
                self._folder, lambda: (people, service), self._words, people.log, self._let_go
            )
            self._holding.sweep()

    def _let_go(self) -> None:
        """Hold it no more, once what is under way here is answered; somebody else may take it."""
        with self._changed:
            self._here = None
            self._not_before = time.monotonic() + _WAY
            self._changed.wait_for(lambda: not self._under_way)
            self._held.close()
