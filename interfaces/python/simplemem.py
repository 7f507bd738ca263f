"""SimpleMem's names over our memory, for programs that were written against them.

    system = SimpleMemSystem(clear_db=True)
    system.add_dialogue("Alice", "明天2点星巴克见面", "2025-01-15T10:00:00")
    system.finalize()
    system.ask("Alice 什么时候在哪见面?")

Storage, extraction, search and answers are those of ``Friend``. Raises the errors of ``domain.errors``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.facts import Fact
from interfaces.messages import Words, choose_language
from interfaces.python import Closing, Friend
from interfaces.service.memory_service import moment_of
from people import ME

__all__ = ["Dialogue", "MemoryEntry", "SimpleMemSystem"]


@dataclass(frozen=True)
class Dialogue:
    """What a speaker said, and when (ISO 8601; without a zone it is local)."""

    dialogue_id: int
    speaker: str
    content: str
    timestamp: str | None = None


@dataclass(frozen=True)
class MemoryEntry:
    """One memory. ``timestamp`` is when what it says happens, as exactly as known, else when it was said.

    ``said_by``: the speakers whose words it rests on.
    """

    entry_id: str
    lossless_restatement: str
    keywords: list[str]
    timestamp: str
    location: str | None
    persons: list[str]
    entities: list[str]
    topic: str | None
    said_by: list[str]


class SimpleMemSystem(Closing):
    """A memory of dialogues. ``close`` it, or use it in a ``with`` block, before the same folder is opened again."""

    def __init__(
        self,
        api_key: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        db_path: str | Path | None = None,
        table_name: str | None = None,
        clear_db: bool = False,
        **options: Any,
    ) -> None:
        """What is not given is that of ``.env``; ``table_name`` is another memory in the same folder.

        ``clear_db`` erases the dialogues stored before, and what was learned from them; nothing else.
        ``options``: ``enable_planning``, ``enable_reflection``, ``max_reflection_rounds``,
        ``enable_parallel_processing``, ``max_parallel_workers``, ``enable_parallel_retrieval``,
        ``max_retrieval_workers``, ``enable_thinking``, ``use_streaming``; the last four change nothing. Raises
        TypeError for another one.
        """
        given = {"OPENAI_API_KEY": api_key, "CHAT_MODEL": model, "OPENAI_API_BASE": base_url, **_settings_of(options)}
        settings = {name: value for name, value in given.items() if value}
        self._friend = Friend(db_path, person=table_name or ME, settings=settings)
        if clear_db:
            self._friend.clear_dialogues()

    def close(self) -> None:
        """Close the memory; safe to call twice."""
        self._friend.close()

    def add_dialogue(self, speaker: str, content: str, timestamp: str | None = None) -> None:
        """Store what a speaker said."""
        self._friend.add_dialogue(speaker, content, timestamp)

    def add_dialogues(self, dialogues: Iterable[Dialogue]) -> None:
        """Store several."""
        for one in dialogues:
            self.add_dialogue(one.speaker, one.content, one.timestamp)

    def finalize(self) -> None:
        """Learn from all that was added."""
        self._friend.finalize()

    def ask(self, question: str) -> str:
        """The answer from memory; where there is none, a sentence that says so."""
        words = Words(choose_language(self._friend.settings.language, {}))
        return self._friend.ask(question) or words.say("ask.unknown")

    def get_all_memories(self) -> list[MemoryEntry]:
        """All that was learned and holds, in the order of learning."""
        return [_entry_of(fact) for fact in self._friend.dialogue_facts()]


#: What our memory decides itself.
_WITHOUT_EFFECT = frozenset(("enable_thinking", "use_streaming", "enable_parallel_retrieval", "max_retrieval_workers"))


def _settings_of(options: dict[str, Any]) -> dict[str, str]:
    """The options that are given, as settings of ours."""
    given = {name: value for name, value in options.items() if value is not None}
    planning, reflection = given.pop("enable_planning", None), given.pop("enable_reflection", None)
    rounds, workers = given.pop("max_reflection_rounds", None), given.pop("max_parallel_workers", None)
    if given.pop("enable_parallel_processing", True) is False:
        workers = 1
    if unknown := given.keys() - _WITHOUT_EFFECT:
        raise TypeError(f"SimpleMemSystem does not take {', '.join(sorted(unknown))}")
    if reflection is False:
        rounds = 0
    settings = {"REFLECTION_ROUNDS": rounds, "EXTRACTION_WORKERS": workers}
    if planning is not None:
        settings["RECALL_PLANNING"] = "always" if planning else "off"
    return {name: str(value) for name, value in settings.items() if value is not None}


def _entry_of(fact: Fact) -> MemoryEntry:
    return MemoryEntry(
        entry_id=fact.text_id, lossless_restatement=fact.believed, keywords=list(fact.keywords),
        timestamp=moment_of(fact), location=fact.location or None, persons=list(fact.persons),
        entities=list(fact.entities), topic=fact.topic or None,
        said_by=list(dict.fromkeys(one.speaker for one in fact.quotes if one.speaker)),
    )  # fmt: skip
