"""What a store can do for other doors than the terminal: the part of ``storage.store.Store`` that is about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from domain.held import DueCleaning, HeldRound, KeptMemory
from domain.records import Session

if TYPE_CHECKING:
    from domain.vectors import Vector


class DoorStore(Protocol):
    """Sessions of doors, the rounds of histories that clients hold, and the memories that they list."""

    def sessions_of_door(self, door: str, key: str | None = None) -> list[Session]:
        """The sessions of a client, oldest first; with a key only those of that conversation."""
        ...

    def held_rounds(self, digests: Sequence[str]) -> list[HeldRound]:
        """The messages with these digests that were ever stored, in the order in which they were."""
        ...

    def held_in(self, sessions: Sequence[str]) -> list[HeldRound]:
        """The messages of these sessions that clients' histories named, in the order in which they were stored."""
        ...

    def hold(self, digest: str, session_id: str, text_id: str, message: int, now: str) -> None:
        """Note that a message is stored, under one more digest if need be."""
        ...

    def hold_instead(self, text_id: str, present: str) -> None:
        """Let another round stand in the place of one that it was stored instead of."""
        ...

    def owe_cleaning(self, due: DueCleaning, now: str) -> bool:
        """Note that a stretch of a conversation is to be read; once for all. False when it was noted before."""
        ...

    def due_cleanings(self) -> list[DueCleaning]:
        """The stretches that are noted and not yet read, oldest first."""
        ...

    def end_cleaning(self, due: DueCleaning, now: str) -> None:
        """Note that a stretch was read."""
        ...

    def name_owner(self, person: str, instruction: int | None) -> None:
        """Note whose memory this is, for those who read its tables."""
        ...

    def kept_memories(self, numbers: Sequence[int] | None = None) -> list[KeptMemory]:
        """All memories that are not hidden, or those with these numbers, the newest first."""
        ...

    def memory_importances(self) -> Mapping[int, int]:
        """The importance of each listed memory, by number."""
        ...

    def hide_memory(self, number: int, now: str) -> bool:
        """List a memory no more. False when there is none, or it is hidden already."""
        ...

    def hide_memories_before(self, moment: str, now: str) -> int:
        """List no memory from before a moment any more. Returns how many that were."""
        ...

    def turns_of_memory(self, number: int) -> list[str]:
        """The turns that a memory rests on, also one that is hidden; none when there is no such memory."""
        ...

    def facts_of_memory(self, number: int) -> list[str]:
        """The facts that a memory consists of."""
        ...

    def memories_without_vector(self, model: str) -> list[int]:
        """The listed memories that have no vector of this model."""
        ...

    def memory_vectors(self, model: str, dimension: int) -> tuple[list[int], Vector]:
        """The vectors of this model and length: the numbers of their memories, and a row for each."""
        ...

    def keep_memory_vector(self, number: int, model: str, vector: Vector) -> None:
        """Store the vector of a memory."""
        ...
