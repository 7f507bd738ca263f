"""Chat calls through the official client, with our own checks and retries.

Guarantees: a blocking call is aborted as soon as its ``CancelToken`` is set in any thread; a reply is complete or an
error; a call is retried only if nothing of it was shown.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from domain import errors
from domain.events import Notice, ReasoningDelta, Reply, ReplyEvent, Retrying, StreamEvent, TextDelta
from domain.records import Finish
from domain.text import one_line
from domain.workers import CancelToken
from language import scripts as languages
from models import provider_errors
from models.client import Client, Line
from models.replies import CollectedReply, Part, field_of, part_of

#: Seconds between two saves of a reply that is still streaming.
_KEEP_PARTIAL_EVERY = 0.5
#: The longest prompt that is sent, in characters.
MAX_PROMPT = 4_000_000
#: The longest model list that is read.
_MOST_NAMES = 5_000


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


def merge_messages(messages: Iterable[PromptMessage]) -> tuple[PromptMessage, ...]:
    """The messages without empty ones and with neighbours of one role joined.

    Strict chat templates refuse a prompt whose roles do not alternate.
    """
    found: list[PromptMessage] = []
    for message in messages:
        if found and message.content.strip() and found[-1].role == message.role:
            found[-1] = PromptMessage(message.role, f"{found[-1].content}\n\n{message.content}")
        elif message.content.strip():
            found.append(message)
    return tuple(found)


@dataclass(frozen=True)
class Patience:
    """How a failed call is tried again.

    ``tries`` in all; pauses grow from ``first`` seconds, doubling, with up to half as much again by
    ``jitter`` (0 to 1), so that many clients do not come back at the same moment. A server that asks for a
    longer pause gets it, up to ``most`` seconds; one that asks for more is not waited for. After a
    timeout there are at most ``timeout_tries``, since each takes the whole time.
    """

    tries: int = 3
    timeout_tries: int = 2
    first: float = 0.5
    most: float = 60.0
    jitter: Callable[[], float] = random.random

    def pause_before_next(self, failed: int, error: errors.ModelError) -> float | None:
        """Seconds before the next try after ``failed`` tries; None when there is no next try."""
        asked = error.retry_after or 0.0
        if not error.retryable or failed >= self.tries_for(error) or asked > self.most:
            return None
        return max(asked, self.first * 2.0 ** (failed - 1)) * (1 + self.jitter() / 2)

    def tries_for(self, error: errors.ModelError) -> int:
        """The number of tries in all for this error."""
        return min(self.tries, self.timeout_tries) if isinstance(error, errors.TimedOut) else self.tries


class ChatModel:
    """The chat model of one server. One instance serves many calls, one after another or side by side."""

    def __init__(
        self, client: Client, model: str, log: logging.Logger, *, clock: Callable[[], datetime], patience: Patience
    ) -> None:
        self._client = client
        self._model = model
        self._log = log
        self._clock = clock
        self._patience = patience
        self._place = provider_errors.Place(client.masked_base, model, client.secrets)
        #: Some servers refuse a request that asks for token counts in a stream; learnt once.
        self._may_ask_usage = True

    def stream_reply(
        self,
        messages: Sequence[PromptMessage],
        stop: CancelToken,
        *,
        stream: bool,
        metadata: Mapping[str, str] | None = None,
        options: Mapping[str, float] | None = None,
    ) -> Iterator[ReplyEvent]:
        """The events of one reply; the last one is a Reply. ``options``: a temperature, how many tokens it may have.

        Raises ModelError (nothing may be stored; its detail ``shown`` counts the characters shown before
        it), or Interrupted when stopped before the first word. Stopped after it, the reply ends as
        ``interrupted``.
        """
        wanted: dict[str, Any] = {
            "model": self._model,
            # In extra_body, because the client library would spend most of its time on transforming them.
            "messages": [],
            "extra_body": {
                "messages": [
                    {"role": one.role, "content": one.content.encode("utf-8", "replace").decode()} for one in messages
                ]
            },
            **({"stream": True} if stream else {}),
            **({"metadata": metadata} if metadata else {}),
            **(options or {}),
        }
        for failed in range(1, self._patience.tries + 1):
            shown = False
            try:
                for event in self._try_once(messages, wanted, stop):
                    shown = shown or isinstance(event, TextDelta | ReasoningDelta)
                    yield event
                return
            except errors.ModelError as error:
                pause = None if shown else self._patience.pause_before_next(failed, error)
                if pause is None:
                    raise
                yield Retrying(error, failed + 1, self._patience.tries_for(error), pause)
                if stop.wait(pause):
                    raise errors.Interrupted from error

    def list_models(self) -> list[str]:
        """The names in the server's model list, sorted, inert. Raises ModelError."""
        try:
            page: Any = self._client.load_openai().models.list()
        except Exception as fault:
            raise provider_errors.error_from_exception(fault, self._place, self._clock) from fault
        rows = getattr(page, "data", None) or getattr(page, "models", None)
        listed = rows[:_MOST_NAMES] if isinstance(rows, list) else []
        found = [field_of(row, "id") or field_of(row, "name") for row in listed]
        return sorted({one_line(name) for name in found if isinstance(name, str) and name.strip()})

    def _try_once(
        self, messages: Sequence[PromptMessage], wanted: dict[str, Any], stop: CancelToken
    ) -> Iterator[ReplyEvent]:
        stop.check()
        if sum(len(message.content) for message in messages) > MAX_PROMPT:
            raise provider_errors.add_place(errors.ContextTooLong(limit=None, shown=0), self._place)
        started, collected = time.monotonic(), CollectedReply()
        if self._log.isEnabledFor(logging.DEBUG):
            self._log_request(messages, "stream" in wanted)
        line = Line(streams="stream" in wanted)
        try:
            with closing(line), stop.calling(line.hang_up), closing(self._read_parts(wanted, line)) as parts:
                finish = yield from self._read_reply(parts, collected, line, stop)
            truncated = languages.is_truncated(
                collected.prompt_tokens, languages.estimate_all(message.content for message in messages)
            )
            reply = collected.make_reply(finish, self._model, time.monotonic() - started, truncated)
        except Exception as fault:
            error = self._as_error(fault, collected, began=line.began)
            self._log.debug(
                "model failure after %.3f s: %s\n--- shown before it\n%s\n---",
                time.monotonic() - started, error, collected.text,
            )  # fmt: skip
            raise error from fault.__cause__ if error is fault else fault
        if self._log.isEnabledFor(logging.DEBUG):
            self._log_reply(reply, collected)
        yield reply

    def _read_reply(
        self, parts: Iterator[Part], collected: CollectedReply, line: Line, stop: CancelToken
    ) -> Generator[ReplyEvent, None, Finish | None]:
        try:
            for part in parts:
                if stop.is_set and not collected.finish:
                    break
                yield from collected.add_part(part)
                if collected.is_full:
                    break
                if collected.finish:
                    line.hang_up_soon()
        except Exception:
            # After the end of the reply, or a cancellation, a broken connection does not matter.
            if not collected.finish and not stop.is_set:
                raise
        if stop.is_set and not collected.finish:
            if not collected.text.strip():
                raise errors.Interrupted
            return "interrupted"
        yield from collected.flush_text()
        return None

    def _read_parts(self, wanted: dict[str, Any], line: Line) -> Generator[Part, None, None]:
        """The parts of the answer as the client library reads them, with token counts where the server has them."""
        from openai import APIStatusError

        with self._client.call_over(line) as openai:
            create: Callable[..., Any] = openai.chat.completions.create
            counting = {"stream_options": {"include_usage": True}} if line.streams and self._may_ask_usage else {}
            try:
                answer = create(**wanted, **counting)
            except APIStatusError as refused:
                if not counting or refused.status_code not in (400, 422) or "stream_options" not in refused.message:
                    raise
                self._may_ask_usage = False
                answer = create(**wanted)
        if not line.streams:
            yield part_of(answer)
            return
        with answer:
            for chunk in answer:
                yield part_of(chunk)

    def _as_error(self, fault: Exception, collected: CollectedReply, *, began: bool) -> errors.OldFriendError:
        if isinstance(fault, errors.Interrupted):
            return fault
        error = provider_errors.error_from_exception(fault, self._place, self._clock)
        if began and isinstance(error, errors.Unreachable):
            error = provider_errors.add_place(
                errors.BadReply("model.cut_reply", said=error.details["said"]), self._place
            )
        if error.key == "model.malformed_reply" and not isinstance(fault, errors.ModelError | ValueError):
            self._log.error("an answer could not be read", exc_info=fault)
        error.details["shown"] = len(collected.text)
        return error

    def _log_request(self, messages: Sequence[PromptMessage], stream: bool) -> None:
        said = "\n".join(f"--- {message.role}\n{message.content}" for message in messages)
        self._log.debug(
            "model request to %s\n  model=%s stream=%s\n%s\n---", self._client.masked_base, self._model, stream, said
        )

    def _log_reply(self, reply: Reply, collected: CollectedReply) -> None:
        self._log.debug(
            "model reply after %.3f s\n  model=%s finish=%s prompt_tokens=%s completion_tokens=%s\n"
            "--- thinking\n%s\n--- reply\n%s\n---",
            reply.seconds, reply.model, reply.finish, reply.prompt_tokens, reply.completion_tokens,
            collected.reasoning, reply.text,
        )  # fmt: skip


def save_partial_reply(
    events: Iterator[ReplyEvent], keep_partial: Callable[[str], None], model: str, *, watched: bool
) -> Generator[StreamEvent | Notice, None, Reply]:
    """The events of a reply except the Reply, which is returned; the partial text is saved from time to time.

    ``watched``: the text was displayed as it arrived, so after a broken connection it is kept as an interrupted reply.
    """
    shown, began = "", time.monotonic()
    saved_at = began
    try:
        for event in events:
            if isinstance(event, Reply):
                return event
            shown += event.text if isinstance(event, TextDelta) else ""
            if isinstance(event, TextDelta) and time.monotonic() - saved_at > _KEEP_PARTIAL_EVERY:
                keep_partial(shown)
                saved_at = time.monotonic()
            yield event
    except errors.ModelError as fault:
        # The connection or the server failed, rather than the reply.
        lost = isinstance(fault, errors.Unreachable | errors.TimedOut | errors.ServerFault)
        if not (watched and shown.strip() and (lost or fault.key == "model.cut_reply")):
            raise
        yield Notice("turn.broke_off", {"error": fault})
        return Reply(shown.strip(), "interrupted", model, None, None, time.monotonic() - began, False)
    raise errors.BadReply("model.empty_reply")
