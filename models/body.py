"""The body of an answer, looked at before the client library reads it.

The library takes almost anything for an answer and waits for ever. Here a web page, JSON that is none, an error under
a good status, a body without end and a connection that only comments keep open become errors; a whole reply where a
stream was asked for becomes a stream, and what servers do to event streams is put right.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import httpx2

from domain import errors
from models import fault_table, faults

#: The longest event, and the longest body that is not a stream, in bytes.
MAX_BYTES = 32_000_000
#: A server may keep the connection open with comments for so many times the timeout, and no longer.
_COMMENTS_ONLY = 10
_LONGEST_TIMEOUT = 600.0


class Body(httpx2.SyncByteStream):
    """Takes the place of a response's stream. ``streams``: one was asked for; ``at_end``: it has ended."""

    def __init__(self, response: httpx2.Response, *, streams: bool, at_end: Callable[[], None]) -> None:
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
            if size > MAX_BYTES:
                raise errors.BadReply("model.too_large", limit=MAX_BYTES)
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
        if size > MAX_BYTES:
            raise errors.BadReply("model.too_large", limit=MAX_BYTES)
        yield chunk


def _refuse(data: bytes, size: int, name: bytes) -> None:
    """Refuse an event, of which this many bytes came, that is too large or the event of an error."""
    if size > MAX_BYTES:
        raise errors.BadReply("model.too_large", limit=MAX_BYTES)
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
