"""Finds the JSON in a model's reply, whatever surrounds it and however it is broken.

The content of the entries is not judged here. A truncated reply loses its last entry; a reply without JSON differs
from one that says there is nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from domain.patterns import pattern_of

#: A longer reply is read only this far.
_LONGEST = 400_000
_THOUGHT = pattern_of(r"<(think|thinking|reasoning|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = pattern_of(r"^.*?</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_FENCE = pattern_of(r"```[a-zA-Z]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)
_START = pattern_of(r"[\[{]")
_RANGE = pattern_of(r"(\d+)\s*(?:-|–|~|to|到|至)\s*(\d+)")
_INTEGER = pattern_of(r"\d+")
_BETWEEN = pattern_of(r"[,，、;；|]")
#: A span of turns longer than this is no evidence but "all of it".
_LONGEST_SPAN = 40


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a reply. ``understood``: there was JSON; ``cut``: it was truncated."""

    values: tuple[object, ...]
    understood: bool
    cut: bool


def read_entries(reply: str, finish: str, *keys: str) -> Entries:
    """The entries of a reply: those of a list, of a list under one of ``keys``, or one object alone."""
    text = _json_of(reply)
    if not text:
        return Entries((), False, False)
    value, whole = _load_json(text)
    if not isinstance(value, dict | list):
        return Entries((), False, False)
    # A text that was cut off does not end where JSON can.
    is_closed = text.rstrip("`;. \n\t").endswith(("]", "}"))
    return Entries(tuple(_flatten_lists(value, keys)), True, not whole and (finish == "length" or not is_closed))


def read_object(reply: str) -> Mapping[str, object]:
    """The single object in a reply; empty if there is none."""
    value, _ = _load_json(_json_of(reply))
    return _normalize_keys(value) if isinstance(value, dict) else {}


def words_of(value: object) -> tuple[str, ...]:
    """A list of words, also from one string with commas or a single value."""
    if isinstance(value, str):
        return tuple(word for part in _BETWEEN.split(value) if (word := part.strip()))
    if isinstance(value, list | tuple):
        return tuple(word for each in value if (word := line_of(each)))
    return (line_of(value),) if line_of(value) else ()


def line_of(value: object) -> str:
    """One line of text from a string or a number; empty for anything else."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def handles_of(value: object) -> tuple[int, ...]:
    """The numbers of messages or lines: ``[3, "4", "#5", "6-8"]``.

    >>> handles_of("3, #4, 6-8")
    (6, 7, 8, 3, 4)
    """
    if isinstance(value, bool) or value is None:
        return ()
    if isinstance(value, int | float):
        return (int(value),) if -(10**9) < value < 10**9 else ()
    if isinstance(value, str):
        return tuple(dict.fromkeys(_handles_in(value[:400])))
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(handle for each in value for handle in handles_of(each)))
    return ()


def truth_of(value: object, otherwise: bool) -> bool:
    """A boolean, also given as a word."""
    if isinstance(value, str):
        word = value.strip().casefold()
        return word in {"true", "yes", "1", "是"} if word in _TRUTHS else otherwise
    return bool(value) if isinstance(value, bool | int) else otherwise


_TRUTHS = frozenset({"true", "false", "yes", "no", "1", "0", "是", "否"})


def first_of(entry: Mapping[str, object], *keys: str) -> object:
    """The value of the first of these keys that is present."""
    return next((entry[key] for key in keys if entry.get(key) is not None), None)


def _handles_in(text: str) -> Iterator[int]:
    for first, last in _RANGE.findall(text):
        if len(first) < 7 and len(last) < 7 and int(last) - int(first) <= _LONGEST_SPAN:
            yield from range(int(first), int(last) + 1)
    rest = _RANGE.sub(" ", text)
    yield from (int(found) for found in _INTEGER.findall(rest) if len(found) < 7)


def _json_of(reply: str) -> str:
    """The part of a reply that begins like JSON, behind the thinking before it."""
    text = _OPEN_THOUGHT.sub(" ", _THOUGHT.sub(" ", reply[:_LONGEST]), count=1)
    fenced = [block for block in _FENCE.findall(text) if _START.search(block)]
    text = fenced[-1] if fenced else text
    found = _START.search(text)
    return text[found.start() :].strip() if found else ""


def _load_json(text: str) -> tuple[object, bool]:
    """The value of JSON text, repaired if broken, and whether it was complete."""
    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return _mend_lines(text), False


def _mend_lines(text: str) -> object:
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if len(lines) > 1 and all(line.rstrip().rstrip(",").endswith("}") for line in lines[:-1]):
        return [_mended_json(line) for line in lines]
    return _mended_json(text)


def _mended_json(text: str) -> object:
    import json_repair

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _flatten_lists(value: dict[object, object] | list[object], keys: tuple[str, ...]) -> Iterator[object]:
    """The entries inside nested lists and under ``keys``."""
    if isinstance(value, dict):
        entry = _normalize_keys(value)
        found = next((entry[key] for key in keys if isinstance(entry.get(key), list)), None)
        if found is None:
            yield from [entry] if entry else []
        else:
            yield from _flatten_lists(list(found), keys)  # type: ignore[call-overload]
        return
    for each in value:
        if isinstance(each, dict):
            yield from _flatten_lists(each, keys)
        elif isinstance(each, list):
            yield from (_normalize_keys(inner) if isinstance(inner, dict) else inner for inner in each)
        else:
            yield each


def _normalize_keys(value: dict[object, object]) -> dict[str, object]:
    return {str(key).strip().casefold().replace(" ", "_").replace("-", "_"): each for key, each in value.items()}
