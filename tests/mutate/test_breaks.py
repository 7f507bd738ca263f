"""The list of deliberate breaks stays true; ``make mutate`` tries them."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutate.breaks import Break
from tests.mutate.breaks_of_asking import OF_ASKING
from tests.mutate.breaks_of_knowing import OF_KNOWING
from tests.mutate.breaks_of_past import OF_PAST
from tests.mutate.breaks_of_storage import OF_STORAGE
from tests.mutate.breaks_of_talk import OF_TALK

BREAKS = sorted(
    (*OF_STORAGE, *OF_KNOWING, *OF_TALK, *OF_ASKING, *OF_PAST), key=lambda one: (len(one.promise), one.promise)
)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name)
def test_a_break_has_its_text_exactly_once_its_tests_and_another_text(broken: Break) -> None:
    source = (ROOT / broken.file).read_text(encoding="utf-8")
    assert source.count(broken.old) == 1
    ast.parse(source.replace(broken.old, broken.new))
    for test in broken.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


def test_every_promise_is_broken_at_least_twice() -> None:
    times = Counter(broken.promise for broken in BREAKS)
    promises = [f"P{number}" for number in range(1, 23)]
    assert {promise: times[promise] for promise in promises if times[promise] < 2} == {}
    assert len({broken.name for broken in BREAKS}) == len(BREAKS)
