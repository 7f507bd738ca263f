"""The arithmetic of ranking: BM25, neighbours, z-scores. Arrays in, arrays out.

Shapes: T terms, P turns in a pool. ``counts`` is (T, P): how often each term stands in each turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Flags = npt.NDArray[np.bool_]
    TurnReader = npt.NDArray[np.int64]


def rarity(holding: Floats, total: int) -> Floats:
    """idf of Robertson and Spärck Jones, kept positive as Lucene does: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    import numpy as np

    weights: Floats = np.log1p((total - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return weights


def bm25(
    counts: Floats, weights: Floats, lengths: Floats, mean_length: float, *, k1: float, b: float
) -> Floats:
    """BM25 (Robertson and Zaragoza 2009), the sum over terms of idf * tf * (k1 + 1) / (tf + k1 * norm)."""
    import numpy as np

    norm = k1 * (1.0 - b + b * lengths / max(mean_length, 1.0))
    # A turn without a single token has length 0, which b = 1 turns into 0 / 0.
    saturated = counts * (k1 + 1.0) / np.maximum(counts + norm[None, :], 1e-9)
    scored: Floats = (weights[:, None] * saturated).sum(axis=0)
    return scored


def from_neighbours(scores: Floats, joined: Flags, reach: tuple[float, ...]) -> Floats:
    """What the turns around each turn lend it: ``reach[d - 1]`` times the score of those ``d`` away.

    ``scores`` are (P,) or (T, P); ``joined[i]`` says that turn i + 1 follows turn i in one session.
    """
    import numpy as np

    size = scores.shape[-1]
    lent = np.zeros_like(scores)
    chain = np.ones(size, np.bool_)
    for distance, share in enumerate(reach, 1):
        if distance >= size:
            break
        chain = chain[: size - distance] & joined[distance - 1 :]
        lent[..., :-distance] += share * scores[..., distance:] * chain
        lent[..., distance:] += share * scores[..., :-distance] * chain
    return lent


def z(scores: Floats) -> Floats:
    """Standard scores over the pool; all zero where nothing differs."""
    import numpy as np

    if not len(scores):
        return scores
    spread = float(scores.std())
    if not np.isfinite(spread) or spread < 1e-9 + 1e-5 * abs(float(scores.mean())):
        return np.zeros_like(scores)
    standard: Floats = (scores - scores.mean()) / spread
    return standard


def over_sessions(
    scores: Floats, of_session: TurnReader, sessions: int, how: Literal["max", "mean"]
) -> Floats:
    """(S,) the greatest or the mean score of each session's turns in the pool; the least of all for one without."""
    import numpy as np

    least = float(scores.min()) if len(scores) else 0.0
    if how == "max":
        best = np.full(sessions, least, np.float32)
        np.maximum.at(best, of_session, scores.astype(np.float32))
        return best
    held = np.bincount(of_session, minlength=sessions)
    total = np.bincount(of_session, scores, minlength=sessions)
    mean: Floats = np.where(held > 0, total / np.maximum(held, 1), least).astype(np.float32)
    return mean


def clarity(similarity: Floats) -> float:
    """How far an embedder tells the texts of a history apart for one question, 0 to 1.

    One that does not speak the language finds all of them alike: the best stands out from the mean by less
    than a third of itself there, and by more than half otherwise.
    """
    if not len(similarity):
        return 0.0
    best = max(float(similarity.max()), 1e-6)
    return min(1.0, max(0.0, ((best - float(similarity.mean())) / best - 0.25) / 0.2))
