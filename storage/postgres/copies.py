"""A copy of the rows that a recall reads, in the memory of this process: SQLite, in which the same statements run.

Each recall first brings it up to date, in the trip that it makes anyway. New messages are known by their numbers, all
else that was added, changed or removed by the table ``change``, which triggers write in the commit of the change. So
nothing that was erased, hidden or changed before a recall began is read from here.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from storage.engine import Row

#: The key and the columns of each table that is here, and what is looked up by an index; without a key all of it is
#: brought again when any of it changes.
_TABLES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "conversation": (
        "seq",
        "seq, text_id, session_id, timestamp, role, text, round, finish, compacted, stored_at, position, hidden,"
        " quoted, demo, speaker, undated",
        ("text_id", "session_id, position"),
    ),
    "session": ("number", "number, session_id, position, client", ("session_id",)),
    "summary": (
        "seq",
        "seq, text_id, session_id, timestamp, summary, upto_round, stored_at",
        ("text_id", "session_id"),
    ),
    "note": ("seq", "seq, text_id, topic, importance", ()),
    "fact": (
        "seq",
        "seq, text_id, session_id, text, note, window_id, subject, attribute, value, slot_subject, slot_attribute,"
        " single, about, stance, said, keywords, persons, entities, location, start_day, end_day, learned_as, since,"
        " until, replaced_by, corrected, doubtful_since, kept, decided, seen, verified",
        ("text_id", "slot_subject, slot_attribute"),
    ),
    "fact_message": ("fact", "fact, message, quote_start, quote_end", ("fact", "message")),
    "fact_event": ("seq", "seq, fact, what, moment, by_fact", ()),
    "archived_memory": ("", "text_id", ("text_id",)),
}
#: Messages that are brought at once, and after how many changes everything is brought again.
_AT_ONCE, MOST_CHANGES = 10_000, 5_000
_HEAD = (
    "SELECT '', json_build_array((SELECT max(person) FROM person), (SELECT coalesce(max(number), 0) FROM change),"
    " (SELECT value FROM meta WHERE key = 'fadings'))::text"
)
_ROW = " UNION ALL SELECT '{0}', json_build_array({1})::text FROM {0}"
_CHANGED = "(SELECT key::bigint FROM change WHERE place = '{0}' AND number > ?)"
_SAID = (
    f" UNION ALL (SELECT 'said', json_build_array({_TABLES['conversation'][1]})::text FROM conversation"
    f" WHERE seq > ? ORDER BY seq LIMIT {_AT_ONCE})"
)
_ALL = _HEAD + "".join(_ROW.format(name, one[1]) for name, one in _TABLES.items() if name != "conversation") + _SAID
_NEW = (
    f"{_HEAD} UNION ALL (SELECT 'change', json_build_array(place, key)::text FROM change WHERE number > ?"
    f" ORDER BY number LIMIT {MOST_CHANGES})"
    + "".join(
        _ROW.format(name, columns)
        + (f" WHERE {key} = ANY(ARRAY{_CHANGED})" if key else f" WHERE EXISTS {_CHANGED}").format(name)
        for name, (key, columns, _) in _TABLES.items()
    )
    + _SAID
)


class UpTo(NamedTuple):
    """What a copy has: changes and messages up to these numbers, and what says that messages came back."""

    change: int = -1
    message: int = 0
    generation: str | None = None


class RowCopy:
    """The copy of one person's rows. Safe to use from several threads."""

    def __init__(self) -> None:
        self.upto = UpTo()
        self._lock = Lock()
        self._served: dict[str, bool] = {}
        self._rows = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._rows.row_factory = sqlite3.Row
        self._rows.execute("PRAGMA secure_delete=ON")
        for name, (key, columns, indexes) in _TABLES.items():
            is_unique = key and key not in indexes
            made = columns.replace(key, f"{key} INTEGER PRIMARY KEY", 1) if is_unique else columns
            self._rows.execute(f"CREATE TABLE {name} ({made})")
            for at, index in enumerate(indexes):
                self._rows.execute(f"CREATE INDEX {name}_{at} ON {name} ({index})")

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        with self._lock:
            return int(self._rows.execute("PRAGMA page_count").fetchone()[0]) * 4096

    def serves(self, sql: str) -> bool:
        """Whether a statement reads nothing but what is here."""
        if sql not in self._served:
            try:
                with self._lock:
                    self._rows.execute(f"EXPLAIN {sql}", [None] * sql.count("?"))
                self._served[sql] = True
            except sqlite3.Error:
                self._served[sql] = False
        return self._served[sql]

    def run(self, sql: str, values: Sequence[object]) -> list[Row]:
        """All rows of one query."""
        given = [json.dumps(one) if isinstance(one, list) else one for one in values]
        with self._lock:
            return list(self._rows.execute(sql, given))  # type: ignore[arg-type]

    def what_is_new(self, upto: UpTo) -> tuple[str, list[int]]:
        """The query for what is not here yet, with its values."""
        if upto.change < 0:
            return _ALL, [upto.message]
        return _NEW, [upto.change] * (len(_TABLES) + 1) + [upto.message]

    def take(self, upto: UpTo, rows: Sequence[Row]) -> bool | None:
        """Put in what that query found; False where there is more to be found, None where the person is gone."""
        found = defaultdict[str, list[Any]](list)
        for name, row in rows:
            found[name].append(json.loads(row))
        (((person, change, generation),), said) = found.pop(""), found.pop("said", [])
        if person is None:
            return None
        with self._lock:
            if upto != self.upto:
                return False  # another thread was first
            changes = found.pop("change", [])
            if len(changes) == MOST_CHANGES or (upto.change >= 0 and generation != upto.generation):
                for name in _TABLES:
                    self._rows.execute(f"DELETE FROM {name}")
                self.upto = UpTo()
                return False
            self._rows.execute("BEGIN")
            for name, key in changes:
                known = _TABLES[name][0]
                self._rows.execute(f"DELETE FROM {name}" + (f" WHERE {known} = {int(key)}" if known else ""))
            found["conversation"] += said
            for name, new in found.items():
                marks = ", ".join("?" * len(_TABLES[name][1].split(",")))
                self._rows.executemany(f"INSERT OR REPLACE INTO {name} VALUES ({marks})", new)
            self._rows.execute("COMMIT")
            self.upto = UpTo(change, said[-1][0] if said else upto.message, generation)
        return len(said) < _AT_ONCE
