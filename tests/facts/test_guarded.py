"""A pattern is looked for only where a text can hold it: whatever it is found in holds one of the parts it needs.

Proven from the parsed pattern rather than tried with drawn texts: a pattern with a hundred alternatives needs thousands
of draws before the one without its letters turns up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import zip_longest
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from domain.patterns import Guarded
from facts import ages, checking, comparing, cues, evidence, figures, importance, refuting, spans
from language import forget_forms, forget_requests, numbers, times, words
from storage import facts as stored_facts

GUARDED = {
    name: one
    for module in (cues, evidence, refuting, forget_forms, forget_requests, numbers)
    for name, one in vars(module).items()
    if isinstance(one, Guarded)
}
GUARDED |= {
    "LUNAR_DAY": times.LUNAR_DAY,
    "_CLOCK": times._CLOCK,
    "_COUNTED_NAMES": figures._COUNTED_NAMES,
    "_UNTIL": checking._UNTIL,
    "_IN_MARKS": spans._IN_MARKS,
    "_INTRODUCED": spans._INTRODUCED,
    "_VITAL_WORDS": importance._VITAL_WORDS,
    "_CANCELS": comparing._CANCELS,
    "_CALLED": words._CALLED,
    "_MISTAKEN": stored_facts._MISTAKEN,
}
GUARDED |= {f"ages {name}": one for name, one in vars(ages).items() if isinstance(one, Guarded)}
GUARDED |= {f"age {number}": one for number, (one, _) in enumerate((*ages._ENGLISH, *ages._CHINESE))}
_FORMS = (forget_forms.CLEAR, forget_forms.LIKELY, forget_forms.HAN_CLEAR, forget_forms.HAN_LIKELY)
GUARDED |= {f"form {number}": one for number, one in enumerate(one for forms in _FORMS for one in forms)}
#: A character that may be any of many.
_ANY = "\0"
#: A class of more characters than this counts as any character.
_FEW = 12


def matches_without(pattern: re.Pattern[str], parts: Iterable[str]) -> set[str]:
    """What matches may end with that hold none of these parts; empty if every match holds one."""
    parts = tuple(parts)
    longest = max(map(len, parts))
    folded = bool(pattern.flags & re.IGNORECASE)

    def add(states: set[str], letters: Iterable[str]) -> set[str]:
        longer = {state + (letter.casefold() if folded else letter) for state in states for letter in letters}
        return {state[-longest:] for state in longer if not any(part in state for part in parts)}

    def walk(states: set[str], nodes: Any) -> set[str]:
        for kind, value in nodes:
            if kind is op.LITERAL:
                states = add(states, chr(value))
            elif kind is op.IN:
                states = add(states, _letters(value))
            elif kind is op.BRANCH:
                states = set().union(*(walk(states, one) for one in value[1]))
            elif kind is op.SUBPATTERN:
                states = walk(states, value[3])
            elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
                states = repeat(states, *value)
            elif kind is op.ASSERT and value[0] > 0:
                states = states if walk(states, value[1]) else set()
            elif kind is op.ASSERT:
                behind = walk({""}, value[1])
                states = {both for state in states for end in behind if (both := _merged(state, end)) is not None}
            elif kind not in (op.AT, op.ASSERT_NOT):
                states = add(states, _ANY)
        return states

    def repeat(states: set[str], least: int, most: int, nodes: Any) -> set[str]:
        for _ in range(least):
            states = walk(states, nodes)
        for _ in range(min(most - least, longest + 1)):
            states = states | walk(states, nodes)
        return states

    return walk({""}, parser.parse(pattern.pattern, pattern.flags))


def _merged(first: str, second: str) -> str | None:
    """What ends with both, or None where they differ."""
    pairs = list(zip_longest(reversed(first), reversed(second), fillvalue=_ANY))
    if any(one != other and _ANY not in (one, other) for one, other in pairs):
        return None
    return "".join(other if one == _ANY else one for one, other in reversed(pairs))


def _letters(members: Any) -> list[str]:
    """The characters of a class, or any character where they are many."""
    found: list[str] = []
    for kind, value in members:
        if kind is op.LITERAL:
            found.append(chr(value))
        elif kind is op.RANGE and value[1] - value[0] < _FEW:
            found.extend(map(chr, range(value[0], value[1] + 1)))
        else:
            return [_ANY]
    return found if len(found) <= _FEW else [_ANY]


@pytest.mark.parametrize("name", GUARDED)
def test_no_cue_is_missed_for_want_of_its_letters(name: str) -> None:
    guarded = GUARDED[name]
    assert matches_without(guarded.pattern, guarded.parts) == set()


@pytest.mark.parametrize("rule", times._RULES, ids=range(len(times._RULES)))
def test_no_day_is_missed_for_want_of_its_letters(rule: times._Rule) -> None:
    pattern = re.compile(rule.pattern.pattern, rule.pattern.flags)
    assert matches_without(pattern, rule.needs) == set()
    assert not rule.also or matches_without(pattern, rule.also) == set()


def test_a_part_that_holds_another_one_changes_nothing() -> None:
    guarded = Guarded("six|sixteen|七|十七", "six(?:teen)?|十?七")
    found = ["sixteen", "a six", "十七", "七", "seven", "十", "八 si x"]
    assert [one for one in found if guarded.may_stand_in(one)] == ["sixteen", "a six", "十七", "七"]


def test_a_match_without_any_part_is_found() -> None:
    assert matches_without(re.compile(r"\b(?:yes|no)\b|好+"), ["yes", "好"]) == {"no"}
    assert matches_without(re.compile(r"a[bc]d?"), ["ab"]) == {"ac", "cd"}
    assert matches_without(re.compile(r"(?:ab)+|YES", re.IGNORECASE), ["ab", "yes"]) == set()
    assert matches_without(re.compile(r"(?:a|(?<=a))b|a(?=b)"), ["ab"]) == set()


def test_a_pattern_is_not_even_tried_where_no_part_of_it_stands() -> None:
    guarded = Guarded("yes|好", r"\b(?:yes|no)\b|好")
    assert guarded.search("no") is None
    assert guarded.all_in("好, yes")[0][0] == "好"


def test_capitals_count_for_nothing_where_a_pattern_says_so() -> None:
    assert Guarded("yes", r"\byes\b", any_case=True).search("YES") is not None
    assert Guarded("yes", r"\byes\b").search("YES") is None
