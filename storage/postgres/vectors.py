"""The nearest texts, searched among the vectors where they are stored: exactly, among those of one person and kind.

There is no index that could disagree with the store, so nothing is built, repaired or rebuilt: a vector can be found
from the commit on that stores it, and never after the one that removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from domain import errors
from domain.indexes import Hit, VectorRow
from domain.records import Kind
from storage.engine import Database
from storage.vectors.table import State, normalise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.indexes import Vector

#: The inner product: vectors are of length 1 only as far as float16 goes.
_NEAREST = (
    "SELECT e.text_id, e.session_id, e.near, {} FROM (SELECT text_id, session_id, -(vector <#> CAST(? AS halfvec))"
    " AS near FROM embedding WHERE model = ? AND kind = ? AND session_id <> ? ORDER BY near DESC, text_id LIMIT ?) AS e"
    " JOIN {} ORDER BY e.near DESC, e.text_id"
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

    def __init__(self, database: Database, folder: Path) -> None:
        self.folder = folder / "vectors"  # where nothing is
        self.name, self.has_former = "embedding", False
        #: Seconds between two looks for what other processes left to do: each memory that is open asks the server then.
        self.rest = 60.0
        self.state: State = "closed"
        self._database = database
        self._model, self._dimension = "", 0

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

    def search(self, *vectors: Vector, kind: Kind, exclude_session: str | None, limit: int) -> list[list[Hit]]:
        """For each vector the nearest rows of one type, best first, none of the excluded session.

        Raises StorageError when there is no place for a vector like one of them.
        """
        if self.state != "ready":
            raise errors.StorageError("index.not_ready", state=self.state)
        if limit < 1 or not self._model:
            return [[] for _ in vectors]
        try:
            queries = [normalise(vector, self._dimension) for vector in vectors]
        except errors.EmbeddingError as fault:
            raise errors.StorageError("index.fault", act="search", reason=str(fault)) from fault
        asked = (self._model, kind, exclude_session or "", limit)
        found = (self._database.run(_NUMBERED[kind], query.astype("<f2").data, *asked) for query in queries)
        return [[Hit(*row) for row in rows] for rows in found]

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
        """The server looks after its tables."""
