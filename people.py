"""Many people, each with a memory of their own: whose is open, and who may come in.

One person, one companion, one memory: a folder named by a digest of the person's id, so that an id never becomes a
path. The person ``me`` is the one at the terminal. A system instruction makes a companion of its own, with a folder of
its own. All companions share the models and the registry, and nothing else.

Promises: a memory is opened when somebody needs it and by one thread; at most ``most_open`` stay open that nobody uses;
one in use is never closed; what one person said is in no other person's folder, prompt or answer.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Condition, RLock

from domain.settings import Settings
from jobs.background import Background
from llm import Llm
from memory import Memory
from storage.sqlite.registry import EVERYBODY, Instruction, Registry, Token

__all__ = ["EVERYBODY", "ME", "Companion", "Instruction", "People", "Registry", "Token", "folder_of"]

#: The person at the terminal.
ME = "me"


def folder_of(data_dir: Path, person: str, instruction: int | None = None) -> Path:
    """Where a companion's memory lies."""
    if person == ME and instruction is None:
        return data_dir
    own = data_dir / "people" / hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return own / ("own" if instruction is None else f"instruction-{instruction}")


@dataclass
class Companion:
    """One companion of one person, open: its settings (with its folder), its memory, and the models of all.

    ``turns`` is held by whoever has a turn with it, so that two requests of one person come one after the other.
    Whoever erases pauses the ``background``, in which everything is done that nobody waits for.
    """

    person: str
    instruction: Instruction | None
    settings: Settings
    memory: Memory
    llm: Llm
    log: logging.Logger
    background: Background
    turns: RLock = field(default_factory=RLock)


@dataclass
class _Place:
    """One companion's place among those that are open. ``users``: how many use it now."""

    companion: Companion | None = None
    users: int = 0


class People:
    """Whose memory is open.

    >>> with people.companion("me") as companion:
    ...     companion.memory.session_counts()
    """

    def __init__(
        self,
        settings: Settings,
        llm: Llm,
        registry: Registry,
        log: logging.Logger,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        most_open: int,
    ) -> None:
        self.settings = settings
        self.registry = registry
        self.llm = llm
        self.clock = clock
        self.new_id = new_id
        self._log = log
        self._most_open = most_open
        self._changed = Condition()
        #: The least recently used first.
        self._places: OrderedDict[tuple[str, int | None], _Place] = OrderedDict()

    @contextmanager
    def companion(self, person: str, instruction: int | None = None) -> Iterator[Companion]:
        """This companion, opened if it is not, and kept open meanwhile.

        Raises StorageError (DataInUse where another program holds it), UsageError where there is no such instruction.
        """
        key = (person, instruction)
        companion = self._enter(key)
        try:
            yield companion
        finally:
            self._leave(key)

    @property
    def log(self) -> logging.Logger:
        """Where it is written what went wrong, for nobody's eyes but the owner's."""
        return self._log

    def open_now(self) -> Iterator[Companion]:
        """Those that are open at this moment, each kept open while it is looked at."""
        with self._changed:
            keys = list(self._places)
        for key in keys:
            with self._changed:
                place = self._places.get(key)
                if place is None or place.companion is None:
                    continue
                place.users += 1
            try:
                yield place.companion
            finally:
                self._leave(key)

    def close(self) -> None:
        """Close every memory; what is in use is waited for."""
        with self._changed:
            self._changed.wait_for(lambda: not any(place.users for place in self._places.values()))
            places, self._places = list(self._places.values()), OrderedDict()
        for place in places:
            if place.companion:
                place.companion.memory.close()

    def _enter(self, key: tuple[str, int | None]) -> Companion:
        with self._changed:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            place.users += 1
            if place.companion is None:
                try:
                    place.companion = self._opened(*key)
                except BaseException:
                    place.users -= 1
                    raise
            return place.companion

    def _leave(self, key: tuple[str, int | None]) -> None:
        with self._changed:
            self._places[key].users -= 1
            self._changed.notify_all()
            idle = [key for key, place in self._places.items() if not place.users]
            for one in idle[: max(0, len(self._places) - self._most_open)]:
                gone = self._places.pop(one).companion
                if gone:
                    gone.memory.close()

    def _opened(self, person: str, number: int | None) -> Companion:
        from domain.errors import UsageError

        instruction = None if number is None else self.registry.instruction(person, number)
        if number is not None and instruction is None:
            raise UsageError("instruction.unknown", number=number)
        self.registry.meet(person)
        folder = folder_of(self.settings.data_dir, person, number)
        settings = replace(self.settings, data_dir=folder)
        memory = Memory(folder, self.llm.embedder, clock=self.clock, new_id=self.new_id, log=self._log)
        background = Background("keep", "opening.keeping_failed", self._log)
        return Companion(person, instruction, settings, memory, self.llm, self._log, background)
