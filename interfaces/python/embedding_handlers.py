"""What makes vectors, under MemForest's name for it: our own embedder, or whatever a program brings along."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import config
from domain import errors
from domain.text import admitted
from domain.vectors import Embedder
from interfaces.debug_log import DebugLog
from llm import Llm

if TYPE_CHECKING:
    from domain.vectors import Vector

_HOME = Path(__file__).resolve().parents[2]


class ForeignHandler(Protocol):
    """Whatever else makes vectors: one text at a time."""

    def get_embedding(self, text: str) -> Any:
        """The vector of one text, as a sequence of numbers."""
        ...


class EmbeddingHandler:
    """Our embedder under MemForest's name: that of the settings, built in where none is set."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        loaded = config.load(config.home_of(_HOME), os.environ, settings or {})
        debug = DebugLog(loaded.log_dir, loaded.secrets, on=loaded.debug)
        self.embedder = Llm(loaded, debug.log, clock=lambda: datetime.now().astimezone()).embedder

    def get_embedding(self, text: str) -> Vector:
        """The vector of a text. Raises EmbeddingError where there is none."""
        (vector,) = self.embedder.embed([admitted(text)])
        if vector is None:
            raise errors.EmbeddingError("embedding.unsound", norm=0)
        return vector


class OfHandler:
    """A foreign handler as an embedder; its vectors are never compared with those of another."""

    def __init__(self, handler: ForeignHandler) -> None:
        self._handler = handler
        self.model = f"handler:{type(handler).__module__}.{type(handler).__qualname__}"

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector a text."""
        import numpy as np

        return [np.asarray(self._handler.get_embedding(text), dtype=np.float32).reshape(-1) for text in texts]


def embedder_of(handler: EmbeddingHandler | ForeignHandler | None) -> Embedder | None:
    """The embedder that a handler stands for; None without one."""
    if isinstance(handler, EmbeddingHandler):
        return handler.embedder
    return OfHandler(handler) if handler is not None else None
