"""Folding: the oldest rounds leave the context into the summary, in the background.

Promises: a fold is one commit or nothing; a model that fails leaves the context as it is and is asked again after the
next reply; at most one fold runs at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from domain import errors
from domain.events import Notice, Stop
from domain.languages import Language, language_of
from domain.records import Round, not_withheld
from domain.settings import Settings
from domain.text import without_quotations
from llm import Llm
from memory import Memory


class Folding:
    """The fold of the present session."""

    def __init__(
        self, settings: Settings, memory: Memory, llm: Llm, log: logging.Logger, clock: Callable[[], datetime]
    ) -> None:
        self._settings = settings
        self._memory = memory
        self._llm = llm
        self._log = log
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._stop = Stop()
        #: Whether a fold is under way.
        self.busy = False
        #: What went wrong and was not yet told; whoever tells it takes it out.
        self.notices: list[Notice] = []
        #: Set when a prompt had to be shortened: fold although the number of rounds does not ask for it.
        self.wanted = False

    def begin(self, session_id: str) -> None:
        """Start folding if there is anything to fold and no fold runs."""
        if not self.busy and self._due(session_id):
            self._stop.clear()
            self._thread = threading.Thread(target=self._work, args=(session_id,), name="fold", daemon=True)
            self.busy = True
            self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the fold that runs; what takes longer than ``timeout`` seconds is given up and made again later."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self.busy:
                self._stop.set()
                self._thread.join(1)

    def _due(self, session_id: str) -> tuple[Round, ...]:
        """The rounds to fold now."""
        rounds = self._memory.context(session_id)
        step = self._settings.refresh_every_conv_num
        if len(rounds) > self._settings.max_conv_num or (self.wanted and len(rounds) > 1):
            return rounds[: min(step, len(rounds) - 1)]
        return ()

    def _work(self, session_id: str) -> None:
        try:
            self.run(session_id)
        finally:
            self.busy = False

    def run(self, session_id: str) -> None:
        """Fold until everything fits; what goes wrong becomes a notice."""
        try:
            while rounds := self._due(session_id):
                self.wanted = False
                self._fold(session_id, rounds)
        except errors.Interrupted:
            return
        except errors.OldFriendError as fault:
            self._log.error("fold failed", exc_info=fault)
            self.notices.append(Notice("fold.failed", {"error": fault}))
        except Exception as fault:
            # A fault of ours in this thread must reach the log and the person, and must not end silently.
            self._log.error("fold failed", exc_info=fault)
            self.notices.append(
                Notice("fold.failed", {"error": errors.OldFriendError(reason=type(fault).__name__)})
            )

    def _fold(self, session_id: str, rounds: tuple[Round, ...]) -> None:
        before = self._memory.summary(session_id)
        text = before.summary if before else ""
        refused: list[Round] = []
        following = not_withheld(self._memory.context(session_id)[len(rounds) :])
        if told := not_withheld(rounds):
            text = self._llm.summarise(
                text, told, spoken_language(told), self._stop, refused.append, following
            )
        self._stop.check()
        self._memory.fold(session_id, rounds[-1].user.round, text)
        if refused:
            self.notices.append(left_out(refused))


def left_out(refused: Sequence[Round]) -> Notice:
    """The provider's filter kept rounds out of a summary; they stay stored word for word."""
    return Notice("fold.left_out", {"rounds": len(refused)})


def spoken_language(rounds: Sequence[Round]) -> Language:
    """The language that the person speaks in these rounds."""
    return language_of(
        *(spoken.user.words for spoken in rounds),
        *(without_quotations(spoken.assistant.words) for spoken in rounds[-2:]),
    )
