"""The nearest texts, searched among the vectors where they are stored, those of one person and kind.

There is no index that could disagree with the store, so nothing is repaired or rebuilt: a vector can be found from the
commit on that stores it, and never after the one that removes it. Those of whoever asked last are in the memory of the
process, as far as there is room; each search first brings what was stored since and drops what was removed. The others
are searched by the server: exactly, until a person has very many messages. From then on their vectors are in cells, and
only the nearest cells are searched: the upkeep makes the cells, the server puts new vectors into them (`schema.sql`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from domain import errors
from domain.indexes import Hit, VectorRow
from domain.records import Kind
from storage.engine import Row
from storage.postgres.copies import MOST_CHANGES, STARTED
from storage.postgres.database import InMemory, PostgresDatabase
from storage.vectors.table import InMemoryRows, State, normalise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.indexes import Half, Vector

#: Of more messages only the nearest cells are searched, this share of them.
EXACT, _SEARCHED = 50_000, 0.375
#: Cells are made again when there should be so many times more of them.
_GROWN = 1.4
#: Vectors of each cell that its place is found by, and how often all places are corrected.
_SAMPLED, _CORRECTIONS = 32, 8
#: Vectors that are put into cells at once.
_AT_ONCE = 10_000
#: The inner product: vectors are of length 1 only as far as float16 goes.
_CELLS = "FROM cell WHERE model = ? AND dimension = ?"
_NEAREST = (
    "SELECT e.text_id, e.session_id, e.near, {} FROM (SELECT text_id, session_id, -(vector <#> CAST(? AS halfvec))"
    " AS near FROM embedding WHERE model = ? AND kind = ? AND session_id <> ? AND cell = ANY(ARRAY(SELECT 0 UNION ALL"
    f" (SELECT number {_CELLS} ORDER BY centroid <#> CAST(? AS halfvec)"
    f" LIMIT (SELECT ceil(count(*) * CAST(? AS double precision)) {_CELLS}))))"
    " ORDER BY near DESC, text_id LIMIT ?) AS e JOIN {} ORDER BY e.near DESC, e.text_id"
)
_PUT = (
    "UPDATE embedding SET cell = put.cell FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS put (number, cell)"
    " WHERE embedding.number = put.number"
)
_MESSAGES = "FROM embedding WHERE model = ? AND dimension = ? AND kind = 'conversation'"
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM embedding WHERE model = ? LIMIT ?) AS read_once"
#: What was removed after one number and stored after another, in one row.
_NEW = (
    f"SELECT {STARTED}, (SELECT min(number) FROM change), (SELECT max(number) FROM change),"
    f" ARRAY(SELECT key FROM change WHERE place = 'embedding' AND number > ? LIMIT {MOST_CHANGES}),"
    " array_agg(read_once.number), array_agg(read_once.kind), array_agg(read_once.text_id),"
    " array_agg(read_once.session_id), array_agg(read_once.place), string_agg(halfvec_send(read_once.vector), '')"
    " FROM (SELECT kind, number, text_id, session_id, place, vector FROM embedding WHERE model = ? AND dimension = ?"
    f" AND number > ? ORDER BY number LIMIT {_AT_ONCE}) AS read_once"
)
#: What says the number of a text that can still be found.
_NUMBERED: Mapping[Kind, str] = {
    "conversation": _NEAREST.format("c.seq", "conversation c ON c.text_id = e.text_id AND c.hidden = 0 AND c.demo = 0"),
    "summary": _NEAREST.format(
        "s.number", "summary m ON m.text_id = e.text_id JOIN session s ON s.session_id = m.session_id"
    ),
}


class PostgresVectors:
    """What ``Vectors`` is on the disk, over the table ``embedding``."""

    def __init__(
        self,
        database: PostgresDatabase,
        folder: Path,
        exact: int = EXACT,
        searched: float = _SEARCHED,
        in_memory: InMemory | None = None,
    ) -> None:
        """``exact``: of more messages only this share of the cells is ``searched``, unless they are ``in_memory``."""
        self.folder = folder / "vectors"  # where nothing is
        self.name, self.has_former = "embedding", False
        #: Seconds between two looks for what other processes left to do: each memory that is open asks the server then.
        self.rest = 60.0
        self.state: State = "closed"
        self._database = database
        self._exact, self._searched = exact, searched
        self._model, self._dimension = "", 0
        self._in_memory, self._lock = in_memory or InMemory(0), RLock()
        self._rows = _Rows("", 0)
        self._brought: object = None
        self._too_many = ("", 0)

    def open(self, model: str, dimension: int, name: str = "") -> None:
        """Search among the vectors of this model from now on."""
        self._model, self._dimension, self.state = model, dimension, "ready"

    def open_empty(self) -> None:
        """Nothing has a vector yet: a search finds nothing, and that is no fault."""
        self.open("", 0)

    def follow(self, dimension: int) -> None:
        """Search from the next ``read`` on; another program of this machine makes the vectors."""
        self._model, self._dimension, self.state = "", dimension, "ready"

    def read(self, model: str, name: str) -> None:
        """Search among the vectors of this model."""
        self._model = model

    def take(self, rows: Sequence[VectorRow]) -> None:
        """They are here since they were stored."""

    def drop(self, text_ids: Iterable[str]) -> None:
        """They went with the commit that removed their texts."""

    def ids_in_memory(self) -> set[str] | None:
        """None are kept in memory."""
        return None

    def close(self) -> None:
        """Search no more; safe to call twice."""
        self._model, self.state = "", "closed"
        self._in_memory.drop(self.let_go)

    def let_go(self) -> None:
        """Take no memory until the next search."""
        self._rows, self._brought = _Rows("", 0), None

    def search(self, *vectors: Vector, kind: Kind, exclude_session: str | None, limit: int) -> list[list[Hit]]:
        """For each vector the nearest rows of one type, best first, none of the excluded session.

        Raises StorageError when there is no place for a vector like one of them.
        """
        if self.state != "ready":
            raise errors.StorageError("index.not_ready", state=self.state)
        if limit < 1 or not self._model:
            return [[] for _ in vectors]
        rows = self._bring()
        try:
            queries = [normalise(vector, self._dimension) for vector in vectors]
        except errors.EmbeddingError as fault:
            raise errors.StorageError("index.fault", act="search", reason=str(fault)) from fault
        if rows is not None:
            return rows.search(queries, kind, exclude_session, limit)
        cells = self._model, self._dimension
        found = [
            partial(
                self._database.run, _NUMBERED[kind],
                given, self._model, kind, exclude_session or "", *cells, given, self._searched, *cells, limit,
            )
            for given in (query.astype("<f2").data for query in queries)
        ]  # fmt: skip
        self._database.ahead(*found)
        return [[Hit(*row) for row in rows()] for rows in found]

    def _bring(self) -> _Rows | None:
        """The rows in memory with what was stored and without what was removed since; None where they are too many."""
        run, of = self._database.run, (self._model, self._dimension)
        if self._too_many == of:
            return None
        with self._lock:
            rows, occasion = self._rows, self._database.occasion
            rows = rows if rows.of == of else _Rows(*of)  # another thread may let go of them meanwhile
            if rows.last and occasion and occasion is self._brought:
                return rows
            most = self._in_memory.most // self._dimension
            count = partial(run, _COUNT, self._model, most + 1)
            first = [count] if not rows.last else []
            self._database.ahead(*first, partial(run, _NEW, rows.change, *of, rows.last))
            if first and count()[0][0] > most:
                self._too_many = of
                return None
            has_more = True
            while has_more:
                started, oldest, change, gone, *stored = run(_NEW, rows.change, *of, rows.last)[0]
                if started is None:  # erased by another process
                    self._in_memory.drop(self.let_go)
                    return None
                missed = (oldest or 0) > rows.change or len(gone) == MOST_CHANGES or started != rows.started
                if rows.last and missed:
                    rows = _Rows(*of)  # others may be gone, too
                    continue
                rows.drop(map(int, gone))
                rows.started = started
                rows.change, has_more = change or 0, rows.put(*stored)
            self._rows, self._brought = rows, occasion
        self._in_memory.keep(self.let_go, rows.numbers)
        return rows

    @property
    def has_table(self) -> bool:
        """Whether there is a table to write to."""
        return bool(self._model)

    def rebuild(self, model: str, dimension: int, *_: object) -> bool:
        """There is nothing to be built."""
        self.open(model, dimension)
        return True

    def ids(self) -> npt.NDArray[np.bytes_]:
        """Every ``text_id``, sorted."""
        import numpy as np

        rows = self._database.run("SELECT text_id FROM embedding WHERE model = ? AND kind <> ''", self._model)
        return np.sort(np.array([row[0].encode() for row in rows] or [b""][:0], dtype="S"))

    def count(self) -> int:
        """How many rows there are."""
        rows = self._database.run("SELECT count(*) FROM embedding WHERE model = ?", self._model)
        return int(rows[0][0])

    def versions(self) -> int:
        """There are none."""
        return 0

    def upsert(self, rows: Sequence[VectorRow]) -> None:
        """They are here since they were stored."""

    def delete(self, text_ids: Iterable[str]) -> None:
        """They went with the commit that removed their texts."""

    def remove(self) -> None:
        """There is no folder."""
        self.close()

    def remove_former(self) -> None:
        """There is none."""

    def upkeep(self) -> None:
        """Put the vectors of messages into cells where they are many, and again where they became many more."""
        cells = (self._model, self._dimension)
        ((count, present),) = self._database.run(
            f"SELECT (SELECT count(*) {_MESSAGES}), (SELECT count(*) {_CELLS})", *cells, *cells
        )
        if count <= self._exact or (wanted := round(count**0.5)) < present * _GROWN:
            return
        # An odd step, since what is said and its reply follow each other.
        step = max(count // (wanted * _SAMPLED), 1) | 1
        query = f"SELECT number, vector {_MESSAGES} AND number % ? = 0 ORDER BY number"
        if not (sample := self._database.run(query, *cells, step)):
            return
        centroids = _centroids_of(_stack(sample), wanted)
        found = self._assign(centroids, 0)
        with self._database.write() as tx:
            # What was stored meanwhile is here; what was removed is not.
            found += self._assign(centroids, max(found, default=(0, 0))[0])
            tx.do(f"DELETE {_CELLS}", *cells)
            found.sort(key=itemgetter(1))  # those of a cell are written, and so read, next to each other
            for at in range(0, len(found), _AT_ONCE):
                numbers, places = zip(*found[at : at + _AT_ONCE], strict=True)
                tx.do(_PUT, [*numbers], [*places])
            mean = "SELECT model, dimension, cell, l2_normalize(avg(vector))"
            tx.do(
                f"INSERT INTO cell (model, dimension, number, centroid) {mean} {_MESSAGES}"
                " AND cell > 0 GROUP BY model, dimension, cell",
                *cells,
            )

    def _assign(self, centroids: npt.NDArray[np.float32], after: int) -> list[tuple[int, int]]:
        """The numbers of the vectors that were stored after a number, each with its cell."""
        found = list[tuple[int, int]]()
        query = f"SELECT number, vector {_MESSAGES} AND number > ? ORDER BY number LIMIT {_AT_ONCE}"
        while rows := self._database.run(query, self._model, self._dimension, after):
            places = (_stack(rows) @ centroids.T).argmax(axis=1) + 1
            found += zip((row["number"] for row in rows), places.tolist(), strict=True)
            after = rows[-1]["number"]
        return found


class _Rows:
    """Vectors of one model in memory, with the numbers of what they are of. ``put`` and ``drop`` by one thread."""

    def __init__(self, model: str, dimension: int) -> None:
        self.of = model, dimension
        #: The last number that was stored, and the last change that is known.
        self.last, self.change = 0, -1
        self.started = ""
        self._rows: dict[Kind, InMemoryRows] = {kind: InMemoryRows(dimension) for kind in _NUMBERED}
        self._places: dict[str, int] = {}
        self._ids: dict[int, str] = {}

    @property
    def numbers(self) -> int:
        """How many numbers their vectors have."""
        return sum(map(len, self._rows.values())) * self.of[1]

    def put(
        self,
        numbers: Sequence[int] | None,
        kinds: Sequence[str],
        text_ids: Sequence[str],
        session_ids: Sequence[str],
        places: Sequence[int],
        vectors: bytes,
    ) -> bool:
        """Add rows in the order of their numbers; whether there may be more of them."""
        import numpy as np

        if not numbers:
            return False
        sent = np.frombuffer(vectors, [("head", ">u4"), ("numbers", ">f2", self.of[1])])["numbers"]
        for kind, rows in self._rows.items():
            at = [place for place, one in enumerate(kinds) if one == kind]
            rows.put([text_ids[one] for one in at], [session_ids[one] for one in at], sent[at].astype(np.float32))
        self._places.update(zip(text_ids, places, strict=True))
        self._ids.update(zip(numbers, text_ids, strict=True))
        self.last = numbers[-1]
        return len(kinds) == _AT_ONCE

    def drop(self, numbers: Iterable[int]) -> None:
        """Drop the rows with these numbers, as far as they are here."""
        gone = {self._ids.pop(number) for number in numbers if number in self._ids}
        for rows in self._rows.values():
            rows.drop(gone)
        for text_id in gone:
            del self._places[text_id]

    def search(self, queries: Sequence[Half], kind: Kind, exclude_session: str | None, limit: int) -> list[list[Hit]]:
        """For each of the queries the nearest rows of a kind, best first, none of the excluded session."""
        import numpy as np

        taken = np.array(queries, np.float32).reshape(len(queries), self.of[1])
        found = self._rows[kind].search(taken, exclude_session, limit) if queries else []
        return [[Hit(*hit[:3], self._places.get(hit.text_id)) for hit in each] for each in found]


def _stack(rows: Sequence[Row]) -> npt.NDArray[np.float32]:
    import numpy as np

    return np.stack([np.frombuffer(row["vector"], dtype="<f2") for row in rows]).astype(np.float32)


def _centroids_of(sample: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float32]:
    """So many directions near which the vectors of a sample gather, by k-means."""
    import numpy as np

    # Of equal beginnings all but one would stay empty.
    distinct = np.sort(np.unique(sample, axis=0, return_index=True)[1])
    found = sample[distinct[np.linspace(0, len(distinct) - 1, count).astype(np.int64)]]
    for _ in range(_CORRECTIONS):
        nearest = (sample @ found.T).argmax(axis=1)
        order = nearest.argsort(kind="stable")
        starts = np.flatnonzero(np.diff(nearest[order], prepend=-1))
        sums = np.add.reduceat(sample[order], starts)
        found[nearest[order][starts]] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return found
