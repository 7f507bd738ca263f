"""What is known, for one question: facts that hold now and answer it; and what became of what a text tells.

Facts are found by the words of the question, and by the slots that it asks for, in whatever language they were told.
A turn is marked for each fact that rests on it; a reply also for what it repeats of the turn that it answers, and a
summary for what it repeats of its session.
A line of an image rests on turns that may tell much beside it: it is marked only for what a sentence of it repeats of
them, and not where it rests on a turn of what changed the fact as well, since it was written knowing of that.
Nothing here ranks turns; a memory in which no fact was ever learned costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from domain.facts import Fact, LineEvidence, Slot
from domain.languages import estimate, language_of
from domain.recollection import FactMark, RecalledFact, RecalledTurn, Why
from domain.records import Turn
from domain.text import encoded, memory_text, pattern_of
from recall.words import terms
from storage.image_lines import pieces

if TYPE_CHECKING:
    from storage.facts import Facts
    from storage.repositories import Repositories

#: A fact answers when it holds so much of a question's weight in rare words, and so much of what the best one holds.
_ANSWERS, _OF_BEST = 0.45, 0.7
#: So many facts are looked at, and so many are handed over at the most.
_LOOKED_AT, _MOST = 24, 8
#: Tokens around a fact in a prompt, around a mark behind a turn, and of the words that explain both.
_FACT, _MARK, LEGEND = 40, 12, 112
#: A value may have been replaced so many times over.
_REPLACED = 20
#: A text repeats a fact when it holds this share of the words of its value.
_REPEATS = 0.5

_BORN = pattern_of(r"\bborn (?:about |in |on (?:\d\d? )?\w+ )?(\d{4}(?:/\d{4})?)|(\d{4}(?:/\d{4})?)年生")

#: Reads which slots a question asks for.
SlotsAsked = Callable[[str], Collection[Slot]]


class KnownFacts:
    """The facts of one archive on the day ``today``.

    A fact is not repeated where all of its turns stand in the context already: those numbered ``hidden``, or all
    of the session where none are given.
    """

    def __init__(
        self,
        archive: Repositories,
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
        self._any = archive.index.words.rows("fact") > 0
        self._in_context: frozenset[str] = frozenset()
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
        asked_for = {fact.number: fact for fact in self._archive.facts.in_slots(slots)}
        best = max((why.score for why in held.values()), default=0.0)
        enough = [number for number, why in held.items() if why.score >= max(_ANSWERS, best * _OF_BEST)]
        others = [number for number in enough if number not in asked_for]
        facts = [*asked_for.values(), *self._archive.facts.numbered(others[:_LOOKED_AT])]
        self._in_context = self._standing_in_context(facts)
        current = [fact for fact in facts if fact.current and not self.is_told(fact, ())]
        current.sort(key=lambda fact: _rank(fact, fact.number in asked_for, held), reverse=True)
        self.newer = self._newer(current[:_MOST])
        return [_recalled(fact, held.get(fact.number, _ASKED_FOR), self._today) for fact in current[:_MOST]]

    def __bool__(self) -> bool:
        return self._any

    def is_told(self, fact: Fact | RecalledFact, handed_over: Iterable[RecalledTurn]) -> bool:
        """Whether every turn that a fact rests on is handed over or in the context: one may hold but half of it."""
        shown = self._in_context.union(turn.text_id for turn in handed_over)
        return bool(fact.turns) and shown.issuperset(fact.turns)

    def marks(self, turns: Collection[Turn], answered: Mapping[str, str]) -> dict[str, tuple[FactMark, ...]]:
        """What became of what these turns tell, by turn; a turn of which all still holds is left out.

        ``answered`` is the id of the turn that each reply answers.
        """
        if not self._any or not turns:
            return {}
        resting = self._archive.facts.of_turns(sorted({*(one.text_id for one in turns), *answered.values()}))
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
            self._archive.messages.numbers_of(sorted({turn for _, fact in named for turn in fact.turns}))
            if named
            else {}
        )
        said = (
            {one.text_id: one.words for one in self._archive.messages.numbered(list(seqs.values()))}
            if seqs
            else {}
        )
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
        told = self._archive.facts.of_sessions(sorted(summaries))
        return self._marked({one: ([], repeated(summaries[one], facts)) for one, facts in told.items()})

    def _marked(
        self, told: Mapping[str, tuple[Sequence[Fact], Sequence[Fact]]]
    ) -> dict[str, tuple[FactMark, ...]]:
        """The marks of texts of which facts were drawn, and that repeat others; which fact is meant is told where a
        text has several, or need not be about the one alone.
        """
        later = took_over(
            self._archive.facts, [fact for own, others in told.values() for fact in (*own, *others)]
        )
        found = {
            name: marks_of(
                dict.fromkeys((*own, *others)), later, self._today, named=len(own) > 1 or bool(others)
            )
            for name, (own, others) in told.items()
        }
        return {name: marks for name, each in found.items() if (marks := tuple(dict.fromkeys(each)))}

    def _standing_in_context(self, facts: Sequence[Fact]) -> frozenset[str]:
        """The turns of these facts that stand in the context anyway."""
        seqs = self._archive.messages.numbers_of(
            list(dict.fromkeys(turn for fact in facts for turn in fact.turns))
        )
        if self._hidden is not None:
            return frozenset(turn for turn, seq in seqs.items() if seq in self._hidden)
        said = self._archive.messages.numbered(list(seqs.values()))
        return frozenset(turn.text_id for turn in said if turn.session_id == self._session_id)

    def _newer(self, facts: Sequence[Fact]) -> frozenset[str]:
        """The ids of those that took the place of another."""
        told = self._archive.facts.in_slots({fact.slot for fact in facts})
        return frozenset(fact.replaced_by for fact in told if fact.replaced_by)


_ASKED_FOR = Why(query="", score=0.0)


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
        text=memory_text(fact.restatement),
        said=said,
        turns=fact.turns,
        why=why,
        since=fact.since if fact.since[:10] != said[:10] else "",
        doubtful_since=fact.doubtful_since,
        stance=fact.stance,
        planned_for=planned_for(fact, today),
    )


# -- what became of what a text tells


def repeated(text: str, facts: Iterable[Fact]) -> list[Fact]:
    """The facts whose value stands in a text."""
    there = list(facts)
    held = _words(text) if there else frozenset()
    return [fact for fact in there if _repeats(held, _words(fact.value))]


def touches(text: str, fact: Fact) -> bool:
    """Whether any word of the value of a fact stands in a text."""
    return not _words(text).isdisjoint(_words(fact.value))


def took_over(store: Facts, facts: Iterable[Fact]) -> dict[str, Fact]:
    """By its id each fact that took the place of another, as it is called now."""
    found: dict[str, Fact] = {}
    for _ in range(_REPLACED):
        wanted = {fact.replaced_by for fact in (*facts, *found.values())} - found.keys() - {""}
        new = store.with_ids(sorted(wanted)) if wanted else []
        if not new:
            break
        found |= {fact.text_id: fact for fact in new}
    return found


def marks_of(
    facts: Iterable[Fact], later: Mapping[str, Fact], today: str, *, named: bool
) -> Iterator[FactMark]:
    """What became of each fact of one text, ``later`` being those that took over; with ``named``, each says of which.

    Without ``today`` a plan whose day is past is none of it.
    """
    for fact in facts:
        own = fact.restatement if named else ""
        after = _last(fact, later)
        if fact.corrected and after and after.current and after.restatement == fact.restatement:
            continue  # a person called it wrong, and took that back
        if fact.corrected and after:
            yield FactMark("corrected", after.said, after.restatement)
        elif fact.corrected:
            yield FactMark("untrue", "", fact.restatement)
        elif fact.until and after:
            yield FactMark("changed", fact.until, after.restatement)
        elif fact.until and not _was_over(fact):
            yield FactMark("until", fact.until, own)
        elif fact.doubtful_since:
            yield FactMark("doubtful_since", fact.doubtful_since, own)
        elif planned := planned_for(fact, today):
            yield FactMark("was_planned_for", planned, own)


def _was_over(fact: Fact) -> bool:
    """Whether it was told as something over: "Tom and I broke up in April" holds whatever became of anything."""
    ended = fact.end if fact.end <= fact.said[: len(fact.end)] else ""
    return not fact.replaced_by and fact.until in (ended, fact.said)


def planned_for(fact: Fact, today: str) -> str:
    """The day for which it was planned, where that was still to come when it was said and is past today; else ""."""
    last = fact.end or fact.start
    if fact.stance not in ("planned", "wished") or not last:
        return ""
    over = fact.said[: len(last)] <= last < today[: len(last)]
    return (fact.start or fact.end) if over else ""


def marks_of_lines(lines: Sequence[LineEvidence], store: Facts) -> dict[str, tuple[FactMark, ...]]:
    """What became of what lines of an image tell, by line; one of which all still holds is left out."""
    resting = store.of_turns(sorted({turn for line in lines for turn in line.turns}))
    past = {fact: _words(fact.value) for each in resting.values() for fact in each if _is_past(fact)}
    told = {line: _told_in(line, resting, past) for line in lines}
    later = took_over(store, {fact for facts in told.values() for fact in facts})
    found: dict[str, tuple[FactMark, ...]] = {}
    for line, facts in told.items():
        unknown = [fact for fact in facts if not _is_known_to(line, fact, later, store)]
        if marks := tuple(dict.fromkeys(marks_of(unknown, later, "", named=True))):
            found[line.line] = marks
    return found


def _is_past(fact: Fact) -> bool:
    return bool(fact.until or fact.corrected or fact.doubtful_since)


def _told_in(
    line: LineEvidence, resting: Mapping[str, Sequence[Fact]], past: Mapping[Fact, frozenset[str]]
) -> list[Fact]:
    """The facts that a line tells and that hold no more, or may not; ``past`` are all of them with their words.

    In another language only names stay the same: there it is taken to tell them where nothing else rests on its turns.
    """
    there = list(dict.fromkeys(fact for turn in line.turns for fact in resting.get(turn, ())))
    own = [fact for fact in there if fact in past]
    if not own:
        return []
    said, spoken = [_words(piece) for piece in pieces(line.line)], language_of(line.line)
    return [
        fact
        for fact in own
        if any(len(past[fact] & held) > len(past[fact]) * _REPEATS for held in said)
        or (fact.corrected and not _born(fact.restatement).isdisjoint(_born(line.line)))
        or (len(own) == len(there) and language_of(fact.restatement) != spoken)
    ]


def _born(text: str) -> frozenset[str]:
    """The years of birth in a text: a line tells these in place of an age."""
    return frozenset(year for found in _BORN.findall(text) for year in found if year)


def _is_known_to(line: LineEvidence, fact: Fact, later: Mapping[str, Fact], store: Facts) -> bool:
    """Whether a line was written knowing what became of a fact: told as over, or resting on what did it as well."""
    if fact.until and not (fact.replaced_by or fact.corrected):
        return fact.until == fact.end
    causes = [later[fact.replaced_by]] if fact.replaced_by in later else _doubting(fact, store)
    return any(_is_told(cause, line) for cause in causes)


def _is_told(cause: Fact, line: LineEvidence) -> bool:
    """Whether a line tells of a fact. What a person put right rests on the very turns of what it corrects."""
    if cause.decided == "hand":
        return bool(repeated(line.line, [cause]))
    return not set(cause.turns).isdisjoint(line.turns)


def _doubting(fact: Fact, store: Facts) -> list[Fact]:
    """The facts that made one doubtful."""
    events = store.history(fact.text_id) if fact.doubtful_since else []
    return store.with_ids([event.by for event in events if event.what == "doubted"])


def _last(fact: Fact, later: Mapping[str, Fact]) -> Fact | None:
    """What stands in the place of a fact by now; None where nothing does."""
    found: Fact | None = None
    seen: set[str] = set()
    while fact.replaced_by in later and fact.replaced_by not in seen:
        seen.add(fact.replaced_by)
        found = fact = later[fact.replaced_by]
    return found if found and not found.corrected else None


def _repeats(held: frozenset[str], value: frozenset[str]) -> bool:
    return bool(value) and len(held & value) >= len(value) * _REPEATS


def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))
