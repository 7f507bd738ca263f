"""Erasing, as a job: what was chosen goes out of every file, and what was made from it is made anew from what is left.

Promises: after the first step nothing of what was erased can come back, whatever happens then; a summary or an image
that cannot be made anew, because the model is not there, stays away, and the person is told; so they are of rounds and
images that the model's filter refuses.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from domain import errors
from domain.events import Notice, Stop
from domain.languages import language_of
from domain.records import IMAGES, Image, Round
from jobs.folding import left_out, spoken_language
from jobs.saving import rewritten
from llm import Llm
from memory import Memory
from storage.erasure import ErasureScope, Proof

#: Characters of summaries that are put before a model at once when an image is made anew.
_AT_ONCE = 12_000


@dataclass(frozen=True)
class Step:
    """A step of an erasure begins; only those that have something to do are told."""

    name: Literal["erase", "summaries", "images"]


@dataclass(frozen=True)
class Erased:
    """What went, what was made anew, and what the search of every file found."""

    selection: ErasureScope
    summaries_anew: int
    images_anew: tuple[Image, ...]
    proof: Proof


EraseEvent = Step | Notice | Erased


class Erasing:
    """Runs an erasure that the person has agreed to."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    def run(self, chosen: ErasureScope, stop: Stop) -> Iterator[EraseEvent]:
        """Erase; the last event is ``Erased``. A wish to stop ends only the making anew, never the erasure.

        Raises StorageError; an erasure that was begun is then finished at the next start.
        """
        chosen = self._memory.refreshed_scope(chosen)
        yield Step("erase")
        found = self._memory.erase(chosen)
        summaries, images = 0, list[Image]()
        try:
            if chosen.summaries:
                yield Step("summaries")
            summaries = yield from self._summaries_anew(chosen, stop)
            if chosen.versions:
                yield Step("images")
            images = yield from self._images_anew(chosen, stop)
        except (errors.ModelError, errors.Interrupted) as fault:
            yield Notice("erase.not_made_anew", {"error": fault})
        yield Erased(chosen, summaries, tuple(images), found)

    def _summaries_anew(self, chosen: ErasureScope, stop: Stop) -> Generator[EraseEvent, None, int]:
        made = 0
        for summary in chosen.summaries:
            rounds = tuple(
                spoken
                for spoken in self._memory.rounds(summary.session_id)
                if spoken.user.round <= summary.upto_round
            )
            if rounds and (text := (yield from self._summary_of(rounds, stop))):
                self._memory.renew_summary(summary.session_id, text, summary.upto_round)
                made += 1
        return made

    def _summary_of(self, rounds: tuple[Round, ...], stop: Stop) -> Generator[EraseEvent, None, str]:
        """A summary of these rounds without those that the model's filter refuses; "" when it refuses all."""
        language, refused = spoken_language(rounds), list[Round]()
        text = self._llm.summarise("", rounds, language, stop, refused.append)
        if refused:
            yield left_out(refused)
        stop.check()
        return text

    def _images_anew(self, chosen: ErasureScope, stop: Stop) -> Generator[EraseEvent, None, list[Image]]:
        made: list[Image] = []
        for image in IMAGES:
            first = self._first_session(chosen, image)
            if first is not None and (yield from self._image_anew(image, first, stop)):
                made.append(image)
        return made

    def _first_session(self, chosen: ErasureScope, image: Image) -> int | None:
        """The number of the session that the first erased version of an image was made from."""
        erased = {session.session_id: session.number for session in chosen.sessions}
        for version in chosen.versions:
            if version.image == image and version.session_id is not None:
                session = self._memory.session(version.session_id)
                return session.number if session else erased.get(version.session_id)
        return None

    def _image_anew(self, image: Image, since: int, stop: Stop) -> Generator[EraseEvent, None, bool]:
        """Rewrite an image from the version that is left and the summaries of all sessions since."""
        before = self._memory.image(image)
        text = before
        for part in self._summaries_since(since):
            language = language_of(part)
            text = yield from rewritten(self._memory, self._llm, image, text, part, language, stop)
        stop.check()
        if text == before:
            return False
        self._memory.write_image(image, text, "model", None)
        return True

    def _summaries_since(self, since: int) -> Iterator[str]:
        """Summaries of the archived sessions from this number on, oldest first, joined to parts of a fair size."""
        part = ""
        for summary in self._memory.summaries():
            session = self._memory.session(summary.session_id)
            if session is None or session.status == "active" or session.number < since:
                continue
            if part and len(part) + len(summary.summary) > _AT_ONCE:
                yield part
                part = ""
            part = f"{part}\n\n{summary.summary}".strip()
        if part:
            yield part
