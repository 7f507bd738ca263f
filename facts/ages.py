"""Ages, which go stale, and the years of birth that follow from them, which do not.

>>> without_ages("Mara is 34 years old.", date(2025, 3, 1))
'Mara was born about 1990/1991.'
>>> without_ages("陈默，三十二岁，工程师", date(2025, 4, 5))
'陈默，约1992/1993年生，工程师'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from facts.dates import MONTH_NAMES
from facts.numbers import may_mention, value_of

_WORD = (
    r"(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six|seven|eight|nine))?"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
_HAN = r"(?:\d{1,3}|[一二三四五六七八九十]{1,4})"
#: An age that somebody had then is no age of now.
_NOT_THEN = r"(?!\s?(?:时|那年|的时候|起|开始|以?前|就))"
_OLD = r"(?:[ -]years?[ -]old|[ -]year[ -]old)"
_END = r"(?=[\s,.;!?)]|$)"
#: Where a text tells somebody's age: "I'm 34", "Pickle is fifteen", "Birgit, 71,", "aged 6", 三十二岁.
_TELLS = re.compile(
    r"\b(?:i'm|i am|is|he's|she's|it's|are|aged|age|turned|turns|turning|been|age of)\s+(?:now |only |about |just )?"
    rf"(?P<be>{_WORD}){_END}"
    rf"|(?<=[a-z]),\s(?P<comma>{_WORD})(?=[\s,.;!?)]|$)|\b(?P<old>{_WORD}){_OLD}\b|(?P<han>{_HAN})\s?周?岁{_NOT_THEN}",
    re.IGNORECASE,
)

_BIRTHDAY = re.compile(r"\bbirthday\b|\buntil\b|\bturns?\b|生日", re.IGNORECASE)
_BORN = re.compile(
    r"\bborn\b[^.;]*\b(?:19|20)\d\d\b|(?:19|20)\d\d年?[^，。；]{0,8}(?:出生|生(?!日))|(?:生于|出生于)",
    re.IGNORECASE,
)
_DAY = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{'|'.join(MONTH_NAMES)})\b(?! \d{{4}})"
    r"|(?<![年\d])(?P<han>\d{1,2}|[一二三四五六七八九十]{1,2})月(?P<han_day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]",
    re.IGNORECASE,
)
_WHO = r"(?:[A-ZÀ-Þ][\w'’-]*|[Ss]he|[Hh]e|[Ww]ho)"
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], str]]
_UNTIL = r"(?P<until> until (?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+)?"
_ENGLISH: tuple[_Rule, ...] = (
    (
        re.compile(rf"\b(?:is|are)(?: now| about| currently)? (?P<age>{_WORD}){_OLD}\b"),
        lambda found, born: f"was born {born}",
    ),
    (
        re.compile(rf"\b[Aa]n? (?P<age>{_WORD}){_OLD} (?P<what>[^,.;()]+\w)", re.IGNORECASE),
        lambda found, born: f"{'an' if found['what'][0] in 'aeiou' else 'a'} {found['what']} born {born}",
    ),
    (re.compile(rf"(?<=\w )\((?P<age>{_WORD})\)"), lambda found, born: f"(born {born})"),
    (re.compile(rf"\b[Aa]ged? (?P<age>{_WORD}){_END}"), lambda found, born: f"born {born}"),
    (re.compile(rf"\bAge: ?(?P<age>{_WORD}){_END}"), lambda found, born: f"Born: {born}"),
    (
        re.compile(
            rf"(?P<who>\b{_WHO}) (?:is|turned)(?: now| about| just)? (?P<age>{_WORD}){_UNTIL}(?=[.,;)]|$| and )"
        ),
        lambda found, born: f"{found['who']} was born {born}",
    ),
    (
        re.compile(rf"(?P<who>\b[A-ZÀ-Þ][\w'’-]*), (?P<age>{_WORD}){_UNTIL}(?=[.,;)]|$)"),
        lambda found, born: f"{found['who']}, born {born}",
    ),
    (re.compile(rf"\b(?P<age>{_WORD}){_OLD}\b"), lambda found, born: f"born {born}"),
)
_CHINESE: tuple[_Rule, ...] = (
    (
        re.compile(rf"(?:今年|现在|现年|年龄[:：]?\s?|年约)?(?P<age>{_HAN})\s?周?岁{_NOT_THEN}"),
        lambda found, born: born,
    ),
    (re.compile(rf"年龄[:：]\s?(?P<age>{_HAN})(?!\d)"), lambda found, born: born),
)


def birth_years(text: str, said: date) -> frozenset[int]:
    """The years in which somebody may be born whose age a text tells.

    >>> sorted(birth_years("I'm 34", date(2025, 3, 1)))
    [1990, 1991]
    """
    if not may_mention(text):
        return frozenset()
    ages = [value_of(next(filter(None, found.groups()))) for found in _TELLS.finditer(text)]
    return frozenset(
        said.year - age - less for age in ages if age is not None and 0 < age < 120 for less in (0, 1)
    )


def without_ages(line: str, said: date) -> str:
    """A line in which a year of birth stands for each age that held on that day; a line with a year of birth stays."""
    if _BORN.search(line):
        return line
    for pattern, rule in _ENGLISH:
        line = pattern.sub(lambda found, rule=rule: _put(found, rule, said, "about {}/{}", "in {}"), line)  # type: ignore[misc]
    for pattern, rule in _CHINESE:
        line = pattern.sub(lambda found, rule=rule: _put(found, rule, said, "约{}/{}年生", "{}年生"), line)  # type: ignore[misc]
    return line


def _put(
    found: re.Match[str], rule: Callable[[re.Match[str], str], str], said: date, about: str, exact: str
) -> str:
    age = value_of(found["age"])
    if age is None or not 0 < age < 120:
        return found[0]
    birthday = _birthday_in(found.string)
    if birthday is None:
        return rule(found, about.format(said.year - age - 1, said.year - age))
    year = said.year - age - ((said.month, said.day) < birthday)
    day = (
        f"on {birthday[1]} {MONTH_NAMES[birthday[0] - 1].title()} {year}"
        if found.groupdict().get("until")
        else ""
    )
    return rule(found, day or exact.format(year))


def _birthday_in(line: str) -> tuple[int, int] | None:
    """The one day without a year in a line that speaks of a birthday."""
    days = list(_DAY.finditer(line)) if _BIRTHDAY.search(line) else []
    if len(days) != 1:
        return None
    found = days[0]
    month = MONTH_NAMES.index(found["month"].casefold()) + 1 if found["month"] else value_of(found["han"])
    day = value_of(found["day"] or found["han_day"])
    return (month, day) if month and day else None
