"""What happens while work is under way: events come out, and a ``Stop`` goes in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.errors import ModelError
from domain.records import Finish


class Stop:
    """Set by whoever hears Ctrl-C, looked at by whoever waits for a model.

    >>> stop = Stop()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_set(self) -> bool:
        """Whether the person asked to stop."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask to stop. Safe in a signal handler and in any thread."""
        self._event.set()

    def clear(self) -> None:
        """Forget an earlier wish to stop, before new work."""
        self._event.clear()

    def wait(self, seconds: float) -> bool:
        """Wait for the wish to stop, ``seconds`` at the most; true when it came."""
        return self._event.wait(seconds)


@dataclass(frozen=True)
class Notice:
    """Something worth saying that stops nothing: a message key and its details."""

    key: str
    details: Mapping[str, object] = field(default_factory=dict)


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
