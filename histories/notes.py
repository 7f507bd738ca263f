"""Notes of other programs: what they made of a talk. Nobody said them, so they are counted and not taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from histories import omissions
from histories.readings import Found, Reading
from histories.shapes import records, text

_GONE = frozenset(("deleted", "archived"))


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a backup of OpenMemory, a dump of mem0, a line of either, or what Claude noted."""
    if "conversations_memory" in element or "project_memories" in element:
        return True
    if any("memory" in one or "content" in one for one in _held(element)):
        return True
    return "id" in element and (_is_mem0(element) or _is_open_memory(element))


def _held(element: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("results", "memories"):
        yield from (one for one in records(element.get(key)) if _is_mem0(one) or _is_open_memory(one))


def _is_mem0(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("memory"), str) and ("hash" in one or "user_id" in one or "created_at" in one)


def _is_open_memory(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("content"), str) and "state" in one and "role" not in one


def read(reading: Reading) -> Iterator[Found]:
    """Says how many notes there are, but for those that are gone there too."""
    count = sum(_count(element) for _, element in reading.elements() if isinstance(element, dict))
    yield reading.unread(omissions.NOTES, count=count)


def _count(element: Mapping[str, Any]) -> int:
    held = list(_held(element)) or [element]
    return sum(text(one.get("state")) not in _GONE for one in held)
