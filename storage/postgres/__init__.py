"""The statements of the repositories as PostgreSQL takes them.

Repositories write SQL in the subset that SQLite and PostgreSQL share. What differs in every statement alike is
translated here: marks of values, lists that are passed as one value, and ``person`` in front of each key.
"""

from __future__ import annotations

import re

from domain.patterns import pattern_of
from storage.engine import EACH

_EACH = re.escape(EACH)
_NOT_IN_LIST, _IN_LIST = pattern_of(rf"NOT IN {_EACH}"), pattern_of(rf"IN {_EACH}")
_CONFLICT = pattern_of(r"ON CONFLICT \((?!person\b)")
#: A function or a type: the name in SQLite, and the one here.
_NAMES = {"instr(": "strpos(", "group_concat(": "string_agg(", "AS BLOB": "AS bytea", "AS INTEGER": "AS bigint"}
_NAMED = pattern_of("|".join(rf"\b{re.escape(name)}" for name in _NAMES))


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
