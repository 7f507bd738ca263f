"""Orders of the turns by different methods, all from the same evidence, and the figures that judge an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.recall_life import AskedQuestion
from recall.ranking import Evidence, ScoreParts, weights_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Scores = npt.NDArray[np.float32]

COLUMNS = ("R@5", "R@10", "R@20", "all@10", "nDCG@10", "MRR", "S@3", "S@5", "ms")


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one question, in the order of ``COLUMNS``, in percent (the last in milliseconds)."""

    values: tuple[float, ...]


def mean(figures: Sequence[Figures]) -> list[float]:
    """The mean of each figure."""
    return [sum(column) / len(figures) for column in zip(*(one.values for one in figures), strict=True)]


def judge(asked: AskedQuestion, found: Sequence[str], sessions: Sequence[int], milliseconds: float) -> Figures:
    """The figures of an order of turns (ids, best first) and of sessions (numbers, best first)."""
    import math

    groups = asked.question.groups
    recall = [sum(bool(group & set(found[:k])) for group in groups) / len(groups) for k in (5, 10, 20)]
    gains = [any(tid in group for group in groups) for tid in found[:10]]
    gained = sum(gain / math.log2(at + 2) for at, gain in enumerate(gains))
    ideal = sum(1 / math.log2(at + 2) for at in range(min(10, len(groups))))
    first = next((at for at, tid in enumerate(found, 1) if any(tid in group for group in groups)), 0)
    right = [{asked.session_of[tid] for tid in group if tid in asked.session_of} for group in groups]
    there = [sum(bool(held & set(sessions[:k])) for held in right) / len(groups) for k in (3, 5)]
    values = (*recall, float(recall[1] == 1.0), min(1.0, gained / ideal), 1 / first if first else 0.0, *there)
    return Figures((*(100 * value for value in values), milliseconds))


def by_weights(evidence: Evidence, parts: ScoreParts, weights: Mapping[str, float]) -> Scores:
    """The weighted sum of the parts."""
    import numpy as np

    total = np.zeros(len(evidence.lengths), np.float32)
    for name, part in parts.items():
        total += np.float32(weights.get(name, 0.0)) * part
    return total


def ours(asked: AskedQuestion, *, without: Iterable[str] = ()) -> Scores:
    """The order of the program, with some parts left out."""
    left_out = set(without)
    parts = {name: part for name, part in asked.parts.items() if name not in left_out}
    if not any(name.startswith("dense") for name in parts):
        return by_weights(asked.evidence, parts, weights_for(replace(asked.evidence, similarity=None)))
    return by_weights(asked.evidence, parts, asked.weights)


def reciprocal_ranks(asked: AskedQuestion) -> Scores:
    """Reciprocal rank fusion of words and vectors: the sum of 1 / (60 + rank) (Cormack et al. 2009)."""
    import numpy as np

    total = np.zeros(len(asked.evidence.lengths), np.float32)
    for name in ("words", "dense"):
        if name in asked.parts:
            rank = np.argsort(np.argsort(-asked.parts[name], kind="stable"), kind="stable")
            total += 1.0 / (60.0 + rank)
    return total


def plain_fusion(asked: AskedQuestion) -> Scores:
    """Words and vectors, the standard scores of both added."""
    nothing: Scores = asked.evidence.lengths * 0
    total: Scores = asked.parts.get("words", nothing) + asked.parts.get("dense", nothing)
    return total


def plain_reading(asked: AskedQuestion) -> Scores:
    """The nearest turns of the three sessions with the nearest summaries."""
    import numpy as np

    evidence = asked.evidence
    if evidence.similarity is None or evidence.summary_similarity is None:
        return np.zeros(len(evidence.lengths), np.float32)
    chosen = np.argsort(-evidence.summary_similarity, kind="stable")[:3]
    inside = np.isin(evidence.of_session, chosen)
    return np.where(inside, evidence.similarity, -1.0).astype(np.float32)


def order(asked: AskedQuestion, scores: Scores) -> tuple[list[str], list[int]]:
    """Ids of turns, best first, each once; and the sessions in the order of their best turn."""
    import numpy as np

    best = np.argsort(-scores, kind="stable")[:400]
    found = dict.fromkeys(asked.tids[at] for at in best if asked.tids[at])
    sessions = dict.fromkeys(asked.session_of[tid] for tid in found)
    return list(found), list(sessions)
