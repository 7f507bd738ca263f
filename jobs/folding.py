"""Folding: the oldest rounds leave the context into the summary, in the background.

Promises: a fold is one commit or nothing; a model that fails leaves the context as it is and is asked again after the
next reply; at most one fold runs at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from domain.events import Notice
from domain.languages import Language, language_of
from domain.records import Round, not_withheld
from domain.settings import Settings
from domain.text import without_quotations
from domain.workers import Stop, Workers
from jobs.background import Background
from llm import Llm
from memory import Memory


class Folding:
    """The fold of the present session."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        llm: Llm,
        log: logging.Logger,
        workers: Workers | None = None,
    ) -> None:
        self._settings = settings
        self._memory = memory
        self._llm = llm
        self._background = Background("fold", "fold.failed", log, workers)
        self.wait = self._background.wait
        self.end = self._background.end
        self.resting = self._background.resting
        self.notices = self._background.notices
        #: Set when a prompt had to be shortened: fold although the number of rounds does not ask for it.
        self.wanted = False

    def begin(self, session_id: str) -> None:
        """Start folding if there is anything to fold and no fold runs."""
        if self._due(session_id):
            self._background.begin(partial(self._fold_all, session_id))

    def run(self, session_id: str) -> None:
        """Fold now, and return when everything fits; what goes wrong becomes a notice."""
        self._background.run(partial(self._fold_all, session_id))

    def _due(self, session_id: str) -> tuple[Round, ...]:
        """The rounds to fold now."""
        rounds = self._memory.messages.context(session_id)
        step = self._settings.refresh_every_conv_num
        if len(rounds) > self._settings.max_conv_num or (self.wanted and len(rounds) > 1):
            return rounds[: min(step, len(rounds) - 1)]
        return ()

    def _fold_all(self, session_id: str, stop: Stop) -> None:
        while rounds := self._due(session_id):
            self.wanted = False
            self._fold(session_id, rounds, stop)

    def _fold(self, session_id: str, rounds: tuple[Round, ...], stop: Stop) -> None:
        before = self._memory.summaries.of(session_id)
        text = before.summary if before else ""
        refused: list[Round] = []
        following = not_withheld(self._memory.messages.context(session_id)[len(rounds) :])
        if told := not_withheld(rounds):
            language, names = spoken_language(told), self._memory.names()
            text = self._llm.summarise(text, told, language, stop, refused.append, following, names)
        stop.check()
        self._memory.rounds.compact(session_id, rounds[-1].user.round, text)
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
