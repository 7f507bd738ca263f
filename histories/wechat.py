"""WeChat's chats as WeFlow and echotrace save them, in JSON; a picture in it may be longer than all that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from histories import omissions
from histories.readings import Found, Reading
from histories.shapes import entries, first, name, record, text
from histories.streaming import listed
from histories.talks import Talk, spoken_by

#: ``localType`` is a number that cannot be relied on; these are the kinds by name.
_TEXTS = frozenset(("文本消息", "引用消息", "文本", "text"))
_SYSTEMS = frozenset(("系统消息", "系统", "system"))


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is one chat of WeChat."""
    if not isinstance(element.get("session"), dict) or not isinstance(element.get("messages"), list):
        return False
    messages = entries(element.get("messages"))
    return "weflow" in element or any(
        {"senderUsername", "createTime"} & record(one).keys() for one in messages
    )


def read(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is, as far as the file is sound."""
    session = record(reading.outline, "session")
    key = name(first(session, "wxid", "userName", "id"))
    title = text(first(session, "displayName", "remark", "nickname"))
    talk = Talk(reading.source, key, title)
    with reading.sound(), reading.stream() as stream:
        for message in listed(stream, "messages"):
            _take(talk, record(message), reading)
    yield talk.finished()


def _take(talk: Talk, message: Mapping[str, Any], reading: Reading) -> None:
    kind = text(message.get("type"))
    if not message:
        talk.leave(omissions.MISSHAPEN_MESSAGE)
    elif kind in _SYSTEMS or ("isSend" in message and message.get("isSend") is None):
        talk.leave(omissions.SYSTEM)
    elif kind and kind not in _TEXTS:
        talk.leave(omissions.ATTACHMENT)
    else:
        speaker = text(first(message, "senderDisplayName", "senderUsername"))
        by = "person" if message.get("isSend") in (1, True) else spoken_by(speaker, reading.options.me)
        said = reading.time(first(message, "createTime", "formattedTime"))
        talk.take(name(message.get("localId")), by, text(message.get("content")), said, speaker)
