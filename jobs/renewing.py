"""Rewriting an image, and making anew what an erasure left to be made: summaries first, then the images.

Promises: each thing that is to be made anew stays noted until the commit that stores it, so that a kill or a failing
model costs nothing but time; what changed meanwhile is never overwritten; a summary keeps the date of the one before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from domain import errors
from domain.events import Notice, Stop
from domain.languages import Language, language_of
from domain.records import IMAGES, Image, Renewable, Renewal, Round, not_withheld
from jobs.folding import left_out, spoken_language
from llm import Llm
from memory import Memory
from storage.images import refusal

#: Characters of summaries that are put before a model at once when an image is made anew.
_AT_ONCE = 12_000


@dataclass(frozen=True)
class Renewing:
    """A summary or an image is going to be made anew: the how manieth of how many."""

    what: Renewable
    number: int
    of: int


@dataclass(frozen=True)
class Renewed:
    """A summary or an image was made anew and is stored."""

    what: Renewable


RenewEvent = Notice | Renewing | Renewed


def renew(memory: Memory, llm: Llm, stop: Stop) -> Iterator[RenewEvent]:
    """Make anew what erasures left to be made. What fails stays noted for the next time, and one notice tells it.

    Nothing is done, and no model is asked, where nothing is noted. Raises StorageError.
    """
    summaries = [noted for noted in memory.renewals() if noted.what == "summary"]
    images = [image for image in IMAGES if any(noted.what == image for noted in memory.renewals())]
    of = len(summaries) + len(images)
    try:
        for number, noted in enumerate(summaries, start=1):
            yield Renewing("summary", number, of)
            yield from _summary_anew(memory, llm, noted, stop)
        for number, image in enumerate(images, start=len(summaries) + 1):
            yield Renewing(image, number, of)
            yield from _image_anew(memory, llm, image, stop)
    except (errors.ModelError, errors.Interrupted) as fault:
        yield Notice("erase.not_made_anew", {"error": fault})


def rewritten(
    memory: Memory,
    llm: Llm,
    image: Image,
    current: str,
    summary: str,
    language: Language,
    stop: Stop,
    spoken: tuple[str, str] | None = None,
) -> Generator[Notice, None, str]:
    """What the model makes of an image, or the image as it is where that is not good enough; the person is told why."""
    pins = memory.pins(image)
    try:
        text = llm.rewrite_image(image, current, summary, pins, language, stop, spoken)
    except (errors.ContentFiltered, errors.ContextTooLong) as fault:
        # It would be refused the next time as well, and nothing may be stuck on it for good.
        yield Notice("save.image_refused", {"image": image, "error": fault})
        return current
    if reason := refusal(current, text, pins):
        yield Notice(f"save.image_kept.{reason}", {"image": image})
        return current
    return text


def _summary_anew(memory: Memory, llm: Llm, noted: Renewal, stop: Stop) -> Iterator[RenewEvent]:
    """A summary of the rounds of a session that have left its context, as far as they are still there."""
    folded = [spoken for spoken in memory.rounds(noted.session_id) if spoken.user.folded]
    text = ""
    if told := not_withheld(folded):
        text = yield from _summary_of(llm, told, stop)
    if memory.make_summary_anew(noted, text, folded[-1].user.round if folded else 0) and text:
        yield Renewed("summary")


def _summary_of(llm: Llm, rounds: Sequence[Round], stop: Stop) -> Generator[RenewEvent, None, str]:
    """A summary of these rounds without those that the model's filter refuses; "" when it refuses all."""
    refused: list[Round] = []
    text = llm.summarise("", rounds, spoken_language(rounds), stop, refused.append)
    if refused:
        yield left_out(refused)
    stop.check()
    return text


def _image_anew(memory: Memory, llm: Llm, image: Image, stop: Stop) -> Iterator[RenewEvent]:
    """An image from what is left of it and the summaries of all sessions that an erasure took something from."""
    noted = [one for one in memory.renewals() if one.what == image]
    base = memory.newest_image(image)
    before = text = base.text if base else ""
    for part in _parts(memory, {one.session_id for one in noted}):
        text = yield from rewritten(memory, llm, image, text, part, language_of(part), stop)
    stop.check()
    if memory.make_image_anew(noted, base, text) and text != before:
        yield Renewed(image)


def _parts(memory: Memory, sessions: set[str]) -> Iterator[str]:
    """The summaries of these sessions, oldest first, joined to parts of a fair size."""
    part = ""
    for summary in memory.summaries():
        if summary.session_id not in sessions:
            continue
        if part and len(part) + len(summary.summary) > _AT_ONCE:
            yield part
            part = ""
        part = f"{part}\n\n{summary.summary}".strip()
    if part:
        yield part
