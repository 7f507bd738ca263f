"""What may be searched at the most, and what fades where there is more, for ``Memory.fading``.

Promises: nothing that is kept ever goes; what faded stays in the archive, is erased as everything is, and comes back
when it is told again; each step is one commit, so that a kill costs nothing and the next look goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from domain.fading import ForgetLimit, Leaf
from domain.records import IMAGES, ErasureScope
from storage.erasure import Eraser
from storage.image_lines import same
from storage.store import Store


class FadingVerbs:
    """What of one memory fades, and what has."""

    def __init__(
        self,
        store: Store,
        eraser: Eraser,
        clock: Callable[[], datetime],
        tell_index: Callable[[Sequence[str]], None],
    ) -> None:
        self._store = store
        self._eraser = eraser
        self._clock = clock
        self._tell_index = tell_index

    def searched(self) -> int:
        """How many memories can be found: turns, and summaries of sessions."""
        return self._store.searched()

    def faded(self) -> Mapping[str, str]:
        """What has faded, and when, by the name that the tree knows it by."""
        return self._store.faded()

    def next(self, limit: ForgetLimit) -> list[Leaf]:
        """What fades in the next step; nothing while no more is searched than may be, or all of it is kept."""
        step = limit.step(self._store.searched()) if limit.most else 0
        return self._store.leaves(step) if step else []

    def first(self, most: int) -> list[Leaf]:
        """What would fade first, whether anything has to or not."""
        return self._store.leaves(most)

    def fade(self, leaves: Sequence[Leaf]) -> None:
        """Let these leave every index."""
        now = self._clock().isoformat(timespec="seconds")
        self._tell_index(self._store.fade([one.name for one in leaves], now))

    def bring_back(self, names: Sequence[str]) -> None:
        """Let these be found again."""
        self._store.unfade(names)
        self._tell_index([])

    def scopes_of(self, leaves: Sequence[Leaf]) -> list[ErasureScope]:
        """What erasures of these would take. What would take a pinned line along stays."""
        turns = [one.name for one in leaves if not one.is_session]
        chosen = self._eraser.turns(turns)
        if self._takes_pinned(chosen):
            chosen = self._eraser.turns(
                [one for one in turns if not self._takes_pinned(self._eraser.turns([one]))]
            )
        whole = [self._eraser.session(one.name) for one in leaves if one.is_session]
        return [one for one in (chosen, *whole) if one and not self._takes_pinned(one)]

    def take_out(self, chosen: ErasureScope) -> None:
        """Let this be in no answer any more; ``Memory.finish_erasing`` takes it out of every file.

        What another of the same leaves took along meanwhile is not put back.
        """
        fresh = self._eraser.refreshed(chosen)
        self._eraser.take_out(fresh)
        self._tell_index([*(one.text_id for one in fresh.turns), *(one.text_id for one in fresh.summaries)])

    def _takes_pinned(self, chosen: ErasureScope) -> bool:
        """Whether a line goes that holds a pin."""
        pinned = [same(pin).strip() for image in IMAGES for pin in self._store.pins(image)]
        return any(pin in same(line) for line in (*chosen.lines, *chosen.pins) for pin in pinned)
