"""Server-sent events, read from bytes in any chunking, bounded in size, linear in time.

Follows the WHATWG rules for event streams, and forgives what servers do: invalid UTF-8 becomes U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from domain import errors

#: The longest line, and the longest body that is not a stream, in bytes.
MAX_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """One event: its name (mostly empty) and its data. A comment has no data."""

    name: str
    data: str | None


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
        pieces = chunk.splitlines() if b"\n" in chunk or b"\r" in chunk else [chunk]
        ended = chunk.endswith((b"\n", b"\r"))
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


def events(chunks: Iterable[bytes]) -> Iterator[Sent]:
    """The events of a stream, comments included. The last event counts also without its empty line."""
    name, size = "", 0
    data: list[str] = []
    for raw in lines(chunks):
        line = raw.decode("utf-8", "replace").removeprefix("\ufeff")
        if not line:
            if data:
                yield Sent(name, "\n".join(data))
            name, data, size = "", [], 0
        elif line.startswith(":"):
            yield Sent("", None)
        else:
            field, _, value = line.partition(":")
            if field == "data":
                data.append(value.removeprefix(" "))
                size += len(raw)
                if size > MAX_BYTES:
                    raise errors.BadReply("model.too_large", limit=MAX_BYTES)
            elif field == "event":
                name = value.removeprefix(" ")
    if data:
        yield Sent(name, "\n".join(data))
