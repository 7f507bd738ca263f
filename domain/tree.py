"""The tree of all that was said: turns, sessions, chapters over them, and what each is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

#: A turn; a session, or a group of turns within one; a group of sessions, or of such groups.
Rank = Literal[0, 1, 2]
#: The node above all others.
LIFE = "life"


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree.

    ``text_id`` is that of its turn, summary or chapter; that of a session without a summary is its own id. ``place``
    orders the children of one ``parent``, which only ``LIFE`` has not. ``start`` and ``end`` are the first and the last
    moment of what it covers; ``source`` is the door through which that came, "" the terminal, or several; ``metadata``
    is JSON. ``visit_count`` counts the rounds in which it, or anything under it, was handed over, and ``last_visit`` is
    the number of the last of them, 0 for never. ``name`` is what visits, fading and keeping know it by: of a session
    its id.
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
    """What a chapter is made from: a turn, a session with its summary, or a chapter under it.

    ``name`` is what it is called as a child: the id of a turn, a session or a chapter. ``text_id`` names the very words
    ``text``, so that it tells whether these are still the same. ``grouped_before``: how many of its siblings before it
    are in a chapter already; ``unready_before``: how many are still to be made, so that no chapter reaches over them.
    ``speaker`` is who said a turn where that was neither the person nor the companion.
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
    """What several sessions, or chapters, came to together; or a group of turns of one ``session_id``, else "".

    Without ``text`` it is asked for anew, since something under it is gone. ``height`` counts from 1: a chapter of
    sessions, or of turns. ``children`` are the names of what it is made from, in order, and ``sessions`` the numbers of
    all sessions under it.
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

    @property
    def days(self) -> int:
        """How many days it reaches over."""
        return (datetime.fromisoformat(self.end).date() - datetime.fromisoformat(self.start).date()).days + 1


@dataclass(frozen=True, slots=True)
class NewChapter:
    """A chapter that is to be stored; ``members`` are what it was made from, as they were read."""

    text_id: str
    height: int
    members: Sequence[Member]
    text: str
    session_id: str = ""
