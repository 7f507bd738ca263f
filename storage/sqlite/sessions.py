"""Sessions, their rounds and their summaries: the SQL of what was said.

Reading methods stand alone; writing methods take the ``sql`` of a transaction that the caller holds, so that one
commit covers a round, its words and its place in the queue. Order is by number and sequence, never by clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from domain.records import PREFIX, Finish, Role, Round, Session, Summary, Turn
from storage.sqlite.database import Database, Row, Sql

T = TypeVar("T")

_SESSION = (
    "SELECT session_id, number, start_timestamp, end_timestamp, status, current_conv_count FROM session"
)
_TURN = "SELECT seq, text_id, session_id, timestamp, role, text, round, finish, folded FROM conversation"
_SUMMARY = "SELECT seq, text_id, session_id, timestamp, summary, upto_round FROM summary"
#: SQLite takes 32,766 parameters at the least; this many keeps every statement small.
_AT_ONCE = 500


class Sessions:
    """Reads and writes the tables ``session``, ``conversation`` and ``summary``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def active(self) -> Session | None:
        """The session that is open now, if one is."""
        return _first(_session, self._database.read(f"{_SESSION} WHERE status = 'active'"))

    def get(self, session_id: str) -> Session | None:
        """One session by its id."""
        return _first(_session, self._database.read(f"{_SESSION} WHERE session_id = ?", (session_id,)))

    def newest(self, limit: int = 20, offset: int = 0) -> list[Session]:
        """Sessions, newest first."""
        rows = self._database.read(f"{_SESSION} ORDER BY number DESC LIMIT ? OFFSET ?", (limit, offset))
        return [_session(row) for row in rows]

    def counts(self) -> tuple[int, int]:
        """How many archived sessions and how many rounds are remembered."""
        sessions = self._database.read("SELECT count(*) FROM session WHERE status = 'archived'")[0][0]
        rounds = self._database.read("SELECT count(*) FROM conversation WHERE role = 'user'")[0][0]
        return int(sessions), int(rounds)

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds that are in the context, not yet folded, oldest first."""
        where = "WHERE session_id = ? AND folded = 0 ORDER BY seq"
        return _rounds(self._database.read(f"{_TURN} {where}", (session_id,)))

    def rounds(self, session_id: str, last: int | None = None) -> tuple[Round, ...]:
        """All rounds of a session, or its ``last`` ones, oldest first."""
        order = "WHERE session_id = ? ORDER BY seq DESC LIMIT ?"
        limit = -1 if last is None else last * 2
        return _rounds(self._database.read(f"{_TURN} {order}", (session_id, limit))[::-1])

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        return _first(_summary, self._database.read(f"{_SUMMARY} WHERE session_id = ?", (session_id,)))

    def turns(self, text_ids: Sequence[str]) -> list[Turn]:
        """The turns with these ids that are still there, in their order of time."""
        rows = _in_parts(self._database, f"{_TURN} WHERE text_id IN", text_ids)
        return sorted((_turn(row) for row in rows), key=lambda turn: turn.seq)

    def summaries(self, text_ids: Sequence[str]) -> list[Summary]:
        """The summaries with these ids that are still there, in their order of time."""
        rows = _in_parts(self._database, f"{_SUMMARY} WHERE text_id IN", text_ids)
        return sorted((_summary(row) for row in rows), key=lambda summary: summary.seq)

    def before(self, turn: Turn, count: int) -> list[Turn]:
        """Up to ``count`` turns of the same session that stand right before this one, oldest first."""
        where = "WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        rows = self._database.read(f"{_TURN} {where}", (turn.session_id, turn.seq, count))
        return [_turn(row) for row in rows[::-1]]

    def all_turns(self, session_id: str) -> list[Turn]:
        """Every turn of a session, also one whose partner was erased."""
        rows = self._database.read(f"{_TURN} WHERE session_id = ? ORDER BY seq", (session_id,))
        return [_turn(row) for row in rows]

    def turns_after(self, seq: int, limit: int) -> list[Turn]:
        """The next turns of all sessions, in order."""
        return [
            _turn(row)
            for row in self._database.read(f"{_TURN} WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit))
        ]

    def every_summary(self) -> list[Summary]:
        """The summaries of all sessions."""
        return [_summary(row) for row in self._database.read(f"{_SUMMARY} ORDER BY seq")]

    def holds(self, text: str) -> bool:
        """Whether any turn, summary, image or pin holds exactly this text."""
        places = {"conversation": "text", "summary": "summary", "persona": "text", "pin": "text"}
        return any(
            self._database.read(f"SELECT 1 FROM {table} WHERE instr({column}, ?) LIMIT 1", (text,))
            for table, column in places.items()
        )

    def start(self, sql: Sql, session_id: str, now: str) -> None:
        """Open a new session; there must be no other active one."""
        sql(
            "INSERT INTO session (session_id, start_timestamp, status) VALUES (?, ?, 'active')",
            (session_id, now),
        )

    def add_round(
        self, sql: Sql, session_id: str, turns: Iterable[tuple[str, str, Role, str]], finish: Finish
    ) -> Round:
        """Store a round; ``turns`` gives (text_id, timestamp, role, words) for the user and the assistant."""
        number = sql(
            "SELECT coalesce(max(round), 0) + 1 FROM conversation WHERE session_id = ?", (session_id,)
        ).fetchone()[0]
        for text_id, timestamp, role, words in turns:
            sql(
                "INSERT INTO conversation (text_id, session_id, timestamp, role, text, round, finish)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (text_id, session_id, timestamp, role, PREFIX[role] + words, number, finish),
            )
        self._count(sql, session_id)
        return _rounds(
            sql(f"{_TURN} WHERE session_id = ? AND round = ? ORDER BY seq", (session_id, number)).fetchall()
        )[0]

    def restore(self, sql: Sql, rounds: Sequence[Round], summary: Summary | None) -> None:
        """Put back what ``remove_all`` took out, as it was."""
        for turn in (turn for spoken in rounds for turn in (spoken.user, spoken.assistant)):
            sql(
                "INSERT INTO conversation (seq, text_id, session_id, timestamp, role, text, round, finish, folded)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    turn.seq,
                    turn.text_id,
                    turn.session_id,
                    turn.timestamp,
                    turn.role,
                    turn.text,
                    turn.round,
                    turn.finish,
                    int(turn.folded),
                ),
            )
        if summary:
            sql(
                "INSERT INTO summary (seq, text_id, session_id, timestamp, summary, upto_round)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    summary.seq,
                    summary.text_id,
                    summary.session_id,
                    summary.timestamp,
                    summary.summary,
                    summary.upto_round,
                ),
            )
        if rounds:
            self._count(sql, rounds[0].user.session_id)

    def put_summary(
        self, sql: Sql, text_id: str, session_id: str, now: str, summary: str, upto: int
    ) -> Summary:
        """Put a summary, made from all rounds up to ``upto``, in place of the one before."""
        self.drop_summary(sql, session_id)
        cursor = sql(
            "INSERT INTO summary (text_id, session_id, timestamp, summary, upto_round)"
            " VALUES (?, ?, ?, ?, ?)",
            (text_id, session_id, now, summary, upto),
        )
        return Summary(cursor.lastrowid or 0, text_id, session_id, now, summary, upto)

    def drop_summary(self, sql: Sql, session_id: str) -> None:
        """Remove the summary of a session."""
        sql("DELETE FROM summary WHERE session_id = ?", (session_id,))

    def mark_folded(self, sql: Sql, session_id: str, upto: int) -> None:
        """Let all rounds up to ``upto`` leave the context."""
        sql(
            "UPDATE conversation SET folded = 1 WHERE session_id = ? AND round <= ? AND folded = 0",
            (session_id, upto),
        )
        self._count(sql, session_id)

    def set_words(self, sql: Sql, turn: Turn, words: str) -> None:
        """Put other words in place of a turn's."""
        sql("UPDATE conversation SET text = ? WHERE text_id = ?", (PREFIX[turn.role] + words, turn.text_id))

    def close(self, sql: Sql, session_id: str, now: str) -> None:
        """Archive a session."""
        sql(
            "UPDATE session SET status = 'archived', end_timestamp = ? WHERE session_id = ?",
            (now, session_id),
        )

    def reopen(self, sql: Sql, session_id: str) -> None:
        """Make an archived session active again; there must be no other active one."""
        sql("UPDATE session SET status = 'active', end_timestamp = NULL WHERE session_id = ?", (session_id,))

    def remove_turns(self, sql: Sql, turns: Iterable[Turn]) -> None:
        """Remove turns for good."""
        touched = set()
        for turn in turns:
            sql("DELETE FROM conversation WHERE text_id = ?", (turn.text_id,))
            touched.add(turn.session_id)
        for session_id in touched:
            self._count(sql, session_id)

    def remove(self, sql: Sql, session_id: str) -> None:
        """Remove a session of which no turn and no summary is left."""
        sql("DELETE FROM session WHERE session_id = ?", (session_id,))

    def _count(self, sql: Sql, session_id: str) -> None:
        sql(
            "UPDATE session SET current_conv_count = (SELECT count(*) FROM conversation"
            " WHERE session_id = ?1 AND folded = 0 AND role = 'user') WHERE session_id = ?1",
            (session_id,),
        )


def _in_parts(database: Database, query: str, text_ids: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for start in range(0, len(text_ids), _AT_ONCE):
        part = text_ids[start : start + _AT_ONCE]
        rows += database.read(f"{query} ({','.join('?' * len(part))})", part)
    return rows


def _first(make: Callable[[Row], T], rows: list[Row]) -> T | None:
    return make(rows[0]) if rows else None


def _session(row: Row) -> Session:
    return Session(**dict(row))


def _turn(row: Row) -> Turn:
    return Turn(**{**dict(row), "folded": bool(row["folded"])})


def _summary(row: Row) -> Summary:
    return Summary(**dict(row))


def _rounds(rows: Iterable[Row]) -> tuple[Round, ...]:
    """Pair the turns of each round; a turn whose partner was erased is left out."""
    paired: dict[int, dict[str, Turn]] = {}
    for row in rows:
        paired.setdefault(row["round"], {})[row["role"]] = _turn(row)
    return tuple(Round(pair["user"], pair["assistant"]) for pair in paired.values() if len(pair) == 2)
