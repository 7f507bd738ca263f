"""Makes what is stored findable, and unfindable again: its words, its place in the queue for vectors, what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from domain.records import PREFIX, Kind, Summary, Turn
from domain.text import own_words, with_references
from storage.sqlite.database import Database, Sql
from storage.sqlite.embeddings import EmbeddingTables
from storage.sqlite.learning import FactTables
from storage.sqlite.lexicon import Lexicon
from storage.sqlite.saves import SaveTables


class IndexWriter(FactTables, EmbeddingTables, SaveTables):
    """Turns, summaries and facts together with their indexes. ``tokens`` cuts a text into words."""

    def __init__(self, database: Database, tokens: Callable[[str], Sequence[str]]) -> None:
        super().__init__(database)
        self._tokens = tokens
        self._lexicon = Lexicon(database)

    def _index_fact(self, sql: Sql, number: int, text: str) -> None:
        self._lexicon.add(sql, "fact", number, self._tokens(text))

    def _unindex_facts(self, sql: Sql, numbers: Sequence[int]) -> None:
        self._lexicon.remove(sql, "fact", numbers)

    def _enqueue(self, text_id: str, kind: Kind) -> None:
        """Ask for a vector, of a new text or of one whose key has changed: an old vector is let go."""
        with self._database.write() as sql:
            sql("DELETE FROM embedding WHERE text_id = ?", (text_id,))
            sql("INSERT OR REPLACE INTO pending (text_id, kind) VALUES (?, ?)", (text_id, kind))

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
            self._drop_undoable_saves()
            self._embed_again(self._dependents(gone))
            self._lexicon.remove(sql, "turn", seqs)
            self._forget_known_of(seqs)
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
