"""Looking into JSON that others wrote: whatever stands there, the answer has the type that was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

NOTHING: Mapping[str, Any] = {}


def text(value: Any) -> str:
    """A text, empty where there is none."""
    return value if isinstance(value, str) else ""


def name(value: Any) -> str:
    """What names something: a text, or a whole number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)


def record(value: Any, *path: str) -> Mapping[str, Any]:
    """An object, or the one that a path in it leads to; empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else NOTHING


def entries(value: Any) -> list[Any]:
    """A list, empty where there is none."""
    return value if isinstance(value, list) else []


def records(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    return (one for one in entries(value) if isinstance(one, dict))


def number(value: Any) -> float:
    """A number, also one that stands there as a text; 0 where there is none."""
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return found if math.isfinite(found) else 0.0


def first(given: Mapping[str, Any], *keys: str) -> Any:
    """The first of these values that is there and not null."""
    return next((given[key] for key in keys if given.get(key) is not None), None)


def joined_text(value: Any, kinds: frozenset[str] = frozenset(("text", "input_text", "output_text"))) -> str:
    """The text of a content: a text itself, or the parts of these kinds in a list, or both mixed."""
    if isinstance(value, str):
        return value
    parts = (_part_text(part, kinds) for part in entries(value))
    return "\n\n".join(part for part in parts if part.strip())


def _part_text(part: Any, kinds: frozenset[str]) -> str:
    if isinstance(part, str):
        return part
    given = record(part)
    if given.get("type") not in kinds:
        return ""
    return text(given.get("text")) or text(record(given.get("text")).get("value"))
