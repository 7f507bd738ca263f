"""Times as people's programs write them: twelve hours in several languages, month names, odd spaces, names of zones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from histories.instants import placed

_MORNING = ("am", "a.m.", "a. m.", "上午", "凌晨", "早上", "清晨", "午前", "오전")
_EVENING = ("pm", "p.m.", "p. m.", "下午", "晚上", "傍晚", "中午", "午後", "오후")
MARKS = "|".join(re.escape(mark) for mark in sorted(_MORNING + _EVENING, key=len, reverse=True))
#: A time of day. ``before`` and ``after`` are where a language puts its mark.
CLOCK = (
    rf"(?:(?P<before>{MARKS}) ?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"(?: ?(?P<after>{MARKS})(?![a-z]))?"
)
#: Spaces that are no plain space, one for one, so that places in the text stay.
ODD_SPACES = str.maketrans({"\u202f": " ", "\u00a0": " ", "\u2009": " ", "\u3000": " "})

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio", "feb february februar février febrero febbraio",
            "mar march märz mär mars marzo", "apr april avril abril aprile", "may mai mayo maggio",
            "jun june juni juin junio giugno", "jul july juli juillet julio luglio", "aug august août agosto",
            "sep sept september septembre septiembre settembre", "oct october oktober okt octobre octubre ottobre",
            "nov november novembre noviembre", "dec december dezember dez décembre diciembre dicembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
#: Offsets in hours of zones that are named; a name that stands for several is not here.
_ZONES: Mapping[str, float] = {
    "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "eet": 2,
    "eest": 3, "msk": 3, "hkt": 8, "sgt": 8, "jst": 9, "kst": 9, "est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6,
    "pst": -8, "pdt": -7,
}  # fmt: skip
_WRITTEN_CLOCK = re.compile(CLOCK, re.IGNORECASE)
_YEAR_FIRST = re.compile(r"(\d{4})\s*[-年./]\s*(\d{1,2})\s*[-月./]\s*(\d{1,2})")
_DAY_FIRST = re.compile(r"(\d{1,2})[./-]\s?(\d{1,2})[./-]\s?(\d{4})")
_DAY_NAMED = re.compile(r"(?P<day>\d{1,2})\.?\s+(?P<month>[^\W\d]{3,})\.?,?\s+(?P<year>\d{4})")
_MONTH_NAMED = re.compile(r"(?P<month>[^\W\d]{3,})\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})")
_OFFSET = re.compile(r"^(?:utc|gmt)?\s?([+-])(\d{1,2}):?(\d{2})?$", re.IGNORECASE)


def hour_of(hour: int, mark: str | None) -> int:
    """The hour of twenty-four.

    >>> hour_of(12, "am"), hour_of(2, "下午"), hour_of(11, "中午"), hour_of(19, None)
    (0, 14, 11, 19)
    """
    if not mark or hour > 12:
        return hour
    if mark.lower() in _MORNING:
        return hour % 12
    return hour if mark == "中午" and hour > 10 else hour % 12 + 12


def time_of_day(found: Mapping[str, str | None]) -> tuple[int, int, int]:
    """Hour, minute and second by the groups of ``CLOCK``."""
    mark = found["before"] or found["after"]
    return hour_of(int(found["hour"] or 0), mark), int(found["minute"] or 0), int(found["second"] or 0)


def written_time(text: str, zone: tzinfo | None) -> datetime | None:
    """A date with a time of day, as a page shows it; with the zone that it names, or the one that is handed in.

    >>> written_time("Mar 2, 2026, 9:15:00\\u202fAM GMT+8", None).isoformat()
    '2026-03-02T09:15:00+08:00'
    """
    text = text.translate(ODD_SPACES).strip()
    day = _day(text)
    if day is None:
        return None
    (year, month, date), end = day
    clock = _WRITTEN_CLOCK.search(text, end)
    if clock is None:
        return None
    try:
        when = datetime(year, month, date, *time_of_day(clock.groupdict()))
    except ValueError:
        return None
    return placed(when, _zone(text[clock.end() :].strip()) or zone)


def _day(text: str) -> tuple[tuple[int, int, int], int] | None:
    """Year, month and day at the beginning of a text, and where they end."""
    if found := _YEAR_FIRST.match(text):
        return (int(found[1]), int(found[2]), int(found[3])), found.end()
    if found := _DAY_FIRST.match(text):
        return (int(found[3]), int(found[2]), int(found[1])), found.end()
    found = _DAY_NAMED.match(text) or _MONTH_NAMED.match(text)
    month = _MONTHS.get(found["month"].lower()) if found else None
    return ((int(found["year"]), month, int(found["day"])), found.end()) if found and month else None


def _zone(name: str) -> tzinfo | None:
    if offset := _OFFSET.match(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return (
            timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes)) if minutes < 1440 else None
        )
    hours = _ZONES.get(name.lower())
    return None if hours is None else UTC if hours == 0 else timezone(timedelta(hours=hours))
