"""Vectors: who makes them, what makes one sound, and how one is named in an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from domain.records import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Half = npt.NDArray[np.float16]


class Embedder(Protocol):
    """Turns texts into vectors.

    ``model`` is the name that stored vectors carry: vectors of different names are never compared.
    """

    @property
    def model(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A float32 vector a text, in order, finite, not zero, all of one length; None for one that is refused.

        Raises EmbeddingError when the server cannot be used now.
        """
        ...


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A row as it enters the index."""

    text_id: str
    type: Kind
    session_id: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that was found; ``similarity`` is the cosine, 1 for the same direction."""

    text_id: str
    session_id: str
    similarity: float
