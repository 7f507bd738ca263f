"""Who is served: the persons known, the tokens that let programs in, the system instructions, how much is used.

A database of its own beside the memories, since it belongs to none of them. Promises: a token is stored as its digest
alone; what was revoked never lets anybody in again; an instruction that was deleted keeps its number. ``Usage`` is how
much each caller uses: one server of a folder counts in its memory, servers that share a database count there together.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from domain.errors import UsageError
from domain.file_reader import DATABASE
from domain.receipts import ErasureReceipt
from domain.records import ME
from storage.engine import Row
from storage.programs import FolderLock
from storage.repositories import OnServer, connect
from storage.sqlite.database import TwoConnections

if TYPE_CHECKING:
    from storage.postgres.database import ServedRegistry

#: Where the memories of all but the person at the terminal lie, and this database, below that person's folder.
PEOPLE, REGISTRY = "people", "registry.db"

_ADD_PERSON = "INSERT INTO person (person, created_at) VALUES (?, ?) ON CONFLICT (person) DO NOTHING"
_TOKEN = "SELECT name, person, created_at, revoked_at FROM token"
_INSTRUCTION = "SELECT id, person, title, text, created_at, updated_at FROM instruction"
#: In place of the number of an instruction: the person's own companion.
_OWN = 0
_MINUTE = 60.0


def folder_of(data_dir: Path, person: str, instruction: int | None = None) -> Path:
    """Where a companion's memory lies."""
    if person == ME and instruction is None:
        return data_dir
    own = data_dir / PEOPLE / hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return own / ("own" if instruction is None else f"instruction-{instruction}")


def own_place(data_dir: Path, url: str, person: str = ME) -> Path | OnServer:
    """The memory of the person at the terminal, in the folder or as ``person`` in the database at ``url``."""
    return OnServer(data_dir, connect(url), _name_of(person, None), alone=True) if url else data_dir


def has_memory(place: Path | OnServer) -> bool:
    """Whether there is a memory in a place."""
    if isinstance(place, OnServer):
        return place.server.number_of(place.person, add=False) is not None
    return (place / DATABASE).exists()


def registry_in(data_dir: Path) -> Path:
    """Where it is written who is served."""
    return data_dir / REGISTRY


def files_of_others(folder: Path) -> list[Path]:
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


class Usage(Protocol):
    """Counts. Safe to use from several threads. Raises StorageError."""

    def let_in(self, caller: str, most: int) -> float:
        """Count a request. The seconds until one is let in where ``most`` came in the last minute; else 0."""

    def begin(self, who: str, most: int) -> bool:
        """Count a request that is under way; False, and nothing, where ``most`` are."""

    def end(self, who: str) -> None:
        """Count it no longer."""

    def spend(self, caller: str, day: str, tokens: int) -> None:
        """Count tokens of a day."""

    def spent(self, caller: str, day: str) -> int:
        """The tokens of this day."""


class ProcessUsage:
    """The usage of what one process serves."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._arrivals: defaultdict[str, deque[float]] = defaultdict(deque)
        self._under_way: Counter[str] = Counter()
        self._tokens: dict[str, tuple[str, int]] = {}

    def let_in(self, caller: str, most: int) -> float:
        """See ``Usage``."""
        with self._lock:
            arrivals, now = self._arrivals[caller], time.monotonic()
            while arrivals and now - arrivals[0] >= _MINUTE:
                arrivals.popleft()
            if len(arrivals) >= most:
                return arrivals[0] + _MINUTE - now
            arrivals.append(now)
            return 0.0

    def begin(self, who: str, most: int) -> bool:
        """See ``Usage``."""
        with self._lock:
            if self._under_way[who] >= most:
                return False
            self._under_way[who] += 1
            return True

    def end(self, who: str) -> None:
        """See ``Usage``."""
        with self._lock:
            self._under_way -= Counter([who])  # drops what is no longer under way

    def spend(self, caller: str, day: str, tokens: int) -> None:
        """See ``Usage``."""
        with self._lock:
            self._tokens[caller] = day, self._of_day(caller, day) + tokens

    def spent(self, caller: str, day: str) -> int:
        """See ``Usage``."""
        with self._lock:
            return self._of_day(caller, day)

    def _of_day(self, caller: str, day: str) -> int:
        counted, tokens = self._tokens.get(caller, (day, 0))
        return tokens if counted == day else 0


class Registry:
    """The database of who is served. Raises StorageError.

    >>> secret = registry.add_token("phone", "me")
    >>> registry.token_of(secret).person
    'me'
    """

    def __init__(self, path: Path, clock: Callable[[], datetime], url: str = "") -> None:
        """``url`` is that of a database server, in place of the file; several processes may serve from it."""
        self.clock = clock
        self.path = path
        self.server = connect(url) if url else None
        self.usage: Usage
        self._database: ServedRegistry | TwoConnections
        if self.server:
            from storage.postgres.database import ServedRegistry, ServedUsage

            self.usage, self._database = ServedUsage(self.server), ServedRegistry(self.server)
        else:
            self.usage, self._database = ProcessUsage(), TwoConnections(path, "registry.sql")
        #: Who waits to be written down.
        self._to_meet: deque[str] = deque()

    @property
    def address(self) -> str:
        """Where it is: the folder, or the address of the database without its password."""
        return self.server.address if self.server else str(self.path.parent)

    def place_of(self, person: str, instruction: int | None = None) -> Path | OnServer:
        """A companion's memory: its folder, or where it is in the database."""
        folder = folder_of(self.path.parent, person, instruction)
        return OnServer(folder, self.server, _name_of(person, instruction)) if self.server else folder

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self._database.close()
        if self.server:
            self.server.close()

    def served_alone(self) -> FolderLock:
        """The lock of the one server of these people: a second one would find memories in use by the first.

        Raises DataInUse where another has it.
        """
        return FolderLock(self.path.parent / PEOPLE, self.clock)

    # -- persons -----------------------------------------------------------------------------------------------

    def add_person(self, person: str) -> None:
        """Know this person from now on. Many who come at once are written down in one commit."""
        self._to_meet.append(person)
        with self._database.turn_to_write():
            # Whoever came before may have written down all who waited by then.
            waiting = {person, *(self._to_meet.popleft() for _ in range(len(self._to_meet)))}
            unknown = [one for one in waiting if not self.has_person(one)]
            if not unknown:
                return
            with self._database.write() as run:
                for one in unknown:
                    # Another program may have written the same person down since.
                    run(_ADD_PERSON, one, self._timestamp())

    def has_person(self, person: str) -> bool:
        """Whether this person was ever served."""
        return bool(self._database.run("SELECT 1 FROM person WHERE person = ?", person))

    def persons(self) -> list[str]:
        """Everybody who was ever served, the first first."""
        return list(self.first_served())

    def first_served(self) -> dict[str, str]:
        """When everybody was first served, the first first."""
        rows = self._database.run("SELECT person, created_at FROM person ORDER BY number")
        return {row["person"]: row["created_at"] for row in rows}

    def remove_person(self, person: str, receipts: Sequence[ErasureReceipt] = ()) -> None:
        """Know nothing of this person any more, nor let anybody in for them.

        That somebody was erased is recorded, with the sums of the ``receipts`` of their memories.
        """
        counted = ("messages", "sessions", "files", "searched", "traces")
        sums = [sum(getattr(one, name) for one in receipts) for name in counted]
        with self._database.write() as run:
            marks = () if self.server else ("owed", "listened")
            if self.server:
                run("DELETE FROM usage WHERE caller IN (SELECT name FROM token WHERE person = ?)", person)
            for table in (*marks, "instruction", "token", "person"):
                run(f"DELETE FROM {table} WHERE person = ?", person)
            columns = f"(erased_at, {', '.join(counted)}) VALUES (?, ?, ?, ?, ?, ?)"
            run(f"INSERT INTO erased_person {columns}", self._timestamp(), *sums)

    # -- sessions that end by themselves -------------------------------------------------------------------------

    def mark_open(self, person: str) -> None:
        """Note that this person has a session that will have to end."""
        self._mark("INSERT INTO listened (person) VALUES (?) ON CONFLICT (person) DO NOTHING", person)

    def unmark_open(self, person: str) -> None:
        """Note that nothing of this person is left to be ended."""
        self._mark("DELETE FROM listened WHERE person = ?", person)

    def open_persons(self) -> list[str]:
        """Everybody whose session will have to end, or ended and is not done with."""
        return [row["person"] for row in self._marked("SELECT person FROM listened ORDER BY number")]

    # -- tokens ------------------------------------------------------------------------------------------------

    def add_token(self, name: str, person: str) -> str:
        """A new token; its secret is returned once. Raises UsageError where the name is taken."""
        if self._database.run("SELECT 1 FROM token WHERE name = ?", name):
            raise UsageError("token.taken", name=name)
        secret = secrets.token_urlsafe(32)
        with self._database.write() as run:
            new = "INSERT INTO token (digest, name, person, created_at) VALUES (?, ?, ?, ?)"
            run(new, _digest_of(secret), name, person, self._timestamp())
        return secret

    def tokens(self) -> list[Token]:
        """All tokens, the oldest first."""
        return [Token(*row) for row in self._database.run(f"{_TOKEN} ORDER BY created_at, name")]

    def revoke(self, name: str) -> bool:
        """Refuse this token from now on; False when there is no such token in force."""
        with self._database.write() as run:
            revoked = "UPDATE token SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL RETURNING name"
            return bool(run(revoked, self._timestamp(), name))

    def token_of(self, secret: str) -> Token | None:
        """The token in force that has this secret. It is looked up by its digest, so no comparison tells of it."""
        found = self._database.run(f"{_TOKEN} WHERE digest = ? AND revoked_at IS NULL", _digest_of(secret))
        return Token(*found[0]) if found else None

    # -- system instructions -------------------------------------------------------------------------------------

    def add_instruction(self, person: str, title: str, text: str) -> Instruction:
        """A new system instruction of this person."""
        now = self._timestamp()
        return self._insert_instruction(person, title, text, now, now)

    def bring_instruction(self, person: str, one: Instruction, besides: Collection[int] = ()) -> int:
        """The number of one that comes from another registry: a new one, unless it was brought along before.

        ``besides`` are the numbers of the other instructions that came, which may say the same.
        """
        what = (one.title, one.text, one.created_at, one.updated_at)
        same = f"{_INSTRUCTION} WHERE (person, title, text, created_at, updated_at) = (?, ?, ?, ?, ?)"
        known = [int(row["id"]) for row in self._database.run(f"{same} ORDER BY id", person, *what)]
        left = [number for number in known if number not in besides]
        return left[0] if left else self._insert_instruction(person, *what).number

    def _insert_instruction(self, *values: str) -> Instruction:
        with self._database.write() as run:
            columns = "(person, title, text, created_at, updated_at) VALUES (?, ?, ?, ?, ?) RETURNING id"
            ((number,),) = run(f"INSERT INTO instruction {columns}", *values)
        return Instruction(number, *values)

    def instructions(self, person: str) -> list[Instruction]:
        """All of this person's, the oldest first."""
        rows = self._database.run(f"{_INSTRUCTION} WHERE person = ? ORDER BY id", person)
        return [Instruction(*row) for row in rows]

    def instruction(self, person: str, number: int) -> Instruction | None:
        """One of this person's."""
        found = self._database.run(f"{_INSTRUCTION} WHERE person = ? AND id = ?", person, number)
        return Instruction(*found[0]) if found else None

    def change_instruction(self, person: str, number: int, title: str, text: str) -> Instruction | None:
        """Put another title and text in its place; None when there is none of this number."""
        with self._database.write() as run:
            changed = "UPDATE instruction SET title = ?, text = ?, updated_at = ? WHERE person = ? AND id = ?"
            run(changed, title, text, self._timestamp(), person, number)
        return self.instruction(person, number)

    # -- what is owed --------------------------------------------------------------------------------------------

    def mark_due(self, person: str, instruction: int | None) -> None:
        """Note that something durable is to be done in this companion's memory, which need not be open then."""
        again = "ON CONFLICT (person, instruction) DO NOTHING"
        self._mark(f"INSERT INTO owed (person, instruction) VALUES (?, ?) {again}", person, instruction or _OWN)

    def due_companions(self) -> list[tuple[str, int | None]]:
        """The companions in whose memories something is to be done."""
        rows = self._marked("SELECT person, instruction FROM owed ORDER BY number")
        return [(row["person"], row["instruction"] or None) for row in rows]

    def unmark_due(self, person: str, instruction: int | None) -> None:
        """Nothing is owed to this companion any more."""
        self._mark("DELETE FROM owed WHERE person = ? AND instruction = ?", person, instruction or _OWN)

    def take_due(self, most: int) -> list[tuple[str, int | None]]:
        """Companions that are due and that no living server has open; this one looks after them from now on.

        Only in a database that several servers share; in a folder the one server knows who is due.
        """
        found = self.server.take_due(self.clock().timestamp(), most) if self.server else []
        return [(person, instruction) for person, instruction in map(json.loads, found)]

    def _mark(self, sql: str, *values: object) -> None:
        """Write a mark. None is needed in a database of many: whoever has a memory open is noted there."""
        if not self.server:
            with self._database.write() as run:
                run(sql, *values)

    def _marked(self, sql: str) -> list[Row]:
        return [] if self.server else self._database.run(sql)

    def _timestamp(self) -> str:
        return self.clock().isoformat(timespec="seconds")


def _name_of(person: str, instruction: int | None) -> str:
    """The name of a memory in a database of many: each id has its own, whatever it is made of."""
    return json.dumps([person, instruction])


def _digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
