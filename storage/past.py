"""The past of a person that other programs kept, for ``Memory``: brought along, read up, taken back.

    begin, add, end          conversations of a file, some turns a commit
    due, ...                 what of it is still to be read for summaries and notes, within so many calls a day
    imports, take_back       what was brought along, and letting a whole import never have been

Promises: each verb is one commit or nothing; the same message is stored once, however often it comes, and one that was
erased does not come back; whatever was cut short can be begun again and ends as if it had not been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import count

from domain.imports import Added, DueSession, ImportSource, PastPiece, ReadingLeft
from domain.records import Turn
from storage.store import Store

#: So many turns are taken back in one commit.
_AT_ONCE = 200


class Past:
    """What was brought along into one memory.

    ``tell_index`` is told when texts are new or gone; ``losing_lines`` is a commit in which turns go, and the
    lines that rest on them out of every version of the images.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        tell_index: Callable[[Sequence[str]], None],
        losing_lines: Callable[[Sequence[str]], AbstractContextManager[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._ids = new_id
        self._tell_index = tell_index
        self._losing_lines = losing_lines

    # -- bringing along ------------------------------------------------------------------------------------------

    def begin(self, name: str, kind: str, sha256: str, reader: int) -> int:
        """Note that a file is being brought along. Returns its number, the same for the same file."""
        self._ids = _ids_in_order(self._new_id)
        return self._store.begin_import(name, kind, sha256, reader, self._now())

    def add(self, number: int, pieces: Sequence[PastPiece]) -> Added:
        """Store what is new of these pieces, in one commit."""
        with self._store.in_one_commit():
            added = [self._store.add_past(number, piece, self._now(), self._ids) for piece in pieces]
        return Added(sum(one.turns for one in added), sum(one.sessions for one in added))

    def end(self, number: int, conversations: int) -> None:
        """All of a file was brought along: its texts may get their vectors."""
        self._store.end_import(number, conversations)
        self._tell_index([])

    def known(self, piece: PastPiece) -> int:
        """How many turns of a piece were brought along before."""
        return self._store.count_known(piece)

    # -- what was brought along ----------------------------------------------------------------------------------

    def imports(self) -> list[ImportSource]:
        """What was brought along, oldest first."""
        return self._store.imports()

    def take_back(self, number: int) -> Iterator[int]:
        """Let an import never have been, with all that was made from it; how many turns are gone, some at a time.

        Cut short, it goes on with the next call. The same file may be brought along again afterwards.
        """
        gone = 0
        while turns := self._store.turns_of_import(number, _AT_ONCE):
            with self._losing_lines(turns):
                removed = self._store.remove_past(turns)
            self._tell_index(removed)
            gone += len(turns)
            yield gone
        self._store.forget_import(number)

    def was_imported(self, session_id: str) -> bool:
        """Whether a session was brought along."""
        return self._store.was_imported(session_id)

    # -- reading up ----------------------------------------------------------------------------------------------

    def due(self, most: int = 1) -> list[DueSession]:
        """The sessions that are still to be read: the newest month first, and in it what was talked of most."""
        return self._store.due_sessions(most)

    def summarised(self, session_id: str) -> tuple[str, list[Turn]]:
        """What a session came to so far, and its turns that no summary was made from yet."""
        summary = self._store.summary(session_id)
        upto = summary.upto_round if summary else 0
        left = [turn for turn in self._store.turns_of(session_id) if turn.round > upto]
        told = [turn for turn in left if not turn.withheld]
        return (summary.summary if summary and upto else ""), told

    def keep_summary(self, session_id: str, text: str, before: str, turns: Sequence[Turn]) -> bool:
        """Keep what a session came to as far as these turns, made from them and from what it came to ``before``.

        False, and nothing is kept, when that is not so any more: something is gone or withheld since.
        """
        with self._store.in_one_commit():
            session, (so_far, left) = self._store.session(session_id), self.summarised(session_id)
            there = {turn.text_id for turn in left}
            if session is None or so_far != before or any(turn.text_id not in there for turn in turns):
                return False
            when, upto = session.end_timestamp or self._now(), turns[-1].round
            gone = self._store.keep_past_summary(session_id, self._new_id(), when, text, upto)
        self._tell_index(gone)
        return True

    def end_reading(self, due: DueSession) -> None:
        """A session was read, unless more has come to it, or something went out of it, since."""
        self._store.end_reading(due)

    def left(self) -> ReadingLeft:
        """How much is still to be read, and how many calls were made today."""
        return self._store.reading_left(self._today())

    def rest(self, resting: bool) -> None:
        """Note whether nothing is to be read up until further notice."""
        self._store.rest_reading(resting)

    def ask_for_image(self, session_id: str) -> None:
        """Let the image of the person be made anew with what a session came to."""
        self._store.ask_for_image(session_id, self._now())

    def count_calls(self, calls: int) -> None:
        """Note that so many more calls were made today, or fewer than had been noted."""
        self._store.count_calls(self._today(), calls)

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")

    def _today(self) -> str:
        return self._clock().date().isoformat()


def _ids_in_order(new_id: Callable[[], str]) -> Callable[[], str]:
    """Ids that follow each other: many rows at once then lie beside each other in every index, and cost few writes.

    They differ in their first eight characters, by which a person names a turn.
    """
    run, numbers = new_id()[:2], count()
    return lambda: f"{run}{next(numbers):06x}{new_id()[-24:]}"
