"""Patterns are compiled when they are first looked for, and each of them can be."""

from __future__ import annotations

import ast
import gc
import importlib
import re

import pytest

from domain.patterns import pattern_of
from tests.test_architecture import MODULES, ROOT

#: What a start of the chat loads; whatever else there is may compile what it needs.
ROOMS = ("domain", "facts", "recall", "models", "storage", "jobs", "llm", "memory", "conversation")


def test_a_mistake_in_a_pattern_shows_at_its_first_look_and_not_before() -> None:
    broken = pattern_of("(")
    with pytest.raises(re.error):
        broken.search("a")


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    late, compiled = pattern_of(r"(?P<who>b+)", re.IGNORECASE), re.compile(r"(?P<who>b+)", re.IGNORECASE)
    for text in ("aBBa", "", "none"):
        assert late.sub("-", text) == compiled.sub("-", text)
        assert [found["who"] for found in late.finditer(text)] == compiled.findall(text)
    assert (late.pattern, late.flags, late.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)


def test_every_pattern_of_the_program_can_be_compiled() -> None:
    for name in MODULES:
        if name.split(".")[0] in ROOMS:
            importlib.import_module(name)
    gc.unfreeze()  # what was loaded with the tests is no longer among the objects
    late = [one for one in gc.get_objects() if type(one) is type(pattern_of(""))]
    gc.freeze()
    assert len(late) > 150
    assert all(one.pattern is not None for one in late)


def test_nothing_that_a_start_loads_compiles_a_pattern_when_it_is_imported() -> None:
    compiling = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for name, path in MODULES.items()
        if name.split(".")[0] in ROOMS
        for node in at_import(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    ]
    assert compiling == []


def at_import(tree: ast.AST) -> list[ast.AST]:
    """What runs when a module is imported: all but the insides of functions."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found += [child, *at_import(child)]
    return found
