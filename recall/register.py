"""Where every turn stands, in a few bytes a turn: what ranking needs before any text is read.

Some 21 bytes a turn, so a million turns take 21 MB. Rows are in the order in which turns were stored; a row
is never changed, and a row whose turn was erased does no harm, since no index leads to it any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]


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
    def timestamp(self) -> str: ...


class Register:
    """Columns of all turns; ``length`` is in tokens, ``day`` an ordinal (0: unknown)."""

    def __init__(self) -> None:
        import numpy as np

        self.seq = np.zeros(0, np.int64)
        self.session = np.zeros(0, np.int32)
        self.by_user = np.zeros(0, np.bool_)
        self.length = np.zeros(0, np.int32)
        self.day = np.zeros(0, np.int32)
        self.tokens = 0

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
        self.day = np.append(self.day, np.array([_ordinal(place.timestamp) for place in new], np.int32))
        self.tokens += sum(place.length for place in new)

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
