"""Makes what is stored findable, and unfindable again: its words, its place in the queue for vectors, its facts.

Every method takes the ``sql`` of the caller's transaction, so that a text and what is learnt from it are one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from domain.records import PREFIX, Summary, Turn
from domain.text import without_quotations
from storage.sqlite.database import Sql
from storage.sqlite.embeddings import Embeddings
from storage.sqlite.facts import Facts
from storage.sqlite.lexicon import Lexicon
from storage.sqlite.sessions import Sessions


class IndexWriter:
    """The indexes of turns and summaries. ``tokens`` cuts a text into words."""

    def __init__(
        self,
        sessions: Sessions,
        lexicon: Lexicon,
        facts: Facts,
        embeddings: Embeddings,
        tokens: Callable[[str], Sequence[str]],
    ) -> None:
        self._sessions = sessions
        self._lexicon = lexicon
        self._facts = facts
        self._embeddings = embeddings
        self._tokens = tokens

    def learn_turn(self, sql: Sql, turn: Turn) -> None:
        """A turn can be found from this commit on."""
        self._lexicon.add(sql, "turn", turn.seq, self._tokens(without_quotations(turn.words)))
        self._embeddings.enqueue(sql, turn.text_id, "conversation")

    def learn_summary(self, sql: Sql, summary: Summary) -> None:
        """A summary can be found from this commit on."""
        self._lexicon.add(sql, "summary", summary.seq, self._tokens(summary.summary))
        self._embeddings.enqueue(sql, summary.text_id, "summary")

    def learn_fact(
        self, sql: Sql, text_id: str, session_id: str, now: str, text: str, turns: Sequence[int]
    ) -> None:
        """A fact finds the turns it was drawn from, from this commit on."""
        seq = self._facts.add(sql, text_id, session_id, now, text, turns)
        self._lexicon.add(sql, "fact", seq, self._tokens(text))

    def unquote(self, sql: Sql, turn: Turn) -> None:
        """Take the quotations of older memories out of a turn."""
        words = without_quotations(turn.words)
        if words != turn.words:
            self._sessions.set_words(sql, turn, words)
            self.learn_turn(sql, replace(turn, text=PREFIX[turn.role] + words))
            self._renew(sql, self._embeddings.dependents([turn.text_id]))

    def remove_turns(self, sql: Sql, turns: Sequence[Turn]) -> list[str]:
        """Turns with their words, vectors and facts. Returns their ids.

        The vectors of the turns after them are made again, since their keys hold words of these.
        """
        gone, seqs = [turn.text_id for turn in turns], [turn.seq for turn in turns]
        touched = self._embeddings.dependents(gone)
        self._lexicon.remove(sql, "turn", seqs)
        self._lexicon.remove(sql, "fact", self._facts.remove_of(sql, seqs))
        self._embeddings.forget(sql, gone)
        self._renew(sql, touched)
        self._sessions.remove_turns(sql, turns)
        return gone

    def remove_summary(self, sql: Sql, summary: Summary | None) -> list[str]:
        """A summary with its words and vectors. Returns its id."""
        if summary is None:
            return []
        self._lexicon.remove(sql, "summary", [summary.seq])
        self._embeddings.forget(sql, [summary.text_id])
        self._sessions.drop_summary(sql, summary.session_id)
        return [summary.text_id]

    def _renew(self, sql: Sql, text_ids: Iterable[str]) -> None:
        for text_id in text_ids:
            self._embeddings.enqueue(sql, text_id, "conversation")
