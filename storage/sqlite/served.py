"""Sessions in which only the person speaks, held by a door for programs: the SQL of them.

A message that nobody answers is a round without a reply, so it stands in no context and in no summary; it is found,
read for notes and erased as every turn is. A session that has ended stays active, with the time of its end, until it is
archived: whatever happens meanwhile, it is known that it waits.
"""

from __future__ import annotations

from domain.facts import Relation
from domain.records import Turn
from storage.sqlite.lexicon import IndexWriter
from storage.store import NewTurn


class ServedTables(IndexWriter):
    """What a door for programs stores and reads beyond what everybody does."""

    def store_alone(self, session_id: str, turn: NewTurn, now: str) -> Turn:
        """A message that nobody answers, at the end of its session."""
        with self._database.write():
            self._add_turns(session_id, (turn,), "stop", now)
            stored = self.turns_with_ids([turn.text_id])[0]
            self._index_turns([stored])
            self.drop_stages(session_id)
        return stored

    def end_session(self, session_id: str, ended: str) -> None:
        """Note that an active session has ended, and waits to be archived."""
        with self._database.write() as sql:
            sql(
                "UPDATE session SET end_timestamp = ? WHERE session_id = ? AND end_timestamp IS NULL",
                (ended, session_id),
            )

    def relations_naming(self, text: str) -> list[Relation]:
        """The relations of facts that hold now of which a text names one end, by whole characters and in any case."""
        named = (
            "SELECT DISTINCT f.text_id FROM relation r JOIN fact f ON f.seq = r.fact"
            " WHERE f.until = '' AND f.corrected = 0 AND (length(r.source) > 1 AND instr(?1, lower(r.source))"
            " OR length(r.target) > 1 AND instr(?1, lower(r.target)))"
        )
        return self.relations_of([row[0] for row in self._read(named, text.lower())])
