"""Runs slow work in a thread of its own, so that the terminal goes on: it draws, reads keys and reacts to Ctrl-C.

The work is a generator of events, a turn for instance. It goes one step at a time, each when the main thread asks for
the next event, so that the work and the screen never run at once: what an event says is still so while it is shown.

Promises: while the work blocks there is a ``Tick`` every ``TICK`` seconds; what the work raises is raised in the main
thread; work that ignores its ``CancelToken`` is abandoned after its present step;
new work never begins beside abandoned work.

What the companion says first is made in a thread as well, above the first prompt, while the person may already type.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from conversation import Conversation
from domain import errors
from domain.workers import CancelToken

T = TypeVar("T")
#: Seconds between two ticks: a screen that is redrawn this often looks alive, and Ctrl-C works at once.
TICK = 0.05
#: Seconds that work has to react to its cancel token.
PATIENCE = 1.0
#: Seconds that abandoned work has to end before new work begins.
_LAST_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing new; a moment to redraw."""


def single_step(work: Callable[[], T]) -> Iterator[T]:
    """A function that blocks, as work whose one event is its result."""
    yield work()


def wait_for(work: Callable[[], T], stop: CancelToken, at_tick: Callable[[], None] = lambda: None) -> T:
    """The result of slow work that changes nothing, and so is abandoned as soon as ``stop`` is set.

    Raises what the work raises, and Interrupted.
    """
    for event in WorkRunner().run_work(single_step(work), stop, patience=0.0):
        if not isinstance(event, Tick):
            return event
        at_tick()
    raise AssertionError


class WorkRunner:
    """Runs the work of one conversation, one piece after another.

    >>> [event for event in WorkRunner().run_work(iter("abc"), CancelToken()) if not isinstance(event, Tick)]
    ['a', 'b', 'c']
    """

    def __init__(self, last_patience: float = _LAST_PATIENCE) -> None:
        self._last_patience = last_patience
        self._abandoned: threading.Thread | None = None

    def run_work(
        self,
        work: Iterator[T],
        stop: CancelToken,
        *,
        patience: float | None = PATIENCE,
        last_step: Callable[[T], bool] = lambda event: False,
    ) -> Generator[T | Tick, None, None]:
        """The events of the work, and a Tick whenever there is none for a while.

        Raises what the work raises, and Interrupted when it is still in one step ``patience`` seconds after ``stop``
        was set. Without a patience, or behind an event that is a ``last_step``, the work is waited for.

        Raises UsageError when earlier work that was abandoned does not end.
        """
        yield from self._await_abandoned(stop)
        worker = _Worker(work)
        try:
            while (answer := (yield from worker.take_step(stop, patience))) is not None:
                yield answer.event
                patience = None if last_step(answer.event) else patience
        finally:
            self._abandoned = worker.give_up()

    def _await_abandoned(self, stop: CancelToken) -> Iterator[Tick]:
        """Wait for work that was abandoned."""
        until = time.monotonic() + self._last_patience
        while self._abandoned is not None and self._abandoned.is_alive():
            if stop.is_set:
                raise errors.Interrupted
            if time.monotonic() > until:
                raise errors.UsageError("turn.still_stopping")
            yield Tick()
            self._abandoned.join(TICK)
        self._abandoned = None


@dataclass(frozen=True)
class _Answer(Generic[T]):
    """The result of one step."""

    event: T


class _Worker(Generic[T]):
    """Takes the steps of a generator in a thread, each when it is asked to."""

    def __init__(self, work: Iterator[T]) -> None:
        self._work = work
        self._steps: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[_Answer[T] | BaseException | None] = queue.SimpleQueue()
        self._in_step = False
        self._thread = threading.Thread(target=self._run_work, name="work", daemon=True)
        self._thread.start()

    def take_step(self, stop: CancelToken, patience: float | None) -> Generator[Tick, None, _Answer[T] | None]:
        """Take the next step and wait for its result; None when the work has ended. Raises what the work raises.

        Patience is counted in ticks: a machine that slept has used none.
        """
        self._in_step = True
        self._steps.put(True)
        unheeded = 0
        while True:
            try:
                answer = self._answers.get(timeout=TICK)
                break
            except queue.Empty:
                unheeded += stop.is_set
            if patience is not None and unheeded and unheeded * TICK >= patience:
                raise errors.Interrupted
            yield Tick()
        self._in_step = False
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def give_up(self) -> threading.Thread | None:
        """Take no more steps and close the work; returns the thread if it is still in a step."""
        self._steps.put(False)
        if not self._in_step:
            self._thread.join(PATIENCE)
        return self._thread if self._thread.is_alive() else None

    def _run_work(self) -> None:
        try:
            while self._steps.get():
                self._answers.put(_Answer(next(self._work)))
            getattr(self._work, "close", lambda: None)()
        except StopIteration:
            self._answers.put(None)
        except BaseException as failure:  # raised in the thread that waits
            self._answers.put(failure)


class FirstWords:
    """What the companion says first, sentence by sentence; typing ends it, and what was shown stays.

    ``text`` is shown above the prompt until something is entered; ``ended``: nothing is added to it any more.
    """

    def __init__(self, conversation: Conversation, log: logging.Logger) -> None:
        self._conversation = conversation
        self._log = log
        self._stop = CancelToken()
        self.text = ""
        self.ended = False

    def begin(self, redraw: Callable[[], None]) -> None:
        """Look whether something is due, and say it; ``redraw`` is called when there are more words."""

        def speak() -> None:
            try:
                for greeting in self._conversation.greet(self._stop):
                    self.text = greeting.text
                    redraw()
            except Exception as fault:  # whatever fails here, the prompt stands
                self._log.warning("no greeting", exc_info=fault)
            self.ended = True

        threading.Thread(target=speak, name="greeting", daemon=True).start()

    def end(self) -> None:
        """Say no more."""
        self._stop.set()

    def drop(self) -> None:
        """Say no more: what there is of it is not shown, and never was said."""
        self.end()
        self._conversation.greeting = None

    def entered(self) -> None:
        """The prompt is done: say no more, and show nothing above the next one."""
        self.end()
        self.text = ""
