"""What recall hands over: memories with where they come from and why they were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.facts import Stance
from domain.records import Role

#: A part of recall that could not take part.
MissingPart = Literal["embeddings", "index", "words"]


@dataclass(frozen=True, slots=True)
class RecallLimits:
    """How much may be handed over: summaries of sessions, turns, and tokens of all, with what they are wrapped in."""

    sessions: int
    turns: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Why:
    """Why a memory was recalled: the query that found it, its score and its parts, the words they share."""

    query: str
    score: float
    words: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()


#: Another program through which something came into memory: one that stores what it knows, or one to chat in.
Client = Literal["", "stored", "chat"]
#: What became of something that was said: another value took its place, it ended, another was so all along, it never
#: was so, it may be so no more, the day is past for which it was planned.
Became = Literal["changed", "until", "corrected", "untrue", "doubtful_since", "was_planned_for"]


@dataclass(frozen=True, slots=True)
class FactMark:
    """What became of a fact that a recalled turn or summary tells, and when.

    ``text`` is the fact that took its place where one did, else the fact itself; "" where the turn says nothing else.
    """

    became: Became
    when: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class RecalledTurn:
    """A turn of an older session. ``hit`` is false for a neighbour handed over for its context.

    ``text`` is what is handed over. Of a long turn it is what matters, ``cut``, and ``whole`` is all of it. ``marks``
    tell what of it does not hold any more, or may not. ``speaker`` is who said it where that was neither the person nor
    the companion; ``undated``: nobody knows when. One that has ``faded`` was found in the archive alone. ``client`` is
    the kind of program that stored it, "" for our own talk.
    """

    text_id: str
    session_id: str
    timestamp: str
    role: Role
    text: str
    hit: bool
    why: Why
    cut: bool = False
    whole: str = ""
    marks: tuple[FactMark, ...] = ()
    speaker: str = ""
    undated: bool = False
    faded: bool = False
    client: Client = ""


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact that holds now and answers; ``turns`` are those it rests on. ``said`` is when it was said last.

    ``since`` is from when it holds, where that is another day than the one on which it was said. ``planned_for`` is the
    day for which it was planned, once that is past.
    """

    number: int
    text_id: str
    text: str
    said: str
    turns: tuple[str, ...]
    why: Why
    since: str = ""
    doubtful_since: str = ""
    stance: Stance = "stated"
    planned_for: str = ""


@dataclass(frozen=True, slots=True)
class RecalledSummary:
    """The summary of an older session; a long one is ``cut`` as a turn is, and ``marks`` are those of what is left."""

    text_id: str
    session_id: str
    timestamp: str
    text: str
    why: Why
    cut: bool = False
    whole: str = ""
    marks: tuple[FactMark, ...] = ()
    client: Client = ""


@dataclass(frozen=True, slots=True)
class RecalledOther:
    """A text of a memory that is not ours and is only read: from which ``source``, and at what ``place`` in it.

    ``timestamp`` is "" where nobody knows when it is from, ``role`` None where it is a note and nobody spoke.
    """

    text_id: str
    source: str
    place: str
    timestamp: str
    role: Role | None
    text: str
    why: Why
    cut: bool = False
    whole: str = ""


@dataclass(frozen=True, slots=True)
class RecalledChapter:
    """What several sessions came to together, from ``start`` to ``end``: drawn from what was said, and never said so.

    ``text`` is what is handed over: of one that is ``cut`` the beginning, and ``whole`` is all of it.
    """

    text_id: str
    text: str
    start: str
    end: str
    sessions: int
    why: Why
    cut: bool = False
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """What must be known to answer, and what is looked for therefore. A question may be its own plan."""

    needs: tuple[str, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Looked:
    """All queries so far were searched for, side by side: how many turns they found together, and how many are new."""

    found: int
    new: int


@dataclass(frozen=True, slots=True)
class Reflected:
    """Whether what was found is enough; if not, what is missing, and what is looked for next."""

    enough: bool
    missing: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


#: What is done to find something, in its order.
SearchStep = Planned | Looked | Reflected


@dataclass(frozen=True, slots=True)
class Recollection:
    """All that was recalled for one turn.

    ``facts`` and ``turns`` stand oldest first, neighbours joined; ``ranked`` has the text_ids of the hits, best first.
    ``chapters`` tell of a stretch that was asked for, the best first.
    ``degraded`` names the parts that could not take part. ``steps`` tell how it was found, where that took a plan.
    ``others`` are from memories that are not ours, best first.
    """

    summaries: tuple[RecalledSummary, ...] = ()
    turns: tuple[RecalledTurn, ...] = ()
    ranked: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    degraded: tuple[MissingPart, ...] = ()
    steps: tuple[SearchStep, ...] = ()
    facts: tuple[RecalledFact, ...] = ()
    chapters: tuple[RecalledChapter, ...] = ()
    others: tuple[RecalledOther, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.summaries or self.turns or self.facts or self.chapters or self.others)
