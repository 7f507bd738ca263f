"""What is known, for one question: facts that hold now and answer it, and what became of what recalled turns say.

Facts are found by the words of the question, and by the slots that it asks for, in whatever language they were told.
A turn is marked for each fact that rests on it; a reply also for what it repeats of the turn that it answers, and a
summary for what it repeats of its session.
Nothing here ranks turns; a memory in which no fact was ever learned costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from domain.facts import Fact, Slot
from domain.languages import estimate
from domain.recollection import FactMark, RecalledFact, RecalledTurn, Why
from domain.records import Turn
from domain.text import encoded
from recall import ranking
from recall.marks import marks_of, planned_for, repeated, took_over, touches

if TYPE_CHECKING:
    from recall.ranking import Floats, Numbers
    from storage.store import Archive, Postings

#: A fact answers when it holds so much of a question's weight in rare words, and so much of what the best one holds.
_ANSWERS, _OF_BEST = 0.45, 0.7
#: So many facts are looked at, and so many are handed over at the most.
_LOOKED_AT, _MOST = 24, 8
#: Tokens around a fact in a prompt, around a mark behind a turn, and of the words that explain both.
_FACT, _MARK, LEGEND = 40, 12, 112
#: So many facts are told apart by how much they hold.
_HELD = 600

#: Reads which slots a question asks for.
SlotsAsked = Callable[[str], Collection[Slot]]


class KnownFacts:
    """The facts of one archive on the day ``today``.

    What stands in the context already is not repeated: the turns with the numbers ``hidden``, or all of the session
    where none are given.
    """

    def __init__(
        self,
        archive: Archive,
        session_id: str,
        hidden: Collection[int] | None,
        slots_asked: SlotsAsked,
        today: str,
    ) -> None:
        self._archive = archive
        self._session_id = session_id
        self._hidden = hidden
        self._slots_asked = slots_asked
        self._today = today
        self._any = archive.rows("fact") > 0
        self.newer: frozenset[str] = frozenset()

    def answering(
        self, questions: Iterable[str], searches: Iterable[tuple[str, Mapping[int, float]]]
    ) -> list[RecalledFact]:
        """The facts that hold now and answer, best first; those of the slots that are asked for before all others.

        ``searches`` are those that found something worth handing over, each a question and how much of it the facts
        hold by number; a slot is looked up whatever they found.
        """
        if not self._any:
            return []
        held = _held(searches)
        slots = {slot for question in questions for slot in self._slots_asked(question)}
        asked_for = {fact.number: fact for fact in self._archive.facts_in_slots(slots)}
        best = max((why.score for why in held.values()), default=0.0)
        enough = [number for number, why in held.items() if why.score >= max(_ANSWERS, best * _OF_BEST)]
        others = [number for number in enough if number not in asked_for]
        facts = [*asked_for.values(), *self._archive.facts_numbered(others[:_LOOKED_AT])]
        seen = self._standing_in_context(facts)
        current = [fact for fact in facts if fact.current and fact.number not in seen]
        current.sort(key=lambda fact: _rank(fact, fact.number in asked_for, held), reverse=True)
        self.newer = self._newer(current[:_MOST])
        return [_recalled(fact, held.get(fact.number, _ASKED_FOR), self._today) for fact in current[:_MOST]]

    def __bool__(self) -> bool:
        return self._any

    def marks(self, turns: Collection[Turn], answered: Mapping[str, str]) -> dict[str, tuple[FactMark, ...]]:
        """What became of what these turns tell, by turn; a turn of which all still holds is left out.

        ``answered`` is the id of the turn that each reply answers.
        """
        if not self._any or not turns:
            return {}
        resting = self._archive.facts_of_turns(sorted({*(one.text_id for one in turns), *answered.values()}))
        told_again = {
            one.text_id: repeated(one.words, resting.get(answered[one.text_id], ()))
            for one in turns
            if one.text_id in answered
        }
        own = self._told_in(turns, resting)
        return self._marked({one: (facts, told_again.get(one, ())) for one, facts in own.items()})

    def _told_in(
        self, turns: Collection[Turn], resting: Mapping[str, Sequence[Fact]]
    ) -> dict[str, list[Fact]]:
        """The facts that each turn tells: not those to which it gave a name alone, while another says what is so."""
        named = {
            (one.text_id, fact)
            for one in turns
            for fact in resting.get(one.text_id, ())
            if len(fact.turns) > 1 and not touches(one.words, fact)
        }
        seqs = (
            self._archive.seqs_of(sorted({turn for _, fact in named for turn in fact.turns})) if named else {}
        )
        said = {one.text_id: one.words for one in self._archive.turns(list(seqs.values()))} if seqs else {}
        left = {
            (one, fact)
            for one, fact in named
            if any(touches(said.get(turn, ""), fact) for turn in fact.turns)
        }
        return {
            one.text_id: [fact for fact in resting.get(one.text_id, ()) if (one.text_id, fact) not in left]
            for one in turns
        }

    def marks_of_summaries(self, summaries: Mapping[str, str]) -> dict[str, tuple[FactMark, ...]]:
        """What became of what is repeated of their sessions in these texts, by session."""
        if not self._any or not summaries:
            return {}
        told = self._archive.facts_of_sessions(sorted(summaries))
        return self._marked({one: ([], repeated(summaries[one], facts)) for one, facts in told.items()})

    def _marked(
        self, told: Mapping[str, tuple[Sequence[Fact], Sequence[Fact]]]
    ) -> dict[str, tuple[FactMark, ...]]:
        """The marks of texts of which facts were drawn, and that repeat others; which fact is meant is told where a
        text has several, or need not be about the one alone.
        """
        later = took_over(self._archive, [fact for own, others in told.values() for fact in (*own, *others)])
        found = {
            name: marks_of(
                dict.fromkeys((*own, *others)), later, self._today, named=len(own) > 1 or bool(others)
            )
            for name, (own, others) in told.items()
        }
        return {name: marks for name, each in found.items() if (marks := tuple(dict.fromkeys(each)))}

    def _standing_in_context(self, facts: Sequence[Fact]) -> set[int]:
        """The numbers of facts all of whose turns stand in the context anyway."""
        if self._hidden is None:
            return {fact.number for fact in facts if fact.session_id == self._session_id}
        seqs = self._archive.seqs_of([turn for fact in facts for turn in fact.turns])
        return {
            fact.number
            for fact in facts
            if fact.turns and all(seqs.get(turn) in self._hidden for turn in fact.turns)
        }

    def _newer(self, facts: Sequence[Fact]) -> frozenset[str]:
        """The ids of those that took the place of another."""
        told = self._archive.facts_in_slots({fact.slot for fact in facts})
        return frozenset(fact.replaced_by for fact in told if fact.replaced_by)


_ASKED_FOR = Why(query="", score=0.0)


# -- facts as keys of turns


def held(terms: Sequence[str], postings: Mapping[str, Postings], total: int) -> dict[int, float]:
    """How much of what these terms weigh the facts hold that hold most of it, by number."""
    seqs = [postings[term].seqs for term in terms if term in postings]
    counts = [len(postings[term].seqs) if term in postings else 0 for term in terms]
    if not sum(counts):
        return {}
    rare = ranking.rarity(np.array(counts, np.float32), total)
    facts, at = np.unique(np.concatenate(seqs), return_inverse=True)
    share = np.bincount(at, np.repeat(rare / rare.sum(), counts))
    best = np.argsort(-share, kind="stable")[:_HELD]
    return dict(zip(facts[best].tolist(), share[best].tolist(), strict=True))


def best_of_turns(found: Mapping[int, float], drawn: Iterable[tuple[int, int]], seqs: Numbers) -> Floats:
    """(P,) the score of the best fact that was ``drawn`` from each turn; 0 where none was."""
    best: dict[int, float] = {}
    for fact, turn in drawn:
        best[turn] = max(best.get(turn, 0.0), found[fact])
    return np.array([best.get(seq, 0.0) for seq in seqs.tolist()], np.float32)


# -- what is told of them


def cost_of(fact: RecalledFact) -> int:
    """Tokens of the line that tells a fact."""
    return _FACT + estimate(encoded(fact.text)) + (_MARK if fact.planned_for else 0)


def cost_of_facts(facts: Collection[RecalledFact], *, marked: bool) -> int:
    """Tokens of the lines that tell facts, and of the words that explain these, or marks, where any stands there."""
    return sum(map(cost_of, facts)) + (LEGEND if facts or marked else 0)


def cost_of_marks(marks: Iterable[FactMark]) -> int:
    """Tokens of what is told behind a turn or a summary."""
    return sum(_MARK + estimate(encoded(mark.text)) for mark in marks)


def is_told(fact: RecalledFact, turns: Iterable[RecalledTurn]) -> bool:
    """Whether a turn that the fact rests on is handed over."""
    return any(turn.text_id in fact.turns for turn in turns)


def _held(searches: Iterable[tuple[str, Mapping[int, float]]]) -> dict[int, Why]:
    """How much of a question each fact holds, of the question of which it holds most; most first."""
    found: dict[int, Why] = {}
    for question, shares in searches:
        for number, share in shares.items():
            if number not in found or found[number].score < share:
                found[number] = Why(question, round(share, 4))
    return dict(sorted(found.items(), key=lambda one: (-one[1].score, -one[0])))


def _rank(fact: Fact, asked_for: bool, held: Mapping[int, Why]) -> tuple[bool, float, str, int]:
    share = held[fact.number].score if fact.number in held else 0.0
    return asked_for, share, fact.seen, fact.number


def _recalled(fact: Fact, why: Why, today: str) -> RecalledFact:
    said = max(fact.said, fact.seen)
    return RecalledFact(
        number=fact.number,
        text_id=fact.text_id,
        text=fact.restatement,
        said=said,
        turns=fact.turns,
        why=why,
        since=fact.since if fact.since[:10] != said[:10] else "",
        doubtful_since=fact.doubtful_since,
        stance=fact.stance,
        planned_for=planned_for(fact, today),
    )
