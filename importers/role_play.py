"""Characters: SillyTavern's chats, and Character.AI as CAI Tools saves it. What is said there is a role's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from domain.imports import PastConversation, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, make_key
from importers.json_values import as_list, as_name, as_object, as_text, first_value, objects_in
from importers.reading import Found, NotRead, Reading, read_each
from language.instants import written_time

#: "2024-4-26 @06h 06m 07s 123ms"
_STAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?")


def fits_silly_tavern(element: Mapping[str, Any]) -> bool:
    """Whether this is the head of a chat of SillyTavern, or a message where the head is lost."""
    head = "chat_metadata" in element or {"user_name", "character_name"} <= element.keys()
    return head or {"name", "is_user", "mes"} <= element.keys()


def fits_character_ai(element: Mapping[str, Any]) -> bool:
    """Whether this is one of the chats that CAI Tools saved."""
    return any("is_human" in as_object(one, "src") for one in objects_in(element.get("msgs")))


def read_silly_tavern(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is."""
    builder: ConversationBuilder | None = None
    for _, element in reading.read_elements():
        given = as_object(element)
        if builder is None:
            builder = _start_chat(given, reading)
        if "mes" in given:
            _add_message(builder, given, reading)
        elif not given or ("chat_metadata" not in given and "character_name" not in given):
            builder.leave_out(LeftOut.MISSHAPEN)
    if builder is not None:
        yield builder.build()


def _start_chat(head: Mapping[str, Any], reading: Reading) -> ConversationBuilder:
    character = as_text(head.get("character_name")) or reading.part.within
    created = as_name(head.get("create_date"))
    key = make_key(character, created) if created else ""
    title = reading.part.plain_name.rsplit(".", 1)[0]
    return ConversationBuilder(
        reading.source, key, title, began=_parse_time(head.get("create_date"), reading), persona=character or "role"
    )


def _add_message(builder: ConversationBuilder, message: Mapping[str, Any], reading: Reading) -> None:
    """``mes`` is the text that was chosen; ``swipes`` are the others."""
    if message.get("is_system"):
        builder.leave_out(LeftOut.SYSTEM)
        return
    by_person = message.get("is_user") is True
    written = as_name(message.get("send_date"))
    said = _parse_time(message.get("send_date"), reading)
    speaker = as_text(message.get("name"))
    builder.add_message("", "person" if by_person else "companion", as_text(message.get("mes")), said, speaker, written)


def _parse_time(value: Any, reading: Reading) -> datetime | None:
    """A time in one of the four ways in which SillyTavern wrote it."""
    if isinstance(value, str):
        if found := _STAMP.fullmatch(value.strip()):
            fields = [int(field or 0) for field in found.groups()]
            try:
                year, month, day, hour, minute, second, milli = fields
                return reading.localize_time(datetime(year, month, day, hour, minute, second, milli * 1_000))
            except ValueError:
                return None
        named = written_time(value, reading.options.zone)
        return reading.parse_time(value) or named
    return reading.parse_time(value)


def read_character_ai_conversation(
    element: Mapping[str, Any], where: str, reading: Reading
) -> PastConversation | Unread:
    """One chat with a character; replies that were not chosen are not marked there."""
    messages = as_list(element.get("msgs"))
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    others = [
        as_text(as_object(one, "src").get("name")) for one in messages if not as_object(one, "src").get("is_human")
    ]
    info = as_object(reading.outline, "info", "character")
    persona = as_text(info.get("name")) or next(filter(None, others), "") or "role"
    key = as_name(first_value(element, "external_id", "chat_id", "id"))
    builder = ConversationBuilder(
        reading.source,
        key,
        persona,
        began=reading.parse_time(first_value(element, "created", "create_time")),
        persona=persona,
    )
    for message in messages:
        given, source = as_object(message), as_object(message, "src")
        if not source:
            builder.leave_out(LeftOut.MISSHAPEN)
            continue
        by_person = source.get("is_human") is True
        said = reading.parse_time(first_value(given, "created", "create_time", "timestamp"))
        own_key = as_name(first_value(given, "uuid", "id"))
        builder.add_message(
            own_key,
            "person" if by_person else "companion",
            as_text(given.get("text")),
            said,
            as_text(source.get("name")),
        )
    return builder.build()


read_character_ai = read_each(read_character_ai_conversation)
