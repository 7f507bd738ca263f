"""Makes what is stored findable, and unfindable again: its words, its place in the queue for vectors, its facts.

A fact is a single statement that was drawn from turns and points back at them: a key that finds those turns, never a
memory of its own. When one of its turns goes, it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from domain.quotations import own_words, with_references
from domain.records import PREFIX, Summary, Turn
from storage.sqlite.database import Database
from storage.sqlite.embeddings import EmbeddingTables
from storage.sqlite.lexicon import Lexicon
from storage.sqlite.sessions import SessionTables


class IndexWriter(SessionTables, EmbeddingTables):
    """Turns, summaries and facts together with their indexes. ``tokens`` cuts a text into words."""

    def __init__(self, database: Database, tokens: Callable[[str], Sequence[str]]) -> None:
        super().__init__(database)
        self._tokens = tokens
        self._lexicon = Lexicon(database)

    def learn_fact(self, text_id: str, session_id: str, now: str, text: str, turns: Sequence[int]) -> None:
        """Keep a fact that was drawn from the turns with these numbers: it finds them from this commit on."""
        columns = "(text_id, session_id, timestamp, text) VALUES (?, ?, ?, ?)"
        with self._database.write() as sql:
            seq = sql(f"INSERT INTO fact {columns}", (text_id, session_id, now, text)).lastrowid or 0
            for turn in dict.fromkeys(turns):
                sql("INSERT INTO fact_turn (fact, turn) VALUES (?, ?)", (seq, turn))
            self._lexicon.add(sql, "fact", seq, self._tokens(text))

    def _index_turns(self, turns: Iterable[Turn]) -> None:
        """Turns can be found from this commit on, but those that are withheld."""
        with self._database.write() as sql:
            for turn in turns:
                if not turn.withheld:
                    self._lexicon.add(sql, "turn", turn.seq, self._tokens(own_words(turn)))
                    self._enqueue(turn.text_id, "conversation")

    def _unindex_turns(self, turns: Sequence[Turn]) -> None:
        """Turns cannot be found from this commit on, nor what was drawn from them.

        The vectors of the turns after them are made again, since their keys hold words of these.
        """
        gone, seqs = [turn.text_id for turn in turns], [turn.seq for turn in turns]
        with self._database.write() as sql:
            self._embed_again(self._dependents(gone))
            self._lexicon.remove(sql, "turn", seqs)
            self._lexicon.remove(sql, "fact", self._remove_facts_of(seqs))
            self.forget_vectors(gone)

    def _index_summary(self, summary: Summary) -> None:
        """A summary can be found from this commit on."""
        with self._database.write() as sql:
            self._lexicon.add(sql, "summary", summary.seq, self._tokens(summary.summary))
            self._enqueue(summary.text_id, "summary")

    def _refer_to_memories(self, turn: Turn) -> None:
        """Of quotations that were found in a memory leave a reference to it."""
        words = with_references(turn)
        if words != turn.words:
            self._set_words(turn, words)
            self._index_turns([replace(turn, text=PREFIX[turn.role] + words, quoted=())])
            self._embed_again(self._dependents([turn.text_id]))

    def _remove_turns(self, turns: Sequence[Turn]) -> None:
        """Turns with their words, vectors and facts."""
        with self._database.write():
            self._unindex_turns(turns)
            self._delete_turns(turns)

    def _remove_facts_of(self, turns: Iterable[int]) -> list[int]:
        """Remove every fact that was drawn from one of these turns, also where others are left; their numbers."""
        gone: list[int] = []
        with self._database.write() as sql:
            for turn in turns:
                for (fact,) in sql("SELECT fact FROM fact_turn WHERE turn = ?", (turn,)).fetchall():
                    sql("DELETE FROM fact WHERE seq = ?", (fact,))
                    gone.append(int(fact))
        return gone

    def _remove_summary(self, summary: Summary | None) -> list[str]:
        """A summary with its words and vectors. Returns its id."""
        if summary is None:
            return []
        with self._database.write() as sql:
            self._lexicon.remove(sql, "summary", [summary.seq])
            self.forget_vectors([summary.text_id])
            self._delete_summary(summary.session_id)
        return [summary.text_id]

    def _embed_again(self, text_ids: Iterable[str]) -> None:
        for text_id in text_ids:
            self._enqueue(text_id, "conversation")
