"""Which turns are looked at closely: those that the words or the vectors point at, with their neighbours.

A small history is looked at whole. A large one is cut to the turns with the best first scores, so that the
close look costs the same at a million turns as at five thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recall import scores
from recall.turn_table import TurnTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from recall.scores import Flags, Floats
    from storage.sqlite.lexicon import Postings

    Rows = npt.NDArray[np.int64]

#: A history of so many turns is looked at whole.
WHOLE = 3000
#: How many turns the words, and the vectors, may bring into the pool of a larger one.
_BY_WORDS, BY_VECTORS = 400, 200
_REACH = 2


@dataclass(frozen=True)
class Found:
    """What the indexes say about one question.

    By words: E entries, term after term. ``term`` (E,) is the place of its term in ``terms``, ``rows`` (E,) the
    row that holds it, ascending inside a term, ``counts`` (E,) how often. By vectors: rows and their similarity.
    """

    terms: tuple[str, ...]
    term: Rows
    rows: Rows
    counts: Floats
    dense_rows: Rows
    dense: Floats

    def holding(self) -> Floats:
        """(T,) how many rows hold each term."""
        import numpy as np

        return np.bincount(self.term, minlength=len(self.terms)).astype(np.float32)


@dataclass(frozen=True)
class Pool:
    """The turns that are ranked: ascending rows of the register; ``joined[i]``: i + 1 follows i in a session."""

    rows: Rows
    joined: Flags
    counts: Floats
    similarity: Floats | None


def found(register: TurnTable, postings: Mapping[str, Postings], dense: Mapping[int, float]) -> Found:
    """What the indexes gave, with the numbers of turns turned into rows of the register."""
    import numpy as np

    none = np.zeros(0, np.int64)
    entries = np.concatenate([none, *(posting.seqs for posting in postings.values())])
    counts = np.concatenate([none, *(posting.counts for posting in postings.values())])
    term = np.repeat(np.arange(len(postings)), [len(posting.seqs) for posting in postings.values()])
    rows, known = _positions(register.seq, entries)
    seqs = np.array(sorted(dense), np.int64)
    dense_rows, near = _positions(register.seq, seqs)
    similarity = np.array([dense[seq] for seq in seqs[near].tolist()], np.float32)
    return Found(tuple(postings), term[known], rows, counts[known].astype(np.float32), dense_rows, similarity)


def gather(register: TurnTable, found: Found, weights: Floats, hidden_session: int | None) -> Pool:
    """The pool of one question; turns of ``hidden_session`` never come in."""
    import numpy as np

    if len(register) <= WHOLE:
        rows = np.arange(len(register))
    else:
        core = distinct(
            np.concatenate([_best_by_words(register, found, weights), _best_by_vectors(found)]), len(register)
        )
        rows = _with_neighbours(register, core)
    if hidden_session is not None:
        rows = rows[register.session[rows] != hidden_session]
    joined = (np.diff(rows) == 1) & (np.diff(register.session[rows]) == 0)
    return Pool(rows, joined, _counts(found, rows), _similarity(found, rows))


def _best_by_words(register: TurnTable, found: Found, weights: Floats) -> Rows:
    """The turns with the best BM25, neighbours counted in a little."""
    import numpy as np

    touched = distinct(found.rows, len(register))
    if len(touched) <= _BY_WORDS:
        return touched
    place = places(touched, found.rows, len(register))
    weight, counts = weights[found.term], found.counts
    norm = 1.2 * (0.4 + 0.6 * register.length[touched] / max(register.tokens / len(register), 1.0))
    first = np.bincount(place, weight * counts / (counts + norm[place])).astype(np.float32)
    joined = (np.diff(touched) == 1) & (np.diff(register.session[touched]) == 0)
    first = first + scores.from_neighbours(first, joined, (0.5, 0.25))
    return touched[np.argpartition(first, -_BY_WORDS)[-_BY_WORDS:]]


def _best_by_vectors(found: Found) -> Rows:
    import numpy as np

    best = np.argsort(-found.dense, kind="stable")[:BY_VECTORS]
    return found.dense_rows[best]


def _with_neighbours(register: TurnTable, core: Rows) -> Rows:
    """The rows and those up to two away in the same session."""
    import numpy as np

    around = core[:, None] + np.arange(-_REACH, _REACH + 1)[None, :]
    inside = (around >= 0) & (around < len(register))
    around = np.where(inside, around, core[:, None])
    same = register.session[around] == register.session[core][:, None]
    return distinct(around[same], len(register))


def distinct(rows: Rows, size: int) -> Rows:
    """Each row once, ascending; all are below ``size``. Marking them is quicker than sorting."""
    import numpy as np

    marked = np.zeros(size, np.bool_)
    marked[rows] = True
    return np.flatnonzero(marked)


def places(among: Rows, rows: Rows, size: int) -> Rows:
    """Where each of ``rows`` stands in ``among``, which holds them all and nothing twice."""
    import numpy as np

    place = np.empty(size, np.int64)
    place[among] = np.arange(len(among))
    return place[rows]


def _counts(found: Found, rows: Rows) -> Floats:
    """(T, P): how often each term stands in each turn of the pool."""
    import numpy as np

    table = np.zeros((len(found.terms), len(rows)), np.float32)
    at, known = _positions(rows, found.rows)
    table[found.term[known], at] = found.counts[known]
    return table


def _similarity(found: Found, rows: Rows) -> Floats | None:
    """(P,): the similarity of each turn; one the index did not return counts as the least that it did."""
    import numpy as np

    if not len(found.dense):
        return None
    similarity = np.full(len(rows), found.dense.min(), np.float32)
    at, known = _positions(rows, found.dense_rows)
    similarity[at] = found.dense[known]
    return similarity


def _positions(rows: Rows, wanted: Rows) -> tuple[Rows, Flags]:
    """Where wanted rows stand among ascending rows, and which of them do."""
    import numpy as np

    at = np.searchsorted(rows, wanted)
    known = at < len(rows)
    known[known] = rows[at[known]] == wanted[known]
    return at[known], known
