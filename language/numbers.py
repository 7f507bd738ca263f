"""Numbers in digits and words, English and Chinese, normalised to one form.

>>> sorted(find_numbers("£38,500 and thirty-four")), sorted(find_numbers("月薪两万六，三十二岁"))
(['34', '38500'], ['26000', '32'])
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from domain.patterns import Guarded, pattern_of

#: As many texts as a window and its drafts have.
_TEXTS_CACHED = 1_024
#: Whether this many words are numbers is cached: people use some thousands.
_WORDS_CACHED = 10_000
_HAN = {digit: value for value, same in enumerate(("零〇", "一", "二两俩", "三仨", *"四五六七八九")) for digit in same}
_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: value for value, word in enumerate(_SMALL.split())}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_ANY_WORD = "|".join([*_WORDS, *_SCALES])
#: Every English word for a number contains one of these.
_PARTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twel",
    "teen", "ty", "hundred", "thousand", "million", "half", "dozen",
)  # fmt: skip
_ENGLISH = Guarded("|".join(_PARTS), rf"\b(?:a )?(?:{_ANY_WORD})(?:[\s-]+(?:and[\s-]+)?(?:{_ANY_WORD}))*\b")
_DIGITS = pattern_of(r"\d\d{0,39}(?:,\d{3}){0,12}(?:\.\d{1,40})?")
_SCALED = Guarded(
    "k|thousand|grand|million|千|万|亿",
    r"(?<!\d)(?P<number>\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,15})?)\s?(?P<scale>[k千万亿]|thousand|grand|million)(?P<rest>\d|[一二三四五六七八九])?(?![a-z])",
)
_HAN_NUMBER = pattern_of(r"[零〇一二两三四五六七八九十百千万亿]{1,40}(?:点[零〇一二三四五六七八九]{1,40})?")
#: Words in which these characters count nothing.
_NO_NUMBER = pattern_of(
    "万一|十分|千万|一般|一起|一直|一样|一定|一些|一点|一下|一边|一旦|一切|一致|统一|唯一|第一次|一会|一共|一向|万分|再三|三番|四川|三亚|"
    "九寨|五一|六一|七夕|双十一|十一黄金|百分|老百姓|千里|三观|二手|二维|二胡|一面|一路|一方面|星期[一二三四五六]|周[一二三四五六]|礼拜[一二三四五六]"
)
_COUNTED = (
    "岁个只条位名年月日号天周次块元斤两公克吨步包杯点分秒时小米里平套辆本楼层口瓶根页遍倍家间"
    "件种度折张站篇首部户支居室%％"
)
#: As numbers are read: those of 78 m² and CO₂ are none, and 兩點 is 两点.
_PLAIN = str.maketrans("²³₂萬億兩點塊", "   万亿两点块")
#: 18w, 十八个w: as people type 万.
_TEN_THOUSAND = pattern_of(
    r"个w(?<=[\d一二两三四五六七八九十百]个w)(?![a-z])|w(?<=[\d一二两三四五六七八九十百]w)(?![a-z])"
)
#: 一百八一个 is 180 each.
_EACH = pattern_of("(?<=[百千万][二三四五六七八九])(?=一[个位人家斤只张件])")
#: 八两 is a weight: there 两 is no two.
_OUNCES = pattern_of("两(?<=[一二三四五六七八九]两)")
_JIN = pattern_of(
    r"(?P<jin>\d{1,12}(?:\.\d{1,12})?|[一二两三四五六七八九十百]{1,12})(?<!公)斤(?:(?P<liang>[\d一二三四五六七八九])两?|(?P<half>半))?"
)
_TENTHS = pattern_of(
    r"(?P<number>\d{1,12}(?:\.\d{1,12})?|[一二两三四五六七八九十百]{1,12})(?P<unit>(?<!公)里(?!面)|成(?![为了家员立都年人本])|毛(?![病巾衣线笔孩概]))"
)
#: 两块六 is 2.6, 39度2 is 39.2.
_AND_TENTHS = pattern_of(
    r"(?P<number>\d{1,6}|[一二两三四五六七八九十百]{1,6})[块元度](?P<tenths>[一二三四五六七八九\d])(?![\d十百千万])"
)
_DOZENS = pattern_of(r"\b(?P<number>half a|two|three|four|five|six|ten|\d{1,2}) dozen\b")
_AND_A_HALF = pattern_of(
    r"\b(?P<number>an?|one|two|three|four|five|six|\d{1,2})"
    r"(?:[ -](?:inch|foot|feet|stone|(?:hour|mile|year|month|week|kilo|pint|pound)s?))?[ -]and[ -]a[ -]half\b"
    r"|(?P<han>[一两二三四五六七八九\d])个半"
)
#: 一米七八, in centimetres 178.
_METRES = pattern_of(r"(?P<number>[一二两\d])米(?P<rest>[零〇一二三四五六七八九]{1,2}|\d{1,2})(?!\d)")
_QUARTERS = {"and a quarter": "15", "quarter of an hour": "15", "three quarters": "45", "一刻": "15", "三刻": "45"}
_HALF = pattern_of(r"\bhalf\b|半")
_A_FIGURE = pattern_of(r"[\d零〇一二两三四五六七八九十百千万亿俩仨半]")
#: The value of "a few".
_FEW = 3
_ROUGH = {
    "a": 1, "an": 1, "half a": 0.5, "half an": 0.5, "half": 0.5, "半": 0.5, "couple": 2, "few": _FEW,
    "several": 4, "dozen": 12,
}  # fmt: skip
_ONES = "one|two|three|four|five|six|seven|eight|nine"
#: A count in front of a unit, in English; and in Chinese, where 十几 and 几十 count as well.
ENGLISH_COUNT = (
    r"(?P<count>(?=[\dacdefhnost])(?:\d{1,4}(?:\.\d)?|half an?|(?:a |)(?:couple of|couple|few|dozen)|several"
    rf"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -](?:{_ONES}))?"
    rf"|(?:thir|four|fif|six|seven|eigh|nine)teen|eleven|twelve|ten|{_ONES}|an?)(?: and a half)?)"
)
CHINESE_COUNT = r"[一二两三四五六七八九]?十几|[几数]十|[〇零一二两三四五六七八九十百\d]{1,4}|几|数"
_LETTER = pattern_of("[a-z]")
_BETWEEN = pattern_of(r"[\s-]+")
#: Longer numbers are not calculated exactly.
_EXACT = 28
#: The last word of an ordinal number.
ORDINAL = (
    "first|second|third|(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twentie|thirtie)th"
)
_ORDINAL = pattern_of(rf"\b(?:{ORDINAL})$")
_CARDINALS = {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine",
    "twelfth": "twelve",
}  # fmt: skip
_DOZEN = pattern_of(r"\bdozen\b")
#: "Year fours", "in her thirties".
_PLURAL = Guarded(
    "twos|threes|fours|fives|sevens|eights|nines|tens|ties",
    r"\b(?P<word>two|three|four|five|seven|eight|nine|ten|twentie|thirtie|fortie|fiftie|seventie|eightie|ninetie)s\b",
)
_TWO = Guarded(
    "pair|twin|both|couple|twice|fortnight|too |俩|双胞胎|一对|一双",
    r"\b(?:pair|twins?|both|couple|twice|fortnight|too(?= [a-z]{2,}(?<![us])s\b))\b|俩|双胞胎|一对|一双",
)
_EVENING = Guarded(
    "pm|p.m.|noon|evening|night|下午|晚|夜里", r"\b(?:pm|p\.m\.|afternoon|evening|tonight|night)\b|下午|晚|傍晚|夜里"
)


@lru_cache(_TEXTS_CACHED)
def find_numbers(text: str) -> frozenset[str]:
    """Every number that a text may mention, read generously: what a statement may be based on."""
    plain = _fold_case(text)
    if not (may_mention(plain) or "quarter" in plain or "ties" in plain or _TWO.search(plain)):
        return frozenset()
    found = {*_all_numbers(plain), *_converted(text)}
    if found and _EVENING.search(plain):
        found |= {str(int(number) + 12) for number in found if number.isdecimal() and 0 < int(number) < 12}
    return frozenset(found)


@lru_cache(_WORDS_CACHED)
def is_number(word: str) -> bool:
    """Whether a word may mention a number."""
    return bool(find_numbers(word))


_COMPARES = pattern_of(
    r"\b(?:more|less|fewer|than|older|younger|extra|plus|minus|each|apiece|split|between|per|times|another|off|total|altogether"
    r"|(?:put|puts|went|gone|goes|pushed|brought|came) (?:\w+ ){0,3}(?:up|down)|raised?|rose|gained|lost)\b"
    r"|(?:down|up) (?:to|from) (?=\w)|\d\w{0,12} ?(?:to|till?|until|-|–) ?(?:the )?\d|\d\D{0,3}[到至]"
    r"|[比多少大小差共每减加涨降跌胖瘦成%]|又|平分|平摊|(?<=[\d百千万二三四五六七八九块元])一[个位人家斤只张件]"
)
#: Who will be 81 is 80: "she'll be 81 in May", "turning forty", 快八十一岁.
_NEXT_AGE = Guarded(
    "be |turn|岁",
    r"\b(?:(?:he|she|i|who)(?:'ll|’ll| will) be|turn(?:s|ing)?) (?P<age>\d{1,3}|[a-z]+(?:-[a-z]+)?)(?: years? old\b)?"
    r"(?=\s*(?:$|[,;!?)]|\.(?!\d)|(?:in|on|at|by|this|next|tomorrow|today|soon|and|but)\b))"
    r"|\bwill be (?P<old>\d{1,3}|[a-z]+(?:-[a-z]+)?) years? old\b"
    r"|[快要][满到]?(?P<han>[\d一二三四五六七八九十]{1,4})周?岁",
)
#: "Three of us plus my mother-in-law", 三口加上婆婆.
_AND_ONE = pattern_of(
    r"\b(?:plus|counting|including|as well as|along with)\b|\b(?:one|an?) (?:\w+ )?(?:more|less|fewer|older|younger)\b"
    r"|加上|算上|连上|再加|[大小多少]一"
)
#: "Thirty per cent down", 首付三成.
_SHARES = pattern_of(r"%|\bper ?cent\b|(?P<tenths>[一二两三四五六七八九]成)")
#: Longer lists are no comparison.
_MOST_COMPARED = 8


def compares(text: str) -> bool:
    """Whether a text compares, adds or shares numbers: "six more than before", 少五单."""
    return _COMPARES.search(text.casefold()) is not None


def derived_numbers(text: str, found: frozenset[str], *, few: bool = False) -> frozenset[str]:
    """The sums, differences and products of two numbers where a text compares or adds: "42k, six more than before".

    ``few``: without a word for it, too, where there are hardly any others.

    >>> "36000" in derived_numbers("42k, six more than before", frozenset({"42", "42000", "6"}))
    True
    """
    if not found:
        return frozenset()
    plain = text.casefold()
    ages = (parse_number(next(filter(None, each.groups()))) for each in _NEXT_AGE.all_in(plain))
    younger = frozenset(str(age - 1) for age in ages if age)
    adds_one = _AND_ONE.search(plain) is not None
    compares_all = few and len(found - {"1"}) <= _FEW
    if len(found) > _MOST_COMPARED or not (compares_all or adds_one or _COMPARES.search(plain)):
        return younger
    values = [Decimal(number) for number in found if number != "1" and len(number) < _EXACT and number[:1].isdigit()]
    scale = next((one for one in (10_000, 1_000) if any(value and value % one == 0 for value in values)), 1)
    pairs = [(a, b) for a in values for b in values if a != b]
    if adds_one:
        pairs += [(value, Decimal(1)) for value in values]
    made = {result for a, b in pairs for result in (a + b, abs(a - b), a * b, a + b * scale, abs(a - b * scale))}
    if share := _SHARES.search(plain):
        made |= {a * b / (10 if share["tenths"] else 100) for a, b in pairs}
    made |= {a / b for a, b in pairs if b and a % b * 100 % b == 0}
    return younger.union(_plain_number(str(value)) for value in made)


@lru_cache(_TEXTS_CACHED)
def asserted_numbers(text: str) -> tuple[frozenset[str], ...]:
    """The numbers that a statement asserts, each as the set of forms that would support it.

    "One" is ignored, and a single Chinese digit counts only before a measure word.
    """
    plain = _fold_case(text)
    if not plain.isascii():
        plain = _NO_NUMBER.sub(" ", plain)
    if not may_mention(plain):
        return ()
    scaled = [frozenset(_scaled_numbers(found)) for found in _SCALED.all_in(plain)]
    rest = _SCALED.sub(" ", plain) if scaled else plain
    words = [frozenset({number}) for number in _latin_words(rest) if number != "1"]
    digits = [frozenset({number}) for number in _digit_numbers(rest)]
    runs = () if rest.isascii() else _counting_runs(rest)
    han = [frozenset({number}) for run in runs if (number := _han_value(run))]
    return (*scaled, *words, *digits, *han)


def may_mention(text: str) -> bool:
    """A quick check whether a text may mention a number."""
    plain = text.casefold()
    return _A_FIGURE.search(plain) is not None or _ENGLISH.may_stand_in(plain)


def parse_number(text: str) -> int | None:
    """The whole number that a text is: ``34``, ``thirty-four``, ``twenty first``, 三十四; None for anything else."""
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    if plain.isdecimal():
        return int(plain) if len(plain) < _EXACT else None
    plain = _ORDINAL.sub(_cardinal, plain)
    if plain and _HAN_NUMBER.fullmatch(plain) and (value := _han_value(plain)).isdecimal():
        return int(value)
    found = _ENGLISH.pattern.fullmatch(plain)
    return _english_value(plain) if found else None


def _cardinal(ordinal: re.Match[str]) -> str:
    word = ordinal[0]
    return _CARDINALS.get(word) or word.removesuffix("th").removesuffix("ie") + ("y" if word.endswith("ieth") else "")


def parse_count(text: str) -> float | None:
    """A count, also a rough one: "a couple of" 2, "two and a half" 2.5, 十几 13, 两三 3, 半 0.5.

    Of two Chinese digits the mean, rounded up. None if it is no count.
    """
    plain = text.casefold().strip()
    if plain.endswith(" and a half"):
        whole = parse_count(plain.removesuffix(" and a half"))
        return None if whole is None else whole + 0.5
    plain = plain.removesuffix(" of").removeprefix("a ").removeprefix("an ") or plain
    if (rough := _ROUGH.get(plain)) is not None:
        return rough
    if any(character in "几数十" or character in _HAN for character in plain) and not any(
        c in plain for c in "百千万亿"
    ):
        return _rough_han(plain)
    try:
        return float(plain) if plain[:1].isdigit() else parse_number(plain)
    except ValueError:
        return parse_number(plain)


def _rough_han(text: str) -> float | None:
    """十二 12, 二三十 25, 几十 30, 二〇 20; None if it is no number."""
    tens, ten, ones = text.rpartition("十")
    if not ten and ("〇" in ones or "零" in ones):
        digits = "".join(str(_HAN.get(one, one)) for one in ones)
        return float(digits) if digits.isdecimal() else None
    if any(not one.isdecimal() and one not in _HAN and one not in "几数" for one in tens + ones):
        return None
    return math.ceil(10 * (_mean_digit(tens) if tens else len(ten)) + (_mean_digit(ones) if ones else 0))


def _mean_digit(digits: str) -> float:
    """三 3, 二三 2.5, 几 3."""
    return sum(_FEW if one in "几数" else _HAN.get(one, 0) if one in _HAN else int(one) for one in digits) / len(digits)


def _fold_case(text: str) -> str:
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKC", text.translate(_PLAIN)).casefold()
    plain = _TEN_THOUSAND.sub("万", plain) if "w" in plain else plain
    plain = _EACH.sub(" ", plain) if "一" in plain else plain
    return _OUNCES.sub(" ", plain) if "两" in plain else plain


def _all_numbers(plain: str) -> Iterator[str]:
    for scaled in _SCALED.all_in(plain):
        yield from _scaled_numbers(scaled)
    yield from _digit_numbers(plain)
    yield from _latin_words(plain)
    if ("half" in plain or "半" in plain) and _HALF.search(plain):
        yield "0.5"
    for found in _PLURAL.all_in(plain):
        yield str(_WORDS.get(found["word"]) or _WORDS[found["word"].removesuffix("ie") + "y"])
    if "dozen" in plain and _DOZEN.search(plain):
        yield "12"
    if _TWO.search(plain):
        yield "2"
    for run in () if plain.isascii() else _HAN_NUMBER.findall(plain):
        if value := _han_value(run):
            yield value
        if len(run) == 2 and all(character in _HAN for character in run):
            yield from (str(_HAN[character]) for character in run)


def _latin_words(plain: str) -> Iterator[str]:
    if plain.isascii() or _LETTER.search(plain):
        for found in _ENGLISH.all_in(plain):
            digits = [_WORDS.get(word, 10) for word in _BETWEEN.split(found[0])]
            # "We won four three."
            yield from map(str, digits if max(digits) < 10 else (_english_value(found[0]),))


def _digit_numbers(plain: str) -> Iterator[str]:
    for found in _DIGITS.finditer(plain):
        number = _plain_number(found[0])
        at_clock = found.start() and plain[found.start() - 1] == ":" and number == "0"
        if not at_clock:
            yield number


def _scaled_numbers(found: re.Match[str]) -> Iterator[str]:
    """26k is 26 and 26,000; 3.1万 is 31,000, and so is 3万1."""
    scale = {"k": 1_000, "thousand": 1_000, "grand": 1_000, "million": 1_000_000}.get(found["scale"]) or _UNITS[
        found["scale"]
    ]
    value = Decimal(found["number"].replace(",", "")) * scale
    if rest := found["rest"]:
        value += (_HAN.get(rest) or int(rest)) * scale // 10
    yield _plain_number(str(value))
    if found["scale"] == "k":
        yield _plain_number(found["number"])


def _converted(text: str) -> Iterator[str]:
    """What a statement may give in another unit: 六斤八两 is 3.4 (kg), 六里 3 (km), 三成 30 (%), 三毛 0.3."""
    plain = text.casefold()
    for found in _TENTHS.finditer(text) if any(one in text for one in "里成毛") else ():
        number = Decimal(str(parse_count(found["number"]) or 0))
        yield _plain_number(str(number * Decimal({"里": "0.5", "成": "10", "毛": "0.1"}[found["unit"]])))
    for found in _AND_TENTHS.finditer(text) if any(one in text for one in "块元度") else ():
        yield f"{parse_number(found['number'])}.{parse_number(found['tenths'])}"
    for found in _DOZENS.finditer(plain) if "dozen" in plain else ():
        yield _plain_number(str(Decimal(str(parse_count(found["number"]) or 1)) * 12))
    for found in _AND_A_HALF.finditer(plain) if "half" in plain or "半" in plain else ():
        half = Decimal(str(parse_count(found["number"] or found["han"]) or 0)) + Decimal("0.5")
        yield from (_plain_number(str(half)), _plain_number(str(half * 60)))
    for found in _METRES.finditer(text) if "米" in text else ():
        rest = parse_number(found["rest"]) if len(found["rest"]) > 1 else 10 * (parse_number(found["rest"]) or 0)
        yield str(100 * (parse_number(found["number"]) or 0) + (rest or 0))
    if "quarter" in plain or "刻" in plain:
        yield from (minutes for words, minutes in _QUARTERS.items() if words in plain)
    for found in _JIN.finditer(text) if "斤" in text else ():
        jin, liang = (
            float(parse_count(each or "0") or 0) for each in (found["jin"], (found["half"] and "5") or found["liang"])
        )
        yield _plain_number(str(Decimal(str(jin + liang / 10)) / 2))


def _counting_runs(plain: str) -> Iterator[str]:
    """Chinese numbers that count something: long ones, and single digits before a measure."""
    for found in _HAN_NUMBER.finditer(plain):
        after = plain[found.end() : found.end() + 1].strip()
        if len(found[0]) > 1 or (found[0] != "一" and after and after in _COUNTED):
            yield found[0]


def _han_value(run: str) -> str:
    """两万六 26000, 三十二 32, 二〇二五 2025, 三点五 3.5, 八百零一 801; "" if it is no number."""
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
            # "Nine fifty" and "nineteen eighty".
            section = section * (100 if 0 < section < 100 and _WORDS[word] > 9 else 1) + _WORDS[word]
        elif word == "hundred":
            section = (section or 1) * 100
        elif word in _SCALES:
            total, section = total + (section or 1) * _SCALES[word], 0
    return total + section


def _plain_number(text: str) -> str:
    """A number without separators and superfluous zeros."""
    if len(text) < _EXACT and text.isascii() and text.isdecimal():
        return text.lstrip("0") or "0"
    try:
        number = Decimal(text.replace(",", "")).normalize()
    except InvalidOperation:
        return text
    return f"{number:f}"
