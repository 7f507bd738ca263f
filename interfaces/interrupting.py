"""Ctrl-C and termination signals as flags to check, never as exceptions."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from domain.workers import CancelToken


class Wishes:
    """Whether to stop the current work, or to end the program.

    Each piece of work gets its own ``CancelToken``, so that a cancelled one never continues.
    """

    def __init__(self) -> None:
        self.stop = CancelToken()
        self.leaving = False
        self._on_leave: list[Callable[[], None]] = []

    def begin(self) -> CancelToken:
        """Start a piece of work: the returned token is what Ctrl-C cancels from here on."""
        self.stop = CancelToken()
        if self.leaving:
            self.stop.set()
        return self.stop

    def when_leaving(self, work: Callable[[], None]) -> None:
        """Call this from the signal handler when the program is asked to end."""
        self._on_leave.append(work)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C."""
        self.stop.set()

    def leave(self, number: int, frame: FrameType | None) -> None:
        """SIGTERM or SIGHUP: stop the work, then end."""
        self.leaving = True
        self.stop.set()
        for work in self._on_leave:
            work()


@contextmanager
def catch_signals() -> Iterator[Wishes]:
    """Catch signals inside of this block."""
    wishes = Wishes()
    handlers: dict[int, Any] = {
        signal.SIGINT: wishes.interrupt,
        signal.SIGTERM: wishes.leave,
        signal.SIGHUP: wishes.leave,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield wishes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
