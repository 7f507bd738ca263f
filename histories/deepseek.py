"""DeepSeek's export, and the dumps of browser scripts: a tree as ChatGPT's, whose nodes hold fragments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.histories import PastConversation, Spoken, Unread
from histories import omissions
from histories.readings import Reading, each
from histories.shapes import entries, first, name, number, record, records, text
from histories.talks import Talk
from histories.trees import way_up

_FRAGMENTS: Mapping[str, Spoken] = {"REQUEST": "person", "RESPONSE": "companion"}
_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of the official export."""
    if not isinstance(element.get("mapping"), dict):
        return False
    messages = [record(node, "message") for node in record(element, "mapping").values()]
    return isinstance(element.get("inserted_at"), str) or any("fragments" in message for message in messages)


def fits_raw(element: Mapping[str, Any]) -> bool:
    """Whether this is what the page itself was sent, as browser scripts keep it."""
    given = _raw(element)
    return isinstance(given.get("chat_session"), dict) and isinstance(given.get("chat_messages"), list)


def _raw(element: Mapping[str, Any]) -> Mapping[str, Any]:
    return record(element, "data", "biz_data") or element


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of the official export. No node is named as the current one: the newest has the highest number."""
    nodes = {key: record(node) for key, node in record(element, "mapping").items()}
    messages = {key: node.get("message") for key, node in nodes.items() if node.get("message")}
    parents = {key: name(node.get("parent")) or None for key, node in nodes.items()}
    return _told(element, messages, parents, _newest(parents), where, reading)


def raw_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation as the page was sent it."""
    given = _raw(element)
    session = record(given, "chat_session")
    messages = {name(one.get("message_id")): one for one in records(given.get("chat_messages"))}
    parents = {key: name(one.get("parent_id")) or None for key, one in messages.items()}
    current = name(session.get("current_message_id"))
    leaf = current if current in parents else _newest(parents)
    return _told(session, messages, parents, leaf, where, reading)


def _newest(parents: Mapping[str, str | None]) -> str | None:
    named = set(parents.values())
    leaves = [key for key in parents if key not in named] or list(parents)
    return max(enumerate(leaves), key=lambda leaf: (number(leaf[1]), leaf[0]), default=(0, None))[1]


def _told(
    about: Mapping[str, Any],
    messages: Mapping[str, Any],
    parents: Mapping[str, str | None],
    leaf: str | None,
    where: str,
    reading: Reading,
) -> PastConversation | Unread:
    if not messages:
        return reading.unread(omissions.NO_MESSAGES, where)
    began = reading.time(about.get("inserted_at"))
    talk = Talk(reading.source, name(about.get("id")), text(about.get("title")), began=began)
    way = [key for key in way_up(parents, leaf) if key in messages]
    for key in way:
        _take(talk, key, messages[key], reading)
    talk.leave(omissions.OTHER_BRANCH, len(messages) - len(way))
    return talk.finished()


def _take(talk: Talk, key: str, message: Any, reading: Reading) -> None:
    if not isinstance(message, dict):
        talk.leave(omissions.MISSHAPEN_MESSAGE)
        return
    by, words, reason = _words(message)
    if by is None or not words.strip():
        talk.leave(omissions.ATTACHMENT if message.get("files") and by else reason)
        return
    talk.take(key, by, words, reading.time(message.get("inserted_at")))


def _words(message: Mapping[str, Any]) -> tuple[Spoken | None, str, str]:
    """By whom and what was said, and the reason where that is nothing."""
    fragments = entries(message.get("fragments"))
    if not fragments:
        by = _ROLES.get(text(message.get("role")).lower())
        return by, text(message.get("content")), omissions.EMPTY if by else omissions.SYSTEM
    kinds = [text(record(one).get("type")).upper() for one in fragments]
    kind = first({one: one for one in kinds}, *_FRAGMENTS)
    said = [
        text(record(one).get("content")) for one, named in zip(fragments, kinds, strict=True) if named == kind
    ]
    reason = omissions.EMPTY if kind else omissions.THINKING if "THINK" in kinds else omissions.TOOL
    return _FRAGMENTS.get(kind or ""), "\n\n".join(said), reason


read = each(conversation)
read_raw = each(raw_conversation)
