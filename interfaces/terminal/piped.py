"""Lines that come through a pipe or a file, so that Ctrl-C is heard while the next one is awaited."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import TextIO

from domain import errors
from interfaces.terminal.interrupting import Wishes

#: Seconds between two looks at whether Ctrl-C was pressed.
_LOOK = 0.1
_AT_ONCE = 65_536


def lines(stream: TextIO, wishes: Wishes) -> Iterator[str]:
    """The lines without their ends. Raises Interrupted when Ctrl-C was pressed while one was awaited."""
    begun: list[bytes] = []
    for part in _parts(stream.fileno(), wishes):
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).decode("utf-8", "replace").rstrip("\r")
            begun.clear()
        begun.append(rest)
    if any(begun):
        yield b"".join(begun).decode("utf-8", "replace")


def whole(stream: TextIO, wishes: Wishes) -> str:
    """Everything to the end. Raises Interrupted when Ctrl-C was pressed meanwhile."""
    return b"".join(_parts(stream.fileno(), wishes)).decode("utf-8", "replace")


def _parts(descriptor: int, wishes: Wishes) -> Iterator[bytes]:
    while True:
        while not select.select([descriptor], [], [], _LOOK)[0]:
            if wishes.stop.is_set:
                raise errors.Interrupted
        part = os.read(descriptor, _AT_ONCE)
        if not part:
            return
        yield part
