"""The numbers and dates that messages support, and whether those of a statement are among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, time
from functools import cached_property, lru_cache
from itertools import combinations

from domain.patterns import Guarded, pattern_of
from facts.evidence import TextFigures
from language.calendar import MONTH_NAMES
from language.numbers import asserted_numbers, compares, parse_number
from language.times import LUNAR_DAY, TimeExpression, TimeRange, clock_times, range_of, read_times, without_times

#: As many statements as a window has.
_TEXTS_CACHED = 256
#: A text without any of these has no figure.
_A_FIGURE = pattern_of(
    r"[\d一二两三四五六七八九十百千零〇月周日天]|day|teen|ty\b|hundred|thousand|million"
    rf"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twel|{'|'.join(MONTH_NAMES)})"
)
_WHOLE_MONTH = 28
#: How many have one name, which a statement may count, or were just named: "the two Toms", "how the two differ".
_COUNTED_NAMES = Guarded(
    "two|three|两|三|俩",
    r"(?<=[\u4e00-\u9fff])(?:[两三]个?人|俩)|\b(?:two|three)\b(?= [A-Z]\w+s\b)"
    r"|(?<=\bthe )(?:two|three)\b(?!(?: [\w'’-]+){0,2} (?:\w+s|people|men|women|children|feet)\b)",
)
#: Several weekdays in one word: 周二四.
_WEEKDAYS = pattern_of(r"(?:周|星期|礼拜)[一二三四五六日天、和]{2,6}")
#: A month is about another if it is the one before, the same or the one after.
_MONTHS, _ABOUT = 12, 3
#: By how much one unit may differ from another.
_UNITS = (2, 7, 12, 24, 52, 60, 500, 1000)
#: A whole number below this is not taken as worked out: any two numbers give one.
_HARD_TO_GUESS = 13
_A_NUMBER = pattern_of(r"\d+(?:\.\d+)?")
_LONG_NUMBER, _MOST_WORKED_WITH, _FEW = 10, 12, 2
#: The most days of a vague range: a week, a few weeks ago. Longer ones are months and seasons.
_VAGUE, _VAGUE_MONTH = 9, 34
#: A written date means the same day whenever it was said.
_ANY_DAY = date(2000, 1, 1)


def is_among(days: TimeRange | None, stated: Iterable[TimeRange]) -> bool:
    """Whether days match a stated range: the same, coarser, one of its ends, or inside a vague one."""
    return days is not None and any(_is_covered(days, each) for each in stated)


def _is_covered(days: TimeRange, stated: TimeRange) -> bool:
    if days.first <= stated.first and stated.last <= days.last:
        return True
    if days.days == 1:
        inside = stated.first <= days.first <= stated.last
        return inside and (stated.days <= _VAGUE or days.first in {stated.first, stated.last})
    return stated.days <= _VAGUE_MONTH and days.first <= stated.last and stated.first <= days.last


class Figures:
    """The numbers, possible days and years of birth of some texts, computed when first used."""

    def __init__(self, texts: Iterable[TextFigures]) -> None:
        self._all = tuple(texts)

    @cached_property
    def text(self) -> str:
        """All of them."""
        return " ".join(each.text for each in self._all)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number in them."""
        return frozenset().union(*(each.numbers for each in self._all))

    @cached_property
    def clock_times(self) -> frozenset[time]:
        """The times of day in them, and those so many minutes away as any of them says."""
        found = frozenset[time]().union(*(each.clock_times for each in self._all))
        return found.union(*(each.times_away(found) for each in self._all if found))

    @cached_property
    def years_of_birth(self) -> frozenset[int]:
        """The years that follow from the ages in them."""
        return frozenset().union(*(each.years_of_birth for each in self._all))

    @cached_property
    def lunar(self) -> frozenset[str]:
        """The days in them that may be of the lunar calendar."""
        return frozenset(found[0] for each in self._all for found in LUNAR_DAY.all_in(each.text))

    @cached_property
    def years_since(self) -> frozenset[int]:
        """The years that the lengths of time in them reach to."""
        return frozenset().union(*(each.years_since for each in self._all))

    def bears_range(self, days: TimeRange) -> bool:
        """Whether written days follow from them."""
        if days.days == 1 and (days.first.month, days.first.day) in self._of_either_calendar:
            return True
        return is_among(days, self._each_day()) or self._is_birth(days.iso) or days.iso in self.numbers

    @cached_property
    def _of_either_calendar(self) -> frozenset[tuple[int, int]]:
        """The months and days of what is said like 二月十二, unless the lunar calendar is named."""
        if any(one.startswith(("农", "阴", "旧")) for one in self.lunar):
            return frozenset()
        return frozenset(_month_and_day(one) for one in self.lunar if not {"初", "廿"} & set(one))

    def bears_date(self, iso: str) -> bool:
        """Whether a date follows from them."""
        return is_among(range_of(iso), self._each_day()) or self._is_birth(iso)

    def bears_number(self, forms: AbstractSet[str], *, compared: bool = False) -> bool:
        """Whether they contain one of the forms of a number, or a day of about the year that it is.

        ``compared``: it stands in a comparison, so it may be worked out though it is small.
        """
        if any(not each.own_numbers.isdisjoint(forms) for each in self._all) or not self.numbers.isdisjoint(forms):
            return True
        if any(compared or "." in one or float(one) >= _HARD_TO_GUESS for one in self._worked_out & forms):
            return True
        years = [int(each) for each in forms if len(each) == 4 and each.isdecimal() and each[:2] in ("19", "20")]
        return any(each.first.year - 1 <= year <= each.last.year + 1 for year in years for each in self._each_day())

    @cached_property
    def _worked_out(self) -> frozenset[str]:
        """What a reader may work out of their numbers: sums, differences, products, and the same in another unit."""
        found = [number for number in self.numbers if number not in ("0", "1") and len(number) < _LONG_NUMBER]
        values = [float(number) for number in found if _A_NUMBER.fullmatch(number)]
        if len(values) > _MOST_WORKED_WITH:
            return frozenset()
        made = [made for one in values for unit in _UNITS for made in (one * unit, one / unit)]
        made += [one * 100 for one in values if one % 1]  # half a metre
        for one, other in combinations(values, 2):
            made += [one + other, abs(one - other), one * other]
        return frozenset(f"{one:.10g}" for one in made)

    def holds_weekday(self, number: int) -> bool:
        """Whether a day that they may refer to is such a weekday."""
        if any(each.first.weekday() == number for each in self._each_day() if each.first == each.last):
            return True
        listed = (found[0] for found in _WEEKDAYS.finditer(self.text))
        return any("一二三四五六日"[number] in each.replace("天", "日") for each in listed)

    def _each_day(self) -> Iterator[TimeRange]:
        """The days that they may refer to; a text is read when those before it were not enough."""
        return (day for each in self._all for day in each.days)

    def holds_day(self, month: int, day: int) -> bool:
        """Whether they contain this day in any year, also as an end of a few days; of any month for ``month`` 0."""
        ends = (one for each in self._each_day() if each.days < _WHOLE_MONTH for one in (each.first, each.last))
        either = self._of_either_calendar
        return (month, day) in either or any((month or one.month, day) == (one.month, one.day) for one in ends)

    def holds_month(self, month: int) -> bool:
        """Whether they contain this month, or a day in it, in any year."""
        return any(
            (each.last - each.first).days < 34 and month in {each.first.month, each.last.month}
            for each in self._each_day()
        )

    def may_mean(self, kind: str, days: TimeRange) -> bool:
        """Whether the parts of a date of this kind are said somewhere, or follow from when it was said."""
        first, last = days.first, days.last
        near = any((first.month - each.written.month + 1) % _MONTHS < _ABOUT for each in self._all)
        month = near or self.holds_month(first.month) or str(first.month) in self.numbers
        ends = days.days > _WHOLE_MONTH or all(
            self.holds_day(0, day) or str(day) in self.numbers for day in (first.day, last.day)
        )
        forms = {str(first.year), str(first.year)[2:]}  # 18年
        year = first.year in self.years_of_birth | self.years_since or self.bears_number(forms)
        return ends and (kind == "day of month" or month) and (kind != "date" or year)

    def names_other_part(self, days: TimeRange) -> bool:
        """Whether they name another part of a month than these days: 五月中旬, not 五月初."""
        month = days.first.month
        parts = [each for each in self._each_day() if 1 < each.days < _WHOLE_MONTH]
        spans = {(each.first.day, each.last.day) for each in parts if each.first.month == each.last.month == month}
        return days.days < _WHOLE_MONTH and bool(spans) and (days.first.day, days.last.day) not in spans

    def _is_birth(self, iso: str) -> bool:
        """Whether a date is a day of birth: its year follows from an age, and its day was stated."""
        days = range_of(iso)
        if days is None:
            return False
        if len(iso) == 4 and days.first.year in self.years_since:
            return True
        if days.first.year not in (self.years_of_birth | self.years_since):
            return False
        return len(iso) == 4 or (
            self.holds_day(days.first.month, days.first.day) if len(iso) == 10 else self.holds_month(days.first.month)
        )


@dataclass(frozen=True, slots=True)
class _Stated:
    """The figures that a statement asserts, and the text that its expressions of time are in."""

    text: str
    lunar: Sequence[str]
    at: frozenset[time]
    named: Sequence[TimeExpression]  #: days, months, weekdays
    clocks: Sequence[TimeExpression]
    of_month: Sequence[TimeExpression]  #: days without a month


@lru_cache(_TEXTS_CACHED)
def _figures_stated(text: str) -> _Stated | None:
    """The figures of a statement; None if it has none. Lunar days are never computed; 八月十五 may be one."""
    if not _A_FIGURE.search(text.casefold()):
        return None
    text = _COUNTED_NAMES.sub(" ", text)
    lunar = tuple(found[0] for found in LUNAR_DAY.all_in(text))
    text = LUNAR_DAY.sub(" ", text) if lunar else text
    times = read_times(text, _ANY_DAY)
    kinds = (("date", "day", "month", "weekday"), ("clock",), ("day of month",))
    named, clocks, of_month = ([one for one in times if one.kind in each] for each in kinds)
    return _Stated(text, lunar, clock_times(text, _ANY_DAY), named, clocks, of_month)


def wrong_figure(text: str, figures: Figures, compared: AbstractSet[str] = frozenset()) -> str:
    """The kind of figure in a text that these do not support: "date", "time" (of day), "number", or "".

    ``compared``: numbers that follow from a few others.
    """
    stated = _figures_stated(text)
    if stated is None:
        return ""
    if any(one not in figures.lunar and not figures.holds_day(*_month_and_day(one)) for one in stated.lunar):
        return "date"
    if stated.at and figures.clock_times and not stated.at <= figures.clock_times:
        return "time"
    if stated.named:
        written = [one.possible[0] for one in stated.named if one.kind == "date"]
        if any(not figures.bears_range(each) for each in written):
            return "date"
        if any(not _bears_expression(one, figures, written) for one in stated.named):
            return "date"
    clocks = stated.clocks if stated.clocks and figures.clock_times else ()
    dated = [one for one in stated.of_month if figures.holds_day(0, one.possible[0].first.day)]
    if any(one not in dated and not stated.text[one.start : one.end].isascii() for one in stated.of_month):
        return "date"  # "the 2nd" may be another kind of number
    rest = without_times(stated.text, sorted([*stated.named, *clocks, *dated], key=lambda one: one.start))
    numbers = [one for one in asserted_numbers(rest) if compared.isdisjoint(one) and not figures.bears_number(one)]
    if numbers and compares(rest):
        numbers = [one for one in numbers if not figures.bears_number(one, compared=True)]
    return "number" if numbers else ""


def _month_and_day(written: str) -> tuple[int, int]:
    """Month and day of 八月十五, as if they were not of the lunar calendar."""
    month, _, day = written.partition("月")
    return parse_number(month.strip("农历阴旧")) or 0, parse_number(day.strip("初")) or 0


def _bears_expression(named: TimeExpression, figures: Figures, written: Iterable[TimeRange]) -> bool:
    """Whether figures have a day, a month or a weekday, also that of a ``written`` date."""
    days = named.meant or named.possible[0]
    if named.kind == "day":
        return all(figures.holds_day(day.month, day.day) for day in (days.first, days.last))
    if named.kind == "month":
        return figures.holds_month(days.first.month) and not figures.names_other_part(days)
    weekday = days.first.weekday()
    of_written = any(each.days == 1 and each.first.weekday() == weekday for each in written)
    return named.kind == "date" or of_written or figures.holds_weekday(weekday)


def correct_figures(text: str, own: TextFigures, figures: Figures) -> tuple[str, str]:
    """A text with a wrong day, time or number replaced by the only one in the words it rests on, and what stays wrong.

    ``own`` are those words, ``figures`` all that its messages support. What the words leave open stays as it is.
    """
    wrong = wrong_figure(text, figures)
    if not wrong or (wrong == "date" and own.counts_days):
        return text, ""
    if wrong == "number" and not wrong_figure(text, figures, own.compared):
        return text, ""
    times = read_times(text, _ANY_DAY)
    right = _right_figures(text, wrong, times, own, figures)
    if len(right) == 1:
        start, end, words = right[0]
        corrected = text[:start] + words + text[end:]
        if not wrong_figure(corrected, figures):
            return corrected, ""
    return text, wrong if _is_contradicted(text, wrong, times, figures) else ""


def _right_figures(
    text: str, wrong: str, times: Sequence[TimeExpression], own: TextFigures, figures: Figures
) -> list[tuple[int, int, str]]:
    """Where wrong figures stand in a text, with the only one that the words give in their place."""
    if wrong == "date" and not own.own_days:  # a date that only the model added costs only itself
        return [(one.start(), one.end(), "") for one in DATE_ASIDE.finditer(text)]
    if wrong == "date" and len(own.own_days) == 1 and not LUNAR_DAY.search(own.text):
        days = [one for one in times if one.kind == "date" and one.possible[0].days == 1]
        given = own.own_days[0].first
        near = [one for one in days if abs((one.possible[0].first - given).days) <= _MISTAKEN]
        return [(one.start, one.end, _date_like(given, text[one.start : one.end])) for one in near]
    if wrong == "time" and len(own.exact_times) == 1:
        (at,) = own.exact_times
        return [(one.start, one.end, at.isoformat("minutes")) for one in times if one.kind == "clock"]
    if wrong == "number" and len(own.amounts) == 1:
        (amount,) = own.amounts
        found = [one for one in _DIGITS.finditer(text) if one[0].replace(",", "") not in figures.numbers]
        units = (_UNIT.match(text, one.end()) for one in found)
        if all(not unit or unit[1].casefold() in own.text.casefold() for unit in units):
            return [(one.start(), one.end(), amount) for one in found]  # in another unit it is another number
    return []


def _is_contradicted(text: str, wrong: str, times: Sequence[TimeExpression], figures: Figures) -> bool:
    """Whether the words give another figure than a text, not only none that can be read or worked out."""
    if wrong == "date":
        return not _is_put_together(times, figures)
    if wrong == "time":
        read = {(at.hour % 12, at.minute) for at in figures.clock_times}
        return len(read) >= len([one for one in times if one.kind == "clock"])
    return _is_other_money(text, figures)


def _is_put_together(times: Iterable[TimeExpression], figures: Figures) -> bool:
    """Whether dates may be put together of what is said of their days, months and years: 4月16、17两天."""
    named = [(one.kind, one.possible[0]) for one in times if one.kind in ("date", "day", "day of month")]
    return bool(named) and not figures.lunar and all(figures.may_mean(kind, days) for kind, days in named)


def _is_other_money(text: str, figures: Figures) -> bool:
    """Whether an amount of money is another than the only one in the words; of several it may be worked out."""
    said, stated = (sorted(_MONEY.findall(each)) for each in (figures.text, text))
    alone = len(said) == 1 and said == stated and len(asserted_numbers(text)) == 1
    return alone and (said[0] in "£$€¥" or len(asserted_numbers(figures.text)) <= _FEW)


_MONEY = pattern_of(r"[£$€¥](?=\d)|(?<=[\d一二两三四五六七八九十百千])[万块元]")
#: A date between commas or brackets.
DATE_ASIDE = pattern_of(
    r"\s?[(（](?:on )?(?:\d{4}-\d\d-\d\d|(?:\d{4}年)?\d{1,2}月\d{1,2}日)[)）]|, \d{4}-\d\d-\d\d,(?= )"
    r"|，(?:\d{4}年)?\d{1,2}月\d{1,2}日(?=，)"
)
#: A day further off, in days, is not a mistaken one but another.
_MISTAKEN = 370
_UNIT = pattern_of(r"[ -]?(?:square |cubic )?([^\W\d_]{2,}?\b|[\u4e00-\u9fff])")
_DIGITS = pattern_of(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\d.]*\w)")


def _date_like(day: date, written: str) -> str:
    """A day as another one is written: 8 March 2026, 2026年3月8日, 2026-03-08."""
    if "年" in written:
        return f"{day.year}年{day.month}月{day.day}日"
    name = MONTH_NAMES[day.month - 1].title()
    if any(one.isalpha() for one in written):
        return f"{day.day} {name} {day.year}" if written[0].isdigit() else f"{name} {day.day}, {day.year}"
    return day.isoformat()
