"""All settings as one frozen value, and the table of them: name, how a value is read and checked, default.

One table feeds reading, the example file, the set-up and the documents; the words for each are a door's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from domain.events import Notice
from domain.fading import ForgetLimit, ForgetMode
from domain.recollection import RecallLimits
from domain.records import Session
from domain.text import mask_url, url_secrets

OPENAI_BASE = "https://api.openai.com/v1"
DEFAULT_OPENAI_MODEL = "gpt-4o-mini"
#: The name of the embedder that needs no model at all.
BUILT_IN = "built-in"


Source = Literal["flag", "environment", ".env", "default"]
#: When a search of memory is planned by a model: never, where a question calls for it, always.
Planning = Literal["off", "auto", "always"]


@dataclass(frozen=True, slots=True)
class ExternalMemory:
    """A memory of others that may be read: what it is called, and where it is."""

    name: str
    path: Path

    def __str__(self) -> str:
        return f"{self.name}={self.path}"


@dataclass(frozen=True)
class Settings:
    """All settings. ``sources`` tells where each came from, ``notices`` what should be pointed out once."""

    openai_api_key: str = field(repr=False)
    openai_api_base: str = field(repr=False)
    chat_model: str
    embedding_model: str
    embedding_api_base: str = field(repr=False)
    embedding_api_key: str = field(repr=False)
    max_conv_num: int
    refresh_every_conv_num: int
    recall_session_num: int
    recall_conv_num: int
    recall_planning: Planning
    reflection_rounds: int
    recall_tokens: int
    external_memories: tuple[ExternalMemory, ...]
    window_size: int
    import_calls: int
    image_tokens: int
    max_memories: int
    forget_percentage: int
    forget_mode: ForgetMode
    group_size: int
    group_tokens: int
    open_memories: int
    session_timeout: float
    session_max_duration: float
    session_max_events: int
    coreference_context_size: int
    requests_per_minute: int
    requests_at_once: int
    tokens_per_day: int
    server_names: str
    data_dir: Path
    log_dir: Path
    debug: bool
    request_timeout: float
    extract_after: timedelta
    autosave_after: timedelta
    archive_after: timedelta
    language: Literal["auto", "en", "zh"]
    companion_name: str
    user_name: str
    env_file: Path
    sources: Mapping[str, Source] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    @property
    def standin(self) -> bool:
        """Whether the built-in stand-in answers: neither a key nor a base was given."""
        return not self.openai_api_key and not self.openai_api_base

    @property
    def chat_base(self) -> str:
        """The base URL of the chat model."""
        return self.openai_api_base or OPENAI_BASE

    @property
    def embeds_here(self) -> bool:
        """Whether vectors are made in this program, and no text goes to a server for them."""
        return self.embedding_model in ("", BUILT_IN)

    @property
    def embedding_base(self) -> str:
        """The base URL of the embedding model."""
        return self.embedding_api_base or self.chat_base

    @property
    def embedding_key(self) -> str:
        """The key that goes to the embedding model."""
        return self.embedding_api_key or self.openai_api_key

    @property
    def recall_limits(self) -> RecallLimits:
        """How much recall may hand over."""
        return RecallLimits(self.recall_session_num, self.recall_conv_num, self.recall_tokens)

    def idle_limit(self, session: Session) -> timedelta:
        """How long a session may be idle before it is saved; nothing means that it never is.

        A person goes on in their own session however late; nobody comes back to that of another program.
        """
        return self.archive_after if session.door else self.autosave_after

    @property
    def forget_limit(self) -> ForgetLimit:
        """How many memories are searched, and what becomes of those beyond."""
        return ForgetLimit(self.max_memories, self.forget_percentage, self.forget_mode)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be written anywhere."""
        keys = tuple(key for key in (self.openai_api_key, self.embedding_api_key) if key)
        return keys + url_secrets(self.openai_api_base) + url_secrets(self.embedding_api_base)


@dataclass(frozen=True)
class Described:
    """Who talks: the model's name, where it is (safe to show), and whether it is only the built-in stand-in."""

    model: str
    base: str
    standin: bool


def described(settings: Settings) -> Described:
    """Who the settings say talks."""
    if settings.standin:
        return Described("stand-in", "http://stand-in.invalid/v1", True)
    return Described(settings.chat_model, mask_url(settings.chat_base), False)


class Wrong(ValueError):
    """A value is not allowed; the argument is the message key's last word."""


def _text(value: str) -> str:
    if "\n" in value or "\r" in value:
        raise Wrong("no_line_break")
    return value.strip()


def _key(value: str) -> str:
    if value != value.strip() or re.search(r"\s", value) or not value.isascii() or not value.isprintable():
        raise Wrong("key_without_spaces")
    return value


def _base(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", value)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise Wrong("url")
    return value.rstrip("/")


def _count(value: str) -> int:
    if not re.fullmatch(r"\+?[0-9]{1,9}", value.strip()) or not 1 <= int(value) <= 100_000:
        raise Wrong("whole_number")
    return int(value)


def _amount(value: str) -> int:
    """A whole number that may be nothing."""
    if not re.fullmatch(r"\+?[0-9]{1,9}", value.strip()) or int(value) > 100_000:
        raise Wrong("amount")
    return int(value)


def _tokens(value: str) -> int:
    """A whole number that may be very large, or nothing."""
    if not re.fullmatch(r"\+?[0-9]{1,12}", value.strip()):
        raise Wrong("tokens")
    return int(value)


def _few(value: str) -> int:
    if not re.fullmatch(r"[0-9]", value.strip()):
        raise Wrong("few")
    return int(value)


def _most(value: str) -> int:
    """A number of which 0 is no limit."""
    if not re.fullmatch(r"\+?[0-9]{1,9}", value.strip()):
        raise Wrong("most")
    return int(value)


def _percentage(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", value.strip()) or not 1 <= int(value) <= 100:
        raise Wrong("percentage")
    return int(value)


def _forget_mode(value: str) -> str:
    word = value.strip().lower()
    if word not in ("fade", "delete"):
        raise Wrong("forget_mode")
    return word


def _group(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", value.strip()) or not 2 <= int(value) <= 100:
        raise Wrong("group")
    return int(value)


def _planning(value: str) -> str:
    word = value.strip().lower()
    if word not in ("off", "auto", "always"):
        raise Wrong("planning")
    return word


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        raise Wrong("seconds") from None
    if not 0 < seconds <= 86_400:
        raise Wrong("seconds")
    return seconds


def _hours(value: str) -> timedelta:
    try:
        hours = float(value)
    except ValueError:
        raise Wrong("hours") from None
    if not 0 <= hours <= 100_000:
        raise Wrong("hours")
    return timedelta(hours=hours)


def _switch(value: str) -> bool:
    word = value.strip().lower()
    if word not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise Wrong("switch")
    return word in ("1", "true", "yes", "on")


def _language(value: str) -> str:
    """``auto``, ``en``, ``zh``, or a list of locales as many systems set it: ``zh_CN:zh``."""
    word = value.strip().lower()
    if word in ("auto", "en", "zh"):
        return word
    if not re.fullmatch(r"[a-z]{2}[_:.@][\w.@:-]*", word):
        raise Wrong("language")
    return word[:2] if word[:2] in ("en", "zh") else "auto"


def _folder(value: str) -> Path:
    if "\0" in value:
        raise Wrong("folder")
    return Path(value).expanduser()


def _external(value: str) -> tuple[ExternalMemory, ...]:
    """``work=~/notes, Ann=/backups/ann.db``: names of their own, and paths without a comma."""
    found = [_named(one) for one in value.split(",") if one.strip()]
    if len({one.name for one in found}) < len(found):
        raise Wrong("external")
    return tuple(found)


def _named(value: str) -> ExternalMemory:
    name, separator, path = value.partition("=")
    name = " ".join(name.split())
    if not separator or not path.strip() or not name.isprintable() or not 0 < len(name) <= 40 or "\0" in path:
        raise Wrong("external")
    return ExternalMemory(name, Path(path.strip()).expanduser())


@dataclass(frozen=True)
class Setting:
    """One row of the table of settings: its name, how it is read, and what holds while nobody gives it."""

    name: str
    read: Callable[[str], Any]
    default: str = ""
    secret: bool = False

    @property
    def field(self) -> str:
        """The name of the field of ``Settings``."""
        return self.name.lower()

    def shown(self, value: str) -> str:
        """A value of this setting, right or wrong, as it may be repeated."""
        if self.secret:
            return "(secret)"
        return mask_url(value) if self.read is _base else value


TABLE: tuple[Setting, ...] = (
    Setting("OPENAI_API_KEY", _key, secret=True),
    Setting("OPENAI_API_BASE", _base),
    Setting("CHAT_MODEL", _text),
    Setting("EMBEDDING_MODEL", _text),
    Setting("EMBEDDING_API_BASE", _base),
    Setting("EMBEDDING_API_KEY", _key, secret=True),
    Setting("MAX_CONV_NUM", _count, "20"),
    Setting("REFRESH_EVERY_CONV_NUM", _count, "10"),
    Setting("RECALL_SESSION_NUM", _count, "3"),
    Setting("RECALL_CONV_NUM", _count, "30"),
    Setting("RECALL_TOKENS", _count, "2000"),
    Setting("EXTERNAL_MEMORIES", _external),
    Setting("RECALL_PLANNING", _planning, "auto"),
    Setting("REFLECTION_ROUNDS", _few, "2"),
    Setting("WINDOW_SIZE", _count, "40"),
    Setting("IMPORT_CALLS", _amount, "50"),
    Setting("IMAGE_TOKENS", _count, "800"),
    Setting("MAX_MEMORIES", _most, "0"),
    Setting("FORGET_PERCENTAGE", _percentage, "10"),
    Setting("FORGET_MODE", _forget_mode, "fade"),
    Setting("GROUP_SIZE", _group, "8"),
    Setting("GROUP_TOKENS", _count, "4000"),
    Setting("OPEN_MEMORIES", _count, "200"),
    Setting("SESSION_TIMEOUT", _seconds, "1800"),
    Setting("SESSION_MAX_DURATION", _seconds, "86400"),
    Setting("SESSION_MAX_EVENTS", _count, "100"),
    Setting("COREFERENCE_CONTEXT_SIZE", _few, "5"),
    Setting("REQUESTS_PER_MINUTE", _count, "600"),
    Setting("REQUESTS_AT_ONCE", _count, "32"),
    Setting("TOKENS_PER_DAY", _tokens, "0"),
    Setting("SERVER_NAMES", _text),
    Setting("DATA_DIR", _folder, "data"),
    Setting("LOG_DIR", _folder, "logs"),
    Setting("DEBUG", _switch, "0"),
    Setting("REQUEST_TIMEOUT", _seconds, "120"),
    Setting("EXTRACT_AFTER", _hours, "1"),
    Setting("AUTOSAVE_AFTER", _hours, "0"),
    Setting("ARCHIVE_AFTER", _hours, "8"),
    Setting("LANGUAGE", _language, "auto"),
    Setting("COMPANION_NAME", _text),
    Setting("USER_NAME", _text),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in TABLE}
