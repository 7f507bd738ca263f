"""Rebuild what an erasure or a save left out of date: summaries first, then notes and personas.

Guarantees: a request stays stored until the commit that fulfils it, so a kill or a failing model costs only time; later
changes are never overwritten; a summary keeps its date. A persona is rebuilt session by session, one commit each.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from domain import errors
from domain.events import Notice
from domain.facts import PersonaDraft
from domain.records import PERSONAS, Persona, RebuildRequest, RebuildTarget, Round, without_hidden
from domain.workers import CancelToken
from facts.slots import Names
from jobs.compaction import left_out_notice, spoken_language
from jobs.extraction import Extraction, ExtractionEvent, WindowExtracted
from jobs.persona_update import PersonaUpdate
from llm import Llm
from memory import Memory


@dataclass(frozen=True)
class RebuildStarted:
    """The rebuild of a summary, or of a persona by one session, begins: ``number`` of ``of``."""

    what: RebuildTarget
    number: int
    of: int


@dataclass(frozen=True)
class Rebuilt:
    """A summary or a persona is rebuilt and stored."""

    what: RebuildTarget


RebuildEvent = ExtractionEvent | RebuildStarted | Rebuilt


def rebuild(memory: Memory, llm: Llm, cancel: CancelToken) -> Iterator[RebuildEvent]:
    """Fulfil all rebuild requests. What fails stays for the next time, with one notice. Raises StorageError."""
    waiting = memory.rebuilds.due_requests()
    summaries = [request for request in waiting if request.what == "summary"]
    parts = [part for persona in PERSONAS for part in _by_session(persona, waiting)]
    of = len(summaries) + len(parts)
    try:
        for number, request in enumerate(summaries, start=1):
            yield RebuildStarted("summary", number, of)
            yield from _rebuild_summary(memory, llm, request, cancel)
        for number, (persona, session_id) in enumerate(parts, start=len(summaries) + 1):
            yield RebuildStarted(persona, number, of)
            if not (yield from _rebuild_persona(memory, llm, persona, session_id, cancel)):
                return
    except (errors.ModelError, errors.Interrupted) as fault:
        yield Notice("erase.not_rebuilt", {"error": fault})


def rebuild_some(memory: Memory, llm: Llm, cancel: CancelToken, most: int) -> Iterator[RebuildEvent]:
    """The same, but at most so many steps of it: a summary, an extracted window, a persona by one session."""
    steps = 0
    for event in rebuild(memory, llm, cancel):
        steps += isinstance(event, RebuildStarted | WindowExtracted)
        if steps > most:
            return
        yield event


def _by_session(persona: Persona, waiting: Sequence[RebuildRequest]) -> list[tuple[Persona, str]]:
    """A persona with each session that it waits for, oldest first."""
    return [(persona, one) for one in dict.fromkeys(each.session_id for each in waiting if each.what == persona)]


def _rebuild_summary(memory: Memory, llm: Llm, request: RebuildRequest, cancel: CancelToken) -> Iterator[RebuildEvent]:
    """Summarise the rounds of a session that have left its context."""
    compacted_rounds = [spoken for spoken in memory.messages.rounds(request.session_id) if spoken.user.compacted]
    text = ""
    if shown := without_hidden(compacted_rounds):
        text = yield from _summarise_rounds(llm, shown, memory.names(), cancel)
    if (
        memory.rounds.rebuild_summary(request, text, compacted_rounds[-1].user.round if compacted_rounds else 0)
        and text
    ):
        yield Rebuilt("summary")


def _summarise_rounds(
    llm: Llm, rounds: Sequence[Round], names: Names, cancel: CancelToken
) -> Generator[RebuildEvent, None, str]:
    """A summary of these rounds without those that the model's filter refuses; "" when it refuses all."""
    refused: list[Round] = []
    text = llm.summarise("", rounds, spoken_language(rounds), cancel, refused.append, names=names)
    if refused:
        yield left_out_notice(refused)
    cancel.check()
    return text


def _rebuild_persona(
    memory: Memory, llm: Llm, persona: Persona, session_id: str, cancel: CancelToken
) -> Generator[RebuildEvent, None, bool]:
    """Update a persona by one of the sessions it waits for, which is extracted first if necessary.

    Returns whether that was possible; until then the persona waits.
    """
    if not (yield from Extraction(memory, llm).run(session_id, cancel, all_of_it=True)):
        return False
    waiting = [one for one in memory.rebuilds.due_requests() if (one.what, one.session_id) == (persona, session_id)]
    base = memory.personas.newest(persona)
    made = before = PersonaDraft(base.text if base else "", tuple(memory.personas.line_evidence(persona)))
    updating = PersonaUpdate(memory, llm)
    if material := updating.find_material(persona, session_id):
        made = yield from updating.update(made, material, cancel)
    cancel.check()
    if memory.personas.rebuild(waiting, base, made) and made.text != before.text:
        yield Rebuilt(persona)
    return True
