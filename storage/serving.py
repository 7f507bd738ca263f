"""What other doors than the terminal ask of a memory: sessions that they hold, beside those of the terminal."""

from __future__ import annotations

from domain.records import Session
from storage.knowing import Knowing


class Serving(Knowing):
    """The verbs of ``Memory`` for doors."""

    def sessions_of_door(self, door: str, key: str | None = None) -> list[Session]:
        """Every session of a door, or those of one of its keys, oldest first."""
        return self._store.sessions_of_door(door, key)

    def start_door_session(self, door: str, key: str) -> Session:
        """A new active session that a door holds under a key; the terminal never goes on with it by itself."""
        return self._store.start_session(self._session_id(), self._now(), door=door, door_key=key)

    def _session_id(self) -> str:
        """The name of a new session."""
        raise NotImplementedError
