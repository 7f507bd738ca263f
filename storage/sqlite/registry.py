"""Who is served: the persons known, the tokens that let programs in, and the system instructions there are.

A database of its own beside the memories, since it belongs to none of them. Promises: a token is stored as its digest
alone; what was revoked never lets anybody in again; an instruction that was deleted keeps its number.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.errors import UsageError
from domain.files import make_private, make_private_folder
from storage.owner import Owner
from storage.sqlite.database import Row, as_ours

#: Where the memories of all but the person at the terminal lie, and this database, below that person's folder.
PEOPLE, REGISTRY = "people", "registry.db"
#: The person at the terminal.
ME = "me"
#: In place of a person: a token for a program that speaks for everybody.
EVERYBODY = "*"

_TABLES = """
CREATE TABLE IF NOT EXISTS person(
  person TEXT PRIMARY KEY, created_at TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS token(
  digest TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, person TEXT NOT NULL,
  created_at TEXT NOT NULL, revoked_at TEXT) STRICT;
CREATE TABLE IF NOT EXISTS instruction(
  id INTEGER PRIMARY KEY AUTOINCREMENT, person TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS owed(
  person TEXT NOT NULL, instruction INTEGER NOT NULL, PRIMARY KEY(person, instruction)) STRICT;
CREATE TABLE IF NOT EXISTS listened(person TEXT PRIMARY KEY) STRICT;
CREATE TABLE IF NOT EXISTS erased_person(id INTEGER PRIMARY KEY, erased_at TEXT NOT NULL) STRICT;
"""
#: Runs one statement inside a transaction.
Sql = Callable[..., sqlite3.Cursor]
#: In place of the number of an instruction: the person's own companion.
_OWN = 0


def folder_of(data_dir: Path, person: str, instruction: int | None = None) -> Path:
    """Where a companion's memory lies."""
    if person == ME and instruction is None:
        return data_dir
    own = data_dir / PEOPLE / hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return own / ("own" if instruction is None else f"instruction-{instruction}")


def registry_in(data_dir: Path) -> Path:
    """Where it is written who is served."""
    return data_dir / REGISTRY


def of_others(folder: Path) -> list[Path]:
    """What lies in the folder of a memory and is no part of it."""
    return [folder / PEOPLE, *(folder / f"{REGISTRY}{end}" for end in ("", "-journal", "-wal", "-shm"))]


@dataclass(frozen=True)
class Token:
    """A token as it is known: never its secret. ``person`` is whom it speaks for, or EVERYBODY."""

    name: str
    person: str
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True)
class Instruction:
    """A system instruction of a person: with it the companion is one of its own."""

    number: int
    person: str
    title: str
    text: str
    created_at: str
    updated_at: str


class Registry:
    """The database of who is served. Raises StorageError.

    >>> secret = registry.add_token("phone", "me")
    >>> registry.token_of(secret).person
    'me'
    """

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.path = path
        #: Who reads waits for nobody who writes: every request reads, and a commit takes the disk its time.
        self._writing, self._reading = threading.RLock(), threading.Lock()
        #: Who waits to be written down.
        self._to_meet: deque[str] = deque()
        make_private_folder(path.parent)
        make_private(path)
        with as_ours(path):
            self._writer, self._reader = _connected(path), _connected(path)
            self._writer.executescript(_TABLES)

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()

    def served_alone(self) -> Owner:
        """What the one server of these people holds: a second one would find the memories held that the first has open.

        Raises DataInUse where it is held.
        """
        return Owner(self.path.parent / PEOPLE, self._clock)

    # -- persons -----------------------------------------------------------------------------------------------

    def meet(self, person: str) -> None:
        """Know this person from now on. Many who come at once are written down in one commit."""
        self._to_meet.append(person)
        with self._writing:
            # Whoever came before may have written down all who waited by then.
            if unknown := [one for one in {person, *self._all_to_meet()} if not self.knows(one)]:
                with self._write() as sql:
                    for one in unknown:
                        sql("INSERT OR IGNORE INTO person VALUES (?, ?)", (one, self._now()))

    def _all_to_meet(self) -> Iterator[str]:
        while self._to_meet:
            yield self._to_meet.popleft()

    def knows(self, person: str) -> bool:
        """Whether this person was ever served."""
        return bool(self._read("SELECT 1 FROM person WHERE person = ?", person))

    def persons(self) -> list[str]:
        """Everybody who was ever served, the first first."""
        return [row["person"] for row in self._read("SELECT person FROM person ORDER BY rowid")]

    def first_served(self) -> dict[str, str]:
        """When everybody was first served, the first first."""
        rows = self._read("SELECT person, created_at FROM person ORDER BY rowid")
        return {row["person"]: row["created_at"] for row in rows}

    def remove(self, person: str) -> None:
        """Know nothing of this person any more, nor let anybody in for them; that somebody was erased is recorded."""
        with self._write() as sql:
            for table in ("owed", "listened", "instruction", "token", "person"):
                sql(f"DELETE FROM {table} WHERE person = ?", (person,))
            sql("INSERT INTO erased_person(erased_at) VALUES (?)", (self._now(),))

    # -- sessions that end by themselves -------------------------------------------------------------------------

    def listen(self, person: str) -> None:
        """Note that this person has a session that will have to end."""
        with self._write() as sql:
            sql("INSERT OR IGNORE INTO listened VALUES (?)", (person,))

    def unlisten(self, person: str) -> None:
        """Note that nothing of this person is left to be ended."""
        with self._write() as sql:
            sql("DELETE FROM listened WHERE person = ?", (person,))

    def listened(self) -> list[str]:
        """Everybody whose session will have to end, or ended and is not done with."""
        return [row["person"] for row in self._read("SELECT person FROM listened ORDER BY rowid")]

    # -- tokens ------------------------------------------------------------------------------------------------

    def add_token(self, name: str, person: str) -> str:
        """A new token; its secret is told now and never again. Raises UsageError where the name is taken."""
        if self._read("SELECT 1 FROM token WHERE name = ?", name):
            raise UsageError("token.taken", name=name)
        secret = secrets.token_urlsafe(32)
        with self._write() as sql:
            sql("INSERT INTO token VALUES (?, ?, ?, ?, NULL)", (_digest(secret), name, person, self._now()))
        return secret

    def tokens(self) -> list[Token]:
        """All tokens, the oldest first."""
        return [_token(row) for row in self._read("SELECT * FROM token ORDER BY created_at, name")]

    def revoke(self, name: str) -> bool:
        """Let nobody in with this token any more; False when there is no such token in force."""
        with self._write() as sql:
            changed = sql(
                "UPDATE token SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", (self._now(), name)
            )
            return bool(changed.rowcount)

    def token_of(self, secret: str) -> Token | None:
        """The token in force that has this secret. It is looked up by its digest, so no comparison tells of it."""
        found = self._read("SELECT * FROM token WHERE digest = ? AND revoked_at IS NULL", _digest(secret))
        return _token(found[0]) if found else None

    # -- system instructions -------------------------------------------------------------------------------------

    def add_instruction(self, person: str, title: str, text: str) -> Instruction:
        """A new system instruction of this person."""
        now = self._now()
        with self._write() as sql:
            number = sql(
                "INSERT INTO instruction(person, title, text, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
                (person, title, text, now, now),
            ).lastrowid
        assert number is not None
        return Instruction(number, person, title, text, now, now)

    def instructions(self, person: str) -> list[Instruction]:
        """All of this person's, the oldest first."""
        return [
            _instruction(row)
            for row in self._read("SELECT * FROM instruction WHERE person = ? ORDER BY id", person)
        ]

    def instruction(self, person: str, number: int) -> Instruction | None:
        """One of this person's."""
        found = self._read("SELECT * FROM instruction WHERE person = ? AND id = ?", person, number)
        return _instruction(found[0]) if found else None

    def change_instruction(self, person: str, number: int, title: str, text: str) -> Instruction | None:
        """Put another title and text in its place; None when there is none of this number."""
        with self._write() as sql:
            sql(
                "UPDATE instruction SET title = ?, text = ?, updated_at = ? WHERE person = ? AND id = ?",
                (title, text, self._now(), person, number),
            )
        return self.instruction(person, number)

    # -- what is owed --------------------------------------------------------------------------------------------

    def owe(self, person: str, instruction: int | None) -> None:
        """Note that something durable is to be done in this companion's memory, which need not be open then."""
        with self._write() as sql:
            sql("INSERT OR IGNORE INTO owed VALUES (?, ?)", (person, instruction or _OWN))

    def owed(self) -> list[tuple[str, int | None]]:
        """The companions in whose memories something is to be done."""
        rows = self._read("SELECT person, instruction FROM owed ORDER BY rowid")
        return [(row["person"], row["instruction"] or None) for row in rows]

    def settle(self, person: str, instruction: int | None) -> None:
        """Nothing is owed to this companion any more."""
        with self._write() as sql:
            sql("DELETE FROM owed WHERE person = ? AND instruction = ?", (person, instruction or _OWN))

    # -- inside --------------------------------------------------------------------------------------------------

    def _read(self, query: str, *values: object) -> list[Row]:
        with self._reading, as_ours(self.path):
            return self._reader.execute(query, values).fetchall()

    @contextmanager
    def _write(self) -> Iterator[Sql]:
        with self._writing, as_ours(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer.execute
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode=TRUNCATE")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=ON")
    return connection


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: Row) -> Token:
    return Token(row["name"], row["person"], row["created_at"], row["revoked_at"])


def _instruction(row: Row) -> Instruction:
    return Instruction(*(row[name] for name in ("id", "person", "title", "text", "created_at", "updated_at")))
