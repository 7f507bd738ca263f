"""The interfaces of the word and vector indexes, of embedders, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from domain.records import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Vector = npt.NDArray[np.float32]
    Half = npt.NDArray[np.float16]
    #: Embeds texts in one call; None for a text without a vector.
    Embed = Callable[[Sequence[str]], Sequence[Vector | None]]


WordTable = Literal["message", "summary", "fact"]
WORD_TABLES: tuple[WordTable, ...] = ("message", "summary", "fact")

#: Tokens that say what a text is; the place in this list is the bit in the ``marks`` of a row.
LITTLE = "@little"
MARKS = ("@asks", "@named", LITTLE)


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one term occurs: row numbers in ascending order, and how often in each."""

    seqs: Integers
    counts: Integers


class Embedder(Protocol):
    """Embeds texts.

    ``model`` is the name that stored vectors carry: vectors of different names are never compared.
    """

    @property
    def model(self) -> str:
        """The name that stored vectors carry."""

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A finite non-zero float32 vector per text, in order, all of one length; None for a refused text.

        Raises EmbeddingError when the server cannot be used now.
        """


@dataclass(frozen=True, slots=True)
class VectorRow:
    """A row as it enters the index."""

    text_id: str
    type: Kind
    session_id: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class TextRow:
    """A text with its vector and everything another program needs to show it."""

    text_id: str
    type: Kind
    session_id: str
    text: str
    role: str
    timestamp: str
    vector: Vector


class Hit(NamedTuple):
    """A found row; ``similarity`` is the cosine. A question creates hundreds.

    ``number`` is that of the message, or of the session of the summary, where the index knows it.
    """

    text_id: str
    session_id: str
    similarity: float
    number: int | None = None


class VectorIndex(Protocol):
    """The nearest texts of a kind; ``state`` says whether it can be searched."""

    @property
    def state(self) -> str:
        """Whether it can be searched, or why not."""

    def search(self, *vectors: Vector, kind: Kind, exclude_session: str, limit: int) -> Sequence[Sequence[Hit]]:
        """For each vector up to ``limit`` texts of a kind outside of a session, the nearest first."""
