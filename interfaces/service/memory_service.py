"""The memory of many people as a service: one method for each operation of ``interfaces.operations``.

Promises: what is said is stored word for word, and as whose words it is; each person has one open session, which ends
on its own; ending returns at once, and the session is consolidated in the background, once; no one's memories are
returned to anyone else; asking about a person who is not known creates nothing. Raises UsageError, StorageError.
"""

from __future__ import annotations

import json
import tempfile
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar

from pydantic import Field

from domain.errors import UsageError
from domain.facts import Fact, Relation
from domain.quotations import as_memory
from domain.receipts import ErasureReceipt
from domain.recollection import FactFilter, Recollection
from domain.records import PREFIX, Role
from domain.text import check_input
from domain.tree import Page
from facts.cues import is_question
from interfaces.recollections import certainty_note, fact_text, program_score, program_text, recalled_items, safe_text
from interfaces.service.memory_schemas import (
    DayResponse,
    ErasedPerson,
    ErasedResponse,
    Erasure,
    ErasureProof,
    ForgetResponse,
    KnownPerson,
    ProfileFact,
    ProfileResponse,
    RecallResponse,
    Remembered,
    RememberResponse,
    StoredMemories,
    StoredMemory,
)
from interfaces.service.schemas import (
    LARGEST,
    LONGEST_ID,
    LONGEST_INPUT,
    ActiveSession,
    Candidate,
    DebugFindings,
    DebugResponse,
    EndedSession,
    EndSessionResponse,
    GraphNode,
    GraphRelation,
    GraphResponse,
    Input,
    Limit,
    LongText,
    MemoryFound,
    Metadata,
    Name,
    ProcessMetadata,
    ProcessResponse,
    RelationFound,
    RequestId,
    SessionStatusResponse,
    UserId,
)
from interfaces.service.search_schemas import (
    DiaryPage,
    DiaryResponse,
    DiarySentence,
    FoundMemory,
    OpenItem,
    OpenResponse,
    SearchResponse,
)
from interfaces.service.service_sessions import ServiceSessions, SessionWatch
from jobs.chapters import days_named
from jobs.greeting import Deed, decide, due_day, list_open
from language.calendar import in_zone
from language.references import begins_with_pronoun, find_pronouns, resolve_references, says_what_it_means
from language.scripts import unspaced_length
from language.sentences import split_sentences
from memory import Memory, write_portable
from people import ME, Companion, People

#: Most memories, characters of them, and relations that are returned.
_MOST_MEMORIES, _MOST_CHARACTERS, _MOST_RELATIONS = 50, 8_000, 20
#: Most characters of a persona that are returned.
_PERSONA_LENGTH = 4_000
#: Most characters of an input that are searched for.
_LONGEST_QUERY = 2_000
#: A longer time, in days, names no occasion.
_YEAR = 366
#: Sessions that are read at once.
_SESSIONS = 50
_BRING_BACK = "Store it although the person erased it; only when they say that they want it back."
_PAGES_OF = "A year, month or day: 2026, 2026-05, 2026-05-01. Empty: the last month that has a page."
#: The order in which memories with the same score are returned.
_KINDS = ("fact", "turn", "summary", "chapter", "other")
Text = TypeVar("Text", Remembered, FoundMemory, ProfileFact)


def _moment(description: str) -> Any:
    """A parameter that is a year, month or day, or nothing."""
    return Field(pattern=r"^(?:\d{4}(?:-\d{2}(?:-\d{2})?)?)?$", description=description)


@dataclass(frozen=True)
class _Answer:
    """What is remembered for an input, and how long that took, in milliseconds."""

    resolved: str
    found: Recollection
    memories: list[Remembered]
    relations: list[Relation]
    context_events: int
    read_ms: float
    search_ms: float


class MemoryService:
    """The operations, over the memories of many people. One for each ``People``.

    >>> service = MemoryService(people)
    >>> service.process("She moved to Lyon.", "me").resolved_query
    'Ann moved to Lyon.'
    """

    def __init__(self, people: People) -> None:
        self._people = people
        self._watch = SessionWatch(people)
        people.look_after_due(self._look_after)

    def process(
        self,
        input: Input,
        user_id: UserId,
        request_id: RequestId = None,
        role: Annotated[Role, Field(description="Who said it: the person, or the program's own companion.")] = "user",
        metadata: Metadata = None,
    ) -> ProcessResponse:
        """Store what a person said in their open session, and return what is remembered for it.

        What the program's companion said has the ``role`` "assistant"; ``metadata`` is kept with the message.
        """
        text = check_input(input)
        with self._people.companion(user_id) as companion:
            sessions = self._sessions_of(companion)
            answer = self._find_answer(companion, sessions, text, request_id)
            self._watch.expect_end(user_id)
            stored = sessions.store(text, request_id, role=role, metadata=metadata)
            if stored.reading:
                companion.maintenance.queue.compaction.wake()
            self._watch.check_soon(companion, sessions)
        return _process_response(answer)

    def end_session(self, user_id: UserId) -> EndSessionResponse:
        """End the open session; it is consolidated in the background."""
        ended = None
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                sessions = self._sessions_of(companion)
                ended = sessions.end()
                self._watch.check_soon(companion, sessions)
        if ended is None:
            return EndSessionResponse(message="No active session", session_info=None)
        found, when = ended
        info = EndedSession(
            event_count=len(found.events),
            duration_seconds=max(0, int((when - found.started_at).total_seconds())),
            created_at=_utc_time(found.started_at),
            ended_at=_utc_time(when),
        )
        return EndSessionResponse(message="Session ending, consolidation started", session_info=info)

    def session_status(self, user_id: UserId) -> SessionStatusResponse:
        """Whether a session is open; nothing is changed."""
        found, left = None, 0.0
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                sessions = self._sessions_of(companion)
                found = sessions.find_open()
                left = (sessions.end_time(found) - self._people.clock()).total_seconds() if found else 0.0
        if found is None:
            return SessionStatusResponse(has_active_session=False, session_info=None)
        info = ActiveSession(
            event_count=len(found.events),
            created_at=_utc_time(found.started_at),
            last_active_at=_utc_time(found.last_active),
            time_until_timeout_seconds=max(0, int(left)),
        )
        return SessionStatusResponse(has_active_session=True, session_info=info)

    def debug(self, input: Input, user_id: UserId) -> DebugResponse:
        """What ``process`` would return, and how it is found; nothing is changed."""
        text = check_input(input)
        if not self._people.has_person(user_id):
            return _debug_response(_Answer(text, Recollection(), [], [], 0, 0.0, 0.0), text, {}, would_store=True)
        with self._people.companion(user_id) as companion:
            sessions = self._sessions_of(companion)
            answer = self._find_answer(companion, sessions, text, None)
            again = sessions.find_repeated(text, None, sessions.find_open())
            metadata = _metadata_of(companion.memory, answer.memories)
            return _debug_response(answer, text, metadata, would_store=again is None)

    def graph(
        self,
        user_id: UserId,
        limit: Annotated[int, Field(ge=1, le=1_000, description="How many relations at the most.")] = 100,
    ) -> GraphResponse:
        """At most ``limit`` known relations, the newest first."""
        found: list[Relation] = []
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                found = sorted(companion.memory.relations.all(), key=lambda one: -one.fact.number)[:limit]
        relations = tuple(
            GraphRelation(**dict(_found_relation(one)), created_at=_utc_time(one.fact.said)) for one in found
        )
        names = dict.fromkeys(name for one in relations for name in (one.source, one.target))
        nodes = tuple(GraphNode(id=name, name=name) for name in names)
        return GraphResponse(user_id=user_id, nodes=nodes, relations=relations)

    def recall(self, query: LongText, user_id: UserId, limit: Limit = 10) -> RecallResponse:
        """What is remembered for a query, also of the open session, inside a hard budget."""
        text = check_input(query)
        if not self._people.has_person(user_id):
            return RecallResponse(memories=(), relations=(), truncated=False)
        with self._people.companion(user_id) as companion:
            memory = companion.memory
            found = memory.recall([_search_text(text)], "", self._people.clock(), companion.settings.recall_limits)
            memories = recalled_memories(found)
            relations = distinct_relations(_find_relations(memory, found, text), _MOST_RELATIONS)
        kept = within_budget(memories, max(1, min(limit, _MOST_MEMORIES)), _MOST_CHARACTERS)
        return RecallResponse(memories=tuple(kept), relations=tuple(relations), truncated=len(kept) < len(memories))

    def search(
        self,
        user_id: UserId,
        query: Annotated[str, Field(max_length=LONGEST_INPUT, description="Words, or a question; may be empty.")] = "",
        persons: Annotated[
            tuple[Name, ...], Field(max_length=20, strict=False, description="People it must name, all of them.")
        ] = (),
        entities: Annotated[
            tuple[Name, ...],
            Field(max_length=20, strict=False, description="Things or organisations it must name, all of them."),
        ] = (),
        location: Annotated[Name, Field(description="Where it happens.")] = "",
        topic: Annotated[Name, Field(description="What it is about.")] = "",
        since: Annotated[str, _moment("The first year, month or day: 2026, 2026-05, 2026-05-01.")] = "",
        until: Annotated[str, _moment("The last year, month or day.")] = "",
        limit: Limit = 10,
    ) -> SearchResponse:
        """The facts that pass all filters, best first, inside a hard budget; without any, what is remembered.

        Facts of the time that a query names come first.
        """
        wanted = FactFilter(persons, entities, location, topic, since, until)
        text, now = check_input(query) if query.strip() else "", self._people.clock()
        if not self._people.has_person(user_id) or not (text or wanted):
            return SearchResponse(memories=(), truncated=False)
        most = max(1, min(limit, _MOST_MEMORIES))
        with self._people.companion(user_id) as companion:
            memory = companion.memory
            if wanted:
                by_part = memory.find_facts(wanted, _search_text(text), most + 1)
                found = [_found_fact(fact, score) for fact, score in by_part]
            else:
                days = days_named(text, now.date())
                then = FactFilter(since=days.first.isoformat(), until=days.last.isoformat()) if days else wanted
                by_part = memory.find_facts(then, _search_text(text), most) if days and days.days <= _YEAR else []
                found = [_found_fact(fact, 1.0) for fact, _ in by_part if fact.start]
                recalled = memory.recall([_search_text(text)], "", now, companion.settings.recall_limits)
                others = recalled_memories(recalled)
                facts = {one.text_id: one for one in memory.facts.with_ids([one.id for one in others])}
                known = {one.id for one in found}
                found += [_with_parts(one, facts.get(one.id)) for one in others if one.id not in known]
        kept = within_budget(found, most, _MOST_CHARACTERS)
        return SearchResponse(memories=tuple(kept), truncated=len(kept) < len(found))

    def remember(
        self,
        text: LongText,
        user_id: UserId,
        request_id: RequestId = None,
        bring_back: Annotated[bool, Field(description=_BRING_BACK)] = False,
    ) -> RememberResponse:
        """Store something in the open session, word for word.

        Raises UsageError for what the person erased, unless they want it back.
        """
        words = check_input(text)
        with self._people.companion(user_id) as companion:
            sessions = self._sessions_of(companion)
            self._watch.expect_end(user_id)
            stored = sessions.store(words, request_id, written="again" if bring_back else "by program")
            if stored.reading:
                companion.maintenance.queue.compaction.wake()
            self._watch.check_soon(companion, sessions)
        message = stored.message
        return RememberResponse(
            id=message.text_id, text=message.words, date=_utc_time(message.timestamp), new=stored.new
        )

    def forget(
        self,
        memory_id: Annotated[
            str, Field(min_length=1, max_length=LONGEST_ID, description="An id that recall returned.")
        ],
        user_id: UserId,
    ) -> ForgetResponse:
        """Erase a memory and what was drawn from it out of every file, and prove it.

        Raises UsageError where there is no such memory.
        """
        if not self._people.has_person(user_id):
            raise UsageError("memory.unknown", given=memory_id)
        with self._people.companion(user_id) as companion:
            with companion.turns, companion.maintenance.paused():
                chosen = companion.memory.erasure.scope_of_memory(memory_id)
                proof = companion.memory.erasure.erase(chosen) if chosen else None
            if proof is None:
                raise UsageError("memory.unknown", given=memory_id)
            if companion.memory.rebuilds.due_requests():
                self._watch.expect_end(user_id)
            self._watch.check_soon(companion, self._sessions_of(companion))
        return ForgetResponse(
            id=memory_id,
            messages=len(proof.removed.messages),
            summaries=len(proof.removed.summaries),
            notes=len(proof.removed.notes),
            facts=len(proof.removed.facts),
            proof=ErasureProof(files_searched=proof.places, traces_left=len(proof.traces)),
        )

    def erased(self, user_id: UserId) -> ErasedResponse:
        """What was erased, without its content, the earliest first."""
        found: list[ErasureReceipt] = []
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                found = companion.memory.erased.receipts()
        return ErasedResponse(user_id=user_id, erasures=tuple(map(_erasure_of, found)))

    def open_matters(
        self,
        user_id: UserId,
        number: Annotated[int | None, Field(ge=1, le=LARGEST, description="What to settle; none only lists.")] = None,
        deed: Annotated[Deed, Field(description="What becomes of it.")] = "done",
        when: Annotated[str, Field(max_length=100, description="For later: the day, such as 2026-12-01.")] = "",
    ) -> OpenResponse:
        """What is open, by date. With a ``number`` the person settles that first. Raises UsageError."""
        found: list[OpenItem] = []
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                now = companion.clock()
                if number is not None:
                    decide(companion.memory, number, deed, when, now)
                found = [
                    OpenItem(number=one.number, kind=one.kind, words=safe_text(one.words), by=one.role, said=one.said,
                             due=due_day(one, now), brought_up=one.asked)
                    for one in list_open(companion.memory, now)
                ]  # fmt: skip
        elif number is not None:
            raise UsageError("open.unknown", number=number)
        return OpenResponse(user_id=user_id, open=tuple(found))

    def diary(self, user_id: UserId, date: Annotated[str, _moment(_PAGES_OF)] = "") -> DiaryResponse:
        """The companion's diary of a year, month or day, else of its last month."""
        pages: list[DiaryPage] = []
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                pages = [_diary_page(one) for one in companion.memory.shown.pages()]
        months = tuple(dict.fromkeys(one.date[:7] for one in pages))
        chosen = date or "".join(months[-1:])
        shown = tuple(one for one in pages if one.date.startswith(chosen))
        return DiaryResponse(user_id=user_id, months=months, pages=shown)

    def profile(self, user_id: UserId) -> ProfileResponse:
        """Who the person is, inside a hard budget."""
        if not self._people.has_person(user_id):
            return ProfileResponse(user_id=user_id, image="", facts=(), truncated=False)
        with self._people.companion(user_id) as companion:
            persona = companion.read_persona("user")
            known = companion.memory.facts.all(current=True, about="person")[::-1]
        facts = [ProfileFact(id=one.text_id, text=fact_text(one), since=one.since[:10]) for one in known]
        kept = within_budget(facts, _MOST_MEMORIES, _MOST_CHARACTERS - _PERSONA_LENGTH)
        return ProfileResponse(
            user_id=user_id,
            image=persona[:_PERSONA_LENGTH],
            facts=tuple(kept),
            truncated=len(kept) < len(facts) or len(persona) > _PERSONA_LENGTH,
        )

    def day(self, user_id: UserId, date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]) -> DayResponse:
        """What was said on a day, as ``2026-11-22``, and what is known since then, inside a hard budget."""
        memories: list[Remembered] = []
        if self._people.has_person(user_id):
            with self._people.companion(user_id) as companion:
                memories = _memories_of_day(companion.memory, date)
        kept = within_budget(memories, _MOST_MEMORIES, _MOST_CHARACTERS)
        return DayResponse(user_id=user_id, date=date, memories=tuple(kept), truncated=len(kept) < len(memories))

    # -- administration --------------------------------------------------------------------------------------------

    def known_people(self) -> list[KnownPerson]:
        """Everyone who was ever served, the earliest first."""
        served = self._people.registry.first_served()
        return [KnownPerson(user_id=one, since=_utc_time(when)) for one, when in served.items()]

    def stored_memories(
        self,
        user_id: UserId,
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
        offset: Annotated[int, Field(ge=0, le=LARGEST)] = 0,
    ) -> StoredMemories:
        """What is stored of a person: facts, the last learned first, then what was said, the last session first."""
        self._check_known(user_id)
        with self._people.companion(user_id) as companion:
            found = list(islice(_list_stored(companion.memory), offset, offset + limit + 1))
        return StoredMemories(memories=tuple(found[:limit]), more=len(found) > limit)

    def export_person(self, user_id: UserId) -> IO[bytes]:
        """A ZIP file of everything stored of a person, without a name on disk; the caller closes it.

        ``about-person.json`` says who it is; each memory is a document of its own, which ``--import`` takes.
        """
        self._check_known(user_id)
        registry = self._people.registry
        known = {
            "user_id": user_id,
            "since": registry.first_served().get(user_id),
            "system_instructions": [asdict(one) for one in registry.instructions(user_id)],
        }
        whole = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
        try:
            with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
                file.writestr("about-person.json", json.dumps(known, ensure_ascii=False, indent=2))
                self._add_memories(file, user_id)
            whole.seek(0)
        except BaseException:
            whole.close()
            raise
        return whole

    def _add_memories(self, file: zipfile.ZipFile, user_id: str) -> None:
        for number, memory in self._people.memory_folders(user_id):
            name = "own-memory.json" if number is None else f"memory-of-instruction-{number}.json"
            # In the memory's own folder: what a crash leaves behind is erased with the memory.
            with tempfile.TemporaryDirectory(prefix=".export-", dir=memory) as folder:
                write_portable(memory, Path(folder) / name, self._people.clock)
                file.write(Path(folder) / name, name)

    def erase_person(self, user_id: UserId) -> ErasedPerson:
        """Erase a person completely, out of every file, and prove it.

        Raises UsageError for a person who was never served, and for the owner of the server.
        """
        self._check_known(user_id)
        if user_id == ME:
            raise UsageError("person.owner")
        receipts = self._people.erase_person(user_id)
        self._watch.remove_person(user_id)
        return ErasedPerson(
            user_id=user_id,
            memories=len(receipts),
            proof=ErasureProof(
                files_searched=sum(one.files for one in receipts), traces_left=sum(one.traces for one in receipts)
            ),
        )

    # -- in the background -----------------------------------------------------------------------------------------

    def sweep(self) -> int:
        """End the sessions whose time is over, and start to consolidate those that have ended.

        Called at the start and every minute. Returns how many sessions ended.
        """
        return self._watch.sweep(self._sessions_of)

    def settle(self, user_id: str, timeout: float) -> bool:
        """Wait until a person's ended sessions are consolidated, or that failed. False after ``timeout``."""
        if not self._people.has_person(user_id):
            return True
        with self._people.companion(user_id) as companion:
            return companion.maintenance.queue.settle("consolidate", timeout)

    def _look_after(self, companion: Companion) -> None:
        """Do what is due in a memory that no server had open."""
        companion.start_maintenance()
        if companion.instruction is None:
            self._watch.check(companion, self._sessions_of(companion))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _check_known(self, person: str) -> None:
        if not self._people.has_person(person):
            raise UsageError("person.unknown")

    def _sessions_of(self, companion: Companion) -> ServiceSessions:
        people = self._people
        return ServiceSessions(companion.memory, companion.settings, people.clock, people.new_id)

    def _find_answer(
        self, companion: Companion, sessions: ServiceSessions, text: str, request_id: str | None
    ) -> _Answer:
        """What is remembered for an input, from all sessions but the open one."""
        memory, began = companion.memory, time.perf_counter()
        going_on = sessions.find_open()
        again = sessions.find_repeated(text, request_id, going_on)
        events = going_on.events if going_on else ()
        before = [message for message in events if not message.hidden and not (again and message.seq >= again.seq)]
        size = companion.settings.coreference_context_size
        said = text.strip()
        resolved = resolve_references(said, [message.words for message in before], size)
        resolved = text if resolved == said else resolved  # as it was said where nothing is resolved
        searched = time.perf_counter()
        found = memory.recall(
            [_search_text(resolved)],
            going_on.session.session_id if going_on else "",
            self._people.clock(),
            companion.settings.recall_limits,
            besides_session=True,
        )
        ended = time.perf_counter()
        related = _find_relations(memory, found, resolved)
        memories = within_budget(consolidated_memories(memory, found, size), _MOST_MEMORIES, _MOST_CHARACTERS)
        read_ms = 1000 * (searched - began + time.perf_counter() - ended)
        used = min(size, len(before)) if find_pronouns(text) else 0
        return _Answer(resolved, found, memories, related, used, read_ms, 1000 * (ended - searched))


# -- texts


def recalled_memories(found: Recollection) -> list[Remembered]:
    """Everything that was recalled, best first; of a message and its answer only what was found."""
    items = sorted(recalled_items(found), key=lambda one: _KINDS.index(one.kind))
    memories = [
        Remembered(
            id=item.memory.text_id,
            kind="summary" if item.kind == "chapter" else item.kind,
            date=_utc_time(item.when) if item.when else "",
            text=program_text(item.memory, found.messages),
            score=program_score(item.memory),
        )
        for item in items
        if getattr(item.memory, "hit", True)
    ]
    return sorted(memories, key=lambda one: -one.score)


def consolidated_memories(memory: Memory, found: Recollection, look_back: int) -> list[Remembered]:
    """What consolidation made of what was recalled, and messages that wait for it, best first.

    A message that was read is given as its current facts, those of one matter together. In one that waits, and in words
    that a fact only quotes, references are resolved by the ``look_back`` messages before. Questions, and statements
    that do not say whom they are about, are left out.
    """
    waiting = memory.messages.unread_among([message.text_id for message in found.messages])
    scores = {
        message.text_id: program_score(message)
        for message in found.messages
        if message.hit and message.text_id not in waiting
    }
    best = {one.text_id: program_score(one) for one in found.facts}
    facts = {one.text_id: one for one in memory.facts.with_ids(list(best))}
    for text_id, learned in memory.facts.of_messages(list(scores)).items():
        for fact in learned:
            facts[fact.text_id] = fact
            best[fact.text_id] = max(best.get(fact.text_id, 0.0), scores[text_id])
    planned = {one.text_id: program_text(one, ()) for one in found.facts if one.planned_for}
    resting = dict.fromkeys(text_id for fact in facts.values() for text_id in fact.messages)
    said = {one.text_id: one for one in memory.messages.with_ids([*waiting, *resting])}

    def resolve(text_id: str, words: str, start: int | None = None) -> str:
        before = [one.words for one in memory.messages.before(said[text_id], look_back)]
        own = said[text_id].words[:start] if start is not None else ""
        return resolve_references(words, [*before, own], look_back and look_back + 1)

    statements: defaultdict[str, dict[str, Fact]] = defaultdict(dict)
    for fact in sorted(facts.values(), key=lambda one: one.number):
        text = planned.get(fact.text_id) or fact_text(fact)
        if fact.basis == "quoted":
            parts = [
                resolve(one.message, one.words, one.start) if one.role == "user"
                else f"{one.speaker or 'Assistant'}: {one.words}"
                for one in fact.quotes
            ]  # fmt: skip
            stated = statements[fact.note or fact.text_id]
            text = safe_text(" — ".join(part for part in parts if part not in stated))
        elif begins_with_pronoun(text):
            text = resolve(fact.messages[-1], text, len(said[fact.messages[-1]].words))
        clear = says_what_it_means(text) if fact.basis == "quoted" else not begins_with_pronoun(text)
        if fact.current and fact.basis != "inferred" and text and clear:
            statements[fact.note or fact.text_id].setdefault(text, fact)
    memories = [
        Remembered(
            id=next(iter(of_note.values())).text_id, kind="fact",
            date=_utc_time(max(one.said for one in of_note.values())),
            text=safe_text(("；" if unspaced_length(text) else " ").join(of_note)),
            score=max(best[one.text_id] for one in of_note.values()),
        )
        for of_note in statements.values() for text in [next(iter(of_note))]
    ]  # fmt: skip
    messages = [
        replace(
            message,
            text=PREFIX["user"] + resolve(message.text_id, message.text.removeprefix(PREFIX["user"])),
            hit=message.hit and not _only_asks(said[message.text_id].words),
        )
        if message.role == "user"
        else message
        for message in found.messages
        if message.text_id in waiting
    ]
    others = recalled_memories(replace(found, facts=(), messages=tuple(messages)))
    return sorted((*memories, *others), key=lambda one: -one.score)


def _only_asks(text: str) -> bool:
    return all(map(is_question, split_sentences(text)))


def _found_fact(fact: Fact, score: float) -> FoundMemory:
    found = Remembered(
        id=fact.text_id, kind="fact", date=_utc_time(fact.said), text=fact_text(fact), score=round(min(1.0, score), 4)
    )
    return _with_parts(found, fact)


def _with_parts(found: Remembered, fact: Fact | None) -> FoundMemory:
    """A memory with the parts of the fact that it is."""
    if fact is None:
        return FoundMemory(**dict(found), timestamp=found.date)
    return FoundMemory(
        **dict(found),
        timestamp=moment_of(fact),
        location=safe_text(fact.location),
        persons=tuple(map(safe_text, fact.persons)),
        entities=tuple(map(safe_text, fact.entities)),
        keywords=tuple(map(safe_text, fact.keywords)),
        topic=safe_text(fact.topic),
    )


def moment_of(fact: Fact) -> str:
    """When what a fact tells happens, ISO 8601, as exactly as it is known; else when it was said, in local time."""
    if not fact.start:
        return in_zone(datetime.fromisoformat(fact.said)).isoformat(timespec="seconds")[:19]
    return f"{fact.start}:00" if "T" in fact.start else fact.start


def within_budget(memories: Iterable[Text], most: int, characters: int) -> list[Text]:
    """The first of them, as many as fit."""
    kept: list[Text] = []
    for one in memories:
        characters -= len(one.text)
        if len(kept) == most or characters < 0:
            break
        kept.append(one)
    return kept


def distinct_relations(found: Sequence[Relation], most: int) -> list[RelationFound]:
    """Relations, each once, however many facts state it, with their certainty."""
    return list(dict.fromkeys(map(_found_relation, found)))[:most]


def _found_relation(one: Relation) -> RelationFound:
    relation = safe_text(one.relation) + certainty_note(one.fact)
    return RelationFound(source=safe_text(one.source), relation=relation, target=safe_text(one.target))


def _memories_of_day(memory: Memory, date: str) -> list[Remembered]:
    """What a person said on a day, then what is known since that day and current."""
    sessions = [
        one.session_id
        for one in memory.sessions.recent(None)
        if one.start_timestamp[:10] <= date <= (one.end_timestamp or date)[:10]
    ]
    spoken = [
        message
        for session_id in sessions
        for message in memory.messages.of_session(session_id)
        if message.timestamp[:10] == date and message.role == "user" and not message.hidden
    ]
    spoken.sort(key=lambda message: message.timestamp)
    facts = [fact for fact in memory.facts.all(current=True) if fact.since[:10] == date]
    found: list[tuple[str, Literal["turn", "fact"], str, str]] = [
        *((one.text_id, "turn", one.timestamp, safe_text(as_memory(one).words)) for one in spoken),
        *((one.text_id, "fact", one.since, fact_text(one)) for one in facts),
    ]
    return [
        Remembered(id=text_id, kind=kind, date=_utc_time(when), text=text, score=1.0)
        for text_id, kind, when, text in found
    ]


def _diary_page(page: Page) -> DiaryPage:
    said = tuple(DiarySentence(text=safe_text(text), messages=ids) for text, ids in page.sentences)
    day = in_zone(datetime.fromisoformat(page.start)).date().isoformat() if page.start else ""
    return DiaryPage(id=page.text_id, session=page.session_id, date=day, sentences=said)


def _erasure_of(one: ErasureReceipt) -> Erasure:
    proof = ErasureProof(files_searched=one.files, traces_left=one.traces)
    return Erasure(
        erased_at=_utc_time(one.erased_at), reason=one.reason, messages=one.messages, days=dict(one.days),
        sessions=one.sessions, derived=one.derived, proof=proof if one.files else None,
    )  # fmt: skip


def _utc_time(timestamp: str | datetime) -> str:
    """A time of UTC, to the second."""
    when = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
    return in_zone(when, UTC).isoformat(timespec="seconds")[:19] + "Z"


# -- answers


def _search_text(text: str) -> str:
    """What is searched for: of a very long input its beginning and its end."""
    return text if len(text) <= _LONGEST_QUERY else f"{text[: _LONGEST_QUERY // 2]}\n{text[-_LONGEST_QUERY // 2 :]}"


def _find_relations(memory: Memory, found: Recollection, text: str) -> list[Relation]:
    """The relations of what was found, and of what a text names."""
    hits = [message.text_id for message in found.messages if message.hit]
    learned = [fact.text_id for facts in memory.facts.of_messages(hits).values() for fact in facts]
    return memory.relations.about([*(fact.text_id for fact in found.facts), *learned], text)


def _list_stored(memory: Memory) -> Iterator[StoredMemory]:
    for fact in reversed(memory.facts.all()):
        yield StoredMemory(id=fact.text_id, kind="fact", date=_utc_time(fact.said), text=fact_text(fact))
    offset = 0
    while sessions := memory.sessions.recent(_SESSIONS, offset):
        offset += len(sessions)
        for message in (
            message for one in sessions for message in reversed(memory.messages.of_session(one.session_id))
        ):
            yield StoredMemory(
                id=message.text_id, kind=message.role, date=_utc_time(message.timestamp), text=message.words
            )


def _process_response(answer: _Answer) -> ProcessResponse:
    relations = tuple(distinct_relations(answer.relations, _MOST_RELATIONS))
    return ProcessResponse(
        resolved_query=answer.resolved,
        memories=tuple(
            MemoryFound(content=one.text, score=one.score, consolidated=one.kind != "turn") for one in answer.memories
        ),
        relations=relations,
        metadata=ProcessMetadata(
            retrieval_time_ms=round(answer.read_ms + answer.search_ms), has_memory=bool(answer.memories or relations)
        ),
    )


def _metadata_of(memory: Memory, memories: Sequence[Remembered]) -> dict[str, dict[str, Any]]:
    """What programs said of the messages that memories are based on, by the id of the memory."""
    messages = {one.text_id: one.messages for one in memory.facts.with_ids([one.id for one in memories])}
    resting = {one.id: messages.get(one.id, (one.id,)) for one in memories}
    stored = memory.units.metadata([message for each in resting.values() for message in each])
    return {
        name: {k: v for message in each for k, v in stored.get(message, {}).items()} for name, each in resting.items()
    }


def _debug_response(
    answer: _Answer, text: str, metadata: Mapping[str, dict[str, Any]], *, would_store: bool
) -> DebugResponse:
    found = DebugFindings(
        pronouns=find_pronouns(text),
        context_events_used=answer.context_events,
        candidates=tuple(
            Candidate(text_id=one.id, score=one.score, source=one.kind, metadata=metadata.get(one.id, {}))
            for one in answer.memories
        ),
        sql_ms=round(answer.read_ms),
        vector_ms=round(answer.search_ms),
        degraded=answer.found.degraded,
        would_store=would_store,
    )
    return DebugResponse(**dict(_process_response(answer)), debug=found)
