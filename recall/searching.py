"""One question put to every index, and what comes back made into evidence for ranking."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from domain import errors
from domain.languages import unspaced_share
from domain.recollection import MissingPart
from domain.text import own_words
from recall import embedding, ranking, turn_table, words
from recall.questions import Question
from recall.ranking import Evidence, Flags, Floats, Numbers
from recall.turn_table import FoundTurns, Pool, TurnTable

if TYPE_CHECKING:
    from domain.records import Kind
    from domain.vectors import Vector, VectorIndex
    from storage.repositories import Repositories
    from storage.sqlite.words import Postings, WordTable

#: Similarity by id.
Similarities = Mapping[str, float]

#: So many rows are read for one question of a large history; see ``Search._cap``.
_ROWS = 40_000
#: So many summaries, and facts, are looked at for what their words say.
_FITTING = 600
#: A token of an unspaced script is about so much of a word, since characters and their pairs are both counted.
_UNSPACED_WORD = 0.22
#: A question of fewer terms than this is not asked to be rarer for it.
_FEW_TERMS = 12
#: What a term counts that only tells how long ago something was.
_FAINT = 0.3
#: What a speaker counts whom a question names after another: "What did Ann tell Bob?" asks about Ann.
_NAMED_AFTER = 0.3
#: The tables of words of which is asked how many rows they have.
_SUMMED: tuple[WordTable, ...] = ("summary", "fact")
#: The number of what an index still holds and the store no longer does.
_GONE = -1
#: How many vectors are asked for; of a large history only as many turns as the pool takes.
_NEAR_TURNS, _NEAR_SUMMARIES = 300, 60


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is never found: the summary of the present session, and of the turns those with these numbers.

    Where no numbers are given, no turn of that session is found.
    """

    session_id: str
    turns: Collection[int] | None = None


@dataclass(frozen=True)
class Searched:
    """What one question found: its pool, the numbers of the sessions in it, and the evidence.

    ``facts``: by number, how much of the question's weight in rare words each fact holds, of those that hold most.
    """

    asked: Question
    pool: Pool
    sessions: Numbers
    terms: tuple[str, ...]
    evidence: Evidence
    facts: Mapping[int, float]


class Search:
    """The indexes as they stand at one moment, for the questions of one turn."""

    def __init__(
        self,
        archive: Repositories,
        vectors: VectorIndex | None,
        table: TurnTable,
        hidden: Hidden,
        log: logging.Logger,
    ) -> None:
        self.missing: list[MissingPart] = []
        self._words = archive.index.words
        self._vectors = vectors
        self._archive = archive
        self._table = table
        self._hidden = hidden
        self._present = archive.sessions.number_of(hidden.session_id)
        self._hidden_rows = self._rows_of(hidden)
        self._read: dict[WordTable, dict[str, Postings]] = {}
        self._totals = {table: self._words.rows(table) for table in _SUMMED}
        self._seqs: dict[str, int] = {}
        self._little: dict[int, bool] = {}
        self._log = log

    def _rows_of(self, hidden: Hidden) -> Flags:
        rows = np.zeros(len(self._table), np.bool_)
        if hidden.turns is not None:
            rows[self._table.rows(np.array(sorted(hidden.turns), np.int64))[0]] = True
        elif self._present is not None:
            rows |= self._table.session == self._present
        return rows

    def find(
        self,
        asked: Sequence[Question],
        vectors: Sequence[Vector | None],
        backgrounds: Sequence[Sequence[Vector]],
    ) -> Iterator[Searched]:
        """The evidence for each question. A part that fails is noted in ``missing`` and left out.

        ``backgrounds`` are vectors of sentences that have nothing to do with it. In a large history the vectors
        are searched in a thread of their own, while SQLite reads the words and what was found is ranked.
        """
        if len(self._table) <= turn_table.WHOLE or not any(vector is not None for vector in vectors):
            for each, vector, background in zip(asked, vectors, backgrounds, strict=True):
                yield self._find(each, vector, partial(self._by_vector, vector), background)
            return
        with ThreadPoolExecutor(1, "recall") as beside:
            nearest = [beside.submit(self._by_vector, vector) for vector in vectors]
            for each, vector, near, background in zip(asked, vectors, nearest, backgrounds, strict=True):
                yield self._find(each, vector, near.result, background)

    def _find(
        self,
        asked: Question,
        vector: Vector | None,
        nearest: Callable[[], tuple[Similarities, Similarities]],
        background: Sequence[Vector],
    ) -> Searched:
        table = self._table
        postings = self._postings("turn", asked.terms)
        near_turns, near_summaries = nearest()
        found = turn_table.found(table, postings, self._numbered(near_turns), self._hidden_rows)
        rarity = _weights(asked, found.terms, found.holding(), len(table))
        gathered = turn_table.gather(table, found, rarity, self._hidden_rows)
        gathered = turn_table.with_answered(gathered, self._short)
        _hush(gathered.counts, asked, found.terms)
        sessions, of_session = np.unique(table.session[gathered.rows], return_inverse=True)
        unrelated = _unrelated(vector, background)
        evidence = replace(
            self._evidence(
                asked, near_summaries, found, gathered, rarity, sessions.astype(np.int64), of_session
            ),
            clarity=_clarity(found.dense, len(table), unrelated),
            apart=_apart(found.dense, unrelated),
        )
        facts = self._facts_held(asked, asked.terms)
        return Searched(asked, gathered, sessions.astype(np.int64), found.terms, evidence, facts)

    def _evidence(
        self,
        asked: Question,
        near_summaries: Similarities,
        found: FoundTurns,
        gathered: Pool,
        rarity: Floats,
        sessions: Numbers,
        of_session: Numbers,
    ) -> Evidence:
        table, rows = self._table, gathered.rows
        counts, lengths, holding = _by_session(table, found, sessions)
        unspaced = unspaced_share(asked.text)
        labelled = table.has_mark(rows, "named")
        by_user = table.by_user[rows]
        return Evidence(
            seqs=table.seq[rows],
            counts=gathered.counts,
            rarity=rarity,
            share=rarity / max(float(rarity.sum()), 1e-9),
            lengths=table.length[rows].astype(np.float32),
            mean_length=table.mean_length,
            joined=gathered.joined,
            of_session=of_session,
            position=table.place[rows].astype(np.float32),
            session_counts=counts,
            session_rarity=_weights(asked, found.terms, holding, table.sessions, faint=0.0),
            session_lengths=lengths,
            by_user=(by_user & ~labelled).astype(np.float32),
            by_assistant=(~by_user & ~labelled).astype(np.float32),
            asks=table.has_mark(rows, "asks").astype(np.float32),
            has_time=table.has_mark(rows, "time").astype(np.float32),
            has_number=table.has_mark(rows, "number").astype(np.float32),
            near=turn_table.nearness(asked.windows, table.day[rows]),
            meant=self._meant(asked, rows),
            later=table.sessions_after(sessions),
            word_length=table.mean_length * (1.0 - unspaced + unspaced * _UNSPACED_WORD),
            remark=asked.remark,
            asks_when=asked.asks_when,
            asks_how_many=asked.asks_how_many,
            you_said=asked.you_said,
            goes_on=asked.goes_on,
            similarity=gathered.similarity,
            summary_words=self._summary_words(asked, sessions),
            summary_similarity=self._summary_similarity(near_summaries, sessions),
            fact_words=self._through_facts(self._fact_words(asked), rows),
            fact_named=self._through_facts(self._facts_held(asked, _names(asked)), rows),
        )

    # -- words -------------------------------------------------------------------------------------------

    def _cap(self, terms: int) -> int:
        """A term in more rows than this is left out: the longer the question, the rarer must be what is looked for.

        A history that is looked at whole loses nothing by it.
        """
        return turn_table.WHOLE if len(self._table) <= turn_table.WHOLE else _ROWS // max(terms, _FEW_TERMS)

    def _postings(self, table: WordTable, terms: Sequence[str]) -> Mapping[str, Postings]:
        """The turns that hold each term. What another question of this turn has read is not read again."""
        cap, read = self._cap(len(terms)), self._read.setdefault(table, {})
        try:
            if new := [term for term in terms if term not in read]:
                read.update(self._words.postings(table, new, cap))
        except errors.StorageError:
            self._fails("words")
            return {}
        return {term: read[term] for term in terms if term in read and len(read[term].seqs) <= cap}

    def _meant(self, asked: Question, rows: Numbers) -> Floats:
        """1 for a turn of the speaker whom the question names first, less for one of another whom it names."""
        meant = np.zeros(len(rows), np.float32)
        terms = [words.speaker_term(term) for term in asked.terms] if self._table.has_named else []
        spoken = self._postings("turn", terms).values() if terms else ()
        for posting in (posting for posting in spoken if len(posting.seqs)):
            by_them = np.isin(rows, self._table.rows(posting.seqs)[0])
            meant[by_them & (meant == 0)] = _NAMED_AFTER if meant.any() else 1.0
        return meant

    def _summary_words(self, asked: Question, sessions: Numbers) -> Floats | None:
        """(S,) how well the words of each session's summary fit: idf * tf / (tf + 1.2)."""
        seqs, scored = _fitting(self._postings("summary", asked.terms), self._totals["summary"])
        if not len(seqs):
            return None
        session_of = self._archive.summaries.sessions_of(seqs=seqs.tolist())
        fits = {session_of.get(seq, -1): score for seq, score in zip(seqs.tolist(), scored, strict=True)}
        fits.pop(-1 if self._present is None else self._present, None)
        return _placed(fits, sessions)

    def _through_facts(self, found: Mapping[int, float], rows: Numbers) -> Floats | None:
        """(P,) the score of the best fact that was drawn from each turn."""
        if not found:
            return None
        return turn_table.best_fact_of_turns(
            found, self._archive.facts.turns_of(list(found)), self._table.seq[rows]
        )

    def _fact_words(self, asked: Question) -> dict[int, float]:
        """How well the words of the facts fit that fit best."""
        facts, scored = _fitting(self._postings("fact", asked.terms), self._totals["fact"])
        return dict(zip(facts.tolist(), scored.tolist(), strict=True))

    def _facts_held(self, asked: Question, terms: Sequence[str]) -> dict[int, float]:
        """How much of what these terms weigh the facts hold that hold most of it."""
        return turn_table.facts_held(terms, self._postings("fact", asked.terms), self._totals["fact"])

    # -- vectors -----------------------------------------------------------------------------------------

    def _by_vector(self, vector: Vector | None) -> tuple[Similarities, Similarities]:
        """The nearest turns, and the nearest summaries."""
        summaries = self._nearest(vector, "summary", _NEAR_SUMMARIES)
        most = _NEAR_TURNS if len(self._table) <= turn_table.WHOLE else turn_table.BY_VECTORS
        most += len(self._hidden.turns or ())
        return self._nearest(vector, "conversation", most), summaries

    def _numbered(self, hits: Similarities) -> dict[int, float]:
        """Similarity of the nearest turns by number."""
        new = [text_id for text_id in hits if text_id not in self._seqs]
        self._seqs |= dict.fromkeys(new, _GONE) | self._archive.messages.numbers_of(new)
        found = {self._seqs[text_id]: similarity for text_id, similarity in hits.items()}
        found.pop(_GONE, None)
        return found

    def _summary_similarity(self, hits: Similarities, sessions: Numbers) -> Floats | None:
        """(S,) similarity of each session's summary; the least of those returned for the others."""
        if not hits:
            return None
        session_of = self._archive.summaries.sessions_of(text_ids=list(hits))
        known = {session_of[text_id]: hits[text_id] for text_id in hits if text_id in session_of}
        return _placed(known, sessions, min(hits.values()))

    def _nearest(self, vector: Vector | None, kind: Kind, limit: int) -> Similarities:
        if vector is None or self._vectors is None:
            return {}
        try:
            whole = kind == "summary" or self._hidden.turns is None
            without = self._hidden.session_id if whole else ""
            hits = self._vectors.search(vector, kind=kind, exclude_session=without, limit=limit)
        except (errors.StorageError, errors.EmbeddingError) as fault:
            if fault.key == "index.not_ready":
                self._missing("index")  # it is being built, which is no fault
            else:
                self._fails("index")
            return {}
        return {hit.text_id: hit.similarity for hit in hits}

    def _short(self, rows: Sequence[int]) -> set[int]:
        """Those of these rows whose vectors hold the turn before as well; only what may be is read, and once."""
        most, length = min(self._table.mean_length, turn_table.LITTLE), self._table.length
        new = [row for row in rows if row not in self._little and length[row] <= most]
        row_of = {int(self._table.seq[row]): row for row in new}
        for turn in self._archive.messages.numbered(list(row_of)) if row_of else ():
            self._little[row_of[turn.seq]] = embedding.says_little(own_words(turn))
        return {row for row in rows if self._little.get(row)}

    def _fails(self, part: MissingPart) -> None:
        self._log.exception("recall does without: %s", part)
        self._missing(part)

    def _missing(self, part: MissingPart) -> None:
        if part not in self.missing:
            self.missing.append(part)


def _names(asked: Question) -> list[str]:
    """Whom and what a question calls by name, as it is searched for."""
    return [term for term in asked.terms if term in asked.names]


def _weights(
    asked: Question, terms: Sequence[str], holding: Floats, total: int, faint: float = _FAINT
) -> Floats:
    """(T,) how rare each term is; one that only tells how long ago something was counts little."""
    counts = np.where(_faint(asked, terms), np.float32(faint), np.float32(1.0))
    weights: Floats = (counts * ranking.rarity(holding, total)).astype(np.float32)
    return weights


def _hush(counts: Floats, asked: Question, terms: Sequence[str]) -> None:
    """Words that tell how long ago something was count only in turns that say all of them, as in "a year ago"."""
    faint = _faint(asked, terms)
    says_all = (counts[faint] > 0).all(axis=0) & (faint.sum() == len(asked.faint))
    counts[np.ix_(faint, ~says_all)] = 0


def _faint(asked: Question, terms: Sequence[str]) -> Flags:
    return np.array([term in asked.faint for term in terms], np.bool_)


def _unrelated(vector: Vector | None, background: Sequence[Vector]) -> Floats:
    """How like the question an embedder finds sentences that have nothing to do with it."""
    if vector is None or not background:
        return np.zeros(0, np.float32)
    sentences = np.stack(background)
    alike: Floats = sentences @ vector / np.linalg.norm(sentences, axis=1) / np.linalg.norm(vector)
    return alike.astype(np.float32)


def _clarity(similar: Floats, turns: int, unrelated: Floats) -> float:
    """How far the embedder tells texts apart; the nearest of a large history say little about the rest of it."""
    if not len(similar) or turns <= turn_table.WHOLE or not len(unrelated):
        return ranking.clarity(similar)
    return ranking.clarity(np.append(unrelated, similar.max()).astype(np.float32))


def _apart(similar: Floats, unrelated: Floats) -> float:
    """How far the nearest turn stands above what is unrelated; 0 where either is not known."""
    return float(similar.max() - unrelated.max()) if len(similar) and len(unrelated) else 0.0


def _fitting(postings: Mapping[str, Postings], total: int) -> tuple[Numbers, Floats]:
    """The rows that fit best, ascending, and how well: the sum over terms of idf * tf / (tf + 1.2)."""
    held = np.array([len(posting.seqs) for posting in postings.values()], np.int64)
    if not held.sum():
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    rows = np.concatenate([posting.seqs for posting in postings.values()])
    size = int(rows.max()) + 1
    seqs = turn_table.distinct(rows, size)
    weight = np.repeat(ranking.rarity(held.astype(np.float32), total), held)
    counts = np.concatenate([posting.counts for posting in postings.values()])
    scored = np.bincount(turn_table.places(seqs, rows, size), weight * counts / (counts + 1.2)).astype(
        np.float32
    )
    best = np.sort(np.argpartition(scored, -_FITTING)[-_FITTING:]) if len(seqs) > _FITTING else slice(None)
    return seqs[best], scored[best]


def _placed(scored: Mapping[int, float], sessions: Numbers, otherwise: float = 0.0) -> Floats:
    """(S,) the score of each session by its number."""
    return np.array([scored.get(session, otherwise) for session in sessions.tolist()], np.float32)


def _by_session(table: TurnTable, found: FoundTurns, sessions: Numbers) -> tuple[Floats, Floats, Floats]:
    """(T, S) counts of each term, (S,) lengths of whole sessions, (T,) how many sessions hold each term."""
    held = table.session[found.rows]
    holds = np.zeros((len(found.terms), int(held.max(initial=0)) + 1), np.bool_)
    holds[found.term, held] = True
    at = np.minimum(np.searchsorted(sessions, held), max(len(sessions) - 1, 0))
    known = sessions[at] == held if len(sessions) else np.zeros(len(held), np.bool_)
    cells = found.term[known] * len(sessions) + at[known]
    summed = np.bincount(cells, found.counts[known], minlength=len(found.terms) * len(sessions))
    counts = summed.astype(np.float32).reshape(len(found.terms), len(sessions))
    return counts, table.session_lengths(sessions), holds.sum(axis=1).astype(np.float32)
