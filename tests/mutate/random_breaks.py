"""Breaks of random lines: which code a line holds that can be broken, and which tests run it.

A file is drawn, its tests are run once to see which of them run which of its lines, and some of those lines are broken,
each to be tried with the tests that run it. The same seed draws the same breaks from the same tree.
"""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.mutate.breaks import Break

#: So many breaks are drawn from one file, so that its tests are not run for the sake of one.
_OF_A_FILE = 5
#: So many files of tests are asked which lines they run: the file's own, then those that import it and little else.
_TEST_FILES = 4
_OUTSIDE = ("tests", "bench", "docs")
_PATIENCE = 600

_COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COUNTED: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
_CALLED = {"any": "all", "all": "any", "min": "max", "max": "min"}


class NotPassing(Exception):
    """The tests of a file fail, or never end, before anything is broken."""


@dataclass(frozen=True, order=True)
class Mutation:
    """What stands from ``start`` to ``end`` of a source, in characters, becomes ``new``."""

    line: int
    start: int
    end: int
    new: str


def mutations(source: str) -> list[Mutation]:
    """Every way in which one expression or statement of a source can be broken."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found = set()
    for node in ast.walk(ast.parse(source)):
        for new in _broken(node):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            span = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
            found.add(Mutation(node.lineno, *span, new))
    return sorted(one for one in found if source[one.start : one.end] != one.new)


def _broken(node: ast.AST) -> Iterator[str]:
    """What may stand in the place of a piece of code."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield f"({ast.unparse(ast.Compare(node.left, [_COMPARED[type(op)]()], node.comparators))})"
        case ast.BoolOp(op=op, values=values):
            other = ast.And() if isinstance(op, ast.Or) else ast.Or()
            yield f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COUNTED and not _is_text(left, right):
            yield f"({ast.unparse(ast.BinOp(left, _COUNTED[type(op)](), right))})"
        case ast.IfExp(body=body, orelse=orelse):
            yield f"({ast.unparse(body)})"
            yield f"({ast.unparse(orelse)})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield ast.unparse(ast.Call(ast.Name(_CALLED[name]), node.args, node.keywords))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "pass"


def _is_text(*sides: ast.expr) -> bool:
    return any(isinstance(one, ast.JoinedStr | ast.Constant | ast.List | ast.Tuple) for one in sides) and not any(
        isinstance(one, ast.Constant) and isinstance(one.value, int | float) for one in sides
    )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def break_of(file: str, source: str, one: Mutation, tests: Sequence[str]) -> Break:
    """A mutation as a break: with as much around it as makes its text stand exactly once."""
    start, end = one.start, one.end
    while source.count(source[start:end]) != 1:
        start, end = source.rfind("\n", 0, max(start - 1, 0)) + 1, source.find("\n", end + 1)
        end = len(source) if end < 0 else end
    new = source[start : one.start] + one.new + source[one.end : end]
    was = " ".join(source[one.start : one.end].split())
    name = f"{file}:{one.line} {was[:40]} -> {one.new[:40]}"
    return Break(name, "random", file, source[start:end], new, tuple(tests))


def mapped_tests(tree: Path, file: str) -> list[str]:
    """The files of tests that a file of the program is mapped to, its own first."""
    own, module = Path(file), ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    mirror = f"tests/{own.with_name('test_' + own.name)}"
    found = []
    for path in sorted((tree / "tests").rglob("test_*.py")):
        name = str(path.relative_to(tree))
        imports = _imports(path)
        if name == mirror or module in imports:
            found.append((name != mirror, len(imports), name))
    return [name for _, _, name in sorted(found)[:_TEST_FILES]]


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return found


def running(tree: Path, file: str, tests: Sequence[str]) -> dict[int, list[str]]:
    """For each line of a file the tests that run it, by their names for pytest. Raises NotPassing."""
    from coverage import CoverageData

    settings, data = tree / ".coveragerc-of-mutate", tree / ".coverage-of-mutate"
    settings.write_text(
        f"[run]\ndynamic_context = test_function\ninclude = {tree / file}\ndata_file = {data}\n", encoding="utf-8"
    )
    data.unlink(missing_ok=True)
    command = [sys.executable, "-B", "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q"]
    command += ["-p", "no:cacheprovider", *tests]
    code, _ = ended(command, tree, _PATIENCE * len(tests))
    if code != 0:
        why = "the tests never ended" if code is None else f"pytest ended with code {code}"
        raise NotPassing(f"{' '.join(tests)}: {why}")
    read = CoverageData(str(data))
    read.read()
    lines = read.contexts_by_lineno(str(tree / file))
    return {line: named for line, contexts in lines.items() if (named := _named(contexts, tests))}


def ended(command: Sequence[str], tree: Path, patience: float) -> tuple[int | None, str]:
    """The exit code and the output of a command with all that it started; None when it was given up."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, cwd=tree, env=environment, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            out = process.communicate(timeout=patience)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        return process.returncode, out


def _named(contexts: Sequence[str], tests: Sequence[str]) -> list[str]:
    """Functions of tests as pytest calls them, in the order of their files."""
    found = []
    for context in contexts:
        module, _, function = context.rpartition(".")
        file = module.replace(".", "/") + ".py"
        if function.startswith("test_") and file in tests:
            found.append((tests.index(file), f"{file}::{function}"))
    return [name for _, name in sorted(set(found))]


def drawn(tree: Path, count: int, random: Random) -> Iterator[Break | NotPassing]:
    """So many breaks of random lines that tests run, and the files whose tests do not pass.

    A file is the likelier the more there is to break in it.
    """
    sources = {
        str(path.relative_to(tree)): path.read_text(encoding="utf-8")
        for path in sorted(tree.rglob("*.py"))
        if path.relative_to(tree).parts[0] not in _OUTSIDE
    }
    ways = {file: found for file, source in sources.items() if (found := mutations(source))}
    order = sorted(ways, key=lambda file: random.random() ** (1 / len(ways[file])), reverse=True)
    left = count
    for file in order:
        if left <= 0:
            return
        if not (tests := mapped_tests(tree, file)):
            continue
        try:
            lines = running(tree, file, tests)
        except NotPassing as fault:
            yield fault
            continue
        broken = [one for one in ways[file] if one.line in lines]
        chosen = random.sample(broken, min(len(broken), _OF_A_FILE, left))
        left -= len(chosen)
        for one in sorted(chosen):
            yield break_of(file, sources[file], one, lines[one.line])
