"""The order of memories for one question: evidence in, scores out. No store, no clock, no text.

The score of a turn is a weighted sum of standard scores over the pool (z-scores; adding them beats
reciprocal-rank fusion, Bruch et al. 2023, https://arxiv.org/abs/2210.11934), so that words and vectors
weigh what they should, whatever scale each comes in. docs/recall.md has the formula, each part's source and
what it is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recall.scores import bm25, from_neighbours, z

if TYPE_CHECKING:
    from recall.scores import Flags, Floats


@dataclass(frozen=True)
class Evidence:
    """All that is known about the P turns of a pool for one question of T terms.

    ``of_session`` (P,) gives each turn its place in the S sessions of ``session_counts`` (T, S).
    ``similarity``, ``summary_similarity`` (S,) and ``fact`` (P,) are None where that part is missing.
    ``nearness`` is 1 for a turn of a time that the question speaks of, ``meant`` 1 for a turn of the
    speaker it speaks of.
    """

    counts: Floats
    rarity: Floats
    lengths: Floats
    mean_length: float
    joined: Flags
    by_user: Flags
    of_session: Floats
    session_counts: Floats
    session_lengths: Floats
    session_rarity: Floats
    similarity: Floats | None = None
    summary_words: Floats | None = None
    summary_similarity: Floats | None = None
    fact: Floats | None = None
    nearness: Floats | None = None
    meant: Floats | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part of the sum counts."""

    words: float = 1.0
    long_words: float = 0.4
    window: float = 0.4
    dense: float = 0.7
    dense_neighbours: float = 0.3
    session_words: float = 0.2
    summary_words: float = 0.2
    summary_dense: float = 0.2
    fact: float = 0.4
    nearness: float = 1.0
    meant: float = 0.3
    by_user: float = 0.2


@dataclass(frozen=True)
class Ranked:
    """Scores (P,) of the turns, (S,) of the sessions, and what each part gave each turn."""

    turns: Floats
    sessions: Floats
    parts: dict[str, Floats] = field(default_factory=dict)


def rank(evidence: Evidence, weights: Weights) -> Ranked:
    """Score every turn of the pool, and every session in it."""
    import numpy as np

    parts = {name: part * getattr(weights, name) for name, part in _parts(evidence).items()}
    turns = sum(parts.values(), np.zeros_like(evidence.lengths))
    return Ranked(turns, _sessions(evidence, turns), parts)


def _parts(e: Evidence) -> dict[str, Floats]:
    """The parts that are there, each in standard scores or between 0 and 1."""
    found = _word_parts(e) | _dense_parts(e)
    for name, part in (("fact", e.fact), ("nearness", e.nearness), ("meant", e.meant)):
        if part is not None:
            found[name] = z(part) if name == "fact" else part
    found["by_user"] = e.by_user.astype(e.lengths.dtype)
    return found


def _word_parts(e: Evidence) -> dict[str, Floats]:
    plain = bm25(e.counts, e.rarity, e.lengths, e.mean_length, k1=1.2, b=0.6)
    long = bm25(e.counts, e.rarity, e.lengths, e.mean_length, k1=2.0, b=1.0)
    return {
        "words": z(plain + from_neighbours(plain, e.joined, (0.5, 0.25))),
        "long_words": z(long),
        "window": z(_window(e)),
        "session_words": z(_session_words(e))[e.of_session.astype(int)],
        **(
            {"summary_words": z(e.summary_words)[e.of_session.astype(int)]}
            if e.summary_words is not None
            else {}
        ),
    }


def _window(e: Evidence) -> Floats:
    """BM25 of each turn read together with two turns on each side."""
    import numpy as np

    counts = (
        np.stack([row + from_neighbours(row, e.joined, (1.0, 0.5)) for row in e.counts])
        if len(e.counts)
        else e.counts
    )
    lengths = e.lengths + from_neighbours(e.lengths, e.joined, (1.0, 0.5))
    return bm25(counts, e.rarity, lengths, e.mean_length * 4, k1=1.2, b=0.6)


def _session_words(e: Evidence) -> Floats:
    """BM25 of whole sessions."""
    mean = float(e.session_lengths.mean()) if len(e.session_lengths) else 1.0
    return bm25(e.session_counts, e.session_rarity, e.session_lengths, mean, k1=1.2, b=0.75)


def _dense_parts(e: Evidence) -> dict[str, Floats]:
    parts = {}
    if e.similarity is not None:
        parts["dense"] = z(e.similarity)
        parts["dense_neighbours"] = z(
            from_neighbours(e.similarity - e.similarity.mean(), e.joined, (0.5, 0.25))
        )
    if e.summary_similarity is not None:
        parts["summary_dense"] = z(e.summary_similarity)[e.of_session.astype(int)]
    return parts


def _sessions(e: Evidence, turns: Floats) -> Floats:
    """A session is as good as its best turn, and a little better for its summary and its words as a whole."""
    import numpy as np

    best = np.full(len(e.session_lengths), -np.inf, turns.dtype)
    np.maximum.at(best, e.of_session.astype(int), turns)
    best = np.where(np.isfinite(best), best, turns.min() if len(turns) else 0.0)
    return best + 0.3 * z(_session_words(e))
