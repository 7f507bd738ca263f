"""The results of recall: memories with their source and the reason why they were chosen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.facts import Basis, MemoryType, Quote, Stance
from domain.records import Role

#: A part of recall that was unavailable.
MissingPart = Literal["embeddings", "index", "words"]

#: The share of the best score below which a message adds too little to be recalled; the same for terse clients.
SHARE, TERSE_SHARE = 0.25, 0.5


@dataclass(frozen=True, slots=True)
class RecallLimits:
    """The most summaries, messages and tokens (with their wrapping) that recall may return.

    ``share``: the share of the best score below which a message adds too little to be recalled.
    """

    sessions: int
    messages: int
    tokens: int
    share: float = SHARE


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What memories are wanted for: ``queries``, the last round first, if there is one, the new input last.

    Nothing of the session is found whose messages are numbered ``hidden`` (the context), or nothing at all of it.
    ``recent``: the messages before the input, oldest first, to resolve pronouns. ``gated``: irrelevant memories are
    left out. ``apart``: the queries are independent, and the best results of each count the same.
    """

    queries: Sequence[str]
    session_id: str
    now: datetime
    limits: RecallLimits
    hidden: Collection[int] | None = None
    recent: Sequence[str] = ()
    gated: bool = True
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Why:
    """Why a memory was recalled: the query, the score with its parts, and the shared words."""

    query: str
    score: float
    words: tuple[str, ...] = ()
    parts: tuple[tuple[str, float], ...] = ()


#: The kind of client that stored something: one that stores what it knows, or a chat client.
Client = Literal["", "stored", "chat"]
#: What happened to a fact: it was replaced, or will be on a day ahead; it ended, was corrected to another value, was
#: never true, may no longer hold, or its planned day is past.
Became = Literal["changed", "will_change", "until", "corrected", "untrue", "doubtful_since", "was_planned_for"]


@dataclass(frozen=True, slots=True)
class Annotation:
    """What happened to a fact in a recalled message or summary, and when.

    ``text`` is the fact that is so instead now, else the fact itself; ``value`` is what was replaced.
    """

    became: Became
    when: str
    text: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class RecalledMessage:
    """A message of an older session. ``hit`` is false for a neighbour returned as context.

    ``text`` is the relevant part of the ``whole`` if ``cut``. ``annotations`` say what no longer holds, or may not.
    ``speaker`` is set if neither the person nor the companion said it; ``undated``: the time is unknown; ``archived``:
    found in the archive only. ``client`` is the kind of client that stored it, "" for our own conversations. ``place``
    is its place in the session, -1 unknown.
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
    annotations: tuple[Annotation, ...] = ()
    speaker: str = ""
    undated: bool = False
    archived: bool = False
    client: Client = ""
    place: int = -1


@dataclass(frozen=True, slots=True)
class FactFilter:
    """What a fact must have to be found: every name, whole or one word of it, in any case.

    ``since`` and ``until`` (ISO: a year, month, day or minute; both inclusive) are about the start of what it tells, or
    else about when it was said.
    """

    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    location: str = ""
    topic: str = ""
    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        return any((self.persons, self.entities, self.location, self.topic, self.since, self.until))

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """The kind and the name of each part that a fact must have."""
        one = [("location", self.location), ("topic", self.topic)]
        many = [*(("person", name) for name in self.persons), *(("entity", name) for name in self.entities)]
        return tuple((kind, name) for kind, name in (*many, *one) if name.strip())


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A current fact that was recalled, based on ``messages``. ``said`` is when it was last said.

    ``since`` is its start if that is not the day on which it was said. ``planned_for`` is its planned day, once past.
    What is not verified is shown as its ``quotes``, never as known.
    """

    number: int
    text_id: str
    text: str
    said: str
    messages: tuple[str, ...]
    why: Why
    since: str = ""
    doubtful_since: str = ""
    stance: Stance = "stated"
    planned_for: str = ""
    basis: Basis = "verified"
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class RecalledSummary:
    """The summary of an older session; ``cut``, ``whole`` and ``annotations`` are as for a message."""

    text_id: str
    session_id: str
    timestamp: str
    text: str
    why: Why
    cut: bool = False
    whole: str = ""
    annotations: tuple[Annotation, ...] = ()
    client: Client = ""


@dataclass(frozen=True, slots=True)
class RecalledExternal:
    """A text of an external memory, which is read-only: its ``source`` and its ``place`` there.

    ``timestamp`` is "" if unknown; ``role`` is None for a note.
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
    """A recalled summary of several sessions from ``start`` to ``end``.

    ``text`` is the beginning of the ``whole`` if ``cut``.
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
class ClientNote:
    """A row of the table ``conversation_memories``. ``key_points`` is a JSON list."""

    number: int
    summary: str
    key_points: str
    memory_type: MemoryType
    importance: int
    round: int
    created_at: str


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What must be known to answer, and what is looked for therefore. A question may be its own plan."""

    needs: tuple[str, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """All queries so far were searched for, side by side: how many turns they found together, and how many are new."""

    found: int
    new: int


@dataclass(frozen=True, slots=True)
class SearchReview:
    """Whether what was found is enough; if not, what is missing, and what is looked for next."""

    enough: bool
    missing: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


#: What is done to find something, in its order.
SearchStep = SearchPlan | SearchOutcome | SearchReview


@dataclass(frozen=True, slots=True)
class Recollection:
    """Everything recalled for one message.

    ``facts`` and ``messages`` are oldest first, with neighbours; ``ranked`` has the text_ids of the hits, best first.
    ``chapters`` cover a time range in the question, best first.
    ``degraded`` names the parts that were unavailable. ``steps`` are those of a planned search.
    ``external`` are from external memories, best first; ``notes`` were extracted from a client's history.
    ``unknown``: a question about those who talk, and nothing that was found seems to answer it.
    """

    summaries: tuple[RecalledSummary, ...] = ()
    messages: tuple[RecalledMessage, ...] = ()
    ranked: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    degraded: tuple[MissingPart, ...] = ()
    steps: tuple[SearchStep, ...] = ()
    facts: tuple[RecalledFact, ...] = ()
    chapters: tuple[RecalledChapter, ...] = ()
    external: tuple[RecalledExternal, ...] = ()
    notes: tuple[ClientNote, ...] = ()
    unknown: bool = False

    def __bool__(self) -> bool:
        return bool(self.summaries or self.messages or self.facts or self.chapters or self.external or self.notes)
