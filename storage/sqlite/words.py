"""The index of words: our own tokens in SQLite's FTS5, written in the transaction of the text they were cut from.

Three tables of the same kind: ``message``, ``summary`` and ``fact``; a row has the number of its message, its summary
or its fact. FTS5 serves as an inverted index: for each term of a question it gives the rows that hold it and how often
(table type ``fts5vocab``, https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module). Ranking is done outside of
SQL, since FTS5's own ``bm25()`` has fixed parameters and knows no neighbours.

Guarantees: a row can be found as soon as its transaction is committed, and never after it was removed; a term that is
in more than ``cap`` rows costs no more than a probe, however large the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from domain.indexes import MARKS, WORD_TABLES, Postings, WordTable
from storage.engine import Database, Transaction

#: So many pages of an index are written at the most when pieces of it are joined, so that no one waits for it.
_JOINED_PAGES = 64
#: All terms in one statement, and for each one string: read ten times faster than a row for each occurrence.
_READ = (
    "SELECT value, (SELECT group_concat(doc) FROM (SELECT doc FROM {0}_postings WHERE term = value)) FROM json_each(?)"
)
#: A probe that never reads more than the cap, and no text. In quotes nothing in a term has a meaning of its own.
_UNCOMMON = (
    " WHERE (SELECT 1 FROM {0}_words WHERE {0}_words MATCH '\"' || replace(value, '\"', '\"\"') || '\"'"
    " LIMIT 1 OFFSET ?) IS NULL"
)


class SqliteWords:
    """Which rows hold which words.

    >>> with database.write() as tx:
    ...     words.add(tx, "message", [(message.seq, tokens(message.words))])
    >>> words.postings("message", ("picnic",), cap=20_000)["picnic"].seqs
    array([41, 77])
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, tx: Transaction, table: WordTable, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Make new rows findable by these tokens.

        Tokens in ``MARKS`` are stored as bits beside the length, not as words: they are in too many rows.
        """
        words, lengths = [], []
        for seq, tokens in rows:
            own = [token for token in tokens if token not in MARKS]
            words.append((seq, " ".join(own)))
            marks = sum(1 << bit for bit, mark in enumerate(MARKS) if mark in tokens)
            lengths.append((seq, sum(not word.startswith("@") for word in own), marks))
        tx.many(f"INSERT INTO {table}_words (rowid, tokens) VALUES (?, ?)", words)
        tx.many(f"INSERT INTO {table}_length (seq, length, marks) VALUES (?, ?, ?)", lengths)

    def remove(self, tx: Transaction, table: WordTable, seqs: Sequence[int]) -> None:
        """Make rows unfindable. Their bytes go with the next ``optimize``."""
        tx.many(f"DELETE FROM {table}_words WHERE rowid = ?", [(seq,) for seq in seqs])
        tx.many(f"DELETE FROM {table}_length WHERE seq = ?", [(seq,) for seq in seqs])

    def optimize(self, tx: Transaction) -> None:
        """Merge each table into one segment, so that (with ``secure_delete``) no removed token is left."""
        for table in WORD_TABLES:
            tx.do(f"INSERT INTO {table}_words ({table}_words) VALUES ('optimize')")

    def join_pieces(self, tx: Transaction) -> None:
        """Join pieces of each table where four or more of one size lie (https://sqlite.org/fts5.html#the_merge_command).

        Each commit leaves a piece, and each term of a question is looked for in all of them.
        """
        for table in WORD_TABLES:
            tx.do(f"INSERT INTO {table}_words ({table}_words, rank) VALUES ('merge', ?)", _JOINED_PAGES)

    def rows(self, table: WordTable) -> int:
        """About how many rows a table has: the highest number in it, which costs nothing to know."""
        return int(self._database.run(f"SELECT coalesce(max(seq), 0) FROM {table}_length")[0][0])

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for one that no one used; a term in more than ``cap`` rows is left out."""
        rows = self.rows(table)
        if not rows:
            return _parse_postings(dict.fromkeys(terms, ""))
        sql = _READ.format(table) + (_UNCOMMON.format(table) if rows > cap else "")
        found = self._database.run(sql, json.dumps(terms), *((cap,) if rows > cap else ()))
        return _parse_postings({row[0]: row[1] or "" for row in found})


def _parse_postings(joined: Mapping[str, str]) -> dict[str, Postings]:
    """The rows of terms out of ``7,7,9``: the number of a row for each time the term occurs in it.

    All terms at once: one after another costs ten times as much.
    """
    import numpy as np

    occurrences = {term: text.count(",") + 1 if text else 0 for term, text in joined.items()}
    rows = np.fromstring(",".join(filter(None, joined.values())), dtype=np.int64, sep=",")
    ends = np.cumsum(list(occurrences.values()), dtype=np.int64)
    first = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    first[ends[ends < len(rows)]] = True
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(rows)))
    cuts = np.searchsorted(starts, ends).tolist()
    seqs = rows[starts]
    return {
        term: Postings(seqs[begin:end], counts[begin:end])
        for term, begin, end in zip(occurrences, [0, *cuts], cuts, strict=False)
    }
