"""Erasing, and rebuilding what an erasure or a save left out of date: summaries first, then notes and personas.

Guarantees: after the first step of an erasure nothing that was erased can come back. A request to rebuild stays stored
until the commit that fulfils it, so a kill or a failing model costs only time: it is tried again at the next start and
before the next ``/save``. Later changes are never overwritten; a summary keeps its date. A persona is rebuilt session
by session, one commit each. A notice names the rounds and personas that the model's filter refuses.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from domain import errors
from domain.events import Notice
from domain.facts import PersonaDraft
from domain.records import PERSONAS, ErasureScope, Persona, RebuildRequest, RebuildTarget, without_hidden
from domain.workers import CancelToken
from jobs.extraction import Extraction, ExtractionEvent, WindowExtracted
from jobs.persona_update import PersonaUpdate
from jobs.summaries import write_summary
from llm import Llm
from memory import Memory
from storage.erasure import Proof


@dataclass(frozen=True)
class RebuildStarted:
    """The rebuild of a summary, or of a persona by one session, begins."""

    what: RebuildTarget


@dataclass(frozen=True)
class Rebuilt:
    """A summary or a persona is rebuilt and stored."""

    what: RebuildTarget


RebuildEvent = ExtractionEvent | RebuildStarted | Rebuilt


@dataclass(frozen=True)
class Step:
    """A step of an erasure begins; steps without work are not reported."""

    name: Literal["erase", "summaries", "personas"]


@dataclass(frozen=True)
class Erased:
    """What was removed and rebuilt, with the proof."""

    selection: ErasureScope
    summaries_rebuilt: int
    personas_rebuilt: tuple[Persona, ...]
    proof: Proof


EraseEvent = Step | RebuildEvent | Erased


def erase(memory: Memory, llm: Llm, chosen: ErasureScope, cancel: CancelToken) -> Iterator[EraseEvent]:
    """Erase what the person has agreed to; the last event is ``Erased``. Cancelling ends only the rebuild.

    Raises StorageError; an erasure that was begun is then finished at the next start.
    """
    yield Step("erase")
    proof = memory.erasure.erase(chosen)
    made, begun = list[RebuildTarget](), set[str]()
    for event in memory.epoch.derive(lambda: rebuild(memory, llm, cancel)):
        step: Literal["summaries", "personas"] | None = None
        if isinstance(event, Rebuilt):
            made.append(event.what)
        elif isinstance(event, RebuildStarted):
            step = "summaries" if event.what == "summary" else "personas"
        if step and step not in begun:
            begun.add(step)
            yield Step(step)
        yield event
    yield Erased(proof.removed, made.count("summary"), tuple(persona for persona in PERSONAS if persona in made), proof)


def rebuild(memory: Memory, llm: Llm, cancel: CancelToken) -> Iterator[RebuildEvent]:
    """Fulfil all rebuild requests. What fails stays for the next time, with one notice. Raises StorageError."""
    waiting = memory.rebuilds.due_requests()
    summaries = [request for request in waiting if request.what == "summary"]
    # A persona with each session that it waits for, oldest first.
    parts = [
        (persona, session_id)
        for persona in PERSONAS
        for session_id in dict.fromkeys(each.session_id for each in waiting if each.what == persona)
    ]
    try:
        for request in summaries:
            yield RebuildStarted("summary")
            yield from _rebuild_summary(memory, llm, request, cancel)
        for persona, session_id in parts:
            yield RebuildStarted(persona)
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


def _rebuild_summary(memory: Memory, llm: Llm, request: RebuildRequest, cancel: CancelToken) -> Iterator[RebuildEvent]:
    compacted = [spoken for spoken in memory.messages.rounds(request.session_id) if spoken.user.compacted]
    text = ""
    if shown := without_hidden(compacted):
        text = yield from write_summary(memory, llm, request.session_id, "", shown, cancel)
    stored = memory.rounds.rebuild_summary(request, text, compacted[-1].user.round if compacted else 0)
    if stored and text:
        yield Rebuilt("summary")


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
