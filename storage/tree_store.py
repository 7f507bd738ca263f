"""What a store keeps of the tree: the part of ``storage.store.Store`` that is about chapters, visits and fading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from domain.fading import FadedText, Leaf
from domain.tree import Chapter, Member, NewChapter, Node


class TreeStore(Protocol):
    """The tree of one memory. Whatever goes takes the text of each chapter above it along, in the same commit."""

    def node(self, text_id: str) -> Node | None:
        """The node with this id."""
        ...

    def nodes(self, parent: str | None = None) -> list[Node]:
        """The children of a node, in order; without one every node there is."""
        ...

    def chapters(self, text_ids: Sequence[str] | None = None) -> list[Chapter]:
        """All chapters, or these, the earliest first."""
        ...

    def ungrouped(self, height: int, session_id: str = "") -> list[Member]:
        """What is in no chapter of this height yet and may be, in order.

        Of height 1 archived sessions whose summary stands; or of a session its turns.
        """
        ...

    def members(self, text_id: str) -> list[Member] | None:
        """What a chapter is made from now; None while some of that is not ready."""
        ...

    def long_sessions(self, characters: int) -> list[str]:
        """The archived sessions in no chapter yet with more characters than that, but what was brought along."""
        ...

    def add_chapter(self, new: NewChapter, now: str) -> bool:
        """Store a new chapter; False, and nothing, when one of its members is not as it was read, or is in another."""
        ...

    def renew_chapter(self, made: NewChapter, now: str) -> bool:
        """Give a chapter that is asked for anew its text; False, and nothing, when its members are not as read."""
        ...

    def chapters_above(self, turns: Sequence[str], sessions: Sequence[str]) -> list[Chapter]:
        """The chapters that rest on one of these turns as such, or on the summary of one of these sessions."""
        ...

    def void_chapters(self, text_ids: Sequence[str]) -> None:
        """Take the text of these chapters, and of all above them, and ask for it anew."""
        ...

    def rounds_told(self) -> int:
        """How many rounds this memory was ever told, also those that are gone; those of the past brought along not."""
        ...

    def set_never_delete(self, names: Sequence[str], never: bool) -> None:
        """Note whether these nodes may never fade or be deleted."""
        ...

    def fade(self, names: Sequence[str], now: str) -> list[str]:
        """Take these nodes out of every index; they stay stored. Returns what is gone from there."""
        ...

    def unfade(self, names: Sequence[str]) -> None:
        """Let these nodes be found again."""
        ...

    def searched(self) -> int:
        """How many messages and summaries can be found."""
        ...

    def leaves(self, most: int) -> list[Leaf]:
        """What fades first, and is not kept: visited longest ago, then least often, then the oldest."""
        ...

    def fadings(self) -> int:
        """A number that changes whenever turns fade, return to the search under their old numbers, or move."""
        ...

    def any_faded(self) -> bool:
        """Whether anything is archived."""
        ...

    def faded_texts(self) -> Iterator[list[FadedText]]:
        """The texts of all turns that have faded, in slices."""
        ...

    def faded(self) -> Mapping[str, str]:
        """What has faded, and when, by name."""
        ...
