"""QQ's text export: a head, then a line with time, name and number before what was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from domain.imports import PastConversation
from importers.conversation_builder import ConversationBuilder, LeftOut, is_same_name, make_key, role_of_speaker
from importers.reading import Found, Reading
from language.instants import CLOCK, time_of_day

_HEAD = "消息记录（此消息记录为文本格式"
_PARTNER = re.compile(r"消息对象[:：]\s*(.*)")
_RULE = re.compile(r"={8,}\s*")
_GROUP = re.compile(r"消息分组[:：]")
_MESSAGE = re.compile(
    rf"(?P<year>\d{{4}})[-/](?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}}) {CLOCK} +(?P<name>.*?)"
    r"(?:[(（](?P<number>\d{4,12})[)）]|<(?P<mail>[^<>\s]+@[^<>\s]+)>)?\s*"
)
#: Placeholders for what is not text.
_PICTURES = re.compile(r"(?:\[(?:图片|表情|语音|视频|文件|QQ红包|动画表情|分享|闪照)[^\]]{0,40}\]\s*)+")
#: The head of a message is no longer than this.
_LONGEST_HEAD = 500
_SYSTEM_NUMBERS = frozenset(("10000", "1000000", "80000000"))


def matches_head(head: str) -> bool:
    """Whether this is a text export of QQ."""
    start = head[:4_000]
    return _HEAD in start or bool(_PARTNER.search(start) and _GROUP.search(start))


@dataclass
class _OpenMessage:
    """A message whose lines are being gathered."""

    head: re.Match[str]
    lines: list[str] = field(default_factory=list)


def read_export(reading: Reading) -> Iterator[Found]:
    """The chats of the file, each under its partner."""
    chat = _Chat(reading, "")
    for line in reading.read_lines():
        partner = _PARTNER.match(line)
        if partner:
            yield from chat.build_conversation()
            chat = _Chat(reading, partner[1].strip())
        else:
            chat.add_line(line)
    yield from chat.build_conversation()


class _Chat:
    """One chat that is being read."""

    def __init__(self, reading: Reading, partner: str) -> None:
        self._reading = reading
        key = partner or reading.part.plain_name.rsplit(".", 1)[0]
        self._builder = ConversationBuilder(reading.source, make_key(key), key)
        self._said: _OpenMessage | None = None
        self._any = False

    def add_line(self, line: str) -> None:
        """One more line: the head of a message, or what it says."""
        found = _MESSAGE.fullmatch(line) if len(line) < _LONGEST_HEAD else None
        if found:
            self._add_message()
            self._said = _OpenMessage(found)
        elif self._said and not _RULE.fullmatch(line) and not _GROUP.match(line):
            self._said.lines.append(line)

    def build_conversation(self) -> Iterator[PastConversation]:
        """The chat, if there was one."""
        self._add_message()
        if self._any:
            yield self._builder.build()

    def _add_message(self) -> None:
        if self._said is None:
            return
        head, text = self._said.head, "\n".join(self._said.lines).strip()
        self._said, self._any = None, True
        number = head["number"] or head["mail"] or ""
        speaker = head["name"].strip() or number
        if number in _SYSTEM_NUMBERS or speaker == "系统消息":
            self._builder.leave_out(LeftOut.SYSTEM)
        elif _PICTURES.fullmatch(text):
            self._builder.leave_out(LeftOut.ATTACHMENT)
        else:
            me = self._reading.options.me
            by = "person" if is_same_name(number, me) else role_of_speaker(speaker, me)
            said, written = self._parse_time(head)
            # The number stays when the name changes, so it makes the key.
            key = make_key(number or speaker, written, text) if text else ""
            self._builder.add_message(self._builder.number_key(key), by, text, said, speaker)

    def _parse_time(self, head: re.Match[str]) -> tuple[datetime | None, str]:
        hour, minute, second = time_of_day(head.groupdict())
        try:
            when = datetime(int(head["year"]), int(head["month"]), int(head["day"]), hour, minute, second)
        except ValueError:
            return None, head[0]
        return self._reading.localize_time(when), when.isoformat()
