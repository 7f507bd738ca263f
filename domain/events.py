"""What happens while work is under way: the events of a turn, of a question, and of a session that opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from domain.errors import ModelError
from domain.facts import News
from domain.recollection import Recollection, SearchStep
from domain.records import Finish, InFlight, Round, Session, Summary


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


#: What comes while a reply is made.
StreamEvent = TextDelta | ReasoningDelta | Retrying
#: The same with the Reply, which comes last.
ReplyEvent = StreamEvent | Reply


@dataclass(frozen=True)
class Opening:
    """How a session stands when it is taken up, or begun. ``last_spoken``: when the last round of any session ended.

    ``keeping``: how many sessions fell silent and are kept by themselves. ``news``: what the session before changed in
    what is known, as long as nothing was said in this one.
    """

    session: Session
    resumed: bool
    rounds: tuple[Round, ...]
    summary: Summary | None
    in_flight: InFlight | None
    gap: timedelta | None
    rounds_kept: int
    last_spoken: str | None
    keeping: int
    news: News


@dataclass(frozen=True)
class Recalled:
    """What came to mind before the reply; may be nothing."""

    recollection: Recollection


@dataclass(frozen=True)
class Replied:
    """The reply is whole, or marked as cut, and stored (unless nothing is written now)."""

    round: Round
    reply: Reply
    recollection: Recollection


@dataclass(frozen=True)
class MemoryAnswer:
    """A question was answered from memory alone, and nothing of it is stored.

    ``known``: the memory holds an answer. Where nothing was found no model was asked: there is no ``reply``.
    """

    question: str
    recollection: Recollection
    reply: Reply | None
    known: bool

    @property
    def text(self) -> str:
        """The answer; empty where nothing was found."""
        return self.reply.text if self.reply else ""


TurnEvent = SearchStep | Recalled | StreamEvent | Notice | Replied
#: The same for a question that is answered from memory alone.
AskEvent = SearchStep | Recalled | StreamEvent | Notice | MemoryAnswer
