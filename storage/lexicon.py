"""The lexical index: our own tokens in SQLite's FTS5, written in the transaction of what they were made from.

Three shelves of the same kind: ``turn``, ``summary`` and ``fact``; a row of a shelf has the ``seq`` of its
turn, its summary or its fact. FTS5 is used as an inverted index: for each term of a question it gives the
rows that hold it and how often (table type ``fts5vocab``,
https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module), and the ranking is made from that outside
of SQL, since FTS5's own ``bm25()`` has fixed parameters and knows no neighbours.

Promises: a row can be found as soon as its transaction is committed, and never after it was removed; a term
that stands in more than ``cap`` rows costs no more than a probe, however large the shelf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.schema import SHELVES, Shelf

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from storage.database import Database

    Integers = npt.NDArray[np.int64]

#: Tokens that say what a text is; the place in this list is the bit in the column ``marks``.
MARKS = ("@asks", "@time", "@number", "@named")

Sql = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term stands: row numbers in ascending order and how often in each."""

    seqs: Integers
    counts: Integers


class Lexicon:
    """The index of words. Writes take the ``sql`` of the caller's transaction.

    >>> with database.write() as sql:
    ...     lexicon.add(sql, "turn", turn.seq, words.tokens(turn.words))
    >>> lexicon.postings("turn", ("picnic",), cap=20_000)["picnic"].seqs
    array([41, 77])
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sql: Sql, shelf: Shelf, seq: int, tokens: Sequence[str]) -> None:
        """Make a row findable; a row that was there before is replaced.

        Tokens in ``MARKS`` are kept as bits beside the length, not as words: they stand in too many rows.
        """
        self.remove(sql, shelf, (seq,))
        words = [token for token in tokens if token not in MARKS]
        length = sum(not word.startswith("@") for word in words)
        marks = sum(1 << bit for bit, mark in enumerate(MARKS) if mark in tokens)
        sql(f"INSERT INTO {shelf}_words (rowid, tokens) VALUES (?, ?)", (seq, " ".join(words)))
        sql(f"INSERT INTO {shelf}_length (seq, length, marks) VALUES (?, ?, ?)", (seq, length, marks))

    def remove(self, sql: Sql, shelf: Shelf, seqs: Iterable[int]) -> None:
        """Make rows unfindable. Their bytes go with the next ``optimize``."""
        for seq in seqs:
            sql(f"DELETE FROM {shelf}_words WHERE rowid = ?", (seq,))
            sql(f"DELETE FROM {shelf}_length WHERE seq = ?", (seq,))

    def optimize(self, sql: Sql) -> None:
        """Merge each shelf into one segment, so that (with ``secure_delete``) no removed token is left."""
        for shelf in SHELVES:
            sql(f"INSERT INTO {shelf}_words ({shelf}_words) VALUES ('optimize')")

    def check(self, sql: Sql) -> None:
        """Let FTS5 compare its index with its content; raises Damaged where they differ."""
        for shelf in SHELVES:
            sql(f"INSERT INTO {shelf}_words ({shelf}_words) VALUES ('integrity-check')")

    def rebuild(self, sql: Sql) -> None:
        """Make every index anew from the tokens kept beside it."""
        for shelf in SHELVES:
            sql(f"INSERT INTO {shelf}_words ({shelf}_words) VALUES ('rebuild')")

    def rows(self, shelf: Shelf) -> int:
        """About how many rows a shelf has: the highest number in it, which costs nothing to know."""
        return int(self._database.read(f"SELECT coalesce(max(seq), 0) FROM {shelf}_length")[0][0])

    def postings(self, shelf: Shelf, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for a term that nobody used; a term in more than ``cap`` rows is left out."""
        return {
            term: self._postings_of(shelf, term) for term in terms if not self._is_common(shelf, term, cap)
        }

    def _is_common(self, shelf: Shelf, term: str, cap: int) -> bool:
        """A probe that never reads more than ``cap`` rows, and none of their text."""
        probe = f"SELECT 1 FROM {shelf}_words WHERE {shelf}_words MATCH ? LIMIT 1 OFFSET ?"
        return bool(self._database.read(probe, (_quoted(term), cap)))

    def _postings_of(self, shelf: Shelf, term: str) -> Postings:
        """One string from SQLite is read ten times faster than a row for each occurrence."""
        import numpy as np

        sql = f"SELECT group_concat(doc) FROM (SELECT doc FROM {shelf}_postings WHERE term = ?)"
        joined = self._database.read(sql, (term,))[0][0]
        rows = np.fromstring(joined or "", dtype=np.int64, sep=",")
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        return Postings(rows[starts], np.diff(starts, append=len(rows)))


def _quoted(term: str) -> str:
    """A term as an FTS5 string, in which nothing has a meaning of its own."""
    return '"' + term.replace('"', '""') + '"'
