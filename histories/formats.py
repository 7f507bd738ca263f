"""The table of all formats. The first row that fits is the format of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from histories import chatgpt, claude, notes, role_messages
from histories.reading import Reader


@dataclass(frozen=True)
class JsonFormat:
    """A format of JSON or JSON Lines: what an element of it, or the outline of the whole file, looks like."""

    source: str
    fits: Callable[[Mapping[str, Any]], bool]
    read: Reader


@dataclass(frozen=True)
class TextFormat:
    """A format of lines: what its beginning looks like."""

    source: str
    fits: Callable[[str], bool]
    read: Reader


@dataclass(frozen=True)
class TableFormat:
    """A database: tables of which one is there."""

    source: str
    tables: frozenset[str]
    read: Reader


JSON_FORMATS = (
    JsonFormat("claude", claude.fits, claude.read),
    JsonFormat("claude", claude.fits_manifest, claude.read_manifest),
    JsonFormat("chatgpt", chatgpt.fits, chatgpt.read),
    JsonFormat("notes", notes.fits, notes.read),
    JsonFormat("sharegpt", role_messages.fits_sharegpt, role_messages.read_sharegpt),
    JsonFormat("messages", role_messages.fits_conversation, role_messages.read),
    JsonFormat("messages", role_messages.fits_message, role_messages.read_messages),
)
TEXT_FORMATS: tuple[TextFormat, ...] = ()
TABLE_FORMATS: tuple[TableFormat, ...] = ()
