"""The requests of the page, under ``/page``: the memory of the person whose token is used, and no one else's.

They belong to the page and change with it; programs use the other APIs. Promises: reading changes nothing; an erasure
removes just what was shown when the person agreed; what was erased is not shown as recalled; a browser stores nothing.
A persona that a person writes replaces just the version that they saw, and every version stays. An uploaded file of any
size is read in parts; it is deleted once it was imported, when the same person uploads another, and when the server
ends.

    POST /page/import/parts ...      a part of the file, in order
    POST /page/import                lines: begun, progress ..., imported; or names, where the person is not known
"""

from __future__ import annotations

import base64
import binascii
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from threading import Lock
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Body, Depends, HTTPException, Query, Request, Response
from fastapi import Path as InPath

from domain import errors
from domain.events import Reply
from domain.facts import Fact
from domain.imports import HistoryFile, Look
from domain.recollection import RecalledMessage, RecalledSummary, Recollection
from domain.records import PERSONAS, PREFIX, ErasureScope, Persona, Session
from domain.text import check_input
from domain.workers import CancelToken
from facts.by_hand import corrected_fact
from interfaces.http.guards import Caller, CurrentCaller, ServerToken
from interfaces.http.limits import Affordable, Text, count_tokens
from interfaces.http.page import views
from interfaces.http.page.assets import InLanguage
from interfaces.http.page.page_chat import Work, greeting_work, reply_work, save_work, start_work
from interfaces.http.page.views import View
from interfaces.messages import Words
from interfaces.recollections import describe_fact
from interfaces.service.memory_service import MemoryService
from jobs.greeting import Greeting
from jobs.importing import FileProgress, ImportDone, Importing, digest_of, make_context, preview_file
from jobs.maintenance import session_to_open
from jobs.rebuild import Erased
from people import Companion

#: Most sessions, facts, relations and messages of one answer.
_SESSIONS, _FACTS, _RELATIONS, _MESSAGES = 50, 300, 200, 400
_LONGEST_NAME = 2_000
#: Bytes of one upload, and characters of a file's name, at most.
_LARGEST, _FILE_NAME = 4 << 30, 200
#: Names that are offered where people talk with each other, the most talkative first.
_NAMES = 30
#: Versions of a persona that are shown, the newest first.
_VERSIONS = 100
Number = Annotated[int, InPath(ge=0, le=2**63 - 1)]
Named = Annotated[Persona, InPath()]
Kind = TypeVar("Kind")


#: What is to be forgotten: a message, the messages of a fact, a session, or everything with certain words.
What = Annotated[Literal["turn", "fact", "session", "words"], Body()]
Wished = Annotated[str, Body(min_length=1, max_length=_LONGEST_NAME)]
Written = Annotated[Text, Body()]
#: A version of a persona; as ``base`` the one that the person saw.
Version = Annotated[int, Body()]


def _forbid_caching(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


@cache
def router() -> APIRouter:
    """Everything under ``/page`` but the files of the page."""
    api = APIRouter(prefix="/page", include_in_schema=False, dependencies=[Depends(_forbid_caching)])
    _add_chat(api)
    _add_sessions(api)
    _add_facts(api)
    _add_erasure(api)
    _add_personas(api)
    _add_imports(api)
    return api


# -- chat


def _add_chat(api: APIRouter) -> None:
    @api.get("/now")
    def now(caller: CurrentCaller) -> View:
        """Whose memory it is, the end of the present session, and a message that was not answered."""
        with caller.companion() as companion:
            present = _present_if_any(companion)
            shown = _messages_view(companion, present.session_id) if present else {"turns": [], "unanswered": ""}
            return {
                "person": companion.person,
                "companion": companion.settings.companion_name,
                "user": companion.settings.user_name,
                "demo": companion.llm.described.demo,
                "session": present.session_id if present else "",
                "turns": shown["turns"],
                "unanswered": shown["unanswered"],
            }

    @api.post("/chat", dependencies=[Affordable])
    async def chat(
        caller: CurrentCaller,
        words: InLanguage,
        server: ServerToken,
        asked: Request,
        text: Written,
        session: Annotated[str | None, Body(max_length=_LONGEST_NAME)] = None,
        again: Annotated[bool, Body()] = False,
    ) -> Response:
        """A message: to the session that is named, to a new one for "", to the present one where none is named.

        ``again``: the reply replaces the last one.
        """

        def count(reply: Reply) -> None:
            count_tokens(asked, reply.prompt_tokens, reply.completion_tokens, [text, reply.text])

        work = reply_work(words, check_input(text), session, count, again=again)
        return await start_work(caller, words, work, server)

    @api.post("/greeting", dependencies=[Affordable])
    async def greet(
        caller: CurrentCaller,
        words: InLanguage,
        server: ServerToken,
        asked: Request,
        session: Annotated[str | None, Body(max_length=_LONGEST_NAME, embed=True)] = None,
    ) -> Response:
        """What the companion says first in a session, as ``chat`` names it, where something is due."""

        def count(said: Greeting) -> None:
            count_tokens(asked, None, None, [*(one.content for one in said.messages), said.text])

        work = greeting_work(words, session, count)
        return await start_work(caller, words, work, server)

    @api.post("/sessions/{session_id}/save", dependencies=[Affordable])
    async def save(session_id: str, caller: CurrentCaller, words: InLanguage, server: ServerToken) -> Response:
        return await start_work(caller, words, save_work(words, session_id), server)

    @api.get("/recalled")
    def recalled(caller: CurrentCaller, words: InLanguage, session: str = "") -> View:
        """What was recalled for the last reply of a session, the present one where none is named."""
        with caller.companion() as companion, companion.turns:
            chosen = companion.memory.sessions.find(session) if session else _present_if_any(companion)
            last = companion.last_turn(chosen) if chosen else None
            found = _without_erased(companion, last.recollection) if last else Recollection()
        return views.recalled_view(words, found)


def _messages_view(companion: Companion, session_id: str) -> View:
    """The last messages of a session, how many are ``left`` out, and one that was not answered."""
    messages = companion.memory.messages.of_session(session_id)
    waiting = companion.memory.sessions.in_flight(session_id)
    return {
        "turns": [views.message_view(message) for message in messages[-_MESSAGES:]],
        "left": max(0, len(messages) - _MESSAGES),
        "unanswered": waiting.text if waiting else "",
    }


def _without_erased(companion: Companion, found: Recollection) -> Recollection:
    """What was recalled, without what was erased since."""
    memory = companion.memory
    messages = {message.text_id for message in memory.messages.with_ids([one.text_id for one in found.messages])}
    facts = {fact.text_id for fact in memory.facts.with_ids([one.text_id for one in found.facts])}
    summaries = {one.text_id for one in memory.summaries.all()}
    left = replace(
        found,
        messages=tuple(one for one in found.messages if one.text_id in messages),
        facts=tuple(one for one in found.facts if one.text_id in facts),
        summaries=tuple(one for one in found.summaries if one.text_id in summaries),
    )
    return left if left == found else replace(left, queries=(), resolved=())


# -- sessions


def _add_sessions(api: APIRouter) -> None:
    @api.get("/sessions")
    def sessions(
        caller: CurrentCaller,
        skip: Annotated[int, Query(ge=0, le=10**9)] = 0,
        words: Annotated[str, Query(max_length=_LONGEST_NAME)] = "",
    ) -> list[View]:
        """Newest first; with ``words`` those in which they were said."""
        with caller.companion() as companion:
            if words.strip():
                return _sessions_with(companion, words)
            return [_session_view(companion, one) for one in companion.memory.sessions.recent(_SESSIONS, skip)]

    @api.get("/sessions/{session_id}")
    def session(session_id: str, caller: CurrentCaller) -> View:
        """A session to read."""
        with caller.companion() as companion:
            found = _found_or_404(companion.memory.sessions.find(session_id))
            summary = companion.memory.shown.summary(session_id)
            return {
                "session": _session_view(companion, found),
                "summary": summary.summary if summary else "",
                **_messages_view(companion, session_id),
            }

    @api.get("/diary")
    def diary(
        caller: CurrentCaller, asked: Request, month: Annotated[str, Query(pattern=r"^(\d{4}-\d{2})?$")] = ""
    ) -> View:
        """The companion's diary of a month, the last one where none is named; and every month that has pages."""
        service: MemoryService = asked.app.state.service
        return service.diary(caller.person(), month).model_dump()

    @api.get("/timeline")
    def timeline(caller: CurrentCaller, words: InLanguage) -> list[View]:
        """Days as they are written, the latest first, what has no day last.

        Of each the sessions that began, and the facts that are true since.
        """
        with caller.companion() as companion:
            sessions = [_session_view(companion, one) for one in companion.memory.sessions.recent(_SESSIONS)]
            facts = _facts_view(companion, words, companion.memory.facts.all())["facts"]
        days = sorted({*(one["began"][:10] for one in sessions), *(one["since"][:10] for one in facts)}, reverse=True)
        return [
            {
                "day": day,
                "sessions": [one for one in sessions if one["began"][:10] == day],
                "facts": [one for one in facts if one["since"][:10] == day],
            }
            for day in days
        ]


def _session_view(companion: Companion, session: Session, found: str = "") -> View:
    memory = companion.memory
    summary, messages = memory.shown.summary(session.session_id), memory.messages.of_session(session.session_id)
    return views.session_view(session, messages, summary.summary if summary else "", found)


def _sessions_with(companion: Companion, words: str) -> list[View]:
    """The sessions in which words were said, or are in the summary, newest first."""
    limits = replace(companion.settings.recall_limits, sessions=_SESSIONS, messages=_MESSAGES)
    hits = companion.memory.search(words, limits)
    found: dict[str, str] = {}
    remembered: list[RecalledMessage | RecalledSummary] = [*hits.messages, *hits.summaries]
    for one in remembered:
        text = one.text.removeprefix(PREFIX[one.role]) if isinstance(one, RecalledMessage) else one.text
        found.setdefault(one.session_id, views.excerpt_around(text, one.why.words or words.split()))
    sessions = [session for name in found if (session := companion.memory.sessions.find(name))]
    sessions.sort(key=lambda session: session.position, reverse=True)
    return [_session_view(companion, session, found[session.session_id]) for session in sessions[:_SESSIONS]]


# -- facts


def _add_facts(api: APIRouter) -> None:
    @api.get("/facts")
    def facts(
        caller: CurrentCaller,
        words: InLanguage,
        holding: Annotated[str, Query(max_length=_LONGEST_NAME)] = "",
        past: bool = False,
        inferred: bool = False,
    ) -> View:
        with caller.companion() as companion:
            memory = companion.memory
            if inferred:
                return _facts_view(companion, words, memory.facts.inferred())
            known = [one for one, _ in memory.facts_with(holding)] if holding.strip() else memory.facts.all()
            return _facts_view(companion, words, [one for one in known if past or one.current])

    @api.get("/facts/{number}")
    def fact(number: Number, caller: CurrentCaller, words: InLanguage) -> View:
        with caller.companion() as companion:
            return _evidence_view(companion, words, _found_or_404(companion.memory.facts.find(number)))

    @api.post("/facts/{number}")
    def decide(
        number: Number,
        caller: CurrentCaller,
        words: InLanguage,
        decision: Annotated[Literal["wrong", "right", "keep", "let_go", "undo", "correct"], Body()],
        text: Annotated[str, Body(max_length=_LONGEST_NAME)] = "",
    ) -> View:
        """A fact is wrong, right, kept, kept no more, or the last decision undone; with ``correct`` the text is so.

        Returns the fact afterwards; of one that was corrected, the one in its place.
        """
        with caller.companion() as companion, companion.turns:
            fact = _found_or_404(companion.memory.facts.find(number))
            if decision == "correct":
                return _evidence_view(companion, words, _correct_fact(companion, fact, text))
            _apply_decision(companion, fact, decision)
            return _evidence_view(companion, words, _found_or_404(companion.memory.facts.find(number)))

    @api.get("/relations")
    def relations(caller: CurrentCaller, words: InLanguage) -> list[View]:
        with caller.companion() as companion:
            found = companion.memory.relations.all()[-_RELATIONS:]
        return [views.relation_view(words, one) for one in found]


def _apply_decision(companion: Companion, fact: Fact, decision: str) -> None:
    memory, done = companion.memory, True
    match decision:
        case "wrong":
            done = not fact.corrected and memory.fact_log.correct_by_hand(fact.text_id, None)
        case "right":
            memory.fact_log.verify("", [fact.text_id])
        case "keep":
            done = fact.current and memory.fact_log.keep_fact(fact.text_id)
        case "let_go":
            done = memory.fact_log.keep_fact(fact.text_id, kept=False)
        case "undo":
            done = memory.fact_log.undo_decision(fact.text_id)
    if not done:
        raise HTTPException(409, "Conflict")


def _correct_fact(companion: Companion, fact: Fact, said: str) -> Fact:
    memory, text = companion.memory, check_input(said).strip()
    if (fact.until and not fact.corrected) or (text == fact.restatement and not fact.corrected):
        raise HTTPException(409, "Conflict")
    new = corrected_fact(fact, text, memory.fact_log.new_id())
    if not memory.fact_log.correct_by_hand(fact.text_id, new):
        raise HTTPException(409, "Conflict")
    return memory.facts.with_ids([new.text_id])[0]


def _facts_view(companion: Companion, words: Words, known: Sequence[Fact]) -> View:
    """Facts, the last learned first; ``left`` is how many are left out."""
    shown = list(known)[::-1][:_FACTS]
    numbers = _replacement_numbers(companion, shown)
    return {"facts": [views.fact_view(words, one, numbers) for one in shown], "left": len(known) - len(shown)}


def _replacement_numbers(companion: Companion, facts: Sequence[Fact]) -> dict[str, int]:
    """The numbers of the facts that replaced others."""
    instead = [one.replaced_by for one in facts if one.replaced_by]
    return {one.text_id: one.number for one in companion.memory.facts.with_ids(instead)}


def _evidence_view(companion: Companion, words: Words, fact: Fact) -> View:
    """A fact with the messages that it rests on, and its history; an event names the facts that caused it."""
    memory, history = companion.memory, list[View]()
    for event in memory.facts.events_of(fact.text_id):
        by = memory.facts.with_ids([event.by]) if event.by else []
        causes = "".join(f" · {one.number}: {describe_fact(words, one, views.speakers(words))}" for one in by)
        history.append({"when": event.when, "text": words.say(f"facts.event.{event.kind}") + causes})
    return {
        "fact": views.fact_view(words, fact, _replacement_numbers(companion, [fact])),
        "turns": [views.message_view(message) for message in memory.messages.with_ids(fact.messages)],
        "history": history,
    }


# -- erasure


def _add_erasure(api: APIRouter) -> None:
    @api.post("/forget/scope")
    def scope(what: What, named: Wished, caller: CurrentCaller, words: InLanguage) -> View:
        """What would be erased; nothing is erased yet."""
        with caller.companion() as companion:
            return views.scope_view(words, _erasure_scope(companion, what, named))

    @api.post("/hide")
    def hide(
        messages: Annotated[list[str], Body(min_length=1)], hidden: Annotated[bool, Body()], caller: CurrentCaller
    ) -> View:
        """Keep messages out of every prompt, or let them be mentioned again; they stay stored."""
        with caller.companion() as companion, companion.turns:
            rounds = companion.memory.rounds
            (rounds.hide if hidden else rounds.unhide)(messages)
            companion.maintenance.start()
        return {}

    @api.post("/forget")
    def forget(
        what: What,
        named: Wished,
        mark: Annotated[str, Body()],
        caller: CurrentCaller,
        words: InLanguage,
        server: ServerToken,
    ) -> View:
        """Erase what was shown with this ``mark``; 409 where by now something else would be erased."""
        with caller.companion() as companion, companion.turns:
            memory, chosen = companion.memory, _erasure_scope(companion, what, named)
            if not chosen or views.digest_of(chosen) != mark:
                raise HTTPException(409, "Conflict")
            present, _ = session_to_open(memory, companion.settings, companion.clock())
            *_, erased = companion.open_conversation(present).erase(chosen, server)
        assert isinstance(erased, Erased)
        return views.proof_view(words, erased)


def _erasure_scope(companion: Companion, what: str, named: str) -> ErasureScope:
    memory = companion.memory
    match what:
        case "session":
            return memory.erasure.scope_of_session(named) if memory.sessions.find(named) else ErasureScope()
        case "words":
            return memory.erasure.scope_of_words(named) if named.strip() else ErasureScope()
    return memory.erasure.scope_of_memory(named)


# -- personas


def _add_personas(api: APIRouter) -> None:
    @api.get("/personas")
    def personas(caller: CurrentCaller, words: InLanguage) -> list[View]:
        with caller.companion() as companion:
            return [_persona_view(companion, words, persona) for persona in PERSONAS]

    @api.post("/personas/{persona}")
    def write(persona: Named, text: Written, base: Version, caller: CurrentCaller, words: InLanguage) -> View:
        with _at_version(caller, persona, base) as companion:
            companion.memory.personas.write(persona, text, "hand")
            return _persona_view(companion, words, persona)

    @api.post("/personas/{persona}/restore")
    def restore(persona: Named, version: Version, base: Version, caller: CurrentCaller, words: InLanguage) -> View:
        with _at_version(caller, persona, base) as companion:
            if version not in {one.version for one in companion.memory.personas.history(persona)}:
                raise HTTPException(404, "Not Found")
            companion.memory.personas.restore(version)
            return _persona_view(companion, words, persona)


@contextmanager
def _at_version(caller: Caller, persona: Persona, base: int) -> Iterator[Companion]:
    """The companion, if a version is the one in force; 409 where another replaced it."""
    with caller.companion() as companion, companion.turns:
        if _newest_version(companion, persona) != base:
            raise HTTPException(409, "Conflict")
        yield companion


def _newest_version(companion: Companion, persona: Persona) -> int:
    newest = companion.memory.personas.newest(persona)
    return newest.version if newest else 0


def _persona_view(companion: Companion, words: Words, persona: Persona) -> View:
    """A persona, and its versions, the newest first. ``base`` is the version in force, 0 for none.

    ``number`` counts the versions of this persona from 1, ``version`` names one.
    """
    versions = [
        {
            "version": one.version,
            "number": number,
            "when": one.timestamp,
            "origin": words.say(f"origin.{one.origin}"),
            "text": one.text,
        }
        for number, one in enumerate(companion.memory.personas.history(persona), 1)
    ]
    return {
        "persona": persona,
        "text": companion.memory.personas.read(persona),
        "base": _newest_version(companion, persona),
        "versions": versions[::-1][:_VERSIONS],
    }


# -- imports


class Uploads:
    """The one file of each person that is being uploaded, in a private folder."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._folder: Path | None = None
        self._files: dict[str, Path] = {}

    def add_part(self, person: str, name: str, at: int, encoded: str) -> int:
        """Store a part. Returns the size so far; 409 where it does not follow, 413 where it is too much."""
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise HTTPException(422, "Unprocessable Content") from None
        with self._lock:
            path = self._new_file(person, name) if at == 0 else self._files.get(person)
            size = path.stat().st_size if path and path.exists() else 0
            if path is None or size != at:
                raise HTTPException(409, "Conflict")
            if size + len(content) > _LARGEST:
                raise HTTPException(413, "Content Too Large")
            with path.open("ab") as file:
                file.write(content)
            return size + len(content)

    def find_path(self, person: str) -> Path:
        """What a person uploaded; 404 where there is nothing."""
        path = self._files.get(person)
        if path is None:
            raise HTTPException(404, "Not Found")
        return path

    def delete(self, person: str) -> None:
        """Delete what a person uploaded."""
        with self._lock:
            if path := self._files.pop(person, None):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _new_file(self, person: str, name: str) -> Path:
        if old := self._files.pop(person, None):
            shutil.rmtree(old.parent, ignore_errors=True)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="old-friend-upload-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        self._files[person] = folder / (PurePath(name.replace("\\", "/")).name.strip(". ") or "upload")
        return self._files[person]


async def _get_uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


CurrentUploads = Annotated[Uploads, Depends(_get_uploads)]


def _add_imports(api: APIRouter) -> None:
    @api.get("/import")
    def imports(caller: CurrentCaller, words: InLanguage) -> list[View]:
        """What was imported, the newest first."""
        with caller.companion() as companion:
            return [
                {
                    "number": one.number,
                    "name": one.name,
                    "source": words.name_format(one.kind),
                    "messages": one.messages,
                    "when": one.stored_at,
                    "done": one.state == "done",
                }
                for one in reversed(companion.memory.imports.all())
            ]

    @api.post("/import/parts")
    def add_part(
        name: Annotated[str, Body(min_length=1, max_length=_FILE_NAME)],
        at: Annotated[int, Body(ge=0, le=_LARGEST)],
        content: Annotated[str, Body()],
        caller: CurrentCaller,
        uploads: CurrentUploads,
    ) -> View:
        """A part of a file, in base64, that begins at a byte of it; one at 0 begins an upload, in the place of another.

        Returns how much of the file is there.
        """
        return {"size": uploads.add_part(caller.person(), name, at, content)}

    @api.post("/import")
    async def run(
        caller: CurrentCaller,
        uploads: CurrentUploads,
        words: InLanguage,
        server: ServerToken,
        me: Annotated[str, Body(max_length=_FILE_NAME, embed=True)] = "",
    ) -> Response:
        """Import what was uploaded. ``me`` is the person's name in a chat between people."""
        work = _import_work(words, uploads, caller.person(), me.strip())
        return await start_work(caller, words, work, server)

    @api.post("/import/{number}/undo")
    def undo(number: int, caller: CurrentCaller) -> View:
        """Undo a whole import, with everything learned from it; how many messages were removed."""
        with caller.companion() as companion, companion.turns, companion.maintenance.paused():
            if number not in {one.number for one in companion.memory.imports.all()}:
                raise HTTPException(404, "Not Found")
            return {"size": max(companion.memory.imports.take_back(number), default=0)}


def _import_work(words: Words, uploads: Uploads, person: str, me: str) -> Work:
    """Read an upload into the memory; where it is not clear who the person is, ``names`` and the upload stays."""

    def work(companion: Companion, stop: CancelToken) -> Iterator[View]:
        from importers import MachineZone, ReadingOptions, recognise_export

        path = uploads.find_path(person)
        yield {"is": "begun"}
        try:
            files = [one for one in recognise_export(path, ReadingOptions(me, MachineZone())) if one.source]
            if not me and (names := _unclear_names(companion, files, path, stop)):
                yield {"is": "names", "names": names}
                return
            digest = digest_of(path, stop)
            for file in files:
                yield from _import_file(companion, words, file, path, digest, me, stop)
        except errors.UsageError as fault:
            uploads.delete(person)
            raise errors.UsageError(fault.key, **{**fault.details, "path": path.name}) from fault
        uploads.delete(person)

    return work


def _unclear_names(companion: Companion, files: list[HistoryFile], path: Path, stop: CancelToken) -> list[str]:
    """The names in chats where it is not clear which one is the person."""
    names: dict[str, int] = {}
    settings, who = companion.settings, make_context((), path, companion.clock())
    for file in files:
        *_, seen = preview_file(file, who, settings.window_size, settings.group_size, stop)
        assert isinstance(seen, Look)
        if seen.unclear:
            names |= seen.names
    return sorted(names, key=lambda name: -names[name])[:_NAMES]


def _import_file(
    companion: Companion, words: Words, file: HistoryFile, path: Path, digest: str, me: str, stop: CancelToken
) -> Iterator[View]:
    who = make_context([me] if me else (), path, companion.clock())
    for event in Importing(companion.memory).run(file, path.name, digest, who, stop):
        if isinstance(event, FileProgress):
            share = min(1.0, event.done / event.size) if event.size else 0.0
            yield {"is": "progress", "share": share, "messages": event.messages}
        elif isinstance(event, ImportDone):
            yield {
                "is": "imported", "source": words.name_format(event.source), "messages": event.messages,
                "known": event.known, "erased": event.erased, "sessions": event.sessions,
                "left_out": sum(event.left_out.values()) + event.unread_count,
            }  # fmt: skip


def _present_if_any(companion: Companion) -> Session | None:
    """The present session, where there is one; none is opened."""
    memory = companion.memory
    newest = (one for one in memory.sessions.recent(_SESSIONS) if one.status == "active" and not one.client)
    found = next(newest, None)
    if found is None:
        return None
    limit = companion.settings.idle_limit(found)
    return None if memory.is_idle(found.session_id, companion.clock(), limit) else found


def _found_or_404(one: Kind | None) -> Kind:
    if one is None:
        raise HTTPException(404, "Not Found")
    return one
