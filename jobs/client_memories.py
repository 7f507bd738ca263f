"""Memories of clients: extracted from client histories, recalled for a message, and hidden when they grow old.

    due extraction -> its messages, session by session -> jobs.extraction -> done       a note is such a memory
    ended session  -> rebuilds -> notes, facts, relations -> personas -> archived       sessions of the memory service

Guarantees: a due extraction is stored with the reply that caused it and is read once, however often it is tried; a
model or embedder that fails leaves it for later and blocks nothing. A session that fails, is cancelled or killed stays
ended and is continued where it stopped. Nothing is erased here, only no longer listed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from typing import TYPE_CHECKING

from domain import errors
from domain.events import Notice
from domain.recollection import ClientNote
from domain.records import DueExtraction, Session
from domain.workers import CancelToken
from jobs.extraction import Extraction, only_notices
from jobs.rebuild import rebuild
from jobs.saving import Saving
from language.times import move_months
from language.words import tokens
from llm import Llm
from memory import Memory

if TYPE_CHECKING:
    from domain.indexes import Vector

#: After so many months a memory is hidden.
_MONTHS = 3
#: So many vectors are asked for at once.
_AT_ONCE = 64
#: A note is recalled by its similarity to a message and by its importance, with the weights of the chat API's original:
#: 0.7 x similarity + 0.3 x importance / 10, and the best five.
_SIMILARITY, _IMPORTANCE, _MOST = 0.7, 0.3, 5


def find_due_extractions(rounds: Mapping[int, str], messages: int, key: str, batch: int) -> list[DueExtraction]:
    """The extractions due for so many messages, ``batch`` of them each; ``rounds`` are the person's, by their place."""
    inside: defaultdict[int, list[str]] = defaultdict(list)
    for place, text_id in sorted(rounds.items()):
        inside[place // batch + 1].append(text_id)
    full = range(1, messages // batch + 1)
    return [DueExtraction(ids[-1], number, key, tuple(ids)) for number, ids in inside.items() if number in full]


class ClientHistoryJob:
    """Extracts one memory's client histories, adds vectors, saves idle sessions and hides old memories."""

    def __init__(self, memory: Memory, llm: Llm, clock: Callable[[], datetime]) -> None:
        self._memory = memory
        self._llm = llm
        self._clock = clock
        self._extraction = Extraction(memory, llm)

    def run(self, cancel: CancelToken) -> Generator[Notice, None, bool]:
        """Do all that is due. Returns whether nothing is left for later. Raises Interrupted, StorageError."""
        self._memory.clients.hide_before(move_months(self._clock(), -_MONTHS))
        whole = True
        for due in self._memory.clients.due_extractions():
            whole = yield from self._extract_due(due, cancel)
            if not whole:
                break
        self._save_idle(cancel)
        self._add_vectors(cancel)
        return whole

    def _extract_due(self, due: DueExtraction, cancel: CancelToken) -> Generator[Notice, None, bool]:
        """Extract one range; it is done when nothing in it is unread."""
        for session_id, messages in self._messages_due(due).items():
            events = self._extraction.run(session_id, cancel, all_of_it=True, only=messages)
            if not (yield from only_notices(events)):
                return False
        self._memory.clients.end_extraction(due)
        return True

    def _messages_due(self, due: DueExtraction) -> dict[str, set[str]]:
        rounds = {(message.session_id, message.round) for message in self._memory.messages.with_ids(due.text_ids)}
        said = {session_id: self._memory.messages.of_session(session_id) for session_id, _ in rounds}
        return {
            session_id: {message.text_id for message in messages if (session_id, message.round) in rounds}
            for session_id, messages in said.items()
        }

    def _save_idle(self, cancel: CancelToken) -> None:
        """Save idle sessions of clients, as at the terminal; what fails is left for later."""
        after = self._llm.settings.idle_limit
        for session in self._memory.idle_sessions(self._clock(), after, besides=()):
            if not self._memory.clients.digests_in_sessions([session.session_id]):
                continue
            try:
                deque(Saving(self._memory, self._llm).run(session, cancel, open_next=False), maxlen=0)
            except errors.ModelError as fault:
                self._llm.log.warning("a session is left for later", exc_info=fault)

    def _add_vectors(self, cancel: CancelToken) -> None:
        model = self._llm.embedder.model
        lacking = self._memory.clients.without_vector(model)
        try:
            for at in range(0, len(lacking), _AT_ONCE):
                cancel.check()
                memories = self._memory.clients.memories(lacking[at : at + _AT_ONCE])
                vectors = self._llm.embedder.embed([one.summary for one in memories])
                made = zip(memories, vectors, strict=True)
                kept = ((one.number, vector) for one, vector in made if vector is not None)
                self._memory.clients.store_vectors(model, kept)
        except errors.EmbeddingError as fault:
            self._llm.log.warning("memories without vectors", exc_info=fault)


def recall_client_notes(memory: Memory, llm: Llm, text: str) -> list[ClientNote]:
    """The memories that matter most for a message, the best first.

    Similarity is the cosine of two vectors. Without vectors it is the share of the message's words that the note
    contains, and a note that contains none is not recalled.
    """
    importances = memory.clients.importances()
    if not importances:
        return []
    likeness: dict[int, float] = {}
    try:
        query = llm.embedder.embed([text])[0]
        if query is not None:
            likeness = cosine_similarities(query, *memory.clients.vectors(llm.embedder.model, len(query)))
    except errors.EmbeddingError as fault:
        llm.log.warning("recall by words alone", exc_info=fault)
    if lacking := [number for number in importances if number not in likeness]:
        likeness |= shared_words(text, memory.clients.memories(lacking))
    numbers = rank_memories(likeness, importances)
    found = {one.number: one for one in memory.clients.memories(numbers)}
    return [found[number] for number in numbers if number in found]


def rank_memories(similarity: Mapping[int, float], importances: Mapping[int, int]) -> list[int]:
    """The numbers of the best notes, best first; of equal ones the newest first."""
    scores = {
        number: _SIMILARITY * value + _IMPORTANCE * importances[number] / 10
        for number, value in similarity.items()
        if number in importances
    }
    return nlargest(_MOST, scores, key=lambda number: (scores[number], number))


def cosine_similarities(query: Vector, numbers: Sequence[int], table: Vector) -> dict[int, float]:
    """The cosine similarity of a message's vector to each note's, a row of ``table`` for each number."""
    import numpy as np

    norms = np.linalg.norm(table, axis=1) * np.linalg.norm(query)
    found = (table @ query) / np.where(norms > 0, norms, 1.0)
    return dict(zip(numbers, found.tolist(), strict=True))


def shared_words(query: str, memories: Iterable[ClientNote]) -> dict[int, float]:
    """The share of a message's words that each note contains; notes with none are left out."""
    wanted = _word_set(query)
    shares = {
        one.number: len(wanted & _word_set(f"{one.summary} {one.key_points}")) / max(1, len(wanted)) for one in memories
    }
    return {number: share for number, share in shares.items() if share}


def _word_set(text: str) -> set[str]:
    """The words of a text without marks."""
    return {token for token in tokens(text) if not token.startswith("@")}


# -- sessions that the memory service ended --------------------------------------------------------------------------


def ended_sessions(memory: Memory, client: str) -> list[Session]:
    """The sessions of a client that have ended and are not archived yet, oldest first."""
    return [one for one in memory.sessions.active(client) if one.end_timestamp is not None]


def consolidate(memory: Memory, llm: Llm, client: str, cancel: CancelToken) -> Generator[Notice, None, bool]:
    """Extract from every ended session of a client, and archive it. Returns whether all is done.

    Raises ModelError, Interrupted, StorageError; what is done by then is kept.
    """
    yield from (event for event in rebuild(memory, llm, cancel) if isinstance(event, Notice))
    cancel.check()
    while ended := ended_sessions(memory, client):
        session = ended[0]
        if not memory.messages.of_session(session.session_id):
            memory.rounds.save(session.session_id, "", {}, open_next=False)
            continue
        extraction = Extraction(memory, llm).run(session.session_id, cancel, all_of_it=True)
        if not (yield from only_notices(extraction)):
            return False  # it stays ended
        saving = Saving(memory, llm).run(session, cancel, open_next=False)
        yield from (event for event in saving if isinstance(event, Notice))
    return not memory.rebuilds.due_requests()
