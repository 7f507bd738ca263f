"""Gemini's log as a page, which is what Takeout makes unless it is told otherwise: MyActivity.html."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from histories import omissions
from histories.clocks import written_time
from histories.gemini import BREAKS, Prompted, conversations, prompt_in
from histories.readings import Found, Reading
from histories.streaming import CHUNK

_CELL = '<div class="outer-cell'
#: A cell that is longer than this is none.
_LONGEST_CELL = 1 << 25
_ZONE_OF_CHINA = re.compile(r"(?<=\d) CST$")


def fits(head: str) -> bool:
    """Whether this is a page of activities of Gemini."""
    return _CELL in head and "Gemini" in head and "<html" in head[:4_000].lower()


def read(reading: Reading) -> Iterator[Found]:
    """The conversations of a log that is a page."""
    return conversations((_entry(cell, reading) for cell in _cells(reading)), reading)


def _cells(reading: Reading) -> Iterator[str]:
    """The entries of the page, one at a time."""
    held = ""
    for piece in _pieces(reading):
        held += piece
        *whole, held = held.split(_CELL)
        yield from (cell for cell in whole if "content-cell" in cell)
        if len(held) > _LONGEST_CELL:
            reading.flaw(omissions.TOO_LONG)
            return
    if "</html>" not in held:
        reading.flaw(omissions.CUT)
    elif "content-cell" in held:
        yield held


def _pieces(reading: Reading) -> Iterator[str]:
    """The page in pieces, as far as the file is sound."""
    with reading.sound(), reading.text() as text:
        while piece := text.read(CHUNK):
            yield piece


def _entry(cell: str, reading: Reading) -> Prompted | str:
    parser = _Content()
    parser.feed(f"{_CELL}{cell}")
    parser.close()
    lines = "".join(parser.pieces).split("\n")
    for at, line in enumerate(lines):
        when = written_time(_ZONE_OF_CHINA.sub(" GMT+8" if "年" in line else "", line), reading.options.zone)
        if at and when:
            answer = re.sub(r"\n{3,}", "\n\n", "\n".join(lines[at + 1 :])).strip()
            question = prompt_in("\n".join(lines[:at]), bool(answer))
            return Prompted(when, question, answer) if question else omissions.NO_TALK
    return omissions.NO_TALK


class _Content(HTMLParser):
    """Collects the words of the cell that tells what was done."""

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
        elif (
            tag == "div" and not self._done and "content-cell" in kinds and "mdl-typography--body-1" in kinds
        ):
            self._depth = 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag == "div":
            self._depth -= 1
            self._done = not self._depth

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.pieces.append(data.replace("\n", " ") if not data.strip() else data)
