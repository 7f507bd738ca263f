"""What other doors than the terminal ask of a memory: ``Memory.doors``.

    sessions_of_door, start_door_session   sessions that a door holds, beside those of the terminal
    store_alone, ..., end_session          sessions in which only the person speaks; a job archives them afterwards
    held_rounds, held_in, hold, ...        which messages of a client's history are stored
    owe_cleaning, due_cleanings, ...       what is to be read of them, durable
    kept_memories, hide_memory, ...        notes, as a chat API lists them

Promises: each verb is one commit or nothing; what nobody answers never looks as if somebody had; what was hidden is
listed nowhere and stands behind nothing that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from domain.held import DueCleaning, HeldRound, KeptMemory
from domain.records import ErasureScope, Session, Turn
from storage.erasure import Eraser
from storage.store import NewTurn, Store

if TYPE_CHECKING:
    from domain.vectors import Vector


class DoorVerbs:
    """The verbs of one memory for doors, over its store and its eraser.

    ``tell_index`` is told which texts are gone, also when there are only new ones.
    """

    def __init__(
        self,
        store: Store,
        eraser: Eraser,
        *,
        clock: Callable[[], datetime],
        new_session_id: Callable[[], str],
        tell_index: Callable[[Sequence[str]], None],
    ) -> None:
        self._store = store
        self._eraser = eraser
        self._clock = clock
        self._new_session_id = new_session_id
        self._tell_index = tell_index

    # -- sessions and histories ----------------------------------------------------------------------------------

    def sessions_of_door(self, door: str, key: str | None = None) -> list[Session]:
        """Every session of a door, or those of one of its keys, oldest first."""
        return self._store.sessions_of_door(door, key)

    def start_door_session(self, door: str, key: str) -> Session:
        """A new active session that a door holds under a key; the terminal never goes on with it by itself."""
        return self._store.start_session(self._new_session_id(), self._now(), door=door, door_key=key)

    def active_sessions_of_door(self, door: str) -> list[Session]:
        """The active sessions of a door, oldest first; one with an ``end_timestamp`` waits to be archived."""
        return [session for session in self._store.active_sessions() if session.door == door]

    def store_alone(self, session_id: str, words: str, text_id: str, *, said: str | None = None) -> Turn:
        """Store a message that nobody answers, with its words and its place in the queue, in one commit.

        What is of the past was ``said`` then.
        """
        now = self._now()
        stored = self._store.store_alone(session_id, NewTurn(text_id, said or now, "user", words), now)
        self._tell_index([])
        return stored

    def end_session(self, session_id: str, ended: str) -> None:
        """Note that a session ended then: nobody goes on in it, and it waits to be archived."""
        self._store.end_session(session_id, ended)

    def held_rounds(self, digests: Sequence[str]) -> list[HeldRound]:
        """The messages with these digests that were ever stored, in the order in which they were."""
        return self._store.held_rounds(digests)

    def held_in(self, sessions: Sequence[str]) -> list[HeldRound]:
        """The messages of these sessions that clients' histories named, in the order in which they were stored."""
        return self._store.held_in(sessions)

    def hold(self, digest: str, session_id: str, text_id: str, message: int) -> None:
        """Note that a message is stored, under one more digest if need be."""
        self._store.hold(digest, session_id, text_id, message, self._now())

    def hold_instead(self, text_id: str, present: str) -> None:
        """Let another round stand in the place of one that it was stored instead of."""
        self._store.hold_instead(text_id, present)

    # -- cleaning ------------------------------------------------------------------------------------------------

    def owe_cleaning(self, due: DueCleaning) -> bool:
        """Note that a stretch of a conversation is to be read; once for all. False when it was noted before."""
        return self._store.owe_cleaning(due, self._now())

    def due_cleanings(self) -> list[DueCleaning]:
        """What is still to be read, the oldest first."""
        return self._store.due_cleanings()

    def end_cleaning(self, due: DueCleaning) -> None:
        """All of it was read."""
        self._store.end_cleaning(due, self._now())

    # -- memories ------------------------------------------------------------------------------------------------

    def name_owner(self, person: str, instruction: int | None) -> None:
        """Note whose memory this is, for those who read its tables."""
        self._store.name_owner(person, instruction)

    def kept_memories(self, numbers: Sequence[int] | None = None) -> list[KeptMemory]:
        """All memories that are not hidden, or those with these numbers, the newest first."""
        return self._store.kept_memories(numbers)

    def memory_importances(self) -> Mapping[int, int]:
        """How important each memory is that is not hidden, by number."""
        return self._store.memory_importances()

    def hide_memory(self, number: int) -> bool:
        """List a memory no more, and let what was known by it never have been. False when there is no such memory."""
        with self._store.in_one_commit():
            hidden = self._store.hide_memory(number, self._now())
            for fact in self._store.facts_of_memory(number) if hidden else ():
                self._store.put_right(fact, None, self._now())
        return hidden

    def hide_memories_before(self, moment: datetime) -> int:
        """List the memories no more that were made before a moment. Returns how many; what is known stays known."""
        return self._store.hide_memories_before(moment.isoformat(timespec="seconds"), self._now())

    def scope_of_memory(self, number: int) -> ErasureScope:
        """The turns that a memory rests on, also a hidden one, and what was made from them."""
        return self._eraser.turns(self._store.turns_of_memory(number))

    def memories_without_vector(self, model: str) -> list[int]:
        """The memories that are not hidden and have no vector of this model."""
        return self._store.memories_without_vector(model)

    def memory_vectors(self, model: str, dimension: int) -> tuple[list[int], Vector]:
        """The vectors of this model and length: the numbers of their memories, and a row for each."""
        return self._store.memory_vectors(model, dimension)

    def keep_memory_vectors(self, model: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Keep vectors of memories, by number."""
        with self._store.in_one_commit():
            for number, vector in vectors:
                self._store.keep_memory_vector(number, model, vector)

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")
