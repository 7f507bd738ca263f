"""Sentences and clauses of a text, in English and Chinese."""

from __future__ import annotations

import re
from functools import lru_cache

from domain.patterns import pattern_of

_SENTENCE = pattern_of(r"[^.!?。！？…\n]+(?:\.(?=\S)[^.!?。！？…\n]+)*[.!?。！？…]*[\"”’」』)）]*")
#: Many people type a space for a comma in Chinese.
_SPACED = pattern_of(
    r"(?:(?<=[\u4e00-\u9fff])|(?<=\d)(?!\s+[年月日号天点时分秒周岁个块元万千百多斤公米度楼])|(?<=%))\s+(?=[\w:.]*[\u4e00-\u9fff])"
)
#: What parts the clauses of a sentence; the first look is only at what begins one of them.
CLAUSE = pattern_of(
    r"(?=[,;:，；：—–\sbct但不可])(?:[,;:，；：—–]| - |\b(?:but|though|because|bc|cos|cuz)\b"
    rf"|但是?|不过(?!敏)|可是|{_SPACED.pattern})"
)
#: A denial after "and" is separate if a clause precedes it.
_DENIED_BESIDES = pattern_of(
    r"(?<=\w)\s+and\s+(?=(?:(?:i|we|he|she|they|it)\s+)?(?:(?:never|not|no|nothing|none)\b|\w+n't\b|(?:ca|do|wo|did|is|have)nt\b|cannot\b))",
    re.IGNORECASE,
)
_SHORTESTCLAUSE = 5
#: What asks though the question mark comes later.
_ASKS = pattern_of(r"([\u4e00-\u9fff])[不没]\1|你说|觉得|难道|[吗谁哪几]|什么|怎么|多少")
#: What asks in the last part of a sentence, without a mark.
_MAY_ASK = pattern_of(r"\s你(?:说|觉得|看)\S*$")
#: As many sentences as a window and its drafts have.
_TEXTS_CACHED = 1_024
#: Quoted words: a title, a name, a phrase.
_QUOTED = pattern_of(
    r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|『[^』\n]{1,300}』|《[^》\n]{1,300}》|‘[^’\n]{1,300}’'
)
_QUOTE = pattern_of('["“「『《‘]')


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order. A point inside a number or a name ends none."""
    return tuple(text[start:end] for start, end in sentence_spans(text))


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a text begin and end, without the spaces around them."""
    found = ((each.start(), each[0]) for each in _SENTENCE.finditer(text))
    trimmed = ((start + len(one) - len(one.lstrip()), one.strip()) for start, one in found)
    return tuple(span for start, one in trimmed if one for span in _asked_apart(text, start, start + len(one)))


def _asked_apart(text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """A sentence, or what it states and what it asks: 交了 周日截止 | 晚不晚?"""
    may_ask = text[end - 1] in "?？" or ("你" in text and _MAY_ASK.search(text, start, end))
    spaces = tuple(_SPACED.finditer(text, start, end)) if may_ask else ()
    if not spaces or text[spaces[-1].end()] in "吗呢吧么" or _ASKS.search(text, start, spaces[-1].start()):
        return ((start, end),)
    return (start, spaces[-1].start()), (spaces[-1].end(), end)


@lru_cache(_TEXTS_CACHED)
def split_clauses(sentence: str) -> tuple[str, ...]:
    """The clauses of a sentence."""
    parts: list[str] = []
    for part in CLAUSE.split(sentence):
        found = _DENIED_BESIDES.search(part) if "and" in part.casefold() else None
        apart = found and len(part[: found.start()].split()) >= _SHORTESTCLAUSE
        parts += [part[: found.start()], part[found.end() :]] if found and apart else [part]
    return tuple(clause for part in parts if (clause := part.strip()))


def without_quoted(text: str) -> str:
    """The text without quoted words: titles, names, phrases."""
    return _QUOTED.sub(" ", text) if _QUOTE.search(text) else text
