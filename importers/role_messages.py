"""Messages by role, as the chat APIs have them and ShareGPT, and characters: SillyTavern, and Character.AI as CAI Tools
saves it. What is said to a character is a role's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from domain.imports import Spoken
from importers.json_stream import as_list, as_name, as_object, as_text, first_value, join_text, objects_in
from importers.reading import ConversationBuilder, Found, JsonFormat, LeftOut, NotRead, Reading, make_key, read_each
from language.instants import written_time

_PERSON = frozenset(("user", "human"))
_COMPANION = frozenset(("assistant", "gpt", "chatgpt", "bing", "bard", "model"))
_SYSTEM = frozenset(("system", "developer"))
_TIMES = ("timestamp", "created_at", "create_time", "createdAt", "ts", "date", "time")
_KEYS = ("id", "conversation_id", "uuid", "session_id")


def _fits_conversation(element: Mapping[str, Any]) -> bool:
    """``{"messages": [{"role", "content"}]}``."""
    return any(_fits_message(one) for one in objects_in(element.get("messages")))


def _fits_message(one: Mapping[str, Any]) -> bool:
    """``{"role", "content"}``."""
    return isinstance(one.get("role"), str) and ("content" in one or "tool_calls" in one)


def _fits_sharegpt(element: Mapping[str, Any]) -> bool:
    """``{"conversations": [{"from", "value"}]}``."""
    return any("from" in one and "value" in one for one in objects_in(first_value(element, "conversations", "items")))


def _read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    messages = as_list(element.get("messages"))
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source,
        as_name(first_value(element, *_KEYS)),
        as_text(first_value(element, "title", "name")),
        began=reading.parse_time(first_value(element, *_TIMES)),
    )
    for message in messages:
        _add_message(builder, as_object(message), reading)
    return builder.build()


def _read_sharegpt(element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    given = [as_object(one) for one in as_list(first_value(element, "conversations", "items"))]
    renamed = [one and {**one, "role": one.get("from"), "content": one.get("value")} for one in given]
    return _read_conversation({**element, "messages": renamed}, where, reading)


def _read_messages(reading: Reading) -> Iterator[Found]:
    builder = ConversationBuilder(reading.source, "")
    for _, element in reading.read_elements():
        _add_message(builder, as_object(element), reading)
    yield builder.build()


def _add_message(builder: ConversationBuilder, message: Mapping[str, Any], reading: Reading) -> None:
    role, words = as_text(message.get("role")).lower(), join_text(message.get("content"))
    if not role:
        builder.leave_out(LeftOut.MISSHAPEN)
    elif role not in _PERSON | _COMPANION:
        builder.leave_out(LeftOut.SYSTEM if role in _SYSTEM else LeftOut.TOOL)
    elif not words.strip() and (message.get("content") or message.get("tool_calls")):
        builder.leave_out(LeftOut.TOOL if message.get("tool_calls") else LeftOut.ATTACHMENT)
    else:
        said = reading.parse_time(first_value(message, *_TIMES))
        builder.add_message(as_name(message.get("id")), _by_person(role in _PERSON), words, said)


def _by_person(is_person: bool) -> Spoken:
    return "person" if is_person else "companion"


# -- SillyTavern

#: "2024-4-26 @06h 06m 07s 123ms"
_STAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?")


def _fits_silly_tavern(element: Mapping[str, Any]) -> bool:
    """Whether this is the head of a chat of SillyTavern, or a message where the head is lost."""
    head = "chat_metadata" in element or {"user_name", "character_name"} <= element.keys()
    return head or {"name", "is_user", "mes"} <= element.keys()


def _read_silly_tavern(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is. ``mes`` is the text that was chosen; ``swipes`` are the others."""
    builder: ConversationBuilder | None = None
    for _, element in reading.read_elements():
        given = as_object(element)
        builder = builder or _start_chat(given, reading)
        if given.get("is_system") and "mes" in given:
            builder.leave_out(LeftOut.SYSTEM)
        elif "mes" in given:
            written, said = as_name(given.get("send_date")), _parse_stamp(given.get("send_date"), reading)
            by, words = _by_person(given.get("is_user") is True), as_text(given.get("mes"))
            builder.add_message("", by, words, said, as_text(given.get("name")), written)
        elif "chat_metadata" not in given and "character_name" not in given:
            builder.leave_out(LeftOut.MISSHAPEN)
    if builder is not None:
        yield builder.build()


def _start_chat(head: Mapping[str, Any], reading: Reading) -> ConversationBuilder:
    character = as_text(head.get("character_name")) or reading.part.within
    created = as_name(head.get("create_date"))
    key = make_key(character, created) if created else ""
    title, began = reading.part.plain_name.rsplit(".", 1)[0], _parse_stamp(head.get("create_date"), reading)
    return ConversationBuilder(reading.source, key, title, began=began, persona=character or "role")


def _parse_stamp(value: Any, reading: Reading) -> datetime | None:
    """A time in one of the four ways in which SillyTavern wrote it."""
    if not isinstance(value, str):
        return reading.parse_time(value)
    if found := _STAMP.fullmatch(value.strip()):
        year, month, day, hour, minute, second, milli = (int(field or 0) for field in found.groups())
        try:
            return reading.localize_time(datetime(year, month, day, hour, minute, second, milli * 1_000))
        except ValueError:
            return None
    return reading.parse_time(value) or written_time(value, reading.options.zone)


# -- Character.AI


def _fits_character_ai(element: Mapping[str, Any]) -> bool:
    return any("is_human" in as_object(one, "src") for one in objects_in(element.get("msgs")))


def _read_character_ai(element: Mapping[str, Any], where: str, reading: Reading) -> Found:
    """One chat with a character; replies that were not chosen are not marked there."""
    messages = [(as_object(one), as_object(one, "src")) for one in as_list(element.get("msgs"))]
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    others = [as_text(source.get("name")) for _, source in messages if not source.get("is_human")]
    info = as_object(reading.outline, "info", "character")
    persona = as_text(info.get("name")) or next(filter(None, others), "") or "role"
    key = as_name(first_value(element, "external_id", "chat_id", "id"))
    began = reading.parse_time(first_value(element, "created", "create_time"))
    builder = ConversationBuilder(reading.source, key, persona, began=began, persona=persona)
    for given, source in messages:
        if not source:
            builder.leave_out(LeftOut.MISSHAPEN)
            continue
        own_key, words = as_name(first_value(given, "uuid", "id")), as_text(given.get("text"))
        said = reading.parse_time(first_value(given, "created", "create_time", "timestamp"))
        by_person, speaker = source.get("is_human") is True, as_text(source.get("name"))
        builder.add_message(own_key, _by_person(by_person), words, said, speaker)
    return builder.build()


#: In the order in which they are tried.
JSON_FORMATS = (
    JsonFormat("sillytavern", _fits_silly_tavern, _read_silly_tavern),
    JsonFormat("character_ai", _fits_character_ai, read_each(_read_character_ai)),
    JsonFormat("sharegpt", _fits_sharegpt, read_each(_read_sharegpt)),
    JsonFormat("messages", _fits_conversation, read_each(_read_conversation)),
    JsonFormat("messages", _fits_message, _read_messages),
)
