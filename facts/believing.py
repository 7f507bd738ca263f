"""As what a checked fact is believed: verified, quoted or inferred, or not at all because a person rejected it.

    checked by rules -> what a person rejected goes -> a model is asked of each: do these words say this? -> believed

A yes verifies a fact. Everything else is quoted: kept and shown as the words that it rests on, never as the statement.
What a model only concludes is never asked for and stays an inference.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from domain.facts import About, Basis, Fact, NewFact, NewNote, Quote
from domain.patterns import pattern_of
from domain.records import Message
from facts.by_hand import attribute_words
from facts.checking import CheckedNotes
from facts.comparing import same_value
from facts.drafts import Answer, FactDraft, NoteDraft
from facts.evidence import SpokenWindow
from facts.slots import COMPANION, PERSON, Names, normalize_text, slot_of
from facts.spans import is_pasted, locate_quote, shown_quotes
from language.references import begins_with_pronoun, resolve_references, says_what_it_means
from language.sentences import sentence_spans
from language.words import names_in

#: The most inferences of one window, and of one memory.
_MOST_INFERRED, MOST_INFERRED_IN_ALL = 2, 20
#: So many messages before quoted words may name whom these mean.
_LOOK_BACK = 4
_OF_SOMEBODY = pattern_of(r"\b(?:s?he|him|his|hers?)\b|[他她]", re.IGNORECASE)
_ABOUT: Mapping[str, About] = {PERSON: "person", COMPANION: "companion"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """The messages of a window with those before it, and what the two are called."""

    messages: Sequence[Message]
    before: Sequence[Message]
    names: Names
    person: str
    companion: str

    @property
    def in_order(self) -> tuple[Message, ...]:
        """All of them, in order."""
        return (*self.before, *self.messages)

    def speaker_of(self, quote: Quote) -> str:
        """Who said these words."""
        return quote.speaker or (self.person if quote.role == "user" else self.companion)


def without_rejected(checked: CheckedNotes, known: Iterable[Fact], rejected_at: Mapping[str, str]) -> CheckedNotes:
    """The checked facts without those that were said to be wrong and that no newer words say again.

    ``rejected_at``: when each of the ``known`` facts was rejected or corrected, by id.
    """
    wrong = [one for one in known if one.text_id in rejected_at]
    refused = {
        fact.text_id
        for fact in checked.facts
        if any(is_same(fact, one) and fact.said <= rejected_at[one.text_id] for one in wrong)
    }
    checked.rejected.update({"rejected by the person": len(refused)} if refused else {})
    kept = tuple(fact for fact in checked.facts if fact.text_id not in refused)
    return replace(checked, facts=kept) if refused else checked


def is_same(one: NewFact | Fact, other: NewFact | Fact) -> bool:
    """Whether two facts give one slot the same value; without values, whether they are the same statement."""
    if one.slot != other.slot:
        return False
    if one.value or other.value:
        return same_value(one.value, other.value)
    return normalize_text(one.restatement) == normalize_text(other.restatement)


def in_asking_order(facts: Iterable[NewFact], window: str) -> list[NewFact]:
    """The facts in an order that says nothing of which belong together, the same whenever a window is asked about."""

    def rank(fact: NewFact) -> bytes:
        return hashlib.sha256(f"{window}\n{fact.slot}\n{fact.restatement}".encode("utf-8", "surrogatepass")).digest()

    return sorted(facts, key=rank)


def believe(checked: CheckedNotes, answers: Mapping[str, Answer], spoken: Spoken) -> CheckedNotes:
    """The facts as they are believed after the ``answers`` by id, with quotes to show; notes that say nothing else."""
    facts = tuple(_believe_fact(fact, answers.get(fact.text_id), spoken) for fact in checked.facts)
    # A memory is understood without those around it; what is not belongs to none.
    unclear = {one.text_id for one in facts if one.basis == "verified" and begins_with_pronoun(one.restatement)}
    facts = tuple(replace(one, note="") if one.text_id in unclear else one for one in facts)
    notes = (_believe_note(note, [one for one in facts if one.note == note.text_id], spoken) for note in checked.notes)
    return replace(checked, facts=facts, notes=tuple(note for note in notes if note))


def _believe_fact(fact: NewFact, answer: Answer | None, spoken: Spoken) -> NewFact:
    quotes = shown_quotes(fact.quotes, spoken.in_order)
    basis: Basis = "verified" if answer == "yes" and may_be_verified(fact) else "quoted"
    quotes = _with_whom_they_mean(quotes, spoken) if quotes and basis == "quoted" else quotes
    quoted = {one.message for one in quotes}
    messages = tuple(one.text_id for one in spoken.in_order if one.text_id in quoted or one.text_id in fact.messages)
    return replace(fact, quotes=quotes, messages=messages, basis=basis)


def _with_whom_they_mean(quotes: tuple[Quote, ...], spoken: Spoken) -> tuple[Quote, ...]:
    """Words to show with the nearest sentence before them that names whom "she" in them means, else the one before.

    The names of the two who talk are mostly calls, and are never meant.
    """
    first, said, messages = quotes[0], " ".join(one.words for one in quotes), spoken.in_order
    if not _OF_SOMEBODY.search(said) or says_what_it_means(said):
        return quotes
    own = {part for name in (*spoken.names.person, *spoken.names.companion) for part in name.split()}
    at = next(place for place, one in enumerate(messages) if one.text_id == first.message)
    before = [
        Quote(one.text_id, start, end, one.words[start:end], one.role, one.speaker)
        for one in messages[max(0, at - _LOOK_BACK) : at + 1]
        for start, end in (sentence_spans(one.words) if not one.hidden else ())
        if (one is not messages[at] or end <= first.start)
        and not is_pasted(Quote(one.text_id, start, end, "", one.role), one.words)
    ]
    chosen = next((one for one in reversed(before) if _names_whom(one.words, said, own)), None)
    chosen = chosen or next((one for one in before[-1:] if one.message == first.message), None)
    if chosen and chosen.message == first.message:
        return (replace(first, start=chosen.start, words=messages[at].words[chosen.start : first.end]), *quotes[1:])
    return (chosen, *quotes) if chosen else quotes


def _names_whom(sentence: str, said: str, own: Iterable[str]) -> bool:
    """Whether a sentence names, but for these names, whom pronouns in what was ``said`` after it mean."""
    names = (rf"\b{re.escape(one)}\b" if one.isascii() else re.escape(one) for one in own)
    named = re.sub("|".join(names) or "(?!)", "", sentence)
    return says_what_it_means(f"{named} {said}") or says_what_it_means(resolve_references(said, [named]))


def may_be_verified(fact: NewFact) -> bool:
    """Whether a fact says more than that some words were said."""
    return bool(fact.attribute or fact.value)


def _believe_note(note: NewNote, facts: Sequence[NewFact], spoken: Spoken) -> NewNote | None:
    """A note that says what its facts say; one without facts gives the words it rests on."""
    if facts:
        texts = [fact.restatement if fact.basis == "verified" else _as_said(fact.quotes, spoken) for fact in facts]
    else:
        named = {one.text_id: one for one in spoken.in_order if one.text_id in note.messages}
        quote = locate_quote(note.text, [*named.values()])
        own = quote and not is_pasted(quote, named[quote.message].words)
        texts = [_as_said(shown_quotes([quote], spoken.in_order), spoken)] if quote and own else []
    text = " ".join(dict.fromkeys(filter(None, texts)))
    return replace(note, text=text) if text else None


def _as_said(quotes: Iterable[Quote], spoken: Spoken) -> str:
    """Words as somebody's; with pronouns as a report without them, and nothing where it is not clear what they mean."""
    words, found = {one.text_id: one.words for one in spoken.in_order}, list[str]()
    for quote in quotes:
        said, ids = attribute_words(spoken.speaker_of(quote), quote.words), list(words)
        if not says_what_it_means(quote.words):
            before = [words[text_id] for text_id in ids[: ids.index(quote.message)]]
            report = resolve_references(quote.words, [*before, words[quote.message][: quote.start]])
            said = f"{spoken.speaker_of(quote)}: {report}" if says_what_it_means(report) else ""
        found.append(said)
    return " ".join(filter(None, found))


def without_inferences(notes: Sequence[NoteDraft]) -> tuple[list[NoteDraft], list[FactDraft]]:
    """The notes without what was only concluded, and that."""
    kept = [replace(note, facts=tuple(one for one in note.facts if not one.inferred)) for note in notes]
    inferred = [one for note in notes for one in note.facts if one.inferred]
    return [one for one, before in zip(kept, notes, strict=True) if one.facts or not before.facts], inferred


def infer_facts(
    drafts: Sequence[FactDraft], spoken: Spoken, before: Sequence[Fact], rejected: Counter[str],
    new_id: Callable[[], str],
) -> tuple[NewFact, ...]:  # fmt: skip
    """What a model concluded from the person's own words: little, new, and naming only who was mentioned.

    ``before`` are all inferences so far, with those that were rejected; ``rejected`` counts what is not kept.
    """
    window, found = SpokenWindow(spoken.messages, spoken.before, spoken.names), list[NewFact]()
    room = min(_MOST_INFERRED, MOST_INFERRED_IN_ALL - sum(one.current for one in before))
    for draft in drafts:
        own = [one for one in window.find_named(draft.messages) if one.spoken_by_person and not one.message.speaker]
        fact = _infer_fact(draft, [one.message for one in own], spoken.names, new_id())
        known: list[NewFact | Fact] = [*before, *found]
        names_said = all(window.source_of(name, own, of_companion=False) for name in names_in(draft.restatement))
        if not fact.quotes or not names_said or any(one.barred for one in own):
            rejected["inferred from nothing"] += 1
        elif len(found) >= room or any(is_same(fact, one) for one in known):
            rejected["inferred already"] += 1
        else:
            found.append(fact)
    return tuple(found)


def _infer_fact(draft: FactDraft, own: Sequence[Message], names: Names, text_id: str) -> NewFact:
    slot, single = slot_of(draft.subject, draft.attribute, draft.about, names)
    words = " ".join(one.words for one in draft.quotes or ())
    located = (locate_quote(words or draft.restatement, [one], draft.restatement) for one in own)
    quotes = shown_quotes([one for one in located if one], own)
    messages = tuple(one.text_id for one in own if any(quote.message == one.text_id for quote in quotes))
    said = max((one.timestamp for one in own), default="")
    return NewFact(
        text_id, "", draft.restatement, draft.subject, draft.attribute, draft.value, slot, single,
        _ABOUT.get(slot.subject, "other"), "supposed", said, messages, quotes=quotes, basis="inferred",
    )  # fmt: skip
