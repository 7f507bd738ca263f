"""OpenAI's chats, relayed with memory: prepares a request for the model server, and stores the round of its reply.

    ChatRequest    a request as far as a memory needs to know it; unknown fields are passed on unchanged
    add_memory     its body with the memory: no word of the client is changed, moved or removed, and additions are where
                   they cost a prompt cache least: the stable part after the client's system message, recalled memories
                   before the message that they were recalled for
    RelayedChats   prepares requests, stores rounds

The steps are those of every turn (``conversation.TurnSteps``). Promises: a failed call, an interrupted reply, a tool
call, a client's own task and a request with the memory off store nothing; a turn that continues after a tool call gets
the same bytes again, unless something was erased or hidden meanwhile. What waits for the results of tools is kept in
the process, or for a day in the database that several servers share, where any of them may go on; an erasure removes
it, and so does hiding. Raises UsageError, ModelError, StorageError; ErasedMeanwhile where the reply may rest on what
was erased since.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache
from threading import Lock
from typing import Any, Literal

from pydantic import TypeAdapter

from client_history import ClientHistory, ClientMessage, conversation_key
from conversation import ClientChat, PreparedTurn, result_of
from domain.errors import UsageError
from domain.recollection import Recollection
from domain.text import clean_text, is_blank, new_boundary, one_line
from domain.workers import CancelToken
from jobs.maintenance import TOOLS_WAIT
from llm import Layers, profile_and_memories
from models.relaying import RelayedReply
from people import Companion, People

#: How a request uses the memory: it does, it is switched off, or it is a client's own task (``side``).
Use = Literal["on", "off", "side"]
#: The name by which a client may request the model of the settings.
OWN_MODEL = "old-friend"
#: The client of the sessions that are stored here.
_OPENAI = "openai"
#: How much waits for the results of tools in one process.
_MOST_WAITING = 1_000

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
#: What was recalled for a turn, and what the memory adds to its request: the profile of the person, and memories.
_PromptTexts = tuple[Recollection, str, str]
_Number = tuple[int, int]


@dataclass(frozen=True)
class RelayedChat:
    """A request as it is sent on; without a ``turn`` it does not use the memory.

    ``response`` is the id by which its reply is found later, ``previous`` the response that it follows; ``added`` the
    profile and the memories in the request. ``since`` is what ``_number_of`` gave when it was prepared.
    """

    person: str | None
    request: ChatRequest
    body: Mapping[str, Any]
    use: Use
    turn: PreparedTurn | None = None
    since: _Number = (0, 0)
    response: str = ""
    previous: str = ""
    added: tuple[str, str] = ("", "")

    @property
    def name(self) -> str | None:
        """The client's name of the conversation."""
        chat = self.turn and self.turn.request.chat
        return chat.name if chat else None

    @property
    def headers(self) -> dict[str, str]:
        """Headers that list what was used."""
        found, place = (self.turn.recalled, self.turn.request.place) if self.turn else (None, None)
        memories = (
            [*(one.text_id for one in found.summaries), *(one.text_id for one in found.messages)] if found else []
        )
        key = place.key if place else ""
        return {
            "X-Memory": self.use,
            "X-Memory-Count": str(len(memories)),
            "X-Memory-Ids": ",".join(memories),
            # A header carries bytes, and is written byte by byte: ours are UTF-8.
            "X-Session-Id": key.removeprefix("id:").encode().decode("latin-1"),
        }


@dataclass(frozen=True)
class ResponsePast:
    """What was said up to a response: the name of its conversation, and its messages."""

    name: str | None = None
    messages: Sequence[Mapping[str, Any]] = ()


class RelayedChats:
    """Gives the chats of other programs a memory."""

    def __init__(self, people: People) -> None:
        self._people = people
        #: With the number of its memory when it was made.
        self._waiting: OrderedDict[tuple[str | None, str], tuple[str, _Number]] = OrderedDict()
        self._lock = Lock()

    def prepare_chat(
        self, person: str | None, request: ChatRequest, name: str | None, gone: CancelToken, *, switched_off: bool
    ) -> RelayedChat:
        """The request with its memory. Raises StorageError, Interrupted when the client is ``gone``.

        ``name`` is the client's name of the conversation. Without a ``person`` the memory must be switched off.
        """
        model, ours = request.body.get("model"), self._people.llm.described.model
        body = {**request.body, "model": model if model and model != OWN_MODEL else ours}
        if switched_off or person is None:
            return RelayedChat(person, request, body, "off")
        with self._people.companion(person) as companion:
            steps, memory = companion.turn_steps(), companion.memory
            since = _number_of(companion)
            if request.side or is_blank(request.said):
                return RelayedChat(person, request, body, "side", since=since)
            turn = replace(steps.client_request(ClientChat(_OPENAI, request.history, name)), epoch=since[0])
            prepared = PreparedTurn(turn, Layers(turn.text, companion.clock()), memory.voice.state())
            chat = RelayedChat(person, request, body, "on", prepared, since)
            if request.answers_tools and (kept := self._find_waiting(companion, _mark_of(chat))):
                recollection, profile, recalled = _texts_form().validate_json(kept)
                prepared = replace(prepared, layers=replace(prepared.layers, recalled=recollection))
            else:
                prepared = result_of(steps.prepare(turn, gone))
                profile, recalled = profile_and_memories(prepared.layers, new_boundary())
        sent = {**body, "messages": add_memory(request, profile, recalled)["messages"]}
        return replace(chat, body=sent, turn=prepared, added=(profile, recalled))

    def require_current(self, chat: RelayedChat) -> None:
        """Raise ErasedMeanwhile where something was erased since a request was prepared."""
        if chat.turn and chat.person is not None:
            with self._people.companion(chat.person) as companion:
                companion.memory.epoch.require(chat.turn.request.epoch)

    def store_round(self, chat: RelayedChat, relayed: RelayedReply) -> None:
        """Store the round, if there is one. Raises StorageError."""
        if chat.turn is None or chat.person is None or not relayed.is_whole:
            return
        with self._people.companion(chat.person) as companion, companion.turns, companion.memory.in_one_commit():
            stored = companion.turn_steps().store(chat.turn, relayed.text, relayed.ended or "stop")
            if stored.forget.reading:
                companion.maintenance.queue.compaction.wake()
            if chat.response:
                self._history_of(companion).name_response(chat.response, stored.round, chat.previous)

    def find_past(self, person: str | None, response: str) -> ResponsePast:
        """What was said up to a response. Raises UsageError where there is none, StorageError."""
        found = None
        if person is None:
            waiting = self._find_waiting(None, response)
        else:
            with self._people.companion(person) as companion:
                if not (waiting := self._find_waiting(companion, response)):
                    found = self._history_of(companion).find_response(response)
        if waiting:
            return ResponsePast(*json.loads(waiting))
        if found is None:
            raise UsageError("chat.no_such_response", given=one_line(response, 60))
        stored_messages = [message for one in found[1] for message in one.messages]
        messages = [{"role": message.role, "content": message.words} for message in stored_messages]
        return ResponsePast(found[0].removeprefix("id:") or None, messages)

    def await_tools(self, chat: RelayedChat, messages: Sequence[Mapping[str, Any]]) -> None:
        """Remember what a reply that calls tools was made from, until their results come; with a response the
        ``messages`` up to it. Nothing where something was hidden meanwhile. Raises ErasedMeanwhile, StorageError.
        """
        texts = {chat.response: json.dumps([chat.name, list(messages)])} if chat.response else {}
        if chat.turn and not chat.request.answers_tools:
            texts[_mark_of(chat)] = _texts_form().dump_json((chat.turn.recalled, *chat.added)).decode()
        if chat.person is None or not texts:
            self._keep_here(None, texts, (0, 0))
            return
        with self._people.companion(chat.person) as companion, companion.memory.in_one_commit():
            companion.memory.epoch.require(chat.since[0])
            if _number_of(companion) != chat.since:
                return
            if not self._people.registry.server:
                self._keep_here(chat.person, texts, chat.since)
                return
            now = companion.clock().astimezone(UTC).isoformat()
            for key, text in texts.items():
                companion.memory.steps.store("tools", key, "", text, now)

    def _keep_here(self, person: str | None, texts: Mapping[str, str], since: _Number) -> None:
        with self._lock:
            self._waiting.update({(person, key): (text, since) for key, text in texts.items()})
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)

    def _find_waiting(self, companion: Companion | None, key: str) -> str:
        """What was kept under a key; nothing where that may hold what was erased or hidden since."""
        if companion and self._people.registry.server:
            since = (companion.clock().astimezone(UTC) - TOOLS_WAIT).isoformat()
            kept = companion.memory.steps.of("tools", key, since).get("")
            return kept[0] if kept else ""
        with self._lock:
            text, number = self._waiting.get((companion.person if companion else None, key), ("", (0, 0)))
        return text if number == (_number_of(companion) if companion else (0, 0)) else ""

    def _history_of(self, companion: Companion) -> ClientHistory:
        return companion.turn_steps().history(_OPENAI)


def _number_of(companion: Companion) -> _Number:
    """What changes whenever something is erased or hidden."""
    return companion.memory.epoch.number(), companion.memory.messages.hidings()


def _mark_of(chat: RelayedChat) -> str:
    """The key of a turn that may continue after a tool call."""
    assert chat.turn
    asked = chat.turn.request.chat
    assert asked
    place = (chat.person, conversation_key(asked.name, asked.messages), chat.request.at, chat.request.said)
    return hashlib.sha256(repr(place).encode()).hexdigest()


@cache
def _texts_form() -> TypeAdapter[_PromptTexts]:
    return TypeAdapter(_PromptTexts)


# -- requests


@dataclass(frozen=True)
class ChatRequest:
    """A request as far as a memory needs to know it.

    ``said`` is the last message of the person, at index ``at``. ``answers_tools``: tools were called after it, so this
    is no new turn. ``side``: this is a client's own task.
    """

    body: Mapping[str, Any]
    said: str
    at: int
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


def read_request(body: Any) -> ChatRequest:
    """Read what a client sent. Raises UsageError where it is no request for a chat at all."""
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, list) or not messages or not all(isinstance(one, Mapping) for one in messages):
        raise UsageError("chat.messages_needed")
    said_at = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    at = said_at[-1] if said_at else -1
    said = message_words(messages[at]) if said_at else ""
    # A client's own task is the person's message, or the only system message.
    only_leading = messages[0].get("role") in _LEADING and len(messages) <= 2
    side = is_client_task(said) or (only_leading and is_client_task(message_text(messages[0])))
    answers_tools = bool(said_at) and at < len(messages) - 1
    return ChatRequest(body, said, at, answers_tools, side)


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
        said = messages[request.at]
        said["content"] = _join_content(said.get("content"), recalled, before=True)
    if profile:
        leading = next((at for at, one in enumerate(messages) if one.get("role") not in _LEADING), len(messages))
        if leading:
            last = messages[leading - 1]
            last["content"] = _join_content(last.get("content"), profile, before=False)
        else:
            messages.insert(0, {"role": "system", "content": profile})
    return {**request.body, "messages": messages}


def _join_content(content: Any, text: str, *, before: bool) -> Any:
    """The content, in the same form, with a text before or behind it."""
    if isinstance(content, list):
        part = {"type": "text", "text": text}
        return [part, *content] if before else [*content, part]
    if before:
        return f"{text}\n\n{content or ''}"
    return f"{content}\n\n{text}" if content else text


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
    if any(_PLAIN.search(place) for place in places):
        return True
    ordered = (line for place in places for line in _ORDERED.findall(place))
    return any(_FORM.search(line) and not _OF_ONESELF.search(line) for line in ordered)


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
