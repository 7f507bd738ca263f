"""The connection to one model server: the official client, made late, with our transport and limits, no retries.

Promises: a key goes to the host it was given for and nowhere else (a redirect to another place is refused);
nothing from the environment (organisation, project, proxy for a server on this machine) gets into a request
unasked; a cancelled call closes its connection, so that the server stops working on it; anything that is not a valid
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
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from domain import errors
from domain.settings import Settings, describe_model
from domain.text import mask_url, url_secrets
from models import provider_errors

if TYPE_CHECKING:
    import httpx2
    from openai import OpenAI

    #: Makes what takes the place of the network, once it is needed.
    Transport = Callable[[], httpx2.BaseTransport]

#: Seconds for the connection itself; a server that is there answers at once.
_CONNECT = 10.0
#: Redirects that keep method and body.
_KEEPS_BODY = (307, 308)
#: Headers that no setting asked for: an account from the environment, and descriptions of this machine.
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
    def masked_base(self) -> str:
        """The base URL as it may be shown and logged."""
        return mask_url(self.base)

    def load_openai(self) -> OpenAI:
        """The official client; importing it takes most of a second, so the first caller waits."""
        with self._lock:
            self._openai = self._openai or self._make_client()
            return self._openai

    @contextmanager
    def call_over(self, line: Line) -> Iterator[OpenAI]:
        """The official client; what this thread sends meanwhile goes over ``line``."""
        openai = self.load_openai()
        self._calling.line = line
        try:
            yield openai
        finally:
            self._calling.line = None

    @contextmanager
    def open_response(
        self, method: str, path: str, body: Mapping[str, Any] | None, line: Line
    ) -> Iterator[httpx2.Response]:
        """The answer to a request that is none of ours, its body still to be read; sent as it is, with our key."""
        with self.call_over(line):
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

    def _make_client(self) -> OpenAI:
        import ssl

        import httpx2
        from openai import OpenAI

        place = urlsplit(self.base)
        # Without TLS a new connection costs nothing, and only a connection of its own can be hung up early.
        kept = None if place.scheme == "https" else 0
        http = httpx2.Client(
            transport=self._transport() if self._transport else None,
            # A plain address is never asked by TLS; certificates take 20 ms to load, and without any none is accepted.
            verify=place.scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            timeout=httpx2.Timeout(self.timeout, connect=min(_CONNECT, self.timeout)),
            limits=httpx2.Limits(max_keepalive_connections=kept),
            follow_redirects=True,
            trust_env=place.hostname not in _HERE,
            event_hooks={"request": [self._prepare_request], "response": [self._receive_response]},
        )
        self._http = http
        return OpenAI(api_key=self._key or "none", base_url=self.base, max_retries=0, http_client=http)

    def _prepare_request(self, request: httpx2.Request) -> None:
        """Remove what no one set for this server; let the call's line know of its connection."""
        for name in list(request.headers):
            unset = name == "authorization" and not self._key
            if unset or (name.startswith(_UNASKED) and name != _NEEDED):
                del request.headers[name]
        line: Line | None = getattr(self._calling, "line", None)
        if line is not None:
            request.extensions["trace"] = line.on_event

    def _receive_response(self, response: httpx2.Response) -> None:
        """Refuse a redirect that leaves the host or loses what was said; check the body before the library reads it."""
        if response.has_redirect_location:
            here, there = response.request.url, response.request.url.join(response.headers.get("location", ""))
            same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
            if not same or response.status_code not in _KEEPS_BODY:
                location = mask_url(str(there))
                raise errors.NotFound("model.redirected", status=response.status_code, location=location)
        line: Line | None = getattr(self._calling, "line", None)
        if line is not None:
            line.began = response.is_success
            line.remember_stream(response.extensions.get("network_stream"))
        response.stream = _as_stream(Body(response, line))


class Line:
    """The connection of one chat call, whose answer ``streams`` or not; any thread may hang up."""

    def __init__(self, *, streams: bool) -> None:
        self.streams = streams
        #: Whether a good answer began to come.
        self.began = False
        self._stream: Any = None
        self._hung_up = False
        self._timer: threading.Timer | None = None

    def close(self) -> None:
        """The call has ended; its connection may serve others."""
        if self._timer is not None:
            self._timer.cancel()

    def on_event(self, event: str, info: Mapping[str, Any]) -> None:
        """Callback of the transport for every step of a request; remembers a new connection."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self.remember_stream(info.get("return_value"))

    def remember_stream(self, stream: Any) -> None:
        """The connection that an answer comes by, which may be an older one."""
        self._stream = stream if stream is not None else self._stream
        if self._hung_up:
            self.hang_up()

    def hang_up(self) -> None:
        """Shut the connection, now or as soon as there is one. Takes no lock."""
        self._hung_up = True
        raw = self._stream.get_extra_info("socket") if self._stream is not None else None
        if raw is not None:
            with suppress(OSError):
                raw.shutdown(socket.SHUT_RDWR)

    def hang_up_soon(self) -> None:
        """The reply has ended: what may still follow it in a stream, such as token counts, is waited for a moment."""
        if self._timer is None and self.streams:
            self._timer = threading.Timer(_AFTER_THE_END, self.hang_up)
            self._timer.daemon = True
            self._timer.start()


class Body:
    """What the library reads of an answer. ``line``: that of a chat call, which may have asked for a stream.

    The library takes almost anything for an answer and waits for ever. Here a web page, JSON that is none, an error
    under a good status, a body without end and a connection that only comments keep open become errors; a whole reply
    where a stream was asked for becomes a stream, and what servers do to event streams is put right.
    """

    def __init__(self, response: httpx2.Response, line: Line | None) -> None:
        import httpx2

        headers = response.headers.copy()
        self._decoded = httpx2.Response(
            response.status_code, headers=headers, stream=response.stream, request=response.request
        )
        response.headers.pop("content-encoding", None)
        self._line, self._streams = line, line is not None and line.streams
        timeout = response.request.extensions.get("timeout", {}).get("read") or _LONGEST_TIMEOUT
        self._patience = timeout * _COMMENTS_ONLY

    def __iter__(self) -> Iterator[bytes]:
        chunks = self._decoded.iter_bytes()
        if not self._decoded.is_success:
            yield from _limit_size(chunks)
            return
        start, chunks = _first_words(chunks)
        if start.startswith(b"<"):
            page = start[:4_000].decode("utf-8", "replace")
            raise errors.BadReply("model.html_reply", said=provider_errors.read_failure(page).message)
        if self._streams and not start.startswith((b"{", b"[", b'"')):
            yield from self._clean_events(chain([start], chunks))
            return
        body = _parse_json(b"".join(_limit_size(chain([start], chunks))))
        if provider_errors.is_error(body):
            raise provider_errors.error_of(provider_errors.read_failure(body))
        whole = json.dumps(body).encode()
        if self._streams and isinstance(body, dict) and not body.get("choices"):
            raise errors.BadReply("model.empty_reply")
        yield b"data: " + whole + b"\n\n" if self._streams else whole  # as the one event of a stream

    def close(self) -> None:
        """Let go of the connection."""
        self._decoded.close()

    def _clean_events(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The data of a stream and the ends of its events; nothing else of it matters to a reply."""
        received, size, name = time.monotonic(), 0, b""
        for line in split_lines(chunks):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data" and value.strip() == b"[DONE]":
                yield b"\n"
                # What follows is read, so that the connection can serve again; not for long.
                if self._line:
                    self._line.hang_up_soon()
                for _ in chunks:
                    pass
                return
            if field == b"data":
                begins = value.startswith(b"{")  # some servers forget the empty line before it
                received, size = time.monotonic(), len(value) + (0 if begins else size)
                if size > _MAX_BYTES:
                    raise errors.BadReply("model.too_large", limit=_MAX_BYTES)
                if name == b"error":
                    raise provider_errors.error_of(provider_errors.read_failure(_parse_json(value)))
                yield (b"\n" if begins else b"") + b"data: " + value.decode("utf-8", "replace").encode() + b"\n"
            elif time.monotonic() - received > self._patience:
                raise errors.TimedOut(seconds=self._patience / _COMMENTS_ONLY)
            elif field == b"event":
                name = value
            elif not line:
                name, size = b"", 0
                yield b"\n"
        yield b"\n"


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream without their ends (``\\n``, ``\\r\\n`` or ``\\r``).

    Raises BadReply for a line that never ends.
    """
    pending: list[bytes] = []
    size = 0
    after_return = False
    for piece in (piece for chunk in chunks for piece in chunk.splitlines(keepends=True)):
        other_half, after_return = after_return and piece == b"\n", piece.endswith(b"\r")
        if other_half:  # of a line end that came in two chunks
            continue
        pending.append(piece.rstrip(b"\r\n"))
        size += len(pending[-1])
        if size > _MAX_BYTES:
            raise errors.BadReply("model.too_large", limit=_MAX_BYTES)
        if len(pending[-1]) < len(piece):
            yield b"".join(pending)
            pending, size = [], 0
    if pending:
        yield b"".join(pending)


def _first_words(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The beginning of a body without white space or byte order mark, and what follows it."""
    for chunk in chunks:
        start = chunk.lstrip(b"\xef\xbb\xbf \t\r\n")
        if start:
            return start, chunks
    return b"", chunks


def _limit_size(chunks: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > _MAX_BYTES:
            raise errors.BadReply("model.too_large", limit=_MAX_BYTES)
        yield chunk


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as fault:
        said = f"{type(fault).__name__}: {data[:200]!r}"
        raise errors.BadReply("model.malformed_reply", said=said) from fault


def _as_stream(body: Body) -> httpx2.SyncByteStream:
    """The body as the library wants it, of a class of its own; that is not loaded before the first call."""
    import httpx2

    class Stream(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(body)

        def close(self) -> None:
            body.close()

    return Stream()


def open_client(settings: Settings, transport: Transport | None = None) -> Client:
    """The chat server that the settings name, or the built-in demo model."""

    def demo() -> httpx2.BaseTransport:
        from models.demo_model import DemoModel

        return DemoModel()

    instead = transport or (demo if settings.demo else None)
    base = describe_model(settings).base if settings.demo else settings.chat_base
    return Client(base, settings.openai_api_key, settings.request_timeout, instead)
