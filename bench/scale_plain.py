"""One plain way of storing vectors, run by ``scale_peers`` inside the peers' own environment.

    python scale_plain.py PEER ROWS DIMENSION ROWS_ONE_BY_ONE FOLDER

Prints one JSON object: seconds to load the rows in batches, then milliseconds of a row more, stored on its own,
and of a search for the ten nearest, and what lies on the disk. Each peer is used as the first page of its
manual shows: LanceDB is appended to without index, upkeep or clean-up.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

_BATCH = 2_000
_QUESTIONS = 30


class Peer(Protocol):
    """What is asked of each."""

    def add(self, first: int, vectors: np.ndarray) -> None:
        """Store vectors under the numbers from ``first`` on."""

    def nearest(self, vector: np.ndarray) -> int:
        """How many are found."""


class Lance:
    """LanceDB without index, upkeep or clean-up."""

    def __init__(self, folder: Path, dimension: int) -> None:
        import lancedb
        import pyarrow as pa

        columns = [pa.field("text_id", pa.string()), pa.field("vector", pa.list_(pa.float32(), dimension))]
        self._table = lancedb.connect(folder).create_table("vectors", schema=pa.schema(columns))

    def add(self, first: int, vectors: np.ndarray) -> None:
        """Append."""
        self._table.add([{"text_id": str(first + at), "vector": vector} for at, vector in enumerate(vectors)])

    def nearest(self, vector: np.ndarray) -> int:
        """Scan."""
        asked: Any = self._table.search(vector)
        return len(asked.distance_type("cosine").limit(10).to_list())


class SqliteVec:
    """A vec0 table."""

    def __init__(self, folder: Path, dimension: int) -> None:
        import sqlite3

        sqlite_vec = import_module("sqlite_vec")
        folder.mkdir(parents=True)
        self._database = sqlite3.connect(folder / "vectors.db", isolation_level=None)
        self._database.enable_load_extension(True)
        sqlite_vec.load(self._database)
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute(
            f"CREATE VIRTUAL TABLE v USING vec0(embedding float[{dimension}] distance_metric=cosine)"
        )

    def add(self, first: int, vectors: np.ndarray) -> None:
        """Insert, a transaction a call."""
        self._database.execute("BEGIN")
        for at, vector in enumerate(vectors):
            self._database.execute(
                "INSERT INTO v (rowid, embedding) VALUES (?, ?)", (first + at, vector.tobytes())
            )
        self._database.execute("COMMIT")

    def nearest(self, vector: np.ndarray) -> int:
        """Scan."""
        query = "SELECT rowid FROM v WHERE embedding MATCH ? ORDER BY distance LIMIT 10"
        return len(self._database.execute(query, (vector.tobytes(),)).fetchall())


class Chroma:
    """A persistent collection with its HNSW index."""

    def __init__(self, folder: Path, dimension: int) -> None:
        chromadb = import_module("chromadb")
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(folder), settings)
        self._collection = client.create_collection("vectors", metadata={"hnsw:space": "cosine"})

    def add(self, first: int, vectors: np.ndarray) -> None:
        """Add."""
        ids = [str(first + at) for at in range(len(vectors))]
        self._collection.add(ids=ids, embeddings=vectors)

    def nearest(self, vector: np.ndarray) -> int:
        """Query."""
        return len(self._collection.query(query_embeddings=vector[None, :], n_results=10)["ids"][0])


_PEERS: dict[str, Callable[[Path, int], Peer]] = {
    "lancedb": Lance,
    "sqlite-vec": SqliteVec,
    "chromadb": Chroma,
}


def main() -> None:
    """Measure one peer."""
    name, rows, dimension, one_by_one = sys.argv[1], *(int(value) for value in sys.argv[2:5])
    folder = Path(sys.argv[5])
    shutil.rmtree(folder, ignore_errors=True)
    try:
        print(json.dumps(_measure(_PEERS[name](folder, dimension), rows, dimension, one_by_one, folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(peer: Peer, rows: int, dimension: int, one_by_one: int, folder: Path) -> dict[str, Any]:
    random = np.random.default_rng(5)
    middles = random.normal(size=(48, dimension)).astype(np.float32)

    def some(count: int) -> np.ndarray:
        vectors: np.ndarray = random.normal(size=(count, 48)).astype(np.float32) ** 3 @ middles
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    began = time.perf_counter()
    for first in range(0, rows, _BATCH):
        peer.add(first, some(min(_BATCH, rows - first)))
    loaded = time.perf_counter() - began
    added = [_took(lambda at=at: peer.add(rows + at, some(1))) for at in range(one_by_one)]  # type: ignore[misc]
    searched = [_took(lambda vector=vector: peer.nearest(vector)) for vector in some(_QUESTIONS)]  # type: ignore[misc]
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return {
        "load_s": loaded,
        "add_ms": statistics.median(added),
        "search_ms": statistics.median(searched),
        "files": float(len(sizes)),
        "bytes_of_vectors": sum(sizes) / ((rows + one_by_one) * dimension * 4),
    }


def _took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
