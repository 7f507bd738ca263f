"""Messengers whose chats are lines of text: WhatsApp and QQ.

WhatsApp writes in the shape of the telephone's language, without ids, zone or a word on who the person is. So the file
is looked through once before it is read: how its dates are to be taken, and who speaks in it, only the whole of it
tells. What is undecidable (3/4 in a short chat) is reported, and nothing is imported until it is answered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from domain.imports import PastConversation
from importers.reading import (
    ConversationBuilder,
    Found,
    LeftOut,
    NotRead,
    Reading,
    TextFormat,
    is_same_name,
    make_key,
    role_of_speaker,
)
from language.instants import CLOCK, ODD_SPACES, time_of_day

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


def _fits_whatsapp(head: str) -> bool:
    """Whether lines begin as WhatsApp's do: two of them, or one and no others."""
    lines = [line for line in head.split("\n")[:200] if line.strip()]
    heads = [found for line in lines if (found := parse_head(line))]
    return len(heads) >= 2 or (
        bool(heads) and parse_head(lines[0]) is not None and bool(split_sender(heads[0].rest, frozenset()))
    )


@dataclass
class _OpenMessage:
    head: MessageHead
    sender: str
    lines: list[str]


def _read_whatsapp(reading: Reading) -> Iterator[Found]:
    dates = DateOrder()
    senders = find_senders(_line_rests(reading, dates))
    order = dates.decide_order(reading.options.day_first)
    if order is None:
        yield reading.make_unread(NotRead.DAY_OR_MONTH, example=dates.example_date)
        return
    title = _chat_name(reading)
    builder = ConversationBuilder(reading.source, make_key(title), title)
    said: _OpenMessage | None = None
    for line in reading.read_lines():
        found = parse_head(line)
        if found is None and said is not None:
            said.lines.append(line)
        elif found is not None:
            _add_message(builder, said, order, reading)
            spoken = split_sender(found.rest, senders)
            said = _OpenMessage(found, spoken[0], [spoken[1]]) if spoken else None
            # No one said a line of the program's own.
            builder.leave_out(LeftOut.SYSTEM, spoken is None)
    _add_message(builder, said, order, reading)
    yield builder.build()


def _line_rests(reading: Reading, dates: DateOrder) -> Iterator[str]:
    """The text after the head of each message, once its date was seen."""
    for line in reading.read_lines(counted=False):
        if found := parse_head(line):
            dates.add_date(found)
            yield found.rest[:200]


def _chat_name(reading: Reading) -> str:
    """With whom, as the name of the file says it; ``_chat.txt`` has the name of what it lies in."""
    stem = reading.part.plain_name.rsplit(".", 1)[0]
    stem = _COPY.sub("", reading.part.within) if stem == "_chat" else stem
    found = next((match for pattern in _NAMED if (match := pattern.match(stem.strip()))), None)
    return found[1].strip() if found else stem.strip()


def _add_message(builder: ConversationBuilder, said: _OpenMessage | None, order: str, reading: Reading) -> None:
    if said is None:
        return
    words = _EDITED.sub("", _MARKS.sub("", "\n".join(said.lines)).rstrip())
    first, _, others = words.strip().partition("\n")
    attached = _OMITTED.fullmatch(first.strip()) or _ATTACHED.fullmatch(first.strip())
    if _DELETED.fullmatch(first.strip()) and not others:
        builder.leave_out(LeftOut.DELETED)
    elif attached and not others.strip():
        builder.leave_out(LeftOut.ATTACHMENT)
    else:
        # A tilde marks one who is not among the contacts.
        speaker = _MARKS.sub("", said.sender).translate(ODD_SPACES).strip().removeprefix("~").strip()
        by, when = role_of_speaker(speaker, reading.options.me), _parse_time(said.head, order, reading)
        builder.add_message("", by, others if attached else words, when, speaker, said.head.written)


def _parse_time(head: MessageHead, order: str, reading: Reading) -> datetime | None:
    fields = dict(zip(order, head.date, strict=True))
    year = fields["y"] + (2000 if fields["y"] < 100 else 0)
    try:
        return reading.localize_time(datetime(year, fields["m"], fields["d"], *head.clock))
    except ValueError:
        return None


_DATE = r"(?P<a>\d{1,4})(?P<part>[./-]) ?(?P<b>\d{1,2})[./-] ?(?P<c>\d{1,4})"
_IN_BRACKETS = re.compile(rf"\[{_DATE}\.?,? {CLOCK}\] ?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_BEFORE_DASH = re.compile(rf"{_DATE}\.?,? {CLOCK} [-–] (?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_INVISIBLE = "\u200e\u200f\ufeff\u202a\u202c"
_QUOTES = re.compile(r"[\"“”„«»]")
#: A name is not longer than this; what is longer before a colon is a sentence of the program.
_LONGEST_NAME = 60
_OFTEN = 2
#: The first line of a chat, and the placeholder of a picture, in English and in other languages.
_ENGLISH = re.compile("end-to-end encrypted|<Media omitted>")
_OTHERS = re.compile(
    "cifrad|chiffr|verschlüsselt|crittograf|criptograf|şifrele|шифр|versleuteld|szyfrowan|terenkripsi"
    "|<Multimedia omitido>|<Médias omis>|<Medien ausgeschlossen>|<Mídia oculta>|<Media omessi>"
)
_WORDS_OF_NAME = 2


@dataclass(frozen=True)
class MessageHead:
    """The beginning of a message: its date fields in written order, and its time of day."""

    date: tuple[int, int, int]
    separator: str
    clock: tuple[int, int, int]
    #: How the mark for morning or evening is written, empty without one.
    mark: str
    padded: bool
    long_year: bool
    rest: str
    written: str


def parse_head(line: str) -> MessageHead | None:
    """How a line begins, if it begins a message."""
    line = line.lstrip(_INVISIBLE)
    if not line[:1].isdigit() and not line.startswith("["):
        return None
    pattern = _IN_BRACKETS if line.startswith("[") else _BEFORE_DASH
    given = pattern.fullmatch(line.translate(ODD_SPACES))
    if given is None:
        return None
    date = (int(given["a"]), int(given["b"]), int(given["c"]))
    clock = time_of_day(given.groupdict())
    return MessageHead(
        date,
        given["part"],
        clock,
        given["after"] or given["before"] or "",
        any(given[name].startswith("0") for name in ("a", "b")),
        len(given["c"]) == 4,
        line[given.start("rest") :],
        "{}-{}-{} {:02}:{:02}".format(*date, *clock[:2]),
    )


class DateOrder:
    """Finds out in which order the dates of a chat name day, month and year."""

    def __init__(self) -> None:
        self._first: MessageHead | None = None
        self._english: bool | None = None
        self._over_twelve = [0, 0]
        self._inverted = {"dmy": 0, "mdy": 0}
        self._last: tuple[int, int, int] | None = None

    def add_date(self, head: MessageHead) -> None:
        """One more date."""
        self._first = self._first or head
        if self._english is None:
            self._english = _is_english(head.rest)
        for place in (0, 1):
            self._over_twelve[place] += head.date[place] > 12
        if self._last is not None and head.date != self._last:
            for order, count in self._inverted.items():
                self._inverted[order] = count + (_date_key(head.date, order) < _date_key(self._last, order))
        self._last = head.date

    @property
    def example_date(self) -> str:
        """A date of the chat as written."""
        return self._first.separator.join(map(str, self._first.date)) if self._first else ""

    def decide_order(self, day_first: bool | None) -> str | None:
        """``ymd``, ``dmy`` or ``mdy``; None where it is undecidable and not given."""
        head = self._first
        if head is None or head.date[0] > 31:
            return "ymd"
        over = self._over_twelve
        if over[0] != over[1] and not all(over):
            return "dmy" if over[0] else "mdy"
        if self._inverted["dmy"] != self._inverted["mdy"]:
            return min(self._inverted, key=lambda order: self._inverted[order])
        if day_first is not None:
            return "dmy" if day_first else "mdy"
        return _order_by_style(head, self._english)


def _date_key(date: tuple[int, int, int], order: str) -> tuple[int, int, int]:
    fields = dict(zip(order, date, strict=True))
    return fields["y"], fields["m"], fields["d"]


def _is_english(rest: str) -> bool | None:
    """Whether the telephone spoke English, as far as a line of the program's own says."""
    return True if _ENGLISH.search(rest[:200]) else False if _OTHERS.search(rest[:200]) else None


def _order_by_style(head: MessageHead, english: bool | None) -> str | None:
    """Decide by the way of writing: only Americans put the month first, and they use slashes and no zeros."""
    if head.separator != "/" or head.padded or head.mark.islower() or english is False:
        return "dmy"
    return "mdy" if not head.long_year and (english or head.mark.isupper()) else None


def find_senders(rests: Iterable[str]) -> frozenset[str]:
    """All speakers, from the texts behind the heads of all lines.

    A name may hold a colon: where all that seems to be said by one begins alike up to another colon, that is the name.
    """
    spaced: Counter[str] = Counter()
    tight: dict[str, list[str]] = {}
    longer: dict[str, Counter[str]] = {}
    for rest in rests:
        plain = rest.lstrip(_INVISIBLE)
        first, colon, others = plain.partition(": ")
        if colon and _may_be_name(first):
            spaced[first] += 1
            second, more, _ = others.partition(": ")
            longer.setdefault(first, Counter())[f"{first}: {second}" if more else ""] += 1
        name, tight_colon, after = plain.partition(":")
        if tight_colon and _may_be_name(name) and not after.startswith((" ", "//")):
            tight.setdefault(name, []).append(first if colon else "")
    names = {_whole_name(name, count, longer[name]) for name, count in spaced.items() if not _is_action(name, spaced)}
    return frozenset(names | {name for name, before in tight.items() if name in spaced or _is_tight(before)})


def _is_tight(before: list[str]) -> bool:
    """Whether a name is written without a space behind its colon, and is not half of a name with a colon in it."""
    return len(before) >= _OFTEN and (len(set(before)) > 1 or not before[0])


def _whole_name(name: str, count: int, longer: Counter[str]) -> str:
    (most, often) = longer.most_common(1)[0]
    return most if most and often == count >= _OFTEN and len(most) <= _LONGEST_NAME else name


def _is_action(name: str, spoken: Counter[str]) -> bool:
    """Whether it is what a person did ("Ann changed the subject to"), and no name."""
    return name.count(" ") > _WORDS_OF_NAME and any(name.startswith(f"{one} ") for one in spoken if one != name)


def _may_be_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and "\n" not in name and not _QUOTES.search(name)


def split_sender(rest: str, senders: frozenset[str]) -> tuple[str, str] | None:
    """Sender and words; None for a line of the program's own. Without known senders, the first colon counts."""
    plain = rest.lstrip(_INVISIBLE)
    for at in (found.start() for found in re.finditer(":", plain[: _LONGEST_NAME + 2])):
        if plain[:at] in senders:
            return plain[:at], plain[at + 1 :].removeprefix(" ")
    if senders:
        return None
    first, colon, words = plain.partition(": ")
    return (first, words) if colon and _may_be_name(first) else None


# -- QQ: a head, then a line with time, name and number before what was said

_QQ_HEAD = "消息记录（此消息记录为文本格式"
_PARTNER = re.compile(r"消息对象[:：]\s*(.*)")
_RULE = re.compile(r"={8,}\s*")
_GROUP = re.compile(r"消息分组[:：]")
_QQ_MESSAGE = re.compile(
    rf"(?P<year>\d{{4}})[-/](?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}}) {CLOCK} +(?P<name>.*?)"
    r"(?:[(（](?P<number>\d{4,12})[)）]|<(?P<mail>[^<>\s]+@[^<>\s]+)>)?\s*"
)
#: Placeholders for what is not text.
_PICTURES = re.compile(r"(?:\[(?:图片|表情|语音|视频|文件|QQ红包|动画表情|分享|闪照)[^\]]{0,40}\]\s*)+")
#: The head of a message is no longer than this.
_LONGEST_HEAD = 500
_SYSTEM_NUMBERS = frozenset(("10000", "1000000", "80000000"))


def _fits_qq(head: str) -> bool:
    start = head[:4_000]
    return _QQ_HEAD in start or bool(_PARTNER.search(start) and _GROUP.search(start))


def _read_qq(reading: Reading) -> Iterator[Found]:
    """The chats of the file, each under its partner."""
    builder = _start_qq_chat("", reading)
    said: re.Match[str] | None = None
    lines: list[str] = []
    for line in reading.read_lines():
        partner = _PARTNER.match(line)
        head = _QQ_MESSAGE.fullmatch(line) if len(line) < _LONGEST_HEAD and not partner else None
        if partner or head:
            _add_qq_message(builder, said, lines, reading)
            said, lines = head, []
        elif not _RULE.fullmatch(line) and not _GROUP.match(line):
            lines.append(line)
        if partner:
            yield from _built_if_seen(builder)
            builder = _start_qq_chat(partner[1].strip(), reading)
    _add_qq_message(builder, said, lines, reading)
    yield from _built_if_seen(builder)


def _start_qq_chat(partner: str, reading: Reading) -> ConversationBuilder:
    key = partner or reading.part.plain_name.rsplit(".", 1)[0]
    return ConversationBuilder(reading.source, make_key(key), key)


def _built_if_seen(builder: ConversationBuilder) -> Iterator[PastConversation]:
    found = builder.build()
    if found.messages or found.left_out:
        yield found


def _add_qq_message(
    builder: ConversationBuilder, head: re.Match[str] | None, lines: Iterable[str], reading: Reading
) -> None:
    if head is None:
        return
    text = "\n".join(lines).strip()
    number = head["number"] or head["mail"] or ""
    speaker, me = head["name"].strip() or number, reading.options.me
    if number in _SYSTEM_NUMBERS or speaker == "系统消息":
        builder.leave_out(LeftOut.SYSTEM)
    elif _PICTURES.fullmatch(text):
        builder.leave_out(LeftOut.ATTACHMENT)
    else:
        try:
            when = datetime(int(head["year"]), int(head["month"]), int(head["day"]), *time_of_day(head.groupdict()))
            said, written = reading.localize_time(when), when.isoformat()
        except ValueError:
            said, written = None, head[0]
        # The number stays when the name changes, so it makes the key.
        key = make_key(number or speaker, written, text) if text else ""
        by = "person" if is_same_name(number, me) else role_of_speaker(speaker, me)
        builder.add_message(builder.number_key(key), by, text, said, speaker)


TEXT_FORMATS = (TextFormat("qq", _fits_qq, _read_qq), TextFormat("whatsapp", _fits_whatsapp, _read_whatsapp))
