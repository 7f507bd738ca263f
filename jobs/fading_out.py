"""Fading: where more is searched than may be, the least important leaves go, a part of all at a time.

Promises: what goes is looked for anew whenever this runs, so that it may be killed anywhere; what is kept never goes;
where nothing is left but what is kept, it ends. What is deleted goes a step a commit, and out of every file, with one
proof, when all steps are done; if not now, then the next time, or at the next start.
"""

from __future__ import annotations

from domain.events import Notice
from domain.fading import ForgetLimit, Leaf
from domain.workers import Stop
from memory import Memory

#: So many fade in one commit, so that nobody waits long for it.
_AT_ONCE = 500


class Fading:
    """Lets memories of one person fade, or erases them with proof, as the settings say."""

    def __init__(self, memory: Memory, limit: ForgetLimit) -> None:
        self._archive, self._erasure = memory.archive, memory.erasure
        self._memory = memory
        self._limit = limit

    @property
    def limited(self) -> bool:
        """Whether anything may ever have to go; whether it has to is counted in the background."""
        return bool(self._limit.most)

    def run(self, stop: Stop) -> list[Notice]:
        """Let go of what has to. Raises StorageError, Interrupted."""
        gone = 0
        while leaves := self._archive.next(self._limit) if self._limit.most else []:
            stop.check()
            if not (taken := self._let_go(leaves)):
                break
            gone += taken
        if self._limit.mode == "delete":
            self._memory.erasure.finish()
        return [Notice(f"fading.{self._limit.mode}", {"memories": gone})] if gone else []

    def _let_go(self, leaves: list[Leaf]) -> int:
        """Returns how many went."""
        if self._limit.mode == "fade":
            for start in range(0, len(leaves), _AT_ONCE):
                self._archive.archive(leaves[start : start + _AT_ONCE])
            return len(leaves)
        scopes = self._erasure.leaves(leaves)
        for chosen in scopes:
            self._erasure.take_out(chosen)
        return sum(len(chosen.turns) + len(chosen.sessions) for chosen in scopes)
