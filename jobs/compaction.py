"""Compaction: the oldest rounds leave the context and go into the summary.

Guarantees: each step is one commit or nothing; a model that fails leaves the context as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domain.events import Notice
from domain.quotations import without_quotations
from domain.records import Round, without_hidden
from domain.settings import Settings
from domain.workers import CancelToken
from language.scripts import Language, language_of
from llm import Llm
from memory import Memory


def rounds_to_compact(memory: Memory, settings: Settings, session_id: str, *, shortened: bool) -> tuple[Round, ...]:
    """The rounds that leave the context next; none while all fit, unless a prompt had to be ``shortened``."""
    rounds = memory.messages.context(session_id)
    if len(rounds) > settings.max_conv_num or (shortened and len(rounds) > 1):
        return rounds[: min(settings.refresh_every_conv_num, len(rounds) - 1)]
    return ()


def compact(memory: Memory, llm: Llm, session_id: str, cancel: CancelToken, *, shortened: bool) -> Iterator[Notice]:
    """Summarise until everything fits. Raises ModelError, Interrupted, StorageError."""
    while rounds := rounds_to_compact(memory, llm.settings, session_id, shortened=shortened):
        shortened = False
        before = memory.summaries.of(session_id)
        text = before.summary if before else ""
        refused: list[Round] = []
        following = without_hidden(memory.messages.context(session_id)[len(rounds) :])
        if shown := without_hidden(rounds):
            language, names = spoken_language(shown), memory.names()
            text = llm.summarise(text, shown, language, cancel, refused.append, following, names)
        cancel.check()
        memory.rounds.compact(session_id, rounds[-1].user.round, text)
        if refused:
            yield left_out_notice(refused)


def left_out_notice(refused: Sequence[Round]) -> Notice:
    """The provider's filter kept rounds out of a summary; they stay stored word for word."""
    return Notice("compaction.left_out", {"rounds": len(refused)})


def spoken_language(rounds: Sequence[Round]) -> Language:
    """The language that the person speaks in these rounds."""
    return language_of(
        *(spoken.user.words for spoken in rounds),
        *(without_quotations(spoken.assistant.words) for spoken in rounds[-2:]),
    )
