"""Claude's export, old and new. ``parent_message_uuid`` makes a tree of it; where that is missing, the order counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from domain.histories import PastConversation, Spoken, Unread
from histories import omissions
from histories.readings import Found, Reading, each
from histories.shapes import entries, joined_text, record, records, text
from histories.talks import Talk
from histories.trees import newest_leaf, way_up

#: What stands in ``text`` in the place of a block that a telephone could not draw.
_PLACEHOLDER = re.compile(
    r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?", re.IGNORECASE
)
_ROOT = "00000000-0000-4000-8000-000000000000"
_BY: Mapping[str, Spoken] = {"human": "person", "assistant": "companion"}
_TEXT = frozenset(("text",))


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of Claude."""
    return isinstance(element.get("chat_messages"), list)


def fits_manifest(element: Mapping[str, Any]) -> bool:
    """Whether this is only a list of where the export can be fetched."""
    return any("export_url" in one for one in records(element.get("data_files")))


def read_manifest(reading: Reading) -> Iterator[Found]:
    """Says that there is nothing inside."""
    yield reading.unread(omissions.POINTS_ELSEWHERE)


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of the export."""
    messages = entries(element.get("chat_messages"))
    if not messages:
        return reading.unread(omissions.NO_MESSAGES, where)
    talk = Talk(
        reading.source,
        text(element.get("uuid")),
        text(element.get("name")),
        began=reading.time(element.get("created_at")),
    )
    sound = [message for message in messages if isinstance(message, dict)]
    talk.leave(omissions.MISSHAPEN_MESSAGE, len(messages) - len(sound))
    shown = _shown(sound, reading)
    for message in shown:
        _take(talk, message, reading)
    talk.leave(omissions.OTHER_BRANCH, len(sound) - len(shown))
    return talk.finished()


def _shown(messages: Sequence[Mapping[str, Any]], reading: Reading) -> Sequence[Mapping[str, Any]]:
    """The messages that were shown: the way up from the newest leaf, or all of them where there is no tree."""
    if not any(text(message.get("parent_message_uuid")) for message in messages):
        return messages
    keys = [text(message.get("uuid")) or f"#{number}" for number, message in enumerate(messages)]
    by_key = dict(zip(keys, messages, strict=True))
    parents: dict[str, str | None] = {}
    before: str | None = None
    for key, message in zip(keys, messages, strict=True):
        above = text(message.get("parent_message_uuid"))
        # A parent that is gone leaves a gap; what stands before in the list is nearest to it.
        parents[key] = above if above in by_key else None if above == _ROOT else before
        before = key
    leaf = newest_leaf(parents, lambda key: reading.time(by_key[key].get("created_at")))
    return [by_key[key] for key in way_up(parents, leaf)]


def _take(talk: Talk, message: Mapping[str, Any], reading: Reading) -> None:
    by = _BY.get(text(message.get("sender")))
    if by is None:
        talk.leave(omissions.SYSTEM)
        return
    words, left = _words(message)
    if not words:
        talk.leave(left)
        return
    talk.take(text(message.get("uuid")), by, words, reading.time(message.get("created_at")))


def _words(message: Mapping[str, Any]) -> tuple[str, str]:
    """What a message says, and why it says nothing where that is so."""
    blocks = entries(message.get("content"))
    own = joined_text(blocks, _TEXT) or text(message.get("text"))
    own = _PLACEHOLDER.sub("", own).strip()
    added = [
        text(one.get("extracted_content")) for one in records(message.get("attachments")) if _pasted(one, own)
    ]
    words = "\n\n".join(part for part in (own, *added) if part.strip())
    if message.get("attachments") or message.get("files"):
        return words, omissions.ATTACHMENT
    return words, omissions.THINKING if any(_kind(one) == "thinking" for one in blocks) else _of_tools(blocks)


def _pasted(attachment: Mapping[str, Any], own: str) -> bool:
    """Whether an attachment is what the person wrote: text that was pasted, or all that the message has."""
    called = text(attachment.get("file_name")).lower()
    return not own or not called or called.startswith(("paste", "pasted"))


def _of_tools(blocks: list[Any]) -> str:
    return (
        omissions.TOOL
        if blocks and all(_kind(one) not in ("", "text") for one in blocks)
        else omissions.EMPTY
    )


def _kind(block: Any) -> str:
    return text(record(block).get("type"))


read = each(conversation)
