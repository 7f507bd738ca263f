"""Rows held in memory, searched exactly: quicker than any index while they are not too many."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from storage.records import Kind
from storage.vector_row import VectorRow, normalised

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

#: Numbers (rows times dimension) that a shelf holds at the most: 40 MB, searched in some 3 ms.
MOST = 10_000_000

KINDS: tuple[Kind, ...] = ("conversation", "summary")

Found = tuple[str, str, float]


class Shelf:
    """(text_id, session_id, vector) in memory. Safe to use from several threads."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._lock = threading.Lock()
        self._ids: list[str] = []
        self._place: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        self._names: list[str] = []
        self._session = np.zeros(64, np.int32)
        self._vectors = np.zeros((64, dimension), np.float32)

    def __len__(self) -> int:
        return len(self._ids)

    def put(self, text_ids: Sequence[str], session_ids: Sequence[str], vectors: Floats) -> None:
        """Add rows, each in place of the row of its id."""
        with self._lock:
            self._make_room(len(text_ids))
            for text_id, session_id, vector in zip(text_ids, session_ids, vectors, strict=True):
                place = self._place.setdefault(text_id, len(self._ids))
                if place == len(self._ids):
                    self._ids.append(text_id)
                self._session[place] = self._number(session_id)
                self._vectors[place] = vector

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
        import numpy as np

        with self._lock:
            count = len(self._ids)
            cosines = self._vectors[:count] @ query
            hidden = self._sessions.get(exclude_session or "", -1)
            cosines[self._session[:count] == hidden] = -np.inf
            best = np.argpartition(-cosines, limit - 1)[:limit] if limit < count else np.arange(count)
            found = [
                (self._ids[at], self._names[self._session[at]], float(cosines[at]))
                for at in best.tolist()
                if cosines[at] > -np.inf
            ]
        return sorted(found, key=lambda row: (-row[2], row[0]))

    def _number(self, session_id: str) -> int:
        number = self._sessions.setdefault(session_id, len(self._names))
        if number == len(self._names):
            self._names.append(session_id)
        return number

    def _make_room(self, more: int) -> None:
        import numpy as np

        wanted = len(self._ids) + more
        if wanted > len(self._session):
            grown = max(wanted, len(self._session) * 2) - len(self._session)
            self._session = np.concatenate([self._session, np.zeros(grown, np.int32)])
            empty = np.zeros((grown, self._vectors.shape[1]), np.float32)
            self._vectors = np.concatenate([self._vectors, empty])


class Shelves:
    """A shelf for each type that has few enough rows; the others are searched on the disk.

    With a dimension of 0, of an index that is not open yet, there are none, and numpy is not loaded.
    """

    def __init__(self, dimension: int, most: int) -> None:
        self._dimension = dimension
        self._most = most
        self._held: dict[Kind, Shelf] = {kind: Shelf(dimension) for kind in KINDS} if dimension else {}

    def of(self, kind: Kind) -> Shelf | None:
        """The shelf of a type; None when its rows are too many."""
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
        import numpy as np

        for kind in KINDS:
            some = [row for row in rows if row.type == kind]
            if some and self.fits(kind, len(some)):
                vectors = np.stack([normalised(row.vector, self._dimension) for row in some])
                ids, sessions = [row.text_id for row in some], [row.session_id for row in some]
                self._held[kind].put(ids, sessions, vectors.astype(np.float32))

    def drop(self, text_ids: Sequence[str]) -> None:
        """Take rows out."""
        for held in list(self._held.values()):
            held.drop(text_ids)
