"""The table of all formats. The first row that fits is the format of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from histories import (
    chatgpt,
    chatlab,
    claude,
    deepseek,
    forest_units,
    gemini,
    gemini_page,
    grok,
    librechat,
    llm_logs,
    notes,
    open_webui,
    own_export,
    qq,
    role_messages,
    role_play,
    tables,
    telegram,
    wechat,
    whatsapp,
)
from histories.readings import Reader


@dataclass(frozen=True)
class JsonFormat:
    """A format of JSON or JSON Lines: what an element of it, or the outline of the whole file, looks like."""

    source: str
    fits: Callable[[Mapping[str, Any]], bool]
    read: Reader


@dataclass(frozen=True)
class TextFormat:
    """A format of lines: what its beginning looks like."""

    source: str
    fits: Callable[[str], bool]
    read: Reader


@dataclass(frozen=True)
class TableFormat:
    """A database: the tables that have to be in it."""

    source: str
    needs: frozenset[str]
    read: Reader


JSON_FORMATS = (
    JsonFormat("claude", claude.fits, claude.read),
    JsonFormat("claude", claude.fits_manifest, claude.read_manifest),
    JsonFormat("deepseek", deepseek.fits, deepseek.read),
    JsonFormat("deepseek", deepseek.fits_raw, deepseek.read_raw),
    JsonFormat("chatgpt", chatgpt.fits, chatgpt.read),
    JsonFormat("gemini", gemini.fits, gemini.read),
    JsonFormat("grok", grok.fits, grok.read),
    JsonFormat("open_webui", open_webui.fits, open_webui.read),
    JsonFormat("librechat", librechat.fits, librechat.read),
    JsonFormat("sillytavern", role_play.fits_silly_tavern, role_play.read_silly_tavern),
    JsonFormat("character_ai", role_play.fits_character_ai, role_play.read_character_ai),
    JsonFormat("telegram", telegram.fits, telegram.read),
    JsonFormat("wechat", wechat.fits, wechat.read),
    JsonFormat("chatlab", chatlab.fits, chatlab.read),
    JsonFormat("old_friend", own_export.fits, own_export.read),
    JsonFormat("memforest", forest_units.fits, forest_units.read),
    JsonFormat("notes", notes.fits, notes.read),
    JsonFormat("sharegpt", role_messages.fits_sharegpt, role_messages.read_sharegpt),
    JsonFormat("messages", role_messages.fits_conversation, role_messages.read),
    JsonFormat("messages", role_messages.fits_message, role_messages.read_messages),
)
TEXT_FORMATS = (
    TextFormat("gemini", gemini_page.fits, gemini_page.read),
    TextFormat("copilot", tables.fits_copilot, tables.read_copilot),
    TextFormat("wechat", tables.fits_wechat, tables.read_wechat),
    TextFormat("qq", qq.fits, qq.read),
    TextFormat("whatsapp", whatsapp.fits, whatsapp.read),
)
TABLE_FORMATS = (
    TableFormat("memforest", forest_units.NEEDS, forest_units.read_database),
    TableFormat("llm", frozenset(("responses", "conversations")), llm_logs.read),
    TableFormat("llm", frozenset(("threads", "turns", "messages", "parts")), llm_logs.read),
    TableFormat("open_webui", frozenset(("chat", "user")), open_webui.read_database),
)
