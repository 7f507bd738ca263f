"""What is told of the index: to recall, to ``/status``, to whoever waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from storage.sqlite.embeddings import SetAside

Missing = Literal["embeddings", "index"]
Doing = Literal["starting", "ready", "rebuilding", "embedding", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long piece of work is."""

    doing: Doing
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What ``/status`` tells of the index. ``fault`` is for logs and for the curious, not translated."""

    doing: Doing
    model: str
    dimension: int | None
    vectors: int
    waiting: int
    set_aside: tuple[SetAside, ...]
    degraded: tuple[Missing, ...]
    fault: str
