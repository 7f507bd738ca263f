"""What is asked while a holder goes away is asked again of the next one, and stored once."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from domain import errors
from interfaces.messages import Words
from interfaces.operations import LocalMemories
from interfaces.socket import protocol
from interfaces.socket.memory_client import MemoryClient
from tests.conftest import Count, SetClock
from tests.interfaces.service.opened import OpenedService, opened_people
from tests.interfaces.terminal.pseudo import ROOT


@pytest.mark.parametrize("verb", ["process", "remember"])
def test_what_was_stored_but_not_answered_is_stored_once(
    tmp_path: Path, clock: SetClock, new_id: Count, verb: str
) -> None:
    folder = tmp_path / "data"
    text = {"process": "input", "remember": "text"}[verb]
    bound = threading.Event()

    def store_and_go() -> None:
        """A holder that stores what it is asked and is gone before it has answered."""
        with opened_people(tmp_path, None, clock, new_id) as people:
            held = LocalMemories(OpenedService(people).service)
            held.call("session_status", user_id="me")
            with protocol.listen_in(folder) as heard:
                bound.set()
                came, _ = heard.accept()
                asked = protocol.receive_object(came, 60)
                assert asked
                held.call(asked["call"], **asked["arguments"])
                came.close()
        clock.pass_by(minutes=1)

    holder = threading.Thread(target=store_and_go)
    holder.start()
    assert bound.wait(60)
    memory = MemoryClient(folder, lambda: opened_people(tmp_path, None, clock, new_id), Words("en"))
    try:
        memory.call(verb, user_id="me", **{text: "I moved to Lyon."})
        holder.join(60)
        status = memory.call("session_status", user_id="me").model_dump()
    finally:
        memory.close()
    assert status["session_info"]["event_count"] == 1


def test_the_same_words_sent_twice_by_a_client_are_still_stored_once(
    tmp_path: Path, clock: SetClock, new_id: Count
) -> None:
    memory = MemoryClient(tmp_path / "data", lambda: opened_people(tmp_path, None, clock, new_id), Words("en"))
    try:
        memory.call("remember", text="I moved to Lyon.", user_id="me")
        memory.call("remember", text="I moved to Lyon.", user_id="me")
        status = memory.call("session_status", user_id="me").model_dump()
    finally:
        memory.close()
    assert status["session_info"]["event_count"] == 1


def test_an_error_comes_over_the_line_as_itself(tmp_path: Path) -> None:
    with protocol.listen_in(tmp_path) as heard:

        def refuse() -> None:
            came, _ = heard.accept()
            protocol.receive_object(came, 60)
            protocol.send_object(came, {"error": errors.RateLimited("model.rate_limited", seconds=20)})
            came.close()

        threading.Thread(target=refuse).start()
        with pytest.raises(errors.RateLimited) as refused:
            list(protocol.send_request(tmp_path, "say", {"text": "Hello."}))
    assert (refused.value.key, refused.value.details) == ("model.rate_limited", {"seconds": 20})


def test_nobody_is_asked_where_nobody_listens(tmp_path: Path) -> None:
    protocol.listen_in(tmp_path).close()
    assert (tmp_path / protocol.SOCKET_NAME).is_socket()
    with pytest.raises(protocol.ServerGone):
        list(protocol.send_request(tmp_path, "say", {"text": "Hello."}))
    assert not protocol.request_release(tmp_path, 1.0)


def test_whoever_is_at_the_other_end_is_known_by_the_system() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        assert protocol.is_same_user(ours)


def test_a_line_that_no_program_reads_is_told_from_one_that_asks() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        theirs.sendall(b"[" * 50_000 + b"\n")
        with pytest.raises(ValueError, match=r"deeply|Expecting"):
            protocol.receive_object(ours, 30.0)


def test_serving_the_socket_loads_no_server_of_http_or_of_mcp() -> None:
    code = "import interfaces.socket.memory_server, interfaces.socket.chat_server, sys; print(' '.join(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(told.stdout.split()) & {"fastapi", "starlette", "uvicorn", "mcp"} == set()
