"""Exports that are tables of text (CSV): Microsoft Copilot's, and WeChat's as WeChatMsg saves it.

Rows of one conversation stand together; where its times fall from row to row, the newest stands first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from domain.histories import PastConversation, Spoken
from histories import omissions
from histories.clocks import written_time
from histories.readings import Found, Reading
from histories.shapes import name
from histories.talks import Talk, spoken_by

#: The longest cell; a longer one is no message.
_LONGEST_CELL = 1 << 24
_COPILOT = (
    {"conversation", "time", "author", "message"},
    {"createdat", "messagecontent", "author", "chatname"},
)
_WECHAT = {"issender", "createtime", "strcontent"}
_COMPANION = frozenset(("ai", "copilot", "assistant", "bot"))
_WECHAT_TEXT, _WECHAT_SYSTEM = "1", "10000"

Row = Mapping[str, str]


def fits_copilot(head: str) -> bool:
    """Whether the first line names the columns of Copilot's export."""
    return any(columns <= _columns(head) for columns in _COPILOT)


def fits_wechat(head: str) -> bool:
    """Whether the first line names the columns of WeChatMsg's export."""
    return _columns(head) >= _WECHAT


def _columns(head: str) -> set[str]:
    line = head.lstrip("\ufeff").split("\n", 1)[0]
    return {cell.strip().lower() for cell in next(csv.reader([line]), [])} if len(line) < 10_000 else set()


def _rows(reading: Reading) -> Iterator[Row]:
    """The rows, each by its columns in small letters, as far as the file is sound."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        with reading.sound(), reading.text(newline="") as text:
            yield from _parsed(text, reading)
    except csv.Error as error:
        reading.flaw(omissions.BROKEN, said=str(error))
    finally:
        csv.field_size_limit(before)


def _parsed(text: io.TextIOWrapper, reading: Reading) -> Iterator[Row]:
    """The rows that are whole; a last one that is not was cut off."""
    rows = csv.reader(line.replace("\0", "") for line in text)
    columns = [cell.strip().lower() for cell in next(rows, [])]
    short = False
    for row in filter(None, rows):
        if short:
            reading.flaw(omissions.BROKEN, said=f"{rows.line_num}")
        short = len(row) < len(columns)
        if not short:
            yield dict(zip(columns, row, strict=False))
    if short:
        reading.flaw(omissions.CUT)


# -- Copilot


def read_copilot(reading: Reading) -> Iterator[Found]:
    """Copilot's conversations, of either layout of columns."""
    for title, rows in groupby(
        _rows(reading), lambda row: row.get("conversation") or row.get("chatname") or ""
    ):
        yield _copilot_talk(title, list(rows), reading)


def _copilot_talk(title: str, rows: list[Row], reading: Reading) -> PastConversation:
    talk = Talk(reading.source, "", title)
    written = [row.get("time") or row.get("createdat") or "" for row in rows]
    said = [reading.time(one) or written_time(one, reading.options.zone) for one in written]
    known = [one for one in said if one]
    told = list(zip(rows, written, said, strict=True))
    for row, when, instant in reversed(told) if known and known[0] > known[-1] else told:
        author = row.get("author", "")
        by: Spoken = "companion" if author.strip().lower() in _COMPANION else "person"
        talk.take("", by, row.get("message") or row.get("messagecontent") or "", instant, author, when)
    return talk.finished()


# -- WeChat


def read_wechat(reading: Reading) -> Iterator[Found]:
    """The chats of a WeChatMsg file, each with somebody."""
    for key, rows in groupby(_rows(reading), _talker):
        yield _wechat_talk(key, rows, reading)


def _talker(row: Row) -> str:
    return row.get("strtalker") or row.get("talkerid") or row.get("remark") or row.get("nickname") or ""


def _wechat_talk(key: str, rows: Iterable[Row], reading: Reading) -> PastConversation:
    talk = Talk(reading.source, key or reading.part.plain_name)
    for row in rows:
        if not talk.title:
            talk.title = row.get("remark") or row.get("nickname") or key
        _take_wechat(talk, row, reading)
    return talk.finished()


def _take_wechat(talk: Talk, row: Row, reading: Reading) -> None:
    kind = row.get("type", _WECHAT_TEXT).strip()
    if kind != _WECHAT_TEXT:
        talk.leave(omissions.SYSTEM if kind == _WECHAT_SYSTEM else omissions.ATTACHMENT)
        return
    speaker = row.get("sender") or row.get("remark") or row.get("nickname") or ""
    mine = row.get("issender", "").strip() == "1"
    by = "person" if mine else spoken_by(speaker, reading.options.me)
    own_key = name(row.get("msgsvrid") or row.get("localid"))
    talk.take(
        own_key,
        by,
        row.get("strcontent", ""),
        reading.time(row.get("createtime")),
        speaker,
        row.get("createtime", ""),
    )
