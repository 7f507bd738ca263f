"""Archiving: when a memory has more to search than the limit allows, its least important leaves are archived or erased.

Guarantees: the surplus is computed at each run, so it may be killed anywhere; protected memories are never removed, and
it ends when only those remain. Erasing removes a part per commit, from every file, with one proof at the end; if that
fails, it is repeated at the next run or start.
"""

from __future__ import annotations

from domain.events import Notice
from domain.tree import ForgetLimit, Leaf
from domain.workers import CancelToken
from memory import Memory

#: So many are archived in one commit, so that no one waits long for it.
_AT_ONCE = 500


class Archiving:
    """Archives memories of one person, or erases them with proof, as the settings say."""

    def __init__(self, memory: Memory, limit: ForgetLimit) -> None:
        self._archive, self._erasure = memory.archive, memory.erasure
        self._memory = memory
        self._limit = limit

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self._limit.most)

    def run(self, cancel: CancelToken) -> list[Notice]:
        """Archive or erase the surplus. Raises StorageError, Interrupted."""
        removed = 0
        while leaves := self._archive.next_batch(self._limit) if self._limit.most else []:
            cancel.check()
            if not (count := self._remove_leaves(leaves)):
                break
            removed += count
        if self._limit.mode == "delete":
            self._memory.erasure.finish()
        return [Notice(f"archive.{self._limit.mode}", {"memories": removed})] if removed else []

    def _remove_leaves(self, leaves: list[Leaf]) -> int:
        """Returns how many were archived or erased."""
        if self._limit.mode == "fade":
            for start in range(0, len(leaves), _AT_ONCE):
                self._archive.archive(leaves[start : start + _AT_ONCE])
            return len(leaves)
        scopes = self._erasure.scopes_of_leaves(leaves)
        for chosen in scopes:
            self._erasure.remove(chosen)
        return sum(len(chosen.turns) + len(chosen.sessions) for chosen in scopes)
