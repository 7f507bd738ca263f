"""Every vector that was ever made, in SQLite, and the queue of texts that still need one.

A vector is kept as float16 beside the model that made it and a digest of the text it was made from, so that a
lost index costs no call to a model, and a vector of an older text is never taken for one of the present text.

Checksums of the index that is made from the vectors lie here too, since they change in the same commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from domain.vectors import VectorRow
from storage.sqlite.database import Row, Sql, Tables
from storage.store import EmbeddingCounts, SetAside

if TYPE_CHECKING:
    from domain.vectors import Half
    from storage.store import Ids

#: A text that was refused this often is set aside.
MOST_FAILURES = 3
_BATCH = 1024
#: So many rows are gone through at a time, so that nobody waits long for the database.
_SLICE = 10_000

#: In ``meta``, before the name of a model.
_DIMENSION = "dimension:"
#: In ``meta``, before the path of a file of the index.
_CHECKSUM = "index:"


#: What has faded is in no index.
_VIVID = " AND NOT EXISTS (SELECT 1 FROM faded f WHERE f.text_id = "


class EmbeddingTables(Tables):
    """The tables ``embedding`` and ``pending``."""

    def forget_vectors(self, text_ids: Iterable[str]) -> None:
        """Delete every vector of these texts, of any model, and their place in the queue."""
        with self._database.write() as sql:
            for text_id in text_ids:
                sql("DELETE FROM embedding WHERE text_id = ?", (text_id,))
                sql("DELETE FROM pending WHERE text_id = ?", (text_id,))

    def _dependents(self, text_ids: Iterable[str], reach: int = 2) -> list[str]:
        """Turns whose key holds words of these turns: the next ``reach`` of their session."""
        given = list(dict.fromkeys(text_ids))
        found: dict[str, None] = {}
        for text_id in given:
            rows = self._read(
                "SELECT later.text_id FROM conversation c JOIN conversation later"
                " ON later.session_id = c.session_id AND later.position > c.position AND NOT later.withheld"
                " WHERE c.text_id = ? ORDER BY later.position LIMIT ?",
                text_id,
                reach,
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
        return [row["text_id"] for row in self._read(query, MOST_FAILURES, limit)]

    def with_vector(self, model: str, digests: Mapping[str, str]) -> set[str]:
        """Of these texts (id: digest of the key), those that have a vector already."""
        query = "SELECT text_id, digest FROM embedding WHERE model = ? AND text_id IN ({})"
        rows = self._read_parts(query, list(digests), model)
        return {row["text_id"] for row in rows if digests[row["text_id"]] == row["digest"]}

    def keep_vector(self, text_id: str, model: str, digest: str, vector: Half) -> None:
        """Keep one vector."""
        columns = "text_id, model, dimension, digest, vector"
        values = (text_id, model, len(vector), digest, vector.astype("<f2").tobytes())
        with self._database.write() as sql:
            sql(f"INSERT OR REPLACE INTO embedding ({columns}) VALUES (?, ?, ?, ?, ?)", values)

    def done(self, digests: Mapping[str, str], model: str) -> None:
        """Take texts off the queue, unless their key has changed since."""
        with self._database.write() as sql:
            for text_id, digest in digests.items():
                sql(
                    "DELETE FROM pending WHERE text_id = ? AND EXISTS (SELECT 1 FROM embedding e"
                    " WHERE e.text_id = pending.text_id AND e.model = ? AND e.digest = ?)",
                    (text_id, model, digest),
                )

    def refuse(self, text_id: str, reason: str) -> None:
        """Count one failure of a text."""
        query = "UPDATE pending SET failures = failures + 1, reason = ? WHERE text_id = ?"
        with self._database.write() as sql:
            sql(query, (reason, text_id))

    def effort(self) -> tuple[int, int]:
        """How many texts are on the queue, and how often they failed: unchanged when nothing was achieved."""
        query = "SELECT count(*) AS texts, coalesce(sum(failures), 0) AS failures FROM pending"
        rows = self._read(query)
        return int(rows[0]["texts"]), int(rows[0]["failures"])

    def set_aside(self) -> list[SetAside]:
        """Texts that were refused too often."""
        query = "SELECT text_id, reason FROM pending WHERE failures >= ? ORDER BY text_id"
        return [SetAside(*row) for row in self._read(query, MOST_FAILURES)]

    def embedding_counts(self, model: str) -> EmbeddingCounts:
        """How far the present model is."""
        query = (
            "SELECT (SELECT count(*) FROM embedding WHERE model = ?) AS vectors,"
            " (SELECT count(*) FROM pending WHERE failures < ?) AS pending,"
            " (SELECT count(*) FROM pending WHERE failures >= ?) AS set_aside"
        )
        return EmbeddingCounts(*self._read(query, model, MOST_FAILURES, MOST_FAILURES)[0])

    def dimension(self, model: str) -> int | None:
        """How long the vectors of this model are; None while there were none."""
        rows = self._read("SELECT value FROM meta WHERE key = ?", _DIMENSION + model)
        return int(rows[0]["value"]) if rows else None

    def set_dimension(self, model: str, dimension: int) -> None:
        """Vectors of this model have this length from now on; those of another length are let go."""
        with self._database.write() as sql:
            sql("DELETE FROM embedding WHERE model = ? AND dimension <> ?", (model, dimension))
            sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_DIMENSION + model, str(dimension)))

    def checksums(self) -> dict[str, str]:
        """The checksums of the index by the paths of its files."""
        rows = self._read("SELECT key, value FROM meta WHERE key GLOB ?", _CHECKSUM + "*")
        return {row["key"].removeprefix(_CHECKSUM): row["value"] for row in rows}

    def keep_checksums(self, written: Mapping[str, str], gone: Iterable[str]) -> None:
        """Keep the checksums of files that were written, and forget those of files that are gone."""
        with self._database.write() as sql:
            for path in gone:
                sql("DELETE FROM meta WHERE key = ?", (_CHECKSUM + path,))
            for path, checksum in written.items():
                sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_CHECKSUM + path, checksum))

    def forget_checksums(self) -> None:
        """Forget all of them."""
        with self._database.write() as sql:
            sql("DELETE FROM meta WHERE key GLOB ?", (_CHECKSUM + "*",))

    def vector_rows(self, model: str, text_ids: Iterable[str]) -> list[VectorRow]:
        """Rows for the index, of texts that are stored and have a vector."""
        found = self._read_parts(f"{_ROWS} AND e.text_id IN ({{}})", list(text_ids), model)
        return [_row(row) for row in found]

    def vector_batches(self, model: str, size: int = _BATCH) -> Iterator[list[VectorRow]]:
        """All rows for the index, ``size`` at a time, in the order they were made."""
        last = -1
        while True:
            query = f"{_ROWS} AND e.rowid > ? ORDER BY e.rowid LIMIT ?"
            rows = self._read(query, model, last, size)
            if not rows:
                return
            last = rows[-1]["number"]
            yield [_row(row) for row in rows]

    def _texts(self) -> Ids:
        """The ids of all texts that may have a vector, sorted."""
        import numpy as np

        tables = [
            self._ids(f"SELECT text_id FROM conversation WHERE text_id > ? AND NOT withheld{_VIVID}text_id)"),
            self._ids(f"SELECT text_id FROM summary WHERE text_id > ?{_VIVID}session_id)"),
        ]
        return np.sort(np.concatenate(tables))

    def _embedded(self, model: str) -> Ids:
        """The ids of all texts with a vector of this model, sorted."""
        return self._ids("SELECT text_id FROM embedding WHERE text_id > ? AND model = ?", model)

    def _ids(self, query: str, *more: str) -> Ids:
        """All of a column of ids, read from its index a slice at a time."""
        import numpy as np

        found, last = [np.array([], dtype="S1")], ""
        while rows := self._read(f"{query} ORDER BY text_id LIMIT {_SLICE}", last, *more):
            last = rows[-1]["text_id"]
            found.append(np.array([row["text_id"] for row in rows], dtype=np.bytes_))
        return np.concatenate(found)

    def _vector_bytes(self, text_ids: Sequence[str]) -> list[bytes]:
        """The bytes of every cached vector of these texts, as float16 and float32, to look for in files."""
        import numpy as np

        found = []
        for text_id in text_ids:
            for row in self._read("SELECT vector FROM embedding WHERE text_id = ?", text_id):
                half = np.frombuffer(row["vector"], dtype="<f2")
                found += [half.tobytes(), half.astype("<f4").tobytes()]
        return found


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
