"""Erasure: what is chosen is removed in one commit and then from every file, with

    choose -> show and ask (not here) -> remove, one commit -> finish, with proof

The commit stores a note of what is being erased, so that an erasure that was killed after it is finished at the next
start. With a message everything made from it is removed: the summary of its session, the text of the chapters above,
its notes and facts, and the persona lines that contain it or are based on it, in every version. The versions and all
other lines stay; what can be rebuilt is requested in the same commit. Memories of other people are neither searched
nor touched, wherever they lie.

The proof is a search of every file: for a text as UTF-8, as UTF-16 of both byte orders, JSON-escaped, and in base64 at
each of its three alignments; for a vector as its bytes in float16 and float32. A child process reads the files. In a
database of many it is also a search of every column of every row that the person has in any table; the files of its
server are not searched.

``settle_copy`` is for a copy of the memory that takes the place of the present one. The copy knows what the present
memory knows of what was erased in it; nothing of that comes back unless the person says so; what was hidden stays
hidden. All of it is done before the copy is in place.
"""

from __future__ import annotations

import base64
import json
import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypedDict

from domain import errors
from domain.facts import Fact, Note, Relation
from domain.file_reader import find_bytes
from domain.receipts import ErasureReason
from domain.records import PERSONAS, ErasureScope, Message, Session, Summary
from domain.tree import Chapter, Leaf
from language.words import tokens
from storage.engine import Stamp, read_meta, set_meta
from storage.erased import ErasedRecord, ErasedTexts, SaidMessage
from storage.facts import Facts
from storage.messages import Messages
from storage.personas import Filtered, LineFilter, normalise
from storage.repositories import Repositories
from storage.rounds import Rounds
from storage.sqlite import schema
from storage.sqlite.database import SqliteDatabase

if TYPE_CHECKING:
    from storage.imports import Imports

#: In ``meta``: what is being erased.
_ERASING = "erasing"
#: Where words are that somebody may ask to have erased.
_TEXTS = {
    "conversation": ("text", "speaker"),
    "message_metadata": ("key", "value"),
    "import_source": ("name", "kind"),
    "summary": ("summary",),
    "chapter": ("text",),
    "persona": ("text",),
    "pin": ("text",),
    "note": ("text", "topic"),
    "fact": ("text", "subject", "value", "keywords", "persons", "entities", "location", "slot_subject"),
    "relation": ("source", "target"),
    "open_matter": ("key",),
    "erasure": ("days",),
}
_AT_ONCE = 5_000
#: Seconds that the proof waits for other programs to end what they do with what was erased.
_PATIENCE = 10.0
#: A form of fewer bytes is in some file by chance and would prove nothing.
SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Trace:
    """A form of something erased that is still in a file, or in a table of a database of many."""

    path: Path
    form: str


@dataclass(frozen=True)
class Needles:
    """Texts that are to be in no file any more."""

    texts: tuple[str, ...]

    @property
    def forms(self) -> dict[str, bytes]:
        """Every form of every text, by a name."""
        return {
            f"{number} {name}": needle for number, text in enumerate(self.texts) for name, needle in forms(text).items()
        }

    def are_in(self, path: Path) -> bool:
        """Whether a file, or any file below a folder, holds one of them."""
        return bool(find_traces([path], self.forms))


#: Cleans what others wrote of these texts.
Scrub = Callable[[Needles], None]


class _Derived(TypedDict):
    """What of an ``ErasureScope`` is known rather than said."""

    notes: tuple[Note, ...]
    facts: tuple[Fact, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class ErasureNote:
    """What was removed and must be in no file any more: texts, and vectors as they are in files."""

    texts: tuple[str, ...]
    vectors: tuple[bytes, ...]


@dataclass(frozen=True)
class Proof:
    """What the search of every file found afterwards; in a database of many also that of every ``tables``.

    ``skipped`` counts texts that other memories hold too, or that are too short to prove anything. ``behind`` are other
    programs, with ``pid`` and ``kind``, that still worked with what they had read before: they may have written since.
    ``removed`` is what was chosen, with what had been made from it by then.
    """

    files: int
    searched: int
    skipped: int
    traces: tuple[Trace, ...] = ()
    behind: tuple[Mapping[str, object], ...] = ()
    removed: ErasureScope = field(default_factory=ErasureScope, repr=False)
    tables: int = 0

    @property
    def places(self) -> int:
        """How many files and tables were searched."""
        return self.files + self.tables


@dataclass
class Eraser:
    """Erases in one data directory.

    ``scrubbers`` clean what others write: prompt history, logs. ``besides`` is what lies below the folders and belongs
    to somebody else.
    """

    of: Repositories
    rounds: Rounds
    folders: Sequence[Path]
    rebuild_index: Callable[[], None]
    scrubbers: Sequence[Scrub] = ()
    besides: Sequence[Path] = ()
    _one_at_a_time: Lock = field(default_factory=Lock)

    @property
    def _imports(self) -> Imports:
        from storage.imports import Imports

        return Imports(self.of, self.rounds)

    # -- choosing ----------------------------------------------------------------------------------------------

    def scope_of_message(self, text_id: str) -> ErasureScope:
        """One turn and what was made from it."""
        return self.scope_of_messages([text_id])

    def scope_of_memory(self, text_id: str) -> ErasureScope:
        """What an erasure of one memory would take: a message; all that a fact rests on; of a summary its session.

        Nothing where there is no such memory.
        """
        if facts := self.of.facts.with_ids([text_id]):
            return self.scope_of_messages(facts[0].messages)
        if summaries := self.of.summaries.with_ids([text_id]):
            return self.scope_of_session(summaries[0].session_id)
        return self.scope_of_message(text_id)

    def scopes_of_leaves(self, leaves: Sequence[Leaf]) -> list[ErasureScope]:
        """What erasures of these would take. What would take a pinned line along stays."""
        messages = [one.name for one in leaves if not one.is_session]
        chosen = self.scope_of_messages(messages)
        if self._takes_pinned(chosen):
            chosen = self.scope_of_messages(
                [one for one in messages if not self._takes_pinned(self.scope_of_messages([one]))]
            )
        whole = [self.scope_of_session(one.name) for one in leaves if one.is_session]
        return [one for one in (chosen, *whole) if one and not self._takes_pinned(one)]

    def _takes_pinned(self, chosen: ErasureScope) -> bool:
        pinned = [normalise(pin).strip() for persona in PERSONAS for pin in self.of.personas.pins(persona)]
        return any(pin in normalise(line) for line in (*chosen.lines, *chosen.pins) for pin in pinned)

    def scope_of_messages(self, text_ids: Sequence[str]) -> ErasureScope:
        """These turns and what was made from them."""
        return self._with_derived(self.of.messages.with_ids(text_ids))

    def scope_of_round(self, text_id: str) -> ErasureScope:
        """The round that a turn belongs to, and what was made from it."""
        messages = [
            other
            for message in self.of.messages.with_ids([text_id])
            for other in self.of.messages.of_session(message.session_id)
            if abs(other.round) == abs(message.round)
        ]
        return self._with_derived(messages)

    def scope_of_session(self, session_id: str) -> ErasureScope:
        """A whole session and what was made from it."""
        session = self.of.sessions.find(session_id)
        if session is None:
            return ErasureScope()
        chosen = self._with_derived(self.of.messages.of_session(session_id), [session_id])
        return replace(chosen, sessions=(session,) if session.status == "archived" else ())

    def scope_of_hidden(self) -> ErasureScope:
        """Everything that the person asked to have forgotten, and what was made from it."""
        return self._with_derived(self.of.messages.hidden())

    def scope_of_words(self, words: str) -> ErasureScope:
        """Everything that holds these words, in any case, and what was made from it."""
        wanted = normalise(words)
        if not wanted:
            return ErasureScope()
        messages = [one for one in self._every_message() if wanted in normalise(f"{one.speaker}\n{one.words}")]
        holding = [summary for summary in self.of.summaries.all() if wanted in normalise(summary.summary)]
        chosen = self._with_derived(messages, words=words.strip())
        summaries = {summary.text_id: summary for summary in (*chosen.summaries, *holding)}
        pins = [pin for persona in PERSONAS for pin in self.of.personas.pins(persona) if wanted in normalise(pin)]
        notes, facts = self._known_with(wanted)
        chapters = [one for one in self.of.chapters.all(pages=True) if wanted in normalise(one.text)]
        flying = (one for one in self.of.sessions.every_in_flight() if wanted in normalise(one.text + one.partial))
        return replace(
            chosen,
            summaries=tuple(summaries.values()),
            pins=tuple(pins),
            in_flight=tuple(one.session_id for one in flying),
            chapters=_distinct_chapters((*chosen.chapters, *chapters)),
            file_names=tuple(one.name for one in self._imports.all() if wanted in normalise(one.name)),
            **self._derived_from(messages, notes, facts),
        )

    def scope_of_everything(self) -> ErasureScope:
        """All that was ever said here, and what was made from it."""
        messages = self._every_message()
        flying = [one.session_id for one in self.of.sessions.every_in_flight()]
        summarised = [one.session_id for one in self.of.summaries.all()]
        chosen = self._with_derived(messages, [*summarised, *flying])
        return replace(
            chosen,
            in_flight=tuple(flying),
            pins=tuple(pin for persona in PERSONAS for pin in self.of.personas.pins(persona)),
            chapters=_distinct_chapters(self.of.chapters.all(pages=True)),
            file_names=tuple(one.name for one in self._imports.all()),
            **self._derived_from(messages, self.of.notes.all(), self._every_fact()),
        )

    def find_erased(self) -> list[Message]:
        """The messages that are here although they were erased, in another copy of this memory."""
        found: list[Message] = []
        for messages in self.of.messages.batches(_AT_ONCE):
            erased = self.of.erased.recognise([SaidMessage.of(message) for message in messages])
            found += (message for message, is_erased in zip(messages, erased, strict=True) if is_erased)
        return found

    def refresh_scope(self, chosen: ErasureScope) -> ErasureScope:
        """The selection with what was made from its turns since it was chosen: a save may have ended meanwhile."""
        now = self._with_derived(chosen.messages, [session.session_id for session in chosen.sessions], chosen.words)
        summaries = {summary.text_id: summary for summary in (*chosen.summaries, *now.summaries)}
        return replace(
            chosen,
            summaries=tuple(summaries.values()),
            versions=now.versions,
            left=now.left,
            lines=now.lines,
            chapters=_distinct_chapters(
                (*now.chapters, *self.of.chapters.all([one.text_id for one in chosen.chapters]))
            ),
            **self._derived_from(chosen.messages, chosen.notes, chosen.facts),
        )

    def _with_derived(self, messages: Sequence[Message], whole: Sequence[str] = (), words: str = "") -> ErasureScope:
        emptied = self._emptied_sessions(messages)
        whole = [*whole, *(session.session_id for session in emptied)]
        sessions = list(dict.fromkeys([*(message.session_id for message in messages), *whole]))
        summaries = [summary for session_id in sessions if (summary := self._summary_of(session_id, messages, whole))]
        personas = self._filter_personas(messages, sessions, words)
        return ErasureScope(
            tuple(messages),
            tuple(summaries),
            tuple(version for persona in personas for version in persona.versions),
            tuple(text for persona in personas for text in persona.left),
            tuple(dict.fromkeys(line for persona in personas for line in persona.lines)),
            in_flight=tuple(session_id for session_id in whole if self.of.sessions.in_flight(session_id)),
            sessions=emptied,
            words=words,
            chapters=_distinct_chapters(
                self.of.chapters.chapters_above(
                    [message.text_id for message in messages], [summary.session_id for summary in summaries]
                )
            ),
            **self._derived_from(messages),
        )

    def _every_fact(self) -> list[Fact]:
        return [*self.of.facts.all(), *self.of.facts.inferred(current=None)]

    def _every_message(self) -> list[Message]:
        return [message for messages in self.of.messages.batches(_AT_ONCE) for message in messages]

    def _emptied_sessions(self, messages: Sequence[Message]) -> tuple[Session, ...]:
        """The archived sessions that are empty without these turns. An active one stays, empty."""
        going = {message.text_id for message in messages}
        touched = (self.of.sessions.find(one) for one in dict.fromkeys(message.session_id for message in messages))
        archived = [session for session in touched if session and session.status == "archived"]
        said = {one: {said.text_id for said in self.of.messages.of_session(one.session_id)} for one in archived}
        return tuple(one for one in archived if said[one] <= going)

    def _derived_from(
        self, messages: Sequence[Message], notes: Sequence[Note] = (), facts: Sequence[Fact] = ()
    ) -> _Derived:
        ids = [message.text_id for message in messages]
        resting = [fact for found in self.of.facts.of_messages(ids).values() for fact in found]
        resting += [fact for fact in self.of.facts.inferred(current=None) if not {*fact.messages}.isdisjoint(ids)]
        by_id = {fact.text_id: fact for fact in (*resting, *facts)}
        return _Derived(
            notes=tuple({note.text_id: note for note in (*self.of.notes.of_messages(ids), *notes)}.values()),
            facts=tuple(by_id.values()),
            relations=tuple(self.of.relations.of_facts(list(by_id))),
        )

    def _known_with(self, wanted: str) -> tuple[list[Note], list[Fact]]:
        related = {one.fact.text_id for one in self.of.relations.all(current=False) if wanted in _said_by(one)}
        notes = [note for note in self.of.notes.all() if wanted in normalise(f"{note.text}\n{note.topic}")]
        facts = [one for one in self._every_fact() if one.text_id in related or wanted in normalise(one.all_words)]
        return notes, facts

    def _summary_of(self, session_id: str, messages: Sequence[Message], whole: Sequence[str]) -> Summary | None:
        """The summary of a session if it was made from one of these turns."""
        summary = self.of.summaries.of(session_id)
        if summary is None or session_id in whole:
            return summary
        own = [message for message in messages if message.session_id == session_id]
        return summary if any(one.compacted or one.round <= summary.upto_round for one in own) else None

    def _filter_personas(self, messages: Sequence[Message], sessions: Sequence[str], words: str) -> list[Filtered]:
        """What becomes of both personas; an edit by hand has become a version by then."""
        self.of.personas.settle()
        found = []
        for persona in PERSONAS:
            pins = self.of.personas.pins(persona)
            rests: dict[str, set[str]] = defaultdict(set)
            for one in self.of.personas.versions.every_line_evidence(persona):
                rests[one.line].update(one.messages)
            rule = LineFilter(self.of.index.tokens, words, messages, sessions, self.of.messages.of_session, pins, rests)
            found.append(rule.filter_versions(self.of.personas.history(persona)))
        return found

    # -- removing, cleaning and proving ----------------------------------------------------------------------

    def erase(self, chosen: ErasureScope, reason: ErasureReason = "person") -> Proof:
        """Erase what was chosen and what was made from it: in one commit, then out of every file, then proven.

        Whoever finishes what is unfinished waits: the proof is of this one, and of what was left before it.
        """
        with self._one_at_a_time:
            with self.of.database.write():
                chosen = self.refresh_scope(chosen)
                self.commit(chosen, reason)
            return replace(self._clean_files(), removed=chosen)

    def remove(self, chosen: ErasureScope) -> None:
        """Remove what is above the limit, in one commit, with a note that the files have still to be cleaned.

        ``finish`` cleans them. What another erasure took along meanwhile is not put back.
        """
        with self._one_at_a_time, self.of.database.write():
            self.commit(self.refresh_scope(chosen), "limit")

    def is_unfinished(self) -> bool:
        """Whether an erasure was committed and its files have still to be cleaned."""
        return self._read_note() is not None

    def finish(self) -> Proof | None:
        """Finish what is unfinished; None when nothing is."""
        with self._one_at_a_time:
            return self._clean_files() if self.is_unfinished() else None

    def _clean_files(self) -> Proof:
        """Clean every file of what was removed, and prove it. Safe to repeat.

        The note goes last, when all other files are clean: until then a start finds it and cleans again.
        """
        note, receipts = self._read_note() or ErasureNote((), ()), self.of.erased.unproven()
        # What is very short, or in another memory too, would prove nothing where it is found.
        texts = tuple(text for text in note.texts if len(_utf8(text)) >= SHORTEST and not self._still_stores(text))
        vectors = {f"vector {number}": raw for number, raw in enumerate(note.vectors)}
        self.of.personas.settle()
        self.rebuild_index()
        needles = Needles(texts)
        self._remove_copies(needles)
        for scrub in self.scrubbers:
            scrub(needles)
        self._clean_database()
        behind = self.of.epoch.await_others(_PATIENCE)
        sought = needles.forms | vectors
        files, found = find_bytes(self.folders, sought, self.besides)
        tables, rows = self.of.database.find_traces(sought)
        traces = tuple(Trace(path, form) for path, form in [*found, *((Path(table), form) for table, form in rows)])
        searched, skipped = len(texts) + len(vectors), len(note.texts) - len(texts)
        proof = Proof(files, searched, skipped, traces, tuple(behind), tables=tables)
        with self.of.database.write() as tx:
            self.of.erased.record_proof(tx, receipts, proof.places, proof.searched, len(proof.traces))
        return proof

    def commit(self, chosen: ErasureScope, reason: ErasureReason = "person") -> None:
        """Remove all that was chosen, with a receipt; note that files are to be cleaned, and what is to be rebuilt.

        What a person erased is recognised later. What exceeded the limit may come again.
        """
        texts: list[Message | Summary] = [*chosen.messages, *chosen.summaries]
        going = {session.session_id for session in chosen.sessions}
        with self.of.database.write() as tx:
            self.of.epoch.advance()
            self.of.erased.add_receipt(tx, chosen, reason)
            if reason == "person":
                self.of.erased.add_scope(tx, chosen)
            vectors = self.of.index.embeddings.bytes_of([text.text_id for text in texts])
            for session_id in chosen.affected:
                self.of.rebuilds.ask_again(tx, session_id)
            for summary in (one for one in chosen.summaries if one.session_id not in going):
                self.of.rebuilds.request(tx, "summary", summary.session_id, summary.timestamp)
            self.rounds.forget_titles(tx, [*chosen.affected, *going])
            self.rounds.remove(tx, chosen.messages)
            for summary in chosen.summaries:
                self.of.summaries.remove(tx, summary)
            self.of.chapters.void(tx, [chapter.text_id for chapter in chosen.chapters])
            known = [[one.text_id for one in chosen.notes], [one.text_id for one in chosen.facts]]
            self.of.fact_log.remove_named(tx, *known)
            self.of.saves.drop(tx)
            self.of.personas.versions.cut(tx, zip(chosen.versions, chosen.left, strict=True))
            self.of.personas.versions.follow_lines(tx, chosen.lines)
            for pin, persona in product(chosen.pins, PERSONAS):
                self.of.personas.versions.remove_pin(tx, persona, pin)
            tx.many("DELETE FROM in_flight WHERE session_id = ?", [(one,) for one in chosen.in_flight])
            tx.do("UPDATE in_flight SET partial = '' WHERE partial <> ''")  # replies to prompts with what goes
            self.of.steps.drop(tx, "save")  # they contain personas as they were
            self.of.steps.drop(tx, "tools")
            self._imports.forget_names(tx, chosen.file_names)
            for session_id in going:
                self.rounds.remove_session(tx, session_id)
            self._add_note(chosen.texts, vectors)

    def _read_note(self) -> ErasureNote | None:
        written = read_meta(self.of.database, _ERASING)
        if written is None:
            return None
        note = json.loads(written)
        return ErasureNote(tuple(note["texts"]), tuple(map(bytes.fromhex, note["vectors"])))

    def _add_note(self, texts: Sequence[str], vectors: Sequence[bytes]) -> None:
        before = self._read_note() or ErasureNote((), ())
        found = [vector.hex() for vector in (*before.vectors, *vectors)]
        note = json.dumps({"texts": [*before.texts, *texts], "vectors": found})
        set_meta(self.of.database, _ERASING, note)

    def _still_stores(self, text: str) -> bool:
        """Whether anything that is kept, or names a kind of it, holds exactly this text."""
        return any(
            self.of.database.run(f"SELECT 1 FROM {table} WHERE instr({column}, ?) > 0 LIMIT 1", text)
            for table, columns in _TEXTS.items()
            for column in columns
        ) or any(text in statement for statement in schema.schema_statements())

    def _clean_database(self) -> None:
        """Leave no byte of what was removed, nor of the note, in the database."""
        with self.of.database.write() as tx:
            self.of.index.words.optimize(tx)
            set_meta(self.of.database, _ERASING, None)
            # A search that is cut short from here on is not repeated, and the next one is of something else.
            self.of.erased.record_proof(tx, self.of.erased.unproven(), 0, 0, 0)
        self.of.database.vacuum()

    def _remove_copies(self, needles: Needles) -> None:
        """Copies that the program itself made: before a step of the schema, and personas laid aside."""
        for copy in [*self.folders[0].glob("*.before-*"), *self.of.personas.replaced_files()]:
            if not needles.are_in(copy):
                continue
            if copy.is_dir():
                shutil.rmtree(copy)
            else:
                copy.unlink()


def _distinct_chapters(chapters: Iterable[Chapter]) -> tuple[Chapter, ...]:
    """Chapters that have a text, each once."""
    return tuple({one.text_id: one for one in chapters if one.text}.values())


def _said_by(relation: Relation) -> str:
    return normalise(f"{relation.source}\n{relation.relation}\n{relation.target}")


# -- proof -------------------------------------------------------------------------------------------------------


def forms(text: str) -> dict[str, bytes]:
    """The bytes by which a text can be found, by the name of their form."""
    plain = _utf8(text)
    found = {
        "utf-8": plain,
        "utf-16le": text.encode("utf-16-le", "surrogatepass"),
        "utf-16be": text.encode("utf-16-be", "surrogatepass"),
        "json": json.dumps(text)[1:-1].encode(),
        "json-unicode": json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
    }
    for shift in range(3):
        # The base64 characters that depend on the text alone when it begins so far into a group of three bytes.
        coded = base64.b64encode(bytes(shift) + plain)
        found[f"base64+{shift}"] = coded[(shift * 8 + 5) // 6 : (shift + len(plain)) * 8 // 6]
    return {name: needle for name, needle in found.items() if len(needle) >= SHORTEST}


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def find_traces(paths: Iterable[Path], needles: Mapping[str, bytes], besides: Sequence[Path] = ()) -> list[Trace]:
    """Every file of these and below these folders that still holds a needle, and which; but for those ``besides``."""
    return [Trace(path, form) for path, form in find_bytes(paths, needles, besides)[1]]


# -- a copy that takes the place of the memory

#: Whether to leave out so many things that were erased; None where the present memory cannot be read.
LeaveOut = Callable[[int | None], bool]


def settle_copy(copy: Path, present: Path, stamp: Stamp, log: logging.Logger, leave_out: LeaveOut) -> None:
    """Take over what is known of erasures, and leave out of the copy what was erased, or let it be erased no more."""
    if not present.exists():
        return
    try:
        database = SqliteDatabase(present, log)
    except errors.StorageError:  # it may be damaged, which is why a backup is restored
        leave_out(None)
        return
    with closing(database):
        record = ErasedTexts(database, stamp).record()
        if record.receipts or record.digests or record.hidden:
            _settle(copy, Facts(database, Messages(database)), record, stamp, log, leave_out)


def _settle(
    copy: Path, present: Facts, record: ErasedRecord, stamp: Stamp, log: logging.Logger, leave_out: LeaveOut
) -> None:
    of = Repositories(copy.parent, tokens, stamp, log)
    with closing(of.database):
        with of.database.write() as tx:
            of.erased.take_over(tx, record)
        rounds = Rounds(of)
        eraser = Eraser(of, rounds, [copy.parent], lambda: None)
        messages, wrong = _find_erased(eraser, present), _find_rejected(of, present)
        if (messages or wrong) and leave_out(len(messages) + len(wrong)):
            if messages:
                eraser.erase(eraser.scope_of_messages([message.text_id for message in messages]), "restore")
            for fact in wrong:
                of.fact_log.correct_by_hand(fact.text_id, None)
            with of.database.write() as tx:  # what is rejected again was rejected then
                of.erased.take_over(tx, record)
        elif messages or wrong:
            with of.database.write() as tx:
                of.erased.remove(tx, [SaidMessage.of(message) for message in messages])
                of.erased.remove_values(tx, wrong)
        rounds.hide([message.text_id for message in of.messages.with_ids(record.hidden) if not message.hidden])


def _find_erased(eraser: Eraser, present: Facts) -> list[Message]:
    """The messages that were erased; one that is still in the present memory was not, whatever it says."""
    found = eraser.find_erased()
    there = {message.text_id for message in present.messages.with_ids([message.text_id for message in found])}
    return [message for message in found if message.text_id not in there]


def _find_rejected(of: Repositories, present: Facts) -> list[Fact]:
    """The facts whose value was rejected, but for those in the present memory."""
    facts = [one for one in of.facts.all() if not one.corrected]
    rejected = [text_id for text_id, verdict in of.erased.find_values(facts).items() if verdict == "rejected"]
    there = {one.text_id for one in present.with_ids(rejected) if not one.corrected}
    return [one for one in facts if one.text_id in rejected and one.text_id not in there]
