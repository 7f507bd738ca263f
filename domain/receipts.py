"""That something was erased, without what it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from domain import errors

#: Why something was erased: a person wanted it, ``MAX_MEMORIES`` was exceeded, or it was left out of a restored memory.
ErasureReason = Literal["person", "limit", "restore"]


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """One erasure.

    ``days`` counts the messages by the day on which they were said, "" where no one knows; ``derived`` counts
    summaries, notes, facts and lines. Afterwards ``files`` were searched for ``searched`` texts, and ``traces`` found;
    0 files where that was cut short.
    """

    erased_at: str
    reason: ErasureReason
    messages: int
    sessions: int
    days: Mapping[str, int]
    derived: int
    files: int
    searched: int
    traces: int


class ErasedMeanwhile(errors.StorageError, key="storage.erased_meanwhile", exit_code=errors.Exit.TRY_LATER):
    """Something was erased since what is to be stored was made: it may say that, so it is made again."""
