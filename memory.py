"""The memory: the one door to all that is stored.

Sessions, conversations and summaries lie in SQLite, the only truth; their vectors in LanceDB, an index that may be lost
at any time; the two images in plain text files. One object owns one data directory. Nothing here prints, reads a
terminal, or knows that there is only one person.

Promises: a method that writes is one commit or nothing; what was removed never comes back, since every hit of an index
is looked up in SQLite before it is used; trouble with embeddings or an index never stops anything but itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from domain import errors
from domain.recollection import RecallLimits, Recollection
from domain.records import (
    Finish,
    Image,
    ImageVersion,
    InFlight,
    Origin,
    Removed,
    Role,
    Round,
    Session,
    Summary,
    Turn,
)
from domain.vectors import Embedder
from recall.embedding_text import TURNS_BEFORE, summary_key, turn_key
from recall.finder import Finder
from recall.hashed_embedder import HashedEmbedder
from recall.ranking import weigh, weigh_hashed
from recall.words import tokens
from storage.erasure import Eraser, ErasureScope, Parts, Proof, Scrub
from storage.files import make_private_folder
from storage.images import Images
from storage.owner import Owner
from storage.sqlite.database import Database, Sql
from storage.sqlite.drafts import Drafts
from storage.sqlite.embeddings import Embeddings
from storage.sqlite.facts import Facts
from storage.sqlite.index_writer import IndexWriter
from storage.sqlite.lexicon import Lexicon
from storage.sqlite.sessions import Sessions
from storage.sqlite.turn_reader import TurnReader
from storage.vectors.index_status import IndexStatus, Missing, Progress
from storage.vectors.indexing import Indexing
from storage.vectors.table import Vectors

#: Seconds that recall waits for the index to open.
_OPENING = 4.0
#: Seconds that an erasure waits for the index to be made anew; the proof tells when that was not enough.
_SCRUB_TIMEOUT = 600.0


class Memory:
    """One data directory, opened. Raises DataInUse, Damaged, NewerSchema, ReadOnly, DiskFull.

    >>> memory = Memory(folder, embedder, clock=clock, new_id=new_id, log=log)
    >>> session, resumed = memory.resume_or_start()
    >>> memory.store_round(session.session_id, "Hello", "Hello, Ann.", now, "stop")
    """

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        log: logging.Logger,
        also_searched: Sequence[Path] = (),
        scrubbers: Sequence[Scrub] = (),
    ) -> None:
        self.folder = folder
        self._clock = clock
        self._new_id = new_id
        self._log = log
        self._closed = False
        make_private_folder(folder)
        self._owner = Owner(folder, clock)
        self._owner.acquire()
        try:
            self._furnish(embedder, also_searched, scrubbers)
        except BaseException:
            self._owner.release()
            raise

    def _furnish(self, embedder: Embedder, also_searched: Sequence[Path], scrubbers: Sequence[Scrub]) -> None:
        self.database = Database(self.folder / "memory.db", self._log)
        self.sessions = Sessions(self.database)
        self.drafts = Drafts(self.database)
        self.persona = Images(self.folder / "persona", self.database, self._clock, self._log)
        facts, embeddings = Facts(self.database), Embeddings(self.database)
        lexicon = Lexicon(self.database)
        self._index_writer = IndexWriter(self.sessions, lexicon, facts, embeddings, tokens)
        self._embedder = embedder
        self._vectors = Vectors(self.folder / "vectors", self._log)
        self.index = Indexing(self.database, embeddings, self._vectors, embedder, self.key_of, self._log)
        parts = Parts(
            self.database, self.sessions, self.drafts, self.persona, lexicon, self._index_writer, embeddings
        )
        self.eraser = Eraser(parts, [self.folder, *also_searched], self._scrub_index, scrubbers)
        weighed = weigh_hashed if embedder.model == HashedEmbedder.model else weigh
        self.finder = Finder(lexicon, self._vectors, TurnReader(self.database), self._log, weighed)

    def start(self) -> None:
        """What may take its time, after the prompt stands: the indexes, and an erasure that a crash cut short.

        It may run in a thread of its own, and is cut off by ``close``; the next start does what is left.
        """
        try:
            self.index.start()
            self.finish_erasing()
            self.finder.warm()
        except errors.StorageError:
            if not self._closed:
                raise

    def close(self, settle: float = 0.0) -> None:
        """Let the index catch up for ``settle`` seconds at the most, then let go of everything."""
        if settle:
            self.index.settle(settle)
        self._closed = True
        self.index.close()
        self._vectors.close()
        self.database.close()
        self._owner.release()

    # -- reading -----------------------------------------------------------------------------------------------

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        return self.sessions.get(session_id)

    def recent_sessions(self, limit: int = 20, offset: int = 0) -> list[Session]:
        """Sessions, newest first; a limit of -1 is none."""
        return self.sessions.newest(limit, offset)

    def session_counts(self) -> tuple[int, int]:
        """How many archived sessions and how many rounds are remembered."""
        return self.sessions.counts()

    def rounds(self, session_id: str, last: int | None = None) -> tuple[Round, ...]:
        """All rounds of a session, or its ``last`` ones, oldest first."""
        return self.sessions.rounds(session_id, last)

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds that are in the context, not yet folded, oldest first."""
        return self.sessions.context(session_id)

    def turns_of(self, session_id: str) -> list[Turn]:
        """Every turn of a session, also one whose partner was erased."""
        return self.sessions.all_turns(session_id)

    def turns(self, text_ids: Sequence[str]) -> list[Turn]:
        """The turns with these ids that are still there, in their order of time."""
        return self.sessions.turns(text_ids)

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        return self.sessions.summary(session_id)

    def summaries(self) -> list[Summary]:
        """The summaries of all sessions."""
        return self.sessions.every_summary()

    def stages(self, session_id: str) -> dict[str, str]:
        """Results of the stages of ``/save`` that are done."""
        return self.drafts.stages(session_id)

    # -- images ------------------------------------------------------------------------------------------------

    def image(self, image: Image) -> str:
        """An image as it stands now; an edit by hand has become a version by then."""
        return self.persona.read(image)

    def image_path(self, image: Image) -> Path:
        """Where a person finds the file of an image."""
        return self.persona.path(image)

    def image_versions(self, image: Image) -> list[ImageVersion]:
        """Every version of an image, oldest first."""
        return self.persona.versions(image)

    def newest_image(self, image: Image) -> ImageVersion | None:
        """The version in force, edits by hand noted; None while there has never been one."""
        return self.persona.newest(image)

    def write_image(
        self, image: Image, text: str, origin: Origin, session_id: str | None = None
    ) -> ImageVersion | None:
        """Make ``text`` the image. Returns the version in force afterwards."""
        return self.persona.write(image, text, origin, session_id)

    def restore_image(self, version: int) -> ImageVersion | None:
        """Make an older version the newest one; None when there is no such version."""
        return self.persona.restore(version)

    def pins(self, image: Image) -> tuple[str, ...]:
        """The lines that rewrites of an image must keep."""
        return self.drafts.pins(image)

    # -- what an erasure would take ----------------------------------------------------------------------------

    def scope_of_turn(self, text_id: str) -> ErasureScope:
        """One turn and what was made from it."""
        return self.eraser.turn(text_id)

    def scope_of_round(self, text_id: str) -> ErasureScope:
        """The round that a turn belongs to, and what was made from it."""
        return self.eraser.round(text_id)

    def scope_of_session(self, session_id: str) -> ErasureScope:
        """A whole session and what was made from it."""
        return self.eraser.session(session_id)

    def scope_of_words(self, words: str) -> ErasureScope:
        """Everything that holds these words, in any case, and what was made from it."""
        return self.eraser.words(words)

    def refreshed_scope(self, scope: ErasureScope) -> ErasureScope:
        """The scope with what was made from its turns since it was chosen."""
        return self.eraser.refreshed(scope)

    # -- the index of vectors ----------------------------------------------------------------------------------

    def start_index(self) -> None:
        """Begin to bring the index into order, in the background."""
        self.index.start()

    def settle_index(self, timeout: float) -> bool:
        """Wait until every text that can have its vector has it and is in the index. False when not."""
        return self.index.settle(timeout)

    def reindex(self) -> None:
        """Make the index anew from the vectors that are stored, and try texts again that were set aside."""
        self.index.reindex()

    def index_status(self) -> IndexStatus:
        """Everything about the index at this moment."""
        return self.index.status()

    def index_progress(self) -> Progress | None:
        """How far the work on the index is that takes long; None when there is none."""
        return self.index.progress()

    @property
    def index_degraded(self) -> tuple[Missing, ...]:
        """What recall has to do without now."""
        return self.index.degraded

    def problems(self) -> list[str]:
        """What an examination of the database finds; empty when all is well."""
        return self.database.problems()

    # -- sessions ----------------------------------------------------------------------------------------------

    def resume_or_start(self) -> tuple[Session, bool]:
        """The active session and whether it was there before; a new one where none is."""
        if (session := self.sessions.active()) is not None:
            return session, True
        with self.database.write() as sql:
            self._start(sql)
        session = self.sessions.active()
        assert session is not None
        return session, False

    def _start(self, sql: Sql) -> None:
        self.sessions.start(sql, self._session_id(), self._now())

    def _session_id(self) -> str:
        return f"{self._clock():%Y%m%d-%H%M}-{self._new_id()[-6:]}"

    # -- rounds ------------------------------------------------------------------------------------------------

    def in_flight(self, session_id: str) -> InFlight | None:
        """What was typed in a session and never got its reply."""
        found = self.drafts.in_flight()
        return found if found and found.session_id == session_id else None

    def note_in_flight(self, session_id: str, text: str) -> None:
        """Write down what was typed."""
        with self.database.write() as sql:
            self.drafts.note(sql, session_id, self._now(), text)

    def keep_partial(self, session_id: str, partial: str) -> None:
        """Keep what has come of the reply to what is in flight in a session."""
        with self.database.write() as sql:
            self.drafts.note_partial(sql, partial)

    def drop_in_flight(self, session_id: str) -> None:
        """Forget what was typed in a session and not answered."""
        with self.database.write() as sql:
            self.drafts.drop_in_flight(sql)

    def store_round(
        self,
        session_id: str,
        user: str,
        assistant: str,
        started: str,
        finish: Finish,
        instead_of: Round | None = None,
    ) -> Round:
        """Store a round with its words and its place in the queue, and clear what was in flight, in one commit.

        ``instead_of`` is a round that goes in the same commit.
        """
        turns: tuple[tuple[str, str, Role, str], ...] = (
            (self._new_id(), started, "user", user),
            (self._new_id(), self._now(), "assistant", assistant),
        )
        with self.database.write() as sql:
            gone = self._index_writer.remove_turns(sql, _turns_of([instead_of] if instead_of else []))
            spoken = self.sessions.add_round(sql, session_id, turns, finish)
            for turn in (spoken.user, spoken.assistant):
                self._index_writer.learn_turn(sql, turn)
            self.drafts.drop_in_flight(sql)
            self.drafts.drop_stages(sql, session_id)
        self.index.drop(gone)
        self.index.wake()
        return spoken

    def learn_fact(self, session_id: str, text: str, turns: Sequence[int]) -> None:
        """Keep a fact that was drawn from turns, given by number: a key that finds them, never handed over itself."""
        with self.database.write() as sql:
            self._index_writer.learn_fact(sql, self._new_id(), session_id, self._now(), text, turns)

    def fold(self, session_id: str, upto: int, summary: str) -> None:
        """Let the rounds up to ``upto`` leave the context into ``summary``."""
        with self.database.write() as sql:
            gone = self._put_summary(sql, session_id, summary, upto)
            self.sessions.mark_folded(sql, session_id, upto)
        self.index.drop(gone)

    def set_summary(self, session_id: str, summary: str) -> None:
        """Put a person's own wording in place of a session's summary."""
        before = self.sessions.summary(session_id)
        with self.database.write() as sql:
            gone = self._put_summary(sql, session_id, summary, before.upto_round if before else 0)
            self.drafts.drop_stages(sql, session_id)
        self.index.drop(gone)

    # -- pins --------------------------------------------------------------------------------------------------

    def pin(self, image: Image, text: str) -> None:
        """Keep a line through every rewrite of an image."""
        with self.database.write() as sql:
            self.drafts.pin(sql, image, self._now(), text)

    def unpin(self, image: Image, text: str) -> None:
        """Let rewrites of an image drop a line again."""
        with self.database.write() as sql:
            self.drafts.unpin(sql, image, text)

    # -- clearing ----------------------------------------------------------------------------------------------

    def reset(self, session_id: str) -> Removed:
        """Remove a session's turns and summary. Returns what went; ``put_back`` undoes it."""
        rounds = self.sessions.rounds(session_id)
        removed = Removed(session_id, rounds, self.sessions.summary(session_id))
        with self.database.write() as sql:
            gone = self._index_writer.remove_turns(
                sql, _turns_of(rounds)
            ) + self._index_writer.remove_summary(sql, removed.summary)
            self.drafts.drop_in_flight(sql)
            self.drafts.drop_stages(sql, session_id)
        self.index.drop(gone)
        return removed

    def put_back(self, removed: Removed) -> None:
        """Put back what a reset removed; nothing may have been said in that session since."""
        with self.database.write() as sql:
            self.sessions.restore(sql, removed.rounds, removed.summary)
            for turn in _turns_of(removed.rounds):
                self._index_writer.learn_turn(sql, turn)
            if removed.summary:
                self._index_writer.learn_summary(sql, removed.summary)
        self.index.wake()

    def undo(self, session_id: str, count: int) -> int:
        """Remove the last rounds of a session, as far as they are still in the context. Returns how many."""
        rounds = self.sessions.context(session_id)[-count:] if count > 0 else ()
        with self.database.write() as sql:
            gone = self._index_writer.remove_turns(sql, _turns_of(rounds))
            self.drafts.drop_stages(sql, session_id)
        self.index.drop(gone)
        return len(rounds)

    # -- saving ------------------------------------------------------------------------------------------------

    def keep_stage(self, session_id: str, stage: str, result: str) -> None:
        """Keep the result of a stage of ``/save``."""
        with self.database.write() as sql:
            self.drafts.keep_stage(sql, session_id, stage, self._now(), result)

    def archive(self, session_id: str, summary: str, images: Mapping[Image, str]) -> Session:
        """Archive a session with its final summary and new images, and open the next one, in one commit.

        Quotations leave the stored turns, since they are copies of older memories. Returns the new session.
        """
        rounds = self.sessions.rounds(session_id)
        with self.database.write() as sql:
            for turn in _turns_of(rounds):
                self._index_writer.unquote(sql, turn)
            last = rounds[-1].user.round if rounds else 0
            gone = self._put_summary(sql, session_id, summary, last)
            self.sessions.mark_folded(sql, session_id, last)
            for image, text in images.items():
                self.persona.record(sql, image, text, "model", session_id)
            self.drafts.drop_stages(sql, session_id)
            self.drafts.drop_in_flight(sql)
            self.sessions.close(sql, session_id, self._now())
            self._start(sql)
        self.persona.publish()
        self.index.drop(gone)
        return self.resume_or_start()[0]

    def resume(self, session_id: str, present: str) -> Session:
        """Make an archived session active again in place of the present one, which must be empty."""
        with self.database.write() as sql:
            self.sessions.remove(sql, present)
            self.sessions.reopen(sql, session_id)
        return self.resume_or_start()[0]

    # -- erasing -----------------------------------------------------------------------------------------------

    def erase(self, chosen: ErasureScope) -> Proof:
        """Erase what was chosen with ``eraser``: in one commit, then out of every file, then proven."""
        self.eraser.take_out(chosen)
        return self.eraser.finish()

    def finish_erasing(self) -> Proof | None:
        """Finish an erasure that was cut short by a crash; None when there is none."""
        return self.eraser.finish() if self.eraser.unfinished() else None

    def _scrub_index(self) -> None:
        self.index.start()
        self.index.scrub(_SCRUB_TIMEOUT)

    def renew_summary(self, session_id: str, text: str, upto: int) -> None:
        """A summary made anew from what is left of its session."""
        with self.database.write() as sql:
            gone = self._put_summary(sql, session_id, text, upto)
        self.index.drop(gone)

    # -- recall ------------------------------------------------------------------------------------------------

    def recall(
        self,
        queries: Sequence[str],
        session_id: str,
        now: datetime,
        limits: RecallLimits,
        *,
        recent: Sequence[str] = (),
        gated: bool = True,
    ) -> Recollection:
        """What older sessions hold that matters for ``queries``: the last round, if there is one, and the new input.

        Never from ``session_id``. ``recent`` are the messages before the input, oldest first, for what "she" means.
        Without ``gated`` the best are handed over however weak they are; an empty recollection is a good answer. An
        index that is just being opened is waited for, a little: the first turn should remember as well as the next.
        """
        self.index.start()
        self.index.await_open(_OPENING)
        return self.finder.recall(
            queries,
            self._embedder.embed,
            session_id=session_id,
            now=now,
            limits=limits,
            recent=recent,
            gated=gated,
        )

    # -- what is learnt from a text, and what goes with it -----------------------------------------------------

    def key_of(self, text_id: str) -> str | None:
        """The text whose vector stands for a turn or a summary; None when it is no longer there."""
        if turns := self.sessions.turns([text_id]):
            before = self.sessions.before(turns[0], TURNS_BEFORE)[::-1]
            return turn_key(turns[0], before)
        if summaries := self.sessions.summaries([text_id]):
            return summary_key(summaries[0])
        return None

    def _put_summary(self, sql: Sql, session_id: str, text: str, upto: int) -> list[str]:
        """Put a summary in place of the one before. Returns the id of the one before, to be dropped."""
        gone = self._index_writer.remove_summary(sql, self.sessions.summary(session_id))
        if text:
            self._index_writer.learn_summary(
                sql, self.sessions.put_summary(sql, self._new_id(), session_id, self._now(), text, upto)
            )
        return gone

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")


def _turns_of(rounds: Sequence[Round]) -> list[Turn]:
    return [turn for spoken in rounds for turn in (spoken.user, spoken.assistant)]
