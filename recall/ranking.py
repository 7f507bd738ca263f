"""The order of memories for one question: evidence in, scores out. No store, no clock, no text.

The score of a message is a weighted sum of parts. Those that come on a scale of their own are turned into standard
scores over the pool first (z-scores; adding them beats reciprocal-rank fusion, Bruch et al. 2023,
https://arxiv.org/abs/2210.11934), so that words and vectors weigh what they should. docs/recall.md has the formula of
each part, bench/recall_notes.md what each is worth and what was removed.

Shapes: T terms, P messages in a pool, S sessions. ``counts`` is (T, P): how often each term is in each message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from operator import mul
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

ScoreParts = Mapping[str, Floats]

#: The parts that are about what is around a message.
_AROUND = ("window", "session_best", "summary", "dense_near", "dense_session", "dense_session_best")
#: So much correlation of neighbouring messages is chance; so much more, and they are wholly alike.
_BY_CHANCE, _AKIN = 0.07, 0.1
#: Of fewer messages the correlation is unknown.
_FEW_TO_COMPARE = 24
#: The newest sessions, about so many, are hardly distinguished by their age.
_LATELY = 8.0
#: What a message gets from the one or two before it, and from those after it: an answer follows what it answers.
_FROM_EARLIER, _FROM_LATER = (0.7, 0.25), (0.4, 0.1)
#: Mean words a message at which a history is wholly of one kind.
_TALK, _WORK, _LONG = math.log(20), math.log(70), math.log(200)


@dataclass(frozen=True)
class Evidence:
    """All that is known about the P messages of a pool, in S sessions, for one question of T terms.

    ``seqs`` (P,) are the numbers of the messages, ``of_session`` (P,) the place of each among the sessions,
    ``position`` (P,) its place in its session. ``near`` (a time that the question speaks of), ``meant`` (its speaker is
    whom the question names) and ``asks`` (it is a question) are between 0 and 1.
    ``later`` (S,) is how many sessions followed each. ``share`` (T,) is the rarity as a share of the sum over all terms
    of the question. ``mean_length`` is in tokens, ``word_length`` in words of any language. ``clarity``, 0 to 1, is how
    far the embedder distinguishes texts, and ``nearest`` by how much the three nearest messages are more like the
    question than unrelated sentences are, as a cosine. Parts that are missing are None.
    """

    seqs: Numbers
    counts: Floats
    rarity: Floats
    share: Floats
    lengths: Floats
    mean_length: float
    joined: Flags
    of_session: Numbers
    position: Floats
    by_user: Floats
    by_assistant: Floats
    near: Floats
    meant: Floats
    asks: Floats
    later: Floats
    word_length: float
    remark: bool
    goes_on: bool = False
    clarity: float = 1.0
    learned: bool = True
    nearest: float = 0.0
    similarity: Floats | None = None
    summary_words: Floats | None = None
    summary_similarity: Floats | None = None
    fact_words: Floats | None = None


@dataclass(frozen=True)
class Ranked:
    """Scores (P,) of the messages, (S,) of the sessions, and what each part gave each message.

    The score of a message is how far it is above the mean of its pool, as it would be if the person had said half of
    it: in a history without replies, that the person said something does not tell messages apart, and still counts.
    """

    messages: Floats
    sessions: Floats
    parts: ScoreParts


def rank(evidence: Evidence) -> Ranked:
    """Score every message of the pool, and every session in it."""
    weights = weights_for(evidence)
    parts = score_parts(evidence, weights)
    weighted = {name: weights[name] * part for name, part in parts.items() if name in weights}
    scores: Floats = sum(weighted.values(), np.zeros(len(evidence.lengths), np.float32))
    if len(scores):
        by_one = evidence.by_user - evidence.by_assistant
        scores = scores - (scores - np.float32(weights.get("by_user", 0.0) / 2) * by_one).mean()
    # A session is as good as its best message, and better for its summary.
    sessions = z(_best_of_sessions(scores, evidence.of_session, len(evidence.later)))
    for summary in (evidence.summary_words, evidence.summary_similarity):
        if summary is not None:
            sessions = sessions + 0.2 * z(summary)
    return Ranked(scores, sessions, weighted)


def level(ranked: Ranked) -> Ranked:
    """The scores of one of several questions, scaled so that each question's best is equally far above its mean."""
    best = float(ranked.messages.max(initial=0.0))
    return replace(ranked, messages=ranked.messages / best, sessions=ranked.sessions / best) if best > 0.0 else ranked


def score_parts(e: Evidence, wanted: Collection[str] | None = None) -> dict[str, Floats]:
    """Every part, unweighted; with ``wanted`` those at least.

    What is around a message counts as far as neighbouring messages are alike for this question (``cohesion``); where
    they are not, the message counts alone (``words_apart``, ``dense_apart``). Vectors count as far as they are
    clear: an embedder finds a language it does not speak all alike. For a remark they weigh more than words do, so
    there they fade sooner.
    """

    def make(parts: Mapping[str, Callable[[], Floats]]) -> dict[str, Floats]:
        return {n: one() for n, one in parts.items() if wanted is None or n in wanted or f"{n}_apart" in wanted}

    of_session, sessions = e.of_session, len(e.later)
    words = bm25(e.counts, e.rarity, e.lengths, e.mean_length, k1=1.2, b=0.6)
    parts: dict[str, Callable[[], Floats]] = {
        "words": lambda: words,
        "coverage": lambda: (e.share[:, None] * (e.counts > 0)).sum(axis=0),
        "window": lambda: _score_window(e),
        "session_best": lambda: _best_of_sessions(words, of_session, sessions)[of_session],
    }
    if (summary := e.summary_words) is not None:
        parts["summary"] = lambda: summary[of_session]
    if (facts := e.fact_words) is not None:
        parts["facts"] = lambda: facts
    if (dense := e.similarity) is not None:
        parts |= {
            "dense": lambda: dense,
            "dense_near": lambda: from_neighbours(dense - dense.mean(), e.joined, _FROM_EARLIER, _FROM_LATER),
            "dense_session": lambda: _mean_of_sessions(dense, of_session, sessions)[of_session],
            "dense_session_best": lambda: _best_of_sessions(dense, of_session, sessions)[of_session],
        }
    found = make(parts)
    found = dict(zip(found, z(np.stack(list(found.values()))), strict=True)) if found else {}
    apart = [name for name in ("words", "dense") if name in parts and (wanted is None or f"{name}_apart" in wanted)]
    around = np.float32(1)
    if apart or not found.keys().isdisjoint(_AROUND):
        around = np.float32(cohesion(words, e.similarity, e.joined))
    clear = np.float32(e.clarity**2 if e.remark else e.clarity)
    for name in found:
        found[name] *= (clear if name.startswith("dense") else 1) * (around if name in _AROUND else 1)
    found |= {f"{name}_apart": found[name] * (1 - around) for name in apart}
    newer = np.float32(e.goes_on)
    return found | make({
        "near": lambda: e.near,
        "meant": lambda: e.meant,
        "asks": lambda: e.asks,
        "by_user": lambda: e.by_user,
        "length": lambda: np.log1p(e.lengths),
        "length_own": lambda: _relative_length(e),
        "opening": lambda: (e.position == 0).astype(np.float32),
        "newer": lambda: -np.log(_LATELY + e.later)[of_session].astype(np.float32) * newer,
    })  # fmt: skip


def _score_window(e: Evidence) -> Floats:
    """BM25 of each message read as one text with the two messages on each side."""
    counts = e.counts + from_neighbours(e.counts, e.joined, (1.0, 1.0))
    lengths = e.lengths + from_neighbours(e.lengths, e.joined, (1.0, 1.0))
    mean = float(lengths.mean()) if len(lengths) else 1.0
    return bm25(counts, e.rarity, lengths, mean, k1=2.0, b=1.0)


def _relative_length(e: Evidence) -> Floats:
    """How much longer a message is than others of its speaker: a companion that talks more knows no more."""
    lengths: Floats = np.log1p(e.lengths)
    relative = lengths.copy()
    speaker = e.by_user + 2 * e.by_assistant
    for one in (0, 1, 2):
        own = speaker == one
        if own.any():
            relative[own] -= lengths[own].mean()
    return relative


# -- weights -----------------------------------------------------------------------------------------------


#: Kinds of conversation, read from the data: ``talk`` (short messages, and a question), ``remark`` (short messages,
#: and something said that asks nothing), ``work`` (replies of a paragraph or two) and ``long`` (replies of a page).
TalkKind = Literal["talk", "remark", "work", "long"]
KINDS: tuple[TalkKind, ...] = ("talk", "remark", "work", "long")
#: What each part counts in each of the ``KINDS``. bench/recall_notes.md has what the numbers were fitted on.
WeightTable = Mapping[str, tuple[float, float, float, float]]

# fmt: off
#: For words and a model that has learnt what texts mean.
BY_MEANING: WeightTable = {
    "words":              ( 0.09,  0.36,  0.00,  0.35),
    "coverage":           ( 0.11,  0.00,  0.00,  0.17),
    "window":             ( 0.44,  0.00,  0.00,  0.00),
    "session_best":       ( 0.34,  0.00,  0.67,  0.30),
    "summary":            ( 0.00,  0.00,  0.00,  0.24),
    "facts":              ( 0.25,  0.25,  0.70,  0.60),
    "dense":              ( 0.26,  0.86,  0.00,  0.00),
    "dense_apart":        ( 0.81,  0.00,  0.00,  0.00),
    "dense_near":         ( 0.38,  0.00,  0.00,  0.00),
    "dense_session":      ( 0.00,  0.00,  1.11,  0.31),
    "dense_session_best": ( 0.31,  0.00,  0.00,  0.00),
    "near":               ( 2.60,  0.00,  0.00,  0.00),
    "meant":              ( 1.27,  0.00,  0.00,  0.00),
    "asks":               (-1.52,  0.00,  0.00, -0.26),
    "by_user":            ( 0.00,  1.20,  0.00,  0.64),
    "length":             ( 0.50,  0.00,  0.00, -0.43),
    "length_own":         ( 0.70, -0.45,  0.00,  0.00),
    "opening":            ( 0.00,  0.00,  3.89,  1.27),
    "newer":              ( 0.00,  0.00,  1.09,  0.00),
}
#: For words alone, and for words with vectors of hashed words.
BY_WORDS: WeightTable = {
    "words":              ( 0.00,  0.45,  0.00,  0.15),
    "words_apart":        ( 0.55,  0.00,  0.00,  0.00),
    "coverage":           ( 0.20,  0.00,  0.05,  0.21),
    "window":             ( 0.38,  0.00,  0.00,  0.00),
    "session_best":       ( 0.27,  0.00,  0.93,  0.31),
    "summary":            ( 0.48,  0.00,  0.30,  0.19),
    "facts":              ( 0.25,  0.25,  0.70,  0.60),
    "dense":              ( 0.29,  0.21,  0.00,  0.14),
    "dense_near":         ( 0.36,  0.00,  0.00,  0.11),
    "dense_session_best": ( 0.00,  0.00,  0.00,  0.44),
    "near":               ( 3.64,  0.00,  0.00,  0.00),
    "meant":              ( 0.47,  0.00,  0.00,  0.00),
    "asks":               (-0.33,  0.00,  0.00, -0.08),
    "by_user":            ( 0.40,  0.00,  0.38,  0.16),
    "length":             ( 0.00,  0.00,  0.23, -0.43),
    "length_own":         ( 1.02, -0.49,  0.00,  0.00),
    "opening":            ( 0.02,  0.00,  2.55,  0.89),
    "newer":              ( 0.00,  0.00,  0.60,  0.00),
}
# fmt: on
#: The models whose vectors are hashed words: they repeat what the words say, and less.
HASHED_MODELS = ("built-in-1",)


def has_learnt(model: str) -> bool:
    """Whether the vectors of a model are of meanings it learnt, and not of hashed words."""
    return model not in HASHED_MODELS


def weights_for(evidence: Evidence) -> dict[str, float]:
    """The weight of each part for this question in this history; between two kinds it lies between theirs."""
    table = BY_MEANING if evidence.learned and evidence.similarity is not None else BY_WORDS
    kinds = kinds_of(evidence.word_length, remark=evidence.remark)
    shares = [kinds.get(kind, 0.0) for kind in KINDS]
    weights = {name: sum(map(mul, shares, row)) for name, row in table.items()}
    return {name: weight for name, weight in weights.items() if weight}


def kinds_of(word_length: float, *, remark: bool) -> dict[TalkKind, float]:
    """How far a history is of each kind, by the mean number of words in its messages; the shares sum to 1."""
    short: TalkKind = "remark" if remark else "talk"
    length = math.log(max(word_length, 1.0))
    if length <= _TALK:
        return {short: 1.0}
    if length <= _WORK:
        work = (length - _TALK) / (_WORK - _TALK)
        return {short: 1.0 - work, "work": work}
    long = min(1.0, (length - _WORK) / (_LONG - _WORK))
    return {"work": 1.0 - long, "long": long}


# -- arithmetic ----------------------------------------------------------------------------------------------


def rarity(holding: Floats, total: int) -> Floats:
    """Idf of Robertson and Spärck Jones, kept positive as Lucene does: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    weights: Floats = np.log1p((total - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return weights


def bm25(counts: Floats, weights: Floats, lengths: Floats, mean_length: float, *, k1: float, b: float) -> Floats:
    """BM25 (Robertson and Zaragoza 2009), the sum over terms of idf * tf * (k1 + 1) / (tf + k1 * norm)."""
    norm = k1 * (1.0 - b + b * lengths / max(mean_length, 1.0))
    # A turn without a single token has length 0, which b = 1 turns into 0 / 0.
    saturated = counts * (k1 + 1.0) / np.maximum(counts + norm[None, :], 1e-9)
    scored: Floats = (weights[:, None] * saturated).sum(axis=0)
    return scored


def from_neighbours(
    scores: Floats, joined: Flags, earlier: tuple[float, ...], later: tuple[float, ...] | None = None
) -> Floats:
    """What the turns around each turn lend it: ``earlier[d - 1]`` times the score of the one ``d`` before it.

    ``later`` is the same for those after it, and as long; without it they lend as much. ``scores`` are (P,) or (T, P);
    ``joined[i]`` says that turn i + 1 follows turn i in one session.
    """
    size = scores.shape[-1]
    lent = np.zeros_like(scores)
    chain = np.ones(size, np.bool_)
    for distance, (before, after) in enumerate(zip(earlier, later or earlier, strict=True), 1):
        if distance >= size:
            break
        chain = chain[: size - distance] & joined[distance - 1 :]
        lent[..., :-distance] += scores[..., distance:] * (after * chain).astype(scores.dtype)
        lent[..., distance:] += scores[..., :-distance] * (before * chain).astype(scores.dtype)
    return lent


def z(scores: Floats) -> Floats:
    """Standard scores over the pool, of (P,) or of each row of (K, P); all zero where nothing differs."""
    if not scores.size:
        return scores
    mean = scores.mean(axis=-1, keepdims=True)
    apart: Floats = scores - mean
    spread = np.sqrt((apart * apart).mean(axis=-1, keepdims=True))
    differs = np.isfinite(spread) & (spread >= 1e-9 + 1e-5 * np.abs(mean))
    standard: Floats = np.divide(apart, spread, out=np.zeros_like(apart), where=differs)
    return standard


def _best_of_sessions(scores: Floats, of_session: Numbers, sessions: int) -> Floats:
    """(S,) the greatest score of each session's messages in the pool; the least of all for one without."""
    best = np.full(sessions, scores.min() if len(scores) else 0.0, np.float32)
    np.maximum.at(best, of_session, scores.astype(np.float32))
    return best


def _mean_of_sessions(scores: Floats, of_session: Numbers, sessions: int) -> Floats:
    """(S,) the mean score of each session's messages in the pool; the least of all for one without."""
    least = float(scores.min()) if len(scores) else 0.0
    present = np.bincount(of_session, minlength=sessions)
    total = np.bincount(of_session, scores, minlength=sessions)
    mean: Floats = np.where(present > 0, total / np.maximum(present, 1), least).astype(np.float32)
    return mean


def cohesion(words: Floats, similarity: Floats | None, joined: Flags) -> float:
    """How far turns that stand together are alike for one question, 0 to 1.

    The correlation of a turn's score with that of a turn soon after it: 0.2 and more in talk that stays with something,
    0 where turns follow each other by chance. Vectors are compared from the third turn on, since the text of a vector
    may hold the two before it.
    """
    if len(words) < _FEW_TO_COMPARE:
        return 1.0
    found = [_correlation(words, joined, distance) for distance in (1, 2)]
    if similarity is not None:
        found += [_correlation(similarity, joined, distance) for distance in (3, 4)]
    return min(1.0, max(0.0, (max(found) - _BY_CHANCE) / _AKIN))


def _correlation(scores: Floats, joined: Flags, distance: int) -> float:
    """The correlation of scores with those so many turns later in the same session."""
    together = joined[: len(scores) - distance].copy()
    for step in range(1, distance):
        together &= joined[step : len(scores) - distance + step]
    apart = scores - scores.mean()
    spread = float((apart * apart).mean())
    if spread < 1e-12 or not together.any():
        return 0.0
    return float((apart[:-distance] * apart[distance:])[together].mean()) / spread


def clarity(similarity: Floats) -> float:
    """How far an embedder tells the texts of a history apart for one question, 0 to 1.

    One that does not speak the language finds all of them alike: the best stands out from the mean by less
    than a third of itself there, and by more than half otherwise.
    """
    if not len(similarity):
        return 0.0
    best = max(float(similarity.max()), 1e-6)
    return min(1.0, max(0.0, ((best - float(similarity.mean())) / best - 0.25) / 0.2))
