"""Erasing as a job: remove the selection from every file, then rebuild what was derived from it.

Guarantees: after the first step nothing that was erased can come back; what cannot be rebuilt because the model fails
is tried again at the next start and before the next ``/save``; a notice names the rounds and personas that the model's
filter refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from domain.records import PERSONAS, ErasureScope, Persona
from domain.workers import CancelToken
from jobs.rebuild import RebuildEvent, RebuildStarted, Rebuilt, rebuild
from llm import Llm
from memory import Memory
from storage.erasure import Proof

__all__ = ["EraseEvent", "Erased", "Erasing", "ErasureProven", "RebuildStarted", "Rebuilt", "rebuild"]


@dataclass(frozen=True)
class ErasureProven:
    """The selection is proven to be removed from every file; what was derived from it is rebuilt next."""

    proof: Proof


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


EraseEvent = Step | RebuildEvent | ErasureProven | Erased


class Erasing:
    """Runs an erasure that the person has agreed to."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm

    def run(self, chosen: ErasureScope, cancel: CancelToken) -> Iterator[EraseEvent]:
        """Erase; the last event is ``Erased``. Cancelling ends only the rebuild, never the erasure.

        Raises StorageError; an erasure that was begun is then finished at the next start.
        """
        chosen = self._memory.erasure.refresh_scope(chosen)
        yield Step("erase")
        found = self._memory.erasure.erase(chosen)
        yield ErasureProven(found)
        made, begun = [], set[str]()
        for event in rebuild(self._memory, self._llm, cancel):
            if isinstance(event, Rebuilt):
                made.append(event.what)
            elif isinstance(event, RebuildStarted) and (step := _step_of(event)) not in begun:
                begun.add(step)
                yield Step(step)
            yield event
        personas = tuple(persona for persona in PERSONAS if persona in made)
        yield Erased(chosen, made.count("summary"), personas, found)


def _step_of(event: RebuildStarted) -> Literal["summaries", "personas"]:
    return "summaries" if event.what == "summary" else "personas"
