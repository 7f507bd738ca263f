"""What a store can do with what was brought along: the part of ``storage.store.Store`` that is about imports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from domain.imports import Added, DueSession, ImportSource, PastPiece, ReadingLeft
from domain.records import Image


class PastStore(Protocol):
    """Conversations of other programs. A message that was ever stored is known again, whatever became of its turn."""

    def begin_import(self, name: str, kind: str, sha256: str, reader: int, now: str) -> int:
        """Note that a file is being brought along, or is again. Returns its number."""
        ...

    def end_import(self, number: int, conversations: int) -> None:
        """Note that a file was imported whole, with so many conversations."""
        ...

    def imports(self) -> list[ImportSource]:
        """Every import, oldest first."""
        ...

    def turns_of_import(self, number: int, most: int) -> list[str]:
        """Up to ``most`` turns that this import brought along and that are still there."""
        ...

    def forget_import(self, number: int) -> None:
        """Know nothing of an import any more: what it brought may come again."""
        ...

    def remove_past(self, text_ids: Sequence[str]) -> list[str]:
        """Remove turns, and the sessions of an import of which nothing is left. Returns what is gone."""
        ...

    def lines_ever_resting_on(self, image: Image, turns: Sequence[str]) -> list[str]:
        """The lines of any version of an image that rest on any of these turns."""
        ...

    def lose_lines(self, image: Image, lines: Collection[str]) -> None:
        """Leave these lines out of every version of an image; the versions stay."""
        ...

    def add_past(self, source: int, piece: PastPiece, now: str, new_id: Callable[[], str]) -> Added:
        """Store the turns of a piece that were never stored, each where it belongs: in the session of the turns around
        it, or in one of its own that stands in its place in life and is closed.
        """
        ...

    def count_known(self, piece: PastPiece) -> int:
        """How many messages of a piece were stored before."""
        ...

    def due_sessions(self, most: int) -> list[DueSession]:
        """The sessions that are still to be read: the newest month first, and in it what was talked of most."""
        ...

    def keep_past_summary(
        self, session_id: str, text_id: str, timestamp: str, text: str, upto: int
    ) -> list[str]:
        """What a session came to as far as a round, in place of what stood there. Returns what is gone."""
        ...

    def end_reading(self, due: DueSession) -> None:
        """A session was read, unless it was asked for again since."""
        ...

    def was_imported(self, session_id: str) -> bool:
        """Whether a session came from an import."""
        ...

    def reading_left(self, today: str) -> ReadingLeft:
        """How much of the import backlog is left, and what was spent on it today."""
        ...

    def rest_reading(self, resting: bool) -> None:
        """Pause the import backlog, or go on with it."""
        ...

    def ask_for_image(self, session_id: str, now: str) -> None:
        """Let the image of the person be made anew with what a session came to."""
        ...

    def count_calls(self, today: str, calls: int) -> None:
        """Note that so many more calls were made today, or fewer than had been noted."""
        ...
