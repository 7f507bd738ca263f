"""What happens while work is under way: events come out, and a ``Stop`` goes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from queue import Empty, SimpleQueue

from domain.errors import Interrupted, ModelError
from domain.facts import News
from domain.recollection import Recollection, SearchStep
from domain.records import Finish, InFlight, Round, Session, Summary


class Stop:
    """Set by whoever hears Ctrl-C; looked at by whoever works, and heard by whoever waits.

    Without locks: a signal handler may set it in the very thread that looks at it or waits for it.

    >>> stop = Stop()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        self._is_set = False
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_set(self) -> bool:
        """Whether the person asked to stop."""
        return self._is_set

    def set(self) -> None:
        """Ask to stop. Safe in a signal handler and in any thread."""
        self._is_set = True
        for callback in tuple(self._callbacks):
            callback()

    def clear(self) -> None:
        """Forget an earlier wish to stop, before new work."""
        self._is_set = False

    def check(self) -> None:
        """Raise Interrupted when the person asked to stop."""
        if self._is_set:
            raise Interrupted

    def wait(self, seconds: float) -> bool:
        """Wait for the wish to stop, ``seconds`` at the most; true when it came."""
        woken: SimpleQueue[None] = SimpleQueue()
        with self.calling(lambda: woken.put(None)), suppress(Empty):
            woken.get(timeout=max(0.0, seconds))
        return self._is_set

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Meanwhile ``callback`` is called when the wish to stop comes, at once where it came before.

        It runs in the thread, or the signal handler, that sets this, perhaps twice: it must be quick and take no lock.
        """
        self._callbacks.append(callback)
        try:
            if self._is_set:
                callback()
            yield
        finally:
            self._callbacks.remove(callback)


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
