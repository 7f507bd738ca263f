"""The import backlog: extract from imported sessions in the background, a few model calls a day.

    imported session -> notes and facts -> a summary -> the user persona

Guarantees: the newest month comes first, and in it what was talked about most; no day has more calls than the settings
allow, except one that a kill cut off; results are stored at once and the next day continues after them; a failing
session waits and blocks no other; role play is not read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from domain import errors
from domain.events import Notice
from domain.imports import DueSession
from domain.records import PREFIX, Message, Round
from domain.workers import CancelToken
from jobs.extraction import Extraction, only_notices
from jobs.rebuild import RebuildStarted, Rebuilt, rebuild
from jobs.summaries import write_summary
from language.scripts import estimate
from llm import Llm
from memory import Memory

#: So many tokens of talk go into one call for a summary.
_TOKENS_A_CALL = 8_000
#: A window takes two calls at the most.
_LEAST = 2


@dataclass(frozen=True)
class BacklogRead:
    """A session of the past was read, all of it or a part."""

    whole: bool


class ImportBacklog:
    """Extracts from the imported sessions of one memory."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm
        self._past = memory.imports

    def run(self, cancel: CancelToken) -> Iterator[Notice | BacklogRead]:
        """Read one session after another, as far as the calls of today reach. Raises Interrupted, StorageError."""
        while self._calls_left >= _LEAST and (due := self._past.due_sessions()):
            cancel.check()
            try:
                whole = yield from self._read_session(due[0], cancel)
            except errors.ModelError as fault:
                yield Notice("import.backlog_failed", {"error": fault})
                return
            if whole:
                self._past.end_reading(due[0])
            yield BacklogRead(whole)
            if not whole:
                return

    @property
    def _calls_left(self) -> int:
        """How many calls are left today; none without a model."""
        left = self._past.remaining_backlog()
        if left.resting or self._llm.described.demo:
            return 0
        return self._llm.settings.import_calls - left.calls_today

    def _read_session(self, due: DueSession, cancel: CancelToken) -> Generator[Notice, None, bool]:
        extraction = Extraction(self._memory, self._llm, count_calls=self._past.count_calls)
        reading = extraction.run(due.session_id, cancel, all_of_it=True, most_calls=self._calls_left)
        if not (yield from only_notices(reading)) and self._memory.messages.unread(due.session_id):
            return False
        if not (yield from self._summarise(due.session_id, cancel)):
            return False
        return (yield from self._update_persona(due.session_id, cancel))

    def _summarise(self, session_id: str, cancel: CancelToken) -> Generator[Notice, None, bool]:
        while self._past.summary_and_rest(session_id)[1]:
            if self._calls_left < 1:
                return False
            self._past.count_calls(1)
            if not (yield from summarise_next(self._memory, self._llm, session_id, cancel)):
                return True
        return True

    def _update_persona(self, session_id: str, cancel: CancelToken) -> Generator[Notice, None, bool]:
        """What of the session belongs into the persona of the person."""
        if not self._memory.notes.of_session(session_id):
            return True
        if self._calls_left < 1:
            return False
        self._past.ask_for_persona(session_id)
        self._past.count_calls(1)
        for event in rebuild(self._memory, self._llm, cancel):
            if isinstance(event, Notice):
                yield event
            elif not isinstance(event, RebuildStarted | Rebuilt):
                yield from event.contradicted
        return True


def summarise_next(memory: Memory, llm: Llm, session_id: str, cancel: CancelToken) -> Generator[Notice, None, bool]:
    """Extend the summary of a session by one call. False if all is summarised, or the call gave nothing.

    Raises ModelError and Interrupted.
    """
    past = memory.imports
    so_far, messages = past.summary_and_rest(session_id)
    if not messages:
        return False
    # As many of the first rounds as go into one call, at least one.
    part, room = list[Round](), _TOKENS_A_CALL
    for one in _group_rounds(messages):
        room -= sum(estimate(message.words) for message in one.messages)
        if part and room < 0:
            break
        part.append(one)
    text = yield from write_summary(memory, llm, session_id, so_far, part, cancel)
    if text:
        # If a message was removed or hidden since the model was asked, nothing is stored and it is asked again.
        past.keep_summary(session_id, text, so_far, [message for one in part for message in one.messages])
    return bool(text)


def _group_rounds(messages: Sequence[Message]) -> Iterator[Round]:
    """Messages as rounds, in order; a message without its counterpart gets an empty one."""
    for _, spoken in groupby(messages, key=lambda one: one.round):
        pair = {one.role: one for one in spoken}
        for role, prefix in PREFIX.items():
            pair.setdefault(role, replace(next(iter(pair.values())), role=role, text=prefix, speaker=""))
        yield Round(pair["user"], pair["assistant"])
