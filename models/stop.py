"""How a person stops a model: an event with words."""

from __future__ import annotations

import threading


class Stop:
    """Set by whoever hears Ctrl-C, looked at by whoever waits for a model.

    >>> stop = Stop()
    >>> stop.set()
    >>> stop.is_set
    True
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_set(self) -> bool:
        """Whether the person asked to stop."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask to stop. Safe in a signal handler and in any thread."""
        self._event.set()

    def clear(self) -> None:
        """Forget an earlier wish to stop, before new work."""
        self._event.clear()

    def wait(self, seconds: float) -> bool:
        """Wait for the wish to stop, ``seconds`` at the most; true when it came."""
        return self._event.wait(seconds)
