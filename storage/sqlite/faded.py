"""What fades first, and what was said that has faded: the SQL of it.

A turn or a summary that has faded stands in no index, of words or of vectors, and in no table of turns; it stays stored
as it was said, with all that was drawn from it, and whoever erases finds it. Whatever makes an index anew passes it by.

Promises: what is kept never fades: what was marked so, all that is under it, what a kept fact rests on, what a pinned
line rests on, and whatever is not archived yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from domain.fading import FadedText, Leaf
from domain.tree import LIFE
from storage.sqlite.database import Row
from storage.sqlite.tree import TreeTables

_SLICE = 5_000
_IS_FADED = "EXISTS (SELECT 1 FROM faded f WHERE f.text_id = {0})"
_TURNS = f"c.withheld = 0 AND c.standin = 0 AND NOT {_IS_FADED.format('c.text_id')}"
_SUMMARIES = f"m.summary <> '' AND NOT {_IS_FADED.format('m.session_id')}"
#: The turns and sessions that never fade, by name.
_KEPT = f"""
WITH RECURSIVE kept_chapter (seq) AS (
    SELECT c.seq FROM chapter c JOIN visit v USING (text_id) WHERE v.never_delete
    UNION SELECT c.seq FROM chapter c JOIN kept_chapter k ON c.parent = k.seq
),
kept_session (session_id) AS (
    SELECT session_id FROM session WHERE status <> 'archived' OR chapter IN (SELECT seq FROM kept_chapter)
        OR EXISTS (SELECT 1 FROM visit WHERE text_id = '{LIFE}' AND never_delete)
    UNION SELECT text_id FROM visit WHERE never_delete
),
kept_turn (seq) AS (
    SELECT t.turn FROM fact_turn t JOIN fact f ON f.seq = t.fact WHERE f.kept
    UNION SELECT t.turn FROM line_turn t JOIN line_evidence e ON e.seq = t.line
        WHERE EXISTS (SELECT 1 FROM pin p WHERE p.image = e.image AND instr(e.line, trim(p.text)))
    UNION SELECT c.seq FROM conversation c JOIN visit v USING (text_id) WHERE v.never_delete
    UNION SELECT seq FROM conversation WHERE chapter IN (SELECT seq FROM kept_chapter)
)
"""
_LEAVES = f"""{_KEPT}
SELECT name, session_id, timestamp, text, coalesce(v.visit_count, 0), coalesce(v.last_visit, 0), is_session FROM (
    SELECT c.text_id AS name, c.session_id, c.timestamp, c.text, 0 AS is_session, s.position, c.position AS place
        FROM conversation c JOIN session s USING (session_id) WHERE {_TURNS}
        AND c.session_id NOT IN (SELECT session_id FROM kept_session) AND c.seq NOT IN (SELECT seq FROM kept_turn)
    UNION ALL
    SELECT m.session_id, m.session_id, m.timestamp, m.summary, 1, s.position, 0
        FROM summary m JOIN session s USING (session_id) WHERE {_SUMMARIES}
        AND m.session_id NOT IN (SELECT session_id FROM kept_session)
        AND NOT EXISTS (SELECT 1 FROM conversation c WHERE c.session_id = m.session_id AND {_TURNS})
) LEFT JOIN visit v ON v.text_id = name
ORDER BY coalesce(v.last_visit, 0), coalesce(v.visit_count, 0), position, place LIMIT ?
"""


class FadedTables(TreeTables):
    """What may fade, what fades, and what has faded: the table ``faded``."""

    def searched(self) -> int:
        """How many turns and summaries can be found."""
        query = (
            f"SELECT (SELECT count(*) FROM conversation c WHERE {_TURNS})"
            f" + (SELECT count(*) FROM summary m WHERE {_SUMMARIES})"
        )
        return int(self._read(query)[0][0])

    def leaves(self, most: int) -> list[Leaf]:
        """What fades first, the least important first: visited longest ago, then least often, then the oldest."""
        return [_leaf(row) for row in self._read(_LEAVES, most)]

    def _faded_since_save(self, session_id: str) -> list[str]:
        """What faded since the save of a session that can be taken back."""
        query = (
            "SELECT f.text_id FROM faded f JOIN undoable_save u ON u.session_id = ?"
            " WHERE julianday(f.stored_at) >= julianday(u.stored_at)"
        )
        return [row[0] for row in self._read(query, session_id)]

    def fade(self, names: Sequence[str], now: str) -> list[str]:
        """Take these out of every index; they stay stored. Returns what is gone from there."""
        with self._database.write() as sql:
            self._note_faded(names, now)
            turns, summaries = self._named(names)
            self._lexicon.remove(sql, "turn", [turn.seq for turn in turns])
            self._lexicon.remove(sql, "summary", [one.seq for one in summaries])
            gone = [*(turn.text_id for turn in turns), *(one.text_id for one in summaries)]
            self.forget_vectors(gone)
            self._count_fading()
        return gone

    def _note_faded(self, names: Sequence[str], now: str) -> None:
        with self._database.write() as sql:
            for name in names:
                sql("INSERT OR IGNORE INTO faded (text_id, stored_at) VALUES (?, ?)", (name, now))

    def faded(self) -> Mapping[str, str]:
        """What has faded, and when, by name."""
        return {row[0]: row[1] for row in self._read("SELECT text_id, stored_at FROM faded ORDER BY text_id")}

    # -- what was said once --------------------------------------------------------------------------------------

    def faded_texts(self) -> Iterator[list[FadedText]]:
        """The texts of all turns that have faded, in slices."""
        after = 0
        query = (
            "SELECT c.seq, c.session_id, c.timestamp, c.text FROM conversation c"
            f" WHERE {_IS_FADED.format('c.text_id')} AND NOT withheld AND NOT standin AND seq > ?"
            f" ORDER BY seq LIMIT {_SLICE}"
        )
        while texts := [FadedText(*row) for row in self._read(query, after)]:
            yield texts
            after = texts[-1].seq


def _leaf(row: Row) -> Leaf:
    name, session_id, timestamp, text, visit_count, last_visit, is_session = row
    return Leaf(name, session_id, timestamp, text, visit_count, last_visit, bool(is_session))
