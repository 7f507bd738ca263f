"""Facts: single statements that were drawn from turns and point back at them.

A fact is a key, never a memory of its own: it helps to find the turns it was drawn from, and those are what is handed
over. When its last turn goes, it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storage.sqlite.database import Database, Sql

_AT_ONCE = 900


class Facts:
    """The tables ``fact`` and ``fact_turn``. Writes take the ``sql`` of the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sql: Sql, text_id: str, session_id: str, now: str, text: str, turns: Iterable[int]) -> int:
        """Store a fact that was drawn from the turns with these numbers. Returns the fact's number."""
        columns = "(text_id, session_id, timestamp, text) VALUES (?, ?, ?, ?)"
        seq = sql(f"INSERT INTO fact {columns}", (text_id, session_id, now, text)).lastrowid or 0
        for turn in dict.fromkeys(turns):
            sql("INSERT INTO fact_turn (fact, turn) VALUES (?, ?)", (seq, turn))
        return seq

    def remove_of(self, sql: Sql, turns: Iterable[int]) -> list[int]:
        """Remove every fact that was drawn from one of these turns, also where others are left.

        Returns the numbers of the facts that went.
        """
        gone: list[int] = []
        for turn in turns:
            for (fact,) in sql("SELECT fact FROM fact_turn WHERE turn = ?", (turn,)).fetchall():
                sql("DELETE FROM fact WHERE seq = ?", (fact,))
                gone.append(int(fact))
        return gone

    def turns_of(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of (fact, turn) for these facts."""
        pairs: list[tuple[int, int]] = []
        for start in range(0, len(facts), _AT_ONCE):
            part = facts[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._database.read(f"SELECT fact, turn FROM fact_turn WHERE fact IN ({marks})", part)
            pairs += [(row[0], row[1]) for row in rows]
        return pairs

    def count(self) -> int:
        """How many facts there are."""
        return int(self._database.read("SELECT count(*) FROM fact")[0][0])
