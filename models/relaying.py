"""Requests of other programs, passed on to the model server as they are, and its answers as they come.

Promises: no field of a request is lost, known here or not; an answer with an error keeps its status, its body and the
time after which to try again; what a stream said is known when it ended, and whether it ended as it should.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from domain import errors
from domain.events import Stop
from models import faults
from models.client import Client, Line

#: Headers of an answer that mean something to whoever asked.
_TOLD = ("content-type", "retry-after", "retry-after-ms", "x-request-id")
_ENDED = ("stop", "length")


@dataclass
class Heard:
    """What a reply came to, gathered from one answer or from the events of a stream."""

    text: str = ""
    finish: str | None = None
    usage: Mapping[str, Any] | None = None

    @property
    def whole(self) -> bool:
        """Whether it is a reply to the person that ended: not cut off, no call of a tool."""
        return self.finish in _ENDED and bool(self.text.strip())

    def take(self, body: Mapping[str, Any]) -> None:
        """Take in an answer, or an event. Of several choices only the first counts."""
        self.usage = body.get("usage") or self.usage
        choices = body.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
                continue
            self.finish = choice.get("finish_reason") or self.finish
            said = choice.get("delta") or choice.get("message") or {}
            self.text += said["content"] if isinstance(said.get("content"), str) else ""


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
        self._place = faults.Place(client.base, model, client.secrets)

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
        heard = Heard()
        if came.is_success and isinstance(parsed := _parsed(content), Mapping):
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
                yield Answer(came.status_code, _told(came.headers), came.read())
                return
            yield b""
            yield from _events(came.iter_lines())

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


def _events(lines: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    for line in lines:
        if line.startswith("data: "):
            held.append(line.removeprefix("data: "))
        elif held:
            yield "".join(held).encode()
            held = []
    if held:
        yield "".join(held).encode()


def _told(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _TOLD if name in headers}


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
