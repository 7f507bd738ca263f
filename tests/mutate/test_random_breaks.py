"""Breaks of random lines stand where the tests run, are the same for the same seed, and are caught only by a test."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest

from tests.mutate.__main__ import attempt, told
from tests.mutate.breaks import Break
from tests.mutate.random_breaks import NotPassing, break_of, drawn, mapped_tests, mutations, running

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Prices, 价格."""


def price(count: int, each: int, member: bool = False) -> int:
    """What so many cost."""
    total = count * each  # 单价
    if member and total >= 100:
        return total - 10
    return total


def never_tried(name: str) -> str:
    """No test comes here."""
    return "free" if not name else name
'''
TEST = """from shop.prices import price


def test_members_pay_less():
    assert price(10, 10, True) == 90


def test_others_pay_it_all():
    assert price(2, 5) in (10, 7)
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small program with its tests, which need no plugin of pytest: to load them is most of a run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in {"shop/prices.py": SOURCE, "tests/shop/test_prices.py": TEST, "tests/test_else.py": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for folder in ("shop", "tests", "tests/shop"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def test_random_lines_are_broken_where_tests_run_them_and_only_a_failing_test_catches_one(tree: Path) -> None:
    assert mapped_tests(tree, "shop/prices.py") == ["tests/shop/test_prices.py"]
    breaks = [one for one in drawn(tree, 5, Random(1)) if isinstance(one, Break)]
    again = [one for one in drawn(tree, 5, Random(1)) if isinstance(one, Break)]
    assert breaks == again
    assert len(breaks) == 5
    first, last = SOURCE.index("    total ="), SOURCE.index("def never_tried")
    assert all(first <= SOURCE.index(one.old) < last for one in breaks), "what no test runs is left alone"
    (times,) = [one for one in mutations(SOURCE) if one.new == "(count + each)"]
    (least,) = [one for one in mutations(SOURCE) if one.new == "(total > 100)"]
    tests = ["tests/shop/test_prices.py::test_others_pay_it_all", "tests/shop/test_prices.py::test_members_pay_less"]
    outcomes = [attempt(break_of("shop/prices.py", SOURCE, *one), tree) for one in (
        (least, tests), (times, tests[:1]), (times, ["tests/shop/test_prices.py::test_that_is_not_there"]),
    )]  # fmt: skip
    assert [one.outcome for one in outcomes] == ["caught", "alive", "unknown"]
    assert outcomes[0].said == "caught by test_members_pay_less"
    assert (tree / "shop/prices.py").read_text(encoding="utf-8") == SOURCE


def test_the_tests_of_a_line_are_those_that_run_it(tree: Path) -> None:
    lines = running(tree, "shop/prices.py", ["tests/shop/test_prices.py"])
    members, others = (f"tests/shop/test_prices.py::test_{name}" for name in ("members_pay_less", "others_pay_it_all"))
    numbers = {text.strip(): at for at, text in enumerate(SOURCE.splitlines(), 1)}
    assert set(lines[numbers["total = count * each  # 单价"]]) == {members, others}
    assert lines[numbers["return total - 10"]] == [members]
    assert lines[numbers["return total"]] == [others]
    assert numbers['return "free" if not name else name'] not in lines


def test_a_file_whose_tests_do_not_pass_is_told_and_not_broken(tree: Path) -> None:
    (tree / "tests/shop/test_prices.py").write_text(TEST.replace("== 90", "== 91"), encoding="utf-8")
    (told_of,) = drawn(tree, 5, Random(1))
    assert isinstance(told_of, NotPassing)


@pytest.mark.parametrize(
    ("code", "said", "outcome", "exit_code"),
    [
        (1, "FAILED tests/a.py::test_b - assert\n", "caught", 0),
        (0, "", "alive", 1),
        (None, "FAILED tests/a.py::test_b\n", "unknown", 1),
        (2, "ERROR tests/a.py\n", "unknown", 1),
    ],
    ids=["a test fails", "all pass", "they never end", "they cannot be run"],
)
def test_tests_that_never_end_catch_nothing(
    tree: Path, code: int | None, said: str, outcome: str, exit_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Break("one", "P1", "shop/prices.py", "total - 10", "total - 11", ("tests/a.py::test_b",))
    verdict = attempt(broken, tree, lambda _, tests: (code, said))
    assert verdict.outcome == outcome
    assert told([verdict]) == exit_code
    assert f"1 breaks, {int(outcome == 'alive')} alive, {int(outcome == 'unknown')} unknown" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["facts/comparing.py", "domain/text.py", "facts/cues.py"])
def test_every_mutation_is_another_program_and_its_text_stands_once(file: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    found = mutations(source)
    assert len(found) > 20
    for one in Random(5).sample(found, 20):
        made = break_of(file, source, one, ())
        assert source.count(made.old) == 1
        broken = source.replace(made.old, made.new)
        assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(source))
