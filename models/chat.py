"""One chat call: sent, read in a thread of its own, checked by our own rules, tried again where that helps.

Promises: the caller is never blocked for longer than a beat; a wish to stop is heard within a tenth of a
second; a reply is whole or it is an error; nothing of a failed try was shown when another one begins.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from domain import errors, languages
from domain.events import Beat, Event, ReasoningDelta, Reply, Retrying, Stop, TextDelta
from domain.records import Finish
from models import faults
from models.call import Call
from models.client import Client
from models.collecting import Collected
from models.messages import Message
from models.retry import Patience, with_retries
from models.waiting import BEAT

if TYPE_CHECKING:
    from openai import APIResponse

__all__ = ["Beat", "Chat", "Event", "ReasoningDelta", "Reply", "Retrying", "TextDelta"]

#: The longest prompt that is sent at all, in characters.
MAX_PROMPT = 4_000_000


class Chat:
    """The chat model of one server. One instance serves many calls, one after another or side by side."""

    def __init__(
        self,
        client: Client,
        model: str,
        timeout: float,
        log: logging.Logger,
        *,
        clock: Callable[[], datetime],
        patience: Patience,
    ) -> None:
        self._client = client
        self._model = model
        self._timeout = timeout
        self._log = log
        self._clock = clock
        self._patience = patience
        self._place = faults.Place(client.base, model, client.secrets)
        #: Some servers refuse a request that asks for token counts in a stream; learnt once.
        self._may_ask_usage = True

    def say(self, messages: Sequence[Message], stop: Stop, *, stream: bool) -> Iterator[Event]:
        """The events of one reply; the last one is a Reply.

        Raises ModelError (nothing may be stored; its detail ``shown`` counts the characters shown before
        it), or Interrupted when stopped before the first word. Stopped after it, the reply ends as
        ``interrupted``.
        """
        return with_retries(lambda: self._attempt(messages, stop, stream), self._patience, stop)

    def _attempt(self, messages: Sequence[Message], stop: Stop, stream: bool) -> Iterator[Event]:
        if stop.is_set:
            raise errors.Interrupted()
        self._admit(messages)
        started = time.monotonic()
        call = Call(self._client.line(), lambda: self._send(messages, stream), self._as_error, self._timeout)
        collected = Collected()
        self._log_request(messages, stream)
        try:
            finish = yield from self._listen(call, collected, stop)
            truncated = languages.is_truncated(
                collected.prompt_tokens, languages.estimate_all(message.content for message in messages)
            )
            reply = collected.reply(finish, self._model, time.monotonic() - started, truncated)
        except errors.OldFriendError as error:
            if isinstance(error, errors.ModelError):
                faults.complete(error, self._place).details["shown"] = len(collected.text)
            self._log_failure(error, collected, time.monotonic() - started)
            raise
        finally:
            call.drop()
        self._log_reply(reply, collected)
        yield reply

    def _listen(self, call: Call, collected: Collected, stop: Stop) -> Generator[Event, None, Finish | None]:
        """Everything that comes, shown as it comes, until the reply ends or the person stops it."""
        call.start()
        while True:
            part = call.next(BEAT, after_the_end=bool(collected.finish))
            if stop.is_set and not collected.finish:
                if not collected.text.strip():
                    raise errors.Interrupted()
                return "interrupted"
            if part is None and stop.is_set:
                return None
            if part is None:
                yield Beat()
                continue
            yield from collected.take(part)
            if part.done or collected.is_full:
                yield from collected.end()
                return None

    def _admit(self, messages: Sequence[Message]) -> None:
        """Refuse a prompt that no model takes before it is sent."""
        if sum(len(message.content) for message in messages) > MAX_PROMPT:
            raise faults.complete(errors.ContextTooLong(limit=None, shown=0), self._place)

    def _send(self, messages: Sequence[Message], stream: bool) -> AbstractContextManager[APIResponse[Any]]:
        """The request, ready to be entered; entering it sends it."""
        said = [{"role": message.role, "content": _sendable(message.content)} for message in messages]
        wanted: dict[str, Any] = {"model": self._model, "messages": said}
        if stream:
            wanted["stream"] = True
        if stream and self._may_ask_usage:
            wanted["stream_options"] = {"include_usage": True}
        return self._client.openai().chat.completions.with_streaming_response.create(**wanted)

    def _as_error(self, fault: BaseException, began: bool) -> errors.ModelError | None:
        """What went wrong as one of our errors; None when the same request may be sent in a plainer form."""
        error = faults.from_exception(fault, self._place, self._clock)
        if (
            isinstance(error, errors.BadRequest)
            and self._may_ask_usage
            and "stream_options" in str(error.details["said"])
        ):
            self._may_ask_usage = False
            return None
        if began and isinstance(error, errors.Unreachable):
            return errors.BadReply("model.cut_reply", said=error.details["said"])
        if error.key == "model.malformed_reply" and not isinstance(fault, errors.ModelError):
            self._log.error("an answer could not be read", exc_info=fault)
        return error

    def _log_request(self, messages: Sequence[Message], stream: bool) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            said = "\n".join(f"--- {message.role}\n{message.content}" for message in messages)
            self._log.debug(
                "model request to %s\n  model=%s stream=%s\n%s\n---",
                self._client.base,
                self._model,
                stream,
                said,
            )

    def _log_reply(self, reply: Reply, collected: Collected) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._log.debug(
                "model reply after %.3f s\n  model=%s finish=%s prompt_tokens=%s completion_tokens=%s\n"
                "--- thinking\n%s\n--- reply\n%s\n---",
                reply.seconds,
                reply.model,
                reply.finish,
                reply.prompt_tokens,
                reply.completion_tokens,
                collected.reasoning,
                reply.text,
            )

    def _log_failure(self, error: errors.OldFriendError, collected: Collected, seconds: float) -> None:
        self._log.debug(
            "model failure after %.3f s: %s\n--- shown before it\n%s\n---", seconds, error, collected.text
        )


def _sendable(content: str) -> str:
    """Text that can be encoded, whatever a file edited by hand held."""
    return content.encode("utf-8", "replace").decode("utf-8")
