"""Claude's export, old and new. ``parent_message_uuid`` makes a tree of it; where that is missing, the order counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from domain.imports import PastConversation, Spoken, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, newest_leaf, path_from_root
from importers.json_values import as_list, as_object, as_text, join_text, objects_in
from importers.reading import Found, NotRead, Reading, read_each

#: The ``text`` in place of a block that a phone could not draw.
_PLACEHOLDER = re.compile(
    r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?", re.IGNORECASE
)
_ROOT = "00000000-0000-4000-8000-000000000000"
_BY: Mapping[str, Spoken] = {"human": "person", "assistant": "companion"}
_TEXT = frozenset(("text",))


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of Claude."""
    return isinstance(element.get("chat_messages"), list)


def fits_manifest(element: Mapping[str, Any]) -> bool:
    """Whether this is only a list of where the export can be fetched."""
    return any("export_url" in one for one in objects_in(element.get("data_files")))


def read_manifest(reading: Reading) -> Iterator[Found]:
    """Says that there is nothing inside."""
    yield reading.make_unread(NotRead.POINTS_ELSEWHERE)


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of the export."""
    messages = as_list(element.get("chat_messages"))
    if not messages:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source,
        as_text(element.get("uuid")),
        as_text(element.get("name")),
        began=reading.parse_time(element.get("created_at")),
    )
    sound = [message for message in messages if isinstance(message, dict)]
    builder.leave_out(LeftOut.MISSHAPEN, len(messages) - len(sound))
    shown = _shown_messages(sound, reading)
    for message in shown:
        _add_message(builder, message, reading)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(sound) - len(shown))
    return builder.build()


def _shown_messages(messages: Sequence[Mapping[str, Any]], reading: Reading) -> Sequence[Mapping[str, Any]]:
    """The messages that were shown: the way up from the newest leaf, or all of them where there is no tree."""
    if not any(as_text(message.get("parent_message_uuid")) for message in messages):
        return messages
    keys = [as_text(message.get("uuid")) or f"#{number}" for number, message in enumerate(messages)]
    by_key = dict(zip(keys, messages, strict=True))
    parents: dict[str, str | None] = {}
    before: str | None = None
    for key, message in zip(keys, messages, strict=True):
        above = as_text(message.get("parent_message_uuid"))
        # A missing parent leaves a gap; the message before in the list is nearest to it.
        parents[key] = above if above in by_key else None if above == _ROOT else before
        before = key
    leaf = newest_leaf(parents, lambda key: reading.parse_time(by_key[key].get("created_at")))
    return [by_key[key] for key in path_from_root(parents, leaf)]


def _add_message(builder: ConversationBuilder, message: Mapping[str, Any], reading: Reading) -> None:
    by = _BY.get(as_text(message.get("sender")))
    if by is None:
        builder.leave_out(LeftOut.SYSTEM)
        return
    words, left = _message_text(message)
    if not words:
        builder.leave_out(left)
        return
    builder.add_message(as_text(message.get("uuid")), by, words, reading.parse_time(message.get("created_at")))


def _message_text(message: Mapping[str, Any]) -> tuple[str, str]:
    """What a message says, and why it says nothing where that is so."""
    blocks = as_list(message.get("content"))
    own = join_text(blocks, _TEXT) or as_text(message.get("text"))
    own = _PLACEHOLDER.sub("", own).strip()
    added = [
        as_text(one.get("extracted_content")) for one in objects_in(message.get("attachments")) if _is_pasted(one, own)
    ]
    words = "\n\n".join(part for part in (own, *added) if part.strip())
    if message.get("attachments") or message.get("files"):
        return words, LeftOut.ATTACHMENT
    return words, LeftOut.THINKING if any(_block_type(one) == "thinking" for one in blocks) else _reason_if_empty(
        blocks
    )


def _is_pasted(attachment: Mapping[str, Any], own: str) -> bool:
    """Whether an attachment is what the person wrote: text that was pasted, or all that the message has."""
    called = as_text(attachment.get("file_name")).lower()
    return not own or not called or called.startswith(("paste", "pasted"))


def _reason_if_empty(blocks: list[Any]) -> str:
    return LeftOut.TOOL if blocks and all(_block_type(one) not in ("", "text") for one in blocks) else LeftOut.EMPTY


def _block_type(block: Any) -> str:
    return as_text(as_object(block).get("type"))


read_export = read_each(read_conversation)
