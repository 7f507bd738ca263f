"""The examples in docstrings are run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    f"{room}.{path.stem}"
    for room in ("language", "domain", "facts", "importers")
    for path in sorted((ROOT / room).glob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_come_out_as_they_are_written(name):
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert result.failed == 0
