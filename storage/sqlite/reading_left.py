"""What is still to be read up of what was brought along from other programs: the SQL that knows and counts it."""

from __future__ import annotations

from domain.imports import IMPORT_DOOR, DueSession, ReadingLeft
from storage.sqlite.faded import FadedTables
from storage.sqlite.rewriting import RewritingTables
from storage.store import NewSummary

#: In ``meta``: a day, and how many calls were made on it to read up what was brought along.
_CALLS = "import_calls"
#: In ``meta``: nothing is to be read up.
_RESTING = "import_resting"
#: What is read: sessions nobody went on with, and in which nobody played a role.
_DUE = f"i.due AND NOT i.role_play AND s.status = 'archived' AND s.door = '{IMPORT_DOOR}'"
#: Newest first, and of one month what was talked of most.
_ORDER = "substr(s.start_timestamp, 1, 7) DESC, i.turns DESC, s.position DESC"


class ReadingUpTables(FadedTables, RewritingTables):
    """What of ``imported_session`` is due, and how much of it may be read today."""

    def due_sessions(self, most: int) -> list[DueSession]:
        """The sessions that are still to be read: the newest month first, and in it what was talked of most."""
        query = (
            "SELECT i.session_id, i.turns, i.due FROM imported_session i JOIN session s USING (session_id)"
            f" WHERE {_DUE} ORDER BY {_ORDER} LIMIT ?"
        )
        return [DueSession(*row) for row in self._read(query, most)]

    def keep_past_summary(
        self, session_id: str, text_id: str, timestamp: str, text: str, upto: int
    ) -> list[str]:
        """What a session came to as far as a round, in place of what stood there. Returns what is gone."""
        with self._database.write():
            gone = self._lose_summary(self.summary(session_id))
            made = NewSummary(text_id, timestamp, text)
            self._index_summary(self._add_summary(session_id, made, upto))
        return gone

    def end_reading(self, due: DueSession) -> None:
        """A session was read, unless it was asked for again since."""
        read = "UPDATE imported_session SET due = 0 WHERE session_id = ? AND due = ?"
        with self._database.write() as sql:
            sql(read, (due.session_id, due.asked))

    def was_imported(self, session_id: str) -> bool:
        """Whether a session was brought along."""
        return bool(self._read("SELECT 1 FROM imported_session WHERE session_id = ?", session_id))

    def reading_left(self, today: str) -> ReadingLeft:
        """How much is still to be read, and how many calls were made today."""
        due = (
            "SELECT count(*), coalesce(sum(i.turns), 0) FROM imported_session i JOIN session s USING (session_id)"
            f" WHERE {_DUE}"
        )
        row = self._read(due)[0]
        return ReadingLeft(int(row[0]), int(row[1]), self._calls(today), self._meta(_RESTING) is not None)

    def rest_reading(self, resting: bool) -> None:
        """Note whether nothing is to be read up until further notice."""
        self._set_meta(_RESTING, "1" if resting else None)

    def ask_for_image(self, session_id: str, now: str) -> None:
        """Let the image of the person be made anew with what a session came to."""
        self._ask_anew("user", session_id, now)

    def count_calls(self, today: str, calls: int) -> None:
        """Note that so many more calls were made today, or fewer than had been noted."""
        with self._database.write():
            self._set_meta(_CALLS, f"{today} {max(0, self._calls(today) + calls)}")

    def _calls(self, today: str) -> int:
        day, _, count = (self._meta(_CALLS) or "").partition(" ")
        return int(count) if day == today else 0
