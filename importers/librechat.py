"""LibreChat's export of one conversation, flat or nested; nested it is as deep as the conversation is long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from domain.imports import PastConversation, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, newest_leaf, path_from_root
from importers.json_values import as_list, as_name, as_object, as_text, first_value, join_text
from importers.reading import NotRead, Reading, read_each

_TEXT = frozenset(("text",))


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of LibreChat."""
    return "conversationId" in element and isinstance(first_value(element, "messages", "messagesTree"), list)


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """The conversation that a file is. ``exportAt`` has no date, and the root is named by nothing but zeros."""
    messages: dict[str, Mapping[str, Any]] = {}
    parents: dict[str, str | None] = {}
    for key, above, message in _flatten_tree(first_value(element, "messages", "messagesTree")):
        messages[key], parents[key] = message, above
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source, as_text(element.get("conversationId")), as_text(element.get("title")),
        began=reading.parse_time(element.get("createdAt")),
    )  # fmt: skip
    linked = any(above in messages for above in parents.values())
    leaf = newest_leaf(parents, lambda key: reading.parse_time(messages[key].get("createdAt")))
    shown = path_from_root(parents, leaf) if linked else list(messages)
    for key in shown:
        _add_message(builder, key, messages[key], reading)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(messages) - len(shown))
    return builder.build()


def _flatten_tree(messages: Any) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Every message with its own key and that of the one above, in the order of the file, children behind parents."""
    waiting = [(message, "") for message in reversed(as_list(messages))]
    number = 0
    while waiting:
        given, above = waiting.pop()
        message, number = as_object(given), number + 1
        key = as_name(message.get("messageId")) or f"#{number}"
        yield key, above or as_name(message.get("parentMessageId")) or None, message
        waiting += [(child, key) for child in reversed(as_list(message.get("children")))]


def _add_message(builder: ConversationBuilder, key: str, message: Mapping[str, Any], reading: Reading) -> None:
    if not message:
        builder.leave_out(LeftOut.MISSHAPEN)
    elif message.get("error"):
        builder.leave_out(LeftOut.FAILED)
    else:
        words = join_text(message.get("content"), _TEXT) or as_text(message.get("text"))
        if not words.strip() and message.get("content"):
            builder.leave_out(LeftOut.TOOL)
            return
        by_person = message.get("isCreatedByUser") is True
        builder.add_message(
            key, "person" if by_person else "companion", words, reading.parse_time(message.get("createdAt"))
        )


read_export = read_each(read_conversation)
