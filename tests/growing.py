"""How the time of a piece of work grows with its text, measured so that a busy machine does not decide."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

#: Work that takes less than this, in seconds, says nothing about growth.
_FLOOR = 2e-3
_ROUNDS = 12


def growth(work: Callable[[str], object], piece: str, size: int = 60_000) -> float:
    """How many times longer four times as much text takes: 4 is linear, 16 quadratic.

    The least of several measurements of each size is taken, since other programs only ever add to a time; it is
    measured again and again until the growth looks linear, or until it has had every chance to.
    """
    short, long = piece * (size // len(piece)), piece * (4 * size // len(piece))
    least_short = least_long = float("inf")
    for _ in range(_ROUNDS):
        least_short = min(least_short, _seconds(work, short))
        least_long = min(least_long, _seconds(work, long))
        if least_long < 6 * max(least_short, _FLOOR):
            break
    return max(least_long, _FLOOR) / max(least_short, _FLOOR)


def _seconds(work: Callable[[str], object], given: str) -> float:
    gc.disable()  # a collection in the middle costs by all that lives, not by this text
    try:
        started = time.thread_time()
        work(given)
        return time.thread_time() - started
    finally:
        gc.enable()
