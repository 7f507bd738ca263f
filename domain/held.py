"""What other doors keep in a memory: rounds of histories that clients hold themselves, and what they list of it.

A client of a chat API sends its whole history again with every request. A *chain* stands for all that the person had
said in one conversation so far: a digest of its messages and of the chain before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.facts import MemoryType


@dataclass(frozen=True, slots=True)
class HeldRound:
    """A round that is stored, as a client's history names it.

    ``chain`` ends with the person's message of the round, which is the ``message``-th of the history, from 0. The turn
    ``text_id`` may be gone; that it was stored once is known all the same.
    """

    number: int
    chain: str
    session_id: str
    text_id: str
    message: int


@dataclass(frozen=True, slots=True)
class DueCleaning:
    """Fifty messages of a conversation that are to be read for what is worth remembering.

    ``round`` counts such stretches from 1; ``chain`` is the last of it, so that another history that began alike is
    another one. ``chains`` name its rounds.
    """

    chain: str
    round: int
    door_key: str
    chains: tuple[str, ...]


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
