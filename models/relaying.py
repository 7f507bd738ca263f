"""Relays requests of chat API clients to the model server, and its answers back.

Guarantees: no field of a request is lost, known or not. An error answer keeps its status, Retry-After and body, without
our key; if it is about our key or account, or not readable for a client, it becomes an error of ours. After a stream it
is known what the reply was and whether it ended properly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from domain import errors
from domain.text import MASK, clean_text
from domain.workers import CancelToken
from models import provider_errors
from models.chat import MAX_REPLY, ThinkingSplitter, finish_of, without_stray_thinking
from models.client import Client, Line, split_lines

if TYPE_CHECKING:
    import httpx2

#: Headers of an answer that are passed to the client.
_PASSED = ("content-type", "retry-after", "retry-after-ms", "x-request-id")
#: A shorter key is a placeholder, which may occur anywhere.
_SHORTEST_KEY = 8
#: A reply with this finish continues after a tool call.
_CALLS = ("tool_calls", "function_call")


@dataclass
class RelayedReply:
    """A reply collected from one answer or from the events of a stream.

    ``failed``: an error occurred within it; ``calls``: it calls tools.
    """

    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    failed: bool = False
    calls: bool = False
    _said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words of the reply, without the thinking that some servers put among them."""
        _, words = ThinkingSplitter().feed("".join(self._said), last=True)
        return clean_text(without_stray_thinking(words)).strip()[:MAX_REPLY]

    @property
    def is_whole(self) -> bool:
        """Whether it is a complete reply to the person: not cut off, no tool call, not refused."""
        return not self.failed and self.ended is not None and bool(self.text)

    @property
    def ended(self) -> Literal["stop", "length"] | None:
        """How a reply to the person ended, if this is one."""
        if not self.finish or self.calls or self.finish in _CALLS:
            return None
        try:
            return "length" if finish_of(self.finish) == "length" else "stop"
        except errors.ModelError:
            return None

    def add_body(self, body: Mapping[str, Any]) -> None:
        """Add an answer or an event. Of several choices only the first counts."""
        self.usage = body.get("usage") or self.usage
        self.failed = self.failed or provider_errors.is_error(body)
        choices = body.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, Mapping) or choice.get("index"):
                continue
            self.finish = _text_of(choice.get("finish_reason")) or self.finish
            said = choice.get("delta") or choice.get("message")
            if isinstance(said, Mapping):
                self._said.append(_text_of(said.get("content")))
                self.calls = self.calls or bool(said.get("tool_calls"))

    def check_finished(self) -> None:
        """Raise BadReply if the end is missing."""
        if not self.finish:
            raise errors.BadReply("model.cut_reply")


@dataclass(frozen=True)
class Answer:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    reply: RelayedReply = field(default_factory=RelayedReply)


class Relay:
    """Relays requests to one server."""

    def __init__(self, client: Client, model: str, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._clock = clock
        self._place = provider_errors.Place(client.masked_base, model, client.secrets)
        self._keys = [key.encode() for key in client.secrets if len(key) >= _SHORTEST_KEY]

    def send(
        self, method: Literal["GET", "POST"], path: str, body: Mapping[str, Any] | None, stop: CancelToken
    ) -> Answer:
        """Send a request and wait for the whole answer. Raises ModelError or Interrupted."""
        with self._open_answer(method, path, body, stop, streams=False) as came:
            content = came.read()
            if not came.is_success:
                return self._read_refusal(came.status_code, came.headers, content)
        reply = RelayedReply()
        if isinstance(parsed := _parse_json(content), Mapping):
            reply.add_body(parsed)
        return Answer(came.status_code, _passed_headers(came.headers), content, reply)

    def stream(self, path: str, body: Mapping[str, Any], stop: CancelToken) -> Iterator[Answer | bytes]:
        """Ask for a stream: its events, each the bytes behind ``data:``, without the last one that only ends it.

        An empty one comes first, as soon as the server has begun to answer.

        An ``Answer`` alone comes where the server refuses. Raises ModelError where it breaks, Interrupted.
        """
        with self._open_answer("POST", path, body, stop, streams=True) as came:
            if not came.is_success:
                yield self._read_refusal(came.status_code, came.headers, came.read())
                return
            yield b""
            yield from (event for event in _read_events(split_lines(came.iter_bytes())) if event != b"[DONE]")

    def _read_refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        """A refusal without our key, which some servers repeat. Raises ModelError where it is none of the client's."""
        for key in self._keys:
            body = body.replace(key, MASK.encode())
        parsed = _parse_json(body)
        said = body.decode("utf-8", "replace") if parsed is None else parsed
        error = provider_errors.error_from_refusal(status, headers, said, self._clock)
        of_ours = isinstance(error, errors.Unauthorized | errors.QuotaExhausted)
        if (of_ours and status != HTTPStatus.TOO_MANY_REQUESTS) or not provider_errors.is_error(parsed):
            raise error
        return Answer(status, _passed_headers(headers), body)

    @contextmanager
    def _open_answer(
        self, method: str, path: str, body: Mapping[str, Any] | None, stop: CancelToken, *, streams: bool
    ) -> Iterator[httpx2.Response]:
        """An answer to be read; faults of the network and of a body are ours, and one that was given up Interrupted."""
        stop.check()
        line = Line(streams=streams)
        try:
            with (
                closing(line),
                stop.calling(line.hang_up),
                self._client.open_response(method, path, body, line) as came,
            ):
                yield came
        except Exception as fault:
            if stop.is_set:
                raise errors.Interrupted from fault
            raise provider_errors.error_from_exception(fault, self._place, self._clock) from fault


def _read_events(lines: Iterable[bytes]) -> Iterator[bytes]:
    pending: list[bytes] = []
    for line in lines:
        if line.startswith(b"data: "):
            pending.append(line.removeprefix(b"data: "))
        elif pending:
            yield b"".join(pending)
            pending = []
    if pending:
        yield b"".join(pending)


def _passed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _PASSED if name in headers}


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _text_of(value: object) -> str:
    """The words of a content, which may come in parts."""
    parts = value if isinstance(value, list) else [{"text": value}]
    found = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "".join(text for text in found if isinstance(text, str))
