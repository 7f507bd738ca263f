"""The list of deliberate breaks stays true; ``make mutate`` tries them."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

from tests.mutate.__main__ import BREAKS, ROOT


def test_a_break_has_its_text_exactly_once_its_tests_and_another_text() -> None:
    read = cache(lambda file: (ROOT / file).read_text(encoding="utf-8"))
    together = dict[str, str]()  # a file with each of its breaks that is not in the place of one before it: parsed once
    for broken in BREAKS:
        source = read(broken.file)
        assert source.count(broken.old) == 1, broken.name
        so_far = together.get(broken.file, source)
        if so_far.count(broken.old) == 1:
            together[broken.file] = so_far.replace(broken.old, broken.new)
        else:
            ast.parse(source.replace(broken.old, broken.new))
        for test in broken.tests:
            file, _, name = test.partition("::")
            assert f"def {name}" in read(file), broken.name
    for file, source in together.items():
        ast.parse(source, file)


def test_every_promise_is_broken_at_least_twice() -> None:
    times = Counter(broken.promise for broken in BREAKS)
    promises = [f"P{number}" for number in range(1, 23)]
    assert {promise: times[promise] for promise in promises if times[promise] < 2} == {}
    assert len({broken.name for broken in BREAKS}) == len(BREAKS)
