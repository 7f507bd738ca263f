"""Taking a ``/save`` back right after it: what it replaced is kept until anything is said, or goes, after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from domain.records import Image, Summary
from storage.sqlite.database import Tables


@dataclass(frozen=True, slots=True)
class SaveToUndo:
    """What a save replaces: the summary, where the context began; the windows that were read, and the images made."""

    summary: Summary | None
    context: int | None
    windows: tuple[str, ...]
    images: Mapping[Image, int] = field(default_factory=dict)


class SaveTables(Tables):
    """Reads and writes the table ``undoable_save``."""

    def _save_to_undo(self, session_id: str, summary: Summary | None) -> SaveToUndo:
        """What a save of this session is about to replace."""
        context = "SELECT min(position) FROM conversation WHERE session_id = ? AND folded = 0"
        windows = "SELECT name FROM read_window WHERE session_id = ? AND saving"
        return SaveToUndo(
            summary,
            self._read(context, session_id)[0][0],
            tuple(row["name"] for row in self._read(windows, session_id)),
        )

    def _keep_save_to_undo(
        self, session_id: str, was: SaveToUndo, images: Mapping[Image, int], now: str
    ) -> None:
        """Let a save be taken back; ``images`` are the versions that it made."""
        summary = json.dumps(asdict(was.summary)) if was.summary else ""
        last = self._last_turn()
        values = (session_id, json.dumps(was.windows), json.dumps(images), summary, was.context, last, now)
        with self._database.write() as sql:
            sql("DELETE FROM undoable_save WHERE last_turn <> ?", (last,))
            columns = "(session_id, windows, images, summary, context, last_turn, stored_at)"
            sql(f"INSERT OR REPLACE INTO undoable_save {columns} VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _undoable_save(self, session_id: str) -> SaveToUndo | None:
        """What the save of a session replaced; None when it cannot be taken back."""
        query = "SELECT summary, context, windows, images FROM undoable_save WHERE session_id = ? AND last_turn = ?"
        rows = self._read(query, session_id, self._last_turn())
        if not rows:
            return None
        summary = Summary(**json.loads(rows[0]["summary"])) if rows[0]["summary"] else None
        windows, images = json.loads(rows[0]["windows"]), json.loads(rows[0]["images"])
        return SaveToUndo(summary, rows[0]["context"], tuple(windows), images)

    def last_save(self, present: str) -> str | None:
        """The session whose save opened the session ``present``; None when anything was said or decided since."""
        query = (
            "SELECT u.session_id FROM undoable_save u JOIN session p ON p.stored_at = u.stored_at"
            " WHERE p.session_id = ? AND p.session_id <> u.session_id AND u.last_turn = ?"
        )
        rows = self._read(query, present, self._last_turn())
        return str(rows[0]["session_id"]) if rows else None

    def _last_turn(self) -> int:
        """The highest number that a turn ever had, also one that is gone."""
        rows = self._read("SELECT seq FROM sqlite_sequence WHERE name = 'conversation'")
        return int(rows[0][0]) if rows else 0

    def _drop_undoable_saves(self) -> None:
        """No save can be taken back any more."""
        with self._database.write() as sql:
            sql("DELETE FROM undoable_save")

    def _unfold_from(self, session_id: str, position: int | None) -> None:
        """Bring the turns from a place on back into the context."""
        with self._database.write() as sql:
            sql(
                "UPDATE conversation SET folded = 0 WHERE session_id = ? AND position >= ?",
                (session_id, position),
            )
