"""The file ``.env``: complete, commented, for its owner only, and always one whole version."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from domain.languages import Language
from domain.settings import BY_NAME, TABLE, Setting
from storage.files import replace_file


def written(path: Path) -> dict[str, str]:
    """What the file says now; nothing where there is none."""
    from dotenv import dotenv_values

    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return {}
    found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in found.items() if value is not None}


def write(path: Path, values: Mapping[str, str], language: Language) -> None:
    """Write all settings; those without a value stand as comments. Raises StorageError."""
    replace_file(path, content(values, language).encode("utf-8"))


def content(values: Mapping[str, str], language: Language) -> str:
    """The text of the file. Names that are no settings of ours are kept at its end.

    >>> "CHAT_MODEL=qwen" in content({"CHAT_MODEL": "qwen"}, "en")
    True
    """
    parts = [_part(setting, values.get(setting.name, ""), language) for setting in TABLE]
    others = [f"{name}={quoted(value)}" for name, value in values.items() if name not in BY_NAME]
    return "\n\n".join(parts + (["\n".join(others)] if others else [])) + "\n"


def _part(setting: Setting, value: str, language: Language) -> str:
    comment = "# " + (setting.help_zh if language == "zh" else setting.help_en)
    if value:
        return f"{comment}\n{setting.name}={quoted(value)}"
    return f"{comment}\n# {setting.name}={quoted(setting.default) if setting.default else ''}"


def quoted(value: str) -> str:
    """A value as python-dotenv reads it back unchanged.

    >>> quoted("plain"), quoted("two words")
    ('plain', "'two words'")
    """
    if value and all(letter.isalnum() or letter in "-_./:@+,=%" for letter in value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
