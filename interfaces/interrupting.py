"""Ctrl-C, and the signals that end a program, as wishes that are looked at: never as exceptions."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from domain.workers import Stop


class Wishes:
    """What the person, or the system, wants: to stop what is under way, or to leave.

    Each piece of work gets a ``Stop`` of its own, so that one which was given up never goes on again.
    """

    def __init__(self) -> None:
        self.stop = Stop()
        self.leaving = False
        self._on_leave: list[Callable[[], None]] = []

    def begin(self) -> Stop:
        """A piece of work begins: what Ctrl-C stops from now on is this."""
        self.stop = Stop()
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
        """SIGTERM or SIGHUP: stop what is under way, then leave."""
        self.leaving = True
        self.stop.set()
        for work in self._on_leave:
            work()


@contextmanager
def heard() -> Iterator[Wishes]:
    """Signals become wishes inside of this."""
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
