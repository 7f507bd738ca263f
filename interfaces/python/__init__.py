"""The Python interface: chat, store and search memories from a program.

    from interfaces.python import Friend

    with Friend("data") as friend:
        print(friend.chat("My cat is called Douban."))

Promises: it is the same memory as the terminal's, also while that runs; nothing is loaded that is not used; a call
returns when everything is stored. Raises the errors of ``domain.errors``.
"""

from __future__ import annotations

import atexit
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import ref

import config
from domain.events import MemoryAnswer, Replied
from domain.facts import Fact
from domain.records import Session
from domain.text import check_input, clean_text, one_line
from domain.workers import CancelToken, Workers
from interfaces.debug_log import DebugLog
from interfaces.operations import OPERATIONS, Memories
from interfaces.service.memory_service import MemoryService
from interfaces.service.search_schemas import FoundMemory
from jobs.client_memories import consolidate
from jobs.maintenance import session_to_open
from people import ME, open_people

#: The client of added dialogues.
_DIALOGUES = "dialogue"
#: Seconds that background work is waited for when a friend is closed or Python ends.
_AT_THE_END = 30.0
#: Most characters of a speaker's name.
_LONGEST_NAME = 60
_HOME = Path(__file__).resolve().parents[2]


class Closing(Protocol):
    """What a ``with`` block closes at its end."""

    def close(self) -> None:
        """Close it; safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def close_at_exit(opened: ExitStack, *pools: Workers) -> None:
    """Close what is ``opened`` when Python ends, unless it is closed by then, and wait for its threads.

    A thread that is inside a native library while Python ends crashes the program. Of what is closed nothing is kept
    but the pools whose threads still run, which keep them.
    """
    running = [ref(pool) for pool in pools]

    def close() -> None:
        opened.close()
        for found in running:
            if pool := found():
                pool.finish(_AT_THE_END)

    atexit.register(close)


class Friend(Closing):
    """One companion of one person. Safe to use from several threads, and beside other programs.

    >>> with Friend("data", settings={"OPENAI_API_BASE": "http://localhost:11434/v1", "CHAT_MODEL": "qwen3"}) as friend:
    ...     friend.chat("What is my cat called?")
    'Douban!'
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        person: str = ME,
        settings: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """``settings`` are those of ``.env``, by their names, and count before it and before the environment.

        Raises SettingsError, StorageErrors.
        """
        given = {**(settings or {}), **({"DATA_DIR": str(data_dir)} if data_dir else {})}
        self.settings = config.load_settings(config.home_of(_HOME), os.environ, given)
        self.person = person
        self._clock = clock
        self._new_id = new_id
        with ExitStack() as opened:
            debug = DebugLog(self.settings.log_dir, self.settings.secrets, on=self.settings.debug)
            opened.callback(debug.close)
            self._people = opened.enter_context(
                open_people(
                    self.settings, debug.log, clock=clock, new_id=new_id,
                    scrubbers_of=lambda folder: [lambda gone: debug.remove_files(gone.are_in)],
                )
            )  # fmt: skip
            self._service = MemoryService(self._people)
            self._companion = opened.enter_context(self._people.companion(person))
            self._opened = opened.pop_all()
        self._pools = (self._people.index_workers, self._people.scheduler.pool)
        close_at_exit(self._opened, *self._pools)

    def close(self) -> None:
        """Close the memory; safe to call twice. Background work continues when it is opened again.

        The step in hand is waited for: who removes the folder then finds that all writing has ended.
        """
        self._opened.close()
        for pool in self._pools:
            pool.finish(_AT_THE_END)

    # -- talking -------------------------------------------------------------------------------------------------

    def chat(self, text: str) -> str:
        """Send a message in the current session and return the reply; both are stored.

        Raises UsageError for an empty message, ModelError without a reply: nothing is stored then.
        """
        companion = self._companion
        with companion.turns:
            session, _ = session_to_open(companion.memory, companion.settings, self._clock())
            conversation = companion.open_conversation(session)
            events = conversation.turn(text, CancelToken(), stream=False)
            replied = next(event for event in events if isinstance(event, Replied))
            conversation.compact_ahead()
        return replied.reply.text

    def ask(self, question: str) -> str:
        """The answer to a question from memory alone, with dated quotations; "" where there is none."""
        companion = self._companion
        with companion.turns:
            session, _ = session_to_open(companion.memory, companion.settings, self._clock())
            asking = companion.open_conversation(session).asking
            events = asking.answer_question(question, session.session_id, CancelToken())
            answer = next(event for event in events if isinstance(event, MemoryAnswer))
        return answer.text if answer.known else ""

    # -- the memory service ----------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The operations of the memory service by the names of their tools, for this person where none is named.

        >>> friend.process_memory("She sleeps on the piano.").resolved_query
        """
        operation = next((one for one in OPERATIONS.values() if one.tool and one.tool.name == name), None)
        if operation is None:
            raise AttributeError(name)

        def call(*arguments: object, **named: object) -> Any:
            given = {**dict(zip(operation.parameters.model_fields, arguments, strict=False)), **named}
            if given.get("user_id") is None:
                given["user_id"] = self.person
            return Memories(self._service).call(operation.name, **given)

        return call

    def search(self, query: str = "", limit: int = 10, **parts: Any) -> tuple[FoundMemory, ...]:
        """What is remembered for a query, best first, each with its id and its date.

        ``parts``: ``persons`` and ``entities`` (lists), ``location``, ``topic``, ``since``, ``until`` (ISO) that it
        must have; with them the query may be empty.
        """
        return self._service.search(self.person, query, limit=limit, **parts).memories

    # -- dialogues -----------------------------------------------------------------------------------------

    def add_dialogue(self, speaker: str, content: str, timestamp: datetime | str | None = None) -> bool:
        """Store what a speaker said, and when; ``finalize`` extracts facts from it. False where it was erased before.

        A time without a zone is local. Raises ValueError where a text is no time.
        """
        words, text_id = check_input(content), self._new_id()
        said = _add_zone(timestamp) if timestamp else None
        name = one_line(clean_text(speaker).strip(), _LONGEST_NAME)
        name = "" if name.casefold() in ("user", self.settings.user_name.casefold()) else name
        memory = self._companion.memory
        if said and memory.says_erased(words, said, text_id, name):
            return False
        with self._companion.turns:
            going_on = [one for one in memory.sessions.active(_DIALOGUES) if one.end_timestamp is None]
            session = going_on[-1] if going_on else memory.sessions.start(client=_DIALOGUES, client_key="")
            memory.rounds.store_alone(session.session_id, words, text_id, said=said, speaker=name)
        return True

    def finalize(self) -> None:
        """Extract facts from all added dialogues, and archive them. Raises ModelError; may be called again."""
        companion = self._companion
        with companion.turns, companion.maintenance.paused():
            for session in companion.memory.sessions.active(_DIALOGUES):
                companion.memory.sessions.end(session.session_id, self._clock().isoformat(timespec="seconds"))
            for _ in consolidate(companion.memory, companion.llm, _DIALOGUES, CancelToken()):
                pass

    def dialogue_facts(self) -> list[Fact]:
        """What was learned from added dialogues and holds, in the order of learning."""
        memory = self._companion.memory
        found = memory.facts.of_sessions([one.session_id for one in self._dialogue_sessions()])
        facts = {fact.number: fact for each in found.values() for fact in each if fact.current}
        return [facts[number] for number in sorted(facts)]

    def clear_dialogues(self) -> int:
        """Erase all added dialogues, with what was learned from them, out of every file. Returns how many messages.

        They may be added again. Raises StorageError.
        """
        companion, memory = self._companion, self._companion.memory
        with companion.turns, companion.maintenance.paused():
            sessions = self._dialogue_sessions()
            messages = [message for one in sessions for message in memory.messages.of_session(one.session_id)]
            if messages:
                memory.erasure.erase(memory.erasure.scope_of_messages([message.text_id for message in messages]))
                memory.allow_again(messages)
        return len(messages)

    def _dialogue_sessions(self) -> list[Session]:
        return [one for one in self._companion.memory.sessions.recent(None) if one.client == _DIALOGUES]


def _add_zone(moment: datetime | str) -> str:
    when = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return (when if when.tzinfo else when.astimezone()).isoformat(timespec="seconds")
