"""Assistants of other makers: ChatGPT, Claude, DeepSeek, Grok, LibreChat and Open WebUI, and Copilot's table.

All but Copilot keep a conversation as a tree: an edited prompt, or another reply, begins a branch. What was shown is
the way up from the current message, or from the newest leaf; the messages of other branches are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from domain.imports import PastConversation, Spoken
from importers.databases import open_readonly, webui_chats, webui_owners
from importers.json_stream import as_list, as_name, as_number, as_object, as_text, first_value, join_text, objects_in
from importers.reading import (
    ConversationBuilder,
    DatabaseFormat,
    Found,
    JsonFormat,
    LeftOut,
    NotRead,
    Reading,
    TextFormat,
    column_names,
    is_same_name,
    read_each,
    read_safely,
)
from language.instants import written_time

_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}
_TEXT = frozenset(("text",))


@dataclass(frozen=True)
class _Tree:
    """One conversation: what is said about it, its messages, and the key of the one above each.

    Without ``parents`` all messages were shown, in their order. ``misshapen`` counts what should be a message.
    """

    about: Mapping[str, Any]
    messages: Mapping[str, Any]
    parents: Mapping[str, str | None]
    current: str | None = None
    persona: str = ""
    misshapen: int = 0


@dataclass(frozen=True)
class _TreeFormat:
    """A format of trees: the names of its fields, how a tree is found, and who says what in a message of it.

    ``time`` is a field of conversations and messages. ``message_key``: a message has a key besides that of its node.
    """

    time: str
    unfold: Callable[[Mapping[str, Any]], _Tree]
    read_message: Callable[[Mapping[str, Any]], tuple[Spoken, str] | LeftOut]
    keys: tuple[str, ...] = ("id",)
    title: str = "title"
    message_key: str = ""


def _read_conversation(form: _TreeFormat, element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    tree = form.unfold(element)
    if not (tree.messages or tree.parents or tree.misshapen):
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source,
        next(filter(None, (as_name(tree.about.get(key)) for key in form.keys)), ""),
        as_text(tree.about.get(form.title)),
        began=reading.parse_time(tree.about.get(form.time)),
        persona=tree.persona,
    )
    builder.leave_out(LeftOut.MISSHAPEN, tree.misshapen)
    if element.get("is_do_not_remember") and not reading.options.not_remembered:
        builder.leave_out(LeftOut.NOT_REMEMBERED, len(tree.messages))
        return builder.build()
    shown = [key for key in _shown_keys(tree, form, reading) if key in tree.messages]
    for key in shown:
        _add_message(builder, key, tree.messages[key], form, reading)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(tree.messages) - len(shown))
    return builder.build()


def _shown_keys(tree: _Tree, form: _TreeFormat, reading: Reading) -> list[str]:
    if not tree.parents:
        return list(tree.messages)
    if tree.current in tree.parents:
        return path_from_root(tree.parents, tree.current)

    def said(key: str) -> float:
        when = reading.parse_time(as_object(tree.messages.get(key)).get(form.time))
        return when.timestamp() if when else float("-inf")

    return path_from_root(tree.parents, newest_leaf(tree.parents, said))


def _add_message(builder: ConversationBuilder, key: str, message: Any, form: _TreeFormat, reading: Reading) -> None:
    said = form.read_message(message) if isinstance(message, dict) else LeftOut.MISSHAPEN
    if isinstance(said, LeftOut):
        builder.leave_out(said)
        return
    # A number is no key: it changes when an earlier message goes.
    own_key = as_name(message.get(form.message_key)) or ("" if key.startswith("#") else key)
    builder.add_message(own_key, *said, reading.parse_time(message.get(form.time)))


def path_from_root(parents: Mapping[str, str | None], leaf: str | None) -> list[str]:
    """The nodes from the first to the leaf; it ends where a parent is missing, or was met before.

    >>> path_from_root({"a": None, "b": "a", "c": "a"}, "c")
    ['a', 'c']
    """
    way: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in way:
        way[leaf] = None
        leaf = parents[leaf]
    return list(reversed(way))


def newest_leaf(parents: Mapping[str, str | None], age_rank: Callable[[str], float]) -> str | None:
    """The childless node of the highest rank; of several, the last one. In a tree of cycles any node may be it."""
    named = set(parents.values())
    leaves = [node for node in parents if node not in named] or list(parents)
    return max(reversed(leaves), key=age_rank, default=None)


def _by_key(messages: Iterable[Mapping[str, Any]], field: str) -> dict[str, Mapping[str, Any]]:
    """Messages by their keys; one without a key, or whose key is taken, by its number."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, message in enumerate(messages):
        key = as_name(message.get(field))
        found[key if key and key not in found else f"#{number}"] = message
    return found


def _parents_of(nodes: Mapping[str, Any], field: str) -> dict[str, str | None]:
    return {key: as_name(as_object(node).get(field)) or None for key, node in nodes.items()}


# -- ChatGPT, whole or in shards

_SHOWN = frozenset(("text", "multimodal_text"))
_THOUGHTS = frozenset(("thoughts", "reasoning_recap"))
_INSTRUCTIONS = frozenset(("user_editable_context", "model_editable_context"))

#: Marks of citations and of things that were looked up: in private-use characters, or 【3†source】.
_MARKED = re.compile("\ue200([a-z_]*)((?:\ue202[^\ue200-\ue202]*)*)\ue201?")
_FOOTNOTE = re.compile(r"【\d+(?::\d+)?†[^】\n]{0,200}】")
_LEFT_MARKS = re.compile("[\ue200-\ue206]")


def _fits_chatgpt(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of ChatGPT, and not one of DeepSeek, which shares the name of the file."""
    if not isinstance(element.get("mapping"), dict) or isinstance(element.get("inserted_at"), str):
        return False
    messages = [as_object(node).get("message") for node in as_object(element, "mapping").values()]
    return "current_node" in element or any("author" in as_object(message) for message in messages)


def _unfold_chatgpt(element: Mapping[str, Any]) -> _Tree:
    nodes = {key: as_object(node) for key, node in as_object(element, "mapping").items()}
    parents = _parents_of(nodes, "parent")
    # Newer exports leave out ``children``, so these only fill gaps.
    for child, key in ((child, key) for key, node in nodes.items() for child in as_list(node.get("children"))):
        if isinstance(child, str) and child in parents and parents[child] not in nodes:
            parents[child] = key
    # The custom GPT that played a role; ``g-p-`` is a project, in which the companion is itself.
    gizmo = as_text(element.get("gizmo_id")) or as_text(element.get("conversation_template_id"))
    persona = gizmo if gizmo.startswith("g-") and not gizmo.startswith("g-p-") else ""
    messages = {key: node["message"] for key, node in nodes.items() if node.get("message")}
    return _Tree(element, messages, parents, as_name(element.get("current_node")), persona)


def _read_chatgpt_message(message: Mapping[str, Any]) -> tuple[Spoken, str] | LeftOut:
    role, about = as_text(as_object(message, "author").get("role")), as_object(message, "metadata")
    content = as_object(message, "content")
    kind = as_text(content.get("content_type"))
    if kind in _INSTRUCTIONS or about.get("is_user_system_message"):
        return LeftOut.INSTRUCTIONS
    if about.get("is_visually_hidden_from_conversation"):
        return LeftOut.HIDDEN
    if role not in _ROLES:
        return LeftOut.SYSTEM if role == "system" else LeftOut.TOOL
    if kind in _THOUGHTS or as_text(message.get("channel")) not in ("", "final"):
        return LeftOut.THINKING
    if kind not in _SHOWN or as_text(message.get("recipient")) not in ("", "all"):
        return LeftOut.TOOL
    # A part that is no text has one where it was spoken.
    parts = as_list(content.get("parts")) or [content.get("text")]
    said = [part if isinstance(part, str) else as_text(as_object(part).get("text")) for part in parts]
    words = _FOOTNOTE.sub("", _MARKED.sub(_name_in_mark, "\n\n".join(one for one in said if one.strip())))
    words = _LEFT_MARKS.sub("", words)
    return (
        (_ROLES[role], words)
        if words.strip() or not any(isinstance(part, dict) for part in parts)
        else LeftOut.ATTACHMENT
    )


def _name_in_mark(mark: re.Match[str]) -> str:
    """The text of a mark: the name of a linked thing, nothing for a citation."""
    if mark[1] != "entity":
        return ""
    try:
        found = json.loads(mark[2].lstrip("\ue202"))
    except ValueError:
        return ""
    return as_text(found[1]) if isinstance(found, list) and len(found) > 1 else ""


# -- Claude, old and new

#: The ``text`` in place of a block that a phone could not draw.
_PLACEHOLDER = re.compile(
    r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?", re.IGNORECASE
)
_ROOT = "00000000-0000-4000-8000-000000000000"
_SENDERS: Mapping[str, Spoken] = {"human": "person", "assistant": "companion"}


def _fits_claude(element: Mapping[str, Any]) -> bool:
    return isinstance(element.get("chat_messages"), list)


def _fits_claude_manifest(element: Mapping[str, Any]) -> bool:
    """Whether this is only a list of where the export can be fetched."""
    return any("export_url" in one for one in objects_in(element.get("data_files")))


def _read_claude_manifest(reading: Reading) -> Iterator[Found]:
    yield reading.make_unread(NotRead.POINTS_ELSEWHERE)


def _unfold_claude(element: Mapping[str, Any]) -> _Tree:
    """Where ``parent_message_uuid`` is missing, the order counts."""
    given = as_list(element.get("chat_messages"))
    messages = _by_key(objects_in(given), "uuid")
    parents: dict[str, str | None] = {}
    before: str | None = None
    for key, message in messages.items():
        above = as_text(message.get("parent_message_uuid"))
        # A missing parent leaves a gap; the message before in the list is nearest to it.
        parents[key] = above if above in messages else None if above == _ROOT else before
        before = key
    return _Tree(element, messages, parents, misshapen=len(given) - len(messages))


def _read_claude_message(message: Mapping[str, Any]) -> tuple[Spoken, str] | LeftOut:
    by = _SENDERS.get(as_text(message.get("sender")))
    if by is None:
        return LeftOut.SYSTEM
    blocks = as_list(message.get("content"))
    own = _PLACEHOLDER.sub("", join_text(blocks, _TEXT) or as_text(message.get("text"))).strip()
    attached = [one for one in objects_in(message.get("attachments")) if _is_pasted(one, own)]
    added = [as_text(one.get("extracted_content")) for one in attached]
    if words := "\n\n".join(part for part in (own, *added) if part.strip()):
        return by, words
    if message.get("attachments") or message.get("files"):
        return LeftOut.ATTACHMENT
    kinds = {as_text(as_object(block).get("type")) for block in blocks}
    if "thinking" in kinds:
        return LeftOut.THINKING
    return LeftOut.TOOL if kinds and kinds.isdisjoint(("", "text")) else LeftOut.EMPTY


def _is_pasted(attachment: Mapping[str, Any], own: str) -> bool:
    """Whether an attachment is what the person wrote: text that was pasted, or all that the message has."""
    called = as_text(attachment.get("file_name")).lower()
    return not own or not called or called.startswith(("paste", "pasted"))


# -- DeepSeek, and the dumps of browser scripts: a tree as ChatGPT's, whose messages hold fragments

_FRAGMENTS: Mapping[str, Spoken] = {"REQUEST": "person", "RESPONSE": "companion"}


def _fits_deepseek(element: Mapping[str, Any]) -> bool:
    if not isinstance(element.get("mapping"), dict):
        return False
    messages = [as_object(node, "message") for node in as_object(element, "mapping").values()]
    return isinstance(element.get("inserted_at"), str) or any("fragments" in message for message in messages)


def _fits_deepseek_page(element: Mapping[str, Any]) -> bool:
    """Whether this is what the page itself was sent, as browser scripts keep it."""
    given = as_object(element, "data", "biz_data") or element
    return isinstance(given.get("chat_session"), dict) and isinstance(given.get("chat_messages"), list)


def _unfold_deepseek(element: Mapping[str, Any]) -> _Tree:
    nodes = as_object(element, "mapping")
    messages = {key: node["message"] for key, node in nodes.items() if as_object(node).get("message")}
    return _deepseek_tree(element, messages, _parents_of(nodes, "parent"))


def _unfold_deepseek_page(element: Mapping[str, Any]) -> _Tree:
    given = as_object(element, "data", "biz_data") or element
    messages = _by_key(objects_in(given.get("chat_messages")), "message_id")
    return _deepseek_tree(as_object(given, "chat_session"), messages, _parents_of(messages, "parent_id"))


def _deepseek_tree(about: Mapping[str, Any], messages: Mapping[str, Any], parents: Mapping[str, str | None]) -> _Tree:
    """The export names no message as the current one: the newest has the highest number."""
    current = as_name(about.get("current_message_id"))
    leaf = current if current in parents else newest_leaf(parents, as_number)
    return _Tree(about, messages, parents if messages else {}, leaf)


def _read_deepseek_message(message: Mapping[str, Any]) -> tuple[Spoken, str] | LeftOut:
    fragments = [as_object(one) for one in as_list(message.get("fragments"))]
    kinds = [as_text(one.get("type")).upper() for one in fragments]
    kind = next((one for one in _FRAGMENTS if one in kinds), "")
    if fragments:
        by = _FRAGMENTS.get(kind)
        said = (as_text(one.get("content")) for one, named in zip(fragments, kinds, strict=True) if named == kind)
        words = "\n\n".join(said)
        reason = LeftOut.THINKING if "THINK" in kinds else LeftOut.TOOL
    else:
        by, words = _ROLES.get(as_text(message.get("role")).lower()), as_text(message.get("content"))
        reason = LeftOut.SYSTEM
    if by is None:
        return reason
    return (by, words) if words.strip() or not message.get("files") else LeftOut.ATTACHMENT


# -- Grok: every message in two wrappings, times as Mongo has them


def _fits_grok(element: Mapping[str, Any]) -> bool:
    return isinstance(element.get("conversation"), dict) and isinstance(element.get("responses"), list)


def _unfold_grok(element: Mapping[str, Any]) -> _Tree:
    given = [as_object(wrapped, "response") for wrapped in as_list(element.get("responses"))]
    responses = _by_key(filter(None, given), "_id")
    parents = _parents_of(responses, "parent_response_id")
    linked = parents if any(parents.values()) else {}
    return _Tree(as_object(element, "conversation"), responses, linked, misshapen=len(given) - len(responses))


def _read_grok_message(response: Mapping[str, Any]) -> tuple[Spoken, str]:
    """The companion may be named by its model."""
    by_person = as_text(response.get("sender")).lower() in ("human", "user")
    return "person" if by_person else "companion", as_text(response.get("message"))


# -- LibreChat: one conversation, flat or nested; nested it is as deep as the conversation is long


def _fits_librechat(element: Mapping[str, Any]) -> bool:
    return "conversationId" in element and isinstance(first_value(element, "messages", "messagesTree"), list)


def _unfold_librechat(element: Mapping[str, Any]) -> _Tree:
    """Every message with the key of the one above, children behind parents; the root is named by nothing but zeros."""
    messages: dict[str, Mapping[str, Any]] = {}
    parents: dict[str, str | None] = {}
    waiting = [(one, "") for one in reversed(as_list(first_value(element, "messages", "messagesTree")))]
    number = 0
    while waiting:
        given, above = waiting.pop()
        message, number = as_object(given), number + 1
        key = as_name(message.get("messageId")) or f"#{number}"
        messages[key], parents[key] = message, above or as_name(message.get("parentMessageId")) or None
        waiting += [(child, key) for child in reversed(as_list(message.get("children")))]
    linked = any(above in messages for above in parents.values())
    return _Tree(element, messages, parents if linked else {})


def _read_librechat_message(message: Mapping[str, Any]) -> tuple[Spoken, str] | LeftOut:
    if not message or message.get("error"):
        return LeftOut.FAILED if message else LeftOut.MISSHAPEN
    words = join_text(message.get("content"), _TEXT) or as_text(message.get("text"))
    if not words.strip() and message.get("content"):
        return LeftOut.TOOL
    return "person" if message.get("isCreatedByUser") is True else "companion", words


# -- Open WebUI: its export, and its database. An administrator's may hold the conversations of everybody: only one
# person's are taken.

_DETAILS = re.compile(r'<details\s+type="(?:reasoning|tool_calls|code_interpreter)"[^>]*>.*?</details>\s*', re.DOTALL)
_USER_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}", re.IGNORECASE)


def _fits_webui(element: Mapping[str, Any]) -> bool:
    chat = as_object(element, "chat")
    return isinstance(as_object(chat, "history").get("messages"), dict) or isinstance(chat.get("messages"), list)


def _read_webui(reading: Reading) -> Iterator[Found]:
    """The conversations of the export that are of the person, or of whoever comes first."""
    me = reading.options.me.strip()
    owner = me if _USER_ID.fullmatch(me) else ""
    for where, element in reading.read_elements():
        user = as_text(as_object(element).get("user_id"))
        owner = owner or user
        if user not in ("", owner):
            yield reading.make_unread(NotRead.SOMEBODY_ELSES, where, said=user)
        else:
            yield read_safely(_read_webui_chat, as_object(element), where, reading)


def _read_webui_database(reading: Reading) -> Iterator[Found]:
    """The conversations in ``webui.db`` that are of the person."""
    assert reading.part.path is not None
    with closing(open_readonly(reading.part.path)) as connection:
        owners = webui_owners(connection)
        me = [key for key, called in owners.items() if any(is_same_name(one, reading.options.me) for one in called)]
        mine = set(me) if me else set(owners) if len(owners) == 1 else set()
        for row in webui_chats(connection):
            where = f"{reading.part.name} {row['id']}"
            if row["user_id"] not in mine:
                called = next(iter(owners.get(row["user_id"], ())), "") or "?"
                yield reading.make_unread(NotRead.SOMEBODY_ELSES, where, said=called)
                continue
            try:
                element = {**dict(row), "chat": json.loads(row["chat"])}
            except (ValueError, TypeError):
                yield reading.make_unread(NotRead.BROKEN, where, said="JSON")
            else:
                yield read_safely(_read_webui_chat, element, where, reading)
    reading.count_bytes(reading.part.size)


def _unfold_webui(element: Mapping[str, Any]) -> _Tree:
    """``chat.messages`` may be stale, and is read only where there is no history."""
    chat = as_object(element, "chat")
    history = as_object(chat, "history", "messages")
    messages = history or _by_key(objects_in(chat.get("messages")), "id")
    parents = _parents_of(messages, "parentId")
    about = {
        "id": first_value(element, "id") or chat.get("id"),
        "title": first_value(element, "title") or chat.get("title"),
        "timestamp": element.get("created_at"),
    }
    linked = parents if history or any(parents.values()) else {}
    return _Tree(about, messages, linked, as_name(as_object(chat, "history").get("currentId")))


def _read_webui_message(message: Mapping[str, Any]) -> tuple[Spoken, str] | LeftOut:
    role = as_text(message.get("role"))
    if role not in _ROLES:
        return LeftOut.MISSHAPEN if not role else LeftOut.SYSTEM if role == "system" else LeftOut.TOOL
    # Thinking and lookups go only up to the last end of such a block, so that beginnings without one cost nothing.
    blocks, end, others = join_text(message.get("content")).rpartition("</details>")
    words = (_DETAILS.sub("", blocks + end) + others).strip()
    if not words:
        items = (item for item in objects_in(message.get("output")) if item.get("type") == "message")
        words = "\n\n".join(join_text(as_list(item.get("content"))) for item in items).strip()
    if not words and (message.get("files") or message.get("output") or message.get("content")):
        return LeftOut.ATTACHMENT if message.get("files") else LeftOut.THINKING
    return _ROLES[role], words


# -- Copilot: a table of either layout, its rows adjacent by conversation; where times decrease, the newest is first

_COLUMNS = ({"conversation", "time", "author", "message"}, {"createdat", "messagecontent", "author", "chatname"})
_COMPANION = frozenset(("ai", "copilot", "assistant", "bot"))


def _fits_copilot(head: str) -> bool:
    return any(columns <= column_names(head) for columns in _COLUMNS)


def _read_copilot(reading: Reading) -> Iterator[Found]:
    for title, rows in groupby(reading.read_rows(), lambda row: row.get("conversation") or row.get("chatname") or ""):
        yield _read_copilot_rows(title, list(rows), reading)


def _read_copilot_rows(title: str, rows: list[Mapping[str, str]], reading: Reading) -> PastConversation:
    builder = ConversationBuilder(reading.source, "", title)
    written = [row.get("time") or row.get("createdat") or "" for row in rows]
    said = [reading.parse_time(one) or written_time(one, reading.options.zone) for one in written]
    known = [one for one in said if one]
    entries = list(zip(rows, written, said, strict=True))
    for row, when, instant in reversed(entries) if known and known[0] > known[-1] else entries:
        author = row.get("author", "")
        by: Spoken = "companion" if author.strip().lower() in _COMPANION else "person"
        builder.add_message("", by, row.get("message") or row.get("messagecontent") or "", instant, author, when)
    return builder.build()


_CHATGPT = _TreeFormat(
    "create_time", _unfold_chatgpt, _read_chatgpt_message, ("conversation_id", "id", "current_node"), message_key="id"
)
_CLAUDE = _TreeFormat("created_at", _unfold_claude, _read_claude_message, ("uuid",), "name")
_DEEPSEEK = _TreeFormat("inserted_at", _unfold_deepseek, _read_deepseek_message)
_DEEPSEEK_PAGE = _TreeFormat("inserted_at", _unfold_deepseek_page, _read_deepseek_message)
_GROK = _TreeFormat("create_time", _unfold_grok, _read_grok_message, ("id", "_id"))
_LIBRECHAT = _TreeFormat("createdAt", _unfold_librechat, _read_librechat_message, ("conversationId",))
_WEBUI = _TreeFormat("timestamp", _unfold_webui, _read_webui_message)
_read_webui_chat = partial(_read_conversation, _WEBUI)

JSON_FORMATS = (
    JsonFormat("claude", _fits_claude, read_each(partial(_read_conversation, _CLAUDE))),
    JsonFormat("claude", _fits_claude_manifest, _read_claude_manifest),
    JsonFormat("deepseek", _fits_deepseek, read_each(partial(_read_conversation, _DEEPSEEK))),
    JsonFormat("deepseek", _fits_deepseek_page, read_each(partial(_read_conversation, _DEEPSEEK_PAGE))),
    JsonFormat("chatgpt", _fits_chatgpt, read_each(partial(_read_conversation, _CHATGPT))),
    JsonFormat("grok", _fits_grok, read_each(partial(_read_conversation, _GROK))),
    JsonFormat("open_webui", _fits_webui, _read_webui),
    JsonFormat("librechat", _fits_librechat, read_each(partial(_read_conversation, _LIBRECHAT))),
)
TEXT_FORMATS = (TextFormat("copilot", _fits_copilot, _read_copilot),)
DATABASE_FORMATS = (DatabaseFormat("open_webui", frozenset(("chat", "user")).issubset, _read_webui_database),)
