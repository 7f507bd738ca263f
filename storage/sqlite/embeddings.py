"""Every vector that was ever made, in SQLite, and the queue of texts that still need one.

A vector is kept as float16 beside the model that made it and a digest of the text it was made from, so that a
lost index costs no call to a model, and a vector of an older text is never taken for one of the present text.

Functions that take ``sql`` belong inside the caller's transaction: a turn and its place in the queue are one
commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from domain.records import Kind
from domain.vectors import VectorRow
from storage.sqlite.database import Database, Row, Sql

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.bytes_]

#: A text that was refused this often is set aside.
MOST_FAILURES = 3
_BATCH = 1024
_IN_ONE_QUERY = 500
#: So many rows are gone through at a time, so that nobody waits long for the database.
_SLICE = 10_000

#: In ``meta``, before the name of a model.
_DIMENSION = "dimension:"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many texts have a vector of the present model, still need one, and were set aside."""

    vectors: int
    pending: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """A text that gets no vector, and what the server said."""

    text_id: str
    reason: str


def digest_of(key: str) -> str:
    """A short name for the exact text a vector is made from."""
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


class Embeddings:
    """The tables ``embedding`` and ``pending``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(self, sql: Sql, text_id: str, kind: Kind) -> None:
        """Ask for a vector, of a new text or of one whose key has changed: an old vector is let go."""
        sql("DELETE FROM embedding WHERE text_id = ?", (text_id,))
        sql("INSERT OR REPLACE INTO pending (text_id, kind) VALUES (?, ?)", (text_id, kind))

    def forget(self, sql: Sql, text_ids: Iterable[str]) -> None:
        """Delete every cached vector of these texts, of any model, and their place in the queue."""
        for text_id in text_ids:
            sql("DELETE FROM embedding WHERE text_id = ?", (text_id,))
            sql("DELETE FROM pending WHERE text_id = ?", (text_id,))

    def dependents(self, text_ids: Iterable[str], reach: int = 2) -> list[str]:
        """Turns whose key holds words of these turns: the next ``reach`` of their session."""
        given = list(dict.fromkeys(text_ids))
        found: dict[str, None] = {}
        for text_id in given:
            rows = self._database.read(
                "SELECT later.text_id FROM conversation c JOIN conversation later"
                " ON later.session_id = c.session_id AND later.seq > c.seq"
                " WHERE c.text_id = ? ORDER BY later.seq LIMIT ?",
                (text_id, reach),
            )
            found |= dict.fromkeys(row["text_id"] for row in rows)
        return [text_id for text_id in found if text_id not in set(given)]

    def take_stock(self, model: str) -> Ids:
        """Ask for a vector of this model for every text that has none.

        Returns the ids of those that have one, sorted, as an array of bytes: what the index should hold.
        """
        import numpy as np

        texts, embedded = self._texts(), self._embedded(model)
        missing = np.setdiff1d(texts, embedded, assume_unique=True).tolist()
        for at in range(0, len(missing), _SLICE):
            with self._database.write() as sql:
                for text_id in missing[at : at + _SLICE]:
                    self._ask_for(sql, text_id.decode())
        return np.intersect1d(texts, embedded, assume_unique=True)

    @staticmethod
    def _ask_for(sql: Sql, text_id: str) -> None:
        for kind in ("conversation", "summary"):
            wanted = f"SELECT text_id, '{kind}' FROM {kind} WHERE text_id = ?"
            sql(f"INSERT OR IGNORE INTO pending (text_id, kind) {wanted}", (text_id,))

    def try_again(self) -> None:
        """Give texts that were set aside another chance."""
        with self._database.write() as sql:
            sql("UPDATE pending SET failures = 0, reason = ''")

    def waiting(self, limit: int = _BATCH) -> list[str]:
        """Ids of texts that need a vector."""
        query = "SELECT text_id FROM pending WHERE failures < ? LIMIT ?"
        return [row["text_id"] for row in self._database.read(query, (MOST_FAILURES, limit))]

    def cached(self, model: str, digests: Mapping[str, str]) -> set[str]:
        """Of these texts (id: digest of the key), those that have a vector already."""
        query = "SELECT text_id, digest FROM embedding WHERE model = ? AND text_id IN"
        rows = self._by_ids(query, model, digests)
        return {row["text_id"] for row in rows if digests[row["text_id"]] == row["digest"]}

    def store(self, sql: Sql, text_id: str, model: str, digest: str, vector: npt.NDArray[np.float16]) -> None:
        """Keep one vector."""
        columns = "text_id, model, dimension, digest, vector"
        values = (text_id, model, len(vector), digest, vector.astype("<f2").tobytes())
        sql(f"INSERT OR REPLACE INTO embedding ({columns}) VALUES (?, ?, ?, ?, ?)", values)

    def done(self, sql: Sql, digests: Mapping[str, str], model: str) -> None:
        """Take texts off the queue, unless their key has changed since."""
        for text_id, digest in digests.items():
            sql(
                "DELETE FROM pending WHERE text_id = ? AND EXISTS (SELECT 1 FROM embedding e"
                " WHERE e.text_id = pending.text_id AND e.model = ? AND e.digest = ?)",
                (text_id, model, digest),
            )

    def refused(self, sql: Sql, text_id: str, reason: str) -> None:
        """Count one failure of a text."""
        query = "UPDATE pending SET failures = failures + 1, reason = ? WHERE text_id = ?"
        sql(query, (reason, text_id))

    def effort(self) -> tuple[int, int]:
        """How many texts are on the queue, and how often they failed: unchanged when nothing was achieved."""
        query = "SELECT count(*) AS texts, coalesce(sum(failures), 0) AS failures FROM pending"
        rows = self._database.read(query)
        return int(rows[0]["texts"]), int(rows[0]["failures"])

    def set_aside(self) -> list[SetAside]:
        """Texts that were refused too often."""
        query = "SELECT text_id, reason FROM pending WHERE failures >= ? ORDER BY text_id"
        return [SetAside(**dict(row)) for row in self._database.read(query, (MOST_FAILURES,))]

    def counts(self, model: str) -> Counts:
        """How far the present model is."""
        query = (
            "SELECT (SELECT count(*) FROM embedding WHERE model = ?) AS vectors,"
            " (SELECT count(*) FROM pending WHERE failures < ?) AS pending,"
            " (SELECT count(*) FROM pending WHERE failures >= ?) AS set_aside"
        )
        return Counts(**dict(self._database.read(query, (model, MOST_FAILURES, MOST_FAILURES))[0]))

    def dimension(self, model: str) -> int | None:
        """How long the vectors of this model are; None while there were none."""
        rows = self._database.read("SELECT value FROM meta WHERE key = ?", (_DIMENSION + model,))
        return int(rows[0]["value"]) if rows else None

    def set_dimension(self, sql: Sql, model: str, dimension: int) -> None:
        """Vectors of this model have this length from now on; those of another length are let go."""
        sql("DELETE FROM embedding WHERE model = ? AND dimension <> ?", (model, dimension))
        sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_DIMENSION + model, str(dimension)))

    def rows(self, model: str, text_ids: Iterable[str]) -> list[VectorRow]:
        """Rows for the index, of texts that are stored and have a vector."""
        return [_row(row) for row in self._by_ids(f"{_ROWS} AND e.text_id IN", model, text_ids)]

    def batches(self, model: str, size: int = _BATCH) -> Iterator[list[VectorRow]]:
        """All rows for the index, ``size`` at a time, in the order they were made."""
        last = -1
        while True:
            query = f"{_ROWS} AND e.rowid > ? ORDER BY e.rowid LIMIT ?"
            rows = self._database.read(query, (model, last, size))
            if not rows:
                return
            last = rows[-1]["number"]
            yield [_row(row) for row in rows]

    def _texts(self) -> Ids:
        """The ids of all texts, sorted."""
        import numpy as np

        tables = [
            self._ids(f"SELECT text_id FROM {kind} WHERE text_id > ?") for kind in ("conversation", "summary")
        ]
        return np.sort(np.concatenate(tables))

    def _embedded(self, model: str) -> Ids:
        """The ids of all texts with a vector of this model, sorted."""
        return self._ids("SELECT text_id FROM embedding WHERE text_id > ? AND model = ?", model)

    def _ids(self, query: str, *more: str) -> Ids:
        """All of a column of ids, read from its index a slice at a time."""
        import numpy as np

        found, last = [np.array([], dtype="S1")], ""
        while rows := self._database.read(f"{query} ORDER BY text_id LIMIT {_SLICE}", (last, *more)):
            last = rows[-1]["text_id"]
            found.append(np.array([row["text_id"] for row in rows], dtype=np.bytes_))
        return np.concatenate(found)

    def bytes_of(self, text_ids: Sequence[str]) -> list[bytes]:
        """The bytes of every cached vector of these texts, as float16 and float32, to look for in files."""
        import numpy as np

        found = []
        for text_id in text_ids:
            for row in self._database.read("SELECT vector FROM embedding WHERE text_id = ?", (text_id,)):
                half = np.frombuffer(row["vector"], dtype="<f2")
                found += [half.tobytes(), half.astype("<f4").tobytes()]
        return found

    def _by_ids(self, query: str, model: str, text_ids: Iterable[str]) -> list[Row]:
        wanted, rows = list(text_ids), []
        for at in range(0, len(wanted), _IN_ONE_QUERY):
            some: Sequence[str] = wanted[at : at + _IN_ONE_QUERY]
            rows += self._database.read(f"{query} ({', '.join('?' * len(some))})", (model, *some))
        return rows


_FROM = (
    " FROM embedding e LEFT JOIN conversation c ON c.text_id = e.text_id"
    " LEFT JOIN summary s ON s.text_id = e.text_id"
    " WHERE coalesce(c.session_id, s.session_id) IS NOT NULL AND e.model = ?"
)
_ROWS = (
    "SELECT e.rowid AS number, e.text_id, e.vector, coalesce(c.session_id, s.session_id) AS session_id,"
    f" CASE WHEN c.text_id IS NULL THEN 'summary' ELSE 'conversation' END AS kind{_FROM}"
)


def _row(row: Row) -> VectorRow:
    import numpy as np

    vector = np.frombuffer(row["vector"], dtype="<f2").astype(np.float32)
    return VectorRow(row["text_id"], row["kind"], row["session_id"], vector)
