"""How a piece of work grows with its text: counted, and never measured by a clock, so that no busy machine decides.

Two things tell work that grows faster than its text. What Python does is counted: each line that it executes, and each
character of a text that it makes on the way. What happens inside one call of C, as the search of a pattern, cannot be
counted: there the work is given so much text that anything but linear work does not end in hours, and is waited for.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Seconds in which work has to end that takes one, and would take many minutes if it were not linear.
_PATIENCE = 120.0
#: So much more text is waited for, and so much less is counted, than the size that is given.
_MORE, _LESS = 4, 30
#: Of a list that is made on the way, the texts at its beginning are counted too.
_LOOKED_AT = 100


def growth(work: Callable[[str], object], piece: str, size: int = 60_000) -> float:
    """How many times more is done for four times as much text: 4 is linear, 16 quadratic.

    Raises AssertionError where the work for a long text does not end.
    """
    with _ending(f"{_MORE * size} characters of {piece!r}"):
        work(piece * (_MORE * size // len(piece)))
    count = max(1, size // _LESS // len(piece))
    work(piece * 5 * count)  # patterns are compiled when they are first needed, which is none of the work
    return steps(lambda: work(piece * 4 * count)) / steps(lambda: work(piece * count))


def steps(work: Callable[[], object]) -> int:
    """The lines of Python that the work executes, and the characters and bytes of what it makes on the way."""
    counter, before = _Counter(), sys.gettrace()
    sys.settrace(counter.trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counter.steps


class _Counter:
    """Sees every line. A text counts once, however often it is handed on; it is held, so that no other takes its id."""

    def __init__(self) -> None:
        self.steps = 0
        self._seen: dict[int, object] = {}

    def trace(self, frame: FrameType, event: str, of: Any) -> Callable[..., Any]:
        """What ``sys.settrace`` calls."""
        self.steps += 1
        found = frame.f_locals
        self._take(found)
        self._take(getattr(found.get("self"), "__dict__", {}))
        return self.trace

    def _take(self, values: dict[str, object]) -> None:
        for value in list(values.values()):
            self._count(value)

    def _count(self, value: object) -> None:
        if isinstance(value, (str, bytes, bytearray, list)) and id(value) not in self._seen:
            self._seen[id(value)] = value
            self.steps += len(value)
            if isinstance(value, list):
                for one in value[:_LOOKED_AT]:
                    self._count(one)


@contextmanager
def _ending(what: str) -> Iterator[None]:
    """Wait for what is done inside, and not for ever; for the main thread."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"the work for {what} does not end")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
