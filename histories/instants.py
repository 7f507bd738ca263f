"""When something was said, as files of other programs tell it. What cannot be told is None, never a guess."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

from histories.shapes import number

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
        """Unknown; the offset holds it."""
        return None

    def tzname(self, when: datetime | None) -> str:
        """Its name."""
        return "local"


def instant(value: Any, zone: tzinfo | None = None) -> datetime | None:
    """A time that stands somewhere in JSON: Unix time in any unit, ISO 8601, or the way of Mongo.

    A local time is one of ``zone``, or None where no zone is given.

    >>> instant(1756000001.0).isoformat(), instant("2026-01-03T19:02:12+08:00").isoformat()
    ('2025-08-24T01:46:41+00:00', '2026-01-03T19:02:12+08:00')
    """
    if isinstance(value, dict):
        inner = value.get("$date", value.get("$numberLong"))
        return instant(inner, zone) if inner is not None else None
    if isinstance(value, str):
        return from_words(value, zone)
    return epoch(number(value))


def epoch(seconds: float) -> datetime | None:
    """A Unix time in seconds, or in milliseconds, microseconds or nanoseconds where it would be too far off."""
    if not math.isfinite(seconds) or seconds <= 0:
        return None
    divisor = next((unit for above, unit in _UNITS if seconds > above), 1.0)
    try:
        return datetime.fromtimestamp(seconds / divisor, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def from_words(written: str, zone: tzinfo | None = None) -> datetime | None:
    """ISO 8601, or a Unix time in digits."""
    written = written.strip()
    try:
        return placed(datetime.fromisoformat(written.replace(" UTC", "+00:00")), zone)
    except ValueError:
        return epoch(number(written))


def placed(local: datetime, zone: tzinfo | None) -> datetime | None:
    """A time with its offset; a local one gets that of the zone, and is None without one."""
    if local.tzinfo is not None:
        return _fixed(local)
    return _fixed(local.replace(tzinfo=zone)) if zone is not None else None


def _fixed(when: datetime) -> datetime | None:
    """The same time with an offset that stands for itself, if there is such a time at all."""
    try:
        offset = when.utcoffset()
        when.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return when.replace(tzinfo=timezone(offset)) if offset is not None else None


def utc_name(when: datetime) -> str:
    """The instant as a text that is the same in whatever zone it was told."""
    return when.astimezone(UTC).isoformat()
