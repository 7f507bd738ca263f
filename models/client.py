"""The door to one model server: the official client, made late, with our transport and limits, no retries.

Promises: a key goes to the host it was given for and nowhere else (a redirect to another place is refused);
nothing of the environment (organisation, project, proxy for a server on this machine) finds its way into a
request unasked; a call that is given up is hung up, so that a server does not go on working for nobody; what is no
answer is refused before the library reads it.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from domain import errors
from domain.settings import Settings, described
from domain.text import mask_url, url_secrets
from models import fault_table, faults

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
#: The longest event, and the longest body that is not a stream, in bytes.
_MAX_BYTES = 32_000_000
#: A server may keep the connection open with comments for so many times the timeout, and no longer.
_COMMENTS_ONLY = 10
_LONGEST_TIMEOUT = 600.0
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
        return ((self._key,) if self._key else ()) + url_secrets(self.base)

    @property
    def shown(self) -> str:
        """The base URL as it may be shown and logged."""
        return mask_url(self.base)

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
        _stay_here(response)
        line: Line | None = getattr(self._calling, "line", None)
        if line is not None:
            line.answered(response)
        streams, at_end = (line.streams, line.hang_up_soon) if line else (False, lambda: None)
        response.stream = _as_stream(Body(response, streams=streams, at_end=at_end))


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


class Body:
    """What the library reads of an answer. ``streams``: a stream was asked for; ``at_end``: it has ended.

    The library takes almost anything for an answer and waits for ever. Here a web page, JSON that is none, an error
    under a good status, a body without end and a connection that only comments keep open become errors; a whole reply
    where a stream was asked for becomes a stream, and what servers do to event streams is put right.
    """

    def __init__(self, response: httpx2.Response, *, streams: bool, at_end: Callable[[], None]) -> None:
        import httpx2

        headers = response.headers.copy()
        self._decoded = httpx2.Response(
            response.status_code, headers=headers, stream=response.stream, request=response.request
        )
        response.headers.pop("content-encoding", None)
        self._streams, self._at_end = streams, at_end
        timeout = response.request.extensions.get("timeout", {}).get("read") or _LONGEST_TIMEOUT
        self._patience = timeout * _COMMENTS_ONLY

    def __iter__(self) -> Iterator[bytes]:
        chunks = self._decoded.iter_bytes()
        if not self._decoded.is_success:
            yield from _bounded(chunks)
            return
        start, chunks = _first_words(chunks)
        if start.startswith(b"<"):
            page = start[:4_000].decode("utf-8", "replace")
            raise errors.BadReply("model.html_reply", said=faults.failure_of(page).said)
        if self._streams and not start.startswith((b"{", b"[", b'"')):
            yield from self._events(chain([start], chunks))
            return
        body = _json(b"".join(_bounded(chain([start], chunks))))
        if faults.is_error(body):
            raise fault_table.error_of(faults.failure_of(body))
        yield _as_event(body) if self._streams else json.dumps(body).encode()

    def close(self) -> None:
        """Let go of the connection."""
        self._decoded.close()

    def _events(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The data of a stream and the ends of its events; nothing else of it matters to a reply."""
        heard, size, name = time.monotonic(), 0, b""
        for line in lines(chunks):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data" and value.strip() == b"[DONE]":
                yield b"\n"
                return self._read_on(chunks)
            if field == b"data":
                begins = value.startswith(b"{")  # some servers forget the empty line before it
                heard, size = time.monotonic(), len(value) + (0 if begins else size)
                _refuse(value, size, name)
                yield (b"\n" if begins else b"") + b"data: " + _valid(value) + b"\n"
            elif time.monotonic() - heard > self._patience:
                raise errors.TimedOut(seconds=self._patience / _COMMENTS_ONLY)
            elif field == b"event":
                name = value
            elif not line:
                name, size = b"", 0
                yield b"\n"
        yield b"\n"

    def _read_on(self, chunks: Iterator[bytes]) -> None:
        """Read what follows the last event, so that the connection can serve again; not for long."""
        self._at_end()
        for _ in chunks:
            pass


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream without their ends (``\\n``, ``\\r\\n`` or ``\\r``).

    Raises BadReply for a line that never ends.
    """
    held: list[bytes] = []
    size = 0
    after_return = False
    for chunk in chunks:
        if after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # noqa: PLW2901 - the other half of a line end
        if not chunk:
            continue
        after_return = chunk.endswith(b"\r")
        ended = chunk.endswith((b"\n", b"\r"))
        pieces = chunk.splitlines()
        for number, piece in enumerate(pieces):
            held.append(piece)
            size += len(piece)
            if size > _MAX_BYTES:
                raise errors.BadReply("model.too_large", limit=_MAX_BYTES)
            if ended or number < len(pieces) - 1:
                yield b"".join(held)
                held, size = [], 0
    if held:
        yield b"".join(held)


def _first_words(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The beginning of a body without white space or byte order mark, and what follows it."""
    for chunk in chunks:
        start = chunk.lstrip(b"\xef\xbb\xbf \t\r\n")
        if start:
            return start, chunks
    return b"", chunks


def _bounded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _MAX_BYTES:
            raise errors.BadReply("model.too_large", limit=_MAX_BYTES)
        yield chunk


def _refuse(data: bytes, size: int, name: bytes) -> None:
    """Refuse an event, of which this many bytes came, that is too large or the event of an error."""
    if size > _MAX_BYTES:
        raise errors.BadReply("model.too_large", limit=_MAX_BYTES)
    if name == b"error":
        raise fault_table.error_of(faults.failure_of(_json(data)))


def _valid(data: bytes) -> bytes:
    """The same in valid UTF-8."""
    return data.decode("utf-8", "replace").encode()


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as fault:
        said = f"{type(fault).__name__}: {data[:200]!r}"
        raise errors.BadReply("model.malformed_reply", said=said) from fault


def _as_event(body: Any) -> bytes:
    """A whole reply as the one event of a stream."""
    if isinstance(body, dict) and not body.get("choices"):
        raise errors.BadReply("model.empty_reply")
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _as_stream(body: Body) -> httpx2.SyncByteStream:
    """The body as the library wants it, of a class of its own; that is not loaded before the first call."""
    import httpx2

    class Stream(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(body)

        def close(self) -> None:
            body.close()

    return Stream()


def connect(settings: Settings, transport: Transport | None = None) -> Client:
    """The chat server that the settings name, or the built-in stand-in."""
    instead = transport or (_standin if settings.standin else None)
    base = described(settings).base if settings.standin else settings.chat_base
    return Client(base, settings.openai_api_key, settings.request_timeout, instead)


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
        raise errors.NotFound("model.redirected", status=response.status_code, location=mask_url(str(there)))
