"""Several programs on one memory: one writes the index of vectors, all of them search, each text is embedded once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.terminal.pseudo import environment
from tests.storage.vectors.indexed import PATIENCE, IndexedStore
from tests.support.warm import Piped

HOUSE = Path(__file__).parents[3]
SCRIPT = """
import json, sys
from pathlib import Path
from domain.errors import StorageError
from tests.storage.vectors.indexed import IndexedStore
store = IndexedStore(Path(sys.argv[1]))
store.vectors._most_in_memory = int(sys.argv[2])
store.started()
def find(text):
    try:
        return "".join(hit.text_id for hit in store.search(text, 1))
    except StorageError as fault:  # while it is rebuilt
        return fault.key
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
store.close()
"""
TEXTS = ["the cat sleeps", "it sleeps all day", "we sailed to Corfu", "a fine ship", "tea or coffee", "green tea"]
MANY = 48_000_000


class Program:
    """A program with the memory of a folder open, that does what it is sent."""

    def __init__(self, folder: Path, most_in_memory: int = MANY) -> None:
        command = [sys.executable, "-c", SCRIPT, str(folder), str(most_in_memory)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = Piped(command, **pipes, text=True, cwd=HOUSE, env=environment(folder))

    def do(self, python: str) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{python}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def finds(self, text: str) -> str:
        """The id of the nearest message; "" where there is none, and what is wrong where that is."""
        return str(self.do(f"find({text!r})"))

    @property
    def writes(self) -> bool:
        return bool(self.do("store.indexing.writes"))

    def is_ready(self) -> bool:
        return bool(self.do("store.indexing.degraded == () and not store.embeddings.waiting(1)"))

    def end(self) -> None:
        self.process.communicate()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    programs: list[Program] = []

    def start(most_in_memory: int = MANY) -> Program:
        programs.append(Program(tmp_path, most_in_memory))
        until(programs[-1].is_ready)
        return programs[-1]

    store = IndexedStore(tmp_path)
    store.add_session("s1")
    store.add_session("s2")
    store.close()
    yield start
    for one in programs:
        one.kill()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def tables(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "vectors").glob("*.lance"))


def test_one_program_writes_the_index_and_all_find_everything(started: Callable[..., Program], tmp_path: Path) -> None:
    first, second = started(), started()
    assert (first.writes, second.writes) == (True, False)
    first.do(f"store.add_messages('s1', {TEXTS[:3]})")
    second.do(f"store.add_messages('s2', {TEXTS[3:]})")
    for program in (first, second):
        until(lambda: program.finds("we sailed to Corfu") == "s1-2" and program.finds("green tea") == "s2-2")  # noqa: B023
    asked = [program.do("store.oracle.asked") for program in (first, second)]
    assert (sorted(asked[0]), asked[1]) == (sorted(TEXTS), [])
    second.do("store.remove_messages(['s1-2'])")
    for program in (first, second):
        until(lambda: program.finds("we sailed to Corfu") != "s1-2")  # noqa: B023
    until(lambda: first.do("store.vectors.count()") == len(TEXTS) - 1)
    first.end()
    second.end()
    store = IndexedStore(tmp_path).started()
    assert store.settle()
    assert store.vectors.count() == len(TEXTS) - 1
    store.close()


def test_who_is_killed_is_followed_by_another_within_seconds(started: Callable[..., Program], tmp_path: Path) -> None:
    first, second, third = started(), started(), started()
    first.do(f"store.add_messages('s1', {TEXTS})")
    first.kill()
    until(lambda: second.writes or third.writes)
    assert not (second.writes and third.writes)
    second.do("store.add_messages('s2', ['a white horse'])")
    until(lambda: second.finds("a white horse") == third.finds("a white horse") == "s2-0")
    for program in (second, third):
        program.end()
    store = IndexedStore(tmp_path).started()
    assert store.settle()
    assert sorted(store.vectors.ids().tolist()) == sorted([*(f"s1-{n}".encode() for n in range(6)), b"s2-0"])
    store.close()


def test_a_program_that_searches_the_table_keeps_it_over_a_rebuild(
    started: Callable[..., Program], tmp_path: Path
) -> None:
    first, reader = started(), started(0)
    first.do(f"store.add_messages('s1', {TEXTS})")
    until(lambda: reader.finds("we sailed to Corfu") == "s1-2")
    assert not reader.writes
    assert tables(tmp_path) == ["vectors.lance"]
    reader.do("store.indexing._worker.end(10)")  # it does not notice what others do
    first.do("store.remove_messages(['s1-3'])")
    first.do("store.indexing.reindex()")
    until(lambda: tables(tmp_path) == ["vectors-1.lance", "vectors.lance"])
    until(lambda: first.do("store.embeddings.index_table()") == "vectors-1")
    assert reader.finds("we sailed to Corfu") == "s1-2"
    assert first.finds("we sailed to Corfu") == "s1-2"
    reader.kill()
    until(lambda: tables(tmp_path) == ["vectors-1.lance"])


def test_a_rebuild_that_another_program_asks_for_leaves_no_byte(
    started: Callable[..., Program], tmp_path: Path
) -> None:
    first, second = started(0), started(0)
    first.do(f"store.add_messages('s1', {TEXTS})")
    until(lambda: second.finds("we sailed to Corfu") == "s1-2")
    gone = second.do("[raw.hex() for raw in store.embeddings.bytes_of(['s1-2'])]")
    second.do("store.remove_messages(['s1-2'])")
    assert second.do("store.indexing.scrub(60)")
    content = b"".join(path.read_bytes() for path in (tmp_path / "vectors").rglob("*") if path.is_file())
    assert content
    assert not any(bytes.fromhex(raw) in content for raw in gone)
    assert not second.writes
    until(lambda: second.finds("a fine ship") == "s1-3")


def test_two_programs_that_write_at_once_leave_the_index_whole(started: Callable[..., Program], tmp_path: Path) -> None:
    programs = [started(), started()]
    for at in range(0, 60, 2):
        for name, program in zip(("s1", "s2"), programs, strict=True):
            program.do(f"store.add_messages('{name}', ['{name} says {at}', 'and answers {at}'], first={at})")
    for program in programs:
        until(program.is_ready)
        until(lambda: program.finds("s2 says 58") == "s2-58")  # noqa: B023
        assert program.do("store.indexing.status().fault") == ""
    assert programs[0].do("len(store.oracle.asked)") == 120
    for program in programs:
        program.end()
    store = IndexedStore(tmp_path).started()
    assert store.settle()
    assert store.vectors.count() == len(set(store.vectors.ids().tolist())) == 120
    assert store.oracle.asked == []
    store.close()
