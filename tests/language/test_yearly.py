"""Days of every year, by both calendars, checked against a second library and at their edges."""

from __future__ import annotations

from datetime import date, timedelta

import lunar_python
import pytest
from borax.calendars.lunardate import LCalendars, LunarDate

from language.yearly import YearlyDay, read_yearly, says_calendar

MARCH = date(2026, 3, 2)
#: A new moon within seconds of midnight in China: borax begins the 8th month of 2089 one day later.
KNIFE_EDGES = {(2089, 8)}


def test_the_leap_months_of_1950_to_2090_are_those_of_a_second_library() -> None:
    for year in range(1950, 2091):
        theirs = next((-one.getMonth() for one in lunar_python.LunarYear.fromYear(year).getMonths()
                       if one.getYear() == year and one.isLeap()), 0)  # fmt: skip
        assert LCalendars.leap_month(year) == theirs, year


def test_every_lunar_month_of_1950_to_2090_begins_as_in_a_second_library_but_for_the_known_edges() -> None:
    differ = set()
    for year in range(1950, 2091):
        for month, _, leap in LCalendars.iter_year_month(year):
            theirs = lunar_python.Lunar.fromYmd(year, -month if leap else month, 1).getSolar()
            if LunarDate(year, month, 1, leap).to_solar_date() != date(
                theirs.getYear(), theirs.getMonth(), theirs.getDay()
            ):
                differ.add((year, month))
    assert differ == KNIFE_EDGES


@pytest.mark.parametrize(
    ("day", "after", "expected"),
    [
        (YearlyDay("lunar", 8, 15), date(2026, 1, 1), date(2026, 9, 25)),
        (YearlyDay("lunar", 12, 8), date(2027, 1, 1), date(2027, 1, 15)),  # the 12th month of the lunar year before
        (YearlyDay("lunar", 11, 20), date(2027, 1, 1), date(2027, 12, 17)),
        (YearlyDay("lunar", 12, 30), date(2027, 1, 1), date(2027, 2, 5)),  # a short month: New Year's Eve is its 29th
        (YearlyDay("lunar", 12, 30), date(2025, 1, 1), date(2025, 1, 28)),
        (YearlyDay("lunar", 6, 15, leap=True), date(2025, 1, 1), date(2025, 7, 9)),  # in the ordinary month
        (YearlyDay("lunar", 1, 1), date(2026, 2, 17), date(2026, 2, 17)),
        (YearlyDay("solar", 2, 29), date(2026, 1, 1), date(2026, 2, 28)),
        (YearlyDay("solar", 2, 29), date(2028, 1, 1), date(2028, 2, 29)),
        (YearlyDay("solar", 12, 31), date(2026, 12, 31), date(2026, 12, 31)),
        (YearlyDay("solar", 1, 1), date(2026, 1, 2), date(2027, 1, 1)),
        (YearlyDay("lunar", 8, 15), date(2101, 12, 1), None),
    ],
)
def test_a_yearly_day_is_next_on(day: YearlyDay, after: date, expected: date | None) -> None:
    assert day.next_on(after) == expected


def test_a_lunar_day_comes_once_in_every_lunar_year_from_any_day_on() -> None:
    for month in range(1, 13):
        day, last = YearlyDay("lunar", month, 30), date(1990, 1, 1)
        for _ in range(60):
            found = day.next_on(last)
            assert found
            assert found - last < timedelta(385)
            last = found + timedelta(1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我妈的生日是农历八月十五。", "lunar 08-15"),
        ("我爸生日是阴历正月初三", "lunar 01-03"),
        ("奶奶腊月廿三的生日", "lunar 12-23"),
        ("她生在闰六月十五", "lunar leap 06-15"),
        ("生日是八月十五", "unclear 08-15"),
        ("我生日是八月十五号", "solar 08-15"),
        ("公历八月十五是我生日", "solar 08-15"),
        ("我女儿的生日是11月21号", "solar 11-21"),
        ("My birthday is on 3 May.", "solar 05-03"),
        ("I was born on February 29th.", "solar 02-29"),
        ("Mum's birthday is the 15th of the eighth lunar month.", "lunar 08-15"),
        ("Grandpa was born on lunar 12/30.", "lunar 12-30"),
        ("No, my birthday isn't on 3 May, it's on 5 May.", "solar 05-05"),
        ("My birthday’s not on 3 May but on 5 May.", "solar 05-05"),
        ("My birthday isn't until 3 May.", "solar 05-03"),
        ("我生日不是五月三号，是五月五号", "solar 05-05"),
        ("我生日五月一家人一起过", None),
        ("我生日五月十一家人一起过", None),
        ("我生日是五月初一，一家人一起过", "lunar 05-01"),
        ("我妈生日是农历八月十五，不是公历", "lunar 08-15"),
        ("His birthday is in spring.", None),
        ("Her birthday is on Tuesday.", "solar 03-03"),
        ("She turns five on the 20th.", "solar 03-20"),
        ("20号我妈过生日。", "solar 03-20"),
        ("Tomorrow we bake, her birthday is on 3 May.", "solar 05-03"),
        ("I'll go shopping tomorrow for Mum's birthday.", None),
        ("I bought a cake for my sister's birthday yesterday.", None),
        ("My wife's birthday is in May, I must book the trip by Friday.", None),
        ("We celebrated my dad's birthday on Saturday.", None),
        ("Mum's birthday party is on Saturday.", None),
        ("Tomorrow is my mum's birthday party.", None),
        ("My wife's birthday is in May, Friday is our anniversary.", None),
        ("My wife's birthday is in May, I must book the trip by the 20th.", None),
        ("Ten years married on the 20th!", "solar 03-20"),
        ("My dad's birthday was on Saturday.", "solar 02-28"),
        ("My dad's birthday is on Saturday.", "solar 03-07"),
        ("My birthday’s tomorrow!", "solar 03-03"),
        ("It's Mum's birthday tomorrow.", "solar 03-03"),
        ("Tomorrow is my mum's birthday.", "solar 03-03"),
        ("My son turned five on Saturday.", "solar 02-28"),
        ("My son turns thirty-two on Saturday.", "solar 03-07"),
        ("Our daughter was born on Saturday.", "solar 02-28"),
        ("我妈快过生日了，明天去给她买礼物。", None),
        ("昨天给我姐买了生日蛋糕。", None),
        ("我老婆五月过生日，周五之前得订好票。", None),
        ("周六给我爸庆祝了生日。", None),
        ("周六我们去吃我爸的生日饭。", None),
        ("明天我们商量我妈生日怎么过。", None),
        ("我爸生日是周六。", "solar 03-07"),
        ("我妈生日就是明天", "solar 03-03"),
        ("我妈的生日就在后天", "solar 03-04"),
        ("昨天是我姐的生日", "solar 03-01"),
        ("明天是我妈生日，我去买蛋糕", "solar 03-03"),
        ("周六我爸过生日。", "solar 03-07"),
        ("周六我爸刚过完生日。", "solar 02-28"),
    ],
)
def test_a_yearly_day_is_read(text: str, expected: str | None) -> None:
    found = read_yearly(text, MARCH)
    assert (found.text if found else None) == expected
    assert found is None or YearlyDay.parse(found.text) == found


def test_words_settle_which_calendar_is_meant() -> None:
    said = {"农历的": "lunar", "是阳历": "solar", "It's the lunar one": "lunar", "solar": "solar", "not sure": None,
            "农历还是公历？": None, "农历的，不是公历": "lunar", "是农历，不是阳历": "lunar",
            "不是农历，是公历": "solar", "I'll have the usual one for lunch": None,
            "lunar, not solar": "lunar", "Not lunar, the Gregorian one": "solar", "It's lunar, it isn't solar": "lunar",
            "Western calendar": "solar", "the normal one": "solar", "国历": "solar", "是不是农历？": None}  # fmt: skip
    assert {text: says_calendar(text) for text in said} == said
