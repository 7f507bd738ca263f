"""The vector index: LanceDB behind one class, with the rows in memory while they are few enough to be searched there.

It is an index and nothing else: every vector lies in the store too, so the folder may be deleted at any time.
Promises: no vector enters or is searched for that is not of the table's dimension, finite and not zero; a row
is known by its ``text_id`` and is there once; nothing a person wrote is ever part of a predicate; whatever
LanceDB does, including a panic, comes out as a StorageError; folders are 0700 and files 0600, whatever the
umask.

Reading (``search``) is for any thread. All that writes belongs to the worker in ``indexing``, one step at a time.

One program writes. Others ``follow``: they have the rows of the store in memory, and search the table only where those
are too many. A table has a folder of its own, ``vectors.lance``; while another program searches that, a rebuild makes
one of another name beside it, and the former goes when it is let go of.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import chain, count, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from domain import errors
from domain.files import FileLock, make_private_folder
from domain.indexes import Hit, VectorRow
from domain.records import Kind
from storage.vectors import lance

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from domain.indexes import Half, Vector

    Floats = npt.NDArray[np.float32]
    Numbers = npt.NDArray[np.int64]
    Halves = npt.NDArray[np.float16]

_TABLE = "vectors"
#: Numbers (rows times dimension) in memory of a type at the most: 192 MB, searched in some 5 ms. That is 125,000
#: rows of 384 numbers; finding 300 of them on the disk takes three times as long and misses some.
_MOST_IN_MEMORY = 48_000_000
#: With more numbers than this only the rows whose numbers have most signs in common with those of a query are compared
#: by their cosines: so many for each row that is wanted, but no fewer than for so many. Of the 200 nearest of 100,000
#: real texts this finds 99.9 % in half the time, and all of the ten nearest.
_MOST_COMPARED = 16_000_000
_FOR_EACH, _FEW = 20, 200

_KINDS: tuple[Kind, ...] = ("conversation", "summary")

State = Literal["closed", "ready", "rebuilding"]


class Vectors:
    """The table ``vectors``: ``text_id``, ``type``, ``session_id``, ``vector``.

    >>> vectors.open("some-model", 1024)
    >>> vectors.upsert([VectorRow("a1", "conversation", "s1", vector)])
    >>> vectors.search(query, kind="conversation", exclude_session="s2", limit=6)
    [[Hit(text_id='a1', session_id='s1', similarity=0.83)]]
    """

    def __init__(self, folder: Path, log: logging.Logger, *, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self.folder = folder
        self._most_in_memory = most_in_memory
        self._in_memory = InMemoryIndex(0, most_in_memory)
        self.state: State = "closed"
        self._log = log
        #: What is written to, and beside it the same table with caches, once it is searched on the disk.
        self._table: Any = None
        self._searched: tuple[Any, Any] = (None, None)
        self._dimension = 0
        #: The name of the table, and of its folder.
        self.name = _TABLE
        self._reading: FileLock | None = None
        #: Whether a table before this one is still searched by another program.
        self.has_former = False
        #: Seconds at least between two looks for what other programs did.
        self.rest = 0.0

    def open(self, model: str, dimension: int, name: str = _TABLE) -> None:
        """Open the table of this model, or make it. LanceDB is imported here, and not before.

        Raises StorageError when what lies there cannot be used: then ``rebuild`` rebuilds it.
        """
        self.close()
        self.name = name
        with self._translate_errors("open"):
            make_private_folder(self.folder)
            database = lance.connect(self.folder)
            if name not in database.list_tables().tables:
                self._table = database.create_table(name, schema=lance.schema_of(model, dimension))
                lance.make_private_below(self.folder)
            else:
                self._table = self._open_table(database, model, dimension)
            self._hold_in_memory(dimension)
            for kind in _KINDS:
                self._load_in_memory(kind)
            lance.give_back_memory()
        self.state = "ready"

    def _open_table(self, database: Any, model: str, dimension: int) -> Any:
        table = database.open_table(self.name)
        if not lance.is_made_for(table.schema, model, dimension):
            raise errors.StorageError("index.fault", act="open", reason="made for another model")
        return table

    def follow(self, dimension: int) -> None:
        """Hold rows in memory that ``take`` brings, and write nothing."""
        self.close()
        self._hold_in_memory(dimension)
        self.state = "ready"

    def take(self, rows: Sequence[VectorRow]) -> None:
        """Take rows of the store into memory, each in place of the row of its ``text_id``."""
        self._in_memory.put(rows)

    def drop(self, text_ids: Iterable[str]) -> None:
        """Take rows out of memory."""
        self._in_memory.drop(list(text_ids))

    def ids_in_memory(self) -> set[str] | None:
        """The texts that are kept in memory; None where those of a type are too many."""
        return self._in_memory.ids()

    def read(self, model: str, name: str) -> None:
        """Search this table for what has no room in memory. Raises StorageError, also where there is none."""
        if self._table is not None and self.name == name:
            return
        self._let_go()
        self.name, reading = name, FileLock(self._readers_of(name))
        with self._translate_errors("open"), ExitStack() as opened:
            opened.callback(reading.release)
            reading.take(shared=True, wait=True)
            self._table = self._open_table(lance.connect(self.folder), model, self._dimension)
            opened.pop_all()
        self._reading = reading

    def _let_go(self) -> None:
        self._table, self._searched = None, (None, None)
        if self._reading:
            self._reading.release()
            self._reading = None

    def _readers_of(self, name: str) -> Path:
        return self.folder / f"{name}.readers"

    def open_empty(self) -> None:
        """Nothing has a vector yet: a search finds nothing, and that is no fault."""
        self.close()
        self.state = "ready"

    def close(self) -> None:
        """Let the table go; safe to call twice."""
        self._let_go()
        self._hold_in_memory(0)
        self.state = "closed"

    def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Add rows, each in place of the row of its ``text_id``, in one commit."""
        if not rows:
            return
        self._log_action("upsert", [row.text_id for row in rows])
        with self._translate_errors("upsert"):
            table = self._require_table()
            content = self._as_arrow(rows, table.schema)
            if self._in_memory.are_new([row.text_id for row in rows]):
                table.add(content)  # a third of the work
            else:
                merge = table.merge_insert("text_id")
                merge.when_matched_update_all().when_not_matched_insert_all().execute(content)
            self._in_memory.put(rows)
            lance.make_private_below(self.folder)

    def delete(self, text_ids: Iterable[str]) -> None:
        """Delete rows. Their bytes stay on the disk until ``rebuild``."""
        wanted = list(text_ids)
        self._log_action("delete", wanted)
        with self._translate_errors("delete"):
            lance.delete(self._require_table(), wanted)
            self._in_memory.drop(wanted)
            lance.make_private_below(self.folder)

    def search(self, *vectors: Vector, kind: Kind, exclude_session: str | None, limit: int) -> list[list[Hit]]:
        """For each vector the nearest rows of one type, best first, none of the excluded session.

        Raises StorageError when the index is not ready, or has no place for a vector like one of them.
        """
        if not vectors or limit < 1 or (self.state == "ready" and not self._dimension):
            return [[] for _ in vectors]
        rows_in_memory = self._in_memory.of(kind)
        table = self._require_table() if rows_in_memory is None else None
        try:
            queries = np.stack([normalise(vector, self._dimension) for vector in vectors])
        except errors.EmbeddingError as fault:
            raise errors.StorageError("index.fault", act="search", reason=str(fault)) from fault
        if rows_in_memory is not None:
            hits = rows_in_memory.search(queries.astype("float32"), exclude_session, limit)
        else:
            with self._translate_errors("search"):
                on_disk = self._on_disk(table)
                found = [lance.search_outside(on_disk, query, kind, exclude_session, limit) for query in queries]
            hits = [list(starmap(Hit, each)) for each in found]
        if self._log.isEnabledFor(logging.DEBUG):
            self._log_action(f"search {kind} not {exclude_session}", [(h.text_id, h.similarity) for h in chain(*hits)])
        return hits

    @property
    def has_table(self) -> bool:
        """Whether there is a table to write to."""
        return self._table is not None and self.state == "ready"

    def versions(self) -> int:
        """How many versions of the table lie on the disk; each commit adds one, ``upkeep`` leaves one."""
        with self._translate_errors("versions"):
            return len(self._table.list_versions()) if self.has_table else 0

    def ids(self) -> npt.NDArray[np.bytes_]:
        """Every ``text_id``, sorted, as an array of bytes (32 MB for a million)."""
        with self._translate_errors("ids"):
            return lance.ids_of(self._require_table())

    def count(self) -> int:
        """How many rows there are; 0 while there is no table."""
        with self._translate_errors("count"):
            return int(self._table.count_rows()) if self._table is not None else 0

    def rebuild(
        self,
        model: str,
        dimension: int,
        batches: Iterable[Sequence[VectorRow]],
        wanted: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Remove the folder's content and create the table again, so that no byte of the old one is left.

        One that another program searches stays beside it. ``wanted`` is asked between batches; False ends the work, and
        False is returned.
        """
        self.close()
        self.state = "rebuilding"
        with self._translate_errors("rebuild"):
            read = self._remove_but_read()
            make_private_folder(self.folder)
            schema = lance.schema_of(model, dimension)
            names = (f"{_TABLE}-{number}" if number else _TABLE for number in count())
            self.name = next(name for name in names if name not in read)
            self._table = table = lance.connect(self.folder).create_table(self.name, schema=schema)
            self._hold_in_memory(dimension)
            for batch in batches:
                if not wanted():
                    self.close()
                    return False
                if batch:
                    table.add(self._as_arrow(batch, schema))
                    self._in_memory.put(batch)
            lance.make_private_below(self.folder)
        self.state = "ready"
        return True

    def remove(self) -> None:
        """Delete the folder's content, but for what another program searches; a rebuild makes the table again."""
        self.close()
        with self._translate_errors("remove"):
            self._remove_but_read()

    def remove_former(self) -> None:
        """Remove the tables before this one that no other program searches any more."""
        with self._translate_errors("remove"):
            self._remove_but_read({self.name})

    def _remove_but_read(self, kept: Collection[str] = ()) -> set[str]:
        """Remove what is in the folder but for ``kept``, and for the tables that are read, which are returned."""
        read = {path.stem for path in self.folder.glob("*.readers") if path.stem not in kept and self._is_read(path)}
        lance.empty_folder(self.folder, {*read, *kept})
        self.has_former = bool(read)
        return read

    def _is_read(self, path: Path) -> bool:
        """Whether another program searches a table; else none begins to, since what it would lock goes first."""
        lock = FileLock(path)
        if not lock.take():
            return True
        path.unlink()
        lock.release()
        return False

    def upkeep(self) -> None:
        """Fold small files together, drop old versions, keep the index for nearest vectors in order.

        It may take seconds on a large table; searches go on meanwhile.
        """
        with self._translate_errors("upkeep"):
            table, readers = self._require_table(), FileLock(self._readers_of(self.name))
            lance.keep_index(table, self._log)
            alone = not readers.path.exists() or readers.take()
            lance.optimize(table, shared=not alone)
            readers.release()
            lance.give_back_memory()
            lance.make_private_below(self.folder)

    def _on_disk(self, table: Any) -> Any:
        """The table as it is searched on the disk: with the caches that all tables of this process share."""
        of, searched = self._searched
        if of is not table:
            searched = lance.connect(self.folder, cached=True).open_table(self.name)
            self._searched = (table, searched)
        return searched

    def _hold_in_memory(self, dimension: int) -> None:
        self._dimension = dimension
        self._in_memory = InMemoryIndex(dimension, self._most_in_memory)

    def _as_arrow(self, rows: Sequence[VectorRow], schema: pa.Schema) -> pa.Table:
        """Rows as LanceDB takes them; raises EmbeddingError when a vector is not sound."""
        return lance.as_arrow(rows, np.stack([normalise(row.vector, self._dimension) for row in rows]), schema)

    def _load_in_memory(self, kind: Kind) -> None:
        """Hold the rows of a type in memory when they are few enough."""
        where = lance.OF_KIND[kind]
        rows_in_memory, count = self._in_memory.of(kind), self._table.count_rows(where)
        if rows_in_memory is None or not self._in_memory.fits(kind, count):
            return
        rows_in_memory.reserve(count)
        for text_ids, session_ids, vectors in lance.rows_of(self._table, where):
            rows_in_memory.put(text_ids, session_ids, vectors)

    def _require_table(self) -> Any:
        if self.state != "ready" or self._table is None:
            raise errors.StorageError("index.not_ready", state=self.state)
        return self._table

    def _log_action(self, act: str, content: object) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug("vectors %s\n  %s", act, content)

    def _translate_errors(self, act: str) -> AbstractContextManager[None]:
        return lance.translate_errors(act, self.folder)


class InMemoryIndex:
    """Rows in memory of each type that has few enough; the others are searched on the disk.

    With a dimension of 0, of an index that is not open yet, there are none.
    """

    def __init__(self, dimension: int, most: int) -> None:
        self._dimension = dimension
        self._most = most
        self._rows_by_kind: dict[Kind, InMemoryRows] = (
            {kind: InMemoryRows(dimension) for kind in _KINDS} if dimension else {}
        )

    def of(self, kind: Kind) -> InMemoryRows | None:
        """The rows of a type; None when they are too many."""
        return self._rows_by_kind.get(kind)

    def ids(self) -> set[str] | None:
        """The ids of all rows; None when those of a type are too many."""
        if len(self._rows_by_kind) < len(_KINDS):
            return None
        return {text_id for rows_in_memory in self._rows_by_kind.values() for text_id in rows_in_memory.ids()}

    def fits(self, kind: Kind, more: int) -> bool:
        """Whether so many rows more have room; a type that has become too large is let go for good."""
        rows_in_memory = self._rows_by_kind.get(kind)
        if rows_in_memory is not None and (len(rows_in_memory) + more) * self._dimension > self._most:
            del self._rows_by_kind[kind]
            rows_in_memory = None
        return rows_in_memory is not None

    def put(self, rows: Sequence[VectorRow]) -> None:
        """Take in rows that were stored."""
        for kind in _KINDS:
            some = [row for row in rows if row.type == kind]
            if some and self.fits(kind, len(some)):
                vectors = np.stack([normalise(row.vector, self._dimension) for row in some])
                ids, sessions = [row.text_id for row in some], [row.session_id for row in some]
                self._rows_by_kind[kind].put(ids, sessions, vectors)

    def are_new(self, text_ids: Sequence[str]) -> bool:
        """Whether it is certain that none of these is stored, and each is named once: every row is in memory."""
        if len(self._rows_by_kind) < len(_KINDS) or len(set(text_ids)) < len(text_ids):
            return False
        return not any(
            text_id in rows_in_memory for rows_in_memory in self._rows_by_kind.values() for text_id in text_ids
        )

    def drop(self, text_ids: Sequence[str]) -> None:
        """Take rows out."""
        for rows_in_memory in list(self._rows_by_kind.values()):
            rows_in_memory.drop(text_ids)


class InMemoryRows:
    """(text_id, session_id, vector) in memory. Safe to use from several threads."""

    def __init__(self, dimension: int) -> None:
        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._place: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._names: list[str] = []
        self._session = np.zeros(64, np.int32)
        self._vectors = np.zeros((64, dimension), np.float32)
        #: (numbers / 64, rows) whether each number is above 0, a bit each.
        self._signs = _as_bits(self._vectors > 0)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, text_id: str) -> bool:
        return text_id in self._place

    def ids(self) -> list[str]:
        """The ids of all rows."""
        with self._lock:
            return list(self._ids)

    def put(self, text_ids: Sequence[str], session_ids: Sequence[str], vectors: Halves) -> None:
        """Add rows, each in place of the row of its id."""
        with self._lock:
            self._make_room(len(text_ids))
            places = _number(text_ids, self._ids, self._place)
            self._session[places] = _number(session_ids, self._names, self._sessions)
            self._vectors[places] = vectors
            self._signs[:, places] = _as_bits(vectors > 0)

    def reserve(self, count: int) -> None:
        """Room for so many rows more, so that none is moved when they come."""
        with self._lock:
            self._make_room(count)

    def drop(self, text_ids: Iterable[str]) -> None:
        """Take rows out; the last row takes the place of each."""
        with self._lock:
            for text_id in text_ids:
                place = self._place.pop(text_id, None)
                if place is None:
                    continue
                last = self._ids.pop()
                if last != text_id:
                    self._ids[place], self._place[last] = last, place
                    self._session[place] = self._session[len(self._ids)]
                    self._vectors[place] = self._vectors[len(self._ids)]
                    self._signs[:, place] = self._signs[:, len(self._ids)]

    def search(self, queries: Floats, exclude_session: str | None, limit: int) -> list[list[Hit]]:
        """For each of the queries (Q, D) the nearest rows, best first; equals in the order of their ids.

        Few rows are read once for all of them: reading them is what takes the time.
        """
        every: list[list[Hit]] = []
        with self._lock:
            count = len(self._ids)
            hidden = self._session[:count] == self._sessions.get(exclude_session or "", -1)
            for rows, cosines in self._compare(queries, hidden, _FOR_EACH * max(limit, _FEW)):
                best = np.argpartition(cosines, -limit)[-limit:] if limit < len(cosines) else np.arange(len(cosines))
                best = best[cosines[best] > -np.inf]
                best = best[np.argsort(-cosines[best], kind="stable")]
                near, places = cosines[best], rows[best]
                ids = map(self._ids.__getitem__, places.tolist())
                sessions = map(self._names.__getitem__, self._session[places].tolist())
                found = list(map(Hit, ids, sessions, near.tolist()))
                if (near[1:] == near[:-1]).any():
                    found.sort(key=lambda hit: (-hit.similarity, hit.text_id))
                every.append(found)
        return every

    def _compare(self, queries: Floats, hidden: npt.NDArray[np.bool_], likely: int) -> Iterator[tuple[Numbers, Floats]]:
        """For each query rows, and their cosines: all that are not ``hidden``, or about so many that are ``likely``.

        Signs say little of vectors that are mostly zeros: of hashed words all are compared.
        """
        count, size = len(hidden), np.abs(queries)
        # Not ``@``, which takes all cores and waits for the slowest of them: on a busy machine many times as long.
        if self._vectors.shape[1] * count <= _MOST_COMPARED or np.count_nonzero(queries) < queries.size / 2:
            rows = self._vectors[:count, None] if len(queries) > 1 else self._vectors[:count]
            for cosines in np.ascontiguousarray(np.vecdot(rows, queries).reshape(count, len(queries)).T):
                cosines[hidden] = -np.inf
                yield np.arange(count), cosines
            return
        large = _as_bits(size > size.mean(axis=1, keepdims=True))  # these count twice
        for query, *masks in zip(queries, _as_bits(queries > 0).T, large.T, strict=True):
            far = np.zeros(count, np.uint16)
            for bits, sign, twice in zip(self._signs[:, :count], *masks, strict=True):
                differing = bits ^ sign
                far += np.bitwise_count(differing)
                far += np.bitwise_count(differing & twice)
            at_most = np.searchsorted(np.bincount(far[~hidden]).cumsum(), likely)
            near = np.flatnonzero((far <= at_most) & ~hidden)
            yield near, np.vecdot(self._vectors[near], query)

    def _make_room(self, more: int) -> None:
        """Room grows by doubling; what is not used yet takes no memory, since no one writes to it."""
        count = len(self._ids)
        if count + more > len(self._session):
            room = max(count + more, 2 * len(self._session))
            session, vectors = np.zeros(room, np.int32), np.zeros((room, self._vectors.shape[1]), np.float32)
            session[:count], vectors[:count] = self._session[:count], self._vectors[:count]
            signs = np.zeros((len(self._signs), room), np.uint64)
            signs[:, :count] = self._signs[:, :count]
            self._session, self._vectors, self._signs = session, vectors, signs


def _as_bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """(D / 64, N) the flags of N vectors (N, D)."""
    packed = np.packbits(flags, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64).T


def _number(wanted: Sequence[str], names: list[str], numbers: dict[str, int]) -> list[int]:
    """The number of each name, its place in ``names``; new ones are added at the end."""
    for name in wanted:
        if name not in numbers:
            numbers[name] = len(names)
            names.append(name)
    return [numbers[name] for name in wanted]


def normalise(vector: Sequence[float] | npt.NDArray[Any], dimension: int | None) -> Half:
    """The vector at length 1, as it is stored: float16, one dimension.

    Raises EmbeddingError when it is not of ``dimension``, not finite, or zero.
    """
    taken = np.asarray(vector, dtype=np.float32)
    if taken.ndim != 1 or not len(taken) or (dimension is not None and len(taken) != dimension):
        raise errors.EmbeddingError("embedding.dimension", found=list(taken.shape), expected=dimension)
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(taken.astype(np.float64)))
    if not np.isfinite(length) or length < 1e-12:
        raise errors.EmbeddingError("embedding.unsound", norm=length)
    return (taken / length).astype(np.float16)
