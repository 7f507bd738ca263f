"""The pump: what blocks in a thread, seen from the thread that draws."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from domain import errors
from domain.workers import CancelToken
from interfaces.terminal.work_runner import Tick, WorkRunner, single_step


class Blocked:
    """Work that says one thing, then blocks until it is let go, then would do more."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.closed = threading.Event()
        self.counted: list[str] = []

    def events(self) -> Iterator[str]:
        try:
            yield "begun"
            self.go.wait(60)
            yield "late"
            self.counted.append("what comes behind a step that was given up")
        finally:
            self.closed.set()


def no_beats(events: Iterator[object]) -> list[object]:
    return [event for event in events if not isinstance(event, Tick)]


def test_the_events_come_in_order_and_the_work_runs_in_another_thread() -> None:
    def work() -> Iterator[object]:
        yield 1
        yield threading.current_thread() is threading.main_thread()

    assert no_beats(WorkRunner().run_work(work(), CancelToken())) == [1, False]


def test_the_work_stands_still_while_an_event_is_shown() -> None:
    done: list[int] = []

    def work() -> Iterator[int]:
        for step in range(5):
            done.append(step)
            yield step

    for event in WorkRunner().run_work(work(), CancelToken()):
        if not isinstance(event, Tick):
            time.sleep(0.01)
            assert done[-1] == event


def test_it_beats_while_the_work_blocks() -> None:
    blocked = Blocked()
    beats = 0
    for event in WorkRunner().run_work(blocked.events(), CancelToken()):
        beats += isinstance(event, Tick)
        if beats == 3:
            blocked.go.set()
    assert beats >= 3
    assert blocked.counted


def test_what_the_work_raises_is_raised_here() -> None:
    def work() -> Iterator[int]:
        yield 1
        raise errors.TimedOut(base="x")

    found: list[object] = []
    with pytest.raises(errors.TimedOut):
        for event in WorkRunner().run_work(work(), CancelToken()):
            found.append(event)
    assert found[0] == 1


def test_work_that_does_not_heed_the_stop_is_abandoned_and_closed_at_its_next_event() -> None:
    blocked, stop = Blocked(), CancelToken()
    work = blocked.events()
    with pytest.raises(errors.Interrupted):
        for event in WorkRunner().run_work(work, stop, patience=0.1):
            if isinstance(event, Tick):
                stop.set()
    assert not blocked.closed.is_set()
    blocked.go.set()
    assert blocked.closed.wait(30)
    assert blocked.counted == []
    assert list(work) == []


def test_work_that_heeds_the_stop_in_time_ends_as_it_wants() -> None:
    stop = CancelToken()

    def work() -> Iterator[str]:
        stop.wait(60)
        yield "cut"

    events = WorkRunner().run_work(work(), stop, patience=60)
    assert isinstance(next(events), Tick)
    stop.set()
    assert no_beats(events) == ["cut"]


@pytest.mark.parametrize("last", [False, True], ids=["without-patience", "behind-a-last-step"])
def test_what_must_not_be_abandoned_is_waited_for(last: bool) -> None:
    blocked, stop = Blocked(), CancelToken()
    stop.set()
    beats = 0
    patience = 0.0 if last else None
    for event in WorkRunner().run_work(blocked.events(), stop, patience=patience, last_step=lambda event: last):
        beats += isinstance(event, Tick)
        if beats == 5:
            blocked.go.set()
    assert blocked.counted


def test_new_work_begins_only_when_abandoned_work_has_ended() -> None:
    pump, blocked, stop = WorkRunner(), Blocked(), CancelToken()
    with pytest.raises(errors.Interrupted):
        for event in pump.run_work(blocked.events(), stop, patience=0.0):
            if isinstance(event, Tick):
                stop.set()
    events = pump.run_work(single_step(blocked.closed.is_set), CancelToken())
    assert isinstance(next(events), Tick)
    blocked.go.set()
    assert no_beats(events) == [True]


def test_new_work_says_that_abandoned_work_does_not_end_and_can_be_stopped_meanwhile() -> None:
    pump, blocked, stop = WorkRunner(last_patience=0.2), Blocked(), CancelToken()
    with pytest.raises(errors.Interrupted):
        for event in pump.run_work(blocked.events(), stop, patience=0.0):
            if isinstance(event, Tick):
                stop.set()
    with pytest.raises(errors.Interrupted):
        list(pump.run_work(single_step(int), stop))
    with pytest.raises(errors.UsageError) as told:
        list(pump.run_work(single_step(int), CancelToken()))
    assert told.value.key == "turn.still_stopping"
    blocked.go.set()


def test_when_nobody_wants_the_rest_the_work_is_closed_where_it_stands() -> None:
    blocked = Blocked()
    work = blocked.events()
    events = WorkRunner().run_work(work, CancelToken())
    assert next(event for event in events if not isinstance(event, Tick)) == "begun"
    events.close()
    assert blocked.closed.is_set()
    assert blocked.counted == []
    assert list(work) == []
