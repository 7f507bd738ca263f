"""Where every turn stands, in a few bytes a turn: what ranking needs before any text is read.

Some 22 bytes a turn, so a million turns take 22 MB. Rows are in the order in which turns were stored; a row
is never changed, and a row whose turn was erased does no harm, since no index leads to it any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]
    Lengths = npt.NDArray[np.float32]

#: Rows there is room for at first.
_FIRST_ROOM = 1024
Column = Literal["seq", "session", "by_user", "length", "marks", "day"]
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


class TurnTable:
    """Columns of all turns; ``length`` is in tokens, ``marks`` bits, ``day`` an ordinal (0: unknown).

    The columns grow by doubling, so that taking in a round costs the same however many there are.
    """

    def __init__(self) -> None:
        import numpy as np

        self._size = 0
        self._room: dict[Column, npt.NDArray[Any]] = {
            "seq": np.zeros(_FIRST_ROOM, np.int64),
            "session": np.zeros(_FIRST_ROOM, np.int32),
            "by_user": np.zeros(_FIRST_ROOM, np.bool_),
            "length": np.zeros(_FIRST_ROOM, np.int32),
            "marks": np.zeros(_FIRST_ROOM, np.uint8),
            "day": np.zeros(_FIRST_ROOM, np.int32),
        }
        self.tokens = 0
        self._named = False
        self._first_of: dict[int, int] = {}
        self._tokens_of: dict[int, int] = {}

    def __len__(self) -> int:
        return self._size

    @property
    def seq(self) -> npt.NDArray[np.int64]:
        """The number of each turn, ascending."""
        return self._room["seq"][: self._size]

    @property
    def session(self) -> npt.NDArray[np.int32]:
        """The number of its session."""
        return self._room["session"][: self._size]

    @property
    def by_user(self) -> npt.NDArray[np.bool_]:
        """Whether the person said it."""
        return self._room["by_user"][: self._size]

    @property
    def length(self) -> npt.NDArray[np.int32]:
        """How many tokens it has."""
        return self._room["length"][: self._size]

    @property
    def marks(self) -> npt.NDArray[np.uint8]:
        """What it is, as bits."""
        return self._room["marks"][: self._size]

    @property
    def day(self) -> npt.NDArray[np.int32]:
        """The day it was said, as an ordinal; 0 when unknown."""
        return self._room["day"][: self._size]

    @property
    def last_seq(self) -> int:
        """The number of the newest turn known here; 0 before the first."""
        return int(self._room["seq"][self._size - 1]) if self._size else 0

    def extend(self, places: Iterable[Placed]) -> None:
        """Take in turns that were stored since."""
        import numpy as np

        new = list(places)
        start, end = self._size, self._size + len(new)
        while end > len(self._room["seq"]):
            self._room = {
                name: np.concatenate([held, np.zeros_like(held)]) for name, held in self._room.items()
            }
        for name, column in self._room.items():
            read = (lambda place: _ordinal(place.timestamp)) if name == "day" else attrgetter(name)
            column[start:end] = [read(place) for place in new]
        for row, place in enumerate(new, start):
            self._first_of.setdefault(place.session, row)
            self._tokens_of[place.session] = self._tokens_of.get(place.session, 0) + place.length
        self.tokens += sum(place.length for place in new)
        self._size = end
        self._named = self._named or bool(self.has_mark(np.arange(start, end), "named").any())

    @property
    def has_named(self) -> bool:
        """Whether any turn names its speaker."""
        return self._named

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
