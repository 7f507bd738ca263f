"""Erasing: what is chosen, taken out in one commit, and then out of every file.

    choose -> show and ask (not here) -> take_out, one commit -> clean_files -> proof

The commit leaves a note of what is being erased, so that an erasure that was killed after it is finished at the next
start. What was made from an erased turn goes with it: the summary of its session, the text of the chapters over that,
the notes and facts that rest on it, and the lines that hold it or rest on it from every version of the images. The
versions stay, and so does every other line. What is to be made anew from what is left is noted in the same commit. What
other people's memories hold is neither searched nor touched, wherever they lie.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TypedDict

from domain.facts import Fact, Note, Relation
from domain.records import IMAGES, ErasureScope, Session, Summary, Turn
from domain.tree import Chapter
from storage import proof
from storage.image_lines import Filtered, LineFilter, Tokens, same
from storage.images import Images
from storage.store import ErasureNote, Store

#: Cleans what others wrote of these texts.
Scrub = Callable[[proof.Needles], None]
_AT_ONCE = 5_000


class _Known(TypedDict):
    """What of an ``ErasureScope`` is known rather than said."""

    notes: tuple[Note, ...]
    facts: tuple[Fact, ...]
    relations: tuple[Relation, ...]


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

    ``tokens`` cuts a text into words; ``scrubbers`` clean what others write: prompt history, logs. ``besides`` is what
    lies below the folders and belongs to somebody else.
    """

    store: Store
    images: Images
    folders: Sequence[Path]
    rebuild_index: Callable[[], None]
    tokens: Tokens
    scrubbers: Sequence[Scrub] = ()
    besides: Sequence[Path] = ()
    _one_at_a_time: Lock = field(default_factory=Lock)

    # -- choosing ----------------------------------------------------------------------------------------------

    def turn(self, text_id: str) -> ErasureScope:
        """One turn and what was made from it."""
        return self.turns([text_id])

    def turns(self, text_ids: Sequence[str]) -> ErasureScope:
        """These turns and what was made from them."""
        return self._with_derived(self.store.turns_with_ids(text_ids))

    def round(self, text_id: str) -> ErasureScope:
        """The round that a turn belongs to, and what was made from it."""
        turns = [
            other
            for turn in self.store.turns_with_ids([text_id])
            for other in self.store.turns_of(turn.session_id)
            if other.round == turn.round
        ]
        return self._with_derived(turns)

    def session(self, session_id: str) -> ErasureScope:
        """A whole session and what was made from it."""
        session = self.store.session(session_id)
        if session is None:
            return ErasureScope()
        chosen = self._with_derived(self.store.turns_of(session_id), [session_id])
        return replace(chosen, sessions=(session,) if session.status == "archived" else ())

    def withheld(self) -> ErasureScope:
        """Everything that the person asked to have forgotten, and what was made from it."""
        return self._with_derived(self.store.withheld())

    def everything(self) -> ErasureScope:
        """All that was ever said here, and what was made from it."""
        turns = list(self._every_turn())
        flying = [one.session_id for one in self.store.every_in_flight()]
        summarised = [one.session_id for one in self.store.every_summary()]
        chosen = self._with_derived(turns, [*summarised, *flying])
        return replace(
            chosen,
            in_flight=tuple(flying),
            pins=tuple(pin for image in IMAGES for pin in self.store.pins(image)),
            chapters=_each(self.store.chapters()),
            file_names=tuple(one.name for one in self.store.imports()),
            **self._known(turns, self.store.every_note(), self.store.facts()),
        )

    def words(self, words: str) -> ErasureScope:
        """Everything that holds these words, in any case, and what was made from it."""
        wanted = same(words)
        if not wanted:
            return ErasureScope()
        turns = [turn for turn in self._every_turn() if wanted in same(f"{turn.speaker}\n{turn.words}")]
        holding = [summary for summary in self.store.every_summary() if wanted in same(summary.summary)]
        chosen = self._with_derived(turns, words=words.strip())
        summaries = {summary.text_id: summary for summary in (*chosen.summaries, *holding)}
        pins = [pin for image in IMAGES for pin in self.store.pins(image) if wanted in same(pin)]
        notes, facts = self._known_with(wanted)
        chapters = [one for one in self.store.chapters() if wanted in same(one.text)]
        flying = (one for one in self.store.every_in_flight() if wanted in same(one.text + one.partial))
        return replace(
            chosen,
            summaries=tuple(summaries.values()),
            pins=tuple(pins),
            in_flight=tuple(one.session_id for one in flying),
            chapters=_each((*chosen.chapters, *chapters)),
            file_names=tuple(one.name for one in self.store.imports() if wanted in same(one.name)),
            **self._known(turns, notes, facts),
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
            chapters=_each((*now.chapters, *self.store.chapters([one.text_id for one in chosen.chapters]))),
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
            in_flight=tuple(session_id for session_id in whole if self.store.in_flight(session_id)),
            sessions=emptied,
            words=words,
            chapters=self._chapters_over(turns, summaries),
            **self._known(turns),
        )

    def _emptied(self, turns: Sequence[Turn]) -> tuple[Session, ...]:
        """The archived sessions of which nothing is left without these turns. An active one stays, empty."""
        going = {turn.text_id for turn in turns}
        touched = (self.store.session(one) for one in dict.fromkeys(turn.session_id for turn in turns))
        archived = [session for session in touched if session and session.status == "archived"]
        return tuple(
            one for one in archived if {turn.text_id for turn in self.store.turns_of(one.session_id)} <= going
        )

    def _chapters_over(self, turns: Sequence[Turn], summaries: Sequence[Summary]) -> tuple[Chapter, ...]:
        """The chapters that tell of these."""
        above = self.store.chapters_above(
            [turn.text_id for turn in turns], [summary.session_id for summary in summaries]
        )
        return tuple(one for one in above if one.text)

    def _known(self, turns: Sequence[Turn], notes: Sequence[Note] = (), facts: Sequence[Fact] = ()) -> _Known:
        """All that is known from these turns, and these notes and facts besides, with what stands in the facts."""
        ids = [turn.text_id for turn in turns]
        resting = [fact for found in self.store.facts_of_turns(ids).values() for fact in found]
        told = {fact.text_id: fact for fact in (*resting, *facts)}
        return _Known(
            notes=tuple({note.text_id: note for note in (*self.store.notes_of_turns(ids), *notes)}.values()),
            facts=tuple(told.values()),
            relations=tuple(self.store.relations_of(list(told))),
        )

    def _known_with(self, wanted: str) -> tuple[list[Note], list[Fact]]:
        """The notes and the facts that hold these words."""
        related = {one.fact.text_id for one in self.store.relations(current=False) if wanted in _said_by(one)}
        notes = [note for note in self.store.every_note() if wanted in same(f"{note.text}\n{note.topic}")]
        facts = [fact for fact in self.store.facts() if fact.text_id in related or wanted in same(fact.words)]
        return notes, facts

    def _summary_of(self, session_id: str, turns: Sequence[Turn], whole: Sequence[str]) -> Summary | None:
        """The summary of a session if it was made from one of these turns."""
        summary = self.store.summary(session_id)
        if summary is None or session_id in whole:
            return summary
        made_from = (
            turn.folded or turn.round <= summary.upto_round for turn in turns if turn.session_id == session_id
        )
        return summary if any(made_from) else None

    def _filtered(self, turns: Sequence[Turn], sessions: Sequence[str], words: str) -> list[Filtered]:
        """What becomes of both images; an edit by hand has become a version by then."""
        self.images.publish()
        found = []
        for image in IMAGES:
            pins = self.store.pins(image)
            rests: dict[str, set[str]] = defaultdict(set)
            for one in self.store.every_line_evidence(image):
                rests[one.line].update(one.turns)
            rule = LineFilter(self.tokens, words, turns, sessions, self.store.turns_of, pins, rests)
            found.append(rule.filtered(self.images.versions(image)))
        return found

    def _every_turn(self) -> Iterator[Turn]:
        last = 0
        while turns := self.store.turns_after(last, _AT_ONCE):
            yield from turns
            last = turns[-1].seq

    # -- taking out, cleaning and proving ----------------------------------------------------------------------

    def erase(self, chosen: ErasureScope) -> Proof:
        """Erase what was chosen: in one commit, then out of every file, then proven.

        Whoever finishes what is unfinished waits: the proof is of this one, and of what was left before it.
        """
        with self._one_at_a_time:
            self.store.take_out(chosen)
            return self._finish()

    def take_out(self, chosen: ErasureScope) -> None:
        """Remove all that was chosen, in one commit, with a note that the files have still to be cleaned."""
        with self._one_at_a_time:
            self.store.take_out(chosen)

    def unfinished(self) -> bool:
        """Whether an erasure was committed and its files have still to be cleaned."""
        return self.store.erasure_note() is not None

    def finish(self) -> Proof | None:
        """Finish what is unfinished; None when nothing is."""
        with self._one_at_a_time:
            return self._finish() if self.unfinished() else None

    def _finish(self) -> Proof:
        """Clean every file of what was taken out, and prove it. Safe to repeat.

        The note goes last, when all other files are clean: until then a start finds it and cleans again.
        """
        note = self.store.erasure_note() or ErasureNote((), ())
        texts = tuple(text for text in note.texts if not self._kept_elsewhere(text))
        vectors = {f"vector {number}": raw for number, raw in enumerate(note.vectors)}
        self.images.publish()
        self.rebuild_index()
        needles = proof.Needles(texts)
        self._remove_copies(needles)
        for scrub in self.scrubbers:
            scrub(needles)
        self.store.end_erasure()
        return self._prove(needles, len(note.texts) - len(texts), vectors)

    def _kept_elsewhere(self, text: str) -> bool:
        """Whether another memory holds the same words, so that finding them would prove nothing."""
        if len(text.encode("utf-8", "surrogatepass")) < proof.SHORTEST:
            return True
        return self.store.holds(text)

    def _remove_copies(self, needles: proof.Needles) -> None:
        """Copies that the program itself made: before a step of the schema, and images laid aside."""
        for copy in [*self.folders[0].glob("*.before-*"), *self.images.asides()]:
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
