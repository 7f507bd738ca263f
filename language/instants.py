"""Instants as other programs write them: Unix time, ISO 8601, twelve hours in several languages, month names, zones.

What cannot be read is None, never a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

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
#: Offsets in hours of named zones; ambiguous names are left out.
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
    """A date with a time of day, as web pages show it, in the zone it names, or else in ``zone``.

    >>> written_time("Mar 2, 2026, 9:15:00\\u202fAM GMT+8", None).isoformat()
    '2026-03-02T09:15:00+08:00'
    """
    text = text.translate(ODD_SPACES).strip()
    day = _parse_day(text)
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
    return with_zone(when, _parse_zone(text[clock.end() :].strip()) or zone)


def _parse_day(text: str) -> tuple[tuple[int, int, int], int] | None:
    """Year, month and day at the beginning of a text, and where they end."""
    if found := _YEAR_FIRST.match(text):
        return (int(found[1]), int(found[2]), int(found[3])), found.end()
    if found := _DAY_FIRST.match(text):
        return (int(found[3]), int(found[2]), int(found[1])), found.end()
    found = _DAY_NAMED.match(text) or _MONTH_NAMED.match(text)
    month = _MONTHS.get(found["month"].lower()) if found else None
    return ((int(found["year"]), month, int(found["day"])), found.end()) if found and month else None


def _parse_zone(name: str) -> tzinfo | None:
    if offset := _OFFSET.match(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes)) if minutes < 1440 else None
    hours = _ZONES.get(name.lower())
    return None if hours is None else UTC if hours == 0 else timezone(timedelta(hours=hours))


#: Above each of these a Unix time counts in finer units than seconds.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


class MachineZone(tzinfo):
    """The time zone of this machine, with its summer times."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        """How far the machine's clock is ahead of UTC then."""
        try:
            return when.replace(tzinfo=None).astimezone().utcoffset() if when else None
        except (OverflowError, ValueError, OSError):
            return timedelta()

    def dst(self, when: datetime | None) -> timedelta | None:
        """Unknown; it is part of the offset."""
        return None

    def tzname(self, when: datetime | None) -> str:
        """Its name."""
        return "local"


def parse_instant(value: Any, zone: tzinfo | None = None) -> datetime | None:
    """A time from a JSON value: Unix time in any unit, ISO 8601, or Mongo's form.

    A time without an offset is in ``zone``; None without a zone.

    >>> parse_instant(1756000001.0).isoformat(), parse_instant("2026-01-03T19:02:12+08:00").isoformat()
    ('2025-08-24T01:46:41+00:00', '2026-01-03T19:02:12+08:00')
    """
    if isinstance(value, dict):
        inner = value.get("$date", value.get("$numberLong"))
        return parse_instant(inner, zone) if inner is not None else None
    if isinstance(value, str):
        return parse_timestamp(value, zone)
    return parse_epoch(_parse_number(value))


def _parse_number(value: Any) -> float:
    """A number, also written as text; 0 for anything else."""
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def parse_epoch(seconds: float) -> datetime | None:
    """A Unix time in seconds, or in a finer unit if it would be too far in the future."""
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    divisor = next((unit for above, unit in _UNITS if seconds > above), 1.0)
    try:
        return datetime.fromtimestamp(seconds / divisor, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def parse_timestamp(written: str, zone: tzinfo | None = None) -> datetime | None:
    """ISO 8601, or a Unix time in digits."""
    written = written.strip()
    try:
        return with_zone(datetime.fromisoformat(written.replace(" UTC", "+00:00")), zone)
    except ValueError:
        return parse_epoch(_parse_number(written))


def with_zone(local: datetime, zone: tzinfo | None) -> datetime | None:
    """A time with an offset: its own, or that of the zone; None without either."""
    if local.tzinfo is not None:
        return _with_fixed_offset(local)
    return _with_fixed_offset(local.replace(tzinfo=zone)) if zone is not None else None


def _with_fixed_offset(when: datetime) -> datetime | None:
    """The same time with a fixed offset; None if no such time exists."""
    try:
        offset = when.utcoffset()
        when.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return when.replace(tzinfo=timezone(offset)) if offset is not None else None


def utc_name(when: datetime) -> str:
    """The instant as ISO 8601 in UTC."""
    return when.astimezone(UTC).isoformat()
