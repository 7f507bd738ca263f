"""The memory service over HTTP: the bodies of the service byte for byte, and what goes wrong in a form of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from interfaces.http.app import make_app
from interfaces.service.memory_service import MemoryService
from people import EVERYBODY, People
from tests.conftest import Count, SetClock
from tests.interfaces.service.known import LYON
from tests.interfaces.service.opened import PATIENCE, opened_people
from tests.support.house import Mind
from tests.support.server import ScriptedServer


class Api:
    """The application, and who calls it."""

    def __init__(self, people: People, client: TestClient) -> None:
        self.people = people
        self.client = client
        self.service: MemoryService = client.app.state.service  # type: ignore[attr-defined]

    def as_whom(self, person: str) -> dict[str, str]:
        """The headers of a program that speaks for a person."""
        secret = self.people.registry.add_token(f"token of {person}", person)
        return {"Authorization": f"Bearer {secret}"}


@contextmanager
def served(folder: Path, server: ScriptedServer, clock: SetClock, new_id: Count) -> Iterator[Api]:
    with opened_people(folder, server, clock, new_id) as people:
        app = make_app(people, "test", account_of=lambda near, far: os.geteuid())
        with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
            yield Api(people, client)


@pytest.fixture
def opened(tmp_path: Path, server: ScriptedServer, mind: Mind, clock: SetClock, new_id: Count) -> Iterator[Api]:
    with served(tmp_path, server, clock, new_id) as ready:
        yield ready


def asked(said: str, person: str = "me") -> dict[str, Any]:
    return {"input": said, "user_id": person}


def untimed(body: bytes) -> str:
    """A body without how long it took, which differs."""
    found = json.loads(body)
    found["metadata"]["retrieval_time_ms"] = 0
    for key in ("sql_ms", "vector_ms"):
        if key in found.get("debug", {}):
            found["debug"][key] = 0
    return json.dumps(found)


def test_all_five_answer_with_the_bodies_of_the_service(opened: Api, mind: Mind) -> None:
    mind.answers("notes", LYON)
    client, service = opened.client, opened.service
    assert client.post("/process", json=asked("My sister Ann lives in Lyon.")).status_code == 200
    status = client.get("/session-status/me")
    assert (status.status_code, status.json()["session_info"]["event_count"]) == (200, 1)
    ended = client.post("/end-session", json={"user_id": "me"})
    assert ended.json()["message"] == "Session ending, consolidation started"
    assert service.settle("me", PATIENCE)
    again = client.post("/end-session", json={"user_id": "me"})
    assert again.content == service.end_session("me").model_dump_json().encode()
    assert client.get("/graph/me").content == service.graph("me").model_dump_json().encode()
    looked = client.post("/debug", json=asked("Where does Ann live?"))
    assert untimed(looked.content) == untimed(service.debug("Where does Ann live?", "me").model_dump_json().encode())
    answered = client.post("/process", json=asked("Where does Ann live?"))
    assert answered.headers["content-type"] == "application/json"
    assert list(answered.json()) == ["status", "resolved_query", "memories", "relations", "metadata"]
    assert answered.json()["relations"] == [{"source": "Ann", "relation": "lives in", "target": "Lyon"}]


def test_somebody_elses_memory_is_not_found(opened: Api) -> None:
    ann, everybody = opened.as_whom("ann"), opened.as_whom(EVERYBODY)
    client = opened.client
    assert client.post("/process", json=asked("I am Ann.", "ann"), headers=ann).status_code == 200
    assert client.post("/process", json=asked("I am Bob.", "bob"), headers=everybody).status_code == 200
    hidden = [
        client.post("/process", json=asked("Hello.", "bob"), headers=ann),
        client.post("/debug", json=asked("Hello.", "bob"), headers=ann),
        client.post("/end-session", json={"user_id": "bob"}, headers=ann),
        client.get("/session-status/bob", headers=ann),
        client.get("/graph/bob", headers=ann),
        client.get("/graph/nobody", headers=ann),
    ]
    assert {found.status_code for found in hidden} == {404}
    assert {found.content for found in hidden} == {
        b'{"status":"error","message":"Not Found","error":{"code":"not_found"}}'
    }
    assert opened.service.session_status("bob").session_info is not None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"input": "", "user_id": "me"}, id="empty"),
        pytest.param({"input": "x" * 100_001, "user_id": "me"}, id="too long"),
        pytest.param({"input": "x", "user_id": "y" * 129}, id="an id that is too long"),
        pytest.param({"input": 1, "user_id": "me"}, id="a number"),
        pytest.param({"user_id": "me"}, id="nothing said"),
        pytest.param({"input": " \n ", "user_id": "me"}, id="blanks alone"),
        pytest.param([], id="a list"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_the_form_of_this_api(opened: Api, body: Any) -> None:
    for path in ("/process", "/debug"):
        found = opened.client.post(path, json=body)
        assert found.status_code == 422
        assert list(found.json()) == ["status", "message", "error"]
        assert (found.json()["status"], list(found.json()["error"])) == ("error", ["code"])


def test_an_id_of_any_characters_is_one_person(opened: Api) -> None:
    everybody = opened.as_whom(EVERYBODY)
    for person in ("a/b", "../../me", "安 ✓", "x" * 128):
        stored = opened.client.post("/process", json=asked("Hello.", person), headers=everybody)
        assert stored.status_code == 200
        path = "/session-status/" + "".join(f"%{byte:02X}" for byte in person.encode())
        found = opened.client.get(path, headers=everybody)
        assert found.json()["session_info"]["event_count"] == 1


def test_the_longest_input_is_taken(opened: Api) -> None:
    found = opened.client.post("/process", json=asked("忆" * 100_000))
    assert found.status_code == 200
    assert found.json()["resolved_query"] == "忆" * 100_000


def test_a_request_with_a_name_is_stored_once(opened: Api) -> None:
    for said in ("Hello.", "Hello.", "Something else under the same name."):
        opened.client.post("/process", json=asked(said) | {"request_id": "r1"})
    assert opened.client.get("/session-status/me").json()["session_info"]["event_count"] == 1


def test_a_server_ends_by_itself_what_was_over_when_it_started(
    tmp_path: Path, server: ScriptedServer, mind: Mind, clock: SetClock, new_id: Count
) -> None:
    with served(tmp_path, server, clock, new_id) as first:
        first.client.post("/process", json=asked("Hello."))
    clock.pass_by(hours=1)
    with served(tmp_path, server, clock, new_id) as second, second.people.companion("me") as companion:
        waited = 0
        while companion.memory.sessions.active("service"):
            waited += 1
            assert waited < 10_000
            second.service.settle("me", 0.01)
        assert second.client.get("/session-status/me").json()["has_active_session"] is False
    assert len(mind.asked("notes")) == 1


def test_facts_are_searched_by_their_parts(opened: Api, mind: Mind) -> None:
    mind.answers("notes", LYON)
    client, service = opened.client, opened.service
    client.post("/process", json=asked("My sister Ann lives in Lyon."))
    client.post("/end-session", json={"user_id": "me"})
    assert service.settle("me", PATIENCE)
    found = client.post("/search", json={"user_id": "me", "persons": ["ann"]})
    assert found.content == service.search("me", persons=["ann"]).model_dump_json().encode()
    (one,) = found.json()["memories"]
    assert (one["kind"], "Lyon" in one["text"]) == ("fact", True)
    assert client.post("/search", json={"user_id": "me", "persons": ["Tom"]}).json()["memories"] == []
    assert client.post("/search", json={"user_id": "me", "since": "last week"}).status_code == 422
    assert client.post("/search", json={"user_id": "bob", "query": "Lyon"}).status_code == 404
