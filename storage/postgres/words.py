"""The index of words as packed postings: a row for each term and 512 texts, two bytes for each text that has it.

Guarantees: a row can be found as soon as its transaction is committed, and never after it was removed; a term that is
in more than ``cap`` rows is counted, and its postings are not read.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain.indexes import MARKS, Postings, WordTable
from storage.engine import EACH, Database, Transaction

#: Texts of one row; with nine bits for the place in it, seven are left for how often a term occurs.
_BLOCK, _PLACE_BITS, _MOST = 512, 9, 127
#: A longer term is known by its digest: an entry of a btree has no room for it.
_LONGEST = 200

_ADD = (
    "INSERT INTO posting (shelf, term, block, n, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT (shelf, term, block)"
    " DO UPDATE SET n = posting.n + excluded.n, data = posting.data || excluded.data"
)
#: Of each term the blocks, how many entries each has, and all entries; none of these where it is in too many rows.
_READ = (
    "SELECT term, CASE WHEN sum(n) <= ? THEN array_agg(block) END, CASE WHEN sum(n) <= ? THEN array_agg(n) END,"
    " CASE WHEN sum(n) <= ? THEN string_agg(data, '') END"
    f" FROM posting WHERE shelf = ? AND term IN {EACH} GROUP BY term"
)


class PostgresWords:
    """Which rows hold which words."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, tx: Transaction, table: WordTable, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Make new rows findable by these tokens; those in ``MARKS`` are bits beside the length."""
        entries: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        words, lengths = [], []
        for seq, tokens in rows:
            own = [token for token in tokens if token not in MARKS]
            counts = Counter(map(_key_of, own))
            for term, count in counts.items():
                entries[term, seq // _BLOCK].append(min(count, _MOST) << _PLACE_BITS | seq % _BLOCK)
            marks = sum(1 << bit for bit, mark in enumerate(MARKS) if mark in tokens)
            words.append((table, seq, list(counts)))
            lengths.append((seq, sum(not word.startswith("@") for word in own), marks))
        tx.many("INSERT INTO indexed_words (shelf, seq, terms) VALUES (?, ?, ?)", words)
        tx.many(f"INSERT INTO {table}_length (seq, length, marks) VALUES (?, ?, ?)", lengths)
        # In one order everywhere, so that two writers never wait for each other.
        packed = ((table, term, block, len(found), _packed(found)) for (term, block), found in sorted(entries.items()))
        tx.many(_ADD, packed)

    def remove(self, tx: Transaction, table: WordTable, seqs: Sequence[int]) -> None:
        """Make rows unfindable, by the terms that each was added with."""
        gone: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        query = f"DELETE FROM indexed_words WHERE shelf = ? AND seq IN {EACH} RETURNING seq, terms"
        for seq, terms in tx.run(query, table, list(seqs)) if seqs else ():
            for term in terms:
                gone[term, seq // _BLOCK].add(seq % _BLOCK)
        kept, empty = [], []
        found = f"SELECT term, block, data FROM posting WHERE shelf = ? AND term IN {EACH} AND block IN {EACH}"
        terms, blocks = (sorted({key[at] for key in gone}) for at in (0, 1))
        for term, block, data in self._database.run(found, table, terms, blocks) if gone else ():
            left = [one for one in _unpacked(data) if one & (_BLOCK - 1) not in gone[term, block]]
            if len(left) * 2 == len(data):
                continue  # another block of this term
            if left:
                kept.append((len(left), _packed(left), table, term, block))
            else:
                empty.append((table, term, block))
        tx.many("UPDATE posting SET n = ?, data = ? WHERE shelf = ? AND term = ? AND block = ?", kept)
        tx.many("DELETE FROM posting WHERE shelf = ? AND term = ? AND block = ?", empty)
        tx.many(f"DELETE FROM {table}_length WHERE seq = ?", [(seq,) for seq in seqs])

    def optimize(self, tx: Transaction) -> None:
        """Nothing is left of a row that was removed."""

    def join_pieces(self, tx: Transaction) -> None:
        """There are no pieces: a commit adds to the rows that are there."""

    def rows(self, table: WordTable) -> int:
        """About how many rows a table has: the highest number in it, which costs nothing to know."""
        return int(self._database.run(f"SELECT coalesce(max(seq), 0) FROM {table}_length")[0][0])

    def postings(self, table: WordTable, terms: Sequence[str], cap: int) -> Mapping[str, Postings]:
        """The rows of each term, none for one that no one used; a term in more than ``cap`` rows is left out."""
        import numpy as np

        keys = {_key_of(term): term for term in terms}
        rows = self._database.run(_READ, cap, cap, cap, table, list(keys))
        found: dict[str, Sequence[Any]] = {key: ([], [], b"") for key in keys} | {row[0]: row[1:] for row in rows}
        rare = [key for key in keys if found[key][0] is not None]
        # All terms at once: one after another costs ten times as much.
        entries = np.frombuffer(b"".join(found[key][2] for key in rare), dtype="<u2").astype(np.int64)
        numbers, counted = ([one for key in rare for one in found[key][at]] for at in (0, 1))
        blocks = np.repeat(np.array(numbers, np.int64), counted)
        ends = np.cumsum([len(found[key][2]) // 2 for key in rare], dtype=np.int64)
        of = np.searchsorted(ends, np.arange(len(entries)), side="right")
        seqs = blocks * _BLOCK + (entries & (_BLOCK - 1))
        order = np.lexsort((seqs, of))
        seqs, counts = seqs[order], (entries >> _PLACE_BITS)[order]
        return {
            keys[key]: Postings(seqs[begin:end], counts[begin:end])
            for key, begin, end in zip(rare, [0, *ends.tolist()], ends.tolist(), strict=False)
        }


def _key_of(term: str) -> str:
    return term if len(term) <= _LONGEST else hashlib.sha256(term.encode()).hexdigest()


def _packed(entries: Iterable[int]) -> bytes:
    return b"".join(entry.to_bytes(2, "little") for entry in entries)


def _unpacked(data: bytes) -> list[int]:
    return [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]
