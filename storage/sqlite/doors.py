"""What other doors than the terminal keep: the SQL of held rounds, of what is to be read of them, and of memories.

Each method is one transaction, or part of the one that its caller is in. The view ``conversation_memories`` is what
other programs may read of the database; a note says what such a memory says, and no word of it stands twice.

A session that has ended, in which only the person spoke, stays active with the time of its end until it is archived:
whatever happens meanwhile, it is known that it waits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from domain.held import DueCleaning, HeldRound, KeptMemory
from storage.sqlite.database import Tables

if TYPE_CHECKING:
    from domain.vectors import Vector

_HELD = "SELECT number, chain, session_id, text_id, message FROM held_round"
_MEMORY = (
    "SELECT id, summary, key_points, memory_type, importance_score, conversation_round, created_at"
    " FROM conversation_memories WHERE NOT is_deleted"
)


class DoorTables(Tables):
    """Ends sessions of doors; reads and writes ``held_round``, ``cleaning``, ``note_deletion`` and ``note_vector``."""

    # -- sessions ------------------------------------------------------------------------------------------------

    def end_session(self, session_id: str, ended: str) -> None:
        """Note that an active session has ended, and waits to be archived."""
        with self._database.write() as sql:
            sql(
                "UPDATE session SET end_timestamp = ? WHERE session_id = ? AND end_timestamp IS NULL",
                (ended, session_id),
            )

    # -- histories -----------------------------------------------------------------------------------------------

    def held_rounds(self, digests: Sequence[str]) -> list[HeldRound]:
        """The messages with these digests that were ever stored, in the order in which they were."""
        return self._held("chain", digests)

    def held_in(self, sessions: Sequence[str]) -> list[HeldRound]:
        """The messages of these sessions that clients' histories named, in the order in which they were stored."""
        return self._held("session_id", sessions)

    def _held(self, column: str, values: Sequence[str]) -> list[HeldRound]:
        rows = self._read_parts(f"{_HELD} WHERE {column} IN ({{}})", values)
        return sorted((HeldRound(*row) for row in rows), key=lambda held: held.number)

    def hold(self, digest: str, session_id: str, text_id: str, message: int, now: str) -> None:
        """Note that a message is stored, under one more digest if need be."""
        known = self._read("SELECT 1 FROM held_round WHERE text_id = ? AND chain = ?", text_id, digest)
        with self._database.write() as sql:
            if not known:
                columns = "(chain, session_id, text_id, message, stored_at) VALUES (?, ?, ?, ?, ?)"
                sql(f"INSERT INTO held_round {columns}", (digest, session_id, text_id, message, now))

    def hold_instead(self, text_id: str, present: str) -> None:
        """Let another round stand in the place of one that it was stored instead of."""
        with self._database.write() as sql:
            sql("UPDATE held_round SET text_id = ? WHERE text_id = ?", (present, text_id))

    # -- cleaning ------------------------------------------------------------------------------------------------

    def owe_cleaning(self, due: DueCleaning, now: str) -> bool:
        """Note that a stretch of a conversation is to be read; once for all. False when it was noted before."""
        columns = "(chain, conversation_round, door_key, chains, stored_at) VALUES (?, ?, ?, ?, ?)"
        values = (due.last, due.round, due.door_key, json.dumps(due.text_ids), now)
        with self._database.write() as sql:
            return bool(sql(f"INSERT OR IGNORE INTO cleaning {columns}", values).rowcount)

    def due_cleanings(self) -> list[DueCleaning]:
        """What is still to be read, the oldest first."""
        query = (
            "SELECT chain, conversation_round, door_key, chains FROM cleaning WHERE done_at = ''"
            " ORDER BY stored_at, conversation_round"
        )
        return [DueCleaning(row[0], row[1], row[2], tuple(json.loads(row[3]))) for row in self._read(query)]

    def end_cleaning(self, due: DueCleaning, now: str) -> None:
        """All of it was read."""
        done = "UPDATE cleaning SET done_at = ? WHERE chain = ? AND conversation_round = ?"
        with self._database.write() as sql:
            sql(done, (now, due.last, due.round))

    # -- memories ------------------------------------------------------------------------------------------------

    def name_owner(self, person: str, instruction: int | None) -> None:
        """Note whose memory this is, for those who read its tables."""
        values = {"person": person} | ({} if instruction is None else {"instruction": str(instruction)})
        kept = {row[0]: row[1] for row in self._read("SELECT key, value FROM meta")}
        if values.items() <= kept.items():
            return
        with self._database.write() as sql:
            for key, value in values.items():
                sql("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def kept_memories(self, numbers: Sequence[int] | None = None) -> list[KeptMemory]:
        """All memories that are not hidden, or those with these numbers, the newest first."""
        some = f"{_MEMORY} AND id IN ({{}})"
        rows = self._read(_MEMORY) if numbers is None else self._read_parts(some, numbers)
        return sorted((KeptMemory(*row) for row in rows), key=lambda one: -one.number)

    def memory_importances(self) -> Mapping[int, int]:
        """How important each memory is that is not hidden, by number."""
        shown = "SELECT seq, importance FROM note WHERE seq NOT IN (SELECT note FROM note_deletion)"
        return {int(row[0]): int(row[1]) for row in self._read(shown)}

    def turns_of_memory(self, number: int) -> list[str]:
        """The turns that a memory rests on, also one that is hidden; none when there is no such memory."""
        query = "SELECT c.text_id FROM note_turn t JOIN conversation c ON c.seq = t.turn WHERE t.note = ?"
        return [str(row[0]) for row in self._read(query, number)]

    def facts_of_memory(self, number: int) -> list[str]:
        """The facts in a memory."""
        return [str(row[0]) for row in self._read("SELECT text_id FROM fact WHERE note = ?", number)]

    def hide_memory(self, number: int, now: str) -> bool:
        """List a memory no more. False when there is none, or it is hidden already."""
        hidden = "INSERT OR IGNORE INTO note_deletion SELECT seq, ? FROM note WHERE seq = ?"
        with self._database.write() as sql:
            return bool(sql(hidden, (now, number)).rowcount)

    def hide_memories_before(self, moment: str, now: str) -> int:
        """List the memories no more that were made before a moment. Returns how many."""
        old = (
            " FROM note WHERE julianday(stored_at) < julianday(?)"
            " AND seq NOT IN (SELECT note FROM note_deletion)"
        )
        if not self._read(f"SELECT 1{old} LIMIT 1", moment):
            return 0
        with self._database.write() as sql:
            return sql(f"INSERT INTO note_deletion SELECT seq, ?{old}", (now, moment)).rowcount

    def memories_without_vector(self, model: str) -> list[int]:
        """The memories that are not hidden and have no vector of this model."""
        query = (
            "SELECT seq FROM note WHERE seq NOT IN (SELECT note FROM note_deletion)"
            " AND seq NOT IN (SELECT note FROM note_vector WHERE model = ?)"
        )
        return [int(row[0]) for row in self._read(query, model)]

    def memory_vectors(self, model: str, dimension: int) -> tuple[list[int], Vector]:
        """The vectors of this model and length: the numbers of their memories, and a row for each."""
        import numpy as np

        query = "SELECT note, vector FROM note_vector WHERE model = ? AND length(vector) = ?"
        rows = self._read(query, model, 2 * dimension)
        table = np.frombuffer(b"".join(row[1] for row in rows), "<f2").astype(np.float32)
        return [int(row[0]) for row in rows], table.reshape(len(rows), dimension)

    def keep_memory_vector(self, number: int, model: str, vector: Vector) -> None:
        """Keep the vector of a memory, if that is still there."""
        kept = "INSERT OR REPLACE INTO note_vector SELECT seq, ?, ? FROM note WHERE seq = ?"
        with self._database.write() as sql:
            sql(kept, (model, vector.astype("<f2").tobytes(), number))
