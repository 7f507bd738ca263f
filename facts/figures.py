"""The numbers and days that some turns bear out, and whether those of a statement are among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from facts.dates import Days, birth_years, derivable, span_of, told_days, weekday_of, written_dates
from facts.evidence import Source
from facts.numbers import asserted, mentioned, value_of

_MONTHS = "january february march april may june july august september october november december".split()
_NAMES = "|".join(_MONTHS)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_DAY_AND_MONTH = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_NAMES})\b|\b(?P<month2>{_NAMES}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b"
    r"|(?P<month3>\d{1,2}|[一二三四五六七八九十]{1,2})月(?P<day3>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?",
    re.IGNORECASE,
)
_MONTH = re.compile(
    rf"\b(?:in|of|since|until|till|by|from|during|early|late|mid|to|for)[ -](?P<month>{_NAMES})\b"
    r"|(?<![\d个一二三四五六七八九十])(?P<han>\d{1,2}|[一二三四五六七八九十]{1,2})月(?!\d)",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(rf"\b(?P<day>{'|'.join(_DAYS)})s?\b|(?:周|星期|礼拜)(?P<han>[一二三四五六日天])", re.IGNORECASE)
_HAN_DAYS = {**{c: n for n, c in enumerate("一二三四五六")}, "日": 6, "天": 6}
_LUNAR = re.compile(r"(?:农历|阴历|旧历)[正一二三四五六七八九十冬腊]{1,2}月(?:初|廿)?[一二三四五六七八九十]{0,3}")


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers that stand in some turns, the days they may speak of, and the years of birth that follow from ages."""

    numbers: frozenset[str]
    days: tuple[Days, ...]
    years_of_birth: frozenset[int]
    lunar: frozenset[str] = frozenset()

    @classmethod
    def of(cls, sources: Sequence[Source]) -> Figures:
        """Those of these turns."""
        return cls(
            frozenset().union(*(source.numbers for source in sources)),
            tuple(dict.fromkeys(day for source in sources for day in source.days)),
            frozenset().union(*(source.years_of_birth for source in sources)),
            frozenset(found for source in sources for found in _LUNAR.findall(source.text)),
        )

    @classmethod
    def of_texts(cls, texts: Iterable[str], said: date) -> Figures:
        """Those of texts that were all written on one day."""
        held = tuple(texts)
        return cls(
            frozenset().union(*map(mentioned, held)),
            tuple(day for text in held for day in told_days(text, said)),
            frozenset().union(*(birth_years(text, said) for text in held)),
            frozenset(found for text in held for found in _LUNAR.findall(text)),
        )

    def with_those_of(self, other: Figures) -> Figures:
        """Both together."""
        return Figures(
            self.numbers | other.numbers,
            (*self.days, *other.days),
            self.years_of_birth | other.years_of_birth,
            self.lunar | other.lunar,
        )

    def bears(self, iso: str) -> bool:
        """Whether a date follows from them."""
        return derivable(iso, self.days) or self._is_birth(iso)

    def holds_day(self, month: int, day: int) -> bool:
        """Whether they speak of such a day, in any year."""
        return any(each.first == each.last and (each.first.month, each.first.day) == (month, day) for each in self.days)

    def holds_month(self, month: int) -> bool:
        """Whether they speak of such a month or of a day in it, in any year."""
        return any((each.last - each.first).days < 34 and month in {each.first.month, each.last.month} for each in self.days)

    def _is_birth(self, iso: str) -> bool:
        """Whether a date is a day of birth: its year follows from an age, its day was told."""
        days = span_of(iso)
        if days is None or days.first.year not in self.years_of_birth:
            return False
        return len(iso) == 4 or (
            self.holds_day(days.first.month, days.first.day) if len(iso) == 10 else self.holds_month(days.first.month)
        )


def wrong_date(text: str, figures: Figures) -> bool:
    """Whether a text holds a day, a month or a weekday that does not follow from these figures."""
    rest = _without_lunar(text, figures)
    written = written_dates(rest)
    if any(not figures.bears(each.iso) for each in written):
        return True
    weekdays = {weekday_of(each.iso) for each in written} | {
        each.first.weekday() for each in figures.days if each.first == each.last
    }
    rest = _without(rest, [each.words for each in written])
    days = list(_DAY_AND_MONTH.finditer(rest))
    if any(not _holds(found, figures) for found in days):
        return True
    rest = _DAY_AND_MONTH.sub(" ", rest)
    months = [_month_of(found["month"], found["han"]) for found in _MONTH.finditer(rest)]
    if any(month is not None and not figures.holds_month(month) for month in months):
        return True
    return any(_weekday_number(found) not in weekdays for found in _WEEKDAY.finditer(rest))


def wrong_number(text: str, figures: Figures) -> bool:
    """Whether a text asserts a number that does not stand in these figures; dates are not looked at."""
    rest = _without_lunar(text, figures)
    rest = _without(rest, [each.words for each in written_dates(rest)])
    rest = _WEEKDAY.sub(" ", _MONTH.sub(" ", _DAY_AND_MONTH.sub(" ", rest)))
    return any(figures.numbers.isdisjoint(forms) for forms in asserted(rest))


def _without_lunar(text: str, figures: Figures) -> str:
    """A day of the lunar calendar is only ever repeated, never worked out."""
    return _LUNAR.sub(lambda found: " " if found[0] in figures.lunar else found[0], text)


def _without(text: str, words: Sequence[str]) -> str:
    for each in words:
        text = text.replace(each, " ")
    return text


def _holds(found: re.Match[str], figures: Figures) -> bool:
    month = _month_of(found["month"] or found["month2"], found["month3"])
    day = value_of(found["day"] or found["day2"] or found["day3"]) or 0
    return month is not None and figures.holds_day(month, day)


def _month_of(name: str | None, han: str | None) -> int | None:
    if name:
        return _MONTHS.index(name.casefold()) + 1
    return value_of(han) if han else None


def _weekday_number(found: re.Match[str]) -> int:
    return _DAYS.index(found["day"].casefold()) if found["day"] else _HAN_DAYS[found["han"]]
