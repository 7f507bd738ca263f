"""A copy of the rows that a recall reads, in the memory of this process: SQLite, in which the same statements run.

Each recall first brings it up to date, in the trip that it makes anyway. New messages are known by their numbers, all
else that was added, changed or removed by the table ``change``, which triggers write in the commit of the change. So
nothing that was erased, hidden or changed before a recall began is read from here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from storage.engine import Row
from storage.sqlite.in_memory import TablesInMemory

#: The columns of each table that is here, the key first, and what else is looked up by an index.
_TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "conversation": (
        "seq, text_id, session_id, timestamp, role, text, round, finish, compacted, stored_at, position, hidden,"
        " quoted, demo, speaker, undated, chapter",
        ("text_id", "session_id, position"),
    ),
    "session": ("number, session_id, position, client, chapter", ("session_id",)),
    "chapter": ("seq, text_id, session_id, height, parent, text, stored_at", ()),
    "summary": ("seq, text_id, session_id, timestamp, summary, upto_round, stored_at", ("text_id", "session_id")),
    "note": ("seq, text_id, topic, importance", ()),
    "fact": (
        "seq, text_id, session_id, text, note, window_id, subject, attribute, value, slot_subject, slot_attribute,"
        " single, about, stance, said, keywords, persons, entities, location, start_day, end_day, learned_as, since,"
        " until, replaced_by, corrected, doubtful_since, kept, decided, seen, verified",
        ("text_id", "slot_subject, slot_attribute"),
    ),
    "fact_message": ("fact, message, quote_start, quote_end", ("fact", "message")),
    "fact_event": ("seq, fact, what, moment, by_fact", ()),
    "archived_memory": ("text_id", ("text_id",)),
}
#: Messages that are brought at once, and how many changes are kept: after more, everything is brought again.
_AT_ONCE, MOST_CHANGES = 10_000, 5_000
_SHOWN = {name: columns for name, (columns, _) in _TABLES.items()}
#: When the server started, nothing where the person is gone: behind a balancer another one may have taken its place.
STARTED = "(SELECT pg_postmaster_start_time()::text FROM person)"
#: Of a row that changed its key and what is there now, without a key all of a table; and messages by their numbers.
_QUERY = (
    f"SELECT '', json_build_array({STARTED}, (SELECT min(number) FROM change),"
    " (SELECT max(number) FROM change), (SELECT value FROM meta WHERE key = 'fadings'))::text"
    " UNION ALL SELECT place, json_build_array(key, rows_now(place, CAST(? AS json) ->> place, key))::text FROM {}"
    f" UNION ALL (SELECT 'said', json_build_array({_SHOWN['conversation']})::text FROM conversation"
    f" WHERE seq > ? ORDER BY seq LIMIT {_AT_ONCE})"
)
_NEW = _QUERY.format(
    "(SELECT DISTINCT place, key FROM change WHERE number > ? AND place <> 'embedding'"
    f" LIMIT {MOST_CHANGES}) AS changed"
)
_ALL = _QUERY.format("(SELECT place, NULL AS key FROM json_object_keys(CAST(? AS json)) AS place) AS every")
_COLUMNS, _WHOLE = (json.dumps({name: _SHOWN[name] for name in names}) for names in (_SHOWN, [*_SHOWN][1:]))


class UpTo(NamedTuple):
    """What a copy has: changes and messages up to these numbers, and what says that messages came back, or a server."""

    change: int = -1
    message: int = 0
    generation: tuple[str, str | None] | None = None


class RowCopy:
    """The copy of one person's rows. Safe to use from several threads."""

    def __init__(self) -> None:
        self.upto = UpTo()
        self.tables = TablesInMemory(_TABLES)
        self._lock = Lock()

    def what_is_new(self, upto: UpTo) -> tuple[str, tuple[object, ...]]:
        """The query for what is not here yet, with its values."""
        if upto.change < 0:
            return _ALL, (_COLUMNS, _WHOLE, upto.message)
        return _NEW, (_COLUMNS, upto.change, upto.message)

    def take(self, upto: UpTo, rows: Sequence[Row]) -> bool | None:
        """Put in what that query found; False where there is more to be found.

        None where another copy is to be made, or where that is what was asked for, and the person is gone.
        """
        found = defaultdict[str, list[Any]](list)
        for name, row in rows:
            found[name].append(json.loads(row))
        ((started, oldest, change, fadings),), said = found.pop(""), found.pop("said", [])
        if started is None:
            return None
        generation = started, fadings
        changed = [(name, *row) for name, each in found.items() for row in each]
        with self._lock:
            if upto != self.upto:
                return False  # another thread was first
            # Without a change that is known already others may be missing.
            is_whole = (oldest or 0) <= upto.change and len(changed) < MOST_CHANGES
            if upto.change >= 0 and not (is_whole and generation == upto.generation):
                return None
            self.tables.put([*changed, ("conversation", "0", said)])
            self.upto = UpTo(change or 0, said[-1][0] if said else upto.message, generation)
            return len(said) < _AT_ONCE
