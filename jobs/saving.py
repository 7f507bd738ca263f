"""``/save``: the final summary, notes, both images brought up to date, the session archived, a new one opened.

A job in stages. Each model result is stored when it arrives; everything visible changes in one commit at the end; an
interrupted job goes on where it stopped. A stage counts only while what it was made from stands unchanged: a round that
was added, or an image edited by hand, makes it void, so a hand edit always wins. Only the summary can hold it up: where
notes or an image must be left for later, the image waits, noted as what is to be made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from domain import errors
from domain.events import Notice
from domain.facts import ImageDraft, LineEvidence
from domain.records import IMAGES, Image, Round, Session, not_withheld
from domain.workers import Stop
from jobs.folding import left_out, spoken_language
from jobs.noting import Noted, Noting
from jobs.renewing import renew
from jobs.updating import Updating
from llm import Llm
from memory import Memory


@dataclass(frozen=True)
class Stage:
    """A step of ``/save`` begins, or is done."""

    name: Literal["summary", "notes", "self", "user", "archive"]
    done: bool


@dataclass(frozen=True)
class ImageChange:
    """An image before and after."""

    image: Image
    before: str
    after: str


@dataclass(frozen=True)
class Saved:
    """The session is archived and a new one is open."""

    archived: Session
    opened: Session
    summary: str
    changes: tuple[ImageChange, ...]


@dataclass(frozen=True)
class NothingToSave:
    """Nothing was said in the session; it stays as it is and no model was called."""


SaveEvent = Stage | Notice | Saved | NothingToSave


class Saving:
    """Runs the stages of one session's ``/save``."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    def run(self, session: Session, stop: Stop, *, open_next: bool = True) -> Iterator[SaveEvent]:
        """Save a session; the last event is ``Saved`` or ``NothingToSave``. ``open_next``: it was the present one.

        Raises ModelError or Interrupted: the session stays active and the stages that are done are kept.
        """
        if not self._memory.messages.of_session(session.session_id):
            yield NothingToSave()
            return
        yield from self._made_anew(stop)
        summary = yield from self._summary(session.session_id, stop)
        all_noted, contradicted = yield from self._notes(session.session_id, stop)
        made = yield from self._images(session.session_id, stop, all_noted=all_noted)
        yield Stage("archive", done=False)
        stop.check()
        changes = tuple(self._changes(session.session_id, made))
        opened = self._memory.rounds.save(
            session.session_id,
            summary,
            {change.image: draft for change, draft in changes},
            waiting=[image for image in IMAGES if image not in made],
            open_next=open_next,
        )
        archived = self._memory.sessions.find(session.session_id)
        assert archived is not None
        yield Stage("archive", done=True)
        yield from contradicted
        yield Saved(archived, opened, summary, tuple(change for change, _ in changes))

    def _made_anew(self, stop: Stop) -> Iterator[SaveEvent]:
        """What an erasure left to be made anew comes first: summary and images are made from it."""
        for event in renew(self._memory, self._llm, stop):
            if isinstance(event, Notice):
                yield event
        stop.check()

    def _summary(self, session_id: str, stop: Stop) -> Generator[SaveEvent, None, str]:
        yield Stage("summary", done=False)
        context = not_withheld(self._memory.messages.context(session_id))
        before = self._memory.summaries.of(session_id)
        so_far = before.summary if before else ""
        base = _digest(so_far, *(turn.text for spoken in context for turn in (spoken.user, spoken.assistant)))
        summary = self._kept(session_id, "summary", base)
        if summary is None:
            summary = so_far
            if context:
                language, refused = spoken_language(context), list[Round]()
                summary = self._llm.summarise(
                    so_far, context, language, stop, refused.append, names=self._memory.names()
                )
                if refused:
                    yield left_out(refused)
            stop.check()
            self._keep(session_id, "summary", base, summary)
        yield Stage("summary", done=True)
        return summary

    def _notes(self, session_id: str, stop: Stop) -> Generator[SaveEvent, None, tuple[bool, list[Notice]]]:
        """Whether all was noted, and what the companion said that contradicts what it had said of itself."""
        yield Stage("notes", done=False)
        contradicted: list[Notice] = []
        for event in Noting(self._memory, self._llm).run(session_id, stop, all_of_it=True):
            if isinstance(event, Noted):
                contradicted += event.contradicted
            else:
                yield event
        yield Stage("notes", done=True)
        return not self._memory.messages.unread(session_id), contradicted

    def _images(
        self, session_id: str, stop: Stop, *, all_noted: bool
    ) -> Generator[SaveEvent, None, list[Image]]:
        """Bring both images up to date. Returns those for which that is done; the others wait for the next start."""
        made: list[Image] = []
        updating = Updating(self._memory, self._llm)
        for image in IMAGES:
            yield Stage(image, done=False)
            if all_noted and (yield from self._image(session_id, image, updating, stop)):
                made.append(image)
            yield Stage(image, done=True)
        return made

    def _image(
        self, session_id: str, image: Image, updating: Updating, stop: Stop
    ) -> Generator[SaveEvent, None, bool]:
        """Keep what an image becomes. Returns whether that could be done."""
        text, lines = self._memory.personas.read(image), self._memory.personas.line_evidence(image)
        draft, material = ImageDraft(text, tuple(lines)), updating.material(image, session_id)
        base = _digest(text, *material.told)
        if self._kept(session_id, image, base) is not None:
            return True
        try:
            if material:
                draft = yield from updating.updated(draft, material, stop)
        except errors.ModelError as fault:
            yield Notice("save.image_left", {"image": image, "error": fault})
            return False
        stop.check()
        self._keep(session_id, image, base, json.dumps(asdict(draft), ensure_ascii=False), of=_digest(text))
        return True

    def _changes(self, session_id: str, made: Sequence[Image]) -> Iterator[tuple[ImageChange, ImageDraft]]:
        """What these images become; one that was edited since its stage keeps the edit."""
        stages = self._memory.rounds.steps(session_id)
        for image in made:
            before, kept = self._memory.personas.read(image), json.loads(stages[image])
            draft = _draft(json.loads(kept["text"]))
            if kept["of"] == _digest(before) and draft.text != before:
                yield ImageChange(image, before, draft.text), draft

    def _kept(self, session_id: str, stage: str, base: str) -> str | None:
        raw = self._memory.rounds.steps(session_id).get(stage)
        if raw is None:
            return None
        kept = json.loads(raw)
        return str(kept["text"]) if kept["base"] == base else None

    def _keep(self, session_id: str, stage: str, base: str, result: str, of: str = "") -> None:
        """Keep what a stage made. ``of`` tells the image that it was made of."""
        kept = {"base": base, "text": result, "of": of}
        self._memory.rounds.keep_step(session_id, stage, json.dumps(kept, ensure_ascii=False))


def _draft(kept: Mapping[str, Any]) -> ImageDraft:
    """An image as it was kept by a stage."""
    lines = [LineEvidence(**{**line, "turns": tuple(line["turns"])}) for line in kept["lines"]]
    return ImageDraft(kept["text"], tuple(lines))


def _digest(*texts: str) -> str:
    """Tells whether anything of what a result was made from has changed."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
