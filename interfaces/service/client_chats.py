"""OpenAI's chats, relayed with memory: prepares a request for the model server, and stores the round of its reply.

The steps are those of every turn (``conversation.TurnSteps``). Promises: a failed call, an interrupted reply, a tool
call, a client's own task and a request with the memory off store nothing; a memory that another program uses is waited
for, up to a limit; a turn that continues after a tool call gets the same bytes again. Raises UsageError, ModelError,
StorageError.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal

from client_history import ClientHistory, conversation_key
from conversation import ClientChat, PreparedTurn, TurnRequest, result_of
from domain.errors import UsageError
from domain.text import is_blank, new_boundary, one_line
from domain.workers import CancelToken
from interfaces.service.chat_requests import ChatRequest, add_memory
from jobs.client_memories import ROUND
from llm import profile_and_memories
from models.relaying import RelayedReply
from people import Companion, People

#: How a request uses the memory: it does, it is switched off, or it is a client's own task (``side``).
Use = Literal["on", "off", "side"]
#: The name by which a client may request the model of the settings.
OWN_MODEL = "old-friend"
#: The clients of the sessions that are stored here.
_OPENAI, _CHAT = "openai", "chat"
#: Most prepared turns, and most responses, that wait for the results of tools.
_MOST_PREPARED, _MOST_CALLING = 1_000, 100
#: Of a longer history only so many last messages are sent on.
_LONGEST_SENT, _SENT = ROUND, 10


@dataclass(frozen=True)
class _PromptTexts:
    """What the memory adds to a request: what is known of the person, and what was recalled."""

    turn: PreparedTurn
    profile: str
    recalled: str


@dataclass(frozen=True)
class RelayedChat:
    """A request as it is sent on; without a ``turn`` it does not use the memory.

    ``response`` is the id by which its reply is found later, ``previous`` the response that it follows.
    """

    person: str | None
    request: ChatRequest
    body: Mapping[str, Any]
    use: Use
    turn: PreparedTurn | None = None
    response: str = ""
    previous: str = ""

    @property
    def name(self) -> str | None:
        """The client's name of the conversation."""
        chat = self.turn and self.turn.request.chat
        return chat.name if chat else None

    @property
    def headers(self) -> dict[str, str]:
        """Headers that list what was used."""
        found, place = (self.turn.recalled, self.turn.request.place) if self.turn else (None, None)
        memories = [*(one.text_id for one in found.summaries), *(one.text_id for one in found.turns)] if found else []
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
        self._prepared: OrderedDict[str, _PromptTexts] = OrderedDict()
        self._calling: OrderedDict[tuple[str | None, str], ResponsePast] = OrderedDict()
        self._lock = Lock()

    def prepare_chat(
        self, person: str | None, request: ChatRequest, name: str | None, gone: CancelToken, *, switched_off: bool
    ) -> RelayedChat:
        """The request with its memory. Raises StorageError, Interrupted when the client is ``gone``.

        ``name`` is the client's name of the conversation. Without a ``person`` the memory must be switched off.
        """
        model, ours = request.body.get("model"), self._people.llm.describe().model
        body = {**request.body, "model": model if model and model != OWN_MODEL else ours}
        if switched_off or person is None:
            return RelayedChat(person, request, body, "off")
        if request.side or is_blank(request.said):
            return RelayedChat(person, request, body, "side")
        with self._people.companion(person, wait=gone) as companion:
            turn = companion.turn_steps().client_request(ClientChat(_OPENAI, request.history, name))
            texts = self._prompt_texts(companion, request, turn, gone)
        sent = {**body, "messages": add_memory(request, texts.profile, texts.recalled)["messages"]}
        return RelayedChat(person, request, sent, "on", replace(texts.turn, request=turn))

    def _prompt_texts(
        self, companion: Companion, request: ChatRequest, turn: TurnRequest, gone: CancelToken
    ) -> _PromptTexts:
        """The texts to add; the same again where the turn continues after a tool call."""
        assert turn.chat
        place = (companion.person, conversation_key(turn.chat.name, turn.chat.messages), request.at, request.said)
        mark = hashlib.sha256(repr(place).encode()).hexdigest()
        with self._lock:
            known = self._prepared.get(mark)
        if known and request.answers_tools:
            return known
        prepared = result_of(companion.turn_steps().prepare(turn, gone))
        texts = _PromptTexts(prepared, *profile_and_memories(prepared.layers, new_boundary()))
        with self._lock:
            self._prepared[mark] = texts
            while len(self._prepared) > _MOST_PREPARED:
                self._prepared.popitem(last=False)
        return texts

    def store_round(self, chat: RelayedChat, relayed: RelayedReply, gone: CancelToken) -> None:
        """Store the round, if there is one. Raises StorageError, Interrupted when the client is ``gone``."""
        if chat.turn is None or chat.person is None or not relayed.is_whole:
            return
        with (
            self._people.companion(chat.person, wait=gone) as companion,
            companion.turns,
            companion.memory.in_one_commit(),
        ):
            stored = companion.turn_steps().store(chat.turn, relayed.text, relayed.ended or "stop")
            if chat.response:
                self._history_of(companion).name_response(chat.response, stored.round, chat.previous)

    def find_past(self, person: str | None, response: str, gone: CancelToken) -> ResponsePast:
        """What was said up to a response. Raises UsageError where there is none, StorageError, Interrupted."""
        with self._lock:
            calling = self._calling.get((person, response))
        if calling:
            return calling
        found = None
        if person is not None:
            with self._people.companion(person, wait=gone) as companion:
                found = self._history_of(companion).find_response(response)
        if found is None:
            raise UsageError("chat.no_such_response", given=one_line(response, 60))
        turns = [turn for one in found[1] for turn in one.turns]
        messages = [{"role": turn.role, "content": turn.words} for turn in turns]
        return ResponsePast(found[0].removeprefix("id:") or None, messages)

    def await_tools(self, chat: RelayedChat, messages: Sequence[Mapping[str, Any]]) -> None:
        """Remember the messages up to a response that calls tools, until their results come."""
        with self._lock:
            self._calling[chat.person, chat.response] = ResponsePast(chat.name, messages)
            while len(self._calling) > _MOST_CALLING:
                self._calling.popitem(last=False)

    def _history_of(self, companion: Companion) -> ClientHistory:
        return companion.turn_steps().history(_OPENAI)
