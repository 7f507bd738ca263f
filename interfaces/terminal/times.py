"""Times and pauses as a person reads them."""

from __future__ import annotations

from datetime import datetime, timedelta

from interfaces.terminal.messages import Words

_STEPS = (
    ("year", timedelta(days=365)),
    ("month", timedelta(days=60)),
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
)
_UNIT = {
    "year": timedelta(days=365),
    "month": timedelta(days=30),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
}


def local(timestamp: str) -> str:
    """A stored time, here.

    >>> local("2026-03-01T10:00:00+00:00")[:4]
    '2026'
    """
    return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M")


def pause(words: Words, gap: timedelta) -> str:
    """How long a pause was: "3 days later"."""
    for name, least in _STEPS:
        if gap >= least:
            return words.say("open.gap", gap=words.count(name, gap // _UNIT[name]))
    return words.say("open.gap", gap=words.count("hour", 0))


def between(earlier: str, later: str) -> timedelta:
    """From one stored time to another."""
    return datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
