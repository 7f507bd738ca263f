"""The first form of a store: one SQLite database, the only truth of one person's memory."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from domain.records import (
    IMAGES,
    ErasureScope,
    Finish,
    Image,
    ImageVersion,
    Origin,
    Removed,
    Renewal,
    Round,
    Summary,
    Turn,
)
from storage.sqlite.database import Database, Tables
from storage.sqlite.lexicon import IndexWriter, TurnReader
from storage.sqlite.rewriting import RewritingTables
from storage.sqlite.schema import WordTable
from storage.store import ErasureNote, NewSummary, NewTurn, Postings

_VERSION = "SELECT version, image, timestamp, text, origin, session_id FROM persona"
#: Notes in ``meta``: what is being erased; and, before the name of an image, the version that its file says.
_ERASING, _LAID = "erasing", "persona."


class ImageTables(Tables):
    """Reads and writes the table ``persona``: every version that the images ever had."""

    def versions(self, image: Image) -> list[ImageVersion]:
        """Every version of an image, oldest first."""
        rows = self._read(f"{_VERSION} WHERE image = ? ORDER BY version", image)
        return [ImageVersion(*row) for row in rows]

    def newest_version(self, image: Image) -> ImageVersion | None:
        """The version in force; None while there has never been one."""
        rows = self._read(f"{_VERSION} WHERE image = ? ORDER BY version DESC LIMIT 1", image)
        return ImageVersion(*rows[0]) if rows else None

    def version(self, number: int) -> ImageVersion | None:
        """One version by its number."""
        rows = self._read(f"{_VERSION} WHERE version = ?", number)
        return ImageVersion(*rows[0]) if rows else None

    def add_version(
        self, image: Image, text: str, origin: Origin, now: str, session_id: str | None = None
    ) -> ImageVersion:
        """A new version, in force from this commit on; its file is laid afterwards."""
        values = (image, now, text, origin, session_id)
        with self._database.write() as sql:
            columns = "(image, timestamp, text, origin, session_id) VALUES (?, ?, ?, ?, ?)"
            number = sql(f"INSERT INTO persona {columns}", values).lastrowid or 0
        return ImageVersion(number, *values)

    def add_laid_version(self, image: Image, text: str, origin: Origin, now: str) -> ImageVersion:
        """A new version that stands in the file already."""
        with self._database.write():
            version = self.add_version(image, text, origin, now)
            self.set_laid_version(image, version.version)
        return version

    def laid_version(self, image: Image) -> int | None:
        """The number of the version that was last laid into the file; 0 when that was erased."""
        value = self._meta(_LAID + image)
        return None if value is None else int(value)

    def set_laid_version(self, image: Image, number: int | None) -> None:
        """Note which version the file says; None when there is no file."""
        self._set_meta(_LAID + image, None if number is None else str(number))

    def _leave_of_versions(self, versions: Iterable[tuple[ImageVersion, str]]) -> None:
        """Leave less of versions; a file that says one of them as it was is not to be read again."""
        with self._database.write() as sql:
            for version, left in versions:
                sql("UPDATE persona SET text = ? WHERE version = ?", (left, version.version))
                laid = (_LAID + version.image, str(version.version))
                sql("UPDATE meta SET value = '0' WHERE key = ? AND value = ?", laid)


class SqliteStore(IndexWriter, RewritingTables, ImageTables, TurnReader):
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
            self._set_meta(_ERASING, json.dumps(note))

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
