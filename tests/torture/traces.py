"""What strace wrote of a program with many threads, as the calls that were made, in the order in which they ended.

While one thread is in a call, another begins or ends one: strace then writes the first in two lines, its beginning as
``<unfinished ...>`` and its end as ``<... pwrite64 resumed>``. A line that is not understood is an error: a call that
is passed over is a write that is missing in what is played from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: What strace is told, so that its lines can be read here: all threads, the files of descriptors, bytes in full.
FORM = ("-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "2000000")

_LINE = re.compile(r"^(\d+) +(.*)$")
_CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+)")
_RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$")
_UNFINISHED = re.compile(r"^(\w+)\((.*?),? *<unfinished \.\.\.>$")
_DESCRIPTOR = re.compile(r"^(\d+)<([^>]*)>(?:\(deleted\))?(?:, |$)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
#: A signal, an end, and a call whose end nobody saw because the program ended first.
_NO_CALL = re.compile(r"^(?:---|\+\+\+) |= \?$")


@dataclass(frozen=True)
class Call:
    """A call that succeeded. ``files`` are named by their last part; "stdout" is the standard output."""

    name: str
    files: tuple[str, ...]
    data: bytes = b""
    numbers: tuple[int, ...] = ()


def calls(lines: Iterable[str]) -> Iterator[Call]:
    """Each call that succeeded, where it ended. Raises ValueError for a line that is not understood."""
    for line in _joined(lines):
        found = _CALL.match(line)
        if found is None or '"...' in line:
            raise ValueError(f"a line of strace that is not understood: {line[:200]}")
        if int(found[3]) >= 0:
            yield _call(found[1], found[2], int(found[3]))


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """The lines of calls, without their threads; what came in two is one, in the place of the second."""
    begun: dict[str, str] = {}
    for line in lines:
        read = _LINE.match(line)
        if read is None:
            raise ValueError(f"a line of strace that is not understood: {line[:200]}")
        thread, said = read[1], read[2]
        if unfinished := _UNFINISHED.match(said):
            begun[thread] = f"{unfinished[1]}({unfinished[2]}"
        elif resumed := _RESUMED.match(said):
            yield begun.pop(thread) + resumed[2]
        elif not _NO_CALL.search(said):
            yield said


def _call(name: str, arguments: str, result: int) -> Call:
    """With a descriptor its text is what it writes; without one its texts are paths."""
    given = _DESCRIPTOR.match(arguments)
    rest = arguments[given.end() :] if given else arguments
    texts = [_bytes(text) for text in _TEXT.findall(rest)]
    numbers = tuple(int(one) for one in _TEXT.sub("", rest).split(", ") if one.isdecimal())
    if given is None:
        return Call(name, tuple(_name(text) for text in texts), numbers=numbers)
    file = "stdout" if given[1] == "1" else _name(_bytes(given[2]) if "\\x" in given[2] else given[2].encode())
    return Call(name, (file,), b"".join(texts)[:result], numbers)


def _name(path: bytes) -> str:
    return Path(path.decode("utf-8", "replace")).name


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))
