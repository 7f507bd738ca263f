"""How many tokens a text will take, roughly, without the model's own tokenizer.

Byte-pair tokenizers in use take about one token for four Latin letters, and 0.6 to 1.1 tokens for a Chinese
character. The estimate is meant to be right within a factor of 1.5 for prose in either language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")
_DIGITS = re.compile(r"[0-9]+")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_SPACE = re.compile(r"\s+", re.ASCII)
_PER_WIDE, _PER_DIGIT, _PER_MARK, _PER_LETTER, _PER_OTHER = 0.7, 0.4, 0.5, 0.24, 0.5

#: What a chat template adds around each message.
_PER_MESSAGE = 4
#: Below this the estimate is too rough to accuse a server of anything.
_WORTH_A_LOOK = 1_000
#: A server that counts less than this share of the estimate has not read everything.
_FAR_BELOW = 0.5


def estimate(text: str) -> int:
    """Tokens of a text, never below 1 unless it is empty.

    >>> estimate("How are you today?"), estimate("你今天好吗？")
    (4, 4)
    """
    wide = _total(_WIDE, text)
    digits = _total(_DIGITS, text)
    marks = _total(_MARKS, text)
    letters = len(text.encode("ascii", "ignore")) - digits - marks - _total(_SPACE, text)
    other = max(0, len(text) - len(text.encode("ascii", "ignore")) - wide)
    tokens = (
        wide * _PER_WIDE
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
    return sum(map(len, pattern.findall(text)))
