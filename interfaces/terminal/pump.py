"""Runs slow work in a thread of its own, so that the terminal goes on: it draws, takes in keys and hears Ctrl-C.

The work is a generator of events, a turn for instance. It goes one step at a time, each when the main thread asks for
the next event, so that the work and the screen never run at once: what an event says is still so while it is shown.

Promises: while the work blocks there is a ``Beat`` every ``BEAT`` seconds; what the work raises is raised in the main
thread; work that does not heed a ``Stop`` is abandoned, and nothing counts that it would do after its present step; new
work never begins beside abandoned work.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from domain import errors
from domain.workers import Stop

T = TypeVar("T")
#: Seconds between two beats: a screen that is redrawn this often looks alive, and Ctrl-C is heard at once.
BEAT = 0.05
#: Seconds that work has to heed a wish to stop.
PATIENCE = 1.0
#: Seconds that abandoned work has to end before new work begins.
_LAST_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing new; a moment to redraw."""


def single(work: Callable[[], T]) -> Iterator[T]:
    """A function that blocks, as work whose one event is its result."""
    yield work()


def waited(work: Callable[[], T], stop: Stop, at_beat: Callable[[], None] = lambda: None) -> T:
    """The result of slow work that changes nothing, and so is abandoned as soon as ``stop`` is set.

    Raises what the work raises, and Interrupted.
    """
    for event in Pump().run(single(work), stop, patience=0.0):
        if not isinstance(event, Beat):
            return event
        at_beat()
    raise AssertionError


class Pump:
    """Runs the work of one conversation, one piece after another.

    >>> [event for event in Pump().run(iter("abc"), Stop()) if not isinstance(event, Beat)]
    ['a', 'b', 'c']
    """

    def __init__(self, last_patience: float = _LAST_PATIENCE) -> None:
        self._last_patience = last_patience
        self._abandoned: threading.Thread | None = None

    def run(
        self,
        work: Iterator[T],
        stop: Stop,
        *,
        patience: float | None = PATIENCE,
        last_step: Callable[[T], bool] = lambda event: False,
    ) -> Generator[T | Beat, None, None]:
        """The events of the work, and a Beat whenever there is none for a while.

        Raises what the work raises, and Interrupted when it is still in one step ``patience`` seconds after ``stop``
        was set. Without a patience, or behind an event that is a ``last_step``, the work is waited for.

        Raises UsageError when earlier work that was abandoned does not end.
        """
        yield from self._ended(stop)
        worker = _Worker(work)
        try:
            while (answer := (yield from _step(worker, stop, patience))) is not None:
                yield answer.event
                if last_step(answer.event):
                    patience = None
        finally:
            self._abandoned = worker.given_up()

    def _ended(self, stop: Stop) -> Iterator[Beat]:
        """Wait for work that was abandoned."""
        until = time.monotonic() + self._last_patience
        while self._abandoned is not None and self._abandoned.is_alive():
            if stop.is_set:
                raise errors.Interrupted
            if time.monotonic() > until:
                raise errors.UsageError("turn.still_stopping")
            yield Beat()
            self._abandoned.join(BEAT)
        self._abandoned = None


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """What one step brought."""

    event: T


class _Worker(Generic[T]):
    """Takes the steps of a generator in a thread, each when it is asked to."""

    def __init__(self, work: Iterator[T]) -> None:
        self._work = work
        self._steps: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[_Answer[T] | BaseException | None] = queue.SimpleQueue()
        self._answer: _Answer[T] | BaseException | None = None
        self._in_step = False
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Take the next step."""
        self._in_step = True
        self._steps.put(True)

    def given_up(self) -> threading.Thread | None:
        """Take no step any more and close the work where it stands; the thread that is still in a step, if one is."""
        self._steps.put(False)
        if not self._in_step:
            self._thread.join(PATIENCE)
        return self._thread if self._thread.is_alive() else None

    def answered(self) -> bool:
        """Whether the step is done, a beat later at the most."""
        try:
            self._answer = self._answers.get(timeout=BEAT)
        except queue.Empty:
            return False
        self._in_step = False
        return True

    @property
    def answer(self) -> _Answer[T] | None:
        """What the step brought; None when the work has ended. Raises what the work raised."""
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def _run(self) -> None:
        try:
            while self._steps.get():
                self._answers.put(_Answer(next(self._work)))
            getattr(self._work, "close", lambda: None)()
        except StopIteration:
            self._answers.put(None)
        except BaseException as failure:  # handed to the thread that waits
            self._answers.put(failure)


def _step(worker: _Worker[T], stop: Stop, patience: float | None) -> Generator[Beat, None, _Answer[T] | None]:
    """Take a step and wait for what it brings. Patience is counted in beats: a machine that stood still has none."""
    worker.ask()
    unheeded = 0
    while not worker.answered():
        if stop.is_set and patience is not None:
            unheeded += 1
            if unheeded * BEAT >= patience:
                raise errors.Interrupted
        yield Beat()
    return worker.answer
