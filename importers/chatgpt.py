"""ChatGPT's export, whole or in shards: a tree, and what was shown is the way up from ``current_node``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from domain.imports import PastConversation, Spoken, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, newest_leaf, path_from_root
from importers.json_values import as_list, as_name, as_object, as_text, first_value, objects_in
from importers.reading import NotRead, Reading, read_each

_SHOWN = frozenset(("text", "multimodal_text"))
_THOUGHTS = frozenset(("thoughts", "reasoning_recap"))
_INSTRUCTIONS = frozenset(("user_editable_context", "model_editable_context"))
_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}

#: Marks of citations and of things that were looked up: in private-use characters, or 【3†source】.
_MARKED = re.compile("\ue200([a-z_]*)((?:\ue202[^\ue200-\ue202]*)*)\ue201?")
_FOOTNOTE = re.compile(r"【\d+(?::\d+)?†[^】\n]{0,200}】")
_LEFT_MARKS = re.compile("[\ue200-\ue206]")


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of ChatGPT, and not one of DeepSeek, which shares the name of the file."""
    if not isinstance(element.get("mapping"), dict) or isinstance(element.get("inserted_at"), str):
        return False
    messages = [as_object(node).get("message") for node in as_object(element, "mapping").values()]
    return "current_node" in element or any("author" in as_object(message) for message in messages)


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of the export."""
    nodes = {key: as_object(node) for key, node in as_object(element, "mapping").items()}
    if not nodes:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source,
        as_name(first_value(element, "conversation_id", "id")) or as_name(element.get("current_node")),
        as_text(element.get("title")),
        began=reading.parse_time(element.get("create_time")),
        persona=_persona_name(element),
    )
    messages = {key: node["message"] for key, node in nodes.items() if node.get("message")}
    if element.get("is_do_not_remember") and not reading.options.not_remembered:
        builder.leave_out(LeftOut.NOT_REMEMBERED, len(messages))
        return builder.build()
    way = _shown_keys(element, nodes, reading)
    for key in way:
        if key in messages:
            _add_message(builder, key, messages[key], reading)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(messages) - sum(key in messages for key in way))
    return builder.build()


def _persona_name(element: Mapping[str, Any]) -> str:
    """The custom GPT that played a role; ``g-p-`` is a project, in which the companion is itself."""
    gizmo = as_text(element.get("gizmo_id")) or as_text(element.get("conversation_template_id"))
    return gizmo if gizmo.startswith("g-") and not gizmo.startswith("g-p-") else ""


def _shown_keys(element: Mapping[str, Any], nodes: Mapping[str, Any], reading: Reading) -> list[str]:
    """The keys of the nodes that were shown, the first first."""
    parents = _find_parents(nodes)
    current = as_name(element.get("current_node"))
    if current not in parents:
        current = (
            newest_leaf(parents, lambda key: reading.parse_time(as_object(nodes[key], "message").get("create_time")))
            or ""
        )
    return path_from_root(parents, current)


def _find_parents(nodes: Mapping[str, Any]) -> dict[str, str | None]:
    """Of each node the one above; newer exports leave out ``children``, so these only fill gaps."""
    parents = {key: as_name(node.get("parent")) or None for key, node in nodes.items()}
    for key, node in nodes.items():
        for child in as_list(node.get("children")):
            if isinstance(child, str) and child in parents and parents[child] not in nodes:
                parents[child] = key
    return parents


def _add_message(builder: ConversationBuilder, key: str, message: Any, reading: Reading) -> None:
    if not isinstance(message, dict):
        builder.leave_out(LeftOut.MISSHAPEN)
        return
    reason = _reason_to_skip(message)
    if reason:
        builder.leave_out(reason)
        return
    words, pointers = _message_text(as_object(message, "content"))
    if not words.strip() and pointers:
        builder.leave_out(LeftOut.ATTACHMENT)
        return
    by = _ROLES[as_text(as_object(message, "author").get("role"))]
    builder.add_message(as_name(message.get("id")) or key, by, words, reading.parse_time(message.get("create_time")))


def _reason_to_skip(message: Mapping[str, Any]) -> str:
    """The reason for which a message is left out, empty where it is taken."""
    role, about = as_text(as_object(message, "author").get("role")), as_object(message, "metadata")
    kind = as_text(as_object(message, "content").get("content_type"))
    if kind in _INSTRUCTIONS or about.get("is_user_system_message"):
        return LeftOut.INSTRUCTIONS
    if about.get("is_visually_hidden_from_conversation"):
        return LeftOut.HIDDEN
    if role == "system":
        return LeftOut.SYSTEM
    if role not in _ROLES:
        return LeftOut.TOOL
    if kind in _THOUGHTS or as_text(message.get("channel")) not in ("", "final"):
        return LeftOut.THINKING
    if kind not in _SHOWN or as_text(message.get("recipient")) not in ("", "all"):
        return LeftOut.TOOL
    return ""


def _message_text(content: Mapping[str, Any]) -> tuple[str, bool]:
    """What a message says, also where it was spoken; and whether there is something in it that is no text."""
    parts = as_list(content.get("parts")) or [content.get("text")]
    said = [part if isinstance(part, str) else as_text(as_object(part).get("text")) for part in parts]
    words = "\n\n".join(one for one in said if one.strip())
    return _strip_marks(words), any(True for _ in objects_in(parts))


def _strip_marks(words: str) -> str:
    if not re.search("[\ue200-\ue206†]", words):
        return words
    words = _FOOTNOTE.sub("", _MARKED.sub(_mark_name, words))
    return _LEFT_MARKS.sub("", words)


def _mark_name(mark: re.Match[str]) -> str:
    """The text of a mark: the name of a linked thing, nothing for a citation."""
    if mark[1] != "entity":
        return ""
    try:
        found = json.loads(mark[2].lstrip("\ue202"))
    except ValueError:
        return ""
    return as_text(found[1]) if isinstance(found, list) and len(found) > 1 else ""


read_export = read_each(read_conversation)
