"""One companion of one person, open: a memory with its conversations, and its maintenance.

Guarantees: turns with one companion run one after another; a session in use is not autosaved, and an idle one is not
continued; closing stops work that the next opening can do.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from threading import RLock

from conversation import Conversation, LastTurn, TurnSteps
from domain.errors import UsageError
from domain.records import Persona, Session
from jobs.maintenance import Maintenance
from llm import annotated_persona
from storage.registry import Instruction

#: Conversations that are kept besides the most recent one.
_CONVERSATIONS = 8
#: At most so many notices wait to be shown.
_MOST_NOTICES = 20
#: Seconds that the index of a closing memory has to finish; the rest is done at the next opening.
_SETTLE = 0.5


class Companion:
    """One companion of one person, open: its settings (with its folder), its memory, and the shared models.

    Whoever has a turn with it acquires ``turns``, so that two requests of one person run one after the other. Whoever
    erases pauses the ``maintenance``.
    """

    def __init__(
        self, person: str, instruction: Instruction | None, maintenance: Maintenance, new_id: Callable[[], str]
    ) -> None:
        self.person = person
        self.instruction = instruction
        self.maintenance = maintenance
        self.settings = maintenance.settings
        self.memory = maintenance.memory
        self.llm = maintenance.llm
        self.log = maintenance.log
        self.clock = maintenance.clock
        self.new_id = new_id
        self.turns = RLock()
        #: The most recently used at the end.
        self._conversations: list[Conversation] = []

    def open_conversation(self, session: Session) -> Conversation:
        """The conversation of an active session, with what only it knows: what can be undone, what was recalled.

        Call with ``turns``. A few conversations are kept. Raises UsageError where another program has the session.
        """
        with self.turns:
            conversation = self._find_conversation(session)
            if not self.memory.claims.take("session", session.session_id):
                raise UsageError("session.in_use")
            conversation = conversation or self._start_conversation(session)
            others = [one for one in self._conversations if one is not conversation]
            self._keep_conversations([*others[-_CONVERSATIONS:], conversation])
            return conversation

    def last_turn(self, session: Session) -> LastTurn | None:
        """The last turn of an open session; None if there was none in this run of the program."""
        with self.turns:
            conversation = self._find_conversation(session)
            return conversation.last if conversation else None

    def _find_conversation(self, session: Session) -> Conversation | None:
        found = (one for one in self._conversations if one.session.session_id == session.session_id)
        return next(found, None)

    def _start_conversation(self, session: Session) -> Conversation:
        # An autosave of the session is cancelled first.
        with self.maintenance.paused() if self._is_idle(session) else nullcontext():
            conversation = Conversation(
                self.turn_steps(), session, resumed=True, new_id=self.new_id, maintenance=self.maintenance
            )
            self._conversations.append(conversation)
            return conversation

    def _keep_conversations(self, kept: list[Conversation]) -> None:
        """Keep these alone; other programs may go on with the sessions of the rest, or save them."""
        self._conversations = kept
        taken = self.memory.claims.taken("session").keys()
        here = {one.session.session_id for one in kept} | {self.maintenance.saving}
        self.memory.claims.release("session", *(taken - here))

    def turn_steps(self) -> TurnSteps:
        """The steps of a turn with it."""
        return TurnSteps(self.settings, self.memory, self.llm)

    def read_persona(self, persona: Persona) -> str:
        """A persona as a model or a program sees it: with annotations of lines that have changed."""
        return annotated_persona(*self.memory.shown_persona(persona))

    def start_maintenance(self) -> None:
        """Do in the background what is due."""
        if self.turns.acquire(blocking=False):
            try:  # conversations that are to be autosaved, and the oldest notices
                self._keep_conversations([one for one in self._conversations if not self._is_idle(one.session)])
                del self.maintenance.notices[:-_MOST_NOTICES]
            finally:
                self.turns.release()
        self.maintenance.start()

    @property
    def busy(self) -> bool:
        """Whether something is done for it in the background."""
        return self.maintenance.busy

    def begin(self, *, ahead: bool = True) -> None:
        """Start what may take time after opening: the index, an unfinished erasure, and due maintenance.

        Not ``ahead``: the index only once it is needed.
        """
        self.maintenance.start(partial(self.memory.start, ahead=ahead))

    def close(self, patience: float) -> None:
        """Close everything; background work is cancelled, and continues at the next opening.

        The index has ``patience`` seconds to finish, so that the next opening does not meet it.
        """
        self.maintenance.end(timeout=5)
        self.memory.close(_SETTLE, patience, self.maintenance.next_look)

    def _is_idle(self, session: Session) -> bool:
        """Whether a session was idle for so long that it is to be saved."""
        limit = self.settings.idle_limit(session)
        return self.memory.is_idle(session.session_id, self.clock(), limit)
