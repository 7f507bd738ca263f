"""A chat with memory for clients that hold their histories: asked, remembered, listed, deleted. Knows no HTTP.

    chat        what was asked goes to the model with the memories that matter; stored before it is answered
    memories, delete, purge, clear_old
    upkeep      cleaning, vectors and old age, in the background of each, one companion after another

Promises: a failed call stores nothing; what is due is noted in the commit that stores the reply, and is done once,
also after a restart; each (person, system instruction) has memories of its own; what is deleted is recalled nowhere.
Raises UsageError, ModelError, StorageError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt

from domain.errors import Interrupted
from domain.events import Reply
from domain.held import KeptMemory
from domain.languages import Language, language_of_address
from domain.records import Role
from domain.text import admitted, new_boundary
from domain.workers import Stop
from interfaces.service.held_history import HeldHistory, Said
from interfaces.service.upkeep import Upkeep
from jobs.cleaning import ROUND, due_rounds, months_before, recalled
from jobs.erasing import Erased, Erasing
from llm import Layers, Message, assemble, called_in
from models.memories import Telling, kept_records
from people import Companion, People, folder_of
from prompts import TEMPLATES

#: The mark of the sessions that are held here.
DOOR = "chat"
#: Of a history that is longer than this only so many last messages are sent on.
_LONGEST_SENT, _SENT = ROUND, 10


@dataclass(frozen=True)
class ChatAsked:
    """A request as a client sends it. ``named`` is what it calls the conversation; ``options`` go to the model."""

    messages: tuple[Said, ...]
    instruction: int | None = None
    named: str | None = None
    options: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ChatAnswered:
    """The reply, how many memories were shown for it, and how many stretches of fifty messages are full."""

    reply: Reply
    memories_used: int
    round: int


@dataclass(frozen=True)
class ListedMemory:
    """A memory under the one number that it has among all of its person's."""

    number: int
    memory: KeptMemory


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
    """The verbs, over the memories of many people. One for each ``People``: it knows what is under way."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._upkeep = Upkeep(people)
        self.resume = self._upkeep.resume
        self.close = self._upkeep.close
        self.wait = self._upkeep.wait

    # -- talking -------------------------------------------------------------------------------------------------

    def chat(self, person: str, asked: ChatAsked, stop: Stop) -> ChatAnswered:
        """Answer what was asked, and store it."""
        with self._people.companion(person, asked.instruction, wait=stop) as companion:
            history = self._history(companion)
            text = admitted(history.find(asked.named, asked.messages).present.text)
            started = self._people.clock().isoformat(timespec="seconds")
            memories = recalled(companion.memory, companion.llm, text)
            reply = self._reply(companion, asked, memories, stop)
            with companion.turns:
                messages = self._store(companion, history, asked, reply, started)
        self._upkeep.begin(person, asked.instruction)
        return ChatAnswered(reply, len(memories), messages // ROUND)

    def _history(self, companion: Companion) -> HeldHistory:
        return HeldHistory(
            companion.memory,
            DOOR,
            self._people.clock,
            archive_after=companion.settings.archive_after,
        )

    def _reply(
        self, companion: Companion, asked: ChatAsked, memories: Sequence[KeptMemory], stop: Stop
    ) -> Reply:
        settings, language = companion.settings, _language(companion, asked.messages)
        messages = self._prompt(companion, asked, memories, language)
        names = called_in(language, settings, companion.memory.names())
        told = {"task": "", "language": language, **names} if companion.llm.describe().standin else None
        events = companion.llm.chat(messages, stop, stream=False, metadata=told, options=asked.options)
        reply = next(event for event in events if isinstance(event, Reply))
        if reply.finish == "interrupted":
            raise Interrupted
        return reply

    def _store(
        self, companion: Companion, history: HeldHistory, asked: ChatAsked, reply: Reply, started: str
    ) -> int:
        """One commit: what was said, and what is due by it. Where to look for that is noted before it.

        Returns how many messages the conversation has, with this one.
        """
        person, memory = companion.person, companion.memory
        with memory.in_one_commit():
            kept = history.store(
                asked.named, asked.messages, reply.text, reply.finish, started,
                standin=companion.llm.describe().standin,
            )  # fmt: skip
            memory.clients.name_owner(person, asked.instruction)
            due = due_rounds(kept.rounds, kept.messages, kept.key)
            if sum(memory.clients.owe_cleaning(one) for one in due):
                self._people.registry.owe(person, asked.instruction)
        return kept.messages

    # -- the prompt ----------------------------------------------------------------------------------------------

    def _prompt(
        self, companion: Companion, asked: ChatAsked, memories: Sequence[KeptMemory], language: Language
    ) -> list[Message]:
        """The system prompt, the history or its end, and the memories behind the last words of the person."""
        sent = self._spoken(companion, asked, language)
        sent = sent[-_SENT:] if len(sent) > _LONGEST_SENT else sent
        if memories:
            shown = self._shown(companion, memories, language)
            for last in [number for number, one in enumerate(sent) if one.role == "user"][-1:]:
                sent[last] = Message("user", f"{sent[last].content}\n\n{shown}")
        return [*self._system(companion, asked, language), *sent]

    def _system(self, companion: Companion, asked: ChatAsked, language: Language) -> Iterator[Message]:
        """The instruction alone, where there is one; else who the companion is, and what it knows of the person."""
        if asked.instruction is not None:
            told = self._people.registry.instruction(companion.person, asked.instruction)
            if told and told.text.strip():
                yield Message("system", told.text)
            return
        called = _called(companion, language)
        layers = Layers(
            text=".",
            now=self._people.clock(),
            language=language,
            self_image=companion.image("self"),
            user_image=companion.image("user"),
            companion=called["companion"],
            person=called["person"],
        )
        yield assemble(layers, new_boundary())[0]

    def _spoken(self, companion: Companion, asked: ChatAsked, language: Language) -> list[Message]:
        """The messages of a client, but for what the person asked to have forgotten."""
        hidden = self._history(companion).withheld(asked.named, asked.messages)
        templates = TEMPLATES[language]
        instead = {"user": templates.withheld, "assistant": templates.withheld_reply}
        return [
            Message(one.role, instead.get(one.role, one.text) if number in hidden else one.text)  # type: ignore[arg-type]
            for number, one in enumerate(asked.messages)
        ]

    def _shown(self, companion: Companion, memories: Sequence[KeptMemory], language: Language) -> str:
        boundary = new_boundary()
        called = _called(companion, language)
        speakers: Mapping[Role, str] = {"user": called["person"], "assistant": called["companion"]}
        telling = Telling(language, self._people.clock(), speakers, boundary)
        lines = "\n".join(kept_records(memories, telling))
        return TEMPLATES[language].recalled.format(boundary=boundary, notes="", memories=lines)

    # -- memories ------------------------------------------------------------------------------------------------

    def memories(self, person: str, instruction: int | None = None) -> list[ListedMemory]:
        """What is kept of this person's talk, the newest first: with one system instruction, or with all and none."""
        found = [
            ListedMemory(public_number(number, one.number), one)
            for number in self._instructions(person, instruction)
            for one in self._kept(person, number)
        ]
        return sorted(found, key=lambda one: (one.memory.created_at, one.number), reverse=True)

    def delete(self, person: str, public: int) -> bool:
        """List a memory no more, and recall it nowhere; what it rests on stays. False when there is none."""
        instruction, number = private_number(public)
        if instruction not in self._instructions(person, instruction):
            return False
        with self._people.companion(person, instruction) as companion, companion.turns:
            return companion.memory.clients.hide(number)

    def purge(self, person: str, public: int, stop: Stop) -> Erased | None:
        """Erase a memory, the turns it rests on and all that was drawn from them; None when there is none."""
        instruction, number = private_number(public)
        if instruction not in self._instructions(person, instruction):
            return None
        with (
            self._people.companion(person, instruction) as companion,
            companion.turns,
            companion.background.paused(),
        ):
            chosen = companion.memory.erasure.turns(companion.memory.clients.turns_of(number))
            if not chosen:
                return None
            events = Erasing(companion.memory, companion.llm).run(chosen, stop)
            return next(event for event in events if isinstance(event, Erased))

    def clear_old(self, person: str, months: int, instruction: int | None = None) -> int:
        """List the memories no more that are older than so many months. Returns how many."""
        before, count = months_before(self._people.clock(), months), 0
        for number in self._instructions(person, instruction):
            with self._people.companion(person, number) as companion:
                count += companion.memory.clients.hide_before(before)
        return count

    def _kept(self, person: str, instruction: int | None) -> list[KeptMemory]:
        with self._people.companion(person, instruction) as companion:
            return companion.memory.clients.memories()

    def _instructions(self, person: str, instruction: int | None) -> list[int | None]:
        """The companions of a person that have a memory: the one that is named, or all."""
        every = [None, *(one.number for one in self._people.registry.instructions(person))]
        data_dir = self._people.settings.data_dir
        there = [one for one in every if (folder_of(data_dir, person, one) / "memory.db").exists()]
        return there if instruction is None else [one for one in there if one == instruction]


def _called(companion: Companion, language: Language) -> dict[str, str]:
    return called_in(language, companion.settings, companion.memory.names())


def _language(companion: Companion, messages: Sequence[Said]) -> Language:
    *before, text = [one.text for one in messages if one.role == "user"] or [""]
    return language_of_address(companion.memory.personas.read("user"), before[-3:], text)
