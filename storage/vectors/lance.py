"""What is particular to LanceDB: how it is opened, the form of its table and its rows, its faults, and its folder."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from domain import errors
from domain.files import PRIVATE_FILE, PRIVATE_FOLDER
from domain.text import one_line, pattern_of
from domain.vectors import VectorRow

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: An id may stand in a predicate only when it looks like this.
_ID = pattern_of(r"[0-9A-Za-z_.:-]{1,128}")
#: What LanceDB takes in no part of a path.
_CONTROL = pattern_of(r"[\x00-\x1f\x7f]")
#: The key of the one fault that will never pass by itself.
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


def connect(folder: Path, session: Any = None) -> Any:
    """A connection with the caches of a ``session``, or with none. The import takes a second, so it waits until here.

    LanceDB caches 32 KB for every commit, of versions that nobody asks for again: caches are for what is searched on
    the disk. Raises StorageError ``index.folder_name`` where no try will ever succeed.
    """
    if _CONTROL.search(str(folder.absolute())):
        raise errors.StorageError(HOPELESS, path=one_line(str(folder)))
    load()
    import lancedb

    session = session or lancedb.Session(0, 0)
    return lancedb.connect(folder, read_consistency_interval=timedelta(0), session=session)


class Caches:
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
def caches() -> Caches:
    """Those of this process."""
    return Caches()


def load() -> None:
    """Import LanceDB, bounded in what it says and holds, so that nobody waits for it later."""
    os.environ.setdefault("LANCEDB_LOG", "error")
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)
    import_module("lancedb")


def give_back_memory() -> None:
    """Hand memory that is free again back to the system; without glibc nothing happens."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def faults(act: str, folder: Path) -> Iterator[None]:
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


def _labels(schema: pa.Schema) -> tuple[bytes | None, bytes | None]:
    """The model and dimension a table says it was made for."""
    metadata = schema.metadata or {}
    return metadata.get(b"model"), metadata.get(b"dimension")


def is_made_for(schema: pa.Schema, model: str, dimension: int) -> bool:
    """Whether a table with this schema holds vectors of this model."""
    wanted = schema_of(model, dimension)
    return bool(schema == wanted) and _labels(schema) == _labels(wanted)


def as_arrow(rows: Sequence[VectorRow], vectors: npt.NDArray[np.float16], schema: pa.Schema) -> pa.Table:
    """Rows as LanceDB takes them, with their vectors as they are stored."""
    import pyarrow as pa

    columns = [
        pa.array([safe(row.text_id) for row in rows]),
        pa.array([row.type for row in rows]),
        pa.array([row.session_id for row in rows]),
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
    ]
    return pa.table(columns, schema=schema)


def ids_of(table: Any) -> npt.NDArray[np.bytes_]:
    """Every ``text_id`` of a table, sorted."""
    import numpy as np

    found = [np.array([], dtype="S1")]
    column = table.search().select(["text_id"]).limit(None).to_arrow()["text_id"]
    for at in range(0, len(column), _IN_PYTHON):
        some = column.slice(at, _IN_PYTHON).to_pylist()
        found.append(np.array(some, dtype=np.bytes_))
    ids: npt.NDArray[np.bytes_] = np.sort(np.concatenate(found))
    return ids


def rows_of(table: Any, where: str) -> Iterator[tuple[list[str], list[str], npt.NDArray[np.float32]]]:
    """Rows of a table, many at a time: ids, ids of their sessions, vectors."""
    columns = ["text_id", "session_id", "vector"]
    for some in table.search().where(where).select(columns).limit(None).to_batches(_READ_AT_ONCE):
        flat = some["vector"].flatten().to_numpy(zero_copy_only=False)
        vectors = flat.reshape(-1, some["vector"].type.list_size).astype("float32")
        yield some["text_id"].to_pylist(), some["session_id"].to_pylist(), vectors


def delete(table: Any, text_ids: Sequence[str]) -> None:
    """Delete the rows of these ids, each of which is ``safe``."""
    for at in range(0, len(text_ids), _DELETE_AT_ONCE):
        quoted = ", ".join(f"'{text_id}'" for text_id in text_ids[at : at + _DELETE_AT_ONCE])
        table.delete(f"text_id IN ({quoted})")


def safe(text_id: str) -> str:
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
    return kind(None if kind is not errors.StorageError else "index.fault", **details)


def empty_folder(folder: Path) -> None:
    """Remove all there is in it; a file in its place goes too."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def make_private_below(folder: Path) -> None:
    """Make what LanceDB wrote its owner's only: it follows the umask.

    The folder itself is 0700 from the beginning, so nothing in it was ever open to others.
    """
    for place, folders, files in os.walk(folder):
        for names, mode in ((folders, PRIVATE_FOLDER), (files, PRIVATE_FILE)):
            for name in names:
                path = os.path.join(place, name)
                if os.stat(path).st_mode & 0o777 != mode:
                    os.chmod(path, mode)
