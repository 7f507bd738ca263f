"""Tables in the memory of this process, for what another engine stores: the statements of repositories run there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

from storage.engine import Row

#: What is put into a table: its name, a key whose rows go before, without one all of them; and rows.
Change = tuple[str, str | None, Sequence[Sequence[object]] | None]


class TablesInMemory:
    """Some tables without their constraints. Safe to use from several threads."""

    def __init__(self, tables: Mapping[str, tuple[str, Sequence[str]]]) -> None:
        """``tables``: the columns of each, its key first, and what is looked up by an index; such a key may repeat."""
        self._columns = {name: columns.split(", ") for name, (columns, _) in tables.items()}
        self._lock = Lock()
        self._served: dict[str, bool] = {}
        self._rows = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._rows.row_factory = sqlite3.Row
        self._rows.execute("PRAGMA secure_delete=ON")
        for name, (columns, indexes) in tables.items():
            is_unique = self._columns[name][0] not in indexes
            made = columns.replace(",", " INTEGER PRIMARY KEY,", 1) if is_unique else columns
            self._rows.execute(f"CREATE TABLE {name} ({made})")
            for at, index in enumerate(indexes):
                self._rows.execute(f"CREATE INDEX {name}_{at} ON {name} ({index})")

    @property
    def size(self) -> int:
        """How many bytes they take."""
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
            return list(self._rows.execute(sql, given))

    def put(self, changes: Iterable[Change]) -> None:
        """Put in what is now where something changed; all of it, or nothing where that fails."""
        with self._lock, self._rows:
            self._rows.execute("BEGIN")
            for name, key, now in changes:
                columns = self._columns[name]
                self._rows.execute(f"DELETE FROM {name}" + (f" WHERE {columns[0]} = {key}" if key else ""))
                marks = ", ".join("?" * len(columns))
                self._rows.executemany(f"INSERT OR REPLACE INTO {name} VALUES ({marks})", now or ())
