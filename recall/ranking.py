"""The order of memories for one question: evidence in, scores out. No store, no clock, no text.

The score of a turn is a weighted sum of parts. Those that come on a scale of their own are turned into
standard scores over the pool first (z-scores; adding them beats reciprocal-rank fusion, Bruch et al. 2023,
https://arxiv.org/abs/2210.11934), so that words and vectors weigh what they should. docs/recall.md has the
formula, where each part comes from, and what it is worth.

Shapes: T terms, P turns in a pool, S sessions. ``counts`` is (T, P): how often each term stands in each turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from recall.weights import (
    HASHED_MODEL,
    SENTENCE_MODEL,
    WITH_HASHED,
    WITH_SENTENCES,
    WITH_VECTORS,
    WORDS_ALONE,
    TalkKind,
    Weights,
    WeightTable,
)

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

#: The parts that say something of what stands around a turn.
_AROUND = frozenset(
    (
        "window", "session", "session_best", "summary",
        "dense_near", "dense_answering", "dense_session", "dense_session_best",
    )
)  # fmt: skip
#: So much correlation of turns that follow each other is chance; so much more, and they are wholly akin.
_BY_CHANCE, _AKIN = 0.07, 0.1
#: In fewer turns nothing can be said of it.
_FEW_TO_COMPARE = 24
#: The newest sessions, about so many, are hardly told apart by their age.
_LATELY = 8.0
#: What neighbours one and two turns away lend to a turn; and the same of those before it, and of those after it, where
#: an answer follows what it answers.
_LENT, _LENT_BY_EARLIER, _LENT_BY_LATER = (0.5, 0.25), (0.7, 0.25), (0.4, 0.1)


@dataclass(frozen=True)
class Evidence:
    """All that is known about the P turns of a pool, in S sessions, for one question of T terms.

    ``of_session`` (P,) is each turn's place among the sessions, ``position`` (P,) its place in its session.
    ``seqs`` (P,) are the numbers of the turns. ScoreParts that are missing are None. What a turn is, is 0 or 1;
    ``near`` (a time that the question speaks of) may lie between; ``meant``: spoken by somebody whom it
    names. ``later`` (S,) is how many sessions were told after each. ``apart``: by how much the nearest turn is more
    like the question than unrelated sentences are, as a cosine.
    ``share`` (T,) is the rarity as a share of the sum, over all terms of the question, also those
    that nobody used. ``mean_length`` is in tokens; ``word_length`` is the same in words, whatever the
    language. ``clarity``, 0 to 1: how far the embedder tells texts apart.
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
    session_counts: Floats
    session_rarity: Floats
    session_lengths: Floats
    by_user: Floats
    by_assistant: Floats
    asks: Floats
    has_time: Floats
    has_number: Floats
    near: Floats
    meant: Floats
    later: Floats
    word_length: float
    remark: bool
    asks_when: bool
    asks_how_many: bool
    you_said: bool
    goes_on: bool = False
    clarity: float = 1.0
    apart: float = 0.0
    similarity: Floats | None = None
    summary_words: Floats | None = None
    summary_similarity: Floats | None = None
    fact_words: Floats | None = None
    fact_named: Floats | None = None


ScoreParts = Mapping[str, Floats]
#: Chooses the weight of each part by what is known of the situation.
Weigh = Callable[[Evidence, ScoreParts], Weights]


@dataclass(frozen=True)
class Ranked:
    """Scores (P,) of the turns, (S,) of the sessions, and what each part gave each turn."""

    turns: Floats
    sessions: Floats
    parts: ScoreParts


def rank(evidence: Evidence, weigh: Weigh) -> Ranked:
    """Score every turn of the pool, and every session in it."""
    found = parts(evidence)
    weights = weigh(evidence, found)
    weighted = {name: weights[name] * part for name, part in found.items() if weights.get(name)}
    turns: Floats = sum(weighted.values(), np.zeros(len(evidence.lengths), np.float32))
    return Ranked(turns, _sessions(evidence, found, turns), weighted)


def level(ranked: Ranked) -> Ranked:
    """What one of several questions found, so that its best stands as far above the rest as the best of the others."""
    turns, sessions = ranked.turns, ranked.sessions
    above = float(turns.max() - turns.mean()) if len(turns) else 0.0
    return replace(ranked, turns=turns / above, sessions=sessions / above) if above > 0.0 else ranked


def parts(e: Evidence) -> dict[str, Floats]:
    """Every part that there is, unweighted.

    What stands around a turn counts as far as turns that follow each other are of one mind about the question; where
    they are not, the turn counts by itself (``words_apart``, ``dense_apart``).
    """
    plain = bm25(e.counts, e.rarity, e.lengths, e.mean_length, k1=1.2, b=0.6)
    cohesive = np.float32(cohesion(plain, e.similarity, e.joined))
    found = _of_words(e, plain) | _of_vectors(e) | _of_kind(e)
    for name in _AROUND & found.keys():
        found[name] = found[name] * cohesive
    found["words_apart"] = found["words"] * (1 - cohesive)
    if "dense" in found:
        found["dense_apart"] = found["dense"] * (1 - cohesive)
    return found


def _of_words(e: Evidence, plain: Floats) -> dict[str, Floats]:
    long = bm25(e.counts, e.rarity, e.lengths, e.mean_length, k1=2.0, b=1.0)
    found = {
        "words": plain,
        "words_long": long,
        "window": _window(e),
        "coverage": (e.share[:, None] * (e.counts > 0)).sum(axis=0),
        "session": session_words(e)[e.of_session],
        "session_best": over_sessions(plain, e.of_session, len(e.session_lengths), "max")[e.of_session],
    }
    if e.summary_words is not None:
        found["summary"] = e.summary_words[e.of_session]
    if e.fact_words is not None:
        found["facts"] = e.fact_words
    found = _standard(found)
    if e.fact_named is not None:
        found["fact_named"] = e.fact_named
    return found


def _standard(found: Mapping[str, Floats]) -> dict[str, Floats]:
    """The standard scores of each part."""
    return dict(zip(found, z(np.stack(list(found.values()))), strict=True))


def _window(e: Evidence) -> Floats:
    """BM25 of each turn read as one text with the two turns on each side."""
    counts = e.counts + from_neighbours(e.counts, e.joined, (1.0, 1.0))
    lengths = e.lengths + from_neighbours(e.lengths, e.joined, (1.0, 1.0))
    mean = float(lengths.mean()) if len(lengths) else 1.0
    return bm25(counts, e.rarity, lengths, mean, k1=2.0, b=1.0)


def session_words(e: Evidence) -> Floats:
    """(S,) BM25 of whole sessions."""
    mean = float(e.session_lengths.mean()) if len(e.session_lengths) else 1.0
    return bm25(e.session_counts, e.session_rarity, e.session_lengths, mean, k1=1.2, b=0.75)


def _of_vectors(e: Evidence) -> dict[str, Floats]:
    """The vectors count as far as they are clear: an embedder finds a language it does not speak all alike.

    For a remark they weigh more than words do, so there they fall silent sooner.
    """
    if e.similarity is None:
        return {}
    sessions, above = len(e.session_lengths), e.similarity - e.similarity.mean()
    found = {
        "dense": e.similarity,
        "dense_near": from_neighbours(above, e.joined, _LENT),
        "dense_answering": from_neighbours(above, e.joined, _LENT_BY_EARLIER, _LENT_BY_LATER),
        "dense_session": over_sessions(e.similarity, e.of_session, sessions, "mean")[e.of_session],
        "dense_session_best": over_sessions(e.similarity, e.of_session, sessions, "max")[e.of_session],
    }
    clear = np.float32(e.clarity**2 if e.remark else e.clarity)
    return {name: part * clear for name, part in _standard(found).items()}


def _of_kind(e: Evidence) -> dict[str, Floats]:
    """What a turn is, and whether that is what the question wants."""
    return {
        "near": e.near,
        "meant": e.meant,
        "by_user": e.by_user,
        "you_said": e.by_assistant * np.float32(e.you_said),
        "length": np.log1p(e.lengths),
        "length_own": _length_own(e),
        "asks": e.asks,
        "time_wanted": e.has_time * np.float32(e.asks_when),
        "number_wanted": e.has_number * np.float32(e.asks_how_many),
        "opening": (e.position == 0).astype(np.float32),
        "early": 1.0 / (1.0 + e.position),
        "newer": -np.log(_LATELY + e.later)[e.of_session].astype(np.float32) * np.float32(e.goes_on),
    }


def _sessions(e: Evidence, found: ScoreParts, turns: Floats) -> Floats:
    """A session is as good as its best turn, and better for its words as a whole and for its summary."""
    best = over_sessions(turns, e.of_session, len(e.session_lengths), "max")
    score = z(best) + 0.3 * z(session_words(e))
    for summary in (e.summary_words, e.summary_similarity):
        if summary is not None:
            score = score + 0.2 * z(summary)
    return score


def _length_own(e: Evidence) -> Floats:
    """How much longer a turn is than the others of whoever spoke it: a companion that talks more knows no more."""
    long: Floats = np.log1p(e.lengths)
    own = long.copy()
    speaker = e.by_user + 2 * e.by_assistant
    for one in (0, 1, 2):
        mine = speaker == one
        if mine.any():
            own[mine] -= long[mine].mean()
    return own


# -- weights -----------------------------------------------------------------------------------------------


#: The weights that fit an embedder; any other is a model that has learnt.
_BY_MODEL: Mapping[str, WeightTable] = {HASHED_MODEL: WITH_HASHED, SENTENCE_MODEL: WITH_SENTENCES}
#: Mean words a turn at which a history is wholly of one kind.
_TALK, _WORK, _LONG = math.log(20), math.log(70), math.log(200)


def weigh(evidence: Evidence, parts: ScoreParts) -> Weights:
    """The weight of each part for this question in this history, with the vectors of a model that has learnt."""
    return _weights(WITH_VECTORS, evidence, parts)


def weigher(model: Callable[[], str]) -> Weigh:
    """Weights that fit the vectors of a model, of which the name is asked for when something is weighed."""

    def weighed(evidence: Evidence, parts: ScoreParts) -> Weights:
        return _weights(_BY_MODEL.get(model(), WITH_VECTORS), evidence, parts)

    return weighed


def _weights(with_vectors: WeightTable, evidence: Evidence, parts: ScoreParts) -> Weights:
    table = with_vectors if "dense" in parts else WORDS_ALONE
    return blended(table, shares(evidence.word_length, remark=evidence.remark))


def blended(table: WeightTable, kinds: Mapping[TalkKind, float]) -> dict[str, float]:
    """Weights between those of several kinds; a kind's part that is not in the table counts nothing."""
    weights: dict[str, float] = {}
    for kind, share in kinds.items():
        for name, weight in table[kind].items():
            weights[name] = weights.get(name, 0.0) + share * weight
    return weights


def shares(word_length: float, *, remark: bool) -> dict[TalkKind, float]:
    """How far a history is of each kind, by the mean number of words in its turns; the shares sum to 1."""
    short: TalkKind = "remark" if remark else "talk"
    length = math.log(max(word_length, 1.0))
    if length <= _TALK:
        return {short: 1.0}
    if length <= _WORK:
        worked = (length - _TALK) / (_WORK - _TALK)
        return {short: 1.0 - worked, "work": worked}
    paged = min(1.0, (length - _WORK) / (_LONG - _WORK))
    return {"work": 1.0 - paged, "long": paged}


# -- arithmetic ----------------------------------------------------------------------------------------------


def rarity(holding: Floats, total: int) -> Floats:
    """idf of Robertson and Spärck Jones, kept positive as Lucene does: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    weights: Floats = np.log1p((total - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return weights


def bm25(
    counts: Floats, weights: Floats, lengths: Floats, mean_length: float, *, k1: float, b: float
) -> Floats:
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


def over_sessions(scores: Floats, of_session: Numbers, sessions: int, how: Literal["max", "mean"]) -> Floats:
    """(S,) the greatest or the mean score of each session's turns in the pool; the least of all for one without."""
    least = float(scores.min()) if len(scores) else 0.0
    if how == "max":
        best = np.full(sessions, least, np.float32)
        np.maximum.at(best, of_session, scores.astype(np.float32))
        return best
    held = np.bincount(of_session, minlength=sessions)
    total = np.bincount(of_session, scores, minlength=sessions)
    mean: Floats = np.where(held > 0, total / np.maximum(held, 1), least).astype(np.float32)
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
