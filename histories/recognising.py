"""Tells by the bytes of a file, an archive or a folder what it is, and never by its name alone.

Promises: what is not recognised is said, and never read as plain text; a folder or an archive is looked through whole,
and what in it is no history is counted.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from domain.errors import UsageError
from domain.histories import HistoryFile, PastConversation, Unread
from histories import omissions
from histories.encodings import encoding_of
from histories.formats import JSON_FORMATS, TABLE_FORMATS, TEXT_FORMATS, JsonFormat
from histories.outlines import candidates, is_empty
from histories.parts import DAMAGES, HEAD, ZIP, FilePart, ZipArchive, file_part, folder_parts
from histories.readings import Reader, Reading, ReadingOptions, RecognisedFile
from histories.streaming import JsonError

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
_SAID_OF = {
    omissions.DAMAGED_FILE: omissions.DAMAGED,
    omissions.HELD_FILE: omissions.HELD,
    omissions.SUSPICIOUS: omissions.SUSPICIOUS,
    omissions.DATABASE_INSIDE: omissions.DATABASE_INSIDE,
}

#: A part with what it was recognised as; a reason why it is none.
_Look = tuple[FilePart, tuple[Reading, Reader] | str]


def recognise(path: Path, options: ReadingOptions | None = None) -> list[HistoryFile]:
    """What a file, an archive or a folder holds, ready to be read.

    In a folder or an archive, the last may be one that only tells what was passed over. Raises UsageError
    (``history.not_found``, ``history.not_recognised``, ``history.nothing_inside``, ``history.no_conversations``,
    ``history.damaged``, ``history.held``), and OSError where the disk or its owner does not let it be read.
    """
    options = options or ReadingOptions()
    if not path.exists():
        raise UsageError(omissions.NOT_FOUND, path=str(path))
    if path.is_dir():
        return _of_many(path, _looks(folder_parts(path), options, 0))
    try:
        return _of_file(path, options)
    except DAMAGES as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise UsageError(omissions.DAMAGED_FILE, path=str(path)) from error


def _of_file(path: Path, options: ReadingOptions) -> list[HistoryFile]:
    part = file_part(path)
    if path.suffix.lower() == ".zip" or part.head(len(ZIP)) == ZIP:
        return _of_many(path, _looks(ZipArchive(part).parts(), options, 1))
    found = _recognised(part, options)
    if isinstance(found, str):
        raise UsageError(found, path=str(path))
    return [_file([found])]


def speakers(file: HistoryFile) -> Mapping[str, int]:
    """Of a chat between people: who speaks in it, and how often. Empty where the file says who is the person."""
    found = (one for one in file.read() if isinstance(one, PastConversation))
    said = Counter((one.by, one.speaker) for conversation in found for one in conversation.messages)
    if any(by != "somebody" for by, _ in said):
        return {}
    return {speaker: count for (_, speaker), count in said.most_common()}


# -- folders and archives


def _looks(parts: Iterable[FilePart], options: ReadingOptions, depth: int) -> Iterator[_Look]:
    """Every part that may be a history, those within archives as well."""
    for part in parts:
        if PurePosixPath(part.base).suffix.lower() not in _READABLE or part.refused:
            yield part, omissions.SUSPICIOUS if part.refused else omissions.SKIPPED
            continue
        try:
            if part.head(len(ZIP)) == ZIP:
                yield from _inside(part, options, depth)
            else:
                yield part, _recognised(part, options)
        except DAMAGES:
            yield part, omissions.DAMAGED_FILE


def _inside(archive: FilePart, options: ReadingOptions, depth: int) -> Iterator[_Look]:
    if depth >= _DEEPEST_ARCHIVE:
        yield archive, omissions.SUSPICIOUS
        return
    for part, found in _looks(ZipArchive(archive).parts(), options, depth + 1):
        yield replace(part, name=f"{archive.name}/{part.name}"), found


def _of_many(path: Path, looks: Iterable[_Look]) -> list[HistoryFile]:
    """The histories of a folder or an archive, shards of one together, and what was passed over."""
    found: dict[object, list[tuple[Reading, Reader]]] = {}
    others: list[tuple[FilePart, str]] = []
    parts: list[FilePart] = []
    for part, look in looks:
        parts.append(part)
        if isinstance(look, str):
            others.append((part, look))
        else:
            shard = _SHARD.fullmatch(part.base) and (look[0].source, part.folder)
            found.setdefault(shard or part.name, []).append(look)
    if not found:
        raise UsageError(_why_nothing(others), path=str(path))
    files: list[HistoryFile] = [_file(readings, _missing(readings, parts)) for readings in found.values()]
    return files + list(_passed_over(others))


def _why_nothing(others: Sequence[tuple[FilePart, str]]) -> str:
    empty = [part for part, reason in others if reason == omissions.NO_CONVERSATIONS]
    return omissions.NO_CONVERSATIONS if empty else omissions.NOTHING_INSIDE


def _file(readings: Sequence[tuple[Reading, Reader]], missing: Sequence[Unread] = ()) -> RecognisedFile:
    ordered = sorted(readings, key=lambda one: one[0].part.name)
    first, reader = ordered[0]
    return RecognisedFile(first.source, first.part.name, reader, [one for one, _ in ordered], missing)


def _missing(readings: Sequence[tuple[Reading, Reader]], parts: Sequence[FilePart]) -> list[Unread]:
    """The shards that the manifest beside them names and that are not there."""
    reading = readings[0][0]
    folder = reading.part.folder
    beside = {part.base for part in parts if part.folder == folder}
    manifest = next((part for part in parts if part.folder == folder and part.base == _MANIFEST), None)
    if manifest is None or not _SHARD.fullmatch(reading.part.base):
        return []
    return [reading.unread(omissions.MISSING_FILE, name) for name in _listed(manifest) if name not in beside]


def _listed(manifest: FilePart) -> list[str]:
    from json import loads

    from histories.shapes import entries, record

    try:
        given = loads(manifest.head(1 << 24))
    except (*DAMAGES, ValueError):
        return []
    logical = record(given, "logical_files")
    files = (record(logical.get(name)).get("files") for name in logical if _SHARD.fullmatch(name))
    return [name for listed in files for name in entries(listed) if isinstance(name, str)]


def _passed_over(others: Sequence[tuple[FilePart, str]]) -> Iterator[HistoryFile]:
    """One that only tells what else lies there: each that is damaged or refused, and how many are no history."""
    said = [
        Unread("", part.name, _SAID_OF[reason], {"said": part.refused})
        for part, reason in others
        if reason in _SAID_OF
    ]
    skipped = [part.name for part, reason in others if _worth_a_word(part, reason)]
    if skipped:
        said.append(Unread("", skipped[0], omissions.SKIPPED, {"count": len(skipped)}))
    if said:
        yield RecognisedFile("", "", lambda _: iter(()), (), said)


def _worth_a_word(part: FilePart, reason: str) -> bool:
    """Whether something that is no history could have been taken for one."""
    if (
        reason
        not in (
            omissions.SKIPPED,
            omissions.NOT_RECOGNISED,
            omissions.NO_CONVERSATIONS,
        )
        or _BESIDE.fullmatch(part.base)
        or PurePosixPath(part.folder).name == "projects"
    ):
        return False
    in_archive = part.path is None
    return not in_archive or PurePosixPath(part.base).suffix.lower() in _READABLE - {""}


# -- one file


def _recognised(part: FilePart, options: ReadingOptions) -> tuple[Reading, Reader] | str:
    """What a file is, or the reason why it is nothing."""
    if _BESIDE.fullmatch(part.base) and part.path is None:
        return omissions.SKIPPED
    head = part.head(HEAD)
    if head.startswith(SQLITE):
        return _of_database(part, options)
    encoding = encoding_of(part)
    if encoding is None:
        return omissions.NOT_RECOGNISED
    reading = Reading("", part, options, encoding)
    return _of_json(reading) or _of_text(reading) or _nothing_in(reading)


def _of_json(reading: Reading) -> tuple[Reading, Reader] | None:
    try:
        for layout, element, outline in candidates(reading, lambda root: _format_of(root) is not None):
            found = _format_of(element)
            if found:
                return replace(
                    reading, source=found.source, layout=layout, outline=outline, flaws=[]
                ), found.read
    except JsonError:
        pass
    return None


def _format_of(element: Mapping[str, Any]) -> JsonFormat | None:
    for one in JSON_FORMATS:
        try:
            if one.fits(element):
                return one
        except (AttributeError, LookupError, TypeError, ValueError):
            continue
    return None


def _of_text(reading: Reading) -> tuple[Reading, Reader] | None:
    with reading.text(counted=False) as text:
        head = text.read(_TEXT_HEAD)
    found = next((one for one in TEXT_FORMATS if one.fits(head)), None)
    return (replace(reading, source=found.source), found.read) if found else None


def _nothing_in(reading: Reading) -> str:
    return omissions.NO_CONVERSATIONS if is_empty(reading) else omissions.NOT_RECOGNISED


def _of_database(part: FilePart, options: ReadingOptions) -> tuple[Reading, Reader] | str:
    if part.path is None:
        return omissions.DATABASE_INSIDE
    from histories.databases import is_held, opened, tables_of

    try:
        with closing(opened(part.path, _PATIENCE)) as connection:
            tables = tables_of(connection)
    except sqlite3.Error as error:
        return omissions.HELD_FILE if is_held(error) else omissions.DAMAGED_FILE
    found = next((one for one in TABLE_FORMATS if one.needs <= tables), None)
    return (Reading(found.source, part, options), found.read) if found else omissions.NOT_RECOGNISED
