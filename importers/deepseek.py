"""DeepSeek's export, and the dumps of browser scripts: a tree as ChatGPT's, whose nodes hold fragments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.imports import PastConversation, Spoken, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, path_from_root
from importers.json_values import as_list, as_name, as_number, as_object, as_text, first_value, objects_in
from importers.reading import NotRead, Reading, read_each

_FRAGMENTS: Mapping[str, Spoken] = {"REQUEST": "person", "RESPONSE": "companion"}
_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of the official export."""
    if not isinstance(element.get("mapping"), dict):
        return False
    messages = [as_object(node, "message") for node in as_object(element, "mapping").values()]
    return isinstance(element.get("inserted_at"), str) or any("fragments" in message for message in messages)


def fits_raw(element: Mapping[str, Any]) -> bool:
    """Whether this is what the page itself was sent, as browser scripts keep it."""
    given = _unwrap_raw(element)
    return isinstance(given.get("chat_session"), dict) and isinstance(given.get("chat_messages"), list)


def _unwrap_raw(element: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_object(element, "data", "biz_data") or element


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of the official export. No node is named as the current one: the newest has the highest number."""
    nodes = {key: as_object(node) for key, node in as_object(element, "mapping").items()}
    messages = {key: node.get("message") for key, node in nodes.items() if node.get("message")}
    parents = {key: as_name(node.get("parent")) or None for key, node in nodes.items()}
    return _build_conversation(element, messages, parents, _newest_key(parents), where, reading)


def read_raw_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation as the page was sent it."""
    given = _unwrap_raw(element)
    session = as_object(given, "chat_session")
    messages = {as_name(one.get("message_id")): one for one in objects_in(given.get("chat_messages"))}
    parents = {key: as_name(one.get("parent_id")) or None for key, one in messages.items()}
    current = as_name(session.get("current_message_id"))
    leaf = current if current in parents else _newest_key(parents)
    return _build_conversation(session, messages, parents, leaf, where, reading)


def _newest_key(parents: Mapping[str, str | None]) -> str | None:
    named = set(parents.values())
    leaves = [key for key in parents if key not in named] or list(parents)
    return max(enumerate(leaves), key=lambda leaf: (as_number(leaf[1]), leaf[0]), default=(0, None))[1]


def _build_conversation(
    about: Mapping[str, Any],
    messages: Mapping[str, Any],
    parents: Mapping[str, str | None],
    leaf: str | None,
    where: str,
    reading: Reading,
) -> PastConversation | Unread:
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    began = reading.parse_time(about.get("inserted_at"))
    builder = ConversationBuilder(reading.source, as_name(about.get("id")), as_text(about.get("title")), began=began)
    way = [key for key in path_from_root(parents, leaf) if key in messages]
    for key in way:
        _add_message(builder, key, messages[key], reading)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(messages) - len(way))
    return builder.build()


def _add_message(builder: ConversationBuilder, key: str, message: Any, reading: Reading) -> None:
    if not isinstance(message, dict):
        builder.leave_out(LeftOut.MISSHAPEN)
        return
    by, words, reason = _message_text(message)
    if by is None or not words.strip():
        builder.leave_out(LeftOut.ATTACHMENT if message.get("files") and by else reason)
        return
    builder.add_message(key, by, words, reading.parse_time(message.get("inserted_at")))


def _message_text(message: Mapping[str, Any]) -> tuple[Spoken | None, str, str]:
    """By whom and what was said, and the reason where that is nothing."""
    fragments = as_list(message.get("fragments"))
    if not fragments:
        by = _ROLES.get(as_text(message.get("role")).lower())
        return by, as_text(message.get("content")), LeftOut.EMPTY if by else LeftOut.SYSTEM
    kinds = [as_text(as_object(one).get("type")).upper() for one in fragments]
    kind = first_value({one: one for one in kinds}, *_FRAGMENTS)
    said = [
        as_text(as_object(one).get("content")) for one, named in zip(fragments, kinds, strict=True) if named == kind
    ]
    reason = LeftOut.EMPTY if kind else LeftOut.THINKING if "THINK" in kinds else LeftOut.TOOL
    return _FRAGMENTS.get(kind or ""), "\n\n".join(said), reason


read_export = read_each(read_conversation)
read_raw = read_each(read_raw_conversation)
