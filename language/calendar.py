"""Days and timestamps: ISO 8601 read safely even if a clock was wrong, and days written in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from language.scripts import Language

#: The date of a message whose date is unknown.
UNKNOWN_DATE = "?"


def date_of(timestamp: str) -> str:
    """The day and minute of an ISO 8601 timestamp.

    >>> date_of("2026-05-04T13:05:22.123+02:00")
    '2026-05-04 13:05'
    """
    return timestamp[:16].replace("T", " ")


def day_of(timestamp: str) -> date | None:
    """The local day of an ISO 8601 timestamp; None if it is not one."""
    try:
        return date.fromisoformat(timestamp[:10])
    except ValueError:
        return None


def in_zone(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """A moment in a zone (default: the local one); unchanged where that would leave the years 1 to 9999."""
    try:
        return moment.astimezone(zone)
    except (OverflowError, OSError, ValueError):
        return moment


def seconds_of(timestamp: str) -> float:
    """An ISO 8601 timestamp in seconds since 1970; 0 if it cannot be read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


#: English names of months and weekdays, in order and without capitals.
MONTH_NAMES = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
DAY_NAMES = tuple("monday tuesday wednesday thursday friday saturday sunday".split())  # noqa: SIM905


@dataclass(frozen=True)
class Calendar:
    """How one language writes days; the names in braces are the arguments of each template.

    ``day`` is one among others, ``whole_day`` one in a sentence, ``moment`` when something was said; ``ages`` are today
    and yesterday.
    """

    weekdays: tuple[str, ...]
    months: tuple[str, ...]
    day: str
    whole_day: str
    moment: str
    ages: tuple[str, str]


_CALENDARS: dict[Language, Calendar] = {
    "en": Calendar(
        weekdays=tuple(name.title() for name in DAY_NAMES),
        months=tuple(name.title() for name in MONTH_NAMES),
        day="{weekday} {date}",
        whole_day="{weekday} {day} {month} {year}",
        moment="{weekday:.3} {date}, {age}",
        ages=("today", "yesterday"),
    ),
    "zh": Calendar(
        weekdays=("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
        months=tuple(str(number) for number in range(1, 13)),
        day="{date} {weekday}",
        whole_day="{year} 年 {month} 月 {day} 日，{weekday}",
        moment="{date} {weekday}，{age}",
        ages=("今天", "昨天"),
    ),
}


def weekday_in(language: Language, day: date) -> str:
    """The name of its weekday."""
    return _CALENDARS[language].weekdays[day.weekday()]


def day_in(language: Language, day: date) -> str:
    """A day with its weekday.

    >>> day_in("en", date(2025, 11, 16)), day_in("zh", date(2025, 11, 16))
    ('Sunday 2025-11-16', '2025-11-16 星期日')
    """
    return _CALENDARS[language].day.format(weekday=weekday_in(language, day), date=day.isoformat())


def whole_day_in(language: Language, day: date) -> str:
    """A day as written in a sentence."""
    names = _CALENDARS[language]
    weekday, month = weekday_in(language, day), names.months[day.month - 1]
    return names.whole_day.format(weekday=weekday, day=day.day, month=month, year=day.year)


def names_day(text: str, day: date) -> bool:
    """Whether a text names this day, with its year, in either language.

    >>> names_day("on January 2nd, 2026", date(2026, 1, 2)), names_day("2026年1月2日", date(2026, 1, 12))
    (True, False)
    """
    month = _CALENDARS["en"].months[day.month - 1]
    name, number = rf"(?:{month}|{month[:3]}\.?)", rf"0?{day.day}(?:st|nd|rd|th)?"
    forms = (
        day.isoformat(),
        rf"\b{number}(?: of)? {name},? {day.year}",
        rf"\b{name} {number},? {day.year}",
        rf"{day.year} ?年 ?0?{day.month} ?月 ?0?{day.day} ?[日号]",
    )
    return re.search("|".join(forms), text, re.IGNORECASE) is not None


def age_in(language: Language, day: date, today: date) -> str:
    """How long ago a day is, as one says it; "" for a day in the future.

    >>> age_in("en", date(2025, 3, 2), date(2026, 5, 10)), age_in("zh", date(2023, 5, 1), date(2025, 11, 24))
    ('fourteen months ago', '两年多前')
    """
    days = (today - day).days
    if days < 2:
        return _CALENDARS[language].ages[days] if days >= 0 else ""
    return f"{_rough_length(language, days)}{'前' if language == 'zh' else ' ago'}"


def away_in(language: Language, day: date, today: date) -> str:
    """How far away a day is, as one says it, on either side of today.

    >>> away_in("en", date(2026, 5, 13), date(2026, 5, 10)), away_in("zh", date(2026, 5, 11), date(2026, 5, 10))
    ('in three days', '明天')
    """
    days = (day - today).days
    if days < 1:
        return age_in(language, day, today)
    if language == "zh":
        return "明天" if days == 1 else f"{_rough_length(language, days)}后"
    return "tomorrow" if days == 1 else f"in {_rough_length(language, days)}"


def _rough_length(language: Language, days: int) -> str:
    """So many days, in the largest unit that fits."""
    unit, zh_unit, length = next(each[:2] + each[3:] for each in _ROUGH_UNITS if days >= each[2])
    count, more = divmod(days, length)
    if language == "zh":
        return f"{_spell_chinese(count)}{zh_unit}{'多' if unit == 'year' and more >= _MORE_THAN else ''}"
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    return f"{number} {unit}{'' if count == 1 else 's'}"


def _spell_chinese(count: int) -> str:
    """A number below a hundred as spoken before a measure word."""
    if count > 99 or count == 2:
        return "两" if count == 2 else str(count)
    tens, ones = divmod(count, 10)
    digits = "零一二三四五六七八九"
    head = "" if not tens else "十" if tens == 1 else f"{digits[tens]}十"
    return head + (digits[ones] if ones or not tens else "")


#: Units of an age: in English, in Chinese, the days from which on they are used, and those of one.
_ROUGH_UNITS = (("year", "年", 730, 365), ("month", "个月", 60, 30), ("week", "周", 14, 7), ("day", "天", 0, 1))
#: So many days beyond whole years are 多.
_MORE_THAN = 60
#: Small numbers in English.
_NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip


def moment_in(language: Language, timestamp: str, now: datetime) -> str:
    """When something was said, in short; without an age where that lies ahead.

    >>> moment_in("en", "2025-11-16T21:30", datetime(2026, 1, 10)), moment_in("zh", "2025-11-16", datetime(2026, 1, 10))
    ('Sun 2025-11-16 21:30, seven weeks ago', '2025-11-16 星期日，七周前')
    """
    if (day := day_of(timestamp)) is None:
        return UNKNOWN_DATE
    age, form = age_in(language, day, now.date()), _CALENDARS[language].moment
    return form.format(weekday=weekday_in(language, day), date=date_of(timestamp), age=age).rstrip(" ,，")
