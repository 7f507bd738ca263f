"""One chat call: sent, read in a thread of its own, checked by our own rules, tried again where that helps.

Promises: the caller is never blocked for longer than a beat; a wish to stop is heard within a tenth of a
second; a reply is whole or it is an error; nothing of a failed try was shown when another one begins.
"""

from __future__ import annotations

import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import errors
from models import faults, replies, tokens
from models.client import Client
from models.collecting import Collected
from models.events import Beat, Event, ReasoningDelta, Reply, Retrying, TextDelta
from models.messages import Message
from models.retry import Patience, with_retries
from models.stop import Stop
from models.waiting import BEAT
from storage.records import Finish

if TYPE_CHECKING:
    import httpx2
    from openai import APIResponse

__all__ = ["Beat", "Chat", "Event", "ReasoningDelta", "Reply", "Retrying", "TextDelta"]

#: Seconds to wait for the token counts once the reply has ended.
_AFTER_THE_END = 2.0
#: A server may keep the connection open with comments for so many times the timeout, and no longer.
_COMMENTS_ONLY = 10
#: Seconds that our watch is later than the client library's, at most, so that the library speaks first.
_GRACE = 3.0


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
        started = time.monotonic()
        call = _Call(lambda: self._send(messages, stream), self._as_error, self._timeout)
        collected = Collected()
        self._log_request(messages, stream)
        try:
            finish = yield from self._listen(call, collected, stop)
            truncated = tokens.is_truncated(
                collected.prompt_tokens, tokens.estimate_all(message.content for message in messages)
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

    def _listen(self, call: _Call, collected: Collected, stop: Stop) -> Generator[Event, None, Finish | None]:
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


class _Call:
    """One request, read in a daemon thread into a queue."""

    def __init__(
        self,
        send: Callable[[], AbstractContextManager[APIResponse[Any]]],
        as_error: Callable[[BaseException, bool], errors.ModelError | None],
        timeout: float,
    ) -> None:
        self._send = send
        self._as_error = as_error
        self._timeout = timeout
        self._queue: queue.SimpleQueue[replies.Part | errors.ModelError] = queue.SimpleQueue()
        self._response: httpx2.Response | None = None
        self._dropped = threading.Event()
        self._ended = False
        self._heard = self._worded = time.monotonic()

    def start(self) -> None:
        """Send the request."""
        self._heard = self._worded = time.monotonic()
        threading.Thread(target=self._run, name="chat", daemon=True).start()

    def next(self, seconds: float, *, after_the_end: bool) -> replies.Part | None:
        """The next part within ``seconds``, or None.

        Raises the ModelError that ended the call; once the reply has ended, an error is only the end of the
        call.
        """
        try:
            item = self._queue.get(timeout=seconds)
        except queue.Empty:
            return self._silence(after_the_end)
        self._heard = time.monotonic()
        if isinstance(item, errors.ModelError):
            if after_the_end:
                return replies.Part(done=True)
            raise item
        if item != replies.ALIVE:
            self._worded = self._heard
        return self._silence(after_the_end) if item == replies.ALIVE else item

    def drop(self) -> None:
        """End the call: the server is told by the closed connection, and the thread ends."""
        if self._ended:
            return
        self._dropped.set()
        response = self._response
        if response is None or response.is_closed:
            return
        stream = response.extensions.get("network_stream")
        raw = stream.get_extra_info("socket") if stream is not None else None
        if raw is not None:
            with suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)

    def _silence(self, after_the_end: bool) -> replies.Part | None:
        now = time.monotonic()
        if after_the_end and now - self._worded > _AFTER_THE_END:
            return replies.Part(done=True)
        grace = min(_GRACE, self._timeout)
        silent = now - self._heard > self._timeout + grace
        if silent or now - self._worded > self._timeout * _COMMENTS_ONLY + grace:
            raise errors.TimedOut(seconds=self._timeout)
        return None

    def _run(self) -> None:
        try:
            while not self._read_once():
                pass
        except BaseException as fault:  # nobody else would hear it in this thread
            self._queue.put(errors.BadReply("model.malformed_reply", said=repr(fault)[:200]))

    def _read_once(self) -> bool:
        """Send and read; false when it should be sent again in a plainer form."""
        began = False
        try:
            with self._send() as response:
                began, self._response = True, response.http_response
                self._read(response.http_response.iter_bytes())
            return True
        except Exception as fault:
            error = self._as_error(fault, began)
            if error is not None:
                self._queue.put(error)
            return error is not None

    def _read(self, chunks: Iterator[bytes]) -> None:
        for part in replies.parts(chunks):
            self._queue.put(part)
            if self._dropped.is_set() or part.done:
                break
        self._ended = True
        self._queue.put(replies.Part(done=True))
        for _ in range(4):  # what follows the last event, so that the connection can serve again
            if self._dropped.is_set() or next(chunks, None) is None:
                return


def _sendable(content: str) -> str:
    """Text that can be encoded, whatever a file edited by hand held."""
    return content.encode("utf-8", "replace").decode("utf-8")
