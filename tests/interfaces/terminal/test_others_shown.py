"""What a person sees of memories of others: a source that is missing, once; where a text is from, in ``/why``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import run

KEY = "The spare key of the boathouse lies under the third flowerpot."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "shed"
    folder.mkdir()
    (folder / "2024-05-01 boat.md").write_text(KEY, "utf-8")
    return folder


@pytest.mark.parametrize(("language", "origin"), [("en", "from shed"), ("zh", "出自 shed")])
def test_why_and_the_search_by_hand_tell_the_source(notes: Path, tmp_path: Path, language: str, origin: str):
    given = "Where is the key of the boathouse?\n/why\n/why full\n/memory flowerpot\n"
    ran = run(tmp_path, "--batch", "-", given=given, EXTERNAL_MEMORIES=f"shed={notes}", LANGUAGE=language)
    told = ran.out + ran.err
    assert told.count(f"2024-05-01 · {origin} · 2024-05-01 boat.md") == 3
    assert "flowerpot" in told


def test_a_program_is_told_the_source_too(notes: Path, tmp_path: Path):
    ran = run(tmp_path, "-p", "Where is the key of the boathouse?", "--json", EXTERNAL_MEMORIES=f"shed={notes}")
    (one,) = json.loads(ran.out)["recalled"]
    assert (one["type"], one["source"], one["session"], one["text"]) == ("other", "shed", None, KEY)


@pytest.mark.parametrize(
    ("language", "line"), [("en", "The external memory gone was not found"), ("zh", "找不到外部记忆“gone”")]
)
def test_a_source_that_is_missing_is_said_in_one_line_and_the_talk_goes_on(
    notes: Path, tmp_path: Path, language: str, line: str
):
    sources = f"gone={tmp_path / 'nowhere'},shed={notes}"
    given = "Hello there, how are you?\nWhere is the key of the boathouse?\n/why\n"
    ran = run(tmp_path, "--batch", "-", given=given, EXTERNAL_MEMORIES=sources, LANGUAGE=language)
    told = ran.out + ran.err
    assert ran.code == 0
    assert told.count(line) == 1
    assert "shed" in told


def test_a_search_by_hand_that_finds_nothing_says_which_source_could_not_be_read(tmp_path: Path):
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    given = "/memory search flowerpot\n/memory search flowerpot\n"
    ran = run(tmp_path, given=given, EXTERNAL_MEMORIES=f"broken={tmp_path / 'broken.db'}", LANGUAGE="en")
    assert (ran.out + ran.err).count("(broken) is not a memory that can be read") == 1


@pytest.mark.parametrize("given", ["notes", "=path", "a=x,a=y", f"{'n' * 41}=x"])
def test_a_setting_that_names_no_source_is_refused_in_one_line(tmp_path: Path, given: str):
    ran = run(tmp_path, "-p", "Hello", EXTERNAL_MEMORIES=given)
    assert ran.code != 0
    assert "EXTERNAL_MEMORIES" in ran.err
