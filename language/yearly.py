"""Days that come every year: birthdays, anniversaries, by the solar or the lunar calendar.

``read_yearly`` reads the day out of a sentence; ``YearlyDay.next_on`` says when it is next. Lunar days are converted by
``borax``, for the years 1900 to 2100. The rules where a year has no such day are those of most families: the 30th of a
short month is its 29th; a day of a leap month is kept in the ordinary month of that number; 29 February is the 28th.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from domain.patterns import pattern_of
from language.numbers import parse_number
from language.times import read_times

#: Days after which a day of the year is no longer just past.
JUST_PAST = 3
#: Which calendar a day is of; ``unclear`` where the words leave it open: 生日是八月十五.
YearCalendar = Literal["solar", "lunar", "unclear"]
_HAN = "一二三四五六七八九十"
_LUNAR_WORD = r"(?:农历|阴历|旧历)"
_LUNAR_DAY = pattern_of(
    rf"(?P<word>{_LUNAR_WORD})?的?(?P<leap>闰)?(?P<month>[正冬腊]|十[一二]?|[一二三四五六七八九])月"
    rf"(?:初(?P<first>[{_HAN}])|廿(?P<late>[一二三四五六七八九]?)|(?P<day>三十|二?十[一二三四五六七八九]?|[一二三四五六七八九]))"
    rf"(?P<sure>[日号])?(?![{_HAN}]|[家个起次直定共天样])"
)
_LUNAR_EN = pattern_of(
    r"\b(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: day)? of the (?P<leap>leap )?(?P<month>\w+) lunar month"
    r"|lunar (?:calendar )?(?P<month2>\d{1,2})[/-](?P<day2>\d{1,2}))\b",
    re.IGNORECASE,
)
#: Words that settle which calendar is meant.
_SAYS_LUNAR = pattern_of(rf"{_LUNAR_WORD}|\blunar\b|\bchinese calendar\b", re.IGNORECASE)
_SAYS_SOLAR = pattern_of(
    r"公历|阳历|新历|西历|国历|\bsolar\b|\bgregorian\b|\b(?:ordinary|western|normal|regular|usual) calendar\b"
    r"|^\W*(?:(?:it's|it is|just|oh) )*(?:the )?(?:ordinary|western|normal|regular|usual) one\W*$",
    re.IGNORECASE,
)
#: What a day or a calendar is not: "isn't on 3 May", 不是五月三号. "Not until 3 May" names the day.
_NOT = pattern_of(
    r"\b(?:(?:is|was)(?:n't| not)|not(?= (?:on|in|the|a|by|of|solar|lunar|gregorian|western|chinese|\d)\b))"
    r"(?! (?:until|till|far|before|long))\b.*?(?=[,;:.]|\bbut\b|$)|不(?:是|按|过).*?(?=[，,；;。]|而是|$)",
    re.IGNORECASE,
)
#: "Next Friday" and "tomorrow" are the birthday only where one of these is before or behind.
_BIRTHDAY, _ZH_BIRTHDAY = r"(?:birthday|anniversary)", r"(?:生日|纪念日|忌日|周年)"
_BEFORE_IT = pattern_of(
    rf"\b{_BIRTHDAY}(?:'s| is| was| falls| fell| will be)(?: (?:actually|just|coming up))?(?: on)? ?$"
    rf"|(?:^|[,.;:!?] |\b(?:and|but|so|because) )(?:it's|it is|it was) (?:[\w'-]+ ){{1,4}}{_BIRTHDAY}(?: on)? $"
    rf"|\bha[sd] (?:my|his|her|their|our|a) {_BIRTHDAY}(?: on)? $|\bborn (?:on )?$"
    r"|\bturn(?:s|ed|ing)? (?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|\w+teen|\w+ty(?:-\w+)?) (?:on )?$"
    r"|(?:'s|\bis|\bbe) (?:only |just )?\d{1,3}(?: years old)?(?: on)? $|\byears?(?: ago)?(?: on| this)? $"
    rf"|{_ZH_BIRTHDAY}(?:[就也都]|正好|刚好|应该|其实)*[是在]$",
    re.IGNORECASE,
)
_BEHIND_IT = pattern_of(
    rf"(?:就|要|正好|刚好)*满[\d一二三四五六七八九十百]+周?[岁年]|(?:,? it)?(?:'s| is| was| will be) (?:[\w'-]+ ){{1,4}}{_BIRTHDAY}(?=\s*(?:$|[^\w\s'-])| (?:and|but|so|too)\b)"
    r"|(?:[就也又]|正好|刚好)*(?:是[^，。！？；,]{0,10}?|[我你他她咱爸妈爷奶外儿女老小哥姐弟妹]"
    rf"[^，。！？；,给去买帮陪为替送订办吃庆聚回提补备]{{0,6}}?|(?=过))(?:的|刚?过[了完的]?)?{_ZH_BIRTHDAY}(?=[了啦呀哦啊吧呢]*(?:\W|$))",
    re.IGNORECASE,
)
_PAST = pattern_of(r"\b(?:was|turned|born|had|fell)\b|过[了完的]|刚过", re.IGNORECASE)
_NAMED_MONTHS = {"正": 1, "冬": 11, "腊": 12}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
             "twelfth")  # fmt: skip


@dataclass(frozen=True, slots=True)
class YearlyDay:
    """A day of every year. ``leap``: of a leap month."""

    calendar: YearCalendar
    month: int
    day: int
    leap: bool = False

    @property
    def text(self) -> str:
        """As it is stored: ``solar 05-03``, ``lunar leap 06-15``."""
        return f"{self.calendar} {'leap ' * self.leap}{self.month:02}-{self.day:02}"

    @classmethod
    def parse(cls, text: str) -> YearlyDay | None:
        """A stored day; None for anything else.

        >>> YearlyDay.parse("lunar leap 06-15")
        YearlyDay(calendar='lunar', month=6, day=15, leap=True)
        """
        found = re.fullmatch(r"(solar|lunar|unclear) (leap )?(\d\d)-(\d\d)", text)
        return cls(found[1], int(found[3]), int(found[4]), bool(found[2])) if found else None  # type: ignore[arg-type]

    def next_on(self, day: date) -> date | None:
        """When it is next, this day included; None beyond the years that are known.

        >>> YearlyDay("lunar", 8, 15).next_on(date(2026, 9, 1))
        datetime.date(2026, 9, 25)
        """
        # The 11th and 12th lunar months end in the next year of the solar calendar.
        years = range(day.year - (self.calendar == "lunar"), day.year + 2)
        days = (self._in_year(year) for year in years)
        return min((one for one in days if one and one >= day), default=None)

    def nearest(self, day: date) -> date | None:
        """When it was, if that is at most ``JUST_PAST`` days ago, or when it is next.

        >>> YearlyDay("solar", 5, 3).nearest(date(2026, 5, 5)), YearlyDay("solar", 5, 3).nearest(date(2026, 5, 7))
        (datetime.date(2026, 5, 3), datetime.date(2027, 5, 3))
        """
        return self.next_on(max(day, date.min + timedelta(JUST_PAST)) - timedelta(JUST_PAST))

    def _in_year(self, year: int) -> date | None:
        if self.calendar != "lunar":
            try:
                return date(year, self.month, min(self.day, calendar.monthrange(year, self.month)[1]))
            except ValueError:
                return None
        from borax.calendars.lunardate import InvalidLunarDateError, LCalendars, LunarDate

        try:
            last = LCalendars.ndays(year, self.month)
            found: date = LunarDate(year, self.month, min(self.day, last)).to_solar_date()
        except InvalidLunarDateError:
            return None
        return found


def read_yearly(text: str, reference: date) -> YearlyDay | None:
    """The day of the year that a sentence names; None where it names none.

    >>> read_yearly("我妈的生日是农历八月十五", date(2026, 3, 2)), read_yearly("born on 29 February", date(2026, 3, 2))
    (YearlyDay(calendar='lunar', month=8, day=15, leap=False), YearlyDay(calendar='solar', month=2, day=29, leap=False))
    """
    text = _NOT.sub("", text.replace("’", "'"))
    if english := _LUNAR_EN.search(text):
        month = (english["month"] or english["month2"]).casefold()
        number = _ORDINALS.index(month) + 1 if month in _ORDINALS else int(re.sub(r"\D", "", month) or 0)
        return _valid("lunar", number, int(english["day"] or english["day2"]), bool(english["leap"]))
    if han := _LUNAR_DAY.search(text):
        month = _NAMED_MONTHS.get(han["month"]) or parse_number(han["month"]) or 0
        day = parse_number(han["first"] or han["day"] or "") or 20 + (parse_number(han["late"] or "") or 0)
        only_lunar = han["first"] or han["late"] is not None or han["leap"] or han["month"] in _NAMED_MONTHS
        lunar = bool(only_lunar or _SAYS_LUNAR.search(text)) and not _SAYS_SOLAR.search(text)
        solar = bool(han["sure"] or _SAYS_SOLAR.search(text))
        return _valid("lunar" if lunar else "solar" if solar else "unclear", month, day, bool(han["leap"]))
    if leap := re.search(r"\b(?:29(?:th)?(?: of)? february|february (?:the )?29(?:th)?|feb\.? 29)\b|2月29", text, re.I):
        return YearlyDay("solar", 2, 29) if leap else None  # no rule reads it in a year that has none
    times = [one for one in read_times(text, reference) if not one.recurrence]
    days = [(one, False) for one in times if one.kind in ("day", "date")]  # a day of a month before "tomorrow"
    for one in times if all(each.kind != "month" for each in times) else ():
        it = _BEFORE_IT.search(text, max(0, one.start - 80), one.start) or _BEHIND_IT.match(text, one.end)
        if one.kind == "day of month" or (it and one.kind in ("weekday", "relative")):
            days.append((one, bool(it and _PAST.search(it[0]))))
    ranges = (
        each
        for one, past in days
        for each in (*(of for of in one.possible if past or of.last >= reference), *one.possible[:1])
    )
    single = next((one.first for one in ranges if one.days == 1), None)
    lunar = bool(_SAYS_LUNAR.search(text))
    return _valid("lunar" if lunar else "solar", single.month, single.day, leap=False) if single else None


def says_calendar(text: str) -> YearCalendar | None:
    """Which calendar a text names: ``solar``, ``lunar``; None where it names neither or both."""
    text = _NOT.sub("", text.replace("’", "'"))
    lunar, solar = _SAYS_LUNAR.search(text), _SAYS_SOLAR.search(text)
    if bool(lunar) == bool(solar):
        return None
    return "lunar" if lunar else "solar"


def _valid(which: YearCalendar, month: int, day: int, leap: bool) -> YearlyDay | None:
    is_day = 1 <= month <= 12 and 1 <= day <= (30 if which == "lunar" else 31)
    return YearlyDay(which, month, day, leap) if is_day else None
