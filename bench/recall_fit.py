"""Weights of the ranking, fitted to questions whose evidence is known.

For each kind of conversation the weights maximise the likelihood of the evidence under a softmax over the
pool (the listwise loss of Cao et al. 2007, ListNet), with a small square penalty; weights of parts that
speak for a turn may not become negative. Questions of one set count 1 / sqrt(n) each, so that no set drowns
the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.recall_life import AskedQuestion
from bench.recall_orders import by_weights
from recall.ranking import blended, shares
from recall.weights import TalkKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bench.recall_orders import Scores

    Array = npt.NDArray[np.float32]

KINDS: tuple[TalkKind, ...] = ("talk", "remark", "work", "long")
#: ScoreParts whose weight may have either sign.
_FREE = frozenset(("length", "length_own", "opening", "early"))
_NEGATIVE = frozenset(("asks",))
_PENALTY = 3e-3
_STEPS = 300

Fitted = dict[TalkKind, dict[str, float]]


@dataclass(frozen=True)
class _Example:
    """One question: (P, K) parts, (P,) which turns are evidence, and how much it counts."""

    parts: Array
    right: Array
    counts: float


def fit(asked: Sequence[AskedQuestion], left_out: Collection[str]) -> Fitted:
    """Weights a kind, each from the questions that are mostly of it; a kind without any takes those of all."""
    names = sorted({name for one in asked for name in one.parts} - set(left_out))
    sizes = Counter(one.question.history for one in asked)
    fitted: Fitted = {}
    for kind in KINDS:
        mine = [one for one in asked if _kind(one) == kind] or list(asked)
        fitted[kind] = _fitted([_example(one, names, sizes) for one in mine], names)
    return fitted


def scores(asked: AskedQuestion, table: Fitted, left_out: Collection[str]) -> Scores:
    """The scores of a question's pool by fitted weights."""
    kinds = shares(asked.evidence.word_length, remark=asked.evidence.remark)
    weights = blended(table, kinds)
    return by_weights(asked.evidence, {n: p for n, p in asked.parts.items() if n not in left_out}, weights)


def _kind(asked: AskedQuestion) -> TalkKind:
    kinds = shares(asked.evidence.word_length, remark=asked.evidence.remark)
    return max(kinds, key=lambda kind: kinds[kind])


def _example(asked: AskedQuestion, names: Sequence[str], sizes: Counter[str]) -> _Example:
    import numpy as np

    nothing = np.zeros(len(asked.tids), np.float32)
    parts = np.stack([asked.parts.get(name, nothing) for name in names], axis=1).astype(np.float32)
    wanted = frozenset().union(*asked.question.groups)
    right = np.array([tid in wanted for tid in asked.tids], np.float32)
    return _Example(parts, right, sizes[asked.question.history] ** -0.5 if right.any() else 0.0)


def _fitted(examples: Sequence[_Example], names: Sequence[str]) -> dict[str, float]:
    """Adam (Kingma and Ba 2015) with projection on the signs that are allowed."""
    import numpy as np

    weights, first, second = (np.zeros(len(names)) for _ in range(3))
    lowest = np.array([-np.inf if name in _FREE | _NEGATIVE else 0.0 for name in names])
    highest = np.array([0.0 if name in _NEGATIVE else np.inf for name in names])
    joined = _Joined(examples)
    for step in range(1, _STEPS + 1):
        slope = joined.slope(weights) + 2 * _PENALTY * weights
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        rate = 0.05 * (1.0 - step / (_STEPS + 1))
        move = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
        weights = np.clip(weights - move, lowest, highest)
    return {name: float(weight) for name, weight in zip(names, weights, strict=True)}


class _Joined:
    """All examples in one table, so that a step of the fit is a few operations on whole arrays."""

    def __init__(self, examples: Sequence[_Example]) -> None:
        import numpy as np

        used = [one for one in examples if one.counts]
        sizes = np.array([len(one.right) for one in used])
        counts = np.array([one.counts for one in used]) / sum(one.counts for one in used)
        self._parts = np.concatenate([one.parts for one in used])
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._of = np.repeat(np.arange(len(used)), sizes)
        self._counts = counts[self._of]
        self._right = np.concatenate([one.right / one.right.sum() for one in used]) * self._counts

    def slope(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The slope of the loss."""
        import numpy as np

        scored = self._parts @ weights.astype(np.float32)
        likely = np.exp(scored - np.maximum.reduceat(scored, self._starts)[self._of])
        likely /= np.add.reduceat(likely, self._starts)[self._of]
        slope: npt.NDArray[np.float64] = self._parts.T @ (likely * self._counts - self._right).astype(
            np.float32
        )
        return slope.astype(np.float64)
