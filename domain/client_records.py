"""What chat API clients store in a memory: digests of their histories, and the memories listed for them.

A client sends the history, or its end, again with every request. The *digest* of a message tells whether it was stored
before, even if it was erased since.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.facts import MemoryType


@dataclass(frozen=True, slots=True)
class MessageDigest:
    """A message of a client's history that was stored, by one of its digests.

    ``message`` is its index in the conversation, from 0; -1 is the reply. ``text_id`` is the person's message of the
    round, which may have been erased since.
    """

    number: int
    digest: str
    session_id: str
    text_id: str
    message: int


@dataclass(frozen=True, slots=True)
class DueExtraction:
    """Fifty messages of a conversation that are due for extraction.

    ``round`` counts such batches from 1; ``text_ids`` are the person's messages in it, and ``last`` is the last one,
    which tells batches of different conversations apart.
    """

    last: str
    round: int
    client_key: str
    text_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClientNote:
    """A row of the table ``conversation_memories``. ``key_points`` is a JSON list."""

    number: int
    summary: str
    key_points: str
    memory_type: MemoryType
    importance: int
    round: int
    created_at: str
