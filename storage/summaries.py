"""The summary of each session: what it resulted in so far, with its words and its place in the queue for vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.records import Summary
from storage.chapters import Chapters
from storage.sqlite.database import EACH, Database, Row, Transaction
from storage.text_index import TextIndex

_SUMMARY = (
    "SELECT m.seq, m.text_id, m.session_id, m.timestamp, m.summary, m.upto_round, m.stored_at, s.position"
    " FROM summary m JOIN session s ON s.session_id = m.session_id"
)


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary that is to be stored; without text none takes the place of the one before."""

    text_id: str
    timestamp: str
    text: str


class Summaries:
    """Reads and writes the table ``summary``; one goes with all that rests on it."""

    def __init__(self, database: Database, index: TextIndex, chapters: Chapters) -> None:
        self._database = database
        self._index = index
        self._chapters = chapters

    def of(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        rows = self._database.run(f"{_SUMMARY} WHERE m.session_id = ?", session_id)
        return Summary(*rows[0]) if rows else None

    def all(self) -> list[Summary]:
        """The summaries of all sessions, in their order."""
        return [Summary(*row) for row in self._database.run(f"{_SUMMARY} ORDER BY s.position")]

    def with_ids(self, text_ids: Sequence[str]) -> list[Summary]:
        """The summaries with these ids that are still there, in the order of their sessions."""
        query = f"{_SUMMARY} WHERE m.text_id IN {EACH} ORDER BY s.position"
        return [Summary(*row) for row in self._database.run(query, list(text_ids))] if text_ids else []

    def of_sessions(self, numbers: Sequence[int]) -> dict[int, Summary]:
        """The summaries of sessions by number; one without, or that is archived out of the search, is left out."""
        query = (
            f"{_SUMMARY.replace(' FROM', ', s.number FROM', 1)} WHERE s.number IN {EACH} AND m.summary <> ''"
            " AND NOT EXISTS (SELECT 1 FROM faded f WHERE f.text_id = m.session_id)"
        )
        rows: list[Row] = self._database.run(query, list(numbers)) if len(numbers) else []
        return {row["number"]: Summary(*tuple(row)[:-1]) for row in rows}

    def sessions_of(self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()) -> dict[int | str, int]:
        """Session numbers by the number, or the id, of their summary."""
        query = (
            "SELECT m.{0}, s.number FROM summary m JOIN session s ON s.session_id = m.session_id"
            f" WHERE m.{{0}} IN {EACH}"
        )
        found: dict[int | str, int] = {}
        for column, keys in (("seq", list(seqs)), ("text_id", list(text_ids))):
            if keys:
                found.update({row[0]: row[1] for row in self._database.run(query.format(column), keys)})
        return found

    def replace(self, tx: Transaction, session_id: str, new: NewSummary, upto: int) -> None:
        """A summary made from the rounds up to ``upto`` in place of the present one, if any."""
        self._delete(tx, self.of(session_id))
        if new.text:
            self.add(tx, session_id, new, upto)

    def add(self, tx: Transaction, session_id: str, new: NewSummary, upto: int) -> None:
        """A summary of a session that has none."""
        added = Summary(
            tx.next("summary"), new.text_id, session_id, new.timestamp, new.text, upto, new.timestamp
        )
        self.put_back(tx, added)

    def put_back(self, tx: Transaction, summary: Summary) -> None:
        """A summary as it was."""
        columns = "seq, text_id, session_id, timestamp, summary, upto_round, stored_at"
        values = [getattr(summary, name) for name in columns.split(", ")]
        tx.do(f"INSERT INTO summary ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
        self._index.add_summary(tx, summary)

    def remove(self, tx: Transaction, summary: Summary | None) -> None:
        """A summary goes, and the text of every chapter above it."""
        if summary is not None:
            self._chapters.void_above(tx, sessions=[summary.session_id])
            self._delete(tx, summary)

    def _delete(self, tx: Transaction, summary: Summary | None) -> None:
        if summary is not None:
            self._index.remove_summary(tx, summary)
            tx.do("DELETE FROM summary WHERE seq = ?", summary.seq)
