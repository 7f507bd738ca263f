"""Visits and fading: how often, and when last, each node of the tree served, and which of them have faded.

A visit is counted in the commit of the round that it served, once for each node and for each that stands above it.
Fading and coming back are one commit each, with the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from domain.records import Finish, Round, Summary, Turn
from domain.tree import LIFE
from storage.sqlite.lexicon import IndexWriter
from storage.store import NewTurn

#: In ``meta``: how often anything faded or came back.
_FADINGS = "fadings"
#: The chapters with these numbers and all above them.
_WITH_THOSE_ABOVE = (
    "WITH RECURSIVE up (seq) AS (SELECT seq FROM chapter WHERE seq IN ({}) UNION"
    " SELECT c.parent FROM up JOIN chapter c USING (seq) WHERE c.parent IS NOT NULL) SELECT seq FROM up"
)


class VisitTables(IndexWriter):
    """Reads and writes ``visit`` and ``faded``."""

    def store_round(
        self,
        session_id: str,
        turns: Sequence[NewTurn],
        finish: Finish,
        now: str,
        *,
        instead_of: Round | None = None,
        before: Round | None = None,
        served: Sequence[str] = (),
    ) -> Round:
        """A round at the end of its session, or right before another; what was in flight there is settled.

        The turns, summaries and chapters that ``served`` it are visited with that.
        """
        with self._database.write():
            if instead_of:
                self._remove_turns(instead_of.turns)
            spoken = self._add_round(session_id, turns, finish, now, before)
            self._index_turns(spoken.turns)
            self._count_round(served)
            if before:
                self._embed_again(self._dependents(turn.text_id for turn in spoken.turns))
            self.drop_in_flight(session_id)
            self.drop_stages(session_id)
        return spoken

    def rounds_told(self) -> int:
        """How many rounds this memory was ever told, also those that are gone."""
        return int(self._meta("rounds") or 0)

    def _count_round(self, served: Sequence[str]) -> None:
        """One more round, in which these turns, summaries and chapters were handed over: they are vivid again."""
        number = self.rounds_told() + 1
        with self._database.write() as sql:
            self._set_meta("rounds", str(number))
            for name in self._with_nodes_above(served):
                sql(
                    "INSERT INTO visit (text_id, visit_count, last_visit) VALUES (?1, 1, ?2) ON CONFLICT (text_id)"
                    " DO UPDATE SET visit_count = visit_count + 1, last_visit = ?2",
                    (name, number),
                )
            if back := sorted(self._among_faded(served)):
                self.unfade(back)

    def _with_nodes_above(self, served: Sequence[str]) -> list[str]:
        """The names of nodes and of all above them, each once."""
        ids = list(dict.fromkeys(served))
        if not ids:
            return []
        turns = self._read_parts(
            "SELECT text_id, session_id, chapter FROM conversation WHERE text_id IN ({})", ids
        )
        summaries = self._read_parts("SELECT session_id FROM summary WHERE text_id IN ({})", ids)
        sessions = list(dict.fromkeys(row["session_id"] for row in (*turns, *summaries)))
        below = self._chapters_of([row["text_id"] for row in turns], sessions)
        own = self._rows_of("SELECT seq FROM chapter WHERE text_id IN ({})", ids)
        chapters = self._read_parts(
            "SELECT text_id FROM chapter WHERE seq IN ({})", self._spine([*below, *own])
        )
        found = [*(row["text_id"] for row in turns), *sessions, *(row["text_id"] for row in chapters)]
        return [*found, LIFE] if found else []

    def set_never_delete(self, names: Sequence[str], never: bool) -> None:
        """Note whether these nodes may never fade or be deleted."""
        with self._database.write() as sql:
            for name in names:
                sql(
                    "INSERT INTO visit (text_id, never_delete) VALUES (?1, ?2) ON CONFLICT (text_id)"
                    " DO UPDATE SET never_delete = ?2",
                    (name, int(never)),
                )

    def _forget_nodes(self, names: Iterable[str]) -> None:
        with self._database.write() as sql:
            for name in names:
                sql("DELETE FROM visit WHERE text_id = ?", (name,))
                sql("DELETE FROM faded WHERE text_id = ?", (name,))

    # -- fading and coming back ----------------------------------------------------------------------------------

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

    def unfade(self, names: Sequence[str]) -> None:
        """Let these be found again, with the summaries of the sessions that they are of."""
        turns, _ = self._named(names)
        back = list(dict.fromkeys([*names, *(turn.session_id for turn in turns)]))
        with self._database.write():
            self._note_vivid(back)
            turns, summaries = self._named(back)
            self._index_turns(turns)
            for summary in summaries:
                self._index_summary(summary)
            self._count_fading()

    def _note_faded(self, names: Sequence[str], now: str) -> None:
        with self._database.write() as sql:
            for name in names:
                sql("INSERT OR IGNORE INTO faded (text_id, stored_at) VALUES (?, ?)", (name, now))

    def _note_vivid(self, names: Sequence[str]) -> None:
        with self._database.write() as sql:
            for name in names:
                sql("DELETE FROM faded WHERE text_id = ?", (name,))

    def faded(self) -> Mapping[str, str]:
        """What has faded, and when, by name."""
        return {row[0]: row[1] for row in self._read("SELECT text_id, stored_at FROM faded ORDER BY text_id")}

    def any_faded(self) -> bool:
        """Whether anything has faded at all."""
        return bool(self._read("SELECT 1 FROM faded LIMIT 1"))

    def fadings(self) -> int:
        """A number that is another one whenever anything faded or came back since."""
        return int(self._meta(_FADINGS) or 0)

    def _count_fading(self) -> None:
        self._set_meta(_FADINGS, str(self.fadings() + 1))

    def _named(self, names: Sequence[str]) -> tuple[list[Turn], list[Summary]]:
        """The turns, and the summaries of the sessions, with these names."""
        summaries = (self.summary(name) for name in names)
        return self.turns_with_ids(names), [one for one in summaries if one and one.summary]

    # -- what stands above what ----------------------------------------------------------------------------------

    def _chapters_of(self, turns: Sequence[str], sessions: Sequence[str]) -> list[int]:
        query = "SELECT DISTINCT chapter FROM {0} WHERE chapter IS NOT NULL AND {1} IN ({{}})"
        of_turns = self._rows_of(query.format("conversation", "text_id"), turns)
        return [*of_turns, *self._rows_of(query.format("session", "session_id"), sessions)]

    def _spine(self, numbers: Sequence[int]) -> list[int]:
        """These chapters and all above them."""
        return self._rows_of(_WITH_THOSE_ABOVE, numbers)

    def _rows_of(self, query: str, values: Sequence[object]) -> list[int]:
        return list(dict.fromkeys(int(row[0]) for row in self._read_parts(query, values)))
