"""The models: one door to whoever talks, summarises, rewrites images and embeds.

Nothing here is stored, shown or decided; a failed call leaves nothing behind. The layered prompt is made by
``models.prompt``, the three tasks by ``models.tasks``, and both are sent by ``models.chat``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Beat, Event, ReasoningDelta, Reply, Retrying, Stop, TextDelta
from domain.languages import Language
from domain.quoting import new_boundary
from domain.records import Image, Round
from domain.settings import Settings
from domain.vectors import Embedder
from models.chat import Chat
from models.client import Client
from models.messages import Message
from models.prompt import Layers, assemble
from models.retry import Patience
from models.tasks import Names, Task, image_of, summary_of
from storage.image_text import with_pins

if TYPE_CHECKING:
    import httpx2

    from models.client import Transport

__all__ = [
    "Beat",
    "Described",
    "Event",
    "Layers",
    "Llm",
    "Message",
    "Patience",
    "ReasoningDelta",
    "Reply",
    "Retrying",
    "Stop",
    "TextDelta",
    "assemble",
    "new_boundary",
]

_STANDIN_MODEL = "stand-in"
_STANDIN_BASE = "http://stand-in.invalid/v1"
#: The longest turn that is put before a model to be summarised, in characters, and the shortest worth trying.
_LONGEST_TURN, _SHORTEST_TURN = 100_000, 400


@dataclass(frozen=True)
class Described:
    """Who talks: the model's name, where it is, and whether it is only the built-in stand-in."""

    model: str
    base: str
    standin: bool


@dataclass(frozen=True)
class _Fold:
    """What stays the same through all parts of one fold."""

    language: Language
    stop: Stop
    left_out: Callable[[Round], object]


class Llm:
    """The models that the settings name. Made quickly; the client library is loaded by the first call.

    ``transport`` makes what takes the place of the network for both servers. ``boundary`` makes the marks
    around fenced data.
    """

    def __init__(
        self,
        settings: Settings,
        log: logging.Logger,
        *,
        clock: Callable[[], datetime],
        transport: Transport | None = None,
        patience: Patience | None = None,
        boundary: Callable[[], str] = new_boundary,
        stream: bool = True,
    ) -> None:
        self._settings = settings
        self._log = log
        self._clock = clock
        self._transport = transport
        self._boundary = boundary
        self._stream = stream
        self._names = Names(settings.companion_name, settings.user_name)
        self._client = self._connect()
        self._embedding_client = self._client
        self._chat = Chat(
            self._client,
            self.describe().model,
            settings.request_timeout,
            log,
            clock=clock,
            patience=patience or Patience(),
        )
        self.embedder: Embedder = self._embedder()

    def describe(self) -> Described:
        """Who talks."""
        if self._settings.standin:
            return Described(_STANDIN_MODEL, _STANDIN_BASE, True)
        return Described(self._settings.chat_model, self._settings.chat_base, False)

    def chat(self, messages: Sequence[Message], stop: Stop, *, stream: bool | None = None) -> Iterator[Event]:
        """The events of one reply; the last one is a Reply.

        Raises ModelError or Interrupted, and nothing counts then. Stopped after its first word, a reply ends
        with finish ``interrupted``.
        """
        return self._chat.say(messages, stop, stream=self._stream if stream is None else stream)

    def summarise(
        self,
        summary: str,
        rounds: Sequence[Round],
        language: Language,
        stop: Stop,
        left_out: Callable[[Round], object] = lambda one: None,
    ) -> str:
        """One new summary out of the summary so far and the rounds that followed it.

        What is too long for the model is folded in smaller parts; a round that its filter refuses is left
        out, and ``left_out`` is told of it. Empty when there was no summary and every round is left out.
        Raises ModelError or Interrupted.
        """
        return self._fold(_Fold(language, stop, left_out), summary, rounds, _LONGEST_TURN)

    def rewrite_image(
        self, image: Image, current: str, summary: str, pins: Sequence[str], language: Language, stop: Stop
    ) -> str:
        """The image after a session with this summary; ``pins`` are lines that stay whatever the model says.

        Raises ModelError or Interrupted.
        """
        messages = self._task(language).rewrite(image, current, summary, pins)
        return with_pins(image_of(self._whole(messages, stop)), pins)

    def models(self) -> list[str]:
        """The names of the models that the chat server offers, sorted.

        Raises ModelError.
        """
        from models.listing import model_names

        return model_names(self._client, self.describe().model, self._clock)

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        self._client.close()
        self._embedding_client.close()

    def _fold(self, how: _Fold, summary: str, rounds: Sequence[Round], longest: int) -> str:
        messages = self._task(how.language).fold(summary, rounds, longest)
        try:
            return summary_of(self._whole(messages, how.stop))
        except (errors.ContextTooLong, errors.ContentFiltered) as error:
            if len(rounds) > 1:
                half = len(rounds) // 2
                first = self._fold(how, summary, rounds[:half], longest)
                return self._fold(how, first, rounds[half:], longest)
            if isinstance(error, errors.ContextTooLong) and longest > _SHORTEST_TURN:
                return self._fold(how, summary, rounds, longest // 4)
            if isinstance(error, errors.ContextTooLong):
                raise
            for one in rounds:
                how.left_out(one)
            return summary

    def _task(self, language: Language) -> Task:
        return Task(language, self._names, self._boundary())

    def _whole(self, messages: Sequence[Message], stop: Stop) -> Reply:
        """The reply alone, when nobody watches it come."""
        for event in self.chat(messages, stop):
            if isinstance(event, Reply):
                return event
        raise errors.BadReply("model.empty_reply")

    def _connect(self) -> Client:
        transport = self._transport
        if self._settings.standin and transport is None:
            transport = _standin
        return Client(
            self.describe().base, self._settings.openai_api_key, self._settings.request_timeout, transport
        )

    def _embedder(self) -> Embedder:
        if not self._settings.embedding_model:
            from recall.hashed_embedder import HashedEmbedder

            return HashedEmbedder()
        from models.embeddings import RemoteEmbedder

        settings = self._settings
        self._embedding_client = Client(
            settings.embedding_base, settings.embedding_key, settings.request_timeout, self._transport
        )
        return RemoteEmbedder(self._embedding_client, settings.embedding_model, self._log, clock=self._clock)


def _standin() -> httpx2.BaseTransport:
    from models.standin import StandIn

    return StandIn()
