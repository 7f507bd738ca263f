"""Trying again, visibly: how often, how long between, and when never."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from domain import errors
from domain.events import Beat, Event, ReasoningDelta, Retrying, Stop, TextDelta
from models.waiting import BEAT


@dataclass(frozen=True)
class Patience:
    """How a failed call is tried again.

    ``tries`` in all; pauses grow from ``first`` seconds, doubling, with up to half as much again by
    ``jitter`` (0 to 1), so that many clients do not come back at the same moment. A server that asks for a
    longer pause gets it, up to ``most`` seconds; one that asks for more is not waited for. A server that
    said nothing until the time was up is asked ``silent_tries`` times: each of them takes the whole time.
    """

    tries: int = 3
    silent_tries: int = 2
    first: float = 0.5
    most: float = 60.0
    jitter: Callable[[], float] = random.random

    def pause(self, failed: int, error: errors.ModelError) -> float | None:
        """Seconds before the next try after ``failed`` tries; None when there is no next try."""
        asked = error.retry_after or 0.0
        if not error.retryable or failed >= self.tries_for(error) or asked > self.most:
            return None
        return max(asked, self.first * 2.0 ** (failed - 1)) * (1 + self.jitter() / 2)

    def tries_for(self, error: errors.ModelError) -> int:
        """How many tries there are in all when they end like this."""
        return min(self.tries, self.silent_tries) if isinstance(error, errors.TimedOut) else self.tries


def with_retries(attempt: Callable[[], Iterator[Event]], patience: Patience, stop: Stop) -> Iterator[Event]:
    """The events of ``attempt``, begun again after a failure that may pass, never once anything was shown.

    Raises the last ModelError, or Interrupted when ``stop`` is set during a pause.
    """
    for failed in range(1, patience.tries + 1):
        shown = False
        try:
            for event in attempt():
                shown = shown or isinstance(event, TextDelta | ReasoningDelta)
                yield event
            return
        except errors.ModelError as error:
            pause = None if shown else patience.pause(failed, error)
            if pause is None:
                raise
            yield Retrying(error, failed + 1, patience.tries_for(error), pause)
            yield from _sleep(pause, stop)


def _sleep(seconds: float, stop: Stop) -> Iterator[Beat]:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if stop.wait(min(left, BEAT)):
            raise errors.Interrupted()
        yield Beat()
    if stop.is_set:
        raise errors.Interrupted()
