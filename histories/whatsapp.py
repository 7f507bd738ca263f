"""WhatsApp's chats: lines in the shape of the telephone's language, without ids, zone or a word on who the person is.

The file is looked through once before it is read: how its dates are to be taken, and who speaks in it, only the whole
of it tells. What cannot be told (3/4 in a short chat) is said, and nothing is taken over until it is answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from histories import omissions
from histories.clocks import ODD_SPACES
from histories.readings import Found, Reading
from histories.talks import Talk, digest, spoken_by
from histories.whatsapp_lines import Dates, Head, head_of, parted, senders_of

_OMITTED = re.compile(
    r"<?(?:(?:image|video|audio|sticker|gif|document|contact card|media|video note|photo)s? (?:omitted|weggelassen)"
    r"|media omitted|medien ausgeschlossen|multimedia omitido|média omis|médias omis"
    r"|省略多媒体文件|已省略媒体|已忽略(?:图片|视频|音频|贴图|文档|动图)(?:文件)?|(?:图片|视频|音频|贴图|文档|圖片|影片|音訊|貼圖|文件|媒體)已?(?:省略|忽略|略去)"
    r"|省略多媒體檔案|略過多媒體檔案|(?:attached|附件|anexado|adjunto|angehängt)\s?[:：][^<>\n]*)>?",
    re.IGNORECASE,
)
_ATTACHED = re.compile(
    r"\S[^\n]{0,200}\.\w{2,5} \((?:file attached"
    r"|档案已附加|檔案已附加|文件附件|附件|Datei angehängt|archivo adjunto|fichier joint)\)",
    re.IGNORECASE,
)
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|diese nachricht wurde gelöscht"
    r"|du hast diese nachricht gelöscht"
    r"|(?:此|这条|该)消息已(?:被)?删除|(?:你|您)(?:已)?删除了(?:此|这条)消息|(?:此|這則|這個)訊息已(?:被)?刪除|你已?刪除了?(?:此|這則)訊息)[.。]?",
    re.IGNORECASE,
)
_EDITED = re.compile(
    r"<(?:this message was edited|diese nachricht wurde bearbeitet"
    r"|(?:此|这条|該|此則)?[消訊]息已(?:被)?(?:编辑|編輯))>$",
    re.IGNORECASE,
)
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
#: What the name of a file says besides the name of the chat.
_NAMED = (
    re.compile(r"^WhatsApp Chat (?:with|-) (.+)$", re.IGNORECASE),
    re.compile(
        r"^(?:WhatsApp[- ]?Chat mit|Chat de WhatsApp con|Discussion WhatsApp avec|Chat WhatsApp con) (.+)$",
        re.IGNORECASE,
    ),
    re.compile(r"^与(.+?)的\s*WhatsApp\s*(?:聊天|对话)(?:记录)?$"),
    re.compile(r"^WhatsApp\s*(?:与|跟|與)\s*(.+?)\s*的?(?:聊天|对话|對話)(?:记录|記錄)?$"),
)
_COPY = re.compile(r"\s*\(\d+\)$")


def fits(head: str) -> bool:
    """Whether lines begin as WhatsApp's do: two of them, or one and nobody else's."""
    lines = [line for line in head.split("\n")[:200] if line.strip()]
    heads = [found for line in lines if (found := head_of(line))]
    return len(heads) >= 2 or (
        bool(heads) and head_of(lines[0]) is not None and bool(parted(heads[0].rest, frozenset()))
    )


@dataclass
class _Said:
    """A message whose lines are being gathered."""

    head: Head
    sender: str
    lines: list[str] = field(default_factory=list)


def read(reading: Reading) -> Iterator[Found]:
    """The one chat that a file is."""
    dates = Dates()
    senders = senders_of(_rests(reading, dates))
    order = dates.order(reading.options.day_first)
    if order is None:
        yield reading.unread(omissions.DAY_OR_MONTH, example=dates.example)
        return
    title = chat_name(reading)
    talk = Talk(reading.source, digest(title), title)
    said: _Said | None = None
    for line in reading.lines():
        found = head_of(line)
        if found is None and said is not None:
            said.lines.append(line)
        elif found is not None:
            _put_down(talk, said, order, reading)
            said = _begun(talk, found, senders)
    _put_down(talk, said, order, reading)
    yield talk.finished()


def _rests(reading: Reading, dates: Dates) -> Iterator[str]:
    """What stands behind the head of each message, its date seen."""
    for line in reading.lines(counted=False):
        if found := head_of(line):
            dates.see(found)
            yield found.rest[:200]


def chat_name(reading: Reading) -> str:
    """With whom, as the name of the file says it; ``_chat.txt`` has the name of what it lies in."""
    stem = reading.part.plain_name.rsplit(".", 1)[0]
    stem = _COPY.sub("", reading.part.within) if stem == "_chat" else stem
    found = next((match for pattern in _NAMED if (match := pattern.match(stem.strip()))), None)
    return found[1].strip() if found else stem.strip()


def _begun(talk: Talk, head: Head, senders: frozenset[str]) -> _Said | None:
    """A new message, or a line of the program's own, which nobody said."""
    found = parted(head.rest, senders)
    if found is None:
        talk.leave(omissions.SYSTEM)
        return None
    sender, words = found
    return _Said(head, sender, [words])


def _put_down(talk: Talk, said: _Said | None, order: str, reading: Reading) -> None:
    if said is None:
        return
    words = _EDITED.sub("", _MARKS.sub("", "\n".join(said.lines)).rstrip())
    first, _, others = words.strip().partition("\n")
    if _DELETED.fullmatch(first.strip()) and not others:
        talk.leave(omissions.DELETED)
        return
    if _OMITTED.fullmatch(first.strip()) or _ATTACHED.fullmatch(first.strip()):
        if not others.strip():
            talk.leave(omissions.ATTACHMENT)
            return
        words = others
    speaker = _name(said.sender)
    talk.take(
        "",
        spoken_by(speaker, reading.options.me),
        words,
        _time(said.head, order, reading),
        speaker,
        said.head.written,
    )


def _name(sender: str) -> str:
    """The name of a sender; a tilde marks one who is not among the contacts."""
    return _MARKS.sub("", sender).translate(ODD_SPACES).strip().removeprefix("~").strip()


def _time(head: Head, order: str, reading: Reading) -> datetime | None:
    fields = dict(zip(order, head.date, strict=True))
    year = fields["y"] + (2000 if fields["y"] < 100 else 0)
    try:
        return reading.local(datetime(year, fields["m"], fields["d"], *head.clock))
    except ValueError:
        return None
