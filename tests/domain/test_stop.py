"""The wish to stop: heard at once by whoever waits, from any thread and from a signal handler."""

from __future__ import annotations

import signal
import threading

import pytest

from domain import errors
from domain.workers import CancelToken


def test_whoever_waits_is_woken_by_another_thread():
    stop = CancelToken()
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    assert stop.wait(3_600)
    timer.join()


def test_a_wait_that_nobody_ends_is_over_in_its_time():
    assert not CancelToken().wait(0.01)
    assert not CancelToken().wait(-1)


def test_a_signal_handler_may_set_it_in_the_thread_that_waits():
    stop = CancelToken()
    before = signal.signal(signal.SIGALRM, lambda number, frame: stop.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert stop.wait(60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_handler_may_set_it_whatever_its_thread_is_doing_with_it():
    """No lock is held anywhere: signals come thick while the same thread looks, waits and registers."""
    stop, heard = CancelToken(), []
    before = signal.signal(signal.SIGALRM, lambda number, frame: (heard.append(number), stop.set()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        while len(heard) < 200:
            with stop.calling(lambda: None):
                stop.wait(0.0001)
            stop.is_set = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_who_asked_to_be_called_is_called_meanwhile_and_not_after():
    stop, called = CancelToken(), []
    with stop.calling(lambda: called.append("in")):
        assert called == []
        stop.set()
        assert called == ["in"]
    with stop.calling(lambda: called.append("late")):
        assert called == ["in", "late"]
    stop.set()
    assert called == ["in", "late"]


def test_looking_at_it_raises_once_it_is_set():
    stop = CancelToken()
    stop.check()
    stop.set()
    with pytest.raises(errors.Interrupted):
        stop.check()
    stop.is_set = False
    stop.check()
