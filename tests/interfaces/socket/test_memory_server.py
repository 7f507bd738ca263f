"""Whoever asks over the socket is answered, or learns soon that nobody answers."""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from domain import errors
from interfaces.messages import Words
from interfaces.socket import memory_server, protocol
from interfaces.socket.memory_server import MemoryServer
from tests.support.served import until


class Unlucky:
    """A socket that fails so many times to let somebody in."""

    def __init__(self, bound: socket.socket, fault: int, times: int) -> None:
        self._bound, self._fault, self.left = bound, fault, times

    def accept(self) -> Any:
        if self.left:
            self.left -= 1
            raise OSError(self._fault, os.strerror(self._fault))
        return self._bound.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bound, name)


@contextmanager
def held(folder: Path) -> Iterator[MemoryServer]:
    """A socket over which nothing can be asked that opens a memory."""
    opened = MemoryServer(folder, lambda: (None, None), Words("en"), logging.Logger("quiet", logging.CRITICAL))  # type: ignore[arg-type,return-value]
    try:
        yield opened
    finally:
        opened.close()


def is_answered(folder: Path) -> bool:
    """Whether a request comes back, if only as one that there is none such."""
    with pytest.raises(errors.OldFriendError) as told:
        list(protocol.send_request(folder, "nothing", {}))
    return told.value.key == "socket.unknown_call"


@pytest.mark.parametrize("fault", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNABORTED])
def test_too_many_open_files_for_a_moment_keep_nobody_from_being_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    listening = protocol.listen_in
    monkeypatch.setattr(protocol, "listen_in", lambda folder: Unlucky(listening(folder), fault, 3))
    monkeypatch.setattr(memory_server, "_AGAIN", 0.01)
    with held(tmp_path):
        assert is_answered(tmp_path)
        assert is_answered(tmp_path)


def test_a_thread_that_cannot_be_had_for_a_moment_ends_one_request_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_server, "_AGAIN", 0.01)
    with held(tmp_path):
        start: Callable[[threading.Thread], None] = threading.Thread.start

        def fail(thread: threading.Thread) -> None:
            monkeypatch.setattr(threading.Thread, "start", start)
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", fail)
        with pytest.raises(protocol.ServerGone):
            list(protocol.send_request(tmp_path, "nothing", {}))
        assert is_answered(tmp_path)


def test_where_nobody_is_let_in_any_more_there_is_no_socket_to_wait_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = protocol.listen_in
    monkeypatch.setattr(protocol, "listen_in", lambda folder: Unlucky(listening(folder), errno.ENOTSOCK, 1))
    with held(tmp_path):
        until(lambda: not (tmp_path / protocol.SOCKET_NAME).exists())
        with pytest.raises(protocol.ServerGone):
            list(protocol.send_request(tmp_path, "nothing", {}))


def test_a_request_that_nobody_takes_up_is_given_up(tmp_path: Path) -> None:
    with protocol.listen_in(tmp_path), pytest.raises(errors.Unreachable) as told:
        list(protocol.send_request(tmp_path, "say", {"text": "Hello."}, accepted_in=0.2))
    assert told.value.key == "socket.no_answer"


def test_a_request_that_was_taken_up_is_waited_for_longer_and_not_without_end(tmp_path: Path) -> None:
    with protocol.listen_in(tmp_path) as heard:

        def take_up() -> None:
            came, _ = heard.accept()
            with came:
                protocol.receive_object(came, 60)
                protocol.send_object(came, {"accepted": True})
                gone.wait(60)

        gone = threading.Event()
        other = threading.Thread(target=take_up)
        other.start()
        with pytest.raises(errors.Unreachable) as told:
            list(protocol.send_request(tmp_path, "say", {"text": "Hello."}, accepted_in=60, patience=1))
        gone.set()
        other.join(60)
    assert told.value.details == {"seconds": 1}
