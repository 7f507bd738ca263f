"""Our own export: all rows of a memory, of which the turns are talk. They are read as those of any other program.

The whole of it can be read as well, row by row, for laying it back as it was, with notes, facts and images.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from domain.file_reader import open_bytes
from domain.imports import PastConversation, Spoken
from domain.records import PREFIX
from importers.json_stream import JsonError, JsonStream, as_object, as_text, enter_path
from importers.reading import ConversationBuilder, Found, JsonFormat, LeftOut, Reading

FORMAT = "old-friend"
_BY: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}


def _fits_export(element: Mapping[str, Any]) -> bool:
    return element.get("format") == FORMAT and isinstance(element.get("tables"), dict)


def _read_export(reading: Reading) -> Iterator[Found]:
    """Every session with its turns, which are adjacent."""
    for key, messages in groupby(_message_rows(reading), lambda row: as_text(row.get("session_id"))):
        yield _read_session(key, messages, reading)


def _message_rows(reading: Reading) -> Iterator[Mapping[str, Any]]:
    """The rows of turns, as far as the file is sound."""
    with reading.tolerate_damage(), reading.open_json() as stream:
        for _ in stream.iterate_items() if enter_path(stream, ("tables", "conversation")) else ():
            yield as_object(stream.read_value())


def _read_session(key: str, messages: Iterator[Mapping[str, Any]], reading: Reading) -> PastConversation:
    builder = ConversationBuilder(reading.source, key)
    for message in messages:
        role = as_text(message.get("role"))
        if role not in _BY:
            builder.leave_out(LeftOut.MISSHAPEN)
        elif message.get("hidden"):
            builder.leave_out(LeftOut.NOT_REMEMBERED)
        else:
            prefix = PREFIX["user" if role == "user" else "assistant"]
            said, speaker = reading.parse_time(message.get("timestamp")), as_text(message.get("speaker"))
            words = as_text(message.get("text")).removeprefix(prefix)
            by = "somebody" if speaker else _BY[role]
            builder.add_message(as_text(message.get("text_id")), by, words, said, speaker)
    return builder.build()


@dataclass(frozen=True)
class WholeExport:
    """The rows of a memory, each with the name of its table, as its schema of that number laid them down."""

    schema: int
    rows: Iterator[tuple[str, dict[str, Any]]]


@contextmanager
def open_whole_export(path: Path) -> Iterator[WholeExport | None]:
    """The whole memory that a file holds; None where it is something else.

    Going through its rows raises ``streaming.JsonError`` where the file is cut off or broken. A byte that is no UTF-8
    comes out as a lone surrogate, which no database takes.
    """
    with open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape") as file:
        stream = JsonStream(file)
        head, fields = _read_head(stream)
        schema = head.get("schema")
        own = head.get("format") == FORMAT and isinstance(schema, int) and not isinstance(schema, bool)
        yield WholeExport(int(str(schema)), _read_rows(stream, fields)) if own else None


def _read_head(stream: JsonStream) -> tuple[dict[str, Any], Iterator[str]]:
    """The part before the tables, and the rest of the document."""
    head: dict[str, Any] = {}
    try:
        fields = stream.iterate_fields() if stream.peek_mark() == "{" else iter(())
        for key in fields:
            if key == "tables":
                return head, fields
            if not head and key != "format":
                break
            head[key] = stream.read_value()
    except JsonError:
        pass
    return {}, iter(())


def _read_rows(stream: JsonStream, fields: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in stream.iterate_fields():
        for _ in stream.iterate_items():
            yield table, dict(as_object(stream.read_value()))
    for _ in fields:
        stream.skip_value()


JSON_FORMATS = (JsonFormat("old_friend", _fits_export, _read_export),)
