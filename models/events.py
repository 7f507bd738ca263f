"""What a model's reply is made of while it comes."""

from __future__ import annotations

from dataclasses import dataclass

from errors import ModelError
from storage.records import Finish


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next words of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next words of the model's thinking: may be shown, is never kept."""

    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """A try failed with ``error``; try number ``attempt`` of ``of`` begins in ``seconds``."""

    error: ModelError
    attempt: int
    of: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing new; a moment to redraw."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that ended.

    ``text`` is what was shown, without thinking and without white space at its ends. ``finish`` tells how it
    ended. Token counts are the server's, None when it gave none. ``truncated``: the server read far less
    than was sent.
    """

    text: str
    finish: Finish
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    truncated: bool


Event = TextDelta | ReasoningDelta | Retrying | Beat | Reply
