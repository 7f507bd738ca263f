"""What is known: notes and facts drawn from talk, relations between what facts name, and what changed.

    turn -> note -> fact -> line of an image

Turns are the truth; everything here names the turns it rests on and goes with any of them. Nothing is deleted when life
changes: a fact that changed or ended keeps its place with ``until``, one that was never true is ``corrected``, one that
may no longer hold is doubtful until the person speaks of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Whether a matter was only mentioned, or the person asked to have it remembered.
MemoryType = Literal["active", "passive"]
#: Whom a fact is about.
About = Literal["person", "companion", "other"]
#: How a thing was said. Only what was stated is ever the value of a slot.
Stance = Literal["stated", "planned", "wished", "supposed", "joked"]
#: What a new fact does to a known one, as the comparison says; ``adds`` is to none.
Verdict = Literal["same", "adds", "changes", "ends", "corrects"]
#: Who last decided about a fact; what a person put right by hand wins for good.
Decided = Literal["model", "hand"]


@dataclass(frozen=True, slots=True)
class Slot:
    """What a value is the value of: in the normal form of ``facts.slots``, equal for equal matters."""

    subject: str
    attribute: str


@dataclass(frozen=True, slots=True)
class NewNote:
    """One matter of a stretch of talk, to be stored. ``turns`` are the text_ids it rests on; importance is 1 to 10."""

    text_id: str
    text: str
    topic: str
    importance: int
    memory_type: MemoryType
    turns: tuple[str, ...]
    private: bool = True


@dataclass(frozen=True, slots=True)
class NewFact:
    """One atomic statement in a note, to be stored.

    ``subject``, ``attribute`` and ``value`` are as written; ``slot`` is their address. ``start`` and ``end`` are the
    days (ISO, as exact as they are known: year, month or day; "" unknown) of what it tells; ``said`` is when it was
    said, the time of the last turn it rests on. ``single``: its slot holds one value at a time.
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
    turns: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    location: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class NewRelation:
    """How two things that a fact names stand to each other, to be stored with it."""

    source: str
    relation: str
    target: str
    fact: str


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a known fact, and why.

    ``by`` is the text_id of the new fact that did it, "" when a person did. ``when`` is the day or time from which it
    counts. ``verdict`` changes or ends: the fact gets ``until`` = when. corrects: it never was. same: it is confirmed,
    and doubt goes. ``doubts``: it may no longer hold since ``when``.
    """

    fact: str
    verdict: Literal["same", "changes", "ends", "corrects", "doubts"]
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
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A stored fact. ``number`` is its name for a person.

    It holds from ``since`` (its ``start`` where that is known, else when it was said) ``until`` something ended it, and
    ``replaced_by`` is what did. ``seen`` is when it was last said or confirmed. ``kept``: the person wants it kept.
    ``first_told`` is the statement as it was learned, where a name in it was corrected since.
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
    turns: tuple[str, ...]
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
    first_told: str = ""

    @property
    def current(self) -> bool:
        """Whether it holds now, as far as anybody said."""
        return not self.until and not self.corrected

    @property
    def began(self) -> str:
        """Since when it holds or held; "" where it was over before anybody told of it, and nobody said since when."""
        return "" if self.until and self.until < self.since[: len(self.until)] else self.since

    @property
    def words(self) -> str:
        """Every word that it holds."""
        told = (
            self.restatement,
            self.subject,
            self.attribute,
            self.value,
            self.location,
            self.slot.subject,
            self.first_told,
        )
        return "\n".join((*told, *self.keywords, *self.persons, *self.entities))


@dataclass(frozen=True, slots=True)
class Relation:
    """A stored relation; it holds as long as its fact does."""

    source: str
    relation: str
    target: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class FactEvent:
    """One thing that happened to a fact: it was learned, confirmed, changed, ended, corrected, doubted, put right."""

    fact: str
    what: str
    when: str
    stored_at: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class KnownCounts:
    """How much is known: notes, facts that hold now, facts that do not, and turns that nobody has read yet."""

    notes: int
    current: int
    past: int
    unread: int

    @property
    def facts(self) -> int:
        """All facts."""
        return self.current + self.past


@dataclass(frozen=True, slots=True)
class News:
    """What a session changed in what is known.

    ``new`` facts took no other's place; ``changed`` and ``ended`` ones were known before it.
    """

    new: int = 0
    changed: int = 0
    ended: int = 0

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.ended)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of one session whose turns are read together, named by the last of them.

    ``turns`` are the text_ids of those that are read, ``before`` of those that only stand there as context.
    """

    name: str
    session_id: str
    turns: tuple[str, ...]
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """All that one window came to, stored in one commit: what is new, and what becomes of what was known."""

    window: Window
    notes: tuple[NewNote, ...] = ()
    facts: tuple[NewFact, ...] = ()
    relations: tuple[NewRelation, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class LineEvidence:
    """A line of an image that the program wrote, and what it rests on: text_ids of turns, never empty.

    ``about`` is the day it speaks of. Lines that a person wrote have none.
    """

    line: str
    turns: tuple[str, ...]
    date: str = ""
    importance: int = 5


@dataclass(frozen=True, slots=True)
class ImageDraft:
    """What an image is to become, and what the lines in it rest on; a line that is not named keeps what it had."""

    text: str
    lines: tuple[LineEvidence, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptReply:
    """A model's reply for a window, kept until the window is learned. It counts only while ``base`` is the same."""

    base: str
    reply: str
