"""Every message stands in both languages, and every key that the program uses is a message."""

import ast
import json
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from domain import errors
from domain.events import Notice
from domain.settings import TABLE as SETTINGS
from interfaces.messages import LANGUAGES, Words, choose_language, load_table
from interfaces.terminal.commands.command_table import TABLE
from interfaces.terminal.wiring import BEHIND_THE_PROMPT
from recall.ranking import BY_MEANING, BY_WORDS

ROOT = Path(__file__).resolve().parents[3]
MESSAGES = load_table("en")
KEY = re.compile(r"[a-z_]+(?:\.[a-z_.]+)+")


def sources() -> Iterator[Path]:
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).parts
        if not parts[0].startswith(".") and parts[0] not in ("tests", "bench", "docs"):
            yield path


def keys_in(path: Path) -> Iterator[str]:
    """Whole string literals of the shape of a key."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and KEY.fullmatch(node.value):
            yield node.value


@cache
def used_keys() -> set[str]:
    found = {key for path in sources() for key in keys_in(path)}
    known = {key.split(".")[0] for key in MESSAGES}
    return {key for key in found if key.split(".")[0] in known and not key.endswith((".py", ".txt", ".db", ".log"))}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def has_words(key: str) -> bool:
    """Whether there is a message for the key, for its family, or for keys that begin with it."""
    parts = key.rstrip(".").split(".")
    families = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return bool(families & set(MESSAGES)) or (key.endswith(".") and any(known.startswith(key) for known in MESSAGES))


def test_both_languages_have_the_same_keys_in_the_same_order() -> None:
    en, zh = (list(load_table(language)) for language in LANGUAGES)
    assert en == zh


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_key_is_in_a_table_twice(language: str) -> None:
    text = (ROOT / f"interfaces/messages/{language}.json").read_text(encoding="utf-8")
    assert len(json.loads(text, object_pairs_hook=list)) == len(load_table(language))


def test_a_message_takes_the_same_details_in_both_languages() -> None:
    en, zh = ({key: fields(text) for key, text in load_table(language).items()} for language in LANGUAGES)
    assert en == zh


def test_every_key_that_the_program_uses_is_a_message() -> None:
    exempt = {*BEHIND_THE_PROMPT, "chat.completion", "chat.completion.chunk"}
    assert {key for key in used_keys() - exempt if not has_words(key)} == set()


def test_every_error_has_its_message() -> None:
    def kinds(kind: type[errors.OldFriendError]) -> Iterator[type[errors.OldFriendError]]:
        yield kind
        for below in kind.__subclasses__():
            yield from kinds(below)

    assert {kind.default_key for kind in kinds(errors.OldFriendError)} <= set(MESSAGES)


def test_every_command_has_help_in_both_languages() -> None:
    for command in TABLE:
        assert f"command.{command.name}" in MESSAGES


def test_every_setting_is_told() -> None:
    assert {f"setting.{setting.field_name}" for setting in SETTINGS} == {
        key for key in MESSAGES if key.startswith("setting.")
    }


def test_chinese_messages_are_chinese() -> None:
    latin = [
        key for key, text in load_table("zh").items() if not re.search("[\u4e00-\u9fff]", re.sub(r"\{.*?\}", "", text))
    ]
    assert all(not re.search("[a-z]{4,} [a-z]{3,}", load_table("zh")[key]) for key in latin)


def test_no_message_has_an_emoji_of_ours() -> None:
    for language in LANGUAGES:
        for text in load_table(language).values():
            assert not re.search("[\U0001f000-\U0001ffff\u2600-\u27bf]", text)


def test_a_message_is_one_inert_line() -> None:
    words = Words("en")
    said = words.say("model.bad_request", base="http://x", said="bad\n\x1b[31mred\u202e")
    assert said == "http://x refused the request: bad [31mred. Check the model and the base URL."


def test_an_unknown_key_falls_back_to_its_family() -> None:
    assert "model did not answer" in Words("en").say("model.something.new", said="x")
    assert "Something went wrong (odd.key)" in Words("en").say("odd.key")


def test_a_missing_detail_leaves_a_gap_and_no_failure() -> None:
    assert Words("en").say("model.server_fault", base="b").startswith("The model server at b failed (?)")


def test_problems_of_settings_take_a_line_each() -> None:
    wrong = errors.SettingsError(
        (("settings.url", {"name": "A", "value": "x"}), ("settings.switch", {"name": "B", "value": "y"}))
    )
    assert len(Words("zh").describe_error(wrong).splitlines()) == 2


def test_an_error_inside_of_a_notice_is_told_in_words() -> None:
    told = Words("en").describe_notice(Notice("erase.not_rebuilt", {"error": errors.TimedOut(base="http://x")}))
    assert "did not answer in time" in told
    assert ".)" not in told


def test_no_space_stands_behind_a_mark_of_full_width() -> None:
    keys = (
        "save.failed",
        "save.persona_refused",
        "erase.not_rebuilt",
        "extraction.failed",
        "chapters.failed",
        "turn.retry_first",
    )
    told = [Words("zh").say(key, error=errors.TimedOut(base="http://x"), again="1") for key in keys]
    assert not [each for each in told if "。 " in each]


@pytest.mark.parametrize(
    ("setting", "environment", "language"),
    [
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ("auto", {"LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ("auto", {}, "en"),
        ("zh", {"LANG": "en_US.UTF-8"}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_the_language_is_the_setting_or_the_locale(setting: str, environment: dict[str, str], language: str) -> None:
    assert choose_language(setting, environment) == language


def test_no_message_is_left_over() -> None:
    """A key is used whole, or it begins as one that is put together, and how it ends is a word of the program."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources()).replace("'", '"')
    built = tuple(re.findall(r'f"([a-z_]+\.[a-z_.]*)\{', text))
    words = set(re.findall(r"\w+", text.lower().replace("--", " ").replace("-", "_")))
    used = {key for key in MESSAGES if f'"{key}"' in text}
    used |= {key for key in MESSAGES if key.startswith(built) and key.rpartition(".")[2] in words}
    ends = {key: key.rpartition(".")[2].replace("'", '"') for key in MESSAGES if key.startswith(built)}
    used |= {key for key, end in ends.items() if f'"{end}"' in text}
    assert set(MESSAGES) - used == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_part_of_a_score_has_a_name(language):
    names = {*BY_MEANING, *BY_WORDS}
    named = {key for key in load_table(language) if key.startswith("score.")}
    assert named == {f"score.{name}" for name in names}
