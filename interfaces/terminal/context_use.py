"""How much of what a model can read the last prompt took: for ``/status``, and for a line before it is too late."""

from __future__ import annotations

from dataclasses import dataclass

from domain import errors
from domain.languages import estimate
from interfaces.terminal.command_context import CommandContext

#: What a model is taken to read while nobody has said: a small one tells when it refuses a prompt or cuts it.
UNKNOWN_LIMIT = 128_000
#: From this share on a line under the reply says so.
_MUCH = 0.8


@dataclass(frozen=True)
class ContextUse:
    """Tokens of the last prompt, and of how many; ``known`` tells whether a server named the limit."""

    tokens: int
    limit: int
    known: bool

    @property
    def share(self) -> float:
        """How full the context is.

        >>> ContextUse(80, 100, True).share
        0.8
        """
        return self.tokens / self.limit

    @property
    def much(self) -> bool:
        """Whether that is worth a line."""
        return self.share >= _MUCH


def context_use(context: CommandContext) -> ContextUse | None:
    """How full the context was at the last turn; None while nothing was sent."""
    last = context.conversation.last
    if last is None:
        return None
    reply = last.answered.reply
    guessed = sum(estimate(message.content) for message in last.answered.messages)
    if reply.truncated and reply.prompt_tokens:
        return ContextUse(guessed, reply.prompt_tokens, True)
    limit = context.context_limit
    return ContextUse(reply.prompt_tokens or guessed, limit or UNKNOWN_LIMIT, limit is not None)


def heard_limit(context: CommandContext, error: errors.OldFriendError) -> None:
    """A server that refuses a prompt often says how much it reads."""
    limit = error.details.get("limit")
    if isinstance(error, errors.ContextTooLong) and isinstance(limit, int) and limit > 0:
        context.context_limit = limit


def tell_much(context: CommandContext) -> None:
    """One dim line under a reply whose prompt filled most of the context."""
    use = context_use(context)
    if use is not None and use.much:
        share, limit = round(use.share * 100), f"{use.limit:,}"
        key = "context.much" if use.known else "context.much_guessed"
        context.tell(key, "quiet", share=share, tokens=f"{use.tokens:,}", limit=limit)
