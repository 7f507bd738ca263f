"""The first form of a store: one SQLite database, the only truth of one person's memory."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from domain.facts import ImageDraft
from domain.records import (
    IMAGES,
    ErasureScope,
    Image,
    ImageVersion,
    Removed,
    Renewal,
    Round,
    Summary,
    Turn,
)
from storage.sqlite.database import Database
from storage.sqlite.doors import DoorTables
from storage.sqlite.images import EvidenceTables
from storage.sqlite.past import ImportTables
from storage.sqlite.plain_rows import UNINDEXED
from storage.sqlite.rewriting import RewritingTables
from storage.sqlite.sessions import TurnReader
from storage.store import ErasureNote, ImageDrafts, NewSummary

#: So many turns are read at once to make their words.
_INDEXED_AT_ONCE = 2_000
#: Notes what is being erased.
_ERASING = "erasing"
#: Where words stand that somebody may ask to have erased; and our own, since nobody can erase these.
_TEXTS = {
    "conversation": ("text", "speaker"),
    "import_source": ("name", "kind"),
    "summary": ("summary",),
    "chapter": ("text",),
    "persona": ("text",),
    "pin": ("text",),
    "note": ("text", "topic"),
    "fact": ("text", "subject", "value", "keywords", "persons", "entities", "location", "slot_subject"),
    "relation": ("source", "target"),
    "sqlite_master": ("sql",),
}


class SqliteStore(ImportTables, RewritingTables, EvidenceTables, TurnReader, DoorTables):
    """A ``Store`` in one file, or without a path in memory alone. Safe to use from several threads.

    Raises Damaged, NewerSchema, ReadOnly, DiskFull.

    >>> store = SqliteStore(folder / "memory.db", tokens, log)
    >>> store.start_session("s1", now)
    >>> store.store_round("s1", (said, answered), "stop", now)
    """

    def __init__(
        self, path: Path | None, tokens: Callable[[str], Sequence[str]], log: logging.Logger
    ) -> None:
        super().__init__(Database(path, log), tokens)
        self._index_what_came()

    def _index_what_came(self) -> None:
        """Make the words of a store that was filled with rows, and ask for their vectors; once, in one commit."""
        if self._meta(UNINDEXED) is None:
            return
        with self._database.write() as sql:
            last = 0
            while turns := self.turns_after(last, _INDEXED_AT_ONCE):
                self._index_turns(turns)
                last = turns[-1].seq
            for summary in self.every_summary():
                self._index_summary(summary)
            for row in self._read("SELECT seq, text FROM fact WHERE window = ''"):
                self._index_fact(sql, row["seq"], row["text"])
            self._index_facts(sql, [fact.number for fact in self.facts()])
            self._set_meta(UNINDEXED, None)

    def problems(self) -> list[str]:
        """What an examination of the database finds; empty when all is well."""
        return self._database.problems()

    def differing(self) -> list[str]:
        """The rows whose texts are not those that were stored, as TABLE KEY; empty when all is well."""
        return self._database.differing()

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        self._database.close()

    # -- rounds and summaries ------------------------------------------------------------------------------------

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
            self._void_above(session_id)
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
            self._lose_summary(removed.summary)
            self.drop_in_flight(session_id)
            self.drop_stages(session_id)
            self._drop_summary_renewal(session_id)
        return removed

    def put_back(self, removed: Removed) -> list[str]:
        """Put back what a reset removed; a summary gives way, rounds that stand there follow. Returns what is gone."""
        with self._database.write():
            gone = self._lose_summary(self.summary(removed.session_id))
            self._make_room(removed.turns)
            self._restore(removed.turns, removed.summary)
            self._index_turns(removed.turns)
            if removed.summary:
                self._index_summary(removed.summary)
            elif folded := [turn for turn in removed.turns if turn.folded]:
                self._ask_anew("summary", removed.session_id, folded[-1].timestamp)
            self.drop_stages(removed.session_id)
            self._count_fading()
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
            self._count_fading()
            for session_id in {turn.session_id for turn in turns}:
                self.drop_stages(session_id)

    def archive(
        self,
        session_id: str,
        summary: NewSummary,
        images: ImageDrafts,
        next_id: str | None,
        waiting: Sequence[Image] = (),
    ) -> list[str]:
        """Close a session with summary and images, and start the next. Returns what is gone."""
        with self._database.write():
            turns, now = self.turns_of(session_id), summary.timestamp
            was = self._save_to_undo(session_id, self.summary(session_id))
            for turn in turns:
                self._refer_to_memories(turn)
            gone = self.fold(session_id, turns[-1].round if turns else 0, summary)
            made = {image: self._add_draft(image, draft, now, session_id) for image, draft in images.items()}
            if next_id:
                self._keep_save_to_undo(session_id, was, made, now)
            self.drop_stages(session_id)
            self.drop_in_flight(session_id)
            self._close_session(session_id, now)
            for image in waiting:
                self._ask_anew(image, session_id, now)
            if next_id:
                self.start_session(next_id, now)
        return gone

    def undo_save(self, session_id: str, present: str, now: str) -> list[str] | None:
        """Take a save back, right after it, with all that it came to. Returns what is gone; None when it is late."""
        with self._database.write():
            session, was = self.session(session_id), self._undoable_save(session_id)
            said = self.turns_of(present) or self.in_flight(present)
            if was is None or session is None or session.status != "archived" or said:
                return None
            faded = self._faded_since_save(session_id)
            self.unlearn(was.windows)
            for image, version in was.images.items():
                newest = self.newest_version(image)
                if newest and newest.version == version:
                    self._bring_back(image, version, now)
            gone = self._lose_summary(self.summary(session_id))
            if was.summary:
                self._restore([], was.summary)
                self._index_summary(was.summary)
            self._drop_image_renewals(session_id)
            self._unfold_from(session_id, was.context)
            self._count(session_id)
            self.resume(session_id, present, now)
            self._drop_undoable_saves()
            self.unfade(faded)
        return gone

    def undo_decision(self, fact: str) -> bool:
        """Take back what a person last decided about a fact, with what they put in its place."""
        query = (
            "SELECT e.seq, e.by_fact FROM fact_event e JOIN fact f ON f.seq = e.fact WHERE f.text_id = ?"
            " AND e.what IN ('put_right', 'kept', 'let_go') ORDER BY e.seq DESC LIMIT 1"
        )
        with self._database.write():
            for row in (decided := self._read(query, fact)):
                self._remove_known((), [row["by_fact"]] if row["by_fact"] else [], [row["seq"]])
        return bool(decided)

    # -- withholding ---------------------------------------------------------------------------------------------

    def withhold(self, text_ids: Sequence[str]) -> list[str]:
        """Keep turns out of every index from now on; they stay stored. Returns what is gone.

        A summary that was made from one of them goes, and is to be made anew from the others.
        """
        turns = self.turns_with_ids(text_ids)
        gone = [turn.text_id for turn in turns]
        with self._database.write():
            gone += self._untitle({turn.session_id for turn in turns})
            self._unindex_turns(turns)
            self._set_withheld(turns, True)
            for session_id in {turn.session_id for turn in turns}:
                self.drop_stages(session_id)
            for session_id in {turn.session_id for turn in turns if turn.folded}:
                if summary := self.summary(session_id):
                    gone += self._lose_summary(summary)
                    self._ask_anew("summary", session_id, summary.timestamp)
                self._ask_again(session_id)
            self._drop_small()
        return gone

    def release(self, text_ids: Sequence[str]) -> list[str]:
        """Let turns be found again. What was made without them is to be made anew; returns what of it is gone."""
        turns = [turn for turn in self.turns_with_ids(text_ids) if turn.withheld]
        gone: list[str] = []
        with self._database.write():
            self._set_withheld(turns, False)
            self._index_turns(replace(turn, withheld=False) for turn in turns)
            self._count_fading()
            self._embed_again(self._dependents(turn.text_id for turn in turns))
            self._void(self._chapters_of([turn.text_id for turn in turns], ()))
            for turn in {turn.session_id: turn for turn in turns if turn.folded}.values():
                gone += self._ask_with(turn)
        return gone

    def _ask_with(self, turn: Turn) -> list[str]:
        """Ask for the summary of a session that one of its turns is missing in. Returns what is gone.

        It stands until then; that of an import goes, which else would be gone on with from where it ends.
        """
        summary = self.summary(turn.session_id)
        self._ask_anew("summary", turn.session_id, summary.timestamp if summary else turn.timestamp)
        read = summary if summary and summary.upto_round and self.was_imported(turn.session_id) else None
        return self._lose_summary(read)

    # -- erasing -------------------------------------------------------------------------------------------------

    def holds(self, text: str) -> bool:
        """Whether anything that is kept, or names a kind of it, holds exactly this text."""
        return any(
            self._read(f"SELECT 1 FROM {table} WHERE instr({column}, ?) > 0 LIMIT 1", text)
            for table, columns in _TEXTS.items()
            for column in columns
        )

    def take_out(self, chosen: ErasureScope) -> None:
        """Remove all that was chosen; note that files are to be cleaned, and what is to be made anew."""
        texts: list[Turn | Summary] = [*chosen.turns, *chosen.summaries]
        with self._database.write():
            vectors = self._vector_bytes([text.text_id for text in texts])
            self._ask_for_what_goes(chosen)
            self._untitle([*chosen.affected, *(session.session_id for session in chosen.sessions)])
            self._remove_turns(chosen.turns)
            for summary in chosen.summaries:
                self._lose_summary(summary)
            self.void_chapters([chapter.text_id for chapter in chosen.chapters])
            self._take_out_known(chosen)
            self._leave_of_versions(zip(chosen.versions, chosen.left, strict=True))
            self._leave_of_evidence(chosen.lines)
            self._take_out_drafts(chosen)
            self._unname_imports(chosen.file_names)
            for session in chosen.sessions:
                self._delete_session(session.session_id)
            self._note_erasing(chosen.texts, vectors)

    def _note_erasing(self, texts: Sequence[str], vectors: Sequence[bytes]) -> None:
        """Files are to be cleaned of these too."""
        before = self.erasure_note() or ErasureNote((), ())
        found = [vector.hex() for vector in (*before.vectors, *vectors)]
        self._set_meta(_ERASING, json.dumps({"texts": [*before.texts, *texts], "vectors": found}))

    def _take_out_known(self, chosen: ErasureScope) -> None:
        """What holds the chosen words and rests on none of the turns."""
        notes, facts = [one.text_id for one in chosen.notes], [one.text_id for one in chosen.facts]
        self._remove_known(
            self._numbers("SELECT seq FROM note WHERE text_id IN ({})", notes),
            self._numbers("SELECT seq FROM fact WHERE text_id IN ({})", facts),
        )
        self._drop_undoable_saves()

    def _ask_for_what_goes(self, chosen: ErasureScope) -> None:
        """Ask for the summaries that go. Of an image only lines go, and what is left of it needs no model."""
        gone = {session.session_id for session in chosen.sessions}
        for session_id in chosen.affected:
            self._ask_again(session_id)
        for summary in chosen.summaries:
            if summary.session_id not in gone:
                self._ask_anew("summary", summary.session_id, summary.timestamp)

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
        self, renewals: Sequence[Renewal], base: ImageVersion | None, draft: ImageDraft | str, now: str
    ) -> bool:
        """The image that was asked for, made from ``base``. False, and nothing, when either is not so any more."""
        if not renewals:
            return False
        image: Image = "self" if renewals[0].what == "self" else "user"
        with self._database.write():
            if self.newest_version(image) != base or not self._settle(renewals):
                return False
            self._make_of(image, base, draft, now)
            self._drop_undoable_saves()
        return True

    def erasure_note(self) -> ErasureNote | None:
        """What was taken out while files have still to be cleaned of it."""
        written = self._meta(_ERASING)
        if written is None:
            return None
        note = json.loads(written)
        return ErasureNote(tuple(note["texts"]), tuple(map(bytes.fromhex, note["vectors"])))

    def end_erasure(self) -> None:
        """Leave no byte of what was taken out, nor of the note, in the database."""
        with self._database.write() as sql:
            self._lexicon.optimize(sql)
            self._set_meta(_ERASING, None)
        self._database.vacuum()
