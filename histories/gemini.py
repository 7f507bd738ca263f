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

from domain.histories import PastConversation
from histories import omissions
from histories.instants import utc_name
from histories.readings import STUMBLES, Found, Reading
from histories.shapes import entries, record, records, text
from histories.talks import Talk

_PAUSE = timedelta(minutes=30)
#: What stands before a prompt in each language; what is no prompt begins otherwise and has no answer.
_PROMPTED = re.compile(
    r"^(?:Prompted|Asked|Said|Prompt eingegeben|Gefragt|Requête|Prompt saisi|Solicitud|Has preguntado|Richiesta"
    r"|送信したプロンプト|プロンプト|提示|已提示|您提示|提问|已提问|已发送提示|發送提示|已傳送提示|输入了|输入的提示|프롬프트)\s*[:：]?\s*(?=\S)"
)
_LOG = "log"
_THREAD = re.compile(r"/app/(?:[^/?#]*/)*([0-9A-Za-z_-]{6,})")
BREAKS = frozenset(
    ("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol", "table")
)


@dataclass(frozen=True)
class Prompted:
    """One entry of the log: a prompt and its answer, either of which may be empty."""

    said: datetime | None
    question: str
    answer: str
    thread: str = ""


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is an entry of the log of Gemini, in whatever language."""
    named = [
        text(element.get("header")),
        *(one for one in entries(element.get("products")) if isinstance(one, str)),
    ]
    return any("Gemini" in one or "Bard" in one for one in named) and (
        "time" in element or "title" in element
    )


def read(reading: Reading) -> Iterator[Found]:
    """The conversations of a log in JSON."""
    return conversations((_safely(record(element), reading) for _, element in reading.elements()), reading)


def conversations(found: Iterable[Prompted | str], reading: Reading) -> Iterator[Found]:
    """Entries that belong together, in the order in which they were said; a text is a reason to leave one out."""
    group: list[Prompted] = []
    left_out: Counter[str] = Counter()
    equal: Counter[datetime | None] = Counter()
    for entry in found:
        if isinstance(entry, str):
            left_out[entry] += 1
            continue
        if group and not _together(group[-1], entry):
            yield _talk(group, left_out, equal, reading)
            group, left_out = [], Counter()
        group.append(entry)
    if group or left_out:
        yield _talk(group, left_out, equal, reading)


def _together(one: Prompted, other: Prompted) -> bool:
    if one.thread or other.thread:
        return one.thread == other.thread
    if one.said is None or other.said is None:
        return one.said is other.said
    return abs(one.said - other.said) <= _PAUSE


def _talk(
    group: list[Prompted], left_out: Mapping[str, int], equal: Counter[datetime | None], reading: Reading
) -> PastConversation:
    keyed = []
    for entry in group:
        equal[entry.said] += 1
        keyed.append((entry, _key(entry, equal[entry.said])))
    if _newest_first(group):
        keyed.reverse()
    first = keyed[0][1] if keyed else "log"
    thread = group[0].thread if group else ""
    talk = Talk(reading.source, f"{first} {thread}".strip())
    for entry, key in keyed:
        if entry.question:
            talk.take(f"{key}/prompt" if key else "", "person", entry.question, entry.said)
        if entry.answer:
            talk.take(f"{key}/answer" if key else "", "companion", entry.answer, entry.said)
    for reason, count in left_out.items():
        talk.leave(reason, count)
    dated = all(entry.said for entry in group)
    return replace(talk.finished(), log=_LOG if dated else "")


def _key(entry: Prompted, ordinal: int) -> str:
    """The instant, and the how manieth of that instant it is."""
    if entry.said is None:
        return ""
    return utc_name(entry.said) + (f"~{ordinal}" if ordinal > 1 else "")


def _newest_first(group: list[Prompted]) -> bool:
    first, last = group[0].said if group else None, group[-1].said if group else None
    return first is None or last is None or first >= last


def _safely(element: Mapping[str, Any], reading: Reading) -> Prompted | str:
    """An entry; one whose shape nobody foresaw costs only itself."""
    try:
        return _entry(element, reading)
    except STUMBLES:
        return omissions.MISSHAPEN_MESSAGE


def _entry(element: Mapping[str, Any], reading: Reading) -> Prompted | str:
    if not element:
        return omissions.MISSHAPEN_MESSAGE
    question, answer = _inside(element)
    if not question and not answer:
        question, answer = _titled(element)
    if not question:
        return omissions.NO_TALK
    thread = _THREAD.search(text(element.get("titleUrl")))
    return Prompted(reading.time(element.get("time")), question, answer, thread[1] if thread else "")


def _titled(element: Mapping[str, Any]) -> tuple[str, str]:
    """The prompt in the title, the answer in HTML."""
    answer = "\n\n".join(plain(text(one.get("html"))) for one in records(element.get("safeHtmlItem")))
    return prompt_in(text(element.get("title")), bool(answer)), answer


def prompt_in(title: str, answered: bool) -> str:
    """What was asked, without the verb before it; nothing where the title tells of something else."""
    title = title.replace("\u00a0", " ").strip()
    found = _PROMPTED.match(title)
    return title[found.end() :].strip() if found else title if answered else ""


def _inside(element: Mapping[str, Any]) -> tuple[str, str]:
    """Prompt and answer where they stand under names."""
    named = {text(one.get("name")).lower(): text(one.get("value")) for one in records(element.get("details"))}
    if named.get("request"):
        return _unpacked(named["request"]), _unpacked(named.get("response", ""))
    talks = [record(one, "userInteraction") for one in records(element.get("userInteractions"))]
    asked = (_unpacked(one.get("request")) for one in talks)
    answered = (_unpacked(one.get("response")) for one in talks)
    return "\n\n".join(filter(None, asked)), "\n\n".join(filter(None, answered))


def _unpacked(value: Any) -> str:
    """A text that may be JSON in a text, or an object that holds it."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value.strip() if isinstance(value, str) else ""
    if isinstance(value, list):
        return "\n\n".join(filter(None, (_unpacked(one) for one in value)))
    if isinstance(value, dict):
        return next(filter(None, (_unpacked(value.get(key)) for key in _HOLDERS)), "")
    return text(value).strip()


_HOLDERS = ("text", "prompt", "content", "message", "query", "response", "parts", "candidates")


class _Plain(HTMLParser):
    """Collects the words of HTML."""

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


def plain(html: str) -> str:
    """The words of HTML, a line for each block."""
    parser = _Plain()
    parser.feed(html)
    parser.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(parser.pieces)).strip()
