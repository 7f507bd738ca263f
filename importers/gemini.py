"""Gemini's part of Google Takeout: an activity log, newest first, of prompts with or without their answers.

It knows no conversations. Entries of one thread, where it is named, and else those that follow one another within half
an hour, are one; the key of such a conversation begins with the instant of its first prompt. Which prompt is the first
changes when Google deletes what is old, so a message is known by its own instant in all of the log.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import Any

from domain.imports import PastConversation
from importers.json_stream import CHUNK, as_list, as_object, as_text, objects_in
from importers.reading import (
    SHAPE_ERRORS,
    ConversationBuilder,
    Found,
    JsonFormat,
    LeftOut,
    NotRead,
    Reading,
    TextFormat,
)
from language.instants import utc_name, written_time

_PAUSE = timedelta(minutes=30)
#: The words before a prompt in each language; what is no prompt begins otherwise and has no answer.
_PROMPTED = re.compile(
    r"^(?:Prompted|Asked|Said|Prompt eingegeben|Gefragt|Requête|Prompt saisi|Solicitud|Has preguntado|Richiesta"
    r"|送信したプロンプト|プロンプト|提示|已提示|您提示|提问|已提问|已发送提示|發送提示|已傳送提示|输入了|输入的提示|프롬프트)\s*[:：]?\s*(?=\S)"
)
_LOG = "log"
_THREAD = re.compile(r"/app/(?:[^/?#]*/)*([0-9A-Za-z_-]{6,})")
BREAKS = frozenset(("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol", "table"))


@dataclass(frozen=True)
class ActivityEntry:
    """One entry of the log: a prompt and its answer, either of which may be empty."""

    said: datetime | None
    question: str
    answer: str
    thread: str = ""


def _fits_entry(element: Mapping[str, Any]) -> bool:
    """Whether this is an entry of the log of Gemini, in whatever language."""
    named = [as_text(element.get("header")), *(one for one in as_list(element.get("products")) if isinstance(one, str))]
    return any("Gemini" in one or "Bard" in one for one in named) and ("time" in element or "title" in element)


def _read_log(reading: Reading) -> Iterator[Found]:
    return _group_conversations((_parse_entry(element, reading) for _, element in reading.read_elements()), reading)


def _group_conversations(found: Iterable[ActivityEntry | str], reading: Reading) -> Iterator[Found]:
    """Entries that belong together, in the order in which they were said; a text is a reason to leave one out."""
    group: list[ActivityEntry] = []
    left_out: Counter[str] = Counter()
    equal: Counter[datetime | None] = Counter()
    for entry in found:
        if isinstance(entry, str):
            left_out[entry] += 1
            continue
        if group and not _belong_together(group[-1], entry):
            yield _build_conversation(group, left_out, equal, reading)
            group, left_out = [], Counter()
        group.append(entry)
    if group or left_out:
        yield _build_conversation(group, left_out, equal, reading)


def _belong_together(one: ActivityEntry, other: ActivityEntry) -> bool:
    if one.thread or other.thread:
        return one.thread == other.thread
    if one.said is None or other.said is None:
        return one.said is other.said
    return abs(one.said - other.said) <= _PAUSE


def _build_conversation(
    group: list[ActivityEntry], left_out: Mapping[str, int], equal: Counter[datetime | None], reading: Reading
) -> PastConversation:
    keyed = []
    for entry in group:
        equal[entry.said] += 1
        # The instant, and the how manieth of that instant it is.
        ordinal = f"~{equal[entry.said]}" if equal[entry.said] > 1 else ""
        keyed.append((entry, utc_name(entry.said) + ordinal if entry.said else ""))
    began, ended = (group[0].said, group[-1].said) if group else (None, None)
    if began is None or ended is None or began >= ended:
        keyed.reverse()
    first = keyed[0][1] if keyed else "log"
    thread = group[0].thread if group else ""
    builder = ConversationBuilder(reading.source, f"{first} {thread}".strip())
    for entry, key in keyed:
        if entry.question:
            builder.add_message(f"{key}/prompt" if key else "", "person", entry.question, entry.said)
        if entry.answer:
            builder.add_message(f"{key}/answer" if key else "", "companion", entry.answer, entry.said)
    for reason, count in left_out.items():
        builder.leave_out(reason, count)
    dated = all(entry.said for entry in group)
    return replace(builder.build(), log=_LOG if dated else "")


def _parse_entry(given: Any, reading: Reading) -> ActivityEntry | str:
    """An entry; a malformed one costs only itself."""
    element = as_object(given)
    if not element:
        return LeftOut.MISSHAPEN
    try:
        question, answer = _from_details(element)
        if not question and not answer:
            items = objects_in(element.get("safeHtmlItem"))
            answer = "\n\n".join(_html_to_text(as_text(one.get("html"))) for one in items)
            question = _parse_prompt(as_text(element.get("title")), bool(answer))
        said, thread = reading.parse_time(element.get("time")), _THREAD.search(as_text(element.get("titleUrl")))
    except SHAPE_ERRORS:
        return LeftOut.MISSHAPEN
    return ActivityEntry(said, question, answer, thread[1] if thread else "") if question else LeftOut.NO_TALK


def _parse_prompt(title: str, answered: bool) -> str:
    """What was asked, without the verb before it; nothing where the title describes something else."""
    title = title.replace("\u00a0", " ").strip()
    found = _PROMPTED.match(title)
    return title[found.end() :].strip() if found else title if answered else ""


def _from_details(element: Mapping[str, Any]) -> tuple[str, str]:
    named = {as_text(one.get("name")).lower(): as_text(one.get("value")) for one in objects_in(element.get("details"))}
    if named.get("request"):
        return _unwrap_text(named["request"]), _unwrap_text(named.get("response", ""))
    talks = [as_object(one, "userInteraction") for one in objects_in(element.get("userInteractions"))]
    asked = (_unwrap_text(one.get("request")) for one in talks)
    answered = (_unwrap_text(one.get("response")) for one in talks)
    return "\n\n".join(filter(None, asked)), "\n\n".join(filter(None, answered))


def _unwrap_text(value: Any) -> str:
    """A text that may be JSON in a text, or an object that holds it."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value.strip() if isinstance(value, str) else ""
    if isinstance(value, list):
        return "\n\n".join(filter(None, (_unwrap_text(one) for one in value)))
    if isinstance(value, dict):
        return next(filter(None, (_unwrap_text(value.get(key)) for key in _HOLDERS)), "")
    return as_text(value).strip()


_HOLDERS = ("text", "prompt", "content", "message", "query", "response", "parts", "candidates")


class _Plain(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BREAKS:
            self.pieces.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in BREAKS and tag != "li":
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)


def _html_to_text(html: str) -> str:
    """The words of HTML, a line for each block."""
    parser = _Plain()
    parser.feed(html)
    parser.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(parser.pieces)).strip()


# -- the log as a page, which Takeout makes by default: MyActivity.html

_CELL = '<div class="outer-cell'
#: A cell that is longer than this is none.
_LONGEST_CELL = 1 << 25
_ZONE_OF_CHINA = re.compile(r"(?<=\d) CST$")


def _fits_page(head: str) -> bool:
    return _CELL in head and "Gemini" in head and "<html" in head[:4_000].lower()


def _read_page(reading: Reading) -> Iterator[Found]:
    return _group_conversations((_parse_cell(cell, reading) for cell in _read_cells(reading)), reading)


def _read_cells(reading: Reading) -> Iterator[str]:
    """The entries of the page, one at a time."""
    pending = ""
    with reading.tolerate_damage(), reading.open_text() as text:
        while piece := text.read(CHUNK):
            *whole, pending = (pending + piece).split(_CELL)
            yield from (cell for cell in whole if "content-cell" in cell)
            if len(pending) > _LONGEST_CELL:
                reading.add_problem(NotRead.TOO_LONG)
                return
    if "</html>" not in pending:
        reading.add_problem(NotRead.CUT)
    elif "content-cell" in pending:
        yield pending


def _parse_cell(cell: str, reading: Reading) -> ActivityEntry | str:
    parser = _Content()
    parser.feed(f"{_CELL}{cell}")
    parser.close()
    lines = "".join(parser.pieces).split("\n")
    for at, line in enumerate(lines):
        when = written_time(_ZONE_OF_CHINA.sub(" GMT+8" if "年" in line else "", line), reading.options.zone)
        if at and when:
            answer = re.sub(r"\n{3,}", "\n\n", "\n".join(lines[at + 1 :])).strip()
            question = _parse_prompt("\n".join(lines[:at]), bool(answer))
            return ActivityEntry(when, question, answer) if question else LeftOut.NO_TALK
    return LeftOut.NO_TALK


class _Content(HTMLParser):
    """Collects the text of the cell that describes an action."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._depth = 0
        self._done = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = (dict(attrs).get("class") or "").split()
        if self._depth and tag in BREAKS:
            self.pieces.append("\n- " if tag == "li" else "\n")
        if tag == "div" and self._depth:
            self._depth += 1
        elif tag == "div" and not self._done and "content-cell" in kinds and "mdl-typography--body-1" in kinds:
            self._depth = 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag == "div":
            self._depth -= 1
            self._done = not self._depth

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.pieces.append(data.replace("\n", " ") if not data.strip() else data)


JSON_FORMATS = (JsonFormat("gemini", _fits_entry, _read_log),)
TEXT_FORMATS = (TextFormat("gemini", _fits_page, _read_page),)
