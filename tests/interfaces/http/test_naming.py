"""Whose memory a request means: a token for many people opens none until the person is named, in UTF-8."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from people import ME, folder_of
from tests.support.house import talks
from tests.support.program import connected
from tests.support.served import PATIENCE, Answer, Server, here, until
from tests.support.server import ScriptedServer

ZHANG = "张三"
SAID = {"messages": [{"role": "user", "content": "My cat is called Douban."}], "model": "m"}
#: Every call that touches a memory and whose body names no one, by its API.
CALLS: list[tuple[str, str, Any]] = [
    ("POST", "/process", {"input": "I like jazz."}),
    ("POST", "/debug", {"input": "I like jazz."}),
    ("POST", "/end-session", {}),
    ("POST", "/api/v1/chat", SAID),
    ("GET", "/api/v1/memory/list", None),
    ("DELETE", "/api/v1/memory/1", None),
    ("POST", "/api/v1/memory/clear-old", None),
    ("GET", "/api/v1/system-instructions", None),
    ("POST", "/api/v1/system-instructions", {"text": "Be kind."}),
    ("POST", "/v1/chat/completions", SAID),
    ("GET", "/page/now", None),
    ("GET", "/page/facts", None),
    ("GET", "/page/recalled", None),
    ("GET", "/page/personas", None),
    ("GET", "/page/import", None),
    ("POST", "/page/chat", {"text": "Hello."}),
    ("POST", "/page/forget/scope", {"what": "words", "named": "Douban"}),
]


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@contextmanager
def naming(folder: Path, model: ScriptedServer) -> Iterator[Server]:
    """A server whose one token is for many people."""
    settings = connected(model.base, EMBEDDING_MODEL="built-in")
    with here(folder, routers=lambda people: [], **settings) as server:
        assert server.registry
        server.token = server.registry.add_token("backend", "*")
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Server]:
    with naming(tmp_path, model) as server:
        yield server


@pytest.fixture(scope="module")
def for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all calls; each names a person of its own."""
    with ScriptedServer(talks) as model, naming(tmp_path_factory.mktemp("naming"), model) as server:
        yield server


def sentence(answer: Answer) -> str:
    """What a refusal says, in whichever form its API has."""
    body = answer.json
    told = body["detail"] if "detail" in body else body.get("message") or body["error"]["message"]
    assert isinstance(told, str)
    return told


def tool(server: Server, name: str, path: str = "/mcp/full", headers: Any = None, **arguments: Any) -> Any:
    """The result of a tool over HTTP."""
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments},
    }  # fmt: skip
    accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    answer = server.ask("POST", path, call, **accept, **(headers or {}))
    assert answer.status == 200, answer.body
    return answer.json["result"]


@pytest.mark.parametrize(("method", "path", "body"), CALLS, ids=lambda one: str(one)[:30])
def test_every_call_with_a_token_for_many_people_names_its_person(
    for_all: Server, method: str, path: str, body: Any
) -> None:
    assert for_all.registry
    before, person = set(for_all.registry.persons()), f"ann of {method} {path}"
    refused = for_all.ask(method, path, body)
    assert refused.status == 400
    assert "X-User-Id" in sentence(refused)
    assert set(for_all.registry.persons()) == before
    assert for_all.ask(method, path, body, X_User_Id=person).status in (200, 201, 404)
    assert set(for_all.registry.persons()) - before <= {person}


def test_a_tool_with_a_token_for_many_people_names_its_person(served: Server) -> None:
    for name, arguments in (
        ("process_memory", {"input": "I like jazz."}),
        ("remember", {"text": "I like jazz."}),
        ("profile", {}),
        ("end_session", {"user_id": ""}),
    ):
        refused = tool(served, name, **arguments)
        assert refused["isError"]
        assert "user_id" in refused["content"][0]["text"]
    assert served.registry
    assert served.registry.persons() == []
    assert not tool(served, "remember", text="I like jazz.", user_id="ann").get("isError")
    assert not tool(served, "remember", text="I like tea.", headers={"X_User_Id": "bob"}).get("isError")
    assert served.registry.persons() == ["ann", "bob"]


def test_the_header_binds_a_host_to_its_person_whatever_a_model_fills_in(served: Server) -> None:
    refused = tool(served, "remember", text="I like jazz.", user_id="bob", headers={"X_User_Id": "ann"})
    assert refused["isError"]
    assert served.registry
    assert served.registry.persons() == []


def test_a_program_for_one_person_need_not_name_them(served: Server) -> None:
    assert served.registry
    served.token = served.registry.add_token("phone", "ann")
    assert served.ask("POST", "/process", {"input": "I like jazz."}).status == 200
    assert served.registry.persons() == ["ann"]


def test_two_names_are_no_name(served: Server) -> None:
    asked = {"input": "Hello.", "user_id": "bob"}
    refused = served.ask("POST", "/process", asked, X_User_Id="ann")
    assert (refused.status, refused.json["error"]["code"]) == (400, "person.two")
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)) as line:
        line.putrequest("GET", "/page/now")
        line.putheader("Authorization", f"Bearer {served.token}")
        for person in ("ann", "bob"):
            line.putheader("X-User-Id", person)
        line.endheaders()
        assert line.getresponse().status == 400


def test_what_uses_no_memory_needs_no_name(served: Server, model: ScriptedServer) -> None:
    assert served.ask("POST", "/v1/chat/completions", SAID, X_Memory="off").status == 200
    assert served.ask("GET", "/v1/models/old-friend").status == 200
    assert served.registry
    assert served.registry.persons() == []


@pytest.mark.parametrize(("method", "path", "body"), CALLS, ids=lambda one: str(one)[:30])
def test_a_token_for_one_person_reaches_no_other_by_a_header(
    for_all: Server, method: str, path: str, body: Any
) -> None:
    assert for_all.registry
    before = for_all.registry.persons()
    ann = for_all.registry.add_token(f"phone for {method} {path}", "ann")
    assert for_all.ask(method, path, body, token=ann, X_User_Id="bob").status == 404
    assert for_all.registry.persons() == before


# -- UTF-8


def test_a_name_in_a_header_is_the_same_person_as_in_a_body_and_a_path(served: Server, model: ScriptedServer) -> None:
    raw: Any = ZHANG.encode()
    assert served.ask("POST", "/process", {"input": "我叫张三。", "user_id": ZHANG}).status == 200
    assert served.ask("POST", "/v1/chat/completions", SAID, X_User_Id=raw).status == 200
    assert served.ask("POST", "/api/v1/chat", SAID, X_User_Id=raw).status == 200
    assert served.ask("GET", "/page/now", X_User_Id=raw).json["person"] == ZHANG
    quoted = "".join(f"%{byte:02X}" for byte in raw)
    assert served.ask("GET", f"/session-status/{quoted}").json["session_info"]["event_count"] == 1
    assert served.registry
    assert served.registry.persons() == [ZHANG]


def test_a_session_in_a_header_is_read_and_told_in_utf_8(served: Server, model: ScriptedServer) -> None:
    raw: Any = "会话一".encode()
    first = served.ask("POST", "/v1/chat/completions", SAID, X_Session_Id=raw, X_User_Id="ann")
    assert first.headers["x-session-id"].encode("latin-1") == raw
    served.ask("POST", "/api/v1/chat", SAID, X_Session_Id=raw, X_User_Id="ann")
    assert served.people
    path = folder_of(served.people.settings.data_dir, "ann") / "memory.db"
    assert raw in path.read_bytes()
    assert "会话一".encode().decode("latin-1").encode() not in path.read_bytes()


@pytest.mark.parametrize("name", ["X_User_Id", "X_Session_Id", "X_OpenWebUI_User_Id", "X_OpenWebUI_Chat_Id"])
def test_a_header_that_is_not_utf_8_is_refused(for_all: Server, name: str) -> None:
    for raw in (ZHANG.encode("gbk"), "Zoë".encode("latin-1")):
        given: Any = {"X_User_Id": "ann", name: raw}
        for path in ("/v1/chat/completions", "/api/v1/chat"):
            refused = for_all.ask("POST", path, SAID, **given)
            assert refused.status == 400
            assert "UTF-8" in sentence(refused)


def test_a_name_has_at_most_128_characters_however_many_bytes_these_are(served: Server) -> None:
    longest, longer = (("三" * count).encode() for count in (128, 129))
    taken: Any = longest
    assert served.ask("POST", "/v1/chat/completions", SAID, X_User_Id=taken).status == 200
    refused: Any = longer
    assert served.ask("POST", "/v1/chat/completions", SAID, X_User_Id=refused).status == 422
    assert served.ask("GET", "/page/now", X_User_Id=refused).status == 422


# -- requests at once


def test_requests_at_once_are_counted_for_each_person_of_a_token_for_many(tmp_path: Path) -> None:
    with (
        ScriptedServer(talks) as model,
        here(tmp_path, **connected(model.base, EMBEDDING_MODEL="built-in", REQUESTS_AT_ONCE="1")) as server,
        ExitStack() as held,
    ):
        assert server.registry
        assert server.people
        server.token = server.registry.add_token("backend", "*")
        other = server.registry.add_token("ann's", "ann")
        go_on = threading.Event()

        def ask_for_ann() -> None:
            until(lambda: server.ask("POST", "/turn", {"text": "Hi", "person": "ann"}).status == 200)

        asked = threading.Thread(target=ask_for_ann)  # it may be refused beside a look of ours
        held.callback(asked.join)
        held.callback(go_on.set)
        with server.people.companion("ann") as companion:
            companion.turns.acquire()  # whoever has a turn with her waits
            held.callback(companion.turns.release)
        asked.start()
        until(lambda: server.ask("GET", "/page/sessions", X_User_Id="ann").status == 429)
        refused = tool(server, "profile", user_id="ann")
        assert refused["isError"]
        assert "1" in refused["content"][0]["text"]
        assert server.ask("GET", "/page/sessions", token=other).status == 429
        for person in ("bob", "cai", ME):
            assert server.ask("POST", "/turn", {"text": "Hi", "person": person}).status == 200
        assert folder_of(tmp_path / "data", "bob").exists()
    assert not asked.is_alive()
