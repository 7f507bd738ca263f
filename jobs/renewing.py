"""Making anew what an erasure or a save left to be made: summaries first, then notes and images.

Promises: each thing that is to be made anew stays noted until the commit that stores it, so that a kill or a failing
model costs nothing but time; what changed meanwhile is never overwritten; a summary keeps the date of the one before.
An image is made session by session, each a commit of its own, so that a little of much can be done at a time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from domain import errors
from domain.events import Notice
from domain.facts import ImageDraft
from domain.records import IMAGES, Image, Renewable, Renewal, Round, not_withheld
from domain.workers import Stop
from facts.slots import Names
from jobs.folding import left_out, spoken_language
from jobs.noting import Noted, Noting, NotingEvent
from jobs.updating import Updating
from llm import Llm
from memory import Memory


@dataclass(frozen=True)
class Renewing:
    """A summary, or an image by one session, is going to be made anew: the how manieth of how many."""

    what: Renewable
    number: int
    of: int


@dataclass(frozen=True)
class Renewed:
    """A summary or an image was made anew and is stored."""

    what: Renewable


RenewEvent = NotingEvent | Renewing | Renewed


def renew(memory: Memory, llm: Llm, stop: Stop) -> Iterator[RenewEvent]:
    """Make anew what erasures left to be made. What fails stays noted for the next time, and one notice tells it.

    Nothing is done, and no model is asked, where nothing is noted. Raises StorageError.
    """
    waiting = memory.rebuilds.due()
    summaries = [noted for noted in waiting if noted.what == "summary"]
    parts = [part for image in IMAGES for part in _by_session(image, waiting)]
    of = len(summaries) + len(parts)
    try:
        for number, noted in enumerate(summaries, start=1):
            yield Renewing("summary", number, of)
            yield from _summary_anew(memory, llm, noted, stop)
        for number, (image, session_id) in enumerate(parts, start=len(summaries) + 1):
            yield Renewing(image, number, of)
            if not (yield from _image_anew(memory, llm, image, session_id, stop)):
                return
    except (errors.ModelError, errors.Interrupted) as fault:
        yield Notice("erase.not_made_anew", {"error": fault})


def renew_some(memory: Memory, llm: Llm, stop: Stop, most: int) -> Iterator[RenewEvent]:
    """The same, but at most so many steps of it: a summary, a window that is noted, an image by one session."""
    steps = 0
    for event in renew(memory, llm, stop):
        steps += isinstance(event, Renewing | Noted)
        if steps > most:
            return
        yield event


def _by_session(image: Image, waiting: Sequence[Renewal]) -> list[tuple[Image, str]]:
    """An image with each session that it waits for, oldest first."""
    return [(image, one) for one in dict.fromkeys(each.session_id for each in waiting if each.what == image)]


def _summary_anew(memory: Memory, llm: Llm, noted: Renewal, stop: Stop) -> Iterator[RenewEvent]:
    """A summary of the rounds of a session that have left its context, as far as they are still there."""
    folded = [spoken for spoken in memory.messages.rounds(noted.session_id) if spoken.user.folded]
    text = ""
    if told := not_withheld(folded):
        text = yield from _summary_of(llm, told, memory.names(), stop)
    if memory.rounds.rebuild_summary(noted, text, folded[-1].user.round if folded else 0) and text:
        yield Renewed("summary")


def _summary_of(
    llm: Llm, rounds: Sequence[Round], names: Names, stop: Stop
) -> Generator[RenewEvent, None, str]:
    """A summary of these rounds without those that the model's filter refuses; "" when it refuses all."""
    refused: list[Round] = []
    text = llm.summarise("", rounds, spoken_language(rounds), stop, refused.append, names=names)
    if refused:
        yield left_out(refused)
    stop.check()
    return text


def _image_anew(
    memory: Memory, llm: Llm, image: Image, session_id: str, stop: Stop
) -> Generator[RenewEvent, None, bool]:
    """An image from what is left of it and from what one of the sessions that it waits for came to.

    What of that was not noted yet is noted before. Returns whether it could be done; until then the image waits.
    """
    if not (yield from Noting(memory, llm).run(session_id, stop, all_of_it=True)):
        return False
    waiting = [one for one in memory.rebuilds.due() if (one.what, one.session_id) == (image, session_id)]
    base = memory.personas.newest(image)
    made = before = ImageDraft(base.text if base else "", tuple(memory.personas.line_evidence(image)))
    updating = Updating(memory, llm)
    if material := updating.material(image, session_id):
        made = yield from updating.updated(made, material, stop)
    stop.check()
    if memory.personas.rebuild(waiting, base, made) and made.text != before.text:
        yield Renewed(image)
    return True
