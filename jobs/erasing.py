"""Erasing, as a job: what was chosen goes out of every file, and what was made from it is made anew from what is left.

Promises: after the first step nothing of what was erased can come back, whatever happens then; what was made from it
and cannot be made anew, because the model is not there, stays noted and is tried again at the next start and before the
next ``/save``; the person is told, as of rounds and images that the model's filter refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from domain.records import IMAGES, ErasureScope, Image
from domain.workers import Stop
from jobs.renewing import Renewed, RenewEvent, Renewing, renew
from llm import Llm
from memory import Memory
from storage.erasure import Proof

__all__ = ["EraseEvent", "Erased", "Erasing", "Renewed", "Renewing", "TakenOut", "renew"]


@dataclass(frozen=True)
class TakenOut:
    """What was chosen is gone from every file, and that was proven; what was made from it is now made anew."""

    proof: Proof


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


EraseEvent = Step | RenewEvent | TakenOut | Erased


class Erasing:
    """Runs an erasure that the person has agreed to."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    def run(self, chosen: ErasureScope, stop: Stop) -> Iterator[EraseEvent]:
        """Erase; the last event is ``Erased``. A wish to stop ends only the making anew, never the erasure.

        Raises StorageError; an erasure that was begun is then finished at the next start.
        """
        chosen = self._memory.erasure.refreshed(chosen)
        yield Step("erase")
        found = self._memory.erasure.erase(chosen)
        yield TakenOut(found)
        made, begun = [], set[str]()
        for event in renew(self._memory, self._llm, stop):
            if isinstance(event, Renewed):
                made.append(event.what)
            elif isinstance(event, Renewing) and (step := _step_of(event)) not in begun:
                begun.add(step)
                yield Step(step)
            yield event
        images = tuple(image for image in IMAGES if image in made)
        yield Erased(chosen, made.count("summary"), images, found)


def _step_of(event: Renewing) -> Literal["summaries", "images"]:
    return "summaries" if event.what == "summary" else "images"
