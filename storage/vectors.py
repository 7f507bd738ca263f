"""The vector index: LanceDB behind one class, and the only place that imports it.

It is an index and nothing else: every vector lies in SQLite too, so the folder may be deleted at any time.
Promises: no vector enters or is searched for that is not of the table's dimension, finite and not zero; a row
is known by its ``text_id`` and is there once; nothing a person wrote is ever part of a predicate; whatever
LanceDB does, including a panic, comes out as a StorageError; folders are 0700 and files 0600, whatever the
umask.

Reading (``search``) is for any thread. All that writes belongs to one thread, the worker in ``indexing``.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import errors
from storage import nearest, shelf
from storage.files import PRIVATE_FILE, PRIVATE_FOLDER, make_private_folder
from storage.records import Kind
from storage.shelf import Shelf
from text import one_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from embedder import Vector

    Half = npt.NDArray[np.float16]

KINDS: tuple[Kind, ...] = ("conversation", "summary")
_TABLE = "vectors"
#: An id may stand in a predicate only when it looks like this.
_ID = re.compile(r"[0-9A-Za-z_.:-]{1,128}")
#: Rows taken beyond the limit, because rows of the excluded session are dropped afterwards (a predicate on
#: the session would double the time of a search).
_SPARE = 24
_DELETE_AT_ONCE = 500
#: Ids that are Python objects at a time; a million of them would take 100 MB.
_IN_PYTHON = 50_000
_INDEX_CACHE = 128 << 20
_METADATA_CACHE = 32 << 20

State = Literal["closed", "ready", "rebuilding"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A row as it enters the index."""

    text_id: str
    type: Kind
    session_id: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that was found; ``similarity`` is the cosine, 1 for the same direction."""

    text_id: str
    session_id: str
    similarity: float


def normalised(vector: Sequence[float] | npt.NDArray[Any], dimension: int | None) -> Half:
    """The vector at length 1, as it is stored: float16, one dimension.

    Raises EmbeddingError when it is not of ``dimension``, not finite, or zero.
    """
    import numpy as np

    taken = np.asarray(vector, dtype=np.float32)
    if taken.ndim != 1 or not len(taken) or (dimension is not None and len(taken) != dimension):
        raise errors.EmbeddingError("embedding.dimension", found=list(taken.shape), expected=dimension)
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(taken.astype(np.float64)))
    if not np.isfinite(length) or length < 1e-12:
        raise errors.EmbeddingError("embedding.unsound", norm=length)
    return (taken / length).astype(np.float16)


class Vectors:
    """The table ``vectors``: ``text_id``, ``type``, ``session_id``, ``vector``.

    >>> vectors.open("some-model", 1024)
    >>> vectors.upsert([VectorRow("a1", "conversation", "s1", vector)])
    >>> vectors.search(query, kind="conversation", exclude_session="s2", limit=6)
    [Hit(text_id='a1', session_id='s1', similarity=0.83)]
    """

    def __init__(self, folder: Path, log: logging.Logger, *, most_in_memory: int = shelf.MOST) -> None:
        self.folder = folder
        self._most_in_memory = most_in_memory
        self._shelves: dict[Kind, Shelf] = {}
        self.state: State = "closed"
        self._log = log
        self._table: Any = None
        self._dimension = 0

    def open(self, model: str, dimension: int) -> None:
        """Open the table of this model, or make it. Nothing is imported before this.

        Raises StorageError when what lies there cannot be used: then ``rebuild`` makes it anew.
        """
        self.close()
        with self._faults("open"):
            make_private_folder(self.folder)
            database = self._connect()
            if _TABLE in database.list_tables().tables:
                self._table = database.open_table(_TABLE)
                self._check_schema(model, dimension)
            else:
                self._table = database.create_table(_TABLE, schema=_schema(model, dimension))
                self._make_private()
            self._dimension = dimension
            for kind in KINDS:
                self._load(kind)
        self.state = "ready"

    def open_empty(self) -> None:
        """Nothing has a vector yet: a search finds nothing, and that is no fault."""
        self.close()
        self.state = "ready"

    def close(self) -> None:
        """Let the table go; safe to call twice."""
        self._table = None
        self._shelves = {}
        self.state = "closed"

    def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Add rows, each in place of the row of its ``text_id``, in one commit."""
        if not rows:
            return
        self._say("upsert", [row.text_id for row in rows])
        with self._faults("upsert"):
            merge = self._ready().merge_insert("text_id")
            merge.when_matched_update_all().when_not_matched_insert_all().execute(self._arrow(rows))
            self._hold(rows)
            self._make_private()

    def delete(self, text_ids: Iterable[str]) -> None:
        """Delete rows. Their bytes stay on the disk until ``rebuild``."""
        wanted = [_safe(text_id) for text_id in text_ids]
        self._say("delete", wanted)
        with self._faults("delete"):
            table = self._ready()
            for at in range(0, len(wanted), _DELETE_AT_ONCE):
                quoted = ", ".join(f"'{text_id}'" for text_id in wanted[at : at + _DELETE_AT_ONCE])
                table.delete(f"text_id IN ({quoted})")
            for held in list(self._shelves.values()):
                held.drop(wanted)
            self._make_private()

    def search(self, vector: Vector, *, kind: Kind, exclude_session: str | None, limit: int) -> list[Hit]:
        """The nearest rows of one type, best first, none of the excluded session.

        Raises StorageError when the index is not ready, or has no place for a vector like this one.
        """
        if limit < 1 or (self.state == "ready" and self._table is None):
            return []
        with self._faults("search"):
            table, held = self._ready(), self._shelves.get(kind)
            query = self._query(vector)
            if held is not None:
                found = held.search(query.astype("float32"), exclude_session, limit)
            else:
                found = self._search(table, query, kind, exclude_session, limit)
        hits = [Hit(*row) for row in found]
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
        import numpy as np

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
            self._remove_content()
            make_private_folder(self.folder)
            self._table = table = self._connect().create_table(_TABLE, schema=_schema(model, dimension))
            self._dimension = dimension
            self._shelves = {kind: Shelf(dimension) for kind in KINDS}
            for batch in batches:
                if not wanted():
                    self.close()
                    return False
                if batch:
                    table.add(self._arrow(batch))
                    self._hold(batch)
            self._make_private()
        self.state = "ready"
        return True

    def remove(self) -> None:
        """Delete the folder's content; the next ``open`` begins with an empty table."""
        self.close()
        with self._faults("remove"):
            self._remove_content()

    def upkeep(self) -> None:
        """Fold small files together, drop old versions, keep the index for nearest vectors in order.

        It may take seconds on a large table; searches go on meanwhile.
        """
        with self._faults("upkeep"):
            table = self._ready()
            nearest.keep_index(table, self._log)
            nearest.optimize(table)
            self._make_private()

    def _connect(self) -> Any:
        os.environ.setdefault("LANCEDB_LOG", "error")
        import lancedb

        session = lancedb.Session(_INDEX_CACHE, _METADATA_CACHE)
        return lancedb.connect(self.folder, read_consistency_interval=timedelta(0), session=session)

    def _check_schema(self, model: str, dimension: int) -> None:
        schema = self._table.schema
        if schema != _schema(model, dimension) or _labels(schema) != _labels(_schema(model, dimension)):
            self._table = None
            raise errors.StorageError("index.other_model", model=model, dimension=dimension)

    def _query(self, vector: Vector) -> Half:
        try:
            return normalised(vector, self._dimension)
        except errors.EmbeddingError as fault:
            raise errors.StorageError("index.failed", act="search", reason=str(fault)) from fault

    def _search(
        self, table: Any, query: Half, kind: Kind, exclude_session: str | None, limit: int
    ) -> list[shelf.Found]:
        """A search of the table, wide enough that the excluded session crowds nobody out."""
        asked = limit + _SPARE
        while True:
            found = self._nearest(table, query, kind, asked)
            kept = [row for row in found if row[1] != exclude_session][:limit]
            if len(kept) == limit or len(found) < asked:
                return kept
            asked *= 4

    def _nearest(self, table: Any, query: Half, kind: Kind, limit: int) -> list[shelf.Found]:
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
        import numpy as np

        where = nearest.OF_KIND[kind]
        if self._table.count_rows(where) * self._dimension > self._most_in_memory:
            return
        columns = ["text_id", "session_id", "vector"]
        found = self._table.search().where(where).select(columns).limit(None).to_arrow()
        flat = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        vectors = flat.reshape(-1, self._dimension).astype(np.float32)
        held = self._shelves[kind] = Shelf(self._dimension)
        held.put(found["text_id"].to_pylist(), found["session_id"].to_pylist(), vectors)

    def _hold(self, rows: Sequence[VectorRow]) -> None:
        """Bring rows that were stored into memory; types that have become too many are let go."""
        import numpy as np

        for kind, held in list(self._shelves.items()):
            some = [row for row in rows if row.type == kind]
            if (len(held) + len(some)) * self._dimension > self._most_in_memory:
                del self._shelves[kind]
            elif some:
                vectors = np.stack([normalised(row.vector, self._dimension) for row in some])
                ids, sessions = [row.text_id for row in some], [row.session_id for row in some]
                held.put(ids, sessions, vectors.astype(np.float32))

    def _ready(self) -> Any:
        if self.state != "ready" or self._table is None:
            raise errors.StorageError("index.not_ready", state=self.state)
        return self._table

    def _arrow(self, rows: Sequence[VectorRow]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        vectors = np.stack([normalised(row.vector, self._dimension) for row in rows])
        columns = [
            pa.array([_safe(row.text_id) for row in rows]),
            pa.array([row.type for row in rows]),
            pa.array([row.session_id for row in rows]),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), self._dimension),
        ]
        return pa.table(columns, schema=self._table.schema)

    def _remove_content(self) -> None:
        if self.folder.is_symlink() or not self.folder.is_dir():
            self.folder.unlink(missing_ok=True)
            return
        for entry in self.folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def _make_private(self) -> None:
        """LanceDB follows the umask; the folder itself is ours, so nothing was ever open to others."""
        for place, folders, files in os.walk(self.folder):
            for names, mode in ((folders, PRIVATE_FOLDER), (files, PRIVATE_FILE)):
                for name in names:
                    path = os.path.join(place, name)
                    if os.stat(path).st_mode & 0o777 != mode:
                        os.chmod(path, mode)

    def _say(self, act: str, content: object) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug("vectors %s\n  %s", act, content)

    @contextmanager
    def _faults(self, act: str) -> Iterator[None]:
        """Whatever LanceDB raises, as ours; its panics are no Exceptions."""
        try:
            yield
        except (errors.OldFriendError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as fault:
            raise _as_ours(fault, act, self.folder) from fault


def _schema(model: str, dimension: int) -> pa.Schema:
    import pyarrow as pa

    columns = [
        pa.field("text_id", pa.string()),
        pa.field("type", pa.string()),
        pa.field("session_id", pa.string()),
        pa.field("vector", pa.list_(pa.float16(), dimension)),
    ]
    return pa.schema(columns, metadata={"model": model, "dimension": str(dimension)})


def _labels(schema: pa.Schema) -> tuple[bytes | None, bytes | None]:
    """The model and dimension a table says it was made for."""
    metadata = schema.metadata or {}
    return metadata.get(b"model"), metadata.get(b"dimension")


def _safe(text_id: str) -> str:
    """The id, when it may stand in a predicate."""
    if not _ID.fullmatch(text_id):
        raise errors.StorageError("index.bad_id", text_id=one_line(text_id, 40))
    return text_id


def _as_ours(fault: BaseException, act: str, folder: Path) -> errors.StorageError:
    said = str(fault)
    kind: type[errors.StorageError] = errors.StorageError
    if "No space left" in said or "os error 28" in said or "os error 122" in said:
        kind = errors.DiskFull
    elif "Read-only file system" in said or "ermission denied" in said:
        kind = errors.ReadOnly
    details = {"act": act, "path": str(folder), "reason": one_line(said or type(fault).__name__)}
    return kind(None if kind is not errors.StorageError else "index.failed", **details)
