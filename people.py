"""Many people, each with a memory of their own: which are open, and who may use them.

One person, one companion, one memory: a folder named by a digest of the person's id, so an id never becomes a path. The
person ``me`` is the one at the terminal. A system instruction makes a companion of its own, in its own folder. All
companions share the models, the registry and a few threads, and nothing else.

    companion(person) -> its place -> opened, if it is not -> used -> released -> closed, when others need the room

Guarantees: a memory is opened on demand by one thread, and no other person waits for that; at most OPEN_MEMORIES unused
ones stay open; one in use is never closed; a failed opening leaves nothing; what one person said is in no other
person's folder, prompt or answer.
"""

from __future__ import annotations

import gc
import logging
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from types import MappingProxyType

from companion import Companion
from domain.errors import DataInUse, EmbeddingError, StorageError, UsageError
from domain.files import storage_error
from domain.receipts import ErasureReceipt
from domain.records import EVERYBODY, ME
from domain.settings import Settings
from domain.workers import AT_ONCE, Again, CancelToken, Worker, Workers
from jobs.maintenance import Maintenance
from jobs.scheduler import Scheduler
from llm import Llm
from memory import Memory, Surroundings
from storage.erasure import Needles, Scrub
from storage.jobs import JobKind
from storage.programs import FolderLock
from storage.registry import PEOPLE, Instruction, Registry, Token, Usage, folder_of, has_memory, registry_in
from storage.repositories import OnServer

#: What else is known of people, for whoever serves them.
__all__ = [
    "EVERYBODY", "ME", "PEOPLE", "Companion", "Instruction", "Registry", "Scrub", "Token", "Usage", "folder_of",
    "registry_in",
]  # fmt: skip

#: Threads for the indexes of all memories, and for work that waits for models: one never delays the other.
_INDEX_THREADS, _MODEL_THREADS = 4, 8
#: How many memories have jobs of these kinds done at once: they take long, and others are to have their turn.
_AT_ONCE: Mapping[JobKind, int] = MappingProxyType({"consolidate": 2, "client_history": 1})
#: Threads that register people who are served for the first time.
_MEETING = 4
#: Seconds that one of each waits for the next person.
_LINGER = 2.0
#: Seconds between two checks for idle sessions.
_KEEP_EVERY = 600.0
#: So many memories that are due a server looks after next, and seconds between two looks for some.
_DUE_AT_ONCE, _LOOK_FOR_DUE = 8, 5.0
#: Memories that may be open beyond the limit while one is being closed, and seconds to wait for that.
_SPARE, _PATIENCE = 16, 30.0
#: Seconds between two looks whether one can be closed.
_LOOK_AGAIN = 0.2
#: Seconds between two looks whether a job that waits for a turn was cancelled.
_LOCK_LOOK = 0.05
#: Threads that close everything in the end, and seconds that the index of each has then.
_CLOSERS, _AT_THE_END = 4, 1.0

Key = tuple[str, int | None]


@dataclass(eq=False)
class _Place:
    """One companion's place. ``users``: how many use it now. ``lock`` is for opening and closing."""

    key: Key
    companion: Companion | None = None
    users: int = 0
    lock: Lock = field(default_factory=Lock)


class People:
    """Whose memory is open.

    >>> with people.companion("me") as companion:
    ...     companion.memory.sessions.counts()
    """

    def __init__(
        self,
        llm: Llm,
        registry: Registry,
        *,
        new_id: Callable[[], str],
        scrubbers_of: Callable[[Path], Sequence[Scrub]] = lambda folder: (),
    ) -> None:
        """``scrubbers_of`` the folder of a memory: what cleans its prompt history, and the logs of all, of what is
        erased there.
        """
        self.llm, self.settings, self.clock = llm, llm.settings, llm.clock
        self.registry = registry
        self.new_id = new_id
        #: Whether what is heavy was loaded; else whoever needs it first loads it.
        self._prepared = False
        self.index_workers = Workers("old-friend-index", _INDEX_THREADS, _LINGER)
        self._meeting = ThreadPoolExecutor(_MEETING, "old-friend-meeting")
        self.scheduler = Scheduler(_MODEL_THREADS, _LINGER, _AT_ONCE)
        self._closing = CancelToken()
        #: Set while no client history is to be opened.
        self._resumed = Event()
        self._resumed.set()
        #: The log, for the owner's eyes only.
        self.log = llm.log
        self._scrubbers_of = scrubbers_of
        self._scrubbing = Lock()
        self._changed = Condition()
        #: People whose memories are being erased: no one may use them.
        self._shut: set[str] = set()
        #: The least recently used first.
        self._places: OrderedDict[Key, _Place] = OrderedDict()
        self._upkeep = Worker("old-friend-people", self._do_upkeep, self.log)
        self._keep_at = time.monotonic() + _KEEP_EVERY
        self._upkeep.start()
        #: What is due and could not be opened: another server would fare no better.
        self._failed: list[Key] = []
        self._retry_at = self._keep_at
        self._when_due: Callable[[Companion], None] = Companion.start_maintenance
        self._due = Worker("old-friend-due", self._open_due, self.log)

    def prepare(self) -> None:
        """Load what is heavy, a second or two; without this, the first person waits for it."""
        from storage.vectors import lance

        self._prepared = True
        lance.load()
        import_module("openai.resources.chat.completions")
        with suppress(EmbeddingError):  # recall goes on by words, and says so
            self.llm.prepare()
        # What is loaded stays; looking through all of it for garbage would stop every thread, again and again.
        gc.collect()
        gc.freeze()

    @contextmanager
    def companion(self, person: str, instruction: int | None = None) -> Iterator[Companion]:
        """This companion, opened if it is not, and kept open meanwhile.

        Raises StorageError (DataInUse while its folder is restored or erased), UsageError where there is no such
        instruction.
        """
        place, opened = self._enter_place((person, instruction)), None
        try:
            opened = self._open_place(place)
            yield opened
        except StorageError as fault:
            if fault.key == "database.erased" and opened and place.companion is opened:
                place.companion = None  # erased by another server; whoever comes next begins a new memory
                with suppress(StorageError):
                    opened.close(0)
            raise
        finally:
            self._leave_place(place)

    def has_person(self, person: str) -> bool:
        """Whether there is anything of this person."""
        return person == ME or self.registry.has_person(person)

    @contextmanager
    def known_companion(self, person: str, instruction: int | None = None) -> Iterator[Companion]:
        """The same for background work, which must not recreate an erased person. Raises UsageError."""
        if not self.has_person(person):
            raise UsageError("person.unknown")
        with self.companion(person, instruction) as companion:
            yield companion

    def open_now(self) -> Iterator[Companion]:
        """Those that are open at this moment, each kept open while it is looked at."""
        with self._changed:
            places = list(self._places.values())
        for place in places:
            with self._changed:
                companion = place.companion
                place.users += 1 if companion else 0
            if companion is None:
                continue
            try:
                yield companion
            finally:
                self._leave_place(place)

    def memory_folders(self, person: str) -> Iterator[tuple[int | None, Path]]:
        """Where the memories of a person lie, each with the number of its system instruction."""
        numbers = [one.number for one in self.registry.instructions(person)]
        for number in (None, *numbers):
            if has_memory(self.registry.place_of(person, number)):
                yield number, folder_of(self.settings.data_dir, person, number)

    def erase_person(self, person: str) -> list[ErasureReceipt]:
        """Erase a person whole: what each memory holds, with proof, then the folder, and last what is known of them.

        Not for ``me``, below whose folder all others lie. Cut short by a crash, it can be begun again. Whoever asks for
        one of these memories meanwhile raises DataInUse.
        """
        assert person != ME
        with self._exclude_others(person):
            self._lock_folders(person).close()  # where another program uses one, nothing is begun
            found = list(self.memory_folders(person))
            receipts = [self._erase_memory(number, folder, person) for number, folder in found]
            with self._lock_folders(person):  # nor is it removed from under one that came meanwhile
                _remove_folder(folder_of(self.settings.data_dir, person).parent)
            self.registry.remove_person(person, receipts)
        return receipts

    def _lock_folders(self, person: str) -> ExitStack:
        """Have the folders of a person's memories alone, until it is closed."""
        with ExitStack() as locks:
            for number, folder in self.memory_folders(person):
                if isinstance(self.registry.place_of(person, number), Path):
                    locks.enter_context(FolderLock(folder, self.clock))
            return locks.pop_all()

    def _erase_memory(self, number: int | None, folder: Path, person: str) -> ErasureReceipt:
        place = self.registry.place_of(person, number)
        memory = self._open_memory(folder, place, person)
        try:
            memory.erasure.erase(memory.erasure.scope_of_everything())
            receipt = memory.erased.receipts()[-1]
        finally:
            memory.close(patience=_PATIENCE)
        if isinstance(place, OnServer):
            place.server.remove(place.person)
        return receipt

    # -- work for client histories ---------------------------------------------------------------------------------

    def resume_client_histories(self) -> None:
        """Open those memories one by one that were to extract from client histories when the program ended."""
        keys = self.registry.due_companions()

        def resume() -> None:
            self._open_each(keys, lambda one: one.maintenance.queue.request("client_history", at_once=True))
            self._resumed.set()

        if keys:
            self._resumed.clear()
            self.scheduler.pool.add(resume)

    def settle_jobs(self, kind: JobKind, timeout: float) -> bool:
        """Wait until no open memory has a job of this kind to do now; false when that takes longer."""
        queues = (companion.maintenance.queue for companion in self.open_now())
        return self._resumed.wait(timeout) and all(queue.settle(kind, timeout) for queue in queues)

    def look_after_due(self, when_due: Callable[[Companion], None]) -> None:
        """From now on open memories of a shared database that are due, and call ``when_due`` with each."""
        self._when_due = when_due
        if self.registry.server:
            self._due.start()

    def _open_due(self) -> Again:
        """Open the memories of a shared database in which something is due and that no server has open."""
        due = self.registry.take_due(_DUE_AT_ONCE)
        again: list[Key] = []
        if time.monotonic() >= self._retry_at:
            self._retry_at = time.monotonic() + _KEEP_EVERY
            again, self._failed = self._failed, []
        self._failed += self._open_each(due + again, self._when_due)
        return AT_ONCE if len(due) == _DUE_AT_ONCE else _LOOK_FOR_DUE

    def _open_each(self, keys: Sequence[Key], visit: Callable[[Companion], None]) -> list[Key]:
        """Open these one by one and do this with each; those that failed. No other memory waits for one of them."""
        failed = list[Key]()
        for person, instruction in keys:
            if self._closing.is_set:
                break
            try:
                with self.known_companion(person, instruction) as companion:
                    visit(companion)
            except UsageError:
                continue  # no one is known by this name, or no more
            except Exception as fault:
                self.log.error("a memory in which something is due could not be opened", exc_info=fault)
                failed.append((person, instruction))
        return failed

    def _settle_client_history(self, companion: Companion, instruction: int | None, cancel: CancelToken) -> None:
        """Nothing is owed any more. A turn that makes something due notes it before it stores it, under this lock."""
        while not companion.turns.acquire(timeout=_LOCK_LOOK):
            cancel.check()
        try:
            key = (companion.person, instruction)
            if not companion.memory.clients.due_extractions() and key in self.registry.due_companions():
                self.registry.unmark_due(*key)
        finally:
            companion.turns.release()

    def close(self) -> None:
        """Close every memory; what is in use is waited for."""
        self._closing.set()
        with self._changed:
            self._changed.wait_for(lambda: not any(place.users for place in self._places.values()))
            places = list(self._places.values())
        self._due.end(_PATIENCE)
        self._upkeep.end(_PATIENCE)
        self._meeting.shutdown(wait=False)
        # No pool: when a program ends, pools take nothing more, and some versions of Python start no thread.
        faults = list[StorageError]()
        helpers = [Thread(target=self._close_places, args=(places, faults)) for _ in places[1:_CLOSERS]]
        with suppress(RuntimeError):
            for one in helpers:
                one.start()
        self._close_places(places, faults)
        for one in helpers:
            if one.ident is not None:
                one.join()
        if faults:
            raise faults[0]

    def _close_places(self, places: list[_Place], faults: list[StorageError]) -> None:
        """Close the last of these places until there is none left; a fault keeps none from being closed."""
        with suppress(IndexError):
            while True:
                place = places.pop()
                try:
                    self._close_place(place, _AT_THE_END)
                except StorageError as fault:
                    faults.append(fault)

    # -- opening and letting go ----------------------------------------------------------------------------------

    @contextmanager
    def _exclude_others(self, person: str) -> Iterator[None]:
        """Meanwhile nothing of a person is open, and no one can open it."""
        with self._changed:
            if person in self._shut:
                raise self._in_use()
            self._shut.add(person)
        try:
            with self._changed:
                own = [place for key, place in self._places.items() if key[0] == person]
                unused = self._changed.wait_for(lambda: not any(one.users for one in own), _PATIENCE)
            if not unused:
                raise self._in_use()
            for place in own:
                self._close_place(place, _PATIENCE)
            yield
        finally:
            with self._changed:
                self._shut.discard(person)

    def _in_use(self) -> DataInUse:
        return DataInUse(path=str(self.settings.data_dir), pid=None, host=None, since=None)

    def _enter_place(self, key: Key) -> _Place:
        with self._changed:
            if key[0] in self._shut:
                raise self._in_use()
            place = self._places.setdefault(key, _Place(key))
            self._places.move_to_end(key)
            place.users += 1
            return place

    def _leave_place(self, place: _Place) -> None:
        with self._changed:
            place.users -= 1
            self._drop_unused(place)
            crowded = self._next_to_close() or self._next_to_close(busy=True)
        if crowded:
            self._upkeep.wake()

    def _open_place(self, place: _Place) -> Companion:
        with place.lock:
            if place.companion is not None:
                return place.companion
            with self._changed:
                self._changed.wait_for(lambda: self._next_to_close(_SPARE) is None, _PATIENCE)
            opened = self._open_companion(*place.key)
            with self._changed:
                place.companion = opened
            opened.begin(ahead=self._prepared)
            return opened

    def _open_companion(self, person: str, number: int | None) -> Companion:
        instruction = None if number is None else self.registry.instruction(person, number)
        if number is not None and instruction is None:
            raise UsageError("instruction.unknown", number=number)
        met = self._meeting.submit(self.registry.add_person, person)  # two writes to the disk, side by side
        folder = folder_of(self.settings.data_dir, person, number)
        memory = self._open_memory(folder, self.registry.place_of(person, number), person)
        try:
            met.result()
        except BaseException:
            memory.close()
            raise
        settings = replace(self.settings, data_dir=folder)
        maintenance = Maintenance(settings, memory, self.llm, self.scheduler)
        opened = Companion(person, instruction, maintenance, self.new_id)
        maintenance.client_history_done = partial(self._settle_client_history, opened, number)
        return opened

    def _open_memory(self, folder: Path, place: Path | OnServer, person: str) -> Memory:
        return Memory(
            place, self.llm.embedder, clock=self.clock, new_id=self.new_id, log=self.log,
            around=Surroundings(
                [self.settings.log_dir], self._make_scrubbers(folder),
                self.settings.external_memories if person == ME else (), self.index_workers,
            ),
        )  # fmt: skip

    def _make_scrubbers(self, folder: Path) -> list[Scrub]:
        """The logs are those of all, and two that erase must not clean them at once."""

        def scrub_alone(scrub: Scrub, gone: Needles) -> None:
            with self._scrubbing:
                scrub(gone)

        return [partial(scrub_alone, scrub) for scrub in self._scrubbers_of(folder)]

    # -- closing -------------------------------------------------------------------------------------------------

    def _do_upkeep(self) -> Again:
        """Close an unused one if too many are open; now and then start the maintenance of all."""
        with self._changed:
            place = self._next_to_close()
            is_late = place is None and self._next_to_close(busy=True) is not None
        if place:
            self._close_place(place, _PATIENCE)
            return AT_ONCE
        if time.monotonic() >= self._keep_at:
            self._keep_at = time.monotonic() + _KEEP_EVERY
            for companion in self.open_now():
                try:
                    companion.start_maintenance()
                except StorageError as fault:  # other memories are not to wait for this one
                    self.log.error("sessions could not be looked at", exc_info=fault)
        left = max(0.0, self._keep_at - time.monotonic())
        return min(left, _LOOK_AGAIN) if is_late else left

    def _next_to_close(self, spare: int = 0, *, busy: bool = False) -> _Place | None:
        """Where too many are open, the one used least recently of those that can be closed, or of the ``busy``."""
        places = [place for place in self._places.values() if place.companion]
        if len(places) <= self.settings.open_memories + spare:
            return None
        return next((one for one in places if not one.users and one.companion and one.companion.busy == busy), None)

    def _close_place(self, place: _Place, patience: float) -> None:
        """Close a companion unless it is in use. A user who arrives meanwhile waits and opens it again."""
        with place.lock:
            with self._changed:
                if place.users or place.companion is None:
                    return
                companion, place.companion = place.companion, None
            try:
                companion.close(patience)
            finally:
                with self._changed:
                    self._drop_unused(place)

    def _drop_unused(self, place: _Place) -> None:
        """Remove a place that is unused and closed. Call with the lock."""
        if not place.users and place.companion is None:
            self._places.pop(place.key, None)
        self._changed.notify_all()


@contextmanager
def open_people(
    settings: Settings,
    log: logging.Logger,
    *,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    scrubbers_of: Callable[[Path], Sequence[Scrub]] = lambda folder: (),
) -> Iterator[People]:
    """Everyone below a data folder, with the models of the settings, until the block ends. Raises StorageError."""
    with (
        closing(Registry(registry_in(settings.data_dir), clock, settings.database_url)) as registry,
        closing(Llm(settings, log, clock=clock)) as llm,
        closing(People(llm, registry, new_id=new_id, scrubbers_of=scrubbers_of)) as people,
    ):
        yield people


def _remove_folder(folder: Path) -> None:
    going = folder.with_name(f".{folder.name}.going")  # who comes meanwhile finds all of it or nothing
    try:
        if going.exists():  # a crash left it
            shutil.rmtree(going)
        if folder.exists():
            folder.rename(going)
            shutil.rmtree(going)
    except OSError as fault:
        raise storage_error(fault, folder) from fault
