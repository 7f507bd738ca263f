"""Every setting, read once, checked, frozen.

A setting comes from the first place that gives it: flags, process environment, ``.env``, default. An empty value
counts as not given. Whatever is wrong is refused at once, all of it, one line each, and a secret is never repeated.
"""

from __future__ import annotations

import difflib
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from domain import errors
from domain.events import Notice
from domain.settings import BY_NAME, DEFAULT_OPENAI_MODEL, OPENAI_BASE, TABLE, InvalidValue, Setting, Settings, Source
from domain.text import mask_url

#: The notice of a line of ``.env`` that cannot be read: whatever it was meant to set is not set.
ENV_LINE = "settings.env_line"


def home_of(program: Path) -> Path:
    """The folder that folders and ``.env`` start from: the checkout, or that of the platform where it is installed."""
    if (program / "Makefile").exists():
        return program
    from platformdirs import user_data_path

    return user_data_path("old-friend", appauthor=False)


def load_settings(
    home: Path, environment: Mapping[str, str], flags: Mapping[str, str] | None = None, env_file: Path | None = None
) -> Settings:
    """Read, check and freeze all settings.

    ``home`` is the folder that relative folders in the environment and ``.env`` start from; ``flags`` maps names of
    settings to values. Raises SettingsError with every problem found.
    """
    path = env_file or home / ".env"
    problems: list[tuple[str, dict[str, object]]] = []
    written, unread = _read_env(path, env_file is not None, problems)
    places: dict[Source, Mapping[str, str]] = {"flag": flags or {}, "environment": environment, ".env": written}
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for setting in TABLE:
        raw, sources[setting.name] = _first_value(setting, places)
        values[setting.field_name] = _check_value(setting, raw, problems)
    if not problems:
        if sources["REFRESH_EVERY_CONV_NUM"] == "default":
            # Whoever lowers only MAX_CONV_NUM should not have to know the other.
            values["refresh_every_conv_num"] = min(values["refresh_every_conv_num"], values["max_conv_num"])
        problems += _conflicting_values(values)
    if problems:
        raise errors.SettingsError(tuple(problems))
    _complete_values(values, home, sources)
    notices = (*unread, *_misspelt_names(written), *_readable_by_others(path, written))
    notices += tuple(_key_from_elsewhere(values, sources))
    return Settings(**values, env_file=path, sources=sources, notices=notices)


def _read_env(
    path: Path, demanded: bool, problems: list[tuple[str, dict[str, object]]]
) -> tuple[dict[str, str], list[Notice]]:
    """What the file gives, and a notice for each of its lines that cannot be read."""
    import io

    from dotenv.parser import parse_stream

    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if demanded:
            problems.append(("settings.env_missing", {"path": str(path)}))
        return {}, []
    except (OSError, UnicodeDecodeError) as fault:
        problems.append(("settings.env_unreadable", {"path": str(path), "reason": type(fault).__name__}))
        return {}, []
    read = list(parse_stream(io.StringIO(content)))
    unread = []
    for one in read:
        if one.error or (one.key in BY_NAME and one.value is None):
            # The line on which it begins; the parser counts from the empty lines before it.
            text = one.original.string
            line = one.original.line + text[: len(text) - len(text.lstrip())].count("\n")
            unread.append(Notice(ENV_LINE, {"path": str(path), "line": line}))
    return {one.key: one.value for one in read if one.key and one.value is not None}, unread


def _first_value(setting: Setting, places: Mapping[Source, Mapping[str, str]]) -> tuple[str, Source]:
    for source, values in places.items():
        if values.get(setting.name, "") != "":
            return values[setting.name], source
    return setting.default, "default"


def _check_value(setting: Setting, raw: str, problems: list[tuple[str, dict[str, object]]]) -> Any:
    if raw == "" and setting.default == "":
        return ""
    try:
        return setting.read(raw)
    except InvalidValue as wrong:
        problems.append((f"settings.{wrong}", {"name": setting.name, "value": setting.mask_value(raw)}))
        return None


def _conflicting_values(values: Mapping[str, Any]) -> list[tuple[str, dict[str, object]]]:
    """Values that are right alone and wrong together."""
    found: list[tuple[str, dict[str, object]]] = []
    value, most = values["refresh_every_conv_num"], values["max_conv_num"]
    if value > most:
        found.append(("settings.refresh_above_max", {"name": "REFRESH_EVERY_CONV_NUM", "value": value, "most": most}))
    own_base = "" if values["openai_api_base"] == OPENAI_BASE else values["openai_api_base"]
    for name, base in (("CHAT_MODEL", own_base), ("EMBEDDING_MODEL", values["embedding_api_base"])):
        if base and not values[name.lower()]:
            found.append(("settings.model_needed", {"name": name, "base": mask_url(base)}))
    return found


def _complete_values(values: dict[str, Any], home: Path, sources: Mapping[str, Source]) -> None:
    """What follows from other settings: folders from ``home`` on, the model's name at OpenAI."""
    for name in ("DATA_DIR", "LOG_DIR"):
        start = Path.cwd() if sources[name] == "flag" else home
        values[name.lower()] = (start / values[name.lower()]).absolute()
    values["external_memories"] = tuple(
        replace(one, path=(home / one.path).absolute()) for one in values["external_memories"]
    )
    if values["openai_api_key"] and not values["chat_model"]:
        values["chat_model"] = DEFAULT_OPENAI_MODEL


def _misspelt_names(written: Mapping[str, str]) -> Iterator[Notice]:
    for name in written:
        near = difflib.get_close_matches(name.upper(), BY_NAME, 1, 0.8)
        if name not in BY_NAME and near:
            yield Notice("settings.misspelt", {"name": name, "nearest": near[0]})


def _readable_by_others(path: Path, written: Mapping[str, str]) -> Iterator[Notice]:
    """A file that holds a key and is for more than its owner; one without a key may be read by anybody."""
    if not any(written.get(setting.name) for setting in TABLE if setting.secret):
        return
    with suppress(OSError):
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            yield Notice("settings.env_readable", {"path": str(path)})


def _key_from_elsewhere(values: Mapping[str, Any], sources: Mapping[str, Source]) -> Iterator[Notice]:
    """A key from one place beside a base from another: it may be posted to somebody it was not meant for."""
    key, base = sources["OPENAI_API_KEY"], sources["OPENAI_API_BASE"]
    if values["openai_api_key"] and values["openai_api_base"] and key != base and "flag" not in (key, base):
        details = {"key_source": key, "base_source": base, "base": mask_url(values["openai_api_base"])}
        yield Notice("settings.key_from_elsewhere", details)
