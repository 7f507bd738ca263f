"""Characters: SillyTavern's chats, and Character.AI as CAI Tools saves it. What is said there is a role's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from domain.histories import PastConversation, Unread
from histories import omissions
from histories.clocks import written_time
from histories.readings import Found, Reading, each
from histories.shapes import entries, first, name, record, records, text
from histories.talks import Talk, digest

#: "2024-4-26 @06h 06m 07s 123ms"
_STAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?")


def fits_silly_tavern(element: Mapping[str, Any]) -> bool:
    """Whether this is the head of a chat of SillyTavern, or a message where the head is lost."""
    head = "chat_metadata" in element or {"user_name", "character_name"} <= element.keys()
    return head or {"name", "is_user", "mes"} <= element.keys()


def fits_character_ai(element: Mapping[str, Any]) -> bool:
    """Whether this is one of the chats that CAI Tools saved."""
    return any("is_human" in record(one, "src") for one in records(element.get("msgs")))


def read_silly_tavern(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is."""
    talk: Talk | None = None
    for _, element in reading.elements():
        given = record(element)
        if talk is None:
            talk = _begun(given, reading)
        if "mes" in given:
            _take(talk, given, reading)
        elif not given or ("chat_metadata" not in given and "character_name" not in given):
            talk.leave(omissions.MISSHAPEN_MESSAGE)
    if talk is not None:
        yield talk.finished()


def _begun(head: Mapping[str, Any], reading: Reading) -> Talk:
    character = text(head.get("character_name")) or reading.part.within
    created = name(head.get("create_date"))
    key = digest(character, created) if created else ""
    title = reading.part.plain_name.rsplit(".", 1)[0]
    return Talk(
        reading.source, key, title, began=_time(head.get("create_date"), reading), persona=character or "role"
    )


def _take(talk: Talk, message: Mapping[str, Any], reading: Reading) -> None:
    """``mes`` is the text that was chosen; ``swipes`` are the others."""
    if message.get("is_system"):
        talk.leave(omissions.SYSTEM)
        return
    by_person = message.get("is_user") is True
    written = name(message.get("send_date"))
    said = _time(message.get("send_date"), reading)
    speaker = text(message.get("name"))
    talk.take("", "person" if by_person else "companion", text(message.get("mes")), said, speaker, written)


def _time(value: Any, reading: Reading) -> datetime | None:
    """A time in one of the four ways in which SillyTavern wrote it."""
    if isinstance(value, str):
        if found := _STAMP.fullmatch(value.strip()):
            fields = [int(field or 0) for field in found.groups()]
            try:
                year, month, day, hour, minute, second, milli = fields
                return reading.local(datetime(year, month, day, hour, minute, second, milli * 1_000))
            except ValueError:
                return None
        named = written_time(value, reading.options.zone)
        return reading.time(value) or named
    return reading.time(value)


def character_ai_conversation(
    element: Mapping[str, Any], where: str, reading: Reading
) -> PastConversation | Unread:
    """One chat with a character; replies that were not chosen are not marked there."""
    messages = entries(element.get("msgs"))
    if not messages:
        return reading.unread(omissions.NO_MESSAGES, where)
    others = [
        text(record(one, "src").get("name")) for one in messages if not record(one, "src").get("is_human")
    ]
    info = record(reading.outline, "info", "character")
    persona = text(info.get("name")) or next(filter(None, others), "") or "role"
    key = name(first(element, "external_id", "chat_id", "id"))
    talk = Talk(
        reading.source,
        key,
        persona,
        began=reading.time(first(element, "created", "create_time")),
        persona=persona,
    )
    for message in messages:
        given, source = record(message), record(message, "src")
        if not source:
            talk.leave(omissions.MISSHAPEN_MESSAGE)
            continue
        by_person = source.get("is_human") is True
        said = reading.time(first(given, "created", "create_time", "timestamp"))
        own_key = name(first(given, "uuid", "id"))
        talk.take(
            own_key,
            "person" if by_person else "companion",
            text(given.get("text")),
            said,
            text(source.get("name")),
        )
    return talk.finished()


read_character_ai = each(character_ai_conversation)
