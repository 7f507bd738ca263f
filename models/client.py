"""The door to one model server: the official client, made late, with our transport and limits, no retries.

Promises: a key goes to the host it was given for and nowhere else (a redirect to another place is refused);
nothing of the environment (organisation, project, proxy for a server on this machine) finds its way into a
request unasked; a call that is given up is hung up, so that a server does not go on working for nobody.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from domain import errors
from domain.settings import Settings
from domain.text import one_line
from models import faults

if TYPE_CHECKING:
    import httpx2
    from openai import OpenAI

    #: Makes what takes the place of the network, once it is needed.
    Transport = Callable[[], httpx2.BaseTransport]

#: Seconds for the connection itself; a server that is there answers at once.
_CONNECT = 10.0
#: Redirects that keep method and body.
_KEEPS_BODY = (307, 308)
#: Headers that nobody set: an account of the environment, and what tells about this machine.
_UNASKED = ("openai-organization", "openai-project", "x-stainless-")
#: This one the client library reads again when the answer comes.
_NEEDED = "x-stainless-raw-response"
#: Seconds to wait for what may follow the end of a reply.
_AFTER_THE_END = 1.0
_MOST_NAMES = 5_000
_HERE = ("localhost", "127.0.0.1", "::1")


class Client:
    """One server: base URL, key, timeout in seconds.

    ``transport`` makes what takes the place of the network.
    """

    def __init__(self, base: str, key: str, timeout: float, transport: Transport | None = None) -> None:
        self.base = base
        self._key = key
        self.timeout = timeout
        self._transport = transport
        self._lock = threading.Lock()
        self._openai: OpenAI | None = None
        self._http: httpx2.Client | None = None
        self._calling = threading.local()

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown or logged."""
        return (self._key,) if self._key else ()

    def openai(self) -> OpenAI:
        """The official client; importing it takes most of a second, so the first caller waits."""
        with self._lock:
            self._openai = self._openai or self._make()
            return self._openai

    @contextmanager
    def over(self, line: Line) -> Iterator[OpenAI]:
        """The official client; what this thread sends meanwhile goes over ``line``."""
        openai = self.openai()
        self._calling.line = line
        try:
            yield openai
        finally:
            self._calling.line = None

    @contextmanager
    def sent(
        self, method: str, path: str, body: Mapping[str, Any] | None, line: Line
    ) -> Iterator[httpx2.Response]:
        """The answer to a request that is none of ours, its body still to be read; sent as it is, with our key."""
        with self.over(line):
            assert self._http is not None
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            content = None
            if body is not None:
                headers["Content-Type"] = "application/json"
                content = json.dumps(body)  # in ASCII: half a character that a client sent stays what it was
            request = self._http.build_request(method, self.base + path, content=content, headers=headers)
            came = self._http.send(request, stream=True)
        try:
            yield came
        finally:
            came.close()

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        with self._lock:
            if self._openai is not None:
                self._openai.close()
            self._openai = None

    def _make(self) -> OpenAI:
        import httpx2
        from openai import OpenAI

        place = urlsplit(self.base)
        # Without TLS a new connection costs nothing, and only a connection of its own can be hung up early.
        kept = None if place.scheme == "https" else 0
        http = httpx2.Client(
            transport=self._transport() if self._transport else None,
            timeout=httpx2.Timeout(self.timeout, connect=min(_CONNECT, self.timeout)),
            limits=httpx2.Limits(max_keepalive_connections=kept),
            follow_redirects=True,
            trust_env=place.hostname not in _HERE,
            event_hooks={"request": [self._prepare], "response": [self._receive]},
        )
        self._http = http
        return OpenAI(api_key=self._key or "none", base_url=self.base, max_retries=0, http_client=http)

    def _prepare(self, request: httpx2.Request) -> None:
        """Take out what nobody set for this server; let the call's line know of its connection."""
        for name in list(request.headers):
            unset = name == "authorization" and not self._key
            if unset or (name.startswith(_UNASKED) and name != _NEEDED):
                del request.headers[name]
        line: Line | None = getattr(self._calling, "line", None)
        if line is not None:
            request.extensions["trace"] = line.connected

    def _receive(self, response: httpx2.Response) -> None:
        """Have the body looked at before anybody reads it."""
        from models.body import Body

        _stay_here(response)
        line: Line | None = getattr(self._calling, "line", None)
        if line is not None:
            line.answered(response)
        response.stream = Body(
            response,
            streams=line is not None and line.streams,
            at_end=line.hang_up_soon if line else lambda: None,
        )


class Line:
    """The connection of one chat call, whose answer ``streams`` or not; any thread may hang up."""

    def __init__(self, *, streams: bool) -> None:
        self.streams = streams
        #: Whether a good answer began to come.
        self.began = False
        self._stream: Any = None
        self._hung_up = False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def connected(self, event: str, info: Mapping[str, Any]) -> None:
        """Told by the transport of every step of a request; a new connection is remembered."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._remember(info.get("return_value"))

    def answered(self, response: httpx2.Response) -> None:
        """Remember the connection that an answer came by, which may be an older one."""
        self.began = response.is_success
        self._remember(response.extensions.get("network_stream"))

    def hang_up(self) -> None:
        """Shut the connection, now or as soon as there is one. Takes no lock."""
        self._hung_up = True
        stream = self._stream
        raw = stream.get_extra_info("socket") if stream is not None else None
        if raw is not None:
            with suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)

    def hang_up_soon(self) -> None:
        """The reply has ended: what may still follow it in a stream, such as token counts, is waited for a moment."""
        if self._timer is None and self.streams:
            self._timer = threading.Timer(_AFTER_THE_END, self.hang_up)
            self._timer.daemon = True
            self._timer.start()

    def _remember(self, stream: Any) -> None:
        self._stream = stream if stream is not None else self._stream
        if self._hung_up:
            self.hang_up()


@dataclass(frozen=True)
class Described:
    """Who talks: the model's name, where it is, and whether it is only the built-in stand-in."""

    model: str
    base: str
    standin: bool


def described(settings: Settings) -> Described:
    """Who the settings say talks."""
    if settings.standin:
        return Described("stand-in", "http://stand-in.invalid/v1", True)
    return Described(settings.chat_model, settings.chat_base, False)


def connect(settings: Settings, transport: Transport | None = None) -> Client:
    """The chat server that the settings name, or the built-in stand-in."""
    instead = transport or (_standin if settings.standin else None)
    return Client(described(settings).base, settings.openai_api_key, settings.request_timeout, instead)


def model_names(client: Client, model: str, clock: Callable[[], datetime]) -> list[str]:
    """The names in a server's model list, sorted, inert.

    Raises ModelError.
    """
    try:
        page: Any = client.openai().models.list()
    except Exception as fault:
        raise faults.from_exception(fault, faults.Place(client.base, model, client.secrets), clock) from fault
    rows = getattr(page, "data", None) or getattr(page, "models", None)
    found = [_name_of(row) for row in rows[:_MOST_NAMES]] if isinstance(rows, list) else []
    return sorted({one_line(name) for name in found if isinstance(name, str) and name.strip()})


def _name_of(row: Any) -> object:
    """What a row of a model list, typed or not, calls its model."""
    if isinstance(row, Mapping):
        return row.get("id") or row.get("name")
    return getattr(row, "id", None) or getattr(row, "name", None)


def _standin() -> httpx2.BaseTransport:
    from models.standin import StandIn

    return StandIn()


def _stay_here(response: httpx2.Response) -> None:
    """Refuse a redirect that leaves the host, or that would lose what was said."""
    if not response.has_redirect_location:
        return
    location = response.headers.get("location", "")
    here, there = response.request.url, response.request.url.join(location)
    same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
    if not same or response.status_code not in _KEEPS_BODY:
        raise errors.NotFound("model.redirected", status=response.status_code, location=one_line(str(there)))
