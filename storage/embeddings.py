"""What can be found: every vector that was ever made, the queue of texts that still need one, and the index of words.

A vector is stored as float16 beside the model that made it and a digest of the text it was made from, so that a lost
index costs no call to a model, and a vector of an older text is never taken for one of the present text. Checksums of
the index files are stored here too, since they change in the same commits.

Guarantees of ``TextIndex``: a text can be found by its words as soon as it is committed, and never after it was
removed, hidden or archived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from domain.indexes import LITTLE, VectorRow
from domain.quotations import own_words
from domain.records import Kind, Message, Summary
from language.scripts import says_little
from storage.engine import EACH, Database, Row, Transaction, WordIndex, read_meta, set_meta

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.indexes import Half

    Ids = npt.NDArray[np.bytes_]

#: A text that was refused this often is set aside.
MOST_FAILURES = 3
_BATCH = 1024
#: So many rows are gone through at a time, so that no one waits long for the database.
_SLICE = 10_000
#: In ``meta``, before the name of a model.
_DIMENSION = "dimension:"
#: In ``meta``: the name of the table that is the index, and how many of the rebuilds asked for it has; in ``counter``:
#: how many were asked for.
_TABLE, _BUILT, _ASKED = "index.table", "index.built", "index.asked"
#: What is archived is in no index.
_SEARCHED = " AND NOT EXISTS (SELECT 1 FROM archived_memory f WHERE f.text_id = {0})"
_TEXTS = (
    f"SELECT seq AS place, text_id FROM conversation c WHERE seq > ? AND hidden = 0{_SEARCHED.format('c.text_id')}",
    f"SELECT seq AS place, text_id FROM summary m WHERE seq > ?{_SEARCHED.format('m.session_id')}",
)
_EMBEDDED = "SELECT text_id AS place, text_id FROM embedding WHERE text_id > ? AND model = ?"
_ENQUEUE = (
    "INSERT INTO pending (text_id, kind) VALUES (?, ?) ON CONFLICT (text_id)"
    " DO UPDATE SET kind = excluded.kind, failures = 0, reason = ''"
)
_ROWS = (
    "SELECT e.number, e.text_id, e.vector, coalesce(c.session_id, s.session_id) AS session_id,"
    " CASE WHEN c.text_id IS NULL THEN 'summary' ELSE 'conversation' END AS kind"
    " FROM embedding e LEFT JOIN conversation c ON c.text_id = e.text_id"
    " LEFT JOIN summary s ON s.text_id = e.text_id"
    " WHERE coalesce(c.session_id, s.session_id) IS NOT NULL AND e.model = ?"
)


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """How many texts have a vector of the present model, and how many still need one."""

    vectors: int
    pending: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """A text that gets no vector, and what the server said."""

    text_id: str
    reason: str


class Embeddings:
    """The tables ``embedding``, ``pending`` and ``index_file``. ``tidy`` runs in the commits for which no one waits."""

    def __init__(self, database: Database, *tidy: Callable[[Transaction], None]) -> None:
        self._database = database
        self._tidy = tidy

    def in_one_commit(self) -> AbstractContextManager[object]:
        """All that is written inside is one transaction."""
        return self._database.write()

    def enqueue(self, tx: Transaction, texts: Sequence[tuple[str, Kind]], *, new: bool = False) -> None:
        """Ask for vectors, of ``new`` texts or of texts whose key has changed: an old vector is let go."""
        if not new:
            tx.many("DELETE FROM embedding WHERE text_id = ?", [(text_id,) for text_id, _ in texts])
        tx.many(_ENQUEUE, texts)
        if texts:
            tx.follows("vectors")

    def waiting(self, limit: int = _BATCH) -> list[str]:
        """Ids of texts that need a vector."""
        query = "SELECT text_id FROM pending WHERE failures < ? LIMIT ?"
        return [row["text_id"] for row in self._database.run(query, MOST_FAILURES, limit)]

    def mark_done(self, digests: Mapping[str, str], model: str) -> None:
        """Take texts off the queue, unless their key has changed since."""
        sql = (
            "DELETE FROM pending WHERE text_id = ? AND EXISTS (SELECT 1 FROM embedding e"
            " WHERE e.text_id = pending.text_id AND e.model = ? AND e.digest = ?)"
        )
        with self._database.write() as tx:
            tx.many(sql, [(text_id, model, digest) for text_id, digest in digests.items()])
            for tidy in self._tidy:
                tidy(tx)

    def record_failure(self, text_id: str, reason: str) -> None:
        """Count one failure of a text."""
        with self._database.write() as tx:
            tx.do("UPDATE pending SET failures = failures + 1, reason = ? WHERE text_id = ?", reason, text_id)

    def try_again(self) -> None:
        """Give texts that were set aside another chance."""
        with self._database.write() as tx:
            tx.do("UPDATE pending SET failures = 0, reason = ''")

    def queue_effort(self) -> tuple[int, int]:
        """How many texts are on the queue, and how often they failed: unchanged when nothing was achieved."""
        rows = self._database.run("SELECT count(*), coalesce(sum(failures), 0) FROM pending")
        return int(rows[0][0]), int(rows[0][1])

    def set_aside(self) -> list[SetAside]:
        """Texts that were refused too often."""
        query = "SELECT text_id, reason FROM pending WHERE failures >= ? ORDER BY text_id"
        return [SetAside(*row) for row in self._database.run(query, MOST_FAILURES)]

    def counts(self, model: str) -> EmbeddingCounts:
        """How far the present model is."""
        query = (
            "SELECT (SELECT count(*) FROM embedding WHERE model = ?), (SELECT count(*) FROM pending WHERE failures < ?)"
        )
        return EmbeddingCounts(*self._database.run(query, model, MOST_FAILURES)[0])

    def take_stock(self, model: str) -> Ids:
        """Ask for a vector of this model for every text that has none.

        Returns the ids of those that have one, sorted, as an array of bytes: what the index should hold.
        """
        import numpy as np

        texts = np.sort(np.concatenate([self._read_ids(query, 0) for query in _TEXTS]))
        embedded = self._read_ids(_EMBEDDED, "", model)
        missing = [name.decode() for name in np.setdiff1d(texts, embedded, assume_unique=True).tolist()]
        for at in range(0, len(missing), _SLICE):
            self._ask_for(missing[at : at + _SLICE])
        return np.intersect1d(texts, embedded, assume_unique=True)

    def _ask_for(self, text_ids: list[str]) -> None:
        with self._database.write() as tx:
            for kind in ("conversation", "summary"):
                wanted = f"SELECT text_id, '{kind}' FROM {kind} WHERE text_id IN {EACH}"
                tx.do(f"INSERT INTO pending (text_id, kind) {wanted} ON CONFLICT (text_id) DO NOTHING", text_ids)

    # -- vectors -------------------------------------------------------------------------------------------------

    def with_vector(self, model: str, digests: Mapping[str, str]) -> set[str]:
        """Of these texts (id: digest of the key), those that have a vector already."""
        query = f"SELECT text_id, digest FROM embedding WHERE model = ? AND text_id IN {EACH}"
        rows = self._database.run(query, model, list(digests))
        return {row["text_id"] for row in rows if digests[row["text_id"]] == row["digest"]}

    def store(self, text_id: str, model: str, digest: str, vector: Half) -> None:
        """Store one vector."""
        columns = "number, text_id, model, dimension, digest, vector"
        replaced = ", ".join(f"{name} = excluded.{name}" for name in columns.split(", ") if name != "text_id")
        with self._database.write() as tx:
            tx.do(
                f"INSERT INTO embedding ({columns}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (text_id, model)"
                f" DO UPDATE SET {replaced}",
                tx.next("embedding"), text_id, model, len(vector), digest, vector.astype("<f2").data,
            )  # fmt: skip

    def remove(self, text_ids: Iterable[str]) -> None:
        """Delete every vector of these texts, of any model, and their place in the queue."""
        named = [(text_id,) for text_id in text_ids]
        with self._database.write() as tx:
            tx.many("DELETE FROM embedding WHERE text_id = ?", named)
            tx.many("DELETE FROM pending WHERE text_id = ?", named)
            tx.removed(text_id for (text_id,) in named)

    def rows(self, model: str, text_ids: Iterable[str]) -> list[VectorRow]:
        """Rows for the index, of texts that are stored and have a vector."""
        rows = self._database.run(f"{_ROWS} AND e.text_id IN {EACH}", model, list(text_ids))
        return [_vector_row(row) for row in rows]

    def changes_elsewhere(self) -> int:
        """Another number after another program has written."""
        self.waiting(1)  # looks
        return self._database.outdated

    def extent(self, model: str) -> tuple[int, int]:
        """How many texts have a vector of this model, and the number of the last that was stored."""
        query = "SELECT count(*), coalesce(max(number), 0) FROM embedding WHERE model = ?"
        count, last = self._database.run(query, model)[0]
        return int(count), int(last)

    def embedded(self, model: str) -> set[str]:
        """The ids of the texts that have a vector of this model."""
        return {name.decode() for name in self._read_ids(_EMBEDDED, "", model).tolist()}

    def batches(self, model: str, size: int = _BATCH, *, after: int = -1) -> Iterator[list[VectorRow]]:
        """All rows for the index, ``size`` at a time, in the order they were made; those stored ``after`` a number."""
        last = after
        query = f"{_ROWS} AND e.number > ? ORDER BY e.number LIMIT ?"
        while rows := self._database.run(query, model, last, size):
            last = rows[-1]["number"]
            yield [_vector_row(row) for row in rows]

    def bytes_of(self, text_ids: Sequence[str]) -> list[bytes]:
        """The bytes of every vector of these texts, as float16 and float32 and as PostgreSQL sends it, to look for."""
        import numpy as np

        found = []
        for row in self._database.run(f"SELECT vector FROM embedding WHERE text_id IN {EACH}", list(text_ids)):
            half = np.frombuffer(row["vector"], dtype="<f2")
            found += [half.tobytes(), half.astype("<f4").tobytes(), half.astype(">f2").tobytes()]
        return found

    def dimension(self, model: str) -> int | None:
        """How long the vectors of this model are; None while there were none."""
        known = read_meta(self._database, _DIMENSION + model)
        return None if known is None else int(known)

    def set_dimension(self, model: str, dimension: int) -> None:
        """Vectors of this model have this length from now on; those of another length are let go."""
        with self._database.write() as tx:
            tx.do("DELETE FROM embedding WHERE model = ? AND dimension <> ?", model, dimension)
            set_meta(self._database, _DIMENSION + model, str(dimension))

    # -- the table of the index --------------------------------------------------------------------------------------

    def index_table(self) -> str | None:
        """The name of the table that is the index; None while none was built."""
        return read_meta(self._database, _TABLE)

    def ask_for_rebuild(self) -> int:
        """Have the index rebuilt by whichever program writes it; returns the number of the request."""
        with self._database.write() as tx:
            return tx.next(_ASKED)

    def rebuilds(self) -> tuple[int, int]:
        """How many rebuilds were asked for, and how many of them are met."""
        asked = self._database.run("SELECT value FROM counter WHERE name = ?", _ASKED)
        return int(asked[0][0]) if asked else 0, int(read_meta(self._database, _BUILT) or 0)

    def note_rebuilt(self, table: str, asked: int) -> None:
        """The index is this table from now on, and rebuilds up to the number ``asked`` are met."""
        with self._database.write():
            set_meta(self._database, _TABLE, table)
            set_meta(self._database, _BUILT, str(asked))

    # -- checksums of the index ----------------------------------------------------------------------------------

    def checksums(self) -> dict[str, str]:
        """The checksums of the index by the paths of its files."""
        return {row["path"]: row["checksum"] for row in self._database.run("SELECT path, checksum FROM index_file")}

    def store_checksums(self, written: Mapping[str, str], deleted: Iterable[str]) -> None:
        """Store the checksums of files that were written, and remove those of files that are deleted."""
        with self._database.write() as tx:
            tx.many("DELETE FROM index_file WHERE path = ?", [(path,) for path in (*deleted, *written)])
            tx.many("INSERT INTO index_file (path, checksum) VALUES (?, ?)", written.items())

    def remove_checksums(self) -> None:
        """Remove all of them."""
        with self._database.write() as tx:
            tx.do("DELETE FROM index_file")

    def _read_ids(self, query: str, last: int | str, *more: str) -> Ids:
        """All ids of a query, a slice at a time in the order of ``place``.

        Each slice is one string, and texts are read in the order they lie in: six times as fast as a row for each.
        """
        import numpy as np

        found = [np.array([], dtype="S1")]
        sql = (
            "SELECT max(read_once.place), group_concat(read_once.text_id, ?)"
            f" FROM ({query} ORDER BY place LIMIT {_SLICE}) AS read_once"
        )
        while joined := (row := self._database.run(sql, "\n", last, *more)[0])[1]:
            last = row[0]
            found.append(np.array(joined.encode().split(b"\n")))
        return np.concatenate(found)


def _vector_row(row: Row) -> VectorRow:
    import numpy as np

    vector = np.frombuffer(row["vector"], dtype="<f2").astype(np.float32)
    return VectorRow(row["text_id"], row["kind"], row["session_id"], vector)


ANY_ARCHIVED = "SELECT 1 FROM archived_memory LIMIT 1"


@dataclass(frozen=True)
class TextIndex:
    """Writes the index of words and the queue for vectors. ``tokens`` cuts a text into words."""

    database: Database
    words: WordIndex
    embeddings: Embeddings
    tokens: Callable[[str], Sequence[str]]

    def add_messages(self, tx: Transaction, messages: Iterable[Message], *, new: bool = False) -> None:
        """Messages can be found from this commit on, but those that are hidden or archived.

        ``new`` ones were never stored before, so nothing of them is looked for first.
        """
        shown = [message for message in messages if not message.hidden]
        if not new:
            archived = self.archived_among([message.text_id for message in shown])
            shown = [message for message in shown if message.text_id not in archived]
            self.words.remove(tx, "message", [message.seq for message in shown])
        # A message is found by its own words, and by the name of whoever else said it.
        rows = []
        for message in shown:
            own = own_words(message)
            found = self.tokens(f"{message.speaker}\n{own}".strip())
            rows.append((message.seq, [*found, LITTLE] if says_little(own) else found))
        self.words.add(tx, "message", rows)
        self.embeddings.enqueue(tx, [(message.text_id, "conversation") for message in shown], new=new)

    def remove_messages(self, tx: Transaction, messages: Sequence[Message]) -> None:
        """Messages cannot be found from this commit on."""
        self.words.remove(tx, "message", [message.seq for message in messages])
        self.embeddings.remove(message.text_id for message in messages)

    def add_summary(self, tx: Transaction, summary: Summary, *, new: bool = False) -> None:
        """A summary can be found from this commit on, but one of a session that is archived out of the search."""
        if not self.archived_among([summary.session_id]):
            if not new:
                self.words.remove(tx, "summary", [summary.seq])
            self.words.add(tx, "summary", [(summary.seq, self.tokens(summary.summary))])
            self.embeddings.enqueue(tx, [(summary.text_id, "summary")], new=new)

    def remove_summary(self, tx: Transaction, summary: Summary) -> None:
        """A summary cannot be found from this commit on."""
        self.words.remove(tx, "summary", [summary.seq])
        self.embeddings.remove([summary.text_id])

    def set_facts(self, tx: Transaction, facts: Sequence[tuple[int, str]], *, new: bool = False) -> None:
        """Facts are found by these words from this commit on, and by none where there are none."""
        if not new:
            self.words.remove(tx, "fact", [number for number, _ in facts])
        self.words.add(tx, "fact", [(number, self.tokens(text)) for number, text in facts if text])

    def embed_again(self, tx: Transaction, text_ids: Iterable[str]) -> None:
        """Make the vectors of messages again whose key has changed."""
        wanted = list(text_ids)
        archived = self.archived_among(wanted)
        self.embeddings.enqueue(tx, [(one, "conversation") for one in wanted if one not in archived])

    def archived_among(self, names: Sequence[str]) -> set[str]:
        """Which of these messages or sessions are archived out of the search."""
        if not names or not self.database.run(ANY_ARCHIVED):
            return set()
        query = f"SELECT text_id FROM archived_memory WHERE text_id IN {EACH}"
        return {row[0] for row in self.database.run(query, list(names))}
