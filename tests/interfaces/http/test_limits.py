"""How much one caller may ask: the size of a body, requests in a minute, requests at once."""

from __future__ import annotations

import http.client
import logging
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI

from interfaces.http.error_responses import Problem, Problems
from interfaces.http.guards import Caller
from interfaces.http.limits import LARGEST_BODY, LONGEST_TEXT, Limits, Quota, _Counted
from interfaces.messages import Words
from people import People
from storage.registry import ProcessUsage
from tests.support.house import talks
from tests.support.program import connected
from tests.support.served import Server, here, trying, until
from tests.support.server import ScriptedServer, answer, delta, say, stream, whole


def test_a_caller_that_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    with here(tmp_path, REQUESTS_PER_MINUTE="3") as server:
        assert server.registry
        server.token, other = (server.registry.add_token(name, "me") for name in ("one", "other"))
        assert [server.ask("GET", "/nothing").status for _ in range(4)] == [404, 404, 404, 429]
        refused = server.ask("GET", "/nothing")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "3" in refused.json["detail"]
        assert server.ask("GET", "/nothing", token=other).status == 404
        assert server.ask("GET", "/health", token="").status == 200


def test_a_streamed_answer_counts_until_its_last_byte_is_out(tmp_path: Path) -> None:
    go_on = threading.Event()
    with here(tmp_path, routers=lambda people: [(trying(people, go_on.wait),)], REQUESTS_AT_ONCE="1") as server:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as line:
            line.request("GET", "/stream")
            came = line.getresponse()
            assert came.readline() == b"first\n"  # it comes while the rest is still being made
            refused = server.ask("GET", "/nothing")
            assert (refused.status, refused.headers["retry-after"]) == (429, "1")
            go_on.set()
            assert came.read() == b"last\n"
        until(lambda: server.ask("GET", "/nothing").status == 404)


def test_who_has_used_up_the_tokens_of_a_day_is_told_to_come_again_tomorrow(tmp_path: Path) -> None:
    said = {"model": "m", "messages": [{"role": "user", "content": "My cat is called Douban."}]}
    used: dict[str, Any] = {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750}
    with ScriptedServer(talks) as model:
        settings = connected(model.base, EMBEDDING_MODEL="built-in", TOKENS_PER_DAY="1500")
        with here(tmp_path, **settings) as server:
            assert server.registry
            server.token, other = (server.registry.add_token(name, "me") for name in ("one", "other"))
            model.script(*[answer(whole("Nice cat.") | {"usage": used})] * 2, "Nice cat.")
            assert server.ask("POST", "/api/v1/chat", said).status == 200
            assert server.ask("POST", "/v1/chat/completions", said).status == 200
            refused = [server.ask("POST", path, said) for path in ("/api/v1/chat", "/v1/chat/completions")]
            assert [one.status for one in refused] == [429, 429]
            assert all(0 < int(one.headers["retry-after"]) <= 86_400 for one in refused)
            assert "1500" in refused[0].json["detail"]
            assert server.ask("POST", "/v1/chat/completions", said, token=other).status == 200
            assert len(model.chats) == 3


def test_the_chat_of_the_page_counts_and_who_has_used_up_a_day_can_still_look_and_erase(tmp_path: Path) -> None:
    used: dict[str, Any] = {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750}
    with ScriptedServer(talks) as model:
        settings = connected(model.base, EMBEDDING_MODEL="built-in", TOKENS_PER_DAY="750")
        with here(tmp_path, routers=lambda people: [], **settings) as server:
            model.script(stream(delta(content="Nice cat."), delta("stop"), {**delta(), "usage": used}))
            said = server.ask("POST", "/page/chat", {"text": "My cat is called Douban."})
            assert b'"replied"' in said.body
            assert server.ask("POST", "/page/chat", {"text": "And she is grey."}).status == 429
            assert server.ask("GET", "/page/sessions").status == 200
            wish = {"what": "words", "named": "Douban"}
            mark = server.ask("POST", "/page/forget/scope", wish).json["mark"]
            assert server.ask("POST", "/page/forget", {**wish, "mark": mark}).status == 200
            assert server.ask("DELETE", "/api/v1/memory/1").status == 404


def test_the_tokens_of_a_stream_count_as_they_are_told_or_estimated_and_a_new_day_begins_with_none(
    tmp_path: Path,
) -> None:
    said = {"model": "m", "messages": [{"role": "user", "content": "cat " * 500}], "stream": True}
    day = [datetime(2026, 3, 1, 23, 0, tzinfo=UTC)]
    with (
        ScriptedServer(talks) as model,
        here(
            tmp_path, clock=lambda: day[0], **connected(model.base, EMBEDDING_MODEL="built-in", TOKENS_PER_DAY="5")
        ) as server,
    ):
        model.script(*[say("Nice cats.")] * 2)
        assert server.ask("POST", "/v1/chat/completions", said).status == 200
        refused = server.ask("POST", "/v1/chat/completions", said)
        assert (refused.status, refused.headers["retry-after"]) == (429, "3600")
        day[0] += timedelta(hours=2)
        assert server.ask("POST", "/v1/chat/completions", said).status == 200


def test_whoever_hangs_up_no_longer_counts(tmp_path: Path) -> None:
    go_on = threading.Event()
    with here(tmp_path, routers=lambda people: [(trying(people, go_on.wait),)], REQUESTS_AT_ONCE="1") as server:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as line:
            line.request("GET", "/stream")
            assert line.getresponse().readline() == b"first\n"
        go_on.set()
        until(lambda: server.ask("GET", "/nothing").status == 404)


def test_a_body_that_is_too_large_is_refused_by_its_length_or_while_it_comes(tmp_path: Path) -> None:
    with here(tmp_path) as server:
        assert _told(server, {"Content-Length": str(LARGEST_BODY + 1)}) == 413
        assert _told(server, {"Content-Length": "9" * 25}) in (400, 413)
        chunk = b"%x\r\n%b\r\n" % (1 << 20, b" " * (1 << 20))
        assert _told(server, {"Transfer-Encoding": "chunked"}, chunk * 9) == 413
        assert server.ask("POST", "/turn", {"text": "Hello"}).status == 200


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with here(tmp_path) as server:
        assert server.ask("POST", "/turn", {"text": "a" * (LONGEST_TEXT + 1)}).status == 422


def test_whoever_leaves_in_the_middle_of_a_body_leaves_nothing_behind(tmp_path: Path) -> None:
    with here(tmp_path, REQUESTS_AT_ONCE="1") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(_head(server, {"Content-Length": "100"}) + b"{")
        until(lambda: server.ask("GET", "/nothing").status == 404)


def test_each_api_reports_errors_in_its_own_form_also_where_no_route_was_reached(tmp_path: Path) -> None:
    def form(problem: Problem) -> Mapping[str, Any]:
        return {"error": {"message": problem.message, "code": problem.code}}

    with here(tmp_path, routers=lambda people: [(trying(people), form)]) as server:
        assert server.registry
        server.token = server.registry.add_token("mine", "me")
        answers = [
            server.ask("POST", "/turn", {"text": "Hi"}, token="wrong"),
            server.ask("POST", "/turn", {"text": 5}),
            server.ask("POST", "/turn", {"text": "Hi", "person": "ann"}),
            server.ask("GET", "/turn"),
            server.ask("POST", "/turn", b"x", Content_Type="text/plain"),
        ]
        assert [(one.status, one.json["error"]["code"]) for one in answers] == [
            (401, "unauthorized"), (422, "invalid_request"), (404, "not_found"), (405, "method_not_allowed"),
            (415, "unsupported_media_type"),
        ]  # fmt: skip
        assert server.ask("GET", "/elsewhere").json == {"detail": "Not Found"}


def _head(server: Server, headers: Mapping[str, str]) -> bytes:
    told = {"Host": f"127.0.0.1:{server.port}", "Content-Type": "application/json", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"POST /turn HTTP/1.1\r\n{lines}\r\n".encode()


def _told(server: Server, headers: Mapping[str, str], body: bytes = b"") -> int:
    """The status of a request whose body does not end."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(_head(server, headers))
        with suppress(OSError):  # it may be refused before it is all there
            line.sendall(body)
        return int(line.makefile("rb").readline().split()[1])


def test_a_request_that_names_a_person_twice_at_once_counts_once_for_them() -> None:
    both = threading.Barrier(2)

    class Slow(ProcessUsage):
        def begin(self, who: str, most: int) -> bool:
            with suppress(threading.BrokenBarrierError):
                both.wait(1)
            return super().begin(who, most)

    problems = Problems(Words("en"), logging.Logger("quiet", logging.CRITICAL))
    usage = Slow()
    counted = _Counted(Limits(FastAPI(), problems, Quota(9, 2), usage=usage), Caller(None, cast(People, None)))
    with ThreadPoolExecutor(2) as at_once:
        assert [*at_once.map(counted.admit, ["ann", "ann"])] == [None, None]
    assert usage.begin("person ann", 2)
    assert not usage.begin("person ann", 2)
