"""What can be read of a memory, and what an erasure would take. Nothing here changes what is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from domain.records import ErasureScope, Image, ImageVersion, InFlight, Round, Session, Summary, Turn
from storage.erasure import Eraser
from storage.images import Images
from storage.store import Store


class MemoryReader:
    """The reads of ``Memory``, over its store, its images and its eraser."""

    _store: Store
    _images: Images
    eraser: Eraser

    # -- sessions -----------------------------------------------------------------------------------------------

    def session(self, session_id: str) -> Session | None:
        """One session by its id."""
        return self._store.session(session_id)

    def recent_sessions(self, limit: int = 20, offset: int = 0) -> list[Session]:
        """Sessions, newest first; a limit of -1 is none."""
        return self._store.recent_sessions(limit, offset)

    def session_counts(self) -> tuple[int, int]:
        """How many archived sessions and how many rounds are remembered."""
        return self._store.session_counts()

    def rounds(self, session_id: str, last: int | None = None) -> tuple[Round, ...]:
        """All rounds of a session, or its ``last`` ones, oldest first."""
        return self._store.rounds(session_id, last)

    def context(self, session_id: str) -> tuple[Round, ...]:
        """The rounds that are in the context, not yet folded, oldest first."""
        return self._store.context(session_id)

    def turns_of(self, session_id: str) -> list[Turn]:
        """Every turn of a session, also one whose partner was erased."""
        return self._store.turns_of(session_id)

    def turns(self, text_ids: Sequence[str]) -> list[Turn]:
        """The turns with these ids that are still there, in their order of time."""
        return self._store.turns_with_ids(text_ids)

    def summary(self, session_id: str) -> Summary | None:
        """The summary of a session, if it has one."""
        return self._store.summary(session_id)

    def summaries(self) -> list[Summary]:
        """The summaries of all sessions."""
        return self._store.every_summary()

    def stages(self, session_id: str) -> dict[str, str]:
        """Results of the stages of ``/save`` that are done."""
        return self._store.stages(session_id)

    def in_flight(self, session_id: str) -> InFlight | None:
        """What was typed in a session and never got its reply."""
        return self._store.in_flight(session_id)

    def problems(self) -> list[str]:
        """What an examination of the store finds; empty when all is well."""
        return self._store.problems()

    # -- what is held back -------------------------------------------------------------------------------------

    def withheld(self) -> list[Turn]:
        """The turns that the person asked to have forgotten, oldest first: in no prompt until they are released."""
        return []

    def scope_of_withheld(self) -> ErasureScope:
        """The turns that are held back, and what was made from them."""
        return ErasureScope()

    # -- images ------------------------------------------------------------------------------------------------

    def image(self, image: Image) -> str:
        """An image as it stands now; an edit by hand has become a version by then."""
        return self._images.read(image)

    def image_path(self, image: Image) -> Path:
        """Where a person finds the file of an image."""
        return self._images.path(image)

    def image_versions(self, image: Image) -> list[ImageVersion]:
        """Every version of an image, oldest first."""
        return self._images.versions(image)

    def newest_image(self, image: Image) -> ImageVersion | None:
        """The version in force, edits by hand noted; None while there has never been one."""
        return self._images.newest(image)

    def pins(self, image: Image) -> tuple[str, ...]:
        """The lines that rewrites of an image must keep."""
        return self._store.pins(image)

    # -- what an erasure would take ----------------------------------------------------------------------------

    def scope_of_turn(self, text_id: str) -> ErasureScope:
        """One turn and what was made from it."""
        return self.eraser.turn(text_id)

    def scope_of_round(self, text_id: str) -> ErasureScope:
        """The round that a turn belongs to, and what was made from it."""
        return self.eraser.round(text_id)

    def scope_of_session(self, session_id: str) -> ErasureScope:
        """A whole session and what was made from it."""
        return self.eraser.session(session_id)

    def scope_of_words(self, words: str) -> ErasureScope:
        """Everything that holds these words, in any case, and what was made from it."""
        return self.eraser.words(words)

    def refreshed_scope(self, scope: ErasureScope) -> ErasureScope:
        """The scope with what was made from its turns since it was chosen."""
        return self.eraser.refreshed(scope)
