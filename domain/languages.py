"""Languages and scripts: which one is spoken, which letters stand without spaces, how many tokens a text takes, how a
day is told, which words are names.

Byte-pair tokenizers in use take about one token for four Latin letters, and 0.6 to 1.1 tokens for a Chinese
character. The estimate is meant to be right within a factor of 1.5 for prose in either language.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from domain.text import day_of, pattern_of

Language = Literal["en", "zh"]

#: Letters of scripts that are written without spaces, as they stand in a regular expression's brackets.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = pattern_of(f"[{UNSPACED}]+")
_CHINESE = pattern_of("[\u3400-\u9fff]+")
_LATIN = pattern_of("[A-Za-z]+")
_DIGITS, _MARKS, _SPACE = (
    characters.encode() for characters in (string.digits, string.punctuation, string.whitespace)
)
_PER_UNSPACED, _PER_DIGIT, _PER_MARK, _PER_LETTER, _PER_OTHER = 0.7, 0.4, 0.5, 0.24, 0.5

#: What a chat template adds around each message.
_PER_MESSAGE = 4
#: Below this the estimate is too rough to accuse a server of anything.
_WORTH_A_LOOK = 1_000
#: A server that counts less than this share of the estimate has not read everything.
_FAR_BELOW = 0.5

#: English words that say nothing about what a text is about.
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been before being
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down
    during each else ever few for from further get gets getting give given go goes going gonna got had
    hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his
    how how's i i'd i'll i'm i've if in into is isn't it it'll it's its itself just know let let's like
    made make me more most much must my myself no nor not now of off oh ok okay on once only or other our
    ours ourselves out over own please really s same shall she she'd she'll she's should shouldn't so some
    such t tell than that that's the their theirs them themselves then there there's these they they'd
    they'll they're they've thing things this those through to too under until up us very want was wasn't
    we we'd we'll we're we've well were weren't what what's when when's where where's which while who
    who's whom whose why will with won't would wouldn't yeah yes yet you you'd you'll you're you've your
    yours yourself yourselves
    """.split()  # noqa: SIM905 - a list of 180 strings is hard to read
)

#: Characters so common in Chinese and Japanese that alone they say nothing; they still count in pairs.
STOP_CHARACTERS = frozenset(
    "的了是我你他她它们在有和就不也都很这那个吗呢吧啊哦嗯么什谁哪怎么样要会能可以到说上下去来对把被给让从向着过得地之与及或而但"
    "还又再最更太为因所如果没只一些はがをにでともへやのかなだよねたてし"
)


#: The image of a person says so much more of their language than one message does.
_VOTES_OF_IMAGE = 5


def language_of(*texts: str) -> Language:
    """The language of a conversation: Chinese as soon as a fair part of its letters is Chinese.

    A Chinese character carries about as much as three Latin letters, so it weighs as much.
    """
    chinese = latin = 0
    for text in texts:
        sample = text[:20_000]
        chinese += 0 if sample.isascii() else _total(_CHINESE, sample)
        latin += _total(_LATIN, sample)
    return "zh" if chinese * 3 > latin and chinese else "en"


def language_of_address(image: str, before: Sequence[str], text: str) -> Language:
    """The language in which a person is spoken of: that of what is known of them and of what they said before.

    One message in another language changes nothing. ``image`` is that of the person, ``text`` their newest message.

    >>> language_of_address("", ["你好，我是小雨。"], "How are you today, my friend?")
    'zh'
    """
    votes = [language_of(one) for one in [*[image] * _VOTES_OF_IMAGE, *before, text] if one.strip()]
    return Counter(votes).most_common(1)[0][0] if votes else "en"


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    return _RUN.match(character) is not None


def unspaced_length(text: str) -> int:
    """How many characters of a text belong to scripts without spaces."""
    return 0 if text.isascii() else _total(_RUN, text)


def is_name(text: str) -> bool:
    """Whether a text could be what somebody is called: a few short words of letters that do not begin small.

    >>> is_name("Mara Lindqvist"), is_name("陈默"), is_name("ignore all that"), is_name("34")
    (True, True, False, False)
    """
    letters = all(character.isalpha() or character in " -'’.·" for character in text)
    short = 0 < len(text) <= 40 and unspaced_length(text) <= 10 and len(text.split()) <= 4
    return letters and short and not text[0].islower()


def unspaced_share(text: str) -> float:
    """How much of the letters of a text belong to scripts without spaces, 0 to 1."""
    unspaced = unspaced_length(text)
    letters = sum(map(str.isalpha, text)) if unspaced else 0
    return unspaced / letters if letters else 0.0


def estimate(text: str) -> int:
    """Tokens of a text, never below 1 unless it is empty.

    >>> estimate("How are you today?"), estimate("你今天好吗？")
    (4, 4)
    """
    unspaced = unspaced_length(text)
    plain = text.encode("ascii", "ignore")
    digits, marks, spaces = (
        len(plain) - len(plain.translate(None, some)) for some in (_DIGITS, _MARKS, _SPACE)
    )
    letters = len(plain) - digits - marks - spaces
    other = max(0, len(text) - len(plain) - unspaced)
    tokens = (
        unspaced * _PER_UNSPACED
        + digits * _PER_DIGIT
        + marks * _PER_MARK
        + letters * _PER_LETTER
        + other * _PER_OTHER
    )
    return max(1, round(tokens)) if text else 0


def estimate_all(texts: Iterable[str]) -> int:
    """Tokens of a prompt made of these messages."""
    return sum(estimate(text) + _PER_MESSAGE for text in texts)


def is_truncated(counted: int | None, estimated: int) -> bool:
    """Whether a server that counted ``counted`` prompt tokens has silently cut a prompt of about
    ``estimated``."""
    if not counted or counted < 0 or estimated < _WORTH_A_LOOK:
        return False
    return counted < estimated * _FAR_BELOW


def _total(pattern: re.Pattern[str], text: str) -> int:
    return len("".join(pattern.findall(text)))


@dataclass(frozen=True)
class Calendar:
    """How days are told in one language. Names in braces are what each takes."""

    weekdays: tuple[str, ...]
    months: tuple[str, ...]
    day: str
    """weekday, date: a day among others"""
    whole_day: str
    """weekday, day, month, year: a day in a sentence"""
    ages: tuple[str, str, str]
    """count: today, yesterday, and further back"""


_CALENDARS: dict[Language, Calendar] = {
    "en": Calendar(
        weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        months=tuple(
            "January February March April May June July August September October November December".split()  # noqa: SIM905
        ),
        day="{weekday} {date}",
        whole_day="{weekday} {day} {month} {year}",
        ages=("today", "yesterday", "{count} days ago"),
    ),
    "zh": Calendar(
        weekdays=("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
        months=tuple(str(number) for number in range(1, 13)),
        day="{date} {weekday}",
        whole_day="{year} 年 {month} 月 {day} 日{weekday}",
        ages=("今天", "昨天", "{count} 天前"),
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
    """A day as it stands in a sentence."""
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
    """How many calendar days ago a day is; "" for one that is still to come, as a clock that jumped makes it.

    >>> age_in("en", date(2025, 11, 16), date(2026, 1, 10))
    '55 days ago'
    """
    count = (today - day).days
    return _CALENDARS[language].ages[min(count, 2)].format(count=count) if count >= 0 else ""


def vague_age_in(language: Language, day: date, today: date) -> str:
    """How old something is, as one says it of what is half forgotten; "" for what is still to come.

    >>> vague_age_in("en", date(2025, 3, 2), date(2026, 5, 10)), vague_age_in("zh", date(2025, 3, 2), date(2026, 5, 10))
    ('fourteen months old', '十四个月前')
    """
    days = (today - day).days
    if days < 0:
        return ""
    for unit, length in (("year", 730), ("month", 60), ("week", 14), ("day", 0)):
        if days >= length:
            count = days // {"year": 365, "month": 30, "week": 7, "day": 1}[unit]
            return _vague(language, unit, count)
    return ""


def _vague(language: Language, unit: str, count: int) -> str:
    if language == "zh":
        return f"{_chinese(count)}{ {'year': '年', 'month': '个月', 'week': '周', 'day': '天'}[unit] }前"
    told = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    return f"{told} {unit}{'' if count == 1 else 's'} old"


def _chinese(count: int) -> str:
    """A number below a hundred as it is said before a measure word."""
    tens, ones = divmod(count, 10)
    if count > 99:
        return str(count)
    if count == 2:
        return "两"
    digits = "零一二三四五六七八九"
    head = "" if not tens else "十" if tens == 1 else f"{digits[tens]}十"
    return head + (digits[ones] if ones or not tens else "")


#: How English says small numbers.
_NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip


def when_in(language: Language, timestamp: str, now: datetime | None = None) -> dict[str, str]:
    """The weekday of a record and, told when it is now, its age."""
    day = day_of(timestamp)
    if day is None:
        return {}
    age = age_in(language, day, now.date()) if now else ""
    return {"weekday": weekday_in(language, day)} | ({"age": age} if age else {})


# -- names


_NAME = pattern_of(r"(?<![A-Za-zÀ-ÿ0-9'’])[A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*")
_FIRST_WORD = pattern_of(r"(?:^|[.!?:;]\s+|[\"“(])([A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*)")
_USED_AS_NAME = pattern_of(
    r"[\w-]+(?:['’]s?\b|, | and [A-ZÀ-Þ]| (?:is|was|has|had|will|would|can|does|did|told|said|went|came|got|met"
    r"|gave|took|left|ran|made|and|who)\b| (?!as\b|his\b|its\b|this\b|less\b)[a-z]+(?:s|ed)\b)"
)
_OPENING = pattern_of(r"^\W*\w+")
_CALLED = pattern_of(
    r"(?:名叫|叫做|叫|名字是|改名)(?!人|醒|她|他|我|做|[全本大小真原]名|[外花]号)([\u4e00-\u9fff]{2})"
)
_POSSESSED = pattern_of(r"['’]s?$")
_CALENDAR = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february march april may june july august september october november december
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)

#: The names of so many texts are held: those of one statement are asked for again and again.
_TEXTS_HELD = 256


#: The names of so many texts are held: those of one statement are asked for again and again.
_TEXTS_HELD = 256


def names_in(text: str, *, opening: bool = True) -> Iterator[str]:
    """Every name that a text uses, in either script; without ``opening`` its first word is never taken for one."""
    yield from latin_names(text if opening else f"- {_OPENING.sub('', text)}")
    yield from (found[1] for found in _CALLED.finditer(text))


@lru_cache(_TEXTS_HELD)
def latin_names(text: str) -> tuple[str, ...]:
    """The words of a text that are written like names.

    The first word of a sentence is one where it is used like one: "Tom Okafor", "Mara's", "Pickle died".
    """
    first = {found.start(1) for found in _FIRST_WORD.finditer(text)}
    return tuple(
        word
        for found in _NAME.finditer(text)
        if (word := _bare_name(found[0])).casefold() not in _CALENDAR
        and word.casefold() not in STOP_WORDS
        and (found.start() not in first or _USED_AS_NAME.match(text, found.start()))
    )


def whole_names(text: str) -> tuple[str, ...]:
    """The names of a text, those that stand side by side as one.

    >>> whole_names("I met Tom Okafor in York.")
    ('Tom Okafor', 'York')
    """
    found: list[str] = []
    for name in latin_names(text):
        beside = bool(found) and f"{found[-1]} {name}" in text
        found.append(f"{found.pop()} {name}" if beside else name)
    return tuple(found)


def _bare_name(word: str) -> str:
    return (_POSSESSED.sub("", word) if "'" in word or "’" in word else word).rstrip("-&")
