"""Which sessions are active: begun, closed, taken up again, and where each of them stands among the others.

Order is by place, never by clock: a session may be begun before others that there are.
"""

from __future__ import annotations

from domain.records import Session
from storage.sqlite.schema import SESSION_SPACE
from storage.sqlite.sessions import SESSION, SessionTables, first_of, session_of

#: Sessions that are put between two others one after another are so far apart.
_CLOSE = 1 << 10


class ActiveSessionTables(SessionTables):
    """Writes the table ``session``."""

    def newest_active(self) -> Session | None:
        """The active session of the terminal that stands last, if any is active."""
        query = f"{SESSION} WHERE status = 'active' AND door = '' ORDER BY position DESC LIMIT 1"
        return first_of(session_of, self._read(query))

    def active_sessions(self) -> list[Session]:
        """Every active session, oldest first."""
        return [session_of(row) for row in self._read(f"{SESSION} WHERE status = 'active' ORDER BY position")]

    def start_session(
        self,
        session_id: str,
        now: str,
        began: str | None = None,
        *,
        before: str | None = None,
        door: str = "",
        door_key: str | None = None,
    ) -> Session:
        """A new active session: the last of all, or right ``before`` one, or before the first that ``began`` later.

        One of a ``door`` is never the newest active one.
        """
        columns = (
            "(session_id, start_timestamp, status, stored_at, position, door, door_key)"
            " VALUES (?, ?, 'active', ?, ?, ?, ?)"
        )
        with self._database.write() as sql:
            place = None
            if before:
                place = self._place_before("session_id = ?", before)
            elif began:
                place = self._place_before("julianday(start_timestamp) > julianday(?)", began)
            last = self._read("SELECT coalesce(max(position), 0) FROM session")[0][0]
            at = last + SESSION_SPACE if place is None else place
            sql(f"INSERT INTO session {columns}", (session_id, began or now, now, at, door, door_key))
        started = self.session(session_id)
        assert started is not None
        return started

    def _place_before(self, which: str, value: str) -> int | None:
        """A free place before the first session of which something is so; None when there is none."""
        first = f"SELECT min(position) FROM session WHERE {which}"
        while (after := self._read(first, value)[0][0]) is not None:
            before = self._read("SELECT max(position) FROM session WHERE position < ?", after)[0][0]
            if before is None:
                return int(after) - SESSION_SPACE
            if after - before > 1:
                return int(before + min(_CLOSE, (after - before) // 2))
            self._space_sessions()
        return None

    def _space_sessions(self) -> None:
        """Give the sessions room between them again, in their order."""
        with self._database.write() as sql:
            rows = self._read("SELECT number FROM session ORDER BY position")
            for place, (number,) in enumerate(rows, start=1):
                sql("UPDATE session SET position = ? WHERE number = ?", (place * SESSION_SPACE, number))

    def _close_session(self, session_id: str, now: str) -> None:
        with self._database.write() as sql:
            sql(
                "UPDATE session SET status = 'archived', end_timestamp = ifnull(end_timestamp, ?) WHERE session_id = ?",
                (now, session_id),
            )

    def resume(self, session_id: str, present: str, now: str) -> None:
        """Make an archived session the terminal's active one in place of ``present``, which goes when it is empty."""
        with self._database.write() as sql:
            if self.turns_of(present) or self.summary(present):
                self._close_session(present, now)
            else:
                self._delete_session(present)
            sql(
                "UPDATE session SET status = 'active', end_timestamp = NULL, door = '' WHERE session_id = ?",
                (session_id,),
            )

    def _delete_session(self, session_id: str) -> None:
        """Remove a session of which no turn and no summary is left."""
        with self._database.write() as sql:
            sql("DELETE FROM session WHERE session_id = ?", (session_id,))
