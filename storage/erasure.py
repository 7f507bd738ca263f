"""Erasing: what is chosen, taken out in one commit, and then out of every file.

    choose -> show and ask (not here) -> take_out, one commit -> clean_files -> proof

The commit leaves a note of what is being erased, so that an erasure that was killed after it is finished at the next
start. What was made from an erased turn goes with it: the summary of its session, the text of the chapters over that,
the notes and facts that rest on it, and the lines that hold it or rest on it from every version of the images. The
versions stay, and so does every other line. What is to be made anew from what is left is noted in the same commit. What
other people's memories hold is neither searched nor touched, wherever they lie.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TypedDict

from domain.facts import Fact, Note, Relation
from domain.fading import Leaf
from domain.records import IMAGES, ErasureScope, Session, Summary, Turn
from domain.tree import Chapter
from storage import proof
from storage.image_lines import Filtered, LineFilter, same
from storage.imports import Imports
from storage.repositories import Repositories
from storage.rounds import Rounds
from storage.sqlite import schema
from storage.sqlite.database import Transaction

#: In ``meta``: what is being erased.
_ERASING = "erasing"
#: Where words are that somebody may ask to have erased.
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
}
#: Cleans what others wrote of these texts.
Scrub = Callable[[proof.Needles], None]
_AT_ONCE = 5_000


class _Known(TypedDict):
    """What of an ``ErasureScope`` is known rather than said."""

    notes: tuple[Note, ...]
    facts: tuple[Fact, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class ErasureNote:
    """What was taken out and must be in no file any more: texts, and vectors as they are in files."""

    texts: tuple[str, ...]
    vectors: tuple[bytes, ...]


@dataclass(frozen=True)
class Proof:
    """What the search of every file found afterwards.

    ``skipped`` counts texts that other memories hold too, or that are too short to prove anything.
    """

    files: int
    searched: int
    skipped: int
    traces: tuple[proof.Trace, ...] = ()


@dataclass
class Eraser:
    """Erases in one data directory.

    ``scrubbers`` clean what others write: prompt history, logs. ``besides`` is what lies below the folders and belongs
    to somebody else.
    """

    of: Repositories
    rounds: Rounds
    imports: Imports
    folders: Sequence[Path]
    rebuild_index: Callable[[], None]
    scrubbers: Sequence[Scrub] = ()
    besides: Sequence[Path] = ()
    _one_at_a_time: Lock = field(default_factory=Lock)

    # -- choosing ----------------------------------------------------------------------------------------------

    def turn(self, text_id: str) -> ErasureScope:
        """One turn and what was made from it."""
        return self.turns([text_id])

    def memory(self, text_id: str) -> ErasureScope:
        """What an erasure of one memory would take: a message; all that a fact rests on; of a summary its session.

        Nothing where there is no such memory.
        """
        if facts := self.of.facts.with_ids([text_id]):
            return self.turns(facts[0].turns)
        if summaries := self.of.summaries.with_ids([text_id]):
            return self.session(summaries[0].session_id)
        return self.turn(text_id)

    def leaves(self, leaves: Sequence[Leaf]) -> list[ErasureScope]:
        """What erasures of these would take. What would take a pinned line along stays."""
        turns = [one.name for one in leaves if not one.is_session]
        chosen = self.turns(turns)
        if self._takes_pinned(chosen):
            chosen = self.turns([one for one in turns if not self._takes_pinned(self.turns([one]))])
        whole = [self.session(one.name) for one in leaves if one.is_session]
        return [one for one in (chosen, *whole) if one and not self._takes_pinned(one)]

    def _takes_pinned(self, chosen: ErasureScope) -> bool:
        """Whether a line goes that holds a pin."""
        pinned = [same(pin).strip() for image in IMAGES for pin in self.of.personas.pins(image)]
        return any(pin in same(line) for line in (*chosen.lines, *chosen.pins) for pin in pinned)

    def turns(self, text_ids: Sequence[str]) -> ErasureScope:
        """These turns and what was made from them."""
        return self._with_derived(self.of.messages.with_ids(text_ids))

    def round(self, text_id: str) -> ErasureScope:
        """The round that a turn belongs to, and what was made from it."""
        turns = [
            other
            for turn in self.of.messages.with_ids([text_id])
            for other in self.of.messages.of_session(turn.session_id)
            if other.round == turn.round
        ]
        return self._with_derived(turns)

    def session(self, session_id: str) -> ErasureScope:
        """A whole session and what was made from it."""
        session = self.of.sessions.find(session_id)
        if session is None:
            return ErasureScope()
        chosen = self._with_derived(self.of.messages.of_session(session_id), [session_id])
        return replace(chosen, sessions=(session,) if session.status == "archived" else ())

    def hidden(self) -> ErasureScope:
        """Everything that the person asked to have forgotten, and what was made from it."""
        return self._with_derived(self.of.messages.hidden())

    def words(self, words: str) -> ErasureScope:
        """Everything that holds these words, in any case, and what was made from it."""
        wanted = same(words)
        if not wanted:
            return ErasureScope()
        turns = [turn for turn in self._every_turn() if wanted in same(f"{turn.speaker}\n{turn.words}")]
        holding = [summary for summary in self.of.summaries.all() if wanted in same(summary.summary)]
        chosen = self._with_derived(turns, words=words.strip())
        summaries = {summary.text_id: summary for summary in (*chosen.summaries, *holding)}
        pins = [pin for image in IMAGES for pin in self.of.personas.pins(image) if wanted in same(pin)]
        notes, facts = self._known_with(wanted)
        chapters = [one for one in self.of.chapters.all() if wanted in same(one.text)]
        flying = (one for one in self.of.sessions.every_in_flight() if wanted in same(one.text + one.partial))
        return replace(
            chosen,
            summaries=tuple(summaries.values()),
            pins=tuple(pins),
            in_flight=tuple(one.session_id for one in flying),
            chapters=_each((*chosen.chapters, *chapters)),
            file_names=tuple(one.name for one in self.imports.all() if wanted in same(one.name)),
            **self._known(turns, notes, facts),
        )

    def everything(self) -> ErasureScope:
        """All that was ever said here, and what was made from it."""
        turns = list(self._every_turn())
        flying = [one.session_id for one in self.of.sessions.every_in_flight()]
        summarised = [one.session_id for one in self.of.summaries.all()]
        chosen = self._with_derived(turns, [*summarised, *flying])
        return replace(
            chosen,
            in_flight=tuple(flying),
            pins=tuple(pin for image in IMAGES for pin in self.of.personas.pins(image)),
            chapters=_each(self.of.chapters.all()),
            file_names=tuple(one.name for one in self.imports.all()),
            **self._known(turns, self.of.facts.every_note(), self.of.facts.all()),
        )

    def refreshed(self, chosen: ErasureScope) -> ErasureScope:
        """The selection with what was made from its turns since it was chosen: a fold may have ended meanwhile."""
        now = self._with_derived(
            chosen.turns, [session.session_id for session in chosen.sessions], chosen.words
        )
        summaries = {summary.text_id: summary for summary in (*chosen.summaries, *now.summaries)}
        return replace(
            chosen,
            summaries=tuple(summaries.values()),
            versions=now.versions,
            left=now.left,
            lines=now.lines,
            chapters=_each((*now.chapters, *self.of.chapters.all([one.text_id for one in chosen.chapters]))),
            **self._known(chosen.turns, chosen.notes, chosen.facts),
        )

    def _with_derived(
        self, turns: Sequence[Turn], whole: Sequence[str] = (), words: str = ""
    ) -> ErasureScope:
        emptied = self._emptied(turns)
        whole = [*whole, *(session.session_id for session in emptied)]
        sessions = list(dict.fromkeys([*(turn.session_id for turn in turns), *whole]))
        summaries = [
            summary for session_id in sessions if (summary := self._summary_of(session_id, turns, whole))
        ]
        images = self._filtered(turns, sessions, words)
        return ErasureScope(
            tuple(turns),
            tuple(summaries),
            tuple(version for image in images for version in image.versions),
            tuple(text for image in images for text in image.left),
            tuple(dict.fromkeys(line for image in images for line in image.lines)),
            in_flight=tuple(session_id for session_id in whole if self.of.sessions.in_flight(session_id)),
            sessions=emptied,
            words=words,
            chapters=self._chapters_over(turns, summaries),
            **self._known(turns),
        )

    def _emptied(self, turns: Sequence[Turn]) -> tuple[Session, ...]:
        """The archived sessions of which nothing is left without these turns. An active one stays, empty."""
        going = {turn.text_id for turn in turns}
        touched = (self.of.sessions.find(one) for one in dict.fromkeys(turn.session_id for turn in turns))
        archived = [session for session in touched if session and session.status == "archived"]
        return tuple(
            one
            for one in archived
            if {turn.text_id for turn in self.of.messages.of_session(one.session_id)} <= going
        )

    def _chapters_over(self, turns: Sequence[Turn], summaries: Sequence[Summary]) -> tuple[Chapter, ...]:
        """The chapters that tell of these."""
        above = self.of.chapters.above(
            [turn.text_id for turn in turns], [summary.session_id for summary in summaries]
        )
        return tuple(one for one in above if one.text)

    def _known(self, turns: Sequence[Turn], notes: Sequence[Note] = (), facts: Sequence[Fact] = ()) -> _Known:
        """All that is known from these turns, and these notes and facts besides, with what stands in the facts."""
        ids = [turn.text_id for turn in turns]
        resting = [fact for found in self.of.facts.of_turns(ids).values() for fact in found]
        told = {fact.text_id: fact for fact in (*resting, *facts)}
        return _Known(
            notes=tuple(
                {note.text_id: note for note in (*self.of.facts.notes_of_turns(ids), *notes)}.values()
            ),
            facts=tuple(told.values()),
            relations=tuple(self.of.facts.relations_of(list(told))),
        )

    def _known_with(self, wanted: str) -> tuple[list[Note], list[Fact]]:
        """The notes and the facts that hold these words."""
        related = {
            one.fact.text_id for one in self.of.facts.relations(current=False) if wanted in _said_by(one)
        }
        notes = [note for note in self.of.facts.every_note() if wanted in same(f"{note.text}\n{note.topic}")]
        facts = [
            fact for fact in self.of.facts.all() if fact.text_id in related or wanted in same(fact.words)
        ]
        return notes, facts

    def _summary_of(self, session_id: str, turns: Sequence[Turn], whole: Sequence[str]) -> Summary | None:
        """The summary of a session if it was made from one of these turns."""
        summary = self.of.summaries.of(session_id)
        if summary is None or session_id in whole:
            return summary
        made_from = (
            turn.folded or turn.round <= summary.upto_round for turn in turns if turn.session_id == session_id
        )
        return summary if any(made_from) else None

    def _filtered(self, turns: Sequence[Turn], sessions: Sequence[str], words: str) -> list[Filtered]:
        """What becomes of both images; an edit by hand has become a version by then."""
        self.of.personas.settle_all()
        found = []
        for image in IMAGES:
            pins = self.of.personas.pins(image)
            rests: dict[str, set[str]] = defaultdict(set)
            for one in self.of.personas.versions.every_line_evidence(image):
                rests[one.line].update(one.turns)
            rule = LineFilter(
                self.of.index.tokens, words, turns, sessions, self.of.messages.of_session, pins, rests
            )
            found.append(rule.filtered(self.of.personas.history(image)))
        return found

    def _every_turn(self) -> Iterator[Turn]:
        last = 0
        while turns := self.of.messages.stored_after(last, _AT_ONCE):
            yield from turns
            last = turns[-1].seq

    # -- taking out, cleaning and proving ----------------------------------------------------------------------

    def erase(self, chosen: ErasureScope) -> Proof:
        """Erase what was chosen: in one commit, then out of every file, then proven.

        Whoever finishes what is unfinished waits: the proof is of this one, and of what was left before it.
        """
        with self._one_at_a_time:
            self.commit(chosen)
            return self._finish()

    def take_out(self, chosen: ErasureScope) -> None:
        """Remove all that was chosen, in one commit, with a note that the files have still to be cleaned.

        ``finish`` cleans them. What another erasure took along meanwhile is not put back.
        """
        with self._one_at_a_time:
            self.commit(self.refreshed(chosen))

    def unfinished(self) -> bool:
        """Whether an erasure was committed and its files have still to be cleaned."""
        return self._note() is not None

    def finish(self) -> Proof | None:
        """Finish what is unfinished; None when nothing is."""
        with self._one_at_a_time:
            return self._finish() if self.unfinished() else None

    def _finish(self) -> Proof:
        """Clean every file of what was taken out, and prove it. Safe to repeat.

        The note goes last, when all other files are clean: until then a start finds it and cleans again.
        """
        note = self._note() or ErasureNote((), ())
        texts = tuple(text for text in note.texts if not self._kept_elsewhere(text))
        vectors = {f"vector {number}": raw for number, raw in enumerate(note.vectors)}
        self.of.personas.settle_all()
        self.rebuild_index()
        needles = proof.Needles(texts)
        self._remove_copies(needles)
        for scrub in self.scrubbers:
            scrub(needles)
        self._end()
        return self._prove(needles, len(note.texts) - len(texts), vectors)

    def _kept_elsewhere(self, text: str) -> bool:
        """Whether another memory holds the same words, so that finding them would prove nothing."""
        if len(text.encode("utf-8", "surrogatepass")) < proof.SHORTEST:
            return True
        return self._holds(text)

    # -- the database --------------------------------------------------------------------------------------------

    def commit(self, chosen: ErasureScope) -> None:
        """Remove all that was chosen; note that files are to be cleaned, and what is to be rebuilt."""
        texts: list[Turn | Summary] = [*chosen.turns, *chosen.summaries]
        going = {session.session_id for session in chosen.sessions}
        with self.of.database.write() as tx:
            vectors = self.of.index.embeddings.bytes_of([text.text_id for text in texts])
            for session_id in chosen.affected:
                self.of.rebuilds.ask_again(tx, session_id)
            for summary in chosen.summaries:
                if summary.session_id not in going:
                    self.of.rebuilds.ask(tx, "summary", summary.session_id, summary.timestamp)
            self.rounds.forget_titles(tx, [*chosen.affected, *going])
            self.rounds.remove(tx, chosen.turns)
            for summary in chosen.summaries:
                self.of.summaries.remove(tx, summary)
            self.of.chapters.void(tx, [chapter.text_id for chapter in chosen.chapters])
            known = [[one.text_id for one in chosen.notes], [one.text_id for one in chosen.facts]]
            self.of.facts.remove_named(tx, *known)
            self.of.saves.drop(tx)
            self.of.personas.versions.cut(tx, zip(chosen.versions, chosen.left, strict=True))
            self.of.personas.versions.follow_lines(tx, chosen.lines)
            self._take_out_drafts(tx, chosen)
            self.imports.forget_names(tx, chosen.file_names)
            for session_id in going:
                self.rounds.remove_session(tx, session_id)
            self._add_note(chosen.texts, vectors)

    def _take_out_drafts(self, tx: Transaction, chosen: ErasureScope) -> None:
        """What is on its way; the steps of any save hold personas as they were."""
        for pin in chosen.pins:
            for image in IMAGES:
                self.of.personas.versions.remove_pin(tx, image, pin)
        tx.many("DELETE FROM in_flight WHERE session_id = ?", [(one,) for one in chosen.in_flight])
        self.of.steps.drop(tx, "save")

    def _note(self) -> ErasureNote | None:
        """What was taken out while files have still to be cleaned of it."""
        written = self.of.database.meta(_ERASING)
        if written is None:
            return None
        note = json.loads(written)
        return ErasureNote(tuple(note["texts"]), tuple(map(bytes.fromhex, note["vectors"])))

    def _add_note(self, texts: Sequence[str], vectors: Sequence[bytes]) -> None:
        """Files are to be cleaned of these too."""
        before = self._note() or ErasureNote((), ())
        found = [vector.hex() for vector in (*before.vectors, *vectors)]
        note = json.dumps({"texts": [*before.texts, *texts], "vectors": found})
        self.of.database.set_meta(_ERASING, note)

    def _holds(self, text: str) -> bool:
        """Whether anything that is kept, or names a kind of it, holds exactly this text."""
        return any(
            self.of.database.run(f"SELECT 1 FROM {table} WHERE instr({column}, ?) > 0 LIMIT 1", text)
            for table, columns in _TEXTS.items()
            for column in columns
        ) or any(text in statement for statement in schema.statements())

    def _end(self) -> None:
        """Leave no byte of what was taken out, nor of the note, in the database."""
        with self.of.database.write() as tx:
            self.of.index.words.optimize(tx)
            self.of.database.set_meta(_ERASING, None)
        self.of.database.vacuum()

    # -- files ---------------------------------------------------------------------------------------------------

    def _remove_copies(self, needles: proof.Needles) -> None:
        """Copies that the program itself made: before a step of the schema, and images laid aside."""
        for copy in [*self.folders[0].glob("*.before-*"), *self.of.personas.asides()]:
            if not needles.held_by(copy):
                continue
            if copy.is_dir():
                shutil.rmtree(copy)
            else:
                copy.unlink()

    def _prove(self, needles: proof.Needles, skipped: int, vectors: dict[str, bytes]) -> Proof:
        found = proof.traces(self.folders, needles.forms | vectors, self.besides)
        files = sum(1 for _ in proof.files_below(self.folders, self.besides))
        return Proof(files, len(needles.texts) + len(vectors), skipped, tuple(found))


def _each(chapters: Iterable[Chapter]) -> tuple[Chapter, ...]:
    """Chapters that have a text, each once."""
    return tuple({one.text_id: one for one in chapters if one.text}.values())


def _said_by(relation: Relation) -> str:
    return same(f"{relation.source}\n{relation.relation}\n{relation.target}")
