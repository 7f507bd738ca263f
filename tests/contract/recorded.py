"""A plugin of pytest that writes down what the tests of the contract do: statements, where they are sent, operations.

python -m pytest -p tests.contract.recorded tests/contract        with RECORDED=FILE in the environment
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import storage
from storage.sqlite.database import SqliteDatabase

ROOT = Path(__file__).resolve().parents[2]

places: set[tuple[str, int]] = set()
statements: set[str] = set()
operations: set[str] = set()


def repositories() -> list[type]:
    """The classes that send statements."""
    modules = [importlib.import_module(f"storage.{one.name}") for one in pkgutil.iter_modules(storage.__path__)]
    own = [
        one for module in modules for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__
    ]
    found = [one for one in own if inspect.isclass(one) and not one.__module__.endswith((".registry", ".engine"))]
    return [
        one for one in found if re.search(r"\b_?database\.(run|write)\(|\btx\.(do|many|run)\(", inspect.getsource(one))
    ]


def _named(one: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield from ((name, member) for name, member in vars(one).items() if inspect.isfunction(member) and name[0] != "_")


def every_operation() -> set[str]:
    """What each repository can be asked for, as ``Class.method``."""
    return {f"{one.__name__}.{name}" for one in repositories() for name, _ in _named(one)}


def _counted(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def called(*args: Any, **more: Any) -> Any:
        operations.add(name)
        return operation(*args, **more)

    return called


def _place() -> tuple[str, int]:
    """The file of a repository that sends the statement, and the line."""
    frame = sys._getframe(2)
    seams = ("/database.py", "/engine.py", "/recorded.py")
    while frame.f_back and frame.f_code.co_filename.endswith(seams) and "_meta" not in frame.f_code.co_name:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def pytest_configure(config: pytest.Config) -> None:
    """Let everything that is done be written down."""
    run, execute, execute_many = SqliteDatabase.run, SqliteDatabase.execute, SqliteDatabase.execute_many

    def run_and_note(self: SqliteDatabase, sql: str, *values: Any) -> Any:
        note(sql)
        return run(self, sql, *values)

    def execute_and_note(self: SqliteDatabase, sql: str, values: Any) -> Any:
        note(sql)
        return execute(self, sql, values)

    def execute_many_and_note(self: SqliteDatabase, sql: str, rows: Any) -> Any:
        note(sql)
        return execute_many(self, sql, rows)

    def note(sql: str) -> None:
        places.add(_place())
        statements.add(sql)

    SqliteDatabase.run = run_and_note  # type: ignore[method-assign]
    SqliteDatabase.execute = execute_and_note  # type: ignore[method-assign]
    SqliteDatabase.execute_many = execute_many_and_note  # type: ignore[method-assign]
    for one in repositories():
        for name, operation in list(_named(one)):
            setattr(one, name, _counted(f"{one.__name__}.{name}", operation))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write it all into the file."""
    named = [f"{Path(file).relative_to(ROOT)}:{line}" for file, line in sorted(places)]
    found = {"statements": sorted(statements), "places": named, "operations": sorted(operations)}
    Path(os.environ["RECORDED"]).write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
