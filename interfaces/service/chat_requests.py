"""Reads requests of OpenAI's chat completions, and adds the memory to them.

Pure: uses no memory and no model. Promises: unknown fields are passed on unchanged; no word of the client is changed,
moved or removed; additions are where they cost a prompt cache least: the stable part after the client's system message,
recalled memories before the message that they were recalled for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from client_history import ClientMessage
from domain.errors import UsageError
from domain.text import clean_text

#: So many messages before the last one show what "she" and "that" mean in it.
_RECENT = 5
_LEADING = ("system", "developer")
#: An order is within so many characters of the beginning or the end.
_ORDER = 600
#: The headings of Open WebUI, and what only its orders speak of.
_TASK = re.compile(
    r"\s*#{2,}\s*Task:\s*(?=Generate|Suggest|Analy[sz]e|You are an autocompletion system)", re.IGNORECASE
)
_OF_A_TASK = re.compile(r"chat.history|the user might|#{2,}\s*(?:Output|Guidelines):|<text>", re.IGNORECASE)
#: Orders that are unambiguous.
_PLAIN = re.compile(
    r"\bgive this conversation a name\b"
    r"|\bsummari[sz]e (?:the|our) (?:discussion|conversation)\b[^\n]{0,60}\b(?:future context|as a prompt)\b"
    r"|\byou are an autocompletion system\b"
    r"|\byour task is to reflect the speaker's likely facial expression\b"
    r"|\byour task is to choose and return the correct tool\(s\)"
    r"|\byou have been provided with a set of responses from various models\b"
    r"|使用四到五个字直接返回"
    r"|总结一下(?:你和用户的)?对话[^\n]{0,40}(?:上下文提示|prompt)",
    re.IGNORECASE,
)
#: A line that orders a title, tags or questions for a chat ...
_ORDERED = re.compile(
    r"^[^\n]*(?:\b(?:generate|create|provide|write|give|suggest|come up with|return)\b[^.\n]{0,60}"
    r"\b(?:title|emoji|tags?|follow-?up questions?|name for th(?:is|e) (?:chat|conversation))\b[^\n]{0,80}"
    r"\b(?:chat|conversation|discussion|messages?)\b"
    r"|\bsummari[sz]e (?:the|our|this) (?:chat|conversation|discussion) (?:into|as|in) a title\b"
    r"|(?:\d+\s*个字(?:以内|左右)?)[^\n]{0,30}(?:主题|标题|题目)"
    r"|(?:总结|概括|生成|起)[^\n]{0,30}(?:对话|会话|聊天)[^\n]{0,30}(?:标题|主题|题目|名字)"
    r"|(?:对话|会话|聊天)[^\n]{0,20}(?:总结|概括)为[^\n]{0,20}(?:标题|主题))[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
#: ... and describes its form, as a program does and a person seldom would.
_FORM = re.compile(
    r"\d|\bwords?\b|\bcharacters?\b|\bconcise|\bshort\b|\bbrief|\bquot|\bpunctuation\b|\bJSON\b|\bonly\b"
    r"|个字|简短|简洁|标点|只返回|直接返回|不要",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(r"\bI\b|\b[Mm](?:e|y|ine)\b|我(?!们)")
#: Open WebUI puts documents before the message that they were found for.
_DOCUMENTS = re.compile(r"\s*#{2,}\s*Task:\s*Respond to the user query using the provided context\b")
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>\s*", re.DOTALL)


@dataclass(frozen=True)
class ChatRequest:
    """A request as far as a memory needs to know it.

    ``said`` is the last message of the person, at index ``at``; ``before`` are the messages before it, as (role, text).
    ``answers_tools``: tools were called after it, so this is no new turn. ``side``: this is a client's own task.
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
    def history(self) -> list[ClientMessage]:
        """All of its messages, as text."""
        return [ClientMessage(str(one.get("role", "")), message_words(one)) for one in self.body["messages"]]

    @property
    def recent(self) -> tuple[str, ...]:
        """The last few messages before the person's words."""
        said = [text for role, text in self.before if role not in _LEADING and text]
        return tuple(said[-_RECENT:])


def read_request(body: Any) -> ChatRequest:
    """Read what a client sent. Raises UsageError where it is no request for a chat at all."""
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, list) or not messages or not all(isinstance(one, Mapping) for one in messages):
        raise UsageError("chat.messages_needed")
    said_at = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    at = said_at[-1] if said_at else -1
    said = message_words(messages[at]) if said_at else ""
    before = tuple((str(one.get("role", "")), message_words(one)) for one in messages[: max(at, 0)])
    return ChatRequest(
        body,
        said,
        at,
        before,
        answers_tools=bool(said_at) and at < len(messages) - 1,
        side=_is_for_client(messages, said),
    )


def message_words(message: Mapping[str, Any]) -> str:
    """The words of a message, as the memory stores them."""
    text = clean_text(message_text(message))
    return strip_documents(text) if message.get("role") == "user" else text


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message; of one in parts those that are text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def add_memory(request: ChatRequest, profile: str, recalled: str) -> dict[str, Any]:
    """The body with the profile of the person and the recalled memories."""
    messages = [dict(message) for message in request.body["messages"]]
    if recalled and request.at >= 0:
        messages[request.at]["content"] = _prepend_text(messages[request.at].get("content"), recalled)
    if profile:
        leading = next((at for at, one in enumerate(messages) if one.get("role") not in _LEADING), len(messages))
        if leading:
            messages[leading - 1]["content"] = _append_text(messages[leading - 1].get("content"), profile)
        else:
            messages.insert(0, {"role": "system", "content": profile})
    return {**request.body, "messages": messages}


def _prepend_text(content: Any, text: str) -> Any:
    """The content with a text before it, in the same form."""
    if isinstance(content, list):
        return [{"type": "text", "text": text}, *content]
    return f"{text}\n\n{content or ''}"


def _append_text(content: Any, text: str) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if content else text


def _is_for_client(messages: Sequence[Mapping[str, Any]], said: str) -> bool:
    """Whether this is a client's own task, as the person's message or as the only system message."""
    leading = messages[0].get("role") in _LEADING and len(messages) <= 2
    return is_client_task(said) or (leading and is_client_task(message_text(messages[0])))


# -- orders of clients


def is_client_task(text: str) -> bool:
    """Whether this is an order of a client.

    >>> is_client_task("Provide a concise, 5-word-or-less title for the conversation.")
    True
    >>> is_client_task("Give me a short title for the conversation with my boss.")
    False
    """
    if _TASK.match(text) and _OF_A_TASK.search(text):
        return True
    places = (text,) if len(text) <= _ORDER else (text[:_ORDER], text[-_ORDER:])
    return any(_PLAIN.search(place) or any(map(_is_ordered, _ORDERED.findall(place))) for place in places)


def strip_documents(text: str) -> str:
    """What the person said, without documents that a client put in front of it.

    >>> task = "### Task:\\nRespond to the user query using the provided context."
    >>> strip_documents(task + "<context>Cats purr.</context>Why?")
    'Why?'
    """
    if not _DOCUMENTS.match(text):
        return text
    asked = _QUERY.search(text)
    behind = _QUERY.sub("", text[text.rfind("</context>") + len("</context>") :]).strip()
    return behind or (asked[1] if asked else text)


def _is_ordered(line: str) -> bool:
    return bool(_FORM.search(line)) and not _OF_ONESELF.search(line)
