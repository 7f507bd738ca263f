"""A grammar of time for English and Chinese: "last May", "three years ago", "next Tuesday at 3pm", 上周三, 去年夏天.

``read_times`` returns every expression of time in a text, relative to a reference day: its most likely range, all
possible ranges, its recurrence and its hours. A weekday, or a month without a year, has several possible ranges; a
vague expression ("recently") has no ``meant`` range. Holidays of the lunar calendar are not read. Rules are tried in
order, the most exact first; later rules do not see what an earlier one matched.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from functools import lru_cache, partial
from typing import Literal, TypeVar

from domain.patterns import Guarded, pattern_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.numbers import CHINESE_COUNT, ENGLISH_COUNT, ORDINAL, parse_count, parse_number

#: The expressions of this many texts are cached: a statement is read repeatedly.
_TEXTS_CACHED = 512
#: What is in this many words is cached: people use some thousands.
_WORDS_CACHED = 10_000
#: How far "lately" reaches, in days.
_LATELY = 30
_LENGTHS = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_DAY = timedelta(1)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Days from first to last, inclusive. ``yearly``: in any year. ``about``: wider than stated."""

    first: date
    last: date
    yearly: bool = False
    about: bool = field(default=False, compare=False)

    @property
    def days(self) -> int:
        """How many days it covers."""
        return (self.last - self.first).days + 1

    @property
    def iso(self) -> str:
        """2025-03-04, 2025-03 or 2025 if it is exactly a day, a month or a year; else ""."""
        if self.days == 1:
            return self.first.isoformat()
        if self == _whole_year(self.first.year):
            return f"{self.first.year:04}"
        return self.first.isoformat()[:7] if self == _month_of_year(self.first.year, self.first.month) else ""

    def nearness(self, day: date) -> float:
        """1 inside; outside falling to 0 over the range's own length, but at least three days."""
        if self.yearly:
            day = day.replace(year=self.first.year, day=28 if (day.month, day.day) == (2, 29) else day.day)
        away = max((self.first - day).days, (day - self.last).days, 0)
        return max(0.0, 1.0 - away / max(3, self.days))


#: ``date``: with its year; ``day``: a day and month; ``month``, ``weekday``: named; ``ago``: by its distance into
#: the past; ``vague``: a range that counts only in a question about the whole of it ("lately", "my year").
Kind = Literal["date", "day", "month", "day of month", "weekday", "ago", "vague", "clock", "recurrence", "relative"]


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """Words for a time: their place in the text, the range that is meant, and all possible ranges."""

    start: int
    end: int
    kind: Kind
    meant: TimeRange | None = None
    possible: tuple[TimeRange, ...] = ()
    recurrence: Literal["", "daily", "weekly", "monthly", "yearly"] = ""
    hours: tuple[time, time] | None = None


@lru_cache(_TEXTS_CACHED)
def read_times(text: str, reference: date) -> tuple[TimeExpression, ...]:
    """Every expression of time in a text written on a reference day, in order.

    >>> read_times("What did I cook last May?", date(2026, 11, 20))[0].meant
    TimeRange(first=datetime.date(2026, 5, 1), last=datetime.date(2026, 5, 31), yearly=False, about=False)
    """
    matches, plain, clocks = _match_times(text)
    if not (matches or clocks):
        return ()
    found = [one for rule, match in matches for one in _read_match(rule, match, reference)]
    found.sort(key=lambda one: one.start)
    if any(one.kind == "day of month" for one in found):
        months = dict.fromkeys((*_A_MONTH.findall(text.lower()), *_ZH_A_MONTH.findall(text)))
        found = [_in_named_months(one, months, reference) for one in found]
    return tuple(_add_hours(plain, _join_weekdays(plain, found), clocks))


@lru_cache(_TEXTS_CACHED)
def _match_times(text: str) -> tuple[Sequence[tuple[_Rule, re.Match[str]]], str, Sequence[_Clock]]:
    """What the rules match in a text, whatever day it was written on, the text without it, and the clock times in it."""
    plain = text.lower().replace("’", "'")
    if len(plain) != len(text):  # every place in it is a place in the text
        plain = "".join(one.lower()[:1] or one for one in text).replace("’", "'")
    present = frozenset[str]().union(*map(_parts_in, plain.split(" ")), [one for one in _PHRASES if one in plain])
    found: list[tuple[_Rule, re.Match[str]]] = []
    for at in sorted({at for part in present for at in _NEEDING[part]}):
        rule = _RULES[at]
        if rule.needs.isdisjoint(present) or (rule.also and rule.also.isdisjoint(present)):
            continue
        if matches := list(rule.pattern.finditer(plain)):
            found += [(rule, match) for match in matches]
            plain = _without(plain, matches)
            present = frozenset([part for part in present if part in plain])
    clocks = [(match.span(), hours) for match in _CLOCK.all_in(plain) if (hours := _hours_of(match))]
    return found, plain, clocks


@lru_cache(_WORDS_CACHED)
def _parts_in(word: str) -> frozenset[str]:
    """What the rules look for, as far as it is in a word; "Mara" is no March."""
    found = frozenset([part for letter in {*word} for part in _NEEDED.get(letter, ()) if part in word])
    return found if found.isdisjoint(_MONTHS_SHORT) or _SHORT_MONTH.search(word) else found.difference(_MONTHS_SHORT)


def _without(plain: str, matches: Sequence[re.Match[str]]) -> str:
    """A text of the same length in which the next rules do not see what these matches read."""
    rest, at = list[str](), 0
    for match in matches:
        rest += (plain[at : match.start()], _READ * len(match[0]))
        at = match.end()
    return "".join(rest) + plain[at:]


def _in_named_months(one: TimeExpression, months: Iterable[str], reference: date) -> TimeExpression:
    """A day of the month ("this October, the 18th"; 三月底，26号) may belong to any of the months named in the text."""
    if one.kind != "day of month":
        return one
    more: list[TimeRange] = []
    for name in months:
        with suppress(ValueError):  # there is no 31st of April
            day = one.possible[0].first.replace(month=_month_number(name))
            more += _in_near_years(TimeRange(day, day, yearly=True), reference)
    return replace(one, possible=(*one.possible, *more))


def _join_weekdays(plain: str, found: Sequence[TimeExpression]) -> list[TimeExpression]:
    """The expressions with a weekday beside a day that may be one as that day: "Wed the 14th" is the 14th.

    A weekday or a day of the month beside a range is that day of it: "in three weeks, on the Saturday".
    """
    joined: list[TimeExpression] = []
    for one in found:
        before = joined[-1] if joined else one
        if before is not one and (inside := _day_within(plain, before, one)):
            joined[-1] = inside
            continue
        weekday, day = (before, one) if before.kind == "weekday" else (one, before)
        agree: tuple[TimeRange, ...] = ()
        if weekday.kind == "weekday" and not weekday.recurrence and day.kind in ("date", "day", "day of month"):
            number = weekday.possible[0].first.weekday()
            agree = tuple(each for each in day.possible if each.days == 1 and each.first.weekday() == number)
        if agree and _BESIDE.fullmatch(plain[before.end : one.start]):
            meant = day.meant if day.meant in agree else agree[-1]
            joined[-1] = replace(day, start=before.start, end=one.end, meant=meant, possible=agree, hours=weekday.hours)
        else:
            joined.append(one)
    return joined


def _day_within(plain: str, first: TimeExpression, second: TimeExpression) -> TimeExpression | None:
    """Two expressions as the day of a range that they name together; None if they name none, or several."""
    whole, day = (first, second) if second.kind in ("weekday", "day of month") else (second, first)
    if day.kind not in ("weekday", "day of month") or day.recurrence or whole.kind not in ("relative", "ago"):
        return None
    between = plain[first.end : second.start]
    if not whole.meant or not (_ON_ITS if day is second else _OF_THE).fullmatch(between):
        return None
    named, days = day.possible[0].first, [whole.meant.first + timedelta(at) for at in range(min(whole.meant.days, 62))]
    if day.kind == "weekday":
        most = 9  # of "in three weeks", the day that is nearest to it
        days = [one for one in days if one.weekday() == named.weekday()] if whole.meant.days <= most else []
        middle = whole.meant.first + (whole.meant.last - whole.meant.first) / 2
        days = sorted(days, key=lambda one: abs(one - middle))[:1]
    else:
        days = [one for one in days if one.day == named.day]
    if len(days) != 1 or whole.meant.days == 1:
        return None
    meant = _one_day(days[0])
    hours = day.hours or whole.hours
    return replace(whole, start=first.start, end=second.end, meant=meant, possible=(meant,), hours=hours)


def read_ranges(text: str, reference: date) -> tuple[TimeRange, ...]:
    """The ranges that a text means; the two ends of a range ("from March to May") are joined.

    >>> read_ranges("from March to May", date(2026, 11, 20))[0].last
    datetime.date(2026, 5, 31)
    """
    certain = [one for one in read_times(text, reference) if one.meant]
    return tuple(dict.fromkeys(one.meant for one in join_expressions(text, certain) if one.meant))


def possible_ranges(text: str, said: date) -> tuple[TimeRange, ...]:
    """Every range that a text written on a day may mean, that day first."""
    return (_one_day(said), *(one for found in read_times(text, said) for one in found.possible if not one.about))


def clock_times(text: str, said: date) -> frozenset[time]:
    """The exact times of day in a text; "2pm", "half past four" and 下午两点半 are exact, "in the morning" is not."""
    hours = (found.hours for found in read_times(text, said) if found.hours)
    return frozenset(first for first, last in hours if first == last)


def join_expressions(text: str, found: Sequence[TimeExpression]) -> list[TimeExpression]:
    """The expressions of a text, with the two ends of a range joined into one."""
    ranges: list[TimeExpression] = []
    for one in found:
        before = ranges[-1] if ranges else one
        between, months = text[before.end : one.start].lower(), before.kind == one.kind == "month"
        if _TO.fullmatch(between) or (_AND.fullmatch(between) and (months or _BETWEEN.search(text))):
            ranges[-1] = _join_two(before, one)
        else:
            ranges.append(one)
    return ranges


def without_times(text: str, found: Sequence[TimeExpression]) -> str:
    """A text without some of its expressions."""
    for one in reversed(found):
        text = f"{text[: one.start]} {text[one.end :]}"
    return text


@lru_cache(_TEXTS_CACHED)
def written_dates(text: str) -> tuple[TimeExpression, ...]:
    """The written dates with a year in a text, in order."""
    if not _ANY_YEAR.search(text):
        return ()
    return tuple(one for one in read_times(text, _NO_DAY) if one.kind == "date")


#: Any day: a date with a year does not depend on the reference.
_NO_DAY = date(2000, 1, 1)


def parse_date(text: str) -> str:
    """A date that a model wrote as 2025, 2025-03 or 2025-03-04; "" if it is none.

    >>> parse_date("2025/3/4"), parse_date("March 2025"), parse_date("2025年3月"), parse_date("about 2025")
    ('2025-03-04', '2025-03', '2025-03', '2025')
    """
    if _ISO.fullmatch(text) and range_of(text):
        return text
    dates = [one.meant or one.possible[0] for one in written_dates(text) if one.possible]
    if dates:
        return min(dates, key=lambda one: one.days).iso
    year = re.fullmatch(r"\D{0,12}((?:19|20)\d\d)年?", text.strip())
    return year[1] if year else ""


def parse_time(text: str) -> time | None:
    """The time of day in a moment that a model wrote; None if there is none.

    >>> parse_time("2025-01-16T14:00:00"), parse_time("2025-01-16 9:30"), parse_time("2025-01-16")
    (datetime.time(14, 0), datetime.time(9, 30), None)
    """
    found = re.search(r"[T ](\d{1,2}):([0-5]\d)(?:$|[:Z+-])", text.strip())
    return time(int(found[1]), int(found[2])) if found and int(found[1]) < 24 else None


def range_of(iso: str) -> TimeRange | None:
    """The days of 2025-03-04, 2025-03 or 2025; None for anything else."""
    try:
        parts = [int(part) for part in iso[:10].split("-")]
        if len(parts) == 3:
            return _one_day(date(*parts))
        return _month_of_year(*parts) if len(parts) == 2 else _whole_year(parts[0])
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class _Rule:
    """``needs``: substrings of which a text must contain one, as a quick check; so of ``also``, if there are any.

    ``read`` returns the ranges of a match: the meant one, if the rule is ``certain``, then other possible ones.
    """

    needs: frozenset[str]
    also: frozenset[str]
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], date], Sequence[TimeRange]]
    kind: Kind
    certain: bool


def _read_match(rule: _Rule, match: re.Match[str], reference: date) -> Iterator[TimeExpression]:
    try:
        ranges = rule.read(match, reference)
    except (ValueError, OverflowError):
        return
    possible: list[TimeRange] = []
    for one in ranges:
        if not (one.about and rule.kind == "ago"):
            possible += _in_near_years(one, reference) if one.yearly else [one]
    meant = ranges[0] if ranges and rule.certain else None
    if meant or possible or rule.kind == "recurrence":
        recurrence = _recurrence_of(match[0]) if rule.kind in ("recurrence", "weekday") else ""
        start = match.end("lead") if _group(match, "lead") else match.start()
        hours = _PARTS.get(_group(match, "part"))
        several = tuple(dict.fromkeys(possible)) if len(possible) > 1 else tuple(possible)
        yield TimeExpression(start, match.end(), rule.kind, meant, several, recurrence, hours)


def _join_two(first: TimeExpression, last: TimeExpression) -> TimeExpression:
    """One range from the start of an expression to the end of another, either of which may name the year."""
    begin, end = first.meant, last.meant
    if begin is None or end is None:
        return last
    start = begin.first
    if begin.yearly and not end.yearly:
        start = start.replace(year=end.last.year)
    if end.yearly and not begin.yearly:
        end = next((one for one in _in_near_years(end, start) if one.last >= start), end)
    if start > end.last:
        start = start - timedelta(7) if begin.days == 1 and first.kind == "weekday" else move_months(start, -12)
    return replace(last, start=first.start, meant=TimeRange(start, end.last), possible=first.possible + last.possible)


# --- days, weeks, months


def _one_day(day: date) -> TimeRange:
    return TimeRange(day, day)


def _around_day(day: date, slack: int) -> TimeRange:
    return TimeRange(day - timedelta(slack), day + timedelta(slack), about=True)


def _week_of(day: date) -> TimeRange:
    monday = day - timedelta(day.weekday())
    return TimeRange(monday, monday + timedelta(6))


def _month_of_year(year: int, month: int, *, yearly: bool = False) -> TimeRange:
    return TimeRange(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]), yearly)


def _whole_year(year: int) -> TimeRange:
    return TimeRange(date(year, 1, 1), date(year, 12, 31))


def _month_span(year: int, first: int, last: int) -> TimeRange:
    return TimeRange(date(year, first, 1), _month_of_year(year, last).last)


_Day = TypeVar("_Day", bound=date)


def move_months(day: _Day, months: int) -> _Day:
    """The same day so many months later, or the last of that month; of a moment at the same time.

    >>> move_months(date(2026, 5, 31), -3)
    datetime.date(2026, 2, 28)
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return day.replace(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _month_away_from(day: date, months: int) -> TimeRange:
    moved = move_months(day, months)
    return _month_of_year(moved.year, moved.month)


def _in_near_years(meant: TimeRange, reference: date) -> Iterator[TimeRange]:
    """A yearly range in the years around the reference: at most about a year away."""
    for year in (reference.year - 1, reference.year, reference.year + 1):
        try:
            first = meant.first.replace(year=year)
        except ValueError:
            continue
        last = first + (meant.last - meant.first)
        if (meant.first.day, meant.last.month, meant.last.day) == (1, 2, 28) and calendar.isleap(year):
            last += _DAY
        if abs((first + (last - first) / 2 - reference).days) <= 380:
            yield TimeRange(first, last)


def _season_of(year: int, name: str) -> TimeRange:
    first = date(year, _SEASONS[name], 1)
    return TimeRange(first, move_months(first, 3) - _DAY)


def _begun_season(name: str, reference: date) -> TimeRange:
    """The latest such season that has begun."""
    season = _season_of(reference.year, name)
    return season if season.first <= reference else _season_of(reference.year - 1, name)


# --- readings of matches


_Readings = Sequence[TimeRange]


def _group(match: re.Match[str], *names: str) -> str:
    """The first of these groups that the pattern has and that matched; else ""."""
    there = match.re.groupindex
    for name in names:
        if name in there and (value := match[name]):
            return value
    return ""


def _month_number(written: str) -> int:
    """The number of a month, by its English name or a number in either script."""
    if written[:1].isalpha() and written.isascii():
        return next(number for number, month in enumerate(MONTH_NAMES, 1) if month.startswith(written[:3]))
    return parse_number(written) or 0


def _year_of(written: str, reference: date) -> int | None:
    """2019, 二〇一九年, 98年, 去年, last year."""
    if not written:
        return None
    named = written.removesuffix("年").strip()
    if named in _YEARS_AWAY:
        return reference.year + _YEARS_AWAY[named]
    number = parse_number(named) or 0
    return number + (1900 if number > 40 else 2000) if number < 100 else number


def _read_date(match: re.Match[str], reference: date) -> _Readings:
    """A month, or a day of it, with or without its year, or a third of it: early, mid, late."""
    month, year = _month_number(match["month"]), _year_of(_group(match, "year"), reference)
    at = year or (reference.year if month <= reference.month else reference.year - 1)
    if day := _group(match, "day"):
        first = date(at, month, parse_number(day) or 0)
        last = first.replace(day=parse_number(_group(match, "until")) or first.day)
        ends = (_one_day(first), _one_day(last)) if year and last > first else ()
        return TimeRange(first, last, yearly=year is None), *ends
    whole = _month_of_year(at, month, yearly=year is None)
    return (replace(_third_of(whole, match), yearly=whole.yearly),)


def _third_of(whole: TimeRange, match: re.Match[str]) -> TimeRange:
    """The early, middle or late third of a month or a year; all of it if none is named."""
    third = _THIRDS.get(_group(match, "third", "zh_third").removeprefix("the ").split(" ")[0])
    if third is None:
        return whole
    if whole.days > 31:
        return _month_span(whole.first.year, *((1, 4), (5, 8), (9, 12))[third])
    first = whole.first + timedelta(10 * third)
    return TimeRange(first, whole.last if third == 2 else first + timedelta(9))


def _read_month_away(match: re.Match[str], reference: date) -> _Readings:
    """Last May, next May, 上个月三号, 下个月底."""
    if named := _group(match, "month"):
        month, ahead = _month_number(named), match["which"] in ("next", "coming")
        over = month < reference.month
        year = reference.year + ahead * over if ahead else reference.year - (not over)
        return (_month_of_year(year if not (ahead and month == reference.month) else year + 1, month),)
    whole = _month_away_from(reference, _count_steps(match["which"]))
    if day := _group(match, "day"):
        return (_one_day(whole.first.replace(day=parse_number(day) or 0)),)
    third = _third_of(whole, match)
    if match["which"] or third.last >= reference:
        return (third,)
    return third, _third_of(_month_away_from(reference, 1), match)


def _read_same_month(match: re.Match[str], reference: date) -> _Readings:
    """This time last year, 去年这时候: about the month that it is now."""
    return (_month_away_from(reference, {"last": -12, "next": 12, "去": -12, "明": 12, "前": -24}[match["which"]]),)


def _count_steps(which: str) -> int:
    """How many units away: 上 -1, 下下 2, last -1, this 0, next 1."""
    return which.count("下") - which.count("上") + _STEPS.get(which.strip(), 0)


def _read_year(match: re.Match[str], reference: date) -> _Readings:
    return (_third_of(_whole_year(_year_of(match["year"], reference) or 0), match),)


def _read_decade(match: re.Match[str], reference: date) -> _Readings:
    """The 1990s, the nineties, 九十年代."""
    written = _group(match, "decade", "short", "word", "zh_decade")
    tens = _DECADES.get(written) or (int(written[-2:]) if written[-2:].isdecimal() else parse_number(written) or 0)
    century = int(written[:2]) * 100 if len(written) == 4 and written.isdecimal() else 1900 if tens >= 30 else 2000
    return (TimeRange(date(century + tens, 1, 1), date(century + tens + 9, 12, 31)),)


def _read_part_of_year(match: re.Match[str], reference: date) -> _Readings:
    """A half or a quarter of a year: the first half of 2024, 去年下半年, Q3, last quarter, 上半年."""
    year = _year_of(_group(match, "year"), reference)
    if half := _group(match, "half", "zh_half"):
        if half in ("first", "上"):
            return (_month_span(year or reference.year, 1, 6),)
        return (_month_span(year or reference.year - (reference.month <= 6), 7, 12),)
    if number := _group(match, "number", "quarter", "zh_quarter"):
        last = 3 * (_NTHS.get(number) or parse_number(number) or 0)
        return (_month_span(year or reference.year - (last - 2 > reference.month), last - 2, last),)
    away = 3 * _count_steps(_group(match, "which", "zh_which")) - (reference.month - 1) % 3
    first = move_months(reference.replace(day=1), away)
    return (_month_span(first.year, first.month, first.month + 2),)


def _read_amount(match: re.Match[str]) -> tuple[float, str]:
    """How many of which unit."""
    count = parse_count(match["count"])
    if count is None:
        raise ValueError(match["count"])
    unit = _UNIT_NAMES[match["unit"].lstrip("个")]
    count += 0.5 if _group(match, "half", "more") else 0.0
    return (count * 2, "week") if unit == "fortnight" else (count * 10, "year") if unit == "decade" else (count, unit)


def _at_distance(count: float, unit: str, sign: int, reference: date) -> tuple[TimeRange, ...]:
    """The time at a distance: first a range that widens with it, then the exact days."""
    if unit == "hour":
        return (_one_day(reference),)
    if unit in ("day", "week"):
        day = reference + timedelta(round(sign * count * _LENGTHS[unit]))
        slack = 4 if unit == "week" else 0 if count < 3 else 1
        return (_around_day(day, slack), _one_day(day), *((_week_of(day),) if unit == "week" else ()))
    if unit == "month" and count == 0.5:
        day = reference + timedelta(sign * 15)
        return _around_day(day, 3), _one_day(day)
    if unit == "month":
        day = move_months(reference, sign * int(count)) + timedelta(round(sign * (count % 1) * 30))
        return (_around_day(day, 16), _month_of_year(day.year, day.month), _one_day(day))
    if count % 1:
        return (_around_day(move_months(reference, sign * round(count * 12)), 45),)
    return (_whole_year(reference.year + sign * int(count)),)


def _read_distance(match: re.Match[str], reference: date) -> _Readings:
    """Two years ago, in three weeks, 五天后; "a week ago today" is that very day."""
    back = _BACKWARDS.search(match[0]) or _group(match, "lead")
    found = _at_distance(*_read_amount(match), -1 if back else 1, reference)
    return found[1:2] if "today" in match[0] else found


def _read_duration(match: re.Match[str], reference: date) -> _Readings:
    """Three weeks: a time that started, or ends, at this distance."""
    count, unit = _read_amount(match)
    both = (*_at_distance(count, unit, -1, reference), *_at_distance(count, unit, 1, reference))
    return [one for one in both if not one.about]


def _read_adjoining(match: re.Match[str], reference: date) -> _Readings:
    """The last three months, the next few days: up to the reference, or from it on."""
    count, unit = _read_amount(match) if _group(match, "count") else (1.0, _UNIT_NAMES[match["unit"]])
    span = timedelta(round(count * _LENGTHS.get(unit, 1 / 24)))
    if _FORWARDS.search(match[0]):
        return (TimeRange(reference, reference + span),)
    return (TimeRange(reference - span, reference),)


def _read_last_days(match: re.Match[str], reference: date, days: int = 183, *, about: bool = False) -> _Readings:
    """So many days up to the reference: half a year, "lately"."""
    return (TimeRange(reference - timedelta(days), reference, about=about),)


def _read_unit(match: re.Match[str], reference: date) -> _Readings:
    """Last week, this weekend, next month, the year before last, 下周, 明年, 周末."""
    steps = _count_steps(_group(match, "which"))
    steps += -2 if _group(match, "back") else 2 if _group(match, "on") else 0
    unit = _UNIT_NAMES[match["unit"]]
    if unit == "weekend":
        saturday = _week_of(reference).first + timedelta(5 + 7 * steps)
        weekend = TimeRange(saturday, saturday + _DAY)
        return (weekend, *((TimeRange(saturday + timedelta(7), saturday + timedelta(8)),) if steps == 1 else ()))
    if unit == "week":
        return (_week_of(reference + timedelta(7 * steps)),)
    return (_month_away_from(reference, steps) if unit == "month" else _whole_year(reference.year + steps),)


def _read_so_far(match: re.Match[str], reference: date) -> _Readings:
    """All year, the whole month, over the summer: up to the reference."""
    what = match["whole"]
    if what in _SEASONS:
        return (_begun_season(what, reference),)
    year, month, week = _whole_year(reference.year), reference.replace(day=1), _week_of(reference)
    return (TimeRange({"year": year.first, "month": month, "week": week.first}[what], reference),)


def _read_bare_whole(match: re.Match[str], reference: date) -> _Readings:
    return [replace(one, about=True) for one in _read_so_far(match, reference)]


def _read_season(match: re.Match[str], reference: date) -> _Readings:
    """Last summer, this winter, the spring of 2019, 去年冬天, 春天."""
    name, which = _group(match, "season", "zh_season"), _group(match, "which").strip("个")
    year = _year_of(_group(match, "year"), reference)
    begun = _begun_season(name, reference)
    if which in ("next", "coming", "下"):
        return (_season_of(begun.first.year + 1, name),)
    if which == "去":
        return (_season_of(reference.year - 1, name),)
    if which in ("last", "past", "previous", "上"):
        return (begun if begun.last < reference else _season_of(begun.first.year - 1, name),)
    if which in ("this", "这", "今") or (year == reference.year and begun.last >= reference):
        return (begun if begun.last >= reference else _season_of(reference.year, name),)
    return (_season_of(year, name) if year else begun,)


def _read_weekday(match: re.Match[str], reference: date) -> _Readings:
    """Thursday, last Sunday, next Tuesday: the latest or the next one; "next" may be that of the week after."""
    number = _WEEKDAYS[match["weekday"][:3]]
    which = _group(match, "which")
    ahead = (number - reference.weekday()) % 7
    of_this_week = number - reference.weekday()
    away: tuple[int, ...]
    if which in ("last", "past"):
        away = ahead - 7, of_this_week - 7
    elif which == "next":
        away = ahead or 7, of_this_week + 7
    elif which == "coming":
        away = (ahead or 7,)
    elif which == "this":
        away = of_this_week, ahead
    elif _group(match, "following"):
        away = ((ahead or 7) + 7,)
    else:
        away = (ahead - 14,) if _group(match, "before_last") else (ahead - 7, ahead)
    return tuple(_one_day(reference + timedelta(days)) for days in away)


def _read_weeks_on(match: re.Match[str], reference: date) -> _Readings:
    """A week on Friday, two weeks from Friday, Friday week, a week tomorrow."""
    weeks = parse_count(_group(match, "count") or "a") or 1
    named = match["weekday"]
    ahead = 1 if named == "tomorrow" else (DAY_NAMES.index(named) - reference.weekday()) % 7 or 7
    return (_one_day(reference + timedelta(ahead + 7 * round(weeks))),)


def _read_chinese_weekday(match: re.Match[str], reference: date) -> _Readings:
    """周三, 下周三, 上上周五: of this week or so many weeks away; without a word for the week the latest or the next."""
    number, which = _HAN_WEEKDAYS[match["zh_weekday"]], _group(match, "which")
    this = _one_day(_week_of(reference + timedelta(7 * _count_steps(which))).first + timedelta(number))
    if which:
        return (this,)
    ahead = (number - reference.weekday()) % 7
    back = _one_day(reference + timedelta(ahead - 7 if ahead else 0))
    return back, this, _one_day(reference + timedelta(ahead)), _one_day(reference + timedelta(ahead - 7))


def _recurrence_of(words: str) -> Literal["", "daily", "weekly", "monthly", "yearly"]:
    """How often: "every Monday", "twice a year", 每天."""
    if not _EVERY.search(words):
        return ""
    if _EACH_YEAR.search(words) or _A_MONTH.search(words):
        return "yearly"
    if "month" in words or "月" in words:
        return "monthly"
    return "weekly" if _EACH_WEEK.search(words) else "daily"


_EACH_YEAR = pattern_of("year|annual|年|christmas|birthday|spring|summer|autumn|winter")
_EACH_WEEK = pattern_of("week|mon|tue|wed|thu|fri|sat|sun|周|星期|礼拜")


def _read_near_day(match: re.Match[str], reference: date) -> _Readings:
    """yesterday, tonight, the day after tomorrow, 大前天, 昨晚."""
    return (_one_day(reference + timedelta(_DAYS_AWAY[_group(match, "near", "zh_near")])),)


def _read_holiday(match: re.Match[str], reference: date) -> _Readings:
    """Christmas, last Thanksgiving, 去年国庆: by default the latest or the next one."""
    name = match["holiday"].replace("'", "").removesuffix(" day")
    days = sorted(day for year in range(reference.year - 2, reference.year + 3) for day in _days_of(name, year))
    if year := _year_of(_group(match, "year"), reference):
        return tuple(_one_day(day) for day in _days_of(name, year))
    past, coming = [day for day in days if day < reference], [day for day in days if day >= reference]
    which = _group(match, "which")
    if which in ("next", "this coming"):
        return (_one_day(coming[0]),)
    if which == "last":
        return (_one_day(past[-1]),)
    near = [day for day in days if abs((day - reference).days) <= 366]
    return (_one_day(coming[0] if coming[0] == reference else past[-1]), *map(_one_day, near))


def _days_of(name: str, year: int) -> tuple[date, ...]:
    """The days of a holiday in a year: fixed, or the nth weekday of a month."""
    if name in _NTH_WEEKDAYS:
        return (_nth_weekday(year, *_NTH_WEEKDAYS[name]),)
    month, day = _HOLIDAYS[name]
    return tuple(date(year, month, each) for each in ((day, day + 1, day + 2) if name.startswith("清明") else (day,)))


def _read_nth_weekday(match: re.Match[str], reference: date) -> _Readings:
    """The first Saturday of September, the last Friday in May, 五月第二个周日: of a year or of those near."""
    month, year = _month_number(match["month"]), _year_of(_group(match, "year"), reference)
    weekday = DAY_NAMES.index(match["weekday"]) if _group(match, "weekday") else _HAN_WEEKDAYS[match["zh_weekday"]]
    written = _group(match, "nth", "zh_nth")
    nth = _NTHS.get(written) or parse_number(written) or 1
    return _nearest_first([_nth_weekday(each, month, weekday, nth) for each in _near(year, reference)], reference)


def _nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """The nth such weekday of a month; the last one for -1."""
    if nth < 0:
        last = _month_of_year(year, month).last
        return last - timedelta((last.weekday() - weekday) % 7)
    first = date(year, month, 1)
    return first + timedelta((weekday - first.weekday()) % 7 + 7 * (nth - 1))


def _near(year: int | None, reference: date) -> Sequence[int]:
    return (year,) if year else (reference.year - 1, reference.year, reference.year + 1)


def _nearest_first(days: Sequence[date], reference: date) -> _Readings:
    return tuple(map(_one_day, sorted(days, key=lambda day: abs(day - reference))))


def _read_easter(match: re.Match[str], reference: date) -> _Readings:
    """Easter, Good Friday, Easter Monday, Pentecost: the nearest one, or that of a year."""
    away = _FROM_EASTER[match["easter"].replace("复活节", "easter")]
    days = [_easter(year) + timedelta(away) for year in _near(_year_of(_group(match, "year"), reference), reference)]
    which = _group(match, "which")
    if which == "next":
        days = [day for day in days if day > reference]
    elif which == "last":
        days = [day for day in days if day < reference]
    return _nearest_first(days, reference)


def _easter(year: int) -> date:
    """Easter Sunday of a year, by the Gregorian calendar."""
    golden, century = year % 19, year // 100
    moon = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    moon -= moon // 28 * (1 - 29 // (moon + 1) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    days = moon - weekday
    month = 3 + (days + 40) // 44
    return date(year, month, days + 28 - 31 * (month // 4))


def _read_day_of_month(match: re.Match[str], reference: date) -> _Readings:
    """The 17th, 3号: of this month or of one next to it."""
    day = parse_number(match["day"]) or 0
    months = [_month_away_from(reference, away) for away in (-1, 0, 1)]
    days = [_one_day(month.first.replace(day=day)) for month in months if 0 < day <= month.days]
    # The latest that has begun is meant, or else the first.
    begun = [one for one in days if one.first <= reference]
    return [*(begun[-1:] or days[:1]), *days]


def _read_third_of_year(match: re.Match[str], reference: date) -> _Readings:
    """年底, 去年年初."""
    year = _year_of(_group(match, "year"), reference) or reference.year
    return (_month_span(year, *{"初": (1, 2), "中": (6, 7)}.get(match["zh_third"], (12, 12))),)


def _read_nothing(match: re.Match[str], reference: date) -> _Readings:
    return ()


# --- hours


#: The place of a clock time, and the time.
_Clock = tuple[tuple[int, int], tuple[time, time]]


def _add_hours(plain: str, found: Sequence[TimeExpression], clocks: Sequence[_Clock]) -> Iterator[TimeExpression]:
    """The expressions with adjacent clock times added; any other clock time is an expression of its own."""
    clocks = list(clocks)
    for one in found:
        adjacent = next((clock for clock in clocks if _is_adjacent(plain, clock[0], (one.start, one.end))), None)
        if adjacent is None:
            yield one
            continue
        clocks.remove(adjacent)
        (start, end), hours = adjacent
        at_night = one.hours and one.hours[0] >= _EVENING and hours[0] < _MORNING  # two o'clock last night
        if one.hours and one.hours[0] >= time(12) > hours[0] and not at_night:
            hours = (hours[0].replace(hour=hours[0].hour + 12),) * 2
        yield replace(one, start=min(one.start, start), end=max(one.end, end), hours=hours)
    yield from (TimeExpression(*span, "clock", hours=hours) for span, hours in clocks)


def _is_adjacent(plain: str, clock: tuple[int, int], day: tuple[int, int]) -> bool:
    first, last = sorted((clock, day))
    return first[1] <= last[0] and _BETWEEN_CLOCK.fullmatch(plain[first[1] : last[0]]) is not None


def _hours_of(match: re.Match[str]) -> tuple[time, time] | None:
    if word := match["word"]:
        at = time(0) if word in ("midnight", "午夜", "半夜十二点") else time(12)
        return at, at
    hour = parse_number(_group(match, "h1", "h2", "h3", "h4", "h5"))
    minutes = _group(match, "m1", "m2", "m5")
    minute = _MINUTES[minutes] if minutes in _MINUTES else parse_number(minutes.rstrip("分").lstrip("零〇")) or 0
    if hour is None or hour > 24 or minute > 59:
        return None
    part = _group(match, "mark", "zh_part").replace(".", "")
    if beyond := match["beyond"]:
        minute = _MINUTES_BEYOND[beyond.removeprefix("a ").removesuffix(" past").removesuffix(" to").replace("-", " ")]
        if beyond.endswith("to"):
            hour, minute = hour - 1, 60 - minute
    if part in _MORNINGS:
        hour %= 12
    elif part and hour < 12 and not (part == "中午" and hour > 10):
        hour += 12
    return (time(hour % 24, minute),) * 2


# --- words


_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_WEEKDAYS = {name[:3]: number for number, name in enumerate(DAY_NAMES)}
_HAN_WEEKDAYS = {
    day: number for number, days in enumerate(("一1", "二2", "三3", "四4", "五5", "六6", "日天7")) for day in days
}
_YEARS_AWAY = {
    "今": 0, "去": -1, "前": -2, "大前": -3, "明": 1, "后": 2, "last year": -1, "this year": 0, "next year": 1,
}  # fmt: skip
_STEPS = {
    "last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1, "明": 1, "后": 2, "去": -1, "前": -2, "大前": -3,
}  # fmt: skip
_THIRDS = {
    "early": 0, "beginning": 0, "start": 0, "初": 0, "上旬": 0, "mid": 1, "middle": 1, "中": 1, "中旬": 1,
    "late": 2, "end": 2, "底": 2, "末": 2, "下旬": 2,
}  # fmt: skip
_DECADES = {"twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80,
            "nineties": 90}  # fmt: skip
_FROM_EASTER = {
    "easter": 0, "easter sunday": 0, "good friday": -2, "easter monday": 1, "maundy thursday": -3, "palm sunday": -7,
    "ash wednesday": -46, "shrove tuesday": -47, "pancake day": -47, "ascension day": 39, "pentecost": 49, "whit monday": 50,
}  # fmt: skip
_NTHS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1, "最后一": -1,
}  # fmt: skip
_UNIT_NAMES = {
    **dict.fromkeys(("minute", "min", "hour", "hr", "分钟", "小时", "钟头"), "hour"), **dict.fromkeys(("day", "night", "天", "日"), "day"),
    **dict.fromkeys(("week", "wk", "周", "星期", "礼拜"), "week"), **dict.fromkeys(("month", "mth", "月"), "month"),
    **dict.fromkeys(("year", "yr", "年"), "year"), "fortnight": "fortnight", "decade": "decade",
    **dict.fromkeys(("weekend", "周末"), "weekend"),
}  # fmt: skip
_DAYS_AWAY = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0,
    "tonight": 0, "this": 0, "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2, "tmrw": 1, "tmr": 1, "tomoz": 1, **dict.fromkeys(["tmrow", "tmorrow", "tomoro", "tomorro", "tomorow", "tommorow", "tommorrow"], 1), "2moro": 1, "2morrow": 1, "tonite": 0, "the night before last": -2,
    "night before last": -2, "大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3,
}  # fmt: skip
_HOLIDAY_NAMES = {
    (1, 1): "new years|元旦", (2, 14): "valentines|情人节", (3, 8): "妇女节|三八节", (3, 17): "st patricks",
    (4, 4): "清明|清明节", (5, 1): "五一|劳动节", (6, 1): "六一|儿童节|六一儿童节", (9, 10): "教师节",
    (10, 1): "国庆|国庆节|十一黄金周|十一假期|十一长假", (10, 31): "halloween|万圣节", (11, 11): "双十一",
    (12, 24): "christmas eve|平安夜", (12, 25): "christmas|圣诞|圣诞节", (12, 26): "boxing",
    (12, 31): "new years eve|跨年夜",
}  # fmt: skip
_HOLIDAYS = {name: day for day, names in _HOLIDAY_NAMES.items() for name in names.split("|")}
#: Month, weekday, and which one of that month.
_NTH_WEEKDAYS = {
    "thanksgiving": (11, 3, 4), "感恩节": (11, 3, 4), "mothers": (5, 6, 2), "母亲节": (5, 6, 2), "fathers": (6, 6, 3),
    "父亲节": (6, 6, 3), "labor": (9, 0, 1),
}  # fmt: skip
_EVENING, _MORNING = time(17), time(5)
_MORNINGS = frozenset(("am", "早上", "上午", "早晨", "清晨", "凌晨", "半夜", "深夜"))
_MINUTES_BEYOND = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty five": 25}
_MINUTES = {"半": 30, "一刻": 15, "三刻": 45, "整": 0}
_PARTS = {
    **dict.fromkeys(("morning", "早上", "上午", "早晨", "清晨", "早"), (time(5), time(12))),
    **dict.fromkeys(("中午", "noon"), (time(11), time(14))),
    **dict.fromkeys(("afternoon", "下午"), (time(12), time(18))),
    **dict.fromkeys(("evening", "傍晚", "晚上", "晚"), (time(17), time(23))),
    **dict.fromkeys(("night", "夜里", "夜", "深夜", "半夜"), (time(20), time(4))), "凌晨": (time(0), time(5)),
}  # fmt: skip

# --- patterns

#: Replaces matched text: no letter, no digit, no space.
_READ = "\x00"
_DAYS = "|".join(DAY_NAMES)
_MONTH_LONG = "|".join(MONTH_NAMES)
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_SHORT_MONTH = pattern_of(rf"\b{_MONTH}")
_DAY_NUMBER = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_ORDINAL_DAY = rf"(?:(?:twenty|thirty)[ -])?(?:{ORDINAL})"
_ZH_UNTIL = r"(?:[到至-](?P<until>\d{1,2}|[一二三四五六七八九十]{1,3})[日号])?"
_ZH_THIRD = r"(?P<zh_third>[初中底末]|[上中下]旬)?"
_UNTIL = r"(?: ?(?:-|–|to|and) ?(?P<until>\d{1,2})(?:st|nd|rd|th)?)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_HAN = "一二三四五六七八九十"
_ZH_MONTH = rf"(?<![个\d{_HAN}])(?P<month>1[0-2]|[1-9]|0[1-9]|十[一二]?|[一二三四五六七八九])"
_ZH_DAY = rf"(?P<day>\d{{1,2}}|[{_HAN}廿]{{1,3}})"
_ZH_PLAIN_YEAR = r"(?P<year>(?:(?:19|20)\d\d|[一二][〇零九][〇零一二三四五六七八九]{2}|(?<!\d)(?:0\d|[5-9]\d)(?=年(?![前后来以级]))|[〇零五六七八九][〇零一二三四五六七八九](?=年(?:生|出生|毕业)))年)"
_ZH_YEAR = _ZH_PLAIN_YEAR.removesuffix(")") + "|[今去明后]年|大?前年)"
_UNIT = r"(?P<unit>min(?:ute)?|h(?:ou)?r|day|night|w(?:ee)?k|fortnight|month|mth|y(?:ea)?r|decade)s?"
_ZH_AMOUNT = (
    rf"(?P<count>半|{CHINESE_COUNT})(?P<half>个半)?[多来余]?"
    r"(?P<unit>天|日|周|个?星期|个?礼拜|个月|(?<=个半)月|年|个?小时|分钟|个?钟头)(?P<more>半)?多?"
)
_AMOUNT = rf"{ENGLISH_COUNT}[\s-]+{_UNIT}(?P<half> and a half)?"
#: What a text with such an amount contains.
_UNITS = ("day", "week", "wk", "month", "mth", "year", "yr", "decade", "night", "min", "hour", "hr")
_ZH_UNITS = ("天", "日", "周", "星期", "礼拜", "月", "年", "小时", "分钟", "钟头")
_DIRECTION = r"(?:ago|from|later|before|back|earlier)"
_SEASON_WORDS = ("spring", "summer", "autumn", "fall", "winter")
_SMALL = r"\d{1,2}|two|three|four|five|six"
_DAY_WORDS = ("yesterday", "last", "today", "tonight", "tomor", "tommor", "tmr", "tmor", "tomoz", "2mor", "tonite")
_EN_HOLIDAYS = (
    r"christmas eve|christmas(?: day)?|boxing day|new year'?s eve|new year'?s(?: day)?|halloween|valentine'?s(?: day)?"
    r"|st patrick'?s day|thanksgiving(?: day)?|mother'?s day|father'?s day|labor day"
)
_ZH_HOLIDAYS = "|".join(
    sorted((one for one in (*_HOLIDAYS, *_NTH_WEEKDAYS) if not one.isascii()), key=len, reverse=True)
)
_PART = r"(?: (?P<part>morning|afternoon|evening|night))?"
_ZH_PARTS = "早上|上午|早晨|清晨|中午|下午|傍晚|晚上|夜里|凌晨|深夜|半夜"
_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"
_THIRD = r"(?P<third>(?:the )?(?:early|mid|late|beginning|start|middle|end)(?: of)?)"
_WHOLE = r"(?:all|whole|entire|throughout|during|over)(?: of| the| this| that)*"
_IN = r"(?:in|during|since|of|by|until|till|til|before|after|from|around|to|for|through|and|between|or|early|mid|late)"
_ANY_YEAR = pattern_of(r"(?:19|20)\d\d")
_ISO = pattern_of(r"(?:19|20)\d\d(?:-\d\d){0,2}", re.ASCII)
_A_MONTH = pattern_of(rf"\b(?:{_MONTH_LONG})\b")
_ZH_A_MONTH = pattern_of(rf"(?<![个\d{_HAN}])(1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月")
_EVERY = pattern_of(
    r"\b(?:every|each|daily|weekly|monthly|yearly|annually|once|twice|times)\b|days\b|[每逢隔]|天天|年年"
)
_TO = re.compile(r"\s*(?:to|till|until|through|thru|-|–|—|~|～|到|至)(?: the)?\s*")
_AND = re.compile(r"\s*(?:and|和|与)\s*")
_BESIDE = re.compile(r"[\s,，(（]*(?:the )?")
_BETWEEN = pattern_of(r"\bbetween\b|之间", re.IGNORECASE)
#: Between a range and the day of it that is named behind it, or before it.
_ON_ITS = pattern_of(r"[ ,，]*(?:(?:on|for) )?(?:the )?|[ ，]*的[那这个]*")
_OF_THE = pattern_of(r" (?:of )?|的")
_BETWEEN_CLOCK = pattern_of(r"[ ,，的]*(?:at|on|by|around|about|from)?(?: the)?\s*")
_HOUR = r"\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
#: What follows 十分 where it is ten minutes; before most other words it means "very" (这三点十分重要).
_AFTER_TEN = (
    r"(?:$|(?=[\W_]|左右|整|[我你他她它咱]|就|才|以?[前后](?![卫沿悔怕])|之[前后]|起(?![劲眼])|出(?![色众名彩])|到(?!位)"
    r"|见(?![外效])|去|来(?![劲气])|上[课班车学床]|下[课班车]|开[会车始门]|走(?![心俏红])|睡|醒(?!目)|响(?!亮)|集合|吃[早午晚饭药]"
    r"|回[家来去到]|的[火飞闹车会高地班航动课]|在(?![理意乎行])))"
)
_CLOCK = Guarded(
    ":|am|pm|a.m|p.m|noon|midday|midnight|o'clock| past |quarter to |five to |ten to |twenty to |点|點|时",
    rf"(?<![a-z\d:.])(?:(?P<beyond>half past|(?:a )?quarter (?:past|to)|(?<!from )(?:five|ten|twenty(?:[ -]five)?) (?:past|to)) (?P<h3>{_HOUR})(?! (?:years?|o'clock|days|weeks|months|hours|minutes)\b)|(?P<h1>\d{{1,2}})(?:[:.](?P<m1>\d\d))? ?(?P<mark>[ap]\.?m\b\.?)"
    rf"|(?P<h2>\d{{1,2}}):(?P<m2>\d\d)(?!:?\d)|(?P<h4>{_HOUR}) o'clock|(?P<word>noon|midday|midnight))"
    rf"|(?:(?P<zh_part>{_ZH_PARTS})|(?<=\x00)(?!一[点點](?![钟半整刻三\d]))|(?=[\d{_HAN}两]{{1,3}}[点點](?:钟|半|整|[一三]刻|[一二三四五]十[一二三四五六七八九]?分?(?![{_HAN}\d个])|[零〇][一二三四五六七八九]分?(?![{_HAN}\d个])|十[一二三四五六七八九]分(?!钟)|十分(?!钟){_AFTER_TEN}|[0-5]\d分?(?!\d))))"
    rf"(?P<h5>\d{{1,2}}|[{_HAN}两]{{1,3}})[点點时](?:钟)?(?P<m5>半|一刻|三刻|整|\d{{1,2}}分?|[零〇]?[{_HAN}]{{1,3}}分?)?",
)
_LUNAR_MONTH = r"[正一二三四五六七八九十冬腊]{1,2}月"
#: A day that is, or may be, of the lunar calendar: it is only repeated, never converted.
LUNAR_DAY = Guarded(
    "月",
    rf"(?:农历|阴历|旧历){_LUNAR_MONTH}(?:初|廿)?[一二三四五六七八九十]{{0,3}}"
    rf"|{_LUNAR_MONTH}(?:[初廿][一二三四五六七八九十]|[一二三四五六七八九十]{{1,3}})(?![一二三四五六七八九十日号])",
)
_LUNAR = rf"(?:农历|阴历|旧历){_LUNAR_MONTH}(?:初|廿)?[一二三四五六七八九十]{{0,3}}[日号]?|{_LUNAR_MONTH}[初廿][一二三四五六七八九十]"


#: What follows "this may" where it is no month.
_AFTER_MAY = (
    r"(?:not?|never|be|have|also|well|still|only|just|soon|sound|seem|mean|help|change|take|need|become|make|hold|hurt)"
)
_MONTHS_SHORT = tuple(name[:3] for name in MONTH_NAMES)
_CENTURIES = ("19", "20")
_WEEKDAY_WORDS = ("周", "星期", "礼拜")
_BACKWARDS = pattern_of(r"\b(?:ago|before|back|earlier)\b|前")
_FORWARDS = pattern_of(r"\b(?:next|coming|within)\b|未来|今后|接下来|内")
#: "The coming friday", "exam coming friday"; not "we were coming friday".
_NO_VERB = (
    r"(?<!\bbe )(?<!\bbeen )(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bi )(?<!\byou )(?<!\bhe )(?<!\bshe )"
    r"(?<!\bit )(?<!\bwe )(?<!\bthey )(?<!\bnot )(?<!'s )(?<!'re )(?<!'m )"
)
#: What follows a length of time in which something has happened: "within a week she had gone", 一年内换了三份工作.
_PAST_AFTER = r",? (?:i|we|he|she|they|it)(?:'d| had| was| were| \w+ed)\b"
_ZH_PAST_AFTER = r"(?![^，。！？,\n]{0,6}[要得必])[^，。！？,\n]{0,16}(?:[了过]|几次|多少)"
_WHICH_WORDS = ("last", "past", "previous", "this", "next", "coming")
_WHICH = r"(?P<which>last|past|previous|this|next|coming)"
_BACK = ("ago", "before", "back", "earlier")


def _rule(
    needs: str | Sequence[str],
    pattern: str,
    read: Callable[[re.Match[str], date], _Readings],
    kind: Kind = "relative",
    *,
    certain: bool = True,
) -> _Rule:
    parts = needs.split("|") if isinstance(needs, str) else needs
    also: Sequence[str] = _UNITS if _AMOUNT in pattern else _ZH_UNITS if _ZH_AMOUNT in pattern else ()
    return _Rule(frozenset(parts), frozenset(also), pattern_of(pattern), read, kind, certain)


# fmt: off
_RULES = (
    _rule("历|初|廿", _LUNAR, _read_nothing),
    # with a year
    _rule(_CENTURIES, rf"{_YEAR}(?<!\d\d\d\d\d)\s?[-/.年]\s?(?P<month>\d{{1,2}})\s?[-/.月]\s?(?P<day>\d{{1,2}})(?!\d)[日号]?", _read_date, "date"),
    _rule(_MONTHS_SHORT, rf"\b{_DAY_NUMBER}{_UNTIL}(?: of)? {_MONTH},? {_YEAR}\b", _read_date, "date"),
    _rule(_MONTHS_SHORT, rf"\b{_MONTH} {_DAY_NUMBER}{_UNTIL},? {_YEAR}\b", _read_date, "date"),
    _rule("年", rf"{_ZH_YEAR}的?{_ZH_MONTH}月份?{_ZH_DAY}[日号]{_ZH_UNTIL}", _read_date, "day"),
    _rule(_CENTURIES, rf"{_YEAR}(?<!\d\d\d\d\d)\s?[-/年]\s?(?P<month>\d{{1,2}})(?![\d岁个次])(?:月份?)?{_ZH_THIRD}", _read_date, "date"),
    _rule(_MONTHS_SHORT, rf"\b(?:{_THIRD}[ -])?{_MONTH},?(?: of)? {_YEAR}\b", _read_date, "date"),
    _rule("年", rf"{_ZH_YEAR}的?{_ZH_MONTH}月份?{_ZH_THIRD}(?!前|后)", _read_date, "month"),
    _rule("half", rf"\b(?:the )?(?P<half>first|second) half of (?:(?:the|this) year|{_YEAR})\b", _read_part_of_year),
    _rule("half a|half-|half year|six months", rf"\b(?:the |this |these |over |in )*(?:last|past)? ?(?:half[ -](?:a[ -])?year|six months)\b(?! {_DIRECTION})", _read_last_days),
    _rule("半年", r"(?:这|过去|最近|近)(?:大)?半年", _read_last_days),
    _rule("半年", rf"{_ZH_YEAR}?的?(?P<zh_half>[上下])半年", _read_part_of_year),
    _rule("quarter", r"\b(?P<which>last|this|next) quarter\b", _read_part_of_year),
    _rule("quarter|q1|q2|q3|q4", rf"\b(?:q(?P<number>[1-4])|(?:the )?(?P<quarter>first|second|third|fourth) quarter)(?:(?: of)? {_YEAR})?\b", _read_part_of_year),
    _rule("季度", rf"(?P<zh_which>这个?|本|上个?|下个?)季度|{_ZH_YEAR}?的?第?(?P<zh_quarter>[一二三四1-4])季度", _read_part_of_year),
    _rule(_SEASON_WORDS, rf"\b(?:the )?{_SEASON}(?:,? of|,)? {_YEAR}\b", _read_season),
    _rule("christ|thanks|hallow|valentine|year|boxing|mother|father|labor|patrick",
          rf"\b(?<!every )(?<!each )(?:(?P<which>last|this coming|next|this) )?(?P<holiday>{_EN_HOLIDAYS})(?:,? {_YEAR})?\b",
          _read_holiday),
    _rule("元旦|节|五一|六一|国庆|十一|圣诞|清明|平安夜|跨年夜|双十一", rf"{_ZH_YEAR}?的?(?<![周期拜])(?P<holiday>{_ZH_HOLIDAYS})", _read_holiday),
    _rule("easter|good fri|maundy|palm sun|ash wed|shrove|pancake|ascension|pentecost|whit mon",
          rf"\b(?:(?P<which>last|next|this) )?(?P<easter>{'|'.join(sorted(_FROM_EASTER, key=len, reverse=True))})\b(?:,? {_YEAR}\b)?(?! eggs?\b)", _read_easter),
    _rule("复活节", rf"{_ZH_YEAR}?的?(?P<easter>复活节)", _read_easter),
    _rule("day of|day in", rf"\b(?:the )?(?P<nth>first|1st|second|2nd|third|3rd|fourth|4th|last) (?P<weekday>{_DAYS}) (?:of|in) {_MONTH}(?:,? {_YEAR}\b)?", _read_nth_weekday),
    _rule("第|最后", rf"(?:{_ZH_YEAR}的?)?{_ZH_MONTH}月份?的?(?:第(?P<zh_nth>[一二三四])|(?P<nth>最后一))个?(?:周|星期|礼拜)(?P<zh_weekday>[一二三四五六日天])", _read_nth_weekday),
    _rule("春|夏|秋|冬", rf"(?:{_ZH_YEAR}|(?P<which>这个?|上个?|下个?|今|去))的?(?P<zh_season>[春夏秋冬])(?![节分运晚卷至令])[天季]?", _read_season),
    _rule("春|夏|秋|冬", r"(?P<zh_season>[春夏秋冬])[天季]", _read_season),
    _rule("0s|0's|ties", r"\b(?:(?:the )?(?P<decade>(?:19|20)\d0)'?s|the '?(?P<short>[2-9]0)'?s|the (?P<word>\w+ties))\b", _read_decade),
    _rule("年代", r"(?:上世纪|二十世纪|20世纪)?(?P<zh_decade>(?:19|20)?\d0|[二三四五六七八九]十)年代", _read_decade),
    _rule(_CENTURIES, rf"\b(?:{_THIRD}[ -]|(?P<lead>{_IN}[ -])){_YEAR}\b(?!-?\d|[.,]\d)", _read_year, "date"),
    _rule("年", rf"(?<![\d.,]){_ZH_PLAIN_YEAR}(?!代)(?P<zh_third>[初中底末])?", _read_year, "date"),
    _rule(_CENTURIES, rf"(?<![\d.,£$€¥]){_YEAR}(?![\d.,]*\d|\s?(?:元|块|步|pounds|dollars|steps|米|公里|字|km|年))", _read_year, "date", certain=False),
    # days and months without a year
    _rule(_MONTHS_SHORT, rf"\b{_MONTH}(?:,(?= (?:the )?\d+(?:st|nd|rd|th)\b))?\s+(?:the )?{_DAY_NUMBER}{_UNTIL}(?!\d|:|\s?[ap]m)\b", _read_date, "day"),
    _rule(_MONTHS_SHORT, rf"\b{_DAY_NUMBER}{_UNTIL}\s+(?:of\s+)?{_MONTH}\b", _read_date, "day"),
    _rule(_MONTHS_SHORT, rf"\b(?P<day>{_ORDINAL_DAY}) of {_MONTH}", _read_date, "day"),
    _rule(_MONTHS_SHORT, rf"\b{_MONTH} (?:the |(?=(?:twenty|thirty)[ -]))(?P<day>{_ORDINAL_DAY})\b", _read_date, "day"),
    _rule("日|号", rf"{_ZH_MONTH}月份?{_ZH_DAY}[日号]{_ZH_UNTIL}", _read_date, "day"),
    _rule("月", r"(?<!\d)(?P<month>1[0-2]|[1-9])月(?P<day>[12]\d|3[01]|[1-9])(?![\d个天人次点:：.])", _read_date, "day"),
    _rule("飞|出发|截止|到期|入职|开学|考试|回来|回国", r"(?<![\d.])(?P<month>1[0-2]|[1-9])\.(?P<day>[12]\d|3[01]|[1-9])(?=飞|出发|截止|到期|入职|开学|考试|回[来国])", _read_date, "day"),
    _rule(_MONTHS_SHORT, rf"\b{_WHICH} {_MONTH}(?! \d)(?!(?<=this may) {_AFTER_MAY}\b)", _read_month_away, "month"),
    _rule(_MONTHS_SHORT, rf"\b(?:{_THIRD}[ -]|(?P<lead>{_IN}[\s-]+)){_MONTH}(?! \d)", _read_date, "month"),
    _rule(_MONTHS_SHORT, rf"\b(?P<month>{_MONTH_LONG})\b", _read_date, certain=False),
    _rule("月", rf"{_ZH_MONTH}月(?:份|{_ZH_THIRD})(?!前|后)", _read_date, "month"),
    # distances
    _rule("today", rf"(?P<lead>\b(?:been|for|sober|clean|together) )?\b{_AMOUNT}(?: ago| from|(?<=week)|(?<=weeks)|(?<=fortnight)) today\b", _read_distance),
    _rule((*DAY_NAMES, "tomorrow"), rf"\b(?P<count>an?|one|two|three|2|3) weeks? (?:on |from )?(?P<weekday>{_DAYS}|tomorrow)\b(?!s){_PART}", _read_weeks_on),
    _rule((*DAY_NAMES, "tomorrow"), rf"\b(?P<weekday>{_DAYS}|tomorrow) week\b(?! \w*\d)", _read_weeks_on),
    _rule(_BACK, rf"\b{_AMOUNT}\s+(?:ago|before|back|earlier)\b", _read_distance, "ago"),
    _rule("from now|later", rf"\b{_AMOUNT} (?:from now|later)\b", _read_distance),
    _rule("within", rf"\bwithin (?:about )?{_AMOUNT}\b(?! of\b)(?!{_PAST_AFTER})", _read_adjoining),
    _rule("in ", rf"\bin (?:about )?{_AMOUNT}\b", _read_distance),
    _rule("前", rf"{_ZH_AMOUNT}(?:之|以)?前", _read_distance, "ago"),
    _rule("后", rf"{_ZH_AMOUNT}(?:之|以)?后", _read_distance),
    _rule("last|past|recent", rf"\b(?:over |in |during |for )?(?:the |these |this )?(?:last|past|recent) {_AMOUNT}\b", _read_adjoining),
    _rule("last|past", r"\b(?:(?:over|in|during|for) the (?:last|past)|the past) (?P<unit>day|week|month|year)\b", _read_adjoining),
    _rule("next|coming", rf"\b(?:the )?(?:next|coming) {_AMOUNT}\b", _read_adjoining),
    _rule("这|过去|近|前", rf"(?:这|过去|最近|近|前)的?{_ZH_AMOUNT}", _read_adjoining),
    _rule("未来|今后|接下来", rf"(?:未来|今后|接下来)的?{_ZH_AMOUNT}", _read_adjoining),
    _rule("内", rf"{_ZH_AMOUNT}(?:之|以)?内(?!{_ZH_PAST_AFTER})", _read_adjoining),
    # units of the calendar
    _rule("time", r"\bthis time (?P<which>last|next) (?P<unit>year)\b", _read_same_month),
    _rule("时|今天|此", r"(?P<which>[去明前])年的?(?:这个?时候?|此时|今天)", _read_same_month),
    _rule("before last|after next", r"\bthe (?P<unit>week|weekend|month|year) (?:(?P<back>before last)|(?P<on>after next))\b", _read_unit),
    _rule("end|beginning|start|middle|mid|early|late", rf"\b{_THIRD} {_WHICH} month\b", _read_month_away),
    _rule("end|beginning|start|middle", r"\b(?P<third>(?:the )?(?:beginning|start|middle|end) of)(?P<which>)(?: the)? month\b", _read_month_away),
    _rule("end", r"\b(?:the )?end of (?:the (?P<which>)|(?P<this>this ))?(?P<unit>week)\b", _read_unit),
    _rule("过", rf"(?:(?<![\u4e00-\u9fff])|(?<=[再等要就可能概计我你您他她们妈爸爹娘哥姐弟妹爷奶公婆叔姨舅姑友事板司])|(?<=[小老阿][\u4e00-\u9fff])|(?<=[女儿孩嫂妻][儿子]))过{_ZH_AMOUNT}(?![了前]|[^，。]{{0,4}}日子)", _read_distance),
    _rule("year|month|week", rf"\b{_WHOLE} (?P<whole>year|month|week)\b", _read_so_far),
    _rule(_SEASON_WORDS, rf"\b(?:{_WHOLE}|in the|in) (?P<whole>spring|summer|autumn|fall|winter)\b", _read_so_far),
    _rule(_WHICH_WORDS, rf"\b{_WHICH}\s+(?P<unit>week|wk|weekend|month|mth|year|yr)\b(?! old)", _read_unit),
    _rule(_SEASON_WORDS, rf"\b{_WHICH}\s+{_SEASON}\b", _read_season),
    _rule("每|逢", r"每(?:逢|个|隔)?(?:周|星期|礼拜)(?P<zh_weekday>[一二三四五六日天])(?![章次个回篇本趟节期封天])", _read_chinese_weekday, "weekday", certain=False),
    _rule(_WEEKDAY_WORDS, rf"(?P<which>上+个?|下+个?|这个?|本)(?:周|星期|礼拜)(?P<zh_weekday>[一二三四五六日天1-7])(?![一二三四五六七八九十\d])(?P<part>{_ZH_PARTS}|早|晚)?", _read_chinese_weekday, "weekday"),
    _rule("末|周|礼拜|星期", r"(?P<which>上+个?|下+个?|这个?|本)?(?P<unit>周末)", _read_unit),
    _rule(_WEEKDAY_WORDS, r"(?P<which>上+个?|下+个?|这个?|本)(?P<unit>周|星期|礼拜)(?!围|边|期)", _read_unit),
    _rule(_WEEKDAY_WORDS, rf"(?:(?<![一二两三四五六七八九十几每\d])|(?<=[周期拜][一二三四五六日天]))(?P<which>)(?:周|星期|礼拜)(?P<zh_weekday>[一二三四五六日天])(?P<part>{_ZH_PARTS}|早|晚)?", _read_chinese_weekday, "weekday"),
    _rule("上月|下月|这月|本月|个月", rf"(?P<which>上+个?|下+个?|这个?|本)月(?:{_ZH_DAY}[日号]|{_ZH_THIRD})", _read_month_away),
    _rule("月底|月初|月中|月末", rf"(?<![\d{_HAN}])(?P<which>)月(?P<zh_third>[初中底末])", _read_month_away),
    _rule("年底|年初|年中|年末|年年", r"(?P<year>[今去明]年|大?前年)?(?:年|(?<=年))(?P<zh_third>[初中底末])", _read_third_of_year),
    _rule("年", r"(?P<which>[今去明后]|大?前)(?P<unit>年)", _read_unit),
    _rule(DAY_NAMES, rf"\b(?:every|each)(?: (?:other|second|single))? (?P<weekday>{_DAYS})s?\b{_PART}", _read_weekday, "weekday", certain=False),
    _rule([f"{day}s" for day in DAY_NAMES], rf"\b(?P<weekday>{_DAYS})s\b{_PART}", _read_weekday, "weekday", certain=False),
    _rule("every|each|daily|weekly|monthly|yearly|annually|once|twice|times",
          rf"\b(?:every|each)(?: (?:other|second|single|few|couple of|{_SMALL}))? (?:days?|mornings?|afternoons?|evenings?|nights?|weekends?|weekdays?|weeks?|months?|years?|spring|summer|autumn|winter|christmas|birthday|{_MONTH_LONG})\b|\b(?:daily|weekly|monthly|yearly|annually)\b|\b(?:once|twice|(?:{_SMALL}) times) an? (?:day|week|month|year)\b",
          _read_nothing, "recurrence"),
    _rule("每|天天|年年", r"每(?:隔|逢)?(?:[一两二三四五六七八九十半几\d]{1,3})?个?(?:天|日|周末?|星期|礼拜|月|年|早|晚)(?:早上|晚上)?|天天|年年", _read_nothing, "recurrence"),
    # days
    _rule(_DAY_WORDS, rf"\b(?P<near>(?:the )?day before yesterday|(?:the )?night before last|last night|yesterday|today|tonight|(?:the )?day after tomorrow|tomorrow|tmorrow|tmrow|tomorro|tomoro|tomorow|tommorr?ow|tmrw|tmr|tomoz|2moro|2morrow|tonite)\b{_PART}", _read_near_day),
    _rule("this", r"\b(?P<near>this) (?P<part>morning|afternoon|evening)\b", _read_near_day),
    _rule("天|日|晚|早|夜|儿", rf"(?<![然以之从])(?P<zh_near>大前|大后|前|昨|今|明|后)(?=[天日晚早夜]|(?<!以)(?<!之)儿(?![子女童媳科歌戏]))(?:[天日](?![气空生赋性])|儿个?)?(?P<part>{_ZH_PARTS}|早|晚|夜)?(?<![前昨今明后])", _read_near_day),
    _rule("before last", rf"\b(?:the )?(?P<weekday>{_DAYS}) (?P<before_last>before last)\b", _read_weekday, "weekday"),
    _rule("after", rf"\bthe (?P<weekday>{_DAYS}|mon|tues?|wed|weds|thu(?:rs?)?|fri|sat|sun) (?P<following>after)(?: next| that)?(?=\s*(?:[^\w\s]|$)|\s+(?:now|instead|and|so|but|cos|as)\b)", _read_weekday, "weekday"),
    _rule(DAY_NAMES, rf"\b(?:(?P<which>last|next|this|{_NO_VERB}coming|past)\s+)?(?P<weekday>{_DAYS})\b{_PART}", _read_weekday, "weekday"),
    _rule("mon|tue|wed|thu|fri|sat|sun", rf"(?:\b(?:(?P<which>last|next|this)|on|til|till|until|by|due)\s+|(?<![\w'’-])(?=(?:mon|tues?|weds|thu(?:rs?)?|fri)\b|(?:sat|sun) (?:morning|afternoon|arvo|evening|night)\b|(?:wed|sat)(?:(?<=^wed)|(?<=^sat)|(?<=[.,;:!?\n] wed)|(?<=[.,;:!?\n] sat)|(?<=\band wed)|(?<=\band sat)) (?:i|we|my|i'm|im|he|she|they)\b))(?P<weekday>mon|tues?|weds|thu(?:rs?)?|fri|(?:wed|sat|sun)(?=\s*(?:[^\w\s'’-]|$)|\s+(?:\d|(?:at|in|and|i|we|morning|afternoon|arvo|evening|night)\b)))\b(?: arvo\b)?{_PART}", _read_weekday, "weekday"),
    _rule([f"{digit}{end}" for digit in range(10) for end in ("st", "nd", "rd", "th")], r"\b(?:the )?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)\b(?! (?:floor|grade|century|birthday|anniversary|street|time|place))", _read_day_of_month, "day of month"),
    _rule("号|日", rf"(?<![\d{_HAN}月])(?P<day>\d{{1,2}}|[{_HAN}廿]{{1,3}})[日号](?![楼线码院店])", _read_day_of_month, "day of month"),
    # only for a question about the whole of it
    _rule("lately|recently|these days|最近|近来|近期|这", r"\b(?:lately|recently|these days)\b|最近|近来|近期|这阵子|这段时间|这些日子|这些天", partial(_read_last_days, days=_LATELY, about=True), "vague", certain=False),
    _rule((*_SEASON_WORDS, "year"), r"\b(?P<whole>spring|summer|autumn|fall|winter|(?<!\d )(?<!last )(?<!past )(?<!this )year)\b(?! old)", _read_bare_whole, "vague", certain=False),
    # a length of time, which may begin or end here
    _rule(_UNITS, rf"\b{_AMOUNT}\b(?![ -]old)", _read_duration, certain=False),
    _rule(_ZH_UNITS, _ZH_AMOUNT, _read_duration, certain=False),
)
# fmt: on
#: What the rules look for before they are tried, by its first letter; of it several words; and which rules need it.
_NEEDING = {
    part: [at for at, rule in enumerate(_RULES) if part in rule.needs]
    for rule in _RULES
    for part in rule.needs | rule.also
}
_NEEDED = {one[0]: [part for part in _NEEDING if part[0] == one[0]] for one in _NEEDING}
_PHRASES = [part for part in _NEEDING if " " in part]
