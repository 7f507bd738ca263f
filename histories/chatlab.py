"""ChatLab's own files, into which chats of many programs are turned: one chat, as JSON or as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from histories import omissions
from histories.readings import Found, Reading
from histories.shapes import first, name, record, text
from histories.streaming import listed
from histories.talks import Talk, digest, same_name, spoken_by

_TEXT, _REPLY = 0, 25
_LEFT_OUT = {26: omissions.FORWARDED, 80: omissions.SYSTEM, 81: omissions.DELETED}


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a file of ChatLab, or the first line of one."""
    return isinstance(element.get("chatlab"), dict) and isinstance(element.get("meta"), dict)


def read(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is; ``ownerId`` says who the person is, if anything does."""
    if reading.layout.kind == "lines":
        yield from _read_lines(reading)
        return
    talk, owner = _begun(record(reading.outline, "meta"), reading)
    with reading.sound(), reading.stream() as stream:
        for message in listed(stream, "messages"):
            _take(talk, record(message), owner, reading)
    yield talk.finished()


def _read_lines(reading: Reading) -> Iterator[Found]:
    talk, owner = Talk(reading.source, ""), ""
    for _, element in reading.elements():
        given = record(element)
        kind = given.get("_type")
        if kind == "header" or fits(given):
            talk, owner = _begun(record(given, "meta"), reading)
        elif kind != "member":
            _take(talk, given, owner, reading)
    yield talk.finished()


def _begun(meta: Mapping[str, Any], reading: Reading) -> tuple[Talk, str]:
    key = name(meta.get("groupId")) or digest(text(meta.get("platform")), text(meta.get("name")))
    return Talk(reading.source, key, text(meta.get("name"))), name(meta.get("ownerId"))


def _take(talk: Talk, message: Mapping[str, Any], owner: str, reading: Reading) -> None:
    kind = message.get("type", _TEXT)
    if "sender" not in message:
        talk.leave(omissions.MISSHAPEN_MESSAGE)
    elif kind not in (_TEXT, _REPLY):
        talk.leave(
            _LEFT_OUT.get(kind, omissions.ATTACHMENT)
            if isinstance(kind, int)
            else omissions.MISSHAPEN_MESSAGE
        )
    else:
        sender, me = name(message.get("sender")), reading.options.me
        speaker = text(first(message, "groupNickname", "accountName")) or sender
        mine = sender == owner or same_name(sender, me)
        said = reading.time(message.get("timestamp"))
        own_key = name(first(message, "platformMessageId", "id"))
        talk.take(
            own_key, "person" if mine else spoken_by(speaker, me), text(message.get("content")), said, speaker
        )
