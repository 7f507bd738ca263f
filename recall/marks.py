"""What became of what a text tells: it changed, ended, was never so, may be so no more, its day is past.

A text is marked for each fact that it tells; the text itself stays as it is. A line of an image rests on turns that
may tell much beside it: it is marked only for what a sentence of it repeats of them, and not where it rests on a turn
of what changed the fact as well, since it was written knowing of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from domain.facts import Fact, LineEvidence
from domain.languages import language_of
from domain.recollection import FactMark
from recall.words import terms
from storage.image_lines import pieces

if TYPE_CHECKING:
    from storage.fact_store import FactStore

#: A value may have been replaced so many times over.
_REPLACED = 20
#: A text repeats a fact when it holds this share of the words of its value.
_REPEATS = 0.5


def repeated(text: str, facts: Iterable[Fact]) -> list[Fact]:
    """The facts whose value stands in a text."""
    held = _words(text)
    return [fact for fact in facts if _repeats(held, _words(fact.value))]


def touches(text: str, fact: Fact) -> bool:
    """Whether any word of the value of a fact stands in a text."""
    return not _words(text).isdisjoint(_words(fact.value))


def took_over(store: FactStore, facts: Iterable[Fact]) -> dict[str, Fact]:
    """By its id each fact that took the place of another, as it is called now."""
    found: dict[str, Fact] = {}
    for _ in range(_REPLACED):
        wanted = {fact.replaced_by for fact in (*facts, *found.values())} - found.keys() - {""}
        new = store.facts_with_ids(sorted(wanted)) if wanted else []
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
        elif fact.until:
            yield FactMark("until", fact.until, own)
        elif fact.doubtful_since:
            yield FactMark("doubtful_since", fact.doubtful_since, own)
        elif planned := planned_for(fact, today):
            yield FactMark("was_planned_for", planned, own)


def planned_for(fact: Fact, today: str) -> str:
    """The day for which it was planned, where that was still to come when it was said and is past today; else ""."""
    last = fact.end or fact.start
    if fact.stance not in ("planned", "wished") or not last:
        return ""
    over = fact.said[: len(last)] <= last < today[: len(last)]
    return (fact.start or fact.end) if over else ""


def marks_of_lines(lines: Sequence[LineEvidence], store: FactStore) -> dict[str, tuple[FactMark, ...]]:
    """What became of what lines of an image tell, by line; one of which all still holds is left out."""
    resting = store.facts_of_turns(sorted({turn for line in lines for turn in line.turns}))
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
        or (len(own) == len(there) and language_of(fact.restatement) != spoken)
    ]


def _is_known_to(line: LineEvidence, fact: Fact, later: Mapping[str, Fact], store: FactStore) -> bool:
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


def _doubting(fact: Fact, store: FactStore) -> list[Fact]:
    """The facts that made one doubtful."""
    events = store.history(fact.text_id) if fact.doubtful_since else []
    return store.facts_with_ids([event.by for event in events if event.what == "doubted"])


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
