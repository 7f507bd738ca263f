"""Chats whose history is with the client: OpenAI's are relayed with memory, those of the chat API are answered.

    RelayedChats   prepares a request for the model server, and stores the round when its reply ended
    ChatMemory     answers a chat, and lists, deletes and erases what was extracted from it

Both use the steps of every turn (``conversation.TurnSteps``). Promises: a failed call, an interrupted reply, a tool
call, a client's own task and a request with the memory off store nothing; a memory that another program uses is waited
for, up to a limit; a turn that continues after a tool call gets the same bytes again; extraction is queued in the
reply's commit and done once; each (person, system instruction) has its own memories. Raises UsageError,
ModelError, StorageError.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt
from threading import Lock
from typing import Any, Literal

from client_history import ClientHistory, ClientMessage, conversation_key
from conversation import ClientChat, PreparedTurn, StoredTurn, TurnRequest, result_of
from domain.errors import Interrupted, UsageError
from domain.events import Reply
from domain.recollection import ClientNote
from domain.text import check_input, is_blank, new_boundary, one_line
from domain.workers import CancelToken
from interfaces.service.chat_requests import ChatRequest, add_memory
from jobs.client_memories import ROUND, find_due_extractions, months_before
from jobs.rebuild import Erased, erase
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


@dataclass(frozen=True)
class ChatQuestion:
    """A request as a client sends it. ``name`` is what it calls the conversation; ``options`` go to the model."""

    messages: tuple[ClientMessage, ...]
    instruction: int | None = None
    name: str | None = None
    options: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ChatAnswer:
    """The reply, how many memories were shown for it, and how many windows of fifty messages are full."""

    reply: Reply
    memories_used: int
    round: int


@dataclass(frozen=True)
class ListedMemory:
    """A memory under the one number that it has among all of its person's."""

    number: int
    memory: ClientNote


def public_number(instruction: int | None, number: int) -> int:
    """One number out of that of a companion and that of a memory in it: small for small ones, and its own.

    >>> [public_number(None, 1), public_number(None, 2), public_number(1, 1)]
    [1, 3, 4]
    """
    companion = instruction or 0
    return (companion + number) * (companion + number + 1) // 2 + companion


def private_number(public: int) -> tuple[int | None, int]:
    """The other way round.

    >>> private_number(4)
    (1, 1)
    """
    diagonal = (isqrt(8 * public + 1) - 1) // 2
    companion = public - diagonal * (diagonal + 1) // 2
    return companion or None, diagonal - companion


class ChatMemory:
    """The chat API over the memories of many people. One for each ``People``."""

    def __init__(self, people: People) -> None:
        self._people = people
        self.resume = people.resume_client_histories

    def answer_chat(self, person: str, asked: ChatQuestion, stop: CancelToken) -> ChatAnswer:
        """Answer what was asked, and store it."""
        chat = ClientChat(
            _CHAT, asked.messages, asked.name, self._instruction_text(person, asked), _LONGEST_SENT, _SENT
        )
        with self._people.companion(person, asked.instruction, wait=stop) as companion:
            steps = companion.turn_steps()
            request = steps.client_request(chat, ranking="client_notes")
            request = replace(request, text=check_input(request.text), options=asked.options)
            answered = result_of(steps.answer(result_of(steps.prepare(request, stop)), stop))
            if answered.reply.finish == "interrupted":
                raise Interrupted
            with companion.turns:
                stored = self._store_turn(companion, asked, PreparedTurn(request, answered.layers), answered.reply)
            companion.maintenance.queue.request("client_history", at_once=True)
        messages = stored.place.messages if stored.place else 0
        return ChatAnswer(answered.reply, len(answered.layers.recalled.notes), messages // ROUND)

    def _instruction_text(self, person: str, asked: ChatQuestion) -> str | None:
        if asked.instruction is None:
            return None
        known = self._people.registry.instruction(person, asked.instruction)
        return known.text if known else ""

    def _store_turn(self, companion: Companion, asked: ChatQuestion, turn: PreparedTurn, reply: Reply) -> StoredTurn:
        """Store the turn and the extraction that is due, in one commit; the registry lists the memory before that."""
        person, memory = companion.person, companion.memory
        with memory.in_one_commit():
            stored = companion.turn_steps().store(turn, reply.text, reply.finish)
            memory.clients.name_owner(person, asked.instruction)
            place = stored.place
            due = find_due_extractions(place.rounds, place.messages, place.key) if place else []
            if sum(memory.clients.owe_extraction(one) for one in due):
                self._people.registry.mark_due(person, asked.instruction)
        return stored

    # -- memories ------------------------------------------------------------------------------------------------

    def list_memories(self, person: str, instruction: int | None = None) -> list[ListedMemory]:
        """The memories of a person, the newest first: with one system instruction, or all."""
        found = [
            ListedMemory(public_number(number, one.number), one)
            for number in self._instructions_with_memory(person, instruction)
            for one in self._notes_of(person, number)
        ]
        return sorted(found, key=lambda one: (one.memory.created_at, one.number), reverse=True)

    def delete_memory(self, person: str, public: int) -> bool:
        """Hide a memory from lists and recall; its messages stay. False when there is none."""
        instruction, number = private_number(public)
        if instruction not in self._instructions_with_memory(person, instruction):
            return False
        with self._people.companion(person, instruction) as companion, companion.turns:
            return companion.memory.clients.hide(number)

    def erase_memory(self, person: str, public: int, stop: CancelToken) -> Erased | None:
        """Erase a memory, its messages and everything derived from them; None when there is none."""
        instruction, number = private_number(public)
        if instruction not in self._instructions_with_memory(person, instruction):
            return None
        with self._people.companion(person, instruction) as companion, companion.turns, companion.maintenance.paused():
            chosen = companion.memory.erasure.scope_of_messages(companion.memory.clients.turns_of(number))
            if not chosen:
                return None
            events = erase(companion.memory, companion.llm, chosen, stop)
            return next(event for event in events if isinstance(event, Erased))

    def clear_old(self, person: str, months: int, instruction: int | None = None) -> int:
        """Hide the memories that are older than so many months. Returns how many."""
        before, count = months_before(self._people.clock(), months), 0
        for number in self._instructions_with_memory(person, instruction):
            with self._people.companion(person, number) as companion:
                count += companion.memory.clients.hide_before(before)
        return count

    def _notes_of(self, person: str, instruction: int | None) -> list[ClientNote]:
        with self._people.companion(person, instruction) as companion:
            return companion.memory.clients.memories()

    def _instructions_with_memory(self, person: str, instruction: int | None) -> list[int | None]:
        """The companions of a person that have a memory: the one that is named, or all."""
        there = [number for number, _ in self._people.memory_folders(person)]
        return there if instruction is None else [one for one in there if one == instruction]
