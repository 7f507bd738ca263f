"""Whether a database is shaped as ours, and holds what can be read: looked at before anything is written.

    tables, columns and rules as the steps lay them down? -> values of the right kind, dates that are dates?

A file may come out of a backup, out of another tool, or from somebody's hand. Promises: one that would fail later is
refused at once, by the name of its table and column, and left as it is. Mended is only what loses nothing: an index
or a view that is missing or strange is made anew, and a vector that is none goes, since it is made again from its text.

A database that is word for word as all steps lay it down is known by a digest, since to take the steps in memory takes
longer than all else at a start. What is looked for in large tables has an index that holds only rows that cannot be
read, so that looking costs nothing however much is remembered.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from domain import errors
from domain.text import pattern_of
from storage.sqlite import digests, migrations

#: Tables that grow with what is remembered; the others are read through at each start.
_LARGE = (
    "session", "conversation", "summary", "embedding", "pending", "persona", "fact", "note", "relation", "fact_event",
    "read_window", "line_evidence", "held_round", "note_vector", "chapter", "visit", "imported_session",
    "imported_message", "stored_message", "row_digest", "changed_row",
)  # fmt: skip
#: What is drawn from texts and made anew from them: rows that cannot be read go.
_DRAWN = ("embedding", "pending")
#: Large, drawn from texts, and read by the program in a way that takes any value: examined in a backup only.
_NUMBERS = ("fact_turn", "note_turn", "line_turn", "turn_length", "summary_length", "fact_length")

#: The digest of all scripts once every step is taken and every index stands; a test says what it has to be.
AS_LAID_DOWN = "c031571f9ad15386136d4d4aeb7d54c7de5f509a78ffc179a0d2302766aab2b2"

_CHECK = pattern_of(r"CHECK \((?:[^()]|\([^()]*\))*\)")
_KINDS = {"TEXT": "text", "INTEGER": "integer", "BLOB": "blob"}
_TO_THE_SECOND = "[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
_OFFSET = "[+-][01][0-9]:[0-5][0-9]"
#: What may follow the seconds of a date.
_ENDS = [
    fraction + offset
    for fraction in ("", "." + 3 * "[0-9]", "." + 6 * "[0-9]")
    for offset in (_OFFSET, "Z", f"{_OFFSET}:[0-5][0-9]")
]


class _Column(NamedTuple):
    name: str
    type: str
    not_null: int
    key: int
    default: str | None


@dataclass(frozen=True)
class _Table:
    """How a table stands in a database. ``script`` is set for one that a module of SQLite keeps."""

    name: str
    columns: tuple[_Column, ...]
    unique: frozenset[tuple[str, ...]]
    checks: frozenset[str]
    script: str = ""

    @property
    def is_ordinary(self) -> bool:
        """Whether the program itself writes its rows."""
        return not self.script and "_words_" not in self.name


class _Shape(NamedTuple):
    """What steps lay down, each under its name; of indexes and views their scripts. ``scripts``: of all but indexes."""

    tables: dict[str, _Table]
    indexes: dict[str, str]
    views: dict[str, str]
    scripts: frozenset[tuple[str, str, str]]


def refuse_misshapen(connection: sqlite3.Connection, path: Path, *, whole: bool = False) -> None:
    """Refuse a database that is not shaped as its steps lay it down, or holds what cannot be read.

    ``whole``: every row of every table is looked at, whatever its indexes say. Raises Damaged; nothing is written.
    """
    version = migrations.version_of(connection)
    if not version:
        return
    shape = _wanted(connection, version)
    wanted = shape.tables
    if _scripts(connection) != shape.scripts:  # table by table only where it is not the same word for word
        _refuse_other_shape(connection, shape, path)
    for table in wanted.values():
        if table.is_ordinary and table.name not in _DRAWN and (whole or table.name not in _NUMBERS):
            _refuse_unreadable(connection, table, path, whole=whole)


def _refuse_other_shape(connection: sqlite3.Connection, shape: _Shape, path: Path) -> None:
    found = _tables(connection)
    for table in shape.tables.values():
        if lacking := _lacking(table, found.get(table.name)):
            raise errors.Damaged("storage.misshapen", path=str(path), what=lacking)
    for name in shape.views.keys() & found.keys():
        raise errors.Damaged("storage.misshapen", path=str(path), what=name)
    for added in _never_made(connection, shape.tables.values()):
        raise errors.Damaged("storage.added", path=str(path), what=added)


def mend(connection: sqlite3.Connection) -> None:
    """Make missing and strange indexes and views anew, and let go of vectors that are none."""
    shape = _wanted(connection, migrations.version_of(connection))
    tables, indexes = shape.tables, shape.indexes
    _mend_views(connection, shape.views)
    _mend_triggers(connection, tables)
    found = _indexes(connection, tables)
    wanted = indexes | {migrations.GUARD + name: _guard(tables[name]) for name in _LARGE if name in tables}
    changed = [name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)]
    unsound = [
        name for name in _DRAWN if name in tables and _first_unsound(connection, tables[name], changed)
    ]
    if not changed and not unsound:
        return
    with _one_commit(connection):
        for name in changed:
            connection.execute(f'DROP INDEX IF EXISTS "{name.replace(chr(34), chr(34) * 2)}"')
        for name in unsound:
            connection.execute(f"DELETE FROM {name} WHERE {_unsound(tables[name])}")
        for name in changed:
            if name in wanted:
                connection.execute(wanted[name])


def _mend_views(connection: sqlite3.Connection, wanted: dict[str, str]) -> None:
    found = _views(connection)
    changed = [name for name, script in wanted.items() if found.get(name) != script]
    if not changed:
        return
    with _one_commit(connection):
        for name in changed:
            connection.execute(f"DROP VIEW IF EXISTS {name}")
            connection.execute(wanted[name])


def _mend_triggers(connection: sqlite3.Connection, tables: dict[str, _Table]) -> None:
    """Make the triggers that queue rows for their digests."""
    columns = {
        table.name: sorted(column.name for column in table.columns if column.type == "TEXT")
        for table in tables.values()
    }
    found = _triggers(connection)
    wanted = digests.triggers(columns) if "changed_row" in tables else {}
    changed = [name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)]
    if not changed:
        return
    with _one_commit(connection):
        for name in changed:
            connection.execute(f'DROP TRIGGER IF EXISTS "{name.replace(chr(34), chr(34) * 2)}"')
            if name in wanted:
                connection.execute(wanted[name])


class _one_commit:
    """One transaction, or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, fault: object, trace: object) -> None:
        self._connection.execute("ROLLBACK" if fault else "COMMIT")


# -- shape -------------------------------------------------------------------------------------------------------


def _wanted(connection: sqlite3.Connection, version: int) -> _Shape:
    """How a database that has taken so many steps is to be shaped."""
    if version == len(migrations.STEPS) and digest_of(connection) == AS_LAID_DOWN:
        return _right_shape(connection)
    return _laid_down(migrations.STEPS[:version])


def digest_of(connection: sqlite3.Connection) -> str:
    """What tells whether two databases have the same scripts, word for word."""
    every = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    return hashlib.sha256(repr([tuple(row) for row in connection.execute(every)]).encode()).hexdigest()


@cache
def _laid_down(steps: tuple[str, ...]) -> _Shape:
    """The shape of a database that has just taken these steps."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for step in steps:
            for statement in migrations.statements(step):
                fresh.execute(statement)
        tables = _tables(fresh)
        return _Shape(tables, _indexes(fresh, tables), _views(fresh), _scripts(fresh))


def _right_shape(connection: sqlite3.Connection) -> _Shape:
    """The shape of a database whose scripts are right: of its tables only what is needed to look at their rows."""
    columns = defaultdict[str, list[_Column]](list)
    every = (
        'SELECT m.name, x.name, x.type, x."notnull", x.pk, x.dflt_value'
        " FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x"
        " WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    for table, *column in connection.execute(every):
        columns[table].append(_Column(*column))
    scripts = _scripts(connection)
    tables = {
        name: _Table(name, tuple(columns[name]), frozenset(), frozenset(), _virtual(script))
        for kind, name, script in scripts
        if kind == "table" and not name.startswith("sqlite_")
    }
    return _Shape(tables, _indexes(connection, tables), _views(connection), scripts)


def _scripts(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    query = "SELECT type, name, sql FROM sqlite_master WHERE type <> 'index'"
    rows = connection.execute(f"{query} AND NOT (type = 'trigger' AND name GLOB ?)", (f"{digests.TRIGGER}*",))
    return frozenset((str(kind), str(name), str(script)) for kind, name, script in rows)


def _tables(connection: sqlite3.Connection) -> dict[str, _Table]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        str(name): _table(connection, str(name), _plain(script))
        for name, script in rows
        if not str(name).startswith("sqlite_")
    }


def _table(connection: sqlite3.Connection, name: str, script: str) -> _Table:
    if made := _virtual(script):
        return _Table(name, (), frozenset(), frozenset(), made)
    columns = connection.execute(
        'SELECT name, type, "notnull", pk, dflt_value FROM pragma_table_xinfo(?)', (name,)
    )
    return _Table(
        name,
        tuple(_Column(*row) for row in columns.fetchall()),
        frozenset(_unique(connection, name)),
        frozenset(_CHECK.findall(script)),
    )


def _virtual(script: str) -> str:
    """The script of a table that a module of SQLite keeps; "" of any other."""
    return script if script.upper().startswith("CREATE VIRTUAL") else ""


def _unique(connection: sqlite3.Connection, table: str) -> Iterator[tuple[str, ...]]:
    """The columns of each rule of a table that no two rows may be alike."""
    made = "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND origin <> 'c'"
    for (index,) in connection.execute(made, (table,)).fetchall():
        yield tuple(row[0] for row in connection.execute("SELECT name FROM pragma_index_info(?)", (index,)))


def _lacking(wanted: _Table, found: _Table | None) -> str:
    """What a table lacks, as TABLE or TABLE.COLUMN; "" when nothing. A column too many does no harm."""
    if found is None or found.script != wanted.script:
        return wanted.name
    for column in wanted.columns:
        if column not in found.columns:
            return f"{wanted.name}.{column.name}"
    if not (wanted.unique <= found.unique and wanted.checks <= found.checks):
        return wanted.name
    return ""


def _never_made(connection: sqlite3.Connection, tables: Iterable[_Table]) -> Iterator[str]:
    """What acts by itself (triggers that are not ours), and columns that must be filled and that nobody here fills."""
    for name in _triggers(connection):
        if not name.startswith(digests.TRIGGER):
            yield name
    must = 'SELECT name FROM pragma_table_xinfo(?) WHERE "notnull" AND dflt_value IS NULL'
    for table in (table for table in tables if not table.script):
        known = {column.name for column in table.columns}
        for (name,) in connection.execute(must, (table.name,)).fetchall():
            if name not in known:
                yield f"{table.name}.{name}"


def _indexes(connection: sqlite3.Connection, tables: Iterable[str]) -> dict[str, str]:
    """The indexes of these tables that somebody made by name, with their scripts."""
    rows = connection.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
    ours = set(tables)
    return {str(name): _plain(script) for name, table, script in rows if script and table in ours}


def _views(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'").fetchall()
    return {str(name): _plain(script) for name, script in rows}


def _triggers(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    return {str(name): _plain(script) for name, script in rows}


def _plain(script: object) -> str:
    return " ".join(str(script).split())


# -- values ------------------------------------------------------------------------------------------------------


def _guard(table: _Table) -> str:
    """The script of the index that holds the rows of a table that cannot be read: none."""
    first = table.columns[0].name
    return f"CREATE INDEX {migrations.GUARD}{table.name} ON {table.name} ({first}) WHERE {_unsound(table)}"


def _refuse_unreadable(connection: sqlite3.Connection, table: _Table, path: Path, *, whole: bool) -> None:
    past = () if not whole else (migrations.GUARD + table.name,)
    if not _first_unsound(connection, table, past):
        return
    for column in table.columns:
        wrong = _wrong(column)
        if wrong and connection.execute(f"SELECT 1 FROM {table.name} WHERE {wrong} LIMIT 1").fetchone():
            raise errors.Damaged("storage.unreadable", path=str(path), what=f"{table.name}.{column.name}")


def _first_unsound(connection: sqlite3.Connection, table: _Table, distrusted: Iterable[str]) -> bool:
    """Whether a table holds a row that cannot be read: by its guard where there is a right one, else row by row."""
    if not (unsound := _unsound(table)):
        return False
    name = migrations.GUARD + table.name
    made = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?", (name,))
    script = made.fetchone()
    guarded = script is not None and _plain(script[0]) == _guard(table) and name not in distrusted
    how = f"INDEXED BY {name}" if guarded else "NOT INDEXED"
    return bool(connection.execute(f"SELECT 1 FROM {table.name} {how} WHERE {unsound} LIMIT 1").fetchone())


@cache
def _unsound(table: _Table) -> str:
    """The condition that holds for a row that cannot be read; "" when every row can."""
    wrong = [wrong for column in table.columns if (wrong := _wrong(column))]
    if table.name == "embedding":
        wrong.append("length(vector) <> 2 * dimension")
    return " OR ".join(wrong)


def _wrong(column: _Column) -> str:
    """The condition that holds for a value of a column that cannot be read."""
    kind = _KINDS.get(column.type)
    if kind is None or (kind == "integer" and column.key):
        return ""
    name = column.name
    wrong = f"typeof({name}) <> '{kind}'"
    if name.endswith("timestamp") or name == "stored_at":
        unset = f"{name} = ''" if column.default == "''" else "0"
        wrong += f" OR NOT ({unset} OR {_is_date(name)})"
    return f"({wrong})" if column.not_null else f"({name} IS NOT NULL AND ({wrong}))"


def _is_date(name: str) -> str:
    """The condition that holds for a date of the form that is written, with an offset, that stands in the calendar.

    Any year from 1 to 9999 will do: a clock may be wrong, and what was said under it is there. The calendar is asked
    only of what has the form, since SQLite takes "now" for a date too; without a step of no days it would give back a
    31st of February as it is.
    """
    end = " OR ".join(f"substr({name}, 20) GLOB '{end}'" for end in _ENDS)
    calendar = f"datetime(substr({name}, 1, 19), '+0 days') IS replace(substr({name}, 1, 19), 'T', ' ')"
    year = f"{name} NOT GLOB '0000*'"
    return f"(CASE WHEN {name} GLOB '{_TO_THE_SECOND}*' AND {year} AND ({end}) THEN {calendar} ELSE 0 END)"
