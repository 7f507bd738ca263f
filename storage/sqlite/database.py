"""The door to SQLite, the only truth. SQL outside of ``storage/`` is a mistake.

Promises: a committed transaction survives a power cut (``synchronous=FULL``); a write is all or nothing
(``BEGIN IMMEDIATE``); deleted content is overwritten (``secure_delete``); a database that is damaged, newer or of
another shape is refused and left as it is. Every statement can be watched with its values on the injected logger.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from domain import errors
from domain.files import make_private, put_in_place, read_start, write_file
from storage.sqlite import digests, migrations, shape
from storage.sqlite.schema import WORD_TABLES

#: SQLite takes so many values in one statement at the least (SQLITE_MAX_VARIABLE_NUMBER before 3.32), and a few more.
_AT_ONCE = 900

#: Bytes of SQLite's own header (sqlite.org/fileformat2.html).
_HEADER = 100

_KINDS: dict[int, type[errors.StorageError]] = {
    sqlite3.SQLITE_FULL: errors.DiskFull,
    sqlite3.SQLITE_READONLY: errors.ReadOnly,
    sqlite3.SQLITE_CANTOPEN: errors.ReadOnly,
    sqlite3.SQLITE_PERM: errors.ReadOnly,
    sqlite3.SQLITE_CORRUPT: errors.Damaged,
    sqlite3.SQLITE_NOTADB: errors.Damaged,
    sqlite3.SQLITE_BUSY: errors.DataInUse,
}

Row = sqlite3.Row
Parameters = Sequence[Any]
#: Runs one statement inside a transaction.
Sql = Callable[..., sqlite3.Cursor]


@contextmanager
def as_ours(path: Path) -> Iterator[None]:
    """Raise SQLite's faults as the StorageError that says what they mean."""
    try:
        yield
    except sqlite3.Error as fault:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        raise _KINDS.get(code, errors.StorageError)(path=str(path), reason=str(fault)) from fault


class Database:
    """One connection, shared by the threads of one process under a lock.

    >>> with database.write() as sql:                       # one transaction
    ...     sql("INSERT INTO meta VALUES (?, ?)", ("k", "v"))
    >>> database.read("SELECT value FROM meta WHERE key = ?", ("k",))[0]["value"]
    """

    def __init__(self, path: Path | None, log: logging.Logger) -> None:
        """A file, made where there is none; without a path a database that is only in memory, and goes with it."""
        self.path = path or Path(":memory:")
        self._log = log
        self._lock = threading.RLock()
        if path is None:
            self._connection = self._connect(self.path)
            self._prepare()
            self._bring_up_to_date()
            return
        if born := not path.exists():
            self._create()
        self._refuse_cut()
        make_private(path)
        self._connection = self._connect(path)
        try:
            with as_ours(self.path):
                if born:  # it is what it was made: where many are served, many are made at once
                    self._prepare()
                else:
                    self._refuse_unusable()
                    self._prepare()
                    self._bring_up_to_date()
            self._refuse_cut()
        except BaseException:
            self._connection.close()
            raise

    def _create(self) -> None:
        """A new database gets its name only when it is whole, so that an empty file is never one of ours.

        It is synced once, before that: until then nobody counts on it.
        """
        born = self.path.with_name(f".{self.path.name}.new")
        born.unlink(missing_ok=True)
        make_private(born)
        with as_ours(self.path):
            written = newborn(migrations.STEPS)
        write_file(born, written)
        put_in_place(born, self.path)

    def _refuse_unusable(self) -> None:
        migrations.refuse_unknown(self._connection, self.path)
        shape.refuse_misshapen(self._connection, self.path)

    def _refuse_cut(self) -> None:
        """A file that is shorter than its own header says was cut; SQLite would notice only page by page."""
        header = read_start(self.path, _HEADER)
        pages, page = int.from_bytes(header[28:32], "big"), int.from_bytes(header[16:18], "big")
        whole = header.startswith(b"SQLite format 3\0") and len(header) == _HEADER
        if self._unfinished():
            return
        if not whole or self.path.stat().st_size < pages * (page if page > 1 else 65_536):
            raise errors.Damaged(path=str(self.path), reason="cut" if whole else "no database")

    def _unfinished(self) -> bool:
        """Whether a journal of an interrupted write lies beside: SQLite mends the file from it at the first read."""
        beside = (self.path.with_name(self.path.name + end) for end in ("-journal", "-wal"))
        return any(path.exists() and path.stat().st_size for path in beside)

    def _connect(self, path: Path) -> sqlite3.Connection:
        with as_ours(self.path):
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
            connection.row_factory = sqlite3.Row
            return connection

    def _prepare(self) -> None:
        run = self._connection.execute
        # No WAL: a process that closes any file of the database loses SQLite's locks on it, and ours does where it
        # searches files after an erasure. Another program that looks into it then takes the log away under us.
        run("PRAGMA journal_mode=TRUNCATE")
        run("PRAGMA synchronous=FULL")
        run("PRAGMA secure_delete=ON")
        run("PRAGMA cell_size_check=ON")
        run("PRAGMA foreign_keys=ON")
        # Else a row that another takes the place of goes without a trigger, and its digest stays.
        run("PRAGMA recursive_triggers=ON")

    def _bring_up_to_date(self) -> None:
        migrations.migrate(self._connection, self.path)
        shape.mend(self._connection)
        if self._texts and self._connection.execute("SELECT 1 FROM changed_row LIMIT 1").fetchone():
            with self.write():
                pass

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """All rows of one query."""
        with self._lock, as_ours(self.path):
            rows = self._rows(sql, parameters)
            self._trace("read", sql, parameters, rows)
            return rows

    def _rows(self, sql: str, parameters: Parameters) -> list[Row]:
        """Rows as they are; only where a text is no UTF-8, U+FFFD stands for what cannot be read."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.OperationalError as fault:
            if "decode to UTF-8" not in str(fault):
                raise
        self._connection.text_factory = _lenient
        try:
            return self._connection.execute(sql, parameters).fetchall()
        finally:
            self._connection.text_factory = str

    @contextmanager
    def write(self) -> Iterator[Sql]:
        """One transaction: yields a function ``sql(statement, parameters)``; any exception takes all of it back.

        A write inside a write joins the outer one.
        """
        with self._lock, as_ours(self.path):
            if self._connection.in_transaction:
                yield self._execute
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._execute
                self.digest_changes()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def digest_changes(self) -> None:
        """Make the digests of all that was written in the open transaction; its end does that too."""
        if self._texts:
            digests.remember_messages(self._connection, self._all)
            digests.digest_queued(self._connection, self._texts, self._all)

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """The columns of text that have digests; none before the step that lays down where those stand."""
        there = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'changed_row'").fetchone()
        return digests.text_columns(self._connection) if there else {}

    def _all(self, sql: str) -> list[Row]:
        return self._rows(sql, ())

    def _execute(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        cursor = self._connection.execute(sql, parameters)
        self._trace("write", sql, parameters, None)
        return cursor

    def vacuum(self) -> None:
        """Rewrite the file so that nothing deleted is left in it."""
        with self._lock, as_ours(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def problems(self) -> list[str]:
        """What SQLite's own examination finds; empty when all is well."""
        with self._lock:
            try:
                found = [row[0] for row in self._connection.execute("PRAGMA integrity_check")]
                broken = self._connection.execute("PRAGMA foreign_key_check").fetchall()
                for table in WORD_TABLES:  # looks at the index and changes nothing
                    self._connection.execute(
                        f"INSERT INTO {table}_words ({table}_words) VALUES ('integrity-check')"
                    )
            except sqlite3.Error as fault:
                return [str(fault)]
        return [line for line in found if line != "ok"] + [f"foreign key: {tuple(row)}" for row in broken]

    def differing(self) -> list[str]:
        """The rows whose texts are not those that were stored, as TABLE KEY."""
        with self._lock, as_ours(self.path):
            self._connection.text_factory = _lenient
            try:
                return list(digests.differing(self._connection))
            finally:
                self._connection.text_factory = str

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        with self._lock:
            self._connection.close()

    def _trace(self, act: str, sql: str, parameters: Parameters, rows: list[Row] | None) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            shown = "" if rows is None else f"\n  -> {[_shown(row) for row in rows]}"
            self._log.debug(
                "database %s\n  %s\n  %r%s", act, " ".join(sql.split()), _shown(parameters), shown
            )


@cache
def newborn(steps: Sequence[str]) -> bytes:
    """The file of a database that has taken these steps, the first ones of all, and holds nothing."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size=8192")
        migrations.migrate(connection, Path(), len(steps))
        shape.mend(connection)
        return connection.serialize()


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _shown(values: Row | Parameters) -> tuple[object, ...]:
    """Values as a person can read them: of a vector only its size."""
    return tuple(f"<{len(value)} bytes>" if isinstance(value, bytes) else value for value in values)


class Tables:
    """Some tables of one database; what is written inside a transaction of the caller belongs to that."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def in_one_commit(self) -> Iterator[None]:
        """All that is written inside is one transaction."""
        with self._database.write():
            yield

    def _read(self, query: str, *values: object) -> list[Row]:
        """All rows of one query."""
        return self._database.read(query, values)

    def _read_parts(self, query: str, values: Sequence[object], *first: object) -> list[Row]:
        """All rows of a query whose ``{}`` stands for a list of values of any length."""
        rows: list[Row] = []
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            rows += self._read(query.format(", ".join("?" * len(part))), *first, *part)
        return rows

    def _meta(self, key: str) -> str | None:
        """A small note by its key."""
        rows = self._read("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0]["value"]) if rows else None

    def _set_meta(self, key: str, value: str | None) -> None:
        """Write a small note, or with None remove it."""
        with self._database.write() as sql:
            if value is None:
                sql("DELETE FROM meta WHERE key = ?", (key,))
            else:
                sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
