"""Persona updates as operations on numbered lines; a model never copies a line.

A line says only what the facts say that its operation names: the verified ones in their own words, all others as a
quotation with its day, written by the program. What was only a wish, a joke or a guess is marked as one. Lines by a
person, and pins, never change. A line of the program is changed, ended or dropped only by verified facts that concern
it; what is past or called off, what another line says, and in a persona that is too long what matters little, may be
dropped, merged or reworded without any. Every other operation is refused with a reason. An age becomes a year of birth.
What is vital outlasts what is newer when it grows too long.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import chain, pairwise, permutations
from typing import Literal, get_args

from domain.facts import Fact, LineEvidence, Stance
from domain.patterns import pattern_of
from facts.ages import without_ages
from facts.cues import ends_or_denies, is_denial, is_hedged, stance_of, takes_back
from facts.evidence import Sentence, TextFigures, best_sentences, is_named_in, is_reversed, telling_terms
from facts.figures import Figures, wrong_figure
from facts.importance import importance_of
from facts.reply_json import first_of, handles_of, line_of, read_entries
from facts.slots import BONDS, COMPANION, PERSON, Names, names_bound, normalize_text
from language.calendar import DAY_NAMES, MONTH_NAMES, day_of, names_day
from language.numbers import find_numbers
from language.scripts import STOP_WORDS, Language, estimate, is_unspaced, language_of, unspaced_length
from language.sentences import split_sentences
from language.times import parse_date
from language.words import latin_names, terms

Deed = Literal["add", "change", "end", "correct", "drop"]

#: Longer lines are rejected.
_LONGEST_LINE = 400
#: Two lines that share this much say the same, and a line that has this much of another one may replace it.
_ALIKE, _KEEPS = 0.85, 0.75
#: So much of each line, and of what it alone says, must be in the one that they are merged into.
_MERGED = 0.5
#: Lines that matter so much are dropped only if their fact is over or was never true.
_PROTECTED = 9
_BULLET = pattern_of(r"^\s*(?:[-*•·]\s+|#{1,4}\s+|\d{1,2}[.)、]\s+)?")
_GRAMMAR = pattern_of("[的了是在有和与于不就也都着过被把从到]")
_LATIN_WORD = pattern_of(r"[A-Za-z]+")
_ENDED = pattern_of(r"(?:\(until |（至)(\d{4}[\d-]*)[)）]$")
_END_MARK: Mapping[Language, str] = {"en": "{} (until {})", "zh": "{}（至{}）"}
_DAY_MARK: Mapping[Language, str] = {"en": "{} ({})", "zh": "{}（{}）"}
_STANCE_MARK: Mapping[Language, Mapping[Stance, str]] = {
    "en": {"wished": " (a wish)", "joked": " (in jest)", "supposed": " (a guess)"},
    "zh": {"wished": "（愿望）", "joked": "（玩笑）", "supposed": "（猜测）"},
}
_CALLED_OFF = pattern_of(
    r"\b(?:cancell?ed|call(?:ed|ing|s) (?:\w+ ){0,3}off|fell through|(?:is|are|was|were) off(?=\s*(?:$|[(,.;])))"
    r"|取消|泡汤|作罢|不[去办]了",
    re.IGNORECASE,
)
_STANCE_MARKS = pattern_of(r" \((?:a wish|in jest|a guess)\)$|（(?:愿望|玩笑|猜测)）$")
_QUOTED: Mapping[Language, str] = {"en": "Said {}: “{}”", "zh": "{} 说过：“{}”"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on a persona. ``lines`` are line numbers, none for a new line; ``facts`` are fact numbers."""

    deed: Deed
    lines: tuple[int, ...]
    text: str
    date: str
    facts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperationsRead:
    """The operations of a reply. ``understood``: it contained JSON; if not, it counts as no reply."""

    operations: tuple[Operation, ...]
    rejected: Counter[str]
    understood: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operation that was not applied, and why; ``words`` are those of its text that no fact has."""

    operation: Operation
    reason: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AppliedOperations:
    """The new persona, the evidence of its lines, and the lines removed for space. ``tokens`` is its size."""

    text: str
    lines: tuple[LineEvidence, ...]
    moved: tuple[LineEvidence, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class QuotedFact:
    """A fact, its words as they may be shown (whole sentences with what governs them; "" if there are none), and the
    statements ``before`` it that it changed, ended or put in doubt.
    """

    fact: Fact
    quotation: str = ""
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounds:
    """What allows operations on a persona.

    ``facts`` are the facts 1 to n of the operations. Of each line, ``concerned`` are the ids of the facts about it,
    and ``overruled`` of those that ended, changed or corrected what it says. ``past`` are lines about what is over, and
    whether all of it is. ``limit`` is in tokens.
    """

    facts: Sequence[QuotedFact]
    today: date
    limit: int
    names: Names = field(default_factory=Names)
    concerned: Mapping[str, Collection[str]] = field(default_factory=dict)
    overruled: Mapping[str, Collection[str]] = field(default_factory=dict)
    past: Mapping[str, bool] = field(default_factory=dict)


def number_lines(persona_text: str) -> tuple[str, ...]:
    """The non-blank lines of a persona by number, from 1."""
    return tuple(line for line in persona_text.splitlines() if line.strip())


def read_operations(reply: str, finish: str = "stop") -> OperationsRead:
    """The operations of a reply, parsed leniently."""
    found = read_entries(reply, finish, "operations", "ops", "changes", "items")
    read: list[Operation] = []
    rejected: Counter[str] = Counter()
    for at, value in enumerate(found.values):
        if found.cut and at == len(found.values) - 1:
            rejected["cut"] += 1
            continue
        if operation := _read_operation(value):
            read.append(operation)
        else:
            rejected["shape"] += 1
    return OperationsRead(tuple(read), rejected, found.understood)


@dataclass(frozen=True)
class _Line:
    text: str
    evidence: LineEvidence | None
    pinned: bool = False

    @cached_property
    def read(self) -> _Read:
        """Its letters and terms."""
        return _read_line(self.text)


class PersonaEditing:
    """The lines of a persona during an update, by their numbers in the prompt, which stay the same throughout."""

    def __init__(
        self, text: str, evidence: Sequence[LineEvidence], pins: Sequence[str], grounds: Grounds, language: Language
    ) -> None:
        written = {each.line.strip(): each for each in evidence}
        pinned = {_letters_of(pin) for pin in pins if pin.strip()}
        self._lines: list[_Line | None] = [
            _Line(line, written.get(line.strip()), _letters_of(line) in pinned) for line in text.splitlines()
        ]
        self._places = [at for at, line in enumerate(self._lines) if line and line.text.strip()]
        self._grounds = grounds
        self._facts = [_Evidence(one, language, grounds) for one in grounds.facts]
        self._language = language
        bullets = Counter(_BULLET.match(line)[0] for line in number_lines(text))  # type: ignore[index]
        common = bullets.most_common(1)
        self._bullet = common[0][0] if common and "#" not in common[0][0] and not re.search(r"\d", common[0][0]) else ""

    @property
    def fixed(self) -> frozenset[int]:
        """The numbers of the lines that no operation can change."""
        found = ((number, self._lines[place]) for number, place in enumerate(self._places, 1))
        return frozenset(number for number, line in found if line and (line.pinned or line.evidence is None))

    def apply_operations(self, operations: Iterable[Operation]) -> tuple[Refusal, ...]:
        """Apply operations in order. Returns those that were not applied, with why.

        What a line already says counts as applied. A rejected "drop" is tried again after all others: by what was done
        the persona may be too long. A line that is past in part has been asked about now, and gets this day; so does
        one that was past and is put right.
        """
        for at, line in enumerate(self._lines):
            if line and line.evidence and self._grounds.past.get(line.text.strip()) is False:
                today = self._grounds.today.isoformat()
                self._lines[at] = replace(line, evidence=replace(line.evidence, date=today))
        found = [(operation, self._apply_operation(operation)) for operation in operations]
        found = [
            (one, self._apply_operation(one) if reason and one.deed == "drop" else reason) for one, reason in found
        ]
        return tuple(
            Refusal(operation, reason, self._words_in_no_fact(operation) if reason == "unsupported" else ())
            for operation, reason in found
            if reason
        )

    def finish(self) -> AppliedOperations:
        """The persona within its limit, unless what a person wrote or pinned is longer.

        Removed are, in this order: what is over, what matters little by its kind, what is old.
        """
        moved = []
        removable = [
            (not self._is_over(line), line.evidence.importance, line.evidence.date, at, line.evidence)
            for at, line in enumerate(self._lines)
            if line and line.evidence and not line.pinned
        ]
        for *_, at, evidence in sorted(removable, key=lambda one: one[:4]):
            line = self._lines[at]
            if line is None or not self._is_above_limit:
                break
            moved.append(replace(evidence, line=line.text.strip()))
            self._lines[at] = None
        lines = [line for line in self._lines if line and line.evidence]
        kept = tuple(replace(line.evidence, line=line.text.strip()) for line in lines if line.evidence)
        return AppliedOperations(self._text, kept, tuple(moved), estimate(self._text))

    @property
    def _text(self) -> str:
        return "\n".join(line.text for line in self._lines if line)

    @property
    def _is_above_limit(self) -> bool:
        return estimate(self._text) > self._grounds.limit

    # --- one operation

    def _apply_operation(self, operation: Operation) -> str:
        """Apply one operation. Returns why it is rejected, or ""."""
        facts = [self._facts[number - 1] for number in operation.facts if 0 < number <= len(self._facts)]
        if operation.deed == "add":
            return self._add_line(operation, facts)
        places = [self._places[number - 1] for number in operation.lines if 0 < number <= len(self._places)]
        lines = [(place, line) for place in places if (line := self._lines[place])]
        if not lines or len(lines) < len(operation.lines):
            return "no such line"
        if any(line.pinned or line.evidence is None for _, line in lines):
            is_new = operation.deed in ("change", "correct") and not any(line.pinned for _, line in lines)
            return self._add_line(operation, facts) if is_new else "may not change"
        verified = [one for one in facts if one.fact.basis == "verified"]
        if operation.deed == "drop":
            return self._drop_lines(lines, verified)
        if operation.deed == "end":
            return self._end_line(*lines[0], operation, verified)
        if facts and not verified:
            # Words that are only quoted change nothing. They may follow a line that could go without them.
            before = len(self._lines)
            reason = self._add_line(operation, facts)
            if len(self._lines) > before and all(line.text.strip() in self._grounds.past for _, line in lines):
                self._drop_lines(lines, ())
            return reason
        return self._change_lines(lines, operation, verified)

    def _is_among(self, line: _Line, facts: Sequence[_Evidence], ids: Mapping[str, Collection[str]]) -> bool:
        about = ids.get(line.evidence.line.strip(), ()) if line.evidence else ()
        return any(one.fact.text_id in about for one in facts)

    def _is_over(self, line: _Line) -> bool:
        """Whether all of a line is over; of one that has a new text only if that says so."""
        return self._grounds.past.get(line.text.strip(), False) or _is_ended(line.text, self._grounds.today)

    def _add_line(self, operation: Operation, facts: Sequence[_Evidence]) -> str:
        text = self._text_of(operation, facts)
        if not (reason := self._find_refusal(text, facts)):
            self._lines.append(_Line(self._bullet + text, self._make_evidence(text, operation, facts)))
        return "" if reason == "repeats" else reason

    def _change_lines(
        self, lines: Sequence[tuple[int, _Line]], operation: Operation, facts: Sequence[_Evidence]
    ) -> str:
        """Give the first of these lines a new text; the others go, if it says what they say or a fact concerns them."""
        (place, line), olds = lines[0], [_BULLET.sub("", line.text) for _, line in lines]
        reworded = len(lines) == 1 and not facts and line.text.strip() in self._grounds.past
        if (facts or len(lines) == 1) and not reworded and not self._is_among(line, facts, self._grounds.concerned):
            return "unconcerned"
        text = self._text_of(operation, facts)
        if len(lines) == 1 and text and _letters_of(text) == _letters_of(olds[0]):
            return ""
        reason = self._find_refusal(text, facts, *olds, replaced=[at for at, _ in lines])
        open_lines = (one for _, one in lines if not self._is_over(one))
        untouched = [one for one in open_lines if not self._is_among(one, facts, self._grounds.concerned)]
        merged = [(one, "\n".join(each.text for _, each in lines if each is not one)) for one in untouched]
        if not reason and not reworded and not all(self._merges(text, *each) for each in merged):
            reason = "loses a line"
        if reason:
            return reason
        # A line that repeats part of an old line keeps its evidence, too.
        rests = [
            one.evidence for old, (_, one) in zip(olds, lines, strict=True) if self._rests_on_old(text, facts, old)
        ]
        new = [self._make_evidence(text, operation, facts)] if facts else []
        evidence = _join_evidence([*filter(None, rests), *new] or [one.evidence for _, one in lines if one.evidence])
        if any(one.text.strip() in self._grounds.past for _, one in lines):
            evidence = replace(evidence, date=max(evidence.date, self._grounds.today.isoformat()))
        self._lines[place] = _Line(line.text[: len(line.text) - len(olds[0])] + text, evidence)
        for at, _ in lines[1:]:
            self._lines[at] = None
        return ""

    def _merges(self, text: str, line: _Line, others: str) -> bool:
        """Whether a text that takes the place of a line and ``others`` leaves out only plain words, of what is
        protected none.
        """
        assert line.evidence
        if line.evidence.importance >= _PROTECTED and any(_Words(text).missing_in(line.text, self._own_terms)):
            return False
        only = telling_terms(line.text) - telling_terms(others)
        parts = [(part, telling_terms(part)) for part in _PART.split(text)]
        for part in _PART.split(line.text):
            beside = telling_terms("\n".join((others, *(one for one in _PART.split(line.text) if one != part))))
            about = telling_terms(part) - beside
            if any(is_denial(one) != is_denial(part) for one, terms in parts if not about.isdisjoint(terms)):
                return False  # it denies what another part did
        plain = normalize_text(text)
        known = (name for name in self._grounds.names.known if not name.isascii() and name in line.text)
        names = {*latin_names(line.text), *known}
        named = (name for name in names if not telling_terms(name) <= self._own_terms)
        return (
            _keeps(text, line.text, _MERGED)
            and len(only & telling_terms(text)) >= _MERGED * len(only)
            and all(is_named_in(normalize_text(name), plain) for name in named)
        )

    def _drop_lines(self, lines: Sequence[tuple[int, _Line]], facts: Sequence[_Evidence]) -> str:
        for place, line in lines:
            others = (one.text for at, one in enumerate(self._lines) if one and at != place)
            assert line.evidence
            in_part = self._is_above_limit or line.text.strip() in self._grounds.past or self._is_called_off(line)
            protected = line.evidence.importance >= _PROTECTED
            over = self._is_over(line) or (in_part and not protected)
            needless = over or any(_repeats(other, line.text, protected) for other in others)
            if needless or self._is_among(line, facts, self._grounds.overruled):
                continue
            if not self._is_among(line, facts, self._grounds.concerned):
                return "unconcerned" if facts else "still so" if protected else "room"
            if protected:
                return "still so"
        for place, _ in lines:
            self._lines[place] = None
        return ""

    def _is_called_off(self, line: _Line) -> bool:
        """Whether all that a line tells is that something was called off, on a day that is past."""
        assert line.evidence
        if not line.evidence.date or line.evidence.date > self._grounds.today.isoformat():
            return False
        parts = [(part, telling_terms(part) - self._own_terms) for part in _PART.split(line.text)]
        words = [(part, {term for term in terms if not term.isdigit()}) for part, terms in parts]
        off = {term for part, terms in words if _CALLED_OFF.search(part) for term in terms}
        return bool(off) and all(not terms or terms & off for _, terms in words)

    def _end_line(self, place: int, line: _Line, operation: Operation, facts: Sequence[_Evidence]) -> str:
        if _ENDED.search(line.text):
            return ""
        if not self._is_among(line, facts, self._grounds.concerned):
            return "unconcerned"
        says_so = takes_back(line.text) and not is_denial(line.text)
        ends = not says_so and any(one.fact.end or ends_or_denies(one.says) for one in facts)
        if not ends and not self._is_among(line, facts, self._grounds.overruled):
            return "still so"
        evidence = self._make_evidence(line.text, operation, facts)
        text = self._reworded_as_over(line, operation, facts)
        day = day_of(evidence.date)
        if not text or not (evidence.date in text or (day and names_day(text, day))):
            # A text that says what is over gets the day alone: "is cancelled (until ...)" would be on again.
            mark = (_DAY_MARK if text else _END_MARK)[_language_of_line(line.text) or self._language]
            text = mark.format((text or line.text).rstrip(" .。"), evidence.date)
        assert line.evidence
        self._lines[place] = _Line(text, _join_evidence([line.evidence, evidence]))
        return ""

    def _reworded_as_over(self, line: _Line, operation: Operation, facts: Sequence[_Evidence]) -> str:
        """The operation's text for an ended line if it says so and is supported, else ""."""
        text, old = self._text_of(operation, facts), _BULLET.sub("", line.text)
        if not text or not ends_or_denies(text) or self._find_unfit(text, facts, old):
            return ""
        return line.text[: len(line.text) - len(old)] + text

    # --- what a text may say

    def _text_of(self, operation: Operation, facts: Sequence[_Evidence]) -> str:
        """The text of an operation as a line, without bullet and age.

        Where the facts are only quoted, or are in another language than the persona, it is their quotation.
        """
        if facts and not any(one.may_be_reworded for one in facts):
            return " ".join(dict.fromkeys(one.as_quoted for one in facts if one.as_quoted))
        text = _BULLET.sub("", operation.text, count=1).strip()
        if text and (unsaid := _find_unsaid_stance(text, [one for one in facts if one.may_be_reworded])):
            text = text.rstrip(" .。") + _STANCE_MARK[self._language][unsaid]
        return without_ages(text, facts[-1].said) if facts else text

    def _find_refusal(self, text: str, facts: Sequence[_Evidence], *olds: str, replaced: Sequence[int] = ()) -> str:
        if not facts and not olds:
            return "no fact"
        if not text or len(text) > _LONGEST_LINE:
            return "too long" if text else "no text"
        new = _read_line(text)
        others = [line.read for at, line in enumerate(self._lines) if line and at not in replaced]
        if any(map(new.is_like, others)):
            return "repeats"
        return self._find_unfit(text, facts, *olds)

    def _find_unfit(self, text: str, facts: Sequence[_Evidence], *olds: str) -> str:
        """Why a text may not become a line that rests on these facts and old lines, or ""."""
        if facts and not any(one.may_be_reworded for one in facts):
            return ""  # the program's own
        if (_language_of_line(text) or self._language) != self._language:
            return "language"
        open_facts = [one for one in facts if one.may_be_reworded]
        if any(text == one.fact.restatement for one in open_facts):
            return ""  # word for word what was verified
        text = _STANCE_MARKS.sub("", text) if text.endswith((")", "）")) else text
        figures = Figures((*_figures_of(open_facts), *(TextFigures(old, self._grounds.today) for old in olds)))
        if wrong := wrong_figure(text, figures):
            return wrong
        if missing := {*self._missing_words(text, open_facts, olds)}:
            return "unsupported" if missing & {*self._words_of_none(text, open_facts, olds)} else "mixed"
        if any(_swaps_names(text, one, self._grounds.names) for one in open_facts):
            return "swapped"
        wanted = telling_terms(text) - self._own_terms
        best = best_sentences(wanted, open_facts)  # type: ignore[arg-type]
        return "polarity" if best and is_reversed(text, wanted, best, open_facts) else ""  # type: ignore[arg-type]

    def _missing_words(self, text: str, facts: Sequence[_Evidence], olds: Sequence[str]) -> Iterator[str]:
        """The words that keep each part of a text from being said by one old line or by the facts about one subject."""
        neutral = self._neutral_terms
        text = _WEAKENS.sub(" ", text)
        if olds or any(one.fact.until or one.before for one in facts):
            text = _FORMERLY.sub(" ", text)
        wanted = telling_terms(text) - neutral
        if not unspaced_length(text) and any(wanted <= telling_terms(one.fact.restatement) for one in facts):
            return
        said = [_Words(one.fact.restatement) for one in facts]
        unsaid = [part for part in _PART.split(text) if all(any(one.missing_in(part, neutral)) for one in said)]
        if not unsaid:
            return
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for one in facts:
            groups[one.fact.slot.subject].append(one.allows)
        stated = ["\n".join((*group, *olds[:1])) for group in groups.values()]
        grounds = [_Words(one) for one in (*stated, *olds)]
        for part in unsaid:
            missing = ((list(words.missing_in(part, neutral)), words) for words in grounds)
            words, ground = min(missing, key=lambda one: len(one[0]), default=([], _Words("")))
            yield from [one for one in words if not ground.is_qualified(one, part, olds)]

    def _words_of_none(self, text: str, facts: Sequence[_Evidence], olds: Sequence[str]) -> Iterator[str]:
        """The words of a text that no fact and no old line has."""
        return _Words("\n".join((*(one.allows for one in facts), *olds))).missing_in(text, self._neutral_terms)

    def _words_in_no_fact(self, operation: Operation) -> tuple[str, ...]:
        facts = [self._facts[number - 1] for number in operation.facts if 0 < number <= len(self._facts)]
        lines = (self._lines[self._places[number - 1]] for number in operation.lines if 0 < number <= len(self._places))
        olds = [_BULLET.sub("", line.text) for line in lines if line]
        open_facts = [one for one in facts if one.may_be_reworded]
        missing = {*self._missing_words(operation.text, open_facts, olds)}
        return tuple(sorted(missing & {*self._words_of_none(operation.text, open_facts, olds)}))

    @cached_property
    def _own_terms(self) -> frozenset[str]:
        """The terms of the names of person and companion, which are in every line."""
        names = self._grounds.names
        return telling_terms(" ".join((*names.person, *names.companion)))

    @cached_property
    def _neutral_terms(self) -> frozenset[str]:
        """These, and what adds nothing to any fact."""
        return self._own_terms | telling_terms(" ".join((*MONTH_NAMES, *DAY_NAMES, _LIGHT))) | _LIGHT_PAIRS

    def _rests_on_old(self, text: str, facts: Sequence[_Evidence], old: str) -> bool:
        """Whether a changed line repeats something found only in the old line."""
        here = telling_terms("\n".join(one.says for one in facts))
        return bool((telling_terms(text) & telling_terms(old)) - here - self._own_terms)

    def _make_evidence(self, text: str, operation: Operation, facts: Sequence[_Evidence]) -> LineEvidence:
        """The evidence of a line. Its day is the operation's if its facts have it, else the day that they are about."""
        given = operation.date
        dated = given if given and Figures(_figures_of(facts)).bears_date(given) else ""
        about = max((one.fact.start[:10] for one in facts if one.fact.start), default="")
        messages = dict.fromkeys(message for one in facts for message in one.fact.messages)
        day = dated or about or max(one.fact.said for one in facts)[:10]
        return LineEvidence(text, tuple(messages), day, importance_of(*(one.fact for one in facts)))


class _Evidence:
    """A fact as evidence for a line."""

    def __init__(self, shown: QuotedFact, language: Language, grounds: Grounds) -> None:
        self.fact = shown.fact
        self._quotation = shown.quotation
        self.before = shown.before
        self._language = language
        self.said = day_of(shown.fact.said) or grounds.today

    @cached_property
    def may_be_reworded(self) -> bool:
        """Whether a line may use its words freely: it is verified, and in the language of the persona."""
        own = (_language_of_line(self.fact.restatement) or self._language) == self._language
        return own and self.fact.basis == "verified"

    @cached_property
    def as_quoted(self) -> str:
        """A line that quotes it; "" if it is not verified and has no words."""
        if self._quotation:
            return _QUOTED[self._language].format(self.fact.said[:10], self._quotation)
        return self.fact.restatement if self.fact.basis == "verified" else ""

    @cached_property
    def says(self) -> str:
        """All its words."""
        fact = self.fact
        words = (one.words for one in fact.quotes)
        return "\n".join((fact.restatement, fact.value, fact.start, fact.end, self._quotation, *words))

    @cached_property
    def allows(self) -> str:
        """What a line may say of it: its words, and those of what it changed."""
        return "\n".join((self.says, *self.before))

    @cached_property
    def figures(self) -> tuple[TextFigures, TextFigures]:
        """The numbers, days and times of its statement, and those of all that it allows."""
        return TextFigures(self.fact.restatement, self.said), TextFigures(self.allows, self.said)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of its statement, or of its words."""
        found = split_sentences(self.fact.restatement)
        around = zip(found, ("", *found), (*found[1:], ""), strict=False)
        return tuple(Sentence(*each, True) for each in around)


def _figures_of(facts: Iterable[_Evidence]) -> Iterator[TextFigures]:
    """The figures of facts, those of their statements first: most lines need no others."""
    return chain.from_iterable(zip(*(one.figures for one in facts), strict=True))


def _find_unsaid_stance(text: str, facts: Sequence[_Evidence]) -> Stance | None:
    """How the fact that a text repeats most was said, where none was stated or planned and the text tells nothing."""
    weak = {one.fact.stance for one in facts}
    if not weak or "stated" in weak or "planned" in weak:
        return None
    wanted = telling_terms(text)
    nearest = max(facts, key=lambda one: len(wanted & telling_terms(one.says)))
    stance = nearest.fact.stance
    marked = any(text.endswith(marks[each]) for marks in _STANCE_MARK.values() for each in weak)
    wished = stance == "wished" and (stance_of(text) == "wished" or _tells_wish(nearest, text))
    return None if marked or wished or is_hedged(text) else stance


def _tells_wish(evidence: _Evidence, text: str) -> bool:
    """Whether a text repeats the words by which a statement says that it is only a wish."""
    wish = {"want", "wish", "hope", "dream", "like", "想", "希望", "梦想", "愿"}
    there = {word for word in wish if word in evidence.fact.restatement.casefold()}
    return bool(there) and any(word in text.casefold() for word in there)


def _join_evidence(parts: Sequence[LineEvidence]) -> LineEvidence:
    """The evidence of a line that rests on all of these; the last day counts."""
    messages = tuple(dict.fromkeys(message for one in parts for message in one.messages))
    return replace(parts[-1], messages=messages, importance=max(one.importance for one in parts))


def _read_operation(value: object) -> Operation | None:
    named = isinstance(value, Mapping) and first_of(value, "deed", "op", "operation", "action", "type")
    deed = _DEED_FORMS.get(line_of(named).casefold())
    if deed is None or not isinstance(value, Mapping):
        return None
    return Operation(
        deed,
        lines=tuple(sorted(filter(None, handles_of(first_of(value, "lines", "line", "number", "id"))))),
        text=line_of(first_of(value, "text", "new", "content")),
        date=parse_date(line_of(value.get("date"))),
        facts=handles_of(first_of(value, "facts", "fact", "evidence", "turns")),
    )


_DEED_FORMS: Mapping[str, Deed] = {
    **{deed: deed for deed in get_args(Deed)},
    "append": "add", "insert": "add", "new": "add", "update": "change", "replace": "change", "edit": "change",
    "modify": "change", "merge": "change", "close": "end", "finish": "end", "fix": "correct", "remove": "drop",
    "delete": "drop",
}  # fmt: skip


def _language_of_line(text: str) -> Language | None:
    """The language of a line without regard to names; None if unclear."""
    if not unspaced_length(text):
        return "en" if _LATIN_WORD.search(text) else None
    words = [word.casefold() for word in _LATIN_WORD.findall(text)]
    speaks_english = len(words) > 1 and any(word in STOP_WORDS for word in words)
    return "en" if speaks_english and not _GRAMMAR.search(text) else "zh"


@dataclass(frozen=True, slots=True)
class _Read:
    """The letters and the terms of a line."""

    text: str
    bare: str
    terms: frozenset[str]

    def is_like(self, other: _Read) -> bool:
        """Whether two lines say the same: all but one word, and the same numbers."""
        if self.bare == other.bare:
            return True
        shared = len(self.terms & other.terms)
        alike = shared > _ALIKE * (len(self.terms) + len(other.terms) - shared)
        return alike and find_numbers(self.text) == find_numbers(other.text)


def _read_line(text: str) -> _Read:
    return _Read(text, _letters_of(text), telling_terms(text))


def _repeats(text: str, line: str, wholly: bool) -> bool:
    """Whether a text says what a line says and denies as much; ``wholly``: each part of the line is a part of it."""
    said, wanted = ({telling_terms(part) for part in _PART.split(one)} for one in (text, line))
    return (
        _keeps(text, line)
        and _count_denials(text) == _count_denials(line)
        and (wanted - {frozenset()} <= said or not wholly)
    )


def _count_denials(text: str) -> int:
    return sum(map(is_denial, _PART.split(text)))


def _keeps(text: str, line: str, share: float = _KEEPS) -> bool:
    """Whether a text has nearly all words of a line, all its numbers, and as many denials."""
    wanted = telling_terms(_ENDED.sub("", line))
    if not find_numbers(line) <= find_numbers(text) or len(wanted & telling_terms(text)) < share * len(wanted):
        return False
    return _count_denials(line) <= _count_denials(text)


def _letters_of(line: str) -> str:
    return "".join(filter(str.isalnum, normalize_text(line)))


#: The boundary between two parts of a line.
_PART = pattern_of(
    r",(?!\d)|[;!?…()，；。！？（）、“”]|\.(?=\s|$)| - |\b(?:and|but|who|which|while|though)\b"
    r"|并且|而且|以及|但是?|不过",
    re.IGNORECASE,
)
#: What says that an old line, or what has ended, is no longer so.
_FORMERLY = pattern_of(
    r"\b(?:formerly|previously|used to(?: be)?|was set for|until|up to|before|earlier|originally|since|then"
    r"|(?:that|this|its|the|whose) (?:day|date|time) (?:has|is|had|was) (?:now )?(?:passed|past|gone|over))\b"
    r"|原来|原先|原本|原定|原为|以前|之前|此前|先前|从前|曾经?|直到|为止|截至|截止|以来|现为|改为|不再成立|(?<=[\d年月日号])[前后]",
    re.IGNORECASE,
)
#: What makes a line say less than its fact.
_WEAKENS = pattern_of(
    r"\b(?:suppos\w+|presum\w+|apparently|guess\w*|probably|likely|wish\w*|jok\w+|jest)\b"
    r"|据说|听说|推测|猜测?|估计|也许|或许|愿望|希望|开?玩笑",
    re.IGNORECASE,
)
#: What has its day, and then is over.
_FOR_A_DAY = frozenset({"plan", "appointment", "promise", "worry", "event", "trip"})
#: What says that something goes on from a day.
_BEGINS = pattern_of(r"\b(?:from|since|as of|(?:start|begin)s?)\b|(?<=[\d年月日号])起|开始", re.IGNORECASE)
#: Words that add nothing to a fact, in whatever form it says it.
_LIGHT = (
    "lives living works working plans planned wants uses called named goes going keeps has takes drinks eats born self "
    "about since now currently still person people day year years old said says told user companion usually own longer "
    "may might perhaps unclear unsure doubtful hold holds"
)
#: The same in Chinese; and characters that mean nothing alone, or only write a date or an age.
_LIGHT_HAN = frozenset("住在打算计划想要工作上班养叫做名目前现已开始后来一直仍还会用户本人说自己可能许再确定")
_EMPTY = (
    frozenset(
        "的了是在有和与于不就也着过被把从到为年月日号岁约生至起止自共对这那他她它们其之由向给让管跟同及或并又再只都个"
        "以所因此而且则却该时等吗呢吧啊呀么"
    )
    | _LIGHT_HAN
)


#: Pairs of characters that only join others or point to a time, though one of the two may mean something elsewhere.
_LIGHT_PAIRS = frozenset("日子 时候 过去 已经 于是 虽然 尽管 然后 然而 期间 当天 当时 如今 关于 有关 另外 事情".split())  # noqa: SIM905


class _Words:
    """What a text says, to find what a line adds to it."""

    def __init__(self, text: str) -> None:
        self._plain = normalize_text(text)
        self._terms = telling_terms(text)

    def missing_in(self, part: str, neutral: frozenset[str]) -> Iterator[str]:
        """The words of a part that it does not have. Figures are judged elsewhere."""
        for term in telling_terms(part) - neutral - self._terms:
            if not is_unspaced(term[-1]) and not find_numbers(term) and not is_named_in(term, self._plain):
                yield term
        plain = "" if part.isascii() else normalize_text(part)
        for at, character in enumerate(plain):
            if not is_unspaced(character) or character in _EMPTY or find_numbers(character):
                continue
            pairs = [plain[start : start + 2] for start in (at - 1, at) if start >= 0]
            pairs = [pair for pair in pairs if len(pair) == 2 and all(map(is_unspaced, pair))]
            unknown = character not in self._plain or (pairs and not any(map(self._has_pair, pairs)))
            if unknown and neutral.isdisjoint(pairs):
                yield character

    def is_qualified(self, term: str, part: str, olds: Iterable[str]) -> bool:
        """Whether a missing term only qualifies a word of it, as in an old line: the left knee, Osprey Energy."""
        for one, word in pairwise(_LATIN_WORD.findall(part)):
            whole = one[0].isupper() and word[0].isupper() and term in telling_terms(word)
            of = telling_terms(one if whole else word) if whole or term in telling_terms(one) else None
            said = normalize_text(f"{one} {word}")
            if of and of <= self._terms and any(said in normalize_text(old) for old in olds):
                return True
        return False

    def _has_pair(self, pair: str) -> bool:
        beside_light = not _EMPTY.isdisjoint(pair) and all(one in self._plain or one in _EMPTY for one in pair)
        return pair in self._plain or beside_light


#: What shows that two names may change places, and what joins two whose order says nothing.
_TURNS_AROUND = pattern_of(r"\b(?:by|from|to|for|of|with)\b|[被由给从跟和与向对替]")
_PASSIVE = pattern_of(r"(?:\bby|[被由])$")
_JOINS = frozenset({"and", "or", ",", "&", "和", "与", "跟", "、", "，"})
_OWNS = ("'s", "’s", "的")
_STATEMENTS = pattern_of(r"[;!?…。；！？]|\.(?=\s|$)")


def _swaps_names(text: str, evidence: _Evidence, names: Names) -> bool:
    """Whether a part of a text has two names in the reverse order of a statement and the same words between them."""
    statement = evidence.says.partition("\n")[0]
    own = {name: who for who, each in ((PERSON, names.person), (COMPANION, names.companion)) for name in each}
    known = {*own, evidence.fact.subject, *evidence.fact.persons, *latin_names(f"{text}\n{statement}")} - {""}
    longest_first = sorted(known, key=len, reverse=True)
    there = _places_of_names(statement, longest_first, own)
    if len(there) < 2:
        return False
    for part in filter(None, _STATEMENTS.split(text)):
        here = _places_of_names(part, longest_first, own)
        for first, second in permutations(here.keys() & there.keys(), 2):
            if here[first] < here[second] and there[second] < there[first]:
                between = part[slice(here[first][1], here[second][0])].strip()
                before = statement[slice(there[second][1], there[first][0])].strip()
                shared = {*terms(between)} & {*terms(before)} - _EMPTY
                same = between == before or bool(shared)
                turned = [_TURNS_AROUND.findall(one) for one in (between, before)]
                passive = all(map(_PASSIVE.search, (between, before)))
                behind = part[here[second][1] :], statement[there[first][1] :]
                apposed = between in {",", "，"} and all(one.startswith(_OWNS) for one in behind)
                if (passive or (same and turned[0] == turned[1])) and (apposed or between not in _JOINS):
                    return True
    return False


def _places_of_names(text: str, known: Iterable[str], own: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Where each ``known`` name begins and ends in a text; all names of person or companion, their ``own``, are one."""
    places: dict[str, tuple[int, int]] = {}
    for name in known:
        if is_named_in(name, text):
            at = text.find(name)
            places.setdefault(own.get(name, name), (at, at + len(name)))
    return places


def find_concerning(
    lines: Iterable[LineEvidence],
    resting: Mapping[str, Sequence[Fact]],
    new: Iterable[Fact],
    changes: Iterable[tuple[Fact, Fact]],
    own: frozenset[str] = frozenset(),
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """For each line, the ids of the facts about it, and of those that changed, ended or corrected what it states.

    ``resting`` are the facts of messages, by their ids; ``new`` facts are of the session, and ``changes`` are known
    facts with the ones that changed them.
    """
    done = defaultdict(set)
    for known, by in changes:
        done[by.text_id].add(known.text_id)
    concerned, overruled = dict[str, frozenset[str]](), dict[str, frozenset[str]]()
    extracted = tuple(new)
    for line in lines:
        stated = facts_in_line(line, resting)
        ids = {fact.text_id for fact in stated}
        name = line.line.strip()
        overruled[name] = frozenset(one.text_id for one in extracted if not ids.isdisjoint(done[one.text_id]))
        about = (one.text_id for one in extracted if _concerns_line(one, line.line, stated, own))
        concerned[name] = frozenset(about) | overruled[name]
    return concerned, overruled


def is_past(line: str, stated: Sequence[Fact], today: date, written: str = "") -> bool | None:
    """Whether all that a line states is over: it is marked as ended, or every fact has ended or was planned or promised
    for a day before. False where only the day of something that it tells has come, and not before the day of the line,
    ``written``, which counts where it is none of a fact; None where nothing else is over.
    """
    asked = "" if any(written in (one.start, one.end) for one in stated) else written
    kept = [one for one in stated if _keeps(line, one.restatement)]
    if kept and _keeps(" ".join(f"{one.restatement} {one.start} {one.end}" for one in kept), line):
        stated = kept  # the others only share a day or a word with it
    if _is_ended(line, today) or (stated and all(_is_over(one, today) for one in stated)):
        return True
    days = [_day_gone(one, today) for one in kept if one.current]
    return False if any(day and day >= asked[: len(day)] for day in days) else None


def _is_over(fact: Fact, today: date) -> bool:
    """Whether a fact has ended, or was meant for a day that is gone. What has one value holds from that day on."""
    meant = fact.stance in ("planned", "wished") or fact.slot.attribute in _FOR_A_DAY
    gone = fact.corrected or (fact.until and fact.until[:10] <= today.isoformat())
    to_come = meant and not fact.single and not _BEGINS.search(fact.restatement)
    return bool(gone or ((fact.end or to_come) and _day_gone(fact, today)))


def _day_gone(fact: Fact, today: date) -> str:
    """The day that a fact spoke of in advance, or that of its end, if it is gone, else ""."""
    ahead = fact.stance == "planned" or fact.start > fact.said[: len(fact.start)]
    day = fact.end or (fact.start if ahead else "")
    return day if day < today.isoformat()[: len(day)] else ""


def _is_ended(line: str, today: date) -> bool:
    """Whether a line bears the mark of what is over."""
    found = _ENDED.search(line.strip())
    return found is not None and found[1] <= today.isoformat()


def facts_in_line(line: LineEvidence, resting: Mapping[str, Sequence[Fact]]) -> list[Fact]:
    """The facts that a line states: with their value or their words in it, or all if they are in another language."""
    there = list(dict.fromkeys(fact for message in line.messages for fact in resting.get(message, ())))
    spoken = language_of(line.line)
    return [
        fact
        for fact in there
        if _is_in_line(fact.value, line.line)
        or _keeps(line.line, fact.restatement)
        or language_of(fact.restatement) != spoken
    ]


#: Which one of a name a subject is: "Tom Okafor (colleague)".
_WHICH_ONE = pattern_of(r"\s*[(（][^()（）]*[)）]")


def _concerns_line(one: Fact, line: str, stated: Sequence[Fact], own: frozenset[str]) -> bool:
    if one.text_id in {fact.text_id for fact in stated}:
        return True
    if one.single and any(fact.slot == one.slot for fact in stated):
        return True
    whole = (one.slot.subject, normalize_text(one.subject))
    named = {_WHICH_ONE.sub("", name).strip() for name in whole} - {PERSON, COMPANION, ""}
    plain = normalize_text(line)
    if any(is_named_in(name, plain) for name in named if not telling_terms(name) <= own):
        return True
    bonds = (name for fact in stated if fact.slot.attribute in BONDS for name in names_bound(fact))
    said = normalize_text(one.restatement)
    wanted, given = telling_terms(line) - own, telling_terms(one.restatement) - own
    given = frozenset(term for term in given if not _GRAMMAR.search(term))
    shared = wanted & given
    matter = shared - telling_terms(" ".join(latin_names(one.restatement)))  # York alone is no matter
    return (
        _is_in_line(one.value, line, own)
        or 2 * len(shared) > len(wanted)
        or (2 * len(shared) >= len(given) and bool(matter))
        or any(is_named_in(normalize_text(name), said) for name in bonds)
    )


def _is_in_line(value: str, line: str, own: frozenset[str] = frozenset()) -> bool:
    """Whether more than half of a value is in a line."""
    wanted = telling_terms(value) - own
    return bool(wanted) and 2 * len(wanted & telling_terms(line)) >= len(wanted)
