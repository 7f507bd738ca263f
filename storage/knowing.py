"""What is known, for ``Memory``: learned from windows of talk, read, put right by a person, and taken back.

    unread -> (a job reads the windows, and keeps each reply as soon as it is there) -> learn
    facts, notes, relations, history: each with the turns it rests on
    put_right, keep_fact: by hand, for good          unlearn: as if it had never been learned

Promises: each verb is one commit or nothing; a window learned twice changes nothing; what rests on a turn goes with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domain.facts import (
    About,
    Fact,
    FactEvent,
    KeptReply,
    KnownCounts,
    Learned,
    LineEvidence,
    NewFact,
    News,
    Note,
    Relation,
    Slot,
)
from domain.records import Image, Turn
from storage.sessions import SessionVerbs


class Knowing(SessionVerbs):
    """The verbs of ``Memory`` for notes and facts."""

    # -- learning ----------------------------------------------------------------------------------------------

    def unread(self, session_id: str) -> list[Turn]:
        """The turns of a session that no window has read, oldest first; never what is withheld or the stand-in's."""
        return self._store.unread(session_id)

    def learn(self, learned: Learned) -> bool:
        """Store all that a window came to; it is read from then on.

        False, and nothing, when it does not count any more: one of its turns was read meanwhile, is gone or withheld.
        """
        return self._store.learn(learned, self._now())

    def keep_reply(self, window: str, stage: str, base: str, reply: str) -> None:
        """Keep a model's reply for a window, of the stage "notes" or "compare", until the window is learned.

        ``base`` is a digest of what it was made from.
        """
        self._store.keep_reply(window, stage, base, reply, self._now())

    def kept_replies(self, window: str) -> dict[str, KeptReply]:
        """The replies that are kept for a window, by stage."""
        return self._store.kept_replies(window)

    def kept_reply(self, window: str, stage: str, base: str) -> str | None:
        """The reply that is kept for a stage of a window; None when there is none that was made from the same."""
        kept = self._store.kept_replies(window).get(stage)
        return kept.reply if kept and kept.base == base else None

    def unlearn(self, windows: Sequence[str]) -> None:
        """Take back all that these windows came to, what they changed too; their turns are unread again."""
        self._store.unlearn(windows)

    def learn_fact(self, session_id: str, text: str, turns: Sequence[int]) -> None:
        """Keep a fact that was drawn from turns, given by number: a key that finds them, never handed over itself."""
        self._store.learn_fact(self._new_id(), session_id, self._now(), text, turns)

    # -- by hand -----------------------------------------------------------------------------------------------

    def put_right(self, fact: str, new: NewFact | None) -> bool:
        """Let a person decide about a fact, for good: it never was, and ``new`` is so instead, or nothing.

        ``new`` rests on the turns of the fact, whatever it names. False when there is no such fact.
        """
        return self._store.put_right(fact, new, self._now())

    def keep_fact(self, fact: str, kept: bool = True) -> bool:
        """Note whether the person wants a fact kept. False when there is no such fact."""
        return self._store.keep_fact(fact, kept, self._now())

    def undo_decision(self, fact: str) -> bool:
        """Take back what the person last decided about a fact, as if they never had. False where they had not."""
        return self._store.undo_decision(fact)

    def new_text_id(self) -> str:
        """An id for a note or a fact that is to be stored."""
        return self._new_id()

    # -- reading -----------------------------------------------------------------------------------------------

    def facts(self, *, current: bool | None = None, about: About | None = None) -> list[Fact]:
        """Every fact in the order in which they were learned: only what holds now, only what does not; about whom."""
        return self._store.facts(current=current, about=about)

    def fact(self, number: int) -> Fact | None:
        """One fact by its number; None when there is none."""
        return self._store.fact(number)

    def facts_with_ids(self, text_ids: Sequence[str]) -> list[Fact]:
        """The facts with these ids that are still there."""
        return self._store.facts_with_ids(text_ids)

    def facts_of_turns(self, text_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on each of these turns, by turn; a turn on which none rests is left out."""
        return self._store.facts_of_turns(text_ids)

    def facts_of_sessions(self, session_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """The facts that rest on a turn of each of these sessions; a session of which none was drawn is left out."""
        return self._store.facts_of_sessions(session_ids)

    def facts_in_slots(self, slots: Iterable[Slot]) -> list[Fact]:
        """Every fact of these slots, also what is past."""
        return self._store.facts_in_slots(slots)

    def relations(self, *, current: bool = True) -> list[Relation]:
        """How what facts name stand to each other: of facts that hold now, or of all."""
        return self._store.relations(current=current)

    def relations_about(self, facts: Sequence[str], text: str) -> list[Relation]:
        """The relations of facts that hold now: of these facts, and those of which a text names one end."""
        found = [*self._store.relations_of(facts), *self._store.relations_naming(text)]
        return list(dict.fromkeys(one for one in found if one.fact.current))

    def notes_of(self, session_id: str) -> list[Note]:
        """The notes of a session, in the order in which they were learned."""
        return self._store.notes_of(session_id)

    def history(self, fact: str) -> list[FactEvent]:
        """What happened to a fact, that it was learned first; empty when there is no such fact."""
        return self._store.history(fact)

    def known_counts(self) -> KnownCounts:
        """How much is known, and how much was not read yet."""
        return self._store.known_counts()

    def news_before(self, session_id: str) -> News:
        """What came of the session before this one."""
        before = (one.session_id for one in self.recent_sessions(2))
        return next((self.news_of(one) for one in before if one != session_id), News())

    def news_of(self, session_id: str) -> News:
        """What came of a session: what is new, and what of that which was known before it changed or ended."""
        resting = self.facts_of_turns([turn.text_id for turn in self._store.turns_of(session_id)])
        learned = {fact.text_id: fact for facts in resting.values() for fact in facts}
        past = self.facts(current=False) if learned else []
        replaced = [one for one in past if one.replaced_by in learned and one.text_id not in learned]
        ended = [fact for fact in replaced if self._was_ended(fact)]
        instead = {fact.replaced_by for fact in replaced}
        new = [name for name, fact in learned.items() if fact.current and name not in instead]
        return News(len(new), len(replaced) - len(ended), len(ended))

    def _was_ended(self, fact: Fact) -> bool:
        """Whether what put an end to a fact put nothing in its place."""
        return any(one.what == "ended" and one.by == fact.replaced_by for one in self.history(fact.text_id))

    def line_evidence(self, image: Image) -> list[LineEvidence]:
        """What the lines of an image as it is now rest on; lines that a person wrote are not among them."""
        self._images.read(image)
        return self._store.line_evidence(image)
