"""The chat API with memory: answers a chat, lists and erases what was extracted from it, and stores instructions.

Promises: a failed call and an interrupted reply store nothing; extraction is queued in the reply's commit and done
once; each (person, system instruction) has its own memories. Raises UsageError, ModelError, StorageError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from math import isqrt
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from client_history import ClientMessage
from conversation import ClientChat, result_of
from domain.errors import Interrupted, UsageError
from domain.events import Reply
from domain.receipts import ErasedMeanwhile
from domain.text import check_input, clean_text
from domain.workers import CancelToken
from interfaces.service.schemas import UserId
from jobs.client_memories import find_due_extractions
from jobs.rebuild import Erased, erase
from language.calendar import in_zone
from language.times import move_months
from people import Companion, Instruction, People
from prompts import TEMPLATES

#: The system instruction of the person's own companion, which always exists.
OWN_INSTRUCTION = 1


def _clean_instruction(text: str) -> str:
    if not clean_text(text).strip():
        raise ValueError("says nothing")
    return clean_text(text)


_LARGEST = 2**63 - 1
_Number = Annotated[int, Field(ge=0, le=_LARGEST)]
_InstructionId = Annotated[int | None, Field(ge=1, le=_LARGEST)]
_InstructionText = Annotated[str, Field(min_length=1, max_length=50_000), AfterValidator(_clean_instruction)]
_Title = Annotated[str, Field(max_length=200), AfterValidator(clean_text)]


class MemoryItem(BaseModel):
    """One memory. ``key_points`` is a list in JSON; ``created_at`` is local time without an offset."""

    id: int
    summary: str
    key_points: str
    memory_type: Literal["active", "passive"]
    importance_score: int
    created_at: str


class PurgeProof(BaseModel):
    """What the search of every file found after an erasure."""

    files: int
    searched: int
    skipped: int
    traces: int


class MemoryDeleted(BaseModel):
    """A memory is listed and recalled no more; with a ``proof`` it is in no file either."""

    message: str = "记忆已删除"
    id: int
    proof: PurgeProof | None = None


class MemoriesCleared(BaseModel):
    """So many memories are listed and recalled no more."""

    message: str
    count: int


class InstructionItem(BaseModel):
    """A system instruction: the whole system prompt of a companion that has a memory of its own."""

    id: int
    title: str
    text: str
    created_at: str
    updated_at: str


@dataclass(frozen=True)
class ChatAnswer:
    """The reply, how many memories were shown for it, and how many windows of fifty messages are full."""

    reply: Reply
    memories_used: int
    round: int


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
    """The chat API over the memories of many people. One for each ``People``; ``stop`` ends what is under way."""

    def __init__(self, people: People, stop: CancelToken) -> None:
        self._people = people
        self._stop = stop

    def answer_chat(
        self,
        person: str,
        messages: Sequence[ClientMessage],
        instruction: int | None,
        name: str | None,
        options: Mapping[str, float],
    ) -> ChatAnswer:
        """Answer the last message, and store it. ``name`` is the client's; ``options`` go to the model."""
        instruction = None if instruction == OWN_INSTRUCTION else instruction
        text, batch = None, self._people.settings.conversation_batch_size
        if instruction is not None:
            known = self._people.registry.instruction(person, instruction)
            text = known.text if known else ""
        chat = ClientChat("chat", messages, name, text, batch, self._people.settings.conversation_keep_size)
        with self._people.companion(person, instruction) as companion:
            memory, steps = companion.memory, companion.turn_steps()
            request = steps.client_request(chat, ranking="client_notes")
            request = replace(request, text=check_input(request.text), options=options)
            stored = None
            while stored is None:
                prepared = result_of(steps.prepare(request, self._stop))
                answered = result_of(steps.answer(prepared, self._stop))
                if answered.reply.finish == "interrupted":
                    raise Interrupted
                with suppress(ErasedMeanwhile), companion.turns, memory.in_one_commit():
                    message = replace(prepared, layers=answered.layers)
                    stored = steps.store(message, answered.reply.text, answered.reply.finish)
                    place = stored.place
                    memory.clients.name_owner(person, instruction, batch)
                    due = find_due_extractions(place.rounds, place.messages, place.key, batch) if place else []
                    # The registry lists the memory before the extraction is stored.
                    if sum(memory.clients.owe_extraction(one) for one in due):
                        self._people.registry.mark_due(person, instruction)
            companion.maintenance.queue.request("client_history", at_once=True)
            if stored.forget.reading:
                companion.maintenance.queue.compaction.wake()
        return ChatAnswer(
            answered.reply, len(answered.layers.recalled.notes), (place.messages if place else 0) // batch
        )

    # -- memories ------------------------------------------------------------------------------------------------

    def memory_list(
        self,
        user_id: UserId,
        system_instruction_id: _InstructionId = None,
        limit: Annotated[int | None, Field(ge=1, le=_LARGEST)] = None,
        offset: _Number = 0,
    ) -> list[MemoryItem]:
        """The memories of a person, the newest first: with one system instruction, or all."""
        found = []
        for instruction in self._instructions_with_memory(user_id, system_instruction_id):
            with self._people.companion(user_id, instruction) as companion:
                memory = companion.memory
                shown = memory.shown.client_notes(memory.clients.memories())
                found += [(public_number(instruction, one.number), one) for one in shown]
        found.sort(key=lambda one: (one[1].created_at, one[0]), reverse=True)
        zone = self._people.clock().tzinfo
        return [
            MemoryItem(
                id=number,
                summary=one.summary,
                key_points=one.key_points,
                memory_type=one.memory_type,
                importance_score=one.importance,
                created_at=in_zone(datetime.fromisoformat(one.created_at), zone).isoformat(timespec="seconds")[:19],
            )
            for number, one in found[offset:][:limit]
        ]

    def delete_memory(self, user_id: UserId, memory_id: _Number, purge: bool = False) -> MemoryDeleted | None:
        """Hide a memory from lists and recall; its messages stay. None where there is none.

        With ``purge`` it is erased, with its messages and everything derived from them.
        """
        instruction, number = private_number(memory_id)
        if instruction not in self._instructions_with_memory(user_id, None):
            return None
        with self._people.companion(user_id, instruction) as companion, companion.turns:
            if not purge:
                return MemoryDeleted(id=memory_id) if companion.memory.clients.hide(number) else None
            proof = self._purge_memory(companion, number)
        return MemoryDeleted(id=memory_id, proof=proof) if proof else None

    def _purge_memory(self, companion: Companion, number: int) -> PurgeProof | None:
        memory = companion.memory
        with companion.maintenance.paused():
            chosen = memory.erasure.scope_of_messages(memory.clients.messages_of(number))
            if not chosen:
                return None
            events = erase(memory, companion.llm, chosen, self._stop)
            found = next(event for event in events if isinstance(event, Erased)).proof
        return PurgeProof(files=found.places, searched=found.searched, skipped=found.skipped, traces=len(found.traces))

    def clear_old(
        self,
        user_id: UserId,
        months: Annotated[int, Field(ge=1, le=1200)] = 3,
        system_instruction_id: _InstructionId = None,
    ) -> MemoriesCleared:
        """Hide the memories that are older than so many months."""
        before, count = move_months(self._people.clock(), -months), 0
        for instruction in self._instructions_with_memory(user_id, system_instruction_id):
            with self._people.companion(user_id, instruction) as companion:
                count += companion.memory.clients.hide_before(before)
        return MemoriesCleared(message=f"已清理 {count} 条旧记忆", count=count)

    def _instructions_with_memory(self, person: str, instruction: int | None) -> list[int | None]:
        """The companions of a person that have a memory: the one that is named, or all."""
        there = [number for number, _ in self._people.memory_folders(person)]
        if instruction is None:
            return there
        return [one for one in there if (OWN_INSTRUCTION if one is None else one) == instruction]

    # -- system instructions -------------------------------------------------------------------------------------

    def add_instruction(self, user_id: UserId, text: _InstructionText, title: _Title = "") -> InstructionItem:
        """Make a companion of its own, with a memory of its own."""
        return _instruction_item(self._people.registry.add_instruction(user_id, title, text))

    def instructions(self, user_id: UserId) -> list[InstructionItem]:
        """All that there are, the companion's own first."""
        made = self._people.registry.instructions(user_id)
        return [self._own_instruction(user_id), *map(_instruction_item, made)]

    def _own_instruction(self, person: str) -> InstructionItem:
        """The system prompt of the person's own companion; it cannot be changed here."""
        settings = self._people.settings
        templates = TEMPLATES["zh" if settings.language == "zh" else "en"]
        name = settings.companion_name or templates.companion
        since = self._people.registry.first_served().get(person, "")
        text = templates.system.format(companion=name, person=settings.user_name or templates.person)
        return InstructionItem(id=OWN_INSTRUCTION, title=name, text=text, created_at=since, updated_at=since)

    def instruction(self, user_id: UserId, number: _Number) -> InstructionItem | None:
        """One of them."""
        if number == OWN_INSTRUCTION:
            return self._own_instruction(user_id)
        found = self._people.registry.instruction(user_id, number)
        return _instruction_item(found) if found else None

    def replace_instruction(
        self, user_id: UserId, number: _Number, text: _InstructionText, title: _Title = ""
    ) -> InstructionItem | None:
        """Replace the title and the text; the memory stays. Raises UsageError for the companion's own."""
        _check_changeable(number)
        found = self._people.registry.change_instruction(user_id, number, title, text)
        return _instruction_item(found) if found else None

    def change_instruction(
        self, user_id: UserId, number: _Number, title: _Title | None = None, text: _InstructionText | None = None
    ) -> InstructionItem | None:
        """Change the title or the text; the memory stays. Raises UsageError for the companion's own."""
        _check_changeable(number)
        found = self._people.registry.instruction(user_id, number)
        if found is None:
            return None
        new_title, new_text = found.title if title is None else title, found.text if text is None else text
        return self.replace_instruction(user_id, number, new_text, new_title)


def _check_changeable(number: int) -> None:
    if number == OWN_INSTRUCTION:
        raise UsageError("instruction.own")


def _instruction_item(one: Instruction) -> InstructionItem:
    return InstructionItem(
        id=one.number, title=one.title, text=one.text, created_at=one.created_at, updated_at=one.updated_at
    )
