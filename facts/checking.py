"""Accepts drafts of a model only if the messages they cite support them.

Every name, number and date of a statement must be in its messages or follow from their dates, and no statement becomes
more certain than it was. Rejected drafts are counted by reason. No model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from domain.facts import About, NewFact, NewNote, NewRelation, Slot, Stance
from domain.records import Message
from facts.ages import birth_years, dated_age
from facts.cues import is_relative, leaves_open, tells_birthday
from facts.drafts import FactDraft, NoteDraft
from facts.evidence import (
    Sentence,
    Source,
    SpokenWindow,
    TextFigures,
    best_sentences,
    in_order,
    is_reversed,
    is_stated,
    telling_terms,
    telling_terms_of_value,
    weakest_stance,
)
from facts.figures import Figures, first_wrong
from facts.refuting import find_fault
from facts.slots import COMPANION, PERSON, Names, is_kin, normalize_text, slot_of
from language.numbers import asserted_numbers
from language.scripts import language_of, unspaced_length
from language.times import parse_date, written_dates
from language.words import latin_names, names_in, whole_names

_ABOUT: Mapping[str, About] = {PERSON: "person", COMPANION: "companion"}
#: The most facts from one message; a model that finds more is inventing them.
MOST_FACTS_A_TURN = 12


@dataclass(frozen=True, slots=True)
class CheckedNotes:
    """The accepted drafts, ready to be stored, and the number of rejected ones by reason."""

    notes: tuple[NewNote, ...]
    facts: tuple[NewFact, ...]
    relations: tuple[NewRelation, ...]
    rejected: Counter[str]


@dataclass(frozen=True, slots=True)
class _Basis:
    """The evidence of a statement, and the strongest stance that it allows."""

    sources: tuple[Source, ...]
    stance: Stance
    said: Stance = "stated"

    @property
    def turns(self) -> tuple[str, ...]:
        return tuple(source.turn.text_id for source in self.sources)

    def stance_in(self, slot: Slot, draft: FactDraft) -> Stance:
        """The stance of a fact; a birthday ahead is not a plan."""
        ahead = self.stance == "planned" and self.said in ("stated", "planned")
        given = ahead and slot.attribute == "birth date"
        return "stated" if given and tells_birthday(draft.restatement) else self.stance


def check_notes(
    drafts: Sequence[NoteDraft],
    window: Sequence[Message],
    before: Sequence[Message],
    names: Names,
    new_id: Callable[[], str],
) -> CheckedNotes:
    """The supported drafts of a window as notes, facts and relations.

    ``window`` are the turns 1 to n of the drafts, ``before`` are only context. ``new_id`` makes ids. A note
    whose own text is rejected gets the text of its accepted facts.
    """
    ground = _Checking(SpokenWindow(window, before, names), names, new_id)
    for draft in drafts:
        ground.check_note(draft)
    return CheckedNotes(tuple(ground.notes), tuple(ground.facts), tuple(ground.relations), ground.rejected)


class _Checking:
    """Checks drafts against one window and collects the accepted ones."""

    def __init__(self, window: SpokenWindow, names: Names, new_id: Callable[[], str]) -> None:
        self._window = window
        self._names = names
        self._own = frozenset((*names.person, *names.companion))
        self._new_id = new_id
        self._of_turn: Counter[str] = Counter()
        self._figures: dict[tuple[int, ...], Figures] = {}
        self.notes: list[NewNote] = []
        self.facts: list[NewFact] = []
        self.relations: list[NewRelation] = []
        self.rejected: Counter[str] = Counter()

    def check_note(self, draft: NoteDraft) -> None:
        """Accept a note and its facts, as far as they are supported."""
        if not draft.private:
            self.rejected["common knowledge"] += 1 + len(draft.facts)
            return
        name = self._new_id()
        basis = self._find_basis(draft.text, draft.turns, self._is_of_companion(draft), "stated")
        before = self._count_invented
        facts = [fact for each in draft.facts if (fact := self._check_fact(each, name))]
        if self._count_invented > before and not isinstance(basis, str) and unspaced_length(draft.text):
            basis = "name"  # no capital tells what the text holds of it
        if isinstance(basis, str):
            self.rejected[basis] += 1
        if not isinstance(basis, str) or (facts and basis != "forgotten"):
            self.notes.append(_make_note(draft, name, basis, facts))
            self.facts += facts
        elif facts:
            self.rejected[basis] += len(facts)

    @property
    def _count_invented(self) -> int:
        """How many statements were rejected for something that is in no message."""
        return self.rejected["name"] + self.rejected["value"]

    def _check_fact(self, draft: FactDraft, note: str) -> NewFact | None:
        slot, single = slot_of(draft.subject, draft.attribute, draft.about, self._names)
        about = _ABOUT.get(slot.subject, "other")
        basis = self._find_basis(draft.restatement, draft.turns, about == "companion", draft.stance, draft)
        if isinstance(basis, str):
            self.rejected[basis] += 1
            return None
        last = basis.sources[-1].turn
        if self._of_turn[last.text_id] >= MOST_FACTS_A_TURN:
            self.rejected["too many"] += 1
            return None
        self._of_turn[last.text_id] += 1
        # An unsupported detail costs only itself.
        fact = NewFact(
            self._new_id(), note, dated_age(draft.restatement, slot.attribute, basis.sources[-1].said),
            draft.subject, draft.attribute, draft.value, slot, single, about, basis.stance_in(slot, draft),
            last.timestamp, basis.turns,
            tuple(word for word in draft.keywords if self._is_keyword(word, basis)),
            tuple(name for name in draft.persons if self._is_named(name, basis)),
            tuple(name for name in draft.entities if self._is_named(name, basis)),
            draft.location if draft.location and self._is_named(draft.location, basis) else "",
            *self._check_times(draft, basis),
        )  # fmt: skip
        self.relations += self._check_relations(draft, fact, basis)
        return fact

    def _is_of_companion(self, draft: NoteDraft) -> bool:
        """Whether a note is about the companion, by its facts or its beginning."""
        if draft.facts:
            return all(fact.about == "companion" for fact in draft.facts)
        return any(name and draft.text.startswith(name) for name in self._names.companion)

    # --- one statement

    def _find_basis(
        self, statement: str, handles: Sequence[int], of_companion: bool, stance: Stance, draft: FactDraft | None = None
    ) -> _Basis | str:
        """The evidence of a statement, or the reason why there is none."""
        named = self._window.find_named(handles)
        if not named:
            return "no turn"
        if any(source.barred for source in named):
            return "forgotten"
        subject = draft.subject if draft and draft.about == "other" else ""
        sources = self._window.find_bearing(named, of_companion, subject)
        if not sources:
            return "companion's words"
        telling_ones = tuple(source for source in sources if not source.only_asks or _is_answered(source, sources))
        if not telling_ones:
            return "question"
        return self._find_stated(statement, telling_ones, of_companion, stance, draft)

    def _find_stated(
        self, statement: str, sources: tuple[Source, ...], of_companion: bool, stance: Stance, draft: FactDraft | None
    ) -> _Basis | str:
        said = (one.text for each in sources for one in each.sentences)
        if leaves_open(statement, self._find_people(statement, draft), self._own, said):
            return "pronoun"
        if is_relative(statement):
            return "relative day"
        if _is_foreign(statement, sources):
            return "language"
        basis = self._judge_with(statement, (), sources, of_companion, stance, draft)
        if basis not in ("date", "name", "unsupported", "value"):
            return basis
        answered = self._window.find_answered(sources)
        if not answered or not (basis == "date" or _completes(answered, sources, statement)):
            return basis
        return self._judge_with(statement, answered, sources, of_companion, stance, draft)

    def _judge_with(
        self, statement: str, answered: tuple[Source, ...], sources: tuple[Source, ...], of_companion: bool,
        stance: Stance, draft: FactDraft | None,
    ) -> _Basis | str:  # fmt: skip
        """The basis of a statement in some messages and in the questions of the companion that they answer."""
        value = draft.value if draft else ""
        if wrong := first_wrong((statement, value), self._figures_of(sources)):
            day = sources[-1].said
            questions = [TextFigures(question, day) for each in answered for question in each.questions]
            figures = Figures((*(each.figures for each in sources), *questions))
            if wrong != "date" or not questions or first_wrong((statement, value), figures):
                return wrong
        if draft and draft.about == "other" and self._is_unmentioned(draft.subject):
            return "name"
        found = self._with_names(statement, draft, sources, answered, of_companion)
        if found is None:
            return "name"
        basis = self._judge_statement(statement, draft, found, answered, of_companion, stance)
        if isinstance(basis, str):
            return basis
        if len(found) > len(sources) and not of_companion:
            basis = self._without_lenders(basis, statement, draft, sources, stance)
        return replace(basis, sources=in_order((*answered, *basis.sources)))

    def _figures_of(self, sources: tuple[Source, ...]) -> Figures:
        """The figures of some messages, cached."""
        places = tuple(source.place for source in sources)
        if places not in self._figures:
            self._figures[places] = Figures(source.figures for source in sources)
        return self._figures[places]

    def _judge_statement(
        self, statement: str, draft: FactDraft | None, sources: tuple[Source, ...], answered: tuple[Source, ...],
        of_companion: bool, stance: Stance,
    ) -> _Basis | str:  # fmt: skip
        """The basis with the stance that the best sentence allows, or a reason if no sentence supports it."""
        wanted = telling_terms(statement)
        best = best_sentences(self._window.without_own_names(wanted), sources) or _of_ages(statement, sources)
        if not best and answered and _completes(answered, sources, statement):
            best = tuple((sentence, 1) for source in sources for sentence in source.sentences)
        if not best:
            return "unsupported"
        value = draft.value if draft else ""
        if value and self._window.source_of(value, sources, of_companion) is None:
            unheard = self._window.lacks_terms(telling_terms_of_value(value))
            if unheard or not is_stated(value, wanted, (*sources, *answered)):
                return "value"
        if is_reversed(statement, wanted, best, sources):
            return "polarity"
        about: About = "companion" if of_companion else draft.about if draft else "other"
        others = [name for name in self._find_people(statement, draft) if name not in self._own]
        tops = [sentence for sentence, score in best if score == best[0][1]]
        subject = draft.subject if draft else ""
        if any(normalize_text(source.turn.speaker) == normalize_text(subject) for source in sources):
            subject = ""  # who speaks of oneself needs no name
        if fault := find_fault(statement, subject, about, others, tops):
            return fault
        own = tuple(source for source in sources if of_companion and not source.spoken_by_person)
        said = weakest_stance(wanted, best_sentences(wanted, own) or best, of_companion)
        return _Basis(sources, said if stance == "stated" else stance, said)

    def _without_lenders(
        self, basis: _Basis, statement: str, draft: FactDraft | None, named: tuple[Source, ...], stance: Stance
    ) -> _Basis:
        """The basis with the stance of the cited messages if others only supplied a name."""
        names = telling_terms(" ".join(_names_of(statement, draft)))
        rest = self._window.without_own_names(telling_terms(statement)) - names
        if not (best := best_sentences(rest, named)):
            return basis
        said = weakest_stance(rest, best, False)
        return basis if said == "stated" else replace(basis, stance=said if stance == "stated" else stance, said=said)

    # --- names

    def _find_people(self, statement: str, draft: FactDraft | None) -> tuple[str, ...]:
        """The recognisable names in a statement."""
        listed = (*draft.persons, draft.subject) if draft else ()
        own = (*self._names.person, *self._names.companion)
        return tuple(dict.fromkeys(name for name in (*listed, *own, *whole_names(statement)) if name in statement))

    def _with_names(
        self, statement: str, draft: FactDraft | None, sources: tuple[Source, ...], answered: tuple[Source, ...],
        of_companion: bool,
    ) -> tuple[Source, ...] | None:  # fmt: skip
        """The messages with those that contain the names; None if a name is in no message."""
        found = {source.place: source for source in sources}
        for name in _names_of(statement, draft):
            place = self._window.source_of(name, (*sources, *answered), of_companion)
            if place is None and not _is_a_word(name, sources):
                return None
            if isinstance(place, Source):
                found[place.place] = place
        return tuple(found[place] for place in sorted(found))

    def _is_unmentioned(self, subject: str) -> bool:
        """Whether a subject in a script without capitals is in no message; 母亲 may mean 妈妈."""
        if not unspaced_length(subject) or is_kin(subject.rpartition("的")[2]):
            return False
        return self._window.source_of(subject, (), True) is None and self._window.lacks_terms(telling_terms(subject))

    def _is_named(self, name: str, basis: _Basis) -> bool:
        parts = (name, *latin_names(name)) if unspaced_length(name) else (latin_names(name) or (name,))
        return all(self._window.source_of(part, basis.sources, True) is True for part in parts[-3:])

    def _is_keyword(self, keyword: str, basis: _Basis) -> bool:
        """Whether a keyword is accepted: any plain word, and a name that is supported."""
        names = [word for word in keyword.split() if word[0].isupper()]
        return all(self._is_named(name, basis) or _is_a_word(name, basis.sources) for name in names)

    # --- what goes with a fact

    def _check_times(self, draft: FactDraft, basis: _Basis) -> tuple[str, str]:
        """The supported start and end of a fact."""
        figures = self._figures_of(basis.sources)
        start, end = (self._check_day(day, figures) for day in (draft.start, draft.end))
        if start or end:
            return start, end
        dates = [one.iso for written in written_dates(draft.restatement) if (one := written.possible[0]).days == 1]
        return (dates[0] if len(dates) == 1 else ""), ""

    def _check_day(self, day: str, figures: Figures) -> str:
        if not day:
            return ""
        iso = parse_date(day)
        if iso and figures.bears_date(iso):
            return iso
        self.rejected["start or end"] += 1
        return ""

    def _check_relations(self, draft: FactDraft, fact: NewFact, basis: _Basis) -> Iterator[NewRelation]:
        for each in draft.relations:
            if all(end == draft.subject or self._is_named(end, basis) for end in (each.source, each.target)):
                yield NewRelation(each.source, each.relation, each.target, fact.text_id)
            else:
                self.rejected["relation"] += 1


def _make_note(draft: NoteDraft, name: str, basis: _Basis | str, facts: Sequence[NewFact]) -> NewNote:
    own = () if isinstance(basis, str) else basis.turns
    separator = "" if unspaced_length(draft.text) else " "
    text = separator.join(fact.restatement for fact in facts) if isinstance(basis, str) else draft.text
    turns = dict.fromkeys((*own, *(turn for fact in facts for turn in fact.turns)))
    return NewNote(name, text, draft.topic, draft.importance, draft.memory_type, tuple(turns), draft.private)


def _completes(answered: Sequence[Source], sources: Sequence[Source], statement: str) -> bool:
    """Whether an answer says something of the statement that is only complete with its question.

    "A colleague, I sit next to her" does after "Is Petra a friend?"; "Fine" and "My sister rang" do not.
    """
    said, asked = (frozenset().union(*(telling_terms(one.text) for one in each)) for each in (sources, answered))
    figures = frozenset().union(*(each.figures.numbers for each in sources))
    bears = bool(telling_terms(statement) & said) or any(figures & forms for forms in asserted_numbers(statement))
    return bears and said.isdisjoint(asked)


def _is_answered(source: Source, sources: Sequence[Source]) -> bool:
    """Whether the person said yes to a question of the companion."""
    return not source.spoken_by_person and any(
        other.place == source.place + 1 and other.is_agreement for other in sources
    )


def _is_foreign(statement: str, sources: Sequence[Source]) -> bool:
    """Whether a statement is in another language than its messages; a name in another script does not count."""
    if statement.isascii():
        return all(source.language == "zh" for source in sources) and len(telling_terms(statement)) > 2
    tongue = language_of(statement)
    return all(source.language != tongue for source in sources) and _is_prose(statement, sources)


def _is_prose(statement: str, sources: Sequence[Source]) -> bool:
    """Whether the part in another language is more than a name from the messages."""
    there = sum(unspaced_length(source.text) for source in sources)
    return unspaced_length(statement) > there if language_of(statement) == "zh" else len(telling_terms(statement)) > 2


def _names_of(statement: str, draft: FactDraft | None) -> Iterator[str]:
    """Every name that a statement asserts, in either script."""
    yield from names_in(statement)
    if draft is None:
        return
    yield from latin_names(draft.value) if " " in draft.value or unspaced_length(draft.value) else ()
    for name in (*draft.persons, *draft.entities, draft.location):
        if name and (name in statement or name == draft.value):
            yield from [name] if unspaced_length(name) else name.split()


# --- what the turns say of it


def _of_ages(statement: str, sources: Sequence[Source]) -> tuple[tuple[Sentence, int], ...]:
    """The sentences with an age, where a statement gives the year of birth that follows from it."""
    with_age = [source for source in sources if any(str(year) in statement for year in source.figures.years_of_birth)]
    return tuple((one, 1) for source in with_age for one in source.sentences if birth_years(one.text, source.said))


def _is_a_word(name: str, sources: Sequence[Source]) -> bool:
    """Whether what looks like a name is another form of a word in the messages: "Climbing" for "I climb"."""
    wanted = telling_terms(name)
    return bool(wanted) and wanted <= frozenset().union(*(one.terms for each in sources for one in each.sentences))
