"""What the turns of a window say, read once: which may bear a statement out, and what stands in each.

A turn that the person asked to have forgotten bears nothing out, nor does the plea; a quotation of an old memory is not
read; a companion's turn speaks for the companion alone, unless the person said yes to it in the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from typing import Literal

from domain.facts import Stance
from domain.languages import Language, is_unspaced, language_of
from domain.pleas import heard, meant
from domain.records import Turn
from domain.text import day_of, outside_quotations, without_quotations
from facts.ages import birth_years
from facts.cues import (
    agrees,
    asks,
    clauses,
    denies,
    ends_or_denies,
    promises,
    sentences,
    stance_of,
    takes_back,
    words_of_staying,
)
from facts.dates import Days, told_days
from facts.numbers import mentioned
from facts.slots import Names, folded
from recall.words import terms


class Sentence:
    """A sentence of a turn, the one after it, and what its words tell, each worked out once."""

    def __init__(self, text: str, following: str) -> None:
        self.text = text
        self.following = following

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms that tell what it is about."""
        return telling(self.text)

    @cached_property
    def stance(self) -> Stance:
        """How it was said at the most; what is asked is only supposed."""
        return "supposed" if asks(self.text) else stance_of(self.text, self.following)

    def stance_of(self, wanted: frozenset[str]) -> Stance:
        """How it says what these terms tell: what stands in another clause than a plan or a wish is stated."""
        if self.stance not in ("planned", "wished"):
            return self.stance
        scored = [(len(wanted & terms), stance) for terms, stance in self._told_by_clause]
        most = max((score for score, _ in scored), default=0)
        return (
            "stated" if any(score == most and stance == "stated" for score, stance in scored) else self.stance
        )

    @cached_property
    def _told_by_clause(self) -> tuple[tuple[frozenset[str], Stance], ...]:
        """The terms of each clause, with how it says them."""
        return tuple((telling(clause), stance_of(clause)) for clause in clauses(self.text))

    @cached_property
    def ends_or_denies(self) -> bool:
        """Whether it says that something is not so, or is no more."""
        return ends_or_denies(self.text)

    @cached_property
    def clauses_taken_back(self) -> tuple[tuple[frozenset[str], bool], ...]:
        """The terms of each clause, with whether it denies or ends what it speaks of; none where no clause does."""
        parts = [(clause, takes_back(clause)) for clause in clauses(self.text)]
        return (
            tuple((telling(clause), taken) for clause, taken in parts)
            if any(taken for _, taken in parts)
            else ()
        )


class Source:
    """One turn as evidence: its words without quotations, and what stands in them."""

    def __init__(self, turn: Turn, place: int, in_window: bool, barred: bool) -> None:
        self.turn = turn
        self.place = place
        self.in_window = in_window
        self.barred = barred
        self.spoken_by_person = turn.role == "user"
        self.text = (without_quotations if self.spoken_by_person else outside_quotations)(turn.words)

    @cached_property
    def folded(self) -> str:
        """The words as names are looked up in them."""
        return folded(self.text)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences, in order."""
        found = sentences(self.text)
        return tuple(map(Sentence, found, (*found[1:], "")))

    @cached_property
    def only_asks(self) -> bool:
        """Whether it says nothing but questions."""
        found = sentences(self.text)
        return bool(found) and all(map(asks, found))

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions in it, also those that only ask for agreement."""
        return tuple(one for one in sentences(self.text) if asks(one) or one.endswith(("?", "？")))

    @cached_property
    def refuses(self) -> bool:
        """Whether it begins by denying what was said before, or only asks in its turn."""
        first = next(iter(sentences(self.text)), "")
        return self.only_asks or denies(first)

    @cached_property
    def agrees(self) -> bool:
        """Whether it begins by saying yes."""
        return self.spoken_by_person and agrees(self.text.strip())

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers that stand in it."""
        return mentioned(self.text)

    @cached_property
    def said(self) -> date:
        """The day on which it was said."""
        return day_of(self.turn.timestamp) or date.min.replace(year=1970)

    @cached_property
    def days(self) -> tuple[Days, ...]:
        """The days that it may speak of."""
        return told_days(self.text, self.said)

    @cached_property
    def years_of_birth(self) -> frozenset[int]:
        """The years that follow from the ages in it."""
        return birth_years(self.text, self.said)

    @cached_property
    def language(self) -> Language:
        """What it is written in."""
        return language_of(self.text)


class SpokenWindow:
    """The turns of a window with those before it, and the names that may stand in a statement."""

    def __init__(self, window: Sequence[Turn], before: Sequence[Turn], names: Names) -> None:
        turns = (*before, *window)
        barred = _barred(turns)
        self._sources = [
            Source(turn, place, place >= len(before), turn.text_id in barred)
            for place, turn in enumerate(turns)
        ]
        self._first = len(before)
        known = [*names.person, *names.companion, *names.known, *(turn.speaker for turn in turns)]
        self._known = frozenset(
            part for name in known for part in (folded(name), *folded(name).split()) if part
        )
        self._own = telling(" ".join((*names.person, *names.companion)))

    def named(self, handles: Iterable[int]) -> tuple[Source, ...]:
        """The turns of these numbers that stand in the window, in order."""
        size = len(self._sources) - self._first
        places = sorted({handle for handle in handles if 0 < handle <= size})
        return tuple(self._sources[self._first + place - 1] for place in places)

    def bearing(self, sources: Sequence[Source], of_companion: bool, subject: str = "") -> tuple[Source, ...]:
        """Those of these turns that may bear a statement out, with what their speaker said yes to.

        What somebody else said is evidence of nobody but themselves: of a statement that has them for its ``subject``.
        """
        own = (source for source in sources if not source.turn.speaker)
        found = [each for source in own for each in self._with_agreement(source, of_companion)]
        theirs = (source for source in sources if source.turn.speaker and not of_companion)
        return in_order([*found, *(each for each in theirs if folded(each.turn.speaker) == folded(subject))])

    def source_of(
        self, name: str, sources: Sequence[Source], of_companion: bool
    ) -> Source | Literal[True] | None:
        """Where a name stands: True for these turns or what is known, another turn of the person; None: nowhere."""
        wanted = folded(name)
        if not wanted or wanted in self._known or any(stands_in(wanted, source.folded) for source in sources):
            return True
        others = [
            each
            for each in reversed(self._sources)
            if not each.barred and (each.spoken_by_person or of_companion)
        ]
        last = sources[-1].place if sources else 0
        for other in sorted(others, key=lambda each: (each.place > last, abs(each.place - last))):
            if stands_in(wanted, other.folded):
                return other
        return None

    def lacks(self, wanted: frozenset[str]) -> bool:
        """Whether none of these terms stands in any turn, nor most of their characters where there are no spaces."""
        open_to_all = [source for source in self._sources if not source.barred]
        told = (sentence.terms for source in open_to_all for sentence in source.sentences)
        if not wanted or any(not wanted.isdisjoint(terms) for terms in told):
            return False
        characters = {one for term in wanted for one in term if is_unspaced(one)}
        said = characters.intersection("".join(source.folded for source in open_to_all))
        return 2 * len(said) <= len(characters)

    def answered(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """The companion's questions that these turns of the person answer, and do not deny."""
        before = [self._sources[each.place - 1] for each in sources if each.spoken_by_person and each.place]
        answers = {each.place - 1: each for each in sources}
        return tuple(
            one
            for one in before
            if not one.spoken_by_person and _speaks(one) and one.questions and not answers[one.place].refuses
        )

    def without_own_names(self, found: frozenset[str]) -> frozenset[str]:
        """Terms without the names of the two who talk, which stand in every statement."""
        return found - self._own

    def _with_agreement(self, source: Source, of_companion: bool) -> tuple[Source, ...]:
        around = self._sources
        if source.spoken_by_person:
            earlier = around[source.place - 1] if source.place else None
            said_yes = source.agrees and earlier and not earlier.spoken_by_person and _speaks(earlier)
            return (earlier, source) if said_yes and earlier else (source,)
        later = around[source.place + 1] if source.place + 1 < len(around) else None
        if later and later.agrees and not later.barred and _speaks(source):
            return (source, later)
        return (source,) if of_companion and _speaks(source) else ()


#: Values that say that there is none, and stand in no turn.
_NOTHING = frozenset(
    """
    none nothing nobody ended end over stopp stop quit single singl former past cancel cancelled dead
    deceas true yes 没有 已戒 单身 结束 取消 已经 不再 已故 已婚
    """.split()  # noqa: SIM905 - a long list of strings is hard to read
)
#: A sentence that shares so much of what the best one shares may be what a statement rests on, too.
_NEARLY_BEST = 0.6


def best_sentences(wanted: frozenset[str], sources: Sequence[Source]) -> tuple[tuple[Sentence, int], ...]:
    """The sentences that share most with a statement, the best first, with how much; none where none does."""
    scored = [(sentence, len(wanted & sentence.terms)) for source in sources for sentence in source.sentences]
    most = max((score for _, score in scored), default=0)
    kept = [each for each in scored if each[1] and each[1] >= most * _NEARLY_BEST]
    return tuple(sorted(kept, key=lambda each: -each[1]))


def in_order(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Turns in the order in which they were said, each once."""
    found = {source.place: source for source in sources}
    return tuple(found[place] for place in sorted(found))


def stays_as_it_was(statement: str, wanted: frozenset[str], sources: Sequence[Source]) -> bool:
    """Whether turns say that something is as it was, and so does a statement: "kept it" is "did not change it"."""
    if not (stays := words_of_staying(statement)):
        return False
    of_it = wanted - telling(stays)
    told = (one for source in sources for one in source.sentences if of_it & one.terms)
    return any(of_it & one.terms - telling(kept) for one in told if (kept := words_of_staying(one.text)))


def is_reversed(
    statement: str, wanted: frozenset[str], best: Sequence[tuple[Sentence, int]], sources: Sequence[Source]
) -> bool:
    """Whether a statement denies what its turns say, or says what they deny."""
    if stays_as_it_was(statement, wanted, sources):
        return False
    if denies(statement):
        said = [sentence for source in sources for sentence in source.sentences if wanted & sentence.terms]
        return not any(sentence.ends_or_denies for sentence in said)
    if ends_or_denies(statement):
        return False
    tops = [sentence for sentence, score in best if score == best[0][1]]
    if not all(sentence.clauses_taken_back for sentence in tops):
        return False
    scored = [
        (len(wanted & terms), denied) for sentence in tops for terms, denied in sentence.clauses_taken_back
    ]
    most = max((score for score, _ in scored), default=0)
    return bool(most) and all(denied for score, denied in scored if score == most)


def weakest_stance(
    wanted: frozenset[str], best: Sequence[tuple[Sentence, int]], of_companion: bool
) -> Stance:
    """How it was said at the most: as the best sentences allow; of a plan only the clauses that tell it are one."""
    tops = [sentence for sentence, score in best if score == best[0][1]]
    found = [sentence.stance_of(wanted) for sentence in tops]
    if of_companion:
        # What the companion will do it has promised, whatever it depends on.
        found = [
            "stated" if stance in ("planned", "wished") or promises(sentence.text) else stance
            for sentence, stance in zip(tops, found, strict=True)
        ]
    return "stated" if "stated" in found else found[0]


def telling(text: str) -> frozenset[str]:
    """The terms of a text that tell something: words, and pairs of characters where there are no spaces."""
    found = terms(text)
    if text.isascii():
        return frozenset(found)
    return frozenset([term for term in found if tells(term)])


def telling_of_value(value: str) -> frozenset[str]:
    """The terms of a value that must stand somewhere."""
    return frozenset(term for term in telling(value) if not mentioned(term)) - _NOTHING


def is_told(value: str, stated: frozenset[str], sources: Sequence[Source]) -> bool:
    """Whether half of what a value says stands in its turns or in the statement that was found to hold."""
    wanted = telling_of_value(value)
    told = stated.union(*(sentence.terms for source in sources for sentence in source.sentences))
    return not wanted or 2 * len(wanted & told) >= len(wanted)


def tells(term: str) -> bool:
    """Whether a term tells something by itself."""
    return len(term) > 1 or term.isascii() or not is_unspaced(term)


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text as whole words; both are folded."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_joins(name[0], before) or _joins(name[-1], after)):
            return True
        at = text.find(name, at + 1)
    return False


def _joins(edge: str, neighbour: str) -> bool:
    """Whether a letter goes on into its neighbour; characters without spaces never do."""
    return bool(neighbour) and neighbour.isalnum() and not is_unspaced(edge) and not is_unspaced(neighbour)


def _speaks(source: Source) -> bool:
    return not (source.barred or source.turn.standin or source.turn.speaker)


def _barred(turns: Sequence[Turn]) -> frozenset[str]:
    """The turns that bear nothing out: withheld ones, and what a plea speaks of with the round of the plea."""
    barred = {turn.text_id for turn in turns if turn.withheld}
    rounds = _rounds(turns)
    for number, spoken in enumerate(rounds):
        if plea := heard(spoken[0].words) if spoken[0].role == "user" else None:
            said = [(one[0].words, one[1].words if len(one) > 1 else "") for one in rounds[:number]]
            of = [*meant(plea, said), number]
            barred |= {turn.text_id for at in of for turn in rounds[at]}
    return frozenset(barred)


def _rounds(turns: Sequence[Turn]) -> list[list[Turn]]:
    """The messages of the person, each with the reply behind it if there is one; other turns alone."""
    rounds: list[list[Turn]] = []
    for turn in turns:
        before = rounds[-1] if rounds else []
        if turn.role == "assistant" and [one.role for one in before] == ["user"]:
            before.append(turn)
        else:
            rounds.append([turn])
    return rounds
