"""PostgreSQL as the engine of many memories: connections, transactions, and whose rows they see.

One set of tables has the rows of everyone; row-level security shows a transaction those of the person it named when it
began, and nothing where it named none. So the statements of the repositories run as they are.

Guarantees: a committed transaction is as durable as the server makes it (``synchronous_commit`` is left alone); a write
is all or nothing; writes of one person come one after another, whichever process they come from; a connection that
breaks is opened again, and where it broke in the middle of a commit the server is asked whether that was carried out.
A role that could see other people's rows is refused.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import psycopg
from psycopg import adapt, pq
from psycopg.types.numeric import NumericBinaryLoader

from domain import errors
from domain.file_reader import find_in_parts
from domain.patterns import pattern_of
from domain.records import PREFIX, Role
from domain.text import mask_url
from storage.engine import EACH, META, NEXT, Commit, ReadCache, Row, Transaction, read_meta, set_meta
from storage.postgres import for_postgres, limit_to_person
from storage.postgres.copies import RowCopy
from storage.postgres.trips import ServedRow, Statement, Trips, make_rows
from storage.sqlite import digests

if TYPE_CHECKING:
    from psycopg.abc import Buffer

#: The schema that this program knows.
VERSION = 1
#: Connections that are kept for the next statement.
_MOST_IDLE = 16
#: Numbers of vectors, and bytes of rows, in the memory of this process, of all persons together: 192 and 128 MB.
_MOST_IN_MEMORY, _MOST_COPIED = 48_000_000, 128 << 20
#: Of these numbers those of people who have a million at most, about a thousand messages: 16 MB.
_MOST_SMALL = 4_000_000
#: Seconds after which what no one asked for leaves the memory.
_UNUSED = 600
#: Rows that are searched at once.
_ROWS = 1_000
#: Seconds between two attempts to connect again, and after how many it is given up.
_PAUSE, _ATTEMPTS = 0.2, 25
#: Seconds after which a process says again that it lives, a third of the time after which it counts as ended.
_RENEW_EVERY = 10
#: Locks for the counts of callers.
_LOCKS = 64
#: How long a write waits for one of the same person, and how long one that does nothing keeps others waiting.
_WAITS, _STANDS_STILL = "30s", "60s"
#: How many reads that follow from each other are made ahead.
_DEEPEST = 20

_KINDS: Mapping[str, type[errors.StorageError]] = {
    "53100": errors.DiskFull,
    "25006": errors.ReadOnly,
    "XX001": errors.Damaged,
    "XX002": errors.Damaged,
    "55P03": errors.DataInUse,
}
_SET = b"SELECT set_config('friend.person', $1, true)"
_LIMITS = (
    f", set_config('lock_timeout', '{_WAITS}', true)"
    f", set_config('idle_in_transaction_session_timeout', '{_STANDS_STILL}', true)"
).encode()
_REGISTRY = b"SELECT set_config('search_path', 'registry', true)"
_TAKE = "UPDATE person SET stamp = gen_random_uuid() RETURNING pg_current_xact_id()::text"
#: One look at the index of who is due, and of no one else.
TAKE_DUE = (
    "UPDATE registry.due SET program = $1 WHERE name IN (SELECT name FROM registry.due WHERE program IS NULL"
    " AND at <= $2 ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING name"
)
#: Of several processes that had a memory open one was to look after it; what the others know still counts.
_RELEASE = (
    "UPDATE registry.due SET program = NULL, look = CASE WHEN program IS NULL THEN least(look, $1::double precision)"
    " ELSE $1 END WHERE name = $2 AND (program = $3 OR program IS NULL) RETURNING name"
)
_DUE = (
    b"INSERT INTO registry.due (name, look) SELECT name, $1 FROM person ON CONFLICT (name)"
    b" DO UPDATE SET look = excluded.look"
)
_ROLE = (
    "SELECT r.rolsuper, r.rolbypassrls, EXISTS (SELECT 1 FROM pg_class c WHERE c.relname = 'conversation'"
    " AND c.relnamespace = current_schema()::regnamespace AND pg_has_role(current_user, c.relowner, 'USAGE'))"
    " FROM pg_roles r WHERE r.rolname = current_user"
)
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
#: What rows of other tables refer to, without going with them.
_LAST = ("persona", "session", "change", "person")
#: Statements after which messages have another digest to get, or none; and one that says which are new.
_SAYS = pattern_of(r"UPDATE conversation SET (?:text|speaker|role|timestamp)\b|DELETE FROM conv")
_ADDS = pattern_of(r"INSERT INTO conversation \(([\w, ]+)\) VALUES")
#: What is distributed by person, with the query of what is a view: nothing where the server has no shards.
DISTRIBUTED = (
    "SELECT c.relname, CASE c.relkind WHEN 'v' THEN rtrim(pg_get_viewdef(c.oid), ';') ELSE '' END FROM pg_class c"
    " WHERE c.relkind IN ('r', 'v') AND c.relnamespace = current_schema()::regnamespace"
    " AND EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')"
)
#: What nearly every write asks for is read as it begins: no one else changes it before the commit.
_LOADED = "SELECT 'meta' AS place, key, value FROM meta UNION ALL SELECT 'counter', name, value::text FROM counter"
_COUNTED = "INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_WRITES = pattern_of(r"(?:INSERT INTO|UPDATE|DELETE FROM) (meta|counter)\b")
_RETURNS = pattern_of(r"^(?:SELECT|WITH)\b|\bRETURNING\b")
#: A message whose digests are made.
_SAID = ("seq", "text_id", "role", "speaker", "timestamp", "text")
_QUEUED = (
    "WITH queued AS (DELETE FROM changed_row RETURNING key) SELECT c.seq, c.text_id, c.role, c.speaker, c.timestamp,"
    f" c.text FROM conversation c WHERE c.seq IN (SELECT key FROM queued) OR c.seq IN {EACH} ORDER BY c.seq"
)
#: Rows that are inserted by one statement: a table, its columns, and in what they may be equal to rows that are there.
_INSERTS = pattern_of(r"INSERT INTO (\w+) \(([\w, ]+)\) VALUES \([?, ]+\)( ON CONFLICT(?: \(([\w, ]+)\))? DO .*)?")


class _Untyped(adapt.Dumper):
    """A whole number or a flag: the statement says of which type it is, as where it was planned."""

    oid = 0

    def dump(self, obj: Any) -> Buffer:
        return str(int(obj)).encode()


class _PlainNumber(NumericBinaryLoader):
    """A sum: whole where it is."""

    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


class _HalvesLoader(adapt.Loader):
    """The numbers of a ``halfvec`` as bytes, as SQLite has them."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        import numpy as np

        return np.frombuffer(data, dtype=">f2", offset=4).astype("<f2").tobytes()


class _HalvesDumper(adapt.Dumper):
    """A view of float16 numbers as a ``halfvec``."""

    format = pq.Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        import numpy as np

        numbers = np.frombuffer(obj, dtype="<f2")
        return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.astype(">f2").tobytes()


@contextmanager
def as_ours(where: str) -> Iterator[None]:
    """Raise what PostgreSQL refuses as the StorageError that says what it means."""
    try:
        yield
    except psycopg.Error as fault:
        kind = _KINDS.get(fault.sqlstate or "", errors.StorageError)
        raise kind("database.failed", path=where, reason=" ".join(str(fault).split())) from fault


class InMemory:
    """Who has something in the memory of this process: those who asked last, all together no more than ``most``.

    Those of whom each has at most a quarter of ``most_small`` have no more than that together: they are many, and are
    read again in a moment.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic, most_small: int | None = None) -> None:
        self.most, self._most_small = most, most if most_small is None else most_small
        self._clock, self._lock = clock, threading.Lock()
        #: The size of each, and when it was asked for last; the oldest first.
        self._kept: dict[Callable[[], None], tuple[int, float]] = {}

    def keep(self, let_go: Callable[[], None], size: int) -> None:
        """Note who asked last, and of what size it is there; whoever did not ask for longest is to ``let_go``."""
        with self._lock:
            self._kept.pop(let_go, None)
            self._kept[let_go] = size, self._clock()
            for most, largest in ((self.most, size + self.most), (self._most_small, self._most_small // 4)):
                counted = [(one, own) for one, (own, _) in self._kept.items() if own <= largest]
                over = sum(own for _, own in counted) - most
                for one, own in counted:
                    if over > 0:
                        over -= own
                        del self._kept[one]
                        one()

    def drop_unused(self, unused: float = _UNUSED) -> None:
        """Let those go who did not ask for so many seconds, and what was erased elsewhere since with them."""
        with self._lock:
            while self._kept and self._clock() - next(iter(self._kept.values()))[1] >= unused:
                oldest = next(iter(self._kept))
                del self._kept[oldest]
                oldest()

    def drop(self, let_go: Callable[[], None]) -> None:
        """Let this one go, and count it no more."""
        with self._lock:
            self._kept.pop(let_go, None)
            let_go()


class Server:
    """The connections of this process to one database. Safe to use from several threads.

    >>> database = PostgresDatabase(server, "ann", log)
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock``: seconds, to find what was not used for long."""
        self.address = mask_url(url)
        self._url = url
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[ServedRow]] = []
        self._trips = WeakKeyDictionary[psycopg.Connection[ServedRow], Trips]()
        self._adapters = adapt.AdaptersMap(psycopg.adapters)
        for kind in (int, bool):
            self._adapters.register_dumper(kind, _Untyped)
        self._adapters.register_loader("numeric", _PlainNumber)
        self._examined = False
        #: The tables of which each statement must say the person.
        self.distributed: frozenset[tuple[str, str]] = frozenset()
        self.in_memory = InMemory(_MOST_IN_MEMORY, clock, _MOST_SMALL)
        self.copies = InMemory(_MOST_COPIED, clock)
        self.programs = ServedPrograms(self)
        logging.getLogger("psycopg").addHandler(logging.NullHandler())  # else it writes to the terminal

    def take(self) -> psycopg.Connection[ServedRow]:
        """A connection for one transaction; ``give_back`` it."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connection = psycopg.connect(
            self._url, autocommit=True, context=cast(Any, _Context(self._adapters)), row_factory=make_rows,
            cursor_factory=psycopg.RawCursor, connect_timeout=10,
            prepare_threshold=None,  # ``Trips`` prepares, and psycopg would let go of that too
        )  # fmt: skip
        if not self._examined:
            try:
                self._examine(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def give_back(self, connection: psycopg.Connection[ServedRow]) -> None:
        """Keep a connection for the next transaction, unless it broke or is in the middle of something."""
        with self._lock:
            if connection.info.transaction_status == pq.TransactionStatus.IDLE and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def send(self, connection: psycopg.Connection[ServedRow], statements: Sequence[Statement]) -> list[list[ServedRow]]:
        """The rows of each of these statements, in one trip."""
        trips = self._trips.get(connection)
        if trips is None:
            trips = self._trips[connection] = Trips()
        try:
            return trips.send(connection, statements)
        except psycopg.OperationalError:
            if connection.closed:
                self._lose_connections()
            raise

    def attempt(self, act: Callable[[psycopg.Connection[ServedRow]], Any]) -> Any:
        """Do what may be done twice, on a connection of its own; again on another one where that broke.

        Where it returns the connection itself, whoever asked gives that back.
        """
        with as_ours(self.address):
            for attempt in range(_ATTEMPTS):
                connection = None
                try:
                    connection = self.take()
                    done = act(connection)
                    if isinstance(done, tuple) and done[0] is connection:
                        connection = None
                    return done
                except psycopg.OperationalError as fault:
                    lost = connection is None or connection.closed
                    if not lost or fault.sqlstate in _KINDS or not self._examined or attempt == _ATTEMPTS - 1:
                        raise
                    self._lose_connections()
                    time.sleep(_PAUSE if attempt else 0)
                finally:
                    if connection is not None:
                        self.give_back(connection)
        raise AssertionError

    def drop_unused(self, unused: float = _UNUSED) -> None:
        """Leave nothing in memory that was not asked for in so many seconds."""
        for kept in (self.in_memory, self.copies):
            kept.drop_unused(unused)

    def ask(self, sql: str, *values: object) -> list[Any]:
        """The rows of one statement of the registry, which commits at once."""
        return cast(list[Any], self.attempt(lambda one: self.send(one, [(sql.encode(), values)])[0]))

    def hold(self, person: str, soon: float) -> None:
        """Look after a memory until ``release``; where this process ends before, another one does from ``soon`` on."""
        self.ask("SELECT registry.hold($1, $2, $3)", person, self.programs.name, soon)

    def release(self, person: str, at: float | None) -> None:
        """Let any process look after a memory when its next job is to run, or ``at`` this moment if that is sooner."""
        self.ask(_RELEASE, at, person, self.programs.name)

    def take_due(self, now: float, most: int) -> list[str]:
        """Look after at most so many memories that are due and that no living process has open; their names."""
        self.programs.enter()
        return [str(row[0]) for row in self.ask(TAKE_DUE, self.programs.name, now, most)]

    def number_of(self, person: str, *, add: bool = True) -> int | None:
        """The number of a person, who is known from then on; without ``add`` None where there is no such person."""
        sql = f"SELECT {'add' if add else 'find'}_person($1)"
        found = self.attempt(lambda connection: connection.execute(sql, [person]).fetchall()[0][0])
        return None if found is None else int(found)

    def remove(self, person: str) -> None:
        """Leave nothing of a person."""
        number = self.number_of(person, add=False)
        if number is None:
            return

        def remove_rows(connection: psycopg.Connection[ServedRow]) -> None:
            with connection.transaction():
                connection.execute(_SET + _LIMITS, [str(number)])
                connection.execute(_TAKE.encode())  # who writes ends first, and none begins
                found = [str(row[0]) for row in connection.execute(_TABLES).fetchall()]
                for table in sorted(found, key=_place_of):
                    connection.execute(f"DELETE FROM {table} WHERE person = {number}".encode())
                connection.execute("DELETE FROM registry.due WHERE name = $1", [person])

        self.attempt(remove_rows)

    def close(self) -> None:
        """End this program's claims, and close what is idle; what is in use is closed by whoever gives it back."""
        with suppress(errors.StorageError):
            self.programs.end()
        self._close_idle()

    def _lose_connections(self) -> None:
        """One broke, and the others with it; of another server that takes its place some commits may be lost."""
        self._close_idle()
        self.drop_unused(0)

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _examine(self, connection: psycopg.Connection[ServedRow]) -> None:
        """Refuse a role that row-level security does not hold for, and a schema that is not ours."""
        role = connection.execute(_ROLE).fetchone()
        for refused, what in zip(role or (), ("superuser", "bypassrls", "owner"), strict=False):
            if refused:
                raise errors.StorageError("database.role", path=self.address, what=what)
        try:
            ((version, halves),) = connection.execute("SELECT schema_version(), 'halfvec'::regtype::oid").fetchall()
        except psycopg.errors.UndefinedFunction as fault:
            raise errors.StorageError("database.empty", path=self.address) from fault
        if int(version) > VERSION:
            raise errors.NewerSchema(path=self.address, found=version, known=VERSION)
        self.distributed = frozenset(tuple(row) for row in connection.execute(DISTRIBUTED).fetchall())
        for adapters in (self._adapters, connection.adapters):
            adapters.register_dumper(memoryview, type("Halves", (_HalvesDumper,), {"oid": int(halves)}))
            adapters.register_loader(int(halves), _HalvesLoader)
        self._examined = True


class _Context:
    """What a connection takes its adapters from."""

    connection = None

    def __init__(self, adapters: adapt.AdaptersMap) -> None:
        self.adapters = adapters


#: A query with its values, by which its rows are found again.
_Query = tuple[str, tuple[object, ...]]


class _Unread(BaseException):
    """What is asked for ahead is not here yet; no fault, and so for nothing on the way to catch."""


@dataclass
class _Write:
    """A write that is under way."""

    thread: int
    opened: Transaction
    #: What is still to be sent, and how many rows it writes; once sent, on which connection and in which transaction.
    queue: list[Statement] = field(default_factory=list)
    rows: int = 0
    connection: psycopg.Connection[ServedRow] | None = None
    number: str = ""
    #: What was read as it began, and numbers given since; messages that were added, and whether others need digests.
    loaded: dict[str, dict[str, str]] = field(default_factory=lambda: {"meta": {}, "counter": {}})
    counted: dict[str, int] = field(default_factory=dict)
    added: list[Mapping[str, Any]] = field(default_factory=list)
    undigested: bool = False


class PostgresDatabase:
    """One person's memory in a database of many.

    >>> with database.write() as tx:
    ...     tx.do("INSERT INTO meta (key, value) VALUES (?, ?)", "k", "v")
    >>> database.run("SELECT value FROM meta WHERE key = ?", "k")[0]["value"]
    """

    def __init__(self, server: Server, person: str, log: logging.Logger) -> None:
        self.path = server.address
        self.awaited: Mapping[str, object] | None = None
        self.outdated = -1
        self._server = server
        self._number = str(server.number_of(person))
        self._log = log
        #: Of the threads of this process one writes at a time; the transaction is that thread's.
        self._lock = threading.RLock()
        self._writing: _Write | None = None
        self._listeners: list[Callable[[Commit], None]] = []
        self._checks: list[Callable[[], None]] = []
        #: What was read in the open transaction.
        self._read = ReadCache()
        #: Of each thread that is ``reading``: what it has read, what it asks for ``ahead``, and whether it has brought
        #: the copy up to date.
        self._kept = threading.local()
        self._copy: RowCopy | None = None
        self._is_copied = True
        self._closed = False

    # -- reading and writing -------------------------------------------------------------------------------------

    def run(self, sql: str, *values: object) -> list[Row]:
        """All rows of one query; of a transaction that is under way in this thread its writes are seen."""
        if self._is_writing:
            # Until the commit no one else writes for this person.
            if sql == META and (meta := self._loaded("meta")) is not None:
                return [ServedRow({"value": 0}, [meta[one]]) for one in cast(tuple[str], values) if one in meta]
            key = tuple(tuple(one) if isinstance(one, list) else one for one in values)
            if (kept := self._read.find(sql, key)) is not None:
                return kept
            found = self._send(sql, values)
            self._read.keep(sql, key, found)
            return list(found)
        rows: dict[_Query, list[Row]] | None = getattr(self._kept, "rows", None)
        if rows is None:
            return self._read_together([(sql, values)])[0]
        query = sql, tuple(one.tobytes() if isinstance(one, memoryview) else repr(one) for one in values)
        if query not in rows:
            asked, copy = getattr(self._kept, "asked", None), self._kept.copy
            if copy and (self._kept.brought or asked is not None) and copy.tables.serves(sql):
                if not self._kept.brought:
                    raise _Unread
                rows[query] = copy.tables.run(sql, values)
                self._log_statement("read in memory", sql, values, rows[query])
            elif asked is not None:
                asked[query] = sql, values
                raise _Unread
            else:
                rows[query] = self._read_together([(sql, values)])[0]
        return list(rows[query])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What this thread asks for again inside, without writing, is answered as the first time."""
        outer = getattr(self._kept, "rows", None)
        self._kept.rows = {} if outer is None else outer
        if outer is None:
            self._kept.brought, self._kept.copy, self._kept.occasion = False, self._own_copy(), object()
        try:
            yield
        finally:
            self._kept.rows = outer if self._kept.rows is not None else None  # a write inside made it stale

    @property
    def occasion(self) -> object | None:
        """The same as long as this thread is ``reading``; None where it is not."""
        return None if getattr(self._kept, "rows", None) is None else self._kept.occasion

    def ahead(self, *reads: Callable[[], object]) -> None:
        """Read together what each of these asks for first, then what each asks for next, until they return."""
        if getattr(self._kept, "asked", None) is not None:
            if [read for read in reads if self._lacks(read)]:
                raise _Unread  # a part of what is read ahead already
            return
        left = [] if self._is_writing or getattr(self._kept, "rows", None) is None else list(reads)
        left = [self._bring_copy, *left] if left and self._kept.copy and not self._kept.brought else left
        for _ in range(_DEEPEST if left else 0):
            asked = self._kept.asked = dict[_Query, tuple[str, Sequence[object]]]()
            try:
                left = [read for read in left if self._lacks(read)]
            finally:
                self._kept.asked = None
            if not left:
                return
            try:
                self._kept.rows.update(zip(asked, self._read_together(list(asked.values())), strict=True))
            except errors.StorageError:
                return  # whoever asks for one of them alone meets what is wrong with it

    def _own_copy(self) -> RowCopy | None:
        if self._copy is None and self._is_copied:
            self._copy = RowCopy()
        return self._copy

    def _bring_copy(self) -> None:
        """Bring the copy up to date; it is not used where it has no room, or the person is gone."""
        kept, copies = self._kept, self._server.copies
        while not kept.brought and (copy := self._own_copy()):
            kept.copy = copy
            sql, values = copy.what_is_new(upto := copy.upto)
            taken = copy.take(upto, self.run(sql, *values))
            for query in [one for one in kept.rows if one[0] == sql]:
                del kept.rows[query]  # another thread may make it necessary to ask again
            self._is_copied = (size := copy.tables.size) <= copies.most
            if taken is None or not self._is_copied:
                copies.drop(self.let_go)
                if upto.change < 0 or not self._is_copied:
                    break
                continue  # those who read in it go on
            copies.keep(self.let_go, size)
            kept.brought = taken and copy is self._copy
        if not kept.brought:
            kept.copy = None

    def _lacks(self, read: Callable[[], object]) -> bool:
        try:
            read()
        except _Unread:
            return True
        except errors.StorageError:
            pass
        return False

    def _read_together(self, asked: Sequence[tuple[str, Sequence[object]]]) -> list[list[Row]]:
        """The rows of each query, in one trip."""
        self._refuse_closed()

        def read(connection: psycopg.Connection[ServedRow]) -> list[list[ServedRow]]:
            statements = [self._translate(sql, values) for sql, values in asked]
            return self._server.send(connection, [(_SET, [self._number]), *statements])[1:]  # the setting ends with it

        every = cast(list[list[Row]], self._server.attempt(read) if asked else [])
        for (sql, values), rows in zip(asked, every, strict=True):
            self._log_statement("read", sql, values, rows)
        return every

    @contextmanager
    def write(self, *, wait: bool = False) -> Iterator[Transaction]:
        """One transaction; any exception takes all of it back. After the commit the listeners are called.

        No commit ``wait``s: a server shares its syncs among all its writers. It begins with the first statement whose
        rows are wanted; what else is written goes to the server together with the next one of these.
        """
        with self._lock:
            if self._writing:
                yield self._writing.opened
                return
            self._refuse_closed()
            self._kept.rows = None
            opened = Transaction(self)
            self._writing = written = _Write(threading.get_ident(), opened)
            written.queue += [(b"BEGIN", ()), (_SET + _LIMITS, [self._number])]
            written.queue += [self._translate(one, ()) for one in (_TAKE, _LOADED)]
            try:
                with as_ours(self._server.address):
                    for check in self._checks:
                        check()
                    yield opened
                    self._commit(written)
            except BaseException:
                if written.connection is not None:
                    with suppress(psycopg.Error):
                        self._server.send(written.connection, [(b"ROLLBACK", ())])
                raise
            finally:
                self._writing = None
                self._read.clear()
                if written.connection is not None:
                    self._server.give_back(written.connection)
        if opened.commit.follows:
            for listener in self._listeners:
                listener(opened.commit)

    def _commit(self, written: _Write) -> None:
        """Send what is left, and the commit; where the answer to that is lost the server knows what became of it."""
        self.digest_changes()
        self._write_counters("counter")
        if written.connection is None:
            self._send_queue()
        connection = cast("psycopg.Connection[ServedRow]", written.connection)
        if connection.info.transaction_status == pq.TransactionStatus.INERROR:  # and whoever sent it went on
            raise errors.StorageError("database.failed", path=self._server.address, reason="rolled back")
        written.queue.append((b"COMMIT", ()))
        try:
            self._send_queue()
        except psycopg.OperationalError:
            if not connection.closed or self._server.attempt(partial(_status_of, written.number)) != "committed":
                raise

    def commit(self) -> None:
        """Nothing waits."""

    def execute(self, sql: str, values: Sequence[object]) -> list[Row]:
        """Run one statement of the open transaction with its values; a list fills ``EACH``."""
        self._read.drop(sql)
        if sql == NEXT and (counters := self._loaded("counter")) is not None:
            name, count = cast(tuple[str, int], values)
            counters[name] = str(value := int(counters.get(name, 0)) + count)
            cast(_Write, self._writing).counted[name] = value
            return [ServedRow({"value": 0}, [value])]
        return self._send(sql, values)

    def _send(self, sql: str, values: Sequence[object]) -> list[Row]:
        self._write_counters(sql)
        self._enqueue(sql, values)
        self._note_written(sql, ())
        # Where no rows are wanted nothing is waited for.
        with as_ours(self._server.address):
            rows = cast(list[Row], self._send_queue()[-1] if _RETURNS.search(sql) else [])
        self._log_statement("write", sql, values, rows)
        return rows

    def _write_counters(self, before: str) -> None:
        """Write the numbers that were given, all at once, before a statement that asks for them."""
        assert self._writing
        if self._writing.counted and "counter" in before:
            counted, self._writing.counted = self._writing.counted, {}
            self.execute_many(_COUNTED, list(counted.items()))

    def _enqueue(self, sql: str, values: Sequence[object]) -> None:
        assert self._writing
        passed = [one.copy() if isinstance(one, list) else one for one in values]
        self._writing.queue.append(self._translate(sql, passed))

    def _send_queue(self) -> list[list[ServedRow]]:
        """The rows of each statement that was not sent yet. The first time another connection is tried if one broke."""
        assert self._writing
        written, queue = self._writing, self._writing.queue
        written.queue, written.rows = [], 0
        if written.connection is not None:
            return self._server.send(written.connection, queue)
        written.connection, found = self._server.attempt(lambda one: (one, self._server.send(one, queue)))
        if not found[2]:
            raise errors.StorageError("database.erased", path=self._server.address)
        written.number = str(found[2][0][0])
        for place, key, value in found[3]:
            if place in written.loaded:  # else it was written since
                written.loaded[place][key] = value
        return cast(list[list[ServedRow]], found)

    def _loaded(self, place: str) -> dict[str, str] | None:
        """What the open transaction read as it began, if that still holds."""
        assert self._writing
        if self._writing.connection is None:
            with as_ours(self._server.address):
                self._send_queue()
        return self._writing.loaded.get(place)

    def _note_written(self, sql: str, added: Sequence[Sequence[object]]) -> None:
        assert self._writing
        if added and (columns := _ADDS.match(sql)):
            self._writing.added += [dict(zip(columns[1].split(", "), one, strict=True)) for one in added]
        else:
            self._writing.undigested = self._writing.undigested or bool(_SAYS.match(sql))
        if sql not in (NEXT, _COUNTED) and (written := _WRITES.match(sql)):
            self._writing.loaded.pop(written[1], None)

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement with each of these rows of values."""
        assert self._writing
        passed = list(rows)
        if not passed:
            return
        self._read.drop(sql)
        self._write_counters(sql)
        if (together := _as_one(sql, passed)) is not None:
            self._enqueue(*together)
        else:
            for values in passed:
                self._enqueue(sql, values)
        self._note_written(sql, passed)
        for values in passed if self._log.isEnabledFor(logging.DEBUG) else ():
            self._log_statement("write", sql, values, [])
        self._writing.rows += len(passed)
        if self._writing.rows > _ROWS:  # else all of a memory that moves would be in this process at once
            with as_ours(self._server.address):
                self._send_queue()

    def expect_memory(self, now: float) -> None:
        """Let rows of the open transaction refer to later ones, and a server look after them from ``now`` on."""
        assert self._writing
        self.execute("SET CONSTRAINTS ALL DEFERRED", ())
        self._writing.queue.append((_DUE, [now]))

    def digest_changes(self) -> None:
        """Make the digests of the messages that were written in the open transaction; its end does that too."""
        assert self._writing
        added, self._writing.added = self._writing.added, []
        messages = [tuple(one[name] for name in _SAID) for one in added]
        if self._writing.undigested:
            messages = [tuple(row) for row in self.execute(_QUEUED, ([one[0] for one in messages],))]
            self._writing.undigested = False
        if messages:
            if (salt := read_meta(self, "salt")) is None:
                set_meta(self, "salt", salt := secrets.token_hex(16))
            rows = [(one, seq) for seq, *said in messages for one in _digests_of(salt, *said)]
            self.execute_many("INSERT INTO stored_message (digest, message) VALUES (?, ?) ON CONFLICT DO NOTHING", rows)

    def on_begin(self, check: Callable[[], None]) -> None:
        """Call this as each write begins, in the thread that writes; what it raises takes the write back."""
        self._checks.append(check)

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Call this after each commit that others follow, outside of the lock, in the thread that committed."""
        self._listeners.append(listener)

    # -- the whole memory ----------------------------------------------------------------------------------------

    def vacuum(self) -> None:
        """Nothing finds any more what was deleted; its bytes go with the server's own vacuum (docs/postgres.md).

        What this process has of it in memory goes at once.
        """
        self._server.copies.drop(self.let_go)

    def find_traces(self, needles: Mapping[str, bytes]) -> tuple[int, list[tuple[str, str]]]:
        """How many tables were searched, all that the catalogue has, each column of every row of this person."""

        def search(connection: psycopg.Connection[ServedRow]) -> tuple[int, list[tuple[str, str]]]:
            found = []
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(_SET, [self._number])
                tables = [str(row[0]) for row in cursor.execute(_TABLES).fetchall()]
                for table in tables:
                    with cursor.copy(f"COPY {table} TO STDOUT (FORMAT binary)".encode()) as rows:
                        found += [(f"table {table}", name) for name in find_in_parts(_in_parts(rows), needles)]
                        deque(rows, maxlen=0)
            return len(tables), found

        return cast(tuple[int, list[tuple[str, str]]], self._server.attempt(search))

    def problems(self) -> list[str]:
        """What the server finds when it reads every row of this person; pages have checksums."""
        found = []
        for (table,) in self.run(_TABLES):
            try:
                self.run(f"SELECT count(*), sum(length(t::text)) FROM {table} t")
            except errors.StorageError as fault:
                found.append(f"{table}: {fault.details['reason']}")
        return found

    def altered_rows(self) -> list[str]:
        """None are looked for: what changes on the disk breaks the checksum of its page."""
        return []

    def close(self) -> None:
        """Use no connection any more; safe to call twice."""
        self._closed = True
        self._server.copies.drop(self.let_go)

    def let_go(self) -> None:
        """Take no memory until the next recall."""
        self._copy = None

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _is_writing(self) -> bool:
        return self._writing is not None and self._writing.thread == threading.get_ident()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise errors.StorageError("database.failed", path=self._server.address, reason="closed")

    def _translate(self, sql: str, values: Sequence[object]) -> Statement:
        """A statement as the server takes it, with its values."""
        text, names_person = translated(sql, distributed=self._server.distributed)
        return text, (*values, int(self._number)) if names_person else values

    def _log_statement(self, act: str, sql: str, values: Sequence[object], rows: Sequence[Row]) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            found = "" if act == "write" else f"\n  -> {[_printable(row) for row in rows]}"
            self._log.debug("database %s\n  %s\n  %r%s", act, " ".join(sql.split()), _printable(values), found)


class ServedPrograms:
    """This process among those that use the database: it lives as long as it says so again and again.

    One that was stopped or cut off for half a minute counts as ended, and what it claimed is free.
    """

    def __init__(self, server: Server) -> None:
        self.name = uuid.uuid4().hex
        self._server = server
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._renewing: threading.Thread | None = None
        #: Called each time that this process has said that it lives. Raises StorageError.
        self.when_renewed: Callable[[], None] = lambda: None

    def enter(self) -> None:
        """Live from now on."""
        with self._lock:
            if self._renewing is None and not self._ended.is_set():
                self._renew()
                self._renewing = threading.Thread(target=self._renew_often, name="old-friend-lease", daemon=True)
                self._renewing.start()

    def leave(self) -> None:
        """Other memories of this process may go on; ``end`` ends it."""

    def lives(self, name: str) -> bool:
        """Whether the process of this name lives."""
        return bool(self._server.ask("SELECT 1 FROM registry.program WHERE name = $1 AND until > now()", name))

    def end(self) -> None:
        """Live no more; safe to call twice."""
        self._ended.set()
        with self._lock:
            if self._renewing:
                self._renewing.join()
                self._renewing = None
                self._server.ask("DELETE FROM registry.program WHERE name = $1 RETURNING name", self.name)

    def _renew(self) -> None:
        """Live on; what processes that were killed were doing is free from then on."""
        self._server.ask("SELECT registry.renew($1)", self.name)
        with suppress(errors.StorageError):  # the next one may get through
            self._server.ask("SELECT registry.remove_ended()")

    def _renew_often(self) -> None:
        while not self._ended.wait(_RENEW_EVERY):
            self._server.drop_unused()
            with suppress(errors.StorageError):  # the next one may get through
                self._renew()
                self.when_renewed()


class ServedUsage:
    """The usage of all processes together, in the schema ``registry``; see ``storage.registry.Usage``.

    A request of a process that has ended is no longer under way. Of those under way this process counts its own and
    writes how many there are, which may be done twice; what it could not write it writes with its next sign of life.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._under_way: Counter[str] = Counter()
        self._unwritten: set[str] = set()
        #: Numbers of the same caller are written in the order in which they were counted.
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        server.programs.when_renewed = self._write_again

    def let_in(self, caller: str, most: int) -> float:
        """Count a request, or the seconds to wait."""
        return float(self._server.ask("SELECT registry.let_in($1, $2)", caller, most)[0][0])

    def begin(self, who: str, most: int) -> bool:
        """Count a request that is under way."""
        self._server.programs.enter()
        with self._lock_of(who):
            if begun := self._write(who, self._under_way[who] + 1, most):
                self._under_way[who] += 1
        return begun

    def end(self, who: str) -> None:
        """Count it no longer, also where that cannot be written yet."""
        with self._lock_of(who):
            self._under_way[who] -= 1
            self._write(who, self._under_way[who], None)

    def spend(self, caller: str, day: str, tokens: int) -> None:
        """Count tokens of a day."""
        self._server.ask("SELECT registry.spend($1, $2, $3)", caller, day, tokens)

    def spent(self, caller: str, day: str) -> int:
        """The tokens of this day."""
        found = self._server.ask("SELECT tokens FROM registry.usage WHERE caller = $1 AND day = $2", caller, day)
        return int(found[0][0]) if found else 0

    def _lock_of(self, who: str) -> threading.Lock:
        return self._locks[hash(who) % _LOCKS]

    def _write(self, who: str, number: int, most: int | None) -> bool:
        """Write how many requests are under way here; False, and one fewer, where ``most`` are everywhere."""
        sql = "SELECT registry.set_under_way($1, $2, $3, $4)"
        try:
            written = self._server.ask(sql, who, self._server.programs.name, number, most)
        except errors.StorageError:
            self._unwritten.add(who)
            raise
        self._unwritten.discard(who)
        if not self._under_way[who]:
            del self._under_way[who]
        return bool(written[0][0])

    def _write_again(self) -> None:
        for who in list(self._unwritten):
            with self._lock_of(who):
                self._write(who, self._under_way[who], None)


class ServedRegistry:
    """Who is served, in the schema ``registry`` of the same database: no person's, and so behind no policy."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def run(self, sql: str, *values: object) -> list[Row]:
        """All rows of one query, as of the last commit."""

        def read(connection: psycopg.Connection[ServedRow]) -> list[Row]:
            statement = translated(sql, with_person=False)[0], values
            return cast(list[Row], self._server.send(connection, [(_REGISTRY, ()), statement])[1])

        return cast(list[Row], self._server.attempt(read))

    @contextmanager
    def write(self) -> Iterator[Callable[..., list[Row]]]:
        """One transaction; any exception takes all of it back."""

        def begin(connection: psycopg.Connection[ServedRow]) -> tuple[psycopg.Connection[ServedRow], None]:
            connection.execute("BEGIN")
            return connection, None

        connection, _ = self._server.attempt(begin)

        def run(sql: str, *values: object) -> list[Row]:
            done = connection.execute(translated(sql, with_person=False)[0], values, binary=True)
            return cast(list[Row], done.fetchall() if done.description else [])

        try:
            with as_ours(self._server.address):
                connection.execute(_REGISTRY)
                yield run
                connection.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                self._server.send(connection, [(b"ROLLBACK", ())])
            raise
        finally:
            self._server.give_back(connection)

    @contextmanager
    def turn_to_write(self) -> Iterator[None]:
        """Several may write at once here."""
        yield

    def close(self) -> None:
        """Use no connection any more."""


@lru_cache(maxsize=2_000)
def translated(
    sql: str, *, with_person: bool = True, distributed: frozenset[tuple[str, str]] = frozenset()
) -> tuple[bytes, bool]:
    """A statement of a repository as the server takes it, and whether its last value is the number of the person."""
    text, person = for_postgres(sql, with_person=with_person), f"${sql.count('?') + 1}"
    limited = limit_to_person(text, person, dict(distributed)) if distributed else text
    return limited.encode(), limited != text


def _as_one(sql: str, rows: Sequence[Sequence[object]]) -> tuple[str, Sequence[object]] | None:
    """One statement that inserts all of these rows, whatever their number; None where there is none."""
    found = _INSERTS.fullmatch(sql)
    if found is None:
        return None
    columns = found[2].split(", ")
    named = [dict(zip(columns, map(_as_json, row), strict=True)) for row in rows]
    keys = found[4].split(", ") if found[4] else []
    if keys and len({tuple(row[key] for key in keys) for row in named}) < len(rows):
        return None  # one statement changes no row twice
    try:
        passed = json.dumps(named, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return None  # vectors, numbers that are none
    table = found[1]
    sql = f"INSERT INTO {table} ({found[2]}) SELECT {found[2]} FROM json_populate_recordset(NULL::{table}, ?)"
    return sql + (found[3] or ""), [passed]


def _as_json(value: object) -> object:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return int(value) if isinstance(value, bool) else value


def _in_parts(rows: Iterable[Buffer]) -> Iterator[bytes]:
    """What is read row by row, in fewer and larger parts."""
    rows = iter(rows)
    while part := b"".join(islice(rows, _ROWS)):
        yield part


def _place_of(table: str) -> int:
    """Where a table comes when all rows of a person are removed."""
    return _LAST.index(table) if table in _LAST else -1


def _status_of(number: str, connection: psycopg.Connection[ServedRow]) -> str:
    """What has become of a transaction; one that still runs is waited for."""
    while True:
        ((status,),) = connection.execute("SELECT pg_xact_status($1::xid8)", [number]).fetchall()
        if status != "in progress":
            return str(status)
        time.sleep(_PAUSE)


def _digests_of(salt: str, text_id: str, role: Role, speaker: str, timestamp: str, text: str) -> tuple[str, str]:
    words = text.removeprefix(PREFIX[role])
    said = digests.said_digest(salt, role, speaker, timestamp, words)
    return said, digests.id_digest(salt, role, text_id, words)


def _printable(values: Iterable[object]) -> tuple[object, ...]:
    return tuple(f"<{len(value)} bytes>" if isinstance(value, bytes | memoryview) else value for value in values)
