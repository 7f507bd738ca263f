"""Believes of a model's drafts only what stands in the turns that they name.

Every name, number and day of a statement must stand in its turns or follow from when they were said; nothing becomes more
certain than it was said; whatever does not hold goes, counted by its reason. No model is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from domain.facts import NewFact, NewNote, NewRelation, Stance
from domain.languages import STOP_WORDS, language_of, unspaced_length
from domain.records import Turn
from facts.cues import asks, clauses, denies, ends_or_denies, is_relative, points_away, stance_of, takes_back
from facts.dates import iso_of, written_dates
from facts.drafts import FactDraft, NoteDraft
from facts.evidence import Sentence, Source, Window, telling
from facts.figures import Figures, wrong_date, wrong_number
from facts.slots import COMPANION, Names, slot_of

#: So many facts may rest on one turn; a model that finds more is making them up.
MOST_FACTS_A_TURN = 12
#: A sentence that shares so much of what the best one shares may be what a statement rests on, too.
_NEARLY_BEST = 0.6
_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-Þ][\w'’&-]*")
_FIRST_WORD = re.compile(r"(?:^|[.!?:;]\s+|[\"“(])([A-ZÀ-Þ][\w'’&-]*)")
_CALLED = re.compile(r"(?:名叫|叫做|叫|名字是|改名)(?!人|醒|她|他|我|做)([\u4e00-\u9fff]{2})")
#: Values that say that there is none, and stand in no turn.
_NOTHING = frozenset(
    "none nothing nobody ended end over stopp stop quit single singl former past cancel cancelled dead deceas true yes "
    "没有 已戒 单身 结束 取消 已经 不再 已故".split()
)
_CALENDAR = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays "
    "january february march april may june july august september october november december".split()
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What holds of a model's drafts, ready to be stored, and how much went for which reason."""

    notes: tuple[NewNote, ...]
    facts: tuple[NewFact, ...]
    relations: tuple[NewRelation, ...]
    rejected: Counter[str]


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a statement was found to rest on, and how it was said at the most."""

    sources: tuple[Source, ...]
    stance: Stance

    @property
    def turns(self) -> tuple[str, ...]:
        return tuple(source.turn.text_id for source in self.sources)


def grounded(
    drafts: Sequence[NoteDraft],
    window: Sequence[Turn],
    before: Sequence[Turn],
    names: Names,
    new_id: Callable[[], str],
) -> Checked:
    """The drafts that rest on turns of this window, as notes, facts and relations.

    ``window`` are the turns 1 to n of the drafts, ``before`` those that only stood there as context. ``new_id`` names
    what is new. A note whose own text does not hold is told by those of its facts that do.
    """
    ground = _Ground(Window(window, before, names), names, new_id)
    for draft in drafts:
        ground.take(draft)
    return Checked(tuple(ground.notes), tuple(ground.facts), tuple(ground.relations), ground.rejected)


class _Ground:
    """Checks drafts against one window, and gathers what holds."""

    def __init__(self, window: Window, names: Names, new_id: Callable[[], str]) -> None:
        self._window = window
        self._names = names
        self._new_id = new_id
        self._of_turn: Counter[str] = Counter()
        self.notes: list[NewNote] = []
        self.facts: list[NewFact] = []
        self.relations: list[NewRelation] = []
        self.rejected: Counter[str] = Counter()

    def take(self, draft: NoteDraft) -> None:
        """A note and its facts, as far as they hold."""
        if not draft.private:
            self.rejected["common knowledge"] += 1 + len(draft.facts)
            return
        name = self._new_id()
        basis = self._basis(draft.text, draft.turns, self._is_of_companion(draft), "stated")
        facts = [fact for each in draft.facts if (fact := self._fact(each, name))]
        if isinstance(basis, str):
            self.rejected[basis] += 1
        if not isinstance(basis, str) or (facts and basis != "forgotten"):
            self.notes.append(_note(draft, name, basis, facts))
            self.facts += facts
        elif facts:
            self.rejected[basis] += len(facts)

    def _fact(self, draft: FactDraft, note: str) -> NewFact | None:
        slot, single = slot_of(draft.subject, draft.attribute, draft.about, self._names)
        about = "companion" if slot.subject == COMPANION else "person" if slot.subject == "person" else "other"
        basis = self._basis(draft.restatement, draft.turns, about == "companion", draft.stance, draft)
        if isinstance(basis, str):
            self.rejected[basis] += 1
            return None
        last = basis.sources[-1].turn
        if self._of_turn[last.text_id] >= MOST_FACTS_A_TURN:
            self.rejected["too many"] += 1
            return None
        self._of_turn[last.text_id] += 1
        bare = NewFact(
            self._new_id(), note, draft.restatement, draft.subject, draft.attribute, draft.value, slot, single,
            about, basis.stance, last.timestamp, basis.turns,
        )  # fmt: skip
        fact = self._with_details(bare, draft, basis)
        self.relations += self._relations(draft, fact, basis)
        return fact

    def _is_of_companion(self, draft: NoteDraft) -> bool:
        """Whether a note speaks of the companion: as its facts say, or as it begins."""
        if draft.facts:
            return all(fact.about == "companion" for fact in draft.facts)
        return any(name and draft.text.startswith(name) for name in self._names.companion)

    # --- one statement

    def _basis(
        self,
        statement: str,
        handles: Sequence[int],
        of_companion: bool,
        stance: Stance,
        draft: FactDraft | None = None,
    ) -> _Basis | str:
        """What a statement rests on; the reason why not where it rests on nothing."""
        named = self._window.named(handles)
        if not named:
            return "no turn"
        if any(source.barred for source in named):
            return "forgotten"
        sources = self._window.bearing(named, of_companion)
        if not sources:
            return "companion's words"
        telling_ones = tuple(source for source in sources if not source.only_asks or _is_answered(source, sources))
        if not telling_ones:
            return "question"
        return self._told(statement, telling_ones, of_companion, stance, draft)

    def _told(
        self,
        statement: str,
        sources: tuple[Source, ...],
        of_companion: bool,
        stance: Stance,
        draft: FactDraft | None,
    ) -> _Basis | str:
        value = draft.value if draft else ""
        if points_away(statement, self._people(statement, draft)):
            return "pronoun"
        if is_relative(statement):
            return "relative day"
        if language_of(statement) not in {source.language for source in sources} and _is_foreign(statement, sources):
            return "language"
        figures = Figures.of(sources)
        for text in filter(None, (statement, value)):
            if wrong_date(text, figures):
                return "date"
            if wrong_number(text, figures):
                return "number"
        found = self._with_names(statement, draft, sources, of_companion)
        if found is None:
            return "name"
        return self._judged(statement, value, found, of_companion, stance)

    def _judged(
        self, statement: str, value: str, sources: tuple[Source, ...], of_companion: bool, stance: Stance
    ) -> _Basis | str:
        """The basis, with the stance that the best sentence allows; a reason where nothing there says so."""
        wanted = telling(statement)
        best = _best(self._window.without_own_names(wanted), sources)
        if not best:
            return "unsupported"
        if value and not _is_told(value, wanted, sources):
            return "value"
        if _is_reversed(statement, wanted, best):
            return "polarity"
        said = _weakest(best, of_companion)
        return _Basis(sources, said if stance == "stated" else stance)

    # --- names

    def _people(self, statement: str, draft: FactDraft | None) -> tuple[str, ...]:
        """The names in a statement, as far as they can be told from words."""
        listed = (*draft.persons, draft.subject) if draft else ()
        own = (*self._names.person, *self._names.companion)
        return tuple(dict.fromkeys(name for name in (*listed, *own, *_latin_names(statement)) if name in statement))

    def _with_names(
        self, statement: str, draft: FactDraft | None, sources: tuple[Source, ...], of_companion: bool
    ) -> tuple[Source, ...] | None:
        """The turns together with those where its names stand; None where one stands nowhere."""
        found = {source.place: source for source in sources}
        for name in _names_of(statement, draft):
            place = self._window.source_of(name, sources, of_companion)
            if place is None or place is False:
                return None
            if isinstance(place, Source):
                found[place.place] = place
        return tuple(found[place] for place in sorted(found))

    def _stands(self, name: str, basis: _Basis) -> bool:
        parts = (name, *_latin_names(name)) if unspaced_length(name) else (_latin_names(name) or (name,))
        return all(self._window.source_of(part, basis.sources, True) is True for part in parts[-3:])

    # --- what goes with a fact

    def _with_details(self, fact: NewFact, draft: FactDraft, basis: _Basis) -> NewFact:
        """The fact with its details, as far as they hold; a detail that does not hold costs only itself."""
        figures = Figures.of(basis.sources)
        dates = [written.iso for written in written_dates(draft.restatement) if len(written.iso) == 10]
        start, end = (self._day(day, figures) for day in (draft.start, draft.end))
        return replace(
            fact,
            keywords=tuple(word for word in draft.keywords if all(self._stands(n, basis) for n in _latin_names(word))),
            persons=tuple(name for name in draft.persons if self._stands(name, basis)),
            entities=tuple(name for name in draft.entities if self._stands(name, basis)),
            location=draft.location if draft.location and self._stands(draft.location, basis) else "",
            start=start or (dates[0] if len(dates) == 1 and not end else ""),
            end=end,
        )

    def _day(self, day: str, figures: Figures) -> str:
        iso = iso_of(day)
        if iso and figures.bears(iso):
            return iso
        if day:
            self.rejected["start or end"] += 1
        return ""

    def _relations(self, draft: FactDraft, fact: NewFact, basis: _Basis) -> Iterator[NewRelation]:
        for each in draft.relations:
            if self._stands(each.source, basis) and self._stands(each.target, basis):
                yield NewRelation(each.source, each.relation, each.target, fact.text_id)
            else:
                self.rejected["relation"] += 1


def _note(draft: NoteDraft, name: str, basis: _Basis | str, facts: Sequence[NewFact]) -> NewNote:
    own = () if isinstance(basis, str) else basis.turns
    separator = "" if unspaced_length(draft.text) else " "
    text = separator.join(fact.restatement for fact in facts) if isinstance(basis, str) else draft.text
    turns = dict.fromkeys((*own, *(turn for fact in facts for turn in fact.turns)))
    return NewNote(name, text, draft.topic, draft.importance, draft.memory_type, tuple(turns), draft.private)


def _is_answered(source: Source, sources: Sequence[Source]) -> bool:
    """Whether a question of the companion was said yes to."""
    return not source.spoken_by_person and any(
        other.place == source.place + 1 and other.agrees for other in sources
    )


def _is_foreign(statement: str, sources: Sequence[Source]) -> bool:
    """Whether a statement is in another language than its turns; a name in another script makes none of it."""
    turned = "".join(source.text for source in sources)
    if language_of(statement) == "zh":
        return not unspaced_length(turned) or unspaced_length(statement) > unspaced_length(turned)
    return len(telling(statement)) > 2 and unspaced_length(turned) > 0


def _latin_names(text: str) -> tuple[str, ...]:
    """The words of a text that are written like names; the first of a sentence only where it cannot be a plain word."""
    first = {found.start(1) for found in _FIRST_WORD.finditer(text)}
    return tuple(
        word
        for found in _NAME.finditer(text)
        if (word := _bare_name(found[0])).casefold() not in _CALENDAR
        and word.casefold() not in STOP_WORDS
        and (found.start() not in first or found.start() == 0 and _is_followed_by_name(text, found.end()))
    )


def _bare_name(word: str) -> str:
    return re.sub(r"['’]s?$", "", word).rstrip("-&")


def _is_followed_by_name(text: str, at: int) -> bool:
    """Whether the first word of a statement is part of a name: "Tom Okafor", "Mara's"."""
    return re.match(r"['’]s\b| [A-ZÀ-Þ]", text[at - 2 : at] + text[at : at + 3]) is not None or bool(
        re.match(r" [A-ZÀ-Þ]", text[at : at + 3])
    )


def _names_of(statement: str, draft: FactDraft | None) -> Iterator[str]:
    """Every name that a statement asserts, in either script."""
    yield from _latin_names(statement)
    yield from (found[1] for found in _CALLED.finditer(statement))
    if draft:
        yield from _latin_names(draft.value) if " " in draft.value or unspaced_length(draft.value) else ()
        for name in (*draft.persons, *draft.entities, draft.location):
            if name and (name in statement or name == draft.value):
                yield from [name] if unspaced_length(name) else name.split()


# --- what the turns say of it


def _best(wanted: frozenset[str], sources: Sequence[Source]) -> tuple[tuple[Sentence, int], ...]:
    """The sentences that share most with a statement, the best first, with how much; none where none shares anything."""
    scored = [
        (sentence, len(wanted & sentence.terms)) for source in sources for sentence in source.sentences
    ]
    most = max((score for _, score in scored), default=0)
    kept = [each for each in scored if each[1] and each[1] >= most * _NEARLY_BEST]
    return tuple(sorted(kept, key=lambda each: -each[1]))


def _is_told(value: str, stated: frozenset[str], sources: Sequence[Source]) -> bool:
    """Whether half of what a value says stands in its turns or in the statement that was found to hold."""
    wanted = telling(value) - _NOTHING
    told = stated.union(*(sentence.terms for source in sources for sentence in source.sentences))
    return not wanted or 2 * len(wanted & told) >= len(wanted)


def _is_reversed(statement: str, wanted: frozenset[str], best: Sequence[tuple[Sentence, int]]) -> bool:
    """Whether a statement denies what its turns say, or says what they deny."""
    if denies(statement):
        return not any(ends_or_denies(sentence.text) for sentence, _ in best)
    if ends_or_denies(statement):
        return False
    top = best[0][1]
    parts = [part for sentence, score in best if score == top for part in clauses(sentence.text)]
    scored = [(len(wanted & telling(part)), takes_back(part)) for part in parts] if any(map(takes_back, parts)) else []
    most = max((score for score, _ in scored), default=0)
    return bool(most) and all(denied for score, denied in scored if score == most)


def _weakest(best: Sequence[tuple[Sentence, int]], of_companion: bool) -> Stance:
    """How it was said at the most: as the best sentences allow."""
    top = [sentence for sentence, score in best if score == best[0][1]]
    found: list[Stance] = [
        "supposed" if asks(sentence.text) else stance_of(sentence.text, sentence.following) for sentence in top
    ]
    if of_companion:
        found = ["stated" if stance in ("planned", "wished") else stance for stance in found]
    return "stated" if "stated" in found else found[0]
