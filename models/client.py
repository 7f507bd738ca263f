"""The door to one model server: the official client, made late, with our transport and limits, no retries.

Promises: a key goes to the host it was given for and nowhere else (a redirect to another place is refused);
nothing of the environment (organisation, project, proxy for a server on this machine) finds its way into a
request unasked; a call that is given up is hung up, so that a server does not go on working for nobody.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from domain import errors
from domain.text import one_line

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

    def line(self) -> Line:
        """A handle on the connection of one call, by which another thread can hang up."""
        return Line(self._calling)

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
            event_hooks={"request": [self._prepare], "response": [_stay_here]},
        )
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


class Line:
    """The connection of one call. Entered by the thread that calls; any other thread may hang up."""

    def __init__(self, calling: threading.local) -> None:
        self._calling = calling
        self._stream: Any = None
        self._hung_up = False

    def __enter__(self) -> Self:
        self._calling.line = self
        return self

    def __exit__(self, *_: object) -> None:
        self._calling.line = None
        self._stream = None

    def connected(self, event: str, info: Mapping[str, Any]) -> None:
        """Told by the transport of every step of a request; a new connection is remembered."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._remember(info.get("return_value"))

    def answered(self, response: httpx2.Response) -> None:
        """Remember the connection that an answer came by, which may be an older one."""
        self._remember(response.extensions.get("network_stream"))

    def hang_up(self) -> None:
        """Shut the connection, now or as soon as there is one."""
        self._hung_up = True
        stream = self._stream
        raw = stream.get_extra_info("socket") if stream is not None else None
        if raw is not None:
            with suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)

    def _remember(self, stream: Any) -> None:
        self._stream = stream if stream is not None else self._stream
        if self._hung_up:
            self.hang_up()


def _stay_here(response: httpx2.Response) -> None:
    """Refuse a redirect that leaves the host, or that would lose what was said."""
    if not response.has_redirect_location:
        return
    location = response.headers.get("location", "")
    here, there = response.request.url, response.request.url.join(location)
    same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
    if not same or response.status_code not in _KEEPS_BODY:
        raise errors.NotFound("model.redirected", status=response.status_code, location=one_line(str(there)))
