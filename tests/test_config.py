"""Settings: where they come from, what is refused, what is pointed out; a secret is never repeated."""

import os
from pathlib import Path

import pytest

import config
from domain import errors
from domain import settings as settings_table


def load(home: Path, environment: dict[str, str] | None = None, flags: dict[str, str] | None = None, env: str = ""):
    if env:
        (home / ".env").write_text(env, encoding="utf-8")
        (home / ".env").chmod(0o600)
    return config.load_settings(home, environment or {}, flags)


def test_every_setting_has_a_field_and_a_default(tmp_path):
    settings = load(tmp_path)
    assert [hasattr(settings, row.field_name) for row in settings_table.TABLE] == [True] * len(settings_table.TABLE)
    assert (settings.max_conv_num, settings.refresh_every_conv_num) == (20, 10)
    assert (settings.recall_session_num, settings.recall_conv_num) == (3, 30)
    assert (settings.data_dir, settings.log_dir) == (tmp_path / "data", tmp_path / "logs")
    assert settings.demo


def test_flags_win_over_the_environment_and_that_over_the_env_file(tmp_path):
    env = "MAX_CONV_NUM=30\nRECALL_CONV_NUM=7\nRECALL_SESSION_NUM=9\n"
    settings = load(tmp_path, {"MAX_CONV_NUM": "40", "RECALL_CONV_NUM": "8"}, {"MAX_CONV_NUM": "50"}, env)
    assert (settings.max_conv_num, settings.recall_conv_num, settings.recall_session_num) == (50, 8, 9)
    assert [settings.sources[name] for name in ("MAX_CONV_NUM", "RECALL_CONV_NUM", "RECALL_SESSION_NUM", "DEBUG")] == [
        "flag",
        "environment",
        ".env",
        "default",
    ]


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("MAX_CONV_NUM", "many", "settings.whole_number"),
        ("MAX_CONV_NUM", "0", "settings.whole_number"),
        ("MAX_CONV_NUM", "-3", "settings.whole_number"),
        ("MAX_CONV_NUM", "2.5", "settings.whole_number"),
        ("RECALL_CONV_NUM", "十", "settings.whole_number"),
        ("REFRESH_EVERY_CONV_NUM", "21", "settings.refresh_above_max"),
        ("OPENAI_API_BASE", "localhost:8000", "settings.url"),
        ("OPENAI_API_BASE", "ftp://example.org", "settings.url"),
        ("OPENAI_API_BASE", "http://exa mple.org", "settings.url"),
        ("OPENAI_API_BASE", "http://example.org:port", "settings.url"),
        ("OPENAI_API_BASE", "http://127.0.0.1:1/v1", "settings.model_needed"),
        ("REQUEST_TIMEOUT", "soon", "settings.seconds"),
        ("REQUEST_TIMEOUT", "0", "settings.seconds"),
        ("REQUEST_TIMEOUT", "nan", "settings.seconds"),
        ("DEBUG", "perhaps", "settings.switch"),
        ("LANGUAGE", "fr", "settings.language"),
        ("MEMORY_STRATEGIES", "privacy_filter", "settings.strategies"),
        ("MEMORY_STRATEGIES", '["privacy_filter", "decay"]', "settings.strategies"),
        ("STRATEGY_TRIGGER", "on_event", "settings.trigger"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_value(tmp_path, name, value, key):
    with pytest.raises(errors.SettingsError) as caught:
        load(tmp_path, {name: value})
    ((found, details),) = caught.value.problems
    assert found == key
    assert value in (str(details.get("value")), details.get("base"))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("key", ["sk two words", "sk-line\nbreak", " sk-lead", "sk-密钥"], ids=repr)
def test_a_key_that_cannot_be_one_is_refused_and_not_repeated(tmp_path, key):
    with pytest.raises(errors.SettingsError) as caught:
        load(tmp_path, {"OPENAI_API_KEY": key})
    assert caught.value.problems[0][0] == "settings.key_without_spaces"
    assert key not in repr(caught.value.problems)


@pytest.mark.parametrize(
    "value", ["", "graph_extraction,privacy_filter", '["privacy_filter", "graph_extraction"]'], ids=repr
)
def test_the_strategies_of_neuromemory_are_understood(tmp_path, value):
    settings = load(tmp_path, {"MEMORY_STRATEGIES": value, "STRATEGY_TRIGGER": "on_session_end"})
    assert settings.memory_strategies == ("privacy_filter", "graph_extraction")
    assert settings.strategy_trigger == "on_session_end"


def test_all_problems_are_told_at_once(tmp_path):
    with pytest.raises(errors.SettingsError) as caught:
        load(tmp_path, {"MAX_CONV_NUM": "x", "DEBUG": "x", "LANGUAGE": "x"})
    assert len(caught.value.problems) == 3


def test_a_misspelt_name_is_pointed_out_with_the_nearest_real_one(tmp_path):
    settings = load(tmp_path, env="OPEN_API_KEY=x\nPATH_TO_SOMETHING=1\n")
    assert [(notice.key, notice.details["name"], notice.details["nearest"]) for notice in settings.notices] == [
        ("settings.misspelt", "OPEN_API_KEY", "OPENAI_API_KEY")
    ]


def test_an_env_file_that_others_can_read_is_pointed_out(tmp_path):
    load(tmp_path, env="OPENAI_API_KEY=sk-1\n")
    (tmp_path / ".env").chmod(0o644)
    assert [notice.key for notice in load(tmp_path).notices] == ["settings.env_readable"]


def test_a_line_of_the_env_file_that_cannot_be_read_is_named_by_its_number(tmp_path, caplog):
    settings = load(tmp_path, env="# mine\nDEBUG=1\nthis is no setting\n\nMAX_CONV_NUM='9\nUSER_NAME=Ann\n")
    told = [(notice.key, notice.details["line"]) for notice in settings.notices]
    assert told == [("settings.env_line", 3), ("settings.env_line", 5)]
    assert (settings.debug, settings.user_name) == (True, "Ann")
    assert not caplog.records


def test_a_key_from_the_environment_beside_a_base_from_the_file_is_pointed_out(tmp_path):
    env = "OPENAI_API_BASE=https://example.org/v1\nCHAT_MODEL=m\n"
    settings = load(tmp_path, {"OPENAI_API_KEY": "sk-global"}, env=env)
    assert [notice.key for notice in settings.notices] == ["settings.key_from_elsewhere"]


def test_a_small_context_alone_needs_no_second_setting(tmp_path):
    settings = load(tmp_path, {"MAX_CONV_NUM": "7"})
    assert (settings.max_conv_num, settings.refresh_every_conv_num) == (7, 7)


def test_embeddings_default_to_the_chat_server(tmp_path):
    settings = load(tmp_path, {"OPENAI_API_KEY": "a", "OPENAI_API_BASE": "http://x/v1/", "CHAT_MODEL": "m"})
    assert (settings.embedding_base, settings.embedding_key) == ("http://x/v1", "a")
    other = {"EMBEDDING_API_BASE": "http://y/v1", "EMBEDDING_API_KEY": "b", "EMBEDDING_MODEL": "e"}
    settings = load(tmp_path, {"OPENAI_API_KEY": "a", **other})
    assert (settings.embedding_base, settings.embedding_key) == ("http://y/v1", "b")


def test_a_key_never_shows_in_a_printed_settings_object(tmp_path):
    settings = load(tmp_path, {"OPENAI_API_KEY": "sk-canary", "EMBEDDING_API_KEY": "em-canary"})
    assert "canary" not in repr(settings)
    assert settings.secrets == ("sk-canary", "em-canary")


def test_a_dollar_sign_in_a_key_is_kept(tmp_path):
    assert load(tmp_path, env="OPENAI_API_KEY='a$HOME$b'\n").openai_api_key == "a$HOME$b"


def test_an_env_file_that_is_asked_for_and_missing_is_refused(tmp_path):
    with pytest.raises(errors.SettingsError) as caught:
        config.load_settings(tmp_path, {}, None, tmp_path / "other.env")
    assert caught.value.problems[0][0] == "settings.env_missing"


@pytest.mark.parametrize(
    "make", [lambda p: p.write_bytes(b"\xff\xfe\x00"), lambda p: p.mkdir()], ids=["bytes", "folder"]
)
def test_an_env_file_that_cannot_be_read_is_refused(tmp_path, make):
    make(tmp_path / ".env")
    with pytest.raises(errors.SettingsError) as caught:
        load(tmp_path)
    assert caught.value.problems[0][0] == "settings.env_unreadable"


def test_the_example_documents_every_setting():
    example = (Path(config.__file__).parent / ".env.example").read_text(encoding="utf-8")
    assert [row.name for row in settings_table.TABLE if f"{row.name}=" not in example] == []
    assert os.path.basename(config.__file__) == "config.py"
