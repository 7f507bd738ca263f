"""What other doors keep in a memory: messages of histories that clients send, and what they list of it.

A client of a chat API sends what was said before, or the end of it, again with every request. By the *digest* of a
message it is known whether it is stored, also when it was erased since.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.facts import MemoryType


@dataclass(frozen=True, slots=True)
class HeldRound:
    """A message of a round that is stored, under one of the digests that it is known by.

    It is the ``message``-th of its conversation, from 0; -1 stands for the reply. ``text_id`` is the person's message
    of the round, which may have been erased; that it was stored once is known all the same.
    """

    number: int
    digest: str
    session_id: str
    text_id: str
    message: int


@dataclass(frozen=True, slots=True)
class DueCleaning:
    """Fifty messages of a conversation that are to be read for what is worth remembering.

    ``round`` counts such stretches from 1; ``text_ids`` are the person's messages in it, and ``last`` is the last one,
    so that a stretch of another conversation is another one.
    """

    last: str
    round: int
    door_key: str
    text_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """A note as the table ``conversation_memories`` shows it. ``key_points`` is a list in JSON."""

    number: int
    summary: str
    key_points: str
    memory_type: MemoryType
    importance: int
    round: int
    created_at: str
