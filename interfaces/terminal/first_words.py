"""The companion speaks first, above the first prompt: in a thread of its own, while the person may already type."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from conversation import Conversation
from domain.workers import CancelToken


class FirstWords:
    """What the companion says first, sentence by sentence; typing ends it, and what was shown stays.

    ``text`` is shown above the prompt until something is entered; ``ended``: nothing is added to it any more.
    """

    def __init__(self, conversation: Conversation, log: logging.Logger) -> None:
        self._conversation = conversation
        self._log = log
        self._stop = CancelToken()
        self.text = ""
        self.ended = False

    def begin(self, redraw: Callable[[], None]) -> None:
        """Look whether something is due, and say it; ``redraw`` is called when there are more words."""

        def speak() -> None:
            try:
                for greeting in self._conversation.greet(self._stop):
                    self.text = greeting.text
                    redraw()
            except Exception as fault:  # whatever fails here, the prompt stands
                self._log.warning("no greeting", exc_info=fault)
            self.ended = True

        threading.Thread(target=speak, name="greeting", daemon=True).start()

    def end(self) -> None:
        """Say no more."""
        self._stop.set()

    def drop(self) -> None:
        """Say no more: what there is of it is not shown, and never was said."""
        self.end()
        self._conversation.greeting = None

    def entered(self) -> None:
        """The prompt is done: say no more, and show nothing above the next one."""
        self.end()
        self.text = ""
