"""Who is let in: the name a server is called by, the page a request comes from, its form, and its token."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest

from domain.errors import UsageError
from tests.support.served import VERSION, Server, here


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Without any token."""
    with here(tmp_path_factory.mktemp("open")) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With tokens: one for me, one for ann, one for everybody."""
    with here(tmp_path_factory.mktemp("closed"), SERVER_NAMES="memory.example.org, box") as running:
        assert running.registry
        running.token = running.registry.add_token("mine", "me")
        yield running


def test_without_any_token_a_program_on_this_machine_speaks_for_me(open_server: Server) -> None:
    assert open_server.ask("POST", "/turn", {"text": "Hello"}).status == 200


def test_without_any_token_nobody_speaks_for_somebody_else(open_server: Server) -> None:
    answer = open_server.ask("POST", "/turn", {"text": "Hello", "person": "ann"})
    assert (answer.status, answer.json) == (404, {"detail": "Not Found"})


def test_a_server_that_others_can_reach_lets_nobody_in_without_a_token(tmp_path: Path) -> None:
    with here(tmp_path, only_here=False) as exposed:
        assert exposed.ask("POST", "/turn", {"text": "Hello"}).status == 401


@pytest.mark.parametrize("sent", ["", "wrong", " "], ids=["none", "wrong", "empty"])
def test_where_there_is_a_token_one_is_needed(server: Server, sent: str) -> None:
    answer = server.ask("POST", "/turn", {"text": "Hello"}, token=sent)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Bearer" in answer.json["detail"]


def test_a_token_lets_in_under_any_spelling_of_bearer_and_no_other_scheme(server: Server) -> None:
    said = {"text": "Hello"}
    assert server.ask("POST", "/turn", said, token="", Authorization=f"bearer {server.token}").status == 200
    assert server.ask("POST", "/turn", said, token="", Authorization=f"Basic {server.token}").status == 401


def test_a_token_in_the_address_lets_nobody_in(server: Server) -> None:
    assert server.ask("GET", f"/stream?token={server.token}", token="").status == 401


def test_somebody_elses_memory_is_not_found(server: Server) -> None:
    assert server.registry
    ann = server.registry.add_token("ann's", "ann")
    assert server.ask("POST", "/turn", {"text": "Hi", "person": "ann"}, token=ann).status == 200
    for named in ("me", "bob", ""):
        refused = server.ask("POST", "/turn", {"text": "Hi", "person": named}, token=ann)
        assert (refused.status, refused.json) == (404, {"detail": "Not Found"})


def test_a_token_for_everybody_speaks_for_whom_it_names(server: Server) -> None:
    assert server.registry
    backend = server.registry.add_token("backend", "*")
    for named in ("me", "ann", "用户/../1"):
        assert server.ask("POST", "/turn", {"text": "Hi", "person": named}, token=backend).status == 200


def test_a_token_that_was_revoked_lets_nobody_in_from_then_on(server: Server) -> None:
    assert server.registry
    old = server.registry.add_token("old", "me")
    assert server.ask("GET", "/stream", token=old).status == 200
    assert server.registry.revoke("old")
    assert server.ask("GET", "/stream", token=old).status == 401


def test_when_every_token_was_revoked_nobody_is_let_in(tmp_path: Path) -> None:
    with here(tmp_path) as closed:
        assert closed.registry
        closed.registry.add_token("only", "me")
        closed.registry.revoke("only")
        assert closed.ask("GET", "/stream").status == 401


def test_a_name_is_taken_for_good(server: Server) -> None:
    assert server.registry
    with pytest.raises(UsageError):
        server.registry.add_token("mine", "ann")


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "[::1]", "192.168.1.7", "memory.example.org", "BOX", "10.0.0.1."]
)
def test_a_server_is_called_by_an_address_or_by_a_name_that_was_given(server: Server, name: str) -> None:
    wanted = 421 if name.endswith(".") else 200
    assert server.ask("GET", "/stream", Host=f"{name}:{server.port}").status == wanted


@pytest.mark.parametrize(
    "name",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "me@localhost", "localhost/", "a:b:c", "[x]"],
)
def test_a_name_that_was_bent_to_lead_here_reaches_nothing(server: Server, name: str) -> None:
    for path in ("/stream", "/health", "/docs", "/openapi.json"):
        assert server.ask("GET", path, Host=name).status == 421


def test_a_request_that_names_no_server_or_two_is_refused(server: Server) -> None:
    for hosts in ([], ["localhost", "evil.example"]):
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as line:
            line.putrequest("GET", "/health", skip_host=True)
            for host in hosts:
                line.putheader("Host", host)
            line.endheaders()
            assert line.getresponse().status == 400


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "file://", "http://127.0.0.1:8123/", "x"]
)
def test_a_page_of_another_site_reaches_nothing_even_with_a_token(server: Server, origin: str) -> None:
    answer = server.ask("POST", "/turn", {"text": "Hello"}, Origin=origin)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_of_our_own_may_call_us(server: Server) -> None:
    own = f"http://127.0.0.1:{server.port}"
    assert server.ask("POST", "/turn", {"text": "Hello"}, Origin=own).status == 200
    behind = {"Host": "memory.example.org", "Origin": "https://memory.example.org"}
    assert server.ask("POST", "/turn", {"text": "Hello"}, **behind).status == 200


def test_a_page_of_another_site_is_not_told_that_it_may_ask(server: Server) -> None:
    asking = {"Origin": "https://evil.example", "Access_Control_Request_Method": "POST"}
    answer = server.ask("OPTIONS", "/turn", **asking)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_of_an_allowed_origin_may_call_with_a_token_and_only_with_one(tmp_path: Path) -> None:
    page = "https://chat.example.org"
    with here(tmp_path, ALLOWED_ORIGINS=f"http://localhost:3000, {page}") as running:
        asking = {"Origin": page, "Access_Control_Request_Method": "POST",
                  "Access_Control_Request_Headers": "authorization, content-type"}  # fmt: skip
        preflight = running.ask("OPTIONS", "/turn", **asking)
        assert (preflight.status, preflight.headers["access-control-allow-origin"]) == (200, page)
        assert running.ask("POST", "/turn", {"text": "Hello"}, Origin=page).status == 401
        assert running.registry
        token = running.registry.add_token("page", "me")
        answer = running.ask("POST", "/turn", {"text": "Hello"}, token=token, Origin=page)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, page)
        assert running.ask("POST", "/turn", {"text": "Hello"}, token=token, Origin="https://evil.example").status == 403


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense"]
)
def test_a_body_that_is_not_said_to_be_json_is_not_read(server: Server, kind: str) -> None:
    assert server.ask("POST", "/turn", {"text": "Hello"}, Content_Type=kind).status == 415


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "application/x+json"])
def test_a_body_of_json_is_read(server: Server, kind: str) -> None:
    assert server.ask("POST", "/turn", {"text": "Hello"}, Content_Type=kind).status == 200


@pytest.mark.parametrize("kind", ["string", "number as text", "bool as number", "too large", "infinite"])
def test_values_are_taken_strictly(server: Server, kind: str) -> None:
    wrong = {
        "string": {"text": 5}, "number as text": {"text": "a", "temperature": "0.7"},
        "bool as number": {"text": "a", "temperature": False}, "too large": {"text": "a", "temperature": 3},
        "infinite": {"text": "a", "temperature": float("inf")},
    }[kind]  # fmt: skip
    answer = server.ask("POST", "/turn", wrong)
    assert answer.status == 422
    assert {"type", "loc", "msg"} == set(answer.json["detail"][0])


@pytest.mark.parametrize(
    "body", [b"{", b'"\xff"', b"[" * 100_000, b'{"text": "\\ud800"}', b'{"\\ud800": 1}', b"null", b'{"text": NaN}']
)
def test_a_body_that_cannot_be_read_is_refused_and_never_repeated(server: Server, body: bytes) -> None:
    answer = server.ask("POST", "/turn", body)
    assert answer.status in (400, 422)
    assert isinstance(answer.json["detail"], str | list)
    assert "input" not in json.dumps(answer.json["detail"])


def test_what_is_open_to_all_tells_nothing_of_anybody(server: Server) -> None:
    health = server.ask("GET", "/health", token="")
    assert health.json == {
        "status": "ok",
        "version": VERSION,
        "checks": {"database": "ok", "vector_index": "ok", "outbox_pending": health.json["checks"]["outbox_pending"]},
    }
    assert server.ask("GET", "/docs", token="").status == server.ask("GET", "/openapi.json", token="").status == 200


def test_the_page_of_the_api_shows_every_operation_and_fetches_nothing(server: Server) -> None:
    page = unescape(server.ask("GET", "/docs", token="").body.decode())
    assert "POST /turn" in page
    assert f"curl -X POST 'http://127.0.0.1:{server.port}/turn'" in page
    assert "<script" not in page
    assert "//cdn" not in page


def test_unknown_paths_and_methods_say_so(server: Server) -> None:
    assert (server.ask("GET", "/nothing").status, server.ask("DELETE", "/turn").status) == (404, 405)
    assert server.ask("GET", "/nothing", token="").status == 401
    assert server.ask("DELETE", "/stream").headers["allow"] == "GET, PUT"


@pytest.mark.parametrize(
    ("kind", "status", "waits"),
    [
        ("Unreachable", 502, False), ("TimedOut", 504, True), ("RateLimited", 429, True), ("ServerFault", 503, True),
        ("QuotaExhausted", 502, False), ("Unauthorized", 502, False), ("BadReply", 502, False),
        ("ContextTooLong", 413, False), ("ContentFiltered", 422, False), ("DataInUse", 503, True),
        ("DiskFull", 507, False), ("StorageError", 503, True), ("EmbeddingError", 503, True),
        ("Interrupted", 503, True), ("UsageError", 422, False), ("", 500, False),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_one_status_and_tells_nothing_of_this_machine(
    server: Server, kind: str, status: int, waits: bool
) -> None:
    answer = server.ask("GET", f"/breaks?kind={kind}")
    assert (answer.status, "retry-after" in answer.headers) == (status, waits)
    assert b"secret" not in answer.body
    assert b"Traceback" not in answer.body
    assert isinstance(answer.json["detail"], str)
