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
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib import import_module
from itertools import repeat
from pathlib import Path
from threading import Condition, Lock, RLock

from conversation import Conversation
from domain.errors import EmbeddingError, UsageError
from domain.events import Stop
from domain.recollection import Recollection
from domain.records import Session
from domain.settings import Settings
from domain.workers import AT_ONCE, Again, Worker, Workers
from jobs.background import Background
from jobs.keeping import Keeping
from llm import Llm
from memory import Memory
from recall.questions import queries
from storage.erasure import Scrub
from storage.proof import Needles
from storage.sqlite.registry import EVERYBODY, PEOPLE, REGISTRY, Instruction, Registry, Token

__all__ = [
    "EVERYBODY",
    "ME",
    "PEOPLE",
    "Companion",
    "Instruction",
    "People",
    "Registry",
    "Scrub",
    "Token",
    "folder_of",
    "registry_in",
]

#: The person at the terminal.
ME = "me"
#: Threads for the indexes of all memories, and for work that waits for models: one never holds up the other.
_INDEX_THREADS, _MODEL_THREADS = 4, 8
#: Seconds that one of each waits for the next person.
_LINGER = 2.0
#: Conversations that a companion keeps beside the one last asked for.
_CONVERSATIONS = 8
#: Notices that wait for somebody to tell them, at the most.
_MOST_NOTICES = 20
#: Seconds between two looks for sessions that fell silent.
_KEEP_EVERY = 600.0
#: Seconds that the index of a memory that is closed has for what waits; the rest is done at the next opening.
_SETTLE = 0.5
#: Memories that may be open beyond the limit while one is being closed, and seconds to wait for that.
_SPARE, _PATIENCE = 16, 30.0
#: Threads that close everything in the end, and seconds that the index of each has then.
_CLOSERS, _AT_THE_END = 4, 1.0

Key = tuple[str, int | None]


def folder_of(data_dir: Path, person: str, instruction: int | None = None) -> Path:
    """Where a companion's memory lies."""
    if person == ME and instruction is None:
        return data_dir
    own = data_dir / PEOPLE / hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return own / ("own" if instruction is None else f"instruction-{instruction}")


def registry_in(data_dir: Path) -> Path:
    """Where it is written who is served."""
    return data_dir / REGISTRY


@dataclass
class Companion:
    """One companion of one person, open: its settings (with its folder), its memory, and the models of all.

    ``turns`` is held by whoever has a turn with it, so that two requests of one person come one after the other.
    Whoever erases pauses the ``background``, which keeps silent sessions and notes what was said.
    """

    person: str
    instruction: Instruction | None
    settings: Settings
    memory: Memory
    llm: Llm
    log: logging.Logger
    background: Background
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    turns: RLock = field(default_factory=RLock)
    #: The one last asked for at the end.
    _conversations: list[Conversation] = field(default_factory=list)

    def conversation(self, session: Session) -> Conversation:
        """The conversation of an active session, with what only it knows: what can be taken back, what was recalled.

        For whoever holds ``turns``. A few are kept; ``fold_ahead`` after a turn works in the threads of all.
        """
        with self.turns:
            held = [one for one in self._conversations if one.session.session_id == session.session_id]
            conversation = held[0] if held else self._begun(session)
            self._conversations = [one for one in self._conversations if one is not conversation]
            resting = [one for one in self._conversations if one.resting.is_set()]
            gone = resting[: max(0, len(self._conversations) - _CONVERSATIONS)]
            self._conversations = [*(one for one in self._conversations if one not in gone), conversation]
            return conversation

    def recall(self, text: str, recent: Sequence[str], session_id: str) -> Recollection:
        """What is recalled for words that a door brings; ``recent`` was said before them."""
        wanted, limits = queries(recent[-2:], text), self.settings.recall_limits
        return self.memory.recall(wanted, session_id, self.clock(), limits, recent=recent)

    def keep_silent(self) -> None:
        """Save in the background what fell silent, and make anew what erasures left behind."""
        if self.turns.acquire(blocking=False):
            self._let_silent_go()
            self.turns.release()
        self._keeping().begin()

    @property
    def busy(self) -> bool:
        """Whether something is done for it in the background."""
        return self.background.busy or not all(one.resting.is_set() for one in self._conversations)

    def begin(self) -> None:
        """What may take its time after opening: the index, an erasure that was cut short, silent sessions."""
        self.background.begin(self._start)

    def close(self, patience: float) -> None:
        """Let go of everything; what is done in the background is given up, and goes on at the next opening.

        What its index is at has so many seconds to end: whoever opens it again must not meet that.
        """
        self.background.end(timeout=0)
        for conversation in self._conversations:
            conversation.close()
        self.memory.close(_SETTLE, patience)

    def _start(self, stop: Stop) -> None:
        self.memory.start()
        stop.check()
        self._keeping().keep_all(stop)

    def _begun(self, session: Session) -> Conversation:
        """What is being saved because it fell silent is left alone from now on, if somebody talks in it again."""
        silent = self.memory.fell_silent(session.session_id, self.clock(), self.settings.archive_after)
        with self.background.paused() if silent else nullcontext():
            conversation = self._conversation_of(session)
            self._conversations.append(conversation)
            return conversation

    def _conversation_of(self, session: Session) -> Conversation:
        return Conversation(
            self.settings, self.memory, self.llm, self.log,
            session=session, resumed=True, clock=self.clock, new_id=self.new_id, background=self.background,
        )  # fmt: skip

    def _keeping(self) -> Keeping:
        return Keeping(
            self.settings, self.memory, self.llm, self.background,
            clock=self.clock, present=str, held=self._held,
        )  # fmt: skip

    def _held(self) -> list[str]:
        return [one.session.session_id for one in self._conversations]

    def _let_silent_go(self) -> None:
        """A session that fell silent is not gone on with, and what nobody asked for is told no more."""
        after, now = self.settings.archive_after, self.clock()
        self._conversations = [
            one
            for one in self._conversations
            if not self.memory.fell_silent(one.session.session_id, now, after)
        ]
        del self.background.notices[:-_MOST_NOTICES]


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
        self.model_workers = Workers("old-friend-work", _MODEL_THREADS, _LINGER)
        #: Where it is written what went wrong, for nobody's eyes but the owner's.
        self.log = log
        self._most_open = most_open
        self._scrubbers_of = scrubbers_of
        self._scrubbing = Lock()
        self._changed = Condition()
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
    def companion(self, person: str, instruction: int | None = None) -> Iterator[Companion]:
        """This companion, opened if it is not, and kept open meanwhile.

        Raises StorageError (DataInUse where another program holds it), UsageError where there is no such instruction.
        """
        place = self._enter((person, instruction))
        try:
            yield self._open(place)
        finally:
            self._leave(place)

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

    def close(self) -> None:
        """Close every memory; what is in use is waited for."""
        with self._changed:
            self._changed.wait_for(lambda: not any(place.users for place in self._places.values()))
            places = list(self._places.values())
        self._upkeep.end(_PATIENCE)
        with ThreadPoolExecutor(_CLOSERS) as closers:
            list(closers.map(self._close, places, repeat(_AT_THE_END)))

    # -- opening and letting go ----------------------------------------------------------------------------------

    def _enter(self, key: Key) -> _Place:
        with self._changed:
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

    def _open(self, place: _Place) -> Companion:
        """The companion of a place, for one of its users."""
        with place.door:
            if place.companion is None:
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
        self.registry.meet(person)
        folder = folder_of(self.settings.data_dir, person, number)
        memory = Memory(
            folder, self.llm.embedder, clock=self.clock, new_id=self.new_id, log=self.log,
            also_searched=[self.settings.log_dir], scrubbers=self._scrubbers(folder), workers=self.index_workers,
            external=self.settings.external_memories if person == ME else (),
        )  # fmt: skip
        background = Background("keep", "opening.keeping_failed", self.log, self.model_workers)
        settings = replace(self.settings, data_dir=folder)
        return Companion(
            person, instruction, settings, memory, self.llm, self.log, background, self.clock, self.new_id
        )

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
                companion.keep_silent()
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
