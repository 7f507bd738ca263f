"""What can be found: the words of every text, and its place in the queue for vectors, in the commit of the text.

Guarantees: a text can be found as soon as it is committed, and never after it was removed, hidden or archived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from domain.quotations import own_words
from domain.records import Kind, Message, Summary
from storage.embeddings import Embeddings
from storage.engine import EACH
from storage.sqlite.database import Database, Transaction
from storage.sqlite.words import WordIndex

ANY_ARCHIVED = "SELECT 1 FROM archived_memory LIMIT 1"


@dataclass(frozen=True)
class TextIndex:
    """Writes the index of words and the queue for vectors. ``tokens`` cuts a text into words."""

    database: Database
    words: WordIndex
    embeddings: Embeddings
    tokens: Callable[[str], Sequence[str]]

    def add_turns(self, tx: Transaction, turns: Iterable[Message], *, new: bool = False) -> None:
        """Messages can be found from this commit on, but those that are hidden or archived.

        ``new`` ones were never stored before, so nothing of them is looked for first.
        """
        shown = [turn for turn in turns if not turn.hidden]
        if not new:
            archived = self.archived_among([turn.text_id for turn in shown])
            shown = [turn for turn in shown if turn.text_id not in archived]
            self.words.remove(tx, "turn", [turn.seq for turn in shown])
        self.words.add(tx, "turn", [(turn.seq, self.tokens(words_found_by(turn))) for turn in shown])
        self.embeddings.enqueue(tx, [(turn.text_id, "conversation") for turn in shown], new=new)

    def remove_turns(self, tx: Transaction, turns: Sequence[Message]) -> None:
        """Messages cannot be found from this commit on."""
        self.words.remove(tx, "turn", [turn.seq for turn in turns])
        self.embeddings.remove(turn.text_id for turn in turns)

    def add_summary(self, tx: Transaction, summary: Summary, *, new: bool = False) -> None:
        """A summary can be found from this commit on, but one of a session that is archived out of the search."""
        if not self.archived_among([summary.session_id]):
            if not new:
                self.words.remove(tx, "summary", [summary.seq])
            self.words.add(tx, "summary", [(summary.seq, self.tokens(summary.summary))])
            self.embeddings.enqueue(tx, [(summary.text_id, "summary")], new=new)

    def remove_summary(self, tx: Transaction, summary: Summary) -> None:
        """A summary cannot be found from this commit on."""
        self.words.remove(tx, "summary", [summary.seq])
        self.embeddings.remove([summary.text_id])

    def set_facts(self, tx: Transaction, facts: Sequence[tuple[int, str]], *, new: bool = False) -> None:
        """Facts are found by these words from this commit on, and by none where there are none."""
        if not new:
            self.words.remove(tx, "fact", [number for number, _ in facts])
        self.words.add(tx, "fact", [(number, self.tokens(text)) for number, text in facts if text])

    def embed_again(self, tx: Transaction, text_ids: Iterable[str], kind: Kind = "conversation") -> None:
        """Make the vectors of texts again whose key has changed."""
        wanted = list(text_ids)
        archived = self.archived_among(wanted)
        self.embeddings.enqueue(tx, [(one, kind) for one in wanted if one not in archived])

    def archived_among(self, names: Sequence[str]) -> set[str]:
        """Which of these messages or sessions are archived out of the search."""
        if not names or not self.database.run(ANY_ARCHIVED):
            return set()
        query = f"SELECT text_id FROM archived_memory WHERE text_id IN {EACH}"
        return {row[0] for row in self.database.run(query, list(names))}


def words_found_by(turn: Message) -> str:
    """By what a message is found: its own words, and the name of whoever else said it."""
    return f"{turn.speaker}\n{own_words(turn)}" if turn.speaker else own_words(turn)
