"""One way of storing vectors, run by ``scale_peers`` in a process (and for peers an environment) of its own.

    python -m bench.scale_plain WAY ROWS DIMENSION ROWS_ONE_BY_ONE FOLDER

Prints one JSON object: seconds to load the rows in batches, then milliseconds of a row more, stored on its own,
and of a search, the part of the nearest that it finds, and what lies on the disk. Each peer is used as the first
page of its manual shows: LanceDB is appended to without index, upkeep or clean-up. Ours is kept as the program
keeps it.
"""

from __future__ import annotations

import json
import logging
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_BATCH = 2_000
_QUESTIONS = 40
_FEW, _MANY = 10, 300
#: The program folds files together after so many commits; see ``storage/indexing.py``.
_UPKEEP_EVERY = 32


class Way(Protocol):
    """What is asked of each. Rows are known by their number."""

    def load(self, batches: Iterator[tuple[int, Floats]]) -> None:
        """Store many, each batch under the numbers from its first on."""

    def add(self, number: int, vector: Floats) -> None:
        """Store one more."""

    def nearest(self, vector: Floats, limit: int) -> list[int]:
        """The nearest by cosine."""


class Ours:
    """The vector index of this program, with its upkeep."""

    most_in_memory: int | None = None

    def __init__(self, folder: Path, dimension: int) -> None:
        from storage.vectors import table as vectors

        log = logging.getLogger("bench")
        most = {} if self.most_in_memory is None else {"most_in_memory": self.most_in_memory}
        self._vectors = vectors.Vectors(folder, log, **most)
        self._dimension = dimension
        self._commits = 0

    def load(self, batches: Iterator[tuple[int, Floats]]) -> None:
        """As after a loss of the index."""
        self._vectors.rebuild("bench", self._dimension, (self._rows(*batch) for batch in batches))
        self._vectors.upkeep()

    def add(self, number: int, vector: Floats) -> None:
        """As after a round; folded together as the background worker does it."""
        self._vectors.upsert(self._rows(number, vector[None, :]))
        self._commits += 1
        if self._commits % _UPKEEP_EVERY == 0:
            self._vectors.upkeep()

    def nearest(self, vector: Floats, limit: int) -> list[int]:
        """As recall asks."""
        hits = self._vectors.search(vector, kind="conversation", exclude_session=None, limit=limit)[0]
        return [int(hit.text_id) for hit in hits]

    def _rows(self, first: int, vectors: Floats) -> list[Any]:
        from domain.indexes import VectorRow

        return [VectorRow(str(at), "conversation", "s", vector) for at, vector in enumerate(vectors, first)]


class OursOnDisk(Ours):
    """The same as it is when there are too many rows to be held in memory."""

    most_in_memory = 0


class Lance:
    """LanceDB without index, upkeep or clean-up."""

    def __init__(self, folder: Path, dimension: int) -> None:
        import lancedb
        import pyarrow as pa

        columns = [pa.field("number", pa.int64()), pa.field("vector", pa.list_(pa.float32(), dimension))]
        self._table = lancedb.connect(folder).create_table("vectors", schema=pa.schema(columns))

    def load(self, batches: Iterator[tuple[int, Floats]]) -> None:
        """Append."""
        for first, vectors in batches:
            self._table.add([{"number": at, "vector": vector} for at, vector in enumerate(vectors, first)])

    def add(self, number: int, vector: Floats) -> None:
        """Append."""
        self._table.add([{"number": number, "vector": vector}])

    def nearest(self, vector: Floats, limit: int) -> list[int]:
        """Scan."""
        asked: Any = self._table.search(vector)
        found = asked.distance_type("cosine").limit(limit).select(["number", "_distance"]).to_list()
        return [row["number"] for row in found]


class SqliteVec:
    """A vec0 table, in the SQLite that APSW brings along."""

    def __init__(self, folder: Path, dimension: int) -> None:
        folder.mkdir(parents=True)
        self._database = import_module("apsw").Connection(str(folder / "vectors.db"))
        self._database.enable_load_extension(True)
        self._database.load_extension(import_module("sqlite_vec").loadable_path())
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(
            f"CREATE VIRTUAL TABLE v USING vec0(embedding float[{dimension}] distance_metric=cosine)"
        )

    def load(self, batches: Iterator[tuple[int, Floats]]) -> None:
        """Insert, a transaction a batch."""
        for first, vectors in batches:
            self._database.execute("BEGIN")
            for at, vector in enumerate(vectors, first):
                self.add(at, vector)
            self._database.execute("COMMIT")

    def add(self, number: int, vector: Floats) -> None:
        """Insert."""
        self._database.execute("INSERT INTO v (rowid, embedding) VALUES (?, ?)", (number, vector.tobytes()))

    def nearest(self, vector: Floats, limit: int) -> list[int]:
        """Scan."""
        query = "SELECT rowid FROM v WHERE embedding MATCH ? ORDER BY distance LIMIT ?"
        return [row[0] for row in self._database.execute(query, (vector.tobytes(), limit))]


class Chroma:
    """A persistent collection with its HNSW index."""

    def __init__(self, folder: Path, dimension: int) -> None:
        chromadb = import_module("chromadb")
        client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
        self._collection = client.create_collection("vectors", metadata={"hnsw:space": "cosine"})

    def load(self, batches: Iterator[tuple[int, Floats]]) -> None:
        """Add."""
        for first, vectors in batches:
            ids = [str(first + at) for at in range(len(vectors))]
            self._collection.add(ids=ids, embeddings=vectors)

    def add(self, number: int, vector: Floats) -> None:
        """Add."""
        self._collection.add(ids=[str(number)], embeddings=vector[None, :])

    def nearest(self, vector: Floats, limit: int) -> list[int]:
        """Query."""
        found = self._collection.query(query_embeddings=vector[None, :], n_results=limit, include=[])
        return [int(number) for number in found["ids"][0]]


_WAYS: dict[str, Callable[[Path, int], Way]] = {
    "ours": Ours,
    "ours-on-disk": OursOnDisk,
    "lancedb": Lance,
    "sqlite-vec": SqliteVec,
    "chromadb": Chroma,
}


class Texts:
    """Vectors in clumps, as those of texts are, and which of those given out are nearest to the questions."""

    def __init__(self, dimension: int) -> None:
        self._random = np.random.default_rng(5)
        self._middles = self._random.normal(size=(48, dimension)).astype(np.float32)
        self.questions = self._some(_QUESTIONS)
        self._best = [[] for _ in self.questions]  # type: list[list[tuple[float, int]]]
        self._given = 0

    def batches(self, rows: int) -> Iterator[tuple[int, Floats]]:
        """So many vectors, with the number of the first of each batch."""
        for at in range(0, rows, _BATCH):
            vectors = self._some(min(_BATCH, rows - at))
            first, self._given = self._given, self._given + len(vectors)
            for best, cosines in zip(self._best, (vectors @ self.questions.T).T.tolist(), strict=True):
                best.extend(zip(cosines, range(first, self._given), strict=True))
                best.sort(reverse=True)
                del best[_FEW:]
            yield first, vectors

    def share_found(self, found: Sequence[Sequence[int]]) -> float:
        """The part of the nearest that is among what was found, a list a question."""
        pairs = zip(self._best, found, strict=True)
        hits = sum(len({number for _, number in best} & set(numbers)) for best, numbers in pairs)
        return hits / sum(map(len, self._best))

    def _some(self, count: int) -> Floats:
        clumped: Floats = self._random.normal(size=(count, 48)).astype(np.float32) ** 3 @ self._middles
        clumped /= np.linalg.norm(clumped, axis=1, keepdims=True)
        return clumped


def main() -> None:
    """Measure one way."""
    name, rows, dimension, one_by_one = sys.argv[1], *(int(value) for value in sys.argv[2:5])
    folder = Path(sys.argv[5])
    shutil.rmtree(folder, ignore_errors=True)
    try:
        print(json.dumps(_measure(_WAYS[name](folder, dimension), rows, dimension, one_by_one, folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(way: Way, rows: int, dimension: int, one_by_one: int, folder: Path) -> dict[str, float]:
    texts = Texts(dimension)
    batches = list(texts.batches(rows))
    loaded = _took(lambda: way.load(iter(batches)))
    more = [(first + at, vector) for first, some in texts.batches(one_by_one) for at, vector in enumerate(some)]
    added = [_took(lambda one=one: way.add(*one)) for one in more]  # type: ignore[misc]
    found: list[list[int]] = []
    way.nearest(texts.questions[0], _FEW)
    few = [_took(lambda vector=vector: found.append(way.nearest(vector, _FEW))) for vector in texts.questions]  # type: ignore[misc]
    many = [_took(lambda vector=vector: way.nearest(vector, _MANY)) for vector in texts.questions]  # type: ignore[misc]
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return {
        "load_s": loaded / 1000,
        "add_ms": statistics.median(added),
        "upkeep_ms": statistics.fmean(added),
        "search_ms": statistics.median(few),
        "search_p95_ms": sorted(few)[int(len(few) * 0.95)],
        "wide_ms": statistics.median(many),
        "recall": texts.share_found(found),
        "files": float(len(sizes)),
        "bytes_of_vectors": sum(sizes) / ((rows + one_by_one) * dimension * 4),
    }


def _took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
