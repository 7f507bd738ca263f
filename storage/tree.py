"""The tree of one memory, for ``Memory.tree``: its nodes, its chapters, and what is kept of it.

Promises: a chapter is stored only from what it was made from; what goes takes the text of every chapter over it along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from domain.tree import Chapter, Member, NewChapter, Node
from storage.tree_store import TreeStore


class Tree:
    """What is told of, and done to, the tree of one memory."""

    def __init__(self, store: TreeStore, clock: Callable[[], datetime], new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    # -- reading -------------------------------------------------------------------------------------------------

    def node(self, text_id: str) -> Node | None:
        """One node, by the id of its text."""
        return self._store.node(text_id)

    def nodes(self, parent: str | None = None) -> list[Node]:
        """The children of a node, in order; without one every node there is."""
        return self._store.nodes(parent)

    def chapters(self) -> list[Chapter]:
        """All chapters, the earliest first."""
        return self._store.chapters()

    def rounds_told(self) -> int:
        """How many rounds this memory was ever told, by which visits are dated."""
        return self._store.rounds_told()

    # -- growing -------------------------------------------------------------------------------------------------

    def ungrouped(self, height: int, session_id: str = "") -> list[Member]:
        """What is in no chapter of this height yet and may be, in order; of a session its turns and groups."""
        return self._store.ungrouped(height, session_id)

    def long_sessions(self, characters: int) -> list[str]:
        """The archived sessions in no chapter yet with more characters than that."""
        return self._store.long_sessions(characters)

    def add_chapter(self, height: int, members: Sequence[Member], text: str, session_id: str = "") -> bool:
        """Store a chapter over these. False, and nothing, when one of them is not as it was read any more."""
        new = NewChapter(self._new_id(), height, members, text, session_id)
        return self._store.add_chapter(new, self._now())

    def asked_for(self) -> list[tuple[Chapter, list[Member]]]:
        """The chapters that are to be made anew and can be now, each with what from; the lowest first."""
        void = [one for one in self._store.chapters() if not one.text]
        ready = ((one, self._store.members(one.text_id)) for one in sorted(void, key=lambda one: one.height))
        return [(one, members) for one, members in ready if members and len(members) > 1]

    def renew_chapter(self, text_id: str, height: int, members: Sequence[Member], text: str) -> bool:
        """Give a chapter its text anew. False, and nothing, when what it is made from is not as it was read."""
        return self._store.renew_chapter(NewChapter(text_id, height, members, text), self._now())

    # -- keeping --------------------------------------------------------------------------------------

    def set_never_delete(self, names: Sequence[str], never: bool) -> None:
        """Note whether these nodes may never fade or be deleted."""
        self._store.set_never_delete(names, never)

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")
