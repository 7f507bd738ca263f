"""What happens while work is under way: the events of a turn, of a question, and of a session that opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from domain.errors import ModelError
from domain.facts import SessionChanges
from domain.recollection import Recollection, SearchStep
from domain.records import Finish, InFlight, Round, Session


@dataclass(frozen=True)
class Notice:
    """A notice that interrupts nothing: a message key and its details."""

    key: str
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def doubted(self) -> Sequence[str]:
        """The messages of which it asks whether they are to be kept out of future conversations."""
        asks = self.key in ("forget_request.asked", "forget_request.unsure")
        return cast("Sequence[str]", self.details["turns"]) if asks else ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next words of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next words of the model's thinking: may be shown, never stored."""

    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """A try failed with ``error``; try number ``attempt`` of ``of`` begins in ``seconds``."""

    error: ModelError
    attempt: int
    tries: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished reply.

    ``text`` is what was shown, stripped and without thinking. Token counts are the server's, None if it gave none.
    ``truncated``: the server read far less than was sent.
    """

    text: str
    finish: Finish
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    truncated: bool


#: Events during a reply.
StreamEvent = TextDelta | ReasoningDelta | Retrying
#: The same with the final Reply.
ReplyEvent = StreamEvent | Reply


@dataclass(frozen=True)
class Opening:
    """The state of a session when it is resumed or begun. ``last_spoken``: when the last round of any session ended.

    ``keeping``: how many idle sessions are being saved automatically. ``news``: the changes of facts by the previous
    session, as long as this one has no messages.
    """

    session: Session
    resumed: bool
    rounds: tuple[Round, ...]
    in_flight: InFlight | None
    gap: timedelta | None
    rounds_kept: int
    last_spoken: str | None
    keeping: int
    news: SessionChanges


@dataclass(frozen=True)
class Recalled:
    """What was recalled before the reply; may be empty."""

    recollection: Recollection


@dataclass(frozen=True)
class Replied:
    """The reply is complete or marked as truncated, and stored unless the session is incognito."""

    round: Round
    reply: Reply
    recollection: Recollection


@dataclass(frozen=True)
class MemoryAnswer:
    """A question was answered from memory alone, and nothing of it is stored.

    ``known``: the memory contains an answer. If nothing was found, no model was asked and ``reply`` is None.
    """

    recollection: Recollection
    reply: Reply | None
    known: bool

    @property
    def text(self) -> str:
        """The answer; empty if nothing was found."""
        return self.reply.text if self.reply else ""


TurnEvent = SearchStep | Recalled | StreamEvent | Notice | Replied
#: The same for a question that is answered from memory alone.
AskEvent = SearchStep | Recalled | StreamEvent | Notice | MemoryAnswer
