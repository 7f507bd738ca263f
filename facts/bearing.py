"""What a line of an image may say, and which lines a session may touch: pure rules, no model is asked.

A line says only what the messages say that it names: of each part of it the better half must stand there. And a line
changes only by what was extracted from those messages: a fact of the same slot that holds one value at a time, one that
took the place of what the line tells or made it doubtful, or one whose subject or value stands in the line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from domain.facts import Fact, LineEvidence
from domain.languages import is_unspaced, language_of
from domain.text import pattern_of
from facts.dates import DAY_NAMES, MONTH_NAMES
from facts.evidence import Source, stands_in, telling
from facts.numbers import mentioned
from facts.slots import COMPANION, PERSON, folded

#: Where one thing that a line says ends and another begins; a colon only says what the rest is about.
_PART = pattern_of(
    r",(?!\d)|[;!?…()，；。！？（）、]|\.(?=\s|$)| - |\b(?:and|but|who|which|while|though)\b"
    r"|并且|而且|以及|但是?|不过",
    re.IGNORECASE,
)
#: Characters that tell nothing by themselves, or only write a day or an age.
_EMPTY = frozenset("的了是在有和与于不就也着过被把从到为年月日号岁约生至起止自共")


def borne_out(text: str, sources: Sequence[Source], old: str, own: frozenset[str]) -> bool:
    """Whether of each part of a line at least half stands in these messages, or in the line as it was.

    ``own`` are terms of the names of the two who talk, which stand in every line. A number that stands there counts;
    any other may be a day or a year of birth, which is judged elsewhere.
    """
    said = folded("\n".join([*(source.text for source in sources), old]))
    terms = telling(old).union(*(one.terms for source in sources for one in source.sentences))
    numbers = mentioned(old).union(*(source.numbers for source in sources))
    neutral = own | _calendar()
    for part in _PART.split(text):
        wanted = [term for term in telling(part) - neutral if not is_unspaced(term[-1])]
        counted = [term for term in wanted if numbers & mentioned(term) or not mentioned(term)]
        stand = [term in terms or bool(mentioned(term)) for term in counted]
        characters = list(_characters(folded(part), said, own))
        if 2 * (sum(stand) + sum(characters)) < len(stand) + len(characters):
            return False
    return True


def _characters(part: str, said: str, own: frozenset[str]) -> Iterator[bool]:
    """For each character of a script without spaces that tells anything, whether it stands there beside another."""
    for at, character in enumerate(part):
        if not is_unspaced(character):
            continue
        pairs = [part[start : start + 2] for start in (at - 1, at) if start >= 0]
        pairs = [pair for pair in pairs if len(pair) == 2 and is_unspaced(pair[0]) and is_unspaced(pair[1])]
        if own.isdisjoint(pairs):
            stands = any(pair in said for pair in pairs)
            if stands or character not in _EMPTY:
                yield stands


@lru_cache(1)
def _calendar() -> frozenset[str]:
    """The terms of days, and those by which the program writes ages and ends."""
    return telling(
        " ".join(
            (
                *MONTH_NAMES,
                *DAY_NAMES,
                "born about since until ended before previously formerly now currently",
            )
        )
    )


def concerned(
    lines: Iterable[LineEvidence],
    resting: Mapping[str, Sequence[Fact]],
    new: Iterable[Fact],
    changes: Iterable[tuple[Fact, Fact]],
    own: frozenset[str] = frozenset(),
) -> dict[str, frozenset[str]]:
    """For each line, the messages from which something was extracted that concerns it.

    ``resting`` are the facts of messages, by their ids; ``new`` facts were extracted, and ``changes`` are those known
    before with the new ones that did something to them.
    """
    done = defaultdict(set)
    for known, by in changes:
        done[by.text_id].add(known.text_id)
    found: dict[str, frozenset[str]] = {}
    extracted = tuple(new)
    for line in lines:
        told = _told_by(line, resting)
        touching = [one for one in extracted if _concerns(one, line.line, told, done[one.text_id], own)]
        found[line.line.strip()] = frozenset(turn for one in touching for turn in one.turns)
    return found


def _told_by(line: LineEvidence, resting: Mapping[str, Sequence[Fact]]) -> list[Fact]:
    """The facts that a line tells: those whose value stands in it; in another language all that it rests on."""
    there = list(dict.fromkeys(fact for turn in line.turns for fact in resting.get(turn, ())))
    spoken = language_of(line.line)
    return [
        fact for fact in there if _stands(fact.value, line.line) or language_of(fact.restatement) != spoken
    ]


def _concerns(
    one: Fact, line: str, told: Sequence[Fact], changed: Iterable[str], own: frozenset[str]
) -> bool:
    ids = {fact.text_id for fact in told}
    if one.text_id in ids or not ids.isdisjoint(changed):
        return True
    if one.single and any(fact.slot == one.slot for fact in told):
        return True
    named = {one.slot.subject, folded(one.subject)} - {PERSON, COMPANION, ""}
    plain = folded(line)
    if any(stands_in(name, plain) for name in named if not telling(name) <= own):
        return True
    return _stands(one.value, line, own)


def _stands(value: str, line: str, own: frozenset[str] = frozenset()) -> bool:
    """Whether the better half of a value stands in a line."""
    wanted = telling(value) - own
    return bool(wanted) and 2 * len(wanted & telling(line)) >= len(wanted)
