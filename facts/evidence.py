"""The messages of a window as evidence, read once: which of them count, and what each contains.

Hidden messages and forget requests are no evidence, nor are quotations of old memories. A message of the companion is
evidence about the companion only, unless the person agreed to it in the next one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import filterfalse, pairwise
from operator import itemgetter
from typing import Literal

from domain.facts import Quote, Stance
from domain.patterns import Guarded, pattern_of
from domain.quotations import outside_quotations
from domain.records import Message
from facts.ages import birth_years
from facts.cues import (
    asks_openly,
    begins_with_no,
    denied_part,
    ends_or_denies,
    governed_part,
    is_agreement,
    is_denial,
    is_promise,
    is_question,
    is_unreal,
    stance_of,
    supposes,
    takes_back,
    words_of_staying,
)
from facts.slots import Names, normalize_text
from facts.spans import own_words
from language.calendar import day_of
from language.forget_requests import detect_forget_request, rounds_spoken_of
from language.numbers import (
    ORDINAL,
    asserted_numbers,
    derived_numbers,
    find_numbers,
    is_number,
    may_mention,
    parse_number,
)
from language.references import people_named
from language.scripts import Language, is_unspaced, language_of, unspaced_runs
from language.sentences import CLAUSE, sentence_spans, split_clauses
from language.times import TimeExpression, TimeRange, clock_times, possible_ranges, read_times, without_times
from language.words import terms


class Sentence:
    """A sentence between its neighbours, with cached properties; ``confirmed``: no question, or one answered with yes.

    ``span`` is its place in the message.
    """

    def __init__(self, text: str, before: str, following: str, confirmed: bool, span: tuple[int, int] = (0, 0)) -> None:
        self.text = text
        self.span = span
        self.before = before
        self.following = following
        self._confirmed = confirmed

    def part(self, start: int, end: int) -> Sentence:
        """Its clauses between two places of the message, with a supposition before them that may govern them."""
        start, end = max(0, start - self.span[0]), min(len(self.text), end - self.span[0])
        bounds = [(0, 0), *(each.span() for each in CLAUSE.finditer(self.text)), (len(self.text), len(self.text))]
        first = max(behind for _, behind in bounds if behind <= start)
        last = min(at for at, _ in bounds if at >= end)
        clause = max((behind for _, behind in bounds if behind < first), default=0)
        beside = last - first - (end - start)
        if supposes(self.text[clause:first]):
            first = clause
        elif beside > (_FAR if self.text.isascii() else _FAR // 2) and not supposes(self.text[first:start]):
            first, last = max(first, start - _BESIDE), min(last, end + _BESIDE)  # nobody set a comma
        if (first, last) == (0, len(self.text)):
            return self
        text = self.text[first:last]
        before, after = f"{self.before} {self.text[:first]}", f"{self.text[last:]} {self.following}"
        states = self._confirmed or not self.asks  # 在呢 may be a question or an answer
        return Sentence(text.strip(), before, after, states, (self.span[0] + first, self.span[0] + last))

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its meaningful terms."""
        return telling_terms(self.text)

    @cached_property
    def asks(self) -> bool:
        """Whether it is a question."""
        return is_question(self.text)

    @cached_property
    def stance(self) -> Stance:
        """The strongest stance that it allows; a question is only supposed."""
        if self.asks and not self._confirmed:
            return "supposed"
        # Who answers no and says what is so laughs about the guess.
        text = _LAUGHTER.sub("", self.text) if _PLAIN_NO.match(self.text) else self.text
        return stance_of(text, self.following)

    def stance_of(self, wanted: frozenset[str], *, denied: bool = False) -> Stance:
        """The stance of the clause with these terms; a plan, a wish, a doubt or a laugh governs its own clause only.

        ``denied``: they are of a denial, which a clause of its own states, whatever the others wish.
        """
        if self.stance == "stated" or (self.stance == "joked" and self._clauses[0][1] == "joked"):
            return self.stance
        if denied and (is_unreal(self.text) or any(one == "stated" and denies for _, one, denies in self._clauses)):
            return "stated"
        most = max((len(wanted & terms) for terms, _, _ in self._clauses), default=0)
        best = (stance for terms, stance, _ in self._clauses if len(wanted & terms) == most)
        return "stated" if "stated" in best else self.stance

    @cached_property
    def _clauses(self) -> tuple[tuple[frozenset[str], Stance, bool], ...]:
        """The terms of each clause, its stance, and whether it denies."""
        found = split_clauses(self.text)
        first, end = governed_part(self.text) if self.stance == "supposed" else (0, 0)
        return tuple(
            (
                telling_terms(one),
                "supposed" if first <= self.text.find(one) < end else stance_of(one, following),
                is_denial(one),
            )
            for one, following in zip(found, [*found[1:], self.following], strict=True)
        )

    @cached_property
    def ends_or_denies(self) -> bool:
        """Whether it says that something is not so or has ended."""
        return ends_or_denies(self.text)

    @cached_property
    def clauses_taken_back(self) -> tuple[tuple[frozenset[str], str], ...]:
        """The terms of each clause with the words in it that it denies or ends; empty if no clause does."""
        clauses = split_clauses(_PLAIN_NO.sub("", self.text)) if takes_back(self.text) else ()
        denied = [denied_part(clause) for clause in clauses]
        return tuple(zip(map(telling_terms, clauses), denied, strict=True)) if any(denied) else ()


#: What answers no and goes on with what is so: "god no lol, Rex is the dog".
_PLAIN_NO = pattern_of(
    r"^\W*(?:(?:god|oh|ha|well|um|er|hm+|lol)\W+)*(?:no|nope|nah)\b(?! (?:wonder|problem|only|idea|longer|more|one)\b)"
    r"(?: lol\b)?",
    re.IGNORECASE,
)
_LAUGHTER = pattern_of(r"[😂🤣😜]|\b(?:ha){2,}\b|\blol\b", re.IGNORECASE)
#: A clause with more characters beside its quoted words is cut to these with so many beside them.
_FAR, _BESIDE = 40, 2
#: A length of years, with what may be its number: "for twenty five years", 十一年.
_YEARS_LONG = Guarded(
    "year|yr|年",
    r"(?<![\w-])(?:[\w-]+ )?[\w-]+ (?:years?|yrs?)\b|(?<!\d)\d+ ?(?:yrs?\b|年)|[一二两三四五六七八九十百几]+个?年",
)


class TextFigures:
    """The numbers, days and clock times that a text written on a day may mean, computed when first used.

    ``ahead``: it is of a plan or a promise, whose days lie ahead.
    """

    def __init__(self, text: str, written: date, *, ahead: bool = False) -> None:
        self.text = text
        self.written = written
        self._ahead = ahead

    @cached_property
    def own_numbers(self) -> frozenset[str]:
        """The numbers in it."""
        return find_numbers(self.text)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in it, and what a comparison makes of them: "42k, six more than before" is 36,000, too."""
        found = self.own_numbers
        years = {int(each) for each in found if len(each) == 4 and each.isdecimal() and each[:2] in ("19", "20")}
        since = {str(abs(self.written.year - year) - less) for year in years for less in (0, 1)}
        listed = {str(1 + len(_LISTED.findall(each[0]))) for each in _LIST.all_in(self.text)}
        days = (parse_number(each["day"]) for each in _ON_THE_DAY.all_in(self.text.casefold()))
        return found | derived_numbers(self.text, found) | since | listed | {str(day) for day in days if day}

    @cached_property
    def days(self) -> tuple[TimeRange, ...]:
        """The days that it may refer to."""
        return (*possible_ranges(self.text, self.written), *self._shifted)

    @cached_property
    def counts_days(self) -> bool:
        """Whether it gives a day by counting from others, which no rule works out: "two Sundays ago", 最后一个周五."""
        return _COUNTS_DAYS.search(self.text.casefold()) is not None

    @cached_property
    def _shifted(self) -> tuple[TimeRange, ...]:
        """The days that it gives by their distance from its others: "a week from Tuesday", 庙会第二天."""
        steps = {step for found in _SHIFT.all_in(self.text.casefold()) if (step := _days_away(found))}
        named = [each for each in possible_ranges(self.text, self.written) if each.days == 1] if steps else []
        moved = (day.first + timedelta(step) for step in steps for day in named)
        return tuple(dict.fromkeys(TimeRange(day, day) for day in moved))

    @cached_property
    def compared(self) -> frozenset[str]:
        """What follows from its numbers, if they are few: "231k, was 238" is 7,000 less."""
        return derived_numbers(self.text, self.own_numbers, few=True)

    @cached_property
    def exact_times(self) -> frozenset[time]:
        """The exact times of day in it."""
        return clock_times(self.text, self.written)

    @cached_property
    def amounts(self) -> frozenset[str]:
        """The numbers that it states, dates and times aside, each in its fullest form: 15 grand is 15000."""
        rest = without_times(self.text, read_times(self.text, self.written))
        return frozenset(max(forms, key=float) for forms in asserted_numbers(rest))

    @cached_property
    def clock_times(self) -> frozenset[time]:
        """The times of day in it, also bare hours and so many minutes away; one before noon may mean the afternoon."""
        found = clock_times(self.text, self.written) | frozenset(_bare_hours(self.text.casefold()))
        found |= self.times_away(found)
        return found | {each.replace(hour=each.hour + 12) for each in found if each.hour < 12}

    def times_away(self, found: frozenset[time]) -> frozenset[time]:
        """The times of day that are so many minutes from these as it says."""
        lengths = "，".join(each[0] for each in _IN_MINUTES.all_in(self.text.casefold())) if found else ""
        minutes = [int(each) for each in find_numbers(lengths) if each.isdecimal() and int(each) < 60]
        moments = [datetime.combine(self.written, at) for at in found]
        return frozenset(
            (at + timedelta(minutes=far)).time() for at in moments for one in minutes for far in (one, -one)
        )

    @cached_property
    def likely_times(self) -> frozenset[time]:
        """The times of day that it means; "half past two" and 2点 are in the afternoon, but for words of the night."""
        exact = [one for one in read_times(self.text, self.written) if one.hours and one.hours[0] == one.hours[1]]
        bare = map(self._by_day, _bare_hours(self.text.casefold()))
        return frozenset(map(self._meant_time, exact)) or frozenset(bare)

    def _meant_time(self, one: TimeExpression) -> time:
        """The time of an exact expression; only a bare hour of twelve may mean the afternoon."""
        assert one.hours
        words = self.text[one.start : one.end]
        return one.hours[0] if _SAYS_WHICH_HALF.search(words) else self._by_day(one.hours[0])

    def _by_day(self, at: time) -> time:
        early = 0 < at.hour < _DAYBREAK and not _AT_NIGHT.search(self.text)
        return at.replace(hour=at.hour + 12) if early else at

    def with_values(self, value: str, given: Sequence[TimeRange] = ()) -> str:
        """A value with its relative days as dates, with the time of day if it is exact: 2026-11-21T14:00.

        Of several possible days the one among the ``given`` days of the fact counts; one of another year is no date.
        What only says which thing is meant stays: "the halloween costume".
        """
        for one in reversed(read_times(value, self.written) if value else ()):
            singles = [each for each in one.possible if each.days == 1]
            named = one.kind == "relative" and len(singles) > 1
            if _names_a_thing(value[: one.start], value[one.end :], yearly=named):
                continue
            inside = [each for each in singles if any(day.first <= each.first <= day.last for day in given)]
            day = inside[0] if inside and one.meant else self._meant_day(one)
            if day and given and len(singles) > 1 and all(day.first.year != each.first.year for each in given):
                continue
            if one.kind in ("relative", "ago", "weekday") and day:
                exact = one.hours and one.hours[0] == one.hours[1]
                at = f"T{self._meant_time(one).isoformat('minutes')}" if exact else ""
                value = value[: one.start] + day.iso + at + value[one.end :]
        return value

    @cached_property
    def years_of_birth(self) -> frozenset[int]:
        """The years of birth that follow from its ages."""
        return birth_years(self.text, self.written)

    @cached_property
    def years_since(self) -> frozenset[int]:
        """The years that its lengths of time reach back or ahead to: "eleven years now"."""
        lengths = " ".join(found[0] for found in _YEARS_LONG.all_in(self.text.casefold()))
        counts = [int(number) for number in find_numbers(lengths) if number.isdecimal() and int(number) < 120]
        away = {sign * count + slack for count in counts for sign in (-1, 1) for slack in (-1, 0, 1)}
        return frozenset(self.written.year + years for years in away)

    @cached_property
    def own_days(self) -> tuple[TimeRange, ...]:
        """The single days that it names, as the words around them mean them: "on Friday" of a plan lies ahead.

        Where days are given by their distance from others, none is certain: all are possible.
        """
        named = [one for one in read_times(self.text, self.written) if one.kind not in ("vague", "recurrence", "clock")]
        days = [*(day for one in named if (day := self._meant_day(one))), *self._shifted]
        return tuple(dict.fromkeys(days))

    def _meant_day(self, one: TimeExpression) -> TimeRange | None:
        """The single day that an expression means here: ahead of a plan, behind what happened."""
        singles = [each for each in one.possible if each.days == 1]
        last = re.match(r"last|past|上", self.text[one.start : one.end].casefold())
        unclear = len(singles) > 1 and not last and (one.meant or one.kind == "weekday")
        if unclear and (self._tells_ahead or (one.kind == "day of month" and not self._tells_past)):
            ahead = [each for each in singles if each.first >= self.written]
            if ahead:
                return min(ahead, key=lambda each: each.first)
        if one.meant is None:
            return None
        if not one.meant.yearly:
            return one.meant if one.meant.days == 1 and not one.meant.about else None
        behind = [each for each in singles if each.first <= self.written] if self._tells_past else []
        return min(behind or singles, key=lambda each: abs(each.first - self.written), default=None)

    @cached_property
    def _tells_ahead(self) -> bool:
        return self._ahead or _AHEAD.search(self.text) is not None

    @cached_property
    def _tells_past(self) -> bool:
        return _HAPPENED.search(self.text) is not None


#: What has not happened yet: there "on Friday" is the next one.
_AHEAD = pattern_of(
    r"\b(?:will|'ll|going to|gonna|tomorrow|tonight|next|until|till?|by|starts?|plan\w*|book(?:ed|ing)|appointment"
    r"|meeting|deadline|due|want|see you|let's|hope|(?<!had )(?:a|another) free)\b"
    r"|[要会]|空出来|空了|打算|准备|计划|约|之前|开始|到时|预约|截止|安排|希望",
    re.IGNORECASE,
)
#: A distance from another day than today.
_SHIFT = Guarded(
    "day|night|week|天|次日|晚",
    r"\b(?P<count>the|an?|one|two|three|four|five|six|ten|\d{1,2}) (?P<unit>day|night|week|fortnight)s? "
    r"(?P<way>before|after|from|on)\b (?!now\b|today\b|yesterday\b|tomorrow\b|last\b|next\b)(?=\w)"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day (?P<on>week|fortnight)\b"
    r"|(?P<after>第二天|次日|隔天|后一天|转天)|(?P<ahead>前一天|头一天|前一晚|头天)",
)


_A_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_COUNTS_DAYS = Guarded(
    "turn|will be|first of|after|earlier|later|ahead|day|night|tomo|month|year|week|wk|tmr|old|ago|the one|not this"
    "|mon|tue|wed|thu|fri|sat|sun| de "
    "|天|周|星期|礼拜|前|后|往前数|往后数|倒数|eid|diwali|ramadan|passover|hanukkah|festival|mid-autumn|half|before|第|初|月|夕|年|前一|日|朝|春节"
    "|元宵|端午|中秋|重阳",
    rf"\b(?:first|second|third|fourth|last) (?:{_A_WEEKDAY}|weekend|week|day|night) (?:of|in|before|after)\b"
    r"|\bday (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|[a-z]+teen)\b"
    r"|\b(?:week|weekend)s? (?:of|before|after|in|to go)\b|\b(?:half[- ]term|bank holiday|(?:chinese|lunar) new year)\b"
    r"|\b(?:eid|diwali|ramadan|passover|hanukkah|spring festival|mid-autumn)\b"
    r"|第[一二三四五六七八九十百\d]+[天周]|初[一二三四五六七八九十]|[正腊]月|除夕|大年|过年|春节|元宵|端午|七夕|中秋|重阳|[还只]?[剩有差]\S{1,3}天"
    rf"|\b{_A_WEEKDAY} (?:before|after) (?!last\b)|\b{_A_WEEKDAY}s ago\b"
    r"|\bago (?:tomorrow|yesterday|on|last|next|this)\b|\b(?:month|year)s? from today\b"
    r"|\b(?:days?|we?e?ks?|fortnight) (?:on |from |this |next )?(?:today|tomorrow|tmrw?|tomoz)\b"
    r"|\b(?:days?|we?e?ks?|mo(?:nth)?s?) old\b|[天周]大|第[\d一二三四五六七八九十]+天"
    r"|\bday (?:one|two|three|four|five|six|seven|eight|nine|ten|\d+)\b"
    r"|\bthe (?:night|day|morning|evening) before\b|前一[天晚]|[听聽寻尋]日|[明今后]朝"
    rf"|\b(?:today|tomorrow|tmrw?|tomoz|{_A_WEEKDAY}) (?:week|fortnight)\b"
    rf"|\b(?:(?:first|last) weekend (?:of|in)|(?:back|home) the {_A_WEEKDAY})\b"
    r"|\bthe (?:one|week|day) after\b|\bnot this\b|\b(?:mon|tues?|weds?|thurs?|fri|sat|sun)\b|\b\d{1,2} de [a-z]+"
    r"|(?:头一个|最后一个|第[一二三四]个)(?:周|星期|礼拜)|去年的?今天|往前数|往后数|倒数"
    rf"|\b(?:{_A_WEEKDAY}|days?|weeks?|months?|years?) (?:before|after|earlier|later|ahead)\b"
    r"|\b(?:turn(?:s|ing|ed)?|will be) (?:\w+ty|\w+teen|\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|\bfirst of (?:the|last|next|this) (?:month|year)\b"
    r"|[年月](?:零|又)?[\d一二三四五六七八九十两]+个?[年月天]",
)


#: What shows that a noun follows: the word before a time, and the words behind one that is not part of a name.
_DETERMINES = pattern_of(r"(?:\b(?:the|an?|my|our|your|his|her|their|its|some|every|this)|['’]s) $", re.IGNORECASE)
_BEHIND_A_TIME = pattern_of(
    r" (?:at|in|on|of|for|from|to|till|until|by|with|without|and|or|but|so|as|if|when|who|that|because|after|before"
    r"|i|you|he|she|it|we|they|my|our|your|his|her|their|the|an?|is|was|are|were|will|would|can|not|morning|evening|night)\b",
    re.IGNORECASE,
)
#: What a feast names in Chinese (中秋月饼), not what is done at it or where it lies in time: 中秋回家, 中秋前.
_NAMED_BY_A_FEAST = pattern_of(
    r"的|(?![前后当那这晚早上下中去来回到在从和跟与及或要想会能得不没就都也还才又是有放休请过办给跟陪带吃喝看做开结我你他她它们])[\u4e00-\u9fff]"
)
_NOUN_BEHIND = pattern_of(r" [a-z]|['’]s [a-z]", re.IGNORECASE)


def _names_a_thing(before: str, behind: str, *, yearly: bool) -> bool:
    """Whether a time between these texts only tells which thing is meant. ``yearly``: it is a feast."""
    if _NOUN_BEHIND.match(behind) and not _BEHIND_A_TIME.match(behind):
        return yearly or _DETERMINES.search(before) is not None
    return yearly and _NAMED_BY_A_FEAST.match(behind) is not None


def _days_away(found: re.Match[str]) -> int:
    """How many days away from another day a distance leads."""
    unit = found["unit"] or found["on"] or "day"
    count = 1 if found["count"] in (None, "the", "a", "an") else parse_number(found["count"]) or 0
    days = count * {"week": 7, "fortnight": 14}.get(unit, 1)
    return -days if found["ahead"] or found["way"] == "before" else days


#: What has happened: there "on 3 May" is the last one.
_HAPPENED = pattern_of(r"\b(?:was|were|had|did|went|came|got|took|gave|bought|left|met|\w{2,}ed)\b|[了过]|上次|曾")

#: The hour from which a bare one is in the morning.
_DAYBREAK = 7
#: Words of a time of day that leave no choice between morning and afternoon, and of a text about the night.
_SAYS_WHICH_HALF = pattern_of(
    r"(?<!\d)0\d[:.]|\d ?[ap]\.?m\b|\b(?:morning|afternoon|evening|night|noon)\b|[早晚夜晨]|上午|下午|中午",
    re.IGNORECASE,
)
_AT_NIGHT = pattern_of(
    r"\b(?:morning|night|midnight|dawn|sunrise|woke|awake|a\.?m)\b|[早夜晨]|上午|天亮", re.IGNORECASE
)
#: Names in a row, which a statement may count.
_LIST = Guarded(
    " and |&|、|和|跟|与",
    r"\b[A-Z]\w+(?:, [A-Z]\w+){0,40},? (?:and|&) [A-Z]\w+"
    r"|[\u4e00-\u9fff]{1,4}(?:、[\u4e00-\u9fff]{1,4}){0,40}[和跟与、][\u4e00-\u9fff]",
)
#: A day of the month in words: "on the twenty third".
_ON_THE_DAY = Guarded("on the", rf"\bon the (?P<day>(?:(?:twenty|thirty)[ -])?(?:{ORDINAL}))\b")
_LISTED = pattern_of(r",? (?:and|&) |, |[、和跟与]")
#: A length of minutes with its number: "forty-five minutes", 十五分钟.
_IN_MINUTES = Guarded(
    "min|分钟",
    r"(?<![\d:.])(?:\d{1,2}|\b(?:(?:twenty|thirty|forty|fifty)[ -])?[a-z]{1,12})[ -]?min(?:ute)?s?\b"
    r"|(?<![\d:.])(?:\d{1,2}|[一二两三四五六七八九十]{1,3})来? ?分钟",
)
_HOUR = r"\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
#: Hours without "o'clock", which only what is said around them tells from other numbers.
_BARE_HOUR = pattern_of(
    r"(?:\b(?:(?P<half>half)|at|from|till?|until|to|by|before|after|around|between|and(?= \w+ (?:in the|o.?clock))) "
    rf"|(?<=\d-))"
    rf"(?P<hour>{_HOUR})(?:(?:[.:]| (?=\d\d(?!\d)))(?P<minute>[0-5]\d)"
    r"| (?P<words>fifteen|(?:twenty|thirty|forty|fifty)(?:[ -]five)?)(?! (?:to|past)\b))?(?!\d|[\w.]\w)"
    rf"|\b(?P<first>{_HOUR})(?= ?(?:to|till?|until|-) ?(?:{_HOUR}|half)\b"
    r"| at night\b| in the (?:morning|afternoon|evening)\b)"
    r"|(?<!\d)(?P<point>[012]?\d)\.(?P<minutes>[0-5]\d)(?![\d.])"
    r"|(?:差(?P<less>一刻|[一二三四五六七八九十]{1,3}分?))?(?P<han>\d{1,2}|[一二两三四五六七八九十]{1,3})[点點]"
    r"|[早晚](?P<short>[五六七八九十]|十[一二])(?=[到至晚，。 ]|$)"
)


def _bare_hours(plain: str) -> Iterator[time]:
    """The hours in "nine to five", "half six", 8.15, 差十分八点, as far as they may be times of day."""
    for found in _BARE_HOUR.finditer(plain) if may_mention(plain) else ():
        hour = parse_number(found["hour"] or found["first"] or found["point"] or found["han"] or found["short"])
        said = found["minute"] or found["minutes"] or parse_number((found["words"] or "0").replace(" ", "-"))
        minute = 30 if found["half"] else int(said or 0)
        if hour is None or hour > 23:
            continue
        yield time(hour, minute)
        if less := found["less"]:
            yield time((hour - 1) % 24, 60 - (15 if less == "一刻" else min(59, parse_number(less.rstrip("分")) or 1)))


class Source:
    """One message as evidence: its words without quotations, with cached properties."""

    def __init__(
        self, message: Message, place: int, *, in_window: bool, barred: bool, agrees: bool, confirmed: bool
    ) -> None:
        """``agrees``: the person begins by agreeing with the message before, ``confirmed``: with this one."""
        self.message = message
        self.is_agreement = agrees
        self._confirmed = confirmed
        self.place = place
        self.in_window = in_window
        self.barred = barred
        self.spoken_by_person = message.role == "user"
        #: The words with blanks for what is not the speaker's own; of the person at the same places.
        self.text = own_words(message.words if self.spoken_by_person else outside_quotations(message.words))

    def is_said_by(self, subject: str) -> bool:
        """Whether another person said it whom this subject names: "Alice", "Alice's sister", "Alice 和 Bob"."""
        return is_named_in(normalize_text(self.message.speaker), normalize_text(subject))

    def may_say_of(self, subject: str) -> bool:
        """Whether another person said it of themselves, or of somebody whom their words call by name."""
        named = normalize_text(subject)
        return self.is_said_by(subject) or any(is_named_in(normalize_text(one), named) for one in self.people)

    @cached_property
    def people(self) -> frozenset[str]:
        """Whom its words call by name."""
        return people_named(self.text)

    @cached_property
    def normalized(self) -> str:
        """The normalized words, for finding names."""
        return normalize_text(self.text)

    @cached_property
    def words(self) -> str:
        """All its words, normalized."""
        return normalize_text(self.message.words)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences, in order."""
        spans = sentence_spans(self.text)
        found = ["", *(self.text[slice(*span)] for span in spans), ""]
        around = zip(found[1:], found, found[2:], spans, strict=False)
        return tuple(Sentence(text, before, after, self._confirmed, span) for text, before, after, span in around)

    @cached_property
    def only_asks(self) -> bool:
        """Whether it consists of questions."""
        return bool(self.sentences) and all(one.asks for one in self.sentences)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions in it, including tag questions."""
        return tuple(one.text for one in self.sentences if one.asks or one.text.endswith(("?", "？")))

    @cached_property
    def text_but_asked(self) -> str:
        """Its text without questions of yes or no, which take nothing for granted."""
        kept = (one.text for one in self.sentences if one.text not in self.questions or asks_openly(one.text))
        return " ".join(kept)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its meaningful terms."""
        return frozenset().union(*(one.terms for one in self.sentences))

    @cached_property
    def is_denial(self) -> bool:
        """Whether it begins with a denial, or only asks back."""
        return self.only_asks or self.denies

    @cached_property
    def denies(self) -> bool:
        """Whether it begins with no."""
        return begins_with_no(self.text)

    @cached_property
    def said(self) -> date:
        """The day on which it was said."""
        return day_of(self.message.timestamp) or date.min.replace(year=1970)

    @cached_property
    def figures(self) -> TextFigures:
        """The numbers, days and times in it."""
        return TextFigures(self.text, self.said)

    @cached_property
    def own_days(self) -> tuple[TimeRange, ...]:
        """The single days that it names."""
        return self.figures.own_days

    @cached_property
    def language(self) -> Language:
        """Its language."""
        return language_of(self.text)


class SpokenWindow:
    """The messages of a window with those before it, and the known names."""

    def __init__(self, window: Sequence[Message], before: Sequence[Message], names: Names) -> None:
        messages = (*before, *window)
        barred = _find_barred(messages)
        agrees = [*find_agreements(messages), False]
        self._sources = [
            Source(
                message,
                place,
                in_window=place >= len(before),
                barred=message.text_id in barred,
                agrees=agrees[place],
                confirmed=agrees[place + 1],
            )
            for place, message in enumerate(messages)
        ]
        self._first = len(before)
        known = {*names.person, *names.companion, *names.known, *(message.speaker for message in messages)}
        self._known = frozenset(part for name in map(normalize_text, known) for part in (name, *name.split()) if part)
        self._own = telling_terms(" ".join((*names.person, *names.companion)))

    @cached_property
    def words(self) -> str:
        """All that was said in it and before it, each message on its own line, forgotten ones aside."""
        return "\n".join(source.message.words for source in self._sources if not source.barred)

    def find_named(self, handles: Iterable[int]) -> tuple[Source, ...]:
        """The messages of the window with these numbers, in order."""
        size = len(self._sources) - self._first
        return tuple([self._sources[self._first + place - 1] for place in sorted({*handles}) if 0 < place <= size])

    def find_bearing(self, sources: Sequence[Source], of_companion: bool, subject: str = "") -> tuple[Source, ...]:
        """The messages among these that count as evidence, with those their speaker agreed to.

        What another person said is evidence only for a statement about that person, or about somebody whom they name:
        its ``subject`` does.
        """
        own = (source for source in sources if not source.message.speaker)
        found = [each for source in own for each in self._with_agreement(source, of_companion)]
        theirs = (each for each in sources if each.message.speaker and not of_companion and each.may_say_of(subject))
        return in_order([*found, *theirs])

    def source_of(self, name: str, sources: Sequence[Source], of_companion: bool) -> Source | Literal[True] | None:
        """Where a name occurs: True for these messages or known names, else a message of the person, else None."""
        wanted = normalize_text(name)
        if not wanted or wanted in self._known or any(is_named_in(wanted, source.normalized) for source in sources):
            return True
        last = sources[-1].place if sources else 0
        nearest = (*self._sources[last::-1], *self._sources[last + 1 :])
        others = (
            each
            for each in nearest
            if not each.barred and (each.spoken_by_person or of_companion or each.place in self._taken_up)
        )
        forms = (wanted, " ".join(wanted)) if name.isupper() else (wanted,)  # "A G M" as it is dictated
        return next((other for other in others if any(is_named_in(one, other.words) for one in forms)), None)

    @cached_property
    def _taken_up(self) -> frozenset[int]:
        """Where the companion asked about what it names, and the person answered without denying it."""
        return frozenset(
            one.place
            for one, after in pairwise(self._sources)
            if after.spoken_by_person and not after.denies and any(map(asks_openly, one.questions))
        )

    def is_like_a_word(self, name: str, similarity: float) -> bool:
        """Whether a name is like a word of a message, or another form of one: a typo, "Climbing" for "I climb"."""
        wanted, plain = telling_terms(name), normalize_text(name)
        if wanted and any(wanted <= each for each in self._terms_of_person):
            return True
        words = self._words_of_person.get(plain[:1], ()) if similarity < 1 and len(plain) > 3 else ()
        return any(_are_similar(plain, word, similarity) for word in words)

    @cached_property
    def _terms_of_person(self) -> frozenset[frozenset[str]]:
        """The terms of each sentence of the person."""
        own = (source for source in self._sources if source.spoken_by_person and not source.barred)
        return frozenset(sentence.terms for source in own for sentence in source.sentences)

    @cached_property
    def _words_of_person(self) -> Mapping[str, frozenset[str]]:
        """The longer words of the person, normalised, by their first letter."""
        own = (source for source in self._sources if source.spoken_by_person and not source.barred)
        found: dict[str, set[str]] = defaultdict(set)
        for word in {each for source in own for each in source.words.split()}:
            if len(bare := word.strip("\"'.,;:!?()")) > 3:
                found[bare[0]].add(bare)
        return {letter: frozenset(words) for letter, words in found.items()}

    def lacks_terms(self, wanted: frozenset[str], *, half: bool = True) -> bool:
        """Whether none of these terms, nor most of their characters in scripts without spaces, is in any message.

        ``half``: they are missing where half of their characters are, too.
        """
        if not wanted or not wanted.isdisjoint(self._terms):
            return False
        characters = {one for term in wanted for one in term if is_unspaced(one)}
        return 2 * len(characters & self._characters) < len(characters) + (half or not characters)

    @cached_property
    def _terms(self) -> frozenset[str]:
        """The terms of all sentences."""
        open_to_all = (source for source in self._sources if not source.barred)
        return frozenset().union(*(source.terms for source in open_to_all))

    @cached_property
    def _characters(self) -> frozenset[str]:
        """The characters of all messages."""
        return frozenset("".join(source.normalized for source in self._sources if not source.barred))

    def before(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """The messages directly before these of the person."""
        return tuple(self._sources[each.place - 1] for each in sources if each.spoken_by_person and each.place)

    def find_answered(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """The companion's questions that these messages answer without denying them."""
        before = self.before(sources)
        answers = {each.place - 1: each for each in sources}
        return tuple(
            one
            for one in before
            if not one.spoken_by_person and _is_user(one) and one.questions and not answers[one.place].is_denial
        )

    def best_quote(self, wanted: frozenset[str], sources: Sequence[Source]) -> tuple[Quote, ...]:
        """The sentence of some messages that shares most with a statement; none if none shares anything."""
        wanted = self.without_own_names(wanted)
        scored = [
            (len(wanted & sentence.terms), source.spoken_by_person, source.place, sentence.span)
            for source in sources
            for sentence in source.sentences
        ]
        score, _, place, (start, end) = max(scored, default=(0, False, 0, (0, 0)))
        message = self._sources[place].message
        return (Quote(message.text_id, start, end, message.words[start:end], message.role),) if score else ()

    def is_denied(self, statement: str, wanted: frozenset[str], sources: Sequence[Source]) -> bool:
        """Whether a statement has its words only from a question of the companion that was answered with no."""
        answers = [each for each in sources if each.spoken_by_person and each.place and each.denies]
        if not answers or not wanted or ends_or_denies(statement):
            return False
        own = (sentence for each in sources if each.spoken_by_person for sentence in each.sentences)
        clauses = [clause for sentence in own for clause in split_clauses(_PLAIN_NO.sub("", sentence.text))]
        said = frozenset().union(
            *(telling_terms(one) - telling_terms(denied_part(one) if is_denial(one) else "") for one in clauses)
        )
        asked = [self._sources[each.place - 1] for each in answers]
        in_questions = frozenset().union(*(one.terms for one in asked if not one.spoken_by_person))
        if wanted.isdisjoint(in_questions) or not wanted.isdisjoint(said):
            return False
        numbers = frozenset().union(*(each.figures.numbers for each in sources if each.spoken_by_person))
        return all(numbers.isdisjoint(forms) for forms in asserted_numbers(statement))

    def without_own_names(self, found: frozenset[str]) -> frozenset[str]:
        """Terms without the names of person and companion, which are in every statement."""
        return found - self._own

    def _with_agreement(self, source: Source, of_companion: bool) -> tuple[Source, ...]:
        around = self._sources
        if source.spoken_by_person:
            earlier = around[source.place - 1] if source.place else None
            said_yes = source.is_agreement and earlier and not earlier.spoken_by_person and _is_user(earlier)
            return (earlier, source) if said_yes and earlier else (source,)
        later = around[source.place + 1] if source.place + 1 < len(around) else None
        if later and later.is_agreement and not later.barred and _is_user(source):
            return (source, later)
        return (source,) if of_companion and _is_user(source) else ()


#: Words for "none" in a value, which are in no message.
_NOTHING = frozenset(
    """
    none nothing nobody ended end over stopp stop quit single singl former past cancel cancelled dead
    deceas true yes 没有 已戒 单身 结束 取消 已经 不再 已故 已婚 去世
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: Units, which a statement may write in another way than the message.
_UNITS = frozenset("kg km cm ml kilo gram kilomet met pound euro usd 公斤 千克 公里 厘米".split())  # noqa: SIM905
#: Characters of a denial, and those that every sentence has.
_DENYING = frozenset("不没别无未了的是")
#: A written date means the same day whenever it was said.
_ANY_DAY = date(2000, 1, 1)
#: A sentence that shares this much of what the best one shares may be evidence, too.
_NEARLY_BEST = 0.6
#: A denial is the reverse of what has this much of its words, an assertion of a denial with this much of its words.
_NEARLY_ALL, _ENOUGH, _ENOUGH_HAN = 0.66, 0.34, 0.25


#: As many texts as a window and its drafts have.
_TEXTS_CACHED = 2_048


def best_sentences(
    wanted: frozenset[str], sources: Sequence[Source], quoted: Sequence[Sentence] = ()
) -> tuple[tuple[Sentence, int], ...]:
    """The sentences that share most with a statement, best first, with their scores; of the ``quoted`` ones, all."""
    if quoted:
        scored = [(each, len(wanted & each.terms)) for each in quoted]
        return tuple(sorted(scored, key=itemgetter(1), reverse=True))
    scored = [
        (sentence, score)
        for source in sources
        for sentence in source.sentences
        if (score := len(wanted & sentence.terms))
    ]
    scored.sort(key=itemgetter(1), reverse=True)
    return tuple(each for each in scored if each[1] >= scored[0][1] * _NEARLY_BEST)


def in_order(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Messages in order, each once."""
    found = {source.place: source for source in sources}
    return tuple(found[place] for place in sorted(found))


def stays_as_it_was(statement: str, wanted: frozenset[str], sources: Sequence[Source]) -> bool:
    """Whether both the messages and the statement say that something is unchanged: "kept it", "did not change it"."""
    if not (stays := words_of_staying(statement)):
        return False
    of_it = wanted - telling_terms(stays)
    about_it = (one for source in sources for one in source.sentences if of_it & one.terms)
    return any(of_it & one.terms - telling_terms(kept) for one in about_it if (kept := words_of_staying(one.text)))


def is_reversed(
    statement: str, wanted: frozenset[str], best: Sequence[tuple[Sentence, int]], sources: Sequence[Source]
) -> bool:
    """Whether a statement denies what its messages say, or the reverse."""
    if stays_as_it_was(statement, wanted, sources):
        return False
    tops = [sentence for sentence, score in best if score == best[0][1]]
    if takes_back(statement) and not is_denial(statement) and all(words_of_staying(each.text) for each in tops):
        return not any(sentence.ends_or_denies for source in sources for sentence in source.sentences)
    if is_denial(statement):
        said = (sentence for source in sources for sentence in source.sentences)
        # True denials often say in other words what was not denied at all: "has not decided" for "I'll think about it".
        most = max(_share_of(statement, wanted, sentence) for sentence in tops)
        return most >= _NEARLY_ALL and not any(one.ends_or_denies or is_unreal(one.text) for one in said)
    if ends_or_denies(statement):
        return False
    letters = _letters_of(wanted)
    if not all(each.clauses_taken_back and not _is_so_of_another(wanted | letters, each) for each in tops):
        return False
    scored = [
        (len(wanted & terms), not (wanted.isdisjoint(telling_terms(denied)) and letters.isdisjoint(denied)))
        for sentence in tops
        for terms, denied in sentence.clauses_taken_back
    ]
    clauses = [each for sentence in tops for each in sentence.clauses_taken_back]
    kept, gone = (
        frozenset().union(*(terms for terms, denied in clauses if bool(denied) == way)) for way in (False, True)
    )
    if len(wanted & kept - gone) > 1:
        return False  # "I do not charge her mother for the lesson; she does my accounts"
    most = max((score for score, _ in scored), default=0)
    return (
        most >= len(wanted) * (_ENOUGH if statement.isascii() else _ENOUGH_HAN)
        and bool(most)
        and all(denied for score, denied in scored if score == most)
    )


#: What is so of somebody else: "Not me. My father has it", 我爸倒是有.
_HAS_IT = pattern_of(
    r"\b(?:has|have|had|does|do|did|is|are|was|can)(?: (?:it|one|that|too|though))*\W*$|(?:倒是?|却)[有是会能]\W*$"
)


def _is_so_of_another(wanted: frozenset[str], denied: Sentence) -> bool:
    """Whether the next sentence says that what this one denies is so of somebody whom a statement names."""
    following = denied.following.casefold()
    return _HAS_IT.search(following) is not None and not wanted.isdisjoint(
        {*telling_terms(following), *following} - {*denied.terms, *denied.text}
    )


#: What is denied stands right behind the denial; in English only what somebody is not doing is sure to be.
_DENIED = pattern_of(
    r"(?<![要差了好是对能可行])(?:没有?|不|别)(?:[让给用能会敢想要肯再太是被去来跟和]|怎么){0,2}([\u4e00-\u9fff]{2})"
    r"|(?:n['’]t|\bnot|\b(?:is|are|was)nt) ([a-z]+ing)\b"
    r"|\bdid(?:n['’]?t| not) (?:even |really |actually )?([a-z]{4,})\b"
    r"|\bnot (?:an? |the )?([a-z]{4,})(?=\W*$|[,.;!?]| b4\b| before\b)"
)


def _denied_words(text: str) -> tuple[str, ...]:
    """The words right behind the denials of a text, in Chinese two characters, without those that it asserts, too.

    >>> _denied_words("大夫没让吃药"), _denied_words("从没电梯的搬到有电梯的"), _denied_words("her mum's not coming")
    (('吃药',), (), ('coming',))
    """
    if not is_denial(text):
        return ()
    rest = _DENIED.sub(" ", text)
    return tuple(one for found in _DENIED.findall(text) if (one := "".join(found)) not in rest)


def asserts_what_is_denied(statement: str, quoted: Sequence[Sentence], sources: Sequence[Source]) -> bool:
    """Whether a statement has the words right behind a denial in its sentences, which no message asserts."""
    if ends_or_denies(statement):
        return False
    wanted = telling_terms(statement) | _letters_of(telling_terms(statement))
    quoted = [each for each in quoted if not _is_so_of_another(wanted, each)]
    denied = {one for each in quoted for one in _denied_words(each.text) if one in statement}
    return not denied.isdisjoint(_denied_words("，".join(source.text for source in sources)) if denied else ())


def _share_of(statement: str, wanted: frozenset[str], sentence: Sentence) -> float:
    """How much of a statement a sentence contains: of its terms, or of its characters in a script without spaces."""
    if statement.isascii():
        return len(wanted & sentence.terms) / max(1, len(wanted))
    letters = _letters_of(wanted)
    return len(letters.intersection(sentence.text)) / max(1, len(letters))


def _letters_of(wanted: frozenset[str]) -> frozenset[str]:
    """The characters of terms in scripts without spaces, but for those of every sentence."""
    return frozenset("".join(unspaced_runs("".join(wanted)))) - _DENYING


def weakest_stance(
    wanted: frozenset[str], best: Sequence[tuple[Sentence, int]], *, of_companion: bool, denied: bool
) -> Stance:
    """The strongest stance that the best sentences allow; of a plan only its own clauses are planned."""
    tops = [sentence for sentence, score in best if score == best[0][1]]
    found = [sentence.stance_of(wanted, denied=denied) for sentence in tops]
    if of_companion:
        # What the companion will do is a promise, whatever it depends on.
        found = [
            "stated" if stance in ("planned", "wished") or is_promise(sentence.text) else stance
            for sentence, stance in zip(tops, found, strict=True)
        ]
    return "stated" if "stated" in found else found[0]


@lru_cache(_TEXTS_CACHED)
def telling_terms(text: str) -> frozenset[str]:
    """The meaningful terms of a text: words, and pairs of characters in scripts without spaces."""
    found = terms(text)
    if text.isascii():
        return frozenset(found)
    return frozenset([term for term in found if len(term) > 1 or not is_unspaced(term)])


def telling_terms_of_value(value: str) -> frozenset[str]:
    """The terms of a value that must stand somewhere; its numbers, days and times are checked as figures."""
    words = without_times(value, read_times(value, _ANY_DAY))
    return frozenset(filterfalse(is_number, telling_terms(words))) - _NOTHING - _UNITS


def _are_similar(name: str, word: str, similarity: float) -> bool:
    """Whether two longer words of one first letter are spelt nearly alike: Margerite, Marguerite."""
    if name[:4] == word[:4]:
        return True
    matcher = SequenceMatcher(None, name, word, autojunk=False)
    return matcher.real_quick_ratio() >= similarity <= matcher.ratio()


def is_named_in(name: str, text: str) -> bool:
    """Whether a text contains a name as whole words; both are normalized."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_joins_word(name[0], before) or _joins_word(name[-1], after)):
            return True
        at = text.find(name, at + 1)
    return False


def _joins_word(edge: str, neighbour: str) -> bool:
    """Whether a letter and its neighbour belong to one word; characters of scripts without spaces never do."""
    return bool(neighbour) and neighbour.isalnum() and not is_unspaced(edge) and not is_unspaced(neighbour)


def find_agreements(messages: Sequence[Message]) -> list[bool]:
    """Of each message, whether the person begins it by agreeing with the one before."""
    found = []
    for before, one in pairwise((None, *messages)):
        asked = sentence_spans(before.words)[-1:] if before and before.role == "assistant" else ()
        question = before.words[slice(*asked[0])] if before and asked else ""
        found.append(one is not None and one.role == "user" and is_agreement(own_words(one.words).strip(), question))
    return found


def _is_user(source: Source) -> bool:
    return not (source.barred or source.message.demo or source.message.speaker)


def _find_barred(messages: Sequence[Message]) -> frozenset[str]:
    """The messages that are no evidence: hidden ones, and the rounds of forget requests with those they refer to."""
    barred = {message.text_id for message in messages if message.hidden}
    rounds = _group_rounds(messages)
    for number, spoken in enumerate(rounds):
        own = own_words(spoken[0].words) if spoken[0].role == "user" else ""
        asked = detect_forget_request(own, certain=True) if own else None
        if asked and asked.certainty == "clear":
            said = [(one[0].words, one[1].words if len(one) > 1 else "") for one in rounds[:number]]
            of = [*rounds_spoken_of(asked, said), number]
            barred |= {message.text_id for at in of for message in rounds[at]}
    return frozenset(barred)


def _group_rounds(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages of the person, each with its reply if there is one; other messages alone."""
    rounds: list[list[Message]] = []
    for message in messages:
        before = rounds[-1] if rounds else []
        if message.role == "assistant" and [one.role for one in before] == ["user"]:
            before.append(message)
        else:
            rounds.append([message])
    return rounds
