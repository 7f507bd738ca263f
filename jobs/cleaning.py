"""The memories of a chat API: drawn from fifty messages at a time, recalled for a message, hidden when they grow old.

    due -> its turns, session by session -> noting (jobs.noting) -> done        a note is such a memory
    recalled                                                                   by meaning, or by words
    keep_up     all of it, a vector for each memory, and a ``/save`` of each held session that fell silent

Promises: what is due is stored with the reply that made it due, and is read once, however often it is tried; a model or
a server of vectors that is away leaves it for later and stops nothing; nothing here is erased, only listed no more.
"""

from __future__ import annotations

import calendar
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import datetime

from domain import errors
from domain.events import Notice
from domain.held import DueCleaning, KeptMemory
from domain.workers import Stop
from jobs.noting import Noting
from jobs.saving import Saving
from llm import Llm
from memory import Memory
from recall.kept_memories import best, cosines, shared_words

#: So many messages of a history are cleaned at once.
ROUND = 50
#: After so many months a memory is hidden.
_MONTHS = 3
#: So many vectors are asked for at once.
_AT_ONCE = 64


def months_before(moment: datetime, months: int) -> datetime:
    """The same day so many months earlier, or the last of that month.

    >>> months_before(datetime(2026, 5, 31), 3)
    datetime.datetime(2026, 2, 28, 0, 0)
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def due_rounds(rounds: Mapping[int, str], messages: int, key: str) -> list[DueCleaning]:
    """What is due of a conversation of so many messages; ``rounds`` are the person's, by their place in it."""
    found = []
    for number in range(1, messages // ROUND + 1):
        inside = [
            text_id
            for place, text_id in sorted(rounds.items())
            if ROUND * (number - 1) <= place < ROUND * number
        ]
        if inside:
            found.append(DueCleaning(inside[-1], number, key, tuple(inside)))
    return found


class Cleaning:
    """The upkeep of one memory's memories."""

    def __init__(self, memory: Memory, llm: Llm, clock: Callable[[], datetime]) -> None:
        self._memory = memory
        self._llm = llm
        self._clock = clock
        self._noting = Noting(memory, llm)

    def keep_up(self, stop: Stop) -> bool:
        """Do all that is due. Returns whether nothing is left for later. Raises Interrupted, StorageError."""
        self._memory.clients.hide_before(months_before(self._clock(), _MONTHS))
        whole = all(self._clean(due, stop) for due in self._memory.clients.due_cleanings())
        self._save_silent(stop)
        self._embed(stop)
        return whole

    def _clean(self, due: DueCleaning, stop: Stop) -> bool:
        """Read one stretch; it is done when nothing in it is unread."""
        for session_id, turns in self._turns(due).items():
            if not self._read(session_id, turns, stop):
                return False
        self._memory.clients.end_cleaning(due)
        return True

    def _read(self, session_id: str, turns: set[str], stop: Stop) -> bool:
        events = self._noting.run(session_id, stop, all_of_it=True, only=turns)
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                return bool(end.value)
            for notice in (event,) if isinstance(event, Notice) else event.contradicted:
                self._llm.log.info("cleaning: %s %s", notice.key, dict(notice.details))

    def _turns(self, due: DueCleaning) -> dict[str, set[str]]:
        """The turns of a stretch that are still there, by session."""
        rounds = {(turn.session_id, turn.round) for turn in self._memory.messages.with_ids(due.text_ids)}
        found: dict[str, set[str]] = defaultdict(set)
        for session_id in {session_id for session_id, _ in rounds}:
            for turn in self._memory.messages.of_session(session_id):
                if (session_id, turn.round) in rounds:
                    found[session_id].add(turn.text_id)
        return dict(found)

    def _save_silent(self, stop: Stop) -> None:
        """Save the sessions of clients that fell silent, as those of the terminal are; what fails is left for later."""
        after = self._llm.settings.idle_limit
        for session in self._memory.silent_sessions(self._clock(), after, besides=()):
            if self._memory.clients.held_in([session.session_id]):
                try:
                    deque(Saving(self._memory, self._llm).run(session, stop, open_next=False), maxlen=0)
                except errors.ModelError as fault:
                    self._llm.log.warning("a session is left for later", exc_info=fault)

    def _embed(self, stop: Stop) -> None:
        """Make the vectors that are lacking."""
        model = self._llm.embedder.model
        lacking = self._memory.clients.without_vector(model)
        try:
            for at in range(0, len(lacking), _AT_ONCE):
                stop.check()
                memories = self._memory.clients.memories(lacking[at : at + _AT_ONCE])
                vectors = self._llm.embedder.embed([one.summary for one in memories])
                made = zip(memories, vectors, strict=True)
                kept = ((one.number, vector) for one, vector in made if vector is not None)
                self._memory.clients.store_vectors(model, kept)
        except errors.EmbeddingError as fault:
            self._llm.log.warning("memories without vectors", exc_info=fault)


def recalled(memory: Memory, llm: Llm, text: str) -> list[KeptMemory]:
    """The memories that matter most for a message, the best first."""
    importances = memory.clients.importances()
    if not importances:
        return []
    likeness = _by_meaning(memory, llm, text)
    if lacking := [number for number in importances if number not in likeness]:
        likeness |= shared_words(text, memory.clients.memories(lacking))
    numbers = best(likeness, importances)
    found = {one.number: one for one in memory.clients.memories(numbers)}
    return [found[number] for number in numbers if number in found]


def _by_meaning(memory: Memory, llm: Llm, text: str) -> dict[int, float]:
    try:
        query = llm.embedder.embed([text])[0]
    except errors.EmbeddingError as fault:
        llm.log.warning("recall by words alone", exc_info=fault)
        return {}
    return {} if query is None else cosines(query, *memory.clients.vectors(llm.embedder.model, len(query)))
