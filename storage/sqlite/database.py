"""SQLite as the engine of one memory: connection, transactions, and the file itself.

Repositories write their SQL once, in the subset that SQLite and PostgreSQL share; what only SQLite knows (pragmas, its
own tables, how a list is passed) is here and in the files beside this one.

Any number of programs of one machine may have the file open. One of them writes at a time, in the order in which they
came to its gate (``Gate``), and each finds at once what another wrote: results that were read count
until the gate was passed, which costs 0.7 µs to see, where ``PRAGMA data_version`` takes 12, as long as the query.

Guarantees: a committed transaction survives a power cut (``synchronous=FULL``); a write is all or nothing
(``BEGIN IMMEDIATE``), and one whose commit may wait is committed within ``COMMIT_WITHIN`` seconds; deleted content is
overwritten (``secure_delete``); a database that is damaged, newer or not ours is refused and left as it is. Every
statement can be watched with its values on the injected logger.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from domain import errors
from domain.files import make_private, make_private_folder, put_in_place, write_file
from storage import programs
from storage.engine import Commit, ReadCache, Row, Transaction
from storage.sqlite import digests, schema

#: Seconds within which a write is committed whose commit may wait.
COMMIT_WITHIN = 0.2

#: Seconds between two tries to get through the gate; until who waits in front is passed by; until whoever waits says
#: so; and until it gives up.
_LOOK, _PASS_BY, _REPORT, _PATIENCE = 0.001, 1.0, 3.0, 30.0
#: The bytes at the head of a gate: how often it was passed, and who is in it.
_PASSED, _INSIDE = 8, 100

_KINDS: dict[int, type[errors.StorageError]] = {
    sqlite3.SQLITE_FULL: errors.DiskFull,
    sqlite3.SQLITE_READONLY: errors.ReadOnly,
    sqlite3.SQLITE_CANTOPEN: errors.ReadOnly,
    sqlite3.SQLITE_PERM: errors.ReadOnly,
    sqlite3.SQLITE_CORRUPT: errors.Damaged,
    sqlite3.SQLITE_NOTADB: errors.Damaged,
    sqlite3.SQLITE_BUSY: errors.DataInUse,
}


@contextmanager
def as_ours(path: Path) -> Iterator[None]:
    """Raise SQLite's faults as the StorageError that says what they mean."""
    try:
        yield
    except sqlite3.Error as fault:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        raise _KINDS.get(code, errors.StorageError)(path=str(path), reason=str(fault)) from fault


class Gate:
    """Lets one program after another write to a file. Not for two threads of one process at once.

    Two locks: who waits for the second has the first, so that whoever left can only queue behind, however much that one
    writes. ``passed`` changes with every write of any program: what was read before is then out of date.
    """

    def __init__(self, path: Path, report: Callable[[dict[str, object]], None]) -> None:
        """For the file ``path``; ``report`` gets who is inside once when that takes long. Raises StorageError."""
        self._path = path
        self._mark = f"{os.getpid()} {programs.kind_of_self()}".encode()[: _INSIDE - 1] + b"\0"
        self._report = report
        self._descriptors: list[int] = []
        try:
            for end in ("queue", "gate"):
                self._descriptors.append(programs.open_private(path.with_name(f".{path.name}.{end}")))
        except OSError as fault:
            self.close()
            raise programs.lock_error(fault, path) from fault

    def check_locks(self) -> None:
        """Raise StorageError where the folder's locks do not exclude. Call inside of it."""
        try:
            again = programs.open_private(self._path.with_name(f".{self._path.name}.gate"))
            try:
                excludes = not _is_locked(again)
            finally:
                os.close(again)
        except OSError:
            excludes = False
        if not excludes:
            raise errors.StorageError("storage.no_locks", path=str(self._path.parent))

    def passed(self) -> bytes:
        """Changes with every write; empty while somebody writes, or was killed while writing, and once it is closed."""
        if not self._descriptors:
            return b""
        head = os.pread(self._descriptors[1], _PASSED + 1, 0)
        return head[:_PASSED] if head[_PASSED:] == b"\0" else b""

    @contextmanager
    def entered(self) -> Iterator[tuple[bytes, bytes]]:
        """Alone in it: what ``passed`` was before, and is afterwards.

        Raises DataInUse (``storage.writing``) where another program does not leave.
        """
        queue, gate = self._descriptors
        try:
            if not (_is_locked(queue) and _is_locked(gate)):
                self._wait()
            head = os.pread(gate, _PASSED + 1, 0)
            before = head[:_PASSED] if head[_PASSED:] == b"\0" else b""
            after = (int.from_bytes(head[:_PASSED], "big") + 1).to_bytes(_PASSED, "big")
            os.pwrite(gate, after + self._mark, 0)
            fcntl.flock(queue, fcntl.LOCK_UN)
        except BaseException as fault:
            with suppress(OSError):
                fcntl.flock(gate, fcntl.LOCK_UN)
                fcntl.flock(queue, fcntl.LOCK_UN)
            if isinstance(fault, OSError):
                raise programs.lock_error(fault, self._path) from fault
            raise
        try:
            yield before, after
        finally:
            os.pwrite(gate, after + b"\0", 0)
            fcntl.flock(gate, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of its files; safe to call twice."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _wait(self) -> None:
        """Wait in the queue, then for the gate; past a program in front of us that was stopped while it waited."""
        queue, gate = self._descriptors
        started, reported, waits = time.monotonic(), False, _is_locked(queue)
        while not (waits and _is_locked(gate)):
            waited = time.monotonic() - started
            if not waits and waited > _PASS_BY and _is_locked(gate):
                return
            if waited > (_PATIENCE if reported else _REPORT):
                reported = self._describe_wait(reported, started)
            time.sleep(_LOOK)
            waits = waits or _is_locked(queue)

    def _describe_wait(self, reported: bool, started: float) -> bool:
        """Say once who is inside, then raise DataInUse."""
        mark = os.pread(self._descriptors[1], _INSIDE, _PASSED).partition(b"\0")[0].decode("utf-8", "replace")
        pid, _, kind = mark.partition(" ")
        inside: dict[str, object] = {"pid": pid or None, "kind": kind or None, "path": str(self._path.parent)}
        inside["seconds"] = round(time.monotonic() - started)
        if reported:
            raise errors.DataInUse("storage.writing", **inside)
        self._report(inside)
        return True


def _is_locked(descriptor: int) -> bool:
    """Whether a lock was free, and is ours by that. Raises OSError."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class SqliteDatabase:
    """One connection, shared by the threads of one process under a lock; one of them writes.

    >>> with database.write() as tx:
    ...     tx.do("INSERT INTO meta (key, value) VALUES (?, ?)", "k", "v")
    >>> database.run("SELECT value FROM meta WHERE key = ?", "k")[0]["value"]
    """

    def __init__(self, path: Path | None, log: logging.Logger) -> None:
        """A file, created where there is none; without a path a database in memory alone, which goes with it."""
        self.path = path or Path(":memory:")
        self._log = log
        #: Whoever writes has the first, then the gate, then the second, which whoever reads has as well.
        self._writing, self._lock = threading.RLock(), threading.RLock()
        self._open: Transaction | None = None
        #: Who writes, as soon as that takes long: ``pid``, ``kind`` and ``seconds``; None while no one is waited for.
        self.awaited: dict[str, object] | None = None
        #: What the writes did whose commit waits, and what keeps the gate for them; what is to be announced of commits;
        #: why such a commit failed.
        self._waiting: tuple[Commit, ExitStack] | None = None
        self._done: list[Commit] = []
        self._lost: errors.StorageError | None = None
        self._listeners: list[Callable[[Commit], None]] = []
        self._checks: list[Callable[[], None]] = []
        #: Whether the memory has its salt.
        self._salted = False
        #: What was read from tables that were not written since, with the names in the query: most of a turn asks the
        #: same again.
        self._read = ReadCache()
        #: How often the gate had been passed then; and how often that was another program, as far as it was noticed.
        self._read_at, self.outdated = b"", 0
        self._gate: Gate | None = None
        if path is None:
            self._connection = self._open_connection(self.path)
            _prepare_connection(self._connection)
            schema.create_schema(self._connection)
            return
        self._gate = Gate(path, self._note_awaited)
        try:
            with self._gate.entered():
                self._gate.check_locks()
                self._connection = self._open_file(path)
        except BaseException:
            self._gate.close()
            raise
        # Rows that another program wrote, or a write that was cut short, have no digest yet.
        if self.run("SELECT 1 FROM changed_row LIMIT 1"):
            with self.write():
                pass

    # -- reading and writing -------------------------------------------------------------------------------------

    def run(self, sql: str, *values: object) -> list[Row]:
        """All rows of one query; of a transaction that is under way in this thread its writes are seen."""
        passed = _as_passed(values)
        with self._lock, as_ours(self.path):
            may_keep = self._open is not None or self._waiting is not None or self._drop_outdated()
            if may_keep and (found := self._read.find(sql, passed)) is not None:
                return found
            rows = self._fetch_rows("read", sql, passed)
            if may_keep:
                self._read.keep(sql, passed, rows)
            return list(rows)

    def _drop_outdated(self) -> bool:
        """Let go of what was read before another program wrote. False while one writes: nothing is to be kept then."""
        passed = self._gate.passed() if self._gate else b"never"
        if passed and passed != self._read_at:
            self._read.clear()
            self._read_at = passed
            self.outdated += 1
        return bool(passed)

    def reading(self) -> AbstractContextManager[None]:
        """What was read is kept anyway until something is written."""
        return nullcontext()

    def ahead(self, *reads: Callable[[], object]) -> None:
        """Nothing: a query costs no trip."""

    @contextmanager
    def write(self, *, wait: bool = False) -> Iterator[Transaction]:
        """One transaction; any exception takes all of it back. After the commit the listeners are called.

        With ``wait`` its commit is shared with the writes after it: ``commit`` or the next other write makes it, or
        time. Where that fails, they are lost, and the next ``commit`` or write that may wait raises why.
        """
        with self._writing:
            if self._open:
                yield self._open
                return
            beside = wait and self._waiting is not None
            with self._beside_waiting() if wait else self._alone():
                self._connection.execute("SAVEPOINT waiting" if wait else "BEGIN IMMEDIATE")
                self._open = Transaction(self)
                try:
                    for check in self._checks:
                        check()
                    yield self._open
                    self._end_write(self._open.commit, wait=wait)
                except BaseException as fault:
                    self._take_back(fault if beside else None)
                    raise
                finally:
                    self._open = None
        self._announce()

    def _end_write(self, made: Commit, *, wait: bool) -> None:
        if wait and self._waiting:
            self._connection.execute("RELEASE waiting")
            self._waiting[0].removed += made.removed
            self._waiting[0].follows |= made.follows
            return
        self.digest_changes()
        self._connection.execute("COMMIT")
        self._done.append(made)

    def commit(self) -> None:
        """Commit the writes that wait for it. Raises StorageError where that fails, or has failed."""
        with self._writing:
            self._commit_waiting()
            self._raise_lost()
        self._announce()

    @contextmanager
    def _beside_waiting(self) -> Iterator[None]:
        """Inside the one transaction of all writes that wait; it begins with the first."""
        self._raise_lost()
        if self._waiting is None:
            with ExitStack() as gate:
                after = gate.enter_context(self._entered())
                with self._lock, as_ours(self.path):
                    self._read_at = after
                    self._connection.execute("BEGIN IMMEDIATE")
                timer = threading.Timer(COMMIT_WITHIN, self._commit_late)
                timer.daemon = True
                gate.callback(timer.cancel)
                self._waiting = Commit(), gate.pop_all()
                timer.start()
        with self._lock, as_ours(self.path):
            yield

    def _commit_waiting(self) -> None:
        """Commit what waits, and leave the gate; why that fails is raised later, to those whose writes are lost."""
        if self._waiting is None:
            return
        with self._lock:
            try:
                with as_ours(self.path):
                    self.digest_changes()
                    self._connection.execute("COMMIT")
                self._done.append(self._waiting[0])
            except BaseException as fault:
                self._note_lost(fault)
                self._connection.rollback()
                self._read.clear()
                if not isinstance(fault, errors.StorageError):
                    raise
            finally:
                gate, self._waiting = self._waiting[1], None
                gate.close()

    def _commit_late(self) -> None:
        with self._writing:
            self._commit_waiting()
        self._announce()

    def _take_back(self, fault: BaseException | None) -> None:
        """Undo the open write; of those that wait all stay, unless SQLite undid them too, as on a full disk: then the
        ``fault`` is raised again to who counts on them.
        """
        self._read.clear()
        if self._waiting and self._connection.in_transaction:
            self._connection.execute("ROLLBACK TO waiting")
            self._connection.execute("RELEASE waiting")
            return
        self._connection.rollback()
        if self._waiting:
            if fault:
                self._note_lost(fault)
            gate, self._waiting = self._waiting[1], None
            gate.close()

    def _note_lost(self, fault: BaseException) -> None:
        if not isinstance(fault, errors.StorageError):
            fault = errors.StorageError(path=str(self.path), reason=repr(fault))
        self._lost = fault

    def _raise_lost(self) -> None:
        fault, self._lost = self._lost, None
        if fault:
            raise fault

    def _announce(self) -> None:
        """Call the listeners for each commit that others follow."""
        done, self._done = self._done, []
        for one in done:
            for listener in self._listeners if one.follows else ():
                listener(one)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other program, and no other thread, writes meanwhile. Raises DataInUse where one does not end."""
        with self._writing:
            self._commit_waiting()
            with self._entered() as after, self._lock, as_ours(self.path):
                try:
                    yield
                finally:
                    self._read_at = after

    @contextmanager
    def _entered(self) -> Iterator[bytes]:
        """Inside the gate; what it has been passed by then. What was read before another program wrote is let go."""
        with self._gate.entered() if self._gate else nullcontext((b"", b"")) as (before, after):
            self.awaited = None
            with self._lock:
                if before != self._read_at:
                    self._read.clear()
                    self.outdated += 1
            yield after

    def _note_awaited(self, inside: dict[str, object]) -> None:
        self._log.warning("waiting for process %s (%s), which writes", inside["pid"], inside["kind"])
        self.awaited = inside

    def expect_memory(self, now: float) -> None:
        """Let rows of the open transaction refer to rows that come later in it."""
        self._connection.execute("PRAGMA defer_foreign_keys=ON")

    def digest_changes(self) -> None:
        """Make the digests of all that was written in the open transaction; its end does that too."""
        if not self._salted:
            self._read.clear()  # the salt is made below, past what drops results that were read
        digests.digest_changes(self._connection, salted=self._salted)
        self._salted = self._salted or bool(self._connection.execute(digests.SALT).fetchone())

    def on_begin(self, check: Callable[[], None]) -> None:
        """Call this as each write begins, in the thread that writes; what it raises takes the write back."""
        self._checks.append(check)

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Call this after each commit that others follow, outside of the lock, in the thread that committed."""
        self._listeners.append(listener)

    def execute(self, sql: str, values: Sequence[object]) -> list[Row]:
        """Run one statement that writes with its values; a list fills ``EACH``."""
        with self._lock, as_ours(self.path):
            self._read.drop(sql)
            return self._fetch_rows("write", sql, _as_passed(values))

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement with each of these rows of values."""
        passed = list(rows)
        if not passed:
            return
        with self._lock, as_ours(self.path):
            self._read.drop(sql)
            self._connection.executemany(sql, passed)
            for values in passed if self._log.isEnabledFor(logging.DEBUG) else ():
                self._log_statement("write", sql, values, [])

    def _fetch_rows(self, act: str, sql: str, passed: tuple[object, ...]) -> list[Row]:
        """Rows as they are; only where a text is no UTF-8, U+FFFD replaces what cannot be read."""
        try:
            rows = self._connection.execute(sql, passed).fetchall()
        except sqlite3.OperationalError as fault:
            if "decode to UTF-8" not in str(fault):
                raise
            with self._decoding_leniently():
                rows = self._connection.execute(sql, passed).fetchall()
        if self._log.isEnabledFor(logging.DEBUG):
            self._log_statement(act, sql, passed, rows)
        return rows

    @contextmanager
    def _decoding_leniently(self) -> Iterator[None]:
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            yield
        finally:
            self._connection.text_factory = str

    def _log_statement(self, act: str, sql: str, values: Sequence[object], rows: Sequence[Row]) -> None:
        found = "" if act == "write" else f"\n  -> {[_printable_values(row) for row in rows]}"
        self._log.debug("database %s\n  %s\n  %r%s", act, " ".join(sql.split()), _printable_values(values), found)

    # -- the file ------------------------------------------------------------------------------------------------

    def vacuum(self) -> None:
        """Rewrite the file so that nothing deleted is left in it."""
        with self._alone():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def find_traces(self, needles: Mapping[str, bytes]) -> tuple[int, list[tuple[str, str]]]:
        """None are searched: they are in one file."""
        return 0, []

    def problems(self) -> list[str]:
        """What SQLite's own examination finds; empty when all is well."""
        with self._alone():
            try:
                for table in ("message", "summary", "fact"):  # looks at the index of words and changes nothing
                    self._connection.execute(f"INSERT INTO {table}_words ({table}_words) VALUES ('integrity-check')")
                found = [row[0] for row in self._connection.execute("PRAGMA integrity_check")]
                broken = self._connection.execute("PRAGMA foreign_key_check").fetchall()
                dates = schema.bad_dates(self._connection)
            except sqlite3.Error as fault:
                return [str(fault)]
        keys = [f"foreign key: {tuple(row)}" for row in broken]
        return [*(line for line in found if line != "ok"), *keys, *(f"date: {column}" for column in dates)]

    def altered_rows(self) -> list[str]:
        """The rows whose texts are not those that were stored, as TABLE KEY."""
        with self._lock, as_ours(self.path), self._decoding_leniently():
            return list(digests.find_altered_rows(self._connection, schema.text_columns()))

    def close(self) -> None:
        """Commit what waits and close the connection; safe to call twice. Raises StorageError as ``commit`` does."""
        with self._writing:
            self._commit_waiting()
            with self._lock:
                self._connection.close()
                if self._gate:
                    self._gate.close()
            self._raise_lost()

    def _open_file(self, path: Path) -> sqlite3.Connection:
        """The connection to a file that is created where there is none."""
        born = not path.exists()
        if born:
            self._create_file()
        make_private(path)
        connection = self._open_connection(path)
        try:
            with as_ours(self.path):
                if not born:
                    schema.refuse_unknown(connection, self.path)
                _prepare_connection(connection)
                if not born:
                    schema.repair_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_connection(self, path: Path) -> sqlite3.Connection:
        with as_ours(self.path):
            connection = _connect(path)
            digests.register_functions(connection)
            return connection

    def _create_file(self) -> None:
        """A new database gets its name only when it is whole, so that an empty file is never one of ours.

        It is synced once, before that: until then no one counts on it.
        """
        born = self.path.with_name(f".{self.path.name}.new")
        born.unlink(missing_ok=True)
        make_private(born)
        with as_ours(self.path):
            written = schema.empty_database()
        write_file(born, written)
        put_in_place(born, self.path)


def _as_passed(values: Sequence[object]) -> tuple[object, ...]:
    return tuple(json.dumps(value) if isinstance(value, list) else value for value in values)


def _printable_values(values: Iterable[object]) -> tuple[object, ...]:
    """Values as a person can read them: of a vector only its size."""
    return tuple(f"<{len(value)} bytes>" if isinstance(value, bytes) else value for value in values)


#: Runs one statement inside a transaction and returns its rows.
Run = Callable[..., list[Row]]


class TwoConnections:
    """The database of one file, laid down from a script where it is new. Raises StorageError."""

    def __init__(self, path: Path, script: str) -> None:
        """``script`` is the name of a file beside this one; its statements do nothing where they were run before."""
        self.path = path
        self._writing, self._reading = threading.RLock(), threading.Lock()
        make_private_folder(path.parent)
        self._gate = Gate(path, lambda inside: None)
        with self._gate.entered(), as_ours(path):
            make_private(path)
            self._writer, self._reader = _connect(path), _connect(path)
            for connection in (self._writer, self._reader):
                _make_durable(connection)
            self._writer.executescript(Path(__file__).with_name(script).read_text(encoding="utf-8"))

    def run(self, sql: str, *values: object) -> list[Row]:
        """All rows of one query, as of the last commit."""
        with self._reading, as_ours(self.path):
            return self._reader.execute(sql, values).fetchall()

    @contextmanager
    def write(self) -> Iterator[Run]:
        """One transaction; any exception takes all of it back. A thread that waits here sees what came before it."""
        with self._writing, self._gate.entered(), as_ours(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield lambda sql, *values: self._writer.execute(sql, values).fetchall()
                self._writer.execute("COMMIT")
            except BaseException:
                self._writer.rollback()
                raise

    @contextmanager
    def turn_to_write(self) -> Iterator[None]:
        """Wait until no one else writes; what is written inside is written at once."""
        with self._writing:
            yield

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()
            self._gate.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    connection.row_factory = sqlite3.Row
    return connection


def _prepare_connection(connection: sqlite3.Connection) -> None:
    _make_durable(connection)
    connection.execute("PRAGMA cell_size_check=ON")
    connection.execute("PRAGMA foreign_keys=ON")
    # Else a row that another takes the place of goes without a trigger, and its digest stays.
    connection.execute("PRAGMA recursive_triggers=ON")


def _make_durable(connection: sqlite3.Connection) -> None:
    # No WAL: erased text would stay in its log. Another program that looks into it takes the log away under us.
    run = connection.execute
    run("PRAGMA journal_mode=TRUNCATE")
    run("PRAGMA synchronous=FULL")
    run("PRAGMA secure_delete=ON")
