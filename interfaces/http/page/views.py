"""What the page shows of a memory: frozen values made of records, with sentences in the reader's language.

Times are sent as they are stored, and the browser shows them in its own zone; words are sent as they were said, and are
only ever shown as text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.facts import About, Fact, FactEvent, Relation
from domain.quotations import quotation_spans, without_tags
from domain.recollection import (
    Annotation,
    RecalledChapter,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    Recollection,
)
from domain.records import PREFIX, ErasureScope, Finish, Message, Persona, Role, Session
from domain.text import one_line
from interfaces.messages import Words
from interfaces.messages.reasons import explain_recall
from jobs.erasing import Erased

_TITLE, _SNIPPET = 120, 240
#: Characters shown before the word that was searched for.
_BEFORE = 24
#: Markup that may begin a summary's first line.
_MARKUP = "#*->_ \t"
#: Messages, and statements, that are shown of what would be erased.
_MOST_SHOWN = 20


@dataclass(frozen=True)
class PageMessage:
    """One message; ``speaker`` is who said it where that was neither the person nor the companion.

    ``quoted`` has the day of the memory that each outermost quotation repeats, "" for one that is in no memory.
    """

    id: str
    session: str
    when: str
    role: Role
    text: str
    finish: Finish
    hidden: bool
    demo: bool
    speaker: str
    quoted: tuple[str, ...] = ()

    @classmethod
    def from_message(cls, turn: Message) -> PageMessage:
        """A message as it is stored."""
        days = {one.number: one.timestamp[:10] for one in turn.quoted}
        return cls(
            turn.text_id, turn.session_id, turn.timestamp, turn.role, turn.words, turn.finish, turn.hidden,
            turn.demo, turn.speaker, tuple(days.get(at, "") for at in range(len(quotation_spans(turn.words)))),
        )  # fmt: skip


@dataclass(frozen=True)
class PageSession:
    """A session in a list. ``title``: how it begins, or how its summary does. ``client``: who stored it.

    ``found`` is the text around the words that were searched for.
    """

    id: str
    began: str
    active: bool
    messages: int
    client: str
    title: str
    found: str = ""

    @classmethod
    def from_session(cls, session: Session, turns: Sequence[Message], summary: str, found: str = "") -> PageSession:
        """A session with its messages; a hidden one is no title."""
        said = next((turn.words for turn in turns if turn.role == "user" and not turn.hidden), "")
        lines = (line.strip(_MARKUP) for line in (summary or without_tags(said)).splitlines())
        title = next((line for line in lines if line), "")
        return cls(
            session.session_id, session.start_timestamp, session.status == "active", len(turns), session.client,
            one_line(title, _TITLE), found,
        )  # fmt: skip


@dataclass(frozen=True)
class PageFact:
    """A fact in a list. ``matter`` is its topic; ``marks`` say how certain it is."""

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

    @classmethod
    def from_fact(cls, words: Words, fact: Fact, numbers: Mapping[str, int]) -> PageFact:
        """A fact; ``numbers`` are those of the facts that replaced others."""
        matter = fact.subject if fact.about == "other" else fact.topic or fact.attribute
        wrong = [words.say("why.became.untrue")] if fact.corrected else []
        kept = [words.say("facts.label_kept")] if fact.kept else []
        return cls(
            fact.number, fact.text_id, fact.restatement, fact.about, matter, fact.since, fact.until, fact.current,
            fact.kept, fact.decided == "hand", (*_doubt_texts(words, fact), *wrong, *kept),
            numbers.get(fact.replaced_by),
        )  # fmt: skip


@dataclass(frozen=True)
class PageEvent:
    """One event in the history of a fact."""

    when: str
    text: str

    @classmethod
    def from_event(cls, words: Words, event: FactEvent, by: Sequence[Fact]) -> PageEvent:
        """An event, and the facts that caused it."""
        text = words.say(f"facts.event.{event.kind}")
        return cls(event.when, text + "".join(f" · {one.number}: {one.restatement}" for one in by))


@dataclass(frozen=True)
class PageEvidence:
    """A fact with the messages that it rests on, and its history."""

    fact: PageFact
    turns: tuple[PageMessage, ...]
    history: tuple[PageEvent, ...]


@dataclass(frozen=True)
class PageRelation:
    """A relation between two things, and the number of its fact."""

    source: str
    relation: str
    target: str
    fact: int

    @classmethod
    def from_relation(cls, words: Words, relation: Relation) -> PageRelation:
        """A relation, and how certain its fact is."""
        marks = "".join(f" [{mark}]" for mark in _doubt_texts(words, relation.fact))
        return cls(relation.source, relation.relation + marks, relation.target, relation.fact.number)


@dataclass(frozen=True)
class PageMemory:
    """A recalled memory, and the ``reasons`` in words. ``number`` is that of a fact.

    ``speaker`` is as in a ``PageMessage``, or the name of the external memory that it is from.
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
    """What was recalled for a reply; ``queries`` is what it was recalled for, ``lacking`` what did not work."""

    memories: tuple[PageMemory, ...]
    queries: tuple[str, ...]
    lacking: str

    @classmethod
    def from_recollection(cls, words: Words, found: Recollection) -> PageRecalled:
        """Everything that was recalled, facts first, then what was said."""
        memories = [_memory_of_fact(words, fact) for fact in found.facts]
        memories += [_memory_view(words, "chapter", one.start, one.text, one) for one in found.chapters]
        memories += [
            _memory_view(
                words,
                "summary",
                one.timestamp,
                one.text,
                one,
                session=one.session_id,
                marks=_annotation_texts(words, one.annotations),
            )
            for one in found.summaries
        ]
        memories += [
            _memory_view(
                words, "turn", one.timestamp, one.text.removeprefix(PREFIX[one.role]), one, session=one.session_id,
                role=one.role, marks=_annotation_texts(words, one.annotations), speaker=one.speaker,
            )
            for one in found.turns
        ]  # fmt: skip
        memories += [
            _memory_view(
                words, "other", one.timestamp, one.text, one,
                marks=(one.place,) if one.place else (), speaker=one.source,
            )
            for one in found.external
        ]  # fmt: skip
        lacking = words.say("why.degraded", parts=found.degraded) if found.degraded else ""
        return cls(tuple(memories), found.resolved or found.queries, lacking)


@dataclass(frozen=True)
class PageScope:
    """What an erasure would remove. A person who agrees sends ``mark``, so that only what was shown is erased."""

    mark: str
    nothing: bool
    turns: tuple[PageMessage, ...]
    known: tuple[str, ...]
    more: int
    counts: str

    @classmethod
    def from_scope(cls, words: Words, scope: ErasureScope) -> PageScope:
        """The scope, of a long list the beginning."""
        facts = (one.restatement for one in scope.facts)
        known = list(dict.fromkeys([*facts, *(one.text for one in scope.notes), *scope.file_names]))
        return cls(
            digest_of(scope),
            not scope,
            tuple(map(PageMessage.from_message, scope.turns[:_MOST_SHOWN])),
            tuple(one_line(text, _SNIPPET) for text in known[:_MOST_SHOWN]),
            max(0, len(scope.turns) - _MOST_SHOWN) + max(0, len(known) - _MOST_SHOWN),
            words.say("forget.counts", **_count_things(words, scope)),
        )


@dataclass(frozen=True)
class PageProof:
    """What was erased, and what the search of every file found of it."""

    done: str
    rebuilt: str
    proof: str
    files: int
    searched: int
    traces: int

    @classmethod
    def from_erasure(cls, words: Words, erased: Erased) -> PageProof:
        """The proof of an erasure, in numbers and in words."""
        found = erased.proof
        rebuilt = [words.count("summary", erased.summaries_rebuilt)] if erased.summaries_rebuilt else []
        rebuilt += [words.say(f"persona.{persona}") for persona in erased.personas_rebuilt]
        files = words.count("file", found.files)
        return cls(
            words.say("forget.done", **_count_things(words, erased.selection)),
            words.say("forget.rebuilt", what=", ".join(rebuilt)) if rebuilt else "",
            words.say("forget.proof", files=files, searched=found.searched, found=len(found.traces)),
            found.files, found.searched, len(found.traces),
        )  # fmt: skip


@dataclass(frozen=True)
class PageVersion:
    """One version of a persona. ``number`` counts those of this persona from 1, ``version`` names it."""

    version: int
    number: int
    when: str
    origin: str
    text: str


@dataclass(frozen=True)
class PagePersona:
    """A persona, and its versions, the newest first. ``base`` is the version in force, 0 for none."""

    persona: Persona
    text: str
    base: int
    versions: tuple[PageVersion, ...]


def excerpt_around(text: str, words: Sequence[str]) -> str:
    """The part of a text around the first of some words, on one line."""
    line = one_line(without_tags(text), len(text) + 1)
    places = [at for word in words if (at := line.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    return one_line(f"{'…' if start else ''}{line[start:]}", _TITLE)


def digest_of(scope: ErasureScope) -> str:
    """Equal for two scopes only where they remove the same."""
    ids = [one.text_id for one in scope.turns] + [one.text_id for one in scope.summaries]
    ids += [one.text_id for one in scope.notes] + [one.text_id for one in scope.facts]
    ids += [one.session_id for one in scope.sessions] + [*scope.in_flight, *scope.lines, *scope.pins]
    ids += [f"{one.persona} {one.version}" for one in scope.versions]
    ids += [*(one.text_id for one in scope.chapters), *scope.file_names]
    return hashlib.sha256("\n".join(sorted(ids)).encode("utf-8", "surrogatepass")).hexdigest()


def _doubt_texts(words: Words, fact: Fact | RecalledFact) -> list[str]:
    """That a fact was never stated, or may no longer be true."""
    marks = [words.say(f"facts.stance.{fact.stance}")] if fact.stance != "stated" else []
    doubtful = fact.doubtful_since[:10]
    return marks + ([words.say("why.became.doubtful_since", day=doubtful)] if doubtful else [])


def _memory_view(
    words: Words,
    kind: str,
    when: str,
    text: str,
    one: RecalledFact | RecalledChapter | RecalledSummary | RecalledMessage | RecalledExternal,
    *,
    session: str = "",
    role: str = "",
    marks: tuple[str, ...] = (),
    number: int | None = None,
    speaker: str = "",
) -> PageMemory:
    why = tuple(explain_recall(words, one))
    return PageMemory(kind, one.text_id, session, when, role, text, why, marks, number, speaker)


def _memory_of_fact(words: Words, fact: RecalledFact) -> PageMemory:
    marks = _doubt_texts(words, fact)
    if fact.planned_for:
        marks.append(words.say("why.became.was_planned_for", day=fact.planned_for[:10]))
    return _memory_view(words, "fact", fact.said, fact.text, fact, marks=tuple(marks), number=fact.number)


def _annotation_texts(words: Words, marks: Sequence[Annotation]) -> tuple[str, ...]:
    became = [(words.say(f"why.became.{mark.became}", day=mark.when[:10]), mark.text) for mark in marks]
    return tuple(f"{what} · {text}" if text else what for what, text in became)


def _count_things(words: Words, scope: ErasureScope) -> dict[str, object]:
    things = {
        "turns": ("turn", scope.turns),
        "summaries": ("summary", scope.summaries),
        "chapters": ("chapter", scope.chapters),
        "notes": ("note", scope.notes),
        "facts": ("fact", scope.facts),
        "versions": ("version", scope.versions),
    }
    return {name: words.count(thing, len(of)) for name, (thing, of) in things.items()}
