"""ChatGPT's export, whole or in shards: a tree, and what was shown is the way up from ``current_node``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from domain.histories import PastConversation, Spoken, Unread
from histories import omissions
from histories.readings import Reading, each
from histories.shapes import entries, first, name, record, records, text
from histories.talks import Talk
from histories.trees import newest_leaf, way_up

_SHOWN = frozenset(("text", "multimodal_text"))
_THOUGHTS = frozenset(("thoughts", "reasoning_recap"))
_INSTRUCTIONS = frozenset(("user_editable_context", "model_editable_context"))
_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}

#: Marks of citations and of things that were looked up: in private-use characters, or 【3†source】.
_MARKED = re.compile("\ue200([a-z_]*)((?:\ue202[^\ue200-\ue202]*)*)\ue201?")
_FOOTNOTE = re.compile(r"【\d+(?::\d+)?†[^】\n]{0,200}】")
_LEFT_MARKS = re.compile("[\ue200-\ue206]")


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of ChatGPT, and not one of DeepSeek, which shares the name of the file."""
    if not isinstance(element.get("mapping"), dict) or isinstance(element.get("inserted_at"), str):
        return False
    messages = [record(node).get("message") for node in record(element, "mapping").values()]
    return "current_node" in element or any("author" in record(message) for message in messages)


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of the export."""
    nodes = {key: record(node) for key, node in record(element, "mapping").items()}
    if not nodes:
        return reading.unread(omissions.NO_MESSAGES, where)
    talk = Talk(
        reading.source,
        name(first(element, "conversation_id", "id")) or name(element.get("current_node")),
        text(element.get("title")),
        began=reading.time(element.get("create_time")),
        persona=_persona(element),
    )
    messages = {key: node["message"] for key, node in nodes.items() if node.get("message")}
    if element.get("is_do_not_remember") and not reading.options.not_remembered:
        talk.leave(omissions.NOT_REMEMBERED, len(messages))
        return talk.finished()
    way = _shown(element, nodes, reading)
    for key in way:
        if key in messages:
            _take(talk, key, messages[key], reading)
    talk.leave(omissions.OTHER_BRANCH, len(messages) - sum(key in messages for key in way))
    return talk.finished()


def _persona(element: Mapping[str, Any]) -> str:
    """The custom GPT that played a role; ``g-p-`` is a project, in which the companion is itself."""
    gizmo = text(element.get("gizmo_id")) or text(element.get("conversation_template_id"))
    return gizmo if gizmo.startswith("g-") and not gizmo.startswith("g-p-") else ""


def _shown(element: Mapping[str, Any], nodes: Mapping[str, Any], reading: Reading) -> list[str]:
    """The keys of the nodes that were shown, the first first."""
    parents = _parents(nodes)
    current = name(element.get("current_node"))
    if current not in parents:
        current = (
            newest_leaf(parents, lambda key: reading.time(record(nodes[key], "message").get("create_time")))
            or ""
        )
    return way_up(parents, current)


def _parents(nodes: Mapping[str, Any]) -> dict[str, str | None]:
    """Of each node the one above; newer exports leave out ``children``, so these only fill gaps."""
    parents = {key: name(node.get("parent")) or None for key, node in nodes.items()}
    for key, node in nodes.items():
        for child in entries(node.get("children")):
            if isinstance(child, str) and child in parents and parents[child] not in nodes:
                parents[child] = key
    return parents


def _take(talk: Talk, key: str, message: Any, reading: Reading) -> None:
    if not isinstance(message, dict):
        talk.leave(omissions.MISSHAPEN_MESSAGE)
        return
    reason = _why_not(message)
    if reason:
        talk.leave(reason)
        return
    words, pointers = _words(record(message, "content"))
    if not words.strip() and pointers:
        talk.leave(omissions.ATTACHMENT)
        return
    by = _ROLES[text(record(message, "author").get("role"))]
    talk.take(name(message.get("id")) or key, by, words, reading.time(message.get("create_time")))


def _why_not(message: Mapping[str, Any]) -> str:
    """The reason for which a message is left out, empty where it is taken."""
    role, about = text(record(message, "author").get("role")), record(message, "metadata")
    kind = text(record(message, "content").get("content_type"))
    if kind in _INSTRUCTIONS or about.get("is_user_system_message"):
        return omissions.INSTRUCTIONS
    if about.get("is_visually_hidden_from_conversation"):
        return omissions.HIDDEN
    if role == "system":
        return omissions.SYSTEM
    if role not in _ROLES:
        return omissions.TOOL
    if kind in _THOUGHTS or text(message.get("channel")) not in ("", "final"):
        return omissions.THINKING
    if kind not in _SHOWN or text(message.get("recipient")) not in ("", "all"):
        return omissions.TOOL
    return ""


def _words(content: Mapping[str, Any]) -> tuple[str, bool]:
    """What a message says, also where it was spoken; and whether there is something in it that is no text."""
    parts = entries(content.get("parts")) or [content.get("text")]
    said = [part if isinstance(part, str) else text(record(part).get("text")) for part in parts]
    words = "\n\n".join(one for one in said if one.strip())
    return _without_marks(words), any(True for _ in records(parts))


def _without_marks(words: str) -> str:
    if not re.search("[\ue200-\ue206†]", words):
        return words
    words = _FOOTNOTE.sub("", _MARKED.sub(_named, words))
    return _LEFT_MARKS.sub("", words)


def _named(mark: re.Match[str]) -> str:
    """What a mark stands for: the name of a thing that was linked, nothing for a citation."""
    if mark[1] != "entity":
        return ""
    try:
        found = json.loads(mark[2].lstrip("\ue202"))
    except ValueError:
        return ""
    return text(found[1]) if isinstance(found, list) and len(found) > 1 else ""


read = each(conversation)
