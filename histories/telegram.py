"""Telegram Desktop's result.json: one chat, or all of an account. Messages are read one at a time.

An account says who the person is; one chat does not, unless it is that of saved messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from domain.histories import PastConversation, Spoken
from histories import omissions
from histories.parts import DAMAGES
from histories.readings import Found, Reading
from histories.shapes import entries, first, name, record, text
from histories.streaming import JsonError, JsonStream
from histories.talks import Talk, same_name, spoken_by

_LISTS = ("chats", "left_chats")


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is one chat, or an account."""
    if any(_is_chat(record(one)) for kind in _LISTS for one in entries(record(element, kind).get("list"))):
        return True
    return _is_chat(element)


def _is_chat(element: Mapping[str, Any]) -> bool:
    messages = entries(element.get("messages"))
    if not {"type", "id"} <= element.keys() or not isinstance(element.get("messages"), list):
        return False
    return not messages or record(messages[0]).get("type") in ("message", "service")


def read(reading: Reading) -> Iterator[Found]:
    """The chats of the file."""
    account = name(record(reading.outline, "personal_information").get("user_id"))
    with reading.sound(), reading.stream() as stream:
        yield from _chats(stream, reading, f"user{account}" if account else "")


def _chats(stream: JsonStream, reading: Reading, account: str) -> Iterator[Found]:
    if not any(kind in reading.outline for kind in _LISTS):
        yield from _Chat(reading, account).read(stream)
        return
    for key in stream.fields():
        if key not in _LISTS or stream.peek() != "{":
            stream.skip()
            continue
        for inner in stream.fields():
            if inner != "list" or stream.peek() != "[":
                stream.skip()
                continue
            for _ in stream.items():
                yield from _Chat(reading, account).read(stream)


class _Chat:
    """One chat that is being read."""

    def __init__(self, reading: Reading, account: str) -> None:
        self._reading, self._account = reading, account
        self._talk = Talk(reading.source, "")
        self._about: dict[str, Any] = {}

    def read(self, stream: JsonStream) -> Iterator[PastConversation]:
        """The chat at which the stream stands; as much of it as there is where the file is cut off."""
        try:
            self._fields(stream)
        except (JsonError, *DAMAGES):
            if self._talk.count:
                yield self._finished()
            raise
        yield self._finished()

    def _fields(self, stream: JsonStream) -> None:
        for key in stream.fields():
            if key == "messages" and stream.peek() == "[":
                for _ in stream.items():
                    self._take(stream.value())
            elif stream.peek() in ("{", "["):
                stream.skip()
            else:
                self._about[key] = stream.value()

    def _finished(self) -> PastConversation:
        self._talk.key = name(self._about.get("id"))
        self._talk.title = text(self._about.get("name"))
        return self._talk.finished()

    def _take(self, message: Any) -> None:
        given = record(message)
        if not given:
            self._talk.leave(omissions.MISSHAPEN_MESSAGE)
        elif given.get("type") != "message":
            self._talk.leave(omissions.SYSTEM)
        elif given.get("forwarded_from"):
            self._talk.leave(omissions.FORWARDED)
        else:
            self._take_words(given)

    def _take_words(self, message: Mapping[str, Any]) -> None:
        words = _words(message.get("text"))
        if not words.strip() and any(
            key in message for key in ("media_type", "file", "photo", "location_information")
        ):
            self._talk.leave(omissions.ATTACHMENT)
            return
        said = self._reading.time(first(message, "date_unixtime", "date"))
        speaker = text(message.get("from")) or text(message.get("from_id"))
        written = name(message.get("date"))
        self._talk.take(name(message.get("id")), self._by(message, speaker), words, said, speaker, written)

    def _by(self, message: Mapping[str, Any], speaker: str) -> Spoken:
        sender, me = text(message.get("from_id")), self._reading.options.me
        if self._about.get("type") == "saved_messages" or (self._account and sender == self._account):
            return "person"
        return "person" if me and same_name(sender, me) else spoken_by(speaker, me)


def _words(value: Any) -> str:
    """A text, or pieces of one, with or without their kind."""
    if isinstance(value, str):
        return value
    return "".join(
        piece if isinstance(piece, str) else text(record(piece).get("text")) for piece in entries(value)
    )
