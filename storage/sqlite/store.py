"""The first form of a store: one SQLite database, the only truth of one person's memory."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from domain.records import (
    IMAGES,
    PREFIX,
    ErasureScope,
    Finish,
    Image,
    ImageVersion,
    Kind,
    Removed,
    Renewal,
    Round,
    Summary,
    Turn,
)
from domain.text import own_words, with_references
from storage.sqlite.database import Database
from storage.sqlite.drafts import ImageTables
from storage.sqlite.embeddings import EmbeddingTables
from storage.sqlite.lexicon import Lexicon, Postings
from storage.sqlite.schema import WordTable
from storage.sqlite.sessions import SessionTables, TurnReader
from storage.store import ErasureNote, NewSummary, NewTurn


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


# -- makes what is stored findable, and unfindable again: its words, its place in the queue for vectors, its facts


_NOTE = "erasing"


class SqliteStore(IndexWriter, ImageTables, TurnReader):
    """A ``Store`` in one file. Safe to use from several threads.

    Raises Damaged, NewerSchema, ReadOnly, DiskFull.

    >>> store = SqliteStore(folder / "memory.db", tokens, log)
    >>> store.start_session("s1", now)
    >>> store.store_round("s1", (said, answered), "stop", now)
    """

    def __init__(self, path: Path, tokens: Callable[[str], Sequence[str]], log: logging.Logger) -> None:
        super().__init__(Database(path, log), tokens)

    def problems(self) -> list[str]:
        """What an examination of the database finds; empty when all is well."""
        return self._database.problems()

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        self._database.close()

    # -- words ---------------------------------------------------------------------------------------------------

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for a term that nobody used; a term in more than ``cap`` rows is left out."""
        return self._lexicon.postings(table, terms, cap)

    def rows(self, table: WordTable) -> int:
        """About how many rows a table of words has."""
        return self._lexicon.rows(table)

    # -- rounds and summaries ------------------------------------------------------------------------------------

    def store_round(
        self,
        session_id: str,
        turns: Sequence[NewTurn],
        finish: Finish,
        now: str,
        *,
        instead_of: Round | None = None,
        before: Round | None = None,
    ) -> Round:
        """A round at the end of its session, or right before another; what was in flight there is settled."""
        with self._database.write():
            if instead_of:
                self._remove_turns(instead_of.turns)
            spoken = self._add_round(session_id, turns, finish, now, before)
            self._index_turns(spoken.turns)
            if before:
                self._embed_again(self._dependents(turn.text_id for turn in spoken.turns))
            self.drop_in_flight(session_id)
            self.drop_stages(session_id)
        return spoken

    def fold(self, session_id: str, upto: int, summary: NewSummary) -> list[str]:
        """Let the rounds as far as the round ``upto`` leave the context into a summary. Returns what is gone."""
        with self._database.write():
            gone = self.renew_summary(session_id, summary, upto)
            self._mark_folded(session_id, upto)
            self._ask_again(session_id)
        return gone

    def set_summary(self, session_id: str, summary: NewSummary) -> list[str]:
        """Other wording for what the present summary was made from; stages of a save are void. Returns what is gone."""
        with self._database.write():
            present = self.summary(session_id)
            gone = self.renew_summary(session_id, summary, present.upto_round if present else 0)
            self.drop_stages(session_id)
            self._drop_summary_renewal(session_id)
        return gone

    def renew_summary(self, session_id: str, summary: NewSummary, upto: int) -> list[str]:
        """A summary made from the rounds up to ``upto`` in place of the present one. Returns what is gone."""
        with self._database.write():
            gone = self._remove_summary(self.summary(session_id))
            if summary.text:
                self._index_summary(self._add_summary(session_id, summary, upto))
        return gone

    def reset(self, session_id: str) -> Removed:
        """Remove a session's turns, its summary and what was on its way. Returns what went."""
        with self._database.write():
            removed = Removed(session_id, tuple(self.turns_of(session_id)), self.summary(session_id))
            self._remove_turns(removed.turns)
            self._remove_summary(removed.summary)
            self.drop_in_flight(session_id)
            self.drop_stages(session_id)
            self._drop_summary_renewal(session_id)
        return removed

    def put_back(self, removed: Removed) -> list[str]:
        """Put back what a reset removed; a summary gives way, rounds that stand there follow. Returns what is gone."""
        with self._database.write():
            gone = self._remove_summary(self.summary(removed.session_id))
            self._make_room(removed.turns)
            self._restore(removed.turns, removed.summary)
            self._index_turns(removed.turns)
            if removed.summary:
                self._index_summary(removed.summary)
            elif folded := [turn for turn in removed.turns if turn.folded]:
                self._ask_anew("summary", removed.session_id, folded[-1].timestamp)
            self.drop_stages(removed.session_id)
        return gone

    def undo(self, session_id: str, count: int) -> tuple[Round, ...]:
        """Remove the last rounds of a session, as far as they are still in the context. Returns them."""
        with self._database.write():
            rounds = self.context(session_id)[-count:] if count > 0 else ()
            self._remove_turns([turn for spoken in rounds for turn in spoken.turns])
            self.drop_stages(session_id)
        return rounds

    def redo(self, rounds: Sequence[Round]) -> None:
        """Put back, where they stood, rounds that ``undo`` removed and after which nothing new was said."""
        turns = [turn for spoken in rounds for turn in spoken.turns]
        with self._database.write():
            self._restore(turns, None)
            self._index_turns(turns)
            for session_id in {turn.session_id for turn in turns}:
                self.drop_stages(session_id)

    def archive(
        self, session_id: str, summary: NewSummary, images: Mapping[Image, str], next_id: str | None
    ) -> list[str]:
        """Close a session with summary and images, and start the next. Returns what is gone."""
        with self._database.write():
            turns, now = self.turns_of(session_id), summary.timestamp
            for turn in turns:
                self._refer_to_memories(turn)
            gone = self.fold(session_id, turns[-1].round if turns else 0, summary)
            for image, text in images.items():
                self.add_version(image, text, "model", now, session_id)
            self.drop_stages(session_id)
            self.drop_in_flight(session_id)
            self._close_session(session_id, now)
            if next_id:
                self.start_session(next_id, now)
        return gone

    # -- withholding ---------------------------------------------------------------------------------------------

    def withhold(self, text_ids: Sequence[str]) -> list[str]:
        """Keep turns out of every index from now on; they stay stored. Returns what is gone."""
        turns = self.turns_with_ids(text_ids)
        gone = [turn.text_id for turn in turns]
        with self._database.write():
            self._unindex_turns(turns)
            self._set_withheld(turns, True)
            for session_id in {turn.session_id for turn in turns}:
                self.drop_stages(session_id)
        return gone

    def release(self, text_ids: Sequence[str]) -> None:
        """Let turns be found again."""
        turns = [turn for turn in self.turns_with_ids(text_ids) if turn.withheld]
        with self._database.write():
            self._set_withheld(turns, False)
            self._index_turns(replace(turn, withheld=False) for turn in turns)
            self._embed_again(self._dependents(turn.text_id for turn in turns))

    # -- erasing -------------------------------------------------------------------------------------------------

    def holds(self, text: str) -> bool:
        """Whether any turn, summary, image or pin holds exactly this text."""
        places = {"conversation": "text", "summary": "summary", "persona": "text", "pin": "text"}
        return any(
            self._read(f"SELECT 1 FROM {table} WHERE instr({column}, ?) > 0 LIMIT 1", text)
            for table, column in places.items()
        )

    def take_out(self, chosen: ErasureScope) -> None:
        """Remove all that was chosen; note that files are to be cleaned, and what is to be made anew."""
        texts: list[Turn | Summary] = [*chosen.turns, *chosen.summaries]
        with self._database.write():
            vectors = self._vector_bytes([text.text_id for text in texts])
            self._ask_for_what_goes(chosen)
            self._remove_turns(chosen.turns)
            for summary in chosen.summaries:
                self._remove_summary(summary)
            self._leave_of_versions(zip(chosen.versions, chosen.left, strict=True))
            self._take_out_drafts(chosen)
            for session in chosen.sessions:
                self._delete_session(session.session_id)
            note = {"texts": chosen.texts, "vectors": [vector.hex() for vector in vectors]}
            self._set_meta(_NOTE, json.dumps(note))

    def _ask_for_what_goes(self, chosen: ErasureScope) -> None:
        """Ask for the summaries that go, and for the images that lose a line of their newest version."""
        gone = {session.session_id for session in chosen.sessions}
        for session_id in chosen.affected:
            self._ask_again(session_id)
        for summary in chosen.summaries:
            if summary.session_id not in gone:
                self._ask_anew("summary", summary.session_id, summary.timestamp)
        for image in IMAGES:
            if self.newest_version(image) in chosen.versions:
                for session_id in chosen.affected:
                    self._ask_for_image(image, session_id)

    def _ask_for_image(self, image: Image, session_id: str) -> None:
        """Images are made from the summaries of sessions that have ended."""
        session = self.session(session_id)
        if session is not None and session.end_timestamp is not None:
            self._ask_anew(image, session_id, session.end_timestamp)

    def _take_out_drafts(self, chosen: ErasureScope) -> None:
        """What is on its way; the stages of any save hold images as they were."""
        for pin in chosen.pins:
            for image in IMAGES:
                self.unpin(image, pin)
        for session_id in chosen.in_flight:
            self.drop_in_flight(session_id)
        self._drop_all_stages()

    def make_summary_anew(self, renewal: Renewal, summary: NewSummary, upto: int) -> list[str] | None:
        """The summary that was asked for. Returns what is gone; None, and nothing, when it is asked for no more."""
        with self._database.write():
            if not self._settle([renewal]):
                return None
            return self.renew_summary(renewal.session_id, summary, upto)

    def make_image_anew(
        self, renewals: Sequence[Renewal], base: ImageVersion | None, text: str, now: str
    ) -> bool:
        """The image that was asked for, made from ``base``. False, and nothing, when either is not so any more."""
        if not renewals:
            return False
        image: Image = "self" if renewals[0].what == "self" else "user"
        with self._database.write():
            if self.newest_version(image) != base or not self._settle(renewals):
                return False
            if text != (base.text if base else ""):
                self.add_version(image, text, "model", now)
        return True

    def erasure_note(self) -> ErasureNote | None:
        """What was taken out while files have still to be cleaned of it."""
        written = self._meta(_NOTE)
        if written is None:
            return None
        note = json.loads(written)
        return ErasureNote(tuple(note["texts"]), tuple(map(bytes.fromhex, note["vectors"])))

    def end_erasure(self) -> None:
        """Leave no byte of what was taken out, nor of the note, in the database."""
        with self._database.write() as sql:
            self._lexicon.optimize(sql)
            self._set_meta(_NOTE, None)
        self._database.vacuum()
