"""What a door asks of a memory in which only the person speaks, for ``Memory``.

    start_door_session -> store_alone, ... -> end_session -> (a job draws from it what it came to) -> archive

Promises: each verb is one commit or nothing; what nobody answers never looks as if somebody had.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.facts import Relation
from domain.records import ErasureScope, Session, Turn
from storage.knowing import Knowing
from storage.store import NewTurn


class Listening(Knowing):
    """The verbs of ``Memory`` for sessions that nobody answers in."""

    # -- sessions in which only the person speaks ----------------------------------------------------------------

    def active_sessions_of_door(self, door: str) -> list[Session]:
        """The active sessions of a door, oldest first; one with an ``end_timestamp`` waits to be archived."""
        return [session for session in self._store.active_sessions() if session.door == door]

    def store_alone(self, session_id: str, words: str, text_id: str, *, said: str | None = None) -> Turn:
        """Store a message that nobody answers, with its words and its place in the queue, in one commit.

        What is of the past was ``said`` then.
        """
        now = self._now()
        stored = self._store.store_alone(session_id, NewTurn(text_id, said or now, "user", words), now)
        self._tell_index([])
        return stored

    def end_session(self, session_id: str, ended: str) -> None:
        """Note that a session ended then: nobody goes on in it, and it waits to be archived."""
        self._store.end_session(session_id, ended)

    # -- what is known about something -----------------------------------------------------------------------------

    def relations_about(self, facts: Sequence[str], text: str) -> list[Relation]:
        """The relations of facts that hold now: of these facts, and those of which a text names one end."""
        found = [*self._store.relations_of(facts), *self._store.relations_naming(text)]
        return list(dict.fromkeys(one for one in found if one.fact.current))

    # -- erasing by id ---------------------------------------------------------------------------------------------

    def scope_of(self, text_id: str) -> ErasureScope:
        """What an erasure of one memory would take: a turn; all turns that a fact rests on; of a summary its session.

        Nothing where there is no such memory.
        """
        if facts := self._store.facts_with_ids([text_id]):
            return self.eraser.turns(facts[0].turns)
        if summaries := self._store.summaries_with_ids([text_id]):
            return self.eraser.session(summaries[0].session_id)
        return self.eraser.turn(text_id)
