"""The lexical index: our own tokens in SQLite's FTS5, written in the transaction of what they were made from.

Three tables of the same kind: ``turn``, ``summary`` and ``fact``; a row of a table has the ``seq`` of its
turn, its summary or its fact. FTS5 is used as an inverted index: for each term of a question it gives the
rows that hold it and how often (table type ``fts5vocab``,
https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module), and the ranking is made from that outside
of SQL, since FTS5's own ``bm25()`` has fixed parameters and knows no neighbours.

Promises: a row can be found as soon as its transaction is committed, and never after it was removed; a term
that stands in more than ``cap`` rows costs no more than a probe, however large the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.sqlite.database import Sql
from storage.sqlite.schema import WORD_TABLES, WordTable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from storage.sqlite.database import Database

    Integers = npt.NDArray[np.int64]

#: Tokens that say what a text is; the place in this list is the bit in the column ``marks``.
MARKS = ("@asks", "@time", "@number", "@named")

#: All terms in one statement, and for each one string: read ten times faster than a row for each occurrence.
_READ = (
    "SELECT value, (SELECT group_concat(doc) FROM (SELECT doc FROM {0}_postings WHERE term = value))"
    " FROM json_each(?)"
)
#: A probe that never reads more than the cap, and no text. In quotes nothing in a term has a meaning of its own.
_UNCOMMON = (
    " WHERE (SELECT 1 FROM {0}_words WHERE {0}_words MATCH '\"' || replace(value, '\"', '\"\"') || '\"'"
    " LIMIT 1 OFFSET ?) IS NULL"
)


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

    def add(self, sql: Sql, table: WordTable, seq: int, tokens: Sequence[str]) -> None:
        """Make a row findable; a row that was there before is replaced.

        Tokens in ``MARKS`` are kept as bits beside the length, not as words: they stand in too many rows.
        """
        self.remove(sql, table, (seq,))
        words = [token for token in tokens if token not in MARKS]
        length = sum(not word.startswith("@") for word in words)
        marks = sum(1 << bit for bit, mark in enumerate(MARKS) if mark in tokens)
        sql(f"INSERT INTO {table}_words (rowid, tokens) VALUES (?, ?)", (seq, " ".join(words)))
        sql(f"INSERT INTO {table}_length (seq, length, marks) VALUES (?, ?, ?)", (seq, length, marks))

    def remove(self, sql: Sql, table: WordTable, seqs: Iterable[int]) -> None:
        """Make rows unfindable. Their bytes go with the next ``optimize``."""
        for seq in seqs:
            sql(f"DELETE FROM {table}_words WHERE rowid = ?", (seq,))
            sql(f"DELETE FROM {table}_length WHERE seq = ?", (seq,))

    def optimize(self, sql: Sql) -> None:
        """Merge each table into one segment, so that (with ``secure_delete``) no removed token is left."""
        for table in WORD_TABLES:
            sql(f"INSERT INTO {table}_words ({table}_words) VALUES ('optimize')")

    def check(self, sql: Sql) -> None:
        """Let FTS5 compare its index with its content; raises Damaged where they differ."""
        for table in WORD_TABLES:
            sql(f"INSERT INTO {table}_words ({table}_words) VALUES ('integrity-check')")

    def rebuild(self, sql: Sql) -> None:
        """Make every index anew from the tokens kept beside it."""
        for table in WORD_TABLES:
            sql(f"INSERT INTO {table}_words ({table}_words) VALUES ('rebuild')")

    def rows(self, table: WordTable) -> int:
        """About how many rows a table has: the highest number in it, which costs nothing to know."""
        return int(self._database.read(f"SELECT coalesce(max(seq), 0) FROM {table}_length")[0][0])

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for a term that nobody used; a term in more than ``cap`` rows is left out."""
        rows = self.rows(table)
        if not rows:
            return _postings(dict.fromkeys(terms, ""))
        sql = _READ.format(table) + (_UNCOMMON.format(table) if rows > cap else "")
        found = self._database.read(sql, (json.dumps(terms), cap) if rows > cap else (json.dumps(terms),))
        return _postings({row[0]: row[1] or "" for row in found})


def _postings(joined: Mapping[str, str]) -> dict[str, Postings]:
    """The rows of terms out of ``7,7,9``: the number of a row for each time a term stands in it.

    All terms at once: one after another costs ten times as much.
    """
    import numpy as np

    held = {term: text.count(",") + 1 if text else 0 for term, text in joined.items()}
    rows = np.fromstring(",".join(filter(None, joined.values())), dtype=np.int64, sep=",")
    ends = np.cumsum(list(held.values()), dtype=np.int64)
    first = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    first[ends[ends < len(rows)]] = True
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(rows)))
    cuts = np.searchsorted(starts, ends).tolist()
    seqs = rows[starts]
    return {
        term: Postings(seqs[begin:end], counts[begin:end])
        for term, begin, end in zip(held, [0, *cuts], cuts, strict=False)
    }
