"""A memory as a service: what a person says goes in, what is remembered for it comes out. The same for every door.

Promises: only the person's words are stored, as they came; one session a person is open, and ends by itself; ending
returns at once, and what the session came to is drawn from it afterwards, once; nothing of one person is ever answered
to another. Raises UsageError, ModelError, StorageError.
"""

from __future__ import annotations

from interfaces.service.bodies import (
    DebugResponse,
    EndSessionResponse,
    ForgetResponse,
    GraphResponse,
    ProcessResponse,
    ProfileResponse,
    RecallResponse,
    RememberResponse,
    SessionStatusResponse,
)
from people import People


class MemoryService:
    """The verbs, over the memories of many people. One for each ``People``: it knows what is under way.

    >>> service = MemoryService(people)
    >>> service.process("She moved to Lyon.", "me").resolved_query
    'She moved to Lyon. (Ann)'
    """

    def __init__(self, people: People) -> None:
        self._people = people

    def process(self, said: str, user_id: str, request_id: str | None = None) -> ProcessResponse:
        """Store what a person said in their open session, and answer what is remembered for it."""
        raise NotImplementedError

    def end_session(self, user_id: str) -> EndSessionResponse:
        """End the open session; what it came to is drawn from it in the background."""
        raise NotImplementedError

    def session_status(self, user_id: str) -> SessionStatusResponse:
        """Whether a session is open; nothing is changed."""
        raise NotImplementedError

    def debug(self, said: str, user_id: str) -> DebugResponse:
        """What ``process`` would answer, and how; nothing is changed."""
        raise NotImplementedError

    def graph(self, user_id: str, limit: int = 100) -> GraphResponse:
        """What is known to stand to each other, at most ``limit`` relations, the newest first."""
        raise NotImplementedError

    def recall(self, query: str, user_id: str, limit: int = 10) -> RecallResponse:
        """What is remembered for a query, also of the open session, inside a hard budget."""
        raise NotImplementedError

    def remember(self, text: str, user_id: str) -> RememberResponse:
        """Store something in the open session, word for word."""
        raise NotImplementedError

    def forget(self, memory_id: str, user_id: str) -> ForgetResponse:
        """Erase a memory and what was drawn from it out of every file, and prove it."""
        raise NotImplementedError

    def profile(self, user_id: str) -> ProfileResponse:
        """Who the person is, inside a hard budget."""
        raise NotImplementedError

    def sweep(self) -> int:
        """End the sessions whose time is over, and go on with what is to be drawn from ended ones.

        Called at the start and every minute. Returns how many sessions ended.
        """
        raise NotImplementedError

    def close(self, timeout: float = 5.0) -> None:
        """Let go of what is under way; it goes on at the next start."""
        raise NotImplementedError
