"""Which memories of a chat API matter for a message: by meaning and by importance, as the seed of that API fixes it.

    0.7 x likeness + 0.3 x importance / 10, the best five

Likeness is the cosine of two vectors; where a memory has none, or there is none of the message, the share of the words
of the message that stand in the memory, and one that shares none is not recalled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

from domain.held import KeptMemory
from recall.words import tokens

if TYPE_CHECKING:
    from domain.vectors import Vector

LIKENESS, IMPORTANCE = 0.7, 0.3
MOST = 5


def best(likeness: Mapping[int, float], importances: Mapping[int, int], most: int = MOST) -> list[int]:
    """The numbers of the memories that matter most, the best first; of equal ones the newest."""
    scores = {
        number: LIKENESS * like + IMPORTANCE * importances[number] / 10
        for number, like in likeness.items()
        if number in importances
    }
    return nlargest(most, scores, key=lambda number: (scores[number], number))


def cosines(query: Vector, numbers: Sequence[int], table: Vector) -> dict[int, float]:
    """How near the vectors of memories, a row for each number, are to that of a message."""
    import numpy as np

    norms = np.linalg.norm(table, axis=1) * np.linalg.norm(query)
    found = (table @ query) / np.where(norms > 0, norms, 1.0)
    return dict(zip(numbers, found.tolist(), strict=True))


def shared_words(query: str, memories: Iterable[KeptMemory]) -> dict[int, float]:
    """Which share of the words of a message stands in each memory; one that shares none is left out."""
    wanted = _words(query)
    shares = {
        one.number: len(wanted & _words(f"{one.summary} {one.key_points}")) / max(1, len(wanted))
        for one in memories
    }
    return {number: share for number, share in shares.items() if share}


def _words(text: str) -> set[str]:
    """The words of a text without the marks that say what it is."""
    return {token for token in tokens(text) if not token.startswith("@")}
