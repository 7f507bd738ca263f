"""Grok's export: every message in two wrappings, times as Mongo has them, a tree by ``parent_response_id``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.histories import PastConversation, Spoken, Unread
from histories import omissions
from histories.readings import Reading, each
from histories.shapes import entries, first, name, record, text
from histories.talks import Talk
from histories.trees import newest_leaf, way_up


def fits(element: Mapping[str, Any]) -> bool:
    """Whether this is a conversation of Grok."""
    return isinstance(element.get("conversation"), dict) and isinstance(element.get("responses"), list)


def conversation(element: Mapping[str, Any], where: str, reading: Reading) -> PastConversation | Unread:
    """One element of ``conversations``."""
    about = record(element, "conversation")
    given = entries(element.get("responses"))
    if not given:
        return reading.unread(omissions.NO_MESSAGES, where)
    talk = Talk(
        reading.source, name(first(about, "id", "_id")), text(about.get("title")),
        began=reading.time(about.get("create_time")),
    )  # fmt: skip
    responses = {
        name(one.get("_id")) or f"#{at}": one
        for at, one in enumerate(record(wrapped, "response") for wrapped in given)
        if one
    }
    talk.leave(omissions.MISSHAPEN_MESSAGE, len(given) - len(responses))
    shown = _shown(responses, reading)
    for key in shown:
        said = reading.time(responses[key].get("create_time"))
        talk.take(key, _by(responses[key]), text(responses[key].get("message")), said)
    talk.leave(omissions.OTHER_BRANCH, len(responses) - len(shown))
    return talk.finished()


def _shown(responses: Mapping[str, Mapping[str, Any]], reading: Reading) -> list[str]:
    """The way up from the newest leaf; all of them where there is no tree."""
    parents = {key: name(one.get("parent_response_id")) or None for key, one in responses.items()}
    if not any(parents.values()):
        return list(responses)
    return way_up(parents, newest_leaf(parents, lambda key: reading.time(responses[key].get("create_time"))))


def _by(response: Mapping[str, Any]) -> Spoken:
    """Whose words; the companion may be named by its model."""
    return "person" if text(response.get("sender")).lower() in ("human", "user") else "companion"


read = each(conversation)
