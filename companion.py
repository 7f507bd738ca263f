"""One companion of one person, open: a memory with its conversations, and what is done for it by itself.

    conversation -> a turn          the few last asked for are kept, with what only they know
    begin, keep_silent              the index, sessions that fell silent; in threads that all companions share

Promises: two turns with one companion come one after the other; a session that somebody talks in is not saved under
their hands, and one that fell silent is not gone on with; closing gives up what can be done at the next opening.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from threading import RLock

from conversation import Conversation, LastTurn
from domain.recollection import Recollection
from domain.records import Image, Session
from domain.settings import Settings
from domain.workers import Stop
from jobs.background import Background
from jobs.keeping import Keeping
from llm import Llm
from memory import Memory
from models.memories import marked_image
from recall.questions import queries
from storage.sqlite.registry import Instruction

#: Conversations that are kept beside the one last asked for.
_CONVERSATIONS = 8
#: Notices that wait for somebody to tell them, at the most.
_MOST_NOTICES = 20
#: Seconds that the index of a memory that is closed has for what waits; the rest is done at the next opening.
_SETTLE = 0.5


@dataclass
class Companion:
    """One companion of one person, open: its settings (with its folder), its memory, and the models of all.

    ``turns`` is held by whoever has a turn with it, so that two requests of one person come one after the other.
    Whoever erases pauses the ``background``, which keeps silent sessions and notes what was said.
    """

    person: str
    instruction: Instruction | None
    settings: Settings
    memory: Memory
    llm: Llm
    log: logging.Logger
    background: Background
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    turns: RLock = field(default_factory=RLock)
    #: The one last asked for at the end.
    _conversations: list[Conversation] = field(default_factory=list)

    def conversation(self, session: Session) -> Conversation:
        """The conversation of an active session, with what only it knows: what can be taken back, what was recalled.

        For whoever holds ``turns``. A few are kept; ``fold_ahead`` after a turn works in the threads of all.
        """
        with self.turns:
            held = [one for one in self._conversations if one.session.session_id == session.session_id]
            conversation = held[0] if held else self._begun(session)
            self._conversations = [one for one in self._conversations if one is not conversation]
            resting = [one for one in self._conversations if one.resting.is_set()]
            gone = resting[: max(0, len(self._conversations) - _CONVERSATIONS)]
            self._conversations = [*(one for one in self._conversations if one not in gone), conversation]
            return conversation

    def last_turn(self, session: Session) -> LastTurn | None:
        """The last turn of a session that is talked in; None where none of this run of the program is at hand."""
        with self.turns:
            held = [one for one in self._conversations if one.session.session_id == session.session_id]
            return held[0].last if held else None

    def recall(self, text: str, recent: Sequence[str], session_id: str) -> Recollection:
        """What is recalled for words that a door brings; ``recent`` was said before them."""
        wanted, limits = queries(recent[-2:], text), self.settings.recall_limits
        return self.memory.recall(wanted, session_id, self.clock(), limits, recent=recent)

    def image(self, image: Image) -> str:
        """An image as a model or a program is shown it: with what became of what its lines tell."""
        return marked_image(self.memory.personas.read(image), self.memory.image_marks(image))

    def keep_silent(self) -> None:
        """Save in the background what fell silent, and make anew what erasures left behind."""
        if self.turns.acquire(blocking=False):
            try:
                self._let_silent_go()
            finally:
                self.turns.release()
        self._keeping().begin()

    @property
    def busy(self) -> bool:
        """Whether something is done for it in the background."""
        return self.background.busy or not all(one.resting.is_set() for one in self._conversations)

    def begin(self) -> None:
        """What may take its time after opening: the index, an erasure that was cut short, silent sessions."""
        self.background.begin(self._start)

    def close(self, patience: float) -> None:
        """Let go of everything; what is done in the background is given up, and goes on at the next opening.

        What its index is at has so many seconds to end: whoever opens it again must not meet that.
        """
        self.background.end(timeout=0)
        for conversation in self._conversations:
            conversation.close()
        self.memory.close(_SETTLE, patience)

    def _start(self, stop: Stop) -> None:
        self.memory.start()
        stop.check()
        self._keeping().keep_all(stop)

    def _begun(self, session: Session) -> Conversation:
        """What is being saved because it fell silent is left alone from now on, if somebody talks in it again."""
        with self.background.paused() if self._is_idle(session) else nullcontext():
            conversation = self._conversation_of(session)
            self._conversations.append(conversation)
            return conversation

    def _is_idle(self, session: Session) -> bool:
        """Whether a session was idle for so long that it is to be saved."""
        limit = self.settings.idle_limit(session)
        return self.memory.fell_silent(session.session_id, self.clock(), limit)

    def _conversation_of(self, session: Session) -> Conversation:
        return Conversation(
            self.settings, self.memory, self.llm, self.log,
            session=session, resumed=True, clock=self.clock, new_id=self.new_id, background=self.background,
        )  # fmt: skip

    def _keeping(self) -> Keeping:
        return Keeping(
            self.settings, self.memory, self.llm, self.background,
            clock=self.clock, present=str, held=self._held,
        )  # fmt: skip

    def _held(self) -> list[str]:
        return [one.session.session_id for one in self._conversations]

    def _let_silent_go(self) -> None:
        """A session that is to be saved is not gone on with, and what nobody asked for is told no more."""
        self._conversations = [one for one in self._conversations if not self._is_idle(one.session)]
        del self.background.notices[:-_MOST_NOTICES]
