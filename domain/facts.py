"""What is known: notes and facts extracted from messages, relations between things in facts, and changes.

    message -> note -> fact -> line of a persona

Messages are the truth; everything here lists the messages it is based on (``messages``) and is deleted with any of
them. Later changes delete nothing: a fact that changed or ended gets ``until``, one that was never true is
``corrected``, and one that may no longer hold is doubtful until the person mentions it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: Whether a matter was only mentioned, or the person asked to have it remembered.
MemoryType = Literal["active", "passive"]
#: Whom a fact is about.
About = Literal["person", "companion", "other"]
#: How a thing was said. Only what was stated is ever the value of a slot.
Stance = Literal["stated", "planned", "wished", "supposed", "joked"]
#: What a fact is believed on: its words were verified, they are only quoted, or a model concluded it from them.
Basis = Literal["verified", "quoted", "inferred"]
#: Attributes of what happens on a day, and is over after it.
EVENTS = frozenset({"appointment", "event", "plan", "trip"})
#: Who last decided about a fact; what a person put right by hand wins for good.
Decided = Literal["model", "hand"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Subject and attribute of a value, in the normal form of ``facts.slots``."""

    subject: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a message that a fact rests on: characters ``start`` to ``end`` of the message's ``words``.

    ``words``, and whose they are (``role``, and ``speaker`` where that is another person), are given where it is read
    from the store.
    """

    message: str
    start: int
    end: int
    words: str = ""
    role: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class NewNote:
    """A note to be stored. ``messages`` are the text_ids of its messages; importance is 1 to 10."""

    text_id: str
    text: str
    topic: str
    importance: int
    memory_type: MemoryType
    messages: tuple[str, ...]
    private: bool = True


@dataclass(frozen=True, slots=True)
class NewFact:
    """One atomic statement in a note, to be stored.

    ``subject``, ``attribute`` and ``value`` are as written; ``slot`` is their address. ``start`` and ``end`` are the
    times (ISO, as exact as they are known: year, month, day, or minute as 2026-11-21T14:00; "" unknown) of what it
    tells, where it happens; ``said`` is when it was said, the time of the last turn it rests on. ``single``: its slot
    holds one value at a time. ``quotes`` are the words it rests on, at most one passage of each of ``messages``. Only a
    verified fact is ever the value of a slot.
    """

    text_id: str
    note: str
    restatement: str
    subject: str
    attribute: str
    value: str
    slot: Slot
    single: bool
    about: About
    stance: Stance
    said: str
    messages: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    location: str = ""
    start: str = ""
    end: str = ""
    quotes: tuple[Quote, ...] = ()
    basis: Basis = "verified"


@dataclass(frozen=True, slots=True)
class NewRelation:
    """A relation between two things in a fact, to be stored with it."""

    source: str
    relation: str
    target: str
    fact: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a known fact.

    ``by`` is the text_id of the new fact that did it, "" when a person did. ``when`` is the day or time from which it
    counts. ``verdict`` changes or ends: the fact gets ``until`` = when. corrects: it never was. same: it is confirmed,
    and doubt goes. ``doubts``: it may no longer hold since ``when``. ``verifies``: what was only quoted is said again.
    ``renames``: a name in it was wrong, as in every fact.
    """

    fact: str
    verdict: Literal["same", "changes", "ends", "corrects", "doubts", "verifies", "renames"]
    when: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A stored note. ``timestamp`` is when the last of its turns was said."""

    text_id: str
    session_id: str
    timestamp: str
    text: str
    topic: str
    importance: int
    memory_type: MemoryType
    private: bool
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A stored fact. ``number`` is its name for a person.

    It holds from ``since`` (its ``start`` where that is known, else when it was said) ``until`` something ended it, and
    ``replaced_by`` is what did. ``seen`` is when it was last said or confirmed. ``kept``: the person wants it kept.
    ``first_statement`` is the statement as it was learned, where a name in it was corrected since. A fact that is not
    verified is shown as its ``quotes``, or as an inference; it fills no slot and changes no other.
    """

    number: int
    text_id: str
    note: str
    session_id: str
    restatement: str
    subject: str
    attribute: str
    value: str
    slot: Slot
    single: bool
    about: About
    stance: Stance
    said: str
    seen: str
    messages: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    location: str = ""
    start: str = ""
    end: str = ""
    since: str = ""
    until: str = ""
    replaced_by: str = ""
    corrected: bool = False
    doubtful_since: str = ""
    kept: bool = False
    decided: Decided = "model"
    importance: int = 5
    topic: str = ""
    first_statement: str = ""
    quotes: tuple[Quote, ...] = ()
    learned_as: Basis = "verified"
    verified: bool = True

    @property
    def current(self) -> bool:
        """Whether it holds now, as far as known."""
        return not self.until and not self.corrected

    @property
    def basis(self) -> Basis:
        """What it is believed on now."""
        return "verified" if self.verified else self.learned_as

    @property
    def quotation(self) -> str:
        """The words it rests on; "" where none were found."""
        return " — ".join(one.words for one in self.quotes)

    @property
    def believed(self) -> str:
        """What may be said of it: the statement if it is verified, else its words; nothing of an inference."""
        return self.restatement if self.verified else "" if self.learned_as == "inferred" else self.quotation

    @property
    def holds_since(self) -> str:
        """Its start; "" if it was already past when said and no start was given."""
        return "" if self.until and self.until < self.since[: len(self.until)] else self.since

    def is_over(self, day: str) -> bool:
        """Whether it was over before a day (ISO) because its own end, or the day of the event, had passed."""
        last = self.end or (self.start if self.slot.attribute in EVENTS else "")
        return bool(last) and last < day[: len(last)]

    @property
    def all_words(self) -> str:
        """All its words."""
        own = (
            self.restatement,
            self.subject,
            self.attribute,
            self.value,
            self.location,
            self.slot.subject,
            self.first_statement,
        )
        return "\n".join((*own, *self.keywords, *self.persons, *self.entities))


@dataclass(frozen=True, slots=True)
class Relation:
    """A stored relation; it holds as long as its fact does."""

    source: str
    relation: str
    target: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class FactEvent:
    """An event of a fact: learned, confirmed, verified, changed, ended, corrected, renamed, doubted, put right."""

    fact: str
    kind: str
    when: str
    stored_at: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class SessionChanges:
    """How many facts a session changed.

    ``new`` facts replaced no other; ``changed`` and ``ended`` ones were known before.
    """

    new: int = 0
    changed: int = 0
    ended: int = 0

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.ended)


@dataclass(frozen=True, slots=True)
class Window:
    """The messages of one session that are extracted together, named by the last of them.

    ``messages`` are their text_ids, ``before`` those of messages that are only context.
    """

    name: str
    session_id: str
    messages: tuple[str, ...]
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """Everything extracted from one window, stored in one transaction: new items and changes to known facts.

    ``rejected``: how many of a model's drafts were not believed, by reason.
    """

    window: Window
    notes: tuple[NewNote, ...] = ()
    facts: tuple[NewFact, ...] = ()
    relations: tuple[NewRelation, ...] = ()
    changes: tuple[Change, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineEvidence:
    """A persona line written by the program, and the text_ids of its messages, never empty.

    ``date`` is the day it is about, or on which it was asked about as past in part. Lines written by a person have no
    evidence.
    """

    line: str
    messages: tuple[str, ...]
    date: str = ""
    importance: int = 5


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """A new persona text and the evidence of its lines; a line not listed keeps its evidence.

    ``left_out`` are lines of the version before that have no room any more.
    """

    text: str
    lines: tuple[LineEvidence, ...] = ()
    left_out: tuple[str, ...] = ()
