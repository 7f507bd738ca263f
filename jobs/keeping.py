"""Maintenance in the background: idle sessions are saved where the settings want that, facts are extracted from those
that go on, and from what left the context; then what was brought along is read up, what is enough for a chapter becomes
one, and what is too much to be searched fades.

Promises: an active session of a person is gone on with however long it was idle, unless the settings say that it is
saved; that is done just as with ``/save``, but that no other session is opened; extracting changes nothing else about a
session; what fails is tried again at the next start, and nothing is lost by it;
whoever saves or erases meanwhile comes first. A window of the present session that a model failed to note is not tried
again before it is saved. What is done is loaded when there is something to do, not when a conversation begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from domain.events import Notice
from domain.records import Session
from domain.settings import Settings
from domain.workers import Stop
from jobs.background import Background
from llm import Llm
from memory import Memory

if TYPE_CHECKING:
    from jobs.chapters import WritingChapters
    from jobs.fading_out import Fading
    from jobs.noting import Noting
    from jobs.reading_up import ReadingUp


@dataclass(frozen=True)
class _Work:
    """What is done behind conversations, and slow to load."""

    noting: Noting
    reading: ReadingUp
    chapters: WritingChapters
    fading: Fading


def session_to_open(memory: Memory, settings: Settings, now: datetime) -> tuple[Session, bool]:
    """The session to go on in and whether it was there before; a new one when the newest is due to be saved."""
    session, resumed = memory.sessions.resume_or_start()
    if resumed and memory.fell_silent(session.session_id, now, settings.idle_limit(session)):
        return memory.sessions.start(), False
    return session, resumed


class Keeping:
    """Saves the sessions that fell silent, all but those talked in, in the background."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        llm: Llm,
        background: Background,
        *,
        clock: Callable[[], datetime],
        present: Callable[[], str],
        held: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """``present`` says the session talked in, at any time, and ``held`` others that are not to be saved now.

        Who shares a ``background`` does one thing at a time.
        """
        self._settings = settings
        self._memory = memory
        self._llm = llm
        self._clock = clock
        self._present = present
        self._held = held
        #: The windows that were left for later.
        self._left: set[str] = set()
        self._background = background
        self.wait = self._background.wait
        self.end = self._background.end
        self.paused = self._background.paused
        self.notices = self._background.notices

    @cached_property
    def _work(self) -> _Work:
        from jobs.chapters import WritingChapters
        from jobs.fading_out import Fading
        from jobs.noting import Noting
        from jobs.reading_up import ReadingUp

        memory, llm = self._memory, self._llm
        fading = Fading(memory, self._settings.forget_limit)
        return _Work(Noting(memory, llm), ReadingUp(memory, llm), WritingChapters(memory, llm), fading)

    def due(self) -> tuple[Session, ...]:
        """The active sessions but the present one that are to be saved, oldest first."""
        return self._memory.silent_sessions(
            self._clock(), self._settings.idle_limit, besides={self._present(), *self._held()}
        )

    def begin(self) -> None:
        """Start making anew and keeping what is due, unless that is under way."""
        self._background.begin(self.keep_all)

    def grow(self) -> None:
        """The same, where a chapter is due, or anything may have to fade."""
        if self._work.fading.limited or self._work.chapters.due():
            self.begin()

    def note_ahead(self) -> None:
        """Start noting what has left the context of the present session, once it is a full window."""
        if self._noting_due():
            self._background.begin(self._note)

    def note_now(self) -> None:
        """The same, and return when it is done."""
        if self._noting_due():
            self._background.run(self._note)

    def _noting_due(self) -> bool:
        window = self._work.noting.due(self._present())
        return bool(window) and window not in self._left

    def _note(self, stop: Stop) -> None:
        session_id = self._present()
        self._extract(session_id, stop, all_of_it=False)
        self._left.add(self._work.noting.due(session_id))

    def _extract(self, session_id: str, stop: Stop, *, all_of_it: bool) -> None:
        for event in self._work.noting.run(session_id, stop, all_of_it=all_of_it):
            for notice in (event,) if isinstance(event, Notice) else event.contradicted:
                self.notices.append(notice)

    def _extract_idle(self, stop: Stop) -> None:
        """Extract the facts of a person's sessions that are idle and stay active. What a model failed to read waits."""
        if self._llm.describe().standin:
            return
        for session in self._memory.silent_sessions(self._clock(), self._extracted_after, besides=()):
            unread = self._memory.messages.unread(session.session_id)
            if unread and unread[-1].text_id not in self._left:
                self._extract(session.session_id, stop, all_of_it=True)
                self._left.update(
                    turn.text_id for turn in self._memory.messages.unread(session.session_id)[-1:]
                )

    def _extracted_after(self, session: Session) -> timedelta:
        """How long a session is idle before its facts are extracted; those of other programs wait to be saved."""
        return timedelta() if session.door else self._settings.extract_after

    def keep_all(self, stop: Stop) -> None:
        """Save what is due, then extract what is idle, then read up; what was done becomes a notice."""
        from jobs.renewing import renew

        for event in renew(self._memory, self._llm, stop):
            if isinstance(event, Notice):
                self.notices.append(event)
        tried, kept = set[str](), 0
        try:
            while left := [one for one in self.due() if one.session_id not in tried]:
                tried.add(left[0].session_id)
                kept += self._keep(left[0], stop)
        finally:
            if kept:
                self.notices.append(Notice("opening.kept", {"sessions": kept}))
        self._extract_idle(stop)
        self._read_up(stop)

    def _read_up(self, stop: Stop) -> None:
        """Read what was brought along, with the chapters that this fills, then write those of what was said here.

        What leaves the context of the present session meanwhile comes first.
        """
        self._write_chapters(stop, only_past=True)
        for event in self._work.reading.run(stop):
            if isinstance(event, Notice):
                self.notices.append(event)
            else:
                self._write_chapters(stop, only_past=True)
            if self._noting_due():
                self._note(stop)
        self._write_chapters(stop, only_past=False)
        self.notices += self._work.fading.run(stop)

    def _write_chapters(self, stop: Stop, *, only_past: bool) -> None:
        written = self._work.chapters.run(stop, only_past=only_past)
        self.notices += [event for event in written if isinstance(event, Notice)]

    def _keep(self, session: Session, stop: Stop) -> bool:
        """Save a session; false where there is nothing to save."""
        from jobs.saving import Saved, Saving

        saved = False
        for event in Saving(self._memory, self._llm).run(session, stop, open_next=False):
            saved = saved or isinstance(event, Saved)
            if isinstance(event, Notice):
                self.notices.append(event)
        return saved
