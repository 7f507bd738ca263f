"""Finds what matters now: from questions to a ``Recollection``.

    questions -> references resolved -> gate -> words, vectors, times -> pool -> ranking -> gate -> what is
    handed over

Everything that is stored comes through three protocols, so that each may be missing: without vectors it is
found by words, without words by vectors, and the recollection says which part was missing. Nothing here
writes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol

import errors
from recall import deliver, gate, keys, pool, ranking, references, scores, times, words
from recall.recollection import RecalledSummary, RecalledTurn, Recollection, Why
from recall.register import Placed, Register

if TYPE_CHECKING:
    import numpy as np

    from embedder import Vector
    from recall.scores import Floats
    from storage.lexicon import Postings, Size
    from storage.records import Kind, Summary, Turn
    from storage.schema import Shelf

Missing = Literal["embeddings", "index", "words"]
Embed = Callable[[Sequence[str]], Sequence["Vector | None"]]

#: Terms in more rows than this are left out of the first look; they say too little to be worth reading.
_CAP = 20_000
#: How many vectors are asked for, for turns and for summaries.
_NEAR_TURNS, _NEAR_SUMMARIES = 300, 50


class WordIndex(Protocol):
    """``storage.lexicon.Lexicon``, or anything like it."""

    def postings(self, shelf: Shelf, terms: Sequence[str], cap: int) -> Mapping[str, Postings]: ...
    def size(self, shelf: Shelf) -> Size: ...


class Near(Protocol):
    """One hit of the vector index."""

    @property
    def text_id(self) -> str: ...
    @property
    def similarity(self) -> float: ...


class VectorIndex(Protocol):
    """``storage.vectors.Vectors``, or anything like it."""

    @property
    def state(self) -> str: ...
    def search(self, vector: Vector, *, kind: Kind, exclude_session: str, limit: int) -> Sequence[Near]: ...


class Archive(Protocol):
    """``storage.places.Places``, or anything like it."""

    def after(self, seq: int) -> Sequence[Placed]: ...
    def turns(self, seqs: Sequence[int]) -> Sequence[Turn]: ...
    def seqs_of(self, text_ids: Sequence[str]) -> Mapping[str, int]: ...
    def session_number(self, session_id: str) -> int | None: ...
    def summaries(self, sessions: Sequence[int]) -> Mapping[int, Summary]: ...
    def sessions_of_summaries(
        self, *, seqs: Sequence[int] = (), text_ids: Sequence[str] = ()
    ) -> Mapping[int | str, int]: ...


@dataclass(frozen=True)
class _Question:
    """One query as it is searched for."""

    asked: str
    resolved: str
    terms: tuple[str, ...]
    windows: tuple[times.Window, ...]
    vector: Vector | None


@dataclass(frozen=True)
class _Result:
    """What one question found: its pool, the scores in it, and the sessions behind the scores."""

    question: _Question
    pool: pool.Pool
    ranked: ranking.Ranked
    sessions: Sequence[int]
    terms: tuple[str, ...]
    relevant: bool


class Finder:
    """Recall over one archive. Safe to call from several threads.

    >>> finder.recall(["Where did we go last May?"], embedder.embed, session_id=now_open, now=clock())
    Recollection(summaries=(...), turns=(...), ...)
    """

    def __init__(
        self, lexicon: WordIndex, vectors: VectorIndex | None, archive: Archive, log: logging.Logger
    ) -> None:
        self._lexicon = lexicon
        self._vectors = vectors
        self._archive = archive
        self._log = log
        self._register: Register | None = None
        self._lock = Lock()

    def recall(
        self,
        queries: Sequence[str],
        embed: Embed | None,
        *,
        session_id: str,
        now: datetime,
        session_num: int = 3,
        conv_num: int = 6,
        budget_tokens: int = 4000,
        recent: Sequence[str] = (),
        gated: bool = True,
    ) -> Recollection:
        """The memories that belong to ``queries``: the last round first, if there is one, the new input last.

        ``embed`` turns texts into vectors and is called once for all queries; None where there is no
        embedder. ``recent`` are the messages before the input, oldest first, for what "she" and "it" mean.
        With ``gated`` false the best are handed over however weak they are. An empty recollection is a good
        answer.
        """
        asked = [query for query in queries if query.strip()]
        if not asked or (gated and not gate.needs_memory(asked[-1])):
            return Recollection(queries=tuple(queries))
        missing: list[Missing] = []
        resolved = [references.resolve(query, recent) for query in asked]
        vectors = self._embedded(resolved, embed, missing)
        register = self._known()
        hidden = self._archive.session_number(session_id)
        results = [
            self._search(_question(*each, now), register, hidden, session_id, missing)
            for each in zip(asked, resolved, vectors, strict=True)
        ]
        kept = [result for result in results if result.relevant or not gated]
        return self._handed_over(
            kept, register, tuple(queries), tuple(resolved), missing, session_num, conv_num, budget_tokens
        )

    def _known(self) -> Register:
        """The register, with what was stored since the last question."""
        with self._lock:
            register = self._register = self._register or Register()
            register.extend(self._archive.after(register.last_seq))
            return register

    def _embedded(
        self, texts: Sequence[str], embed: Embed | None, missing: list[Missing]
    ) -> list[Vector | None]:
        if embed is None:
            missing.append("embeddings")
        elif self._vectors is None or self._vectors.state not in ("ready", "empty"):
            missing.append("index")
        else:
            try:
                return list(embed([keys.query_key(text) for text in texts]))
            except errors.EmbeddingError:
                self._log.exception("recall goes on by words")
                missing.append("embeddings")
        return [None] * len(texts)

    def _search(
        self,
        question: _Question,
        register: Register,
        hidden: int | None,
        session_id: str,
        missing: list[Missing],
    ) -> _Result:
        found = pool.found(
            register, self._postings("turn", question, missing), self._near(question, session_id, missing)
        )
        rarity = _rarity(found, len(register))
        gathered = pool.gather(register, found, rarity, hidden)
        sessions, evidence = self._evidence(question, register, found, gathered, rarity, session_id, missing)
        ranked = ranking.rank(evidence, ranking.Weights())
        relevant = gate.is_relevant(_coverage(evidence), _standing_out(evidence.similarity))
        return _Result(question, gathered, ranked, sessions, found.terms, relevant)

    def _postings(self, shelf: Shelf, question: _Question, missing: list[Missing]) -> Mapping[str, Postings]:
        try:
            return self._lexicon.postings(shelf, question.terms, _CAP)
        except errors.StorageError:
            self._log.exception("the index of words failed")
            _note(missing, "words")
            return {}

    def _near(self, question: _Question, session_id: str, missing: list[Missing]) -> dict[int, float]:
        """Similarity of turns by number."""
        hits = self._nearest(question, "conversation", session_id, _NEAR_TURNS, missing)
        seqs = self._archive.seqs_of(list(hits))
        return {seqs[text_id]: similarity for text_id, similarity in hits.items() if text_id in seqs}

    def _nearest(
        self, question: _Question, kind: Kind, session_id: str, limit: int, missing: list[Missing]
    ) -> dict[str, float]:
        if question.vector is None or self._vectors is None:
            return {}
        try:
            hits = self._vectors.search(question.vector, kind=kind, exclude_session=session_id, limit=limit)
        except (errors.StorageError, errors.EmbeddingError):
            self._log.exception("the index of vectors failed")
            _note(missing, "index")
            return {}
        return {hit.text_id: hit.similarity for hit in hits}

    def _evidence(
        self,
        question: _Question,
        register: Register,
        found: pool.Found,
        gathered: pool.Pool,
        rarity: Floats,
        session_id: str,
        missing: list[Missing],
    ) -> tuple[list[int], ranking.Evidence]:
        import numpy as np

        sessions, of_session = np.unique(register.session[gathered.rows], return_inverse=True)
        counts, lengths = _by_session(register, found, sessions)
        held = np.array([len(np.unique(register.session[rows])) for rows in found.rows], np.float32)
        everything = int(register.session[-1]) if len(register) else 0
        day = register.day[gathered.rows]
        return list(map(int, sessions)), ranking.Evidence(
            counts=gathered.counts,
            rarity=rarity,
            lengths=register.length[gathered.rows].astype(np.float32),
            mean_length=register.tokens / max(len(register), 1),
            joined=gathered.joined,
            by_user=register.by_user[gathered.rows],
            of_session=of_session.astype(np.float32),
            session_counts=counts,
            session_lengths=lengths,
            session_rarity=scores.rarity(held, everything),
            similarity=gathered.similarity,
            summary_words=self._summary_words(question, sessions, missing),
            summary_similarity=self._summary_similarity(question, sessions, session_id, missing),
            nearness=_nearness(question, day) if question.windows else None,
        )

    def _summary_words(
        self, question: _Question, sessions: np.ndarray, missing: list[Missing]
    ) -> Floats | None:
        """BM25 of each session's summary."""
        import numpy as np

        postings = self._postings("summary", question, missing)
        if not postings:
            return None
        size = self._lexicon.size("summary")
        seqs = np.unique(np.concatenate([posting.seqs for posting in postings.values()]))
        session_of = self._archive.sessions_of_summaries(seqs=[int(seq) for seq in seqs])
        place = {int(session): at for at, session in enumerate(sessions)}
        scored = np.zeros(len(sessions), np.float32)
        for posting in postings.values():
            rare = float(np.log1p((size.rows - len(posting.seqs) + 0.5) / (len(posting.seqs) + 0.5)))
            for seq, count in zip(posting.seqs, posting.counts, strict=True):
                at = place.get(session_of.get(int(seq), -1))
                if at is not None:
                    scored[at] += rare * count / (count + 1.2)
        return scored

    def _summary_similarity(
        self, question: _Question, sessions: np.ndarray, session_id: str, missing: list[Missing]
    ) -> Floats | None:
        import numpy as np

        hits = self._nearest(question, "summary", session_id, _NEAR_SUMMARIES, missing)
        if not hits:
            return None
        session_of = self._archive.sessions_of_summaries(text_ids=list(hits))
        similarity = {session_of[text_id]: hits[text_id] for text_id in hits if text_id in session_of}
        least = min(hits.values())
        return np.array([similarity.get(int(session), least) for session in sessions], np.float32)

    def _handed_over(
        self,
        results: Sequence[_Result],
        register: Register,
        queries: tuple[str, ...],
        resolved: tuple[str, ...],
        missing: Sequence[Missing],
        session_num: int,
        conv_num: int,
        budget: int,
    ) -> Recollection:
        best = _best_rows(results)[:conv_num]
        turns = self._turns(best, register, budget)
        return Recollection(
            summaries=self._summaries(results, session_num),
            turns=turns,
            ranked=tuple(
                turn.text_id for turn in sorted((t for t in turns if t.hit), key=lambda t: -t.why.score)
            ),
            queries=queries,
            resolved=resolved,
            degraded=tuple(missing),
        )

    def _turns(self, best: Sequence[_Hit], register: Register, budget: int) -> tuple[RecalledTurn, ...]:
        around = {hit.row: _neighbours(register, hit.row) for hit in best}
        rows = sorted({hit.row for hit in best} | {row for near in around.values() for row in near})
        read = {turn.seq: turn for turn in self._archive.turns([int(register.seq[row]) for row in rows])}
        texts = {row: read[int(register.seq[row])] for row in rows if int(register.seq[row]) in read}
        cost = {row: deliver.estimate_tokens(turn.text) for row, turn in texts.items()}
        ranked = [hit.row for hit in best if hit.row in texts]
        why = {hit.row: hit.why for hit in best}
        weak = Why(query="", score=0.0)
        return tuple(
            _recalled(texts[passage.row], passage.hit, why.get(passage.row, weak) if passage.hit else weak)
            for passage in deliver.choose(ranked, around, cost, budget)
        )

    def _summaries(self, results: Sequence[_Result], count: int) -> tuple[RecalledSummary, ...]:
        scored: dict[int, tuple[float, str]] = {}
        for result in results:
            for session, score in zip(result.sessions, result.ranked.sessions, strict=True):
                if session not in scored or scored[session][0] < float(score):
                    scored[session] = (float(score), result.question.asked)
        order = sorted(scored, key=lambda session: -scored[session][0])[: count * 4]
        texts = self._archive.summaries(order)
        return tuple(
            RecalledSummary(
                m.text_id, m.session_id, m.timestamp, m.summary, Why(scored[s][1], round(scored[s][0], 4))
            )
            for s in order
            if (m := texts.get(s))
        )[:count]


@dataclass(frozen=True)
class _Hit:
    row: int
    why: Why


def _best_rows(results: Sequence[_Result]) -> list[_Hit]:
    """The turns of all questions, best first; each counts with the question that found it best."""
    best: dict[int, tuple[float, int, int]] = {}
    for number, result in enumerate(results):
        for at, (row, score) in enumerate(
            zip(result.pool.rows.tolist(), result.ranked.turns.tolist(), strict=True)
        ):
            if row not in best or best[row][0] < score:
                best[row] = (score, number, at)
    order = sorted(best, key=lambda row: (-best[row][0], row))[:200]
    return [_Hit(row, _why(results[best[row][1]], best[row][2], best[row][0])) for row in order]


def _why(result: _Result, at: int, score: float) -> Why:
    shared = tuple(term for term, count in zip(result.terms, result.pool.counts[:, at], strict=True) if count)
    parts = tuple((name, round(float(part[at]), 4)) for name, part in result.ranked.parts.items())
    return Why(result.question.asked, round(score, 4), shared, parts)


def _question(asked: str, resolved: str, vector: Vector | None, now: datetime) -> _Question:
    return _Question(asked, resolved, words.terms(resolved), times.windows(asked, now.date()), vector)


def _recalled(turn: Turn, hit: bool, why: Why) -> RecalledTurn:
    return RecalledTurn(turn.text_id, turn.session_id, turn.timestamp, turn.role, turn.text, hit, why)


def _neighbours(register: Register, row: int) -> list[int]:
    near = [row + 1, row - 1]
    return [at for at in near if 0 <= at < len(register) and register.session[at] == register.session[row]]


def _rarity(found: pool.Found, total: int) -> Floats:
    import numpy as np

    return scores.rarity(np.array([len(rows) for rows in found.rows], np.float32), total)


def _by_session(register: Register, found: pool.Found, sessions: np.ndarray) -> tuple[Floats, Floats]:
    """(T, S) counts of each term and (S,) lengths of whole sessions."""
    import numpy as np

    counts = np.zeros((len(found.rows), len(sessions)), np.float32)
    for term, (rows, often) in enumerate(zip(found.rows, found.counts, strict=True)):
        at = np.searchsorted(sessions, register.session[rows])
        known = at < len(sessions)
        known[known] = sessions[at[known]] == register.session[rows][known]
        counts[term] = np.bincount(at[known], often[known], minlength=len(sessions))
    total = np.bincount(register.session, register.length) if len(register) else np.zeros(1)
    return counts, total[sessions].astype(np.float32)


def _nearness(question: _Question, days: np.ndarray) -> Floats:
    from datetime import date

    import numpy as np

    distinct, place = np.unique(days, return_inverse=True)
    known = [date.fromordinal(int(day)) if day else date.min for day in distinct]
    return np.array(list(times.nearest(question.windows, known)), np.float32)[place]


def _coverage(evidence: ranking.Evidence) -> float:
    """The greatest share of the question's weight in words that one turn, read with its neighbours, holds."""
    if not len(evidence.rarity) or not evidence.counts.size:
        return 0.0
    held = (evidence.counts > 0).astype(evidence.counts.dtype)
    share = (evidence.rarity[:, None] * held).sum(axis=0) / evidence.rarity.sum()
    return float(share.max())


def _standing_out(similarity: Floats | None) -> float | None:
    if similarity is None or not len(similarity):
        return None
    return float(scores.z(similarity).max())


def _note(missing: list[Missing], part: Missing) -> None:
    if part not in missing:
        missing.append(part)
