"""What tests of the models stand on: settings for a server, models without pauses, a call played to its
end.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import config
from domain import errors
from domain.events import ReasoningDelta, Reply, ReplyEvent, Retrying, TextDelta
from domain.records import PREFIX, Message, Round
from domain.settings import Settings
from domain.workers import CancelToken
from llm import Layers, Llm, ModelAnswer, PromptMessage
from models.chat import Patience

KEY = "sk-test-0123456789abcdef0123"
NOW = datetime(2026, 11, 20, 18, 5, tzinfo=UTC)
ASKED = (PromptMessage("system", "You are kind."), PromptMessage("user", "Hello?"))


def settings(**changed: Any) -> Settings:
    """Default settings with changes, nothing read from this machine."""
    return dataclasses.replace(config.load_settings(Path("/nonexistent"), {}), **changed)


def models_at(
    base: str,
    log: logging.Logger | None = None,
    *,
    patience: Patience | None = None,
    stream: bool = True,
    transport: Any = None,
    **changed: Any,
) -> Llm:
    """The models behind a server, with short pauses."""
    chosen = {"openai_api_base": base, "openai_api_key": KEY, "chat_model": "wanted-model", "request_timeout": 10.0}
    llm = Llm(
        settings(**{**chosen, **changed}),
        log or logging.Logger("quiet", logging.CRITICAL),
        clock=lambda: NOW,
        patience=patience or Patience(first=0.001, jitter=lambda: 0.0),
        transport=transport,
        boundary=lambda: "=== mark ===",
    )
    llm.stream = stream
    return llm


@dataclass
class Played:
    """What came of one call."""

    text: str = ""
    reasoning: str = ""
    retries: list[Retrying] = field(default_factory=list)
    reply: Reply | None = None
    error: errors.OldFriendError | None = None
    events: list[ReplyEvent] = field(default_factory=list)


def played(events: Iterable[ReplyEvent], each: Callable[[ReplyEvent, Played], None] | None = None) -> Played:
    """Listen to the end. ``each`` is told of every event as it comes."""
    found = Played()
    try:
        for event in events:
            found.events.append(event)
            if isinstance(event, TextDelta):
                found.text += event.text
            elif isinstance(event, ReasoningDelta):
                found.reasoning += event.text
            elif isinstance(event, Retrying):
                found.retries.append(event)
            elif isinstance(event, Reply):
                found.reply = event
            if each:
                each(event, found)
    except errors.OldFriendError as error:
        found.error = error
    return found


def new_message(role: Any, words: str, number: int = 1, **changed: Any) -> Message:
    """A stored turn."""
    made = Message(
        number * 2 + (role == "assistant"),
        f"{role}-{number}",
        "session-1",
        f"2026-05-0{number}T13:05:00+00:00",
        role,
        PREFIX[role] + words,
        number,
    )
    return dataclasses.replace(made, **changed)


def spoken(user: str, assistant: str, number: int = 1) -> Round:
    """A stored round."""
    return Round(new_message("user", user, number), new_message("assistant", assistant, number))


class Answering:
    """A model whose next answer has the body that a test gives it."""

    def __init__(self, *, stream: bool = True) -> None:
        import httpx2

        self._chunks: Iterable[bytes] = ()
        transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=iter(self._chunks)))
        self._llm = models_at(
            "http://model.invalid/v1", transport=lambda: transport, stream=stream, patience=Patience(tries=1)
        )

    def says(self, chunks: Iterable[bytes]) -> Played:
        """What comes of this body, asked for once."""
        self._chunks = chunks
        return played(self._llm.chat(ASKED, CancelToken()))

    def close(self) -> None:
        """Let go of the client."""
        self._llm.close()


def said(chunks: Iterable[bytes], *, stream: bool = True) -> Played:
    """What comes of an answer with this body, asked for once."""
    answering = Answering(stream=stream)
    found = answering.says(chunks)
    answering.close()
    return found


def answered(llm: Llm, layers: Layers, *, stream: bool = True) -> ModelAnswer:
    """The answer to a layered prompt, as a turn asks for it."""
    events = llm.answer(layers, CancelToken(), stream=stream)
    while True:
        try:
            next(events)
        except StopIteration as end:
            found: ModelAnswer = end.value
            return found
