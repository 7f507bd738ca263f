"""The background worker that keeps every text findable by meaning, and the index in agreement with the store.

    waiting text -> embedding model -> vector in the store -> row in LanceDB    (a round in one commit)

Guarantees: no lock of the store is kept while a model or LanceDB works; every fault is retried later. At the start the
index is compared with the store, and repaired or rebuilt from it without asking the model again. Texts without a vector
of the present model are embedded again, resumably; vectors of two models never meet. An erased text never returns:
one thread at a time writes to LanceDB, so ``drop`` follows whatever the worker was about to add.

Of several programs one embeds and writes; another takes its place within a second of its end. The others follow: they
take vectors from the store, where they find what the writer has made, and leave it requests for a rebuild.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from domain import errors
from domain.files import FileLock, storage_error
from domain.indexes import Embedder, Hit, VectorRow
from domain.records import Kind
from domain.workers import AT_ONCE, Again, Backoff, Worker, Workers
from storage.embeddings import Embeddings, SetAside
from storage.vectors.lance import HOPELESS
from storage.vectors.table import Vectors, normalise

if TYPE_CHECKING:
    from domain.indexes import Vector
    from storage.embeddings import Ids
    from storage.postgres.vectors import PostgresVectors

    #: Where the nearest texts are searched.
    AnyVectors = Vectors | PostgresVectors

#: The one file that LanceDB writes again and again; without it the newest version is looked for.
_HINT = "latest_version_hint.json"
_CHUNK = 1 << 20


class Checksums:
    """The checksums of a folder.

    >>> checksums.keep()
    >>> checksums.are_right()
    True
    """

    def __init__(self, store: Embeddings, vectors: AnyVectors) -> None:
        self._store = store
        self._vectors = vectors
        self._folder = vectors.folder
        self._known: dict[str, str] = {}

    def keep(self, also: Callable[[], None] = lambda: None) -> None:
        """Keep what has changed since the last time: new files are read, known ones are not.

        No lock is kept while files are read. ``also`` is done in the same commit.
        """
        present = {path for path in self._present_files() if not path.endswith(_HINT)}
        written = {path: self._file_checksum(path) for path in present if path not in self._known}
        gone = self._known.keys() - present
        with self._store.in_one_commit():
            self._store.store_checksums(written, gone)
            also()
        self._known = {path: self._known[path] for path in self._known.keys() - gone} | written

    def forget(self, also: Callable[[], None] = lambda: None) -> None:
        """Trust nothing any more; the next ``keep`` starts over. ``also`` is done in the same commit."""
        self._known = {}
        with self._store.in_one_commit():
            self._store.remove_checksums()
            also()

    def are_right(self, wanted: Callable[[], bool] = lambda: True) -> bool:
        """Whether every file with a checksum is whole. Files of a write that was cut short are removed.

        Reads every byte, about 3 GB a second. ``wanted`` is asked between files; False ends the reading, and
        nothing is believed then.
        """
        self._known = self._store.checksums()
        present = self._present_files()
        for path, checksum in self._known.items():
            if path not in present or not wanted() or self._file_checksum(path) != checksum:
                return False
        for path in present - self._known.keys():
            (self._folder / path).unlink(missing_ok=True)
        return bool(self._known)

    def _present_files(self) -> set[str]:
        found = set()
        for place, _, files in os.walk(self._folder / f"{self._vectors.name}.lance"):
            found |= {os.path.relpath(os.path.join(place, name), self._folder) for name in files}
        return found

    def _file_checksum(self, path: str) -> str:
        """Length and CRC-32 of a file: any flipped byte changes it."""
        try:
            with open(self._folder / path, "rb") as file:
                length = checksum = 0
                while chunk := file.read(_CHUNK):
                    checksum = zlib.crc32(chunk, checksum)
                    length += len(chunk)
        except OSError as fault:
            raise storage_error(fault, self._folder / path) from fault
        return f"{length}:{checksum:08x}"


_AT_ONCE = 64
#: A dimension no one expected is believed when the server has given it this often in a row.
_BELIEVED_AFTER = 3


class PendingEmbedder:
    """Embeds what is waiting; ``key_of`` gives the text whose vector is that of a text's id."""

    def __init__(
        self, store: Embeddings, embedder: Embedder, key_of: Callable[[str], str | None], log: logging.Logger
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._key_of = key_of
        self._log = log
        self._strange: tuple[int, int] = (0, 0)

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._embedder.model

    def embed(self, proceed: Callable[[], bool]) -> dict[str, str]:
        """Embed a portion of what is waiting; returns the texts that have their vector now (id: digest).

        Empty when nothing waits. Raises EmbeddingError when the server cannot be used; what it gave before
        that is kept.
        """
        keys = self._read_keys(self._store.waiting())
        digests = {text_id: digest_of(key) for text_id, key in keys.items()}
        known = self._store.with_vector(self._embedder.model, digests)
        new = [text_id for text_id in keys if text_id not in known]
        for at in range(0, len(new), _AT_ONCE):
            if not proceed():
                break
            asked = {text_id: keys[text_id] for text_id in new[at : at + _AT_ONCE]}
            self._store_vectors(asked, digests, self._ask_embedder(asked))
        made = self._store.with_vector(self._embedder.model, digests)
        return {text_id: digest for text_id, digest in digests.items() if text_id in made}

    def _read_keys(self, text_ids: Sequence[str]) -> dict[str, str]:
        """What is to be embedded; texts that are gone leave the queue."""
        keys = {text_id: self._key_of(text_id) for text_id in text_ids}
        gone = [text_id for text_id, key in keys.items() if key is None]
        if gone:
            with self._store.in_one_commit():
                self._store.remove(text_id for text_id in gone if self._key_of(text_id) is None)
        return {text_id: key for text_id, key in keys.items() if key is not None}

    def _ask_embedder(self, asked: Mapping[str, str]) -> Sequence[Vector | None]:
        try:
            vectors = self._embedder.embed(list(asked.values()))
        except errors.OldFriendError:
            raise
        except Exception as fault:
            self._log.exception("the embedder failed")
            raise errors.EmbeddingError(reason=type(fault).__name__) from fault
        if len(vectors) != len(asked):
            raise errors.EmbeddingError("embedding.count", found=len(vectors), expected=len(asked))
        return vectors

    def _store_vectors(
        self, asked: Mapping[str, str], digests: Mapping[str, str], vectors: Sequence[Vector | None]
    ) -> None:
        model, known = self._embedder.model, self._store.dimension(self._embedder.model)
        dimension = self._check_dimension(known, vectors)
        with self._store.in_one_commit():
            if dimension is not None and dimension != known:
                self._store.set_dimension(model, dimension)
            vector_of = dict(zip(asked, vectors, strict=True))
            for text_id in (text_id for text_id, key in asked.items() if self._key_of(text_id) == key):
                self._keep_one(text_id, digests[text_id], vector_of[text_id], dimension)
        if known is not None and dimension != known:
            self._store.take_stock(model)

    def _keep_one(self, text_id: str, digest: str, vector: Vector | None, dimension: int | None) -> None:
        try:
            if vector is None or dimension is None:
                raise errors.EmbeddingError("embedding.refused")
            sound = normalise(vector, dimension)
        except errors.EmbeddingError as fault:
            self._store.record_failure(text_id, str(fault))
        else:
            self._store.store(text_id, self._embedder.model, digest, sound)

    def _check_dimension(self, known: int | None, vectors: Sequence[Vector | None]) -> int | None:
        """The dimension vectors must have. One that changed is an error first, and believed when it stays."""
        found = {len(vector) for vector in vectors if vector is not None}
        if len(found) != 1 or known is None or known in found:
            self._strange = (0, 0)
            return known or (found.pop() if len(found) == 1 else None)
        (new,) = found
        times = self._strange[1] + 1 if self._strange[0] == new else 1
        self._strange = (new, times)
        if times < _BELIEVED_AFTER:
            raise errors.EmbeddingError("embedding.dimension", found=new, expected=known)
        return new


def digest_of(key: str) -> str:
    """A short name for the exact text a vector is made from."""
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


#: When more than this part of the rows is missing, rebuilding is quicker than adding.
_MOST_MISSING = 0.2
_BATCH = 1024
#: With fewer rows there is nothing to be put in order in an index that was just made.
_WORTH_UPKEEP = 1_000

Proceed = Callable[[], bool]


class Reconciler:
    """Opens, compares, repairs and rebuilds. Belongs to the worker."""

    def __init__(self, store: Embeddings, vectors: AnyVectors, log: logging.Logger) -> None:
        self._store = store
        self._vectors = vectors
        self._log = log
        self._checksums = Checksums(store, vectors)
        self.built = self.total = 0
        #: What was taken from the store where another program writes: model, dimension, and the last number.
        self._followed: tuple[str, int] | None = None
        self._last = -1

    def open(self, model: str, proceed: Proceed) -> bool:
        """Make the index agree with the store. False when it was ended before.

        Files that are whole are searched at once, while every id is still to be compared with the store: a hit that is
        stored no more is dropped by whoever looks it up.
        """
        self._followed = None
        dimension = self._store.dimension(model)
        self._vectors.name = self._store.index_table() or self._vectors.name
        if dimension is not None and self._checksums.are_right(proceed) and self._open_whole(model, dimension):
            self._vectors.remove_former()
            return True
        self._store.take_stock(model)
        if dimension is None:
            self._vectors.open_empty()
            return True
        return proceed() and self.rebuild(model, proceed)

    def _open_whole(self, model: str, dimension: int) -> bool:
        try:
            self._vectors.open(model, dimension, self._vectors.name)
            return self._repair_small(model)
        except errors.StorageError as fault:
            self._log.warning("the vector index is rebuilt: %s", fault)
            return False

    def rebuild(self, model: str, proceed: Proceed, digests: Mapping[str, str] | None = None) -> bool:
        """Rebuild the index from the store, in an empty folder. False when it was ended before.

        The texts of ``digests`` are in it then, and leave the queue.
        """
        dimension, (asked, _) = self._store.dimension(model), self._store.rebuilds()
        self.distrust()
        self.built, self.total = 0, self._store.counts(model).vectors
        if dimension is None:
            self._vectors.remove()
            self._vectors.open_empty()
            self._store.note_rebuilt(self._vectors.name, asked)
            return True
        if not self._vectors.rebuild(model, dimension, self._count_batches(model), proceed):
            return False
        self._checksums.keep(lambda: self._finish_rebuild(asked, digests or {}, model))
        if self.total >= _WORTH_UPKEEP:
            self.upkeep()
        return True

    def _finish_rebuild(self, asked: int, digests: Mapping[str, str], model: str) -> None:
        self._store.mark_done(digests, model)
        self._store.note_rebuilt(self._vectors.name, asked)

    def follow(self, model: str, proceed: Proceed) -> None:
        """Take from the store what the program that writes the index has made since."""
        dimension, (count, last) = self._store.dimension(model), self._store.extent(model)
        if dimension is None:
            self._vectors.open_empty()
            return
        if self._followed != (model, dimension):
            self._vectors.follow(dimension)
            self._followed, self._last = (model, dimension), -1
        for batch in self._store.batches(model, after=self._last) if last > self._last else ():
            self._vectors.take(batch)
            if not proceed():
                return
        self._last = last
        here = self._vectors.ids_in_memory()
        if here is None and (table := self._store.index_table()):
            self._vectors.read(model, table)
        elif here is not None and len(here) != count:
            self._vectors.drop(here - self._store.embedded(model))

    def mend(self, model: str) -> None:
        """Bring the index into agreement with the store where another program has removed texts."""
        differs = self._vectors.has_table and self._vectors.count() != self._store.extent(model)[0]
        if differs and not self._repair_small(model):
            raise errors.StorageError("index.fault", act="compare", reason="rows that are not stored")

    def upkeep(self) -> None:
        """Fold files together and keep the index in order."""
        if self._vectors.has_table:
            self._vectors.upkeep()
            self._vectors.remove_former()
            self.keep_checksums()

    def put(self, model: str, text_ids: Iterable[str]) -> None:
        """Write the rows of these texts to the index, in one commit."""
        self._vectors.upsert(self._store.rows(model, text_ids))

    def drop(self, text_ids: Sequence[str]) -> None:
        """Take rows out of the index."""
        if self._vectors.has_table:
            self._vectors.delete(text_ids)
            self.keep_checksums()

    def distrust(self, digests: Mapping[str, str] | None = None, model: str = "") -> None:
        """The index is behind the store, or at fault: the next ``open`` rebuilds it.

        In the same commit texts that have their vector leave the queue.
        """
        self._checksums.forget(lambda: self._store.mark_done(digests or {}, model))

    def keep_checksums(self, digests: Mapping[str, str] | None = None, model: str = "") -> None:
        """Keep the checksums of the files, and in the same commit take finished texts off the queue."""
        self._checksums.keep(lambda: self._store.mark_done(digests or {}, model))

    def _repair_small(self, model: str) -> bool:
        """Repair small differences to the store; False when the index had better be rebuilt.

        A text leaves the queue in the commit that keeps the checksums of its row: with none waiting no row is missing
        in files that are whole, so where there are as many rows as vectors none is left over either.
        """
        if self._store.waiting(1) or self._vectors.count() != self._store.extent(model)[0]:
            wanted, here = self._store.take_stock(model), self._vectors.ids()
            missing = np.setdiff1d(wanted, here, assume_unique=True)
            if np.any(here[1:] == here[:-1]) or len(missing) > _MOST_MISSING * len(wanted):
                return False
            self._apply_repair(model, missing, np.setdiff1d(here, wanted, assume_unique=True))
        # At last: whether a search for a stored vector finds anything.
        row = next(iter(next(self._store.batches(model, 1), [])), None)
        return row is None or bool(self._vectors.search(row.vector, kind=row.type, exclude_session=None, limit=1)[0])

    def _apply_repair(self, model: str, missing: Ids, extra: Ids) -> None:
        for at in range(0, len(missing), _BATCH):
            self.put(model, [text_id.decode() for text_id in missing[at : at + _BATCH].tolist()])
        if len(extra):
            self._vectors.delete([text_id.decode() for text_id in extra.tolist()])
        if len(missing) or len(extra):
            self.keep_checksums()

    def _count_batches(self, model: str) -> Iterator[list[VectorRow]]:
        for batch in self._store.batches(model):
            yield batch
            self.built += len(batch)


#: Seconds after which is looked for what other programs did, and whether the one that writes the index has ended; and
#: after which its writer looks while no other program has written for a minute.
_LOOK, _LOOK_ALONE = 1.0, 5.0
_ALONE_AFTER = 60.0
#: Seconds between two looks of whoever waits for what another program does.
_SOON = 0.05
#: Seconds that are waited for others to let go of a table that was replaced.
_LET_GO = 5.0
#: After so many commits the small files are folded together.
_UPKEEP_EVERY = 32
#: The same after so many texts, once none is waiting: until then each search compares them one by one.
_MANY_NEW = 1_000
_DELAYS = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
#: With more texts waiting than this, recall by meaning is not what it could be.
_MANY_WAITING = 64

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
    """The state of the index, for ``/status``. ``fault`` is for logs and for the curious, not translated.

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
    """The worker and its state.

    >>> indexing.start()                        # after the prompt stands
    >>> store.store_round(...)
    >>> indexing.wake()
    """

    def __init__(
        self,
        store: Embeddings,
        vectors: AnyVectors,
        pending: PendingEmbedder,
        log: logging.Logger,
        *,
        delays: Sequence[float] = _DELAYS,
        workers: Workers | None = None,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._log = log
        self._pending = pending
        self._reconciler = Reconciler(store, vectors, log)
        self._writer = FileLock(vectors.folder.with_name(f".{vectors.folder.name}.writer"))
        self._worker = Worker("old-friend-index", self._run_step, log, workers)
        self._server, self._index = Backoff(delays), Backoff(delays)
        self._lock = threading.Lock()
        self._dropped: list[str] = []
        self._opened = False
        self._commits = self._new = 0
        #: What was last seen of other programs, and when.
        self._elsewhere, self._elsewhere_at = 0, -math.inf
        self._most_waiting = 0
        self._fault = ""
        self._failure: errors.StorageError | None = None
        #: Seconds without any progress after which no one waits any longer for work that was asked for. The longest
        #: single step, the index for nearest vectors of millions of texts, takes some minutes.
        self.patience = 900.0
        self._moved = time.monotonic()
        #: Called when texts were enqueued.
        self.wake = self._worker.wake

    # -- for callers ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin in the background: check the index, then embed what waits."""
        self._moved = time.monotonic()
        self._worker.start()

    def close(self, timeout: float = 1.0) -> bool:
        """End the work; False when what is in hand takes longer: it is cut off, and nothing is lost.

        Then another program may write the index as soon as that has ended.
        """
        ended = self._worker.end(timeout)
        if ended:
            self._writer.release()
        return ended

    def settle(self, timeout: float) -> bool:
        """Wait until every text that can have its vector has it and is in the index. False when not."""
        until, before = time.monotonic() + timeout, list[str]()
        while self._worker.rest(max(0.0, until - time.monotonic())) and self._worker.is_alive:
            if not (waiting := self._store.waiting(1)):
                return not self.degraded
            if (waiting == before and self.writes) or time.monotonic() > until:
                return False
            # Somebody has just stored it and will wake the worker in a moment; or it waits for better times.
            before = waiting
            self.wake()
            if not self.writes:
                time.sleep(_SOON)
        return False

    @property
    def writes(self) -> bool:
        """Whether this program writes the index; else another does."""
        return self._writer.is_taken

    def await_open(self, timeout: float) -> bool:
        """Wait for an index that is just being opened; returns whether it can be searched.

        One that has to be rebuilt, or that fails, is not waited for.
        """
        until = time.monotonic() + timeout
        while self._worker.is_alive and not (self._opened or self._index.failures) and time.monotonic() < until:
            if self._vectors.state != "closed":
                break
            time.sleep(0.01)
        return self._vectors.state == "ready"

    def nearest(self, vector: Vector, kind: Kind, limit: int) -> list[Hit]:
        """The texts of a kind that are nearest to a vector, best first. Raises StorageError where it cannot tell."""
        return self._vectors.search(vector, kind=kind, exclude_session=None, limit=limit)[0]

    def similarities(self, vector: Vector, text_ids: Sequence[str]) -> dict[str, float]:
        """The cosine of each of a few texts that have a vector, by id."""
        query = normalise(vector, None).astype(np.float32)
        rows = self._store.rows(self._pending.model, text_ids)
        return {row.text_id: float(np.dot(row.vector.astype(np.float32), query)) for row in rows}

    def rows(self) -> Iterator[list[VectorRow]]:
        """Every text that has a vector of the present model, with it, some at a time."""
        return self._store.batches(self._pending.model)

    def drop(self, text_ids: Iterable[str]) -> None:
        """Take rows out of the index soon. Call it after the commit that removed their texts."""
        with self._lock:
            self._dropped += text_ids
        self.wake()

    def scrub(self, timeout: float) -> bool:
        """Have the index rebuilt so that no byte of a dropped row is left, and wait for it, whoever writes it."""
        asked, until = self._request_rebuild(), time.monotonic() + timeout
        while self._worker.rest(max(0.0, until - time.monotonic())) and self._worker.is_alive:
            if (met := self._store.rebuilds()[1] >= asked) or self.writes:
                return met and self._is_only_table(time.monotonic() + _LET_GO)
            time.sleep(_SOON)
        return False

    def _is_only_table(self, until: float) -> bool:
        """Wait for programs that search the table before this one; whether it is gone."""
        while any(path.stem != self._store.index_table() for path in self._vectors.folder.glob("*.lance")):
            if time.monotonic() > until:
                return False
            self.wake()
            time.sleep(_SOON)
        return True

    def reindex(self) -> None:
        """Rebuild the index from the vectors in the store, and try texts again that were set aside."""
        self._store.try_again()
        self._server.reset_failures()
        self._request_rebuild()

    def _request_rebuild(self) -> int:
        """Ask for a new index; returns the number of the request."""
        self._index.reset_failures()
        asked = self._store.ask_for_rebuild()
        self.wake()
        return asked

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
        doing = self._current_work()
        if doing in ("failed", "rebuilding"):
            return Progress(doing, self._reconciler.built, self._reconciler.total)
        if self._catching_up():
            waiting = self._store.queue_effort()[0]
            self._most_waiting = max(self._most_waiting, waiting)
            return Progress("embedding", self._most_waiting - waiting, self._most_waiting)
        return None

    @property
    def trouble(self) -> errors.StorageError | None:
        """Why the index is out of order, or will not be whole however long somebody waits; None when all is well."""
        if self._index.failures:
            return self._failure
        moved = max(self._moved, self._worker.woken)
        if time.monotonic() - moved > self.patience and self._has_work():
            return errors.StorageError("index.stalled", seconds=round(self.patience))
        return None

    def _has_work(self) -> bool:
        return self._worker.is_alive and (not self._worker.rest(0) or bool(self._store.waiting(1)))

    def status(self) -> IndexStatus:
        """The state of the index."""
        model = self._pending.model
        counts = self._store.counts(model)
        return IndexStatus(
            doing=self._current_work(),
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

    def _run_step(self) -> Again:
        """One piece of work; says when to come again."""
        try:
            return self._run_own_step() if self.writes or self._take_over() else max(_LOOK, self._vectors.rest)
        finally:
            if not self._worker.proceed():
                self._writer.release()

    def _take_over(self) -> bool:
        """Write the index from now on; where another program does, follow it."""
        try:
            if self._writer.take():
                self._opened = False
                return True
            self._vectors.drop(self._take_dropped())
            self._reconciler.follow(self._pending.model, self._should_proceed)
            if not self._opened:
                self._most_waiting = self._store.queue_effort()[0]
            self._opened = True
            self._index.reset_failures()
        except errors.StorageError as fault:
            self._failure = fault
            self._index.add_failure()
            self._note_fault("the vector index", fault)
            self._opened = False
            self._vectors.close()
        return False

    def _run_own_step(self) -> float:
        try:
            if self._one_piece():
                self._moved = time.monotonic()
                return AT_ONCE
            if self._new >= _MANY_NEW and not self._index.seconds_left():
                self._run_upkeep()
            if not self._index.seconds_left():
                self._index.reset_failures()
        except errors.EmbeddingError as fault:
            self._server.add_failure()
            self._note_fault("embeddings", fault)
        except errors.StorageError as fault:
            self._index_failed(fault)
            if self._index.seconds_left() == math.inf:
                return AT_ONCE
        waits = [wait for wait in (self._index.seconds_left(), self._server.seconds_left()) if 0 < wait < math.inf]
        is_alone = time.monotonic() - self._elsewhere_at > _ALONE_AFTER and not self._vectors.has_former
        return min([*waits, max(_LOOK_ALONE if is_alone else _LOOK, self._vectors.rest)])

    def _one_piece(self) -> bool:
        """Do what comes next, if it may be tried now; False when nothing was done."""
        if not self._index.seconds_left() and self._tend_index():
            return True
        if not self._server.seconds_left() and self._embed_pending():
            return True
        return self._follow_others()

    def _follow_others(self) -> bool:
        """Bring the index into agreement with what another program removed; False where none has written."""
        if self._vectors.has_former:
            self._vectors.remove_former()
        elsewhere = self._store.changes_elsewhere()
        if elsewhere == self._elsewhere:
            return False
        self._elsewhere, self._elsewhere_at = elsewhere, time.monotonic()
        if not self._index.seconds_left():
            self._reconciler.mend(self._pending.model)
        return True

    def _should_proceed(self) -> bool:
        """Whether to go on after a piece of the work, which is then done."""
        self._moved = time.monotonic()
        return self._worker.proceed()

    def _tend_index(self) -> bool:
        """One piece of the work that comes before new texts; False when there is none."""
        if not self._opened:
            self._open_index()
        elif self._is_rebuild_due():
            self._rebuild_index()
        elif dropped := self._take_dropped():
            self._reconciler.drop(dropped)
            self._commits += 1
        elif self._commits >= _UPKEEP_EVERY:
            self._run_upkeep()
        else:
            return False
        return True

    def _run_upkeep(self) -> None:
        self._reconciler.upkeep()
        self._commits = self._new = 0

    def _open_index(self) -> None:
        model = self._pending.model
        self._opened = self._reconciler.open(model, self._should_proceed)
        self._most_waiting = self._store.queue_effort()[0]
        self._commits = self._vectors.versions()

    def _rebuild_index(self) -> None:
        """Everything asked for before now is met: what was dropped is not in the store any more."""
        self._take_dropped()
        if self._reconciler.rebuild(self._pending.model, self._should_proceed):
            self._commits = self._new = 0

    def _is_rebuild_due(self) -> bool:
        asked, met = self._store.rebuilds()
        return asked > met

    def _embed_pending(self) -> bool:
        """Embed a portion and bring it into the index; False when nothing waits."""
        model = self._pending.model
        before, effort = self._store.dimension(model), self._store.queue_effort()
        made = self._pending.embed(self._should_proceed)
        if effort != (0, 0):
            self._server.reset_failures()
        if not made:
            return self._store.queue_effort() != effort
        if not self._opened:
            self._reconciler.distrust(made, model)
            return True
        if self._store.dimension(model) != before or not self._vectors.has_table:
            self._opened = self._reconciler.rebuild(model, self._should_proceed, made)
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

    def _index_failed(self, fault: errors.StorageError) -> None:
        """Go on by words, and rebuild the index later. A full disk gets its room back, and no old byte stays.

        Texts get their vectors also where no index can ever be.
        """
        self._failure = fault
        if fault.key == HOPELESS:
            self._index.give_up()
        else:
            self._index.add_failure()
        self._note_fault("the vector index", fault)
        self._opened = False
        self._vectors.close()
        try:
            self._reconciler.distrust()
            if isinstance(fault, errors.DiskFull) or self._is_rebuild_due():
                self._vectors.remove()
        except errors.StorageError as second:
            self._note_fault("the vector index", second)

    def _note_fault(self, what: str, fault: errors.OldFriendError) -> None:
        self._fault = str(fault)
        if self._worker.proceed():  # else the memory was closed under it
            self._log.warning("%s: %s; trying again later", what, fault)

    def _catching_up(self) -> bool:
        return self._most_waiting > _MANY_WAITING and len(self._store.waiting(1)) > 0

    def _current_work(self) -> Doing:
        if self.trouble is not None:
            return "failed"
        if self._vectors.state == "rebuilding":
            return "rebuilding"
        if not self._opened:
            return "starting"
        return "embedding" if self._catching_up() else "ready"
