"""Changes an image by operations on its numbered lines; a model never copies a line.

Lines that a person wrote, and pins, stay as they are: only a line that the program wrote, which therefore has evidence,
can be changed, ended, corrected or dropped, and only by what was extracted from turns that the operation names; what a
model would change in another one becomes a line of its own. What a line says stands in those turns; names, numbers and
days in it stand there or in what the model was told. An age becomes a year of birth, a line keeps its language, and the
size is held by moving out what matters least.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Literal

from domain.facts import LineEvidence
from domain.languages import STOP_WORDS, Language, estimate, names_in, unspaced_length
from domain.records import Turn
from domain.text import pattern_of
from facts.ages import without_ages
from facts.bearing import borne_out
from facts.cues import ends_or_denies, hedges, stance_of
from facts.dates import iso_of
from facts.evidence import Source, SpokenWindow, best_sentences, is_reversed, stands_in, telling
from facts.figures import Figures, ReadText, wrong_figure
from facts.numbers import mentioned
from facts.reply_json import entries, first_of, handles_of, line_of
from facts.slots import Names, folded

Deed = Literal["add", "change", "end", "correct", "drop"]

#: A longer line is no line, but an image in an image.
_LONGEST_LINE = 400
#: Two lines that share so much say the same.
_ALIKE = 0.85
_BULLET = pattern_of(r"^\s*(?:[-*•·]\s+|#{1,4}\s+|\d{1,2}[.)、]\s+)?")
_GRAMMAR = pattern_of("[的了是在有和与于不就也都着过被把从到]")
_LATIN_WORD = pattern_of(r"[A-Za-z]+")
_ENDED = pattern_of(r"\((?:until|ended) [^()]*\)$|（(?:至|止于)[^（）]*）$")
_END_MARK: Mapping[Language, str] = {"en": "{} (until {})", "zh": "{}（至{}）"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to be done to an image. ``line`` is the number of a line, 0 for a new one; ``turns`` are numbers."""

    deed: Deed
    line: int
    text: str
    date: str
    importance: int
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperationsRead:
    """The operations of a reply. ``understood``: it was JSON; if not, it is as good as no reply."""

    operations: tuple[Operation, ...]
    rejected: Counter[str]
    understood: bool


@dataclass(frozen=True, slots=True)
class Applied:
    """The image afterwards, what its program-written lines rest on, what went to make room, and what was refused."""

    text: str
    lines: tuple[LineEvidence, ...]
    moved: tuple[LineEvidence, ...]
    refused: Counter[str]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What lets operations touch an image.

    ``of_companion``: it is the companion's own, so that the companion's words bear a line out. ``concerned``: for each
    line the turns from which something was extracted that concerns it; no other operation may change or drop it.
    """

    of_companion: bool = False
    concerned: Mapping[str, Collection[str]] = field(default_factory=dict)


NOTHING_ALLOWED = Allowed()


def numbered(image_text: str) -> tuple[str, ...]:
    """The lines of an image that can be named, line 1 first; blank ones cannot."""
    return tuple(line for line in image_text.splitlines() if line.strip())


def read_operations(reply: str, finish: str = "stop") -> OperationsRead:
    """The operations of a reply, read as leniently as notes are."""
    from pydantic import TypeAdapter, ValidationError

    found = entries(reply, finish, "operations", "ops", "changes", "items")
    adapter = TypeAdapter(Operation)
    read: list[Operation] = []
    rejected: Counter[str] = Counter()
    for at, value in enumerate(found.values):
        if found.cut and at == len(found.values) - 1:
            rejected["cut"] += 1
            continue
        try:
            read.append(adapter.validate_python(_fields(value)))
        except ValidationError:
            rejected["shape"] += 1
    return OperationsRead(tuple(read), rejected, found.understood)


def applied(
    image_text: str,
    evidence: Sequence[LineEvidence],
    operations: Sequence[Operation],
    allowed_turns: Sequence[Turn],
    pins: Sequence[str],
    language: Language,
    size: int,
    today: date,
    *,
    names: Names | None = None,
    told: Sequence[str] = (),
    allowed: Allowed = NOTHING_ALLOWED,
) -> Applied:
    """The image after these operations.

    ``allowed_turns`` are the turns 1 to n of the operations; ``told`` are the notes and changes that the model was
    shown; ``size`` is in tokens.
    """
    window = SpokenWindow(allowed_turns, (), names or Names())
    editing = _Editing(image_text, evidence, pins, _Grounds(window, told, today, allowed), language)
    for operation in operations:
        editing.apply(operation)
    editing.hold(size)
    return editing.result()


class _Grounds:
    """What the text of an operation may draw on."""

    def __init__(self, window: SpokenWindow, told: Sequence[str], today: date, allowed: Allowed) -> None:
        self._window = window
        self._allowed = allowed
        self._today = today
        self._told_texts = tuple(ReadText(text, today) for text in told)
        self._told = folded(" \n ".join(told))

    def sources(self, operation: Operation) -> tuple[Source, ...] | str:
        """The turns that an operation rests on, or why it rests on none."""
        named = self._window.named(operation.turns)
        if not named:
            return "no turn"
        if any(source.barred for source in named):
            return "forgotten"
        return named if self._bearing(named) else "companion's words"

    def may_touch(self, line: str, sources: Sequence[Source]) -> bool:
        """Whether what was extracted from these turns concerns a line."""
        turns = self._allowed.concerned.get(line.strip(), ())
        return any(source.turn.text_id in turns for source in sources)

    def _bearing(self, named: Sequence[Source]) -> tuple[Source, ...]:
        """Those of these turns that may bear a line out, with what they agree to and the questions that they answer."""
        bearing = self._window.bearing(named, self._allowed.of_companion)
        return (*bearing, *self._window.answered(bearing))

    def unsupported(self, text: str, sources: Sequence[Source], old: str) -> str:
        """Why the turns do not say what a text says: "unsupported", or "polarity" for the contrary; else ""."""
        bearing = self._bearing(sources)
        own = telling(text) - self._window.without_own_names(telling(text))
        if not borne_out(text, bearing, old, own):
            return "unsupported"
        wanted = self._window.without_own_names(telling(text))
        best = best_sentences(wanted, bearing)
        return "polarity" if best and is_reversed(text, wanted, best, bearing) else ""

    def figures(self, sources: Sequence[Source], *more: str) -> Figures:
        """The numbers and days that stand in these turns, in what the model was told, and in more texts."""
        return Figures(sources, (*self._told_texts, *(ReadText(text, self._today) for text in more)))

    def missing(self, text: str, sources: Sequence[Source], old: str) -> str:
        """What kind of thing in a text stands nowhere; nothing when all of it does."""
        figures = self.figures(sources, old)
        if wrong := wrong_figure(text, figures):
            return wrong
        strange = [name for name in names_in(text, opening=False) if not self._knows(name, sources, old)]
        return "name" if strange else ""

    def only_as(self, text: str, sources: Sequence[Source]) -> str:
        """How a person said it at the most, "joked" or "supposed", where a text tells it as if it were so; else ""."""
        wanted = self._window.without_own_names(telling(text))
        best = best_sentences(wanted, sources)
        tops = [sentence for sentence, score in best if score == best[0][1] and 2 * score >= len(wanted)]
        spoken = {id(one) for source in sources if source.spoken_by_person for one in source.sentences}
        if not tops or not all(id(one) in spoken and one.stance in ("joked", "supposed") for one in tops):
            return ""
        # A question that was answered is no supposition.
        said = {stance_of(one.text, one.following) for one in tops}
        return "" if not said <= {"joked", "supposed"} or hedges(text) else min(said)

    def _knows(self, name: str, sources: Sequence[Source], old: str) -> bool:
        if any(stands_in(folded(name), text) for text in (self._told, folded(old))):
            return True
        return self._window.source_of(name, sources, True) is not None


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    evidence: LineEvidence | None
    pinned: bool = False


class _Editing:
    """The lines of an image while they are changed; their numbers are those that the model was shown."""

    def __init__(
        self,
        text: str,
        evidence: Sequence[LineEvidence],
        pins: Sequence[str],
        grounds: _Grounds,
        language: Language,
    ) -> None:
        written = {each.line.strip(): each for each in evidence}
        pinned = {_bare(pin) for pin in pins if pin.strip()}
        self._lines: list[_Line | None] = [
            _Line(line, written.get(line.strip()), _bare(line) in pinned) for line in text.splitlines()
        ]
        self._places = [at for at, line in enumerate(self._lines) if line and line.text.strip()]
        self._grounds = grounds
        self._language = language
        self._moved: list[LineEvidence] = []
        self._refused: Counter[str] = Counter()
        self._read = lru_cache(None)(_read_line)
        bullets = Counter(_BULLET.match(line)[0] for line in numbered(text))  # type: ignore[index]
        common = bullets.most_common(1)
        self._bullet = (
            common[0][0] if common and "#" not in common[0][0] and not re.search(r"\d", common[0][0]) else ""
        )

    def apply(self, operation: Operation) -> None:
        """Do one thing, or count why not."""
        sources = self._grounds.sources(operation)
        if isinstance(sources, str):
            self._refused[sources] += 1
            return
        if reason := self._done(operation, sources):
            self._refused[reason] += 1

    def result(self) -> Applied:
        """The image as it is now."""
        lines = [line for line in self._lines if line]
        kept = tuple(replace(line.evidence, line=line.text.strip()) for line in lines if line.evidence)
        return Applied("\n".join(line.text for line in lines), kept, tuple(self._moved), self._refused)

    def hold(self, size: int) -> None:
        """Move out what matters least until the image has this size: what is past, what is unimportant, what is old."""
        order = sorted(
            (at for at, line in enumerate(self._lines) if line and line.evidence and not line.pinned),
            key=self._weight,
        )
        for at in order:
            if estimate(self.result().text) <= size:
                return
            line = self._lines[at]
            if line and line.evidence:
                self._moved.append(replace(line.evidence, line=line.text.strip()))
                self._lines[at] = None

    def _weight(self, at: int) -> tuple[bool, int, str, int]:
        line = self._lines[at]
        assert line is not None
        assert line.evidence is not None
        return not _ENDED.search(line.text), line.evidence.importance, line.evidence.date, at

    # --- one operation

    def _done(self, operation: Operation, sources: tuple[Source, ...]) -> str:
        """Do it; the reason why not otherwise."""
        if operation.deed == "add":
            return self._add(operation, sources)
        if not 0 < operation.line <= len(self._places):
            return "no such line"
        place = self._places[operation.line - 1]
        line = self._lines[place]
        if line is None:
            return "no such line"
        if line.pinned:
            return "pinned"
        if line.evidence is None:
            return (
                self._add(operation, sources)
                if operation.deed in ("change", "correct")
                else "written by hand"
            )
        if not self._grounds.may_touch(line.evidence.line, sources):
            return "unconcerned"
        if operation.deed == "drop":
            self._lines[place] = None
            return ""
        return (
            self._end(place, line, operation, sources)
            if operation.deed == "end"
            else self._change(place, line, operation, sources)
        )

    def _add(self, operation: Operation, sources: tuple[Source, ...]) -> str:
        text = _text_of(operation, sources)
        reason = self._refusal(text, self._language, sources, "")
        if not reason:
            self._lines.append(_Line(self._bullet + text, _evidence(text, operation, sources, self._grounds)))
        return reason

    def _change(self, place: int, line: _Line, operation: Operation, sources: tuple[Source, ...]) -> str:
        text = _text_of(operation, sources)
        old = _BULLET.sub("", line.text)
        reason = self._refusal(text, _language_of_line(old) or self._language, sources, old)
        if reason:
            return reason
        evidence = _evidence(text, operation, sources, self._grounds)
        # What still says something of the old line rests on the turns of the old line, too.
        if line.evidence and self._rests_on_old(text, sources, old):
            evidence = replace(evidence, turns=tuple(dict.fromkeys((*line.evidence.turns, *evidence.turns))))
        self._lines[place] = _Line(line.text[: len(line.text) - len(old)] + text, evidence)
        return ""

    def _end(self, place: int, line: _Line, operation: Operation, sources: tuple[Source, ...]) -> str:
        if _ENDED.search(line.text):
            return "repeats"
        evidence = _evidence(line.text, operation, sources, self._grounds)
        marked = _END_MARK[_language_of_line(line.text) or self._language]
        turns = tuple(dict.fromkeys((*(line.evidence.turns if line.evidence else ()), *evidence.turns)))
        text = self._told_as_over(line, operation, sources)
        if not text or evidence.date not in text:
            text = marked.format((text or line.text).rstrip(" .。"), evidence.date)
        self._lines[place] = _Line(text, replace(evidence, turns=turns))
        return ""

    def _told_as_over(self, line: _Line, operation: Operation, sources: tuple[Source, ...]) -> str:
        """The line as the operation tells it, where it says that it is over and all of it holds; else ""."""
        text, old = _text_of(operation, sources), _BULLET.sub("", line.text)
        if not text or not ends_or_denies(text):
            return ""
        language = _language_of_line(old) or self._language
        return (
            ""
            if self._unfit(text, language, sources, old) or self._grounds.unsupported(text, sources, old)
            else line.text[: len(line.text) - len(old)] + text
        )

    def _unfit(self, text: str, language: Language, sources: tuple[Source, ...], old: str) -> str:
        if not text or len(text) > _LONGEST_LINE:
            return "no text" if not text else "too long"
        if (_language_of_line(text) or language) != language:
            return "language"
        return self._grounds.missing(text, sources, old) or self._grounds.only_as(text, sources)

    def _refusal(self, text: str, language: Language, sources: tuple[Source, ...], old: str) -> str:
        """Why a text may not become a line; nothing where it may."""
        unfit = self._unfit(text, language, sources, old) or self._repeated(text)
        return unfit or self._grounds.unsupported(text, sources, old)

    def _rests_on_old(self, text: str, sources: tuple[Source, ...], old: str) -> bool:
        """Whether a changed line says something that stands in the old line alone."""
        if self._grounds.missing(text, sources, ""):
            return True
        here = frozenset().union(*(sentence.terms for source in sources for sentence in source.sentences))
        return bool((telling(text) & telling(old)) - here)

    def _repeated(self, text: str) -> str:
        others = [self._read(line.text) for line in self._lines if line]
        return "repeats" if any(self._read(text).is_like(other) for other in others) else ""


def _fields(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    line = handles_of(first_of(value, "line", "number", "id"))
    deed = line_of(first_of(value, "deed", "op", "operation", "action", "type")).casefold()
    return {
        "deed": _DEED_FORMS.get(deed, deed),
        "line": line[0] if line else 0,
        "text": line_of(first_of(value, "text", "new", "content")),
        "date": iso_of(line_of(value.get("date"))),
        "importance": min(10, max(1, (handles_of(value.get("importance")) or (5,))[0])),
        "turns": handles_of(first_of(value, "turns", "turn", "evidence")),
    }


_DEED_FORMS = {
    "append": "add", "insert": "add", "new": "add", "update": "change", "replace": "change", "edit": "change",
    "modify": "change", "close": "end", "finish": "end", "fix": "correct", "remove": "drop", "delete": "drop",
}  # fmt: skip


def _text_of(operation: Operation, sources: Sequence[Source]) -> str:
    """The text of an operation as a line: no bullet, no age."""
    return without_ages(_BULLET.sub("", operation.text, count=1).strip(), sources[-1].said)


def _evidence(text: str, operation: Operation, sources: Sequence[Source], grounds: _Grounds) -> LineEvidence:
    """What a line rests on, dated as the operation says where that follows from its turns, else by the last of them."""
    dated = operation.date if operation.date and grounds.figures(sources).bears(operation.date) else ""
    turns = tuple(source.turn.text_id for source in sources)
    return LineEvidence(text, turns, dated or sources[-1].said.isoformat(), operation.importance)


def _language_of_line(text: str) -> Language | None:
    """What a line is written in; names in the other script make no difference. None where nothing tells."""
    words = [word.casefold() for word in _LATIN_WORD.findall(text)]
    han = unspaced_length(text)
    if not han:
        return "en" if words else None
    speaks_english = len(words) > 1 and any(word in STOP_WORDS for word in words)
    return "en" if speaks_english and not _GRAMMAR.search(text) else "zh"


@dataclass(frozen=True, slots=True)
class _Read:
    """What a line says: its letters alone, and its terms."""

    text: str
    bare: str
    terms: frozenset[str]

    def is_like(self, other: _Read) -> bool:
        """Whether two lines say the same: all but a word of them, and the same numbers."""
        if self.bare == other.bare:
            return True
        shared = len(self.terms & other.terms)
        alike = shared > _ALIKE * len(self.terms | other.terms)
        return alike and mentioned(self.text) == mentioned(other.text)


def _read_line(text: str) -> _Read:
    return _Read(text, _bare(text), telling(text))


def _bare(line: str) -> str:
    return "".join(character for character in folded(line) if character.isalnum())
