"""What the page is told of a memory: frozen values out of records, with sentences in the language of whoever reads.

Times go out as they are stored, and the browser shows them as its own; words go out as they were said, and are
only ever shown as text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.facts import About, Fact, FactEvent, Relation
from domain.recollection import (
    FactMark,
    RecalledChapter,
    RecalledFact,
    RecalledOther,
    RecalledSummary,
    RecalledTurn,
    Recollection,
)
from domain.records import PREFIX, ErasureScope, Finish, Role, Session, Turn
from domain.text import one_line, quotation_spans, without_tags
from interfaces.messages import Words
from interfaces.messages.reasons import reasons
from jobs.erasing import Erased

_TITLE, _SNIPPET = 120, 240
#: What is shown before the word that was searched for.
_BEFORE = 24
#: What may be in front of the words of a summary's first line.
_MARKUP = "#*->_ \t"
#: Turns, and statements, that are shown of what would be erased.
_MOST_SHOWN = 20


@dataclass(frozen=True)
class PageTurn:
    """One message; ``speaker`` is who said it where that was neither the person nor the companion.

    ``quoted`` has the day of the memory that each outermost quotation repeats, "" for one that is in no memory.
    """

    id: str
    session: str
    when: str
    role: Role
    text: str
    finish: Finish
    withheld: bool
    standin: bool
    speaker: str
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageSession:
    """A session in a list. ``title``: how it begins, or what it came to. ``door``: where it is held.

    ``found`` is what holds the words that were searched for.
    """

    id: str
    began: str
    active: bool
    messages: int
    door: str
    title: str
    found: str = ""


@dataclass(frozen=True)
class PageFact:
    """A fact in a list. ``matter`` is what it is about; ``marks`` are what is to be known before it is believed."""

    number: int
    id: str
    text: str
    about: About
    matter: str
    since: str
    until: str
    current: bool
    kept: bool
    by_hand: bool
    marks: tuple[str, ...]
    replaced_by: int | None = None


@dataclass(frozen=True)
class PageEvent:
    """One thing that happened to a fact."""

    when: str
    text: str


@dataclass(frozen=True)
class PageEvidence:
    """A fact with the turns that it rests on, and what happened to it."""

    fact: PageFact
    turns: tuple[PageTurn, ...]
    history: tuple[PageEvent, ...]


@dataclass(frozen=True)
class PageRelation:
    """How two things stand to each other, and the fact that says so."""

    source: str
    relation: str
    target: str
    fact: int


@dataclass(frozen=True)
class PageMemory:
    """Something that was recalled, and the ``reasons`` in words. ``number`` is that of a fact.

    ``speaker`` is as in a ``PageTurn``, or the name of the memory of others that it is from.
    """

    kind: str
    id: str
    session: str
    when: str
    role: str
    text: str
    reasons: tuple[str, ...]
    marks: tuple[str, ...]
    number: int | None = None
    speaker: str = ""


@dataclass(frozen=True)
class PageRecalled:
    """What was recalled for a reply; ``said`` is what it was recalled for, ``lacking`` what could not take part."""

    memories: tuple[PageMemory, ...]
    queries: tuple[str, ...]
    lacking: str


@dataclass(frozen=True)
class PageScope:
    """What an erasure would take. Who agrees to it sends ``mark``, so that nothing else goes than what was shown."""

    mark: str
    nothing: bool
    turns: tuple[PageTurn, ...]
    known: tuple[str, ...]
    more: int
    counts: str


@dataclass(frozen=True)
class PageProof:
    """What was erased, and what the search of every file found of it."""

    done: str
    anew: str
    proof: str
    files: int
    searched: int
    traces: int


def turn_shape(turn: Turn) -> PageTurn:
    """A message."""
    days = {one.number: one.timestamp[:10] for one in turn.quoted}
    return PageTurn(
        turn.text_id, turn.session_id, turn.timestamp, turn.role, turn.words, turn.finish, turn.withheld,
        turn.standin, turn.speaker, tuple(days.get(at, "") for at in range(len(quotation_spans(turn.words)))),
    )  # fmt: skip


def session_shape(session: Session, turns: Sequence[Turn], summary: str, found: str = "") -> PageSession:
    """A session with its turns; what is withheld is no title."""
    said = next((turn.words for turn in turns if turn.role == "user" and not turn.withheld), "")
    lines = (line.strip(_MARKUP) for line in (summary or without_tags(said)).splitlines())
    title = next((line for line in lines if line), "")
    return PageSession(
        session.session_id, session.start_timestamp, session.status == "active", len(turns), session.door,
        one_line(title, _TITLE), found,
    )  # fmt: skip


def around(text: str, words: Sequence[str]) -> str:
    """The part of a text around the first of some words, on one line."""
    line = one_line(without_tags(text), len(text) + 1)
    places = [at for word in words if (at := line.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    return one_line(f"{'…' if start else ''}{line[start:]}", _TITLE)


def fact_shape(words: Words, fact: Fact, numbers: Mapping[str, int]) -> PageFact:
    """A fact; ``numbers`` are those of facts that took the place of others."""
    matter = fact.subject if fact.about == "other" else fact.topic or fact.attribute
    return PageFact(
        fact.number, fact.text_id, fact.restatement, fact.about, matter, fact.since, fact.until, fact.current,
        fact.kept, fact.decided == "hand", _fact_marks(words, fact), numbers.get(fact.replaced_by),
    )  # fmt: skip


def _fact_marks(words: Words, fact: Fact) -> tuple[str, ...]:
    marks = [words.say("facts.mark.wrong")] if fact.corrected else []
    kept = [words.say("facts.mark.kept")] if fact.kept else []
    return (*_doubts(words, fact), *marks, *kept)


def _doubts(words: Words, fact: Fact | RecalledFact) -> list[str]:
    """That a fact was never stated, or may not hold any more."""
    marks = [words.say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    doubtful = fact.doubtful_since[:10]
    return marks + ([words.say("facts.mark.doubtful", day=doubtful)] if doubtful else [])


def event_shape(words: Words, event: FactEvent, by: Sequence[Fact]) -> PageEvent:
    """What happened to a fact, and which facts did it."""
    told = words.say(f"facts.event.{event.what}")
    return PageEvent(event.when, told + "".join(f" · {one.number}: {one.restatement}" for one in by))


def relation_shape(words: Words, relation: Relation) -> PageRelation:
    """A relation, and how sure the fact is that says so."""
    marks = "".join(f" [{mark}]" for mark in _doubts(words, relation.fact))
    return PageRelation(relation.source, relation.relation + marks, relation.target, relation.fact.number)


# -- what was recalled


def recalled_shape(words: Words, found: Recollection) -> PageRecalled:
    """Everything that was recalled, facts first, then what was said."""
    memories = [_fact(words, fact) for fact in found.facts]
    memories += [_chapter(words, one) for one in found.chapters]
    memories += [_summary(words, one) for one in found.summaries]
    memories += [_turn(words, one) for one in found.turns]
    memories += [_other(words, one) for one in found.others]
    lacking = words.say("why.degraded", parts=found.degraded) if found.degraded else ""
    return PageRecalled(tuple(memories), found.resolved or found.queries, lacking)


def _fact(words: Words, fact: RecalledFact) -> PageMemory:
    marks = _doubts(words, fact)
    if fact.planned_for:
        marks.append(words.say("why.became.was_planned_for", day=fact.planned_for[:10]))
    return PageMemory(
        "fact",
        fact.text_id,
        "",
        fact.said,
        "",
        fact.text,
        tuple(reasons(words, fact)),
        tuple(marks),
        fact.number,
    )


def _chapter(words: Words, one: RecalledChapter) -> PageMemory:
    return PageMemory("chapter", one.text_id, "", one.start, "", one.text, tuple(reasons(words, one)), ())


def _other(words: Words, one: RecalledOther) -> PageMemory:
    """A text of a memory that is only read: ``speaker`` is the name of that source."""
    marks = (one.place,) if one.place else ()
    why = tuple(reasons(words, one))
    return PageMemory("other", one.text_id, "", one.timestamp, "", one.text, why, marks, speaker=one.source)


def _summary(words: Words, one: RecalledSummary) -> PageMemory:
    return PageMemory(
        "summary", one.text_id, one.session_id, one.timestamp, "", one.text, tuple(reasons(words, one)),
        _marks(words, one.marks),
    )  # fmt: skip


def _turn(words: Words, one: RecalledTurn) -> PageMemory:
    return PageMemory(
        "turn", one.text_id, one.session_id, one.timestamp, one.role, one.text.removeprefix(PREFIX[one.role]),
        tuple(reasons(words, one)), _marks(words, one.marks), speaker=one.speaker,
    )  # fmt: skip


def _marks(words: Words, marks: Sequence[FactMark]) -> tuple[str, ...]:
    became = [(words.say(f"why.became.{mark.became}", day=mark.when[:10]), mark.text) for mark in marks]
    return tuple(f"{told} · {text}" if text else told for told, text in became)


# -- forgetting


def scope_shape(words: Words, scope: ErasureScope) -> PageScope:
    """What would go, of a long list the beginning."""
    known = list(
        dict.fromkeys(
            [
                *(one.restatement for one in scope.facts),
                *(one.text for one in scope.notes),
                *scope.file_names,
            ]
        )
    )
    return PageScope(
        mark_of(scope),
        not scope,
        tuple(turn_shape(turn) for turn in scope.turns[:_MOST_SHOWN]),
        tuple(one_line(text, _SNIPPET) for text in known[:_MOST_SHOWN]),
        max(0, len(scope.turns) - _MOST_SHOWN) + max(0, len(known) - _MOST_SHOWN),
        words.say("forget.counts", **_counts(words, scope)),
    )


def mark_of(scope: ErasureScope) -> str:
    """The same for two scopes only where the same would go."""
    ids = [one.text_id for one in scope.turns] + [one.text_id for one in scope.summaries]
    ids += [one.text_id for one in scope.notes] + [one.text_id for one in scope.facts]
    ids += [one.session_id for one in scope.sessions] + [*scope.in_flight, *scope.lines, *scope.pins]
    ids += [f"{one.image} {one.version}" for one in scope.versions]
    ids += [*(one.text_id for one in scope.chapters), *scope.file_names]
    return hashlib.sha256("\n".join(sorted(ids)).encode("utf-8", "surrogatepass")).hexdigest()


def proof_shape(words: Words, erased: Erased) -> PageProof:
    """The proof of an erasure, in numbers and in words."""
    found = erased.proof
    made = [words.count("summary", erased.summaries_anew)] if erased.summaries_anew else []
    made += [words.say(f"image.{image}") for image in erased.images_anew]
    told = words.say(
        "forget.proof",
        files=words.count("file", found.files),
        searched=found.searched,
        found=len(found.traces),
    )
    return PageProof(
        words.say("forget.done", **_counts(words, erased.selection)),
        words.say("forget.anew", what=", ".join(made)) if made else "",
        told, found.files, found.searched, len(found.traces),
    )  # fmt: skip


def _counts(words: Words, scope: ErasureScope) -> dict[str, object]:
    things = {
        "turns": ("turn", scope.turns),
        "summaries": ("summary", scope.summaries),
        "chapters": ("chapter", scope.chapters),
        "notes": ("note", scope.notes),
        "facts": ("fact", scope.facts),
        "versions": ("version", scope.versions),
    }
    return {name: words.count(thing, len(of)) for name, (thing, of) in things.items()}
