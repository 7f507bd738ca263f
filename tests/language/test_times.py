"""Times that people speak of become windows of days."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.times import TimeRange, read_ranges
from recall.questions import parse_range, read_range_request
from tests.support.growing import growth

TODAY = date(2026, 11, 20)  # a Friday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2026-11-19", "2026-11-19"),
        ("the day before yesterday", "2026-11-18", "2026-11-18"),
        ("last May", "2026-05-01", "2026-05-31"),
        ("last December", "2025-12-01", "2025-12-31"),
        ("last summer", "2026-06-01", "2026-08-31"),
        ("last Friday", "2026-11-13", "2026-11-13"),
        ("my run on sat", "2026-11-14", "2026-11-14"),
        ("this wed", "2026-11-18", "2026-11-18"),
        ("next sun evening", "2026-11-22", "2026-11-22"),
        ("thurs night", "2026-11-19", "2026-11-19"),
        ("next weds", "2026-11-25", "2026-11-25"),
        ("the end of the week", "2026-11-16", "2026-11-22"),
        ("the end of the month", "2026-11-21", "2026-11-30"),
        ("明儿", "2026-11-21", "2026-11-21"),
        ("三天之内", "2026-11-20", "2026-11-23"),
        ("last week", "2026-11-09", "2026-11-15"),
        ("three years ago", "2023-01-01", "2023-12-31"),
        ("a couple of weeks ago", "2026-11-02", "2026-11-10"),
        ("on 8 May 2023", "2023-05-08", "2023-05-08"),
        ("May 8th, 2023", "2023-05-08", "2023-05-08"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("2023-05-08", "2023-05-08", "2023-05-08"),
        ("昨天", "2026-11-19", "2026-11-19"),
        ("大前天", "2026-11-17", "2026-11-17"),
        ("上周三", "2026-11-11", "2026-11-11"),
        ("上上周末", "2026-11-07", "2026-11-08"),
        ("上个月", "2026-10-01", "2026-10-31"),
        ("三年前", "2023-01-01", "2023-12-31"),
        ("去年夏天", "2025-06-01", "2025-08-31"),
        ("二〇二三年五月", "2023-05-01", "2023-05-31"),
        ("十二天前", "2026-11-07", "2026-11-09"),
        ("二三十年前", "2001-01-01", "2001-12-31"),
        ("两三天前", "2026-11-16", "2026-11-18"),
        ("十几年前", "2013-01-01", "2013-12-31"),
        ("二十多年前", "2006-01-01", "2006-12-31"),
    ],
)
def test_a_time_in_words_is_a_window_of_days(text, first, last):
    assert read_ranges(f"What about {text}?", TODAY) == (
        TimeRange(date.fromisoformat(first), date.fromisoformat(last)),
    )


THURSDAY = date(2026, 11, 26)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("一周内给你答复", "2026-11-26", "2026-12-03"),
        ("一个月内搬家", "2026-11-26", "2026-12-26"),
        ("最近一周内", "2026-11-19", "2026-11-26"),
        ("这一年内", "2025-11-26", "2026-11-26"),
        ("I'll answer within a week", "2026-11-26", "2026-12-03"),
        ("我过两天去体检", "2026-11-28", "2026-11-28"),
        ("我妈过两天做手术", "2026-11-28", "2026-11-28"),
        ("我们过几天去上海", "2026-11-28", "2026-11-30"),
        ("小李过两天来", "2026-11-28", "2026-11-28"),
        ("exam coming friday", "2026-11-27", "2026-11-27"),
        ("coming friday", "2026-11-27", "2026-11-27"),
        ("my exam is a week today", "2026-12-03", "2026-12-03"),
        ("it's been two weeks today", "2026-11-12", "2026-11-12"),
        ("friday week", "2026-12-04", "2026-12-04"),
        ("a week on friday", "2026-12-04", "2026-12-04"),
        ("two weeks from friday", "2026-12-11", "2026-12-11"),
        ("tomorrow week", "2026-12-04", "2026-12-04"),
        ("半个月后", "2026-12-08", "2026-12-14"),
    ],
)
def test_a_time_ahead_is_read_from_the_day_on_which_it_was_said(text, first, last):
    assert read_ranges(text, THURSDAY) == (TimeRange(date.fromisoformat(first), date.fromisoformat(last)),)


@pytest.mark.parametrize(
    "text",
    [
        "我一年内换了三份工作",
        "三天内瘦了五斤",
        "一周内去了几次健身房",
        "within a week she had gone",
        "我难过两天了",
        "我去过两天",
        "经过两天的努力",
        "通过两周试用",
        "超过三天",
        "想过两天安静日子",
    ],
)
def test_a_length_of_time_in_which_something_happened_is_not_ahead(text):
    assert read_ranges(text, THURSDAY) == ()


@pytest.mark.parametrize(("text", "day"), [("May 4th", date(2019, 5, 4)), ("5月4日", date(2024, 5, 4))])
def test_a_day_without_a_year_is_meant_in_any_year(text, day):
    (window,) = read_ranges(text, TODAY)
    assert window.nearness(day) == 1.0


@pytest.mark.parametrize(
    "text",
    ["I may go", "this may no longer hold", "日前", "march on", "What is new?", "2 cats", "February 31st", "0月",
     "this sun hat", "He relies on sat nav.", "lying on sun loungers", "I put it on sun burns", "this sun-kissed skin",
     "the next wed couple"],
)  # fmt: skip
def test_what_names_no_time_has_no_window(text):
    assert read_ranges(text, TODAY) == ()


def test_nearness_falls_with_the_distance_and_never_hides_anything():
    window = TimeRange(date(2026, 5, 1), date(2026, 5, 31))
    near = [window.nearness(date(2026, 5, 15)), window.nearness(date(2026, 6, 5)), window.nearness(date(2026, 9, 1))]
    assert near[0] == 1.0 > near[1] > near[2] == 0.0


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text):
    read_ranges(text, TODAY)


@given(st.text("〇零一二两三四五六七八九十百几数多来0123456789年月日号天周前上个星期末的春夏今去最近过", max_size=12))
def test_no_numbers_that_people_write_make_it_fail(text):
    read_ranges(text, TODAY)
    read_range_request(f"{text}我们都聊了什么？", TODAY)
    parse_range(text, TODAY)


def test_work_grows_with_the_length_of_the_text_and_no_faster():
    for piece in ("last 三年 may 5 ", "1", "一"):
        assert growth(lambda text: read_ranges(text, TODAY), piece) < 9
