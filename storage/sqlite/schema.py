"""The schema of SQLite: laid down once, from ``schema.sql``, and compared word for word at each opening.

Guarantees: a database of a newer program, of another program, whose tables somebody changed, or into which another
program wrote a date that is none, is refused before anything is written; indexes and views hold nothing of their own,
so one that is missing or different is made again.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from domain import errors
from domain.patterns import pattern_of
from storage.sqlite import digests

#: "OFRD" in SQLite's application_id: tells our database from anybody else's.
APPLICATION_ID = 0x4F465244
#: The number of this schema; a database of a higher one is of a newer program.
VERSION = 1
#: What holds nothing of its own.
_DERIVED = ("index", "view", "trigger")
_TO_THE_SECOND = "[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
_OFFSET = "[+-][01][0-9]:[0-5][0-9]"
#: What may follow the seconds of a date.
_ENDS = [
    fraction + offset
    for fraction in ("", "." + 3 * "[0-9]", "." + 6 * "[0-9]")
    for offset in (_OFFSET, "Z", f"{_OFFSET}:[0-5][0-9]")
]
_TEXT_COLUMN = pattern_of(r"^    (\w+) TEXT", re.MULTILINE)

Scripts = dict[tuple[str, str], str]


@cache
def schema_statements() -> tuple[str, ...]:
    """The statements of ``schema.sql``, one by one."""
    found, pending = list[str](), ""
    for line in Path(__file__).with_name("schema.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("--") or not line.strip():
            continue
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    return tuple(found)


@cache
def text_columns() -> dict[str, list[str]]:
    """The columns of text of each table whose texts have digests."""
    tables = {one.split(maxsplit=3)[2]: one for one in schema_statements() if one.startswith("CREATE TABLE")}
    return {table: sorted(_TEXT_COLUMN.findall(tables[table])) for table in digests.KEYS}


#: Tables whose rows belong to one place: to its files, or to the programs that use it.
_OF_PLACE = ("row_digest", "changed_row", "index_file", "claim", "message_block")
_COLUMN = pattern_of(r"(?:^    |[(,] ?)(\w+) (?:TEXT|INTEGER|REAL|BLOB)", re.MULTILINE)


@cache
def copied_columns() -> dict[str, list[str]]:
    """The columns of each table that goes with a memory wherever it goes, but for what is made from others."""
    tables = {one.split(maxsplit=3)[2]: one for one in schema_statements() if one.startswith("CREATE TABLE")}
    return {
        table: _COLUMN.findall(script)
        for table, script in tables.items()
        if table not in _OF_PLACE and not table.endswith("_length")
    }


def create_schema(connection: sqlite3.Connection) -> None:
    """Lay down the whole schema in an empty database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in (*schema_statements(), *digests.trigger_scripts(text_columns()).values()):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={VERSION}")
    connection.execute("COMMIT")


@cache
def empty_database() -> bytes:
    """The file of a database that holds nothing yet."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size=8192")
        create_schema(connection)
        return connection.serialize()


def version_of(connection: sqlite3.Connection) -> int:
    """The number of the schema of a database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_unknown(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what a newer program or another program wrote, and tables that are not as they were laid down.

    Dates are looked at where another program wrote rows. Raises NewerSchema or Damaged; nothing has been written then.
    """
    version = version_of(connection)
    if version > VERSION:
        raise errors.NewerSchema(path=str(path), found=version, known=VERSION)
    mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
    found = _read_scripts(connection)
    if found and mark != APPLICATION_ID:
        raise errors.Damaged("storage.not_ours", path=str(path))
    if not found:
        raise errors.Damaged(path=str(path), reason="no tables")
    wanted = expected_scripts()
    for (kind, name), script in wanted.items():
        if found.get((kind, name)) != script and (
            kind not in _DERIVED or any(other == name and of != kind for of, other in found)
        ):
            raise errors.Damaged("storage.wrong_schema", path=str(path), what=name)
    for kind, name in found:
        if kind == "trigger" and (kind, name) not in wanted and not name.startswith(digests.TRIGGER):
            raise errors.Damaged("storage.added", path=str(path), what=name)
    # Rows that another program wrote wait for a digest, unless their trigger was taken away.
    watched = all(found.get(key) == script for key, script in wanted.items() if key[0] == "trigger")
    if not watched or connection.execute("SELECT 1 FROM changed_row LIMIT 1").fetchone():
        for what in bad_dates(connection):
            raise errors.Damaged("storage.unreadable", path=str(path), what=what)


def repair_schema(connection: sqlite3.Connection) -> None:
    """Make indexes and views again that are missing or different, and drop those that are not ours."""
    wanted = {key: script for key, script in expected_scripts().items() if key[0] in _DERIVED}
    found = {key: script for key, script in _read_scripts(connection).items() if key[0] in _DERIVED}
    if wanted == found:
        return
    connection.execute("BEGIN IMMEDIATE")
    for kind, name in found.keys() - {key for key in wanted if found.get(key) == wanted[key]}:
        connection.execute(f'DROP {kind} "{name.replace(chr(34), chr(34) * 2)}"')
    for key, script in wanted.items():
        if found.get(key) != script:
            connection.execute(script)
    connection.execute("DELETE FROM message_block")  # rows may have changed without the triggers
    connection.execute("COMMIT")


def bad_dates(connection: sqlite3.Connection) -> list[str]:
    """The columns, as TABLE.COLUMN, that hold a date that cannot be read; every row is looked at."""
    columns = connection.execute(
        "SELECT m.name, x.name FROM sqlite_master m JOIN pragma_table_info(m.name) x WHERE m.type = 'table'"
        " AND (x.name LIKE '%timestamp' OR x.name = 'stored_at')"
    ).fetchall()
    found = []
    for table, column in columns:
        wrong = f"{column} IS NOT NULL AND NOT ({_is_date(column)})"
        if connection.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            found.append(f"{table}.{column}")
    return found


def _is_date(column: str) -> str:
    """The condition that holds for a date of the form that is written, with an offset, that is in the calendar.

    Any year from 1 to 9999 will do: a clock may be wrong, and what was said under it is there. The calendar is asked
    only of what has the form, since SQLite takes "now" for a date too; without a step of no days it would give back a
    31st of February as it is.
    """
    end = " OR ".join(f"substr({column}, 20) GLOB '{end}'" for end in _ENDS)
    calendar = f"datetime(substr({column}, 1, 19), '+0 days') IS replace(substr({column}, 1, 19), 'T', ' ')"
    form = f"{column} GLOB '{_TO_THE_SECOND}*' AND {column} NOT GLOB '0000*' AND ({end})"
    return f"(CASE WHEN {form} THEN {calendar} ELSE 0 END)"


def _read_scripts(connection: sqlite3.Connection) -> Scripts:
    """What a database consists of: kind and name, and the words it was laid down with."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {(str(kind), str(name)): str(script).removesuffix(";") for kind, name, script in rows}


@cache
def expected_scripts() -> Scripts:
    """The same of a database that was just laid down; the tables that FTS5 keeps for itself are among them."""
    triggers = digests.trigger_scripts(text_columns())
    scripts = {("trigger", name): script for name, script in triggers.items()}
    for statement in schema_statements():
        words = statement.removesuffix(";").split(maxsplit=4)
        kind = next(word.lower() for word in words[1:] if word in ("TABLE", "INDEX", "VIEW", "TRIGGER"))
        name = words[words.index(kind.upper()) + 1]
        scripts[kind, name] = statement.removesuffix(";")
    return scripts
