"""Finds units, which are messages and summaries as MemForest's programs know them.

    filters, what is in mind -> what may be returned -> by words, by a vector, or the newest -> chains, visited

Guarantees: what is hidden is never returned, what is archived only by its words; the database runs the filters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from domain import errors
from domain.forests import MemoryUnit, UnitFilter
from domain.indexes import Embedder
from domain.recollection import RecalledExternal, RecallLimits
from domain.text import check_input
from jobs import exporting
from memory import Memory

if TYPE_CHECKING:
    from domain.indexes import Vector

#: Seconds to wait for the vectors of new texts.
_PATIENCE = 60.0
#: So many more results of a text are looked through where they are filtered.
_LOOKED_THROUGH = 15
#: The vectors of so few messages are compared one by one.
_FEW = 500
#: So many times more vectors are looked through where many do not pass, and where too few passed.
_WIDER = 8
#: Beyond every cosine.
_FAR = 2.0
_TOKENS = 1_000_000
#: More than any memory has.
_ALL = 1 << 31
#: The most units of a chain: a unit and its neighbours.
CHAIN = 3

Range = tuple[float | None, float | None]


class UnitChoice(NamedTuple):
    """Which units a query may return: those that pass all filters, ``among`` some, without those in mind."""

    filters: tuple[UnitFilter, ...]
    among: list[str] | None
    besides: list[str]

    @property
    def narrows(self) -> bool:
        """Whether not every unit may be returned."""
        return bool(self.filters) or self.among is not None or bool(self.besides)


class UnitSearch:
    """The units of one memory, whose life has the id ``life``."""

    def __init__(self, memory: Memory, embedder: Embedder, clock: Callable[[], datetime], life: str) -> None:
        self._memory = memory
        self._embedder = embedder
        self._clock = clock
        self._life = life

    def by_text(self, words: str, choice: UnitChoice, most: int) -> list[MemoryUnit]:
        """Messages and texts of external memories, best first; of what is filtered only messages."""
        self.settle()
        passing = self._passing(choice)
        if passing is not None and not passing:
            return []
        limits = RecallLimits(sessions=0, messages=most + (_LOOKED_THROUGH if choice.narrows else 0), tokens=_TOKENS)
        found = self._memory.recall([check_input(words)], "", self._clock(), limits, gated=False)
        hits = {message.text_id: message for message in found.messages if message.hit}
        ranked = list(dict.fromkeys([*(one for one in found.ranked if one in hits), *hits]))
        if not choice.narrows:
            own = [(len(hits[unit.id].why.words), unit) for unit in self.load(ranked)]
            return _merge(own, [(len(one.why.words), _unit_of_external(one)) for one in found.external])
        besides = set(choice.besides)
        best = [one for one in ranked if one not in besides and (passing is None or one in passing)]
        vector = self._embedder.embed([words])[0] if len(best) < most else None
        near = [] if vector is None else self._nearest(vector, passing, besides, most, (None, None))
        return self.load(list(dict.fromkeys([*best, *near]))[:most])

    def by_vector(self, vector: Sequence[float], choice: UnitChoice, most: int, within: Range) -> list[MemoryUnit]:
        """The messages nearest to a vector, best first. Raises EmbeddingError for one of another length than ours."""
        import numpy as np

        self.settle()
        status, sought = self._memory.index.status(), np.asarray(vector, dtype=np.float32)
        if status.dimension is not None and sought.shape != (status.dimension,):
            raise errors.EmbeddingError("embedding.dimension", found=list(sought.shape), expected=status.dimension)
        return self.load(self._nearest(sought, self._passing(choice), set(choice.besides), most, within))

    def _passing(self, choice: UnitChoice) -> set[str] | None:
        """The ids of the messages that pass the filters, and are among those in mind; None where all do."""
        if not choice.filters:
            return None if choice.among is None else set(choice.among)
        return set(self._memory.units.find(choice.filters, _ALL, among=choice.among))

    def _nearest(
        self, vector: Vector, passing: set[str] | None, besides: set[str], most: int, within: Range
    ) -> list[str]:
        """The messages nearest to a vector, best first; more are looked through until enough of them pass."""
        low, high = (bound if bound is not None else edge for bound, edge in zip(within, (-_FAR, _FAR), strict=True))
        if passing is not None and len(passing) <= _FEW:
            scores = self._memory.index.similarities(vector, list(passing - besides))
            ranked = sorted((one for one in scores.items() if low <= one[1] <= high), key=lambda one: (-one[1], one[0]))
            return [one for one, _ in ranked[:most]]
        looked = (most + len(besides)) * (1 if passing is None else _WIDER)
        while True:
            hits = self._memory.index.nearest(vector, "conversation", looked)
            found = [
                one.text_id
                for one in hits
                if low <= one.similarity <= high
                and one.text_id not in besides
                and (passing is None or one.text_id in passing)
            ]
            if len(found) >= most or len(hits) < looked:
                return found[:most]
            looked *= _WIDER

    def _summaries(self, choice: UnitChoice, most: int) -> list[MemoryUnit]:
        """The newest summaries that pass; none of them is ever in mind."""
        if choice.among is not None or most < 1:
            return []
        ids = self._memory.units.find_summaries(choice.filters, most)
        return exporting.summary_units(self._memory, self._life, ids) if ids else []

    def newest(self, choice: UnitChoice, most: int) -> list[MemoryUnit]:
        """The newest messages and summaries that may be returned, messages first."""
        ids = self._memory.units.find(choice.filters, most, among=choice.among, besides=choice.besides)
        return [*self.load(ids), *self._summaries(choice, most - len(ids))]

    def chains(self, found: Sequence[MemoryUnit], most: int, *, beside: bool) -> list[list[MemoryUnit]]:
        """The best of what was found, each once; with ``beside`` between what was said right before and after it.

        That is a visit of each of them, and of all that is above it.
        """
        beside_these = [unit for unit in found if not unit.rank] if beside else []
        ids = [one for unit in beside_these for one in (unit.pre_id, unit.next_id) if one]
        neighbours = {one.id: one for one in self.load(list(dict.fromkeys(ids)))}
        hits, chains = list[MemoryUnit](), list[list[MemoryUnit]]()
        for unit in found:
            if len(hits) < most and not any(unit in chain for chain in chains):
                hits.append(unit)
                ring = (neighbours.get(unit.pre_id or ""), unit, neighbours.get(unit.next_id or ""))
                chains.append([one for one in ring if one is not None])
        self._visit(hits)
        return chains

    def _visit(self, hits: Sequence[MemoryUnit]) -> None:
        """Count a visit of each unit and of all that is above it."""
        summaries = {unit.id: self._memory.summaries.of(unit.id) for unit in hits if unit.rank}
        named = [summary.text_id if (summary := summaries.get(unit.id)) else unit.id for unit in hits]
        if named:
            self._memory.archive.visit(named)

    def settle(self) -> None:
        """Wait until new texts have vectors, so that they are found."""
        self._memory.index.start()
        self._memory.index.settle(_PATIENCE)

    def load(self, ids: Sequence[str]) -> list[MemoryUnit]:
        """The messages with these ids as units, without hidden ones, in this order."""
        messages = {message.text_id: message for message in self._memory.messages.with_ids(ids)}
        return exporting.units_of_turns(self._memory, [messages[one] for one in ids if one in messages])


def _merge(own: Sequence[tuple[int, MemoryUnit]], outside: Sequence[tuple[int, MemoryUnit]]) -> list[MemoryUnit]:
    """Two lists as one, each in its order: first what has more words of the question, by turns where that is equal."""
    merged, left, others = list[MemoryUnit](), deque(own), deque(outside)
    while left and others:
        ours = left[0][0] > others[0][0] or (left[0][0] == others[0][0] and len(merged) % 2 == 0)
        merged.append((left if ours else others).popleft()[1])
    return [*merged, *(unit for _, unit in (*left, *others))]


def _unit_of_external(one: RecalledExternal) -> MemoryUnit:
    """A text of an external memory, whose name is the source and the group."""
    said = datetime.fromisoformat(one.timestamp) if one.timestamp else None
    metadata = {"collection": one.source, "place": one.place, "role": one.role}
    return MemoryUnit(
        one.text_id, one.text, 0, one.source, said, said, group_id=one.source, metadata=metadata, never_delete=True
    )
