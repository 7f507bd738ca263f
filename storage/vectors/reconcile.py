"""Bringing the vector index into agreement with the store: open it when it is whole, mend it, or make it anew.

    files as they were written? -> opens? -> same ids as the store? -> answers a search?    any doubt: built anew

No step asks the embedding model for anything: every vector that was ever made lies in the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from domain import errors
from domain.vectors import VectorRow
from storage.embeddings import Embeddings
from storage.vectors.checksums import Checksums
from storage.vectors.table import Vectors

if TYPE_CHECKING:
    from storage.embeddings import Ids

#: When more than this part of the rows is missing, building anew is quicker than adding.
_MOST_MISSING = 0.2
_BATCH = 1024
#: With fewer rows there is nothing to be put in order in an index that was just made.
_WORTH_UPKEEP = 1_000

Proceed = Callable[[], bool]


class Reconciler:
    """Opens, compares, repairs and rebuilds. Belongs to the worker."""

    def __init__(self, store: Embeddings, vectors: Vectors, log: logging.Logger) -> None:
        self._store = store
        self._vectors = vectors
        self._log = log
        self._checksums = Checksums(store, vectors.folder)
        self.built = self.total = 0

    def open(self, model: str, wanted: Ids, proceed: Proceed) -> bool:
        """Make the index ready for searches; it is to hold the ``wanted`` ids. False when it was ended before."""
        dimension = self._store.dimension(model)
        if dimension is None:
            self._vectors.open_empty()
            return True
        if self._checksums.are_right(proceed):
            try:
                self._vectors.open(model, dimension)
                if self._agree(model, wanted):
                    return True
            except errors.StorageError as fault:
                self._log.warning("the vector index is made anew: %s", fault)
        return proceed() and self.rebuild(model, proceed)

    def rebuild(self, model: str, proceed: Proceed, digests: Mapping[str, str] | None = None) -> bool:
        """Make the index anew from the store, in an empty folder. False when it was ended before.

        The texts of ``digests`` are in it then, and leave the queue.
        """
        dimension = self._store.dimension(model)
        self.distrust()
        self.built, self.total = 0, self._store.counts(model).vectors
        if dimension is None:
            self._vectors.remove()
            self._vectors.open_empty()
            return True
        if not self._vectors.rebuild(model, dimension, self._counted(model), proceed):
            return False
        self.keep_checksums(digests, model)
        if self.total >= _WORTH_UPKEEP:
            self.upkeep()
        return True

    def upkeep(self) -> None:
        """Fold files together and keep the index in order."""
        if self._vectors.has_table:
            self._vectors.upkeep()
            self.keep_checksums()

    def put(self, model: str, text_ids: Iterable[str]) -> None:
        """Bring the rows of these texts into the index, in one commit."""
        self._vectors.upsert(self._store.rows(model, text_ids))

    def drop(self, text_ids: Sequence[str]) -> None:
        """Take rows out of the index."""
        if self._vectors.has_table:
            self._vectors.delete(text_ids)
            self.keep_checksums()

    def distrust(self, digests: Mapping[str, str] | None = None, model: str = "") -> None:
        """The index is behind the store, or at fault: the next ``open`` makes it anew.

        In the same commit texts that have their vector leave the queue.
        """
        self._checksums.forget(lambda: self._store.done(digests or {}, model))

    def keep_checksums(self, digests: Mapping[str, str] | None = None, model: str = "") -> None:
        """Keep the checksums of the files, and in the same commit take finished texts off the queue."""
        self._checksums.keep(lambda: self._store.done(digests or {}, model))

    def _agree(self, model: str, wanted: Ids) -> bool:
        """Repair small differences to the store; False when the index had better be made anew."""
        here = self._vectors.ids()
        missing = np.setdiff1d(wanted, here, assume_unique=True)
        if np.any(here[1:] == here[:-1]) or len(missing) > _MOST_MISSING * len(wanted):
            return False
        self._repair(model, missing, np.setdiff1d(here, wanted, assume_unique=True))
        return self._answers(model)

    def _repair(self, model: str, missing: Ids, extra: Ids) -> None:
        for at in range(0, len(missing), _BATCH):
            self.put(model, [text_id.decode() for text_id in missing[at : at + _BATCH].tolist()])
        if len(extra):
            self._vectors.delete([text_id.decode() for text_id in extra.tolist()])
        if len(missing) or len(extra):
            self.keep_checksums()

    def _answers(self, model: str) -> bool:
        """Whether a search for a stored vector finds anything."""
        row = next(iter(next(self._store.batches(model, 1), [])), None)
        if row is None:
            return True
        return bool(self._vectors.search(row.vector, kind=row.type, exclude_session=None, limit=1))

    def _counted(self, model: str) -> Iterator[list[VectorRow]]:
        for batch in self._store.batches(model):
            yield batch
            self.built += len(batch)
