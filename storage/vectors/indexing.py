"""The background worker that keeps every text findable by meaning.

    waiting text -> embedding model -> vector in the store -> row in LanceDB    (a round in one commit)

Promises: nothing here ever holds up a conversation: no lock of the store is held while a model or LanceDB works,
and every fault is met by trying again later. The index is brought into agreement with the store when it starts,
and the embedding model is not asked for any vector that is known. Vectors of two models never meet: texts
without a vector of the present model are embedded anew, and that goes on where it stopped. An erased text
never comes back.

All writing to LanceDB happens in one thread at a time, so ``drop`` of an erased text, asked for after its commit,
always comes after whatever the worker was about to add.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from domain import errors
from domain.records import Kind
from domain.vectors import Embedder, Hit, VectorRow
from domain.workers import AT_ONCE, Again, Backoff, Worker, Workers
from storage.embeddings import Embeddings, SetAside
from storage.vectors.lance import HOPELESS
from storage.vectors.pending import PendingEmbedder
from storage.vectors.reconcile import Reconciler
from storage.vectors.table import Vectors

if TYPE_CHECKING:
    from domain.vectors import Vector

#: After so many commits the small files are folded together.
_UPKEEP_EVERY = 32
#: The same after so many texts, once none is waiting: until then each search compares them one by one.
_MANY_NEW = 1_000
_DELAYS = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
#: With more texts waiting than this, recall by meaning is not what it could be.
_MANY_WAITING = 64
#: Seconds without any progress after which nobody waits any longer for work that was asked for. The longest single
#: step, the index for nearest vectors of millions of texts, takes some minutes.
_MOST_WITHOUT_PROGRESS = 900.0

Missing = Literal["embeddings", "index"]
Doing = Literal["starting", "ready", "rebuilding", "embedding", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long piece of work is."""

    doing: Doing
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What ``/status`` tells of the index. ``fault`` is for logs and for the curious, not translated.

    ``trouble`` is why it is out of order; None when it is not.
    """

    doing: Doing
    model: str
    dimension: int | None
    vectors: int
    waiting: int
    set_aside: tuple[SetAside, ...]
    degraded: tuple[Missing, ...]
    fault: str
    trouble: errors.StorageError | None = None


class Indexing:
    """The worker and its door.

    >>> indexing.start()                        # after the prompt stands
    >>> store.store_round(...)
    >>> indexing.wake()
    """

    def __init__(
        self,
        store: Embeddings,
        vectors: Vectors,
        embedder: Embedder,
        key_of: Callable[[str], str | None],
        log: logging.Logger,
        *,
        delays: Sequence[float] = _DELAYS,
        most_without_progress: float = _MOST_WITHOUT_PROGRESS,
        workers: Workers | None = None,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._embedder = embedder
        self._log = log
        self._pending = PendingEmbedder(store, embedder, key_of, log)
        self._reconciler = Reconciler(store, vectors, log)
        self._worker = Worker("old-friend-index", self._step, log, workers)
        self._server, self._index = Backoff(delays), Backoff(delays)
        self._lock = threading.Lock()
        self._dropped: list[str] = []
        self._builds_asked = self._builds_done = 0
        self._opened = False
        self._commits = self._new = 0
        self._most_waiting = 0
        self._fault = ""
        self._failure: errors.StorageError | None = None
        self._patience = most_without_progress
        self._moved = time.monotonic()
        #: Called when texts were enqueued.
        self.wake = self._worker.wake

    # -- for everybody ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin in the background: check the index, then embed what waits."""
        self._moved = time.monotonic()
        self._worker.start()

    def close(self, timeout: float = 1.0) -> bool:
        """End the work; False when what is in hand takes longer: it is cut off, and nothing is lost."""
        return self._worker.end(timeout)

    def settle(self, timeout: float) -> bool:
        """Wait until every text that can have its vector has it and is in the index. False when not."""
        until, before = time.monotonic() + timeout, list[str]()
        while self._worker.rest(max(0.0, until - time.monotonic())):
            if not (waiting := self._store.waiting(1)):
                return not self.degraded
            if waiting == before:
                return False
            # Somebody has just stored it and will wake the worker in a moment; or it waits for better times.
            before = waiting
            self.wake()
        return False

    def await_open(self, timeout: float) -> bool:
        """Wait for an index that is just being opened; returns whether it can be searched.

        One that has to be built anew, or that fails, is not waited for.
        """
        until = time.monotonic() + timeout
        while self._is_opening() and time.monotonic() < until:
            time.sleep(0.01)
        return self._opened and self._vectors.state == "ready"

    def _is_opening(self) -> bool:
        begun = self._worker.alive and not self._opened
        return begun and not self._index.failures and self._vectors.state != "rebuilding"

    def nearest(self, vector: Vector, kind: Kind, limit: int) -> list[Hit]:
        """The texts of a kind that are nearest to a vector, best first. Raises StorageError where it cannot tell."""
        return self._vectors.search(vector, kind=kind, exclude_session=None, limit=limit)

    def rows(self) -> Iterator[list[VectorRow]]:
        """Every text that has a vector of the present model, with it, some at a time."""
        return self._store.batches(self._embedder.model)

    def drop(self, text_ids: Iterable[str]) -> None:
        """Take rows out of the index soon. Call it after the commit that removed their texts."""
        with self._lock:
            self._dropped += text_ids
        self.wake()

    def scrub(self, timeout: float) -> bool:
        """Make the index anew so that no byte of a dropped row is left, and wait for it."""
        self._index.worked()
        asked = self._remake()
        return self._worker.rest(timeout) and self._builds_done >= asked

    def reindex(self) -> None:
        """Make the index anew from the vectors in the store, and try texts again that were set aside."""
        self._store.try_again()
        self._server.worked()
        self._index.worked()
        self._remake()

    @property
    def degraded(self) -> tuple[Missing, ...]:
        """What recall has to do without now."""
        missing: list[Missing] = []
        if self._server.failures:
            missing.append("embeddings")
        if not self._opened or self._vectors.state != "ready" or self._catching_up():
            missing.append("index")
        return tuple(missing)

    def progress(self) -> Progress | None:
        """How far the work is that takes long; None when there is none. It "failed" when waiting for it is no use."""
        if self.trouble is not None:
            return Progress("failed", self._reconciler.built, self._reconciler.total)
        if self._vectors.state == "rebuilding":
            return Progress("rebuilding", self._reconciler.built, self._reconciler.total)
        if self._catching_up():
            waiting = self._store.effort()[0]
            self._most_waiting = max(self._most_waiting, waiting)
            return Progress("embedding", self._most_waiting - waiting, self._most_waiting)
        return None

    @property
    def trouble(self) -> errors.StorageError | None:
        """Why the index is out of order, or will not be whole however long somebody waits; None when all is well."""
        if self._index.failures:
            return self._failure
        moved = max(self._moved, self._worker.woken)
        if time.monotonic() - moved > self._patience and self._has_work():
            return errors.StorageError("index.stalled", seconds=round(self._patience))
        return None

    def _has_work(self) -> bool:
        return self._worker.alive and (not self._worker.rest(0) or bool(self._store.waiting(1)))

    def status(self) -> IndexStatus:
        """Everything about the index at this moment."""
        model = self._embedder.model
        counts = self._store.counts(model)
        return IndexStatus(
            doing=self._doing(),
            model=model,
            dimension=self._store.dimension(model),
            vectors=counts.vectors,
            waiting=counts.pending,
            set_aside=tuple(self._store.set_aside()),
            degraded=self.degraded,
            fault=self._fault,
            trouble=self.trouble,
        )

    # -- in the worker's thread ------------------------------------------------------------------------------

    def _step(self) -> Again:
        """One piece of work; says when to come again."""
        try:
            if self._one_piece():
                self._moved = time.monotonic()
                return AT_ONCE
            if self._new >= _MANY_NEW and not self._index.left():
                self._upkeep()
            if not self._index.left():
                self._index.worked()
        except errors.EmbeddingError as fault:
            self._server.failed()
            self._note("embeddings", fault)
        except errors.StorageError as fault:
            self._index_failed(fault)
            if self._index.left() == math.inf:
                return AT_ONCE
        return self._when_again()

    def _one_piece(self) -> bool:
        """Do what comes next, if it may be tried now; False when nothing was done."""
        if not self._index.left() and self._tend_index():
            return True
        return not self._server.left() and self._embed_pending()

    def _proceed(self) -> bool:
        """Whether to go on after a piece of the work, which is then done."""
        self._moved = time.monotonic()
        return self._worker.proceed()

    def _tend_index(self) -> bool:
        """One piece of the work that comes before new texts; False when there is none."""
        if not self._opened:
            self._open()
        elif self._builds_asked > self._builds_done:
            self._rebuild()
        elif dropped := self._take_dropped():
            self._reconciler.drop(dropped)
            self._commits += 1
        elif self._commits >= _UPKEEP_EVERY:
            self._upkeep()
        else:
            return False
        return True

    def _upkeep(self) -> None:
        self._reconciler.upkeep()
        self._commits = self._new = 0

    def _open(self) -> None:
        model = self._embedder.model
        wanted = self._store.take_stock(model)
        self._most_waiting = self._store.effort()[0]
        self._opened = self._reconciler.open(model, wanted, self._proceed)
        self._commits = self._vectors.versions()

    def _rebuild(self) -> None:
        """Everything asked for before now is met: what was dropped is not in the store any more."""
        asked = self._builds_asked
        self._take_dropped()
        if self._reconciler.rebuild(self._embedder.model, self._proceed):
            self._builds_done = asked
            self._commits = self._new = 0

    def _embed_pending(self) -> bool:
        """Embed a portion and bring it into the index; False when nothing waits."""
        model = self._embedder.model
        before, effort = self._store.dimension(model), self._store.effort()
        made = self._pending.embed(self._proceed)
        if effort != (0, 0):
            self._server.worked()
        if not made:
            return self._store.effort() != effort
        if not self._opened:
            self._reconciler.distrust(made, model)
            return True
        if self._store.dimension(model) != before or not self._vectors.has_table:
            self._opened = self._reconciler.rebuild(model, self._proceed, made)
            return True
        self._reconciler.put(model, made)
        self._commits += 1
        self._new += len(made)
        self._reconciler.keep_checksums(made, model)
        return True

    def _take_dropped(self) -> list[str]:
        with self._lock:
            dropped, self._dropped = self._dropped, []
        return dropped

    def _remake(self) -> int:
        """Ask for a new index; returns the number of the request."""
        with self._lock:
            self._builds_asked += 1
            asked = self._builds_asked
        self.wake()
        return asked

    def _index_failed(self, fault: errors.StorageError) -> None:
        """Go on by words, and make the index anew later. A full disk gets its room back, and no old byte stays.

        Texts get their vectors also where no index can ever be.
        """
        self._failure = fault
        if fault.key == HOPELESS:
            self._index.give_up()
        else:
            self._index.failed()
        self._note("the vector index", fault)
        self._opened = False
        self._vectors.close()
        try:
            self._reconciler.distrust()
            if isinstance(fault, errors.DiskFull) or self._builds_asked > self._builds_done:
                self._vectors.remove()
        except errors.StorageError as second:
            self._note("the vector index", second)

    def _note(self, what: str, fault: errors.OldFriendError) -> None:
        self._fault = str(fault)
        self._log.warning("%s: %s; trying again later", what, fault)

    def _when_again(self) -> Again:
        waits = [wait for wait in (self._index.left(), self._server.left()) if 0 < wait < math.inf]
        return min(waits) if waits else None

    def _catching_up(self) -> bool:
        return self._most_waiting > _MANY_WAITING and len(self._store.waiting(1)) > 0

    def _doing(self) -> Doing:
        if self.trouble is not None:
            return "failed"
        if not self._opened:
            return "rebuilding" if self._vectors.state == "rebuilding" else "starting"
        if self._vectors.state == "rebuilding":
            return "rebuilding"
        return "embedding" if self._catching_up() else "ready"
