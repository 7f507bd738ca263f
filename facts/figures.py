"""The numbers and days that some turns bear out, and whether those of a statement are among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property

from domain.text import pattern_of
from facts.ages import birth_years
from facts.dates import DAY_NAMES, MONTH_NAMES, Days, derivable, span_of, told_days, weekday_of, written_dates
from facts.evidence import Source
from facts.guarded import holds_any
from facts.numbers import asserted, mentioned, value_of

_NAMES = "|".join(MONTH_NAMES)
_DAY_AND_MONTH = pattern_of(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_NAMES})\b"
    rf"|\b(?P<month2>{_NAMES}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b"
    r"|(?P<month3>\d{1,2}|[一二三四五六七八九十]{1,2})月(?P<day3>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?",
    re.IGNORECASE,
)
_MONTH = pattern_of(
    rf"\b(?:in|of|since|until|till|by|from|during|early|late|mid|to|for)[ -](?P<month>{_NAMES})\b"
    r"|(?<![\d个一二三四五六七八九十])(?P<han>\d{1,2}|[一二三四五六七八九十]{1,2})月(?!\d)",
    re.IGNORECASE,
)
_WEEKDAY = pattern_of(
    rf"\b(?P<day>{'|'.join(DAY_NAMES)})s?\b|(?:周|星期|礼拜)(?P<han>[一二三四五六日天])", re.IGNORECASE
)
_HAN_DAYS = {**{c: n for n, c in enumerate("一二三四五六")}, "日": 6, "天": 6}
#: A text without any of these holds no figure.
_A_FIGURE = pattern_of(r"[\d一二两三四五六七八九十百千零〇月周日天]")
_PARTS = (
    "day", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twel", "teen",
    "hundred", "thousand", "million", *MONTH_NAMES,
)  # fmt: skip
_TENS = pattern_of(r"ty\b")
_LUNAR = pattern_of(
    r"(?:农历|阴历|旧历)[正一二三四五六七八九十冬腊]{1,2}月(?:初|廿)?[一二三四五六七八九十]{0,3}"
    r"|[正一二三四五六七八九十冬腊]{1,2}月(?:[初廿][一二三四五六七八九十]|[一二三四五六七八九十]{1,3})(?![一二三四五六七八九十日号])"
)


class ReadText:
    """A text that bears figures out beside what was said, and what stands in it, each worked out once."""

    def __init__(self, text: str, written: date) -> None:
        self.text = text
        self._written = written

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers that stand in it."""
        return mentioned(self.text)

    @cached_property
    def days(self) -> tuple[Days, ...]:
        """The days that it may speak of."""
        return told_days(self.text, self._written)

    @cached_property
    def years_of_birth(self) -> frozenset[int]:
        """The years that follow from the ages in it."""
        return birth_years(self.text, self._written)


class Figures:
    """The numbers that stand in some texts, the days they may speak of, and the years of birth that follow from ages.

    Each is worked out when it is first asked for, since most statements hold no day.
    """

    def __init__(self, sources: Sequence[Source], texts: Iterable[ReadText] = ()) -> None:
        self._all: tuple[Source | ReadText, ...] = (*sources, *texts)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number that stands in them."""
        return frozenset().union(*(each.numbers for each in self._all))

    @cached_property
    def days(self) -> tuple[Days, ...]:
        """The days that they may speak of."""
        return tuple(dict.fromkeys(day for each in self._all for day in each.days))

    @cached_property
    def years_of_birth(self) -> frozenset[int]:
        """The years that follow from the ages in them."""
        return frozenset().union(*(each.years_of_birth for each in self._all))

    @cached_property
    def lunar(self) -> frozenset[str]:
        """The days in them that are or may be of the lunar calendar."""
        return frozenset(found for each in self._all for found in _LUNAR.findall(each.text))

    def bears(self, iso: str) -> bool:
        """Whether a date follows from them."""
        return derivable(iso, self.days) or self._is_birth(iso)

    @cached_property
    def weekdays(self) -> frozenset[int]:
        """The weekdays of the days that they speak of."""
        return frozenset(each.first.weekday() for each in self.days if each.first == each.last)

    def holds_day(self, month: int, day: int) -> bool:
        """Whether they speak of such a day, in any year."""
        return any(
            each.first == each.last and (each.first.month, each.first.day) == (month, day)
            for each in self.days
        )

    def holds_month(self, month: int) -> bool:
        """Whether they speak of such a month or of a day in it, in any year."""
        return any(
            (each.last - each.first).days < 34 and month in {each.first.month, each.last.month}
            for each in self.days
        )

    def _is_birth(self, iso: str) -> bool:
        """Whether a date is a day of birth: its year follows from an age, its day was told."""
        days = span_of(iso)
        if days is None or days.first.year not in self.years_of_birth:
            return False
        return len(iso) == 4 or (
            self.holds_day(days.first.month, days.first.day)
            if len(iso) == 10
            else self.holds_month(days.first.month)
        )


def wrong_figure(text: str, figures: Figures) -> str:
    """What a text holds that does not follow from these figures: a "date" (a day, month or weekday), a "number", or
    nothing."""
    plain = text.casefold()
    if not _may_hold_one(plain):
        return ""
    rest = _without_lunar(text, figures)
    written = written_dates(rest)
    if any(not figures.bears(each.iso) for each in written):
        return "date"
    for each in written:
        rest = rest.replace(each.words, " ")
    in_months = "月" in plain or holds_any(plain, MONTH_NAMES)
    days = list(_DAY_AND_MONTH.finditer(rest)) if in_months else []
    if any(not _holds(found, figures) for found in days):
        return "date"
    rest = _DAY_AND_MONTH.sub(" ", rest) if days else rest
    months = [_month_of(found["month"], found["han"]) for found in _MONTH.finditer(rest)] if in_months else []
    if any(month is not None and not figures.holds_month(month) for month in months):
        return "date"
    rest = _MONTH.sub(" ", rest) if months else rest
    weekdays = {_weekday_number(found) for found in _WEEKDAY.finditer(rest)} if _in_weekdays(plain) else set()
    if weekdays and not weekdays <= figures.weekdays | {weekday_of(each.iso) for each in written}:
        return "date"
    rest = _WEEKDAY.sub(" ", rest) if weekdays else rest
    return "number" if any(figures.numbers.isdisjoint(forms) for forms in asserted(rest)) else ""


def first_wrong(texts: Iterable[str], figures: Figures) -> str:
    """The first thing in some texts that does not follow from these figures; nothing where all does."""
    return next((wrong for text in texts if text and (wrong := wrong_figure(text, figures))), "")


def _may_hold_one(plain: str) -> bool:
    """Whether a text may hold a figure; most hold none, and are looked at only this far."""
    if _A_FIGURE.search(plain) or holds_any(plain, _PARTS):
        return True
    return "ty" in plain and _TENS.search(plain) is not None


def _in_weekdays(plain: str) -> bool:
    return holds_any(plain, ("day", "周", "星期", "礼拜"))


def _without_lunar(text: str, figures: Figures) -> str:
    """A day of the lunar calendar is only ever repeated, never worked out; so is 八月十五, which may be one."""
    if text.isascii():
        return text
    return _LUNAR.sub(lambda found: " " if found[0] in figures.lunar else found[0], text)


def _holds(found: re.Match[str], figures: Figures) -> bool:
    month = _month_of(found["month"] or found["month2"], found["month3"])
    day = value_of(found["day"] or found["day2"] or found["day3"]) or 0
    return month is not None and figures.holds_day(month, day)


def _month_of(name: str | None, han: str | None) -> int | None:
    if name:
        return MONTH_NAMES.index(name.casefold()) + 1
    return value_of(han) if han else None


def _weekday_number(found: re.Match[str]) -> int:
    return DAY_NAMES.index(found["day"].casefold()) if found["day"] else _HAN_DAYS[found["han"]]
