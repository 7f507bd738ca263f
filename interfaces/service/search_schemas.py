"""What a search by parts returns. See ``schemas`` for the rules."""

from __future__ import annotations

from interfaces.service.memory_schemas import Remembered
from interfaces.service.schemas import Schema, Success


class FoundMemory(Remembered):
    """A memory with its parts. ``timestamp`` is when what it tells happens, as exactly as known, else when it was said.

    What is no fact has no parts.
    """

    timestamp: str
    location: str = ""
    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    topic: str = ""


class SearchResponse(Schema):
    """What was found, best first. ``truncated``: more was found than fits."""

    status: Success = "success"
    memories: tuple[FoundMemory, ...]
    truncated: bool
