"""All settings as one frozen value, and their table: name, parser, default.

Reading, the example file, the set-up and the docs use the same table; the texts are in the interfaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from domain.text import mask_url, url_secrets

if TYPE_CHECKING:
    from domain.events import Notice
    from domain.recollection import RecallLimits
    from domain.records import Session
    from domain.tree import ForgetLimit, ForgetMode

OPENAI_BASE = "https://api.openai.com/v1"
DEFAULT_OPENAI_MODEL = "gpt-4o-mini"
#: The name of the embedder that needs no model.
BUILT_IN = "built-in"


Source = Literal["flag", "environment", ".env", "default"]
#: When a model plans the search: never, if a question needs it, always.
Planning = Literal["off", "auto", "always"]


@dataclass(frozen=True, slots=True)
class ExternalMemory:
    """An external memory that is read: its name and path; ``with_erased``: also what was erased or is hidden here."""

    name: str
    path: Path
    with_erased: bool = False

    def __str__(self) -> str:
        return f"{self.name}{_ERASED * self.with_erased}={self.path}"


@dataclass(frozen=True)
class Settings:
    """All settings. ``sources``: where each came from; ``notices``: what to point out once."""

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
    recall_terse: bool
    external_memories: tuple[ExternalMemory, ...]
    window_size: int
    window_overlap: int
    extraction_workers: int
    import_calls: int
    persona_tokens: int
    max_memories: int
    forget_percentage: int
    forget_mode: ForgetMode
    group_size: int
    group_tokens: int
    open_memories: int
    session_timeout: float
    session_max_duration: float
    session_max_events: int
    session_check_interval_seconds: float
    conversation_batch_size: int
    conversation_keep_size: int
    coreference_context_size: int
    memory_strategies: tuple[str, ...]
    strategy_trigger: str
    requests_per_minute: int
    requests_at_once: int
    tokens_per_day: int
    server_names: str
    allowed_origins: tuple[str, ...]
    database_url: str
    data_dir: Path
    log_dir: Path
    debug: bool
    request_timeout: float
    extract_after: timedelta
    autosave_after: timedelta
    diary: Literal["auto", "on", "off"]
    archive_after: timedelta
    greeting: bool
    language: Literal["auto", "en", "zh"]
    companion_name: str
    user_name: str
    env_file: Path
    sources: Mapping[str, Source] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    @property
    def demo(self) -> bool:
        """Whether the demo model answers: neither a key nor a base is set."""
        return not self.openai_api_key and not self.openai_api_base

    @property
    def chat_base(self) -> str:
        """The base URL of the chat model."""
        return self.openai_api_base or OPENAI_BASE

    @property
    def embeds_here(self) -> bool:
        """Whether texts are embedded locally, without a server."""
        return self.embedding_model in ("", BUILT_IN)

    @property
    def embedding_base(self) -> str:
        """The base URL of the embedding model."""
        return self.embedding_api_base or self.chat_base

    @property
    def embedding_key(self) -> str:
        """The key of the embedding model."""
        return self.embedding_api_key or self.openai_api_key

    @property
    def recall_limits(self) -> RecallLimits:
        """How much recall may return."""
        from domain.recollection import SHARE, TERSE_SHARE, RecallLimits

        share = TERSE_SHARE if self.recall_terse else SHARE
        return RecallLimits(self.recall_session_num, self.recall_conv_num, self.recall_tokens, share)

    def idle_limit(self, session: Session) -> timedelta:
        """How long a session may be idle before it is saved automatically; zero means never.

        The person's own session can be resumed at any time; a session of another program is not.
        """
        return self.archive_after if session.client else self.autosave_after

    @property
    def forget_limit(self) -> ForgetLimit:
        """The limit of searched memories, and what happens beyond it."""
        from domain.tree import ForgetLimit

        return ForgetLimit(self.max_memories, self.forget_percentage, self.forget_mode)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must never be shown or logged."""
        keys = tuple(key for key in (self.openai_api_key, self.embedding_api_key) if key)
        urls = (self.openai_api_base, self.embedding_api_base, self.database_url)
        return keys + tuple(secret for url in urls for secret in url_secrets(url))


@dataclass(frozen=True)
class ModelDescription:
    """The chat model: its name, its masked base URL, and whether it is the demo model."""

    model: str
    base: str
    demo: bool


def describe_model(settings: Settings) -> ModelDescription:
    """The chat model of the settings."""
    if settings.demo:
        return ModelDescription("demo", "http://demo.invalid/v1", True)
    return ModelDescription(settings.chat_model, mask_url(settings.chat_base), False)


class InvalidValue(ValueError):
    """A value is invalid; the argument is the last word of the message key."""


def _read_text(value: str) -> str:
    if "\n" in value or "\r" in value:
        raise InvalidValue("no_line_break")
    return value.strip()


def _read_key(value: str) -> str:
    if value != value.strip() or re.search(r"\s", value) or not value.isascii() or not value.isprintable():
        raise InvalidValue("key_without_spaces")
    return value


def _read_base(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", value)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable:
        raise InvalidValue("url")
    return value.rstrip("/")


def _read_database(value: str) -> str:
    if not re.match(r"postgres(?:ql)?://\S+$", value):
        raise InvalidValue("database")
    return value


def _read_whole(problem: str, least: int, most: int | None, digits: str = r"\+?[0-9]{1,9}") -> Callable[[str], int]:
    """A parser of whole numbers; ``most``: None for any number of these digits."""

    def read(value: str) -> int:
        if not re.fullmatch(digits, value.strip()) or int(value) < least or (most is not None and int(value) > most):
            raise InvalidValue(problem)
        return int(value)

    return read


def _read_word(problem: str, *words: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        word = value.strip().lower()
        if word not in words:
            raise InvalidValue(problem)
        return word

    return read


def _read_seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        raise InvalidValue("seconds") from None
    if not 0 < seconds <= 86_400:
        raise InvalidValue("seconds")
    return seconds


def _read_duration(value: str) -> float:
    """Any number of seconds above 0."""
    try:
        seconds = float(value)
    except ValueError:
        raise InvalidValue("duration") from None
    if not 0 < seconds < float("inf"):
        raise InvalidValue("duration")
    return seconds


def _read_hours(value: str) -> timedelta:
    try:
        hours = float(value)
    except ValueError:
        raise InvalidValue("hours") from None
    if not 0 <= hours <= 100_000:
        raise InvalidValue("hours")
    return timedelta(hours=hours)


def _read_switch(value: str) -> bool:
    word = value.strip().lower()
    if word not in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        raise InvalidValue("switch")
    return word in ("1", "true", "yes", "on")


def _read_language(value: str) -> str:
    """``auto``, ``en``, ``zh``, or a list of locales as many systems set it: ``zh_CN:zh``."""
    word = value.strip().lower()
    if word in ("auto", "en", "zh"):
        return word
    if not re.fullmatch(r"[a-z]{2}[_:.@][\w.@:-]*", word):
        raise InvalidValue("language")
    return word[:2] if word[:2] in ("en", "zh") else "auto"


def _read_origins(value: str) -> tuple[str, ...]:
    """``https://chat.example.org, http://localhost:3000``: scheme, host and port of pages, nothing behind them."""
    found = tuple(one.strip().lower() for one in value.split(",") if one.strip())
    for one in found:
        if _read_base(one) != one or urlsplit(one)[2:] != ("", "", ""):
            raise InvalidValue("origin")
    return found


#: What consolidation does, always: it leaves out what anybody could look up, and finds relations.
_STRATEGIES = ("privacy_filter", "graph_extraction")


def _read_strategies(value: str) -> tuple[str, ...]:
    """Both strategies, in any order, with commas between or as a list in JSON."""
    if sorted(one.strip(" '\"").lower() for one in value.strip(" []").split(",")) != sorted(_STRATEGIES):
        raise InvalidValue("strategies")
    return _STRATEGIES


def _read_folder(value: str) -> Path:
    if "\0" in value:
        raise InvalidValue("folder")
    return Path(value).expanduser()


#: Behind the name of an external memory of which also what was erased here is recalled.
_ERASED = "+erased"


def _read_external_memories(value: str) -> tuple[ExternalMemory, ...]:
    """``work=~/notes, Ann+erased=/backups/ann.db``: unique names, and paths without a comma."""
    found = [_read_external_memory(one) for one in value.split(",") if one.strip()]
    if len({one.name for one in found}) < len(found):
        raise InvalidValue("external")
    return tuple(found)


def _read_external_memory(value: str) -> ExternalMemory:
    name, separator, path = value.partition("=")
    name = " ".join(name.split())
    with_erased, name = name.endswith(_ERASED), name.removesuffix(_ERASED)
    if not separator or not path.strip() or not name.isprintable() or not 0 < len(name) <= 40 or "\0" in path:
        raise InvalidValue("external")
    return ExternalMemory(name, Path(path.strip()).expanduser(), with_erased)


@dataclass(frozen=True)
class Setting:
    """One row of the table of settings: name, parser, default."""

    name: str
    read: Callable[[str], Any]
    default: str = ""
    secret: bool = False

    @property
    def field_name(self) -> str:
        """The name of its field in ``Settings``."""
        return self.name.lower()

    def mask_value(self, value: str) -> str:
        """A valid or invalid value of this setting, safe to show."""
        if self.secret:
            return "(secret)"
        return mask_url(value) if self.read in (_read_base, _read_database) else value


_read_count = _read_whole("whole_number", 1, 100_000)
_read_digit = _read_whole("few", 0, 9, "[0-9]")

TABLE: tuple[Setting, ...] = (
    Setting("OPENAI_API_KEY", _read_key, secret=True),
    Setting("OPENAI_API_BASE", _read_base),
    Setting("CHAT_MODEL", _read_text),
    Setting("EMBEDDING_MODEL", _read_text),
    Setting("EMBEDDING_API_BASE", _read_base),
    Setting("EMBEDDING_API_KEY", _read_key, secret=True),
    Setting("MAX_CONV_NUM", _read_count, "20"),
    Setting("REFRESH_EVERY_CONV_NUM", _read_count, "10"),
    Setting("RECALL_SESSION_NUM", _read_count, "3"),
    Setting("RECALL_CONV_NUM", _read_count, "30"),
    Setting("RECALL_TOKENS", _read_count, "2000"),
    Setting("RECALL_TERSE", _read_switch, "0"),
    Setting("EXTERNAL_MEMORIES", _read_external_memories),
    Setting("RECALL_PLANNING", _read_word("planning", "off", "auto", "always"), "auto"),
    Setting("REFLECTION_ROUNDS", _read_digit, "2"),
    Setting("WINDOW_SIZE", _read_count, "40"),
    Setting("WINDOW_OVERLAP", _read_digit, "2"),
    Setting("EXTRACTION_WORKERS", _read_count, "1"),
    Setting("IMPORT_CALLS", _read_whole("amount", 0, 100_000), "50"),
    Setting("PERSONA_TOKENS", _read_count, "800"),
    Setting("MAX_MEMORIES", _read_whole("most", 0, None), "0"),
    Setting("FORGET_PERCENTAGE", _read_whole("percentage", 1, 100, "[0-9]{1,3}"), "10"),
    Setting("FORGET_MODE", _read_word("forget_mode", "fade", "delete"), "fade"),
    Setting("GROUP_SIZE", _read_whole("group", 2, 100, "[0-9]{1,3}"), "8"),
    Setting("GROUP_TOKENS", _read_count, "4000"),
    Setting("OPEN_MEMORIES", _read_count, "200"),
    Setting("SESSION_TIMEOUT", _read_seconds, "1800"),
    Setting("SESSION_MAX_DURATION", _read_duration, "86400"),
    Setting("SESSION_MAX_EVENTS", _read_count, "100"),
    Setting("SESSION_CHECK_INTERVAL_SECONDS", _read_seconds, "60"),
    Setting("COREFERENCE_CONTEXT_SIZE", _read_whole("context", 0, 100), "5"),
    Setting("MEMORY_STRATEGIES", _read_strategies, ", ".join(_STRATEGIES)),
    Setting("STRATEGY_TRIGGER", _read_word("trigger", "on_session_end"), "on_session_end"),
    Setting("CONVERSATION_BATCH_SIZE", _read_count, "50"),
    Setting("CONVERSATION_KEEP_SIZE", _read_count, "10"),
    Setting("REQUESTS_PER_MINUTE", _read_count, "600"),
    Setting("REQUESTS_AT_ONCE", _read_count, "32"),
    Setting("TOKENS_PER_DAY", _read_whole("tokens", 0, None, r"\+?[0-9]{1,12}"), "0"),
    Setting("SERVER_NAMES", _read_text),
    Setting("ALLOWED_ORIGINS", _read_origins),
    Setting("DATABASE_URL", _read_database),
    Setting("DATA_DIR", _read_folder, "data"),
    Setting("LOG_DIR", _read_folder, "logs"),
    Setting("DEBUG", _read_switch, "0"),
    Setting("REQUEST_TIMEOUT", _read_seconds, "120"),
    Setting("EXTRACT_AFTER", _read_hours, "1"),
    Setting("AUTOSAVE_AFTER", _read_hours, "0"),
    Setting("DIARY", _read_word("diary", "auto", "on", "off"), "auto"),
    Setting("ARCHIVE_AFTER", _read_hours, "8"),
    Setting("GREETING", _read_switch, "on"),
    Setting("LANGUAGE", _read_language, "auto"),
    Setting("COMPANION_NAME", _read_text),
    Setting("USER_NAME", _read_text),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in TABLE}
