"""Where every turn stands, in a few bytes a turn: what ranking needs before any text is read.

Some 22 bytes a turn, so a million turns take 22 MB. Rows are in the order in which turns were stored; a row
is never changed, and a row whose turn was erased does no harm, since no index leads to it any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]
    Lengths = npt.NDArray[np.float32]

Mark = Literal["asks", "time", "number", "named"]
#: The bit of each mark, as ``storage.lexicon.MARKS`` has them.
_MARKS: tuple[Mark, ...] = ("asks", "time", "number", "named")


class Placed(Protocol):
    """Where one turn stands; ``storage.places.Place`` is one."""

    @property
    def seq(self) -> int: ...
    @property
    def session(self) -> int: ...
    @property
    def by_user(self) -> bool: ...
    @property
    def length(self) -> int: ...
    @property
    def marks(self) -> int: ...
    @property
    def timestamp(self) -> str: ...


class Register:
    """Columns of all turns; ``length`` is in tokens, ``marks`` bits, ``day`` an ordinal (0: unknown)."""

    def __init__(self) -> None:
        import numpy as np

        self.seq = np.zeros(0, np.int64)
        self.session = np.zeros(0, np.int32)
        self.by_user = np.zeros(0, np.bool_)
        self.length = np.zeros(0, np.int32)
        self.marks = np.zeros(0, np.uint8)
        self.day = np.zeros(0, np.int32)
        self.tokens = 0
        self._first_of: dict[int, int] = {}
        self._tokens_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def last_seq(self) -> int:
        """The number of the newest turn known here; 0 before the first."""
        return int(self.seq[-1]) if len(self.seq) else 0

    def extend(self, places: Iterable[Placed]) -> None:
        """Take in turns that were stored since."""
        import numpy as np

        new = list(places)
        if not new:
            return
        self.seq = np.append(self.seq, np.array([place.seq for place in new], np.int64))
        self.session = np.append(self.session, np.array([place.session for place in new], np.int32))
        self.by_user = np.append(self.by_user, np.array([place.by_user for place in new], np.bool_))
        self.length = np.append(self.length, np.array([place.length for place in new], np.int32))
        self.marks = np.append(self.marks, np.array([place.marks for place in new], np.uint8))
        self.day = np.append(self.day, np.array([_ordinal(place.timestamp) for place in new], np.int32))
        start = len(self.seq) - len(new)
        for row, place in enumerate(new, start):
            self._first_of.setdefault(place.session, row)
            self._tokens_of[place.session] = self._tokens_of.get(place.session, 0) + place.length
        self.tokens += sum(place.length for place in new)

    @property
    def sessions(self) -> int:
        """How many sessions have turns here."""
        return len(self._tokens_of)

    def session_lengths(self, numbers: Rows) -> Lengths:
        """The tokens of whole sessions."""
        import numpy as np

        return np.array([self._tokens_of.get(number, 0) for number in numbers.tolist()], np.float32)

    def position(self, rows: Rows) -> Lengths:
        """The place of each row in its session, from 0."""
        import numpy as np

        first = np.array([self._first_of[number] for number in self.session[rows].tolist()], np.int64)
        return (rows - first).astype(np.float32)

    def has_mark(self, rows: Rows, mark: Mark) -> Flags:
        """Which rows bear a mark."""
        flags: Flags = (self.marks[rows] & (1 << _MARKS.index(mark))) > 0
        return flags

    def rows(self, seqs: Rows) -> Rows:
        """The rows of turns by number; those unknown here are left out."""
        import numpy as np

        at = np.searchsorted(self.seq, seqs)
        known = at < len(self.seq)
        known[known] = self.seq[at[known]] == seqs[known]
        return at[known]


def _ordinal(timestamp: str) -> int:
    try:
        return date.fromisoformat(timestamp[:10]).toordinal()
    except ValueError:
        return 0
