"""Telegram Desktop's result.json: one chat, or all of an account. Messages are read one at a time.

An account says who the person is; one chat does not, unless it is that of saved messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from domain.imports import PastConversation, Spoken
from importers.conversation_builder import ConversationBuilder, LeftOut, is_same_name, role_of_speaker
from importers.export_files import DAMAGE_ERRORS
from importers.json_stream import JsonError, JsonStream
from importers.json_values import as_list, as_name, as_object, as_text, first_value
from importers.reading import Found, Reading

_LISTS = ("chats", "left_chats")


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is one chat, or an account."""
    if any(_is_chat(as_object(one)) for kind in _LISTS for one in as_list(as_object(element, kind).get("list"))):
        return True
    return _is_chat(element)


def _is_chat(element: Mapping[str, Any]) -> bool:
    messages = as_list(element.get("messages"))
    if not {"type", "id"} <= element.keys() or not isinstance(element.get("messages"), list):
        return False
    return not messages or as_object(messages[0]).get("type") in ("message", "service")


def read_export(reading: Reading) -> Iterator[Found]:
    """The chats of the file."""
    account = as_name(as_object(reading.outline, "personal_information").get("user_id"))
    with reading.tolerate_damage(), reading.open_json() as stream:
        yield from _read_chats(stream, reading, f"user{account}" if account else "")


def _read_chats(stream: JsonStream, reading: Reading, account: str) -> Iterator[Found]:
    if not any(kind in reading.outline for kind in _LISTS):
        yield from _Chat(reading, account).read_chat(stream)
        return
    for key in stream.iterate_fields():
        if key not in _LISTS or stream.peek_mark() != "{":
            stream.skip_value()
            continue
        for inner in stream.iterate_fields():
            if inner != "list" or stream.peek_mark() != "[":
                stream.skip_value()
                continue
            for _ in stream.iterate_items():
                yield from _Chat(reading, account).read_chat(stream)


class _Chat:
    """One chat that is being read."""

    def __init__(self, reading: Reading, account: str) -> None:
        self._reading, self._account = reading, account
        self._builder = ConversationBuilder(reading.source, "")
        self._about: dict[str, Any] = {}

    def read_chat(self, stream: JsonStream) -> Iterator[PastConversation]:
        """The chat at the position of the stream; as much of it as there is where the file is cut off."""
        try:
            self._read_fields(stream)
        except (JsonError, *DAMAGE_ERRORS):
            if self._builder.message_count:
                yield self._build_conversation()
            raise
        yield self._build_conversation()

    def _read_fields(self, stream: JsonStream) -> None:
        for key in stream.iterate_fields():
            if key == "messages" and stream.peek_mark() == "[":
                for _ in stream.iterate_items():
                    self._add_message(stream.read_value())
            elif stream.peek_mark() in ("{", "["):
                stream.skip_value()
            else:
                self._about[key] = stream.read_value()

    def _build_conversation(self) -> PastConversation:
        self._builder.key = as_name(self._about.get("id"))
        self._builder.title = as_text(self._about.get("name"))
        return self._builder.build()

    def _add_message(self, message: Any) -> None:
        given = as_object(message)
        if not given:
            self._builder.leave_out(LeftOut.MISSHAPEN)
        elif given.get("type") != "message":
            self._builder.leave_out(LeftOut.SYSTEM)
        elif given.get("forwarded_from"):
            self._builder.leave_out(LeftOut.FORWARDED)
        else:
            self._add_text(given)

    def _add_text(self, message: Mapping[str, Any]) -> None:
        words = _join_pieces(message.get("text"))
        if not words.strip() and any(key in message for key in ("media_type", "file", "photo", "location_information")):
            self._builder.leave_out(LeftOut.ATTACHMENT)
            return
        said = self._reading.parse_time(first_value(message, "date_unixtime", "date"))
        speaker = as_text(message.get("from")) or as_text(message.get("from_id"))
        written = as_name(message.get("date"))
        self._builder.add_message(
            as_name(message.get("id")), self._speaker_role(message, speaker), words, said, speaker, written
        )

    def _speaker_role(self, message: Mapping[str, Any], speaker: str) -> Spoken:
        sender, me = as_text(message.get("from_id")), self._reading.options.me
        if self._about.get("type") == "saved_messages" or (self._account and sender == self._account):
            return "person"
        return "person" if me and is_same_name(sender, me) else role_of_speaker(speaker, me)


def _join_pieces(value: Any) -> str:
    """A text, or pieces of one, with or without their kind."""
    if isinstance(value, str):
        return value
    return "".join(
        piece if isinstance(piece, str) else as_text(as_object(piece).get("text")) for piece in as_list(value)
    )
