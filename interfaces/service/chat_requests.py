"""Requests of chat clients, read and given a memory: OpenAI's chat completions, whoever sends them.

Pure: no memory and no model is asked here. Promises: what is not understood is passed on as it came; of the client's
own words none is changed, moved or left out; what is added stands where a prompt cache loses least: what is stable
right behind the client's system message, what was recalled in front of the words that it was recalled for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.errors import UsageError
from domain.text import clean
from interfaces.service.client_words import asks_for_itself, own_words
from interfaces.service.held_history import Said

#: How many messages before the last words of the person tell what "she" and "that" mean in them.
_RECENT = 5
_LEADING = ("system", "developer")


@dataclass(frozen=True)
class ChatRequest:
    """A request as far as a memory needs to know it.

    ``said`` are the last words of the person, which stand at ``at`` of the messages; ``before`` the messages in front
    of them, as (role, text). ``answers_tools``: tools were called after those words, so that this is no new turn.
    ``side``: the client asks for itself, and no person said this.
    """

    body: Mapping[str, Any]
    said: str
    at: int
    before: tuple[tuple[str, str], ...]
    answers_tools: bool
    side: bool

    @property
    def streams(self) -> bool:
        """Whether the answer is to come as a stream."""
        return self.body.get("stream") is True

    @property
    def history(self) -> list[Said]:
        """All of its messages, as far as they are words."""
        return [Said(str(one.get("role", "")), words_of(one)) for one in self.body["messages"]]

    @property
    def recent(self) -> tuple[str, ...]:
        """The last few messages before the person's words."""
        said = [text for role, text in self.before if role not in _LEADING and text]
        return tuple(said[-_RECENT:])


def read_request(body: Any) -> ChatRequest:
    """Read what a client sent. Raises UsageError where it is no request for a chat at all."""
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if (
        not isinstance(messages, list)
        or not messages
        or not all(isinstance(one, Mapping) for one in messages)
    ):
        raise UsageError("chat.messages_needed")
    said_at = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    at = said_at[-1] if said_at else -1
    said = words_of(messages[at]) if said_at else ""
    before = tuple((str(one.get("role", "")), words_of(one)) for one in messages[: max(at, 0)])
    return ChatRequest(
        body,
        said,
        at,
        before,
        answers_tools=bool(said_at) and at < len(messages) - 1,
        side=_is_side(messages, said),
    )


def words_of(message: Mapping[str, Any]) -> str:
    """What somebody said with a message, as a memory can take it."""
    text = clean(text_of(message))
    return own_words(text) if message.get("role") == "user" else text


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; of one in parts those that are text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def with_memory(request: ChatRequest, profile: str, recalled: str) -> dict[str, Any]:
    """The body with what is known of the person, and what was recalled for their last words."""
    messages = [dict(message) for message in request.body["messages"]]
    if recalled and request.at >= 0:
        messages[request.at]["content"] = _before(messages[request.at].get("content"), recalled)
    if profile:
        leading = next(
            (at for at, one in enumerate(messages) if one.get("role") not in _LEADING), len(messages)
        )
        if leading:
            messages[leading - 1]["content"] = _behind(messages[leading - 1].get("content"), profile)
        else:
            messages.insert(0, {"role": "system", "content": profile})
    return {**request.body, "messages": messages}


def _before(content: Any, text: str) -> Any:
    """The content with a text in front of it, in the form that it has."""
    if isinstance(content, list):
        return [{"type": "text", "text": text}, *content]
    return f"{text}\n\n{content or ''}"


def _behind(content: Any, text: str) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if content else text


def _is_side(messages: Sequence[Mapping[str, Any]], said: str) -> bool:
    """Whether a client asks for itself, in the person's place or with a system message that is all there is to it."""
    leading = messages[0].get("role") in _LEADING and len(messages) <= 2
    return asks_for_itself(said) or (leading and asks_for_itself(text_of(messages[0])))
