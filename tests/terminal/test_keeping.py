"""What the terminal keeps: the prompt's history, keys typed ahead, and .env."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

from interfaces.terminal import history_file
from interfaces.terminal.history import PromptHistory
from interfaces.terminal.setup.envfile import content, quoted, write, written
from interfaces.terminal.typeahead import edited
from storage.proof import Needles

# -- history


def test_entries_come_back_newest_first_whatever_they_hold(tmp_path: Path) -> None:
    entries = ["one", "two\nlines", "三 “quoted”\u2028x", "\\n"]
    history = PromptHistory(tmp_path / "history")
    for entry in entries:
        history.append_string(entry)
    assert list(PromptHistory(tmp_path / "history").load_history_strings()) == entries[::-1]


def test_the_file_is_for_its_owner_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        history_file.add(tmp_path / "history", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_a_remembered_line_comes_back_and_is_not_written(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "history")
    history.remember("half a thought")
    assert history.get_strings() == ["half a thought"]
    assert not (tmp_path / "history").exists()


def test_nothing_is_written_while_nothing_may_be(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "history", writing=lambda: False)
    history.append_string("secret")
    assert not (tmp_path / "history").exists()


def test_a_scrubbed_text_is_gone_from_the_file_and_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "history"
    history = PromptHistory(path)
    for entry in ("I live in Oslo", "/forget oslo", "other"):
        history.append_string(entry)
    history.forget("Oslo")
    assert history.get_strings() == ["other"]
    assert history_file.load(path) == ["other"]
    history_file.add(path, "line with\nOslo inside")
    history_file.scrubber(path)(Needles(("Oslo",)))
    assert history_file.load(path) == ["other"]


def test_a_damaged_file_gives_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b'"good"\n{"no": "text"}\nnot json\n\xff\xfe\n"last"\n')
    assert history_file.load(path) == ["good", "last"]


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    history = PromptHistory(tmp_path / "history")
    history.append_string("x")
    assert history.get_strings() == ["x"]


def test_a_long_history_is_shortened(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(json.dumps(str(at)) + "\n" for at in range(10_001)))
    assert history_file.load(path)[-1] == "10000"
    assert len(path.read_text().splitlines()) == 5_000


# -- keys typed ahead


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("hello\r", "hello"),
        ("helo\x7flo", "hello"),
        ("a b c\x17d", "a b d"),
        ("away\x15kept", "kept"),
        ("x\x1b[D\x1b[1;5Cy\x1bOAz", "xyz"),
        ("\x1b[200~one\rtwo\x1b[201~", "one\ntwo"),
        ("你\x7f好", "好"),
        ("a\x00\x04b\x1b", "ab"),
        ("\x7f\x7fa", "a"),
    ],
)
def test_keys_come_to_the_text_that_they_mean(typed: str, text: str) -> None:
    assert edited(typed) == text


# -- .env


@given(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=40))
def test_any_value_is_read_back_as_it_was_written(value: str) -> None:
    read = dotenv_values(stream=io.StringIO(f"NAME={quoted(value)}\n"), interpolate=False)
    assert read["NAME"] == value


def test_the_file_names_every_setting_with_its_help() -> None:
    from domain.settings import TABLE

    for language in ("en", "zh"):
        text = content({"CHAT_MODEL": "m"}, language)
        for row in TABLE:
            assert f"\n{row.name}=" in text or f"\n# {row.name}=" in text
            assert (row.help_zh if language == "zh" else row.help_en) in text


def test_writing_keeps_what_is_not_ours_and_gives_it_to_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("OTHER='a b'\nCHAT_MODEL=old\n")
    path.chmod(0o644)
    write(path, {**written(path), "CHAT_MODEL": "new"}, "en")
    assert written(path) == {"CHAT_MODEL": "new", "OTHER": "a b"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
