"""What can be read of a memory, and what an erasure would take. Nothing here changes what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from domain.records import (
    ErasureScope,
    Image,
    ImageVersion,
    InFlight,
    Renewal,
    Round,
    Session,
    Summary,
    Turn,
)
from storage.erasure import Eraser
from storage.images import Images
from storage.store import Store


class MemoryReader:
    """The reads of ``Memory`` but those of a turn, over its store, its images and its eraser."""

    _store: Store
    _images: Images
    eraser: Eraser
    _clock: Callable[[], datetime]

    def _now(self) -> str:
        """The moment as it is stored."""
        raise NotImplementedError

    def waiting_for_vectors(self) -> int:
        """How many texts have no vector yet."""
        return self._store.effort()[0]

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

    def fell_silent(self, session_id: str, now: datetime, after: timedelta) -> bool:
        """Whether nothing was said in a session for ``after``, which is never where that is nothing.

        One without rounds, or with a message that waits for its reply, has not fallen silent.
        """
        last = self._store.rounds(session_id, 1)
        if not after or not last or self._store.in_flight(session_id):
            return False
        return now - datetime.fromisoformat(last[-1].assistant.timestamp) >= after

    def silent_sessions(
        self, now: datetime, after: Callable[[Session], timedelta], besides: Collection[str]
    ) -> tuple[Session, ...]:
        """The active sessions but ``besides`` that were silent for ``after``, which is asked of each; oldest first.

        Those in which only the person speaks are among them, once nothing was said in them for so long.
        """
        return tuple(
            one
            for one in self._store.active_sessions()
            if one.session_id not in besides
            and (
                self.fell_silent(one.session_id, now, after(one))
                or self._fell_silent_alone(one, now, after(one))
            )
        )

    def _fell_silent_alone(self, session: Session, now: datetime, after: timedelta) -> bool:
        """The same of a session that a door for programs held: nobody answers there, and nobody will go on in it."""
        if not after or not session.door or self._store.rounds(session.session_id, 1):
            return False
        last = self._store.turns_of(session.session_id)[-1:]
        return any(now - datetime.fromisoformat(turn.timestamp) >= after for turn in last)

    def turns_of(self, session_id: str) -> list[Turn]:
        """Every turn of a session, also one whose partner was erased."""
        return self._store.turns_of(session_id)

    def turns(self, text_ids: Sequence[str]) -> list[Turn]:
        """The turns with these ids that are still there, in their order of time."""
        return self._store.turns_with_ids(text_ids)

    def summaries(self) -> list[Summary]:
        """The summaries of all sessions."""
        return self._store.every_summary()

    def withheld(self) -> list[Turn]:
        """The turns that the person asked to have forgotten, in their order of time."""
        return self._store.withheld()

    def renewals(self) -> list[Renewal]:
        """What erasures left to be made anew, in the order of the sessions."""
        return self._store.renewals()

    def turns_beginning(self, prefix: str) -> list[Turn]:
        """The turns that a short id names: one, where it is long enough."""
        return self._store.turns_beginning(prefix)

    def stages(self, session_id: str) -> dict[str, str]:
        """Results of the stages of ``/save`` that are done."""
        return self._store.stages(session_id)

    def in_flight(self, session_id: str) -> InFlight | None:
        """What was typed in a session and never got its reply."""
        return self._store.in_flight(session_id)

    def problems(self) -> list[str]:
        """What an examination of the store finds; empty when all is well."""
        return self._store.problems()

    def differing(self) -> list[str]:
        """The rows whose texts are not those that were stored, as TABLE KEY; empty when all is well."""
        return self._store.differing()

    # -- images ------------------------------------------------------------------------------------------------

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

    def scope_of(self, text_id: str) -> ErasureScope:
        """What an erasure of one memory would take: a turn; all turns that a fact rests on; of a summary its session.

        Nothing where there is no such memory.
        """
        if facts := self._store.facts_with_ids([text_id]):
            return self.eraser.turns(facts[0].turns)
        if summaries := self._store.summaries_with_ids([text_id]):
            return self.eraser.session(summaries[0].session_id)
        return self.eraser.turn(text_id)

    def scope_of_turn(self, text_id: str) -> ErasureScope:
        """One turn and what was made from it."""
        return self.eraser.turn(text_id)

    def scope_of_round(self, text_id: str) -> ErasureScope:
        """The round that a turn belongs to, and what was made from it."""
        return self.eraser.round(text_id)

    def scope_of_session(self, session_id: str) -> ErasureScope:
        """A whole session and what was made from it."""
        return self.eraser.session(session_id)

    def scope_of_everything(self) -> ErasureScope:
        """All that was ever said, and what was made from it."""
        return self.eraser.everything()

    def scope_of_words(self, words: str) -> ErasureScope:
        """Everything that holds these words, in any case, and what was made from it."""
        return self.eraser.words(words)

    def scope_of_withheld(self) -> ErasureScope:
        """Everything that the person asked to have forgotten, and what was made from it."""
        return self.eraser.withheld()

    def refreshed_scope(self, scope: ErasureScope) -> ErasureScope:
        """The scope with what was made from its turns since it was chosen."""
        return self.eraser.refreshed(scope)
