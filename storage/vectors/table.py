"""The vector index: LanceDB behind one class, and the only place that imports it.

It is an index and nothing else: every vector lies in the store too, so the folder may be deleted at any time.
Promises: no vector enters or is searched for that is not of the table's dimension, finite and not zero; a row
is known by its ``text_id`` and is there once; nothing a person wrote is ever part of a predicate; whatever
LanceDB does, including a panic, comes out as a StorageError; folders are 0700 and files 0600, whatever the
umask.

Reading (``search``) is for any thread. All that writes belongs to the worker in ``indexing``, one step at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from domain import errors
from domain.files import make_private_folder
from domain.records import Kind
from domain.vectors import Hit, VectorRow
from storage.vectors import in_memory, lance, nearest
from storage.vectors.in_memory import InMemoryIndex, normalised

if TYPE_CHECKING:
    import numpy.typing as npt

    from domain.vectors import Half, Vector

_TABLE = "vectors"
#: Rows taken beyond the limit, because rows of the excluded session are dropped afterwards (a predicate on
#: the session would double the time of a search).
_SPARE = 24
_DELETE_AT_ONCE = 500
#: Ids that are Python objects at a time; a million of them would take 100 MB.
_IN_PYTHON = 50_000
#: Rows taken into memory at a time.
_LOADED_AT_ONCE = 10_000

State = Literal["closed", "ready", "rebuilding"]


class Vectors:
    """The table ``vectors``: ``text_id``, ``type``, ``session_id``, ``vector``.

    >>> vectors.open("some-model", 1024)
    >>> vectors.upsert([VectorRow("a1", "conversation", "s1", vector)])
    >>> vectors.search(query, kind="conversation", exclude_session="s2", limit=6)
    [Hit(text_id='a1', session_id='s1', similarity=0.83)]
    """

    def __init__(self, folder: Path, log: logging.Logger, *, most_in_memory: int = in_memory.MOST) -> None:
        self.folder = folder
        self._most_in_memory = most_in_memory
        self._in_memory = InMemoryIndex(0, most_in_memory)
        self.state: State = "closed"
        self._log = log
        self._table: Any = None
        self._dimension = 0

    def open(self, model: str, dimension: int) -> None:
        """Open the table of this model, or make it. LanceDB is imported here, and not before.

        Raises StorageError when what lies there cannot be used: then ``rebuild`` makes it anew.
        """
        self.close()
        with self._faults("open"):
            make_private_folder(self.folder)
            database = lance.connect(self.folder)
            if _TABLE in database.list_tables().tables:
                self._table = database.open_table(_TABLE)
                if not lance.is_made_for(self._table.schema, model, dimension):
                    self._table = None
                    raise errors.StorageError("index.fault", act="open", reason="made for another model")
            else:
                self._table = database.create_table(_TABLE, schema=lance.schema_of(model, dimension))
                lance.make_private_below(self.folder)
            self._hold_in_memory(dimension)
            for kind in in_memory.KINDS:
                self._load(kind)
            lance.give_back_memory()
        self.state = "ready"

    def open_empty(self) -> None:
        """Nothing has a vector yet: a search finds nothing, and that is no fault."""
        self.close()
        self.state = "ready"

    def close(self) -> None:
        """Let the table go; safe to call twice."""
        self._table = None
        self._hold_in_memory(0)
        self.state = "closed"

    def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Add rows, each in place of the row of its ``text_id``, in one commit."""
        if not rows:
            return
        self._say("upsert", [row.text_id for row in rows])
        with self._faults("upsert"):
            table = self._ready()
            content = lance.as_arrow(rows, table.schema)
            if self._in_memory.are_new([row.text_id for row in rows]):
                table.add(content)  # a third of the work
            else:
                merge = table.merge_insert("text_id")
                merge.when_matched_update_all().when_not_matched_insert_all().execute(content)
            self._in_memory.put(rows)
            lance.make_private_below(self.folder)

    def delete(self, text_ids: Iterable[str]) -> None:
        """Delete rows. Their bytes stay on the disk until ``rebuild``."""
        wanted = [lance.safe(text_id) for text_id in text_ids]
        self._say("delete", wanted)
        with self._faults("delete"):
            table = self._ready()
            for at in range(0, len(wanted), _DELETE_AT_ONCE):
                quoted = ", ".join(f"'{text_id}'" for text_id in wanted[at : at + _DELETE_AT_ONCE])
                table.delete(f"text_id IN ({quoted})")
            self._in_memory.drop(wanted)
            lance.make_private_below(self.folder)

    def search(self, vector: Vector, *, kind: Kind, exclude_session: str | None, limit: int) -> list[Hit]:
        """The nearest rows of one type, best first, none of the excluded session.

        Raises StorageError when the index is not ready, or has no place for a vector like this one.
        """
        if limit < 1 or (self.state == "ready" and self._table is None):
            return []
        table, held = self._ready(), self._in_memory.of(kind)
        query = self._query(vector)
        if held is not None:
            found = held.search(query.astype("float32"), exclude_session, limit)
        else:
            with self._faults("search"):
                found = self._search(table, query, kind, exclude_session, limit)
        hits = list(map(Hit._make, found))
        if self._log.isEnabledFor(logging.DEBUG):
            self._say(f"search {kind} not {exclude_session}", [(hit.text_id, hit.similarity) for hit in hits])
        return hits

    @property
    def has_table(self) -> bool:
        """Whether there is a table to write to."""
        return self._table is not None and self.state == "ready"

    def versions(self) -> int:
        """How many versions of the table lie on the disk; each commit adds one, ``upkeep`` leaves one."""
        with self._faults("versions"):
            return len(self._table.list_versions()) if self.has_table else 0

    def ids(self) -> npt.NDArray[np.bytes_]:
        """Every ``text_id``, sorted, as an array of bytes (32 MB for a million)."""
        with self._faults("ids"):
            found = [np.array([], dtype="S1")]
            column = self._ready().search().select(["text_id"]).limit(None).to_arrow()["text_id"]
            for at in range(0, len(column), _IN_PYTHON):
                some = column.slice(at, _IN_PYTHON).to_pylist()
                found.append(np.array(some, dtype=np.bytes_))
            ids: npt.NDArray[np.bytes_] = np.sort(np.concatenate(found))
            return ids

    def count(self) -> int:
        """How many rows there are; 0 while there is no table."""
        with self._faults("count"):
            return int(self._table.count_rows()) if self._table is not None else 0

    def rebuild(
        self,
        model: str,
        dimension: int,
        batches: Iterable[Sequence[VectorRow]],
        wanted: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Remove the folder's content and make the table anew, so that no byte of the old one is left.

        ``wanted`` is asked between batches; False ends the work, and False is returned.
        """
        self.close()
        self.state = "rebuilding"
        with self._faults("rebuild"):
            lance.empty_folder(self.folder)
            make_private_folder(self.folder)
            schema = lance.schema_of(model, dimension)
            self._table = table = lance.connect(self.folder).create_table(_TABLE, schema=schema)
            self._hold_in_memory(dimension)
            for batch in batches:
                if not wanted():
                    self.close()
                    return False
                if batch:
                    table.add(lance.as_arrow(batch, schema))
                    self._in_memory.put(batch)
            lance.make_private_below(self.folder)
        self.state = "ready"
        return True

    def remove(self) -> None:
        """Delete the folder's content; the next ``open`` begins with an empty table."""
        self.close()
        with self._faults("remove"):
            lance.empty_folder(self.folder)

    def upkeep(self) -> None:
        """Fold small files together, drop old versions, keep the index for nearest vectors in order.

        It may take seconds on a large table; searches go on meanwhile.
        """
        with self._faults("upkeep"):
            table = self._ready()
            nearest.keep_index(table, self._log)
            nearest.optimize(table)
            lance.give_back_memory()
            lance.make_private_below(self.folder)

    def _hold_in_memory(self, dimension: int) -> None:
        self._dimension = dimension
        self._in_memory = InMemoryIndex(dimension, self._most_in_memory)

    def _query(self, vector: Vector) -> Half:
        try:
            return normalised(vector, self._dimension)
        except errors.EmbeddingError as fault:
            raise errors.StorageError("index.fault", act="search", reason=str(fault)) from fault

    def _search(
        self, table: Any, query: Half, kind: Kind, exclude_session: str | None, limit: int
    ) -> list[in_memory.Found]:
        """A search of the table, wide enough that the excluded session crowds nobody out."""
        asked = limit + _SPARE
        while True:
            found = self._nearest(table, query, kind, asked)
            kept = [row for row in found if row[1] != exclude_session][:limit]
            if len(kept) == limit or len(found) < asked:
                return kept
            asked *= 4

    def _nearest(self, table: Any, query: Half, kind: Kind, limit: int) -> list[in_memory.Found]:
        """One search, tried once more on the latest version if the one at hand was cleaned away."""
        try:
            return nearest.search(table, query, kind, limit)
        except Exception as fault:
            if "not found" not in str(fault).lower():
                raise
            table.checkout_latest()
            return nearest.search(table, query, kind, limit)

    def _load(self, kind: Kind) -> None:
        """Hold the rows of a type in memory when they are few enough."""
        where = nearest.OF_KIND[kind]
        held = self._in_memory.of(kind)
        if held is None or not self._in_memory.fits(kind, self._table.count_rows(where)):
            return
        columns = ["text_id", "session_id", "vector"]
        for some in self._table.search().where(where).select(columns).limit(None).to_batches(_LOADED_AT_ONCE):
            vectors = some["vector"].flatten().to_numpy(zero_copy_only=False).reshape(-1, self._dimension)
            held.put(some["text_id"].to_pylist(), some["session_id"].to_pylist(), vectors.astype(np.float32))

    def _ready(self) -> Any:
        if self.state != "ready" or self._table is None:
            raise errors.StorageError("index.not_ready", state=self.state)
        return self._table

    def _say(self, act: str, content: object) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug("vectors %s\n  %s", act, content)

    def _faults(self, act: str) -> AbstractContextManager[None]:
        return lance.faults(act, self.folder)
