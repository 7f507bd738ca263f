"""LibreChat's export of one conversation, flat or nested; nested it is as deep as the conversation is long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from domain.histories import PastConversation, Unread
from histories import omissions
from histories.readings import Reading, each
from histories.shapes import entries, first, joined_text, name, record, text
from histories.talks import Talk
from histories.trees import newest_leaf, way_up

_TEXT = frozenset(("text",))


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of LibreChat."""
    return "conversationId" in element and isinstance(first(element, "messages", "messagesTree"), list)


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """The conversation that a file is. ``exportAt`` has no date, and the root is named by nothing but zeros."""
    messages: dict[str, Mapping[str, Any]] = {}
    parents: dict[str, str | None] = {}
    for key, above, message in _all(first(element, "messages", "messagesTree")):
        messages[key], parents[key] = message, above
    if not messages:
        return reading.unread(omissions.NO_MESSAGES, where)
    talk = Talk(
        reading.source, text(element.get("conversationId")), text(element.get("title")),
        began=reading.time(element.get("createdAt")),
    )  # fmt: skip
    linked = any(above in messages for above in parents.values())
    leaf = newest_leaf(parents, lambda key: reading.time(messages[key].get("createdAt")))
    shown = way_up(parents, leaf) if linked else list(messages)
    for key in shown:
        _take(talk, key, messages[key], reading)
    talk.leave(omissions.OTHER_BRANCH, len(messages) - len(shown))
    return talk.finished()


def _all(messages: Any) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Every message with its own key and that of the one above, in the order of the file, children behind parents."""
    waiting = [(message, "") for message in reversed(entries(messages))]
    number = 0
    while waiting:
        given, above = waiting.pop()
        message, number = record(given), number + 1
        key = name(message.get("messageId")) or f"#{number}"
        yield key, above or name(message.get("parentMessageId")) or None, message
        waiting += [(child, key) for child in reversed(entries(message.get("children")))]


def _take(talk: Talk, key: str, message: Mapping[str, Any], reading: Reading) -> None:
    if not message:
        talk.leave(omissions.MISSHAPEN_MESSAGE)
    elif message.get("error"):
        talk.leave(omissions.FAILED)
    else:
        words = joined_text(message.get("content"), _TEXT) or text(message.get("text"))
        if not words.strip() and message.get("content"):
            talk.leave(omissions.TOOL)
            return
        by_person = message.get("isCreatedByUser") is True
        talk.take(key, "person" if by_person else "companion", words, reading.time(message.get("createdAt")))


read = each(conversation)
