"""Messengers whose chats are JSON or a table: Telegram, WeChat as other tools save it, ChatLab's own files.

Messages are read one at a time; a picture among them may be longer than all that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from domain.imports import PastConversation
from importers.export_files import DAMAGE_ERRORS
from importers.json_stream import JsonError, JsonStream, as_list, as_name, as_object, as_text, first_value
from importers.reading import (
    ConversationBuilder,
    Found,
    JsonFormat,
    LeftOut,
    Reading,
    TextFormat,
    column_names,
    is_same_name,
    make_key,
    role_of_speaker,
)


@dataclass(frozen=True)
class _Fields:
    """The fields of a message, of each the first that says something. ``written`` is a time without a zone."""

    key: tuple[str, ...]
    time: tuple[str, ...]
    speaker: tuple[str, ...]
    text: str
    written: str = ""

    def add_message(
        self, builder: ConversationBuilder, message: Mapping[str, Any], mine: bool, reading: Reading
    ) -> None:
        """Add a message of a chat between people; ``mine``: the format says that it is the person's."""
        speaker = _first_name(message, self.speaker)
        by = "person" if mine else role_of_speaker(speaker, reading.options.me)
        said = reading.parse_time(first_value(message, *self.time))
        key, written = _first_name(message, self.key), as_name(message.get(self.written))
        builder.add_message(key, by, as_text(message.get(self.text)), said, speaker, written)


def _first_name(given: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next(filter(None, (as_name(given.get(key)) for key in keys)), "")


# -- Telegram Desktop's result.json: one chat, or all of an account, which says who the person is. One chat does not,
# unless it is that of saved messages.

_TELEGRAM = _Fields(("id",), ("date_unixtime", "date"), ("from", "from_id"), "text", "date")
_LISTS = ("chats", "left_chats")
_MEDIA = ("media_type", "file", "photo", "location_information")


def _fits_telegram(element: Mapping[str, Any]) -> bool:
    chats = (as_object(one) for kind in _LISTS for one in as_list(as_object(element, kind).get("list")))
    return any(map(_is_telegram_chat, chats)) or _is_telegram_chat(element)


def _is_telegram_chat(element: Mapping[str, Any]) -> bool:
    messages = element.get("messages")
    if not {"type", "id"} <= element.keys() or not isinstance(messages, list):
        return False
    return not messages or as_object(messages[0]).get("type") in ("message", "service")


def _read_telegram(reading: Reading) -> Iterator[Found]:
    account = as_name(as_object(reading.outline, "personal_information").get("user_id"))
    with reading.tolerate_damage(), reading.open_json() as stream:
        for _ in _telegram_chats(stream, reading):
            yield from _read_telegram_chat(stream, reading, f"user{account}" if account else "")


def _telegram_chats(stream: JsonStream, reading: Reading) -> Iterator[None]:
    """Stops at each chat, which has to be read."""
    if not any(kind in reading.outline for kind in _LISTS):
        yield
        return
    for key in stream.iterate_fields():
        if key not in _LISTS or stream.peek_mark() != "{":
            stream.skip_value()
            continue
        yield from _stop_at_listed(stream)


def _stop_at_listed(stream: JsonStream) -> Iterator[None]:
    for key in stream.iterate_fields():
        if key != "list" or stream.peek_mark() != "[":
            stream.skip_value()
            continue
        for _ in stream.iterate_items():
            yield


def _read_telegram_chat(stream: JsonStream, reading: Reading, account: str) -> Iterator[PastConversation]:
    """The chat at the position of the stream; as much of it as there is where the file is cut off."""
    builder = ConversationBuilder(reading.source, "")
    try:
        _fill_telegram_chat(builder, stream, reading, account)
    except (JsonError, *DAMAGE_ERRORS):
        found = builder.build()
        if found.messages:
            yield found
        raise
    yield builder.build()


def _fill_telegram_chat(builder: ConversationBuilder, stream: JsonStream, reading: Reading, account: str) -> None:
    about: dict[str, Any] = {}
    for key in stream.iterate_fields():
        if key == "messages" and stream.peek_mark() == "[":
            for _ in stream.iterate_items():
                _add_telegram_message(builder, as_object(stream.read_value()), about, account, reading)
        elif stream.peek_mark() in ("{", "["):
            stream.skip_value()
        else:
            about[key] = stream.read_value()
            builder.key, builder.title = as_name(about.get("id")), as_text(about.get("name"))


def _add_telegram_message(
    builder: ConversationBuilder, message: Mapping[str, Any], about: Mapping[str, Any], account: str, reading: Reading
) -> None:
    text = message.get("text")
    pieces = [text] if isinstance(text, str) else as_list(text)
    words = "".join(one if isinstance(one, str) else as_text(as_object(one).get("text")) for one in pieces)
    if message.get("type") != "message":
        builder.leave_out(LeftOut.SYSTEM if message else LeftOut.MISSHAPEN)
    elif message.get("forwarded_from"):
        builder.leave_out(LeftOut.FORWARDED)
    elif not words.strip() and any(key in message for key in _MEDIA):
        builder.leave_out(LeftOut.ATTACHMENT)
    else:
        sender = as_text(message.get("from_id"))
        mine = sender == account or is_same_name(sender, reading.options.me)
        saved = about.get("type") == "saved_messages"
        _TELEGRAM.add_message(builder, {**message, "text": words}, saved or (mine and bool(sender)), reading)


# -- WeChat as WeFlow and echotrace save it, in JSON, and as WeChatMsg does, in a table

_WEFLOW = _Fields(("localId",), ("createTime", "formattedTime"), ("senderDisplayName", "senderUsername"), "content")
#: ``localType`` is a number that cannot be relied on; these are the kinds by name.
_TEXTS = frozenset(("文本消息", "引用消息", "文本", "text"))
_SYSTEMS = frozenset(("系统消息", "系统", "system"))
_WECHATMSG = _Fields(
    ("msgsvrid", "localid"), ("createtime",), ("sender", "remark", "nickname"), "strcontent", "createtime"
)
_TABLE_TEXT, _TABLE_SYSTEM = "1", "10000"


def _fits_weflow(element: Mapping[str, Any]) -> bool:
    messages = element.get("messages")
    if not isinstance(element.get("session"), dict) or not isinstance(messages, list):
        return False
    return "weflow" in element or any({"senderUsername", "createTime"} & as_object(one).keys() for one in messages)


def _read_weflow(reading: Reading) -> Iterator[Found]:
    session = as_object(reading.outline, "session")
    key = as_name(first_value(session, "wxid", "userName", "id"))
    builder = ConversationBuilder(
        reading.source, key, as_text(first_value(session, "displayName", "remark", "nickname"))
    )
    for message in map(as_object, reading.read_list("messages")):
        kind = as_text(message.get("type"))
        if not message:
            builder.leave_out(LeftOut.MISSHAPEN)
        elif kind in _SYSTEMS or ("isSend" in message and message.get("isSend") is None):
            builder.leave_out(LeftOut.SYSTEM)
        elif kind and kind not in _TEXTS:
            builder.leave_out(LeftOut.ATTACHMENT)
        else:
            _WEFLOW.add_message(builder, message, message.get("isSend") in (1, True), reading)
    yield builder.build()


def _fits_wechatmsg(head: str) -> bool:
    return column_names(head) >= {"issender", "createtime", "strcontent"}


def _read_wechatmsg(reading: Reading) -> Iterator[Found]:
    """The chats of a table, one per partner, whose rows are adjacent."""
    partner = ("strtalker", "talkerid", "remark", "nickname")
    for key, rows in groupby(reading.read_rows(), lambda row: _first_name(row, partner)):
        builder = ConversationBuilder(reading.source, key or reading.part.plain_name)
        for row in rows:
            builder.title = builder.title or _first_name(row, ("remark", "nickname")) or key
            kind = row.get("type", _TABLE_TEXT).strip()
            if kind == _TABLE_TEXT:
                _WECHATMSG.add_message(builder, row, row.get("issender", "").strip() == "1", reading)
            else:
                builder.leave_out(LeftOut.SYSTEM if kind == _TABLE_SYSTEM else LeftOut.ATTACHMENT)
        yield builder.build()


# -- ChatLab's own files, into which chats of many programs are turned: one chat, as JSON or as JSON Lines

_CHATLAB = _Fields(("platformMessageId", "id"), ("timestamp",), ("groupNickname", "accountName", "sender"), "content")
_CHATLAB_TEXT, _CHATLAB_REPLY = 0, 25
_CHATLAB_LEFT_OUT = {26: LeftOut.FORWARDED, 80: LeftOut.SYSTEM, 81: LeftOut.DELETED}


def _fits_chatlab(element: Mapping[str, Any]) -> bool:
    """Whether this is a file of ChatLab, or the first line of one."""
    return isinstance(element.get("chatlab"), dict) and isinstance(element.get("meta"), dict)


def _read_chatlab(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is; ``ownerId`` says who the person is, if anything does."""
    meta = as_object(reading.outline, "meta")
    builder = _start_chatlab(meta, reading)
    in_lines = reading.layout.kind == "lines"
    messages = (one for _, one in reading.read_elements()) if in_lines else reading.read_list("messages")
    for message in map(as_object, messages):
        kind = message.get("_type") if in_lines else None
        if in_lines and (kind == "header" or _fits_chatlab(message)):
            meta = as_object(message, "meta")
            builder = _start_chatlab(meta, reading)
        elif kind != "member":
            _add_chatlab_message(builder, message, as_name(meta.get("ownerId")), reading)
    yield builder.build()


def _start_chatlab(meta: Mapping[str, Any], reading: Reading) -> ConversationBuilder:
    name = as_text(meta.get("name"))
    key = as_name(meta.get("groupId")) or (make_key(as_text(meta.get("platform")), name) if meta else "")
    return ConversationBuilder(reading.source, key, name)


def _add_chatlab_message(
    builder: ConversationBuilder, message: Mapping[str, Any], owner: str, reading: Reading
) -> None:
    kind = message.get("type", _CHATLAB_TEXT)
    if "sender" not in message or not isinstance(kind, int):
        builder.leave_out(LeftOut.MISSHAPEN)
    elif kind not in (_CHATLAB_TEXT, _CHATLAB_REPLY):
        builder.leave_out(_CHATLAB_LEFT_OUT.get(kind, LeftOut.ATTACHMENT))
    else:
        sender = as_name(message.get("sender"))
        _CHATLAB.add_message(builder, message, sender == owner or is_same_name(sender, reading.options.me), reading)


JSON_FORMATS = (
    JsonFormat("telegram", _fits_telegram, _read_telegram),
    JsonFormat("wechat", _fits_weflow, _read_weflow),
    JsonFormat("chatlab", _fits_chatlab, _read_chatlab),
)
TEXT_FORMATS = (TextFormat("wechat", _fits_wechatmsg, _read_wechatmsg),)
