"""A friend in a Python program: talk to it, let it remember, ask what it knows.

    from interfaces.python import Friend

    with Friend("data") as friend:
        print(friend.chat("My cat is called Douban."))

Promises: the same memory as the terminal's, under the same lock and the same promises; nothing is loaded that is not
used; a call returns when what it stored is stored. Raises the errors of ``domain.errors``.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import config
from domain.events import MemoryAnswer, Replied
from domain.records import Session
from domain.text import admitted
from domain.workers import Stop
from interfaces.debug_log import DebugLog
from interfaces.service.bodies import EndSessionResponse, ProcessResponse, Remembered, SessionStatusResponse
from interfaces.service.memory_service import MemoryService
from interfaces.socket.opening import opened_people
from jobs.consolidating import consolidate
from jobs.keeping import session_to_open
from people import ME

#: The door of dialogues that are brought to it.
_DIALOGUES = "dialogue"
_HOME = Path(__file__).resolve().parents[2]


class Friend:
    """One companion of one person, for one program at a time. Safe to use from several threads.

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

        Raises SettingsError, DataInUse where another program holds the memory, other StorageErrors.
        """
        given = {**(settings or {}), **({"DATA_DIR": str(data_dir)} if data_dir else {})}
        self.settings = config.load(config.home_of(_HOME), os.environ, given)
        self.person = person
        self._clock = clock
        self._new_id = new_id
        with ExitStack() as opened:
            debug = DebugLog(self.settings.log_dir, self.settings.secrets, on=self.settings.debug)
            opened.callback(debug.close)
            self._people = opened.enter_context(
                opened_people(
                    self.settings, debug.log, clock=clock, new_id=new_id,
                    scrubbers_of=lambda folder: [lambda gone: debug.scrub(gone.held_by)],
                )
            )  # fmt: skip
            self._service = MemoryService(self._people)
            opened.callback(self._service.close)
            self._companion = opened.enter_context(self._people.companion(person))
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the memory; safe to call twice. What is done in the background goes on at the next opening."""
        self._opened.close()

    # -- talking -------------------------------------------------------------------------------------------------

    def chat(self, text: str) -> str:
        """Say something, in the session that goes on, and get the reply; both are stored.

        Raises UsageError where there is nothing to say, ModelError where no reply came: nothing is stored then.
        """
        companion = self._companion
        with companion.turns:
            session, _ = session_to_open(companion.memory, companion.settings, self._clock())
            conversation = companion.conversation(session)
            events = conversation.turn(text, Stop(), stream=False)
            replied = next(event for event in events if isinstance(event, Replied))
            conversation.fold_ahead()
        return replied.reply.text

    def ask(self, question: str) -> str:
        """The answer to a question from memory alone, with dated quotations; "" where the memory holds none."""
        companion = self._companion
        with companion.turns:
            session, _ = session_to_open(companion.memory, companion.settings, self._clock())
            asking = companion.conversation(session).asking
            events = asking.answer(question, session.session_id, Stop())
            answer = next(event for event in events if isinstance(event, MemoryAnswer))
        return answer.text if answer.known else ""

    # -- the memory service ----------------------------------------------------------------------------------------

    def process_memory(self, text: str, user_id: str | None = None) -> ProcessResponse:
        """Store what a person said, and get what is remembered for it."""
        return self._service.process(text, self._whom(user_id))

    def end_session(self, user_id: str | None = None) -> EndSessionResponse:
        """End the open session of the memory service; what it came to is drawn from it in the background."""
        return self._service.end_session(self._whom(user_id))

    def get_session_status(self, user_id: str | None = None) -> SessionStatusResponse:
        """Whether such a session is open."""
        return self._service.session_status(self._whom(user_id))

    def search(self, query: str, limit: int = 10) -> tuple[Remembered, ...]:
        """What is remembered for a query, best first, each with its id and its date."""
        return self._service.recall(query, self.person, limit).memories

    # -- dialogues of others -----------------------------------------------------------------------------------------

    def add_dialogue(self, speaker: str, content: str, timestamp: datetime | str | None = None) -> None:
        """Remember what somebody said, and when; ``finalize`` draws from all of it what it comes to.

        A time without a zone is one of this place. Raises ValueError where a text is no time.
        """
        words = admitted(content)
        said = _with_zone(timestamp) if timestamp else None
        told = words if self._is_person(speaker) else f"{speaker.strip()}: {words}"
        memory = self._companion.memory
        with self._companion.turns:
            session = self._open_dialogue()
            memory.rounds.store_alone(session.session_id, told, self._new_id(), said=said)

    def finalize(self) -> None:
        """Draw facts from all dialogues that were added, and archive them. Raises ModelError; it can be done again."""
        companion = self._companion
        with companion.turns, companion.background.paused():
            for session in companion.memory.sessions.active(_DIALOGUES):
                companion.memory.sessions.end(session.session_id, self._clock().isoformat(timespec="seconds"))
            for _ in consolidate(companion.memory, companion.llm, _DIALOGUES, Stop()):
                pass

    def _open_dialogue(self) -> Session:
        memory = self._companion.memory
        going_on = [one for one in memory.sessions.active(_DIALOGUES) if one.end_timestamp is None]
        return going_on[-1] if going_on else memory.sessions.start_for(_DIALOGUES, "")

    def _is_person(self, speaker: str) -> bool:
        return speaker.strip().casefold() in ("", "user", self.settings.user_name.casefold())

    def _whom(self, user_id: str | None) -> str:
        return self.person if user_id is None else user_id


def _with_zone(moment: datetime | str) -> str:
    when = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return (when if when.tzinfo else when.astimezone()).isoformat(timespec="seconds")
