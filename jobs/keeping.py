"""Keeping by itself: sessions that fell silent are saved in the background, without being told to.

Promises: a session that has been silent for longer than the settings say is not gone on with, and is saved just as with
``/save``, but that no other session is opened; what fails is tried again at the next start, and nothing is lost by it;
whoever saves or erases meanwhile comes first.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from domain import errors
from domain.events import Notice, Stop
from domain.records import Session
from domain.settings import Settings
from jobs.renewing import renew
from jobs.saving import Saved, Saving
from llm import Llm
from memory import Memory


def session_to_open(memory: Memory, settings: Settings, now: datetime) -> tuple[Session, bool]:
    """The session to go on in and whether it was there before; a new one when the newest has fallen silent."""
    session, resumed = memory.resume_or_start()
    if resumed and memory.fell_silent(session.session_id, now, settings.archive_after):
        return memory.start_session(), False
    return session, resumed


class Keeping:
    """Saves the sessions that fell silent, all but the present one, in a thread of its own."""

    def __init__(
        self, settings: Settings, memory: Memory, llm: Llm, log: logging.Logger, clock: Callable[[], datetime]
    ) -> None:
        self._settings = settings
        self._memory = memory
        self._llm = llm
        self._log = log
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._stop = Stop()
        self._paused = self._wanted = False
        #: Whether sessions are being kept now.
        self.busy = False
        #: What went wrong and was not yet told; whoever tells it takes it out.
        self.notices: list[Notice] = []

    def due(self, present: str) -> tuple[Session, ...]:
        """The active sessions but the present one that fell silent, oldest first."""
        return self._memory.silent_sessions(self._clock(), self._settings.archive_after, besides=present)

    def begin(self, present: Callable[[], str]) -> None:
        """Start making anew and keeping what is due, unless that is under way; ``present`` is the session talked in."""
        if self._paused:
            self._wanted = True
        elif not self.busy and (self._memory.renewals() or self.due(present())):
            self._stop.clear()
            self._thread = threading.Thread(target=self._work, args=(present,), name="keep", daemon=True)
            self.busy = True
            self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done; what takes longer than ``timeout`` seconds is left to the next start."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self.busy:
                self._stop.set()
                self._thread.join(1)

    @contextmanager
    def paused(self, present: Callable[[], str]) -> Iterator[None]:
        """Nothing is kept meanwhile; what was under way goes on afterwards, from the stages that were done."""
        outer, self._paused = self._paused, True
        self._wanted = self._wanted or self.busy
        if self.busy and self._thread is not None:
            self._stop.set()
            self._thread.join()
        try:
            yield
        finally:
            self._paused = outer
            if self._wanted and not outer:
                self._wanted = False
                self.begin(present)

    def _work(self, present: Callable[[], str]) -> None:
        try:
            self.run(present)
        finally:
            self.busy = False

    def run(self, present: Callable[[], str]) -> None:
        """Keep what is due, one session after another; what was done and what went wrong become notices."""
        tried, kept = set[str](), 0
        try:
            self.notices += [
                event for event in renew(self._memory, self._llm, self._stop) if isinstance(event, Notice)
            ]
            while left := [one for one in self.due(present()) if one.session_id not in tried]:
                tried.add(left[0].session_id)
                kept += self._keep(left[0])
        except errors.Interrupted:
            pass
        except errors.OldFriendError as fault:
            self._failed(fault, fault)
        except Exception as fault:
            # A fault of ours in this thread must reach the log and the person, and must not end silently.
            self._failed(fault, errors.OldFriendError(reason=type(fault).__name__))
        if kept:
            self.notices.append(Notice("opening.kept", {"sessions": kept}))

    def _keep(self, session: Session) -> bool:
        """Save a session; false where there is nothing to save."""
        saved = False
        for event in Saving(self._memory, self._llm).run(session, self._stop, open_next=False):
            saved = saved or isinstance(event, Saved)
            if isinstance(event, Notice):
                self.notices.append(event)
        return saved

    def _failed(self, fault: Exception, told: errors.OldFriendError) -> None:
        self._log.error("keeping failed", exc_info=fault)
        self.notices.append(Notice("opening.keeping_failed", {"error": told}))
