"""What is particular to LanceDB: opening, the schema of its table, errors, its folder, and search on disk.

The index on disk is IVF with RaBitQ (one bit a dimension), refined by the true vectors. It is tested when it is built:
a sample of queries is answered beside an exact search, and where one bit does not tell vectors apart four are used.
"""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from importlib import import_module, reload
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from domain import errors
from domain.files import PRIVATE_FILE, PRIVATE_FOLDER
from domain.indexes import VectorRow
from domain.patterns import pattern_of
from domain.records import Kind
from domain.text import one_line

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

#: An id may be in a predicate only when it looks like this.
_ID = pattern_of(r"[0-9A-Za-z_.:-]{1,128}")
#: What LanceDB takes in no part of a path.
_CONTROL = pattern_of(r"[\x00-\x1f\x7f]")
#: The key of the one fault that no retry helps.
HOPELESS = "index.folder_name"
#: Ids that are Python objects at a time; a million of them would take 100 MB.
_IN_PYTHON = 50_000
_DELETE_AT_ONCE = 500
#: Rows taken out at a time.
_READ_AT_ONCE = 10_000
_INDEX_CACHE = 128 << 20
_METADATA_CACHE = 32 << 20
#: glibc keeps a heap for each thread and LanceDB has many: two heaps halve what a large table holds resident.
_ARENA_MAX, _ARENAS = -8, 2
#: A client of a service, of which LanceDB needs nothing but types. Importing the rest takes half of its import, so
#: that is done when something of the rest is asked for.
_SERVICE = "lance_namespace_urllib3_client"


def connect(folder: Path, *, cached: bool = False) -> Any:
    """A connection without caches, or with those of this process. LanceDB is imported here, which takes time.

    LanceDB caches 32 KB for every commit, of versions that no one asks for again: caches are for what is searched on
    the disk. Raises StorageError ``index.folder_name`` where no try will ever succeed.
    """
    if _CONTROL.search(str(folder.absolute())):
        raise errors.StorageError(HOPELESS, path=one_line(str(folder)))
    load()
    import lancedb

    session = _caches().of(folder) if cached else lancedb.Session(0, 0)
    return lancedb.connect(folder, read_consistency_interval=timedelta(0), session=session)


class _Caches:
    """The caches of all tables that this process searches on the disk: one session, so one bound for all of them.

    It knows a table by its folder and version. A folder that is opened again may hold another table by now, whose
    versions count from one again: it begins a new session, which those opened later share.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._session: Any = None
        self._folders: set[Path] = set()

    def of(self, folder: Path) -> Any:
        """The session for a table that is opened now."""
        import lancedb

        with self._lock:
            if self._session is None or folder in self._folders:
                self._session, self._folders = lancedb.Session(_INDEX_CACHE, _METADATA_CACHE), set()
            self._folders.add(folder)
            return self._session


@cache
def _caches() -> _Caches:
    """Those of this process."""
    return _Caches()


def load() -> None:
    """Import LanceDB, bounded in what it says and holds, so that no one waits for it later."""
    os.environ.setdefault("LANCEDB_LOG", "error")
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)
    if sys.modules.keys().isdisjoint(("lancedb", _SERVICE)) and (spec := find_spec(_SERVICE)):
        package = sys.modules[_SERVICE] = module_from_spec(spec)  # empty, but its modules can be imported

        def import_rest(name: str) -> Any:
            del package.__dict__["__getattr__"]
            return getattr(reload(package), name)

        package.__dict__["__getattr__"] = import_rest
    import_module("lancedb")


def give_back_memory() -> None:
    """Hand memory that is free again back to the system; without glibc nothing happens."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def translate_errors(act: str, folder: Path) -> Iterator[None]:
    """Whatever LanceDB raises, as ours; its panics are no Exceptions."""
    try:
        yield
    except (errors.OldFriendError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as fault:
        raise _as_ours(fault, act, folder) from fault


def schema_of(model: str, dimension: int) -> pa.Schema:
    """The columns of the table, with the model and the dimension in its metadata."""
    import pyarrow as pa

    columns = [
        pa.field("text_id", pa.string()),
        pa.field("type", pa.string()),
        pa.field("session_id", pa.string()),
        pa.field("vector", pa.list_(pa.float16(), dimension)),
    ]
    return pa.schema(columns, metadata={"model": model, "dimension": str(dimension)})


def is_made_for(schema: pa.Schema, model: str, dimension: int) -> bool:
    """Whether a table with this schema holds vectors of this model."""
    wanted = schema_of(model, dimension)
    found = schema.metadata or {}
    return bool(schema == wanted) and all(found.get(name) == label for name, label in wanted.metadata.items())


def as_arrow(rows: Sequence[VectorRow], vectors: npt.NDArray[np.float16], schema: pa.Schema) -> pa.Table:
    """Rows as LanceDB takes them, with their vectors as they are stored."""
    import pyarrow as pa

    columns = [
        pa.array([_check_id(row.text_id) for row in rows]),
        pa.array([row.type for row in rows]),
        pa.array([row.session_id for row in rows]),
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
    ]
    return pa.table(columns, schema=schema)


def ids_of(table: Any) -> npt.NDArray[np.bytes_]:
    """Every ``text_id`` of a table, sorted."""
    found = [np.array([], dtype="S1")]
    column = table.search().select(["text_id"]).limit(None).to_arrow()["text_id"]
    for at in range(0, len(column), _IN_PYTHON):
        some = column.slice(at, _IN_PYTHON).to_pylist()
        found.append(np.array(some, dtype=np.bytes_))
    ids: npt.NDArray[np.bytes_] = np.sort(np.concatenate(found))
    return ids


def rows_of(table: Any, where: str) -> Iterator[tuple[list[str], list[str], npt.NDArray[np.float16]]]:
    """Rows of a table, many at a time: ids, ids of their sessions, vectors."""
    columns = ["text_id", "session_id", "vector"]
    for some in table.search().where(where).select(columns).limit(None).to_batches(_READ_AT_ONCE):
        flat = some["vector"].flatten().to_numpy(zero_copy_only=False)
        vectors = flat.reshape(-1, some["vector"].type.list_size)
        yield some["text_id"].to_pylist(), some["session_id"].to_pylist(), vectors


def delete(table: Any, text_ids: Sequence[str]) -> None:
    """Delete the rows of these ids. Raises StorageError for one that may not be in a predicate."""
    for at in range(0, len(text_ids), _DELETE_AT_ONCE):
        quoted = ", ".join(f"'{_check_id(text_id)}'" for text_id in text_ids[at : at + _DELETE_AT_ONCE])
        table.delete(f"text_id IN ({quoted})")


def _check_id(text_id: str) -> str:
    """The id, when it may be in a predicate."""
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
    return kind(None if kind is not errors.StorageError else "index.fault", **details)


def empty_folder(folder: Path, kept: Collection[str] = ()) -> None:
    """Remove all there is in it but what has one of these names, whatever the ending; a file in its place goes too."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    for entry in (entry for entry in folder.iterdir() if entry.stem not in kept):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def make_private_below(folder: Path) -> None:
    """Make what LanceDB wrote its owner's only: it follows the umask.

    The folder itself is 0700 from the beginning, so nothing in it was ever open to others.
    """
    for path in folder.rglob("*"):
        is_now = path.stat().st_mode
        mode = PRIVATE_FOLDER if stat.S_ISDIR(is_now) else PRIVATE_FILE
        if is_now & 0o777 != mode:
            path.chmod(mode)


#: From here on a table has indexes: with them ``optimize`` touches only new rows.
_INDEXED_FROM = 1_000
#: Every ``optimize`` adds a segment to the index; above this many it is rebuilt.
_MOST_SEGMENTS = 16
_PROBES = 40
#: So many times the limit are compared by their true vectors, but not more than so many rows.
_REFINE = 10
_REFINED = 600
_BITS = (1, 4)
_GOOD_ENOUGH = 0.95
_ASKED = 10
_NAME = "vector_idx"
OF_KIND: dict[Kind, str] = {"conversation": "type = 'conversation'", "summary": "type = 'summary'"}
#: Rows taken beyond the limit, because rows of the excluded session are dropped afterwards (a predicate on
#: the session would double the time of a search).
_SPARE = 24
_COLUMNS = ["text_id", "session_id", "_distance"]

Found = tuple[str, str, float]


def search_outside(
    table: Any, query: npt.NDArray[np.float16], kind: Kind, session: str | None, limit: int
) -> list[Found]:
    """A search wide enough that one session, of which nothing is wanted, crowds no one out."""
    asked = limit + _SPARE
    while True:
        found = _on_the_latest(table, query, kind, asked)
        kept = [row for row in found if row[1] != session][:limit]
        if len(kept) == limit or len(found) < asked:
            return kept
        asked *= 4


def _on_the_latest(table: Any, query: npt.NDArray[np.float16], kind: Kind, limit: int) -> list[Found]:
    """One search, tried once more on the latest version if the one at hand was cleaned away."""
    try:
        return _search(table, query, kind, limit)
    except Exception as fault:
        if "not found" not in str(fault).lower():
            raise
        table.checkout_latest()
        return _search(table, query, kind, limit)


def _search(
    table: Any, query: npt.NDArray[np.float16], kind: Kind | None, limit: int, *, exact: bool = False
) -> list[Found]:
    """(text_id, session_id, cosine), nearest first. Rows newer than the index are searched too."""
    asked = table.search(query.astype(np.float32)).distance_type("cosine").limit(limit).select(_COLUMNS)
    if kind is not None:
        asked = asked.where(OF_KIND[kind], prefilter=True)
    if exact:
        asked = asked.bypass_vector_index()
    else:
        asked = asked.nprobes(_PROBES).refine_factor(max(2, min(_REFINE, _REFINED // limit)))
    found = asked.to_arrow()
    rows = zip(*(found[name].to_pylist() for name in _COLUMNS), strict=True)
    return [(text_id, session_id, 1.0 - distance) for text_id, session_id, distance in rows]


def keep_index(table: Any, log: logging.Logger) -> None:
    """Build the indexes from the size where they pay, and again when they are in too many pieces."""
    from lancedb.index import Bitmap, BTree

    if table.count_rows() < _INDEXED_FROM:
        return
    names = {index.name for index in table.list_indices()}
    for column, config in (("text_id", BTree()), ("type", Bitmap())):
        if f"{column}_idx" not in names:
            table.create_index(column, config=config)
    if _NAME not in names or ((found := table.index_stats(_NAME)) and (found.num_indices or 0) > _MOST_SEGMENTS):
        _build_index(table, log)


def optimize(table: Any, *, shared: bool = False) -> None:
    """Fold small files together, take new rows into the indexes, drop all versions but the last.

    Where other programs search it, versions stay a minute. A search of this one that meets a version that is gone
    looks again at the latest one.
    """
    table.optimize(cleanup_older_than=timedelta(minutes=1) if shared else timedelta(milliseconds=1))


def _build_index(table: Any, log: logging.Logger) -> None:
    """The smallest index that passes its own test; the largest, if none does."""
    from lancedb.index import IvfRq

    for bits in _BITS:
        table.create_index("vector", config=IvfRq(distance_type="cosine", num_bits=bits), name=_NAME)
        share = _share_found(table)
        log.debug("vectors index: %s bits find %.3f of the nearest", bits, share)
        if share >= _GOOD_ENOUGH:
            return


def _share_found(table: Any) -> float:
    """The part of the exactly nearest rows that the index finds, over a sample spread through the table."""
    rows = table.count_rows()
    sample = 8 if rows > 200_000 else 32
    places = np.linspace(0, rows - 1, sample).astype(int).tolist()
    vectors = table.take_offsets(places).select(["vector"]).to_arrow()["vector"]
    found = 0
    for vector in vectors.combine_chunks().flatten().to_numpy().reshape(len(places), -1):
        exactly = {row[0] for row in _search(table, vector, None, _ASKED, exact=True)}
        found += len(exactly & {row[0] for row in _search(table, vector, None, _ASKED, exact=False)})
    return found / (len(places) * _ASKED)
