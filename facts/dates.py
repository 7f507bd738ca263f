"""Days that a turn speaks of, worked out from when it was said: 昨天, last Friday, 下周三, the 12th of June.

A date that a model gives is taken only where these rules come to the same. They are generous where people are: "on
Thursday" may be the last one or the next, a day without a year the last or the coming one.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from domain.text import pattern_of
from facts.guarded import holds_any
from facts.numbers import value_of
from recall.periods import DISTANT, windows, without_distances

MONTH_NAMES = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
]  # fmt: skip
DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_HAN_DAYS = {**{c: n for n, c in enumerate("一二三四五六")}, "日": 6, "天": 6}


#: The dates of so many texts are held: those of one statement are asked for again and again.
_TEXTS_HELD = 256


@dataclass(frozen=True, slots=True)
class Days:
    """A stretch of days, both ends in it."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class Written:
    """A date as it is written out in a text: the day, month or year it is, and the words that say so."""

    iso: str
    words: str


def told_days(text: str, said: date) -> tuple[Days, ...]:
    """Every stretch of days that words said on that day may mean; the day itself is always one."""
    found = [Days(said, said)]
    for written in written_dates(text):
        text = text.replace(written.words, " ")
        found += [days] if (days := span_of(written.iso)) else []
    plain = _LUNAR.sub(" ", text.casefold().replace("’", "'"))
    near = without_distances(plain) if holds_any(plain, DISTANT) else plain
    for window in windows(near, said):
        found += (
            _any_year(window.first, window.last, said) if window.yearly else [Days(window.first, window.last)]
        )
    for needs, pattern, rule in _RULES:
        for match in pattern.finditer(plain) if holds_any(plain, needs) else ():
            found += _tried(rule, match, said)
    found += _of_months(plain, said)
    return tuple(dict.fromkeys(found))


def derivable(iso: str, told: Sequence[Days]) -> bool:
    """Whether a day, month or year is what some words may mean: as exact as they are, or less."""
    days = span_of(iso)
    return days is not None and any(_follows(days, each) for each in told)


def iso_of(text: str) -> str:
    """A date of a model in its plain form: 2025, 2025-03 or 2025-03-04; "" for what is none.

    >>> iso_of("2025/3/4"), iso_of("March 2025"), iso_of("2025年3月")
    ('2025-03-04', '2025-03', '2025-03')
    """
    found = next(iter(written_dates(text)), None)
    if found:
        return found.iso
    year = re.fullmatch(r"\D{0,12}((?:19|20)\d\d)年?", text.strip())
    return year[1] if year else ""


@lru_cache(_TEXTS_HELD)
def written_dates(text: str) -> tuple[Written, ...]:
    """The dates with a year that are written out in a text, the more exact first."""
    found: list[Written] = []
    if not _ANY_YEAR.search(text):
        return ()
    rest = text
    for pattern in _WRITTEN:
        matches = list(pattern.finditer(rest))
        found += [Written(iso, match[0]) for match in matches if (iso := _iso_of_match(match))]
        rest = pattern.sub(" ", rest) if matches else rest
        if not _ANY_YEAR.search(rest):
            break
    return tuple(found)


def span_of(iso: str) -> Days | None:
    """The days of a day, a month or a year; None for what is none of them."""
    try:
        parts = [int(part) for part in iso[:10].split("-")]
        if len(parts) == 3:
            day = date(*parts)
            return Days(day, day)
        if len(parts) == 2:
            return _month(parts[0], parts[1])
        return Days(date(parts[0], 1, 1), date(parts[0], 12, 31))
    except (ValueError, TypeError):
        return None


def weekday_of(iso: str) -> int | None:
    """The weekday of a whole date."""
    days = span_of(iso)
    return days.first.weekday() if days and days.first == days.last else None


def _follows(days: Days, told: Days) -> bool:
    """Whether a date is what was told, coarser, an end of it, or inside of a stretch that is itself vague."""
    if days.first <= told.first and told.last <= days.last:
        return True
    length = (told.last - told.first).days + 1
    if days.first == days.last:
        inside = told.first <= days.first <= told.last
        return inside and (length <= _VAGUE or days.first in {told.first, told.last})
    return length <= _VAGUE_MONTH and days.first <= told.last and told.first <= days.last


#: So many days make a stretch that is told roughly: a week, a few weeks ago. Longer ones are months and seasons.
_VAGUE, _VAGUE_MONTH = 9, 34


def _tried(
    rule: Callable[[re.Match[str], date], Iterator[Days]], match: re.Match[str], said: date
) -> list[Days]:
    try:
        return list(rule(match, said))
    except (ValueError, OverflowError):
        return []


def _month(year: int, month: int) -> Days:
    return Days(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def _moved_months(said: date, months: int) -> tuple[int, int]:
    year, month = divmod(said.year * 12 + said.month - 1 + months, 12)
    return year, month + 1


def _one(day: date) -> Days:
    return Days(day, day)


# --- rules: what a match may mean


def _after(days: int) -> Callable[[re.Match[str], date], Iterator[Days]]:
    def rule(_: re.Match[str], said: date) -> Iterator[Days]:
        yield _one(said + timedelta(days))

    return rule


def _distance(match: re.Match[str], said: date) -> Iterator[Days]:
    """Three weeks from now or ago, and for three weeks: the day at either end, or about it."""
    count = value_of(match["count"]) or {"a": 1, "an": 1, "几": 3, "couple of": 2, "few": 3}.get(
        match["count"], 0
    )
    unit = match["unit"].lstrip("个")
    for sign in (1, -1):
        if unit[0] in "天日d":
            yield _one(said + timedelta(sign * count))
        elif unit[0] in "周星礼w":
            yield _one(said + timedelta(weeks=sign * count))
            yield from (
                ()
                if "today" in match.string[match.end() : match.end() + 12]
                else (_week(said + timedelta(weeks=sign * count)),)
            )
        elif unit[0] in "月m":
            year, month = _moved_months(said, sign * count)
            yield _month(year, month)
            yield _one(date(year, month, min(said.day, calendar.monthrange(year, month)[1])))
        else:
            yield Days(date(said.year + sign * count, 1, 1), date(said.year + sign * count, 12, 31))


def _week(day: date) -> Days:
    monday = day - timedelta(day.weekday())
    return Days(monday, monday + timedelta(6))


def _weekday(match: re.Match[str], said: date) -> Iterator[Days]:
    """Thursday: the last one and the next; "next Thursday" may also be that of the week after."""
    number = DAY_NAMES.index(match["day"])
    ahead = (number - said.weekday()) % 7
    yield _one(said + timedelta(ahead))
    yield _one(said + timedelta(ahead - 7))
    if match["which"] == "next":
        yield _one(_week(said + timedelta(7)).first + timedelta(number))


def _han_weekday(match: re.Match[str], said: date) -> Iterator[Days]:
    """周三, 下周三, 上上周五: of this week or so many weeks away."""
    which = match["which"] or ""
    week = _week(said + timedelta(7 * (which.count("下") - which.count("上"))))
    if match["day"] == "末":
        yield Days(week.first + timedelta(5), week.last)
        return
    number = _HAN_DAYS[match["day"]]
    yield _one(week.first + timedelta(number))
    if not which:
        ahead = (number - said.weekday()) % 7
        yield from (_one(said + timedelta(ahead)), _one(said + timedelta(ahead - 7)))


def _next_unit(match: re.Match[str], said: date) -> Iterator[Days]:
    """next week, this month, 下个月, 明年."""
    which, unit = match["which"], match["unit"]
    ahead = which.count("下") if "下" in which else {"next": 1, "coming": 1, "明": 1, "后": 2}.get(which, 0)
    if unit in ("week", "周", "星期", "礼拜"):
        yield _week(said + timedelta(7 * ahead))
    elif unit == "weekend":
        week = _week(said + timedelta(7 * ahead))
        yield Days(week.first + timedelta(5), week.last)
        yield Days(week.first + timedelta(12), week.last + timedelta(7))
    elif unit in ("month", "月"):
        yield _month(*_moved_months(said, ahead))
    else:
        yield Days(date(said.year + ahead, 1, 1), date(said.year + ahead, 12, 31))


def _end_of(match: re.Match[str], said: date) -> Iterator[Days]:
    """月底, 上个月底, 年底: the last days of it."""
    if match["unit"] == "年":
        yield Days(date(said.year, 12, 1), date(said.year, 12, 31))
        return
    back = (match["which"] or "").count("下") - (match["which"] or "").count("上")
    yield _month(*_moved_months(said, back))


def _feast(match: re.Match[str], said: date) -> Iterator[Days]:
    month, day = _FEASTS[match[0].replace("'", "").replace(" day", "")]
    yield from (_one(each) for each in _nearest_of(month, day, said))
    if match[0].startswith("清明"):
        yield from (_one(date(said.year, 4, each)) for each in (4, 5, 6))


def _any_year(first: date, last: date, said: date) -> list[Days]:
    """A stretch that is meant in whatever year, in those that are near."""
    length = last - first
    return [Days(day, day + length) for day in _nearest_of(first.month, first.day, said)]


def _nearest_of(month: int, day: int, said: date) -> Iterator[date]:
    """The latest such day and the next one."""
    for year in (said.year - 1, said.year, said.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if abs((found - said).days) <= 366:
            yield found


def _of_months(plain: str, said: date) -> Iterator[Days]:
    """Months and days without a year, and days of the month alone, in the years and months that are near."""
    months = sorted({MONTH_NAMES.index(name) + 1 for name in _A_MONTH.findall(plain)})
    han = [value_of(found["month"]) or 0 for found in _HAN_MONTH.finditer(plain)]
    named = [month for month in (*months, *han) if 1 <= month <= 12]
    for month in named:
        yield from (
            _month(year, month)
            for year in (said.year - 1, said.year, said.year + 1)
            if abs((date(year, month, 15) - said).days) <= 380
        )
    near = [_moved_months(said, away)[1] for away in (-1, 0, 1)]
    for found in _DAY_OF_MONTH.finditer(plain):
        day = value_of(found[1] or found[2] or found[3] or found[4]) or 0
        for month in named or near:
            yield from (_one(each) for each in _nearest_of(month, day, said))


_COUNT = r"\d{1,3}|couple of|few|几|[a-z]+(?:-[a-z]+)?|[一二两三四五六七八九十百]{1,4}"
_LUNAR = pattern_of(
    r"(?:农历|阴历|旧历)[正一二三四五六七八九十冬腊]{1,2}月(?:初|廿)?[一二三四五六七八九十]{0,3}"
)
_HAN_MONTH = pattern_of(
    r"(?<![个\d一二三四五六七八九十])(?P<month>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?!前|后)"
)
_NAME_OF_MONTH = rf"(?:{'|'.join(MONTH_NAMES)})"
_A_MONTH = pattern_of(rf"\b{_NAME_OF_MONTH}\b")
_DAY_OF_MONTH = pattern_of(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)\b|\b(\d{{1,2}})(?= (?:(?:to|and|until|or) \d{{1,2}} )?{_NAME_OF_MONTH}\b)"
    rf"|\b{_NAME_OF_MONTH} (\d{{1,2}})\b|(\d{{1,2}}|[一二三四五六七八九十]{{1,3}})[日号]"
)
#: Of each rule: what a text holds one of that it can read, its pattern, and what that may mean.
_RULES: tuple[
    tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str], date], Iterator[Days]]], ...
] = (
    (("tomorrow", "明"), pattern_of(r"\btomorrow\b|明[天日晚早]"), _after(1)),
    (("tomorrow", "后天"), pattern_of(r"\bday after tomorrow\b|(?<!大)后天"), _after(2)),
    (("大后天",), pattern_of(r"大后天"), _after(3)),
    (("yesterday", "last night", "昨"), pattern_of(r"\byesterday\b|\blast night\b|昨[天日晚夜]"), _after(-1)),
    (("yesterday", "前"), pattern_of(r"\bday before yesterday\b|(?<!大)前[天晚]"), _after(-2)),
    (("大前天",), pattern_of(r"大前天"), _after(-3)),
    (
        ("day", "week", "month", "year"),
        pattern_of(rf"(?:\ba )?\b(?P<count>a|an|{_COUNT})[ -](?P<unit>day|week|month|year)s?\b"),
        _distance,
    ),
    (
        ("天", "周", "星期", "礼拜", "个月", "年"),
        pattern_of(
            r"(?P<count>\d{1,3}|几|[一二两三四五六七八九十百]{1,4})(?P<unit>天|周|个?星期|个?礼拜|个月|年)"
        ),
        _distance,
    ),
    (
        ("day",),
        pattern_of(rf"\b(?:(?P<which>last|next|this|coming|on|past) )?(?P<day>{'|'.join(DAY_NAMES)})s?\b"),
        _weekday,
    ),
    (
        ("周", "星期", "礼拜"),
        pattern_of(r"(?P<which>[上下]+个?|[这本]个?)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天末])"),
        _han_weekday,
    ),
    (
        ("next", "coming", "this"),
        pattern_of(r"\b(?P<which>next|coming|this) (?P<unit>weekend|week|month|year)\b"),
        _next_unit,
    ),
    (("下",), pattern_of(r"(?P<which>下+)个?(?P<unit>周|星期|礼拜|月)"), _next_unit),
    (("年",), pattern_of(r"(?P<which>[今明后])(?P<unit>年)"), _next_unit),
    (("底", "末"), pattern_of(r"(?P<which>[上下]个?)?(?P<unit>月|年)[底末]"), _end_of),
    (
        ("christmas", "boxing", "new year", "halloween", "valentine", "元旦", "一", "国庆", "圣诞", "清明"),
        pattern_of(
            r"\b(?:christmas eve|christmas(?: day)?|boxing day|new year'?s eve|new year'?s day|halloween)\b"
            r"|\bvalentine'?s(?: day)?\b|元旦|五一|六一|国庆|十一黄金|圣诞|清明|双十一"
        ),
        _feast,
    ),
)
_FEASTS = {
    "christmas eve": (12, 24), "christmas": (12, 25), "boxing": (12, 26), "new years eve": (12, 31),
    "new years": (1, 1), "halloween": (10, 31), "valentines": (2, 14), "元旦": (1, 1), "五一": (5, 1),
    "六一": (6, 1), "国庆": (10, 1), "十一黄金": (10, 1), "圣诞": (12, 25), "清明": (4, 4), "双十一": (11, 11),
}  # fmt: skip

_MONTH_NAME = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ANY_YEAR = pattern_of(r"(?:19|20)\d\d")
_YEAR = r"(?P<year>(?:19|20)\d\d)"
#: Dates with a year, as they are written out.
_WRITTEN = tuple(
    pattern_of(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}\s?[-/.年]\s?(?P<month>\d{{1,2}})\s?[-/.月]\s?(?P<day>\d{{1,2}})(?!\d)[日号]?",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH_NAME},? {_YEAR}\b",
        rf"\b{_MONTH_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}\b",
        rf"(?<!\d){_YEAR}\s?[-/年]\s?(?P<month>\d{{1,2}})(?!\d)月?",
        rf"\b{_MONTH_NAME},?(?: of)? {_YEAR}\b",
        rf"(?<![\d.,]){_YEAR}年",
        rf"(?<![\d.,£$€¥]){_YEAR}(?![\d.,]*\d|\s?(?:元|块|步|pounds|dollars|steps|米|公里|字|[kK]m))",
    )
)
_MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(MONTH_NAMES, 1)}


def _iso_of_match(match: re.Match[str]) -> str:
    parts = match.groupdict()
    month = (
        int(parts["month"])
        if parts.get("month")
        else _MONTH_NUMBERS.get((parts.get("name") or "")[:3].lower())
    )
    if not month:
        return parts["year"] or ""
    iso = f"{parts['year']}-{month:02}" + (f"-{int(parts['day']):02}" if parts.get("day") else "")
    return iso if span_of(iso) else ""
