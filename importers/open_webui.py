"""Open WebUI: its export as JSON, and its database. The way up from ``history.currentId`` is what was shown.

An export of an administrator may hold the conversations of everybody: only one person's are taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from domain.imports import PastConversation, Spoken, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, is_same_name, newest_leaf, path_from_root
from importers.databases import open_readonly, webui_chats, webui_owners
from importers.json_values import as_list, as_name, as_object, as_text, first_value, join_text, objects_in
from importers.reading import SHAPE_ERRORS, Found, NotRead, Reading

_DETAILS = re.compile(r'<details\s+type="(?:reasoning|tool_calls|code_interpreter)"[^>]*>.*?</details>\s*', re.DOTALL)
_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}
_USER_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}", re.IGNORECASE)


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of Open WebUI."""
    chat = as_object(element, "chat")
    return isinstance(as_object(chat, "history").get("messages"), dict) or isinstance(chat.get("messages"), list)


def read_export(reading: Reading) -> Iterator[Found]:
    """The conversations of the export that are of the person, or of whoever comes first."""
    me = reading.options.me.strip()
    owner = me if _USER_ID.fullmatch(me) else ""
    for where, element in reading.read_elements():
        user = as_text(as_object(element).get("user_id"))
        owner = owner or user
        if user not in ("", owner):
            yield reading.make_unread(NotRead.SOMEBODY_ELSES, where, said=user)
        else:
            yield _read_safely(as_object(element), where, reading)


def read_database(reading: Reading) -> Iterator[Found]:
    """The conversations in ``webui.db`` that are of the person."""
    assert reading.part.path is not None
    with closing(open_readonly(reading.part.path)) as connection:
        owners = webui_owners(connection)
        me = [key for key, called in owners.items() if any(is_same_name(one, reading.options.me) for one in called)]
        mine = set(me) if me else set(owners) if len(owners) == 1 else set()
        for row in webui_chats(connection):
            if row["user_id"] not in mine:
                called = first_value({"name": next(iter(owners.get(row["user_id"], ())), None)}, "name")
                yield reading.make_unread(
                    NotRead.SOMEBODY_ELSES, f"{reading.part.name} {row['id']}", said=called or "?"
                )
            else:
                yield _read_row(row, reading)
    reading.count_bytes(reading.part.size)


def _read_row(row: Any, reading: Reading) -> Found:
    where = f"{reading.part.name} {row['id']}"
    try:
        element = {**dict(row), "chat": json.loads(row["chat"])}
    except (ValueError, TypeError):
        return reading.make_unread(NotRead.BROKEN, where, said="JSON")
    return _read_safely(element, where, reading)


def _read_safely(element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    try:
        return read_conversation(element, where, reading)
    except SHAPE_ERRORS as error:
        return reading.make_unread(NotRead.MISSHAPEN, where, said=type(error).__name__)


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation; ``chat.messages`` may be stale, and is read only where there is no history."""
    chat = as_object(element, "chat")
    messages = as_object(chat, "history", "messages") or {
        as_name(one.get("id")) or f"#{at}": one for at, one in enumerate(objects_in(chat.get("messages")))
    }
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source,
        as_name(first_value(element, "id") or chat.get("id")),
        as_text(first_value(element, "title") or chat.get("title")),
        began=reading.parse_time(element.get("created_at")),
    )
    shown = _shown_keys(chat, messages, reading)
    for key in shown:
        _add_message(builder, key, messages[key], reading)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(messages) - len(shown))
    return builder.build()


def _shown_keys(chat: Mapping[str, Any], messages: Mapping[str, Any], reading: Reading) -> list[str]:
    parents = {key: as_name(as_object(one).get("parentId")) or None for key, one in messages.items()}
    if not as_object(chat, "history", "messages") and not any(parents.values()):
        return list(messages)
    current = as_name(as_object(chat, "history").get("currentId"))
    if current not in parents:
        current = newest_leaf(parents, lambda key: reading.parse_time(as_object(messages[key]).get("timestamp"))) or ""
    return path_from_root(parents, current)


def _add_message(builder: ConversationBuilder, key: str, message: Any, reading: Reading) -> None:
    role = as_text(as_object(message).get("role"))
    if not role:
        builder.leave_out(LeftOut.MISSHAPEN)
    elif role not in _ROLES:
        builder.leave_out(LeftOut.SYSTEM if role == "system" else LeftOut.TOOL)
    else:
        words = _message_text(message)
        if not words and (message.get("files") or message.get("output") or message.get("content")):
            builder.leave_out(LeftOut.ATTACHMENT if message.get("files") else LeftOut.THINKING)
            return
        builder.add_message(key, _ROLES[role], words, reading.parse_time(message.get("timestamp")))


def _message_text(message: Mapping[str, Any]) -> str:
    """What was said, without what was thought or looked up on the way."""
    # Only up to the last end of such a block, so that beginnings without one cost nothing.
    blocks, end, others = join_text(message.get("content")).rpartition("</details>")
    own = (_DETAILS.sub("", blocks + end) + others).strip()
    if own:
        return own
    items = (item for item in objects_in(message.get("output")) if item.get("type") == "message")
    return "\n\n".join(join_text(as_list(item.get("content"))) for item in items).strip()
