"""What the page asks for, under ``/page``: a memory to look at, for the person whose token is shown, and nobody else.

It belongs to the page and changes with it; programs have doors of their own. Promises: reading changes nothing; what is
erased is just what was shown when the person agreed; what was erased is not told as recalled; nothing is kept by a
browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel, Field

from conversation import Conversation
from domain.events import Reply
from domain.facts import Fact
from domain.recollection import RecalledSummary, RecalledTurn, Recollection
from domain.records import PREFIX, ErasureScope, Session
from domain.text import admitted
from facts.corrections import corrected_fact
from interfaces.http import page_import, page_personas
from interfaces.http import page_shapes as shapes
from interfaces.http.callers import Caller, Calling, Stopping
from interfaces.http.limits import Affordable, Text, spend
from interfaces.http.page.preferred_language import InLanguage
from interfaces.http.page_chat import PageWork, begun, reply_work, save_work
from interfaces.messages import Words
from jobs.erasing import Erased
from jobs.keeping import session_to_open
from people import Companion, People

#: Sessions, facts, relations and messages that are told at once, at the most.
_SESSIONS, _FACTS, _RELATIONS, _MESSAGES = 50, 300, 200, 400
_LONGEST_NAME = 2_000
Number = Annotated[int, Path(ge=0, le=2**63 - 1)]
Kind = TypeVar("Kind")


class PageSaid(BaseModel):
    """Something said: in the session that is named, in a new one for "", in the present one where none is named.

    ``again``: the reply is to take the place of the last one.
    """

    text: Text
    session: Annotated[str, Field(max_length=_LONGEST_NAME)] | None = None
    again: bool = False


class PageDecision(BaseModel):
    """What a person decides about a fact: it never was, it is to be kept, need not be, or the last is taken back.

    With ``correct`` it is so instead as ``text`` says.
    """

    decision: Literal["wrong", "keep", "let_go", "undo", "correct"]
    text: Annotated[str, Field(max_length=_LONGEST_NAME)] = ""


class PageWish(BaseModel):
    """What is to be forgotten: a message, all that a fact rests on, a session, or whatever holds certain words."""

    what: Literal["turn", "fact", "session", "words"]
    named: Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]


class PageAgreed(PageWish):
    """The same, and the ``mark`` of what was shown of it."""

    mark: str


@dataclass(frozen=True)
class PageNow:
    """How things stand: whose memory it is, the present session as far as it is shown, and what was not answered."""

    person: str
    companion: str
    user: str
    standin: bool
    session: str
    turns: tuple[shapes.PageTurn, ...]
    unanswered: str


@dataclass(frozen=True)
class PageRead:
    """A session to read; of a long one the last messages."""

    session: shapes.PageSession
    summary: str
    turns: tuple[shapes.PageTurn, ...]
    left: int
    unanswered: str


@dataclass(frozen=True)
class PageFacts:
    """Facts, the ones last learned first; ``left`` are those for which there was no room."""

    facts: tuple[shapes.PageFact, ...]
    left: int


@dataclass(frozen=True)
class PageDay:
    """What happened on a day: the sessions that began, and the facts that hold since."""

    day: str
    sessions: tuple[shapes.PageSession, ...]
    facts: tuple[shapes.PageFact, ...]


def _not_kept(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


def router(people: People) -> APIRouter:
    """Everything under ``/page`` but the files of the page."""
    api = APIRouter(prefix="/page", include_in_schema=False, dependencies=[Depends(_not_kept)])
    _talking(api, people)
    _reading(api, people)
    _knowing(api, people)
    _forgetting(api, people)
    page_personas.add_routes(api, people)
    page_import.add_routes(api, people)
    return api


# -- talking


def _talking(api: APIRouter, people: People) -> None:
    @api.get("/now")
    def now(caller: Calling) -> PageNow:
        with _companion(people, caller) as companion:
            return _now(companion, _going_on(companion))

    @api.post("/chat", dependencies=[Affordable])
    async def chat(
        said: PageSaid, caller: Calling, words: InLanguage, server: Stopping, asked: Request
    ) -> Response:
        """Waits for nothing but the loop: the turn has a thread of its own."""

        def count(reply: Reply) -> None:
            spend(asked, reply.prompt_tokens, reply.completion_tokens, [said.text, reply.text])

        work = reply_work(words, admitted(said.text), said.session, count, again=said.again)
        return await begun(PageWork(people, words, caller.person(), work), server)

    @api.post("/sessions/{session_id}/save", dependencies=[Affordable])
    async def save(session_id: str, caller: Calling, words: InLanguage, server: Stopping) -> Response:
        return await begun(PageWork(people, words, caller.person(), save_work(words, session_id)), server)

    @api.get("/recalled")
    def recalled(caller: Calling, words: InLanguage, session: str = "") -> shapes.PageRecalled:
        """What was recalled for the last reply of a session, the present one where none is named."""
        with _companion(people, caller) as companion, companion.turns:
            chosen = companion.memory.sessions.find(session) if session else _going_on(companion)
            last = companion.last_turn(chosen) if chosen else None
            found = _still_there(companion, last.recollection) if last else Recollection()
        return shapes.recalled_shape(words, found)


def _now(companion: Companion, session: Session | None) -> PageNow:
    memory, settings = companion.memory, companion.settings
    waiting = memory.sessions.in_flight(session.session_id) if session else None
    turns = memory.messages.of_session(session.session_id)[-_MESSAGES:] if session else []
    return PageNow(
        companion.person,
        settings.companion_name,
        settings.user_name,
        companion.llm.describe().standin,
        session.session_id if session else "",
        tuple(shapes.turn_shape(turn) for turn in turns),
        waiting.text if waiting else "",
    )


def _still_there(companion: Companion, found: Recollection) -> Recollection:
    """What was recalled, without what was erased since: other doors erase as well."""
    memory = companion.memory
    turns = {turn.text_id for turn in memory.messages.with_ids([one.text_id for one in found.turns])}
    facts = {fact.text_id for fact in memory.facts.with_ids([one.text_id for one in found.facts])}
    summaries = {one.text_id for one in memory.summaries.all()}
    left = replace(
        found,
        turns=tuple(one for one in found.turns if one.text_id in turns),
        facts=tuple(one for one in found.facts if one.text_id in facts),
        summaries=tuple(one for one in found.summaries if one.text_id in summaries),
    )
    return left if left == found else replace(left, queries=(), resolved=())


# -- reading


def _reading(api: APIRouter, people: People) -> None:
    @api.get("/sessions")
    def sessions(
        caller: Calling,
        skip: Annotated[int, Query(ge=0, le=10**9)] = 0,
        words: Annotated[str, Query(max_length=_LONGEST_NAME)] = "",
    ) -> list[shapes.PageSession]:
        """Newest first; with ``words`` those in which they were said."""
        with _companion(people, caller) as companion:
            if words.strip():
                return _sessions_with(companion, words)
            return [_session(companion, one) for one in companion.memory.sessions.recent(_SESSIONS, skip)]

    @api.get("/sessions/{session_id}")
    def session(session_id: str, caller: Calling) -> PageRead:
        with _companion(people, caller) as companion:
            memory = companion.memory
            found = _found(memory.sessions.find(session_id))
            summary, turns = memory.summaries.of(session_id), memory.messages.of_session(session_id)
            shown = tuple(shapes.turn_shape(turn) for turn in turns[-_MESSAGES:])
            waiting = memory.sessions.in_flight(session_id)
            return PageRead(
                _session(companion, found), summary.summary if summary else "", shown, len(turns) - len(shown),
                waiting.text if waiting else "",
            )  # fmt: skip

    @api.get("/timeline")
    def timeline(caller: Calling, words: InLanguage) -> list[PageDay]:
        with _companion(people, caller) as companion:
            began = [_session(companion, one) for one in companion.memory.sessions.recent(_SESSIONS)]
            return _days(began, _facts(companion, words, companion.memory.facts.all()).facts)


def _days(sessions: Sequence[shapes.PageSession], facts: Sequence[shapes.PageFact]) -> list[PageDay]:
    """By the day as it is written, the latest first; what has no day stands last."""
    days = sorted({*(one.began[:10] for one in sessions), *(one.since[:10] for one in facts)}, reverse=True)
    return [
        PageDay(
            day,
            tuple(one for one in sessions if one.began[:10] == day),
            tuple(one for one in facts if one.since[:10] == day),
        )
        for day in days
    ]


def _session(companion: Companion, session: Session, found: str = "") -> shapes.PageSession:
    memory = companion.memory
    summary, turns = memory.summaries.of(session.session_id), memory.messages.of_session(session.session_id)
    return shapes.session_shape(session, turns, summary.summary if summary else "", found)


def _sessions_with(companion: Companion, words: str) -> list[shapes.PageSession]:
    """The sessions in which words were said, or that a summary with them tells of, newest first."""
    limits = replace(companion.settings.recall_limits, sessions=_SESSIONS, turns=_MESSAGES)
    hits = companion.memory.search(words, limits)
    found: dict[str, str] = {}
    remembered: list[RecalledTurn | RecalledSummary] = [*hits.turns, *hits.summaries]
    for one in remembered:
        text = one.text.removeprefix(PREFIX[one.role]) if isinstance(one, RecalledTurn) else one.text
        found.setdefault(one.session_id, shapes.around(text, one.why.words or words.split()))
    sessions = [session for name in found if (session := companion.memory.sessions.find(name))]
    sessions.sort(key=lambda session: session.position, reverse=True)
    return [_session(companion, session, found[session.session_id]) for session in sessions[:_SESSIONS]]


# -- what is known


def _knowing(api: APIRouter, people: People) -> None:
    @api.get("/facts")
    def facts(
        caller: Calling,
        words: InLanguage,
        holding: Annotated[str, Query(max_length=_LONGEST_NAME)] = "",
        past: bool = False,
    ) -> PageFacts:
        with _companion(people, caller) as companion:
            memory = companion.memory
            known = [one for one, _ in memory.facts_with(holding)] if holding.strip() else memory.facts.all()
            return _facts(companion, words, [one for one in known if past or one.current])

    @api.get("/facts/{number}")
    def fact(number: Number, caller: Calling, words: InLanguage) -> shapes.PageEvidence:
        with _companion(people, caller) as companion:
            return _evidence(companion, words, _found(companion.memory.facts.find(number)))

    @api.post("/facts/{number}")
    def decide(
        number: Number, asked: PageDecision, caller: Calling, words: InLanguage
    ) -> shapes.PageEvidence:
        """The fact afterwards; of one that was corrected, the one in its place."""
        with _companion(people, caller) as companion, companion.turns:
            fact = _found(companion.memory.facts.find(number))
            if asked.decision == "correct":
                return _evidence(companion, words, _correct(companion, fact, asked.text))
            _decide(companion, fact, asked.decision)
            return _evidence(companion, words, _found(companion.memory.facts.find(number)))

    @api.get("/relations")
    def relations(caller: Calling, words: InLanguage) -> list[shapes.PageRelation]:
        with _companion(people, caller) as companion:
            found = companion.memory.facts.relations()[-_RELATIONS:]
        return [shapes.relation_shape(words, one) for one in found]


def _decide(companion: Companion, fact: Fact, decision: str) -> None:
    memory, done = companion.memory, True
    match decision:
        case "wrong":
            done = not fact.corrected and memory.facts.put_right(fact.text_id, None)
        case "keep":
            done = fact.current and memory.facts.keep(fact.text_id)
        case "let_go":
            done = memory.facts.keep(fact.text_id, kept=False)
        case "undo":
            done = memory.facts.undo_decision(fact.text_id)
    if not done:
        raise HTTPException(409, "Conflict")


def _correct(companion: Companion, fact: Fact, said: str) -> Fact:
    memory, text = companion.memory, admitted(said).strip()
    if (fact.until and not fact.corrected) or (text == fact.restatement and not fact.corrected):
        raise HTTPException(409, "Conflict")
    new = corrected_fact(fact, text, memory.facts.new_text_id())
    if not memory.facts.put_right(fact.text_id, new):
        raise HTTPException(409, "Conflict")
    return memory.facts.with_ids([new.text_id])[0]


def _facts(companion: Companion, words: Words, known: Sequence[Fact]) -> PageFacts:
    shown = list(known)[::-1][:_FACTS]
    numbers = _numbers(companion, shown)
    told = tuple(shapes.fact_shape(words, one, numbers) for one in shown)
    return PageFacts(told, len(known) - len(shown))


def _numbers(companion: Companion, facts: Sequence[Fact]) -> dict[str, int]:
    """The numbers of what took the place of facts."""
    instead = [one.replaced_by for one in facts if one.replaced_by]
    return {one.text_id: one.number for one in companion.memory.facts.with_ids(instead)}


def _evidence(companion: Companion, words: Words, fact: Fact) -> shapes.PageEvidence:
    memory = companion.memory
    events = [
        shapes.event_shape(words, event, memory.facts.with_ids([event.by]) if event.by else [])
        for event in memory.facts.history(fact.text_id)
    ]
    turns = tuple(shapes.turn_shape(turn) for turn in memory.messages.with_ids(fact.turns))
    return shapes.PageEvidence(
        shapes.fact_shape(words, fact, _numbers(companion, [fact])), turns, tuple(events)
    )


# -- forgetting


def _forgetting(api: APIRouter, people: People) -> None:
    @api.post("/forget/scope")
    def scope(wish: PageWish, caller: Calling, words: InLanguage) -> shapes.PageScope:
        """What would go; nothing goes yet."""
        with _companion(people, caller) as companion:
            return shapes.scope_shape(words, _scope(companion, wish))

    @api.post("/forget")
    def forget(agreed: PageAgreed, caller: Calling, words: InLanguage, server: Stopping) -> shapes.PageProof:
        """Erase what was shown; 409 where by now something else would go."""
        with _companion(people, caller) as companion, companion.turns:
            chosen = _scope(companion, agreed)
            if not chosen or shapes.mark_of(chosen) != agreed.mark:
                raise HTTPException(409, "Conflict")
            talk: Conversation = companion.conversation(_present(companion))
            *_, erased = talk.erase(chosen, server)
        assert isinstance(erased, Erased)
        return shapes.proof_shape(words, erased)


def _scope(companion: Companion, wish: PageWish) -> ErasureScope:
    memory = companion.memory
    match wish.what:
        case "session":
            return memory.erasure.session(wish.named) if memory.sessions.find(wish.named) else ErasureScope()
        case "words":
            return memory.erasure.words(wish.named) if wish.named.strip() else ErasureScope()
    return memory.erasure.memory(wish.named)


# -- whose memory


@contextmanager
def _companion(people: People, caller: Caller) -> Iterator[Companion]:
    with people.companion(caller.person()) as companion:
        yield companion


def _going_on(companion: Companion) -> Session | None:
    """The session that goes on, where one does; none is opened by looking."""
    memory = companion.memory
    newest = (one for one in memory.sessions.recent(_SESSIONS) if one.status == "active" and not one.door)
    found = next(newest, None)
    if found is None:
        return None
    limit = companion.settings.idle_limit(found)
    return None if memory.fell_silent(found.session_id, companion.clock(), limit) else found


def _present(companion: Companion) -> Session:
    """The person's present session, the one that the terminal would go on in as well; a new one where none goes on."""
    session, _ = session_to_open(companion.memory, companion.settings, companion.clock())
    return session


def _found(one: Kind | None) -> Kind:
    if one is None:
        raise HTTPException(404, "Not Found")
    return one
