"""Our own export: all rows of a memory, of which the turns are talk. They are read as those of any other program.

Laying the whole of it back as it was, with notes, facts and images, is not the work of this room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from domain.histories import PastConversation, Spoken
from domain.records import PREFIX
from histories import omissions
from histories.readings import Found, Reading
from histories.shapes import record, text
from histories.streaming import enter
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
            said = reading.time(turn.get("timestamp"))
            talk.take(text(turn.get("text_id")), _BY[role], text(turn.get("text")).removeprefix(prefix), said)
    return talk.finished()
