"""The language of a text, scripts written without spaces, and token estimates.

Byte-pair tokenizers take about one token for four Latin letters, and 0.6 to 1.1 tokens for a Chinese character. The
estimate is meant to be right within a factor of 1.5 for prose in either language.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from domain.patterns import pattern_of

Language = Literal["en", "zh"]

#: Letters of scripts written without spaces, for the brackets of a regular expression.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
#: The script of this many characters is cached: people use some thousands.
_CHARACTERS_CACHED = 10_000
_RUN = pattern_of(f"[{UNSPACED}]+")
_CHINESE = pattern_of("[\u3400-\u9fff]+")
_LATIN = pattern_of("[A-Za-z]+")
#: Each byte as what it is: a digit, a mark, a space or a letter.
_KINDS_OF_BYTES = bytes(
    ord("0" if one in string.digits else "." if one in string.punctuation else " " if one in string.whitespace else "a")
    for one in map(chr, range(256))
)
_PER_UNSPACED, _PER_DIGIT, _PER_MARK, _PER_LETTER, _PER_OTHER = 0.7, 0.4, 0.5, 0.24, 0.5

#: A message of fewer characters, a Han character counting three, says too little alone.
_SHORT, _PER_HAN = 60, 3
#: What a chat template adds around each message.
_PER_MESSAGE = 4
#: Below this the estimate is too rough to detect truncation.
_WORTH_A_LOOK = 1_000
#: A server that counts less than this share of the estimate has truncated the prompt.
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


#: The persona of a person says so much more of their language than one message does.
_VOTES_OF_PERSONA = 5


def language_of(*texts: str) -> Language:
    """The language of a conversation: Chinese as soon as a fair part of its letters is Chinese.

    A Chinese character carries about as much as three Latin letters, so it weighs as much.
    """
    chinese = latin = 0
    for text in texts:
        sample = text[:20_000]
        chinese += 0 if sample.isascii() else _matched_length(_CHINESE, sample)
        latin += _matched_length(_LATIN, sample)
    return "zh" if chinese * 3 > latin and chinese else "en"


def language_of_address(persona: str, before: Sequence[str], text: str) -> Language:
    """The language to use with a person: that of their persona and earlier messages.

    One message in another language changes nothing. ``text`` is their newest message.

    >>> language_of_address("", ["你好，我是小雨。"], "How are you today, my friend?")
    'zh'
    """
    votes = [language_of(one) for one in [*[persona] * _VOTES_OF_PERSONA, *before, text] if one.strip()]
    return Counter(votes).most_common(1)[0][0] if votes else "en"


@lru_cache(_CHARACTERS_CACHED)
def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    return _RUN.match(character) is not None


def unspaced_runs(text: str) -> list[str]:
    """The runs of characters of scripts without spaces in a text.

    >>> unspaced_runs("I like 茶 and 北京")
    ['茶', '北京']
    """
    return [] if text.isascii() else _RUN.findall(text)


def unspaced_length(text: str) -> int:
    """How many characters of a text belong to scripts without spaces."""
    return 0 if text.isascii() else _matched_length(_RUN, text)


def says_little(words: str) -> bool:
    """Whether a message is so short that its vector is as much about the message before it.

    >>> says_little("How nice!"), says_little("He would rather grow chillies up on the roof than sit in my noisy shop.")
    (True, False)
    """
    return len(words) + (_PER_HAN - 1) * unspaced_length(words[:_SHORT]) < _SHORT


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
    kinds = plain.translate(_KINDS_OF_BYTES)
    digits, marks, letters = kinds.count(b"0"), kinds.count(b"."), kinds.count(b"a")
    other = max(0, len(text) - len(plain) - unspaced)
    tokens = (
        unspaced * _PER_UNSPACED + digits * _PER_DIGIT + marks * _PER_MARK + letters * _PER_LETTER + other * _PER_OTHER
    )
    return max(1, round(tokens)) if text else 0


def estimate_all(texts: Iterable[str]) -> int:
    """Tokens of a prompt of these messages."""
    return sum(estimate(text) + _PER_MESSAGE for text in texts)


def is_truncated(counted: int | None, estimated: int) -> bool:
    """Whether a server that counted ``counted`` prompt tokens has truncated a prompt of about ``estimated``."""
    return counted is not None and estimated >= _WORTH_A_LOOK and 0 < counted < estimated * _FAR_BELOW


def _matched_length(pattern: re.Pattern[str], text: str) -> int:
    return len("".join(pattern.findall(text)))
