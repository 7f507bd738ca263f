"""Open WebUI: its export as JSON, and its database. The way up from ``history.currentId`` is what was shown.

An export of an administrator may hold the conversations of everybody: only one person's are taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from domain.histories import PastConversation, Spoken, Unread
from histories import omissions
from histories.databases import opened, owners_of_webui, webui_chats
from histories.readings import STUMBLES, Found, Reading
from histories.shapes import entries, first, joined_text, name, record, records, text
from histories.talks import Talk, same_name
from histories.trees import newest_leaf, way_up

_DETAILS = re.compile(
    r'<details\s+type="(?:reasoning|tool_calls|code_interpreter)"[^>]*>.*?</details>\s*', re.DOTALL
)
_ROLES: Mapping[str, Spoken] = {"user": "person", "assistant": "companion"}
_USER_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}", re.IGNORECASE)


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of Open WebUI."""
    chat = record(element, "chat")
    return isinstance(record(chat, "history").get("messages"), dict) or isinstance(chat.get("messages"), list)


def read(reading: Reading) -> Iterator[Found]:
    """The conversations of the export that are of the person, or of whoever comes first."""
    me = reading.options.me.strip()
    owner = me if _USER_ID.fullmatch(me) else ""
    for where, element in reading.elements():
        user = text(record(element).get("user_id"))
        owner = owner or user
        if user not in ("", owner):
            yield reading.unread(omissions.SOMEBODY_ELSES, where, said=user)
        else:
            yield _safely(record(element), where, reading)


def read_database(reading: Reading) -> Iterator[Found]:
    """The conversations in ``webui.db`` that are of the person."""
    assert reading.part.path is not None
    with closing(opened(reading.part.path)) as connection:
        owners = owners_of_webui(connection)
        me = [
            key for key, called in owners.items() if any(same_name(one, reading.options.me) for one in called)
        ]
        mine = set(me) if me else set(owners) if len(owners) == 1 else set()
        for row in webui_chats(connection):
            if row["user_id"] not in mine:
                called = first({"name": next(iter(owners.get(row["user_id"], ())), None)}, "name")
                yield reading.unread(
                    omissions.SOMEBODY_ELSES, f"{reading.part.name} {row['id']}", said=called or "?"
                )
            else:
                yield _of_row(row, reading)
    reading.count(reading.part.size)


def _of_row(row: Any, reading: Reading) -> Found:
    where = f"{reading.part.name} {row['id']}"
    try:
        element = {**dict(row), "chat": json.loads(row["chat"])}
    except (ValueError, TypeError):
        return reading.unread(omissions.BROKEN, where, said="JSON")
    return _safely(element, where, reading)


def _safely(element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    try:
        return conversation(element, where, reading)
    except STUMBLES as error:
        return reading.unread(omissions.MISSHAPEN, where, said=type(error).__name__)


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One conversation; ``chat.messages`` may be stale, and is read only where there is no history."""
    chat = record(element, "chat")
    messages = record(chat, "history", "messages") or {
        name(one.get("id")) or f"#{at}": one for at, one in enumerate(records(chat.get("messages")))
    }
    if not messages:
        return reading.unread(omissions.NO_MESSAGES, where)
    talk = Talk(
        reading.source,
        name(first(element, "id") or chat.get("id")),
        text(first(element, "title") or chat.get("title")),
        began=reading.time(element.get("created_at")),
    )
    shown = _shown(chat, messages, reading)
    for key in shown:
        _take(talk, key, messages[key], reading)
    talk.leave(omissions.OTHER_BRANCH, len(messages) - len(shown))
    return talk.finished()


def _shown(chat: Mapping[str, Any], messages: Mapping[str, Any], reading: Reading) -> list[str]:
    parents = {key: name(record(one).get("parentId")) or None for key, one in messages.items()}
    if not record(chat, "history", "messages") and not any(parents.values()):
        return list(messages)
    current = name(record(chat, "history").get("currentId"))
    if current not in parents:
        current = newest_leaf(parents, lambda key: reading.time(record(messages[key]).get("timestamp"))) or ""
    return way_up(parents, current)


def _take(talk: Talk, key: str, message: Any, reading: Reading) -> None:
    role = text(record(message).get("role"))
    if not role:
        talk.leave(omissions.MISSHAPEN_MESSAGE)
    elif role not in _ROLES:
        talk.leave(omissions.SYSTEM if role == "system" else omissions.TOOL)
    else:
        words = _words(message)
        if not words and (message.get("files") or message.get("output") or message.get("content")):
            talk.leave(omissions.ATTACHMENT if message.get("files") else omissions.THINKING)
            return
        talk.take(key, _ROLES[role], words, reading.time(message.get("timestamp")))


def _words(message: Mapping[str, Any]) -> str:
    """What was said, without what was thought or looked up on the way."""
    # Only up to the last end of such a block, so that beginnings without one cost nothing.
    blocks, end, others = joined_text(message.get("content")).rpartition("</details>")
    own = (_DETAILS.sub("", blocks + end) + others).strip()
    if own:
        return own
    items = (item for item in records(message.get("output")) if item.get("type") == "message")
    return "\n\n".join(joined_text(entries(item.get("content"))) for item in items).strip()
