"""``/save``: the session's final summary, both images rewritten, the session archived, a new one opened.

A job in stages. Each model result is stored when it arrives; everything visible changes in one commit at the end; an
interrupted job goes on where it stopped. A stage counts only while what it was made from stands unchanged: a round that
was added, or an image edited by hand, makes it void, so a hand edit always wins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from domain.events import Notice, Stop
from domain.records import IMAGES, Image, Round, Session, not_withheld
from jobs.folding import left_out, spoken_language
from jobs.renewing import renew, rewritten
from llm import Llm
from memory import Memory


@dataclass(frozen=True)
class Stage:
    """A step of ``/save`` begins, or is done."""

    name: Literal["summary", "self", "user", "archive"]
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
        if not self._memory.turns_of(session.session_id):
            yield NothingToSave()
            return
        yield from self._made_anew(stop)
        rounds = not_withheld(self._memory.rounds(session.session_id))
        summary = yield from self._summary(session.session_id, stop)
        yield from self._images(session.session_id, rounds, summary, stop)
        yield Stage("archive", done=False)
        stop.check()
        changes = self._changes(session.session_id)
        opened = self._memory.archive(
            session.session_id,
            summary,
            {change.image: change.after for change in changes},
            open_next=open_next,
        )
        archived = self._memory.session(session.session_id)
        assert archived is not None
        yield Stage("archive", done=True)
        yield Saved(archived, opened, summary, changes)

    def _made_anew(self, stop: Stop) -> Iterator[SaveEvent]:
        """What an erasure left to be made anew comes first: summary and images are made from it."""
        for event in renew(self._memory, self._llm, stop):
            if isinstance(event, Notice):
                yield event
        stop.check()

    def _summary(self, session_id: str, stop: Stop) -> Generator[SaveEvent, None, str]:
        yield Stage("summary", done=False)
        context = not_withheld(self._memory.context(session_id))
        before = self._memory.summary(session_id)
        so_far = before.summary if before else ""
        base = _digest(so_far, *(turn.text for spoken in context for turn in (spoken.user, spoken.assistant)))
        summary = self._kept(session_id, "summary", base)
        if summary is None:
            summary = so_far
            if context:
                language, refused = spoken_language(context), list[Round]()
                summary = self._llm.summarise(so_far, context, language, stop, refused.append)
                if refused:
                    yield left_out(refused)
            stop.check()
            self._keep(session_id, "summary", base, summary)
        yield Stage("summary", done=True)
        return summary

    def _images(
        self, session_id: str, rounds: tuple[Round, ...], summary: str, stop: Stop
    ) -> Generator[SaveEvent, None, None]:
        for image in IMAGES:
            yield Stage(image, done=False)
            yield from self._image(session_id, image, rounds, summary, stop)
            yield Stage(image, done=True)

    def _image(
        self, session_id: str, image: Image, rounds: tuple[Round, ...], summary: str, stop: Stop
    ) -> Generator[SaveEvent, None, None]:
        current = self._memory.image(image)
        base = _digest(current, summary)
        if self._kept(session_id, image, base) is not None:
            return
        text = current
        if summary:
            language = spoken_language(rounds)
            spoken = (rounds[0].user.timestamp, rounds[-1].assistant.timestamp) if rounds else None
            text = yield from rewritten(
                self._memory, self._llm, image, current, summary, language, stop, spoken
            )
        stop.check()
        self._keep(session_id, image, base, text)

    def _changes(self, session_id: str) -> tuple[ImageChange, ...]:
        """What each image becomes; one that was edited since its stage keeps the edit."""
        changes = []
        stages = self._memory.stages(session_id)
        summary = json.loads(stages["summary"])["text"]
        for image in IMAGES:
            before, kept = self._memory.image(image), json.loads(stages[image])
            if kept["base"] == _digest(before, summary) and kept["text"] != before:
                changes.append(ImageChange(image, before, kept["text"]))
        return tuple(changes)

    def _kept(self, session_id: str, stage: str, base: str) -> str | None:
        raw = self._memory.stages(session_id).get(stage)
        if raw is None:
            return None
        kept = json.loads(raw)
        return str(kept["text"]) if kept["base"] == base else None

    def _keep(self, session_id: str, stage: str, base: str, result: str) -> None:
        self._memory.keep_stage(
            session_id, stage, json.dumps({"base": base, "text": result}, ensure_ascii=False)
        )


def _digest(*texts: str) -> str:
    """Tells whether anything of what a result was made from has changed."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(str(len(text)).encode() + b":" + text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()
