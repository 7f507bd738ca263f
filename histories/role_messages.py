"""Messages by role, as the chat APIs have them: a conversation a line or element, a message a line, and ShareGPT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from domain.histories import PastConversation, Spoken, Unread
from histories import omissions
from histories.readings import Found, Reading, each
from histories.shapes import entries, first, joined_text, name, record, records, text
from histories.talks import Talk

_BY: Mapping[str, Spoken] = {
    "user": "person",
    "human": "person",
    "assistant": "companion",
    "gpt": "companion",
    "chatgpt": "companion",
    "bing": "companion",
    "bard": "companion",
    "model": "companion",
}
_SYSTEM = frozenset(("system", "developer"))
_TIMES = ("timestamp", "created_at", "create_time", "createdAt", "ts", "date", "time")
_KEYS = ("id", "conversation_id", "uuid", "session_id")


def fits_conversation(element: Mapping[str, Any]) -> bool:
    """``{"messages": [{"role", "content"}]}``"""
    return any(_is_message(one) for one in records(element.get("messages")))


def fits_message(element: Mapping[str, Any]) -> bool:
    """``{"role", "content"}``"""
    return _is_message(element)


def fits_sharegpt(element: Mapping[str, Any]) -> bool:
    """``{"conversations": [{"from", "value"}]}``"""
    return any("from" in one and "value" in one for one in records(_sharegpt_items(element)))


def _is_message(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("role"), str) and ("content" in one or "tool_calls" in one)


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation of messages by role."""
    return _of(element, element.get("messages"), where, reading)


def sharegpt_conversation(
    element: Mapping[str, Any], where: str, reading: Reading
) -> PastConversation | Unread:
    """One conversation of ShareGPT."""
    renamed = [
        {**one, "role": one.get("from"), "content": one.get("value")} if isinstance(one, dict) else one
        for one in entries(_sharegpt_items(element))
    ]
    return _of(element, renamed, where, reading)


def _sharegpt_items(element: Mapping[str, Any]) -> Any:
    return first(element, "conversations", "items")


def _of(element: Mapping[str, Any], messages: Any, where: str, reading: Reading) -> PastConversation | Unread:
    if not entries(messages):
        return reading.unread(omissions.NO_MESSAGES, where)
    talk = Talk(
        reading.source,
        name(first(element, *_KEYS)),
        text(first(element, "title", "name")),
        began=reading.time(first(element, *_TIMES)),
    )
    for message in entries(messages):
        _take(talk, message, reading)
    return talk.finished()


def read_messages(reading: Reading) -> Iterator[Found]:
    """The conversation that a file is whose elements are messages."""
    talk = Talk(reading.source, "")
    for _, element in reading.elements():
        _take(talk, element, reading)
    yield talk.finished()


def _take(talk: Talk, message: Any, reading: Reading) -> None:
    given = record(message)
    role = text(given.get("role")).lower()
    if not role:
        talk.leave(omissions.MISSHAPEN_MESSAGE)
    elif role not in _BY:
        talk.leave(omissions.SYSTEM if role in _SYSTEM else omissions.TOOL)
    else:
        words = joined_text(given.get("content"))
        if not words.strip() and (given.get("content") or given.get("tool_calls")):
            talk.leave(omissions.TOOL if given.get("tool_calls") else omissions.ATTACHMENT)
            return
        talk.take(name(given.get("id")), _BY[role], words, reading.time(first(given, *_TIMES)))


read = each(conversation)
read_sharegpt = each(sharegpt_conversation)
