"""Recalled memories as plain texts with scores, safe for other programs to show and to pass to a model.

Promises: no text contains control or hidden characters; the companion's words are never shown as the person's; a text
of an external memory begins with the name of its source; facts that are no longer true say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeVar

from domain.facts import Fact, Relation
from domain.quotations import as_memory
from domain.recollection import (
    Annotation,
    RecalledChapter,
    RecalledExternal,
    RecalledFact,
    RecalledMessage,
    RecalledSummary,
    Recollection,
)
from domain.records import Session
from domain.text import make_inert
from interfaces.service.memory_schemas import ProfileFact, Remembered
from interfaces.service.schemas import RelationFound
from language.calendar import in_zone
from memory import Memory

#: Most characters of one text.
LONGEST_TEXT = 1_200
#: The score of a fact found by its slot, which has no rank.
_SLOT_SCORE = 0.95
Text = TypeVar("Text", Remembered, ProfileFact)


def recalled_memories(found: Recollection) -> list[Remembered]:
    """Everything that was recalled, best first."""
    memories = [*map(_of_fact, found.facts), *_of_messages(found.turns), *map(_of_summary, found.summaries)]
    memories += [*map(_of_chapter, found.chapters), *map(_of_external, found.external)]
    return sorted(memories, key=lambda one: -one.score)


def within_budget(memories: Iterable[Text], most: int, characters: int) -> list[Text]:
    """The first of them, as many as fit."""
    kept: list[Text] = []
    for one in memories:
        characters -= len(one.text)
        if len(kept) == most or characters < 0:
            break
        kept.append(one)
    return kept


def distinct_relations(found: Sequence[Relation], most: int) -> list[RelationFound]:
    """Relations, each once, however many facts state it, with their certainty."""
    distinct = dict.fromkeys((one.source, relation_text(one), one.target) for one in found)
    return [
        RelationFound(source=safe_text(source), relation=relation, target=safe_text(target))
        for source, relation, target in list(distinct)[:most]
    ]


def fact_text(fact: Fact) -> str:
    """A fact, and whether it is certain."""
    return safe_text(fact.restatement) + _certainty_note(fact)


def relation_text(relation: Relation) -> str:
    """The name of a relation, and whether its fact is certain."""
    return safe_text(relation.relation) + _certainty_note(relation.fact)


def memories_of_day(memory: Memory, date: str) -> list[Remembered]:
    """What a person said on a day, then what is known since that day and current."""
    spoken = [
        turn
        for session in _sessions_of_day(memory, date)
        for turn in memory.messages.of_session(session.session_id)
        if turn.timestamp[:10] == date and turn.role == "user" and not turn.hidden
    ]
    spoken.sort(key=lambda turn: turn.timestamp)
    facts = [fact for fact in memory.facts.all(current=True) if fact.since[:10] == date]
    return [
        *(_as_remembered(one.text_id, "turn", one.timestamp, safe_text(as_memory(one).words), 1.0) for one in spoken),
        *(_as_remembered(one.text_id, "fact", one.since, fact_text(one), 1.0) for one in facts),
    ]


def _sessions_of_day(memory: Memory, date: str) -> Iterator[Session]:
    for session in memory.sessions.recent(None):
        if session.start_timestamp[:10] <= date <= (session.end_timestamp or date)[:10]:
            yield session


def utc_time(timestamp: str | datetime) -> str:
    """A time of UTC, to the second."""
    when = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
    return in_zone(when, UTC).isoformat(timespec="seconds")[:19] + "Z"


def safe_text(text: str) -> str:
    """A text without hidden characters, cut where it is too long."""
    safe = make_inert(text)
    return safe if len(safe) <= LONGEST_TEXT else safe[: LONGEST_TEXT - 1] + "…"


def _as_remembered(
    text_id: str, kind: Literal["fact", "turn", "summary", "other"], timestamp: str, text: str, score: float
) -> Remembered:
    date = utc_time(timestamp) if timestamp else ""
    return Remembered(id=text_id, kind=kind, date=date, text=text, score=score)


def _of_fact(fact: RecalledFact) -> Remembered:
    past = f" [was planned for {fact.planned_for[:10]}]" if fact.planned_for else ""
    score = _above_half(fact.why.score) if fact.why.query else _SLOT_SCORE
    return _as_remembered(fact.text_id, "fact", fact.said, safe_text(fact.text) + _certainty_note(fact) + past, score)


def _certainty_note(fact: Fact | RecalledFact) -> str:
    """That a fact was never stated, or may no longer be true."""
    only = f" [only {fact.stance}]" if fact.stance != "stated" else ""
    return only + (f" [doubtful since {fact.doubtful_since[:10]}]" if fact.doubtful_since else "")


def _of_messages(turns: Sequence[RecalledMessage]) -> Iterator[Remembered]:
    """The messages that were found, each with its question or its answer."""
    for at, turn in enumerate(turns):
        if turn.hit:
            pair = [one for one in turns[max(0, at - 1) : at + 2] if _belong_together(one, turn)]
            text = "\n".join(map(_spoken_words, pair))
            yield _as_remembered(turn.text_id, "turn", turn.timestamp, safe_text(text), _score_of(turn.why.score))


def _belong_together(other: RecalledMessage, turn: RecalledMessage) -> bool:
    """Whether a neighbour of a message is its question or its answer."""
    answers = not other.hit and other.session_id == turn.session_id and other.role != turn.role
    return other is turn or answers


def _spoken_words(turn: RecalledMessage) -> str:
    """The person's words as they are; anyone else's with their name."""
    words = turn.text.removeprefix("User: ") if turn.role == "user" else turn.text
    if turn.speaker:
        words = f"{turn.speaker}: {turn.text.removeprefix('Assistant: ')}"
    faint = " [a faint memory]" if turn.archived else ""
    return words + "".join(map(_annotation_text, turn.annotations)) + faint


def _annotation_text(mark: Annotation) -> str:
    when = f" {mark.when[:10]}" if mark.when else ""
    text = f": {mark.text}" if mark.text else ""
    return f" [{mark.became.replace('_', ' ')}{when}{text}]"


def _of_summary(summary: RecalledSummary) -> Remembered:
    text = summary.text + "".join(map(_annotation_text, summary.annotations))
    return _as_remembered(summary.text_id, "summary", summary.timestamp, safe_text(text), _score_of(summary.why.score))


def _of_chapter(chapter: RecalledChapter) -> Remembered:
    """To a program a chapter is a summary that begins with its days."""
    text = f"[{chapter.start[:10]} – {chapter.end[:10]}] {chapter.text}"
    return _as_remembered(chapter.text_id, "summary", chapter.start, safe_text(text), _score_of(chapter.why.score))


def _of_external(other: RecalledExternal) -> Remembered:
    """A text of an external memory, after its source, day and speaker."""
    said = {"user": "its person", "assistant": "its companion"}
    head = filter(None, [f"@{other.source}", other.place, other.timestamp[:10], other.role and said[other.role]])
    text = f"[{' · '.join(head)}] {other.text}"
    return _as_remembered(other.text_id, "other", other.timestamp, safe_text(text), _score_of(other.why.score))


def _score_of(score: float) -> float:
    """How far something ranks above the rest, as a share; a half where nothing is known."""
    above = max(0.0, score)
    return _above_half(above / (1.0 + above))


def _above_half(share: float) -> float:
    return round(0.5 + 0.5 * min(1.0, max(0.0, share)), 4)
