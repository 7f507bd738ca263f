"""A pattern is looked for only where a text can hold it: whatever it is found in holds one of the parts it needs."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.patterns import Guarded, holds_any
from facts import cues
from language import forget_forms, times

GUARDED = {
    name: one for module in (cues, forget_forms) for name, one in vars(module).items() if isinstance(one, Guarded)
}
_FORMS = (forget_forms.CLEAR, forget_forms.LIKELY, forget_forms.HAN_CLEAR, forget_forms.HAN_LIKELY)
GUARDED |= {f"form {number}": one for number, one in enumerate(one for forms in _FORMS for one in forms)}
#: How many texts are drawn for each pattern; ``make torture`` draws more.
_EXAMPLES = int(os.environ.get("GUARDED_EXAMPLES", "15"))
TRIED = settings(max_examples=_EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", GUARDED)
@TRIED
@given(data=st.data())
def test_no_cue_is_missed_for_want_of_its_letters(name: str, data: st.DataObject) -> None:
    guarded = GUARDED[name]
    text = data.draw(st.from_regex(guarded.pattern))
    assert guarded.may_stand_in(text)
    assert guarded.search(text) is not None


@pytest.mark.parametrize(
    ("needs", "pattern"), [(rule.needs, rule.pattern) for rule in times._RULES], ids=range(len(times._RULES))
)
@TRIED
@given(data=st.data())
def test_no_day_is_missed_for_want_of_its_letters(
    needs: tuple[str, ...], pattern: re.Pattern[str], data: st.DataObject
) -> None:
    written = re.compile(pattern.pattern, pattern.flags)
    assert holds_any(data.draw(st.from_regex(written)), needs)


def test_a_pattern_is_not_even_tried_where_no_part_of_it_stands() -> None:
    guarded = Guarded("yes|好", r"\b(?:yes|no)\b|好")
    assert guarded.search("no") is None
    assert guarded.all_in("好, yes")[0][0] == "好"


def test_capitals_count_for_nothing_where_a_pattern_says_so() -> None:
    assert Guarded("yes", r"\byes\b", any_case=True).search("YES") is not None
    assert Guarded("yes", r"\byes\b").search("YES") is None
