"""Ages, which go stale, and the years of birth that follow from them, which do not.

>>> without_ages("Mara is 34 years old.", date(2025, 3, 1))
'Mara was born about 1990/1991.'
>>> without_ages("陈默，三十二岁，工程师", date(2025, 4, 5))
'陈默，约1992/1993年生，工程师'
>>> dated_age("Mara is 34.", "age", date(2025, 3, 1))
'Mara is 34 (on 2025-03-01; born 1990/1991).'
"""

from __future__ import annotations

import re
from datetime import date
from functools import partial

from domain.patterns import Guarded, pattern_of
from language.calendar import MONTH_NAMES
from language.numbers import may_mention, parse_number
from language.times import read_times

_WORD = (
    r"(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six|seven|eight|nine))?"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
_HAN = r"(?:\d{1,3}|[一二三四五六七八九十]{1,4})"
#: An age at another time is not the present age.
_NOT_THEN = r"(?!\s?(?:时|那年|的时候|起|开始|以?前|就))"
_OLD = r"(?:[ -]years?[ -]old|[ -]year[ -]old)"
_END = r"(?=[\s,.;!?)]|$)"
#: Where a text states an age: "I'm 34", "Pickle is fifteen", "Birgit, 71,", "aged 6", 三十二岁.
_TELLS = Guarded(
    "im|i'm|i am|is|he's|hes|she's|shes|it's|are|age|turn|been|,|old|岁",
    r"\b(?:i'?m|i am|is|he'?s|she'?s|it's|are|aged|age|turned|turns|turning|been|age of)\s+(?:now |only |about |just )?"
    rf"(?P<be>{_WORD}){_END}"
    rf"|(?<=[a-z]),\s(?P<comma>{_WORD})(?=[\s,.;!?)]|$)|\b(?P<old>{_WORD}){_OLD}\b|(?P<han>{_HAN})\s?周?岁{_NOT_THEN}",
    any_case=True,
)

#: The same for a statement that need not be about an age: a bare number counts only at the end of a clause.
_TELLS_OF_SOMEBODY = Guarded(
    "is|are|who's|age|now|,|old|岁",
    rf"\b(?:is|are|who's|aged|now) (?P<be>{_WORD})(?=\s*(?:[,.;!?)]|$)| and\b| until\b)"
    rf"|(?<=[a-z]),\s(?P<comma>{_WORD})(?=[,.;!?)]|$)|\b(?P<old>{_WORD}){_OLD}\b|(?P<han>{_HAN})\s?周?岁{_NOT_THEN}",
    any_case=True,
)
_TELLS_PLAINLY = Guarded(
    "old|aged|岁",
    rf"\b(?P<old>{_WORD}){_OLD}\b|\baged (?P<aged>{_WORD})\b|(?P<han>{_HAN})\s?周?岁{_NOT_THEN}",
    any_case=True,
)
#: The age of somebody who is dead, or on a birthday to come: "would be ninety in March", 三月就该九十了.
_WOULD_BE = Guarded(
    "would|该",
    rf"\bwould (?:now )?(?:be|have been|turn|have turned) (?P<be>{_WORD}){_END}|该[满有]?(?P<han>{_HAN})(?:周?岁|了)",
    any_case=True,
)
#: A future age, or an age at a stated time.
_OF_OTHER_TIMES = pattern_of(
    r"\b(?:turns|turning|will be|was|were|when|since|at the age)\b"
    r"|(?:将|要|快|满|就)[满到]?[\d一二三四五六七八九十]+周?岁",
    re.IGNORECASE,
)
#: Attributes whose value is a person or pet: an age in the statement is theirs.
_WHO_IT_IS = frozenset(
    {"child", "parent", "sibling", "pet", "partner", "friend", "living with", "colleague", "boss", "neighbour"}
)
_END_OF_STATEMENT = pattern_of(r"[.!。！]?$")

_BIRTHDAY = pattern_of(r"\bbirthday\b|\buntil\b|\bturns?\b|生日", re.IGNORECASE)
_BORN = pattern_of(
    r"\bborn\b[^.;]*\b(?:19|20)\d\d\b|(?:19|20)\d\d年?[^，。；]{0,8}(?:出生|生(?!日))|(?:生于|出生于)", re.IGNORECASE
)
_WHO = r"(?:[A-ZÀ-Þ][\w'’-]*|[Ss]he|[Hh]e|[Ww]ho)"
_UNTIL = r"(?P<until> until (?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z][a-z]+)?"
#: Ages, and what takes their place; ``{a}`` is the article of ``{what}``.
_ENGLISH = (
    (Guarded("old", rf"\b(?:is|are)(?: now| about| currently)? (?P<age>{_WORD}){_OLD}\b"), "was born {born}"),
    (
        Guarded("old", rf"\b[Aa]n? (?P<age>{_WORD}){_OLD} (?P<what>[^,.;()]+\w)", any_case=True),
        "{a} {what} born {born}",
    ),
    (Guarded(" (", rf"(?<=\w )\((?P<age>{_WORD})\)"), "(born {born})"),
    (Guarded("ge |ged ", rf"\b[Aa]ged? (?P<age>{_WORD}){_END}"), "born {born}"),
    (Guarded("Age:", rf"\bAge: ?(?P<age>{_WORD}){_END}"), "Born: {born}"),
    (
        Guarded(
            " is| turned",
            rf"(?P<who>\b{_WHO}) (?:is|turned)(?: now| about| just)? (?P<age>{_WORD}){_UNTIL}(?=[.,;)]|$| and )",
        ),
        "{who} was born {born}",
    ),
    (Guarded(", ", rf"(?P<who>\b[A-ZÀ-Þ][\w'’-]*), (?P<age>{_WORD}){_UNTIL}(?=[.,;)]|$)"), "{who}, born {born}"),
    (Guarded("old", rf"\b(?P<age>{_WORD}){_OLD}\b"), "born {born}"),
)
_CHINESE = (
    (Guarded("岁", rf"(?:今年|现在|现年|年龄[:：]?\s?|年约)?(?P<age>{_HAN})\s?周?岁{_NOT_THEN}"), "{born}"),
    (Guarded("年龄", rf"年龄[:：]\s?(?P<age>{_HAN})(?!\d)"), "{born}"),
)


def birth_years(text: str, said: date) -> frozenset[int]:
    """The years of birth that follow from the ages in a text.

    >>> sorted(birth_years("I'm 34", date(2025, 3, 1)))
    [1990, 1991]
    >>> sorted(birth_years("Gran would be ninety in March", date(2025, 11, 1)))
    [1934, 1935, 1936]
    """
    if not may_mention(text):
        return frozenset()
    found = [(one, (0, 1)) for one in _TELLS.all_in(text)] + [(one, (-1, 0, 1)) for one in _WOULD_BE.all_in(text)]
    ages = [(parse_number(next(filter(None, one.groups()))), less) for one, less in found]
    return frozenset(said.year - age - each for age, less in ages if age is not None and 0 < age < 120 for each in less)


def dated_age(statement: str, attribute: str, said: date) -> str:
    """The statement with the date of the age and the year of birth that follows, so that it stays true over the years.

    >>> dated_age("豆包三岁。", "pet", date(2025, 4, 5))
    '豆包三岁（2025-04-05；2021/2022年生）。'
    """
    if not may_mention(statement):
        return statement
    tells = _TELLS if attribute == "age" else _TELLS_OF_SOMEBODY if attribute in _WHO_IT_IS else _TELLS_PLAINLY
    stated = [parse_number(next(filter(None, found.groups()))) for found in tells.all_in(statement)]
    ages = {age for age in stated if age is not None and 0 < age < 120}
    if not ages or _BORN.search(statement) or _OF_OTHER_TIMES.search(statement):
        return statement
    given = re.compile(rf"\s?[(（](?:on )?{said.isoformat()}\s?时?[)）]")  # the day that the model gave itself
    statement = given.sub("", statement)
    english = statement.isascii() or not re.search("[\u4e00-\u9fff]", statement)
    years = _birth_years_text(ages.pop(), statement, said) if len(ages) == 1 else ""
    born = years and (f"; born {years}" if english else f"；{years}年生")
    mark = f" (on {said.isoformat()}{born})" if english else f"（{said.isoformat()}{born}）"
    end = _END_OF_STATEMENT.search(statement)
    return statement[: end.start()] + mark + end[0] if end else statement + mark


def _birth_years_text(age: int, statement: str, said: date) -> str:
    """The year of birth where a birthday is given with the age, else the two possible years."""
    birthday = _birthday_in(statement)
    if birthday is None:
        return f"{said.year - age - 1}/{said.year - age}"
    return str(said.year - age - ((said.month, said.day) < birthday))


def without_ages(line: str, said: date) -> str:
    """The line with each age replaced by a year of birth; a line with a year of birth is returned as it is."""
    if not may_mention(line) or _BORN.search(line):
        return line
    for rules, about, exact in ((_ENGLISH, "about {}/{}", "in {}"), (_CHINESE, "约{}/{}年生", "{}年生")):
        for pattern, template in (one for one in rules if one[0].may_stand_in(line)):
            line = pattern.sub(partial(_replace_age, template=template, said=said, about=about, exact=exact), line)
    return line


def _replace_age(found: re.Match[str], template: str, said: date, about: str, exact: str) -> str:
    age = parse_number(found["age"])
    if age is None or not 0 < age < 120:
        return found[0]
    groups = found.groupdict("")
    birthday = _birthday_in(found.string)
    if birthday is None:
        born = about.format(said.year - age - 1, said.year - age)
    else:
        year = _birth_years_text(age, found.string, said)
        day = f"on {birthday[1]} {MONTH_NAMES[birthday[0] - 1].title()} {year}" if groups.get("until") else ""
        born = day or exact.format(year)
    article = "an" if groups.get("what", "")[:1] in tuple("aeiou") else "a"
    return template.format(**groups, born=born, a=article)


def _birthday_in(line: str) -> tuple[int, int] | None:
    """The only day without a year in a line about a birthday."""
    days = [one for one in read_times(line, date.min.replace(year=2000)) if one.kind == "day" and one.meant]
    if len(days) != 1 or days[0].meant is None or not _BIRTHDAY.search(line):
        return None
    return days[0].meant.first.month, days[0].meant.first.day
