"""Tells by the bytes of a file, an archive or a folder what it is, and never by its name alone.

Promises: what is not recognised is said, and never read as plain text; a folder or an archive is looked through whole,
and what in it is no history is counted.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from domain.errors import UsageError
from domain.imports import HistoryFile, Unread
from importers import assistants, databases, gemini, memory_dumps, messengers, role_messages, text_chats
from importers.databases import is_locked, open_readonly, tables_of
from importers.export_files import (
    DAMAGE_ERRORS,
    HEAD,
    ZIP,
    ExportFile,
    detect_encoding,
    file_on_disk,
    files_in_folder,
    members_of,
)
from importers.json_stream import JsonError, JsonStream, as_list, as_object
from importers.reading import JsonFormat, Layout, NotRead, Reader, Reading, ReadingOptions, RecognisedFile


class FileRefused(StrEnum):
    """Why a file cannot be read at all: message keys of a UsageError."""

    NOT_FOUND = "history.not_found"
    NOT_RECOGNISED = "history.not_recognised"
    NOTHING_INSIDE = "history.nothing_inside"
    NO_CONVERSATIONS = "history.no_conversations"
    DAMAGED = "history.damaged"
    LOCKED = "history.locked"


#: In the order in which they are tried: messages by role look like many a thing.
JSON_FORMATS = (
    *assistants.JSON_FORMATS, *gemini.JSON_FORMATS, *messengers.JSON_FORMATS, *memory_dumps.JSON_FORMATS,
    *role_messages.JSON_FORMATS,
)  # fmt: skip
TEXT_FORMATS = (
    *gemini.TEXT_FORMATS, *assistants.TEXT_FORMATS, *messengers.TEXT_FORMATS, *text_chats.TEXT_FORMATS
)  # fmt: skip
DATABASE_FORMATS = (*memory_dumps.DATABASE_FORMATS, *databases.DATABASE_FORMATS, *assistants.DATABASE_FORMATS)

# -- files, folders and archives

SQLITE = b"SQLite format 3\x00"
#: Archives lie in archives, but not deeper than this.
_DEEPEST_ARCHIVE = 3
#: What is seen of a text: a page may begin with much that is not shown.
_TEXT_HEAD = 1 << 19
#: Seconds that a look into a database waits for whoever is writing there.
_PATIENCE = 2.0
#: What an export may be called; the rest of an archive are pictures, sounds and pages.
_READABLE = frozenset(
    ("", ".json", ".jsonl", ".ndjson", ".txt", ".html", ".htm", ".csv", ".db", ".sqlite", ".zip", ".gz")
)
#: What lies beside a history and is none.
_BESIDE = re.compile(
    r"(?:chat|index)\.html|(?:users?|user_settings|message_feedback|shared_conversations|model_comparisons|sora|shopping"
    r"|ads|session_memories|long_term_memories|library_files|conversation_asset_file_names|export_manifest|projects(?:-\d+)?)\.json"
)
_SHARD = re.compile(r"conversations(?:-\d+)?\.json")
_MANIFEST = "export_manifest.json"

#: What is said one by one of what was passed over.
_SAID_OF: Mapping[str, NotRead] = {
    FileRefused.DAMAGED: NotRead.DAMAGED,
    FileRefused.LOCKED: NotRead.LOCKED,
    NotRead.SUSPICIOUS: NotRead.SUSPICIOUS,
    NotRead.DATABASE_INSIDE: NotRead.DATABASE_INSIDE,
}

#: A part with what it was recognised as; a reason why it is none.
_Look = tuple[ExportFile, tuple[Reading, Reader] | str]


def recognise_export(path: Path, options: ReadingOptions | None = None) -> list[HistoryFile]:
    """What a file, an archive or a folder holds, ready to be read.

    In a folder or an archive, the last may be one that only lists what was skipped. Raises UsageError
    (``history.not_found``, ``history.not_recognised``, ``history.nothing_inside``, ``history.no_conversations``,
    ``history.damaged``, ``history.locked``), and OSError where the disk or its owner does not let it be read.
    """
    options = options or ReadingOptions()
    if not path.exists():
        raise UsageError(FileRefused.NOT_FOUND, path=str(path))
    if path.is_dir():
        return _group_files(path, _look_through(files_in_folder(path), options, 0))
    part = file_on_disk(path)
    try:
        if path.suffix.lower() == ".zip" or part.read_head(len(ZIP)) == ZIP:
            return _group_files(path, _look_through(members_of(part), options, 1))
        found = _recognise_part(part, options)
    except DAMAGE_ERRORS as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise UsageError(FileRefused.DAMAGED, path=str(path)) from error
    if isinstance(found, str):
        raise UsageError(found, path=str(path))
    return [_make_file([found])]


# -- folders and archives


def _look_through(parts: Iterable[ExportFile], options: ReadingOptions, depth: int) -> Iterator[_Look]:
    """Every part that may be a history, those within archives as well."""
    for part in parts:
        if PurePosixPath(part.base_name).suffix.lower() not in _READABLE or part.refused:
            yield part, NotRead.SUSPICIOUS if part.refused else NotRead.SKIPPED
            continue
        try:
            if part.read_head(len(ZIP)) != ZIP:
                yield part, _recognise_part(part, options)
            elif depth >= _DEEPEST_ARCHIVE:
                yield part, NotRead.SUSPICIOUS
            else:
                for one, found in _look_through(members_of(part), options, depth + 1):
                    yield replace(one, name=f"{part.name}/{one.name}"), found
        except DAMAGE_ERRORS:
            yield part, FileRefused.DAMAGED


def _group_files(path: Path, looks: Iterable[_Look]) -> list[HistoryFile]:
    """The histories of a folder or an archive, shards of one together, and what was passed over."""
    found: dict[object, list[tuple[Reading, Reader]]] = {}
    others: list[tuple[ExportFile, str]] = []
    parts: list[ExportFile] = []
    for part, look in looks:
        parts.append(part)
        if isinstance(look, str):
            others.append((part, look))
        else:
            shard = _SHARD.fullmatch(part.base_name) and (look[0].source, part.folder)
            found.setdefault(shard or part.name, []).append(look)
    if not found:
        empty = any(reason == FileRefused.NO_CONVERSATIONS for _, reason in others)
        raise UsageError(FileRefused.NO_CONVERSATIONS if empty else FileRefused.NOTHING_INSIDE, path=str(path))
    files = [_make_file(readings, _missing_shards(readings, parts)) for readings in found.values()]
    return [*files, *_skipped_files(others)]


def _make_file(readings: Sequence[tuple[Reading, Reader]], missing: Sequence[Unread] = ()) -> RecognisedFile:
    ordered = sorted(readings, key=lambda one: one[0].part.name)
    first, reader = ordered[0]
    return RecognisedFile(first.source, first.part.name, reader, [one for one, _ in ordered], missing)


def _missing_shards(readings: Sequence[tuple[Reading, Reader]], parts: Sequence[ExportFile]) -> list[Unread]:
    """The shards that the manifest beside them names and that are not there."""
    reading = readings[0][0]
    folder = reading.part.folder
    beside = {part.base_name for part in parts if part.folder == folder}
    manifest = next((part for part in parts if part.folder == folder and part.base_name == _MANIFEST), None)
    if manifest is None or not _SHARD.fullmatch(reading.part.base_name):
        return []
    try:
        given = json.loads(manifest.read_head(1 << 24))
    except (*DAMAGE_ERRORS, ValueError):
        return []
    logical = as_object(given, "logical_files")
    files = (as_object(logical.get(name)).get("files") for name in logical if _SHARD.fullmatch(name))
    names = (name for listed in files for name in as_list(listed) if isinstance(name, str))
    return [reading.make_unread(NotRead.MISSING_FILE, name) for name in names if name not in beside]


def _skipped_files(others: Sequence[tuple[ExportFile, str]]) -> Iterator[RecognisedFile]:
    """One that only lists the rest: each damaged or refused file, and how many are no exports."""
    said = [
        Unread("", part.name, _SAID_OF[reason], {"said": part.refused}) for part, reason in others if reason in _SAID_OF
    ]
    skipped = [part.name for part, reason in others if _is_mentioned(part, reason)]
    if skipped:
        said.append(Unread("", skipped[0], NotRead.SKIPPED, {"count": len(skipped)}))
    if said:
        yield RecognisedFile("", "", lambda _: iter(()), (), said)


def _is_mentioned(part: ExportFile, reason: str) -> bool:
    """Whether something that is no history could have been taken for one."""
    if (
        reason not in (NotRead.SKIPPED, FileRefused.NOT_RECOGNISED, FileRefused.NO_CONVERSATIONS)
        or _BESIDE.fullmatch(part.base_name)
        or PurePosixPath(part.folder).name == "projects"
    ):
        return False
    in_archive = part.path is None
    return not in_archive or PurePosixPath(part.base_name).suffix.lower() in _READABLE - {""}


# -- one file


def _recognise_part(part: ExportFile, options: ReadingOptions) -> tuple[Reading, Reader] | str:
    if _BESIDE.fullmatch(part.base_name) and part.path is None:
        return NotRead.SKIPPED
    head = part.read_head(HEAD)
    if head.startswith(SQLITE):
        return _recognise_database(part, options)
    encoding = detect_encoding(part)
    if encoding is None:
        return FileRefused.NOT_RECOGNISED
    reading = Reading("", part, options, encoding)
    found = _recognise_json(reading) or _recognise_text(reading)
    return found or (FileRefused.NO_CONVERSATIONS if is_empty(reading) else FileRefused.NOT_RECOGNISED)


def _recognise_json(reading: Reading) -> tuple[Reading, Reader] | None:
    with suppress(JsonError):
        for layout, element, outline in _outline_candidates(reading):
            if found := _format_of(element):
                return replace(reading, source=found.source, layout=layout, outline=outline, problems=[]), found.read
    return None


def _format_of(element: Mapping[str, Any]) -> JsonFormat | None:
    for one in JSON_FORMATS:
        with suppress(AttributeError, LookupError, TypeError, ValueError):
            if one.matches(element):
                return one
    return None


def _recognise_text(reading: Reading) -> tuple[Reading, Reader] | None:
    with reading.open_text(counted=False) as text:
        head = text.read(_TEXT_HEAD)
    found = next((one for one in TEXT_FORMATS if one.matches(head)), None)
    return (replace(reading, source=found.source), found.read) if found else None


def _recognise_database(part: ExportFile, options: ReadingOptions) -> tuple[Reading, Reader] | str:
    if part.path is None:
        return NotRead.DATABASE_INSIDE
    try:
        with closing(open_readonly(part.path, _PATIENCE)) as connection:
            tables = tables_of(connection)
    except sqlite3.Error as error:
        return FileRefused.LOCKED if is_locked(error) else FileRefused.DAMAGED
    found = next((one for one in DATABASE_FORMATS if one.matches(tables)), None)
    return (Reading(found.source, part, options), found.read) if found else FileRefused.NOT_RECOGNISED


# -- the outline of a JSON file
#
# A file's first 64 KiB are not enough: one program writes a picture before the messages. So values that do not matter
# are skipped until a format fits.

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


class _Enough(Exception):
    """A format fits what was seen."""


def _outline_candidates(reading: Reading) -> Iterator[tuple[Layout, Mapping[str, Any], Mapping[str, Any]]]:
    """What may tell the format: a layout, an element in it, and the outline of the whole file, empty for an array."""
    lines = _first_lines(reading)
    if lines:
        yield from ((Layout("lines"), line, {}) for line in lines)
        return
    with reading.open_json() as stream:
        opens = stream.peek_mark()
    if opens == "[":
        yield from ((Layout("array"), element, {}) for element in _first_elements(reading))
    elif opens == "{":
        with reading.open_json() as stream:
            root = _read_outline(stream, lambda root: _format_of(root) is not None)
        yield Layout("object"), root, root
        yield from ((Layout("array", path), element, root) for path, element in _nested_arrays(root, ()))


def _first_lines(reading: Reading) -> list[Mapping[str, Any]]:
    """The objects of the first lines, where each line is one."""
    found: list[Mapping[str, Any]] = []
    with suppress(*DAMAGE_ERRORS), reading.open_text(newline="\n") as text:
        first, second = text.readline(_LONGEST_LINE), "\n"
        while second.isspace():
            second = text.readline(_LONGEST_LINE)
        if not second.lstrip().startswith("{") or _parse_object(first) is None:
            return []
        for line in (first, second, *(text.readline(_LONGEST_LINE) for _ in range(_LINES))):
            found += filter(None, [_parse_object(line)])
    return found


def _parse_object(line: str) -> Mapping[str, Any] | None:
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
    for number, (_, element) in enumerate(reading.read_elements(Layout("array"))):
        if isinstance(element, dict):
            any_whole = True
            yield element
        if number >= _ELEMENTS:
            return
    if not any_whole:
        with reading.open_json() as stream:
            stream.expect_mark("[")
            yield _read_outline(stream, lambda _: False)


def _read_outline(stream: JsonStream, fits: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
    root: dict[str, Any] = {}

    def seen() -> None:
        if stream.read_so_far > _ENOUGH and fits(root):
            raise _Enough

    with suppress(_Enough, JsonError):
        if stream.peek_mark() == "{":
            _outline_object(root, stream, seen, 0)
    return root


def _outline_object(holder: dict[str, Any], stream: JsonStream, seen: Callable[[], None], depth: int) -> None:
    for key in stream.iterate_fields():
        opens = stream.peek_mark()
        if opens not in ("{", "["):
            value = stream.read_value()
            if len(holder) < _KEYS:
                holder[key] = value[:_LONGEST_TEXT] if isinstance(value, str) else value
        elif depth >= _DEEPEST or len(holder) >= _KEYS:
            stream.skip_value()
        elif opens == "{":
            holder[key] = {}
            _outline_object(holder[key], stream, seen, depth + 1)
        else:
            holder[key] = []
            _outline_array(holder[key], stream, seen, depth + 1)


def _outline_array(holder: list[Any], stream: JsonStream, seen: Callable[[], None], depth: int) -> None:
    """The first element of an array; the others are passed over."""
    for number in stream.iterate_items():
        if number or stream.peek_mark() != "{":
            stream.skip_value()
            continue
        holder.append({})
        _outline_object(holder[0], stream, seen, depth + 1)
        seen()


def _nested_arrays(
    holder: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The first elements of the arrays that lie at most two keys deep."""
    for key, value in holder.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield (*path, key), value[0]
        elif isinstance(value, dict) and not path:
            yield from _nested_arrays(value, (key,))


def is_empty(reading: Reading) -> bool:
    """Whether there is nothing in it: no character but spaces, or JSON that holds nothing."""
    with reading.open_json() as stream, suppress(JsonError):
        opens = stream.peek_mark()
        inside: Iterator[object] = stream.iterate_items() if opens == "[" else stream.iterate_fields()
        return not opens or (opens in "[{" and next(inside, None) is None and not stream.peek_mark())
    return False
