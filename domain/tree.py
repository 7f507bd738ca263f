"""The tree of messages, sessions and chapters, and how much of it is searched before the first are archived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

#: A turn; a session, or a group of turns within one; a group of sessions, or of such groups.
Rank = Literal[0, 1, 2]
#: The root.
LIFE = "life"


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree.

    ``text_id`` is that of its turn, summary or chapter; that of a session without a summary is its own id. ``place``
    orders the children of one ``parent``, which only ``LIFE`` has not. ``start`` and ``end`` are the first and the last
    moment of what it covers; ``source`` is the client that stored it, "" the terminal, or several; ``metadata``
    is JSON. ``visit_count`` counts the rounds in which it, or anything under it, was recalled, and ``last_visit`` is
    the number of the last of them, 0 for never. ``name`` identifies it for visits and archiving: of a session its id.
    """

    text_id: str
    rank: Rank
    parent: str | None
    place: int
    source: str
    start: str
    end: str
    metadata: str
    visit_count: int
    last_visit: int
    never_delete: bool
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a chapter: a message, a session with its summary, or a lower chapter.

    ``name`` is what it is called as a child: the id of a turn, a session or a chapter. ``text_id`` names the very words
    ``text``, so that it tells whether these are still the same. ``grouped_before``: how many of its siblings before it
    are in a chapter already; ``unready_before``: how many are still to be made, so that no chapter reaches over them.
    ``speaker`` is set for a message said by neither the person nor the companion.
    """

    name: str
    text_id: str
    text: str
    start: str
    end: str
    grouped_before: int = 0
    unready_before: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A summary of several sessions or chapters, or of a group of messages of one ``session_id`` (else "").

    Without ``text`` it is due to be rewritten, since something in it was deleted. ``height`` counts from 1: a chapter
    of sessions, or of messages. ``children`` are the names of its members in order, ``sessions`` the
    numbers of all sessions under it.
    """

    text_id: str
    session_id: str
    height: int
    parent: str
    text: str
    stored_at: str
    children: tuple[str, ...]
    sessions: tuple[int, ...]
    start: str
    end: str

    @property
    def title(self) -> str:
        """Its first line."""
        return self.text.strip().partition("\n")[0].strip()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the companion's diary, on one session: its sentences, each with the ids of the messages it rests on."""

    text_id: str
    session_id: str
    sentences: tuple[tuple[str, tuple[str, ...]], ...]
    start: str
    end: str
    stored_at: str

    @property
    def text(self) -> str:
        """The page as it is read."""
        return "\n".join(sentence for sentence, _ in self.sentences)


#: What happens beyond the limit: "fade" archives (removes from the indexes), "delete" erases.
ForgetMode = Literal["fade", "delete"]


@dataclass(frozen=True, slots=True)
class ForgetLimit:
    """The ``most`` memories that are searched, 0 for no limit; the percentage to remove at a time, and how."""

    most: int
    percentage: int
    mode: ForgetMode = "fade"

    def step(self, searched: int) -> int:
        """How many memories to remove at once.

        >>> ForgetLimit(1000, 10).step(1200), ForgetLimit(1000, 10).step(1000)
        (120, 0)
        """
        if not self.most or searched <= self.most:
            return 0
        return max(1, searched * self.percentage // 100)


class FadedText(NamedTuple):
    """The text of an archived message with its session and time."""

    seq: int
    session_id: str
    timestamp: str
    text: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A message, or a fully archived session with its summary. ``name`` is its name in the tree."""

    name: str
    session_id: str
    timestamp: str
    text: str
    visit_count: int
    last_visit: int
    is_session: bool
