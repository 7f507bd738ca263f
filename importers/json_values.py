"""Reading JSON of other programs: whatever it holds, the result has the requested type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

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
