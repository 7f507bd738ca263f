"""``main.py --serve``: how it starts, what it refuses, and how it ends."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.terminal.pseudo import ROOT, environment
from tests.support.house import talks
from tests.support.program import connected, run, stored
from tests.support.served import Server, ended, here, program, started, trying, until
from tests.support.server import Exchange, Play, ScriptedServer, say

#: The program with a route that has a turn.
TURN_PROGRAM = ROOT / "tests" / "interfaces" / "http" / "turn_program.py"


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as running:
        yield running


class Held:
    """A reply that comes when the test lets it."""

    def __init__(self, reply: str) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()
        self._play: Play = say(reply)

    def __call__(self, exchange: Exchange) -> None:
        self.asked.set()
        self.go_on.wait(60)
        self._play(exchange)


def begun(server: Server, text: str) -> http.client.HTTPConnection:
    """A chat that is under way."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = {"messages": [{"role": "user", "content": text}]}
    line.request("POST", "/api/v1/chat", json.dumps(body), {"Content-Type": "application/json"})
    return line


def answer_of(line: http.client.HTTPConnection) -> tuple[int, Any]:
    with closing(line):
        came = line.getresponse()
        return came.status, json.loads(came.read())


# -- beginning


def test_a_start_tells_its_progress_and_then_in_one_line_where_what_and_who(tmp_path: Path) -> None:
    with program(tmp_path) as server:
        assert server.lines[0] == "loading …"
        assert server.lines[1] == f"opening {tmp_path / 'data'} …"
        assert server.lines[-1] == (
            f"Old Friend serves at http://127.0.0.1:{server.port} · data in {tmp_path / 'data'} · "
            "open to the programs of your account on this machine, for the person me · "
            f"the API: http://127.0.0.1:{server.port}/docs · "
            "Ctrl-C ends it"
        )
        assert server.ask("GET", "/health").json["status"] == "ok"
        assert server.ask("GET", "/docs").status == 200


def test_a_start_says_which_tokens_are_let_in_and_speaks_chinese(tmp_path: Path) -> None:
    run(tmp_path, "--token", "add", "phone")
    run(tmp_path, "--token", "add", "old")
    run(tmp_path, "--token", "revoke", "old")
    with program(tmp_path, LANGUAGE="zh") as server:
        assert "对这些令牌开放：phone ·" in server.lines[-1]


def test_a_port_in_use_is_told_in_one_line_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = started(tmp_path, "--port", str(port))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert (
        err
        == f"Port {port} at 127.0.0.1 is already in use. Close the program that uses it, or choose another --port.\n"
    )


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a" * 70])
def test_a_host_that_is_not_ours_is_told_in_one_line(tmp_path: Path, host: str) -> None:
    process = started(tmp_path, "--host", host)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"This machine has no address {host}.")
    assert err.count("\n") == 1


def test_without_a_token_no_other_machine_is_served(tmp_path: Path) -> None:
    process = started(tmp_path, "--host", "0.0.0.0")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert "--token add NAME" in err
    assert err.count("\n") == 1


def test_with_a_token_other_machines_are_served_and_need_it(tmp_path: Path) -> None:
    secret = run(tmp_path, "--token", "add", "phone").out.split()[-1]
    with program(tmp_path, "--host", "0.0.0.0") as server:
        assert f"http://{socket.gethostname()}:" in server.lines[-1]
        assert [server.ask("GET", "/nothing", token=sent).status for sent in ("", secret)] == [401, 404]


def test_where_a_package_is_missing_one_line_says_what_to_do(tmp_path: Path) -> None:
    hide = "import sys\nsys.modules['uvicorn'] = None\nimport main\nsys.exit(main.main(['--serve']))"
    done = subprocess.run(
        [sys.executable, "-c", hide], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        env=environment(tmp_path, DATA_DIR=str(tmp_path / "data"), LOG_DIR=str(tmp_path / "logs")),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "make serve" in done.stderr


def test_the_lines_of_the_page_on_serving_work_as_they_are(tmp_path: Path) -> None:
    shown = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8").split("<!-- begin serving -->")[1]
    lines = [line for line in shown.split("<!-- end serving -->")[0].splitlines() if line.startswith("curl ")]
    assert len(lines) >= 8
    with program(tmp_path) as server:
        for line in lines:
            here_now = line.replace("127.0.0.1:8123", f"127.0.0.1:{server.port}")
            done = subprocess.run(here_now, shell=True, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            json.loads(done.stdout)


# -- ending


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_end_it_ends_whole(tmp_path: Path, number: int) -> None:
    with program(tmp_path) as server:
        code, out, err = ended(server, number)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["finishing running requests …", "Closed. Every completed reply is stored."]


def test_what_is_under_way_is_finished_and_stored_and_nothing_new_is_taken(
    tmp_path: Path, model: ScriptedServer
) -> None:
    held = Held("The blue vase.")
    model.script(held)
    with program(tmp_path, **connected(model.base)) as server:
        line = begun(server, "What broke?")
        held.asked.wait(60)
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        until(lambda: _refuses(server.port))
        server.process.send_signal(signal.SIGTERM)  # as make passes it on
        time.sleep(0.3)
        held.go_on.set()
        status, told = answer_of(line)
        assert (status, told["message"]) == (200, "The blue vase.")
        assert server.process.wait(60) == 0
    assert [(one.user, one.assistant) for one in stored(tmp_path)] == [("What broke?", "The blue vase.")]


@pytest.mark.torture
def test_a_second_ctrl_c_waits_for_nothing_and_stores_nothing_half(tmp_path: Path, model: ScriptedServer) -> None:
    held = Held("Too late.")
    model.script(held)
    with program(tmp_path, **connected(model.base)) as server:
        with closing(begun(server, "Are you there?")):
            held.asked.wait(60)
            assert server.process
            assert server.process.stdout
            server.process.send_signal(signal.SIGINT)
            assert server.process.stdout.readline() == "finishing running requests …\n"
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(60) == 130
    assert stored(tmp_path) == []


def test_what_is_still_under_way_after_the_time_of_grace_is_hung_up(tmp_path: Path, model: ScriptedServer) -> None:
    held = Held("Too late.")
    model.script(held)
    with here(tmp_path, grace=1, **connected(model.base)) as server:
        line = begun(server, "Are you there?")
        held.asked.wait(60)
        assert server.running
        server.running.stop()
        assert answer_of(line) == (503, {"detail": "The server is shutting down. Nothing of this request is stored."})
        assert server.running.wait_for_end(60)
        assert server.running.gave_up
    assert stored(tmp_path) == []


def test_a_request_whose_model_fails_is_told_so_and_stores_nothing(tmp_path: Path) -> None:
    with program(tmp_path, **connected("http://127.0.0.1:1/v1")) as server:
        status, told = answer_of(begun(server, "Hello"))
        assert (status, told) == (502, {"detail": "the model did not answer (model.unreachable)"})
        assert ended(server)[0] == 0
    assert stored(tmp_path) == []


def test_a_second_server_of_the_same_people_is_refused_in_one_line_and_the_first_goes_on(tmp_path: Path) -> None:
    with program(tmp_path) as server:
        assert server.process
        second = started(tmp_path)
        out, err = second.communicate(timeout=60)
        assert (second.returncode, out) == (4, "")
        assert err.startswith(f"Another server (process {server.process.pid} on ")
        assert err.count("\n") == 1
        assert answer_of(begun(server, "Hello"))[0] == 200
        server.process.kill()
        server.process.wait(60)
    with program(tmp_path) as server:
        assert answer_of(begun(server, "Hello"))[0] == 200


def test_what_goes_wrong_is_in_the_log_of_the_program_and_not_on_its_screen(tmp_path: Path) -> None:
    with program(tmp_path, script=TURN_PROGRAM) as server:
        assert server.ask("GET", "/breaks?kind=").status == 500
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(b"nonsense\r\n\r\n")
            line.recv(1000)
        code, _, err = ended(server)
    assert (code, err) == (0, "")
    assert "ValueError: secret" in (tmp_path / "logs" / "errors.log").read_text(encoding="utf-8")


def test_many_ask_at_once_and_nobody_waits_for_another(tmp_path: Path) -> None:
    go_on = threading.Event()
    with here(tmp_path, routers=lambda people: [(trying(people, go_on.wait),)], REQUESTS_AT_ONCE="100") as server:
        lines = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(80)]
        for line in lines:
            line.request("GET", "/stream")
        assert {line.getresponse().readline() for line in lines[:1]} == {b"first\n"}
        assert server.ask("GET", "/health").status == 200
        assert server.ask("POST", "/turn", {"text": "Hello"}).status == 200
        go_on.set()
        for line in lines:
            line.close()


def _refuses(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return False
    except OSError:
        return True


def test_the_terminal_loads_nothing_of_what_serves(tmp_path: Path) -> None:
    ask = (
        "import main, sys\nmain.main(['-p', 'hello'])\n"
        "sys.stderr.write(' '.join(name for name in sys.modules if name.split('.')[0] in "
        "('fastapi', 'starlette', 'uvicorn', 'mcp', 'anyio') or name.startswith('interfaces.http')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
        env=environment(tmp_path, DATA_DIR=str(tmp_path / "data"), LOG_DIR=str(tmp_path / "logs")),
    )  # fmt: skip
    assert "hello" in done.stdout
    assert set(done.stderr.split()) & {"fastapi", "starlette", "uvicorn", "mcp"} == set()
