"""What is stored, as frozen values. Everybody who speaks of stored things speaks of these."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from domain.facts import Fact, Note, Relation
from domain.tree import Chapter

Role = Literal["user", "assistant"]
Kind = Literal["conversation", "summary"]
Image = Literal["self", "user"]
IMAGES: tuple[Image, Image] = ("self", "user")
#: How a reply ended: whole, cut by the token limit, stopped by the person.
Finish = Literal["stop", "length", "interrupted"]
#: Where a version of an image came from.
Origin = Literal["model", "hand", "setup", "restore", "erase"]

#: Stored ``text`` begins with one of these; the role itself is in the ``role`` column.
PREFIX: dict[Role, str] = {"user": "User: ", "assistant": "Assistant: "}


#: The door of sessions that hold what was handed over to the memory service: what a person said, and no replies.
EVENT_DOOR = "service"


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation from its beginning to ``/save``.

    ``number`` is its name inside the store; ``position`` is where it stands among the others, and neither follows the
    clock. ``start_timestamp`` is when it began, ``stored_at`` when it was stored. ``door`` says where it is
    held, "" for the terminal, and ``door_key`` what that door calls it by. One that is active and has an
    ``end_timestamp`` has ended, and waits to be archived.
    """

    session_id: str
    number: int
    start_timestamp: str
    end_timestamp: str | None
    status: Literal["active", "archived"]
    current_conv_count: int
    stored_at: str = ""
    position: int = 0
    door: str = ""
    door_key: str | None = None


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation of a reply that was found in a memory: the how manieth of the reply, and whose words it repeats."""

    number: int
    text_id: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. ``timestamp`` is when it was said, ``position`` where it stands in its session.

    ``withheld``: the person asked to have it forgotten, so it is in no prompt. ``quoted`` are the quotations in it that
    were found in a memory when it was stored.
    ``standin``: the built-in stand-in said it, in place of a model; no model is told of it as the companion's words.
    ``speaker`` is who said it where that was neither the person nor the companion. ``undated``: nobody knows when, and
    ``timestamp`` is that of what stands around it.
    """

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    role: Role
    text: str
    round: int
    finish: Finish = "stop"
    folded: bool = False
    stored_at: str = ""
    position: int = 0
    withheld: bool = False
    quoted: tuple[Quoted, ...] = ()
    standin: bool = False
    speaker: str = ""
    undated: bool = False

    @property
    def words(self) -> str:
        """The text without its ``User: `` or ``Assistant: ``."""
        return self.text.removeprefix(PREFIX[self.role])


@dataclass(frozen=True, slots=True)
class Round:
    """One user message and its reply."""

    user: Turn
    assistant: Turn

    @property
    def turns(self) -> tuple[Turn, Turn]:
        """Both, in order."""
        return self.user, self.assistant

    @property
    def withheld(self) -> bool:
        """Whether the person asked to have one of its messages forgotten."""
        return self.user.withheld or self.assistant.withheld


def unstored(
    session_id: str, ids: tuple[str, str], words: tuple[str, str], times: tuple[str, str], finish: Finish
) -> Round:
    """A round that stands in no store, of a time in which nothing is written: its turns have the number 0."""
    roles: tuple[Role, Role] = ("user", "assistant")
    user, assistant = (
        Turn(0, text_id, session_id, when, role, PREFIX[role] + said, 0, finish)
        for text_id, role, said, when in zip(ids, roles, words, times, strict=True)
    )
    return Round(user, assistant)


def paired(turns: Iterable[Turn]) -> tuple[Round, ...]:
    """The rounds of these turns of one session; a turn whose partner was erased is left out."""
    rounds: dict[int, dict[Role, Turn]] = {}
    for turn in turns:
        rounds.setdefault(turn.round, {})[turn.role] = turn
    return tuple(Round(pair["user"], pair["assistant"]) for pair in rounds.values() if len(pair) == 2)


def not_withheld(rounds: Iterable[Round]) -> tuple[Round, ...]:
    """The rounds that a model may be told of."""
    return tuple(spoken for spoken in rounds if not spoken.withheld)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a session came to so far; made from its rounds up to ``upto_round``. It stands where its session stands."""

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    summary: str
    upto_round: int
    stored_at: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class InFlight:
    """What was typed and not yet answered, with what had come of the reply."""

    session_id: str
    timestamp: str
    text: str
    partial: str


@dataclass(frozen=True, slots=True)
class ImageVersion:
    """One version of an image, for good."""

    version: int
    image: Image
    timestamp: str
    text: str
    origin: Origin
    session_id: str | None


#: What an erasure, or a save whose model failed, may leave to be made anew.
Renewable = Literal["summary", "self", "user"]


@dataclass(frozen=True, slots=True)
class Renewal:
    """Something to be made anew.

    A summary of the session, dated ``timestamp``, because what it was made from was erased in part; or an image, from
    what that session came to, because a model failed when it was saved.
    """

    number: int
    what: Renewable
    session_id: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Removed:
    """What a reset took out, so that it can be put back."""

    session_id: str
    turns: tuple[Turn, ...]
    summary: Summary | None

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The turns, as rounds."""
        return paired(self.turns)


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """What an erasure would take. ``words`` is set when everything that holds certain words was chosen.

    ``versions`` lose the ``lines`` that hold it, and ``left`` is what stays of each of them. ``in_flight`` names the
    sessions whose message in flight goes. With ``facts`` go the ``relations`` that stand in them. The ``chapters`` lose
    their text, which is asked for anew, and imports that were read from files of these ``file_names`` lose the name.
    """

    turns: tuple[Turn, ...] = ()
    summaries: tuple[Summary, ...] = ()
    versions: tuple[ImageVersion, ...] = ()
    left: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    in_flight: tuple[str, ...] = ()
    sessions: tuple[Session, ...] = ()
    words: str = ""
    notes: tuple[Note, ...] = ()
    facts: tuple[Fact, ...] = ()
    relations: tuple[Relation, ...] = ()
    chapters: tuple[Chapter, ...] = ()
    file_names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        told = self.turns or self.summaries or self.notes or self.facts or self.chapters
        kept = self.versions or self.pins or self.in_flight or self.file_names
        return bool(told or kept or self.sessions)

    @property
    def affected(self) -> tuple[str, ...]:
        """The sessions that lose something and stay."""
        gone = {session.session_id for session in self.sessions}
        touched = [turn.session_id for turn in self.turns] + [one.session_id for one in self.summaries]
        return tuple(session_id for session_id in dict.fromkeys(touched) if session_id not in gone)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that must be in no file afterwards."""
        spoken = [turn.words for turn in self.turns] + [summary.summary for summary in self.summaries]
        spoken += [chapter.text for chapter in self.chapters]
        written = [*self.lines, *self.pins, *self.file_names, *self._known()]
        spelled = self._spellings([*spoken, *written, *(turn.speaker for turn in self.turns)])
        return tuple(dict.fromkeys(text for text in [*spoken, *written, *spelled] if text.strip()))

    def _known(self) -> Iterator[str]:
        """What the notes, facts and relations say."""
        yield from (note.text for note in self.notes)
        for fact in self.facts:
            yield from (fact.restatement, fact.value, *fact.persons, *fact.entities)
        for one in self.relations:
            yield from (one.source, one.target, one.source + one.relation + one.target)

    def _spellings(self, texts: Sequence[str]) -> set[str]:
        """The chosen words in every case in which they were written."""
        if not self.words:
            return set()
        wanted = re.compile(re.escape(self.words), re.IGNORECASE)
        return {self.words} | {found[0] for text in texts for found in wanted.finditer(text)}
