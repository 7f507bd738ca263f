"""What an import stores and what it came to, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from domain.histories import Unread
    from domain.records import Role

#: The door of a session that was brought along: the terminal never goes on with one by itself.
IMPORT_DOOR = "import"


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One message that is to become a turn. ``key`` is its own in its conversation.

    ``stretch`` counts the stretches of a conversation between long pauses: each becomes a session. ``replies``: it
    answers the turn before it, and belongs to its round. ``text_id`` is the id it would keep, if that is free.
    ``copy`` counts the messages before it in its conversation that say the same in the same second.
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


@dataclass(frozen=True, slots=True)
class PastPiece:
    """Some turns of a conversation that follow each other; ``before`` is the turn right before them, if there is one.

    ``conversation`` is one name for it and its source, the same in every later export. ``session_id`` is the id that
    the session which begins with it would keep, if that is free. ``log`` is one name for the log that the conversation
    was cut out of, and for its source, where there is one. ``live``: it is said now, so that the same words in the same
    second are said again, not exported twice.
    """

    conversation: str
    title: str
    role_play: bool
    turns: tuple[PastTurn, ...]
    before: PastTurn | None = None
    session_id: str = ""
    log: str = ""
    live: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """How much of a piece was new: turns, and sessions that began with it."""

    turns: int = 0
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file or a folder that was brought along. ``number`` names it; ``state`` is "begun" while it has not ended."""

    number: int
    name: str
    kind: str
    state: Literal["begun", "done"]
    conversations: int
    messages: int
    stored_at: str


@dataclass(frozen=True, slots=True)
class DueSession:
    """A session that was brought along and is still to be read: what it came to, and what is known by it.

    ``asked`` goes up each time that it is asked for again.
    """

    session_id: str
    turns: int
    asked: int


@dataclass(frozen=True, slots=True)
class ReadingLeft:
    """How much that was brought along is still to be read, and how many calls for it were made today.

    ``resting``: the person wants nothing read up until further notice.
    """

    sessions: int
    turns: int
    calls_today: int
    resting: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What a file holds: how many of what, from when to when, whose words, and what cannot be taken over, by reason.

    ``words_of`` counts the messages by speaker: "person", "companion", and the names in chats between people; ``names``
    are those of chats in which nobody is known to be the person. ``windows`` are what is read at once for notes, and
    ``chapters`` are written over the sessions; of what is ``unread`` the first are named, and ``known`` messages were
    brought along before.
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

    @property
    def unclear(self) -> bool:
        """Whether people talk in it and nobody said which of them the person is."""
        return bool(self.names) and not self.words_of.get("person")

    @property
    def calls(self) -> int:
        """About how many model calls it takes to read all of it up.

        Two a window, a summary and an image a session, and its chapters.
        """
        return 2 * self.windows + 2 * min(self.sessions, self.windows) + self.chapters
