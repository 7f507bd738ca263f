"""Which stretch of time a question wants told, and which questions want none."""

from __future__ import annotations

from datetime import date

import pytest

from language.times import TimeRange
from recall.questions import parse_range, read_range_request

TODAY = date(2026, 11, 22)


def days(first: str, last: str = "2026-11-22") -> TimeRange:
    return TimeRange(date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("What have we talked about this spring?", days("2026-03-01", "2026-05-31")),
        ("这个春天我们都聊了什么？", days("2026-03-01", "2026-05-31")),
        ("What have we talked about all year?", days("2026-01-01")),
        ("今年我们都聊了什么？", days("2026-01-01")),
        ("How has my year been?", days("2026-01-01")),
        ("How was my summer?", days("2026-06-01", "2026-08-31")),
        ("去年夏天我过得怎么样？", days("2025-06-01", "2025-08-31")),
        ("Tell me about last winter.", days("2025-12-01", "2026-02-28")),
        ("What happened in March?", days("2026-03-01", "2026-03-31")),
        ("三月份我都在忙什么？", days("2026-03-01", "2026-03-31")),
        ("What have we talked about since March?", days("2026-03-01")),
        ("What was going on between November and February?", days("2025-11-01", "2026-02-28")),
        ("三月到五月我们聊了些什么？", days("2026-03-01", "2026-05-31")),
        ("What have I been up to lately?", days("2026-10-23")),
        ("最近我都在忙些什么？", days("2026-10-23")),
        ("What have I been doing over the last three months?", days("2026-08-23")),
        ("最近三个月我都在忙什么？", days("2026-08-23")),
        ("What were the main topics of the first half of the year?", days("2026-01-01", "2026-06-30")),
        ("最近三十天我们都聊了什么？", days("2026-10-23")),
        ("过去二十年发生了什么？", days("2006-11-22")),
        ("最近两三个月我都在忙什么？", days("2026-08-23")),
        ("上半年发生了什么大事？", days("2026-01-01", "2026-06-30")),
        ("上个季度我都干了啥？", days("2026-07-01", "2026-09-30")),
        ("What has been going on this quarter?", days("2026-10-01")),
        ("What kind of things did we discuss in April and May?", days("2026-04-01", "2026-05-31")),
        ("Anything new since May?", days("2026-05-01")),
        ("Looking back at this year, what stands out?", days("2026-01-01")),
        ("What was my life like in the spring?", days("2026-03-01", "2026-05-31")),
        ("这半年有什么变化？", days("2026-05-23")),
        ("帮我回顾一下去年。", days("2025-01-01", "2025-12-31")),
        ("What have we talked about since we met?", days("0001-01-01")),
        ("从我们认识到现在都聊了什么？", days("0001-01-01")),
    ],
)
def test_a_question_for_what_went_on_in_a_time_wants_that_time_told(text: str, period: TimeRange) -> None:
    found = read_range_request(text, TODAY)
    assert found is not None
    assert found.time_range == period


@pytest.mark.parametrize("text", ["过去十十年发生了什么？", "最近9999年发生了什么？", "What was the last 999 years?"])
def test_a_time_that_no_calendar_has_breaks_nothing(text: str) -> None:
    assert read_range_request(text, date(900, 1, 1)) is None


@pytest.mark.parametrize(
    ("text", "event", "side"),
    [
        ("What have we talked about since I moved?", "I moved", "since"),
        ("自从我搬家以来，我们都聊了什么？", "我搬家", "since"),
        ("What has changed since I started my new job?", "I started my new job", "since"),
        ("养猫之后生活有什么变化？", "养猫", "since"),
        ("What were we talking about before I moved to Lisbon?", "I moved to Lisbon", "before"),
        ("我搬家之前都发生了什么？", "我搬家", "before"),
    ],
)
def test_what_happened_may_stand_at_one_end_of_it(text: str, event: str, side: str) -> None:
    found = read_range_request(text, TODAY)
    assert found is not None
    assert (found.time_range, found.event, found.side) == (None, event, side)
    day = date(2026, 3, 7)
    wanted = days("2026-03-07") if side == "since" else days("0001-01-01", "2026-03-06")
    assert found.from_day(day, TODAY) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "What did I cook this spring?",
        "Where did I go last summer?",
        "How old is my cat?",
        "What did I do about the boiler this spring?",
        "How is my sister doing since the operation in May?",
        "What did we do yesterday?",
        "How do I make soup?",
        "What happened to my bike in March?",
        "What is going on?",
        "Tell me about my sister.",
        "今年我养了什么猫？",
        "我妹妹最近怎么样？",
        "春天我种了什么花？",
        "昨天我们聊了什么？",
        "怎么做红烧肉？",
    ],
)
def test_a_question_for_one_matter_or_one_day_is_for_a_search(text: str) -> None:
    assert read_range_request(text, TODAY) is None


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("2025", days("2025-01-01", "2025-12-31")),
        ("2026-03", days("2026-03-01", "2026-03-31")),
        ("2026-03-08", days("2026-03-08", "2026-03-08")),
        ("March", days("2026-03-01", "2026-03-31")),
        ("last summer", days("2026-06-01", "2026-08-31")),
        ("去年夏天", days("2025-06-01", "2025-08-31")),
        ("3月8日", days("2026-03-08", "2026-03-08")),
    ],
)
def test_days_are_named_in_many_ways(text: str, period: TimeRange) -> None:
    found = parse_range(text, TODAY)
    assert found is not None
    assert (found.first, found.last) == (period.first, period.last)


@pytest.mark.parametrize("text", ["banana", "5", "2026-13", ""])
def test_what_is_no_time_names_no_days(text: str) -> None:
    assert parse_range(text, TODAY) is None
