"""The shape of a JSON file: enough of it to tell the format, however much stands before what tells it.

A file's first 64 KiB are not enough: one program writes a picture ahead of the messages. So everything is passed over
that does not matter, until a format fits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from histories.parts import DAMAGES
from histories.readings import Layout, Reading
from histories.streaming import CutOff, JsonError, JsonStream

#: How deep a shape is looked into, and how much of a text in it is kept.
_DEEPEST = 7
_LONGEST_TEXT = 1_000
#: How many keys of an object are looked at: units by their ids are as many as there are messages.
_KEYS = 1_000
#: How many elements are looked at: an export may begin with empty ones.
_ELEMENTS = 200
_LINES = 50
_LONGEST_LINE = 1 << 24
#: Behind so many characters, the first format that fits is taken without looking at the rest.
_ENOUGH = 1 << 21

Fits = Callable[[Mapping[str, Any]], bool]


class _Enough(Exception):
    """A format fits what was seen."""


def candidates(reading: Reading, fits: Fits) -> Iterator[tuple[Layout, Mapping[str, Any], Mapping[str, Any]]]:
    """What may tell the format: a layout, an element in it, and the outline of the whole file, empty for an array."""
    lines = _first_lines(reading)
    if lines:
        yield from ((Layout("lines"), line, {}) for line in lines)
        return
    with reading.stream() as stream:
        opens = stream.peek()
    if opens == "[":
        yield from ((Layout("array"), element, {}) for element in _first_elements(reading))
    elif opens == "{":
        root = _outline_of(reading, fits)
        yield Layout("object"), root, root
        yield from ((Layout("array", path), element, root) for path, element in _nested(root, ()))


def _first_lines(reading: Reading) -> list[Mapping[str, Any]]:
    """The objects of the first lines, where each line is one."""
    found: list[Mapping[str, Any]] = []
    with suppress(*DAMAGES), reading.text(newline="\n") as text:
        first, second = text.readline(_LONGEST_LINE), _next_line(text.readline)
        if not second.lstrip().startswith("{") or _object(first) is None:
            return []
        for line in (first, second, *(text.readline(_LONGEST_LINE) for _ in range(_LINES))):
            found += filter(None, [_object(line)])
    return found


def _next_line(readline: Callable[[int], str]) -> str:
    """The next line that is not empty."""
    while (line := readline(_LONGEST_LINE)).isspace():
        continue
    return line


def _object(line: str) -> Mapping[str, Any] | None:
    if not line.lstrip("\ufeff \t").startswith("{"):
        return None
    try:
        found = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _first_elements(reading: Reading) -> Iterator[Mapping[str, Any]]:
    """The first objects of an array; the outline of the first where none of them is whole."""
    any_whole = False
    for number, (_, element) in enumerate(reading.elements_of(Layout("array"))):
        if isinstance(element, dict):
            any_whole = True
            yield element
        if number >= _ELEMENTS:
            return
    if not any_whole:
        with reading.stream() as stream:
            stream.expect("[")
            yield _outlined(stream)


def _outline_of(reading: Reading, fits: Fits) -> Mapping[str, Any]:
    with reading.stream() as stream:
        return _outlined(stream, fits)


def _outlined(stream: JsonStream, fits: Fits = lambda _: False) -> Mapping[str, Any]:
    """The outline of an object, as far as it goes."""
    root: dict[str, Any] = {}

    def seen() -> None:
        if stream.read_so_far > _ENOUGH and fits(root):
            raise _Enough

    try:
        if stream.peek() == "{":
            _fill(root, stream, seen, 0)
    except (_Enough, JsonError):
        pass
    return root


def _fill(holder: dict[str, Any], stream: JsonStream, seen: Callable[[], None], depth: int) -> None:
    for key in stream.fields():
        opens = stream.peek()
        if opens not in ("{", "["):
            value = stream.value()
            if len(holder) < _KEYS:
                holder[key] = value[:_LONGEST_TEXT] if isinstance(value, str) else value
        elif depth >= _DEEPEST or len(holder) >= _KEYS:
            stream.skip()
        elif opens == "{":
            holder[key] = {}
            _fill(holder[key], stream, seen, depth + 1)
        else:
            holder[key] = []
            _fill_first(holder[key], stream, seen, depth + 1)


def _fill_first(holder: list[Any], stream: JsonStream, seen: Callable[[], None], depth: int) -> None:
    """The first element of an array; the others are passed over."""
    for number in stream.items():
        if number or stream.peek() != "{":
            stream.skip()
            continue
        holder.append({})
        _fill(holder[0], stream, seen, depth + 1)
        seen()


def _nested(
    holder: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The first elements of the arrays that lie at most two keys deep."""
    for key, value in holder.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield (*path, key), value[0]
        elif isinstance(value, dict) and not path:
            yield from _nested(value, (key,))


def is_empty(reading: Reading) -> bool:
    """Whether there is nothing in it: no character but spaces, or JSON that holds nothing."""
    with reading.stream() as stream:
        try:
            inside: Mapping[str, Callable[[], Iterator[object]]] = {"[": stream.items, "{": stream.fields}
            opens = stream.peek()
            if not opens:
                return True
            return opens in inside and next(inside[opens](), None) is None and not stream.peek()
        except (CutOff, JsonError):
            return False
