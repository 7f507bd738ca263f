"""Grok's export: every message in two wrappings, times as Mongo has them, a tree by ``parent_response_id``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.imports import PastConversation, Spoken, Unread
from importers.conversation_builder import ConversationBuilder, LeftOut, newest_leaf, path_from_root
from importers.json_values import as_list, as_name, as_object, as_text, first_value
from importers.reading import NotRead, Reading, read_each


def matches_format(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of Grok."""
    return isinstance(element.get("conversation"), dict) and isinstance(element.get("responses"), list)


def read_conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of ``conversations``."""
    about = as_object(element, "conversation")
    given = as_list(element.get("responses"))
    if not given:
        return reading.make_unread(NotRead.NO_MESSAGES, where)
    builder = ConversationBuilder(
        reading.source, as_name(first_value(about, "id", "_id")), as_text(about.get("title")),
        began=reading.parse_time(about.get("create_time")),
    )  # fmt: skip
    responses = {
        as_name(one.get("_id")) or f"#{at}": one
        for at, one in enumerate(as_object(wrapped, "response") for wrapped in given)
        if one
    }
    builder.leave_out(LeftOut.MISSHAPEN, len(given) - len(responses))
    shown = _shown_keys(responses, reading)
    for key in shown:
        said = reading.parse_time(responses[key].get("create_time"))
        builder.add_message(key, _speaker_role(responses[key]), as_text(responses[key].get("message")), said)
    builder.leave_out(LeftOut.OTHER_BRANCH, len(responses) - len(shown))
    return builder.build()


def _shown_keys(responses: Mapping[str, Mapping[str, Any]], reading: Reading) -> list[str]:
    """The way up from the newest leaf; all of them where there is no tree."""
    parents = {key: as_name(one.get("parent_response_id")) or None for key, one in responses.items()}
    if not any(parents.values()):
        return list(responses)
    return path_from_root(
        parents, newest_leaf(parents, lambda key: reading.parse_time(responses[key].get("create_time")))
    )


def _speaker_role(response: Mapping[str, Any]) -> Spoken:
    """Whose words; the companion may be named by its model."""
    return "person" if as_text(response.get("sender")).lower() in ("human", "user") else "companion"


read_export = read_each(read_conversation)
