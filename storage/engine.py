"""What repositories know of an engine: statements, transactions, the index of words; beside them the clock and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from domain.indexes import Postings, WordTable
from domain.patterns import pattern_of


@dataclass(frozen=True)
class Stamp:
    """The clock and the source of ids of one memory."""

    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    def now(self) -> str:
        """The moment as it is stored, to the second."""
        return self.clock().isoformat(timespec="seconds")

    def today(self) -> str:
        """The day, as ``2026-11-22``."""
        return self.clock().date().isoformat()

    def new_session_id(self) -> str:
        """An id for a session that starts now."""
        minute = self.clock().isoformat()[:16].replace("-", "").replace(":", "").replace("T", "-")
        return f"{minute}-{self.new_id()[-6:]}"


def instant(timestamp: str) -> float:
    """A timestamp as the number that it is ordered by: seconds since 1970."""
    return datetime.fromisoformat(timestamp).timestamp()


#: In place of a list that is passed as one value: ``WHERE text_id IN {EACH}``. An empty list finds nothing.
EACH = "(SELECT value FROM json_each(?))"


#: Reads a small value by its key; takes a number of new numbers by their name.
META = "SELECT value FROM meta WHERE key = ?"
NEXT = (
    "INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name)"
    " DO UPDATE SET value = counter.value + excluded.value RETURNING value"
)
#: So many results are remembered until the next write, none of more rows than this.
_MOST_READ, _MOST_ROWS = 256, 256
#: Views, and tables that triggers write; and ``read_once``, what is large and never asked for twice.
_NEVER_KEPT = {"node", "conversation_memories", "stored_message", "row_digest", "changed_row", "read_once"}
_NAME = pattern_of(r"\w+")
_WRITTEN = pattern_of(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
#: Tables whose rows take rows of other tables along.
CASCADING = {"session", "conversation", "chapter", "note", "fact", "line_evidence"}


#: What else than rows follows a change: vectors are made or dropped, the files of the personas are written.
Follows = Literal["vectors", "personas"]


@dataclass
class Commit:
    """What one transaction did that others follow: texts that left every index, and what is to be looked at."""

    removed: list[str] = field(default_factory=list)
    follows: set[Follows] = field(default_factory=set)


class Row(Protocol):
    """What a statement returns: values by their place or their name."""

    def __getitem__(self, key: int | str | slice, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def keys(self) -> list[str]:
        """The names of the values."""


class Database(Protocol):
    """One memory on its engine. A transaction belongs to a thread; everything raises StorageError."""

    @property
    def path(self) -> Path | str:
        """The file, or the address without its password."""

    @property
    def awaited(self) -> Mapping[str, object] | None:
        """Who writes, as soon as that takes long, with ``pid``, ``kind`` and ``seconds``; else None."""

    @property
    def outdated(self) -> int:
        """How often another program was seen to have written; negative where that is not known."""

    def run(self, sql: str, *values: object) -> list[Row]:
        """All rows of one query; of a transaction that is under way in this thread its writes are seen."""

    def reading(self) -> AbstractContextManager[None]:
        """What this thread asks for again inside, without writing, may be answered as the first time."""

    def ahead(self, *reads: Callable[[], object]) -> None:
        """Read together what each of these asks for, before that is asked for one by one; called inside ``reading``.

        Each may be called several times, or not at all where a query costs no trip; none writes.
        """

    def write(self, *, wait: bool = False) -> AbstractContextManager[Transaction]:
        """One transaction; any exception takes all of it back. After the commit the listeners are called.

        With ``wait`` its commit may be shared with the writes after it: ``commit`` makes it, the next other write, or
        time.
        """

    def commit(self) -> None:
        """Commit the writes that wait for it. Raises StorageError where that fails, or has failed."""

    def execute(self, sql: str, values: Sequence[object]) -> list[Row]:
        """Run one statement that writes with its values; a list fills ``EACH``."""

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement with each of these rows of values."""

    def expect_memory(self, now: float) -> None:
        """Let rows of the open transaction, which brings a whole memory, refer to rows that come later in it.

        Where several servers share memories, its commit also says that one is to look after this from ``now`` on.
        """

    def digest_changes(self) -> None:
        """Make the digests of all that was written in the open transaction; its end does that too."""

    def on_begin(self, check: Callable[[], None]) -> None:
        """Call this as each write begins, in the thread that writes; what it raises takes the write back."""

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Call this after each commit that others follow, in the thread that committed."""

    def vacuum(self) -> None:
        """Leave nothing of what was deleted, as far as the engine lets a memory do that."""

    def find_traces(self, needles: Mapping[str, bytes]) -> tuple[int, list[tuple[str, str]]]:
        """How many tables of this memory were searched in full, and each that has a needle, with the needle's name.

        None where the memory is a file, which is searched with the others.
        """

    def problems(self) -> list[str]:
        """What the engine's examination finds; empty when all is well."""

    def altered_rows(self) -> list[str]:
        """The rows whose texts are not those that were stored, as TABLE KEY."""

    def close(self) -> None:
        """Let go of it; safe to call twice."""


class Transaction:
    """One transaction that is under way; a write inside a write is part of the outer one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.commit = Commit()

    def do(self, sql: str, *values: object) -> None:
        """Run one statement whose rows no one needs."""
        self._database.execute(sql, values)

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement with each of these rows of values."""
        self._database.execute_many(sql, rows)

    def run(self, sql: str, *values: object) -> list[Row]:
        """Run one statement and return its rows (``RETURNING``)."""
        return self._database.execute(sql, values)

    def next(self, name: str, count: int = 1) -> int:
        """The first of ``count`` new numbers; one that was given is never given again, whatever becomes of its row."""
        return int(self.run(NEXT, name, count)[0][0]) - count + 1

    def removed(self, text_ids: Iterable[str]) -> None:
        """Note texts that no index may hold after the commit."""
        self.commit.removed += text_ids
        self.commit.follows.add("vectors")

    def follows(self, what: Follows) -> None:
        """Note what is to be looked at after the commit."""
        self.commit.follows.add(what)


def read_meta(database: Database, key: str) -> str | None:
    """A small value by its key."""
    rows = database.run(META, key)
    return str(rows[0]["value"]) if rows else None


def set_meta(database: Database, key: str, value: str | None) -> None:
    """Write a small value, or with None remove it."""
    with database.write() as tx:
        if value is None:
            tx.do("DELETE FROM meta WHERE key = ?", key)
            return
        again = "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        tx.do(f"INSERT INTO meta (key, value) VALUES (?, ?) {again}", key, value)


class ReadCache:
    """What was read from tables that were not written since: most of a turn asks the same again."""

    def __init__(self) -> None:
        #: The rows of each query, with the names in it.
        self._found: dict[tuple[str, tuple[object, ...]], tuple[list[Row], set[str]]] = {}

    def find(self, sql: str, values: tuple[object, ...]) -> list[Row] | None:
        """The rows of a query that was kept."""
        found = self._found.get((sql, values))
        return list(found[0]) if found else None

    def keep(self, sql: str, values: tuple[object, ...], rows: list[Row]) -> None:
        """Keep the rows of a query, unless they are many or of what is written in other ways."""
        names = set(_NAME.findall(sql))
        if len(rows) <= _MOST_ROWS and len(self._found) < _MOST_READ and not names & _NEVER_KEPT:
            self._found[sql, values] = rows, names

    def drop(self, sql: str) -> None:
        """Let go of what was read from the table that a statement writes; where others follow it, of everything."""
        written = _WRITTEN.match(sql)
        if written is None or (sql.startswith("DELETE") and written[1] in CASCADING):
            self._found.clear()
            return
        tables = {written[1], written[1].replace("_words", "_postings")}
        self._found = {asked: found for asked, found in self._found.items() if not tables & found[1]}

    def clear(self) -> None:
        """Let go of everything."""
        self._found.clear()


class WordIndex(Protocol):
    """Which rows hold which words; written in the transaction of the text that they were cut from.

    Guarantees: a row can be found as soon as its transaction is committed, and never after it was removed.
    """

    def add(self, tx: Transaction, table: WordTable, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Make new rows findable by these tokens.

        Tokens in ``MARKS`` are stored as bits beside the length, not as words: they are in too many rows.
        """

    def remove(self, tx: Transaction, table: WordTable, seqs: Sequence[int]) -> None:
        """Make rows unfindable."""

    def optimize(self, tx: Transaction) -> None:
        """Leave no removed token, as far as the engine keeps any."""

    def join_pieces(self, tx: Transaction) -> None:
        """Put together what commits left in pieces, as far as no one waits for it."""

    def rows(self, table: WordTable) -> int:
        """About how many rows a table has: the highest number in it, which costs nothing to know."""

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for one that no one used; a term in more than ``cap`` rows is left out."""
