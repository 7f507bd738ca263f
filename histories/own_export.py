"""Our own export: all rows of a memory, of which the turns are talk. They are read as those of any other program.

The whole of it can be read as well, row by row, for laying it back as it was, with notes, facts and images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from domain.histories import PastConversation, Spoken
from domain.records import PREFIX
from histories import omissions
from histories.readings import Found, Reading
from histories.shapes import record, text
from histories.streaming import JsonError, JsonStream, enter
from histories.talks import Talk

FORMAT = "old-friend"
_BY: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is an export of our own."""
    return element.get("format") == FORMAT and isinstance(element.get("tables"), dict)


def read(reading: Reading) -> Iterator[Found]:
    """Every session with its turns, which stand together."""
    for key, turns in groupby(_rows(reading), lambda row: text(row.get("session_id"))):
        yield _session(key, turns, reading)


def _rows(reading: Reading) -> Iterator[Mapping[str, Any]]:
    """The rows of turns, as far as the file is sound."""
    with reading.sound(), reading.stream() as stream:
        if enter(stream, ("tables", "conversation")):
            for _ in stream.items():
                yield record(stream.value())


def _session(key: str, turns: Iterator[Mapping[str, Any]], reading: Reading) -> PastConversation:
    talk = Talk(reading.source, key)
    for turn in turns:
        role = text(turn.get("role"))
        if role not in _BY:
            talk.leave(omissions.MISSHAPEN_MESSAGE)
        elif turn.get("withheld"):
            talk.leave(omissions.NOT_REMEMBERED)
        else:
            prefix = PREFIX["user" if role == "user" else "assistant"]
            said, speaker = reading.time(turn.get("timestamp")), text(turn.get("speaker"))
            words = text(turn.get("text")).removeprefix(prefix)
            by = "somebody" if speaker else _BY[role]
            talk.take(text(turn.get("text_id")), by, words, said, speaker)
    return talk.finished()


@dataclass(frozen=True)
class WholeExport:
    """The rows of a memory, each with the name of its table, as its schema of that number laid them down."""

    schema: int
    rows: Iterator[tuple[str, dict[str, Any]]]


@contextmanager
def whole_export(path: Path) -> Iterator[WholeExport | None]:
    """The whole memory that a file holds; None where it is something else.

    Going through its rows raises ``streaming.JsonError`` where the file is cut off or broken. A byte that is no UTF-8
    comes out as a lone surrogate, which no database takes.
    """
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        stream = JsonStream(file)
        head, fields = _head(stream)
        schema = head.get("schema")
        own = head.get("format") == FORMAT and isinstance(schema, int) and not isinstance(schema, bool)
        yield WholeExport(int(str(schema)), _every_row(stream, fields)) if own else None


def _head(stream: JsonStream) -> tuple[dict[str, Any], Iterator[str]]:
    """What stands before the tables, and what is left of the document then."""
    head: dict[str, Any] = {}
    try:
        fields = stream.fields() if stream.peek() == "{" else iter(())
        for key in fields:
            if key == "tables":
                return head, fields
            if not head and key != "format":
                break
            head[key] = stream.value()
    except JsonError:
        pass
    return {}, iter(())


def _every_row(stream: JsonStream, fields: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in stream.fields():
        for _ in stream.items():
            yield table, dict(record(stream.value()))
    for _ in fields:
        stream.skip()
