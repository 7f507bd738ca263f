"""What is handed over: the best turns with their neighbours, oldest first, inside a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recall import words


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn to hand over; ``hit`` is false for a neighbour of a hit. ``row`` gives the order."""

    row: int
    hit: bool


def estimate_tokens(text: str) -> int:
    """About how many tokens a model needs: one for four letters, one for each unspaced character.

    An estimate on the safe side for the common tokenisers; it is off by a third at the most for usual text.
    """
    unspaced = words.unspaced_length(text)
    return 1 + unspaced + (len(text) - unspaced + 3) // 4


def cut(scores: Sequence[float], count: int, *, share: float = 0.35) -> int:
    """How many scores, best first, are kept: at most ``count``, none below ``share`` of the best.

    Scores are above zero for what stands out at all.
    """
    if not scores:
        return 0
    floor = scores[0] * share
    return sum(score >= floor for score in scores[:count])


def choose(
    ranked: Sequence[int], around: Mapping[int, Sequence[int]], cost: Mapping[int, int], budget: int
) -> list[Passage]:
    """The turns to hand over: hits best first as long as the budget lasts, then the neighbours of the best.

    ``ranked`` are the rows of the hits, ``around`` the neighbours of each, ``cost`` the tokens of each row.
    A hit that does not fit is passed over, so that one long turn does not shut out the rest.
    """
    taken: dict[int, bool] = {}
    left = budget
    for row in ranked:
        if cost[row] <= left:
            taken[row] = True
            left -= cost[row]
    for row in ranked:
        for neighbour in around.get(row, ()):
            if row in taken and neighbour not in taken and cost.get(neighbour, left + 1) <= left:
                taken[neighbour] = False
                left -= cost[neighbour]
    return [Passage(row, taken[row]) for row in sorted(taken)]
