"""The file ``.env``, for its owner only: what the person wrote into it stays as it is, but for the lines of settings
that change.

Promises: the file is one whole version at any moment, the old or the new; any value is read back as it was written. A
file that is not there yet is made complete, each setting under its line of help.
"""

from __future__ import annotations

import logging
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from domain.files import replace_file, storage_error
from domain.languages import Language
from domain.settings import TABLE, Setting
from interfaces.messages import Words


def write(path: Path, values: Mapping[str, str], language: Language) -> None:
    """Give settings these values; "" takes a value away. A link is followed. Raises StorageError."""
    path = path.resolve()
    try:
        before = path.read_bytes() if path.exists() else b""
        # Beside the file, since it holds keys: what a crash leaves lies where keys lie anyway.
        with tempfile.TemporaryDirectory(prefix=".env-", dir=path.parent) as folder, _silent_dotenv():
            copy = Path(folder) / ".env"
            copy.write_bytes(before if before.strip() else _all_settings(values, language))
            _set(copy, values)
            after = copy.read_bytes()
    except OSError as fault:
        raise storage_error(fault, path) from fault
    replace_file(path, _ended_as(before, after))


def _set(copy: Path, values: Mapping[str, str]) -> None:
    """Change the lines of those settings that have another value now."""
    from dotenv import dotenv_values, set_key

    encoding = "utf-8-sig" if copy.read_bytes().startswith(BOM_UTF8) else "utf-8"
    present = dotenv_values(copy, interpolate=False, encoding=encoding)
    for name, value in values.items():
        if value != (present.get(name) or ""):
            set_key(copy, name, value, encoding=encoding)


def _ended_as(before: bytes, after: bytes) -> bytes:
    """python-dotenv ends every line as Unix does; a file in which all end as in Windows keeps them so."""
    windows = b"\r\n" in before and b"\n" not in before.replace(b"\r\n", b"")
    return after.replace(b"\n", b"\r\n") if windows else after


@contextmanager
def _silent_dotenv() -> Iterator[None]:
    """python-dotenv warns of every line that it cannot read, at every change; it was said at the start."""
    log = logging.getLogger("dotenv.main")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _all_settings(values: Mapping[str, str], language: Language) -> bytes:
    """Every setting under its help; those that get no value stand as comments."""
    return (
        "\n\n".join(_part(setting, values.get(setting.name, ""), language) for setting in TABLE) + "\n"
    ).encode()


def _part(setting: Setting, value: str, language: Language) -> str:
    comment = f"# {Words(language).setting(setting)}"
    return f"{comment}\n{setting.name}=" if value else f"{comment}\n# {setting.name}={setting.default}"
