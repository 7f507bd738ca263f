"""Connections: whoever sends half a head, or two lengths, keeps nobody out and smuggles nothing in."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.served import PATIENCE, Server, here, trying

HALF = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: appl"
WHOLE = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def line(server: Server, sent: bytes = b"") -> socket.socket:
    """A connection on which so much was sent."""
    opened = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    opened.sendall(sent)
    return opened


def heard(opened: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    came = b""
    try:
        while part := opened.recv(65_536):
            came += part
    except ConnectionResetError:
        pass
    return came


def part(opened: socket.socket) -> tuple[int, dict[str, str], Any]:
    """One answer, on a connection that may stay open: status, headers, body."""
    came = b""
    while b"\r\n\r\n" not in came:
        came += opened.recv(65_536)
    head, _, body = came.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
    while len(body) < int(headers["content-length"]):
        body += opened.recv(65_536)
    return int(first.split()[1]), headers, json.loads(body)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_whoever_sends_no_whole_head_is_hung_up_on_also_after_an_answer(tmp_path: Path, opened: ExitStack) -> None:
    with here(tmp_path, head_timeout=0.2) as server:
        for sent in (b"", b"G", HALF):
            assert heard(opened.enter_context(line(server, sent))) == b""
        again = opened.enter_context(line(server, WHOLE))
        assert part(again)[0] == 200
        again.sendall(HALF)
        assert heard(again) == b""


def test_a_head_that_drips_has_no_more_time_than_another(tmp_path: Path, opened: ExitStack) -> None:
    with here(tmp_path, head_timeout=0.3) as server:
        slow = opened.enter_context(line(server, b"GET /health HTTP/1.1\r\n"))
        slow.settimeout(0.02)
        over = False
        for _ in range(int(PATIENCE / 0.02)):
            try:
                slow.sendall(b"X-A: b\r\n")
                over = slow.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                over = True
            if over:
                break
        assert over


def test_idle_connections_keep_nobody_out(tmp_path: Path, opened: ExitStack) -> None:
    with here(tmp_path, connections=20, head_timeout=PATIENCE) as server:
        used = opened.enter_context(line(server, WHOLE))
        assert part(used)[0] == 200
        for _ in range(60):
            opened.enter_context(line(server, HALF))
        for _ in range(30):
            assert server.ask("GET", "/health").status == 200


def test_a_full_server_says_so_in_the_form_of_the_api(tmp_path: Path, opened: ExitStack) -> None:
    go_on = threading.Event()

    with here(
        tmp_path,
        routers=lambda people: [(trying(people, lambda: go_on.wait(PATIENCE)),)],
        connections=3,
        REQUESTS_AT_ONCE="10",
    ) as server:
        streams = WHOLE.replace(b"/health", b"/stream").replace(b"Host", b"Connection: close\r\nHost")
        busy = [opened.enter_context(line(server, streams)) for _ in range(3)]
        for one in busy:
            assert one.recv(1)
        for path, form in (("/v1/models", "error"), ("/memory", "detail")):
            refused = server.ask("GET", path)
            assert (refused.status, list(refused.json)) == (503, [form])
            assert int(refused.headers["retry-after"]) >= 1
        go_on.set()
        for one in busy:
            assert b"last" in heard(one)
        assert server.ask("GET", "/health").status == 200


def test_a_request_with_two_lengths_is_refused_and_hung_up_on(tmp_path: Path, opened: ExitStack) -> None:
    smuggled = (
        b"POST /turn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 6\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"
    )
    with here(tmp_path) as server:
        came = heard(opened.enter_context(line(server, smuggled + WHOLE[1:])))
    assert came.startswith(b"HTTP/1.1 400 ")
    assert came.count(b"HTTP/1.1 ") == 1


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    numbers = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400 + ".0"]
    with here(tmp_path) as server:
        for number, path in product(numbers, ["/turn", "/api/v1/chat", "/v1/chat/completions"]):
            body = f'{{"text": "Hello", "messages": [{{"role": "user", "content": "Hi"}}], "temperature": {number}}}'
            assert server.ask("POST", path, body.encode()).status == 422, (path, number)
        said = '{"text": "NaN and Infinity and 1e999"}'
        assert server.ask("POST", "/turn", said.encode()).status == 200
