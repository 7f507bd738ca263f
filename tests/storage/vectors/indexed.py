"""What the tests of the index share: a store with turns in it, and an embedder that is told what to do."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from domain import errors
from domain.indexes import Hit
from storage.engine import instant
from storage.vectors.indexing import Indexing, PendingEmbedder
from storage.vectors.table import Vectors
from tests.contract.stores import sqlite

DELAYS = (0.02,)
PATIENCE = 120.0
_WHEN = "2026-01-01T09:00:00+00:00"


class Oracle:
    """A deterministic embedder: texts that share words get vectors that are near."""

    def __init__(self, model: str = "oracle-1", dimension: int = 64) -> None:
        self.model = model
        self.dimension = dimension
        self.asked: list[str] = []
        self.refuses: Callable[[str], bool] = lambda text: False
        self.down = False
        self.before_answer: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        with self._lock:
            self.asked += texts
        self.before_answer()
        if self.down:
            raise errors.EmbeddingError(reason="down")
        return [None if self.refuses(text) else self.vector(text) for text in texts]

    def vector(self, text: str) -> np.ndarray:
        total = np.zeros(self.dimension, dtype=np.float32)
        for word in text.lower().split():
            seed = hashlib.blake2b(f"{self.model} {word}".encode(), digest_size=4).digest()
            random = np.random.default_rng(int.from_bytes(seed))
            total += random.normal(size=self.dimension).astype(np.float32)
        return total


class IndexedStore:
    """SQLite, cached vectors, LanceDB and the worker, on one folder."""

    def __init__(self, folder: Path, oracle: Oracle | None = None) -> None:
        self.folder = folder
        self.oracle = oracle or Oracle()
        self.log = logging.Logger("test", logging.INFO)
        opened = sqlite(folder)
        self.database, self.embeddings, self.messages = opened.database, opened.embeddings, opened.messages
        self.vectors = Vectors(folder / "vectors", self.log)
        self.pending = PendingEmbedder(self.embeddings, self.oracle, self.key_of, self.log)
        self.indexing = Indexing(self.embeddings, self.vectors, self.pending, self.log, delays=DELAYS)

    def started(self) -> IndexedStore:
        self.indexing.start()
        return self

    def settle(self) -> bool:
        return self.indexing.settle(PATIENCE)

    def key_of(self, text_id: str) -> str | None:
        for query in ("SELECT text FROM conversation", "SELECT summary FROM summary"):
            if rows := self.database.run(f"{query} WHERE text_id = ?", text_id):
                return str(rows[0][0])
        return None

    def add_session(self, session_id: str) -> None:
        with self.database.write() as tx:
            number = tx.next("session")
            tx.do(
                "INSERT INTO session (number, session_id, start_timestamp, status, stored_at, position, instant)"
                " VALUES (?, ?, ?, 'archived', ?, ?, ?)",
                number, session_id, _WHEN, _WHEN, number, instant(_WHEN),
            )  # fmt: skip

    def add_messages(self, session_id: str, texts: Sequence[str], first: int = 0) -> list[str]:
        """Rounds of a session, each of two turns, their texts as given."""
        ids = []
        with self.database.write() as tx:
            for number, text in enumerate(texts, start=first):
                text_id = f"{session_id}-{number}"
                role = "assistant" if number % 2 else "user"
                tx.do(
                    "INSERT INTO conversation (seq, text_id, session_id, timestamp, instant, role, text, round,"
                    " position, stored_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    tx.next("conversation"), text_id, session_id, _WHEN, instant(_WHEN), role, text,
                    number // 2 + 1, number, _WHEN,
                )  # fmt: skip
                self.embeddings.enqueue(tx, [(text_id, "conversation")])
                ids.append(text_id)
        self.indexing.wake()
        return ids

    def add_summary(self, session_id: str, text: str) -> str:
        text_id = f"summary-{session_id}"
        with self.database.write() as tx:
            tx.do(
                "INSERT INTO summary (seq, text_id, session_id, timestamp, summary, upto_round, stored_at)"
                " VALUES (?, ?, ?, ?, ?, 1, ?)",
                tx.next("summary"), text_id, session_id, _WHEN, text, _WHEN,
            )  # fmt: skip
            self.embeddings.enqueue(tx, [(text_id, "summary")])
        self.indexing.wake()
        return text_id

    def remove_messages(self, text_ids: Sequence[str]) -> None:
        with self.database.write() as tx:
            tx.many("DELETE FROM conversation WHERE text_id = ?", [(text_id,) for text_id in text_ids])
            self.embeddings.remove(text_ids)
        self.indexing.drop(text_ids)

    def search(self, text: str, limit: int = 10, exclude_session: str | None = None) -> list[Hit]:
        query = self.oracle.vector(text)
        return self.vectors.search(query, kind="conversation", exclude_session=exclude_session, limit=limit)[0]

    def close(self) -> None:
        assert self.indexing.close(PATIENCE)
        self.vectors.close()
        self.database.close()
