"""Undo the last action (rounds, a reset, a save, a decision about a fact), and redo rounds.

Guarantees: a reset, a save or a decision can be undone only right after it, and as a whole; a save also in a later run
of the program; rounds can be redone only while nothing new was said.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.facts import Fact, NewFact
from domain.records import PERSONAS, Persona, Removed, Round, Session
from memory import Memory


@dataclass(frozen=True)
class SaveUndone:
    """A save was taken back.

    ``session`` is active again, ``personas`` are as before; so many notes and facts were removed with it.
    """

    session: Session
    personas: tuple[Persona, ...]
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
        self.undone_rounds: list[tuple[Round, ...]] = []

    def clear(self) -> None:
        """Something new was said or done: nothing before it can be undone or redone."""
        self.done.clear()
        self.undone_rounds.clear()

    def correct_fact(self, fact: str, new: NewFact | None) -> None:
        """Replace a fact with ``new`` as the person decided, or with nothing."""
        if self._memory.fact_log.correct_by_hand(fact, new):
            self.done.append(Decision(fact))

    def keep_fact(self, fact: str, kept: bool) -> None:
        """Let a person decide whether a fact is kept."""
        if self._memory.fact_log.keep_fact(fact, kept):
            self.done.append(Decision(fact))

    def reset(self, session_id: str, unwritten: list[Round] | None) -> int:
        """Clear a session. Returns how many rounds went."""
        self.undone_rounds.clear()
        if unwritten is not None:
            count = len(unwritten)
            unwritten.clear()
            return count
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
        elif (saved := self._undo_save(session_id)) is not None:
            return saved
        else:
            rounds = self._memory.rounds.undo(session_id, count)
        self.undone_rounds += [rounds] if rounds else []
        return len(rounds)

    def redo(self, unwritten: list[Round] | None) -> tuple[Round, ...]:
        """Bring back the rounds that were taken back last."""
        rounds = self.undone_rounds.pop() if self.undone_rounds else ()
        if unwritten is not None:
            unwritten.extend(rounds)
        elif rounds:
            self._memory.rounds.redo(rounds)
        return rounds

    def _undo_done(self, done: Removed | Decision) -> Undone | None:
        """Undo a reset or a decision; None if the fact was removed since."""
        if isinstance(done, Removed):
            self._memory.rounds.put_back(done)
            return len(done.rounds)
        facts = self._memory.facts.with_ids([done.fact]) if self._memory.fact_log.undo_decision(done.fact) else []
        return DecisionUndone(facts[0]) if facts else None

    def _undo_save(self, present: str) -> SaveUndone | None:
        """Take back the save that opened this session; None when there is none, or anything was said or done since."""
        memory = self._memory
        saved = memory.saves.last(present)
        if saved is None:
            return None
        known, personas = memory.facts.count_all(), {persona: memory.personas.read(persona) for persona in PERSONAS}
        session = memory.rounds.undo_save(saved, present)
        if session is None:
            return None
        left = memory.facts.count_all()
        changed = tuple(persona for persona in PERSONAS if memory.personas.read(persona) != personas[persona])
        return SaveUndone(session, changed, known.notes - left.notes, known.facts - left.facts)
