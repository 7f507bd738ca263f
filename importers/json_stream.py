"""Reads JSON of any size a value at a time, over a buffer that slides along the text.

Promises: memory holds one value and a chunk at most; everything before a broken or cut place is read; depth
costs no stack; a value that is longer than ``LONGEST`` is passed over, not read; behind ``DEEPEST`` nothing is.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from json import JSONDecodeError
from typing import Any, Protocol

CHUNK = 1 << 18
#: The longest value, in characters, that is read at once: no conversation is that long, and no memory should be.
LONGEST = 1 << 27
#: So many lists and objects in one another are no export: those of a talk whose messages lie in each other are fewer.
DEEPEST = 200_000

_SPACE = re.compile(r"[ \t\n\r]*")
_MARK = re.compile(r'[\[\]{}"]')
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}\[{\":]*")
#: An error so near to the end of what is there may only mean that more is to come.
_NEAR = 16


class JsonError(ValueError):
    """Not JSON. The stream is still at the beginning of the value."""


class CutOff(JsonError):
    """The text ends inside of a value."""


class TooLong(JsonError):
    """A value is too long to be read at once. It may be passed over."""


class Text(Protocol):
    """A text that is read in pieces."""

    def read(self, size: int, /) -> str:
        """The next piece, empty at the end."""


class JsonStream:
    """A text of JSON, at one place in it."""

    def __init__(self, text: Text, chunk: int = CHUNK, longest: int = LONGEST) -> None:
        self._source, self._chunk, self._longest = text, chunk, longest
        self._text, self._at = "", 0
        self._ended = False
        self._decode = json.JSONDecoder(strict=False).raw_decode
        #: How many characters were read so far.
        self.read_so_far = 0

    def peek_mark(self) -> str:
        """The first character of what comes next, empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill_buffer():
                return ""

    def expect_mark(self, mark: str) -> None:
        """Pass over this character."""
        found = self.peek_mark()
        if found != mark:
            raise CutOff("ends") if not found else JsonError(f"expected {mark}")
        self._at += 1

    def read_value(self) -> Any:
        """The next value, whole."""
        if not self.peek_mark():
            raise CutOff("ends")
        while True:
            try:
                found, end = self._decode_value()
            except ValueError as error:
                if not self._may_be_cut(error):
                    raise JsonError(str(error)) from error
                self._read_more()
                continue
            # A number may go on behind what looks like its end: 1, 1.5, 1.5e+3.
            if end > len(self._text) - _NEAR and not self._ended and self._text[end - 1] not in '"]}':
                self._read_more(at_end=True)
                continue
            self._at = end
            return found

    def skip_value(self) -> None:
        """Pass over the next value without reading it."""
        mark = self.peek_mark()
        if not mark:
            raise CutOff("ends")
        depth = 0
        while True:
            depth += self._skip_token(inside=depth > 0)
            if depth > DEEPEST:
                raise JsonError(_TOO_DEEP)
            if depth == 0:
                return

    @property
    def left(self) -> int:
        """How many characters that were read are not used yet."""
        return len(self._text) - self._at

    def iterate_items(self) -> Iterator[int]:
        """Enters an array: counts its elements, each of which has to be read or skipped before the next."""
        return self._count_members("[", "]")

    def iterate_fields(self) -> Iterator[str]:
        """Enters an object: its keys, the value of each of which has to be read or skipped before the next."""
        for _ in self._count_members("{", "}"):
            key = self.read_value()
            if not isinstance(key, str):
                raise JsonError("a key that is no text")
            self.expect_mark(":")
            yield key

    def _count_members(self, opens: str, closes: str) -> Iterator[int]:
        self.expect_mark(opens)
        number = 0
        while self.peek_mark() != closes:
            if number:
                self.expect_mark(",")
            yield number
            number += 1
        self._at += 1

    def _decode_value(self) -> tuple[Any, int]:
        try:
            return self._decode(self._text, self._at)
        except RecursionError:
            return decode_deep(self._text, self._at)

    def _may_be_cut(self, error: ValueError) -> bool:
        if not isinstance(error, JSONDecodeError):
            return isinstance(error, CutOff)
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR

    def _skip_token(self, inside: bool) -> int:
        """Pass over the next bracket, string or scalar; returns by how much deeper it leads."""
        if inside:
            found = _MARK.search(self._text, self._at)
            if found is None:
                self._at = len(self._text)
                self._read_more(at_end=False)
                return 0
            self._at = found.start()
        mark = self._text[self._at]
        if mark == '"':
            while (whole := _STRING.match(self._text, self._at)) is None:
                self._read_more()
            self._at = whole.end()
            return 0
        if mark in "[{":
            self._at += 1
            return 1
        if mark in "]}":
            self._at += 1
            return -1
        self._skip_scalar()
        return 0

    def _skip_scalar(self) -> None:
        while True:
            found = _SCALAR.match(self._text, self._at)
            end = found.end() if found else self._at
            if end == len(self._text) and not self._ended:
                self._read_more(at_end=True)
                continue
            if end == self._at:
                raise JsonError("no value")
            self._at = end
            return

    def _read_more(self, at_end: bool = False) -> None:
        """Read on inside of a value. Raises CutOff at the end, unless the value may end there."""
        if len(self._text) - self._at > self._longest:
            raise TooLong("too long")
        if not self._fill_buffer() and not at_end:
            raise CutOff("ends")

    def _fill_buffer(self) -> bool:
        """Double the buffer, so that a long value costs no more than twice its length."""
        if self._ended:
            return False
        piece = self._source.read(max(self._chunk, len(self._text) - self._at))
        self._text = self._text[self._at :] + piece
        self._at = 0
        self._ended = not piece
        self.read_so_far += len(piece)
        return bool(piece)


def enter_path(stream: JsonStream, path: Sequence[str]) -> bool:
    """Goes to what a path of keys leads to; False where there is no such thing."""
    for wanted in path:
        if stream.peek_mark() != "{":
            return False
        for key in stream.iterate_fields():
            if key == wanted:
                break
            stream.skip_value()
        else:
            return False
    return True


_TOO_DEEP = "too deep"


def decode_deep(text: str, at: int) -> tuple[Any, int]:
    """What ``raw_decode`` does, for values nested so deep that it gives up: with its own stack. Raises JsonError."""
    stream = JsonStream(io.StringIO(text[at:]), len(text) + 1)
    try:
        value = _decode_nested(stream)
    except JsonError as error:
        # Near the end of the text it may be a number, say, of which only the first digits have been read.
        if not isinstance(error, CutOff) and stream.left < _NEAR:
            raise CutOff("ends") from error
        raise
    return value, len(text) - stream.left


def _decode_nested(stream: JsonStream) -> Any:
    """The next value of a stream, without recursion."""
    whole, holders = list[Any](), list[tuple[Any, Iterator[Any]]]()
    holder, key = whole, None
    while True:
        opens = stream.peek_mark()
        value = {} if opens == "{" else [] if opens == "[" else stream.read_value()
        if isinstance(holder, dict):
            holder[key] = value
        else:
            holder.append(value)
        if opens in ("{", "["):
            holders.append((value, stream.iterate_fields() if opens == "{" else stream.iterate_items()))
        if len(holders) > DEEPEST:
            raise JsonError(_TOO_DEEP)
        while holders and (key := next(holders[-1][1], None)) is None:
            holders.pop()
        if not holders:
            return whole[0]
        holder = holders[-1][0]


# -- values of any shape: whatever they hold, the result has the requested type

NOTHING: Mapping[str, Any] = {}


def as_text(value: Any) -> str:
    """A text, empty where there is none."""
    return value if isinstance(value, str) else ""


def as_name(value: Any) -> str:
    """What names something: a text, or a whole number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else as_text(value)


def as_object(value: Any, *path: str) -> Mapping[str, Any]:
    """An object, or the one that a path in it leads to; empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else NOTHING


def as_list(value: Any) -> list[Any]:
    """A list, empty where there is none."""
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    return (one for one in as_list(value) if isinstance(one, dict))


def as_number(value: Any) -> float:
    """A number, also one written as text; 0 where there is none."""
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return found if math.isfinite(found) else 0.0


def first_value(given: Mapping[str, Any], *keys: str) -> Any:
    """The first of these values that is there and not null."""
    return next((given[key] for key in keys if given.get(key) is not None), None)


def join_text(value: Any, kinds: frozenset[str] = frozenset(("text", "input_text", "output_text"))) -> str:
    """The text of a content: a text itself, or the parts of these kinds in a list, or both mixed."""
    if isinstance(value, str):
        return value
    parts = (_part_text(part, kinds) for part in as_list(value))
    return "\n\n".join(part for part in parts if part.strip())


def _part_text(part: Any, kinds: frozenset[str]) -> str:
    if isinstance(part, str):
        return part
    given = as_object(part)
    if given.get("type") not in kinds:
        return ""
    return as_text(given.get("text")) or as_text(as_object(given.get("text")).get("value"))
