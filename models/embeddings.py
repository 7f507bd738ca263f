"""Vectors from an embedding server: in batches, checked one by one, with the server's limits learnt as it
goes.

A text that the server cannot take is set aside (None) while the others go on; a server that cannot be used
now is an EmbeddingError. Which of the two it is, a short text that every server can take decides.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from domain import errors
from models import faults
from models.client import Client

if TYPE_CHECKING:
    from domain.settings import Settings
    from domain.vectors import Vector
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
        self._model = model
        self._log = log
        self._clock = clock
        self._monotonic = monotonic
        self._place = faults.Place(client.shown, model, client.secrets)
        self._most = _MOST_TEXTS
        self._dimension: int | None = None
        self._rests_until = -math.inf

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        self.client.close()

    @property
    def model(self) -> str:
        """The name that stored vectors carry."""
        return self._model

    @property
    def most_texts(self) -> int:
        """How many texts go into one call, as far as is known."""
        return self._most

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """A float32 vector a text, in order, finite, not zero, all of one length; None for a text that is
        refused.

        Raises EmbeddingError when the server cannot be used now.
        """
        if self._monotonic() < self._rests_until:
            raise errors.EmbeddingError(
                cause="model.timed_out", status=0, said="", model=self._model, base=self.client.shown
            )
        try:
            return self._many([text[: _LENGTHS[0]] for text in texts])
        except errors.ModelError as error:
            faults.complete(error, self._place)
            if isinstance(error, errors.TimedOut):
                self._rests_until = self._monotonic() + _REST
            self._log.debug("embedding failure: %s", error)
            raise errors.EmbeddingError(cause=error.key, **error.details) from error

    def _many(self, texts: Sequence[str]) -> list[Vector | None]:
        found: list[Vector | None] = []
        while len(found) < len(texts):
            found += self._batch(texts[len(found) : len(found) + self._most])
        return found

    def _batch(self, texts: Sequence[str]) -> list[Vector | None]:
        """One call; what it refuses is halved until the text at fault stands alone, or the limit is known."""
        try:
            found = self._call(texts)
        except _OF_THE_TEXTS as error:
            if len(texts) == 1:
                return [self._alone(texts[0], error)]
            half = (len(texts) + 1) // 2
            found = self._many(texts[:half]) + self._many(texts[half:])
            if all(vector is not None for vector in found):
                self._most = min(self._most, half)
            return found
        if all(vector is None for vector in found) and not self._works():
            raise errors.BadReply("embedding.bad_vectors")
        return found

    def _alone(self, text: str, error: errors.ModelError) -> Vector | None:
        """A text that is refused even alone: once more, then its beginning, or None. An outage is raised."""
        if not self._works():
            raise error
        for shorter in (text, *(text[:length] for length in _LENGTHS[1:] if length < len(text))):
            try:
                return self._call([shorter])[0]
            except _OF_THE_TEXTS:
                continue
        self._log.debug("embedding refused for one text: %s", error)
        return None

    def _works(self) -> bool:
        """Whether the server embeds what every server can embed."""
        try:
            return self._call([_PROBE])[0] is not None
        except _OF_THE_TEXTS:
            return False

    def _call(self, texts: Sequence[str]) -> list[Vector | None]:
        """One request; a connection that the server had closed meanwhile is opened again once."""
        started = time.monotonic()
        try:
            body = self._answer(texts)
        except errors.Unreachable as error:
            if error.key != "model.connection_lost":
                raise
            body = self._answer(texts)
        found = [self._checked(values) for values in _in_order(body, len(texts))]
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug(
                "embedding call to %s after %.3f s\n  model=%s texts=%d refused=%d dimension=%s\n%s",
                self.client.shown,
                time.monotonic() - started,
                self._model,
                len(texts),
                sum(vector is None for vector in found),
                self._dimension,
                "\n".join(f"  {text!r}" for text in texts),
            )
        return found

    def _answer(self, texts: Sequence[str]) -> Any:
        try:
            # Raw: typing every number of every vector takes the library half a second a call.
            answer = self.client.openai().embeddings.with_raw_response.create(
                model=self._model,
                input=[_sendable(text) for text in texts],
                encoding_format="float",
                timeout=min(self.client.timeout, _PATIENCE + _PATIENCE_PER_TEXT * len(texts)),
            )
            return json.loads(answer.content)
        except Exception as fault:
            raise faults.from_exception(fault, self._place, self._clock) from fault

    def _checked(self, values: Any) -> Vector | None:
        """A vector that can be compared with others, or None."""
        import numpy as np

        numbers = _from_base64(values) if isinstance(values, str) else values
        try:
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
            raise errors.BadReply(
                "embedding.wrong_dimension", expected=self._dimension, found=int(vector.size)
            )
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


def _from_base64(text: str) -> Any:
    """Little-endian float32 numbers, as OpenAI sends them when asked for base64."""
    import numpy as np

    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        return None


def _sendable(text: str) -> str:
    """Text that can be encoded and is not empty, which some servers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8") or " "
