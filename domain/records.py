"""The stored records as frozen values: sessions, messages, rounds, summaries, personas, erasures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from domain.facts import Fact, Note, Relation
    from domain.tree import Chapter

Role = Literal["user", "assistant"]
Kind = Literal["conversation", "summary"]
Persona = Literal["self", "user"]
PERSONAS: tuple[Persona, Persona] = ("self", "user")
#: How a reply ended: complete, cut off by the token limit, interrupted by the person.
Finish = Literal["stop", "length", "interrupted"]
#: Where a version of a persona came from.
Origin = Literal["model", "hand", "setup", "restore", "erase"]

#: Stored ``text`` begins with one of these; the role itself is in the ``role`` column.
PREFIX: dict[Role, str] = {"user": "User: ", "assistant": "Assistant: "}


#: The person at the terminal.
ME = "me"
#: In place of a person: a token for a program that speaks for everybody.
EVERYBODY = "*"
#: The client of memory service sessions, which have messages of the person and no replies.
SERVICE_CLIENT = "service"
#: The client of an imported session: the terminal never resumes one.
IMPORT_CLIENT = "import"


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation from its beginning to ``/save``.

    ``number`` is its name inside the store; ``position`` is its place among the others, and neither follows the clock.
    ``client`` is who stores it, "" for the terminal, and ``client_key`` that client's name for it. An active session
    with an ``end_timestamp`` has ended and is due to be archived.
    """

    session_id: str
    number: int
    start_timestamp: str
    end_timestamp: str | None
    status: Literal["active", "archived"]
    current_conv_count: int
    stored_at: str = ""
    position: int = 0
    client: str = ""
    client_key: str | None = None


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation in a reply with its source: ``number`` counts the quotations of the reply."""

    number: int
    text_id: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``timestamp`` is when it was said, ``position`` its place in the session.

    ``hidden``: the person asked to forget it, so it is in no prompt. ``quoted`` are its quotations with a source.
    ``demo``: it is from the demo model, so no prompt presents it as the companion's words. ``speaker`` is set if
    neither the person nor the companion said it. ``undated``: the time is unknown, and ``timestamp``
    is that of its neighbours.
    """

    seq: int
    text_id: str
    session_id: str
    timestamp: str
    role: Role
    text: str
    round: int
    finish: Finish = "stop"
    compacted: bool = False
    stored_at: str = ""
    position: int = 0
    hidden: bool = False
    quoted: tuple[Quoted, ...] = ()
    demo: bool = False
    speaker: str = ""
    undated: bool = False

    @property
    def words(self) -> str:
        """The text without its ``User: `` or ``Assistant: ``."""
        return self.text.removeprefix(PREFIX[self.role])


@dataclass(frozen=True, slots=True)
class Round:
    """One user message and its reply; ``greeting`` is what the companion said first, where the person answered it."""

    user: Message
    assistant: Message
    greeting: Message | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of them, in order."""
        return (*([self.greeting] if self.greeting else []), self.user, self.assistant)

    @property
    def hidden(self) -> bool:
        """Whether one of its messages is hidden."""
        return any(one.hidden for one in self.messages)

    def mark_hidden(self, *, hidden: bool = True) -> Round:
        """The round, marked as hidden by a forget request, or as shown again."""
        *first, user, assistant = (replace(one, hidden=hidden) for one in self.messages)
        return Round(user, assistant, *first)

    def with_words(self, user: str, assistant: str) -> Round:
        """The round with other words, and without what the companion said first."""
        return Round(
            replace(self.user, text=PREFIX["user"] + user),
            replace(self.assistant, text=PREFIX["assistant"] + assistant),
        )


def make_unstored_round(
    session_id: str, ids: tuple[str, str], words: tuple[str, str], times: tuple[str, str], finish: Finish
) -> Round:
    """A round of an incognito session, which is not stored: its messages have the number 0."""
    roles: tuple[Role, Role] = ("user", "assistant")
    user, assistant = (
        Message(0, text_id, session_id, when, role, PREFIX[role] + said, 0, finish)
        for text_id, role, said, when in zip(ids, roles, words, times, strict=True)
    )
    return Round(user, assistant)


def pair_messages(messages: Iterable[Message], *, alone: bool = False) -> tuple[Round, ...]:
    """The rounds of these messages of one session; a message whose partner was erased is left out.

    A greeting has the number of the round that answers it, below zero. With ``alone``, what the person said and no one
    answered is a round too: its reply has the same id and no words.
    """
    rounds: dict[int, dict[Role, Message]] = {}
    greetings = {}
    for message in messages:
        if message.round < 0:
            greetings[-message.round] = message
        else:
            rounds.setdefault(message.round, {})[message.role] = message
    for pair in rounds.values():
        if alone and "user" in pair:
            pair.setdefault("assistant", replace(pair["user"], role="assistant", text=PREFIX["assistant"]))
    pairs = ((number, pair) for number, pair in rounds.items() if len(pair) == 2)
    return tuple(Round(pair["user"], pair["assistant"], greetings.get(number)) for number, pair in pairs)


def without_hidden(rounds: Iterable[Round]) -> tuple[Round, ...]:
    """The rounds that may be in a prompt."""
    return tuple(spoken for spoken in rounds if not spoken.hidden)


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a session's rounds up to ``upto_round``; it has the position of its session."""

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
    """A message that is not answered yet, with the partial reply."""

    session_id: str
    timestamp: str
    text: str
    partial: str


@dataclass(frozen=True, slots=True)
class PersonaVersion:
    """One immutable version of a persona."""

    version: int
    persona: Persona
    timestamp: str
    text: str
    origin: Origin
    session_id: str | None


#: What has to be rebuilt after an erasure, or after a save whose model failed.
RebuildTarget = Literal["summary", "self", "user"]


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """A request to rebuild something.

    Either the summary of the session, dated ``timestamp``, after part of the session was erased; or a persona from that
    session, after the model failed when it was saved.
    """

    number: int
    what: RebuildTarget
    session_id: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Removed:
    """What a reset removed, so that it can be restored while nothing is erased after the erasure ``epoch``."""

    session_id: str
    messages: tuple[Message, ...]
    summary: Summary | None
    epoch: int

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The messages as rounds."""
        return pair_messages(self.messages)


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """What an erasure deletes. ``words`` is set if everything that contains certain words was chosen.

    ``versions`` lose the ``lines`` in question, and ``left`` is the remaining text of each. ``in_flight`` lists the
    sessions whose message in flight is deleted. ``relations`` are deleted with their ``facts``. ``chapters`` lose their
    text and are rewritten; imports from files with these ``file_names`` lose the name.
    """

    messages: tuple[Message, ...] = ()
    summaries: tuple[Summary, ...] = ()
    versions: tuple[PersonaVersion, ...] = ()
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
        memories = self.messages or self.summaries or self.notes or self.facts or self.chapters
        kept = self.versions or self.pins or self.in_flight or self.file_names
        return bool(memories or kept or self.sessions)

    @property
    def affected(self) -> tuple[str, ...]:
        """The sessions that lose something and remain."""
        gone = {session.session_id for session in self.sessions}
        touched = [message.session_id for message in self.messages] + [one.session_id for one in self.summaries]
        return tuple(session_id for session_id in dict.fromkeys(touched) if session_id not in gone)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that must be in no file afterwards."""
        spoken = [message.words for message in self.messages] + [summary.summary for summary in self.summaries]
        spoken += [chapter.text for chapter in self.chapters]
        written = [*self.lines, *self.pins, *self.file_names, *self._known_texts()]
        spelled = self._list_spellings([*spoken, *written, *(message.speaker for message in self.messages)])
        return tuple(dict.fromkeys(text for text in [*spoken, *written, *spelled] if text.strip()))

    def _known_texts(self) -> Iterator[str]:
        yield from (note.text for note in self.notes)
        for fact in self.facts:
            yield from (fact.restatement, fact.value, *fact.persons, *fact.entities)
        for one in self.relations:
            yield from (one.source, one.target, one.source + one.relation + one.target)

    def _list_spellings(self, texts: Sequence[str]) -> set[str]:
        """The chosen words in every spelling (case) that occurs."""
        if not self.words:
            return set()
        wanted = re.compile(re.escape(self.words), re.IGNORECASE)
        return {self.words} | {found[0] for text in texts for found in wanted.finditer(text)}


# -- what is stored for a client of the chat API, which sends its history, or the end of it, with every request


@dataclass(frozen=True, slots=True)
class MessageDigest:
    """A message of a client's history that was stored, by one of its digests.

    ``message`` is its index in the conversation, from 0; -1 is the reply. ``text_id`` is the person's message of the
    round, which may have been erased since.
    """

    number: int
    digest: str
    session_id: str
    text_id: str
    message: int


@dataclass(frozen=True, slots=True)
class DueExtraction:
    """Fifty messages of a conversation that are due for extraction.

    ``round`` counts such batches from 1; ``text_ids`` are the person's messages in it, and ``last`` is the last one,
    which tells batches of different conversations apart.
    """

    last: str
    round: int
    client_key: str
    text_ids: tuple[str, ...]
