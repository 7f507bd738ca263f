"""Where every turn stands, in a few bytes a turn, and which turns of it are looked at closely for one question.

Some 42 bytes a turn, so a million turns take 42 MB. Rows are in the order in which turns were stored; what follows
what is told by session and position instead, since sessions may go on side by side and old ones may be stored late.
A row whose turn was erased does no harm, since no index leads to it any more.

A small history is looked at whole. A large one is cut to the turns with the best first scores and their neighbours, so
that the close look costs the same at a million turns as at five thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from recall.periods import Period, nearest
from recall.ranking import Flags, Floats, Numbers, from_neighbours, rarity

if TYPE_CHECKING:
    from storage.messages import TurnRow
    from storage.sqlite.words import Postings

#: A history of so many turns is looked at whole.
WHOLE = 3000
#: How many turns the vectors, and the words, may bring into the pool of a larger one.
BY_VECTORS, _BY_WORDS = 200, 400
#: So many of the nearest turns are looked at for whether they answer the turn before, to which the question is then
#: only so much less near.
_NEAREST, _LESS_NEAR = 30, 0.05
#: No turn of more tokens says little.
LITTLE = 40
#: So many facts are told apart by how much they hold.
_FACTS_HELD = 600

#: Rows there is room for at first.
_FIRST_ROOM = 1024
_COLUMNS: Mapping[str, type[np.generic]] = {
    "seq": np.int64,
    "position": np.float64,
    "by_user": np.bool_,
    "marks": np.uint8,
    **dict.fromkeys(("session", "length", "day", "place", "previous", "next"), np.int32),
}
Mark = Literal["asks", "time", "number", "named"]
#: The bit of each mark, as ``storage.sqlite.words.MARKS`` has them.
_MARKS: tuple[Mark, ...] = ("asks", "time", "number", "named")


class TurnTable:
    """Columns of all turns, a row for each. They grow by doubling: a round costs the same however many there are.

    ``seq`` (ascending) and ``session`` are numbers, ``length`` is in tokens, ``marks`` are bits, ``day`` is an ordinal
    (0: unknown), ``place`` counts from 0 in the session, ``previous`` and ``next`` are the rows beside it in its
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
        self.has_named = False
        self._size = 0
        self._last_of: dict[int, int] = {}
        self._tokens_of: dict[int, int] = {}
        self._last_told: dict[int, int] = {}
        self._newest = 0
        self._told: Numbers | None = None
        self._still: TurnTable | None = None
        self._room: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(_FIRST_ROOM, kind) for name, kind in _COLUMNS.items()
        }
        self._show()

    def __len__(self) -> int:
        return self._size

    @property
    def last_seq(self) -> int:
        """The number of the newest turn known here; 0 before the first."""
        return int(self.seq[-1]) if self._size else 0

    @property
    def sessions(self) -> int:
        """How many sessions have turns here."""
        return len(self._tokens_of)

    @property
    def mean_length(self) -> float:
        """The tokens of a turn."""
        return self.tokens / max(self._size, 1)

    def extend(self, turns: Sequence[TurnRow]) -> None:
        """Take in turns that were stored since."""
        self._still = None
        start, end = self._size, self._size + len(turns)
        while end > len(self._room["seq"]):
            self._room = {
                name: np.concatenate([held, np.zeros_like(held)]) for name, held in self._room.items()
            }
        for name in ("seq", "session", "by_user", "length", "marks", "position"):
            self._room[name][start:end] = list(map(attrgetter(name), turns))
        self._room["day"][start:end] = [_ordinal(turn.timestamp) for turn in turns]
        for name in ("previous", "next"):
            self._room[name][start:end] = -1
        for turn in turns:
            self._tokens_of[turn.session] = self._tokens_of.get(turn.session, 0) + turn.length
            self.tokens += turn.length
            self._last_told[turn.session] = turn.seq
            if turn.session != self._newest:
                self._newest, self._told = turn.session, None
        self._size = end
        self._show()
        self._link(np.arange(start, end))
        self.has_named = self.has_named or bool(self.has_mark(np.arange(start, end), "named").any())

    def snapshot(self) -> TurnTable:
        """The table as it stands now, for one question: what is taken in later changes nothing in it."""
        if self._still is None:
            self._still = copy(self)
            self._still.place, self._still.previous = self.place.copy(), self.previous.copy()
            self._still.next = self.next.copy()
        return self._still

    def session_lengths(self, numbers: Numbers) -> Floats:
        """The tokens of whole sessions."""
        return np.array([self._tokens_of.get(number, 0) for number in numbers.tolist()], np.float32)

    def sessions_after(self, numbers: Numbers) -> Floats:
        """How many sessions went on after each of these, in the order of storing: a clock may be set back."""
        if self._told is None:
            self._told = np.sort(np.array(list(self._last_told.values()), np.int64))
        last = [self._last_told.get(number, 0) for number in numbers.tolist()]
        return (len(self._told) - np.searchsorted(self._told, last, side="right")).astype(np.float32)

    def has_mark(self, rows: Numbers, mark: Mark) -> Flags:
        """Which rows bear a mark."""
        flags: Flags = (self._marks[rows] & (1 << _MARKS.index(mark))) > 0
        return flags

    def rows(self, seqs: Numbers) -> tuple[Numbers, Flags]:
        """The rows of turns by number, and which of the turns are known here at all."""
        return _positions(self.seq, seqs)

    def in_order(self, rows: Numbers) -> Numbers:
        """The rows by session, and in a session as they were told."""
        key = (self.session[rows].astype(np.int64) << 32) + self.place[rows]
        ordered: Numbers = rows[np.argsort(key, kind="stable")]
        return ordered

    def joined(self, rows: Numbers) -> Flags:
        """(P - 1,) which of these rows are followed in their session by the one behind them here."""
        flags: Flags = self.next[rows[:-1]] == rows[1:]
        return flags

    def _show(self) -> None:
        shown = {name: column[: self._size] for name, column in self._room.items()}
        self.seq, self.session, self.by_user = shown["seq"], shown["session"], shown["by_user"]
        self.length, self.day, self.place = shown["length"], shown["day"], shown["place"]
        self.previous, self.next = shown["previous"], shown["next"]
        self._marks, self._position = shown["marks"], shown["position"]

    def _link(self, new: Numbers) -> None:
        """Tie new rows to those beside them, session by session."""
        ordered = new[np.lexsort((self._position[new], self.session[new]))]
        cuts = np.flatnonzero(np.diff(self.session[ordered])) + 1
        for rows in np.split(ordered, cuts) if len(ordered) else ():
            self._link_session(int(self.session[rows[0]]), rows)

    def _link_session(self, session: int, rows: Numbers) -> None:
        """New rows almost always come last in their session; where one does not, the session is tied anew."""
        last = self._last_of.get(session, -1)
        if last >= 0 and self._position[last] > self._position[rows[0]]:
            rows = np.flatnonzero(self.session == session)
            rows, last = rows[np.argsort(self._position[rows], kind="stable")], -1
        self.place[rows] = np.arange(len(rows)) + (self.place[last] + 1 if last >= 0 else 0)
        self.previous[rows], self.next[rows] = np.append(last, rows[:-1]), np.append(rows[1:], -1)
        if last >= 0:
            self.next[last] = rows[0]
        self._last_of[session] = int(rows[-1])


def _ordinal(timestamp: str) -> int:
    try:
        return date.fromisoformat(timestamp[:10]).toordinal()
    except ValueError:
        return 0


# -- the pool ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundTurns:
    """What the indexes say about one question.

    By words: E entries, term after term. ``term`` (E,) is the place of its term in ``terms``, ``rows`` (E,) the
    row that holds it, ``counts`` (E,) how often. By vectors: rows and their similarity.
    """

    terms: tuple[str, ...]
    term: Numbers
    rows: Numbers
    counts: Floats
    dense_rows: Numbers
    dense: Floats

    def holding(self) -> Floats:
        """(T,) how many rows hold each term."""
        return np.bincount(self.term, minlength=len(self.terms)).astype(np.float32)


@dataclass(frozen=True)
class Pool:
    """The turns that are ranked: rows by session and as they were told; ``joined[i]``: i + 1 follows i."""

    rows: Numbers
    joined: Flags
    counts: Floats
    similarity: Floats | None


def found(
    table: TurnTable, postings: Mapping[str, Postings], dense: Mapping[int, float], hidden: Flags
) -> FoundTurns:
    """What the indexes gave, with the numbers of turns turned into rows of the table; nothing of ``hidden`` rows."""
    none = np.zeros(0, np.int64)
    entries = np.concatenate([none, *(posting.seqs for posting in postings.values())])
    counts = np.concatenate([none, *(posting.counts for posting in postings.values())])
    term = np.repeat(np.arange(len(postings)), [len(posting.seqs) for posting in postings.values()])
    rows, known = table.rows(entries)
    seqs = np.array(sorted(dense), np.int64)
    dense_rows, near = table.rows(seqs)
    similarity = np.array([dense[seq] for seq in seqs[near].tolist()], np.float32)
    shown, near_shown = ~hidden[rows], ~hidden[dense_rows]
    return FoundTurns(
        tuple(postings),
        term[known][shown],
        rows[shown],
        counts[known][shown].astype(np.float32),
        dense_rows[near_shown],
        similarity[near_shown],
    )


def gather(table: TurnTable, found: FoundTurns, weights: Floats, hidden: Flags) -> Pool:
    """The pool of one question; ``hidden`` rows never come in."""
    if len(table) <= WHOLE:
        rows = np.arange(len(table))
    else:
        best = np.argsort(-found.dense, kind="stable")[:BY_VECTORS]
        core = np.concatenate([_best_by_words(table, found, weights), found.dense_rows[best]])
        rows = _with_neighbours(table, core)
    rows = table.in_order(rows[~hidden[rows]])
    return Pool(rows, table.joined(rows), _counts(found, rows), _similarity(found, rows))


def with_answered(pool: Pool, short: Callable[[Sequence[int]], Collection[int]]) -> Pool:
    """The pool in which a turn is hardly less near than a short one right after it.

    The vector of a short turn holds the turn before it as well: what a question finds in "How nice!" is what that
    answers. ``short`` tells which of some rows are.
    """
    near = pool.similarity
    if near is None or len(near) < 2:
        return pool
    best = np.argpartition(-near, min(_NEAREST, len(near) - 1))[:_NEAREST]
    best = best[best > 0]
    lending = best[pool.joined[best - 1] & (near[best] - _LESS_NEAR > near[best - 1])]
    found = short(pool.rows[lending].tolist())
    lending = lending[[row in found for row in pool.rows[lending].tolist()]]
    lifted = near.copy()
    lifted[lending - 1] = near[lending] - _LESS_NEAR
    return replace(pool, similarity=lifted)


def _best_by_words(table: TurnTable, found: FoundTurns, weights: Floats) -> Numbers:
    """The turns with the best BM25, neighbours counted in a little."""
    touched = table.in_order(distinct(found.rows, len(table)))
    if len(touched) <= _BY_WORDS:
        return touched
    place = places(touched, found.rows, len(table))
    weight, counts = weights[found.term], found.counts
    norm = 1.2 * (0.4 + 0.6 * table.length[touched] / max(table.mean_length, 1.0))
    first = np.bincount(place, weight * counts / (counts + norm[place])).astype(np.float32)
    first = first + from_neighbours(first, table.joined(touched), (0.5, 0.25))
    return touched[np.argpartition(first, -_BY_WORDS)[-_BY_WORDS:]]


def _with_neighbours(table: TurnTable, core: Numbers) -> Numbers:
    """The rows, and those up to two away in the same session."""
    around = [core]
    for beside in (table.previous, table.next):
        near = core
        for _ in range(2):
            near = beside[near[near >= 0]].astype(np.int64)
            around.append(near[near >= 0])
    return distinct(np.concatenate(around), len(table))


def distinct(rows: Numbers, size: int) -> Numbers:
    """Each row once, ascending; all are below ``size``. Marking them is quicker than sorting."""
    marked = np.zeros(size, np.bool_)
    marked[rows] = True
    return np.flatnonzero(marked)


def places(among: Numbers, rows: Numbers, size: int) -> Numbers:
    """Where each of ``rows`` stands in ``among``, which holds them all and nothing twice."""
    place = np.empty(size, np.int64)
    place[among] = np.arange(len(among))
    return place[rows]


def _counts(found: FoundTurns, rows: Numbers) -> Floats:
    """(T, P): how often each term stands in each turn of the pool."""
    counts = np.zeros((len(found.terms), len(rows)), np.float32)
    at, known = _places_in(rows, found.rows)
    counts[found.term[known], at] = found.counts[known]
    return counts


def _similarity(found: FoundTurns, rows: Numbers) -> Floats | None:
    """(P,): the similarity of each turn; one the index did not return counts as the least that it did."""
    if not len(found.dense):
        return None
    similarity = np.full(len(rows), found.dense.min(), np.float32)
    at, known = _places_in(rows, found.dense_rows)
    similarity[at] = found.dense[known]
    return similarity


def _places_in(rows: Numbers, wanted: Numbers) -> tuple[Numbers, Flags]:
    """Where wanted rows stand among rows in any order, and which of them do."""
    ascending = np.argsort(rows, kind="stable")
    at, known = _positions(rows[ascending], wanted)
    return ascending[at], known


def _positions(ascending: Numbers, wanted: Numbers) -> tuple[Numbers, Flags]:
    """Where wanted numbers stand among ascending ones, and which of them do."""
    if not len(ascending):
        return np.zeros(0, np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    known: Flags = ascending[at] == wanted
    return at[known], known


def nearness(found: tuple[Period, ...], days: npt.NDArray[np.int32]) -> Floats:
    """(P,) how near each turn's day is to a time that the question speaks of; 0 everywhere when it speaks of none."""
    if not found:
        return np.zeros(len(days), np.float32)
    distinct, place = np.unique(days, return_inverse=True)
    known = [date.fromordinal(int(day)) if day else date.min for day in distinct]
    return np.array(list(nearest(found, known)), np.float32)[place]


# -- facts as keys of turns


def facts_held(terms: Sequence[str], postings: Mapping[str, Postings], total: int) -> dict[int, float]:
    """How much of what these terms weigh the facts hold that hold most of it, by number."""
    seqs = [postings[term].seqs for term in terms if term in postings]
    counts = [len(postings[term].seqs) if term in postings else 0 for term in terms]
    if not sum(counts):
        return {}
    rare = rarity(np.array(counts, np.float32), total)
    facts, at = np.unique(np.concatenate(seqs), return_inverse=True)
    share = np.bincount(at, np.repeat(rare / rare.sum(), counts))
    best = np.argsort(-share, kind="stable")[:_FACTS_HELD]
    return dict(zip(facts[best].tolist(), share[best].tolist(), strict=True))


def best_fact_of_turns(found: Mapping[int, float], drawn: Iterable[tuple[int, int]], seqs: Numbers) -> Floats:
    """(P,) the score of the best fact that was ``drawn`` from each turn; 0 where none was."""
    best: dict[int, float] = {}
    for fact, turn in drawn:
        best[turn] = max(best.get(turn, 0.0), found[fact])
    return np.array([best.get(seq, 0.0) for seq in seqs.tolist()], np.float32)
