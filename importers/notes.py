"""Notes that other programs made of conversations: no one said them, so they are counted and not imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from importers.json_values import as_text, objects_in
from importers.reading import Found, NotRead, Reading

_GONE = frozenset(("deleted", "archived"))


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a backup of OpenMemory, a dump of mem0, a line of either, or what Claude noted."""
    if "conversations_memory" in element or "project_memories" in element:
        return True
    if any("memory" in one or "content" in one for one in _find_notes(element)):
        return True
    return "id" in element and (_is_mem0(element) or _is_open_memory(element))


def _find_notes(element: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("results", "memories"):
        yield from (one for one in objects_in(element.get(key)) if _is_mem0(one) or _is_open_memory(one))


def _is_mem0(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("memory"), str) and ("hash" in one or "user_id" in one or "created_at" in one)


def _is_open_memory(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("content"), str) and "state" in one and "role" not in one


def read_export(reading: Reading) -> Iterator[Found]:
    """Says how many notes there are, but for those that are gone there too."""
    count = sum(_count_notes(element) for _, element in reading.read_elements() if isinstance(element, dict))
    yield reading.make_unread(NotRead.NOTES, count=count)


def _count_notes(element: Mapping[str, Any]) -> int:
    notes = list(_find_notes(element)) or [element]
    return sum(as_text(one.get("state")) not in _GONE for one in notes)
