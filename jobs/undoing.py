"""Taking back what was last done: rounds, a reset, a save, a decision about a fact. And bringing rounds back.

Promises: a reset, a save or a decision is taken back only right after it, and as a whole; a save also in a later run of
the program; rounds come back only as long as nothing new was said.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.facts import Fact, NewFact
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


@dataclass(frozen=True)
class DecisionUndone:
    """What a person had decided about a fact was taken back; ``fact`` is as it was before."""

    fact: Fact


@dataclass(frozen=True)
class Decision:
    """A person decided about a fact, named by its id."""

    fact: str


Undone = int | SaveUndone | DecisionUndone
"""How many rounds, or what else was taken back."""


class Undoing:
    """What can be taken back of one conversation, and what can be brought back.

    ``unwritten`` are the rounds of a time in which nothing is written; None while everything is.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        #: What was done since anything was said, the last of it at the end; whoever says anything new clears this.
        self.done: list[Removed | Decision] = []
        #: Rounds that were taken back; whoever says anything new clears this.
        self.taken_back: list[tuple[Round, ...]] = []

    def something_else(self) -> None:
        """Something else was done: nothing before it can be taken back, nor brought back."""
        self.done.clear()
        self.taken_back.clear()

    def put_right(self, fact: str, new: NewFact | None) -> None:
        """Let a person decide about a fact: it never was, and ``new`` is so instead, or nothing."""
        if self._memory.facts.put_right(fact, new):
            self.done.append(Decision(fact))

    def keep_fact(self, fact: str, kept: bool) -> None:
        """Let a person decide whether a fact is kept."""
        if self._memory.facts.keep(fact, kept):
            self.done.append(Decision(fact))

    def reset(self, session_id: str, unwritten: list[Round] | None) -> int:
        """Clear a session. Returns how many rounds went."""
        self.taken_back.clear()
        if unwritten is not None:
            gone = len(unwritten)
            unwritten.clear()
            return gone
        removed = self._memory.rounds.reset(session_id)
        self.done += [removed] if removed.turns else []
        return len(removed.rounds)

    def undo(self, session_id: str, count: int, unwritten: list[Round] | None) -> Undone:
        """Take back what was last done."""
        if self.done and (unwritten is None or isinstance(self.done[-1], Decision)):
            undone = self._undo_done(self.done[-1])
            self.done.pop()
            if undone is not None:
                return undone
        if unwritten is not None:
            kept = max(0, len(unwritten) - count)
            rounds = tuple(unwritten[kept:])
            del unwritten[kept:]
            self._keep(rounds)
            return len(rounds)
        if (saved := self._undo_save(session_id)) is not None:
            return saved
        rounds = self._memory.rounds.undo(session_id, count)
        self._keep(rounds)
        return len(rounds)

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
            self._memory.rounds.redo(rounds)
        return rounds

    def _undo_done(self, done: Removed | Decision) -> Undone | None:
        """Take back a reset or a decision; None for a decision about a fact that is gone since."""
        if isinstance(done, Removed):
            self._memory.rounds.put_back(done)
            return len(done.rounds)
        facts = (
            self._memory.facts.with_ids([done.fact]) if self._memory.facts.undo_decision(done.fact) else []
        )
        return DecisionUndone(facts[0]) if facts else None

    def _undo_save(self, present: str) -> SaveUndone | None:
        """Take back the save that opened this session; None when there is none, or anything was said or done since."""
        memory = self._memory
        saved = memory.saves.last(present)
        if saved is None:
            return None
        known, images = memory.facts.counts(), {image: memory.personas.read(image) for image in IMAGES}
        session = memory.rounds.undo_save(saved, present)
        if session is None:
            return None
        left = memory.facts.counts()
        changed = tuple(image for image in IMAGES if memory.personas.read(image) != images[image])
        return SaveUndone(session, changed, known.notes - left.notes, known.facts - left.facts)
