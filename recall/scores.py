"""The arithmetic of ranking: BM25, neighbours, z-scores. Arrays in, arrays out.

Shapes: T terms, P turns in a pool. ``counts`` is (T, P): how often each term stands in each turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Flags = npt.NDArray[np.bool_]


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

    ``joined[i]`` says that turn i + 1 follows turn i in one session.
    """
    import numpy as np

    lent = np.zeros_like(scores)
    chain = np.ones(len(scores), np.bool_)
    for distance, share in enumerate(reach, 1):
        if distance >= len(scores):
            break
        chain = chain[: len(scores) - distance] & joined[distance - 1 : len(scores) - 1]
        lent[:-distance] += share * scores[distance:] * chain
        lent[distance:] += share * scores[:-distance] * chain
    return lent


def z(scores: Floats) -> Floats:
    """Standard scores over the pool; all zero where nothing differs."""
    import numpy as np

    spread = float(scores.std()) if len(scores) else 0.0
    if not np.isfinite(spread) or spread < 1e-9:
        return np.zeros_like(scores)
    standard: Floats = (scores - scores.mean()) / spread
    return standard
