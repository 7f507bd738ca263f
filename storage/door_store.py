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

    def sessions_of_door(self, door: str, key: str | None = None) -> list[Session]: ...

    def held_rounds(self, chains: Sequence[str]) -> list[HeldRound]:
        """The rounds with these chains that were ever stored, in the order in which they were."""
        ...

    def last_held(self, session_id: str) -> HeldRound | None: ...
    def hold(self, chain: str, session_id: str, text_id: str, message: int, now: str) -> None:
        """Note that a round is stored; another one in its place in the session gives way to it."""
        ...

    def owe_cleaning(self, due: DueCleaning, now: str) -> None:
        """Note that a stretch of a conversation is to be read; once for all."""
        ...

    def due_cleanings(self) -> list[DueCleaning]: ...
    def end_cleaning(self, due: DueCleaning, now: str) -> None: ...
    def name_owner(self, person: str, instruction: int | None) -> None:
        """Note whose memory this is, for those who read its tables."""
        ...

    def kept_memories(self) -> list[KeptMemory]: ...
    def hide_memory(self, number: int, now: str) -> bool:
        """List a memory no more. False when there is none, or it is hidden already."""
        ...

    def hide_memories_before(self, moment: str, now: str) -> int: ...
    def note_of_memory(self, number: int) -> str | None:
        """The text_id of the note behind a memory that is not hidden."""
        ...

    def memory_vectors(self, model: str) -> Mapping[int, Vector]: ...
    def keep_memory_vector(self, number: int, model: str, vector: Vector) -> None: ...
