"""A memory as a service: what a person says goes in, what is remembered for it comes out. The same for every door.

Promises: only the person's words are stored, as they came; one session a person is open, and ends by itself; ending
returns at once, and what the session came to is drawn from it afterwards, once; nothing of one person is ever answered
to another; who was never heard of leaves no trace by being asked for. Raises UsageError, StorageError.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from domain.errors import UsageError
from domain.facts import Relation
from domain.recollection import RecallLimits, Recollection
from domain.text import admitted
from domain.workers import Stop
from interfaces.service import memories_told
from interfaces.service.bodies import (
    ActiveSession,
    Candidate,
    DayResponse,
    DebugFindings,
    DebugResponse,
    EndedSession,
    EndSessionResponse,
    ErasureProof,
    ForgetResponse,
    GraphNode,
    GraphRelation,
    GraphResponse,
    ProcessMetadata,
    ProcessResponse,
    ProfileFact,
    ProfileResponse,
    RecallResponse,
    RememberResponse,
    SessionStatusResponse,
)
from interfaces.service.memories_told import ToldMemory, moment, shown
from interfaces.service.service_sessions import DOOR, ServiceSessions
from interfaces.service.watch import Watch
from jobs.background_queue import BackgroundQueue
from jobs.consolidating import consolidated
from memory import Memory, pronouns, resolve
from people import ME, Companion, People, Proof

#: So many memories, and so many characters of them, are told at the most; and so many relations.
_MOST_MEMORIES, _MOST_CHARACTERS, _MOST_RELATIONS = 50, 8_000, 20
#: So many people's sessions are consolidated at once.
_AT_ONCE = 2
#: The longest that the image of a person is told.
_IMAGE = 4_000
#: So much of an input is searched for, in characters: a search takes longer with every word.
_LONGEST_QUERY = 2_000


@dataclass(frozen=True)
class _Answer:
    """What is remembered for an input, and how long that took, in milliseconds."""

    resolved: str
    found: Recollection
    told: list[ToldMemory]
    relations: list[Relation]
    context_events: int
    read_ms: float
    search_ms: float


class MemoryService:
    """The verbs, over the memories of many people. One for each ``People``: it knows what is under way.

    >>> service = MemoryService(people)
    >>> service.process("She moved to Lyon.", "me").resolved_query
    'She moved to Lyon. (Ann)'
    """

    def __init__(self, people: People) -> None:
        self._people = people
        self._consolidating = BackgroundQueue(
            people.known_companion, self._consolidate, people.log, at_once=_AT_ONCE
        )
        self._watch = Watch(people, self._consolidating)

    # -- the five --------------------------------------------------------------------------------------------------

    def process(self, said: str, user_id: str, request_id: str | None = None) -> ProcessResponse:
        """Store what a person said in their open session, and answer what is remembered for it."""
        text = admitted(said)
        with self._people.companion(user_id) as companion:
            sessions = self._sessions(companion)
            answer = self._answered(companion, sessions, text, request_id)
            self._watch.listen(user_id)
            sessions.store(text, request_id)
            self._watch.heard(user_id, sessions)
        return _processed(answer)

    def end_session(self, user_id: str) -> EndSessionResponse:
        """End the open session; what it came to is drawn from it in the background."""
        ended = None
        if self._knows(user_id):
            with self._people.companion(user_id) as companion:
                sessions = self._sessions(companion)
                ended = sessions.end()
                self._watch.heard(user_id, sessions)
        if ended is None:
            return EndSessionResponse(message="No active session", session_info=None)
        found, when = ended
        info = EndedSession(
            event_count=len(found.events),
            duration_seconds=max(0, int((when - found.began).total_seconds())),
            created_at=moment(found.began),
            ended_at=moment(when),
        )
        return EndSessionResponse(message="Session ending, consolidation started", session_info=info)

    def session_status(self, user_id: str) -> SessionStatusResponse:
        """Whether a session is open; nothing is changed."""
        found, left = None, 0.0
        if self._knows(user_id):
            with self._people.companion(user_id) as companion:
                sessions = self._sessions(companion)
                found = sessions.open()
                left = (sessions.ends(found) - self._people.clock()).total_seconds() if found else 0.0
        if found is None:
            return SessionStatusResponse(has_active_session=False, session_info=None)
        info = ActiveSession(
            event_count=len(found.events),
            created_at=moment(found.began),
            last_active_at=moment(found.last_active),
            time_until_timeout_seconds=max(0, int(left)),
        )
        return SessionStatusResponse(has_active_session=True, session_info=info)

    def debug(self, said: str, user_id: str) -> DebugResponse:
        """What ``process`` would answer, and how; nothing is changed."""
        text = admitted(said)
        if not self._knows(user_id):
            return _debugged(_Answer(text, Recollection(), [], [], 0, 0.0, 0.0), text, would_store=True)
        with self._people.companion(user_id) as companion:
            sessions = self._sessions(companion)
            answer = self._answered(companion, sessions, text, None)
            again = sessions.sent_before(text, None, sessions.open())
            return _debugged(answer, text, would_store=again is None)

    def graph(self, user_id: str, limit: int = 100) -> GraphResponse:
        """What is known to stand to each other, at most ``limit`` relations, the newest first."""
        found: list[Relation] = []
        if self._knows(user_id):
            with self._people.companion(user_id) as companion:
                found = sorted(companion.memory.facts.relations(), key=lambda one: -one.fact.number)[:limit]
        relations = tuple(
            GraphRelation(
                source=shown(one.source),
                relation=memories_told.related(one),
                target=shown(one.target),
                created_at=moment(one.fact.said),
            )
            for one in found
        )
        names = dict.fromkeys(name for one in relations for name in (one.source, one.target))
        nodes = tuple(GraphNode(id=name, name=name) for name in names)
        return GraphResponse(user_id=user_id, nodes=nodes, relations=relations)

    # -- beyond the five -------------------------------------------------------------------------------------------

    def recall(self, query: str, user_id: str, limit: int = 10) -> RecallResponse:
        """What is remembered for a query, also of the open session, inside a hard budget."""
        text = admitted(query)
        if not self._knows(user_id):
            return RecallResponse(memories=(), relations=(), truncated=False)
        with self._people.companion(user_id) as companion:
            memory = companion.memory
            found = memory.recall([_sought(text)], "", self._people.clock(), self._limits(companion))
            told = memories_told.told(found)
            relations = memories_told.relations(_related(memory, found, text), _MOST_RELATIONS)
        kept = memories_told.within(told, max(1, min(limit, _MOST_MEMORIES)), _MOST_CHARACTERS)
        return RecallResponse(
            memories=tuple(one.remembered for one in kept),
            relations=tuple(relations),
            truncated=len(kept) < len(told),
        )

    def remember(self, text: str, user_id: str, request_id: str | None = None) -> RememberResponse:
        """Store something in the open session, word for word."""
        words = admitted(text)
        with self._people.companion(user_id) as companion:
            sessions = self._sessions(companion)
            self._watch.listen(user_id)
            stored = sessions.store(words, request_id)
            self._watch.heard(user_id, sessions)
        turn = stored.turn
        return RememberResponse(id=turn.text_id, text=turn.words, date=moment(turn.timestamp), new=stored.new)

    def forget(self, memory_id: str, user_id: str) -> ForgetResponse:
        """Erase a memory and what was drawn from it out of every file, and prove it.

        Raises UsageError where there is no such memory.
        """
        if not self._knows(user_id):
            raise UsageError("memory.unknown", given=memory_id)
        with self._people.companion(user_id) as companion:
            with companion.turns, companion.background.paused():
                chosen = companion.memory.erasure.memory(memory_id)
                proof = companion.memory.erasure.erase(chosen) if chosen else None
            if proof is None:
                raise UsageError("memory.unknown", given=memory_id)
            if companion.memory.rebuilds.due():
                self._watch.listen(user_id)
            self._watch.heard(user_id, self._sessions(companion))
        return ForgetResponse(
            id=memory_id,
            turns=len(chosen.turns),
            summaries=len(chosen.summaries),
            notes=len(chosen.notes),
            facts=len(chosen.facts),
            proof=ErasureProof(files_searched=proof.files, traces_left=len(proof.traces)),
        )

    def profile(self, user_id: str) -> ProfileResponse:
        """Who the person is, inside a hard budget."""
        if not self._knows(user_id):
            return ProfileResponse(user_id=user_id, image="", facts=(), truncated=False)
        with self._people.companion(user_id) as companion:
            image = companion.image("user")
            known = companion.memory.facts.all(current=True, about="person")[::-1]
        told = [*map(memories_told.known, known)]
        kept = memories_told.within(told, _MOST_MEMORIES, _MOST_CHARACTERS - _IMAGE)
        return ProfileResponse(
            user_id=user_id,
            image=image[:_IMAGE],
            facts=tuple(ProfileFact(id=one.text_id, text=one.text, since=one.timestamp[:10]) for one in kept),
            truncated=len(kept) < len(told) or len(image) > _IMAGE,
        )

    def day(self, date: str, user_id: str) -> DayResponse:
        """What was said on a day, as ``2026-11-22``, and what is known since then, inside a hard budget."""
        told: list[ToldMemory] = []
        if self._knows(user_id):
            with self._people.companion(user_id) as companion:
                told = memories_told.of_day(companion.memory, date)
        kept = memories_told.within(told, _MOST_MEMORIES, _MOST_CHARACTERS)
        memories = tuple(one.remembered for one in kept)
        return DayResponse(user_id=user_id, date=date, memories=memories, truncated=len(kept) < len(told))

    def erase_person(self, user_id: str) -> list[Proof]:
        """Erase a person whole. Raises UsageError for the one at the terminal, StorageError."""
        if user_id == ME:
            raise UsageError("person.owner")
        proofs = self._people.erase(user_id)
        self._watch.forget(user_id)
        return proofs

    # -- what goes on by itself ------------------------------------------------------------------------------------

    def sweep(self) -> int:
        """End the sessions whose time is over, and go on with what is to be drawn from ended ones.

        Called at the start and every minute. Returns how many sessions ended.
        """
        return self._watch.sweep(self._sessions)

    def settle(self, user_id: str, timeout: float) -> bool:
        """Wait until what is to be drawn from a person's ended sessions is, or was tried. False when not."""
        return self._consolidating.wait(user_id, timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Let go of what is under way; it goes on at the next start."""
        self._consolidating.close(timeout)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _knows(self, person: str) -> bool:
        """Whether there is a memory of this person at all; reading makes none."""
        return self._people.knows(person)

    def _consolidate(self, companion: Companion, stop: Stop) -> bool:
        return consolidated(companion.memory, companion.llm, DOOR, stop, self._people.log)

    def _sessions(self, companion: Companion) -> ServiceSessions:
        people = self._people
        return ServiceSessions(companion.memory, companion.settings, people.clock, people.new_id)

    def _limits(self, companion: Companion) -> RecallLimits:
        return companion.settings.recall_limits

    def _answered(
        self, companion: Companion, sessions: ServiceSessions, text: str, request_id: str | None
    ) -> _Answer:
        """What is remembered for an input from other sessions than the one that goes on."""
        memory, began = companion.memory, time.perf_counter()
        going_on = sessions.open()
        again = sessions.sent_before(text, request_id, going_on)
        events = going_on.events if going_on else ()
        before = [turn for turn in events if not turn.withheld and not (again and turn.seq >= again.seq)]
        size = companion.settings.coreference_context_size
        resolved = _resolved(text, [turn.words for turn in before], size)
        searched = time.perf_counter()
        found = memory.recall(
            [_sought(resolved)],
            going_on.session.session_id if going_on else "",
            self._people.clock(),
            self._limits(companion),
            besides_session=True,
        )
        ended = time.perf_counter()
        related = _related(memory, found, resolved)
        told = memories_told.within(memories_told.told(found), _MOST_MEMORIES, _MOST_CHARACTERS)
        read_ms = 1000 * (searched - began + time.perf_counter() - ended)
        used = min(size, len(before)) if pronouns(text) else 0
        return _Answer(resolved, found, told, related, used, read_ms, 1000 * (ended - searched))


def _resolved(text: str, recent: list[str], size: int) -> str:
    """What is asked with what its pronouns mean; as it came where nothing is meant or nothing fits."""
    said = text.strip()
    meant = resolve(said, recent, size)
    return text if meant == said else meant


def _sought(text: str) -> str:
    """What is searched for: of a very long input how it begins and how it ends."""
    return (
        text
        if len(text) <= _LONGEST_QUERY
        else f"{text[: _LONGEST_QUERY // 2]}\n{text[-_LONGEST_QUERY // 2 :]}"
    )


def _related(memory: Memory, found: Recollection, text: str) -> list[Relation]:
    """What stands to each other of what was found, and of what a text names."""
    hits = [turn.text_id for turn in found.turns if turn.hit]
    drawn = [fact.text_id for facts in memory.facts.of_turns(hits).values() for fact in facts]
    return memory.facts.relations_about([*(fact.text_id for fact in found.facts), *drawn], text)


def _processed(answer: _Answer) -> ProcessResponse:
    relations = tuple(memories_told.relations(answer.relations, _MOST_RELATIONS))
    return ProcessResponse(
        resolved_query=answer.resolved,
        memories=tuple(one.found for one in answer.told),
        relations=relations,
        metadata=ProcessMetadata(
            retrieval_time_ms=round(answer.read_ms + answer.search_ms),
            has_memory=bool(answer.told or relations),
        ),
    )


def _debugged(answer: _Answer, text: str, *, would_store: bool) -> DebugResponse:
    candidates = tuple(
        Candidate(text_id=one.text_id, score=one.score, source=one.kind) for one in answer.told
    )
    findings = DebugFindings(
        pronouns=pronouns(text),
        context_events_used=answer.context_events,
        candidates=candidates,
        sql_ms=round(answer.read_ms),
        vector_ms=round(answer.search_ms),
        degraded=answer.found.degraded,
        would_store=would_store,
    )
    plain = _processed(answer)
    return DebugResponse(
        resolved_query=plain.resolved_query,
        memories=plain.memories,
        relations=plain.relations,
        metadata=plain.metadata,
        debug=findings,
    )
