"""Taking back what was last done in a conversation: rounds, a reset, a save. And bringing rounds back.

Promises: a reset or a save is taken back only right after it, and as a whole; rounds come back only as long as nothing
new was said.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.records import IMAGES, Image, Removed, Round, Session
from memory import Memory


@dataclass(frozen=True)
class SaveUndone:
    """A save was taken back.

    ``session`` is active again; ``images`` are again what they were before; so many notes and facts are gone with it.
    """

    session: Session
    images: tuple[Image, ...]
    notes: int
    facts: int


class Undoing:
    """What can be taken back of one conversation, and what can be brought back.

    ``unwritten`` are the rounds of a time in which nothing is written; None while everything is.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        #: What was done last and is taken back as a whole: a reset, or the save of a session. Whoever does anything
        #: else puts None here.
        self.whole: Removed | Session | None = None
        #: Rounds that were taken back; whoever says anything new clears this.
        self.taken_back: list[tuple[Round, ...]] = []

    def something_else(self) -> None:
        """Something else was done: nothing of it can be taken back, nor brought back."""
        self.whole = None
        self.taken_back.clear()

    def reset(self, session_id: str, unwritten: list[Round] | None) -> int:
        """Clear a session. Returns how many rounds went."""
        self.taken_back.clear()
        if unwritten is not None:
            gone = len(unwritten)
            unwritten.clear()
            return gone
        self.whole = removed = self._memory.reset(session_id)
        return len(removed.rounds)

    def undo(self, session_id: str, count: int, unwritten: list[Round] | None) -> int | SaveUndone:
        """Take back what was last done. Returns how many rounds, or what a save had done."""
        if unwritten is not None:
            kept = max(0, len(unwritten) - count)
            rounds = tuple(unwritten[kept:])
            del unwritten[kept:]
            self._keep(rounds)
            return len(rounds)
        undone = self._undo_whole(session_id)
        self.whole = None
        if undone is not None:
            return undone
        rounds = self._memory.context(session_id)[-count:]
        gone = self._memory.undo(session_id, count)
        self._keep(rounds)
        return gone

    def _keep(self, rounds: tuple[Round, ...]) -> None:
        """Keep what was taken back; where nothing was, what was taken back before is still the last."""
        if rounds:
            self.taken_back.append(rounds)

    def redo(self, unwritten: list[Round] | None) -> tuple[Round, ...]:
        """Bring back the rounds that were taken back last."""
        rounds = self.taken_back.pop() if self.taken_back else ()
        if unwritten is not None:
            unwritten.extend(rounds)
        elif rounds:
            self._memory.redo(rounds)
        return rounds

    def _undo_whole(self, session_id: str) -> int | SaveUndone | None:
        """Take back a reset or a save that was done last; None where there is none to take back."""
        if isinstance(self.whole, Removed) and self.whole.turns:
            self._memory.put_back(self.whole)
            return len(self.whole.rounds)
        return self._undo_save(self.whole, session_id) if isinstance(self.whole, Session) else None

    def _undo_save(self, saved: Session, present: str) -> SaveUndone | None:
        """Take the save of a session back; None when anything was said since."""
        memory = self._memory
        known, images = memory.known_counts(), {image: memory.image(image) for image in IMAGES}
        session = memory.undo_save(saved.session_id, present)
        if session is None:
            return None
        left = memory.known_counts()
        changed = tuple(image for image in IMAGES if memory.image(image) != images[image])
        return SaveUndone(session, changed, known.notes - left.notes, known.facts - left.facts)
