"""Where turns stand, read in bulk for recall: session, speaker, length and time; and texts by number.

What is withheld does not exist here.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.records import Summary, Turn
from storage.sqlite.database import Tables
from storage.sqlite.sessions import SUMMARY, TURN, turn_of
from storage.store import TurnRow


class TurnReader(Tables):
    """Reads of turns, summaries and sessions by number. Nothing is written here."""

    def after(self, seq: int, most: int) -> list[TurnRow]:
        """The places of the next ``most`` turns stored after ``seq``, in order."""
        rows = self._read(
            "SELECT c.seq, s.number, c.role = 'user', coalesce(l.length, 0), coalesce(l.marks, 0), c.timestamp,"
            " c.position"
            " FROM conversation c JOIN session s USING (session_id) LEFT JOIN turn_length l ON l.seq = c.seq"
            " WHERE c.seq > ? AND NOT c.withheld AND NOT c.standin ORDER BY c.seq LIMIT ?",
            seq,
            most,
        )
        return [TurnRow(row[0], row[1], bool(row[2]), row[3], row[4], row[5], row[6]) for row in rows]

    def turns(self, seqs: Sequence[int]) -> list[Turn]:
        """Turns by number, in order; one that is gone, withheld or the stand-in's is left out."""
        query = f"{TURN} WHERE seq IN ({{}}) AND NOT withheld AND NOT standin ORDER BY seq"
        return [turn_of(row) for row in self._read_parts(query, sorted(seqs))]

    def seqs_of(self, text_ids: Sequence[str]) -> dict[str, int]:
        """The numbers of turns by id; one that is gone is left out."""
        query = "SELECT text_id, seq FROM conversation WHERE text_id IN ({}) AND NOT withheld AND NOT standin"
        return {row[0]: row[1] for row in self._read_parts(query, text_ids)}

    def session_number(self, session_id: str) -> int | None:
        """The number of a session."""
        rows = self._read("SELECT number FROM session WHERE session_id = ?", session_id)
        return int(rows[0][0]) if rows else None

    def summaries(self, sessions: Sequence[int]) -> dict[int, Summary]:
        """The summaries of sessions by session number; a session without one is left out."""
        query = SUMMARY.replace(" FROM", ", s.number FROM", 1) + " WHERE s.number IN ({}) AND m.summary <> ''"
        return {row["number"]: Summary(*tuple(row)[:-1]) for row in self._read_parts(query, sessions)}

    def sessions_of_summaries(
        self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()
    ) -> dict[int | str, int]:
        """Session numbers by the number, or the id, of their summary."""
        query = (
            "SELECT m.{0}, s.number FROM summary m JOIN session s USING (session_id) WHERE m.{0} IN ({{}})"
        )
        found: dict[int | str, int] = {}
        for column, keys in (("seq", seqs), ("text_id", text_ids)):
            found.update({row[0]: row[1] for row in self._read_parts(query.format(column), keys)})
        return found

    def turns_of_facts(self, facts: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of (fact, turn), by number: which turns these facts were drawn from."""
        query = "SELECT fact, turn FROM fact_turn WHERE fact IN ({})"
        return [(row[0], row[1]) for row in self._read_parts(query, facts)]
