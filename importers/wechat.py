"""WeChat's chats as WeFlow and echotrace save them, in JSON; a picture in it may be longer than all that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from importers.conversation_builder import ConversationBuilder, LeftOut, role_of_speaker
from importers.json_stream import iterate_list
from importers.json_values import as_list, as_name, as_object, as_text, first_value
from importers.reading import Found, Reading

#: ``localType`` is a number that cannot be relied on; these are the kinds by name.
_TEXTS = frozenset(("文本消息", "引用消息", "文本", "text"))
_SYSTEMS = frozenset(("系统消息", "系统", "system"))


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is one chat of WeChat."""
    if not isinstance(element.get("session"), dict) or not isinstance(element.get("messages"), list):
        return False
    messages = as_list(element.get("messages"))
    return "weflow" in element or any({"senderUsername", "createTime"} & as_object(one).keys() for one in messages)


def read_export(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is, as far as the file is sound."""
    session = as_object(reading.outline, "session")
    key = as_name(first_value(session, "wxid", "userName", "id"))
    title = as_text(first_value(session, "displayName", "remark", "nickname"))
    builder = ConversationBuilder(reading.source, key, title)
    with reading.tolerate_damage(), reading.open_json() as stream:
        for message in iterate_list(stream, "messages"):
            _add_message(builder, as_object(message), reading)
    yield builder.build()


def _add_message(builder: ConversationBuilder, message: Mapping[str, Any], reading: Reading) -> None:
    kind = as_text(message.get("type"))
    if not message:
        builder.leave_out(LeftOut.MISSHAPEN)
    elif kind in _SYSTEMS or ("isSend" in message and message.get("isSend") is None):
        builder.leave_out(LeftOut.SYSTEM)
    elif kind and kind not in _TEXTS:
        builder.leave_out(LeftOut.ATTACHMENT)
    else:
        speaker = as_text(first_value(message, "senderDisplayName", "senderUsername"))
        by = "person" if message.get("isSend") in (1, True) else role_of_speaker(speaker, reading.options.me)
        said = reading.parse_time(first_value(message, "createTime", "formattedTime"))
        builder.add_message(as_name(message.get("localId")), by, as_text(message.get("content")), said, speaker)
