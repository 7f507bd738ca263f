"""Numbers as people write them, in digits and in words, in English and Chinese, in one form.

>>> sorted(mentioned("£38,500 and thirty-four")), sorted(mentioned("月薪两万六，三十二岁"))
(['34', '38500'], ['26000', '32'])
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from domain.text import pattern_of
from facts.guarded import holds_any

_HAN = {character: value for value, character in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "俩": 2,
    "仨": 3,
}
_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_WORDS = {
    word: value
    for value, word in enumerate(
        """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
    )
} | {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2
    )
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ANY_WORD = "|".join([*_WORDS, *_SCALES])
_ENGLISH = pattern_of(rf"\b(?:a )?(?:{_ANY_WORD})(?:[\s-]+(?:and[\s-]+)?(?:{_ANY_WORD}))*\b")
_DIGITS = pattern_of(r"(?<![\w.])?\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_SCALED = pattern_of(
    r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)\s?(?P<scale>[k千万亿]|thousand|million)(?P<rest>\d|[一二三四五六七八九])?(?![a-z])"
)
_HAN_NUMBER = pattern_of(r"[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?")
#: Words in which these characters count nothing.
_NO_NUMBER = pattern_of(
    "万一|十分|千万|一般|一起|一直|一样|一定|一些|一点|一下|一边|一旦|一切|一致|统一|唯一|第一次|一会|一共|一向|万分|再三|三番|四川|三亚|"
    "九寨|五一|六一|七夕|双十一|十一黄金|百分|老百姓|千里|三观|二手|二维|二胡|一面|一路|一方面|星期[一二三四五六]|周[一二三四五六]|礼拜[一二三四五六]"
)
_COUNTED = (
    "岁个只条位名年月日号天周次块元斤两公克吨步包杯点分秒时小米里平套辆本楼层口瓶根页遍倍家间"
    "件种度折张站篇首部户支居室%％"
)
#: 八两 is a weight: there 两 is no two.
_OUNCES = pattern_of("(?<=[一二三四五六七八九])两")
_HALF = pattern_of(r"\bhalf\b|半")
_A_FIGURE = pattern_of(r"[\d零〇一二两三四五六七八九十百千万亿俩仨半]")
#: In every English word for a number stands one of these.
_PARTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twel",
    "teen", "ty", "hundred", "thousand", "million", "half", "dozen",
)  # fmt: skip
_LETTER = pattern_of("[a-z]")
_BETWEEN = pattern_of(r"[\s-]+")
#: Digits up to which a number is worked with exactly.
_EXACT = 28
_DOZEN = pattern_of(r"\bdozen\b")
_EVENING = pattern_of(r"\b(?:pm|p\.m\.|afternoon|evening|tonight|night)\b|下午|晚|傍晚|夜里", re.IGNORECASE)


def mentioned(text: str) -> frozenset[str]:
    """Every number that a text could be said to mention, generously: what a statement may draw on."""
    plain = _folded(text)
    found = set(_latin(plain)) | set(_han(plain))
    if found and _EVENING.search(plain):
        found |= {str(int(number) + 12) for number in found if number.isdecimal() and 0 < int(number) < 12}
    return frozenset(found)


def asserted(text: str) -> tuple[frozenset[str], ...]:
    """The numbers that a statement asserts, each as the forms that would bear it out.

    "One" counts nothing in prose, and a Chinese digit alone counts only before what it counts.
    """
    plain = _folded(text)
    if not plain.isascii():
        plain = _NO_NUMBER.sub(" ", plain)
    if not may_mention(plain):
        return ()
    scaled = [frozenset(_scaled(found)) for found in _SCALED.finditer(plain)]
    rest = _SCALED.sub(" ", plain) if scaled else plain
    words = [frozenset({number}) for number in _latin_words(rest) if number != "1"]
    digits = [frozenset({number}) for number in _digits(rest)]
    runs = () if rest.isascii() else _runs(rest)
    han = [frozenset({number}) for run in runs if (number := _han_value(run))]
    return (*scaled, *words, *digits, *han)


def may_mention(text: str) -> bool:
    """Whether a text may mention a number at all; looked at quickly, since most do not."""
    plain = text.casefold()
    return _A_FIGURE.search(plain) is not None or holds_any(plain, _PARTS)


def value_of(text: str) -> int | None:
    """The whole number that a word is: ``34``, ``thirty-four``, 三十四; None for anything else."""
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    if plain.isdecimal():
        return int(plain)
    if plain and _HAN_NUMBER.fullmatch(plain) and (value := _han_value(plain)).isdecimal():
        return int(value)
    found = _ENGLISH.fullmatch(plain)
    return _english_value(plain) if found else None


def _folded(text: str) -> str:
    return (
        text.casefold()
        if text.isascii()
        else _OUNCES.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    )


def _latin(plain: str) -> Iterator[str]:
    for found in _SCALED.finditer(plain):
        yield from _scaled(found)
    yield from _digits(plain)
    yield from _latin_words(plain)
    if ("half" in plain or "半" in plain) and _HALF.search(plain):
        yield "0.5"
    if "dozen" in plain and _DOZEN.search(plain):
        yield "12"


def _latin_words(plain: str) -> Iterator[str]:
    if plain.isascii() or _LETTER.search(plain):
        yield from (str(_english_value(found[0])) for found in _ENGLISH.finditer(plain))


def _digits(plain: str) -> Iterator[str]:
    for found in _DIGITS.finditer(plain):
        number = _plain_number(found[0])
        at_clock = found.start() and plain[found.start() - 1] == ":" and number == "0"
        if not at_clock:
            yield number


def _scaled(found: re.Match[str]) -> Iterator[str]:
    """26k is 26 and 26,000; 3.1万 is 31,000, and so is 3万1."""
    scale = {"k": 1_000, "thousand": 1_000, "million": 1_000_000}.get(found["scale"]) or _UNITS[
        found["scale"]
    ]
    value = Decimal(found["number"].replace(",", "")) * scale
    if rest := found["rest"]:
        value += (_HAN.get(rest) or int(rest)) * scale // 10
    yield _plain_number(str(value))
    if found["scale"] == "k":
        yield _plain_number(found["number"])


def _han(plain: str) -> Iterator[str]:
    if plain.isascii():
        return
    for found in _HAN_NUMBER.finditer(plain):
        if value := _han_value(found[0]):
            yield value
        if len(found[0]) == 2:
            yield from (str(_HAN[character]) for character in found[0] if character in _HAN)


def _runs(plain: str) -> Iterator[str]:
    """Chinese numbers that count something: long ones, and single digits before a measure."""
    for found in _HAN_NUMBER.finditer(plain):
        after = plain[found.end() : found.end() + 1]
        if (
            found[0] == "一"
            or (len(found[0]) == 1 and after not in _COUNTED)
            or (not after.strip() and len(found[0]) == 1)
        ):
            continue
        yield found[0]


def _han_value(run: str) -> str:
    """两万六 26000, 三十二 32, 二〇二五 2025, 三点五 3.5, 八百零一 801; "" where it is no number."""
    whole, _, fraction = run.partition("点")
    if not any(character in _UNITS for character in whole):
        value = "".join(str(_HAN[character]) for character in whole)
    else:
        value = str(_with_units(whole))
    tail = "".join(str(_HAN[character]) for character in fraction)
    return _plain_number(f"{value}.{tail}" if tail else value) if value else ""


def _with_units(run: str) -> int:
    total, section, digit, last = 0, 0, None, 1
    for character in run:
        if character in _HAN:
            digit = (digit or 0) * 10 + _HAN[character] if digit else _HAN[character]
            last = 1 if character in "零〇" else last
            continue
        unit = _UNITS[character]
        if unit >= 10_000:
            total, section = (total + section + (digit or 0)) * unit, 0
        else:
            section += (1 if digit is None else digit) * unit
        digit, last = None, unit
    return total + section + (digit or 0) * (last // 10 if last > 10 else 1)


def _english_value(words: str) -> int:
    total = section = 0
    for word in _BETWEEN.split(words):
        if word in _WORDS:
            section += _WORDS[word]
        elif word == "hundred":
            section = (section or 1) * 100
        elif word in _SCALES:
            total, section = total + (section or 1) * _SCALES[word], 0
    return total + section


def _plain_number(text: str) -> str:
    """One form of a number: no separators, no zeros that say nothing."""
    if len(text) < _EXACT and text.isascii() and text.isdecimal():
        return text.lstrip("0") or "0"
    try:
        number = Decimal(text.replace(",", "")).normalize()
    except InvalidOperation:
        return text
    return f"{number:f}"
