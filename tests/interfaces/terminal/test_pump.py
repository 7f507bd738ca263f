"""The pump: what blocks in a thread, seen from the thread that draws."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from domain import errors
from domain.workers import Stop
from interfaces.terminal.pump import Beat, Pump, single


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
    return [event for event in events if not isinstance(event, Beat)]


def test_the_events_come_in_order_and_the_work_runs_in_another_thread() -> None:
    def work() -> Iterator[object]:
        yield 1
        yield threading.current_thread() is threading.main_thread()

    assert no_beats(Pump().run(work(), Stop())) == [1, False]


def test_the_work_stands_still_while_an_event_is_shown() -> None:
    done: list[int] = []

    def work() -> Iterator[int]:
        for step in range(5):
            done.append(step)
            yield step

    for event in Pump().run(work(), Stop()):
        if not isinstance(event, Beat):
            time.sleep(0.01)
            assert done[-1] == event


def test_it_beats_while_the_work_blocks() -> None:
    blocked = Blocked()
    beats = 0
    for event in Pump().run(blocked.events(), Stop()):
        beats += isinstance(event, Beat)
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
        for event in Pump().run(work(), Stop()):
            found.append(event)
    assert found[0] == 1


def test_work_that_does_not_heed_the_stop_is_abandoned_and_closed_at_its_next_event() -> None:
    blocked, stop = Blocked(), Stop()
    work = blocked.events()
    with pytest.raises(errors.Interrupted):
        for event in Pump().run(work, stop, patience=0.1):
            if isinstance(event, Beat):
                stop.set()
    assert not blocked.closed.is_set()
    blocked.go.set()
    assert blocked.closed.wait(30)
    assert blocked.counted == []
    assert list(work) == []


def test_work_that_heeds_the_stop_in_time_ends_as_it_wants() -> None:
    stop = Stop()

    def work() -> Iterator[str]:
        stop.wait(60)
        yield "cut"

    events = Pump().run(work(), stop, patience=60)
    assert isinstance(next(events), Beat)
    stop.set()
    assert no_beats(events) == ["cut"]


@pytest.mark.parametrize("last", [False, True], ids=["without-patience", "behind-a-last-step"])
def test_what_must_not_be_abandoned_is_waited_for(last: bool) -> None:
    blocked, stop = Blocked(), Stop()
    stop.set()
    beats = 0
    patience = 0.0 if last else None
    for event in Pump().run(blocked.events(), stop, patience=patience, last_step=lambda event: last):
        beats += isinstance(event, Beat)
        if beats == 5:
            blocked.go.set()
    assert blocked.counted


def test_new_work_begins_only_when_abandoned_work_has_ended() -> None:
    pump, blocked, stop = Pump(), Blocked(), Stop()
    with pytest.raises(errors.Interrupted):
        for event in pump.run(blocked.events(), stop, patience=0.0):
            if isinstance(event, Beat):
                stop.set()
    events = pump.run(single(blocked.closed.is_set), Stop())
    assert isinstance(next(events), Beat)
    blocked.go.set()
    assert no_beats(events) == [True]


def test_new_work_says_that_abandoned_work_does_not_end_and_can_be_stopped_meanwhile() -> None:
    pump, blocked, stop = Pump(last_patience=0.2), Blocked(), Stop()
    with pytest.raises(errors.Interrupted):
        for event in pump.run(blocked.events(), stop, patience=0.0):
            if isinstance(event, Beat):
                stop.set()
    with pytest.raises(errors.Interrupted):
        list(pump.run(single(int), stop))
    with pytest.raises(errors.UsageError) as told:
        list(pump.run(single(int), Stop()))
    assert told.value.key == "turn.still_stopping"
    blocked.go.set()


def test_when_nobody_wants_the_rest_the_work_is_closed_where_it_stands() -> None:
    blocked = Blocked()
    work = blocked.events()
    events = Pump().run(work, Stop())
    assert next(event for event in events if not isinstance(event, Beat)) == "begun"
    events.close()
    assert blocked.closed.is_set()
    assert blocked.counted == []
    assert list(work) == []
