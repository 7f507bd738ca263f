"""Exports that are tables of text (CSV): Microsoft Copilot's, and WeChat's as WeChatMsg saves it.

Rows of one conversation are adjacent; where times decrease from row to row, the newest is first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from domain.imports import PastConversation, Spoken
from importers.conversation_builder import ConversationBuilder, LeftOut, role_of_speaker
from importers.json_values import as_name
from importers.reading import Found, NotRead, Reading
from language.instants import written_time

#: The longest cell; a longer one is no message.
_LONGEST_CELL = 1 << 24
_COPILOT = ({"conversation", "time", "author", "message"}, {"createdat", "messagecontent", "author", "chatname"})
_WECHAT = {"issender", "createtime", "strcontent"}
_COMPANION = frozenset(("ai", "copilot", "assistant", "bot"))
_WECHAT_TEXT, _WECHAT_SYSTEM = "1", "10000"

Row = Mapping[str, str]


def fits_copilot(head: str) -> bool:
    """Whether the first line names the columns of Copilot's export."""
    return any(columns <= _column_names(head) for columns in _COPILOT)


def fits_wechat(head: str) -> bool:
    """Whether the first line names the columns of WeChatMsg's export."""
    return _column_names(head) >= _WECHAT


def _column_names(head: str) -> set[str]:
    line = head.lstrip("\ufeff").split("\n", 1)[0]
    return {cell.strip().lower() for cell in next(csv.reader([line]), [])} if len(line) < 10_000 else set()


def _read_rows(reading: Reading) -> Iterator[Row]:
    """The rows, each by its columns in small letters, as far as the file is sound."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        with reading.tolerate_damage(), reading.open_text(newline="") as text:
            yield from _parse_rows(text, reading)
    except csv.Error as error:
        reading.add_problem(NotRead.BROKEN, said=str(error))
    finally:
        csv.field_size_limit(before)


def _parse_rows(text: io.TextIOWrapper, reading: Reading) -> Iterator[Row]:
    """The rows that are whole; a last one that is not was cut off."""
    rows = csv.reader(line.replace("\0", "") for line in text)
    columns = [cell.strip().lower() for cell in next(rows, [])]
    short = False
    for row in filter(None, rows):
        if short:
            reading.add_problem(NotRead.BROKEN, said=f"{rows.line_num}")
        short = len(row) < len(columns)
        if not short:
            yield dict(zip(columns, row, strict=False))
    if short:
        reading.add_problem(NotRead.CUT)


# -- Copilot


def read_copilot(reading: Reading) -> Iterator[Found]:
    """Copilot's conversations, of either layout of columns."""
    for title, rows in groupby(_read_rows(reading), lambda row: row.get("conversation") or row.get("chatname") or ""):
        yield _copilot_conversation(title, list(rows), reading)


def _copilot_conversation(title: str, rows: list[Row], reading: Reading) -> PastConversation:
    builder = ConversationBuilder(reading.source, "", title)
    written = [row.get("time") or row.get("createdat") or "" for row in rows]
    said = [reading.parse_time(one) or written_time(one, reading.options.zone) for one in written]
    known = [one for one in said if one]
    entries = list(zip(rows, written, said, strict=True))
    for row, when, instant in reversed(entries) if known and known[0] > known[-1] else entries:
        author = row.get("author", "")
        by: Spoken = "companion" if author.strip().lower() in _COMPANION else "person"
        builder.add_message("", by, row.get("message") or row.get("messagecontent") or "", instant, author, when)
    return builder.build()


# -- WeChat


def read_wechat(reading: Reading) -> Iterator[Found]:
    """The chats of a WeChatMsg file, one per partner."""
    for key, rows in groupby(_read_rows(reading), _partner_name):
        yield _wechat_conversation(key, rows, reading)


def _partner_name(row: Row) -> str:
    return row.get("strtalker") or row.get("talkerid") or row.get("remark") or row.get("nickname") or ""


def _wechat_conversation(key: str, rows: Iterable[Row], reading: Reading) -> PastConversation:
    builder = ConversationBuilder(reading.source, key or reading.part.plain_name)
    for row in rows:
        if not builder.title:
            builder.title = row.get("remark") or row.get("nickname") or key
        _add_wechat_message(builder, row, reading)
    return builder.build()


def _add_wechat_message(builder: ConversationBuilder, row: Row, reading: Reading) -> None:
    kind = row.get("type", _WECHAT_TEXT).strip()
    if kind != _WECHAT_TEXT:
        builder.leave_out(LeftOut.SYSTEM if kind == _WECHAT_SYSTEM else LeftOut.ATTACHMENT)
        return
    speaker = row.get("sender") or row.get("remark") or row.get("nickname") or ""
    mine = row.get("issender", "").strip() == "1"
    by = "person" if mine else role_of_speaker(speaker, reading.options.me)
    own_key = as_name(row.get("msgsvrid") or row.get("localid"))
    builder.add_message(
        own_key,
        by,
        row.get("strcontent", ""),
        reading.parse_time(row.get("createtime")),
        speaker,
        row.get("createtime", ""),
    )
