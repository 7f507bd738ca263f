"""What has to be rebuilt: summaries and personas of which something was removed, or whose model failed at a save.

A request that is made again while it is being fulfilled gets another number, so that a result that came too late is
refused in its own commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.imports import IMPORT_DOOR
from domain.records import Renewable, Renewal
from storage.sqlite.database import Database, Transaction


class Rebuilds:
    """Reads and writes the jobs ``summary``, ``self`` and ``user`` of the table ``job``; their key is a session."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(self) -> list[Renewal]:
        """What is to be rebuilt, in the order of the sessions."""
        query = (
            "SELECT j.generation, j.kind, j.key, j.payload FROM job j JOIN session s ON s.session_id = j.key"
            " WHERE j.kind IN ('summary', 'self', 'user') ORDER BY s.position, j.generation"
        )
        return [Renewal(*row) for row in self._database.run(query)]

    def ask(self, tx: Transaction, what: Renewable, session_id: str, timestamp: str) -> None:
        """Ask for a rebuild; what is being made for an older request does not count any more.

        An imported session is read again instead, when its turn comes.
        """
        if what == "summary" and self._read_again(tx, session_id):
            return
        tx.do(
            "INSERT INTO job (kind, key, payload, generation) VALUES (?, ?, ?, ?) ON CONFLICT (kind, key)"
            " DO UPDATE SET payload = excluded.payload, generation = excluded.generation, attempts = 0",
            what, session_id, timestamp, tx.next("job"),
        )  # fmt: skip

    def ask_again(self, tx: Transaction, session_id: str) -> None:
        """A summary that is to be rebuilt has more to be made from by now."""
        query = "SELECT payload FROM job WHERE kind = 'summary' AND key = ?"
        for row in self._database.run(query, session_id):
            self.ask(tx, "summary", session_id, row["payload"])

    def settle(self, tx: Transaction, fulfilled: Sequence[Renewal]) -> bool:
        """Remove requests that are fulfilled in this commit. False, and nothing, when one of them is gone or newer."""
        if not {one.number for one in fulfilled} <= {one.number for one in self.due()}:
            return False
        tx.many(
            "DELETE FROM job WHERE kind = ? AND key = ?", [(one.what, one.session_id) for one in fulfilled]
        )
        return True

    def drop_summary(self, tx: Transaction, session_id: str) -> None:
        """Do not rebuild the summary of a session."""
        tx.do("DELETE FROM job WHERE kind = 'summary' AND key = ?", session_id)

    def drop_personas(self, tx: Transaction, session_id: str) -> None:
        """Do not rebuild personas with what a session resulted in."""
        tx.do("DELETE FROM job WHERE kind IN ('self', 'user') AND key = ?", session_id)

    def drop_session(self, tx: Transaction, session_id: str) -> None:
        """Rebuild nothing of a session."""
        tx.do("DELETE FROM job WHERE kind IN ('summary', 'self', 'user') AND key = ?", session_id)

    def _read_again(self, tx: Transaction, session_id: str) -> bool:
        imported = "SELECT session_id FROM session WHERE session_id = ? AND status = 'archived' AND door = ?"
        sql = (
            f"UPDATE imported_session SET due = due + 1 WHERE session_id IN ({imported}) RETURNING session_id"
        )
        return bool(tx.run(sql, session_id, IMPORT_DOOR))
