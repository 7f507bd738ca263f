"""What clients keep in a memory: rounds of histories that they store themselves, what is to be read of them, memories.

The view ``conversation_memories`` is what other programs may read of the database; a note says what such a memory says,
and no word of it is stored twice. What was hidden is listed nowhere and supports nothing that is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from domain.recollection import ClientNote
from domain.records import DueExtraction, MessageDigest
from storage.engine import EACH, read_meta, set_meta
from storage.repositories import Repositories

if TYPE_CHECKING:
    from domain.indexes import Vector

_STORED_ROUND = "SELECT number, chain, session_id, text_id, message FROM client_round"
_MEMORY = (
    "SELECT id, summary, key_points, memory_type, importance_score, conversation_round, created_at"
    " FROM conversation_memories WHERE deleted_at IS NULL"
)
#: Lists the notes of which something is so no more.
_HIDE = (
    "INSERT INTO note_deletion (note, deleted_at) SELECT seq, CAST(? AS TEXT) FROM note WHERE {0}"
    " ON CONFLICT (note) DO NOTHING RETURNING note"
)


class Clients:
    """Reads and writes the tables ``client_round``, ``client_extraction``, ``note_deletion`` and ``note_vector``."""

    def __init__(self, of: Repositories) -> None:
        self._of = of
        self._database = of.database
        self._stamp = of.stamp

    # -- histories -----------------------------------------------------------------------------------------------

    def digests_matching(self, digests: Sequence[str]) -> list[MessageDigest]:
        """The messages with these digests that were ever stored, in the order in which they were."""
        return self._read_digests("chain", digests)

    def digests_in_sessions(self, sessions: Sequence[str]) -> list[MessageDigest]:
        """The messages of these sessions that clients' histories named, in the order in which they were stored."""
        return self._read_digests("session_id", sessions)

    def _read_digests(self, column: str, values: Sequence[str]) -> list[MessageDigest]:
        query = f"{_STORED_ROUND} WHERE {column} IN {EACH} ORDER BY number"
        return [MessageDigest(*row) for row in self._database.run(query, list(values))] if values else []

    def record_digest(self, digest: str, session_id: str, text_id: str, message: int) -> None:
        """Note that a message is stored, under one more digest if need be."""
        known = "SELECT 1 FROM client_round WHERE text_id = ? AND chain = ?"
        with self._database.write() as tx:
            if not self._database.run(known, text_id, digest):
                columns = "(number, chain, session_id, text_id, message, stored_at) VALUES (?, ?, ?, ?, ?, ?)"
                values = (tx.next("client_round"), digest, session_id, text_id, message, self._stamp.now())
                tx.do(f"INSERT INTO client_round {columns}", *values)

    def move_digests(self, text_id: str, present: str) -> None:
        """Let another round take the place of one that it was stored instead of."""
        with self._database.write() as tx:
            tx.do("UPDATE client_round SET text_id = ? WHERE text_id = ?", present, text_id)

    # -- what is to be read --------------------------------------------------------------------------------------

    def owe_extraction(self, due: DueExtraction) -> bool:
        """Note that a stretch of a conversation is to be read; once for all. False when it was noted before."""
        columns = "(chain, conversation_round, client_key, chains, stored_at) VALUES (?, ?, ?, ?, ?)"
        again = "ON CONFLICT (chain, conversation_round) DO NOTHING"
        once = f"INSERT INTO client_extraction {columns} {again} RETURNING chain"
        values = (due.last, due.round, due.client_key, json.dumps(due.text_ids), self._stamp.now())
        with self._database.write() as tx:
            return bool(tx.run(once, *values))

    def due_extractions(self) -> list[DueExtraction]:
        """What is still to be read, the oldest first."""
        query = (
            "SELECT chain, conversation_round, client_key, chains FROM client_extraction WHERE done_at = ''"
            " ORDER BY stored_at, conversation_round"
        )
        return [DueExtraction(row[0], row[1], row[2], tuple(json.loads(row[3]))) for row in self._database.run(query)]

    def end_extraction(self, due: DueExtraction) -> None:
        """All of it was read."""
        done = "UPDATE client_extraction SET done_at = ? WHERE chain = ? AND conversation_round = ?"
        with self._database.write() as tx:
            tx.do(done, self._stamp.now(), due.last, due.round)

    # -- memories ------------------------------------------------------------------------------------------------

    def name_owner(self, person: str, instruction: int | None, batch: int) -> None:
        """Note whose memory this is, and how many messages are a batch, for those who read its tables."""
        values = {"person": person, "conversation_batch": str(batch)}
        if instruction is not None:
            values["instruction"] = str(instruction)
        for key, value in values.items():
            if read_meta(self._database, key) != value:
                set_meta(self._database, key, value)

    def memories(self, numbers: Sequence[int] | None = None) -> list[ClientNote]:
        """All memories that are not hidden, or those with these numbers, the newest first."""
        if numbers is None:
            rows = self._database.run(f"{_MEMORY} ORDER BY id DESC")
        else:
            rows = self._database.run(f"{_MEMORY} AND id IN {EACH} ORDER BY id DESC", list(numbers))
        return [ClientNote(*row) for row in rows]

    def importances(self) -> Mapping[int, int]:
        """How important each memory is that is not hidden, by number."""
        shown = "SELECT seq, importance FROM note WHERE seq NOT IN (SELECT note FROM note_deletion)"
        return {int(row[0]): int(row[1]) for row in self._database.run(shown)}

    def messages_of(self, number: int) -> list[str]:
        """The messages that a memory rests on, also one that is hidden; none when there is no such memory."""
        query = "SELECT c.text_id FROM note_message t JOIN conversation c ON c.seq = t.message WHERE t.note = ?"
        return [str(row[0]) for row in self._database.run(query, number)]

    def hide(self, number: int) -> bool:
        """List a memory no more, and let what was known by it never have been. False when there is no such memory."""
        with self._database.write() as tx:
            if not tx.run(_HIDE.format("seq = ?"), self._stamp.now(), number):
                return False
            for (fact,) in self._database.run("SELECT text_id FROM fact WHERE note = ?", number):
                self._of.fact_log.correct_by_hand(fact, None)
        return True

    def hide_before(self, moment: datetime) -> int:
        """List the memories no more that were made before a moment. Returns how many; what is known stays known."""
        instant = moment.replace(microsecond=0).timestamp()
        with self._database.write() as tx:
            return len(tx.run(_HIDE.format("instant < ?"), self._stamp.now(), instant))

    def without_vector(self, model: str) -> list[int]:
        """The memories that are not hidden and have no vector of this model."""
        query = (
            "SELECT seq FROM note WHERE seq NOT IN (SELECT note FROM note_deletion)"
            " AND seq NOT IN (SELECT note FROM note_vector WHERE model = ?)"
        )
        return [int(row[0]) for row in self._database.run(query, model)]

    def vectors(self, model: str, dimension: int) -> tuple[list[int], Vector]:
        """The vectors of this model and length: the numbers of their memories, and a row for each."""
        import numpy as np

        rows = self._database.run(
            "SELECT note, vector FROM note_vector WHERE model = ? AND length(vector) = ?", model, 2 * dimension
        )
        table = np.frombuffer(b"".join(row[1] for row in rows), "<f2").astype(np.float32)
        return [int(row[0]) for row in rows], table.reshape(len(rows), dimension)

    def store_vectors(self, model: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Store vectors of memories, by number; of one that is gone nothing is stored."""
        kept = (
            "INSERT INTO note_vector (note, model, vector, embedding)"
            " SELECT seq, CAST(? AS TEXT), CAST(? AS BLOB), CAST(? AS TEXT) FROM note WHERE seq = ?"
            " ON CONFLICT (note, model) DO UPDATE SET vector = excluded.vector, embedding = excluded.embedding"
        )
        # As other programs read it: a list in JSON, to the precision at which it is stored.
        lists = ((number, vector, json.dumps([round(float(one), 4) for one in vector])) for number, vector in vectors)
        rows = [(model, vector.astype("<f2").tobytes(), shown, number) for number, vector, shown in lists]
        with self._database.write() as tx:
            tx.many(kept, rows)
