"""What the terminal keeps: the prompt's history, keys typed ahead, and .env."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

import config
from domain import errors
from domain.settings import TABLE
from interfaces.messages import Words
from interfaces.terminal.line_source import Ahead, lines_typed, read_history, scrub_history
from interfaces.terminal.prompting import PromptHistory
from interfaces.terminal.setup_wizard import write_settings

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
        PromptHistory(tmp_path / "history").store_string("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_a_remembered_line_comes_back_and_is_not_written(tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "history")
    history.remember_line("half a thought")
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
    history.forget_text("Oslo")
    assert history.get_strings() == ["other"]
    assert read_history(path) == ["other"]
    history.store_string("line with\nOslo inside")
    scrub_history(path, ["Oslo"])
    assert read_history(path) == ["other"]


def test_a_damaged_file_gives_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b'"good"\n{"no": "text"}\nnot json\n\xff\xfe\n"last"\n')
    assert read_history(path) == ["good", "last"]


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    history = PromptHistory(tmp_path / "history")
    history.append_string("x")
    assert history.get_strings() == ["x"]


def test_a_long_history_is_shortened(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(json.dumps(str(at)) + "\n" for at in range(10_001)))
    assert next(iter(PromptHistory(path).load_history_strings())) == "10000"
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
    assert [line.text for line in lines_typed(typed)] == [text]


def test_lines_typed_ahead_stay_lines() -> None:
    assert lines_typed("one\rtwo\x7f\x7f\x7f\x7fx\r\r  \r/save\rrest") == [
        Ahead("one", entered=True),
        Ahead("x", entered=True),
        Ahead("/save", entered=True),
        Ahead("rest"),
    ]


@pytest.mark.parametrize("key", ["\n", "\x1b\r", "\x1b[13;2u"], ids=["ctrl-j", "alt-enter", "shift-enter"])
def test_a_new_line_key_typed_ahead_ends_no_line(key: str) -> None:
    assert lines_typed(f"one{key}two\r") == [Ahead("one\ntwo", entered=True)]


def test_a_block_pasted_ahead_is_one_line_and_known_as_pasted() -> None:
    assert lines_typed("see \x1b[200~/reset\rnow\x1b[201~\r/save\r") == [
        Ahead("see /reset\nnow", pasted=True, entered=True),
        Ahead("/save", entered=True),
    ]


# -- .env


def read(path: Path) -> dict[str, str | None]:
    return dotenv_values(path, interpolate=False, encoding="utf-8-sig")


@given(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=40))
def test_any_value_is_read_back_as_it_was_written(tmp_path_factory, value: str) -> None:
    path = tmp_path_factory.mktemp("env") / ".env"
    write_settings(path, {"USER_NAME": value}, "en")
    assert (read(path).get("USER_NAME") or "") == value


def test_names_with_quotes_marks_and_spaces_come_back_through_the_settings(tmp_path: Path) -> None:
    for name in ('Ann\'s "friend" # one', "a = b", "it\\'s", "${HOME} 老友"):
        write_settings(tmp_path / ".env", {"COMPANION_NAME": name}, "zh")
        assert config.load_settings(tmp_path, {}).companion_name == name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_new_file_names_every_setting_with_its_help(tmp_path: Path, language) -> None:
    write_settings(tmp_path / ".env", {"CHAT_MODEL": "m", "USER_NAME": ""}, language)
    text = (tmp_path / ".env").read_text(encoding="utf-8")
    assert "\nCHAT_MODEL='m'\n" in text
    for row in TABLE:
        assert f"\n{row.name}=" in text or f"\n# {row.name}={row.default}\n" in text
        assert Words(language).describe_setting(row) in text
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


OWN = """# my own words, 我的
not a line of settings at all

  export  OTHER = "its value"   # kept
CHAT_MODEL=old # the one I had
#CHAT_MODEL=tried before

EMPTY
MAX_CONV_NUM=7
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with-mark"])
def test_own_comments_empty_lines_order_and_unknown_names_stay_byte_for_byte(tmp_path, end, mark, capfd):
    path = tmp_path / ".env"
    path.write_bytes((mark + OWN.replace("\n", end)).encode())
    path.chmod(0o644)
    write_settings(path, {"CHAT_MODEL": "new", "USER_NAME": "", "MAX_CONV_NUM": "7", "COMPANION_NAME": "Ada"}, "en")
    expected = OWN.replace("CHAT_MODEL=old # the one I had", "CHAT_MODEL='new'") + "COMPANION_NAME='Ada'\n"
    assert path.read_bytes() == (mark + expected.replace("\n", end)).encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [".env"]
    assert capfd.readouterr().err == ""


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("CHAT_MODEL=old\n")
    (tmp_path / ".env").symlink_to(tmp_path / "mine")
    write_settings(tmp_path / ".env", {"CHAT_MODEL": "new"}, "en")
    assert (tmp_path / ".env").is_symlink()
    assert (tmp_path / "mine").read_text() == "CHAT_MODEL='new'\n"


def test_a_file_that_cannot_be_written_is_a_storage_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    for path in (tmp_path / ".env", tmp_path / "nowhere" / ".env"):
        with pytest.raises(errors.StorageError):
            write_settings(path, {"CHAT_MODEL": "new"}, "en")
    assert [each.name for each in tmp_path.iterdir()] == [".env"]
