"""All settings as one frozen value, and the table of them: name, how a value is read and checked, what a person gets.

One table feeds reading, the example file, the set-up and the documents.
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
from domain.recollection import RecallLimits

OPENAI_BASE = "https://api.openai.com/v1"
DEFAULT_OPENAI_MODEL = "gpt-4o-mini"
#: The name of the embedder that needs no model at all.
BUILT_IN = "built-in"


Source = Literal["flag", "environment", ".env", "default"]


@dataclass(frozen=True)
class Settings:
    """All settings. ``sources`` tells where each came from, ``notices`` what should be pointed out once."""

    openai_api_key: str = field(repr=False)
    openai_api_base: str
    chat_model: str
    embedding_model: str
    embedding_api_base: str
    embedding_api_key: str = field(repr=False)
    max_conv_num: int
    refresh_every_conv_num: int
    recall_session_num: int
    recall_conv_num: int
    recall_tokens: int
    window_size: int
    image_tokens: int
    data_dir: Path
    log_dir: Path
    debug: bool
    request_timeout: float
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

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be written anywhere."""
        return tuple(key for key in (self.openai_api_key, self.embedding_api_key) if key)


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


@dataclass(frozen=True)
class Setting:
    """One row of the table of settings: its name, how it is read, and what a person gets from it."""

    name: str
    read: Callable[[str], Any]
    default: str
    help_en: str
    help_zh: str
    secret: bool = False

    @property
    def field(self) -> str:
        """The name of the field of ``Settings``."""
        return self.name.lower()


TABLE: tuple[Setting, ...] = (
    Setting(
        "OPENAI_API_KEY",
        _key,
        "",
        "The key of your model provider. Local servers need none.",
        "模型服务商的密钥。本地服务器不需要。",
        secret=True,
    ),
    Setting(
        "OPENAI_API_BASE",
        _base,
        "",
        f"Where the chat model is. Empty with a key: {OPENAI_BASE}",
        f"聊天模型的地址。有密钥而此处留空时为 {OPENAI_BASE}",
    ),
    Setting(
        "CHAT_MODEL",
        _text,
        "",
        f"The chat model's name. Empty at OpenAI: {DEFAULT_OPENAI_MODEL}",
        f"聊天模型的名字。用 OpenAI 且留空时为 {DEFAULT_OPENAI_MODEL}",
    ),
    Setting(
        "EMBEDDING_MODEL",
        _text,
        "",
        f"The embedding model's name. Empty: the one that comes along and knows meaning; {BUILT_IN}: words alone.",
        f"向量模型的名字。留空则用自带的、懂语义的模型；{BUILT_IN} 则只看词语。",
    ),
    Setting(
        "EMBEDDING_API_BASE",
        _base,
        "",
        "Where the embedding model is. Empty: where the chat model is.",
        "向量模型的地址。留空则与聊天模型相同。",
    ),
    Setting(
        "EMBEDDING_API_KEY",
        _key,
        "",
        "Its key. Empty: the chat model's key.",
        "它的密钥。留空则与聊天模型相同。",
        secret=True,
    ),
    Setting(
        "MAX_CONV_NUM", _count, "20", "Rounds kept word for word in the context.", "上下文中逐字保留的轮数。"
    ),
    Setting(
        "REFRESH_EVERY_CONV_NUM",
        _count,
        "10",
        "How many of the oldest rounds are folded at once.",
        "每次折叠进摘要的最早轮数。",
    ),
    Setting(
        "RECALL_SESSION_NUM",
        _count,
        "3",
        "Session summaries recalled for a reply, at most.",
        "每次回复最多回忆的会话摘要数。",
    ),
    Setting(
        "RECALL_CONV_NUM", _count, "30", "Turns recalled for a reply, at most.", "每次回复最多回忆的话语数。"
    ),
    Setting(
        "RECALL_TOKENS",
        _count,
        "2000",
        "Tokens that recalled memories may take in a prompt.",
        "回忆内容在提示中最多占用的词元数。",
    ),
    Setting(
        "WINDOW_SIZE",
        _count,
        "40",
        "Messages of a conversation that are read at once to note what is known, at most.",
        "每次最多读多少条话语，记下从中得知的事。",
    ),
    Setting(
        "IMAGE_TOKENS",
        _count,
        "800",
        "Tokens that each image may take in a prompt; what matters least stays a fact alone.",
        "每个形象在提示中最多占用的词元数；最不要紧的只留作事实。",
    ),
    Setting(
        "DATA_DIR",
        _folder,
        "data",
        "Where everything is remembered. Copy it, keep the friend.",
        "一切记忆所在的文件夹。复制它，就留住了朋友。",
    ),
    Setting("LOG_DIR", _folder, "logs", "Where logs are written.", "日志所在的文件夹。"),
    Setting(
        "DEBUG",
        _switch,
        "0",
        "1 writes every prompt and all database traffic to logs/debug.log.",
        "设为 1 时把每个提示和数据库读写记入 logs/debug.log。",
    ),
    Setting(
        "REQUEST_TIMEOUT",
        _seconds,
        "120",
        "Seconds to wait for a sign of life from the model server.",
        "等待模型服务器响应的秒数。",
    ),
    Setting(
        "ARCHIVE_AFTER",
        _hours,
        "8",
        "Hours of silence after which a session is saved by itself at the next start. 0: never.",
        "会话沉默多少小时后，下次启动时自动保存。0 为从不。",
    ),
    Setting(
        "LANGUAGE",
        _language,
        "auto",
        "Language of the program's own messages: auto, en or zh.",
        "程序自身消息的语言：auto、en 或 zh。",
    ),
    Setting("COMPANION_NAME", _text, "", "What your companion is called.", "你的伙伴叫什么。"),
    Setting("USER_NAME", _text, "", "What your companion calls you.", "你的伙伴怎么称呼你。"),
)
BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in TABLE}
