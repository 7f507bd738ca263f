"""ChatLab's own files, into which chats of many programs are turned: one chat, as JSON or as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from importers.conversation_builder import ConversationBuilder, LeftOut, is_same_name, make_key, role_of_speaker
from importers.json_stream import iterate_list
from importers.json_values import as_name, as_object, as_text, first_value
from importers.reading import Found, Reading

_TEXT, _REPLY = 0, 25
_LEFT_OUT = {26: LeftOut.FORWARDED, 80: LeftOut.SYSTEM, 81: LeftOut.DELETED}


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a file of ChatLab, or the first line of one."""
    return isinstance(element.get("chatlab"), dict) and isinstance(element.get("meta"), dict)


def read_export(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is; ``ownerId`` says who the person is, if anything does."""
    if reading.layout.kind == "lines":
        yield from _read_lines(reading)
        return
    builder, owner = _start_chat(as_object(reading.outline, "meta"), reading)
    with reading.tolerate_damage(), reading.open_json() as stream:
        for message in iterate_list(stream, "messages"):
            _add_message(builder, as_object(message), owner, reading)
    yield builder.build()


def _read_lines(reading: Reading) -> Iterator[Found]:
    builder, owner = ConversationBuilder(reading.source, ""), ""
    for _, element in reading.read_elements():
        given = as_object(element)
        kind = given.get("_type")
        if kind == "header" or matches_format(given):
            builder, owner = _start_chat(as_object(given, "meta"), reading)
        elif kind != "member":
            _add_message(builder, given, owner, reading)
    yield builder.build()


def _start_chat(meta: Mapping[str, Any], reading: Reading) -> tuple[ConversationBuilder, str]:
    key = as_name(meta.get("groupId")) or make_key(as_text(meta.get("platform")), as_text(meta.get("name")))
    return ConversationBuilder(reading.source, key, as_text(meta.get("name"))), as_name(meta.get("ownerId"))


def _add_message(builder: ConversationBuilder, message: Mapping[str, Any], owner: str, reading: Reading) -> None:
    kind = message.get("type", _TEXT)
    if "sender" not in message:
        builder.leave_out(LeftOut.MISSHAPEN)
    elif kind not in (_TEXT, _REPLY):
        builder.leave_out(_LEFT_OUT.get(kind, LeftOut.ATTACHMENT) if isinstance(kind, int) else LeftOut.MISSHAPEN)
    else:
        sender, me = as_name(message.get("sender")), reading.options.me
        speaker = as_text(first_value(message, "groupNickname", "accountName")) or sender
        mine = sender == owner or is_same_name(sender, me)
        said = reading.parse_time(message.get("timestamp"))
        own_key = as_name(first_value(message, "platformMessageId", "id"))
        builder.add_message(
            own_key, "person" if mine else role_of_speaker(speaker, me), as_text(message.get("content")), said, speaker
        )
