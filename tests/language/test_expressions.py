"""What people say of times and numbers, and what it means: 200 expressions in each language.

All are said on Friday, 20 November 2026. Of each line the right side is what is meant: a day, the first and last day of
a range, ``~`` a day that a rough range contains, ``n`` a number, a clock time, a recurrence, or ``-`` for what is left
unresolved rather than read wrongly.
"""

from __future__ import annotations

from datetime import date

import pytest

from language.numbers import parse_count
from language.times import TimeExpression, join_expressions, read_times

TODAY = date(2026, 11, 20)
#: A rough range is no longer than this.
_ROUGH = 33

ENGLISH = """
today = 2026-11-20
yesterday = 2026-11-19
tomorrow = 2026-11-21
tonight = 2026-11-20
last night = 2026-11-19
this morning = 2026-11-20
yesterday evening = 2026-11-19
tomorrow morning = 2026-11-21
the day before yesterday = 2026-11-18
the day after tomorrow = 2026-11-22
the night before last = 2026-11-18
on Monday = 2026-11-16
on Wednesday = 2026-11-18
Thursday evening = 2026-11-19
last Monday = 2026-11-16
last Friday = 2026-11-13
next Monday = 2026-11-23
next Friday = 2026-11-27
this Sunday = 2026-11-22
this Wednesday = 2026-11-18
the Friday before last = 2026-11-06
this week = 2026-11-16 2026-11-22
last week = 2026-11-09 2026-11-15
next week = 2026-11-23 2026-11-29
the week before last = 2026-11-02 2026-11-08
the week after next = 2026-11-30 2026-12-06
this weekend = 2026-11-21 2026-11-22
last weekend = 2026-11-14 2026-11-15
next weekend = 2026-11-28 2026-11-29
the weekend before last = 2026-11-07 2026-11-08
this month = 2026-11-01 2026-11-30
last month = 2026-10-01 2026-10-31
next month = 2026-12-01 2026-12-31
the month before last = 2026-09-01 2026-09-30
at the end of last month = 2026-10-21 2026-10-31
at the beginning of this month = 2026-11-01 2026-11-10
this year = 2026-01-01 2026-12-31
in November, the 12th = 2026-11-12
last year = 2025-01-01 2025-12-31
next year = 2027-01-01 2027-12-31
the year before last = 2024-01-01 2024-12-31
in May = 2026-05-01 2026-05-31
in December = 2025-12-01 2025-12-31
since March = 2026-03-01 2026-03-31
last May = 2026-05-01 2026-05-31
last December = 2025-12-01 2025-12-31
next March = 2027-03-01 2027-03-31
next December = 2026-12-01 2026-12-31
in early June = 2026-06-01 2026-06-10
in mid-July = 2026-07-11 2026-07-20
in late August = 2026-08-21 2026-08-31
at the end of September = 2026-09-21 2026-09-30
in Feb 2024 = 2024-02-01 2024-02-29
in February 2023 = 2023-02-01 2023-02-28
in October of 2019 = 2019-10-01 2019-10-31
by late March 2025 = 2025-03-21 2025-03-31
in 2019 = 2019-01-01 2019-12-31
since 2015 = 2015-01-01 2015-12-31
in early 2020 = 2020-01-01 2020-04-30
in mid 2020 = 2020-05-01 2020-08-31
at the end of 2020 = 2020-09-01 2020-12-31
in the 1990s = 1990-01-01 1999-12-31
in the nineties = 1990-01-01 1999-12-31
back in the 80s = 1980-01-01 1989-12-31
on May 4th = 2026-05-04
on 4 May = 2026-05-04
on the 12th of October = 2026-10-12
December 1st = 2025-12-01
on June 3 = 2026-06-03
May 8th, 2023 = 2023-05-08
on 8 May 2023 = 2023-05-08
the 3rd of January 2020 = 2020-01-03
Jan. 5, 2021 = 2021-01-05
Sept 9 2018 = 2018-09-09
2023-05-08 = 2023-05-08
2023.05.08 = 2023-05-08
2023-05 = 2023-05-01 2023-05-31
3-5 June 2024 = 2024-06-03 2024-06-05
June 3 to 7 = 2026-06-03 2026-06-07
14 to 21 February = 2026-02-14 2026-02-21
on the 17th = 2026-11-17
on the 25th = 2026-10-25
from March to May = 2026-03-01 2026-05-31
between April and June = 2026-04-01 2026-06-30
from November to February = 2025-11-01 2026-02-28
from April to May 2023 = 2023-04-01 2023-05-31
from 2015 to 2019 = 2015-01-01 2019-12-31
from Monday to Wednesday = 2026-11-16 2026-11-18
in spring 2024 = 2024-03-01 2024-05-31
in the summer of 2019 = 2019-06-01 2019-08-31
last summer = 2026-06-01 2026-08-31
last winter = 2025-12-01 2026-02-28
last autumn = 2025-09-01 2025-11-30
this autumn = 2026-09-01 2026-11-30
next spring = 2027-03-01 2027-05-31
in the spring = 2026-03-01 2026-05-31
over the summer = 2026-06-01 2026-08-31
all year = 2026-01-01 2026-11-20
the whole month = 2026-11-01 2026-11-20
the first half of the year = 2026-01-01 2026-06-30
the second half of 2024 = 2024-07-01 2024-12-31
this quarter = 2026-10-01 2026-12-31
last quarter = 2026-07-01 2026-09-30
Q2 2025 = 2025-04-01 2025-06-30
the third quarter of 2023 = 2023-07-01 2023-09-30
a day ago = 2026-11-19
two days ago = 2026-11-18
ten days ago = ~2026-11-10
a week ago = ~2026-11-13
two weeks ago = ~2026-11-06
a couple of weeks ago = ~2026-11-06
a fortnight ago = ~2026-11-06
three weeks back = ~2026-10-30
a week ago today = 2026-11-13
a month ago = ~2026-10-20
six months ago = ~2026-05-20
a few months ago = ~2026-08-20
a year ago = 2025-01-01 2025-12-31
three years ago = 2023-01-01 2023-12-31
twenty-five years ago = 2001-01-01 2001-12-31
a decade ago = 2016-01-01 2016-12-31
a couple of years ago = 2024-01-01 2024-12-31
an hour ago = 2026-11-20
half an hour ago = 2026-11-20
in three days = ~2026-11-23
in two weeks = ~2026-12-04
in a month = ~2026-12-20
in two years = 2028-01-01 2028-12-31
three weeks from now = ~2026-12-11
five weeks from today = 2026-12-25
within a week = ~2026-11-27
the last three months = 2026-08-21 2026-11-20
over the past two weeks = 2026-11-06 2026-11-20
the past year = 2025-11-20 2026-11-20
in the last month = 2026-10-21 2026-11-20
the last 10 days = 2026-11-10 2026-11-20
the next two weeks = 2026-11-20 2026-12-04
over the last half year = 2026-05-21 2026-11-20
on Christmas = 2025-12-25
last Christmas = 2025-12-25
next Christmas = 2026-12-25
Christmas 2019 = 2019-12-25
on Christmas Eve = 2025-12-24
on New Year's Day = 2026-01-01
on New Year's Eve = 2025-12-31
on Boxing Day = 2025-12-26
on Halloween = 2026-10-31
on Valentine's Day = 2026-02-14
last Thanksgiving = 2025-11-27
next Thanksgiving = 2026-11-26
on Mother's Day = 2026-05-10
every day = daily
every morning = daily
every Monday = weekly
on Mondays = weekly
every other week = weekly
every two weeks = weekly
once a week = weekly
twice a month = monthly
every month = monthly
every year = yearly
every Christmas = yearly
three times a week = weekly
weekly = weekly
annually = yearly
each spring = yearly
tomorrow at 3pm = 15:00
yesterday at 9:30 = 09:30
on Friday at 7 pm = 19:00
at 3:45 pm today = 15:45
today at half past six = 06:30
tomorrow at a quarter to nine = 08:45
at noon = 12:00
at midnight = 00:00
at seven o'clock = 07:00
10:30 am. = 10:30
thirty-four = n34
twelve = n12
a hundred = n100
two hundred and five = n205
three thousand = n3000
a dozen = n12
a couple of = n2
a few = n3
several = n4
half a = n0.5
two and a half = n2.5
lately = -
recently = -
I may go = -
march on = -
we fall = -
February 31st = -
2 cats = -
5/8/2023 = -
a three-year-old = -
34 years old = -
May I? = -
the second one = -
1984 pounds = -
"""

CHINESE = """
今天 = 2026-11-20
昨天 = 2026-11-19
明天 = 2026-11-21
前天 = 2026-11-18
大前天 = 2026-11-17
后天 = 2026-11-22
大后天 = 2026-11-23
昨晚 = 2026-11-19
昨天晚上 = 2026-11-19
今早 = 2026-11-20
今晚 = 2026-11-20
明早 = 2026-11-21
明天下午 = 2026-11-21
前天夜里 = 2026-11-18
周一 = 2026-11-16
星期三 = 2026-11-18
礼拜四 = 2026-11-19
上周三 = 2026-11-11
上星期五 = 2026-11-13
上个礼拜天 = 2026-11-15
上上周五 = 2026-11-06
这周三 = 2026-11-18
本周日 = 2026-11-22
下周三 = 2026-11-25
下个星期一 = 2026-11-23
下下周二 = 2026-12-01
这周 = 2026-11-16 2026-11-22
本周 = 2026-11-16 2026-11-22
上周 = 2026-11-09 2026-11-15
上个星期 = 2026-11-09 2026-11-15
上上周 = 2026-11-02 2026-11-08
下周 = 2026-11-23 2026-11-29
下个礼拜 = 2026-11-23 2026-11-29
这个周末 = 2026-11-21 2026-11-22
上周末 = 2026-11-14 2026-11-15
上上周末 = 2026-11-07 2026-11-08
下周末 = 2026-11-28 2026-11-29
这个月 = 2026-11-01 2026-11-30
上个月 = 2026-10-01 2026-10-31
上上个月 = 2026-09-01 2026-09-30
下个月 = 2026-12-01 2026-12-31
上个月底 = 2026-10-21 2026-10-31
上个月三号 = 2026-10-03
这个月5号 = 2026-11-05
下个月初 = 2026-12-01 2026-12-10
月底 = 2026-11-21 2026-11-30
月初 = 2026-11-01 2026-11-10
今年 = 2026-01-01 2026-12-31
去年 = 2025-01-01 2025-12-31
前年 = 2024-01-01 2024-12-31
大前年 = 2023-01-01 2023-12-31
明年 = 2027-01-01 2027-12-31
后年 = 2028-01-01 2028-12-31
年底 = 2026-12-01 2026-12-31
去年年底 = 2025-12-01 2025-12-31
去年底 = 2025-12-01 2025-12-31
今年年初 = 2026-01-01 2026-02-28
上半年 = 2026-01-01 2026-06-30
下半年 = 2026-07-01 2026-12-31
去年下半年 = 2025-07-01 2025-12-31
这个季度 = 2026-10-01 2026-12-31
上个季度 = 2026-07-01 2026-09-30
去年第三季度 = 2025-07-01 2025-09-30
五月 = 2026-05-01 2026-05-31
5月 = 2026-05-01 2026-05-31
三月份 = 2026-03-01 2026-03-31
十二月 = 2025-12-01 2025-12-31
去年三月 = 2025-03-01 2025-03-31
明年五月 = 2027-05-01 2027-05-31
今年十月 = 2026-10-01 2026-10-31
前年12月 = 2024-12-01 2024-12-31
六月初 = 2026-06-01 2026-06-10
七月中旬 = 2026-07-11 2026-07-20
八月底 = 2026-08-21 2026-08-31
去年八月下旬 = 2025-08-21 2025-08-31
5月4日 = 2026-05-04
5月4号 = 2026-05-04
十月十二号 = 2026-10-12
今年十月十二号 = 2026-10-12
去年5月3日 = 2025-05-03
明年三月八日 = 2027-03-08
2023年5月8日 = 2023-05-08
2023年5月 = 2023-05-01 2023-05-31
二〇二三年五月 = 2023-05-01 2023-05-31
二〇一九年 = 2019-01-01 2019-12-31
二零二零年 = 2020-01-01 2020-12-31
一九九八年 = 1998-01-01 1998-12-31
2019年 = 2019-01-01 2019-12-31
98年 = 1998-01-01 1998-12-31
08年 = 2008-01-01 2008-12-31
2020年初 = 2020-01-01 2020-04-30
2023-5-8 = 2023-05-08
5月3日到5日 = 2026-05-03 2026-05-05
三月到五月 = 2026-03-01 2026-05-31
去年三月到五月 = 2025-03-01 2025-05-31
周一到周三 = 2026-11-16 2026-11-18
2015年到2019年 = 2015-01-01 2019-12-31
九十年代 = 1990-01-01 1999-12-31
上世纪八十年代 = 1980-01-01 1989-12-31
90年代 = 1990-01-01 1999-12-31
3号 = 2026-11-03
十七号 = 2026-11-17
去年夏天 = 2025-06-01 2025-08-31
今年春天 = 2026-03-01 2026-05-31
前年冬天 = 2024-12-01 2025-02-28
去年冬天 = 2025-12-01 2026-02-28
明年春天 = 2027-03-01 2027-05-31
这个夏天 = 2026-06-01 2026-08-31
上个冬天 = 2025-12-01 2026-02-28
2019年夏天 = 2019-06-01 2019-08-31
夏天 = 2026-06-01 2026-08-31
秋天 = 2026-09-01 2026-11-30
去年秋季 = 2025-09-01 2025-11-30
一天前 = 2026-11-19
两天前 = 2026-11-18
三天前 = ~2026-11-17
两三天前 = ~2026-11-17
几天前 = ~2026-11-17
十二天前 = ~2026-11-08
一周前 = ~2026-11-13
两周前 = ~2026-11-06
三个星期前 = ~2026-10-30
两个礼拜之前 = ~2026-11-06
一个月前 = ~2026-10-20
三个月前 = ~2026-08-20
半个月前 = ~2026-11-05
一个半月前 = ~2026-10-05
几个月前 = ~2026-08-20
一年前 = 2025-01-01 2025-12-31
三年前 = 2023-01-01 2023-12-31
十年前 = 2016-01-01 2016-12-31
十几年前 = 2013-01-01 2013-12-31
二三十年前 = 2001-01-01 2001-12-31
二十多年前 = 2006-01-01 2006-12-31
几十年前 = 1996-01-01 1996-12-31
两小时前 = 2026-11-20
半个小时前 = 2026-11-20
三天后 = ~2026-11-23
两周后 = ~2026-12-04
一个月后 = ~2026-12-20
三年后 = 2029-01-01 2029-12-31
十天之后 = ~2026-11-30
最近三个月 = 2026-08-21 2026-11-20
过去两周 = 2026-11-06 2026-11-20
这三天 = 2026-11-17 2026-11-20
近一年 = 2025-11-20 2026-11-20
这半年 = 2026-05-21 2026-11-20
未来三天 = 2026-11-20 2026-11-23
接下来两周 = 2026-11-20 2026-12-04
元旦 = 2026-01-01
国庆 = 2026-10-01
去年国庆节 = 2025-10-01
五一 = 2026-05-01
六一儿童节 = 2026-06-01
圣诞节 = 2025-12-25
去年圣诞 = 2025-12-25
平安夜 = 2025-12-24
情人节 = 2026-02-14
教师节 = 2026-09-10
双十一 = 2026-11-11
母亲节 = 2026-05-10
每天 = daily
每天早上 = daily
每周三 = weekly
每个星期天 = weekly
每周 = weekly
每两周 = weekly
每个月 = monthly
每年 = yearly
每晚 = daily
天天 = daily
明天下午三点 = 15:00
昨天晚上八点半 = 20:30
今天上午10点 = 10:00
周五晚上七点一刻 = 19:15
明早六点半 = 06:30
中午十二点 = 12:00
凌晨两点 = 02:00
下午3点20分 = 15:20
三十二 = n32
十二 = n12
两百 = n200
两万六 = n26000
十几 = n13
几十 = n30
两三 = n3
二三十 = n25
半 = n0.5
〇 = n0
一百零五 = n105
最近 = -
近来 = -
农历八月十五 = -
腊月二十三 = -
春节 = -
中秋 = -
日前 = -
0月 = -
一周三次 = -
然后天气很好 = -
"""


def rows_of(table: str) -> list[tuple[str, str]]:
    found = [line.rpartition(" = ") for line in table.strip().splitlines()]
    return [(text, meant) for text, _, meant in found]


ROWS = [*rows_of(ENGLISH), *rows_of(CHINESE)]


def test_there_are_two_hundred_expressions_in_each_language() -> None:
    assert (len(rows_of(ENGLISH)), len(rows_of(CHINESE))) == (200, 200)
    assert len({text for text, _ in ROWS}) == len(ROWS)


def meaning(expressions: list[TimeExpression]) -> str:
    """A reading in the way of the table."""
    if not expressions:
        return "-"
    one = expressions[0]
    if one.recurrence:
        return one.recurrence
    if one.hours and one.hours[0] == one.hours[1]:
        return one.hours[0].strftime("%H:%M")
    if len(expressions) > 1 or one.meant is None:
        return "-" if all(each.meant is None for each in expressions) else "several"
    first, last = one.meant.first.isoformat(), one.meant.last.isoformat()
    return first if first == last else f"{first} {last}"


def read(text: str, meant: str) -> str:
    """What an expression means, in the way of the table: just so where it is read as it is ``meant``."""
    if meant.startswith("n"):
        count = parse_count(text)
        return meant if count == float(meant[1:]) else f"n{count}"
    found = join_expressions(text, read_times(text, TODAY))
    rough = found[0].meant if meant.startswith("~") and len(found) == 1 else None
    if rough and rough.first <= date.fromisoformat(meant[1:]) <= rough.last and rough.days <= _ROUGH:
        return meant
    return meaning(found)


@pytest.mark.parametrize("table", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_an_expression_means_what_people_mean_by_it(table: str) -> None:
    assert {text: (meant, got) for text, meant in rows_of(table) if (got := read(text, meant)) != meant} == {}


OF_A_RANGE = """
in three weeks, on the Saturday = 2026-12-12
on the Saturday in three weeks = 2026-12-12
Saturday next week = 2026-11-28
the Saturday of next week = 2026-11-28
next month on the 3rd = 2026-12-03
next week on Tuesday = 2026-11-24
三周后，星期六 = 2026-12-12
三周后的周三 = 2026-12-09
下个月，十五号 = 2026-12-15
下周的周三 = 2026-11-25
"""


def test_a_weekday_or_day_of_the_month_beside_a_range_is_that_day_of_it() -> None:
    assert {text: (meant, got) for text, meant in rows_of(OF_A_RANGE) if (got := read(text, meant)) != meant} == {}


@pytest.mark.parametrize(
    "text", ["I saw her on Saturday, next week I'm off", "next month, on a Saturday", "three weeks, every Saturday"]
)
def test_a_weekday_of_no_single_day_in_a_range_stays_apart(text: str) -> None:
    assert len(read_times(text, TODAY)) == 2


MINUTES = """
六点十分 = 06:10
我六点十分起床 = 06:10
六点十分的火车 = 06:10
六点零五分 = 06:05
早上六点零五分 = 06:05
十点十五分出发 = 10:15
闹钟六点十分响 = 06:10
这三点十分重要 = -
这三点十分到位 = -
三点十分在理 = -
六点十分响亮 = -
"""


def test_ten_minutes_past_are_read_and_what_is_very_much_so_is_not() -> None:
    assert {text: (meant, got) for text, meant in rows_of(MINUTES) if (got := read(text, meant)) != meant} == {}
