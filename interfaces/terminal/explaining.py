"""Errors in words, with what only the terminal can add: whose key it was, which names are near."""

from __future__ import annotations

import difflib

from domain import errors
from interfaces.terminal.command_context import CommandContext

_SHOWN_OF_KEY = 4


def explain(context: CommandContext, error: errors.OldFriendError) -> str:
    """What happened and what to do, on one line (a line each for settings)."""
    if isinstance(error, errors.Unauthorized):
        error.details["key_hint"] = _key_hint(context)
    if isinstance(error, errors.NotFound) and not error.details.get("nearest_hint"):
        error.details["nearest_hint"] = _nearest_hint(context, error)
    return context.words.error(error)


def masked(key: str) -> str:
    """A key as it may be shown: its last four letters.

    >>> masked("sk-0123456789abcd")
    '…abcd'
    """
    return "…" + key[-_SHOWN_OF_KEY:] if len(key) > 2 * _SHOWN_OF_KEY else "…"


def _key_hint(context: CommandContext) -> str:
    key = context.settings.openai_api_key
    if not key:
        return ""
    source = context.words.say("source." + context.settings.sources.get("OPENAI_API_KEY", "default"))
    return context.words.say("error.key_hint", key=masked(key), source=source)


def _nearest_hint(context: CommandContext, error: errors.NotFound) -> str:
    """Names of models that resemble the one that is not there; asking for them may fail as well."""
    if error.key != "model.no_such_model":
        return ""
    try:
        names = context.conversation.llm.models()
    except errors.OldFriendError:
        return ""
    near = difflib.get_close_matches(str(error.details.get("model", "")), names, 3, 0.3) or names[:3]
    return context.words.say("error.nearest_hint", names=", ".join(near)) if near else ""
