"""One person's memory: everything that is stored, by subject, and recall over it.

    memory.sessions, messages, summaries, facts, notes, personas, chapters, archive, units
                         read, changed by their own rules
    memory.shown         what the program wrote itself, under the names that were corrected since
    memory.rounds        rounds and sessions, stored and removed with everything that rests on them
    memory.imports       what other programs exported            memory.clients    what clients keep
    memory.erasure       what an erasure would take, and the erasure with its proof
    memory.recall        the memories that belong to what is said

SQLite is the only truth; vectors are in LanceDB, an index that may be lost at any time; the two personas in plain text
files. One object owns one data directory. Nothing here prints, reads a terminal, or knows that there is only one
person.

Guarantees: a verb that writes is one commit or nothing; what was removed never comes back, since every hit of an index
is looked up in the database before it is used; trouble with embeddings or an index never stops anything but itself.
What is heavy to load (numpy, LanceDB) is loaded in one place, ``_open_search``, when something is first searched for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, get_args

from domain import errors
from domain.facts import Fact, SessionChanges
from domain.files import make_private_folder
from domain.matters import OPEN, MatterStatus, OpenMatter
from domain.recollection import Annotation, Client, FactFilter, RecallLimits, RecallRequest, Recollection
from domain.records import IMPORT_CLIENT, SERVICE_CLIENT, Message, Persona, Round, Session
from domain.settings import ExternalMemory
from domain.workers import Workers
from facts.slots import OWN_NAMES, Names, find_asked_slots, stated_names
from language.scripts import Language, language_of
from language.words import forms_of_all, tokens
from recall.annotations import annotations_of_lines
from recall.embedding import key_in
from storage.backup import Prepare, back_up, restore, restore_portable, write_portable
from storage.clients import Clients
from storage.engine import Commit, Stamp, read_meta, set_meta
from storage.erased import SaidMessage
from storage.erasure import Eraser, LeaveOut, Scrub, settle_copy
from storage.programs import Programs
from storage.registry import Registry, files_of_others, own_place
from storage.repositories import OnServer, Repositories, initialise_database, open_vectors, rewrite_database
from storage.rounds import Rounds, Voice

if TYPE_CHECKING:
    from domain.indexes import Embedder
    from language.forget_requests import Reading
    from recall.external import ExternalMemories
    from recall.retriever import OwnMemories, Retriever
    from storage.imports import Imports
    from storage.vectors.indexing import AnyVectors, Indexing

__all__ = [
    "LeaveOut", "Memory", "Prepare", "Surroundings", "back_up", "initialise_database", "leaving_out_erased",
    "move_person", "own_place", "restore", "restore_portable", "rewrite_database", "write_portable",
]  # fmt: skip

#: A persona, and the annotations of lines whose facts are no longer current, by line.
ShownPersona = tuple[str, dict[str, tuple[Annotation, ...]]]
#: In ``meta``: the language of what is derived; it is chosen from so many messages of the person.
_LANGUAGE, _FIRST_WORDS = "language", 40
#: How many of the newest sessions are looked at for the last words; one that was resumed is among older ones.
_LOOKED_AT = 20
#: After so many rounds a talk is under way.
_OPENING_ROUNDS = 3
#: After this time a server looks after a memory that a program closed, or had open when it was killed.
_LOOK_AGAIN = timedelta(minutes=10)
#: Seconds that recall waits for the index to open.
_OPENING = 4.0
#: Seconds that an erasure waits for the index to be rebuilt; the proof says when that was not enough.
_SCRUB_TIMEOUT = 600.0
#: Of what was said since something became open so many messages are read at the most, the newest.
_LATER_READ = 5_000
#: Most facts that pass a filter and are compared with a query.
_FILTERED = 500


@dataclass(frozen=True)
class Surroundings:
    """What is outside of a memory's folder and matters to it.

    A proof searches the folders ``searched`` too, and ``scrubbers`` clean them of what is erased; ``external`` are
    memories of other programs that are read, ``workers`` the threads that it shares with other memories.
    """

    searched: Sequence[Path] = ()
    scrubbers: Sequence[Scrub] = ()
    external: Sequence[ExternalMemory] = ()
    workers: Workers | None = None


@dataclass(frozen=True)
class _Search:
    """Everything for searching; heavy to load."""

    vectors: AnyVectors
    index: Indexing
    own: OwnMemories
    retriever: Retriever


def leaving_out_erased(
    clock: Callable[[], datetime], new_id: Callable[[], str], log: logging.Logger, leave_out: LeaveOut
) -> Prepare:
    """What ``restore`` and ``restore_portable`` do with a copy: leave out what was erased in the present memory.

    ``leave_out`` is asked before anything changes.
    """
    return partial(settle_copy, stamp=Stamp(clock, new_id), log=log, leave_out=leave_out)


def move_person(
    served: Registry, person: str, folder: Path, new_id: Callable[[], str], log: logging.Logger, *, outwards: bool
) -> int:
    """Copy a person, as ``storage.moving.move_person`` says. Returns how many rows. Raises StorageError."""
    from storage.moving import move_person

    def opened(place: Path | OnServer) -> Repositories:
        return Repositories(place, tokens, Stamp(served.clock, new_id), log)

    return move_person(served, person, folder, opened, outwards=outwards)


class Memory:
    """One data directory, opened. Raises DataInUse, Damaged, NewerSchema, ReadOnly, DiskFull.

    >>> memory = Memory(folder, embedder, clock=clock, new_id=new_id, log=log)
    >>> session, resumed = memory.sessions.resume_or_start()
    >>> memory.rounds.store(session.session_id, "Hello", "Hello, Ann.", now, "stop")
    """

    def __init__(
        self,
        place: Path | OnServer,
        embedder: Embedder,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        log: logging.Logger,
        around: Surroundings = Surroundings(),
    ) -> None:
        self.folder = folder = place.folder if isinstance(place, OnServer) else place
        self._place = place
        self._embedder = embedder
        self._log = log
        self._workers = around.workers
        self._closed = False
        self._search: _Search | None = None
        #: Whether the index is to be started once a text waits for its vector.
        self._starts_index = False
        self._opening = Lock()
        make_private_folder(folder)
        self._clock = clock
        self._programs = place.server.programs if isinstance(place, OnServer) else Programs(folder, clock)
        self._programs.enter()
        with ExitStack() as opened:  # what is opened here is let go again where the rest fails
            opened.callback(self._programs.leave)
            self._of = of = Repositories(place, tokens, Stamp(clock, new_id), log, self._programs)
            opened.callback(of.database.close)
            self.sessions, self.messages, self.summaries = of.sessions, of.messages, of.summaries
            self.facts, self.personas, self.chapters = of.facts, of.personas, of.chapters
            self.matters = of.matters
            self.notes, self.relations, self.windows, self.fact_log = of.notes, of.relations, of.windows, of.fact_log
            self.archive, self.jobs, self.rebuilds, self.saves = of.archive, of.jobs, of.rebuilds, of.saves
            self.claims, self.epoch, self.steps = of.claims, of.epoch, of.steps
            self.erased, self.units, self.shown = of.erased, of.units, of.shown
            self.voice = Voice(of.database)
            self.rounds = Rounds(of)
            self.clients = Clients(of)
            searched, besides = [folder, *around.searched], files_of_others(folder)
            self.erasure = Eraser(of, self.rounds, searched, self._scrub_index, around.scrubbers, besides)
            self.path = of.database.path
            of.database.on_commit(self._update_index)
            self.external: ExternalMemories | None = None
            if around.external:
                from recall.external import ExternalMemories

                self.external = ExternalMemories(around.external, folder, embedder, log, of)
            if isinstance(place, OnServer):
                place.server.hold(place.person, (clock() + _LOOK_AGAIN).timestamp())
            opened.pop_all()

    # -- opening and closing -------------------------------------------------------------------------------------

    def _opened_search(self) -> _Search:
        """The search, opened on first use."""
        with self._opening:
            if self._search is not None:
                return self._search
            self._search = self._open_search()
            if self._closed:
                self._search.index.close()
            return self._search

    def _open_search(self) -> _Search:
        from recall.keywords import ArchivedMemories
        from recall.retriever import OwnMemories, Retriever
        from storage.vectors.indexing import Indexing, PendingEmbedder

        vectors = open_vectors(self._place, self._of, self._log)
        embeddings = self._of.index.embeddings
        pending = PendingEmbedder(embeddings, self._embedder, self._key_of, self._log)
        index = Indexing(embeddings, vectors, pending, self._log, workers=self._workers)
        own = OwnMemories(self._of, vectors, self._embedder, self._log, find_asked_slots)
        external = (self.external,) if self.external else ()
        return _Search(vectors, index, own, Retriever(own, *external, ArchivedMemories(self._of)))

    def start(self, *, ahead: bool = True) -> None:
        """Start the indexes and finish an interrupted erasure, after the prompt is shown.

        Not ``ahead``: the index of our own texts only once one waits for its vector or something is searched for.
        May run in its own thread; ``close`` ends it, and the next start goes on.
        """
        if self.external:
            self.external.start()
        try:
            self._starts_index = not ahead
            if ahead or self._of.index.embeddings.waiting(1):
                self.index.start()
            self.erasure.finish()
            if ahead:
                self._opened_search().own.warm()
        except errors.StorageError:
            if not self._closed:
                raise

    def close(
        self, settle: float = 0.0, patience: float = 1.0, look_at: Callable[[], float | None] | None = None
    ) -> None:
        """Let the index catch up for ``settle`` seconds, end its work within ``patience``, close everything.

        ``look_at``: when a server is to look after this memory again, where it is in a database of many; soon, unless
        that is given.
        """
        if settle and self._search and self._search.index.writes:
            self._search.index.settle(settle)
        self._closed = True
        if self.external:
            self.external.close(patience)
        with self._opening:
            if self._search:
                self._search.index.close(patience)
                self._search.vectors.close()
        if isinstance(self._place, OnServer):  # its program lives on, with other memories
            with suppress(errors.StorageError):
                at: float | None = (self._clock() + _LOOK_AGAIN).timestamp()
                try:
                    at = look_at() if look_at else at
                except errors.StorageError:
                    raise
                except Exception as fault:  # what is damaged is looked at soon, and closed all the same
                    self._log.error("when a memory is due could not be found", exc_info=fault)
                self.claims.release_all()
                self._place.server.release(self._place.person, at)
        try:
            self._of.database.close()
        finally:
            self._programs.leave()
            if isinstance(self._place, OnServer) and self._place.alone:
                self._place.server.close()

    @cached_property
    def imports(self) -> Imports:
        """What other programs exported. The first use loads it."""
        from storage.imports import Imports

        return Imports(self._of, self.rounds)

    def commit(self) -> None:
        """Commit what was stored and waits for it. Raises StorageError where that fails, or has failed."""
        self._of.database.commit()

    @property
    def awaited(self) -> Mapping[str, object] | None:
        """Which program has been writing for seconds while this one waits: its ``pid``, ``kind`` and ``seconds``."""
        return self._of.database.awaited

    @contextmanager
    def in_one_commit(self) -> Iterator[None]:
        """Everything written inside is one commit, or nothing."""
        with self._of.database.write():
            yield

    def problems(self) -> list[str]:
        """The faults an examination of the database finds."""
        return self._of.database.problems()

    def altered_rows(self) -> list[str]:
        """The rows whose texts differ from what was stored, as TABLE KEY."""
        return self._of.database.altered_rows()

    # -- when something was said -----------------------------------------------------------------------------------

    def last_round_end(self, besides: str = "") -> str | None:
        """When the last round of any session but ``besides`` ended; None while there is none."""
        recent = self.sessions.recent(_LOOKED_AT)
        others = [one.session_id for one in recent if one.client != IMPORT_CLIENT]
        last = [self.messages.rounds(one, 1) for one in others if one != besides]
        ends = [rounds[-1].assistant.timestamp for rounds in last if rounds]
        return max(ends, key=datetime.fromisoformat, default=None)

    def previous_round_end(
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
        if len(rounds) >= _OPENING_ROUNDS or self.summaries.of(session_id):
            return None
        last = self.last_round_end(besides=session_id)
        earlier = datetime.fromisoformat(last) if last else later
        return earlier if later - earlier >= pause else None

    def is_idle(self, session_id: str, now: datetime, after: timedelta) -> bool:
        """Whether nothing was said in a session for ``after``, which is never where that is nothing.

        One without rounds, or with a message that waits for its reply, is not idle.
        """
        last = self.messages.rounds(session_id, 1) if after else ()
        if not last or self.sessions.in_flight(session_id):
            return False
        return now - datetime.fromisoformat(last[-1].assistant.timestamp) >= after

    def idle_sessions(
        self, now: datetime, after: Callable[[Session], timedelta], besides: Collection[str]
    ) -> tuple[Session, ...]:
        """The active sessions but ``besides`` that were idle for ``after``, which is asked of each; oldest first.

            Never one that another program talks in.
        Those in which only the person speaks are among them, once nothing was said in them for so long.
        """
        return tuple(
            one
            for one in self.sessions.active(besides={*besides, *self.claims.taken_elsewhere("session")})
            if self.is_idle(one.session_id, now, after(one)) or self._idle_alone(one, now, after(one))
        )

    def _idle_alone(self, session: Session, now: datetime, after: timedelta) -> bool:
        """The same for a session in which only the person speaks."""
        if not after or not session.client or self.messages.rounds(session.session_id, 1):
            return False
        last = self.messages.of_session(session.session_id)[-1:]
        return any(now - datetime.fromisoformat(message.timestamp) >= after for message in last)

    def open_matters(self, now: datetime, *, to_bring_up: bool = False) -> list[OpenMatter]:
        """What is open now, oldest first; ``to_bring_up``: without what unread words may settle."""
        from facts.matters import may_be_settled, spoken_of

        first = min((one.place for one in self.matters.with_status(OPEN)), default=None)
        unread = [] if first is None else self.messages.said_after(first - 1, _LATER_READ, read=False)
        found = [one for one in self.settle_matters(unread, now) if one.is_open]
        last, unanswered = self.matters.greeting()
        if unanswered and last:
            since = [one for one in unread if datetime.fromisoformat(one.timestamp) >= datetime.fromisoformat(last)]
            if spoken_of((one for one in found if one.asked), since):
                self.matters.set_greeting(last, 0)  # the person took it up
        return [one for one in found if not (to_bring_up and may_be_settled(one, unread))]

    def settle_matters(
        self, said: Sequence[Message], now: datetime, known: Mapping[int, MatterStatus] | None = None
    ) -> list[OpenMatter]:
        """All matters after what was ``said``, in one commit; of some it is ``known`` what became of them."""
        found, changed = self._settled_by(said, now, known or {})
        if changed or known:
            with self.in_one_commit():
                found, changed = self._settled_by(said, now, known or {})  # another program may have settled some
                for one in changed:
                    self.matters.set_status(one.number, one.status, one.yearly, one.next_review)
                if any(one.number in (known or {}) for one in changed):
                    self.matters.set_greeting(self.matters.greeting()[0], 0)  # the person took it up
        return found

    def _settled_by(
        self, said: Sequence[Message], now: datetime, known: Mapping[int, MatterStatus]
    ) -> tuple[list[OpenMatter], list[OpenMatter]]:
        """All matters as they are after what was said, and those of them that change."""
        from facts.matters import settle

        today = now.date().isoformat()
        rows = self.matters.with_status(get_args(MatterStatus))
        stored = [one for one in rows if one.status in ("dropped", "unverified") or one.is_open or one.expires >= today]
        matters = [
            replace(one, status=known[one.number])
            if one.number in known and (one.is_open or one.status == "unverified")
            else one
            for one in stored
        ]
        became = {one.number: one for one in settle(matters, said, now)}
        found = [became.get(one.number, one) for one in matters]
        return found, [one for one in found if one not in stored]

    def changes_of_previous_session(self, session_id: str) -> SessionChanges:
        """The facts that the session before this one changed."""
        before = (one.session_id for one in self.sessions.recent(2))
        return next((self.facts.session_changes(one) for one in before if one != session_id), SessionChanges())

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

        Never what is in the context of ``session_id``, unless ``besides_context`` is false; nothing at all of it with
        ``besides_session``. ``recent`` are the messages before the input, oldest first, for what "she" means.
        Without ``gated`` the best are returned however weak they are; an empty recollection is a good answer.
        Queries that are ``apart`` are several questions, searched side by side, that share one budget, as what
        external memories hold does. An index that just opens is waited for, a little. A text of an external memory
        that retells what the person asked to have forgotten is returned only for a question about it.
        """
        search = self._opened_search()
        if search.vectors.state != "ready":
            search.index.start()
            search.own.warm()
            search.index.await_open(_OPENING)
        asked = RecallRequest(queries, session_id, now, limits, recent=recent, gated=gated, apart=apart)
        with self._of.database.reading():
            self._of.database.ahead(lambda: self.messages.context(session_id), *search.own.reads(asked))
            if not besides_session:
                rounds = self.messages.context(session_id) if besides_context else ()
                asked = replace(asked, hidden=[message.seq for spoken in rounds for message in spoken.messages])
            return self._with_clients(search.retriever.recall(asked))

    def _with_clients(self, found: Recollection) -> Recollection:
        """The recollection with the kind of client that stored each message and summary."""
        ids = {message.session_id for message in found.messages} | {one.session_id for one in found.summaries}
        clients: dict[str, Client] = {
            one: "stored" if name == SERVICE_CLIENT else "chat"
            for one, name in self.sessions.clients_of(ids).items()
            if name != IMPORT_CLIENT
        }
        if not clients:
            return found
        return replace(
            found,
            messages=tuple(replace(one, client=clients.get(one.session_id, "")) for one in found.messages),
            summaries=tuple(replace(one, client=clients.get(one.session_id, "")) for one in found.summaries),
        )

    def names(self) -> Names:
        """The names of person and companion, as stated."""
        return stated_names(self.facts.in_slots(OWN_NAMES))

    def language(self) -> Language:
        """The language of everything that is derived, chosen once: that of the persona or else of what the person said.

        English as long as there is neither.
        """
        if (stored := read_meta(self._of.database, _LANGUAGE)) in ("en", "zh"):
            return stored  # type: ignore[return-value]
        persona = self.personas.read("user")
        texts = [persona] if persona else self.messages.first_words(_FIRST_WORDS)
        if texts:
            set_meta(self._of.database, _LANGUAGE, language_of(*texts))
        return language_of(*texts)

    def search(self, words: str, limits: RecallLimits) -> Recollection:
        """The memories with these words in any form."""
        return self._opened_search().retriever.search(words, limits)

    def facts_with(self, words: str) -> list[tuple[Fact, tuple[str, ...]]]:
        """The facts that hold these words in any of their forms, each with the forms that it has."""
        texts = (
            (fact, f"{fact.all_words if fact.verified else fact.quotation}\n{fact.topic}") for fact in self.facts.all()
        )
        with_forms = ((fact, forms_of_all(text, words)) for fact, text in texts)
        return [(fact, found) for fact, found in with_forms if found is not None]

    def reads_like_forget_request(self, text: str) -> Reading | None:
        """How certain a request to forget one of the last inputs is by its vector; nothing is embedded."""
        return self._search.own.reads_like_forget_request(text) if self._search else None

    def find_facts(self, wanted: FactFilter, query: str, most: int) -> list[tuple[Fact, float]]:
        """The facts that pass a filter with their scores, those that fit a query by words and meaning first.

        Without a query the latest come first; each scores 1.
        """
        found = self.facts.matching(wanted, _FILTERED if query else most)
        if not query or not found:
            return [(one, 1.0) for one in found]
        terms, scores = set(tokens(query)), [0.0] * len(found)
        try:
            asked, *vectors = self._embedder.embed([query, *(one.believed for one in found)])
        except errors.EmbeddingError:
            self._log.exception("facts are ordered by words alone")
            asked, vectors = None, []
        for at, vector in enumerate(vectors):
            if asked is not None and vector is not None:
                scores[at] = max(
                    0.0, float(asked @ vector) / (float((asked @ asked) * (vector @ vector)) ** 0.5 or 1.0)
                )
        for at, fact in enumerate(found):
            shared = terms.intersection(tokens(f"{fact.believed} {fact.topic}"))
            scores[at] = (scores[at] + len(shared) / (len(terms) or 1)) / 2
        ordered = sorted(zip(found, scores, strict=True), key=lambda one: -one[1])
        return ordered[:most]

    def says_erased(self, text: str, said: str = "", text_id: str = "", speaker: str = "") -> bool:
        """Whether what a program writes was erased; what was ``said`` since then is new, but for its id."""
        role = "assistant" if speaker else "user"
        return self.erased.recognise([SaidMessage(role, text, said, (text_id,) if text_id else (), speaker)])[0]

    def bring_back(self, text: str, text_id: str) -> None:
        """Let a message be erased no more, since the person wants it stored again."""
        with self._of.database.write() as tx:
            self.erased.remove(tx, [SaidMessage("user", text, "", (text_id,))])

    def allow_again(self, messages: Sequence[Message]) -> None:
        """Let erased messages be stored again."""
        with self._of.database.write() as tx:
            self.erased.remove(tx, list(map(SaidMessage.of, messages)))

    def shown_layers(self, session_id: str) -> tuple[dict[Persona, ShownPersona], str]:
        """Both personas as they are shown, and the summary of a session, "" without one."""
        personas, summary = self.shown.layers(session_id)
        today = self._clock().date().isoformat()
        shown = {
            one: (draft.text, annotations_of_lines(draft.lines, self.facts, today)) for one, draft in personas.items()
        }
        return shown, summary.summary if summary else ""

    def shown_persona(self, persona: Persona) -> ShownPersona:
        """A persona as it is shown."""
        return self.shown_layers("")[0][persona]

    # -- the index of vectors ------------------------------------------------------------------------------------

    @property
    def index(self) -> Indexing:
        """The index and its maintenance. The first use loads what is heavy."""
        return self._opened_search().index

    def _key_of(self, text_id: str) -> str | None:
        """The text whose vector is that of a message or summary; None where there is none, or it is hidden."""
        return key_in(self._of, text_id, self._embedder.model)

    def _scrub_index(self) -> None:
        self.index.start()
        self.index.scrub(_SCRUB_TIMEOUT)

    def _update_index(self, done: Commit) -> None:
        """The index follows each commit; one that is not open yet is compared with the database when it is opened."""
        if self._starts_index and "vectors" in done.follows and not done.removed:
            self._starts_index = False
            self.index.start()
        if self._search and "vectors" in done.follows:
            self._search.index.drop(done.removed) if done.removed else self._search.index.wake()
