"""What is on its way and not yet part of the memory: the input in flight, the stages of a ``/save``, small notes."""

from __future__ import annotations

from domain.records import Image, InFlight
from storage.sqlite.database import Database, Sql


class Drafts:
    """Reads and writes the tables ``in_flight``, ``save_stage``, ``pin`` and ``meta``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def in_flight(self) -> InFlight | None:
        """What was typed and has had no whole reply."""
        rows = self._database.read("SELECT session_id, timestamp, text, partial FROM in_flight")
        return InFlight(**dict(rows[0])) if rows else None

    def note(self, sql: Sql, session_id: str, now: str, text: str) -> None:
        """Write down what was typed, before anything else is done with it."""
        sql("INSERT OR REPLACE INTO in_flight VALUES (1, ?, ?, ?, '')", (session_id, now, text))

    def note_partial(self, sql: Sql, partial: str) -> None:
        """Keep what has come of the reply beside it."""
        sql("UPDATE in_flight SET partial = ?", (partial,))

    def drop_in_flight(self, sql: Sql) -> None:
        """Forget what was in flight."""
        sql("DELETE FROM in_flight")

    def stages(self, session_id: str) -> dict[str, str]:
        """Results of the stages of ``/save`` that are done."""
        rows = self._database.read("SELECT stage, result FROM save_stage WHERE session_id = ?", (session_id,))
        return {row["stage"]: row["result"] for row in rows}

    def keep_stage(self, sql: Sql, session_id: str, stage: str, now: str, result: str) -> None:
        """Keep the result of a stage as soon as it is there."""
        sql("INSERT OR REPLACE INTO save_stage VALUES (?, ?, ?, ?)", (session_id, stage, now, result))

    def drop_stages(self, sql: Sql, session_id: str) -> None:
        """Forget the stages: they are done, or the session has gone on."""
        sql("DELETE FROM save_stage WHERE session_id = ?", (session_id,))

    def drop_all_stages(self, sql: Sql) -> None:
        """Forget the stages of every session."""
        sql("DELETE FROM save_stage")

    def pins(self, image: Image) -> tuple[str, ...]:
        """The lines that rewrites of an image must keep."""
        rows = self._database.read("SELECT text FROM pin WHERE image = ? ORDER BY number", (image,))
        return tuple(row["text"] for row in rows)

    def pin(self, sql: Sql, image: Image, now: str, text: str) -> None:
        """Add a line that rewrites must keep."""
        sql("INSERT INTO pin (image, timestamp, text) VALUES (?, ?, ?)", (image, now, text))

    def unpin(self, sql: Sql, image: Image, text: str) -> int:
        """Remove such a line; returns how many were removed."""
        return sql("DELETE FROM pin WHERE image = ? AND text = ?", (image, text)).rowcount

    def meta(self, key: str) -> str | None:
        """A small note by its key."""
        rows = self._database.read("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0]["value"]) if rows else None

    def set_meta(self, sql: Sql, key: str, value: str) -> None:
        """Write a small note."""
        sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def drop_meta(self, sql: Sql, key: str) -> None:
        """Remove a small note."""
        sql("DELETE FROM meta WHERE key = ?", (key,))
