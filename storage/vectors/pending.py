"""From waiting texts to cached vectors: what the embedding model is asked, and what is believed of it.

Promises: no lock is held while the model works; an answer for a text that was changed or erased meanwhile is
thrown away; one text that the server refuses never holds up the others; a vector is taken only when it is
sound and of the dimension that is known.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from domain import errors
from domain.vectors import Embedder
from storage.embeddings import Embeddings
from storage.vectors.table import normalised

if TYPE_CHECKING:
    from domain.vectors import Vector

_AT_ONCE = 64
#: A dimension nobody expected is believed when the server has given it this often in a row.
_BELIEVED_AFTER = 3


class PendingEmbedder:
    """Embeds what is waiting."""

    def __init__(
        self,
        store: Embeddings,
        embedder: Embedder,
        key_of: Callable[[str], str | None],
        log: logging.Logger,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._key_of = key_of
        self._log = log
        self._strange: tuple[int, int] = (0, 0)

    def embed(self, proceed: Callable[[], bool]) -> dict[str, str]:
        """Embed a portion of what is waiting; returns the texts that have their vector now (id: digest).

        Empty when nothing waits. Raises EmbeddingError when the server cannot be used; what it gave before
        that is kept.
        """
        keys = self._keys(self._store.waiting())
        digests = {text_id: digest_of(key) for text_id, key in keys.items()}
        known = self._store.with_vector(self._embedder.model, digests)
        for some in _portions([text_id for text_id in keys if text_id not in known]):
            if not proceed():
                break
            asked = {text_id: keys[text_id] for text_id in some}
            self._keep(asked, digests, self._ask(asked))
        made = self._store.with_vector(self._embedder.model, digests)
        return {text_id: digest for text_id, digest in digests.items() if text_id in made}

    def _keys(self, text_ids: Sequence[str]) -> dict[str, str]:
        """What is to be embedded; texts that are gone leave the queue."""
        keys = {text_id: self._key_of(text_id) for text_id in text_ids}
        gone = [text_id for text_id, key in keys.items() if key is None]
        if gone:
            with self._store.in_one_commit():
                self._store.remove(text_id for text_id in gone if self._key_of(text_id) is None)
        return {text_id: key for text_id, key in keys.items() if key is not None}

    def _ask(self, asked: Mapping[str, str]) -> Sequence[Vector | None]:
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

    def _keep(
        self, asked: Mapping[str, str], digests: Mapping[str, str], vectors: Sequence[Vector | None]
    ) -> None:
        model, known = self._embedder.model, self._store.dimension(self._embedder.model)
        dimension = self._dimension(known, vectors)
        with self._store.in_one_commit():
            if dimension is not None and dimension != known:
                self._store.set_dimension(model, dimension)
            for (text_id, key), vector in zip(asked.items(), vectors, strict=True):
                if self._key_of(text_id) == key:
                    self._keep_one(text_id, digests[text_id], vector, dimension)
        if known is not None and dimension != known:
            self._store.take_stock(model)

    def _keep_one(self, text_id: str, digest: str, vector: Vector | None, dimension: int | None) -> None:
        try:
            if vector is None or dimension is None:
                raise errors.EmbeddingError("embedding.refused")
            sound = normalised(vector, dimension)
        except errors.EmbeddingError as fault:
            self._store.refuse(text_id, str(fault))
        else:
            self._store.store(text_id, self._embedder.model, digest, sound)

    def _dimension(self, known: int | None, vectors: Sequence[Vector | None]) -> int | None:
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


def _portions(text_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(text_ids), _AT_ONCE):
        yield text_ids[at : at + _AT_ONCE]


def digest_of(key: str) -> str:
    """A short name for the exact text a vector is made from."""
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
