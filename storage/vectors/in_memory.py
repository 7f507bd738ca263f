"""Rows held in memory, searched exactly: quicker than any index while they are not too many."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from domain import errors
from domain.records import Kind
from domain.vectors import VectorRow

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

#: Numbers (rows times dimension) that are held of a type at the most: 192 MB, searched in some 5 ms. That is 125,000
#: rows of 384 numbers; finding 300 of them on the disk takes three times as long and misses some.
MOST = 48_000_000

KINDS: tuple[Kind, ...] = ("conversation", "summary")

Found = tuple[str, str, float]


class InMemoryRows:
    """(text_id, session_id, vector) in memory. Safe to use from several threads."""

    def __init__(self, dimension: int) -> None:
        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._place: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._names: list[str] = []
        self._session = np.zeros(64, np.int32)
        self._vectors = np.zeros((64, dimension), np.float32)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, text_id: str) -> bool:
        return text_id in self._place

    def put(self, text_ids: Sequence[str], session_ids: Sequence[str], vectors: Floats) -> None:
        """Add rows, each in place of the row of its id."""
        with self._lock:
            self._make_room(len(text_ids))
            places = [self._place_of(text_id) for text_id in text_ids]
            self._session[places] = [self._number(session_id) for session_id in session_ids]
            self._vectors[places] = vectors

    def drop(self, text_ids: Iterable[str]) -> None:
        """Take rows out; the last row takes the place of each."""
        with self._lock:
            for text_id in text_ids:
                place = self._place.pop(text_id, None)
                if place is None:
                    continue
                last = self._ids.pop()
                if last != text_id:
                    self._ids[place], self._place[last] = last, place
                    self._session[place] = self._session[len(self._ids)]
                    self._vectors[place] = self._vectors[len(self._ids)]

    def search(self, query: Floats, exclude_session: str | None, limit: int) -> list[Found]:
        """(text_id, session_id, cosine), best first; equals in the order of their ids."""
        with self._lock:
            count = len(self._ids)
            # Not ``@``, which takes all cores and waits for the slowest of them: on a busy machine many times as long.
            cosines = np.vecdot(self._vectors[:count], query)
            if (hidden := self._sessions.get(exclude_session or "")) is not None:
                cosines[self._session[:count] == hidden] = -np.inf
            best = np.argpartition(cosines, -limit)[-limit:] if limit < count else np.arange(count)
            best = best[cosines[best] > -np.inf]
            best = best[np.argsort(-cosines[best], kind="stable")]
            near = cosines[best]
            ids = map(self._ids.__getitem__, best.tolist())
            sessions = map(self._names.__getitem__, self._session[best].tolist())
            found = list(zip(ids, sessions, near.tolist(), strict=True))
        if (near[1:] == near[:-1]).any():
            found.sort(key=lambda row: (-row[2], row[0]))
        return found

    def _place_of(self, text_id: str) -> int:
        place = self._place.setdefault(text_id, len(self._ids))
        if place == len(self._ids):
            self._ids.append(text_id)
        return place

    def _number(self, session_id: str) -> int:
        number = self._sessions.setdefault(session_id, len(self._names))
        if number == len(self._names):
            self._names.append(session_id)
        return number

    def _make_room(self, more: int) -> None:
        """Room grows by doubling; what is not used yet takes no memory, since nobody writes to it."""
        count = len(self._ids)
        if count + more > len(self._session):
            room = max(count + more, 2 * len(self._session))
            session, vectors = np.zeros(room, np.int32), np.zeros((room, self._vectors.shape[1]), np.float32)
            session[:count], vectors[:count] = self._session[:count], self._vectors[:count]
            self._session, self._vectors = session, vectors


class InMemoryIndex:
    """Rows in memory of each type that has few enough; the others are searched on the disk.

    With a dimension of 0, of an index that is not open yet, there are none.
    """

    def __init__(self, dimension: int, most: int) -> None:
        self._dimension = dimension
        self._most = most
        self._held: dict[Kind, InMemoryRows] = (
            {kind: InMemoryRows(dimension) for kind in KINDS} if dimension else {}
        )

    def of(self, kind: Kind) -> InMemoryRows | None:
        """The rows of a type; None when its rows are too many."""
        return self._held.get(kind)

    def fits(self, kind: Kind, more: int) -> bool:
        """Whether so many rows more have room; a type that has become too large is let go for good."""
        held = self._held.get(kind)
        if held is not None and (len(held) + more) * self._dimension > self._most:
            del self._held[kind]
            held = None
        return held is not None

    def put(self, rows: Sequence[VectorRow]) -> None:
        """Take in rows that were stored."""
        for kind in KINDS:
            some = [row for row in rows if row.type == kind]
            if some and self.fits(kind, len(some)):
                vectors = np.stack([normalised(row.vector, self._dimension) for row in some])
                ids, sessions = [row.text_id for row in some], [row.session_id for row in some]
                self._held[kind].put(ids, sessions, vectors.astype(np.float32))

    def are_new(self, text_ids: Sequence[str]) -> bool:
        """Whether it is certain that none of these is stored, and each is named once: all there is is held here."""
        if len(self._held) < len(KINDS) or len(set(text_ids)) < len(text_ids):
            return False
        return not any(text_id in held for held in self._held.values() for text_id in text_ids)

    def drop(self, text_ids: Sequence[str]) -> None:
        """Take rows out."""
        for held in list(self._held.values()):
            held.drop(text_ids)


def normalised(vector: Sequence[float] | npt.NDArray[Any], dimension: int | None) -> npt.NDArray[np.float16]:
    """The vector at length 1, as it is stored: float16, one dimension.

    Raises EmbeddingError when it is not of ``dimension``, not finite, or zero.
    """
    import numpy as np

    taken = np.asarray(vector, dtype=np.float32)
    if taken.ndim != 1 or not len(taken) or (dimension is not None and len(taken) != dimension):
        raise errors.EmbeddingError("embedding.dimension", found=list(taken.shape), expected=dimension)
    with np.errstate(all="ignore"):
        length = float(np.linalg.norm(taken.astype(np.float64)))
    if not np.isfinite(length) or length < 1e-12:
        raise errors.EmbeddingError("embedding.unsound", norm=length)
    return (taken / length).astype(np.float16)
