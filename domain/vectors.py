"""Vectors: who makes them, what makes one sound, how one is named in an index, and what an index finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from domain.records import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Half = npt.NDArray[np.float16]
    #: Turns texts into vectors, all in one call; None for a text that has none.
    Embed = Callable[[Sequence[str]], Sequence[Vector | None]]


class Embedder(Protocol):
    """Turns texts into vectors.

    ``model`` is the name that stored vectors carry: vectors of different names are never compared.
    """

    @property
    def model(self) -> str:
        """The name that stored vectors carry."""
        ...

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
class TextRow:
    """A text with its vector and all that another program needs to show it."""

    text_id: str
    type: Kind
    session_id: str
    text: str
    role: str
    timestamp: str
    vector: Vector


class Hit(NamedTuple):
    """A row that was found; ``similarity`` is the cosine, 1 for the same direction. Made by hundreds for a question."""

    text_id: str
    session_id: str
    similarity: float


class VectorIndex(Protocol):
    """The nearest texts of a kind; ``state`` says whether it can be searched."""

    @property
    def state(self) -> str:
        """Whether it can be searched, or why not."""
        ...

    def search(self, vector: Vector, *, kind: Kind, exclude_session: str, limit: int) -> Sequence[Hit]:
        """Up to ``limit`` texts of a kind outside of a session, the nearest first."""
        ...
