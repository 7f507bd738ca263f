"""Times that a question speaks of, as windows of days: "last May", "three years ago", "上周三", "5月4日".

Rules for English and Chinese, relative to a given now. A window only makes turns of those days likelier; it
never hides the others, since people are often wrong about when something was.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: What a calendar calls its months and days.
CALENDAR = frozenset((*_MONTHS, *_DAYS))
_SEASONS = {
    "spring": 3,
    "summer": 6,
    "autumn": 9,
    "fall": 9,
    "winter": 12,
    "春": 3,
    "夏": 6,
    "秋": 9,
    "冬": 12,
}
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple": 2, "three": 3, "a few": 3, "few": 3, "several": 4,
    "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_DIGITS = {
    "〇": 0,
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_WEEKDAYS = {
    **{c: n for n, c in enumerate("一二三四五六")},
    **{str(n + 1): n for n in range(6)},
    "日": 6,
    "天": 6,
}

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_COUNT = r"(?P<count>\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + ")"
_SMALL = r"[一二三四五六七八九十\d]"
_NUMBER = r"[〇零一二两三四五六七八九十\d]{1,4}"
#: How many there are of something; 十几 and 几十 as well.
CHINESE_COUNT = rf"[一二两三四五六七八九]?十几|[几数]十|{_NUMBER}|几|数"
#: What "a few" stands for.
_FEW = 3


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days, both ends in it. With ``yearly`` it is meant in whatever year."""

    first: date
    last: date
    yearly: bool = False

    def nearness(self, day: date) -> float:
        """1 inside; outside it falls to 0 over the window's own length, but at least three days."""
        away = self._days_away(day)
        slack = max(3, (self.last - self.first).days + 1)
        return max(0.0, 1.0 - away / slack)

    def _days_away(self, day: date) -> int:
        if self.yearly:
            day = _moved(day, self.first.year)
        return max((self.first - day).days, (day - self.last).days, 0)


def windows(text: str, today: date) -> tuple[Period, ...]:
    """The windows that a text speaks of, relative to ``today``; none is the usual case.

    >>> windows("What did I cook last May?", date(2026, 11, 20))
    (Period(first=datetime.date(2026, 5, 1), last=datetime.date(2026, 5, 31), yearly=False),)
    """
    return tuple(_read(text, today)[0])


def without_windows(text: str, today: date) -> str:
    """A text without the words that speak of a window.

    >>> without_windows("What did I cook last May?", date(2026, 11, 20))
    'what did i cook  ?'
    """
    return _read(text, today)[1]


def _read(text: str, today: date) -> tuple[list[Period], str]:
    """The windows that a text speaks of, and what is left of it."""
    found: list[Period] = []
    rest = text.casefold()
    for needs, pattern, rule in _RULES:
        matches = list(re.finditer(pattern, rest)) if any(part in rest for part in needs) else []
        for match in matches:
            try:
                window = rule(match, today)
            except (ValueError, OverflowError):
                continue
            if window and window not in found:
                found.append(window)
        if matches:
            rest = re.sub(pattern, " ", rest)
    return found, rest


def without_distances(text: str) -> str:
    """A text without "nine days ago" and 九天前.

    >>> without_distances("Where was I nine days ago?")
    'Where was I  ?'
    """
    return re.sub(_CHINESE_AGO, " ", re.sub(_ENGLISH_AGO, " ", text, flags=re.IGNORECASE))


def _moved(day: date, year: int) -> date:
    return day.replace(year=year, day=28 if (day.month, day.day) == (2, 29) else day.day)


def _span(centre: date, slack: int) -> Period:
    return Period(centre - timedelta(slack), centre + timedelta(slack))


def _month_window(year: int, month: int, *, yearly: bool = False) -> Period:
    return Period(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]), yearly)


def _year_window(year: int) -> Period:
    return Period(date(year, 1, 1), date(year, 12, 31))


def _season_window(year: int, first_month: int) -> Period:
    start = date(year, first_month, 1)
    end = start + timedelta(91)
    return Period(start, end)


def _past_year(month: int, today: date) -> int:
    """The year of the latest such month that has begun."""
    return today.year if month <= today.month else today.year - 1


def _month_number(name: str) -> int:
    return next(n for n, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _months_back(today: date, months: int) -> date:
    total = today.year * 12 + today.month - 1 - months
    year, month = divmod(total, 12)
    return date(year, month + 1, min(today.day, calendar.monthrange(year, month + 1)[1]))


def _chinese_number(text: str) -> int:
    """三 3, 十二 12, 二十 20, 二〇二三 2023, 15 15. Raises ValueError."""
    if "十" in text:
        return chinese_count(text)
    return int("".join(str(_DIGITS.get(c, c)) for c in text))


def chinese_count(text: str) -> int:
    """How many: 十二 12; of two numbers the middle, 两三 3 and 二三十 25; 几 3, 几十 30. Raises ValueError."""
    tens, ten, ones = text.rpartition("十")
    if not ten and (ones.isdecimal() or "〇" in ones or "零" in ones):
        return _chinese_number(ones)
    return math.ceil(10 * (_middle(tens) if tens else len(ten)) + (_middle(ones) if ones else 0))


def _middle(digits: str) -> float:
    """三 3, 二三 2.5, 几 3."""
    return sum(_FEW if c in "几数" else int(_DIGITS.get(c, c)) for c in digits) / len(digits)


def _ago(unit: str, count: int, today: date) -> Period:
    """The further back, the wider."""
    if unit == "day":
        return _span(today - timedelta(count), 0 if count < 3 else 1)
    if unit == "week":
        return _span(today - timedelta(weeks=count), 4)
    if unit == "month":
        return _span(_months_back(today, count), 16)
    return _year_window(today.year - count)


def _english_ago(m: re.Match[str], today: date) -> Period:
    count = int(m["count"]) if m["count"].isdecimal() else _COUNTS[m["count"]]
    return _ago(m["unit"], count, today)


def _english_last(m: re.Match[str], today: date) -> Period | None:
    """last/this/past week, month, year, weekend, season, month name, weekday."""
    back = 0 if m["which"] == "this" else 1
    what = m["what"]
    if what in _SEASONS:
        return _last_season(what, today, back)
    if what in _DAYS:
        return _weekday(_DAYS.index(what), today)
    return _calendar_unit(what, today, back)


def _calendar_unit(unit: str, today: date, back: int) -> Period:
    monday = today - timedelta(today.weekday() + 7 * back)
    if unit == "week":
        return Period(monday, monday + timedelta(6))
    if unit == "weekend":
        return Period(monday + timedelta(5), monday + timedelta(6))
    if unit == "month":
        first = _months_back(today.replace(day=1), back)
        return _month_window(first.year, first.month)
    return _year_window(today.year - back)


def _last_season(name: str, today: date, back: int) -> Period:
    """ "This summer" is this year's; "last summer" the latest that is over."""
    window = _season_window(today.year, _SEASONS[name])
    if back and window.last >= today:
        window = _season_window(today.year - 1, _SEASONS[name])
    return window


def _weekday(number: int, today: date) -> Period:
    back = (today.weekday() - number) % 7 or 7
    return _span(today - timedelta(back), 0)


def _english_date(m: re.Match[str], today: date) -> Period:
    parts = m.groupdict()
    month = _month_number(m["month"])
    year = int(parts["year"]) if parts.get("year") else None
    if not parts.get("day"):
        return _month_window(year or _past_year(month, today), month, yearly=year is None)
    day = date(year or _past_year(month, today), month, int(m["day"]))
    return Period(day, day, yearly=year is None)


def _last_month_name(m: re.Match[str], today: date) -> Period:
    month = _month_number(m["month"])
    return _month_window(_past_year(month, today) if month != today.month else today.year - 1, month)


def _iso(m: re.Match[str], today: date) -> Period:
    day = date(int(m["year"]), int(m["m"]), int(m["day"]))
    return Period(day, day)


def _near_day(back: int) -> Callable[[re.Match[str], date], Period]:
    return lambda m, today: _span(today - timedelta(back), 0)


def _chinese_ago(m: re.Match[str], today: date) -> Period:
    units = {"天": "day", "日": "day", "周": "week", "星": "week", "礼": "week", "月": "month", "年": "year"}
    return _ago(units[m["unit"].lstrip("个")[0]], chinese_count(m["count"]), today)


def _chinese_week(m: re.Match[str], today: date) -> Period:
    """上周, 上上周三, 这个星期天, 上周末."""
    back = m["which"].count("上")
    week = _calendar_unit("week", today, back)
    if not m["day"]:
        return week
    if m["day"] == "末":
        return _calendar_unit("weekend", today, back)
    return _span(week.first + timedelta(_WEEKDAYS[m["day"]]), 0)


def _chinese_year_of(text: str | None, today: date) -> int | None:
    named = {"今年": 0, "去年": 1, "前年": 2, "大前年": 3}
    if not text:
        return None
    return today.year - named[text] if text in named else _chinese_number(text.removesuffix("年"))


def _chinese_date(m: re.Match[str], today: date) -> Period:
    year, month = _chinese_year_of(m["year"], today), _chinese_number(m["month"])
    if not m["day"]:
        return _month_window(year or _past_year(month, today), month, yearly=year is None)
    day = date(year or _past_year(month, today), month, _chinese_number(m["day"]))
    return Period(day, day, yearly=year is None)


def _chinese_month(m: re.Match[str], today: date) -> Period:
    return _calendar_unit("month", today, m["which"].count("上"))


def _chinese_year(m: re.Match[str], today: date) -> Period:
    return _year_window(_chinese_year_of(m["year"], today) or today.year)


def _chinese_season(m: re.Match[str], today: date) -> Period:
    year = _chinese_year_of(m["year"], today)
    return _season_window(year, _SEASONS[m["season"]]) if year else _last_season(m["season"], today, 1)


def _year(m: re.Match[str], today: date) -> Period:
    return _year_window(int(m["year"]))


_ENGLISH_AGO = rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+(?:ago|before|back|earlier)\b"
#: What a text holds one of that tells how long ago something was.
_BACK = ("ago", "before", "back", "earlier")
DISTANT = (*_BACK, "前")
_CHINESE_AGO = rf"(?P<count>{CHINESE_COUNT})[多来余]?(?P<unit>天|日|周|个?星期|个?礼拜|个月|年)(?:之|以)?前"
_Rule = Callable[[re.Match[str], date], Period | None]
_WHAT = "week|weekend|month|year|" + "|".join([*_DAYS, "spring", "summer", "autumn", "fall", "winter"])
_ZH_YEAR = rf"(?P<year>{_NUMBER}年|今年|去年|大?前年)"
_ZH_DATE = rf"(?:{_ZH_YEAR}的?)?(?P<month>{_SMALL}{{1,2}})月(?:份|(?P<day>{_SMALL}{{1,3}})[日号])?(?!前)"

_MONTHS_SHORT = tuple(month[:3] for month in _MONTHS)
_YEARS = ("19", "20")
_WHICH = ("last", "past", "previous", "this")

#: Of each rule: what a text holds one of that it can read, its pattern, and what that means; the more exact first. What
#: one has read the next does not see.
_RULES: tuple[tuple[tuple[str, ...], str, _Rule], ...] = (
    (_YEARS, r"\b" + _YEAR + r"[-/.](?P<m>\d{1,2})[-/.](?P<day>\d{1,2})\b", _iso),
    (_MONTHS_SHORT, rf"\b{_MONTH}\s+{_DAY}(?:\s*,?\s*{_YEAR})?\b", _english_date),
    (_MONTHS_SHORT, rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:\s*,?\s*{_YEAR})?\b", _english_date),
    (_MONTHS_SHORT, rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b", _english_date),
    (("last",), rf"\blast\s+{_MONTH}\b", _last_month_name),
    (_MONTHS_SHORT, rf"\b(?:in|during|since|of|early|late|mid|this)[\s-]+{_MONTH}\b", _english_date),
    (_BACK, _ENGLISH_AGO, _english_ago),
    (_WHICH, rf"\b(?P<which>{'|'.join(_WHICH)})\s+(?P<what>{_WHAT})\b", _english_last),
    (("yesterday",), r"\bday before yesterday\b", _near_day(2)),
    (("yesterday", "last"), r"\byesterday\b|\blast night\b", _near_day(1)),
    (("today", "this", "tonight"), r"\btoday\b|\bthis morning\b|\btonight\b", _near_day(0)),
    (_YEARS, rf"\b(?:in|during|since|of)\s+{_YEAR}\b", _year),
    (("月",), _ZH_DATE, _chinese_date),
    (("前",), _CHINESE_AGO, _chinese_ago),
    (("上", "这", "本"), r"(?P<which>上+|这|本)个?(?:周|星期|礼拜)(?P<day>[一二三四五六日天末1-6])?", _chinese_week),
    (("上", "这", "本"), r"(?P<which>上+|这|本)个?月", _chinese_month),
    (("春", "夏", "秋", "冬"), rf"(?:{_ZH_YEAR}的?)?(?P<season>[春夏秋冬])[天季]", _chinese_season),
    (("年",), _ZH_YEAR, _chinese_year),
    (("前",), r"大前天", _near_day(3)),
    (("前",), r"前天|前晚", _near_day(2)),
    (("昨",), r"昨[天日晚夜]", _near_day(1)),
    (("今",), r"今[天日晚早]", _near_day(0)),
)  # fmt: skip


def nearest(found: tuple[Period, ...], days: list[date]) -> Iterator[float]:
    """For each day, how near it is to the nearest window."""
    for day in days:
        yield max((window.nearness(day) for window in found), default=0.0)
