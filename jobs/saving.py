"""``/save``: write the final summary and notes, update both personas, archive the session, open a new one.

A job in stages. Each model result is stored when it arrives; everything visible changes in one commit at the end; an
interrupted job continues where it stopped. A stage is valid only while its input is unchanged: a new round or a hand
edit of a persona makes it void, so a hand edit always wins. Only the summary can block a save: if notes or a persona
fail, the persona is stored as a rebuild request.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from domain import errors
from domain.events import Notice
from domain.facts import LineEvidence, PersonaDraft
from domain.records import PERSONAS, Persona, Session, without_hidden
from domain.workers import CancelToken
from jobs.extraction import Extraction, WindowExtracted, hash_texts
from jobs.persona_update import PersonaUpdate, with_manner
from jobs.rebuild import rebuild
from jobs.summaries import write_summary
from llm import Llm
from memory import Memory


@dataclass(frozen=True)
class Stage:
    """A step of ``/save`` begins, or is done."""

    name: Literal["summary", "notes", "self", "user", "archive"]
    done: bool


@dataclass(frozen=True)
class PersonaChange:
    """A persona before and after."""

    persona: Persona
    before: str
    after: str


@dataclass(frozen=True)
class Saved:
    """The session is archived, as it was before, and a new one is open."""

    archived: Session
    opened: Session
    summary: str
    changes: tuple[PersonaChange, ...]


@dataclass(frozen=True)
class NothingToSave:
    """Nothing was said in the session; it stays as it is and no model was called."""


SaveEvent = Stage | Notice | Saved | NothingToSave


class Saving:
    """Runs the stages of one session's ``/save``."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    def run(self, session: Session, cancel: CancelToken, *, open_next: bool = True) -> Iterator[SaveEvent]:
        """Save a session; the last event is ``Saved`` or ``NothingToSave``. ``open_next``: it was the present one.

        What another program changes meanwhile is saved too. Raises ModelError or Interrupted: the session stays active
        and the stages that are done are kept; UsageError where another program has the session, or has saved it.
        """
        memory, session_id = self._memory, session.session_id
        if not memory.claims.take("session", session_id):
            raise errors.UsageError("session.in_use")
        if not memory.messages.of_session(session_id):
            yield NothingToSave()
            return
        while True:
            said = self._read_session(session_id)
            summary, made, contradicted = yield from self._run_stages(session_id, cancel)
            yield Stage("archive", done=False)
            cancel.check()
            with memory.in_one_commit():
                if unchanged := self._read_session(session_id) == said:
                    changes = tuple(self._persona_changes(session_id, made))
                    opened = memory.rounds.save(
                        session_id,
                        summary,
                        {change.persona: draft for change, draft in changes},
                        waiting=[persona for persona in PERSONAS if persona not in made],
                        open_next=open_next,
                    )
            if unchanged:
                break
        yield Stage("archive", done=True)
        yield from contradicted
        yield Saved(session, opened, summary, tuple(one for one, _ in changes if one.before != one.after))

    def _read_session(self, session_id: str) -> tuple[object, ...]:
        """What the summary rests on."""
        return self._memory.messages.of_session(session_id), self._memory.summaries.of(session_id)

    def _run_stages(
        self, session_id: str, cancel: CancelToken
    ) -> Generator[SaveEvent, None, tuple[str, list[Persona], list[Notice]]]:
        """The summary, the personas that could be updated, and statements in which the companion contradicts itself."""
        # Rebuilds come first: the summary and the personas depend on them.
        yield from (event for event in rebuild(self._memory, self._llm, cancel) if isinstance(event, Notice))
        cancel.check()
        summary = yield from self._write_summary(session_id, cancel)
        all_noted, contradicted = yield from self._extract_notes(session_id, cancel)
        made = yield from self._update_personas(session_id, cancel, all_noted=all_noted)
        return summary, made, contradicted

    def _write_summary(self, session_id: str, cancel: CancelToken) -> Generator[SaveEvent, None, str]:
        yield Stage("summary", done=False)
        context = without_hidden(self._memory.messages.context(session_id))
        before = self._memory.summaries.of(session_id)
        so_far = before.summary if before else ""
        base = hash_texts(so_far, *(message.text for spoken in context for message in spoken.messages))
        summary = self._load_stage(session_id, "summary", base)
        if summary is None:
            summary = so_far
            if context:
                summary = yield from write_summary(self._memory, self._llm, session_id, so_far, context, cancel)
            cancel.check()
            self._store_stage(session_id, "summary", base, summary)
        yield Stage("summary", done=True)
        return summary

    def _extract_notes(
        self, session_id: str, cancel: CancelToken
    ) -> Generator[SaveEvent, None, tuple[bool, list[Notice]]]:
        """Whether all was extracted, and notices of statements in which the companion contradicts itself."""
        yield Stage("notes", done=False)
        contradicted: list[Notice] = []
        for event in Extraction(self._memory, self._llm).run(session_id, cancel, all_of_it=True):
            if isinstance(event, WindowExtracted):
                contradicted += event.contradicted
            else:
                yield event
        yield Stage("notes", done=True)
        return not self._memory.messages.unread(session_id), contradicted

    def _update_personas(
        self, session_id: str, cancel: CancelToken, *, all_noted: bool
    ) -> Generator[SaveEvent, None, list[Persona]]:
        """Bring both personas up to date. Returns those for which that is done; the others wait for the next start."""
        made, updating = list[Persona](), PersonaUpdate(self._memory, self._llm)
        for persona in PERSONAS:
            yield Stage(persona, done=False)
            if all_noted and (yield from self._update_persona(session_id, persona, updating, cancel)):
                made.append(persona)
            yield Stage(persona, done=True)
        return made

    def _update_persona(
        self, session_id: str, persona: Persona, updating: PersonaUpdate, cancel: CancelToken
    ) -> Generator[SaveEvent, None, bool]:
        """Store the updated persona. Returns whether that was possible."""
        text, lines = self._memory.personas.read(persona), self._memory.personas.line_evidence(persona)
        draft, material = PersonaDraft(text, tuple(lines)), updating.find_material(persona, session_id)
        base = hash_texts(text, *material.texts)
        if self._load_stage(session_id, persona, base) is not None:
            return True
        try:
            if material:
                draft = yield from updating.update(draft, material, cancel)
        except errors.ModelError as fault:
            yield Notice("save.persona_failed", {"persona": persona, "error": fault})
            return False
        cancel.check()
        self._store_stage(session_id, persona, base, json.dumps(asdict(draft), ensure_ascii=False), of=hash_texts(text))
        return True

    def _persona_changes(
        self, session_id: str, made: Sequence[Persona]
    ) -> Iterator[tuple[PersonaChange, PersonaDraft]]:
        """What these personas become, or what their lines do; one that was edited since its stage keeps the edit."""
        stages = self._memory.rounds.steps(session_id)
        for persona in made:
            before, kept = self._memory.personas.read(persona), json.loads(stages[persona])
            stored = json.loads(kept["text"])
            lines = (LineEvidence(**{**line, "messages": tuple(line["messages"])}) for line in stored["lines"])
            draft = PersonaDraft(stored["text"], tuple(lines), tuple(stored["left_out"]))
            if persona == "self":
                draft = with_manner(self._memory, self._llm.settings, session_id, draft)
            same = draft.text == before and {*draft.lines} == {*self._memory.personas.line_evidence(persona)}
            if kept["of"] == hash_texts(before) and not same:
                yield PersonaChange(persona, before, draft.text), draft

    def _load_stage(self, session_id: str, stage: str, base: str) -> str | None:
        raw = self._memory.rounds.steps(session_id).get(stage)
        if raw is None:
            return None
        kept = json.loads(raw)
        return str(kept["text"]) if kept["base"] == base else None

    def _store_stage(self, session_id: str, stage: str, base: str, result: str, of: str = "") -> None:
        """Store the result of a stage. ``of`` is the digest of the persona it is based on."""
        kept = {"base": base, "text": result, "of": of}
        self._memory.rounds.keep_step(session_id, stage, json.dumps(kept, ensure_ascii=False))
