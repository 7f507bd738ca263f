"""Many people, each with a memory of their own: whose is open, and who may come in.

One person, one companion, one memory: a folder named by a digest of the person's id, so that an id never becomes a
path. The person ``me`` is the one at the terminal. A system instruction makes a companion of its own, with a folder of
its own. All companions share the models, the registry and a few threads, and nothing else.

    companion(person) -> its place -> opened, if it is not -> used -> let go -> closed, when others need the room

Promises: a memory is opened when somebody needs it and by one thread, and nobody else waits for that; at most
``most_open`` stay open that nobody uses; one in use is never closed; an opening that fails leaves nothing; what one
person said is in no other person's folder, prompt or answer.
"""

from __future__ import annotations

import gc
import logging
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from itertools import repeat
from pathlib import Path
from threading import Condition, Lock

from companion import Companion
from domain.errors import DataInUse, EmbeddingError, StorageError, UsageError
from domain.files import storage_error
from domain.settings import Settings
from domain.workers import AT_ONCE, Again, Stop, Worker, Workers
from jobs.background import Background
from llm import Llm
from memory import Memory
from storage.erasure import Proof, Scrub
from storage.proof import Needles
from storage.sqlite.registry import (
    EVERYBODY,
    ME,
    PEOPLE,
    Instruction,
    Registry,
    Token,
    folder_of,
    registry_in,
)

__all__ = [
    "EVERYBODY",
    "ME",
    "PEOPLE",
    "Companion",
    "Instruction",
    "People",
    "Proof",
    "Registry",
    "Scrub",
    "Token",
    "folder_of",
    "registry_in",
]

#: Threads for the indexes of all memories, and for work that waits for models: one never holds up the other.
_INDEX_THREADS, _MODEL_THREADS = 4, 8
#: Threads that write down who is served for the first time.
_MEETING = 4
#: Seconds that one of each waits for the next person.
_LINGER = 2.0
#: Seconds between two looks for sessions that fell silent.
_KEEP_EVERY = 600.0
#: Memories that may be open beyond the limit while one is being closed, and seconds to wait for that.
_SPARE, _PATIENCE = 16, 30.0
#: Seconds that a request waits for a memory that another program uses, and between two looks at it.
_IN_USE, _LOOK_AGAIN = 30.0, 0.2
#: Seconds that another program has for taking a memory that was let go for it, and before that whoever uses it.
_WAY = 5.0
#: Threads that close everything in the end, and seconds that the index of each has then.
_CLOSERS, _AT_THE_END = 4, 1.0

Key = tuple[str, int | None]


@dataclass(eq=False)
class _Place:
    """One companion's place. ``users``: how many use it now. Who opens or closes holds ``door``."""

    key: Key
    companion: Companion | None = None
    users: int = 0
    door: Lock = field(default_factory=Lock)


class People:
    """Whose memory is open.

    >>> with people.companion("me") as companion:
    ...     companion.memory.sessions.counts()
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
        scrubbers_of: Callable[[Path], Sequence[Scrub]] = lambda folder: (),
    ) -> None:
        """``scrubbers_of`` the folder of a memory: what cleans its prompt history, and the logs of all, of what is
        erased there."""
        self.settings = settings
        self.registry = registry
        self.llm = llm
        self.clock = clock
        self.new_id = new_id
        self.index_workers = Workers("old-friend-index", _INDEX_THREADS, _LINGER)
        self._meeting = ThreadPoolExecutor(_MEETING, "old-friend-meeting")
        self.model_workers = Workers("old-friend-work", _MODEL_THREADS, _LINGER)
        #: Where it is written what went wrong, for nobody's eyes but the owner's.
        self.log = log
        #: How long whoever waits for a memory does so while another program uses it, in seconds.
        self.in_use_patience = _IN_USE
        self._most_open = most_open
        self._scrubbers_of = scrubbers_of
        self._scrubbing = Lock()
        self._changed = Condition()
        #: Until when a companion is left to another program.
        self._left_alone: dict[Key, float] = {}
        #: Whose memories are being erased: nobody uses them.
        self._shut: set[str] = set()
        #: The least recently used first.
        self._places: OrderedDict[Key, _Place] = OrderedDict()
        self._upkeep = Worker("old-friend-people", self._do_upkeep, log)
        self._keep_at = time.monotonic() + _KEEP_EVERY
        self._upkeep.start()

    def prepare(self) -> None:
        """Load what is heavy, a second or two; without this, the first person waits for it."""
        from storage.vectors import lance

        lance.load()
        import_module("openai.resources.chat.completions")
        with suppress(EmbeddingError):  # recall goes on by words, and says so
            self.llm.prepare()
        # What is loaded stays; looking through all of it for garbage would stop every thread, again and again.
        gc.collect()
        gc.freeze()

    @contextmanager
    def companion(
        self, person: str, instruction: int | None = None, *, wait: Stop | None = None
    ) -> Iterator[Companion]:
        """This companion, opened if it is not, and kept open meanwhile.

        One that another program uses is waited for, with ``wait``: ``in_use_patience`` seconds at the most, or until
        that is set. Raises StorageError (DataInUse where another program still holds it), Interrupted, UsageError where
        there is no such instruction.
        """
        place = self._enter((person, instruction))
        try:
            yield self._open_in_time(place, wait)
        finally:
            self._leave(place)

    def knows(self, person: str) -> bool:
        """Whether there is anything of this person."""
        return person == ME or self.registry.knows(person)

    @contextmanager
    def known_companion(self, person: str, instruction: int | None = None) -> Iterator[Companion]:
        """The same for work in the background, which makes no memory anew of whoever was erased. Raises UsageError."""
        if not self.knows(person):
            raise UsageError("person.unknown")
        with self.companion(person, instruction) as companion:
            yield companion

    def open_now(self) -> Iterator[Companion]:
        """Those that are open at this moment, each kept open while it is looked at."""
        with self._changed:
            places = list(self._places.values())
        for place in places:
            with self._changed:
                if (companion := place.companion) is None:
                    continue
                place.users += 1
            try:
                yield companion
            finally:
                self._leave(place)

    def make_way(self, person: str) -> None:
        """Let a person's own memory go once nobody uses it, so that another program can take it.

        Whoever asks for it here in the seconds after that raises DataInUse.
        """
        key = (person, None)
        with self._changed:
            self._changed.wait_for(lambda: key not in self._places or not self._places[key].users, _WAY)
            self._left_alone[key] = time.monotonic() + _WAY
            place = self._places.get(key)
        if place:
            self._close(place, _PATIENCE)

    def folders(self, person: str) -> Iterator[tuple[int | None, Path]]:
        """Where the memories of a person lie, each with the number of its system instruction."""
        numbers = [one.number for one in self.registry.instructions(person)]
        for number in (None, *numbers):
            folder = folder_of(self.settings.data_dir, person, number)
            if (folder / "memory.db").exists():
                yield number, folder

    def erase(self, person: str) -> list[Proof]:
        """Erase a person whole: what each memory holds, with proof, then the folder, and last what is known of them.

        Not for ``me``, below whose folder all others lie. Cut short by a crash, it can be begun again. Whoever asks for
        one of these memories meanwhile raises DataInUse.
        """
        assert person != ME
        with self._alone(person):
            proofs = []
            for _, folder in self.folders(person):
                memory = self._memory(folder, person)
                try:
                    proofs.append(memory.erasure.erase(memory.erasure.everything()))
                finally:
                    memory.close(patience=_PATIENCE)
            place = folder_of(self.settings.data_dir, person).parent
            try:
                if place.exists():
                    shutil.rmtree(place)
            except OSError as fault:
                raise storage_error(fault, place) from fault
            self.registry.remove(person)
        return proofs

    def close(self) -> None:
        """Close every memory; what is in use is waited for."""
        with self._changed:
            self._changed.wait_for(lambda: not any(place.users for place in self._places.values()))
            places = list(self._places.values())
        self._upkeep.end(_PATIENCE)
        self._meeting.shutdown(wait=False)
        with ThreadPoolExecutor(_CLOSERS) as closers:
            list(closers.map(self._close, places, repeat(_AT_THE_END)))

    # -- opening and letting go ----------------------------------------------------------------------------------

    @contextmanager
    def _alone(self, person: str) -> Iterator[None]:
        """While nothing of a person is open, and nobody opens it."""
        in_use = DataInUse(path=str(self.settings.data_dir), pid=None, host=None, since=None)
        with self._changed:
            if person in self._shut:
                raise in_use
            self._shut.add(person)
        try:
            with self._changed:
                own = [place for key, place in self._places.items() if key[0] == person]
                if not self._changed.wait_for(lambda: not any(one.users for one in own), _PATIENCE):
                    raise in_use
            for place in own:
                self._close(place, _PATIENCE)
            yield
        finally:
            with self._changed:
                self._shut.discard(person)

    def _enter(self, key: Key) -> _Place:
        with self._changed:
            if key[0] in self._shut:
                raise DataInUse(path=str(self.settings.data_dir), pid=None, host=None, since=None)
            place = self._places.setdefault(key, _Place(key))
            self._places.move_to_end(key)
            place.users += 1
            return place

    def _leave(self, place: _Place) -> None:
        with self._changed:
            place.users -= 1
            self._forget(place)
            crowded = self._next_to_close() is not None
        if crowded:
            self._upkeep.wake()

    def _open_in_time(self, place: _Place, wait: Stop | None) -> Companion:
        until = time.monotonic() + self.in_use_patience
        while True:
            try:
                return self._open(place)
            except DataInUse:
                left = until - time.monotonic()
                if wait is None or left <= 0:
                    raise
            wait.wait(min(left, _LOOK_AGAIN))  # the lock is of the kernel, which tells nobody when it is free
            wait.check()

    def _open(self, place: _Place) -> Companion:
        """The companion of a place, for one of its users."""
        with place.door:
            if place.companion is None:
                if time.monotonic() < self._left_alone.get(place.key, 0.0):
                    raise DataInUse(path=str(self.settings.data_dir), pid=None, host=None, since=None)
                with self._changed:
                    self._changed.wait_for(self._has_room, _PATIENCE)
                opened = self._opened(*place.key)
                with self._changed:
                    place.companion = opened
                opened.begin()
            return place.companion

    def _opened(self, person: str, number: int | None) -> Companion:
        instruction = None if number is None else self.registry.instruction(person, number)
        if number is not None and instruction is None:
            raise UsageError("instruction.unknown", number=number)
        met = self._meeting.submit(self.registry.meet, person)  # two writes to the disk, side by side
        folder = folder_of(self.settings.data_dir, person, number)
        memory = self._memory(folder, person)
        try:
            met.result()
        except BaseException:
            memory.close()
            raise
        background = Background("keep", "opening.keeping_failed", self.log, self.model_workers)
        settings = replace(self.settings, data_dir=folder)
        return Companion(
            person, instruction, settings, memory, self.llm, self.log, background, self.clock, self.new_id
        )

    def _memory(self, folder: Path, person: str) -> Memory:
        return Memory(
            folder, self.llm.embedder, clock=self.clock, new_id=self.new_id, log=self.log,
            also_searched=[self.settings.log_dir], scrubbers=self._scrubbers(folder), workers=self.index_workers,
            external=self.settings.external_memories if person == ME else (),
        )  # fmt: skip

    def _scrubbers(self, folder: Path) -> list[Scrub]:
        return [self._one_at_a_time(scrub) for scrub in self._scrubbers_of(folder)]

    def _one_at_a_time(self, scrub: Scrub) -> Scrub:
        """The logs are those of all, and two that erase must not clean them at once."""

        def scrub_alone(gone: Needles) -> None:
            with self._scrubbing:
                scrub(gone)

        return scrub_alone

    # -- closing -------------------------------------------------------------------------------------------------

    def _do_upkeep(self) -> Again:
        """Close one that nobody uses, where too many are open; now and then keep what fell silent."""
        with self._changed:
            place = self._next_to_close()
        if place:
            self._close(place, _PATIENCE)
            return AT_ONCE
        if time.monotonic() >= self._keep_at:
            self._keep_at = time.monotonic() + _KEEP_EVERY
            for companion in self.open_now():
                try:
                    companion.keep_silent()
                except StorageError as fault:  # the memories of others are not to wait for this one
                    self.log.error("sessions could not be looked at", exc_info=fault)
        return max(0.0, self._keep_at - time.monotonic())

    def _next_to_close(self, spare: int = 0) -> _Place | None:
        """The one that was used least recently of those that can be closed, where too many are open."""
        places = [place for place in self._places.values() if place.companion]
        if len(places) <= self._most_open + spare:
            return None
        return next(
            (one for one in places if not one.users and one.companion and not one.companion.busy), None
        )

    def _has_room(self) -> bool:
        return self._next_to_close(_SPARE) is None

    def _close(self, place: _Place, patience: float) -> None:
        """Close a companion unless somebody uses it by now. Who comes meanwhile waits and opens it again."""
        with place.door:
            with self._changed:
                if place.users or place.companion is None:
                    return
                companion, place.companion = place.companion, None
            try:
                companion.close(patience)
            finally:
                with self._changed:
                    self._forget(place)

    def _forget(self, place: _Place) -> None:
        """Nothing is left of a place that nobody uses and where nothing is open; the lock is held."""
        if not place.users and place.companion is None:
            self._places.pop(place.key, None)
        self._changed.notify_all()
