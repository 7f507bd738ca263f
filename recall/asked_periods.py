"""Which stretch of time a question wants told as a whole: "What happened this spring?", 今年我们都聊了什么？

Rules for English and Chinese. A question asks for a stretch when it asks what went on, and for nothing of its own
besides: "what did I cook this spring?" is for a search. The stretch is a period of days, or one from something that
happened on ("since I moved"), whose day is still to be found. Dates are read by ``periods``, here what only a stretch
is called by: since, from .. to .., the last three months, all year.

>>> asked("What have we talked about since March?", date(2026, 6, 9)).period
Period(first=datetime.date(2026, 3, 1), last=datetime.date(2026, 6, 9), yearly=False)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from domain.text import pattern_of
from recall import periods, words
from recall.periods import Period
from recall.questions import OVERVIEW

#: What is shorter than this is a day or an evening, not a stretch.
_SHORTEST = 5
#: How far "lately" reaches, and what "a few" months or weeks are.
_LATELY, _FEW = 30, 3
_BEGINNING = date(1, 1, 1)

_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_MANY = (
    r"(?P<many>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a few|few|several"
    r"|(?:a )?couple of)"
)
_HALF_YEAR = (
    r"\b(?:the |this |these |over |in )*(?:last|past)? ?(?:half[ -](?:a[ -])?year|six months)\b"
    r"|(?:这|过去|最近|近)(?:大)?半年"
)
_ROLLING = (
    rf"\b(?:over |in |during |for )?(?:the |these |this )?(?:last|past|recent) {_MANY} {_UNIT}\b"
    rf"|\b(?:over|in|during|for) the (?:last|past) (?P<one>week|month|year)\b"
    rf"|(?:这|过去|最近|近)(?P<zh_many>{periods.CHINESE_COUNT})[多来余]?(?:个)?(?P<zh_unit>天|日|周|星期|礼拜|月|年)"
)
_WHOLE = (
    r"\b(?:all|whole|entire|throughout|during|over)(?: of| the| this| that)*"
    r" (?P<whole>year|spring|summer|autumn|fall|winter|month|week)\b"
)
_BARE = r"\b(?P<whole>spring|summer|autumn|fall|winter|(?<!\d )(?<!last )(?<!past )(?<!this )year)\b"
_HALF = r"\b(?:the )?(?P<half>first|second) half of (?:the|this) year\b|(?P<zh_half>[上下])半年"
_QUARTER = r"\b(?P<which>this|last) quarter\b|(?P<zh_which>这个?|本|上个?)季度"
_ZH_SEASON = r"(?P<of>今年|去年|前年|这个?|今|上个?|去)(?:的)?(?P<zh_season>[春夏秋冬])(?:天|季)?"
_EVER = (
    r"\b(?:ever since|since) we (?:first )?(?:met|started|began|got to know)[^?.!]*|\ball (?:this|the) time\b"
    r"|\b(?:so far|until now)\b"
    r"|\bfrom the (?:very )?(?:beginning|start)\b|从?(?:我们)?(?:认识|开始聊天?|相识)(?:到现在|至今|以来)"
    r"|一直以来|这么久以来|从头到现在|到目前为止"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_FROM_TO = (
    rf"\b(?:from|between|in|during|over) (?P<first>{_MONTH}) (?:to|till|until|through|and) (?P<last>{_MONTH})"
    r"(?:,? (?:of )?(?P<year>20\d\d))?\b"
)
_LATE = r"\b(?:lately|recently|these days)\b|最近|近来|近期|这阵子|这段时间|这些日子|这些天"
_SINCE = pattern_of(r"\b(?:ever )?since\b|(?:以来|至今|到现在|到今天)|自从|打从|之后到现在", re.IGNORECASE)
_UPTO = pattern_of(
    r"\bfrom\b.+\b(?:to|till|until|through)\b|\bbetween\b.+\band\b|.+(?:到|至).+月", re.IGNORECASE
)
_EVENT = pattern_of(
    r"\b(?P<how>since|after|before|until)\s+(?P<event>[^?.!,]+)"
    r"|(?:自从|打从|从|自)?(?P<zh_event>[^，。？！,?!、自从]{2,16}?)(?P<zh_how>以来|之后|以后|以前|之前|至今|到现在)",
    re.IGNORECASE,
)
_BEFORE = ("before", "until", "以前", "之前")
#: What a question for a stretch may hold besides, without asking for anything of its own.
_NEUTRAL = pattern_of(
    r"\b(?:year|years|month|months|week|weeks|time|times|period|life|things?|stuff|everything|topics?|main|mainly|most|mostly"
    r"|important|biggest|big|highlights?|events?|please|remember|recall|together|whole|entire|all|overall|general(?:ly)?|kind"
    r"|short|brief(?:ly)?|quick(?:ly)?|far|really|actually|basically|old|friend|hey|so|then|now|back|two|us|both"
    r"|know|say|said|conversations?|talks?|chats?|summary|recap|overview|up|went|like|ups|downs|ever|going|gone|lot|much"
    r"|came|come|been|era|stretch|days?|lately|recently|feel(?:ing)?|felt|mood|spent?|spend)\b"
    r"|我们|咱们|咱俩|咱|我|你|俩|都|的|了|这|那|在|里头|里面|里|中|期间|当中|一下|下|给|帮|请|吧|呢|啊|呀|吗|嘛|自己|主要|最|大|要紧|重要|事情|事儿|事"
    r"|生活|日子|时间|时候|时光|阵|段|整整|整个|整|全部|全年|全|一起|一共|有|过|和|跟|与|来|以|至今|到现在|现在|到|底|大概|大致|还|记得|记不记得|话题|哪些|什么"
    r"|些|啥|个|年|月|天|份|季|老友|老朋友|朋友|嘿|能|可以|不能|是|怎么|怎样|如何|么|简单|简要|好好|概况|情况|状态|心情|经历|自从|从|自|聊天|对话|谈话|会|也|就|之|间|内|想|知道|对|吗|让|把|得",
    re.IGNORECASE,
)

_PLAIN = pattern_of(r"(?P<year>(?:19|20)\d\d)年?(?:[-/.](?P<month>\d{1,2})|)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_COUNTS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "couple of": 2, "a couple of": 2,
}  # fmt: skip
_DAYS = {
    "day": 1, "week": 7, "month": 30.44, "year": 365.25,
    "天": 1, "日": 1, "周": 7, "星期": 7, "礼拜": 7, "月": 30.44, "年": 365.25,
}  # fmt: skip
_FIRST_MONTHS = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StretchAsked:
    """A question for a stretch: its ``period``, or what happened at one end of it, and at which."""

    period: Period | None
    event: str = ""
    side: Literal["since", "before"] = "since"

    def from_day(self, day: date, today: date) -> Period:
        """The period, once the day is known on which it happened."""
        return Period(day, today) if self.side == "since" else Period(_BEGINNING, day - timedelta(1))


def asked(text: str, today: date) -> StretchAsked | None:
    """The stretch that a question wants told; None for any other question, which is the usual case."""
    rest = OVERVIEW.sub(" ", text)
    if rest == text:
        return None
    period, left = _period(rest, today)
    if period is None and (happened := _EVENT.search(rest)):
        event = (happened["event"] or happened["zh_event"]).strip()
        how = (happened["how"] or happened["zh_how"]).lower()
        left = rest[: happened.start()] + " " + rest[happened.end() :]
        if words.terms(_NEUTRAL.sub(" ", event)):
            side: Literal["since", "before"] = "before" if how in _BEFORE else "since"
            return StretchAsked(None, event, side) if _is_neutral(left) else None
    if period is None or not _is_neutral(left):
        return None
    period = Period(period.first, min(period.last, today))
    return StretchAsked(period) if (period.last - period.first).days + 1 >= _SHORTEST else None


def named(text: str, today: date) -> Period | None:
    """The days that somebody names: 2026, 2026-03, 2026-03-08, March, last summer, 去年夏天; None for anything else."""
    if plain := _PLAIN.fullmatch(text.strip()):
        year, month = int(plain["year"]), int(plain["month"] or 0)
        if not month:
            return Period(date(year, 1, 1), date(year, 12, 31))
        return _from_month(year, month, month) if 1 <= month <= 12 else None
    # The rules for talk want a word before a month.
    found, _ = _period(f"in {text}", today)
    return found


def _from_month(year: int, first: int, last: int) -> Period:
    """From the beginning of a month to the end of another, the same or a later one."""
    over = date(year + (last < first), last, 1)
    return Period(date(year, first, 1), date(over.year + (last == 12), last % 12 + 1, 1) - timedelta(1))


def _is_neutral(text: str) -> bool:
    """Whether these words ask for nothing of their own."""
    return not words.terms(_NEUTRAL.sub(" ", _SINCE.sub(" ", text)))


def _period(text: str, today: date) -> tuple[Period | None, str]:
    """The period that a text names, and the text without it."""
    windows = periods.windows(text, today)
    for pattern, rule in _RULES if windows else (*_RULES, *_AT_LAST):
        found = re.search(pattern, text, re.IGNORECASE)
        if found and (period := _meant(rule, found, today)):
            left = text[: found.start()] + " " + text[found.end() :]
            return _to_today(period, left, today), left
    if not windows:
        return None, text
    period = Period(min(one.first for one in windows), max(one.last for one in windows))
    if len(windows) > 1 and not _UPTO.search(text):
        return None, text
    return _to_today(period, text, today), periods.without_windows(text, today)


def _meant(rule: Callable[[re.Match[str], date], Period], found: re.Match[str], today: date) -> Period | None:
    """What a rule makes of what was found; None for what no calendar has."""
    try:
        return rule(found, today)
    except (ValueError, OverflowError):
        return None


def _to_today(period: Period, text: str, today: date) -> Period:
    """The period, or all the time since it began, where that is said."""
    return Period(period.first, today) if _SINCE.search(text) else period


def _rolling(found: re.Match[str], today: date) -> Period:
    if found["one"]:
        return _last(1, found["one"], today)
    if chinese := found["zh_many"]:
        return _last(periods.chinese_count(chinese), found["zh_unit"], today)
    many = found["many"].lower()
    return _last(int(many) if many.isdecimal() else _COUNTS.get(many, _FEW), found["unit"].lower(), today)


def _last(count: int, unit: str, today: date) -> Period:
    return Period(today - timedelta(round(count * _DAYS[unit])), today)


def _half_year(found: re.Match[str], today: date) -> Period:
    return _last(6, "month", today)


def _half(found: re.Match[str], today: date) -> Period:
    if (found["half"] or "").lower() == "first" or found["zh_half"] == "上":
        return Period(date(today.year, 1, 1), date(today.year, 6, 30))
    year = today.year if today.month > 6 else today.year - 1
    return Period(date(year, 7, 1), date(year, 12, 31))


def _quarter(found: re.Match[str], today: date) -> Period:
    first = today.month - (today.month - 1) % 3
    if (found["which"] or found["zh_which"]).lower() in ("last", "上", "上个"):
        last = date(today.year, first, 1) - timedelta(1)
        return _from_month(last.year, last.month - 2, last.month)
    return _from_month(today.year, first, first + 2)


def _whole(found: re.Match[str], today: date) -> Period:
    what = found["whole"].lower()
    if what == "year":
        return Period(date(today.year, 1, 1), today)
    if what == "month":
        return Period(today.replace(day=1), today)
    if what == "week":
        return Period(today - timedelta(today.weekday()), today)
    return _season(what, today)


def _zh_season(found: re.Match[str], today: date) -> Period:
    back = {"去年": 1, "去": 1, "前年": 2}.get(found["of"])
    if back is not None:
        return _season_of(today.year - back, found["zh_season"])
    latest = _season(found["zh_season"], today)
    if found["of"].startswith("上") and latest.last >= today:
        return _season_of(latest.first.year - 1, found["zh_season"])
    return latest


def _season(name: str, today: date) -> Period:
    """The latest such season that has begun."""
    season = _season_of(today.year, name)
    return season if season.first <= today else _season_of(today.year - 1, name)


def _season_of(year: int, name: str) -> Period:
    """Its three months."""
    first = date(year, _FIRST_MONTHS[name], 1)
    after = date(first.year + (first.month > 9), (first.month + 2) % 12 + 1, 1)
    return Period(first, after - timedelta(1))


def _this_season(found: re.Match[str], today: date) -> Period:
    season = _season(found["season"].lower(), today)
    is_over = season.last < today
    if found["which"].lower() == "last" and not is_over:
        return _season_of(season.first.year - 1, found["season"].lower())
    return season


def _from_to(found: re.Match[str], today: date) -> Period:
    """From a month to another: the latest that has begun, and over a new year the latest of which the end has."""
    first, last = (_month(found[name]) for name in ("first", "last"))
    begun = today.year - (first > today.month)
    latest = begun if last >= first else today.year - 1 - (last > today.month)
    return _from_month(int(found["year"] or latest), first, last)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _ever(found: re.Match[str], today: date) -> Period:
    return Period(_BEGINNING, today)


def _lately(found: re.Match[str], today: date) -> Period:
    return Period(today - timedelta(_LATELY), today)


#: Of each: its pattern, and what that means; the more exact first.
_RULES: tuple[tuple[str, Callable[[re.Match[str], date], Period]], ...] = (
    (_EVER, _ever),
    (_HALF_YEAR, _half_year),
    (_ROLLING, _rolling),
    (_HALF, _half),
    (_QUARTER, _quarter),
    (rf"\b(?P<which>this|last|past) {_SEASON}\b", _this_season),
    (_WHOLE, _whole),
    (_ZH_SEASON, _zh_season),
    (_FROM_TO, _from_to),
    (_LATE, _lately),
)
#: The same, where nothing else names a time.
_AT_LAST: tuple[tuple[str, Callable[[re.Match[str], date], Period]], ...] = ((_BARE, _whole),)
