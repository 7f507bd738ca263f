"""A session from its beginning to its end, for ``Memory``.

    start_session -> (rounds) -> fold, set_summary -> keep_stage, ... -> archive -> undo_save, or resume, or it stays

Promises: each verb is one commit or nothing; what a save replaced is kept until anything is said or decided after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from domain.facts import ImageDraft
from domain.records import Image, Session
from storage.forgetting import Forgetting
from storage.images import image_draft
from storage.store import NewSummary


class SessionVerbs(Forgetting):
    """The verbs of ``Memory`` for whole sessions."""

    def resume_or_start(self) -> tuple[Session, bool]:
        """The newest active session and whether it was there before; a new one where none is active."""
        session = self._store.newest_active()
        return (self.start_session(), False) if session is None else (session, True)

    def start_session(self, began: str | None = None, *, before: str | None = None) -> Session:
        """A new active session beside those there are: the last of all, or of an older time, in its place there.

        One right ``before`` another is never gone on with as the newest.
        """
        return self._store.start_session(self._session_id(), self._now(), began, before=before)

    def drop_in_flight(self, session_id: str) -> None:
        """Forget what was typed in a session and not answered."""
        self._store.drop_in_flight(session_id)

    def fold(self, session_id: str, upto: int, summary: str) -> None:
        """Let the rounds up to ``upto`` leave the context into ``summary``."""
        self._tell_index(self._store.fold(session_id, upto, self._new_summary(summary)))

    def set_summary(self, session_id: str, summary: str) -> None:
        """Put a person's own wording in place of a session's summary."""
        self._tell_index(self._store.set_summary(session_id, self._new_summary(summary)))

    def keep_stage(self, session_id: str, stage: str, result: str) -> None:
        """Keep the result of a stage of ``/save``."""
        self._store.keep_stage(session_id, stage, self._now(), result)

    def archive(
        self,
        session_id: str,
        summary: str,
        images: Mapping[Image, ImageDraft | str],
        *,
        waiting: Sequence[Image] = (),
        open_next: bool = True,
    ) -> Session:
        """Archive a session with its final summary and new images, and open the next one, in one commit.

        Those that are ``waiting`` could not be brought up to date now, and are to be made anew.
        Of quotations that were found in a memory a reference to it stays. Returns the session that is open.
        """
        following = self._session_id() if open_next else None
        drafts = {image: image_draft(made) for image, made in images.items()}
        gone = self._store.archive(session_id, self._new_summary(summary), drafts, following, waiting)
        self._images.publish()
        self._tell_index(gone)
        return self._known(following or session_id)

    def resume(self, session_id: str, present: str) -> Session:
        """Make an archived session active again in place of the present one, which goes if it is empty."""
        self._store.resume(session_id, present, self._now())
        return self._known(session_id)

    def undo_save(self, session_id: str, present: str) -> Session | None:
        """Take a ``/save`` back right after it. Returns the session, active again in place of the empty ``present``.

        Its windows are unlearned, its images are again what they were unless one was edited since, and its context and
        summary are as before. None, and nothing, when anything was said, or is gone, since.
        """
        self._images.publish()
        gone = self._store.undo_save(session_id, present, self._now())
        if gone is None:
            return None
        self._images.publish()
        self._tell_index(gone)
        return self._store.session(session_id)

    def last_save(self, present: str) -> str | None:
        """The session whose ``/save`` opened the session ``present``, in whatever run of the program.

        None when anything was said, or decided about a fact, since, or what it came to is gone.
        """
        return self._store.last_save(present)

    def _session_id(self) -> str:
        minute = self._clock().isoformat()[:16].replace("-", "").replace(":", "").replace("T", "-")
        return f"{minute}-{self._new_id()[-6:]}"

    def _known(self, session_id: str) -> Session:
        session = self._store.session(session_id)
        assert session is not None
        return session

    def _new_summary(self, text: str) -> NewSummary:
        return NewSummary(self._new_id(), self._now(), text)
