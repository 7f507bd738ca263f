"""Requests of other programs, passed on to the model server as they are, and its answers as they come.

Promises: no field of a request is lost, known here or not; an answer with an error keeps its status, its body but
for our key, and the time after which to try again, unless it speaks of our own key or account, or is none that a client
of this protocol could read, which is an error of ours; what a stream said is known when it ended, and whether it ended
as it should.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal

from domain import errors
from domain.text import MASK, clean
from domain.workers import Stop
from models import faults
from models.client import Client, Line, lines
from models.replies import MAX_REPLY, ThinkingSplitter, finish_of, without_stray_thinking

#: Headers of an answer that mean something to whoever asked.
_TOLD = ("content-type", "retry-after", "retry-after-ms", "x-request-id")
#: What is shorter is a word that stands where a server asks for some key, and may stand anywhere.
_SHORTEST_KEY = 8
#: A reply that ends so goes on when the client has done what it asks for.
_CALLS = ("tool_calls", "function_call")


@dataclass
class Heard:
    """What a reply came to, gathered from one answer or from the events of a stream.

    ``failed``: an error came in its middle; ``calls``: tools are called.
    """

    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    failed: bool = False
    calls: bool = False
    _said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words of the reply, without the thinking that some servers put among them."""
        splitter = ThinkingSplitter()
        parts = (splitter.feed("".join(self._said)), splitter.finish())
        return clean(without_stray_thinking("".join(words for _, words in parts))).strip()[:MAX_REPLY]

    @property
    def whole(self) -> bool:
        """Whether it is a reply to the person that ended: not cut off, no call of a tool, not refused."""
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

    def take(self, body: Mapping[str, Any]) -> None:
        """Take in an answer, or an event. Of several choices only the first counts."""
        self.usage = body.get("usage") or self.usage
        self.failed = self.failed or faults.is_error(body)
        choices = body.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping) and not choice.get("index"):
                self.finish = _words(choice.get("finish_reason")) or self.finish
                self._take_words(choice.get("delta") or choice.get("message"))

    def end(self) -> None:
        """Nothing more comes. Raises BadReply where the end is missing."""
        if not self.finish:
            raise errors.BadReply("model.cut_reply")

    def _take_words(self, said: object) -> None:
        if isinstance(said, Mapping):
            self._said.append(_words(said.get("content")))
            self.calls = self.calls or bool(said.get("tool_calls"))


@dataclass(frozen=True)
class Answer:
    """An answer that came whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    heard: Heard = field(default_factory=Heard)


class Relay:
    """Passes requests on to one server."""

    def __init__(self, client: Client, model: str, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._clock = clock
        self._place = faults.Place(client.shown, model, client.secrets)
        self._keys = [key.encode() for key in client.secrets if len(key) >= _SHORTEST_KEY]

    def send(
        self, method: Literal["GET", "POST"], path: str, body: Mapping[str, Any] | None, stop: Stop
    ) -> Answer:
        """Ask once, and wait for the whole answer. Raises ModelError where there is none, Interrupted."""
        line = Line(streams=False)
        with (
            self._errors(stop),
            line,
            stop.calling(line.hang_up),
            self._client.sent(method, path, body, line) as came,
        ):
            content = came.read()
            if not came.is_success:
                return self._refusal(came.status_code, came.headers, content)
        heard = Heard()
        if isinstance(parsed := _parsed(content), Mapping):
            heard.take(parsed)
        return Answer(came.status_code, _told(came.headers), content, heard)

    def stream(self, path: str, body: Mapping[str, Any], stop: Stop) -> Iterator[Answer | bytes]:
        """Ask for a stream: its events, each the bytes behind ``data:``, without the last one that only ends it.

        An empty one comes first, as soon as the server has begun to answer.

        An ``Answer`` alone comes where the server refuses. Raises ModelError where it breaks, Interrupted.
        """
        line = Line(streams=True)
        with (
            self._errors(stop),
            line,
            stop.calling(line.hang_up),
            self._client.sent("POST", path, body, line) as came,
        ):
            if not came.is_success:
                yield self._refusal(came.status_code, came.headers, came.read())
                return
            yield b""
            yield from (event for event in _events(lines(came.iter_bytes())) if event != b"[DONE]")

    def _refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        """A refusal without our key, which some servers repeat. Raises ModelError where it is none of the client's."""
        for key in self._keys:
            body = body.replace(key, MASK.encode())
        parsed = _parsed(body)
        said = body.decode("utf-8", "replace") if parsed is None else parsed
        error = faults.of_refusal(status, headers, said, self._clock)
        of_ours = isinstance(error, errors.Unauthorized | errors.QuotaExhausted)
        if (of_ours and status != HTTPStatus.TOO_MANY_REQUESTS) or not faults.is_error(parsed):
            raise error
        return Answer(status, _told(headers), body)

    @contextmanager
    def _errors(self, stop: Stop) -> Iterator[None]:
        """Faults of the network and of a body as ours; a call that was given up is Interrupted."""
        stop.check()
        try:
            yield
        except Exception as fault:
            if stop.is_set:
                raise errors.Interrupted from fault
            raise faults.from_exception(fault, self._place, self._clock) from fault


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for line in lines:
        if line.startswith(b"data: "):
            held.append(line.removeprefix(b"data: "))
        elif held:
            yield b"".join(held)
            held = []
    if held:
        yield b"".join(held)


def _told(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _TOLD if name in headers}


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _words(value: object) -> str:
    """The words of a content, which may come in parts."""
    parts = value if isinstance(value, list) else [{"text": value}]
    found = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "".join(text for text in found if isinstance(text, str))
