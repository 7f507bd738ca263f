"""Persona updates as operations on numbered lines; a model never copies a line.

Lines written by a person, and pins, never change. A line written by the program has evidence; it can be changed, ended,
corrected or dropped only by facts extracted from the messages that the operation cites. Any other change becomes a new
line. Every part of a line must be supported by those messages. An age becomes a year of birth, a line keeps its
language, and the least important lines are removed when the persona grows too long.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Literal

from domain.facts import Fact, LineEvidence
from domain.patterns import pattern_of
from domain.records import Message
from facts.ages import without_ages
from facts.cues import ends_or_denies, is_hedged, stance_of
from facts.evidence import Source, SpokenWindow, TextFigures, best_sentences, is_named_in, is_reversed, telling_terms
from facts.figures import Figures, wrong_figure
from facts.reply_json import first_of, handles_of, line_of, read_entries
from facts.slots import COMPANION, PERSON, Names, normalize_text
from language.calendar import DAY_NAMES, MONTH_NAMES
from language.numbers import find_numbers
from language.scripts import STOP_WORDS, Language, estimate, is_unspaced, language_of, unspaced_length
from language.times import parse_date
from language.words import names_in

Deed = Literal["add", "change", "end", "correct", "drop"]

#: Longer lines are rejected.
_LONGEST_LINE = 400
#: Two lines that share this much say the same.
_ALIKE = 0.85
_BULLET = pattern_of(r"^\s*(?:[-*•·]\s+|#{1,4}\s+|\d{1,2}[.)、]\s+)?")
_GRAMMAR = pattern_of("[的了是在有和与于不就也都着过被把从到]")
_LATIN_WORD = pattern_of(r"[A-Za-z]+")
_ENDED = pattern_of(r"\((?:until|ended) [^()]*\)$|（(?:至|止于)[^（）]*）$")
_END_MARK: Mapping[Language, str] = {"en": "{} (until {})", "zh": "{}（至{}）"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on a persona. ``line`` is a line number, 0 for a new line; ``turns`` are message numbers."""

    deed: Deed
    line: int
    text: str
    date: str
    importance: int
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperationsRead:
    """The operations of a reply. ``understood``: it contained JSON; if not, it counts as no reply."""

    operations: tuple[Operation, ...]
    rejected: Counter[str]
    understood: bool


@dataclass(frozen=True, slots=True)
class AppliedOperations:
    """The new persona, the evidence of its lines, the lines removed for space, and the rejected operations."""

    text: str
    lines: tuple[LineEvidence, ...]
    moved: tuple[LineEvidence, ...]
    refused: Counter[str]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What allows operations on a persona.

    ``of_companion``: it is the companion's, so that the companion's messages are evidence. ``concerned``: for each line
    the messages with facts about it; an operation needs one of them to change or drop the line.
    """

    of_companion: bool = False
    concerned: Mapping[str, Collection[str]] = field(default_factory=dict)


NOTHING_ALLOWED = Allowed()


def number_lines(persona_text: str) -> tuple[str, ...]:
    """The non-blank lines of a persona by number, from 1."""
    return tuple(line for line in persona_text.splitlines() if line.strip())


def read_operations(reply: str, finish: str = "stop") -> OperationsRead:
    """The operations of a reply, parsed leniently."""
    from pydantic import TypeAdapter, ValidationError

    found = read_entries(reply, finish, "operations", "ops", "changes", "items")
    adapter = TypeAdapter(Operation)
    read: list[Operation] = []
    rejected: Counter[str] = Counter()
    for at, value in enumerate(found.values):
        if found.cut and at == len(found.values) - 1:
            rejected["cut"] += 1
            continue
        try:
            read.append(adapter.validate_python(_read_fields(value)))
        except ValidationError:
            rejected["shape"] += 1
    return OperationsRead(tuple(read), rejected, found.understood)


def apply_operations(
    persona_text: str,
    evidence: Sequence[LineEvidence],
    operations: Sequence[Operation],
    allowed_turns: Sequence[Message],
    pins: Sequence[str],
    language: Language,
    size: int,
    today: date,
    *,
    names: Names | None = None,
    shown: Sequence[str] = (),
    allowed: Allowed = NOTHING_ALLOWED,
) -> AppliedOperations:
    """The persona after these operations.

    ``allowed_turns`` are the turns 1 to n of the operations; ``shown`` are the notes and changes that the model was
    shown; ``size`` is in tokens.
    """
    window = SpokenWindow(allowed_turns, (), names or Names())
    editing = _Editing(persona_text, evidence, pins, _Evidence(window, shown, today, allowed), language)
    for operation in operations:
        editing.apply_operation(operation)
    editing.limit_size(size)
    return editing.make_result()


class _Evidence:
    def __init__(self, window: SpokenWindow, shown: Sequence[str], today: date, allowed: Allowed) -> None:
        self._window = window
        self._allowed = allowed
        self._today = today
        self._shown_texts = tuple(TextFigures(text, today) for text in shown)
        self._shown = normalize_text(" \n ".join(shown))

    def find_sources(self, operation: Operation) -> tuple[Source, ...] | str:
        """The evidence of an operation, or the reason why there is none."""
        named = self._window.find_named(operation.turns)
        if not named:
            return "no turn"
        if any(source.barred for source in named):
            return "forgotten"
        return named if self._find_bearing(named) else "companion's words"

    def may_touch(self, line: str, sources: Sequence[Source]) -> bool:
        """Whether facts from these messages concern a line."""
        turns = self._allowed.concerned.get(line.strip(), ())
        return any(source.turn.text_id in turns for source in sources)

    def _find_bearing(self, named: Sequence[Source]) -> tuple[Source, ...]:
        """The messages among these that count as evidence, with those they agree to and the questions they answer."""
        bearing = self._window.find_bearing(named, self._allowed.of_companion)
        return (*bearing, *self._window.find_answered(bearing))

    def find_unsupported(self, text: str, sources: Sequence[Source], old: str) -> str:
        """Why the messages do not support a text: "unsupported", "polarity" if they say the opposite, or ""."""
        bearing = self._find_bearing(sources)
        wanted = self._window.without_own_names(telling_terms(text))
        if not _is_borne_out(text, bearing, old, telling_terms(text) - wanted):
            return "unsupported"
        best = best_sentences(wanted, bearing)
        return "polarity" if best and is_reversed(text, wanted, best, bearing) else ""

    def read_figures(self, sources: Sequence[Source], *more: str) -> Figures:
        """The figures in these messages, in the material of the prompt, and in more texts."""
        return Figures(
            (*(one.figures for one in sources), *self._shown_texts, *(TextFigures(text, self._today) for text in more))
        )

    def find_missing(self, text: str, sources: Sequence[Source], old: str) -> str:
        """The kind of unsupported name or figure in a text; "" if there is none."""
        figures = self.read_figures(sources, old)
        if wrong := wrong_figure(text, figures):
            return wrong
        strange = [name for name in names_in(text, opening=False) if not self._knows_name(name, sources, old)]
        return "name" if strange else ""

    def only_as(self, text: str, sources: Sequence[Source]) -> str:
        """The stance "joked" or "supposed" of the evidence if a text presents it as fact, else ""."""
        wanted = self._window.without_own_names(telling_terms(text))
        best = best_sentences(wanted, sources)
        tops = [sentence for sentence, score in best if score == best[0][1] and 2 * score >= len(wanted)]
        spoken = {id(one) for source in sources if source.spoken_by_person for one in source.sentences}
        if not tops or not all(id(one) in spoken and one.stance in ("joked", "supposed") for one in tops):
            return ""
        # An answered question is not a supposition.
        said = {stance_of(one.text, one.following) for one in tops}
        return "" if not said <= {"joked", "supposed"} or is_hedged(text) else min(said)

    def _knows_name(self, name: str, sources: Sequence[Source], old: str) -> bool:
        shown = any(is_named_in(normalize_text(name), text) for text in (self._shown, normalize_text(old)))
        return shown or self._window.source_of(name, sources, True) is not None


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    evidence: LineEvidence | None
    pinned: bool = False


class _Editing:
    """The lines of a persona during an update, by their numbers in the prompt."""

    def __init__(
        self, text: str, evidence: Sequence[LineEvidence], pins: Sequence[str], grounds: _Evidence, language: Language
    ) -> None:
        written = {each.line.strip(): each for each in evidence}
        pinned = {_letters_of(pin) for pin in pins if pin.strip()}
        self._lines: list[_Line | None] = [
            _Line(line, written.get(line.strip()), _letters_of(line) in pinned) for line in text.splitlines()
        ]
        self._places = [at for at, line in enumerate(self._lines) if line and line.text.strip()]
        self._grounds = grounds
        self._language = language
        self._moved: list[LineEvidence] = []
        self._refused: Counter[str] = Counter()
        self._read = lru_cache(None)(_read_line)
        bullets = Counter(_BULLET.match(line)[0] for line in number_lines(text))  # type: ignore[index]
        common = bullets.most_common(1)
        self._bullet = common[0][0] if common and "#" not in common[0][0] and not re.search(r"\d", common[0][0]) else ""

    def apply_operation(self, operation: Operation) -> None:
        """Apply one operation, or count why it was rejected."""
        sources = self._grounds.find_sources(operation)
        reason = sources if isinstance(sources, str) else self._execute_operation(operation, sources)
        if reason:
            self._refused[reason] += 1

    def make_result(self) -> AppliedOperations:
        """The current text of the persona."""
        lines = [line for line in self._lines if line]
        kept = tuple(replace(line.evidence, line=line.text.strip()) for line in lines if line.evidence)
        return AppliedOperations("\n".join(line.text for line in lines), kept, tuple(self._moved), self._refused)

    def limit_size(self, size: int) -> None:
        """Remove the least important lines until the persona has this size: past, unimportant and old ones first."""
        removable = [
            (not _ENDED.search(line.text), line.evidence.importance, line.evidence.date, at, line.evidence)
            for at, line in enumerate(self._lines)
            if line and line.evidence and not line.pinned
        ]
        for *_, at, evidence in sorted(removable, key=lambda one: one[:4]):
            line = self._lines[at]
            if line is None or estimate(self.make_result().text) <= size:
                return
            self._moved.append(replace(evidence, line=line.text.strip()))
            self._lines[at] = None

    # --- one operation

    def _execute_operation(self, operation: Operation, sources: tuple[Source, ...]) -> str:
        if operation.deed == "add":
            return self._add_line(operation, sources)
        if not 0 < operation.line <= len(self._places):
            return "no such line"
        place = self._places[operation.line - 1]
        line = self._lines[place]
        if line is None:
            return "no such line"
        if line.pinned:
            return "pinned"
        if line.evidence is None:
            return self._add_line(operation, sources) if operation.deed in ("change", "correct") else "written by hand"
        if not self._grounds.may_touch(line.evidence.line, sources):
            return "unconcerned"
        if operation.deed == "end":
            return self._end_line(place, line, operation, sources)
        if operation.deed != "drop":
            return self._change_line(place, line, operation, sources)
        self._lines[place] = None
        return ""

    def _add_line(self, operation: Operation, sources: tuple[Source, ...]) -> str:
        text = _text_of(operation, sources)
        reason = self._find_refusal(text, self._language, sources, "")
        if not reason:
            self._lines.append(_Line(self._bullet + text, _make_evidence(text, operation, sources, self._grounds)))
        return reason

    def _change_line(self, place: int, line: _Line, operation: Operation, sources: tuple[Source, ...]) -> str:
        text = _text_of(operation, sources)
        old = _BULLET.sub("", line.text)
        reason = self._find_refusal(text, _language_of_line(old) or self._language, sources, old)
        if reason:
            return reason
        evidence = _make_evidence(text, operation, sources, self._grounds)
        # A line that repeats part of the old line keeps its evidence, too.
        if line.evidence and self._rests_on_old(text, sources, old):
            evidence = replace(evidence, turns=tuple(dict.fromkeys((*line.evidence.turns, *evidence.turns))))
        self._lines[place] = _Line(line.text[: len(line.text) - len(old)] + text, evidence)
        return ""

    def _end_line(self, place: int, line: _Line, operation: Operation, sources: tuple[Source, ...]) -> str:
        if _ENDED.search(line.text):
            return "repeats"
        evidence = _make_evidence(line.text, operation, sources, self._grounds)
        marked = _END_MARK[_language_of_line(line.text) or self._language]
        turns = tuple(dict.fromkeys((*(line.evidence.turns if line.evidence else ()), *evidence.turns)))
        text = self._reworded_as_over(line, operation, sources)
        if not text or evidence.date not in text:
            text = marked.format((text or line.text).rstrip(" .。"), evidence.date)
        self._lines[place] = _Line(text, replace(evidence, turns=turns))
        return ""

    def _reworded_as_over(self, line: _Line, operation: Operation, sources: tuple[Source, ...]) -> str:
        """The operation's text for an ended line if it says so and is supported, else ""."""
        text, old = _text_of(operation, sources), _BULLET.sub("", line.text)
        if not text or not ends_or_denies(text):
            return ""
        language = _language_of_line(old) or self._language
        unfit = self._find_unfit(text, language, sources, old)
        if unfit or self._grounds.find_unsupported(text, sources, old):
            return ""
        return line.text[: len(line.text) - len(old)] + text

    def _find_unfit(self, text: str, language: Language, sources: tuple[Source, ...], old: str) -> str:
        if not text or len(text) > _LONGEST_LINE:
            return "no text" if not text else "too long"
        if (_language_of_line(text) or language) != language:
            return "language"
        return self._grounds.find_missing(text, sources, old) or self._grounds.only_as(text, sources)

    def _find_refusal(self, text: str, language: Language, sources: tuple[Source, ...], old: str) -> str:
        if unfit := self._find_unfit(text, language, sources, old):
            return unfit
        if any(self._read(text).is_like(self._read(line.text)) for line in self._lines if line):
            return "repeats"
        return self._grounds.find_unsupported(text, sources, old)

    def _rests_on_old(self, text: str, sources: tuple[Source, ...], old: str) -> bool:
        """Whether a changed line repeats something found only in the old line."""
        if self._grounds.find_missing(text, sources, ""):
            return True
        here = frozenset().union(*(sentence.terms for source in sources for sentence in source.sentences))
        return bool((telling_terms(text) & telling_terms(old)) - here)


def _read_fields(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    line = handles_of(first_of(value, "line", "number", "id"))
    deed = line_of(first_of(value, "deed", "op", "operation", "action", "type")).casefold()
    return {
        "deed": _DEED_FORMS.get(deed, deed),
        "line": line[0] if line else 0,
        "text": line_of(first_of(value, "text", "new", "content")),
        "date": parse_date(line_of(value.get("date"))),
        "importance": min(10, max(1, (handles_of(value.get("importance")) or (5,))[0])),
        "turns": handles_of(first_of(value, "turns", "turn", "evidence")),
    }


_DEED_FORMS = {
    "append": "add", "insert": "add", "new": "add", "update": "change", "replace": "change", "edit": "change",
    "modify": "change", "close": "end", "finish": "end", "fix": "correct", "remove": "drop", "delete": "drop",
}  # fmt: skip


def _text_of(operation: Operation, sources: Sequence[Source]) -> str:
    """The text of an operation as a line, without bullet and age."""
    return without_ages(_BULLET.sub("", operation.text, count=1).strip(), sources[-1].said)


def _make_evidence(text: str, operation: Operation, sources: Sequence[Source], grounds: _Evidence) -> LineEvidence:
    """The evidence of a line, with the operation's date if its messages support it, else the date of the last one."""
    dated = operation.date if operation.date and grounds.read_figures(sources).bears_date(operation.date) else ""
    turns = tuple(source.turn.text_id for source in sources)
    return LineEvidence(text, turns, dated or sources[-1].said.isoformat(), operation.importance)


def _language_of_line(text: str) -> Language | None:
    """The language of a line without regard to names; None if unclear."""
    words = [word.casefold() for word in _LATIN_WORD.findall(text)]
    han = unspaced_length(text)
    if not han:
        return "en" if words else None
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
        alike = shared > _ALIKE * len(self.terms | other.terms)
        return alike and find_numbers(self.text) == find_numbers(other.text)


def _read_line(text: str) -> _Read:
    return _Read(text, _letters_of(text), telling_terms(text))


def _letters_of(line: str) -> str:
    return "".join(character for character in normalize_text(line) if character.isalnum())


#: The boundary between two parts of a line; what precedes a colon is only a heading.
_PART = pattern_of(
    r",(?!\d)|[;!?…()，；。！？（）、]|\.(?=\s|$)| - |\b(?:and|but|who|which|while|though)\b"
    r"|并且|而且|以及|但是?|不过",
    re.IGNORECASE,
)
#: Characters that mean nothing alone, or only write a date or an age.
_EMPTY = frozenset("的了是在有和与于不就也着过被把从到为年月日号岁约生至起止自共")


def _is_borne_out(text: str, sources: Sequence[Source], old: str, own: frozenset[str]) -> bool:
    """Whether at least half of each part of a line is in these messages or in the old line.

    ``own`` are the terms of the names of person and companion, which are in every line. A number that is there counts;
    any other may be a day or a year of birth, which is judged elsewhere.
    """
    said = normalize_text("\n".join([*(source.text for source in sources), old]))
    terms = telling_terms(old).union(*(one.terms for source in sources for one in source.sentences))
    numbers = find_numbers(old).union(*(source.figures.numbers for source in sources))
    neutral = own | _calendar_terms()
    for part in _PART.split(text):
        wanted = [term for term in telling_terms(part) - neutral if not is_unspaced(term[-1])]
        counted = [term for term in wanted if numbers & find_numbers(term) or not find_numbers(term)]
        stand = [term in terms or bool(find_numbers(term)) for term in counted]
        characters = list(_match_characters(normalize_text(part), said, own))
        if 2 * (sum(stand) + sum(characters)) < len(stand) + len(characters):
            return False
    return True


def _match_characters(part: str, said: str, own: frozenset[str]) -> Iterator[bool]:
    """For each meaningful character of a script without spaces, whether it occurs next to another one."""
    for at, character in enumerate(part):
        if not is_unspaced(character):
            continue
        pairs = [part[start : start + 2] for start in (at - 1, at) if start >= 0]
        pairs = [pair for pair in pairs if len(pair) == 2 and is_unspaced(pair[0]) and is_unspaced(pair[1])]
        stands = any(pair in said for pair in pairs)
        if own.isdisjoint(pairs) and (stands or character not in _EMPTY):
            yield stands


@lru_cache(1)
def _calendar_terms() -> frozenset[str]:
    """The terms of dates, ages and ends."""
    return telling_terms(
        " ".join((*MONTH_NAMES, *DAY_NAMES, "born about since until ended before previously formerly now currently"))
    )


def find_concerning_messages(
    lines: Iterable[LineEvidence],
    resting: Mapping[str, Sequence[Fact]],
    new: Iterable[Fact],
    changes: Iterable[tuple[Fact, Fact]],
    own: frozenset[str] = frozenset(),
) -> dict[str, frozenset[str]]:
    """For each line, the messages with facts about it.

    ``resting`` are the facts of messages, by their ids; ``new`` facts were extracted, and ``changes`` are known
    facts with the new ones that changed them.
    """
    done = defaultdict(set)
    for known, by in changes:
        done[by.text_id].add(known.text_id)
    found: dict[str, frozenset[str]] = {}
    extracted = tuple(new)
    for line in lines:
        stated = _facts_in_line(line, resting)
        touching = [one for one in extracted if _concerns_line(one, line.line, stated, done[one.text_id], own)]
        found[line.line.strip()] = frozenset(turn for one in touching for turn in one.turns)
    return found


def _facts_in_line(line: LineEvidence, resting: Mapping[str, Sequence[Fact]]) -> list[Fact]:
    """The facts that a line states: those with their value in it, or all its evidence if it is in another language."""
    there = list(dict.fromkeys(fact for turn in line.turns for fact in resting.get(turn, ())))
    spoken = language_of(line.line)
    return [fact for fact in there if _is_in_line(fact.value, line.line) or language_of(fact.restatement) != spoken]


def _concerns_line(one: Fact, line: str, stated: Sequence[Fact], changed: Iterable[str], own: frozenset[str]) -> bool:
    ids = {fact.text_id for fact in stated}
    if one.text_id in ids or not ids.isdisjoint(changed):
        return True
    if one.single and any(fact.slot == one.slot for fact in stated):
        return True
    named = {one.slot.subject, normalize_text(one.subject)} - {PERSON, COMPANION, ""}
    plain = normalize_text(line)
    if any(is_named_in(name, plain) for name in named if not telling_terms(name) <= own):
        return True
    return _is_in_line(one.value, line, own)


def _is_in_line(value: str, line: str, own: frozenset[str] = frozenset()) -> bool:
    """Whether more than half of a value is in a line."""
    wanted = telling_terms(value) - own
    return bool(wanted) and 2 * len(wanted & telling_terms(line)) >= len(wanted)
