"""Refutes drafts of a model that their messages do not support, and corrects their figures.

    whose words -> whose words are quoted -> who is named -> figures -> sense -> stance

A rule refutes only where it is sure; what is not refuted is still to be verified or quoted. Days, times and numbers of
a fact are those of the words it rests on, whatever the model wrote. Refuted drafts are counted by reason. Where only
the wording of a draft is wrong, the person's own words are kept instead. No model is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from domain.facts import About, NewFact, NewNote, NewRelation, Quote, Slot, Stance
from domain.patterns import Guarded, pattern_of
from domain.records import Message
from facts.ages import birth_years, dated_age
from facts.by_hand import attribute_words
from facts.cues import asks_openly, ends_or_denies, is_denial, is_question
from facts.doers import Doing, is_swapped, names_in_talk
from facts.drafts import FactDraft, NoteDraft, QuoteDraft
from facts.evidence import (
    Sentence,
    Source,
    SpokenWindow,
    TextFigures,
    asserts_what_is_denied,
    best_sentences,
    in_order,
    is_reversed,
    telling_terms,
    telling_terms_of_value,
    weakest_stance,
)
from facts.figures import Figures, correct_figures, wrong_figure
from facts.refuting import (
    Around,
    find_fault,
    find_refusal,
    governing_clause,
    is_day_of_before,
    is_still_ahead,
    mentions_kin,
)
from facts.restating import as_corrected_name, is_in_first_person, tells_birthday, with_days
from facts.slots import COMPANION, PERSON, Names, is_kin, slot_of
from facts.spans import is_pasted, locate_quote
from language.numbers import asserted_numbers, find_numbers
from language.references import begins_with_pronoun, name_subject
from language.scripts import language_of, unspaced_length
from language.sentences import split_clauses
from language.times import TimeRange, parse_date, parse_time, range_of, read_times
from language.words import latin_names, names_in, whole_names
from storage.facts import find_misnamed

_ABOUT: Mapping[str, About] = {PERSON: "person", COMPANION: "companion"}
#: The most facts from one message; a model that finds more is inventing them.
MOST_FACTS_A_MESSAGE = 12
#: What is wrong with the wording of a draft alone: the words that it quotes may be true.
_WORDING = frozenset({"date", "time", "number", "pronoun", "name", "value", "subject", "unsupported", "not yet"})
#: A name counts as said where a word is this similar: people mistype, models transcribe.
_SIMILAR_NAME = 0.75
#: What has a day that is no start, and what has a day at all.
_NO_START, _HAS_DAY = ("age", "birth date"), ("appointment", "event", "plan", "trip")
#: Until when something is so.
_UNTIL = Guarded(
    "until|till|by|before|前|为止|截止",
    r"\b(?:until|till|by|before) (?:the )?[^,.;]*|(?:^|(?<=[，。；]))[^，。；]*?(?:之?前|为止|截止)(?=[，。；的]|$)",
    any_case=True,
)
#: What ends a name, and what else is said of it follows: "Annika, not Annette".
_BESIDE = pattern_of(r"[,;，、；（(]")
_ONLY_NAMES = pattern_of(r"(?:the|my|our|that|this) (?:\w+ )?\w+", re.IGNORECASE)
#: Words are kept where facts say so much of them.
_NEARLY_ALL = 0.6
#: A fact without words to quote must have this share of the terms of its messages.
_FEW_TERMS = 1 / 3
#: That somebody else wrote or said it, which words that were passed on show.
_ATTRIBUTES = pattern_of(
    r"^according to\b|\b(?:says?|said|wrote|writes|asks|asked|replied|claims?|told)\b"
    r"|^根据|说|写道?|(?<!自)称|回复|要求|通知",
    re.IGNORECASE,
)
#: A statement that somebody thinks something, whatever that is.
_IS_A_VIEW = pattern_of(r"\b(?:thinks?|thought|believes?|reckons?|suspects?|fears?)\b|觉得|认为|以为|怀疑")
#: That somebody asks whoever is named behind it; and words of asking in a question, which is then of asking others.
_ASKS_WHOM = pattern_of(r"(?:\bask(?:s|ed|ing)? |(?<![访学顾疑])问[了过]?(?!题))(?P<whom>.+)", re.IGNORECASE)
_ASKING = pattern_of(r"\bask(?:s|ed|ing)?\b|(?<![访学顾疑])问(?!题)", re.IGNORECASE)
#: Somebody who is called by what they are.
_A_ROLE = pattern_of("班主任|主任|老师|医生|大夫|护士|房东|老板|领导|经理|教练|师傅|邻居|同事|室友|同学|客户")
#: A place as people type it: 去Toronto.
_LATIN_PLACE = pattern_of(r"[去在到飞从回] ?(?P<name>[A-Z][A-Za-z]+)")
#: Words of a name that may have been said in another form, or left out.
_OF_A_NAME = ("Street", "Road", "Avenue", "Lane", "Drive", "Square", "Dr", "Mr", "Mrs", "Ms", "Prof")
#: What somebody is called, whose first character is part of no name.
_CALLED = pattern_of("叫[成作做]")
#: Characters of a single day: 2026-11-21.
_DAY = 10


@dataclass(frozen=True, slots=True)
class CheckedNotes:
    """The accepted drafts, ready to be stored, and the number of rejected ones by reason."""

    notes: tuple[NewNote, ...]
    facts: tuple[NewFact, ...]
    relations: tuple[NewRelation, ...]
    rejected: Counter[str]


@dataclass(slots=True)
class _Claim:
    """What is to be checked: the text of a note, or a fact with the quotes that were found for it."""

    text: str
    value: str
    about: About
    stance: Stance
    handles: tuple[int, ...]
    quotes: tuple[Quote, ...] = ()
    draft: FactDraft | None = None
    ahead: bool = False  #: a plan or a promise

    @property
    def subject(self) -> str:
        return self.draft.subject if self.draft and self.about == "other" else ""


@dataclass(slots=True)
class _Basis:
    """The evidence of a claim, the strongest stance that it allows, and the claim with its figures put right."""

    sources: tuple[Source, ...]
    claim: _Claim
    figures: Figures
    own: TextFigures
    said: Stance = "stated"


def check_notes(
    drafts: Sequence[NoteDraft],
    window: Sequence[Message],
    before: Sequence[Message],
    names: Names,
    new_id: Callable[[], str],
    shown: Iterable[str] = (),
) -> CheckedNotes:
    """The drafts of a window that are not refuted, as notes, facts with their quotes, and relations.

    ``window`` are the turns 1 to n of the drafts, ``before`` are only context. ``new_id`` makes ids. A note says what
    its accepted facts say; the text of one without facts is checked like a fact. ``shown`` are words of older messages
    that the model saw: a fact goes with the messages it rests on, so none says what only these do.
    """
    spoken = SpokenWindow(window, before, names)
    elsewhere = telling_terms(" ".join(shown))
    if elsewhere:
        elsewhere -= telling_terms(spoken.words)
        elsewhere -= telling_terms(" ".join((*names.person, *names.companion, *names.known)))
    ground = _Checking(spoken, names, new_id, elsewhere)
    for draft in drafts:
        ground.check_note(draft)
    return CheckedNotes(tuple(ground.notes), tuple(ground.facts), tuple(ground.relations), ground.rejected)


class _Checking:
    """Checks drafts against one window and collects the accepted ones."""

    def __init__(
        self, window: SpokenWindow, names: Names, new_id: Callable[[], str], elsewhere: frozenset[str]
    ) -> None:
        self._window = window
        self._elsewhere = elsewhere
        self._around = Around(window.words)
        self._people = names_in_talk(window.words)
        self._names = names
        self._own = frozenset((*names.person, *names.companion))
        self._new_id = new_id
        self._of_message: Counter[str] = Counter()
        self._figures: dict[tuple[tuple[Source, ...], tuple[Source, ...]], Figures] = {}
        self._texts: dict[tuple[str, date, bool], TextFigures] = {}
        self.notes: list[NewNote] = []
        self.facts: list[NewFact] = []
        self.relations: list[NewRelation] = []
        self.rejected: Counter[str] = Counter()

    def check_note(self, draft: NoteDraft) -> None:
        """Accept a note and its facts, as far as they are supported."""
        if not draft.private:
            self.rejected["common knowledge"] += 1 + len(draft.facts)
            return
        if any(source.barred for source in self._window.find_named(draft.messages)):
            self.rejected["forgotten"] += 1 + len(draft.facts)
            return
        name = self._new_id()
        drafts = [self._as_corrected_name(each) for each in draft.facts]
        checked = [self._check_fact(each, name) for each in drafts]
        facts = [fact for fact in checked if isinstance(fact, NewFact)]
        for each, fault in zip(drafts, checked, strict=True):
            if isinstance(fault, str) and fault in _WORDING:
                facts += self._keep_words(each, name, [*self.facts, *facts])
        if facts or not draft.facts:
            self._add_note(draft, name, facts)
        self.facts += facts

    def _add_note(self, draft: NoteDraft, name: str, facts: Sequence[NewFact]) -> None:
        """A note that says what its ``facts`` say; one without any, if its own text is supported."""
        text = ("" if unspaced_length(draft.text) else " ").join(fact.restatement for fact in facts)
        messages = [message for fact in facts for message in fact.messages]
        if not facts:
            own = any(called and draft.text.startswith(called) for called in self._names.companion)
            about: About = "companion" if own else "other"
            basis = self._find_basis(_Claim(draft.text, "", about, "stated", draft.messages))
            if isinstance(basis, str):
                self.rejected[basis] += 1
                return
            text = with_days(basis.claim.text, basis.sources[-1].said)
            messages = [source.message.text_id for source in basis.sources]
        rests = tuple(dict.fromkeys(messages))
        self.notes.append(NewNote(name, text, draft.topic, draft.importance, draft.memory_type, rests, draft.private))

    def _as_corrected_name(self, draft: FactDraft) -> FactDraft:
        """A draft as the name that the person's own words correct, whatever else a model says of who that is."""
        named = (part for one in (draft.value, draft.subject) for part in (one, *_BESIDE.split(one), *latin_names(one)))
        given = (name for one in named if (name := one.strip()) not in self._own)
        said = self._window.find_named(draft.messages)
        sentences = [
            one.text for each in said if each.spoken_by_person and not each.message.speaker for one in each.sentences
        ]
        found = find_misnamed(sentences, given, self._names.known - self._own)
        if not found:
            return draft
        wrong, right = found.wrong, found.right
        if right not in draft.value and not (wrong in draft.restatement and right in draft.restatement):
            return draft
        text = as_corrected_name(wrong, right, denied=found.denied)
        return replace(
            draft, restatement=text, subject=right, attribute="name", value=right, about="person", relations=()
        )

    def _check_fact(self, draft: FactDraft, note: str) -> NewFact | str:
        """The fact of a draft, or why there is none."""
        if self._elsewhere and self._elsewhere & (telling_terms(draft.restatement) | telling_terms(draft.value)):
            self.rejected["unsupported"] += 1
            return "unsupported"
        slot, single = slot_of(draft.subject, draft.attribute, draft.about, self._names)
        about = _ABOUT.get(slot.subject, "other")
        text = draft.restatement
        handles = tuple(
            dict.fromkeys((*draft.messages, *(quote.message for quote in draft.quotes or () if quote.message)))
        )
        named = draft.subject not in text and self._window.source_of(draft.subject, (), True)
        if named and begins_with_pronoun(text):
            text = name_subject(text, draft.subject)
        if is_in_first_person(text) and draft.subject and draft.value:
            marked = text.replace(draft.value, f"“{draft.value}”")
            shown = draft.value if not is_in_first_person(draft.value) else f"“{draft.value}”"
            text = f"{draft.subject}: {draft.attribute} {shown}" if is_in_first_person(marked) else marked
        quotes = self._locate(draft.quotes or (), handles, text)
        judged: About = "companion" if about == "companion" else draft.about
        if about == "other" != judged:  # whoever speaks here is not the person, whatever the model calls them
            spoken = (one for one in self._window.find_named(handles) if one.message.speaker)
            judged = "other" if any(one.is_said_by(draft.subject) for one in spoken) else judged
        ahead = draft.stance in ("planned", "wished") or slot.attribute == "promise"
        basis = self._find_basis(_Claim(text, draft.value, judged, draft.stance, handles, quotes, draft, ahead))
        if not isinstance(basis, str) and not self._has_room(basis.sources[-1].message):
            basis = "too many"
        if isinstance(basis, str):
            self.rejected[basis] += 1
            return basis
        last = basis.sources[-1].message
        day = basis.sources[-1].said
        text = dated_age(with_days(basis.claim.text, day), slot.attribute, day)
        start, end = self._check_times(draft, basis, slot.attribute)
        given = [one for iso in (start, end) if iso and (one := range_of(iso))] or _days_in(basis.claim.text, day)
        value = basis.own.with_values(basis.claim.value, given)
        # An unsupported detail costs only itself.
        fact = NewFact(
            self._new_id(), note, text, draft.subject, draft.attribute, value, slot,
            single, about, _stance_in(slot.attribute, basis), last.timestamp,
            tuple(source.message.text_id for source in basis.sources),
            tuple(word for word in draft.keywords if self._is_keyword(word, basis)),
            tuple(name for name in draft.persons if self._is_named(name, basis)),
            tuple(name for name in draft.entities if self._is_named(name, basis)),
            draft.location if draft.location and self._is_named(draft.location, basis) else "",
            start, end, quotes=_one_a_message(basis.claim.quotes, self._window.find_named(handles)),
        )  # fmt: skip
        self.relations += self._check_relations(draft, fact, basis)
        return fact

    def _has_room(self, message: Message) -> bool:
        """Whether one more fact may rest on a message; it is counted."""
        self._of_message[message.text_id] += 1
        return self._of_message[message.text_id] <= MOST_FACTS_A_MESSAGE

    def _keep_words(self, draft: FactDraft, note: str, kept: Sequence[NewFact]) -> list[NewFact]:
        """What was said, word for word, in place of a draft that says it wrongly: one fact, or none.

        It has neither attribute nor value, so nothing can verify it. None where the draft copies no words of whom it
        is about, person or companion, or where facts that are ``kept`` say them or quote them.
        """
        of_companion = draft.about == "companion"
        for given in draft.quotes or ():
            named = [
                each
                for each in self._window.find_named((given.message or draft.messages[0],))
                if not each.message.speaker
            ]
            messages = [each.message for each in named if each.spoken_by_person != of_companion and not each.barred]
            place = locate_quote(given.words, messages)
            own = " ".join(each.text for each in named)  # without what the companion quotes of its memory
            copied = place and telling_terms(given.words) <= telling_terms(place.words) & telling_terms(own)
            if not place or not copied or is_pasted(place, messages[0].words):
                continue
            sentences = [each.text for each in _quoted_sentences([place], named)]
            asks = all(map(is_question, sentences or [messages[0].words[place.start : place.end + 1]]))
            if asks or _is_kept(place, kept) or not self._has_room(messages[0]):
                continue
            name = next(iter(self._names.companion if of_companion else self._names.person), "")
            keywords = tuple(word for word in draft.keywords if word in place.words)
            slot = Slot(COMPANION if of_companion else PERSON, "")
            fact = NewFact(
                self._new_id(), note, attribute_words(name, place.words), name, "", "", slot, False,
                _ABOUT[slot.subject], "stated", messages[0].timestamp, (messages[0].text_id,), keywords,
                quotes=(place,), basis="quoted",
            )  # fmt: skip
            return [fact]
        return []

    def _locate(self, quotes: Sequence[QuoteDraft], handles: Sequence[int], text: str) -> tuple[Quote, ...]:
        """Where the quoted words stand, without repetitions; without any, the best sentence."""
        named = self._window.find_named(handles)
        found: list[Quote] = []
        for quote in quotes:
            chosen = self._window.find_named((quote.message,)) or named
            if place := locate_quote(quote.words, [source.message for source in chosen], text):
                found.append(place)
        return tuple(dict.fromkeys(found)) or self._window.best_quote(telling_terms(text), named)

    # --- one claim

    def _find_basis(self, claim: _Claim) -> _Basis | str:
        """The evidence of a claim, or the reason why there is none."""
        named = self._window.find_named(claim.handles)
        if not named:
            return "no turn"
        if any(source.barred for source in named):
            return "forgotten"
        sources = self._window.find_bearing(named, claim.about == "companion", claim.subject)
        if not sources:
            return "companion's words"
        if claim.quotes and self._are_pasted(claim.quotes, sources) and not _ATTRIBUTES.search(claim.text):
            return "quoted text"
        if not self._says_that_it_asks(claim, sources):
            sources = tuple(source for source in sources if not source.only_asks or _is_answered(source, sources))
        if not sources:
            return "question"
        if self._only_companion_says(claim, sources):
            return "companion's words"
        if is_in_first_person(claim.text):
            return "pronoun"
        answered = () if claim.about == "companion" else self._window.find_answered(sources)
        # What is denied is of a day in the question that was answered with no.
        asked = self._window.before(sources) if is_denial(claim.text) else answered
        basis = self._with_right_figures(claim, sources, asked)
        lenders = self._find_names(claim, sources) if not isinstance(basis, str) else None
        if isinstance(basis, str) or lenders is None:
            return basis if isinstance(basis, str) else "name"
        fault, said = self._judge(basis.claim, sources, answered, lenders)
        if fault:
            return fault
        weaker = claim.stance == "stated" or (claim.stance == "planned" and said in ("supposed", "joked"))
        stance = said if weaker else claim.stance
        needed = answered if answered and self._needs(answered, sources, basis.claim) else ()
        claim = basis.claim if stance == claim.stance else replace(basis.claim, stance=stance)
        return _Basis(in_order((*needed, *sources, *lenders)), claim, basis.figures, basis.own, said)

    def _says_that_it_asks(self, claim: _Claim, sources: Sequence[Source]) -> bool:
        """Whether a claim is that the companion asked the person something, which its question says itself."""
        found = _ASKS_WHOM.search(claim.text) if claim.about == "companion" else None
        rests = (found["whom"].partition(one) for one in self._names.person if one) if found else ()
        asks_person = any(not before and not rest.startswith(("'s", "’s", "的")) for before, _, rest in rests)
        own = (source.text for source in sources if not source.spoken_by_person)
        return asks_person and not any(map(_ASKING.search, own))

    def _only_companion_says(self, claim: _Claim, sources: Sequence[Source]) -> bool:
        """Whether all that is quoted for a claim about somebody else are words of the companion nobody agreed to."""
        if claim.about == "companion" or not (claim.draft and claim.draft.quotes):
            return False
        agreed = {one.place - 1 for one in sources if one.is_agreement}
        others = (one for one in sources if one.message.speaker or one.place in agreed)
        said = {one.message.text_id for one in others}
        return all(one.role == "assistant" and one.message not in said for one in claim.quotes)

    def _are_pasted(self, quotes: Sequence[Quote], sources: Sequence[Source]) -> bool:
        """Whether all that is quoted of these messages is in what their speaker only passed on."""
        words = {source.message.text_id: source.message.words for source in sources if source.spoken_by_person}
        own = [quote for quote in quotes if quote.message in words]
        return bool(own) and all(is_pasted(quote, words[quote.message]) for quote in own)

    def _needs(self, answered: Sequence[Source], sources: Sequence[Source], claim: _Claim) -> bool:
        """Whether a claim rests on the questions that its messages answer, by a word or a figure in them."""
        said, asked = (frozenset().union(*(one.terms for one in each)) for each in (sources, answered))
        if self._window.without_own_names(telling_terms(claim.text)) & asked - said:
            return True
        return wrong_figure(claim.text, self._figures_of(sources)) != ""

    def _with_right_figures(
        self, claim: _Claim, sources: tuple[Source, ...], before: tuple[Source, ...]
    ) -> _Basis | str:
        """A claim with the figures of its words, or which figure is wrong and cannot be put right."""
        said = sources[-1].said
        figures = self._figures_of(sources, before)
        asked_in = (one.words for one in claim.quotes if one.role == "assistant")
        quoted = " ".join((*(one.text for one in _quoted_sentences(claim.quotes, sources)), *asked_in))
        own = self._figures_in(quoted or " ".join(source.text for source in sources), said, claim.ahead)
        text, wrong = correct_figures(claim.text, own, figures)
        if wrong:
            return wrong
        value, _ = correct_figures(claim.value, own, figures)
        if wrong_figure(value, figures) and wrong_figure(value, Figures([self._figures_in(text, said)])):
            value = text  # what the statement says counts
        if text != claim.text or value != claim.value:
            claim = replace(claim, text=text, value=value)
        return _Basis(sources, claim, figures, own)

    def _figures_of(self, sources: Sequence[Source], before: Sequence[Source] = ()) -> Figures:
        """All figures of some messages, and of those before them, computed once."""
        key = tuple(sources), tuple(before)
        if key not in self._figures:
            said = sources[-1].said
            texts = [self._figures_in(one.text, said) for one in before]
            # Whoever tells of a text that they pass on takes its figures from there.
            passed_on = (one.message.words for one in sources if one.spoken_by_person and one.text != one.message.words)
            texts += [self._figures_in(words, said) for words in passed_on]
            self._figures[key] = Figures((*(source.figures for source in sources), *texts))
        return self._figures[key]

    def _figures_in(self, text: str, said: date, ahead: bool = False) -> TextFigures:
        """The figures of a text, computed once."""
        key = text, said, ahead
        if key not in self._texts:
            self._texts[key] = TextFigures(text, said, ahead=ahead)
        return self._texts[key]

    def _judge(
        self, claim: _Claim, sources: tuple[Source, ...], answered: tuple[Source, ...], lenders: tuple[Source, ...]
    ) -> tuple[str, Stance]:
        """Why the messages do not say a claim, "" if no rule knows, and the strongest stance that they allow."""
        wanted = self._window.without_own_names(telling_terms(claim.text))
        quoted = _quoted_sentences(claim.quotes, sources) if claim.draft and claim.draft.quotes else ()
        best = best_sentences(wanted, sources, quoted) or best_sentences(wanted, lenders)
        asked = best_sentences(wanted, answered)
        if asked and not quoted and best and asked[0][1] >= best[0][1]:
            # The beginning of the answer decides whether the question's words count.
            places = {one.place + 1 for one in answered if any(each is asked[0][0] for each in one.sentences)}
            answers = [source.sentences[0] for source in sources if source.place in places and source.sentences]
            best = tuple((each, asked[0][1]) for each in answers) or best
        if not best or not best[0][1]:
            ages = _of_ages(claim.text, sources)
            best = ages or best
            unheard = not ages and (not best or self._window.lacks_terms(wanted))
            best = best or tuple((sentence, 1) for source in sources for sentence in source.sentences)
            if not best or (unheard and not self._may_say(claim, wanted, sources, answered)):
                return "unsupported", claim.stance
        if asked and self._is_unconfirmed(claim, wanted, asked[0][0], sources):
            return "companion's words", claim.stance
        confirmed = {one.message.text_id for one in answered} & {quote.message for quote in claim.quotes}
        if claim.value and not confirmed and self._is_unheard(claim, sources):
            return "value", claim.stance
        said = (*sources, *answered)
        parts = _quoted_sentences(claim.quotes, sources, parts=True) if quoted else ()
        cited = best_sentences(wanted, (), parts) if parts and quoted and best[0][0] in quoted else best
        if (
            is_reversed(claim.text, wanted, cited, said)
            or self._window.is_denied(claim.text, wanted, sources)
            or asserts_what_is_denied(claim.text, quoted, said)
        ):
            return "polarity", claim.stance
        others = (name for name in self._find_people(claim) if name not in self._own)
        tops = list(quoted) or [sentence for sentence, score in best if score == best[0][1]]
        words = [quote.words for quote in claim.quotes]
        fault = find_fault(claim.text, claim.about, others, tops, self._around, words)
        if not fault and claim.about != "companion":
            fault = find_refusal(claim.text, parts)
        if not fault and claim.about != "companion":
            fault = self._find_doubt(claim, tops, sources)
        if not fault and self._is_mostly_new(claim, wanted, (*sources, *answered, *lenders)):
            fault = "unsupported"
        if fault:
            return fault, claim.stance
        of_companion = claim.about == "companion"
        parts = tuple(each for each in parts if not each.asks) or parts  # "The shop? I left it last month."
        own = [one for one in sources if not one.spoken_by_person] if of_companion else ()
        best = best_sentences(wanted, own) or best_sentences(wanted, (), parts) or best
        if self._says_that_it_asks(claim, sources) and is_question(best[0][0].text):
            return "", "stated"
        said_so = weakest_stance(wanted, best, of_companion=of_companion, denied=is_denial(claim.text))
        return "", "stated" if said_so == "supposed" and _IS_A_VIEW.search(claim.text) else said_so

    def _find_doubt(self, claim: _Claim, evidence: Sequence[Sentence], sources: Sequence[Source]) -> str:
        """Whether it is still ahead, was put right, or is done by somebody else; "" if no rule knows."""
        words, said = [quote.words for quote in claim.quotes], sources[-1].said.isoformat()
        if claim.stance == "stated":
            begins = claim.draft.start if claim.draft else ""
            if is_still_ahead(claim.text, evidence, words, ahead=begins[: len(said)] > said[: len(begins)]):
                return "not yet"
        own = [quote.words for quote in claim.quotes if quote.role == "user"]
        if self._around.takes_back(claim.text, words):
            return "taken back"
        stated = _days_in(claim.text, sources[-1].said)
        if is_day_of_before(claim.text, stated, [each.text for each in evidence], sources[-1].said):
            return "polarity"
        if claim.draft is None or any(source.message.speaker for source in sources):
            return ""
        if is_swapped(claim.text, self._names.person, own):
            return "subject"
        doing = Doing(claim.text, claim.draft.subject, claim.about, self._own, self._people, self._window.words)
        if doing.is_done_by_another(evidence, words):
            return "subject"
        clauses = [governing_clause(claim.text, each.text, words) for each in evidence if claim.about == "other"]
        return "subject" if clauses and doing.is_about_another(clauses, words) else ""

    def _may_say(
        self, claim: _Claim, wanted: frozenset[str], sources: Sequence[Source], answered: Sequence[Source]
    ) -> bool:
        """Whether messages that share no word with a claim may say it: by figures, or by what they answer."""
        given = frozenset().union(
            *(telling_terms(one.text if claim.draft and claim.draft.quotes else one.text_but_asked) for one in answered)
        )
        if wanted & given or (ends_or_denies(claim.text) and any(source.denies for source in sources)):
            return True
        figures = frozenset().union(*(source.figures.numbers for source in sources))
        if any(not figures.isdisjoint(forms) for forms in asserted_numbers(claim.text)) or any(
            source.is_agreement or source.own_days for source in sources
        ):
            return True
        return not wanted or language_of(claim.text) not in {source.language for source in sources}

    def _is_unconfirmed(
        self, claim: _Claim, wanted: frozenset[str], question: Sentence, sources: Sequence[Source]
    ) -> bool:
        """Whether only a question of yes or no has the words of a claim, and its answer says neither."""
        if asks_openly(question.text) or ends_or_denies(claim.text) or any(one.is_agreement for one in sources):
            return False
        said = frozenset().union(*(one.terms for one in sources))
        if wanted.isdisjoint(question.terms) or not wanted.isdisjoint(said):
            return False
        people = telling_terms(" ".join(self._find_people(claim)))
        if wanted.isdisjoint(question.terms - people) or not people.isdisjoint(said):
            return False
        bears_number = self._figures_of(sources).bears_number
        return not any(source.own_days for source in sources) and not any(
            map(bears_number, asserted_numbers(claim.text))
        )

    def _is_mostly_new(self, claim: _Claim, wanted: frozenset[str], sources: Sequence[Source]) -> bool:
        """Whether a fact for which the model found no words to quote has hardly a word of its messages."""
        if claim.draft is None or claim.draft.quotes != () or ends_or_denies(claim.text):
            return False
        given = frozenset().union(*(one.terms for one in sources))
        known = language_of(claim.text) in {one.language for one in sources}
        return known and len(wanted & given) < _FEW_TERMS * len(wanted)

    def _is_unheard(self, claim: _Claim, sources: Sequence[Source]) -> bool:
        """Whether nothing of a value is in any message, under any form, though it is in their language."""
        known = self._window.source_of(claim.value, (), claim.about == "companion") is not None
        if known or find_numbers(claim.value) or mentions_kin(claim.value) or ends_or_denies(claim.value):
            return False
        if language_of(claim.value) not in {source.language for source in sources}:
            return False
        wanted = telling_terms(claim.text) - telling_terms(" ".join(self._find_people(claim)))
        strange = sum(self._window.lacks_terms(frozenset({term})) for term in wanted)
        forms = (telling_terms(claim.value), telling_terms_of_value(claim.value))
        unheard = 2 * strange >= len(wanted) and all(self._window.lacks_terms(each, half=False) for each in forms)
        return unheard and not any(self._window.is_like_a_word(term, _SIMILAR_NAME) for term in forms[0])

    # --- names

    def _find_people(self, claim: _Claim) -> Iterator[str]:
        """The recognisable names in a claim, found when they are needed."""
        listed = (*claim.draft.persons, claim.draft.subject) if claim.draft else ()
        yield from (name for name in (*listed, *self._own, *whole_names(claim.text)) if name in claim.text)

    def _find_names(self, claim: _Claim, sources: tuple[Source, ...]) -> tuple[Source, ...] | None:
        """The other messages with names of a claim; None if a name is in no message and like none in them."""
        of_companion, lenders = claim.about == "companion", []
        if language_of(claim.text) not in {source.language for source in sources}:
            return ()  # names are spelt in another script
        before = () if of_companion else self._window.before(sources)
        # 多伦多 for Toronto; who or what is named in another script is not known to be the same.
        location = claim.draft.location if claim.draft else ""
        places = (each["name"] for source in sources for each in _LATIN_PLACE.finditer(source.text))
        location = location if location and any(one not in claim.text for one in places) else ""
        for name in _names_of(claim):
            place = self._window.source_of(name, (*sources, *before), of_companion)
            if isinstance(place, Source):
                lenders.append(place)
            elif place is None and not (
                self._window.is_like_a_word(name, _SIMILAR_NAME) or (name == location and unspaced_length(name))
            ):
                return None
        subject = claim.subject
        owner, _, relation = subject.rpartition("的")
        if not unspaced_length(subject) or owner in self._own or is_kin(relation):
            return tuple(lenders)
        unnamed = self._window.source_of(subject, (), True) is None
        return None if unnamed and self._window.lacks_terms(telling_terms(subject)) else tuple(lenders)

    def _is_named(self, name: str, basis: _Basis) -> bool:
        parts = (name, *latin_names(name)) if unspaced_length(name) else (latin_names(name) or (name,))
        return all(self._window.source_of(part, basis.sources, True) is True for part in parts[-3:])

    def _is_keyword(self, keyword: str, basis: _Basis) -> bool:
        """Whether a keyword is accepted: any plain word, and a name that is supported."""
        names = [word for word in keyword.split() if word[0].isupper()]
        return all(self._is_named(name, basis) or self._window.is_like_a_word(name, 1.0) for name in names)

    # --- what goes with a fact

    def _check_times(self, draft: FactDraft, basis: _Basis, attribute: str) -> tuple[str, str]:
        """The start and end of a fact: as the model gave them if they are supported, else the only day that it names.

        The day of the talk, a birthday or an "until" is no start; only a plan has its day from the words alone. A
        single day has the time of day that the model gave, if the words allow it, else the only one of its words.
        """
        start, end = (self._check_day(day, basis.figures) for day in (draft.start, draft.end))
        if not (start or end) and attribute not in _NO_START:
            said = basis.sources[-1].said
            statement = _UNTIL.sub("", basis.claim.text)
            ahead = basis.claim.stance in ("planned", "wished") or attribute in _HAS_DAY
            days = _days_in(statement, said)
            if not days and (ahead or read_times(statement, said)):
                named = Figures([self._figures_in(statement, said)])
                of_words = self._days_of_words(basis, said)
                days = [each for each in of_words if ahead or named.holds_day(each.first.month, each.first.day)]
            start = days[0].iso if len(days) == 1 and days[0].iso != said.isoformat() else ""
        given = [
            f"T{at.isoformat('minutes')}" if day and (at := parse_time(day)) and at in basis.figures.clock_times else ""
            for day in (draft.start, draft.end)
        ]
        if len(start) == _DAY and not given[0] and len(basis.own.likely_times) == 1:
            given[0] = f"T{next(iter(basis.own.likely_times)).isoformat('minutes')}"
        return f"{start}{given[0]}" if len(start) == _DAY else start, f"{end}{given[1]}" if len(end) == _DAY else end

    def _days_of_words(self, basis: _Basis, said: date) -> Sequence[TimeRange]:
        """The days in the quoted words, of several clauses only those in the ones that tell the fact."""
        clauses = [each for quote in basis.claim.quotes for each in split_clauses(quote.words)]
        subject = basis.claim.draft.subject if basis.claim.draft else ""
        wanted = self._window.without_own_names(telling_terms(basis.claim.text)) - telling_terms(subject)
        telling = [each for each in clauses if len(clauses) == 1 or wanted & telling_terms(each)]
        words = self._figures_in("，".join(telling), said, basis.claim.ahead)
        return words.own_days if words.own_days and not words.counts_days else ()

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


def _one_a_message(quotes: Iterable[Quote], sources: Iterable[Source]) -> tuple[Quote, ...]:
    """One passage of each message, as it is stored: from the first quoted words in it to the last."""
    words = {source.message.text_id: source.message.words for source in sources}
    found: dict[str, Quote] = {}
    for one in quotes:
        other = found.get(one.message, one)
        start, end = min(other.start, one.start), max(other.end, one.end)
        found[one.message] = (
            one if other is one else replace(one, start=start, end=end, words=words[one.message][start:end])
        )
    return tuple(found.values())


def _is_kept(place: Quote, facts: Iterable[NewFact]) -> bool:
    """Whether facts quote these words, or say nearly all of them with their numbers."""
    beside = [
        one
        for one in facts
        for quote in one.quotes
        if quote.message == place.message and quote.start < place.end and place.start < quote.end
    ]
    said = " ".join(one.restatement for one in beside)
    wanted = telling_terms(place.words)
    says = len(wanted & telling_terms(said)) >= _NEARLY_ALL * len(wanted)
    return any(not one.attribute for one in beside) or (says and find_numbers(place.words) <= find_numbers(said))


def _days_in(text: str, said: date) -> list[TimeRange]:
    """The single days that a statement names with their year, or by their distance."""
    found = dict.fromkeys(one.possible[0] for one in read_times(text, said) if one.meant and len(one.possible) == 1)
    return [each for each in found if each.days == 1]


def _stance_in(attribute: str, basis: _Basis) -> Stance:
    """The stance of a fact; a birthday ahead is not a plan."""
    ahead = attribute == "birth date" and basis.claim.stance == "planned" and basis.said in ("stated", "planned")
    return "stated" if ahead and tells_birthday(basis.claim.text) else basis.claim.stance


def _quoted_sentences(
    quotes: Iterable[Quote], sources: Iterable[Source], *, parts: bool = False
) -> tuple[Sentence, ...]:
    """The sentences of the person with some quoted words, or the ``parts`` of them that these words are in.

    What they only name, "the leeds job", says nothing of it.
    """
    quotes = [*quotes]
    telling = [one for one in quotes if one.role == "user" and not _ONLY_NAMES.fullmatch(one.words)] or quotes
    found: dict[tuple[int, int], Sentence] = {}
    for source in sources:
        spans = [(one.start, one.end) for one in telling if one.message == source.message.text_id]
        for each in source.sentences if source.spoken_by_person else ():
            within = [(start, end) for start, end in spans if each.span[0] < end and start < each.span[1]]
            if within:
                start, end = min(within)[0], max(end for _, end in within)
                found[source.place, each.span[0]] = each.part(start, end) if parts else each
    return tuple(found.values())


def _is_answered(source: Source, sources: Sequence[Source]) -> bool:
    """Whether the person said yes to a question of the companion."""
    return not source.spoken_by_person and any(
        other.place == source.place + 1 and other.is_agreement for other in sources
    )


def _names_of(claim: _Claim) -> Iterator[str]:
    """Every name that a claim asserts, in either script; a "Street" or "Dr" may have been said as "st" or "doctor"."""
    text = _CALLED.sub(" ", claim.text)
    yield from (name for name in names_in(text) if name.rstrip(".") not in _OF_A_NAME)
    if claim.draft is None:
        return
    yield from latin_names(claim.value) if " " in claim.value or unspaced_length(claim.value) else ()
    for name in (*claim.draft.persons, *claim.draft.entities, claim.draft.location):
        if name and (name in claim.text or name == claim.value) and not _A_ROLE.fullmatch(name):
            owner = name.partition("的")[0]
            parts = [owner] if unspaced_length(name) else [each.removesuffix("'s") for each in name.split()]
            yield from (
                each
                for each in parts
                if each.rstrip(".") not in _OF_A_NAME and (each[:1].isupper() or not each.isascii())
            )


def _of_ages(statement: str, sources: Sequence[Source]) -> tuple[tuple[Sentence, int], ...]:
    """The sentences with an age, where a statement gives the year of birth that follows from it."""
    with_age = [source for source in sources if any(str(year) in statement for year in source.figures.years_of_birth)]
    return tuple((one, 1) for source in with_age for one in source.sentences if birth_years(one.text, source.said))
