"""Candidates for one query: the results of the word and vector indexes, converted to evidence for ranking.

``MessageTable`` has 42 bytes for each message. A small history is ranked whole; a large one is reduced to the messages
with the best first scores and their neighbours, so that ranking costs the same for a million messages as for five
thousand. Messages are ordered by session and position, since sessions may run in parallel and old ones may be stored
late. The row of an erased message is harmless: no index returns it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from domain import errors
from domain.indexes import MARKS, WORD_TABLES
from domain.recollection import MissingPart
from language import words
from language.scripts import unspaced_share
from language.times import TimeRange
from recall import ranking
from recall.questions import Question
from recall.ranking import Evidence, Flags, Floats, Numbers, from_neighbours, rarity

if TYPE_CHECKING:
    from domain.indexes import Postings, Vector, VectorIndex, WordTable
    from domain.records import Kind, Message
    from storage.messages import MessageColumns
    from storage.repositories import Repositories

#: A history of at most this many messages is ranked whole.
_WHOLE = 3000
#: How many messages of a larger one the vectors, and the words, add to the pool.
_BY_VECTORS, _BY_WORDS = 200, 400
#: How many of the nearest messages are checked for being a short answer, and how much less near the message before
#: such an answer then is.
_NEAREST, _LESS_NEAR = 30, 0.05
#: How many of the nearest messages say whether anything is near.
_BEST = 3
#: Messages of more tokens are never short.
_LITTLE = 40
#: How many facts are compared by their share of the question.
_FACTS_HELD = 600

#: Initial capacity in rows.
_FIRST_ROOM = 1024
_COLUMNS: Mapping[str, type[np.generic]] = {
    "seq": np.int64,
    "position": np.float64,
    "by_user": np.bool_,
    "marks": np.uint8,
    **dict.fromkeys(("session", "length", "day", "place", "previous", "next"), np.int32),
}
Mark = Literal["asks", "named", "little"]


class MessageTable:
    """Columns with a row for each message. Capacity doubles, so that adding costs the same at any size.

    ``seq`` (ascending) and ``session`` are numbers, ``length`` is in tokens, ``marks`` are bits, ``day`` is an ordinal
    (0: unknown), ``place`` counts from 0 in the session, ``previous`` and ``next`` are the adjacent rows in its
    session (-1: none).
    """

    seq: Numbers
    session: npt.NDArray[np.int32]
    by_user: Flags
    length: npt.NDArray[np.int32]
    day: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]
    previous: npt.NDArray[np.int32]
    next: npt.NDArray[np.int32]
    _marks: npt.NDArray[np.uint8]
    _position: npt.NDArray[np.float64]

    def __init__(self) -> None:
        self.tokens = 0
        #: The number of the newest message here; 0 if empty.
        self.last_seq = 0
        self.has_named = False
        #: The numbers of messages by id, as far as they were asked for. Another thread may empty it at any time.
        self.numbers: dict[str, int] = {}
        #: The number of the session of each summary, by the number of that; also of some that are gone.
        self.summaries: dict[int, int] = {}
        #: The numbers of facts, ascending, and of the messages that they rest on; also of some that are gone.
        self.facts = self.fact_messages = np.zeros(0, np.int64)
        self._size = 0
        self._last_of: dict[int, int] = {}
        self._session_ends: Numbers | None = None
        self._snapshot: MessageTable | None = None
        self._room: dict[str, npt.NDArray[Any]] = {name: np.zeros(_FIRST_ROOM, kind) for name, kind in _COLUMNS.items()}
        self._set_columns()

    def __len__(self) -> int:
        return self._size

    @property
    def sessions(self) -> int:
        """How many sessions have messages here."""
        return len(self._last_of)

    @property
    def last_fact(self) -> int:
        """The number of the newest fact here; 0 where there is none."""
        return int(self.facts[-1]) if len(self.facts) else 0

    @property
    def mean_length(self) -> float:
        """The mean tokens of a message."""
        return self.tokens / max(self._size, 1)

    def extend(self, messages: MessageColumns) -> None:
        """Add messages."""
        if not len(messages.seq):
            return
        self._snapshot = self._session_ends = None
        start, end = self._size, self._size + len(messages.seq)
        if end > (room := len(self._room["seq"])):
            more = max(end - room, room)
            self._room = {
                name: np.concatenate([column, np.zeros(more, column.dtype)]) for name, column in self._room.items()
            }
        for name, column in messages._asdict().items():
            self._room[name][start:end] = column
        self._size = end
        self._set_columns()
        self.last_seq = int(self.seq[-1])
        new = np.arange(start, end)
        self.tokens += int(self.length[new].sum())
        self._link_rows(new)
        self.has_named = self.has_named or bool(self.has_mark(new, "named").any())

    def extend_facts(self, facts: Numbers, messages: Numbers) -> None:
        """Add facts, each with the messages that it rests on."""
        if len(facts):
            self._snapshot = None
            self.facts = np.concatenate([self.facts, facts])
            self.fact_messages = np.concatenate([self.fact_messages, messages])

    def messages_of(self, facts: Numbers) -> tuple[Numbers, Numbers]:
        """How many messages each of these facts rests on, as far as they are known, and the messages of all."""
        begin, end = (np.searchsorted(self.facts, facts, side) for side in ("left", "right"))
        counts = end - begin
        places = np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return counts, self.fact_messages[places]

    def snapshot(self) -> MessageTable:
        """A copy for one question, which later additions do not change."""
        if self._snapshot is None:
            self._snapshot = copy(self)
            for name in ("place", "previous", "next"):
                setattr(self._snapshot, name, getattr(self, name).copy())
        return self._snapshot

    def sessions_after(self, numbers: Numbers) -> Floats:
        """How many sessions ended after each of these, in storage order, since a clock may be set back."""
        last = np.array([self._last_of.get(number, -1) for number in numbers.tolist()], np.int64)
        if self._session_ends is None:
            self._session_ends = np.sort(np.fromiter(self._last_of.values(), np.int64, len(self._last_of)))
        ends = self._session_ends
        return (len(ends) - np.searchsorted(ends, last, side="right")).astype(np.float32)

    def has_mark(self, rows: Numbers, mark: Mark) -> Flags:
        """Which rows bear a mark."""
        flags: Flags = (self._marks[rows] & (1 << MARKS.index(f"@{mark}"))) > 0
        return flags

    def rows(self, seqs: Numbers) -> tuple[Numbers, Flags]:
        """The rows of messages by number, and which of the messages are in the table."""
        return _find_sorted(self.seq, seqs)

    def in_order(self, rows: Numbers) -> Numbers:
        """The rows by session and place."""
        key = (self.session[rows].astype(np.int64) << 32) + self.place[rows]
        ordered: Numbers = rows[np.argsort(key, kind="stable")]
        return ordered

    def are_adjacent(self, rows: Numbers) -> Flags:
        """(P - 1,) which of these rows are followed in their session by the next one here."""
        flags: Flags = self.next[rows[:-1]] == rows[1:]
        return flags

    def _set_columns(self) -> None:
        shown = {name: column[: self._size] for name, column in self._room.items()}
        self.seq, self.session, self.by_user = shown["seq"], shown["session"], shown["by_user"]
        self.length, self.day, self.place = shown["length"], shown["day"], shown["place"]
        self.previous, self.next = shown["previous"], shown["next"]
        self._marks, self._position = shown["marks"], shown["position"]

    def _link_rows(self, new: Numbers) -> None:
        """Link new rows to the adjacent ones in their sessions: first as if each session were new, then the others."""
        session, position = self.session[new], self._position[new]
        later = (np.diff(session) > 0) | ((np.diff(session) == 0) & (np.diff(position) > 0))
        ordered = new if later.all() else new[np.lexsort((position, session))]
        is_first = np.diff(self.session[ordered], prepend=-1) != 0
        starts = np.flatnonzero(is_first)
        ends = np.append(starts, len(ordered))[1:]
        self.place[ordered] = np.arange(len(ordered)) - np.repeat(starts, ends - starts)
        self.previous[ordered] = np.where(is_first, -1, np.roll(ordered, 1))
        self.next[ordered] = np.where(np.roll(is_first, -1), -1, np.roll(ordered, -1))
        for session, start, end in zip(self.session[ordered[starts]].tolist(), starts, ends, strict=True):
            if session in self._last_of:
                self._link_session(session, ordered[start:end])
            else:
                self._last_of[session] = int(ordered[end - 1])

    def _link_session(self, session: int, rows: Numbers) -> None:
        """Link the new rows of a session: they are almost always its last; if not, all its rows are linked again."""
        last = self._last_of[session]
        if self._position[last] > self._position[rows[0]]:
            rows = np.flatnonzero(self.session == session)
            rows, last = rows[np.argsort(self._position[rows], kind="stable")], -1
        self.place[rows] = np.arange(len(rows)) + (self.place[last] + 1 if last >= 0 else 0)
        self.previous[rows], self.next[rows] = np.append(last, rows[:-1]), np.append(rows[1:], -1)
        if last >= 0:
            self.next[last] = rows[0]
        self._last_of[session] = int(rows[-1])


# -- the pool ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundWords:
    """The results of the index of words for one question: E entries, term after term.

    ``term`` (E,) is the place of its term in ``terms``, ``rows`` (E,) the row that contains it, ``counts`` (E,) how
    often. ``weights`` (T,) are those of the terms, ``faint`` (T,) which only say how long ago something was, ``best``
    the rows that fit best in a history that is not ranked whole.
    """

    terms: tuple[str, ...]
    term: Numbers
    rows: Numbers
    counts: Floats
    weights: Floats
    faint: Flags
    best: Numbers


@dataclass(frozen=True)
class Pool:
    """The messages to rank: rows by session and place; ``joined[i]``: i + 1 follows i."""

    rows: Numbers
    joined: Flags
    counts: Floats
    similarity: Floats | None


def _find_words(
    table: MessageTable, postings: Mapping[str, Postings], faint: frozenset[str], hidden: Flags
) -> FoundWords:
    """The results of the index of words as rows of the table, without ``hidden`` rows."""
    none, each = np.zeros(0, np.int64), postings.values()
    rows, known = table.rows(np.concatenate([none, *[posting.seqs for posting in each]]))
    shown = ~hidden[rows]
    rows = rows[shown]
    counts = np.concatenate([none, *[posting.counts for posting in each]])[known][shown].astype(np.float32)
    term = np.repeat(np.arange(len(postings)), [len(posting.seqs) for posting in each])[known][shown]
    rows_with = np.bincount(term, minlength=len(postings)).astype(np.float32)
    is_faint = np.array([term in faint for term in postings], np.bool_)
    weights = np.where(is_faint, np.float32(_FAINT), np.float32(1.0)) * rarity(rows_with, len(table))
    best = none
    if len(table) > _WHOLE:
        best = table.in_order(_unique_rows(rows, len(table)))
    if len(best) > _BY_WORDS:
        # The messages with the best BM25, with a little of their neighbours' scores.
        place = _find_places(best, rows, len(table))
        norm = 1.2 * (0.4 + 0.6 * table.length[best] / max(table.mean_length, 1.0))
        first = np.bincount(place, weights[term] * counts / (counts + norm[place])).astype(np.float32)
        first = first + from_neighbours(first, table.are_adjacent(best), (0.5, 0.25))
        best = best[np.argpartition(first, -_BY_WORDS)[-_BY_WORDS:]]
    return FoundWords(tuple(postings), term, rows, counts, weights, is_faint, best)


def _build_pool(
    table: MessageTable, found: FoundWords, dense: Mapping[int, float], hidden: Flags
) -> tuple[Pool, Floats]:
    """The pool of one question, and how near its near messages are, without ``hidden`` rows; ``dense``: by number."""
    seqs = np.fromiter(dense, np.int64, len(dense))
    order = seqs.argsort()
    dense_rows, known = table.rows(seqs[order])
    shown = ~hidden[dense_rows]
    near = np.fromiter(dense.values(), np.float32, len(dense))[order][known][shown]
    dense_rows = dense_rows[shown]
    if len(table) <= _WHOLE:
        rows = np.arange(len(table))
    else:
        best = np.argsort(-near, kind="stable")[:_BY_VECTORS]
        rows = _with_neighbours(table, np.concatenate([found.best, dense_rows[best]]))
    rows = table.in_order(rows[~hidden[rows]])
    counts = np.zeros((len(found.terms), len(rows)), np.float32)
    at, known = _find_rows(rows, found.rows)
    counts[found.term[known], at] = found.counts[known]
    similarity: Floats | None = None
    if len(near):
        # What the index did not return is at most as near as the last that it did.
        similarity = np.full(len(rows), near.min(), np.float32)
        at, known = _find_rows(rows, dense_rows)
        similarity[at] = near[known]
    return Pool(rows, table.are_adjacent(rows), counts, similarity), near


def with_answered(pool: Pool, are_short: Callable[[Numbers], Flags]) -> Pool:
    """The pool with the message before a short one made almost as near.

    The vector of a short message includes the message before it: a question that finds "How nice!" looks for what that
    answers. Only the nearest messages are looked at, as far as they are nearer than the message before them.
    """
    near = pool.similarity
    if near is None or len(near) < 2:
        return pool
    best = np.argpartition(-near, min(_NEAREST, len(near) - 1))[:_NEAREST]
    best = best[best > 0]
    best = best[pool.joined[best - 1] & (near[best] - _LESS_NEAR > near[best - 1])]
    answering = best[are_short(pool.rows[best])]
    lifted = near.copy()
    lifted[answering - 1] = near[answering] - _LESS_NEAR
    return replace(pool, similarity=lifted)


def _with_neighbours(table: MessageTable, core: Numbers) -> Numbers:
    """The rows, and those up to two away in the same session."""
    around = [core]
    for neighbour in (table.previous, table.next):
        near = core
        for _ in range(2):
            near = neighbour[near[near >= 0]].astype(np.int64)
            around.append(near[near >= 0])
    return _unique_rows(np.concatenate(around), len(table))


def _unique_rows(rows: Numbers, size: int) -> Numbers:
    """Each row once, ascending; all are below ``size``. Faster than sorting."""
    marked = np.zeros(size, np.bool_)
    marked[rows] = True
    return np.flatnonzero(marked)


def _find_places(among: Numbers, rows: Numbers, size: int) -> Numbers:
    """The index of each of ``rows`` in ``among``, which contains them all once."""
    place = np.empty(size, np.int64)
    place[among] = np.arange(len(among))
    return place[rows]


def _find_rows(rows: Numbers, wanted: Numbers) -> tuple[Numbers, Flags]:
    """The indexes of wanted rows among rows in any order, and which of them are there."""
    ascending = np.argsort(rows, kind="stable")
    at, known = _find_sorted(rows[ascending], wanted)
    return ascending[at], known


def _find_sorted(ascending: Numbers, wanted: Numbers) -> tuple[Numbers, Flags]:
    """The indexes of wanted numbers among ascending ones, and which of them are there."""
    if not len(ascending):
        return np.zeros(0, np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    known: Flags = ascending[at] == wanted
    return at[known], known


def _time_nearness(found: tuple[TimeRange, ...], days: npt.NDArray[np.int32]) -> Floats:
    """(P,) how near each message's day is to a time in the question; 0 if it mentions none."""
    if not found:
        return np.zeros(len(days), np.float32)
    distinct, place = np.unique(days, return_inverse=True)
    known = [date.fromordinal(int(day)) if day else date.min for day in distinct]
    return np.array([max(one.nearness(day) for one in found) for day in known], np.float32)[place]


#: Similarity by id.
_Similarities = Mapping[str, float]

#: How many rows are read for one question in a large history; see ``cap_of``.
_ROWS = 40_000
#: How many summaries, and facts, are scored by their words.
_FITTING = 600
#: Words for each token of an unspaced script, in which characters and their pairs are both counted.
_UNSPACED_WORD = 0.22
#: Questions with fewer terms have the cap of this many.
_FEW_TERMS = 12
#: The weight of a term that only says how long ago something was.
_FAINT = 0.3
#: The weight of speakers after the first in a question: "What did Ann tell Bob?" asks about Ann.
_NAMED_AFTER = 0.3
#: The word tables whose number of rows is needed.
_SUMMED: tuple[WordTable, ...] = ("summary", "fact")
#: What was read of a term that was not read: up to no row.
_UNREAD: tuple[int, Postings | None] = (0, None)
#: So many numbers are kept by id.
_MOST_NUMBERS = 50_000
#: How many vectors are requested; in a large history only as many messages as the pool takes.
_NEAR_TURNS, _NEAR_SUMMARIES = 300, 60
_KINDS: tuple[Kind, ...] = ("conversation", "summary")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is never found: the summary of the current session, and its messages: these numbers, or else all."""

    session_id: str
    messages: Collection[int] | None = None


@dataclass(frozen=True)
class Candidates:
    """The results for one question: its pool, the numbers of the sessions in it, and the evidence.

    ``facts``: by number, the share of the question's weight in rare words, of the best facts.
    """

    asked: Question
    pool: Pool
    sessions: Numbers
    terms: tuple[str, ...]
    evidence: Evidence
    facts: Mapping[int, float]


class _Gathered(NamedTuple):
    """What the indexes have for one question: its words, the pool, and how near its near messages and summaries are."""

    found: FoundWords
    pool: Pool
    near: Floats
    near_summaries: _Similarities


def cap_of(terms: Sequence[str], messages: int) -> int:
    """How many rows of each of these terms are read at the most in a history of so many messages."""
    return _WHOLE if messages <= _WHOLE else _ROWS // max(len(terms), _FEW_TERMS)


def words_of(asked: Sequence[Question], messages: int) -> list[tuple[WordTable, list[str], int]]:
    """What is read of each table for these questions: the terms by the largest cap of the questions with them."""
    caps: dict[str, int] = {}
    for each in asked:
        cap = cap_of(each.terms, messages)
        caps |= {term: max(cap, caps.get(term, 0)) for term in each.terms}
    terms_with = {most: [term for term, cap in caps.items() if cap == most] for most in caps.values()}
    return [(table, terms, most) for table in WORD_TABLES for most, terms in terms_with.items()]


class CandidateSearch:
    """Searches the indexes at one moment, for the questions of one round."""

    def __init__(
        self,
        archive: Repositories,
        vectors: VectorIndex | None,
        table: MessageTable,
        hidden: Hidden,
        log: logging.Logger,
        *,
        learned: bool = True,
    ) -> None:
        self.missing: list[MissingPart] = []
        self._words = archive.index.words
        self._vectors = vectors
        self._archive = archive
        self._table = table
        self._hidden = hidden
        self._learned = learned
        #: The number of the present session.
        self.present = archive.sessions.number_of(hidden.session_id)
        #: By table and term: the cap that it was read with, and its rows, where those are not more.
        self._read: dict[WordTable, dict[str, tuple[int, Postings | None]]] = {name: {} for name in WORD_TABLES}
        self._fitting = cache(self._find_fitting)
        self._totals = {table: self._words.rows(table) for table in _SUMMED}
        self._messages: dict[int, Message | None] = {}
        self._near: dict[tuple[bytes, Kind], _Similarities] = {}
        #: Those of the sessions of summaries are of this moment: a summary may be replaced.
        self._numbers: dict[Kind, dict[str, int]] = {"conversation": table.numbers, "summary": {}}
        self._log = log
        self._hidden_rows = np.zeros(len(table), np.bool_)
        if hidden.messages is not None:
            self._hidden_rows[table.rows(np.array(sorted(hidden.messages), np.int64))[0]] = True
        elif self.present is not None:
            self._hidden_rows |= table.session == self.present

    def find(
        self, asked: Sequence[Question], vectors: Sequence[Vector | None], backgrounds: Sequence[Sequence[Vector]]
    ) -> Iterator[Candidates]:
        """The candidates of each question. A part that fails is added to ``missing`` and left out.

        ``backgrounds``: vectors of unrelated sentences. In a large history the vectors are searched in a separate
        thread, while SQLite reads the words and earlier results are ranked.
        """
        wanted = words_of(asked, len(self._table))
        self._archive.database.ahead(
            *(partial(self._nearest, [one for one in vectors if one is not None], kind) for kind in _KINDS),
            *(partial(self._fetch_postings, *one) for one in wanted),
        )
        with ThreadPoolExecutor(1, "recall") as pool:
            searched: Callable[[], Sequence[Sequence[_Similarities]]] = cache(lambda: self._search_all(vectors))
            if len(self._table) > _WHOLE and any(vector is not None for vector in vectors):
                searched = pool.submit(searched).result
            self._read_words(wanted)
            read = partial(self._read_postings, "message")
            hidden = self._hidden_rows
            worded = [_find_words(self._table, read(each.terms), each.faint, hidden) for each in asked]
            gathered = [
                cache(partial(self._gather, each, found, at, searched))
                for at, (each, found) in enumerate(zip(asked, worded, strict=True))
            ]
            for each, vector, gather, background in zip(asked, vectors, gathered, backgrounds, strict=True):
                yield self._find_candidates(each, vector, gather(), background)

    def _search_all(self, vectors: Sequence[Vector | None]) -> Sequence[Sequence[_Similarities]]:
        """For each vector the nearest messages and summaries; all vectors are searched at once."""
        there = [vector for vector in vectors if vector is not None]
        found = iter(zip(*(self._nearest(there, kind) for kind in _KINDS), strict=True))
        return [({}, {}) if vector is None else next(found) for vector in vectors]

    def _gather(
        self, asked: Question, found: FoundWords, at: int, searched: Callable[[], Sequence[Sequence[_Similarities]]]
    ) -> _Gathered:
        near_messages, near_summaries = searched()[at]
        dense = self._by_number("conversation", near_messages)
        return _Gathered(found, *_build_pool(self._table, found, dense, self._hidden_rows), near_summaries)

    def _find_candidates(
        self, asked: Question, vector: Vector | None, first: _Gathered, background: Sequence[Vector]
    ) -> Candidates:
        table, found, faint = self._table, first.found, first.found.faint
        gathered = with_answered(first.pool, self._are_short)
        # Words for how long ago something was count only in messages with all of them ("a year ago").
        says_all = (gathered.counts[faint] > 0).all(axis=0) & (faint.sum() == len(asked.faint))
        gathered.counts[np.ix_(faint, ~says_all)] = 0
        numbers, of_session = np.unique(table.session[gathered.rows], return_inverse=True)
        sessions = numbers.astype(np.int64)
        clarity, above = _compare_with_background(first.near, len(table), vector, background)
        evidence = replace(
            self._gather_evidence(asked, gathered, found.weights, sessions, of_session),
            summary_similarity=self._summary_similarity(first.near_summaries, sessions),
            clarity=clarity,
            nearest=above,
        )
        return Candidates(asked, gathered, sessions, found.terms, evidence, self.match_facts(asked))

    def _gather_evidence(
        self, asked: Question, gathered: Pool, weights: Floats, sessions: Numbers, of_session: Numbers
    ) -> Evidence:
        table, rows = self._table, gathered.rows
        unspaced = unspaced_share(asked.text)
        labelled = table.has_mark(rows, "named")
        by_user = table.by_user[rows]
        return Evidence(
            seqs=table.seq[rows],
            counts=gathered.counts,
            rarity=weights,
            share=weights / max(float(weights.sum()), 1e-9),
            lengths=table.length[rows].astype(np.float32),
            mean_length=table.mean_length,
            joined=gathered.joined,
            of_session=of_session,
            position=table.place[rows].astype(np.float32),
            by_user=(by_user & ~labelled).astype(np.float32),
            by_assistant=(~by_user & ~labelled).astype(np.float32),
            near=_time_nearness(asked.times, table.day[rows]),
            meant=self._meant_speakers(asked, rows),
            asks=table.has_mark(rows, "asks").astype(np.float32),
            later=table.sessions_after(sessions) if asked.goes_on else np.zeros(len(sessions), np.float32),
            word_length=table.mean_length * (1.0 - unspaced + unspaced * _UNSPACED_WORD),
            remark=asked.remark,
            goes_on=asked.goes_on,
            learned=self._learned,
            similarity=gathered.similarity,
            summary_words=self._summary_words(asked, sessions),
            fact_words=self._fact_words(asked, rows),
        )

    # -- words -------------------------------------------------------------------------------------------

    def _read_words(self, wanted: Iterable[tuple[WordTable, list[str], int]]) -> bool:
        """Read postings, as far as they are not read yet; False where that failed."""
        try:
            for table, terms, cap in wanted:
                self._fetch_postings(table, terms, cap)
        except errors.StorageError:
            self._log_missing("words")
            return False
        return True

    def _fetch_postings(self, table: WordTable, terms: Sequence[str], cap: int) -> None:
        read = self._read[table]
        if new := [term for term in terms if read.get(term, _UNREAD)[0] < cap]:
            found = self._words.postings(table, new, cap)
            read |= {term: (cap, found.get(term)) for term in new}

    def _read_postings(self, table: WordTable, terms: Sequence[str]) -> Mapping[str, Postings]:
        """The messages that contain each term. Nothing is read twice for one round.

        Terms in too many rows are left out, the longer the question the sooner; a history that is ranked whole loses
        nothing.
        """
        cap, read = cap_of(terms, len(self._table)), self._read[table]
        if not self._read_words([(table, list(terms), cap)]):
            return {}
        return {term: rows for term in terms if (rows := read[term][1]) and len(rows.seqs) <= cap}

    def _find_fitting(self, table: WordTable, terms: Sequence[str]) -> tuple[Numbers, Floats]:
        """The rows that fit best, ascending, and how well: the sum over terms of idf * tf / (tf + 1.2)."""
        postings = self._read_postings(table, terms).values()
        sizes = np.array([len(posting.seqs) for posting in postings], np.int64)
        if not sizes.sum():
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows = np.concatenate([posting.seqs for posting in postings])
        size = int(rows.max()) + 1
        seqs = _unique_rows(rows, size)
        weight = np.repeat(ranking.rarity(sizes.astype(np.float32), self._totals[table]), sizes)
        counts = np.concatenate([posting.counts for posting in postings])
        scored = np.bincount(_find_places(seqs, rows, size), weight * counts / (counts + 1.2)).astype(np.float32)
        best = np.sort(np.argpartition(scored, -_FITTING)[-_FITTING:]) if len(seqs) > _FITTING else slice(None)
        return seqs[best], scored[best]

    def _meant_speakers(self, asked: Question, rows: Numbers) -> Floats:
        """1 for a message of the speaker whom the question names first, less for others it names."""
        meant = np.zeros(len(rows), np.float32)
        terms = [words.speaker_term(term) for term in asked.terms] if self._table.has_named else []
        spoken = self._read_postings("message", terms).values() if terms else ()
        for posting in (posting for posting in spoken if len(posting.seqs)):
            by_them = np.isin(rows, self._table.rows(posting.seqs)[0])
            meant[by_them & (meant == 0)] = _NAMED_AFTER if meant.any() else 1.0
        return meant

    def _summary_words(self, asked: Question, sessions: Numbers) -> Floats | None:
        """(S,) how well the words of each session's summary fit: idf * tf / (tf + 1.2)."""
        seqs, scored = self._fitting("summary", asked.terms)
        if not len(seqs):
            return None
        session_of = self._table.summaries
        if new := [seq for seq in seqs.tolist() if seq not in session_of]:  # one that came back
            session_of.update(self._archive.summaries.sessions_of(seqs=new))  # type: ignore[arg-type]
        fits = {session_of.get(seq, -1): score for seq, score in zip(seqs.tolist(), scored, strict=True)}
        fits.pop(-1 if self.present is None else self.present, None)
        return _scores_by_number(fits, sessions)

    def _fact_words(self, asked: Question, rows: Numbers) -> Floats | None:
        """(P,) how well the words of the best fact based on each message fit."""
        facts, scored = self._fitting("fact", asked.terms)
        if not len(facts):
            return None
        counts, messages = self._table.messages_of(facts)
        score = dict(zip(facts.tolist(), scored.tolist(), strict=True))
        resting = [*zip(messages.tolist(), np.repeat(scored, counts).tolist(), strict=True)]
        # Those that came back.
        resting += [(one, score[fact]) for fact, one in self._archive.facts.messages_of(facts[counts == 0].tolist())]
        best: dict[int, float] = {}
        for message, fits in resting:
            best[message] = max(best.get(message, 0.0), fits)
        return _scores_by_number(best, self._table.seq[rows])

    def match_facts(self, asked: Question) -> dict[int, float]:
        """By number, the share of the question's weight in rare words in the facts with the largest shares."""
        postings = self._read_postings("fact", asked.terms)
        seqs = [postings[term].seqs for term in asked.terms if term in postings]
        counts = [len(postings[term].seqs) if term in postings else 0 for term in asked.terms]
        if not sum(counts):
            return {}
        rare = rarity(np.array(counts, np.float32), self._totals["fact"])
        facts, at = np.unique(np.concatenate(seqs), return_inverse=True)
        share = np.bincount(at, np.repeat(rare / rare.sum(), counts))
        best = np.argsort(-share, kind="stable")[:_FACTS_HELD]
        return dict(zip(facts[best].tolist(), share[best].tolist(), strict=True))

    # -- vectors -----------------------------------------------------------------------------------------

    def _by_number(self, kind: Kind, hits: _Similarities) -> dict[int, float]:
        """The similarity of messages, or of the sessions of summaries, by number; what is gone is left out."""
        numbers = [*map(self._numbers[kind].get, hits)]
        if None in numbers:
            new = [text_id for text_id, number in zip(hits, numbers, strict=True) if number is None]
            if kind == "conversation":
                read = self._archive.messages.numbers_of(new)
            else:
                read = self._archive.summaries.sessions_of(text_ids=new)  # type: ignore[assignment]
            self._keep_numbers(kind, read)
            numbers = [read.get(text_id, number) for text_id, number in zip(hits, numbers, strict=True)]
        found = zip(numbers, hits.values(), strict=True)
        return {number: similarity for number, similarity in found if number is not None}

    def _keep_numbers(self, kind: Kind, new: Mapping[str, int]) -> None:
        known = self._numbers[kind]
        if len(known) > _MOST_NUMBERS:
            known.clear()
        known |= new

    def _nearest(self, vectors: Sequence[Vector], kind: Kind) -> Sequence[_Similarities]:
        """The texts of a kind that are nearest to each vector; none is searched for twice."""
        most = _NEAR_TURNS if len(self._table) <= _WHOLE else _BY_VECTORS
        most = most + len(self._hidden.messages or ()) if kind == "conversation" else _NEAR_SUMMARIES
        keys = [(vector.tobytes(), kind) for vector in vectors]
        new = {key: vector for key, vector in zip(keys, vectors, strict=True) if key not in self._near}
        if new:
            self._near |= dict(zip(new, self._search_vectors([*new.values()], kind, most), strict=True))
        return [self._near[key] for key in keys]

    def _search_vectors(self, vectors: Sequence[Vector], kind: Kind, limit: int) -> Sequence[_Similarities]:
        if self._vectors is None:
            return [{} for _ in vectors]
        try:
            whole = kind == "summary" or self._hidden.messages is None
            without = self._hidden.session_id if whole else ""
            found = self._vectors.search(*vectors, kind=kind, exclude_session=without, limit=limit)
        except (errors.StorageError, errors.EmbeddingError) as fault:
            if fault.key == "index.not_ready":
                self._add_missing("index")  # it is being built
            else:
                self._log_missing("index")
            return [{} for _ in vectors]
        for hits in found:
            if hits and hits[0].number is not None:
                self._keep_numbers(kind, {hit.text_id: hit.number for hit in hits if hit.number is not None})
        return [{hit.text_id: hit.similarity for hit in hits} for hits in found]

    def _summary_similarity(self, hits: _Similarities, sessions: Numbers) -> Floats | None:
        """(S,) the similarity of each session's summary; at least the lowest returned."""
        if not hits:
            return None
        return _scores_by_number(self._by_number("summary", hits), sessions, min(hits.values()))

    def _are_short(self, rows: Numbers) -> Flags:
        """Which rows are short, so that their vectors include the message before."""
        short: Flags = self._table.length[rows] <= min(self._table.mean_length, _LITTLE)
        return short & self._table.has_mark(rows, "little")

    def read_messages(self, seqs: Sequence[int]) -> list[Message]:
        """Messages by number, in order, as ``Messages.by_number`` finds them; none is read twice."""
        if new := [seq for seq in seqs if seq not in self._messages]:
            found = {message.seq: message for message in self._archive.messages.by_number(new)}
            self._messages |= {seq: found.get(seq) for seq in new}
        return [message for seq in sorted(seqs) if (message := self._messages[seq])]

    def _log_missing(self, part: MissingPart) -> None:
        self._log.exception("recall without %s", part)
        self._add_missing(part)

    def _add_missing(self, part: MissingPart) -> None:
        if part not in self.missing:
            self.missing.append(part)


def _compare_with_background(
    similar: Floats, messages: int, vector: Vector | None, background: Sequence[Vector]
) -> tuple[float, float]:
    """How well the embedder separates texts, and how much nearer the nearest messages are than unrelated ones.

    In a large history, of which only the nearest are known, the first is measured against the sentences too.
    """
    if vector is None or not background or not len(similar):
        return ranking.clarity(similar), 0.0
    sentences = np.stack(background)
    alike = sentences @ vector / np.linalg.norm(sentences, axis=1) / np.linalg.norm(vector)
    unrelated = alike.astype(np.float32)
    compared = similar if messages <= _WHOLE else np.append(unrelated, similar.max()).astype(np.float32)
    best = np.sort(similar)[-_BEST:]
    return ranking.clarity(compared), float(best.mean() - unrelated.max())


def _scores_by_number(scored: Mapping[int, float], numbers: Numbers, otherwise: float = 0.0) -> Floats:
    """The score of each session, or message, by its number."""
    return np.array([scored.get(number, otherwise) for number in numbers.tolist()], np.float32)
