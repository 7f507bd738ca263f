"""What a ``/save`` replaced, kept until anything is said or decided after it, so that it can be undone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from domain.records import Image, Summary
from storage.messages import Messages
from storage.sqlite.database import Database, Transaction, instant


@dataclass(frozen=True, slots=True)
class SaveToUndo:
    """What a save replaces: the summary, where the context began; the windows that were read, and the personas made."""

    summary: Summary | None
    context: int | None
    windows: tuple[str, ...]
    images: Mapping[Image, int] = field(default_factory=dict)


class UndoableSaves:
    """Reads and writes the table ``undoable_save``."""

    def __init__(self, database: Database, messages: Messages) -> None:
        self._database = database
        self._messages = messages

    def about_to_replace(self, session_id: str, summary: Summary | None) -> SaveToUndo:
        """What a save of this session is about to replace."""
        context = "SELECT min(position) FROM conversation WHERE session_id = ? AND folded = 0"
        windows = "SELECT name FROM read_window WHERE session_id = ? AND saving = 1"
        return SaveToUndo(
            summary,
            self._database.run(context, session_id)[0][0],
            tuple(row["name"] for row in self._database.run(windows, session_id)),
        )

    def keep(
        self, tx: Transaction, session_id: str, was: SaveToUndo, images: Mapping[Image, int], now: str
    ) -> None:
        """Let a save be undone; ``images`` are the versions that it made."""
        summary = json.dumps(asdict(was.summary)) if was.summary else ""
        last = self._messages.highest_number()
        tx.do("DELETE FROM undoable_save WHERE last_turn <> ? OR session_id = ?", last, session_id)
        columns = "session_id, windows, images, summary, context, last_turn, stored_at, instant"
        tx.do(
            f"INSERT INTO undoable_save ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            session_id, json.dumps(was.windows), json.dumps(images), summary, was.context, last, now, instant(now),
        )  # fmt: skip

    def find(self, session_id: str) -> SaveToUndo | None:
        """What the save of a session replaced; None when it cannot be undone."""
        query = "SELECT summary, context, windows, images FROM undoable_save WHERE session_id = ? AND last_turn = ?"
        rows = self._database.run(query, session_id, self._messages.highest_number())
        if not rows:
            return None
        summary = Summary(**json.loads(rows[0]["summary"])) if rows[0]["summary"] else None
        windows, images = json.loads(rows[0]["windows"]), json.loads(rows[0]["images"])
        return SaveToUndo(summary, rows[0]["context"], tuple(windows), images)

    def last(self, present: str) -> str | None:
        """The session whose save opened the session ``present``; None when anything was said or decided since."""
        query = (
            "SELECT u.session_id FROM undoable_save u JOIN session p ON p.stored_at = u.stored_at"
            " WHERE p.session_id = ? AND p.session_id <> u.session_id AND u.last_turn = ?"
        )
        rows = self._database.run(query, present, self._messages.highest_number())
        return str(rows[0]["session_id"]) if rows else None

    def drop(self, tx: Transaction) -> None:
        """No save can be undone any more."""
        tx.do("DELETE FROM undoable_save")

    def archived_since(self, session_id: str) -> list[str]:
        """What was archived out of the search since the save of a session."""
        query = "SELECT f.text_id FROM faded f JOIN undoable_save u ON u.session_id = ? WHERE f.instant >= u.instant"
        return [row[0] for row in self._database.run(query, session_id)]
