"""The statements of the repositories as PostgreSQL takes them.

Repositories write SQL in the subset that SQLite and PostgreSQL share. What differs in every statement alike is
translated here: marks of values, lists that are passed as one value, and ``person`` in front of each key. Where tables
are distributed by person, each statement names the person too: a policy alone would be asked of every part of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from domain.patterns import pattern_of
from storage.engine import EACH

_EACH = re.escape(EACH)
_NOT_IN_LIST, _IN_LIST = pattern_of(rf"NOT IN {_EACH}"), pattern_of(rf"IN {_EACH}")
_CONFLICT = pattern_of(r"ON CONFLICT \((?!person\b)")
#: A function or a type: the name in SQLite, and the one here.
_NAMES = {"instr(": "strpos(", "group_concat(": "string_agg(", "AS BLOB": "AS bytea", "AS INTEGER": "AS bigint"}
_NAMED = pattern_of("|".join(rf"\b{re.escape(name)}" for name in _NAMES))
#: Where a statement reads a table, changes one and adds to one; and what a condition may end at.
_READS = pattern_of(r"(?<!DELETE )\b((?:FROM|JOIN)\s+\(*)(\w+)\b(?:\s+(?:AS\s+)?([a-z]\w*)\b)?")
_CHANGES = pattern_of(r"\b(?:UPDATE|DELETE FROM) (\w+)")
_ADDS = pattern_of(r"\bINSERT INTO (\w+) \(([^)]*)\)\s+(VALUES \(|SELECT (?:DISTINCT )?)")
_BOUNDS = pattern_of(r"[()]| WHERE | RETURNING\b")


def for_postgres(sql: str, *, with_person: bool = True) -> str:
    """A statement of a repository with its values as ``$1``, ``$2``, …; in the registry no key begins with a person.

    >>> for_postgres(f"SELECT text FROM conversation WHERE text_id IN {EACH} LIMIT ?")
    'SELECT text FROM conversation WHERE text_id = ANY($1) LIMIT $2'
    """
    sql = _IN_LIST.sub("= ANY(?)", _NOT_IN_LIST.sub("<> ALL(?)", sql))
    if with_person:
        sql = _CONFLICT.sub("ON CONFLICT (person, ", sql)
    sql = _NAMED.sub(lambda found: _NAMES[found[0]], sql)
    first, *others = sql.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(others, start=1))


def limit_to_person(sql: str, person: str, tables: Mapping[str, str]) -> str:
    """A translated statement that reads and writes rows of ``person`` alone.

    ``tables`` are those that have such a column, and the views on them with their queries.

    >>> limit_to_person("DELETE FROM pin WHERE text = $1", "$2", {"pin": ""})
    'DELETE FROM pin WHERE pin.person = $2 AND (text = $1)'
    """

    def read(found: re.Match[str]) -> str:
        before, table, alias = found.groups()
        if (view := tables.get(table)) is None:
            return found[0]
        rows = (
            limit_to_person(view, person, tables) if view else f"SELECT {table}.* FROM {table} WHERE person = {person}"
        )
        return f"{before}({rows}) AS {alias or table}"

    def add(found: re.Match[str]) -> str:
        table, columns, values = found.groups()
        return f"INSERT INTO {table} (person, {columns}) {values}{person}, " if table in tables else found[0]

    for found in reversed([*_CHANGES.finditer(sql)]):
        if (table := found[1]) in tables:
            where, end = _find_condition(sql, found.end())
            asked = sql[where:end].removeprefix(" WHERE ")
            limit = f" WHERE {table}.person = {person}" + (f" AND ({asked})" if asked else "")
            sql = sql[:where] + limit + sql[end:]
    return _ADDS.sub(add, _READS.sub(read, sql))


def _find_condition(sql: str, start: int) -> tuple[int, int]:
    """From where to where the condition of a change goes that begins here; one that has none has it at its end."""
    depth, where, end = 0, -1, len(sql)
    for found in _BOUNDS.finditer(sql, start):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth < 0 or (depth == 0 and found[0] == " RETURNING"):
            end = found.start()
            break
        if depth == 0 and found[0] == " WHERE ":
            where = found.start()
    return (end if where < 0 else where), end
