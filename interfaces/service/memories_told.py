"""What was recalled, as it is told to programs: plain texts with scores, safe to show and to hand to a model.

Promises: nothing that was told can act (no controls, no hidden characters); what the companion said is never told as
the person's words, and what a memory of others holds begins with the name of that source; what does not hold any more
says so; everything fits into the budget that is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from domain.facts import Fact, Relation
from domain.recollection import (
    FactMark,
    RecalledChapter,
    RecalledFact,
    RecalledOther,
    RecalledSummary,
    RecalledTurn,
    Recollection,
)
from domain.records import Session
from domain.text import as_memory, in_zone, inert
from interfaces.service.bodies import MemoryFound, RelationFound, Remembered
from memory import Memory

#: The longest that one text may be, in characters.
LONGEST_TEXT = 1_200
#: What answers the very thing that was asked for has no share to count.
_ASKED_FOR = 0.95


@dataclass(frozen=True)
class ToldMemory:
    """One memory: by its id, when it was said, what it says, and how well it fits: above a half, since it does."""

    text_id: str
    kind: Literal["fact", "turn", "summary", "other"]
    timestamp: str
    text: str
    score: float

    @property
    def found(self) -> MemoryFound:
        """As ``process`` tells it."""
        return MemoryFound(content=self.text, score=self.score)

    @property
    def remembered(self) -> Remembered:
        """As ``recall`` tells it."""
        return Remembered(
            id=self.text_id,
            kind=self.kind,
            date=moment(self.timestamp) if self.timestamp else "",
            text=self.text,
            score=self.score,
        )


def told(found: Recollection) -> list[ToldMemory]:
    """Everything that was recalled, best first."""
    memories = [*map(_fact, found.facts), *_turns(found.turns), *map(_summary, found.summaries)]
    memories += [*map(_chapter, found.chapters), *map(_other, found.others)]
    return sorted(memories, key=lambda one: -one.score)


def within(memories: Iterable[ToldMemory], most: int, characters: int) -> list[ToldMemory]:
    """The first of them, as far as there is room for them."""
    kept: list[ToldMemory] = []
    for one in memories:
        characters -= len(one.text)
        if len(kept) == most or characters < 0:
            break
        kept.append(one)
    return kept


def relations(found: Sequence[Relation], most: int) -> list[RelationFound]:
    """Relations, each once, however many facts say it, with how sure it is where it is not."""
    distinct = dict.fromkeys((one.source, related(one), one.target) for one in found)
    return [
        RelationFound(source=shown(source), relation=relation, target=shown(target))
        for source, relation, target in list(distinct)[:most]
    ]


def known(fact: Fact) -> ToldMemory:
    """A fact that nobody asked for, with what is to be known of it before it is believed."""
    return ToldMemory(fact.text_id, "fact", fact.since, shown(fact.restatement) + _sureness(fact), 1.0)


def related(relation: Relation) -> str:
    """How two things stand to each other, as far as the fact goes that says so."""
    return shown(relation.relation) + _sureness(relation.fact)


def of_day(memory: Memory, date: str) -> list[ToldMemory]:
    """What a person said on a day, then what is known since that day and holds."""
    spoken = [
        turn
        for session in _sessions_of_day(memory, date)
        for turn in memory.messages.of_session(session.session_id)
        if turn.timestamp[:10] == date and turn.role == "user" and not turn.withheld
    ]
    spoken.sort(key=lambda turn: turn.timestamp)
    holding = [fact for fact in memory.facts.all(current=True) if fact.since[:10] == date]
    return [
        *(ToldMemory(one.text_id, "turn", one.timestamp, shown(as_memory(one).words), 1.0) for one in spoken),
        *map(known, holding),
    ]


def _sessions_of_day(memory: Memory, date: str) -> Iterator[Session]:
    for session in memory.sessions.recent(None):
        if session.start_timestamp[:10] <= date <= (session.end_timestamp or date)[:10]:
            yield session


def moment(timestamp: str | datetime) -> str:
    """A time of UTC, to the second."""
    when = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
    return in_zone(when, UTC).isoformat(timespec="seconds")[:19] + "Z"


def shown(text: str) -> str:
    """A text that cannot act, cut where it is too long."""
    safe = inert(text)
    return safe if len(safe) <= LONGEST_TEXT else safe[: LONGEST_TEXT - 1] + "…"


def _fact(fact: RecalledFact) -> ToldMemory:
    past = f" [was planned for {fact.planned_for[:10]}]" if fact.planned_for else ""
    score = _above_half(fact.why.score) if fact.why.query else _ASKED_FOR
    return ToldMemory(fact.text_id, "fact", fact.said, shown(fact.text) + _sureness(fact) + past, score)


def _sureness(fact: Fact | RecalledFact) -> str:
    """That a fact was never stated, or may not hold any more."""
    only = f" [only {fact.stance}]" if fact.stance != "stated" else ""
    return only + (f" [doubtful since {fact.doubtful_since[:10]}]" if fact.doubtful_since else "")


def _turns(turns: Sequence[RecalledTurn]) -> Iterator[ToldMemory]:
    """The turns that were found, each with the one beside it that it cannot be understood without."""
    for at, turn in enumerate(turns):
        if turn.hit:
            beside = [one for one in turns[max(0, at - 1) : at + 2] if _belongs(one, turn)]
            text = "\n".join(_said(one) for one in beside)
            yield ToldMemory(turn.text_id, "turn", turn.timestamp, shown(text), _likeness(turn.why.score))


def _belongs(other: RecalledTurn, turn: RecalledTurn) -> bool:
    """Whether something stands beside a turn as its question or its answer; two of one speaker stand each alone."""
    beside = not other.hit and other.session_id == turn.session_id and other.role != turn.role
    return other is turn or beside


def _said(turn: RecalledTurn) -> str:
    """The person's words as they are; the companion's with who said them."""
    words = turn.text.removeprefix("User: ") if turn.role == "user" else turn.text
    if turn.speaker:
        words = f"{turn.speaker}: {turn.text.removeprefix('Assistant: ')}"
    faint = " [a faint memory]" if turn.faded else ""
    return words + "".join(map(_became, turn.marks)) + faint


def _became(mark: FactMark) -> str:
    when = f" {mark.when[:10]}" if mark.when else ""
    text = f": {mark.text}" if mark.text else ""
    return f" [{mark.became.replace('_', ' ')}{when}{text}]"


def _summary(summary: RecalledSummary) -> ToldMemory:
    text = summary.text + "".join(map(_became, summary.marks))
    score = _likeness(summary.why.score)
    return ToldMemory(summary.text_id, "summary", summary.timestamp, shown(text), score)


def _chapter(chapter: RecalledChapter) -> ToldMemory:
    """What several sessions came to is a summary to a program, which begins with its days."""
    text = f"[{chapter.start[:10]} – {chapter.end[:10]}] {chapter.text}"
    return ToldMemory(chapter.text_id, "summary", chapter.start, shown(text), _likeness(chapter.why.score))


def _other(other: RecalledOther) -> ToldMemory:
    """A text of a memory that is not ours: from where, of what day, and whose words it is if they are anybody's."""
    said = {"user": "its person", "assistant": "its companion"}
    head = filter(
        None, [f"@{other.source}", other.place, other.timestamp[:10], other.role and said[other.role]]
    )
    text = f"[{' · '.join(head)}] {other.text}"
    return ToldMemory(other.text_id, "other", other.timestamp, shown(text), _likeness(other.why.score))


def _likeness(score: float) -> float:
    """How far something stands above what else could have been told, as a share: a half where nothing tells."""
    above = max(0.0, score)
    return _above_half(above / (1.0 + above))


def _above_half(share: float) -> float:
    return round(0.5 + 0.5 * min(1.0, max(0.0, share)), 4)
