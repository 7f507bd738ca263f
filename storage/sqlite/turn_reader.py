"""Where turns stand, read in bulk for recall: session, speaker, length and time; and texts by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from domain.records import Summary, Turn

if TYPE_CHECKING:
    from storage.sqlite.database import Database, Row

#: SQLite takes so many values in one statement at the least (SQLITE_MAX_VARIABLE_NUMBER before 3.32).
_AT_ONCE = 900


@dataclass(frozen=True, slots=True)
class TurnRow:
    """Where one turn stands, without its text.

    ``length`` is in tokens, ``marks`` the bits of ``lexicon.MARKS``; ``position`` orders the turns of one session.
    """

    seq: int
    session: int
    by_user: bool
    length: int
    marks: int
    timestamp: str
    position: int


class TurnReader:
    """Reads of turns, summaries and sessions by number. Nothing is written here."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def after(self, seq: int, most: int) -> list[TurnRow]:
        """The places of the next ``most`` turns stored after ``seq``, in order."""
        rows = self._database.read(
            "SELECT c.seq, s.number, c.role = 'user', coalesce(l.length, 0), coalesce(l.marks, 0), c.timestamp, c.seq"
            " FROM conversation c JOIN session s USING (session_id) LEFT JOIN turn_length l ON l.seq = c.seq"
            " WHERE c.seq > ? ORDER BY c.seq LIMIT ?",
            (seq, most),
        )
        return [TurnRow(row[0], row[1], bool(row[2]), row[3], row[4], row[5], row[6]) for row in rows]

    def turns(self, seqs: Sequence[int]) -> list[Turn]:
        """Turns by number, in order; one that is gone is left out."""
        sql = (
            "SELECT seq, text_id, session_id, timestamp, role, text, round, finish, folded FROM conversation"
            " WHERE seq IN ({}) ORDER BY seq"
        )
        return [
            Turn(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], bool(row[8]))
            for row in self._in_parts(sql, sorted(seqs))
        ]

    def seqs_of(self, text_ids: Sequence[str]) -> dict[str, int]:
        """The numbers of turns by id; one that is gone is left out."""
        sql = "SELECT text_id, seq FROM conversation WHERE text_id IN ({})"
        return {row[0]: row[1] for row in self._in_parts(sql, text_ids)}

    def session_number(self, session_id: str) -> int | None:
        """The number of a session."""
        rows = self._database.read("SELECT number FROM session WHERE session_id = ?", (session_id,))
        return int(rows[0][0]) if rows else None

    def summaries(self, sessions: Sequence[int]) -> dict[int, Summary]:
        """The summaries of sessions by session number; a session without one is left out."""
        sql = (
            "SELECT s.number, m.seq, m.text_id, m.session_id, m.timestamp, m.summary, m.upto_round"
            " FROM session s JOIN summary m USING (session_id) WHERE s.number IN ({}) AND m.summary <> ''"
        )
        return {row[0]: Summary(*tuple(row)[1:]) for row in self._in_parts(sql, sessions)}

    def sessions_of_summaries(
        self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()
    ) -> dict[int | str, int]:
        """Session numbers by the number, or the id, of their summary."""
        sql = "SELECT m.{0}, s.number FROM summary m JOIN session s USING (session_id) WHERE m.{0} IN ({{}})"
        found: dict[int | str, int] = {}
        for column, keys in (("seq", seqs), ("text_id", text_ids)):
            found.update({row[0]: row[1] for row in self._in_parts(sql.format(column), keys)})
        return found

    def turns_of_facts(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of (fact, turn), by number: which turns these facts were drawn from."""
        sql = "SELECT fact, turn FROM fact_turn WHERE fact IN ({})"
        return [(row[0], row[1]) for row in self._in_parts(sql, facts)]

    def _in_parts(self, sql: str, values: Sequence[object]) -> Iterator[Row]:
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            yield from self._database.read(sql.format(",".join("?" * len(part))), part)
