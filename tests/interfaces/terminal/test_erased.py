"""``/erased`` lists erasures without their content, and what was erased is asked about before it comes back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from language.scripts import Language
from tests.importers.exports import gpt_talk, written
from tests.interfaces.terminal.conftest import Chat
from tests.support.program import run

SECRET = {"en": "My sister Patty is expecting a child in May.", "zh": "我表妹小莉五月要生孩子了，家里还没人知道。"}
WORD = {"en": "Patty", "zh": "小莉"}
LINES = {
    "list": {"en": "2 messages of 1 session", "zh": "1 次会话中的 2 条消息"},
    "left out": {"en": "has 2 things you erased; they are left out", "zh": "里有你抹去过的 2 项，已略过"},
    "back": {"en": "has 2 things you erased; they are back", "zh": "里有你抹去过的 2 项，现在一并找回"},
    "ask": {"en": "Leave them out? [Y/n]", "zh": "要略过吗？[Y/n]"},
}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


@pytest.fixture(scope="module")
def home_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Language], Path]:
    """A home in a language, with a backup and an export, in which something was erased afterwards."""
    return cache(lambda language: _lived_in(tmp_path_factory.mktemp(f"home-{language}"), language))


@pytest.fixture
def home(tmp_path: Path, language: Language, home_in: Callable[[Language], Path]) -> Path:
    """That home."""
    return Path(shutil.copytree(home_in(language), tmp_path, dirs_exist_ok=True))


def _lived_in(tmp_path: Path, language: Language) -> Path:
    settings = {"LANGUAGE": language}
    assert run(tmp_path, given=f"{SECRET[language]}\n/save\nIt rains.\n", **settings).code == 0
    assert run(tmp_path, "--backup", "friend.db", **settings).code == 0
    assert run(tmp_path, "--export", "rows.json", **settings).code == 0
    erased = run(tmp_path, given=f"/forget {WORD[language]}\n", **settings)
    assert erased.code == 0, erased.err
    return tmp_path


def holds(home: Path, language: Language) -> bool:
    """Whether the secret is in the memory."""
    return SECRET[language].encode() in (home / "data" / "memory.db").read_bytes()


@LANGUAGES
def test_what_was_erased_is_listed_without_its_content_and_written_as_a_receipt(home: Path, language: Language) -> None:
    listed = run(home, given="/erased\n/erased gone.json\n/erased gone.md\n/erased gone.txt\n", LANGUAGE=language)
    assert LINES["list"][language] in listed.err
    (one,) = json.loads((home / "gone.json").read_text(encoding="utf-8"))["erasures"]
    assert (one["messages"], one["sessions"], one["traces"]) == (2, 1, 0)
    assert sum(one["days"].values()) == 2
    assert one["files"] > 0
    page = (home / "gone.md").read_text(encoding="utf-8")
    assert f"- {LINES['list'][language]}" in page
    for text in (listed.err, page, (home / "gone.json").read_text(encoding="utf-8")):
        assert SECRET[language] not in text
    assert "gone.txt" not in [path.name for path in home.iterdir()]


@LANGUAGES
def test_a_backup_is_restored_without_what_was_erased_and_with_it_where_that_is_said(
    home: Path, language: Language
) -> None:
    restored = run(home, "--restore", "friend.db", LANGUAGE=language)
    assert restored.code == 0, restored.err
    assert LINES["left out"][language] in restored.out
    assert "--with-erased" in restored.out
    assert not holds(home, language)
    restored = run(home, "--restore", "friend.db", "--with-erased", LANGUAGE=language)
    assert LINES["back"][language] in restored.out
    assert holds(home, language)


@LANGUAGES
@pytest.mark.parametrize(("typed", "comes_back"), [("\r", False), ("y\r", False), ("n\r", True)])
def test_at_a_terminal_it_is_asked_before_anything_comes_back(
    home: Path, language: Language, chat: Chat, typed: str, *, comes_back: bool
) -> None:
    terminal = chat("--restore", str(home / "friend.db"), columns=200, LANGUAGE=language)
    terminal.see(LINES["ask"][language])
    assert not holds(home, language)
    terminal.send(typed)
    assert terminal.ended() == 0
    assert holds(home, language) is comes_back


@LANGUAGES
def test_an_import_leaves_out_what_was_erased_and_brings_it_back_where_that_is_said(
    home: Path, language: Language
) -> None:
    written(home / "conversations.json", [gpt_talk("c1", (SECRET[language], "I see.", "It snows in Bergen.", "Yes."))])
    for given in ("rows.json", "conversations.json"):
        seen = run(home, "--import", given, "--dry-run", LANGUAGE=language)
        assert seen.code == 0
        done = run(home, "--import", given, LANGUAGE=language)
        assert done.code == 0, done.err
        assert "--with-erased" in done.out
        assert not holds(home, language)
    assert run(home, "--import", "conversations.json", "--with-erased", LANGUAGE=language).code == 0
    assert holds(home, language)


@LANGUAGES
def test_rows_that_become_the_whole_memory_are_asked_about_too(tmp_path: Path, language: Language) -> None:
    settings = {"LANGUAGE": language}
    assert run(tmp_path, given=f"{SECRET[language]}\n", **settings).code == 0
    assert run(tmp_path, "--export", "rows.json", **settings).code == 0
    assert run(tmp_path, given="/forget last\n", **settings).code == 0
    restored = run(tmp_path, "--import", "rows.json", **settings)
    assert (restored.code, restored.err) == (0, "")
    assert LINES["left out"][language] in restored.out
    assert not holds(tmp_path, language)
    assert run(tmp_path, "--import", "rows.json", "--with-erased", **settings).code == 0
    assert holds(tmp_path, language)


def test_the_flag_goes_with_an_import_or_a_backup(tmp_path: Path) -> None:
    refused = run(tmp_path, "--with-erased", LANGUAGE="en")
    assert refused.code == 2
    assert "--with-erased needs --import or --restore." in refused.err
