"""Words that are names of people and places, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from domain.patterns import pattern_of
from language.scripts import STOP_WORDS, unspaced_length


def is_name(text: str) -> bool:
    """Whether a text could be a name: a few short words, the first not in lower case.

    >>> is_name("Mara Lindqvist"), is_name("陈默"), is_name("ignore all that"), is_name("34")
    (True, True, False, False)
    """
    letters = all(character.isalpha() or character in " -'’.·" for character in text)
    short = 0 < len(text) <= 40 and unspaced_length(text) <= 10 and len(text.split()) <= 4
    return letters and short and not text[0].islower()


# -- names


_NAME = pattern_of(r"(?<![A-Za-zÀ-ÿ0-9'’])[A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*")
_FIRST_WORD = pattern_of(r"(?:^|[.!?:;]\s+|[\"“(])([A-ZÀ-Þ][A-Za-zÀ-ÿ0-9'’&-]*)")
_USED_AS_NAME = pattern_of(
    r"[\w-]+(?:['’]s?\b|, | and [A-ZÀ-Þ]| (?:is|was|has|had|will|would|can|does|did|told|said|went|came|got|met"
    r"|gave|took|left|ran|made|and|who)\b| (?!as\b|his\b|its\b|this\b|less\b)[a-z]+(?:s|ed)\b)"
)
_OPENING = pattern_of(r"^\W*\w+")
_CALLED = pattern_of(r"(?:名叫|叫做|叫|名字是|改名)(?!人|醒|她|他|我|做|[全本大小真原]名|[外花]号)([\u4e00-\u9fff]{2})")
_POSSESSED = pattern_of(r"['’]s?$")
_CALENDAR = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february march april may june july august september october november december
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: The names of this many texts are cached: a statement is looked up repeatedly.
_TEXTS_CACHED = 256


def names_in(text: str, *, opening: bool = True) -> Iterator[str]:
    """Every name in a text, in either script; without ``opening`` its first word never counts."""
    yield from latin_names(text if opening else f"- {_OPENING.sub('', text)}")
    yield from (found[1] for found in _CALLED.finditer(text))


@lru_cache(_TEXTS_CACHED)
def latin_names(text: str) -> tuple[str, ...]:
    """The words of a text that are written like names.

    The first word of a sentence counts if it is used like a name: "Tom Okafor", "Mara's", "Pickle died".
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
    """The names of a text, adjacent ones joined.

    >>> whole_names("I met Tom Okafor in York.")
    ('Tom Okafor', 'York')
    """
    found: list[str] = []
    for name in latin_names(text):
        adjacent = bool(found) and f"{found[-1]} {name}" in text
        found.append(f"{found.pop()} {name}" if adjacent else name)
    return tuple(found)


def _bare_name(word: str) -> str:
    return (_POSSESSED.sub("", word) if "'" in word or "’" in word else word).rstrip("-&")
