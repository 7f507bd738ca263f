"""What a store can do with what is known: the part of ``storage.store.Store`` that is about notes and facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from domain.facts import (
    About,
    Fact,
    FactEvent,
    KeptReply,
    KnownCounts,
    Learned,
    NewFact,
    Note,
    Relation,
    Slot,
)
from domain.records import Turn


class FactStore(Protocol):
    """What is known. Whatever rests on a turn goes in the commit in which the turn goes, or is withheld.

    The state of a fact follows from what was learned and is still there. At most one value that was stated is current
    in a slot that holds one at a time: the last that was said, or put right by hand. A fact is read under the
    right name where a name in it was corrected later, for as long as that correction is there.
    """

    def unread(self, session_id: str) -> list[Turn]:
        """The turns that no window has read, oldest first; never what is withheld, or what the stand-in said."""
        ...

    def learn(self, learned: Learned, now: str) -> bool:
        """Store all that a window came to; it is read from then on, and its kept replies go.

        False, and nothing, when one of its turns was read already, is gone or is withheld. A change of a fact that is
        gone, or that a person put right, is left out; so is what names no turn of the window, or one outside of it.
        """
        ...

    def unlearn(self, windows: Sequence[str]) -> None:
        """Take back all that these windows came to, with what it did to other facts; their turns are unread."""
        ...

    def keep_reply(self, window: str, stage: str, base: str, reply: str, now: str) -> None:
        """Store a model's reply for a stage of a window, so that it is not asked for again."""
        ...

    def kept_replies(self, window: str) -> dict[str, KeptReply]:
        """The replies that are kept for a window, by stage; none outlives a turn, or a fact, that goes."""
        ...

    def put_right(self, fact: str, new: NewFact | None, now: str) -> bool:
        """Decide by hand, for good: the fact never was, and ``new``, on its turns, is so. False when there is none."""
        ...

    def keep_fact(self, fact: str, kept: bool, now: str) -> bool:
        """Decide by hand that a fact is kept, or no longer is. False when there is none."""
        ...

    def undo_decision(self, fact: str) -> bool:
        """Take back the last of either, as if it had never been decided. False where nothing was."""
        ...

    def known_counts(self) -> KnownCounts:
        """How many notes, facts and relations there are."""
        ...

    def facts(self, *, current: bool | None = None, about: About | None = None) -> list[Fact]:
        """The facts, oldest first; only the current or only the past ones, or those about one side."""
        ...

    def fact(self, number: int) -> Fact | None:
        """The fact with this number."""
        ...

    def facts_with_ids(self, text_ids: Sequence[str]) -> list[Fact]:
        """The facts with these ids."""
        ...

    def facts_numbered(self, numbers: Sequence[int]) -> list[Fact]:
        """The facts with these numbers."""
        ...

    def facts_of_turns(self, text_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on each of these turns; a turn on which none rests is left out."""
        ...

    def facts_of_sessions(self, session_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that were learned from each of these sessions."""
        ...

    def facts_in_slots(self, slots: Iterable[Slot]) -> list[Fact]:
        """Every fact in these slots, current or not."""
        ...

    def relations(self, *, current: bool = True) -> list[Relation]:
        """Who is related to whom; with the past ones when not only the current are wanted."""
        ...

    def relations_of(self, facts: Sequence[str]) -> list[Relation]:
        """The relations that these facts state."""
        ...

    def relations_naming(self, text: str) -> list[Relation]:
        """The relations of facts that hold now of which a text names one end."""
        ...

    def notes_of(self, session_id: str) -> list[Note]:
        """The notes of a session, in order."""
        ...

    def notes_of_turns(self, text_ids: Sequence[str]) -> list[Note]:
        """The notes that rest on any of these messages."""
        ...

    def every_note(self) -> list[Note]:
        """Every note, in order."""
        ...

    def history(self, fact: str) -> list[FactEvent]:
        """What happened to a fact, that it was learned first; empty when there is no such fact."""
        ...

    def learn_fact(self, text_id: str, session_id: str, now: str, text: str, turns: Sequence[int]) -> None:
        """Keep words that find turns, given by number; they are no fact that anybody is shown."""
        ...
