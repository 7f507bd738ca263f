"""The names in a text, as far as they can be told: by capital letters, and by what calls somebody something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from domain.languages import STOP_WORDS

_NAME = re.compile(r"(?<![A-Za-zÀ-ÿ0-9'’])[A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*")
_FIRST_WORD = re.compile(r"(?:^|[.!?:;]\s+|[\"“(])([A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*)")
_USED_AS_NAME = re.compile(
    r"[\w-]+(?:['’]s?\b|, | and [A-ZÀ-Þ]| (?:is|was|has|had|will|would|can|does|did|told|said|went|came|got|met"
    r"|gave|took|left|ran|made|and|who)\b| (?!as\b|his\b|its\b|this\b|less\b)[a-z]+(?:s|ed)\b)"
)
_OPENING = re.compile(r"^\W*\w+")
_CALLED = re.compile(
    r"(?:名叫|叫做|叫|名字是|改名)(?!人|醒|她|他|我|做|[全本大小真原]名|[外花]号)([\u4e00-\u9fff]{2})"
)
_POSSESSED = re.compile(r"['’]s?$")
_CALENDAR = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february march april may june july august september october november december
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)


#: The names of so many texts are held: those of one statement are asked for again and again.
_TEXTS_HELD = 256


def names_in(text: str, *, opening: bool = True) -> Iterator[str]:
    """Every name that a text uses, in either script; without ``opening`` its first word is never taken for one."""
    yield from latin_names(text if opening else f"- {_OPENING.sub('', text)}")
    yield from (found[1] for found in _CALLED.finditer(text))


@lru_cache(_TEXTS_HELD)
def latin_names(text: str) -> tuple[str, ...]:
    """The words of a text that are written like names.

    The first word of a sentence is one where it is used like one: "Tom Okafor", "Mara's", "Pickle died".
    """
    first = {found.start(1) for found in _FIRST_WORD.finditer(text)}
    return tuple(
        word
        for found in _NAME.finditer(text)
        if (word := _bare_name(found[0])).casefold() not in _CALENDAR
        and word.casefold() not in STOP_WORDS
        and (found.start() not in first or _USED_AS_NAME.match(text, found.start()))
    )


def whole_names(text: str) -> tuple[str, ...]:
    """The names of a text, those that stand side by side as one.

    >>> whole_names("I met Tom Okafor in York.")
    ('Tom Okafor', 'York')
    """
    found: list[str] = []
    for name in latin_names(text):
        beside = bool(found) and f"{found[-1]} {name}" in text
        found.append(f"{found.pop()} {name}" if beside else name)
    return tuple(found)


def _bare_name(word: str) -> str:
    return (_POSSESSED.sub("", word) if "'" in word or "’" in word else word).rstrip("-&")
