"""Ranks the notes of a chat API for a message, by similarity and importance, with the weights of that API's original.

    0.7 x similarity + 0.3 x importance / 10, the best five

Similarity is the cosine of two vectors. Without vectors it is the share of the message's words that the note contains,
and a note that contains none is not recalled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

from domain.recollection import ClientNote
from language.words import tokens

if TYPE_CHECKING:
    from domain.indexes import Vector

SIMILARITY, IMPORTANCE = 0.7, 0.3
MOST = 5


def rank_memories(similarity: Mapping[int, float], importances: Mapping[int, int], most: int = MOST) -> list[int]:
    """The numbers of the best notes, best first; of equal ones the newest first."""
    scores = {
        number: SIMILARITY * value + IMPORTANCE * importances[number] / 10
        for number, value in similarity.items()
        if number in importances
    }
    return nlargest(most, scores, key=lambda number: (scores[number], number))


def cosine_similarities(query: Vector, numbers: Sequence[int], table: Vector) -> dict[int, float]:
    """The cosine similarity of a message's vector to each note's, a row of ``table`` for each number."""
    import numpy as np

    norms = np.linalg.norm(table, axis=1) * np.linalg.norm(query)
    found = (table @ query) / np.where(norms > 0, norms, 1.0)
    return dict(zip(numbers, found.tolist(), strict=True))


def shared_words(query: str, memories: Iterable[ClientNote]) -> dict[int, float]:
    """The share of a message's words that each note contains; notes with none are left out."""
    wanted = _word_set(query)
    shares = {
        one.number: len(wanted & _word_set(f"{one.summary} {one.key_points}")) / max(1, len(wanted)) for one in memories
    }
    return {number: share for number, share in shares.items() if share}


def _word_set(text: str) -> set[str]:
    """The words of a text without marks."""
    return {token for token in tokens(text) if not token.startswith("@")}
