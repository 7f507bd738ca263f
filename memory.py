"""The memory: the one door to all that is stored.

Sessions, conversations and summaries lie in a store, the only truth; their vectors in LanceDB, an index that may be
lost at any time; the two images in plain text files. One object owns one data directory. Nothing here prints, reads a
terminal, or knows that there is only one person.

    remember   store_round; fold, archive, undo_save, ...: in ``storage.sessions``
    know       unread, learn, facts, put_right, ...: in ``storage.knowing``
    recall     recall
    forget     erase, reset, undo, withhold, ...: in ``storage.forgetting``
    read       what else is stored, and what an erasure would take: in ``storage.reader``
    doors      what programs ask of it: in ``storage.door_verbs``
    keep safe  back_up, restore: of a data directory that nobody need have open

Promises: a method that writes is one commit or nothing; what was removed never comes back, since every hit of an index
is looked up in the store before it is used; trouble with embeddings or an index never stops anything but itself. What
is heavy to load (numpy, LanceDB) is loaded in one place, ``_open_search``, when something is first searched for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from domain import errors
from domain.facts import Fact
from domain.files import make_private_folder
from domain.imports import IMPORT_DOOR
from domain.recollection import Client, FactMark, RecallLimits, Recollection
from domain.records import EVENT_DOOR, Finish, Image, Quoted, Round, Summary
from domain.settings import ExternalMemory
from domain.vectors import Embedder
from domain.workers import Workers
from facts.slots import OWN_NAMES, Names, slots_asked, stated_names
from recall.embedding import key_in
from recall.known_facts import marks_of_lines
from recall.questions import pronouns, resolve
from recall.words import held_forms, tokens
from storage.backup import back_up, restore
from storage.door_verbs import DoorVerbs
from storage.erasure import Eraser, Scrub
from storage.fading_verbs import FadingVerbs
from storage.images import Images
from storage.knowing import Knowing
from storage.owner import Owner
from storage.past import Past
from storage.portable import restore_portable, write_portable
from storage.sqlite.registry import of_others
from storage.sqlite.store import SqliteStore
from storage.store import NewTurn, Store
from storage.tree import Tree

if TYPE_CHECKING:
    from recall.faded_memories import FadedMemories
    from recall.finder import Finder
    from recall.others import Others
    from storage.vectors.indexing import Indexing, IndexStatus, Missing, Progress
    from storage.vectors.table import Vectors

__all__ = ["Memory", "back_up", "pronouns", "resolve", "restore", "restore_portable", "write_portable"]

#: How many of the newest sessions are looked at for the last words; one that was resumed stands among older ones.
_LOOKED_AT = 20
#: After so many rounds a talk is under way.
_OPENING_ROUNDS = 3
#: Seconds that recall waits for the index to open.
_OPENING = 4.0
#: Seconds that an erasure waits for the index to be made anew; the proof tells when that was not enough.
_SCRUB_TIMEOUT = 600.0


@dataclass(frozen=True)
class _Search:
    """What is needed to find something, and heavy to load."""

    vectors: Vectors
    index: Indexing
    finder: Finder
    faded: FadedMemories


class Memory(Knowing):
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
        workers: Workers | None = None,
        external: Sequence[ExternalMemory] = (),
    ) -> None:
        self.folder = folder
        self._embedder = embedder
        self._clock = clock
        self._new_id = new_id
        self._log = log
        self._workers = workers
        self._closed = False
        self._search: _Search | None = None
        self._opening = Lock()
        make_private_folder(folder)
        self._owner = Owner(folder, clock)
        self._owner.acquire()
        with ExitStack() as opened:  # what is opened here is let go again where the rest fails
            opened.callback(self._owner.release)
            self._store: Store = SqliteStore(folder / "memory.db", tokens, log)
            opened.callback(self._store.close)
            self.tree = Tree(self._store, clock, new_id)
            self._images = Images(folder / "persona", self._store, clock, log)
            self.past = Past(self._store, clock, new_id, self._tell_index, self._lines_lost)
            self.others: Others | None = None
            if external:
                from recall.others import Others

                self.others = Others(external, folder, embedder, log)
            besides, searched = (scrubbers, of_others(folder)), [folder, *also_searched]
            self.eraser = Eraser(self._store, self._images, searched, self._scrub_index, tokens, *besides)
            self.fading = FadingVerbs(self._store, self.eraser, clock, self._tell_index)
            self.doors = DoorVerbs(
                self._store, self.eraser,
                clock=clock, new_session_id=self._session_id, tell_index=self._tell_index,
            )  # fmt: skip
            opened.pop_all()

    # -- opening and closing -------------------------------------------------------------------------------------

    def _opened_search(self) -> _Search:
        """What finds things, opened when it is first needed."""
        with self._opening:
            if self._search is None:
                self._search = self._open_search()
                if self._closed:
                    self._search.index.close()
            return self._search

    def _open_search(self) -> _Search:
        from recall.faded_memories import FadedMemories
        from recall.finder import Finder
        from recall.ranking import weigher
        from storage.vectors.indexing import Indexing
        from storage.vectors.table import Vectors

        vectors = Vectors(self.folder / "vectors", self._log)
        index = Indexing(self._store, vectors, self._embedder, self.key_of, self._log, workers=self._workers)
        weigh = weigher(lambda: self._embedder.model)
        finder = Finder(self._store, vectors, self._store, self._log, weigh, slots_asked)
        return _Search(vectors, index, finder, FadedMemories(self._store, self._store))

    def start(self) -> None:
        """What may take its time, after the prompt stands: the indexes, and an erasure that a crash cut short.

        It may run in a thread of its own, and is cut off by ``close``; the next start does what is left.
        """
        if self.others:
            self.others.start()
        try:
            self.start_index()
            self.finish_erasing()
            self._opened_search().finder.warm()
        except errors.StorageError:
            if not self._closed:
                raise

    def close(self, settle: float = 0.0, patience: float = 1.0) -> None:
        """Let the index catch up for ``settle`` seconds, end its work within ``patience``, let go of everything."""
        if settle and self._search:
            self._search.index.settle(settle)
        self._closed = True
        if self.others:
            self.others.close(patience)
        with self._opening:
            if self._search:
                self._search.index.close(patience)
                self._search.vectors.close()
        self._store.close()
        self._owner.release()

    def in_one_commit(self) -> AbstractContextManager[None]:
        """All that is written inside is one commit, or nothing: for much at once."""
        return self._store.in_one_commit()

    # -- what a turn reads ----------------------------------------------------------------------------------------

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds that are in the context, not yet folded, oldest first."""
        return self._store.context(session_id)

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        return self._store.summary(session_id)

    def image(self, image: Image) -> str:
        """An image as it stands now; an edit by hand has become a version by then."""
        return self._images.read(image)

    def last_spoken(self, besides: str = "") -> str | None:
        """When the last round of any session but ``besides`` ended; None while there is none."""
        recent = self._store.recent_sessions(_LOOKED_AT, 0)
        others = [one.session_id for one in recent if one.door != IMPORT_DOOR]
        last = [self._store.rounds(one, 1) for one in others if one != besides]
        ends = [rounds[-1].assistant.timestamp for rounds in last if rounds]
        return max(ends, key=datetime.fromisoformat, default=None)

    def spoken_before(
        self, session_id: str, rounds: Sequence[Round], now: datetime, pause: timedelta
    ) -> datetime | None:
        """When the last talk ended, at least a ``pause`` before the one that begins now; None once that is under way.

        ``rounds`` are those of the session that are in the context.
        """
        later = now
        for spoken in reversed(rounds[-_OPENING_ROUNDS:]):
            earlier = datetime.fromisoformat(spoken.assistant.timestamp)
            if later - earlier >= pause:
                return earlier
            later = datetime.fromisoformat(spoken.user.timestamp)
        if len(rounds) >= _OPENING_ROUNDS or self.summary(session_id):
            return None
        last = self.last_spoken(besides=session_id)
        earlier = datetime.fromisoformat(last) if last else later
        return earlier if later - earlier >= pause else None

    # -- remembering ---------------------------------------------------------------------------------------------

    def note_in_flight(self, session_id: str, text: str) -> None:
        """Write down what was typed."""
        self._store.note_in_flight(session_id, self._now(), text)

    def keep_partial(self, session_id: str, partial: str) -> None:
        """Keep what has come of the reply to what is in flight in a session."""
        self._store.keep_partial(session_id, partial)

    def store_round(
        self,
        session_id: str,
        user: str,
        assistant: str,
        started: str,
        finish: Finish,
        instead_of: Round | None = None,
        *,
        ended: str | None = None,
        before: Round | None = None,
        quoted: Sequence[Quoted] = (),
        standin: bool = False,
        served: Sequence[str] = (),
    ) -> Round:
        """Store a round with its words and its place in the queue, and clear what was in flight, in one commit.

        ``instead_of`` goes in the same commit. What is of the past ``ended`` then, and may stand ``before`` a round.
        ``quoted`` are the quotations of the reply found in a memory; what was handed over and ``served`` it is visited.
        ``standin``: the built-in stand-in answered, and no model is ever told of that as the companion's words.
        """
        now = self._now()
        turns = (
            NewTurn(self._new_id(), started, "user", user),
            NewTurn(self._new_id(), ended or now, "assistant", assistant, tuple(quoted), standin),
        )
        replaced = [turn.text_id for turn in instead_of.turns] if instead_of else []
        with self._lines_taken_along(replaced) if replaced else nullcontext():
            spoken = self._store.store_round(
                session_id, turns, finish, now, instead_of=instead_of, before=before, served=served
            )
        self._tell_index(replaced)
        return spoken

    def _scrub_index(self) -> None:
        self.start_index()
        self.index.scrub(_SCRUB_TIMEOUT)

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
        apart: bool = False,
        besides_context: bool = True,
        besides_session: bool = False,
    ) -> Recollection:
        """What was said that matters for ``queries``: the last round, if there is one, and the new input.

        Never what stands in the context of ``session_id``, unless ``besides_context`` is false; nothing at all of it
        with ``besides_session``. ``recent`` are the messages before the input, oldest first, for what "she" means.
        Without ``gated`` the best are handed over however weak they are; an empty recollection is a good answer.
        Queries that stand ``apart`` are several questions, searched side by side, that share one budget, as what
        memories of others hold does. An index that just opens is waited for, a little.
        """
        offered = None
        if self.others:
            offered = self.others.found(queries, now, limits, recent=recent, gated=gated, apart=apart)
        search = self._opened_search()
        if search.vectors.state != "ready":
            self.start_index()
            search.index.await_open(_OPENING)
        rounds = self.context(session_id) if besides_context else ()
        in_context = [turn.seq for spoken in rounds for turn in spoken.turns]
        left = offered.left if offered else limits
        own = search.finder.recall(
            queries,
            self._embedder.embed,
            session_id=session_id,
            now=now,
            limits=left,
            hidden=None if besides_session else in_context,
            recent=recent,
            gated=gated,
            apart=apart,
        )
        if self._store.any_faded():
            own = search.faded.beside(own, queries if apart else queries[-1:], now, left, session_id)
        own = self._with_clients(own)
        return offered.beside(own) if offered else own

    def _with_clients(self, found: Recollection) -> Recollection:
        """What was found, with the kind of program that stored each turn and summary."""
        ids = {turn.session_id for turn in found.turns} | {one.session_id for one in found.summaries}
        doors = {one: session.door for one in ids if (session := self._store.session(one)) and session.door}
        clients: dict[str, Client] = {
            one: "stored" if door == EVENT_DOOR else "chat"
            for one, door in doors.items()
            if door != IMPORT_DOOR
        }
        if not clients:
            return found
        return replace(
            found,
            turns=tuple(replace(one, client=clients.get(one.session_id, "")) for one in found.turns),
            summaries=tuple(replace(one, client=clients.get(one.session_id, "")) for one in found.summaries),
        )

    def search(self, words: str, limits: RecallLimits) -> Recollection:
        """The memories that hold these words in any of their forms; empty when nobody ever said them."""
        search = self._opened_search()
        own = search.finder.search(words, limits)
        if self._store.any_faded():
            own = search.faded.added(own, words, limits)
        return replace(own, others=self.others.search(words, limits)) if self.others else own

    def names(self) -> Names:
        """What the two are called, by what was stated."""
        return stated_names(self._store.facts_in_slots(OWN_NAMES))

    def facts_with(self, words: str) -> list[tuple[Fact, tuple[str, ...]]]:
        """The facts that hold these words in any of their forms, each with the forms that it has."""
        held = ((fact, held_forms(f"{fact.words}\n{fact.topic}", words)) for fact in self.facts())
        return [(fact, found) for fact, found in held if found is not None]

    def image_marks(self, image: Image) -> dict[str, tuple[FactMark, ...]]:
        """What became of what each line of an image tells, by line; a line of which all still holds is left out."""
        return marks_of_lines(self._store.line_evidence(image), self._store)

    @property
    def finder(self) -> Finder:
        """What finds memories; its ``weigh`` may be replaced when recall is measured."""
        return self._opened_search().finder

    # -- the index of vectors ------------------------------------------------------------------------------------

    @property
    def index(self) -> Indexing:
        """The index and its upkeep; with the first look at it what is heavy is loaded."""
        return self._opened_search().index

    def start_index(self) -> None:
        """Begin to bring the index into order, in the background."""
        self.index.start()

    def settle_index(self, timeout: float) -> bool:
        """Wait until every text that can have its vector has it and is in the index. False when not."""
        return self._search is not None and not self._closed and self.index.settle(timeout)

    def reindex(self) -> None:
        """Make the index anew from the vectors that are stored, and try texts again that were set aside."""
        self.index.reindex()

    def index_status(self) -> IndexStatus:
        """Everything about the index at this moment."""
        return self.index.status()

    def index_progress(self) -> Progress | None:
        """How far the work on the index is that takes long; None when there is none."""
        return self._search.index.progress() if self._search else None

    @property
    def index_degraded(self) -> tuple[Missing, ...]:
        """What recall has to do without now."""
        return self._search.index.degraded if self._search else ("index",)

    def key_of(self, text_id: str) -> str | None:
        """The text whose vector stands for a turn or a summary; None when there is none, or it is withheld."""
        return key_in(self._store, text_id, self._embedder.model)

    def _tell_index(self, gone: Sequence[str]) -> None:
        """Texts are new or gone. An index that is not open yet is compared with the store when it is opened."""
        if self._search:
            self._search.index.drop(gone) if gone else self._search.index.wake()

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")
