"""Memories that are no longer searched: what is archived first, what is archived, and what brings it back.

An archived message or summary is in no index, of words or of vectors, and in no table of messages; it stays stored as
it was said, with all that was extracted from it, and whoever erases finds it. Whatever rebuilds an index passes it by.

Guarantees: what is kept is never archived: what was marked so, all that is under it, what a kept fact rests on, what a
pinned line rests on, and whatever is in a session that is not saved yet. Each step is one commit, so that after a kill
the next look goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from domain.records import Message, Summary
from domain.tree import LIFE, FadedText, ForgetLimit, Leaf
from storage.embeddings import ANY_ARCHIVED, TextIndex
from storage.engine import Stamp, instant
from storage.messages import Messages, Summaries
from storage.sqlite.database import Database, Transaction

_SLICE = 5_000
_IS_FADED = "EXISTS (SELECT 1 FROM archived_memory f WHERE f.text_id = {0})"
_TURNS = f"c.hidden = 0 AND c.demo = 0 AND NOT {_IS_FADED.format('c.text_id')}"
_SUMMARIES = f"m.summary <> '' AND NOT {_IS_FADED.format('m.session_id')}"
#: The turns and sessions that never fade, by name.
_KEPT = f"""
WITH RECURSIVE kept_chapter (seq) AS (
    SELECT c.seq FROM chapter c JOIN visit v USING (text_id) WHERE v.never_delete = 1
    UNION SELECT c.seq FROM chapter c JOIN kept_chapter k ON c.parent = k.seq
),
kept_session (session_id) AS (
    SELECT session_id FROM session WHERE status <> 'archived' OR chapter IN (SELECT seq FROM kept_chapter)
        OR EXISTS (SELECT 1 FROM visit WHERE text_id = '{LIFE}' AND never_delete = 1)
    UNION SELECT text_id FROM visit WHERE never_delete = 1
),
kept_turn (seq) AS (
    SELECT t.turn FROM fact_turn t JOIN fact f ON f.seq = t.fact WHERE f.kept = 1
    UNION SELECT t.turn FROM line_turn t JOIN line_evidence e ON e.seq = t.line
        WHERE EXISTS (SELECT 1 FROM pin p WHERE p.persona = e.persona AND instr(e.line, trim(p.text)) > 0)
    UNION SELECT c.seq FROM conversation c JOIN visit v USING (text_id) WHERE v.never_delete = 1
    UNION SELECT seq FROM conversation WHERE chapter IN (SELECT seq FROM kept_chapter)
)
"""
_LEAVES = f"""{_KEPT}
SELECT name, session_id, timestamp, text, coalesce(v.visit_count, 0), coalesce(v.last_visit, 0), is_session FROM (
    SELECT c.text_id AS name, c.session_id, c.timestamp, c.text, 0 AS is_session, s.position, c.position AS place
        FROM conversation c JOIN session s ON s.session_id = c.session_id WHERE {_TURNS}
        AND c.session_id NOT IN (SELECT session_id FROM kept_session) AND c.seq NOT IN (SELECT seq FROM kept_turn)
    UNION ALL
    SELECT m.session_id, m.session_id, m.timestamp, m.summary, 1, s.position, 0
        FROM summary m JOIN session s ON s.session_id = m.session_id WHERE {_SUMMARIES}
        AND m.session_id NOT IN (SELECT session_id FROM kept_session)
        AND NOT EXISTS (SELECT 1 FROM conversation c WHERE c.session_id = m.session_id AND {_TURNS})
) LEFT JOIN visit v ON v.text_id = name
ORDER BY coalesce(v.last_visit, 0), coalesce(v.visit_count, 0), position, place LIMIT ?
"""


class Archive:
    """Reads and writes the table ``archived_memory``."""

    def __init__(
        self, database: Database, index: TextIndex, messages: Messages, summaries: Summaries, stamp: Stamp
    ) -> None:
        self._database = database
        self._index = index
        self._messages = messages
        self._summaries = summaries
        self._stamp = stamp

    # -- reading -------------------------------------------------------------------------------------------------

    def count_searched(self) -> int:
        """How many memories can be found: messages, and summaries of sessions."""
        query = (
            f"SELECT (SELECT count(*) FROM conversation c WHERE {_TURNS})"
            f" + (SELECT count(*) FROM summary m WHERE {_SUMMARIES})"
        )
        return int(self._database.run(query)[0][0])

    def next_batch(self, limit: ForgetLimit) -> list[Leaf]:
        """What is archived in the next step; nothing while no more is searched than may be, or all of it is kept."""
        step = limit.step(self.count_searched()) if limit.most else 0
        return self.oldest_visited(step) if step else []

    def oldest_visited(self, most: int) -> list[Leaf]:
        """What would be archived first: visited longest ago, then least often, then the oldest."""
        rows = self._database.run(_LEAVES, most)
        return [Leaf(*one) for one in ((*row[:-1], bool(row[-1])) for row in rows)]

    def all(self) -> Mapping[str, str]:
        """What is archived, and since when, by name."""
        rows = self._database.run("SELECT text_id, stored_at FROM archived_memory ORDER BY text_id")
        return {row[0]: row[1] for row in rows}

    def has_any(self) -> bool:
        """Whether anything is archived."""
        return bool(self._database.run(ANY_ARCHIVED))

    def texts(self) -> Iterator[list[FadedText]]:
        """The texts of all archived messages, in batches."""
        after = 0
        query = (
            "SELECT c.seq, c.session_id, c.timestamp, c.text FROM conversation c"
            f" WHERE {_IS_FADED.format('c.text_id')} AND c.hidden = 0 AND c.demo = 0 AND c.seq > ?"
            f" ORDER BY c.seq LIMIT {_SLICE}"
        )
        while texts := [FadedText(*row) for row in self._database.run(query, after)]:
            yield texts
            after = texts[-1].seq

    # -- writing -------------------------------------------------------------------------------------------------

    def archive(self, leaves: Sequence[Leaf]) -> None:
        """Take these out of every index; they stay stored."""
        now = self._stamp.now()
        with self._database.write() as tx:
            rows = [(leaf.name, now, instant(now)) for leaf in leaves]
            columns = "(text_id, stored_at, instant) VALUES (?, ?, ?) ON CONFLICT (text_id) DO NOTHING"
            tx.many(f"INSERT INTO archived_memory {columns}", rows)
            turns, summaries = self._find_named([leaf.name for leaf in leaves])
            self._index.remove_turns(tx, turns)
            for summary in summaries:
                self._index.remove_summary(tx, summary)
            self._messages.note_moves(tx)

    def restore(self, names: Sequence[str]) -> None:
        """Let these be found again, with the summaries of the sessions that they are of."""
        with self._database.write() as tx:
            self.bring_back(tx, names)

    def bring_back(self, tx: Transaction, names: Sequence[str]) -> None:
        """The same in a transaction that is under way."""
        turns, _ = self._find_named(names)
        back = list(dict.fromkeys([*names, *(turn.session_id for turn in turns)]))
        tx.many("DELETE FROM archived_memory WHERE text_id = ?", [(name,) for name in back])
        turns, summaries = self._find_named(back)
        self._index.add_turns(tx, turns)
        for summary in summaries:
            self._index.add_summary(tx, summary)
        self._messages.note_moves(tx)

    def _find_named(self, names: Sequence[str]) -> tuple[list[Message], list[Summary]]:
        """The messages, and the summaries of the sessions, with these names."""
        summaries = (self._summaries.of(name) for name in names)
        return self._messages.with_ids(names), [one for one in summaries if one and one.summary]
