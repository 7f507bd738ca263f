"""Where a text calls somebody by a name, and where the same letters are another word or part of one.

A name inside another one, "Ann" in "Mary-Ann", is not that name. An English name that is also a word counts where a
capital letter shows what it is; at the beginning of a sentence it may be either. In Chinese what is written before it
decides whether a name begins: 王阳 is not in 国王阳台. Where it ends only longer names that are known could tell.
"""

from __future__ import annotations

import re
from functools import lru_cache

from domain.patterns import pattern_of
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.relations import RELATIONS
from language.scripts import STOP_WORDS, UNSPACED, is_unspaced

_NAMES_CACHED = 1_000
#: So many characters on both sides tell what is meant.
_NEAR = 40
#: How likely it is that a name is meant, of 2; what may be a name is 1.
_CERTAIN = 2
#: A letter of a script with spaces, and what joins two of them to one name.
_LETTER = rf"[^\W_{UNSPACED}]"
_JOINS = "-\u2010\u2011'’"
_ENDINGS = "(?:s|d|ll|ve|re|m)"
#: Names that are English words, too, beside those of the calendar and the stop words.
_WORDS = frozenset(
    """
    art autumn bill chance chase dawn drew faith frank grace hope joy lucky mark mercy miles patience rich rose sky
    summer sunny
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
_CALENDAR = frozenset((*DAY_NAMES, *MONTH_NAMES))
_SENTENCE_BEGINS = pattern_of(r"(?:^|[\n.!?:;…—–(。！？：；（])[^\w,，]*$")
_POSSESSED = pattern_of(r"['’]s\b")
#: What the sentence may go on with behind a name.
_DOES = pattern_of(
    r" (?:and [A-ZÀ-Þ]|(?:is|was|has|had|does|did|would|says|said|told|went|came|got|met|gave|took|left|ran|made|bought"
    r"|sold|wants|likes|loves|lives|works|plays|thinks|knows|who|[a-z]+ed)\b)"
)
_ARTICLE = pattern_of(r"\b(?:an?|the|this|that|no|some|any) $", re.IGNORECASE)
_CAPITAL_BEFORE = pattern_of(r"\b([A-ZÀ-Þ][\w'’]*) $")
_CAPITAL_BEHIND = pattern_of(r" (?:of )?[A-ZÀ-Þ]")
_DAY_BEHIND = pattern_of(r",? \d")
_KIN_BEFORE = pattern_of(
    rf"\b(?:called|named|{'|'.join(sorted(word for words in RELATIONS for word in words if word.isascii()))}),?:? $",
    re.IGNORECASE,
)
#: What comes before the name of a person in Chinese, if anything of a sentence does.
_ZH_BEFORE = (
    *(word for words in RELATIONS for word in words if not word.isascii()),
    *"和跟与同及是叫名给对向把被让将请约找问陪帮替为由从带送接见比像说抱喊教嫁娶骂夸劝催怪怕但而且当如时就又才也都",
    *"""
    告诉 认识 遇到 碰到 看到 听到 收到 联系 感谢 谢谢 想念 担心 支持 提到 以及 还有 给了 如果 所以 同学
    师兄 师姐 师弟 师妹 孙女 孙子 医生 教练 闺蜜 房东 客户 徒弟 经理 主任 护士 律师
    """.split(),  # noqa: SIM905 - a long list of strings is hard to read
)


def places_of_name(name: str, text: str, *, meant: bool = False) -> list[int]:
    """Where in a text a name is the name of somebody, each by its first letter.

    What may as well be something else counts if it is certain elsewhere in the text that the name is ``meant``.

    >>> places_of_name("Will", "Will you come? Ann asked Will."), places_of_name("王阳", "王阳在国王阳台喝茶。")
    ([25], [0])
    """
    if text == name and (meant or name.casefold() not in _CALENDAR):
        return [0]
    found = [(one.start(), _likelihood(name, text, one.start())) for one in _pattern_of_name(name).finditer(text)]
    least = 1 if meant or any(likely == _CERTAIN for _, likely in found) else _CERTAIN
    return [at for at, likely in found if likely >= least]


@lru_cache(_NAMES_CACHED)
def _pattern_of_name(name: str) -> re.Pattern[str]:
    """A name that is no part of a longer one; where words are not apart, wherever it is."""
    if any(map(is_unspaced, name)):
        return re.compile(re.escape(name))
    before = rf"(?<!{_LETTER})(?<![\d_])(?<!{_LETTER}[{_JOINS}])"
    behind = rf"(?![\d_]|{_LETTER}|[{_JOINS[:3]}]{_LETTER}|['’](?!{_ENDINGS}(?!{_LETTER})){_LETTER})"
    return re.compile(f"{before}{re.escape(name)}{behind}")


def _likelihood(name: str, text: str, at: int) -> int:
    """How likely it is that the name is meant there, up to ``_CERTAIN``."""
    before, behind = text[max(0, at - _NEAR) : at], text[at + len(name) : at + len(name) + _NEAR]
    if any(map(is_unspaced, name)):
        inside = before and is_unspaced(before[-1]) and not before.endswith(_ZH_BEFORE)
        return 0 if inside else _CERTAIN
    plain = name.casefold()
    if name == plain or plain not in _WORDS | _CALENDAR | STOP_WORDS or any(map(is_unspaced, before[-1:] + behind[:1])):
        return _CERTAIN
    if _KIN_BEFORE.search(before):
        return _CERTAIN * (not _DAY_BEHIND.match(behind))
    if plain in _CALENDAR or _ARTICLE.search(before) or _CAPITAL_BEHIND.match(behind):
        return 0
    if _SENTENCE_BEGINS.search(before):
        return _CERTAIN if _POSSESSED.match(behind) else int(bool(_DOES.match(behind)))
    joined = _CAPITAL_BEFORE.search(before)
    return 1 if joined and joined[1].casefold() not in STOP_WORDS else _CERTAIN
