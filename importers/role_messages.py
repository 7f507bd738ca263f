"""Messages by role, as the chat APIs have them: a conversation a line or element, a message a line, and ShareGPT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from domain.imports import PastConversation, Spoken, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut
from importers.json_values import as_list, as_name, as_object, as_text, first_value, join_text, objects_in
from importers.reading import Found, NotRead, Reading, read_each

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
    """``{"messages": [{"role", "content"}]}``."""
    return any(_is_message(one) for one in objects_in(element.get("messages")))


def fits_message(element: Mapping[str, Any]) -> bool:
    """``{"role", "content"}``."""
    return _is_message(element)


def fits_sharegpt(element: Mapping[str, Any]) -> bool:
    """``{"conversations": [{"from", "value"}]}``."""
    return any("from" in one and "value" in one for one in objects_in(_sharegpt_items(element)))


def _is_message(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("role"), str) and ("content" in one or "tool_calls" in one)


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation of messages by role."""
    return _build_conversation(element, element.get("messages"), where, reading)


def read_sharegpt_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation of ShareGPT."""
    renamed = [
        {**one, "role": one.get("from"), "content": one.get("value")} if isinstance(one, dict) else one
        for one in as_list(_sharegpt_items(element))
    ]
    return _build_conversation(element, renamed, where, reading)


def _sharegpt_items(element: Mapping[str, Any]) -> Any:
    return first_value(element, "conversations", "items")


def _build_conversation(
    element: Mapping[str, Any], messages: Any, where: str, reading: Reading
) -> PastConversation | Unread:
    if not as_list(messages):
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source,
        as_name(first_value(element, *_KEYS)),
        as_text(first_value(element, "title", "name")),
        began=reading.parse_time(first_value(element, *_TIMES)),
    )
    for message in as_list(messages):
        _add_message(builder, message, reading)
    return builder.build()


def read_messages(reading: Reading) -> Iterator[Found]:
    """The conversation that a file is whose elements are messages."""
    builder = ConversationBuilder(reading.source, "")
    for _, element in reading.read_elements():
        _add_message(builder, element, reading)
    yield builder.build()


def _add_message(builder: ConversationBuilder, message: Any, reading: Reading) -> None:
    given = as_object(message)
    role = as_text(given.get("role")).lower()
    if not role:
        builder.leave_out(LeftOut.MISSHAPEN)
    elif role not in _BY:
        builder.leave_out(LeftOut.SYSTEM if role in _SYSTEM else LeftOut.TOOL)
    else:
        words = join_text(given.get("content"))
        if not words.strip() and (given.get("content") or given.get("tool_calls")):
            builder.leave_out(LeftOut.TOOL if given.get("tool_calls") else LeftOut.ATTACHMENT)
            return
        builder.add_message(as_name(given.get("id")), _BY[role], words, reading.parse_time(first_value(given, *_TIMES)))


read_export = read_each(read_conversation)
read_sharegpt = read_each(read_sharegpt_conversation)
