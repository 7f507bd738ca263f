"""A day is worked out from when it was spoken of, and a model's day is taken only where it is the same."""

from __future__ import annotations

from datetime import date

import pytest

from facts.ages import birth_years, without_ages
from facts.evidence import TextFigures
from facts.figures import is_among
from language.numbers import asserted_numbers, find_numbers, parse_number
from language.times import parse_date, possible_ranges, range_of, written_dates

FOLLOWS = [
    ("My dentist appointment is next Tuesday", "2025-03-01", "2025-03-04", "2025-03-11"),
    ("Annette is getting married five weeks from today", "2025-03-29", "2025-05-03", "2025-05-02"),
    ("the York half marathon on the 12th of October", "2025-03-29", "2025-10-12", "2025-10-13"),
    ("He told me last Sunday", "2025-07-12", "2025-07-06", "2025-07-05"),
    ("no coffee since the 4th of August", "2025-08-30", "2025-08-04", "2025-08-05"),
    ("14 to 21 February, for the northern lights", "2025-08-30", "2026-02-21", "2026-02-22"),
    ("in three weeks, on the Saturday, a housewarming", "2025-10-25", "2025-11-15", "2025-11-25"),
    ("Pickle died. A week ago today.", "2025-11-16", "2025-11-09", "2025-11-08"),
    ("I called off the housewarming yesterday", "2025-11-16", "2025-11-15", "2025-11-14"),
    ("Sold it back on Thursday", "2026-01-10", "2026-01-08", "2026-01-09"),
    ("5K in 29:45 on Boxing Day", "2026-01-10", "2025-12-26", "2025-12-25"),
    ("We saw them, on the 17th", "2026-03-07", "2026-02-17", "2026-02-18"),
    ("the York half again this October, the 18th", "2026-05-02", "2026-10-18", "2026-10-17"),
    ("My rent went up in April", "2026-05-02", "2026-04", "2026-03"),
    ("Ten weeks without running", "2025-07-12", "2025-09-20", "2025-12-01"),
    ("昨天清明", "2025-04-05", "2025-04-04", "2025-04-03"),
    ("我打算今年十月十二号求婚", "2025-04-05", "2025-10-12", "2025-10-13"),
    ("上个月底走的人", "2025-08-16", "2025-07-31", "2025-08-31"),
    ("我大前天开始戒烟的", "2025-08-16", "2025-08-13", "2025-08-14"),
    ("我爸下周三要放心脏支架", "2025-08-16", "2025-08-20", "2025-08-27"),
    ("我爸五一要来成都", "2026-04-25", "2026-05-01", "2026-05-02"),
    ("我上个月搬的家", "2026-04-25", "2026-03", "2026-02"),
    ("大后天考试", "2026-04-25", "2026-04-28", "2026-04-27"),
    ("三年前毕业", "2026-04-25", "2023", "2024"),
]


@pytest.mark.parametrize(("said", "day", "right", "wrong"), FOLLOWS)
def test_a_day_follows_from_what_was_said_and_when(said: str, day: str, right: str, wrong: str) -> None:
    told = possible_ranges(said, date.fromisoformat(day))
    assert is_among(range_of(right), told)
    assert is_among(range_of(right[:7]), told)
    assert is_among(range_of(right[:4]), told)
    assert not is_among(range_of(wrong), told)


def test_what_is_told_roughly_bears_out_no_exact_day() -> None:
    assert not is_among(range_of("2026-04-12"), possible_ranges("My rent went up in April", date(2026, 5, 2)))
    assert not is_among(range_of("2025-11-13"), possible_ranges("上个月的事", date(2025, 12, 20)))
    assert not is_among(range_of("2019-05-14"), possible_ranges("in 2019", date(2025, 12, 20)))


def test_a_day_of_the_lunar_calendar_is_never_worked_out() -> None:
    for said in ("我生日是农历八月十五", "我生日是阴历八月十五日"):
        assert not is_among(range_of("2025-08-15"), possible_ranges(said, date(2025, 4, 5)))
        assert not is_among(range_of("2025-08"), possible_ranges(said, date(2025, 4, 5)))


@pytest.mark.parametrize("nonsense", ["", "soon", "2025-13-01", "2025-02-30", "0000-00-00", "12", "May"])
def test_what_is_no_date_is_none(nonsense: str) -> None:
    assert parse_date(nonsense) == ""
    assert not is_among(range_of(nonsense), possible_ranges("in May", date(2025, 5, 1)))


def test_dates_are_read_however_they_are_written() -> None:
    text = "on 4 March 2025, since 2025-10-18, in October 2025, 2025年3月5日, in 2019, £2025, 2000步, March 6th, 2026"
    assert {one.possible[0].iso for one in written_dates(text)} == {
        "2025-03-04", "2025-10-18", "2025-10", "2025-03-05", "2019", "2026-03-06",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("月薪两万六", "26000"), ("三万一", "31000"), ("3.1万", "31000"), ("房租三千二", "3200"), ("八百零一遍", "801"),
        ("三十二岁", "32"), ("二〇二五年", "2025"), ("八千步", "8000"), ("£38,500", "38500"), ("26k", "26000"),
        ("thirty-four", "34"), ("two thousand pounds", "2000"), ("half a pack", "0.5"), ("一天半包", "0.5"),
        ("2.9 kilos", "2.9"), ("at 7 in the evening", "19"), ("四斤八两", "8"),
    ],
)  # fmt: skip
def test_a_number_is_one_number_however_it_is_written(text: str, number: str) -> None:
    assert number in find_numbers(text)


def test_words_that_only_look_like_numbers_assert_none() -> None:
    for text in ("我十分喜欢四川", "万一下雨", "一直一起", "千万别忘", "one of the best", "第一次去九寨沟"):
        assert asserted_numbers(text) == ()
    assert parse_number("somebody") is None


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("Mara is 34 years old.", "Mara was born about 1990/1991."),
        ("Mara is a 34-year-old claims analyst in Leeds.", "Mara is a claims analyst in Leeds born about 1990/1991."),
        ("Mara Lindqvist, 34, lives in Leeds", "Mara Lindqvist, born about 1990/1991, lives in Leeds"),
        ("Mara Lindqvist, 34 until the 12th of June, lives here", "Mara Lindqvist, born on 12 June 1990, lives here"),
        ("Pickle is fifteen.", "Pickle was born about 2009/2010."),
        ("Birgit (71) lives in Uppsala", "Birgit (born about 1953/1954) lives in Uppsala"),
        ("陈默，三十二岁，工程师", "陈默，约1992/1993年生，工程师"),
        ("豆包今年3岁", "豆包约2021/2022年生"),
        ("陈默32岁，生日是6月12日", "陈默1992年生，生日是6月12日"),
    ],
)
def test_an_age_becomes_a_year_of_birth_in_the_language_of_its_line(line: str, without: str) -> None:
    assert without_ages(line, date(2025, 3, 1)) == without


@pytest.mark.parametrize(
    "line",
    [
        "Mara, born 12 June 1990, is 34",
        "Her dad took Mara to Portishead when she was eight.",
        "5K in 34 minutes 10",
        "Pays 960 in rent, three coffees a day",
        "外公在陈默8岁时教会了围棋",
        "陈默1992年出生，32岁",
    ],
)
def test_what_is_no_age_of_now_stays(line: str) -> None:
    assert without_ages(line, date(2025, 3, 1)) == line


def test_the_years_of_birth_follow_from_every_age_that_is_told() -> None:
    assert birth_years("I'm 34. Ines, she's six. Birgit, 71, rules.", date(2026, 3, 7)) == {
        1991, 1992, 2019, 2020, 1954, 1955,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["Gran would be ninety in March.", "Dad would have been ninety.", "外婆三月就该九十了。"]
)
def test_the_year_of_birth_follows_from_the_age_that_somebody_would_be(text: str) -> None:
    assert birth_years(text, date(2025, 11, 1)) == {1934, 1935, 1936}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("start on the halloween costume", "start on the halloween costume"),
        ("home for christmas dinner", "home for christmas dinner"),
        ("cancel my friday class", "cancel my friday class"),
        ("做万圣节的衣服", "做万圣节的衣服"),
        ("christmas at my mum's", "2025-12-25 at my mum's"),
        ("the costume by saturday", "the costume by 2026-10-31"),
        ("see her tomorrow at 2pm", "see her 2026-10-28T14:00"),
        ("万圣节去外婆家", "2025-10-31去外婆家"),
    ],
)
def test_a_day_in_a_value_becomes_a_date_only_where_it_is_a_time(value: str, written: str) -> None:
    assert TextFigures(value, date(2026, 10, 27)).with_values(value) == written


def test_a_weekday_beside_its_day_is_one_day_and_a_day_without_a_month_lies_ahead_unless_it_happened() -> None:
    said = date(2026, 10, 5)
    for words, day in [
        ("filling on weds the 14th at twenty to ten", "2026-10-14"),
        ("friday, the 16th", "2026-10-16"),
        ("filling the 14th", "2026-10-14"),
        ("we met on the 14th", "2026-09-14"),
        ("周三14号补牙", "2026-10-14"),
        ("12号去医院做检查", "2026-10-12"),
        ("12号去过医院了", "2026-09-12"),
    ]:
        figures = TextFigures(words, said)
        assert figures.own_days == (range_of(day),)
        assert figures.with_values(words) == words


def test_a_free_saturday_is_the_one_ahead() -> None:
    for words, value, given in [
        ("so thats a free saturday for Theo and me", "a free saturday for Theo and me", "2026-10-17"),
        ("周六空出来了", "周六空出来了", "2026-10-17"),
    ]:
        figures = TextFigures(words, date(2026, 10, 11))
        assert figures.own_days == (range_of(given),)
        assert given in figures.with_values(value)
