"""Lines through a pipe: whatever their length and wherever they are cut."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import errors
from interfaces.interrupting import Wishes
from interfaces.terminal.batch import inputs_of, lines_of
from interfaces.terminal.parsing import Typed
from tests.support.growing import steps


@contextmanager
def piping(*parts: bytes) -> Iterator[TextIO]:
    """The reading end of a pipe into which these parts are written."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as file:
            for part in parts:
                file.write(part)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, encoding="utf-8") as stream:
        yield stream
        writer.join()


@given(st.lists(st.text(alphabet="ab你\r", max_size=5), max_size=6), st.integers(1, 4), st.booleans())
def test_lines_come_whole_however_they_were_cut(given_lines: list[str], size: int, ended: bool) -> None:
    data = ("\n".join(given_lines) + ("\n" if ended else "")).encode()
    with piping(*(data[at : at + size] for at in range(0, len(data), size))) as stream:
        found = list(lines_of(stream, Wishes()))
    expected = data.decode().split("\n")
    expected = expected if expected[-1] else expected[:-1]
    assert [line.rstrip("\r") for line in found] == [line.rstrip("\r") for line in expected]


def test_the_lines_of_a_block_are_one_input() -> None:
    lines = ["one", '"""', "/reset", "", "  two", '"""', "three", '"""', '"""']
    assert list(inputs_of(lines)) == [
        Typed("one"),
        Typed("/reset\n\n  two", block=True),
        Typed("three"),
        Typed("", block=True),
    ]


def test_a_block_that_never_ends_is_refused_after_what_stood_before_it() -> None:
    found = inputs_of(["one", '"""', "two"])
    assert next(found) == Typed("one")
    with pytest.raises(errors.UsageError, match="open_block"):
        next(found)


def test_the_work_for_a_huge_line_grows_with_its_length_and_not_faster() -> None:
    def read(megabytes: int) -> None:
        with piping(b"x" * (megabytes * 1_000_000)) as stream:
            (line,) = lines_of(stream, Wishes())
            assert len(line) == megabytes * 1_000_000

    assert steps(lambda: read(16)) < 8 * steps(lambda: read(4))
