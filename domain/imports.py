"""Conversations of other programs: what a file contains, what is stored, and the import backlog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from domain.records import Role


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message that is to become a turn. ``key`` is its own in its conversation.

    ``stretch`` counts the stretches of a conversation between long pauses: each becomes a session. ``replies``: it
    answers the turn before it, and belongs to its round. ``text_id`` is the id it would keep, if that is free.
    ``copy`` counts the messages before it in its conversation that say the same in the same second. ``metadata`` are
    values of JSON by name; ``visits`` are how often it was recalled, and when last, as a number of a round.
    """

    key: str
    role: Role
    words: str
    timestamp: str
    stretch: int
    speaker: str = ""
    undated: bool = False
    replies: bool = False
    text_id: str = ""
    copy: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    visits: tuple[int, int] = (0, 0)
    never_delete: bool = False


@dataclass(frozen=True, slots=True)
class PastPiece:
    """Some turns of a conversation that follow each other; ``before`` is the turn right before them, if there is one.

    ``conversation`` is one name for it and its source, the same in every later export. ``session_id`` is the id that
    the session which begins with it would keep, if that is free. ``log`` is one name for the log that the conversation
    was cut out of, and for its source, where there is one. ``summary`` is that of all messages up to its last one.
    """

    conversation: str
    title: str
    role_play: bool
    messages: tuple[ImportedMessage, ...]
    before: ImportedMessage | None = None
    session_id: str = ""
    log: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """How many messages and sessions were new, and how many messages were left out because they were erased."""

    messages: int = 0
    sessions: int = 0
    erased: int = 0


@dataclass(frozen=True, slots=True)
class KnownMessages:
    """How many messages are in the memory already, or were, and how many others were erased from it."""

    messages: int = 0
    erased: int = 0


@dataclass(frozen=True, slots=True)
class ImportSource:
    """An imported file or folder. ``state`` is "begun" until the import has finished."""

    number: int
    name: str
    kind: str
    state: Literal["begun", "done"]
    conversations: int
    messages: int
    stored_at: str


@dataclass(frozen=True, slots=True)
class DueSession:
    """An imported session in the backlog, with what is still to be extracted.

    ``asked`` goes up each time that it is asked for again.
    """

    session_id: str
    asked: int


@dataclass(frozen=True, slots=True)
class ReadingLeft:
    """The size of the import backlog, and today's model calls for it.

    ``resting``: the person paused it.
    """

    sessions: int
    messages: int
    calls_today: int
    resting: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """A preview of a file: counts, time range, speakers, and what cannot be imported, by reason.

    ``words_of`` counts the messages by speaker: "person", "companion", and the names in chats between people; ``names``
    are those of chats in which the person is not identified. ``windows`` are to be extracted, ``chapters`` to be
    written; ``unread`` lists the first unreadable parts; ``known`` messages were imported before, and ``erased``
    ones were erased.
    """

    source: str
    conversations: int
    sessions: int
    messages: int
    undated: int
    first: str
    last: str
    words_of: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()
    unread_count: int = 0
    windows: int = 0
    chapters: int = 0
    known: int = 0
    erased: int = 0

    @property
    def unclear(self) -> bool:
        """Whether it has chats between people and it is not known which of them is the person."""
        return bool(self.names) and not self.words_of.get("person")

    @property
    def calls(self) -> int:
        """The approximate number of model calls to process all of it.

        Two per window, a summary and a persona update per session, and the chapters.
        """
        return 2 * self.windows + 2 * min(self.sessions, self.windows) + self.chapters


#: ``person`` and ``companion`` where the format says who spoke; ``somebody`` in chats between people, by name.
Spoken = Literal["person", "companion", "somebody"]


#: The assistant's name in each format; for other formats it is unknown, or ours.
ASSISTANTS: Mapping[str, str] = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "copilot": "Copilot",
    "deepseek": "DeepSeek",
    "gemini": "Gemini",
    "grok": "Grok",
    "librechat": "LibreChat",
    "llm": "llm",
    "open_webui": "Open WebUI",
}


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One message, word for word. ``key`` is its own in its conversation, and the same in every later export.

    ``said`` has an offset; None if the file gives no time. ``speaker`` is the name in the file, or "". ``text_id`` is
    its id in the file, if a memory can keep it. ``metadata``, ``visits``, ``never_delete``: see ``ImportedMessage``.
    """

    key: str
    by: Spoken
    text: str
    said: datetime | None
    speaker: str = ""
    text_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    visits: tuple[int, int] = (0, 0)
    never_delete: bool = False


@dataclass(frozen=True, slots=True)
class PastConversation:
    """One conversation in the order in which it was shown, never sorted by time.

    ``source`` names the format ("chatgpt"), ``key`` the conversation, the same in every later export. ``persona`` is
    set where the companion, or the person, played a role there: nothing in it is true of the person for that reason.
    ``left_out`` counts what was not imported, by reason. ``session_id`` is its id there, if it can be kept. ``log``
    names the log it was cut from, if the source has no conversations: the next export may cut differently, so message
    keys are unique in the whole log.
    """

    source: str
    key: str
    title: str
    messages: tuple[PastMessage, ...]
    persona: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    session_id: str = ""
    log: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """A conversation or part of a file that could not be read, and why; the rest is imported."""

    source: str
    where: str
    reason: str
    details: Mapping[str, object] = field(default_factory=dict)


class HistoryFile(Protocol):
    """A file or a folder whose format was recognised. ``done`` of ``size`` bytes are read so far."""

    @property
    def source(self) -> str:
        """The program that wrote it."""

    @property
    def size(self) -> int:
        """Its length, in the unit of ``done``."""

    @property
    def done(self) -> int:
        """How far it has been read."""

    def read(self) -> Iterator[PastConversation | Unread]:
        """Everything in it, one conversation in memory at a time."""
