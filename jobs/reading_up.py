"""Reading up: what was brought along from other programs becomes known, a few model calls a day, in the background.

    session of the past -> notes and facts -> a summary -> what of it belongs into the image of the person

Promises: the newest month comes first, and in it what was talked of most; no day has more calls than the settings
allow, but for one that a kill cut off; what was done is kept at once, and the next day goes on behind it; what a model
fails at waits, and holds up nobody; nothing is read of what was said in a role.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from domain import errors
from domain.events import Notice
from domain.imports import DueSession
from domain.languages import estimate
from domain.records import PREFIX, Role, Round, Turn
from domain.workers import Stop
from facts.slots import NOBODY, Names
from jobs.folding import left_out, spoken_language
from jobs.noting import Noted, Noting
from jobs.renewing import Renewed, Renewing, renew
from llm import Llm
from memory import Memory
from storage.imports import Imports

#: So many tokens of talk go into one call for a summary.
_TOKENS_A_CALL = 8_000
#: A window takes two calls at the most.
_LEAST = 2


@dataclass(frozen=True)
class ReadUp:
    """A session of the past was read, all of it or a part."""

    session_id: str
    whole: bool


class ReadingUp:
    """Reads what was brought along into one memory."""

    def __init__(self, memory: Memory, llm: Llm) -> None:
        self._memory = memory
        self._llm = llm
        self._past = memory.imports

    def run(self, stop: Stop) -> Iterator[Notice | ReadUp]:
        """Read one session after another, as far as the calls of today reach. Raises Interrupted, StorageError."""
        while self._allowed >= _LEAST and (due := self._past.due()):
            stop.check()
            try:
                whole = yield from self._read(due[0], stop)
            except errors.ModelError as fault:
                yield Notice("import.reading_left", {"error": fault})
                return
            if whole:
                self._past.end_reading(due[0])
            yield ReadUp(due[0].session_id, whole)
            if not whole:
                return

    @property
    def _allowed(self) -> int:
        """How many calls are left today; none without a model."""
        left = self._past.left()
        if left.resting or self._llm.describe().standin:
            return 0
        return self._llm.settings.import_calls - left.calls_today

    def _read(self, due: DueSession, stop: Stop) -> Generator[Notice, None, bool]:
        """One session; whether nothing of it is left for later."""
        if not (yield from self._noted(due.session_id, stop)):
            return False
        if not (yield from self._summarised(due.session_id, stop)):
            return False
        return (yield from self._put_into_image(due.session_id, stop))

    def _noted(self, session_id: str, stop: Stop) -> Generator[Notice, None, bool]:
        """Notes and facts, a window at a time."""
        noting = Noting(self._memory, self._llm)
        counted = 0
        reading = noting.run(session_id, stop, all_of_it=True, most_calls=self._allowed)
        while True:
            try:
                event = next(reading)
            except StopIteration as end:
                return bool(end.value) or not self._memory.messages.unread(session_id)
            finally:
                self._past.count_calls(noting.calls - counted)
                counted = noting.calls
            yield from event.contradicted if isinstance(event, Noted) else [event]

    def _summarised(self, session_id: str, stop: Stop) -> Generator[Notice, None, bool]:
        """What the session came to, in as many calls as it is long."""
        while self._past.summarised(session_id)[1]:
            if self._allowed < 1:
                return False
            refused = list[Round]()
            self._past.count_calls(1)
            more = summarise_next(
                self._past, self._llm, session_id, stop, refused.append, self._memory.names()
            )
            if refused:
                yield left_out(refused)
            if not more:
                return True
        return True

    def _put_into_image(self, session_id: str, stop: Stop) -> Generator[Notice, None, bool]:
        """What of the session belongs into the image of the person."""
        if not self._memory.facts.notes_of(session_id):
            return True
        if self._allowed < 1:
            return False
        self._past.ask_for_persona(session_id)
        self._past.count_calls(1)
        for event in renew(self._memory, self._llm, stop):
            if isinstance(event, Notice):
                yield event
            elif not isinstance(event, Renewing | Renewed):
                yield from event.contradicted
        return True


def summarise_next(
    past: Imports,
    llm: Llm,
    session_id: str,
    stop: Stop,
    refuse: Callable[[Round], None] = lambda one: None,
    names: Names = NOBODY,
) -> bool:
    """Bring the summary of a session further by one call. False when nothing is left, or nothing comes of it.

    What a model refuses to read is handed to ``refuse``. Raises ModelError and Interrupted.
    """
    so_far, turns = past.summarised(session_id)
    if not turns:
        return False
    part = _first(_rounds(turns))
    text = llm.summarise(so_far, part, spoken_language(part), stop, refuse, names=names)
    stop.check()
    if text:
        # What is gone or withheld since the model was asked is in no summary: it is asked again.
        past.keep_summary(session_id, text, so_far, [turn for one in part for turn in one.turns])
    return bool(text)


def _rounds(turns: Sequence[Turn]) -> list[Round]:
    """Turns as rounds, in order; who was not answered, or not asked, stands beside nothing that was said."""
    rounds: list[Round] = []
    for turn in turns:
        last = rounds[-1] if rounds else None
        if turn.role == "user":
            rounds.append(Round(turn, _silent(turn, answer=True)))
        elif last and last.user.round == turn.round and not last.assistant.words:
            rounds[-1] = Round(last.user, turn)
        else:
            rounds.append(Round(_silent(turn, answer=False), turn))
    return rounds


def _silent(beside: Turn, *, answer: bool) -> Turn:
    """A message that nobody said, in the round of another."""
    role: Role = "assistant" if answer else "user"
    return replace(beside, role=role, text=PREFIX[role], speaker="")


def _first(rounds: Sequence[Round]) -> list[Round]:
    """As many of the first rounds as go into one call, at least one."""
    found: list[Round] = []
    room = _TOKENS_A_CALL
    for one in rounds:
        room -= sum(estimate(turn.words) for turn in one.turns)
        if found and room < 0:
            break
        found.append(one)
    return found
