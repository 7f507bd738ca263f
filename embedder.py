"""The built-in embedder, and what every embedder promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors.

    ``model`` is the name that stored vectors carry: vectors of different names are never compared.
    """

    @property
    def model(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A float32 vector a text, in order, finite, not zero, all of one length; None for a text that the server refuses.

        Raises EmbeddingError when the server cannot be used now.
        """
        ...
