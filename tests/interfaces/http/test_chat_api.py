"""The chat API with memory: bodies as its clients know them, extraction at every fifty messages, people apart."""

from __future__ import annotations

import json
import logging
import shlex
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

import config
from domain.facts import Learned, LineEvidence, NewNote, PersonaDraft, Window
from interfaces.http.app import make_app
from llm import Llm
from models.chat import Patience
from people import People, Registry, folder_of
from tests.conftest import Count, SetClock
from tests.support.house import Mind, friend, marked, records
from tests.support.known import SAID, new_fact
from tests.support.server import Exchange, ScriptedServer, hang, say, status

PromptMessage = dict[str, str]
ROOT = Path(__file__).resolve().parents[3]


class Served:
    """The API over the memories of ann and bob, each with a token."""

    def __init__(self, people: People, client: TestClient) -> None:
        self.people = people
        self.client = client
        started = len(people.registry.tokens())
        self.tokens = {name: people.registry.add_token(f"{name} {started}", name) for name in ("ann", "bob")}

    def ask(self, method: str, path: str, who: str = "ann", **more: Any) -> Any:
        """A request with somebody's token."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}", **more.pop("headers", {})}
        return self.client.request(method, f"/api/v1{path}", headers=headers, **more)

    def chat(self, messages: list[PromptMessage], who: str = "ann", session: str = "", **more: Any) -> Any:
        """A chat request."""
        headers = {"X-Session-Id": session} if session else {}
        return self.ask("POST", "/chat", who, json={"messages": messages, **more}, headers=headers)

    def memories(self, who: str = "ann", **more: Any) -> list[dict[str, Any]]:
        """What is listed."""
        listed: list[dict[str, Any]] = self.ask("GET", "/memory/list", who, params=more).json()
        return listed

    def settle(self) -> None:
        """All is done behind the answers that can be done now."""
        assert self.people.settle_jobs("client_history", 60)

    def rows(self, query: str, who: str = "ann", instruction: int | None = None) -> list[Any]:
        """What SQL finds in somebody's memory."""
        path = folder_of(self.people.settings.data_dir, who, instruction) / "memory.db"
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(query).fetchall()


def talk(count: int, about: str = "cat") -> list[PromptMessage]:
    """A history of so many messages; the last is the person's where their number is odd."""
    said = [
        {"role": "user", "content": f"My {about} number {number // 2} has a red collar."}
        if number % 2 == 0
        else {"role": "assistant", "content": f"Noted, {number // 2}."}
        for number in range(count)
    ]
    if count % 2 == 0:
        said[-1] = {"role": "user", "content": f"And {about} number {count // 2} is asleep."}
    return said


@contextmanager
def served(
    folder: Path, server: ScriptedServer, clock: SetClock, new_id: Count, log: logging.Logger
) -> Iterator[Served]:
    environment = {
        "EMBEDDING_MODEL": "built-in", "OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "sk-test",
        "CHAT_MODEL": "test-model", "OPEN_MEMORIES": "200",
    }  # fmt: skip
    settings = config.load_settings(folder, environment)
    llm = Llm(settings, log, clock=clock, patience=Patience(tries=1))
    registry = Registry(settings.data_dir / "registry.db", clock)
    people = People(llm, registry, new_id=new_id)
    with TestClient(make_app(people, "0"), base_url="http://127.0.0.1:8123") as client:
        yield Served(people, client)
    people.close()
    llm.close()
    registry.close()


Opens = Callable[[], Any]


@pytest.fixture
def opens(tmp_path: Path, server: ScriptedServer, clock: SetClock, new_id: Count, log: logging.Logger) -> Opens:
    """Opens the API on the same data, again if need be."""
    return lambda: served(tmp_path, server, clock, new_id, log)


@pytest.fixture
def api(opens: Opens) -> Iterator[Served]:
    with opens() as running:
        yield running


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


def asked(server: ScriptedServer) -> list[Any]:
    """The chat requests that were no task of ours."""
    return [one for one in server.chats if marked(one, "talk")]


def noted(server: ScriptedServer) -> list[int]:
    """How many turns each request for notes showed."""
    return [sum("turn" in one for one in records(each)) for each in server.chats if marked(each, "notes")]


# -- chat ----------------------------------------------------------------------------------------------------------


def test_a_chat_as_its_clients_send_it_is_answered_and_stored(api: Served, server: ScriptedServer) -> None:
    number = api.ask("POST", "/system-instructions", json={"title": "Poet", "text": "You are a poet."}).json()["id"]
    server.script(say("你好！"))
    answer = api.chat(
        [{"role": "user", "content": "你好"}], system_instruction_id=number, temperature=0.7, max_tokens=1000
    )
    assert answer.status_code == 200
    body = answer.json()
    assert body["message"] == "你好！"
    assert (body["memories_used"], body["round"], body["finish_reason"]) == (0, 0, "stop")
    assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"]
    (sent,) = asked(server)
    assert (sent["temperature"], sent["max_tokens"]) == (0.7, 1000)
    assert sent["messages"] == [{"role": "system", "content": "You are a poet."}, {"role": "user", "content": "你好"}]
    stored = api.rows("SELECT role, text FROM conversation ORDER BY position", instruction=number)
    assert stored == [("user", "User: 你好"), ("assistant", "Assistant: 你好！")]


def test_without_a_system_instruction_the_persons_own_companion_answers(api: Served, server: ScriptedServer) -> None:
    assert api.chat([{"role": "user", "content": "Hello"}], system_instruction_id=None).status_code == 200
    (sent,) = asked(server)
    assert sent["messages"][0]["content"].startswith("You are Old Friend")
    assert "temperature" not in sent
    assert api.rows("SELECT count(*) FROM conversation") == [(2,)]


def test_the_persons_own_companion_is_told_what_became_of_what_the_personas_say(
    api: Served, server: ScriptedServer
) -> None:
    with api.people.companion("ann") as companion:
        memory = companion.memory
        session_id = memory.sessions.resume_or_start()[0].session_id
        spoken = memory.rounds.store(session_id, "I live in Lyon.", "Mm.", SAID, "stop", ended=SAID)
        fact = new_fact("I live in Lyon.", spoken.user.text_id)
        note = NewNote(fact.note, "Lyon.", "", 5, "active", fact.messages)
        both = (spoken.user.text_id, spoken.assistant.text_id)
        window = Window(both[-1], session_id, both)
        assert memory.fact_log.learn(Learned(window, (note,), (fact,)))
        line = LineEvidence("Home: Lyon.", fact.messages)
        memory.rounds.save(window.session_id, "Ann.", {"user": PersonaDraft(line.line, (line,))})
        assert memory.fact_log.correct_by_hand(fact.text_id, None)
    assert api.chat([{"role": "user", "content": "Hello"}]).status_code == 200
    (sent,) = asked(server)
    assert "Home: Lyon. [I live in Lyon: not true]" in sent["messages"][0]["content"]


def test_of_a_long_history_the_last_ten_messages_are_sent_on(api: Served, server: ScriptedServer) -> None:
    for count in (49, 50, 51):
        assert api.chat(talk(count)).status_code == 200
    sizes = [sum(one["role"] != "system" for one in sent["messages"]) for sent in asked(server)]
    assert sizes == [49, 50, 10]
    assert asked(server)[-1]["messages"][1]["content"] == talk(51)[-10]["content"]


@pytest.mark.parametrize(
    ("play", "code"), [(status(500), 502), (status(401), 502), (status(429), 502), (status(400), 502)]
)
def test_a_model_that_fails_is_a_bad_gateway_and_nothing_is_stored(
    api: Served, server: ScriptedServer, play: Any, code: int
) -> None:
    server.script(play)
    answer = api.chat(talk(51))
    assert answer.status_code == code
    assert isinstance(answer.json()["detail"], str)
    assert server.base not in answer.text
    for table in ("session", "conversation", "client_round", "client_extraction"):
        assert api.rows(f"SELECT count(*) FROM {table}") == [(0,)]


def test_an_unknown_system_instruction_is_not_found_also_when_it_is_somebody_elses(api: Served) -> None:
    number = api.ask("POST", "/system-instructions", "bob", json={"text": "You are Bob's."}).json()["id"]
    hello = [{"role": "user", "content": "Hello"}]
    assert api.chat(hello, system_instruction_id=number).status_code == 404
    assert api.chat(hello, system_instruction_id=99).status_code == 404
    assert api.chat(hello, "bob", system_instruction_id=number).status_code == 200


def test_a_request_that_is_wrong_is_refused(api: Served, server: ScriptedServer) -> None:
    wrong: list[dict[str, Any]] = [
        {"messages": []},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "assistant", "content": "x"}]},
        {"messages": [{"role": "user", "content": "  "}]},
        {"messages": [{"role": "user", "content": "x"}], "temperature": False},
        {"messages": [{"role": "user", "content": "x"}], "temperature": "0.5"},
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1.5},
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 0},
        {"messages": [{"role": "user", "content": "x"}], "system_instruction_id": 2**63},
        {},
    ]
    for body in wrong:
        assert api.ask("POST", "/chat", json=body).status_code == 422, body
        assert server.chats == [], body


def test_a_request_without_a_token_or_with_another_is_refused(api: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer nobody's"}):
        assert api.client.post("/api/v1/chat", json={"messages": talk(1)}, headers=headers).status_code == 401
        assert api.client.post("/api/v1/memory/clear-old?months=3", headers=headers).status_code == 401


# -- extraction ----------------------------------------------------------------------------------------------------


def test_fifty_messages_are_cleaned_once_when_they_are_full_and_not_when_they_are_sent_again(
    api: Served, server: ScriptedServer
) -> None:
    assert api.chat(talk(49)).json()["round"] == 0
    api.settle()
    assert noted(server) == []
    for _ in range(3):
        assert api.chat(talk(51)).json()["round"] == 1
        api.settle()
    assert sum(noted(server)) == 50
    assert api.rows("SELECT conversation_round, done_at <> '' FROM client_extraction") == [(1, 1)]
    assert {row[0] for row in api.rows("SELECT conversation_round FROM conversation_memories")} == {1}
    assert api.people.registry.due_companions() == []


def test_a_client_that_jumps_to_a_hundred_and_one_messages_gets_both_rounds(
    api: Served, server: ScriptedServer
) -> None:
    assert api.chat(talk(101)).json()["round"] == 2
    api.settle()
    assert api.rows("SELECT conversation_round FROM client_extraction ORDER BY 1") == [(1,), (2,)]
    assert sum(noted(server)) == 100
    rounds = api.rows("SELECT conversation_round, count(*) FROM conversation_memories GROUP BY 1 ORDER BY 1")
    assert rounds == [(1, 25), (2, 25)]


def test_two_conversations_that_begin_alike_are_cleaned_each_for_itself(api: Served, server: ScriptedServer) -> None:
    api.chat(talk(51))
    api.chat([*talk(51)[:2], *talk(51, "dog")[2:]])
    api.settle()
    assert api.rows("SELECT count(*), sum(done_at <> '') FROM client_extraction") == [(2, 2)]
    assert [row[0] for row in api.rows("SELECT count(*) FROM conversation WHERE window_id = ''")] == [4]


def test_conversations_are_counted_each_for_itself_by_their_session(api: Served, server: ScriptedServer) -> None:
    api.chat(talk(51), session="first")
    api.chat(talk(51), session="second")
    api.settle()
    assert api.rows("SELECT client_key FROM client_extraction ORDER BY 1") == [("id:first",), ("id:second",)]
    assert sum(noted(server)) == 100


def test_what_was_due_when_the_server_died_is_cleaned_after_the_next_start(
    opens: Opens, server: ScriptedServer
) -> None:
    mind = Mind(server)
    mind.answers("notes", status(500))
    with opens() as api:
        assert api.chat(talk(51)).status_code == 200
        api.settle()
        assert api.memories() == []
        assert api.rows("SELECT done_at FROM client_extraction") == [("",)]
        assert api.people.registry.due_companions() == [("ann", None)]
    mind.answers("notes", _extraction)
    with opens() as api:
        api.settle()
        assert len(api.memories()) == 25
        assert api.people.registry.due_companions() == []


@pytest.mark.parametrize("forget", ["/memory", "/mcp"])
def test_what_is_forgotten_while_it_is_cleaned_is_given_up_at_once_and_read_no_more(
    api: Served, server: ScriptedServer, forget: str
) -> None:
    api.chat(talk(51))
    api.settle()
    assert len(api.memories()) == 25
    mind, before = Mind(server), len(noted(server))
    mind.answers("notes", hang, _extraction)
    api.chat(talk(51, about="dog"))
    _await(lambda: len(mind.asked("notes")) > before)
    if forget == "/memory":
        number = next(one["id"] for one in api.memories() if "cat number 7 " in one["summary"])
        gone = api.ask("DELETE", f"/memory/{number}", params={"purge": True}).json()["proof"]["traces"]
    else:
        found = api.rows("SELECT text_id FROM conversation WHERE text LIKE '%dog number 7 %'")
        told = api.client.app.state.service.forget(found[0][0], "ann")  # type: ignore[attr-defined]
        gone = told.proof.traces_left
    assert gone == 0
    api.settle()
    word = "cat number 7 " if forget == "/memory" else "dog number 7 "
    assert not any(word in one["summary"] for one in api.memories())
    assert len(api.memories()) == 49
    assert len(mind.asked("notes")) > before + 1
    assert not any(word in str(one) for one in mind.asked("notes")[before + 1 :])


def _extraction(exchange: Exchange) -> None:
    say(friend(exchange.json))(exchange)


SERVER = """
import logging, sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
import uvicorn
import config
from interfaces.http.app import make_app
from llm import Llm
from people import People, Registry

log = logging.Logger("quiet", logging.CRITICAL)
settings = config.load_settings(Path(sys.argv[1]), {"EMBEDDING_MODEL": "built-in", "OPENAI_API_BASE": sys.argv[2],
    "OPENAI_API_KEY": "sk-test", "CHAT_MODEL": "test-model", "OPEN_MEMORIES": "9"})
clock, ids = lambda: datetime.now(UTC), count(int(sys.argv[3]))
llm = Llm(settings, log, clock=clock)
registry = Registry(settings.data_dir / "registry.db", clock)
people = People(llm, registry, new_id=lambda: f"{next(ids):012d}")
server = uvicorn.Server(uvicorn.Config(make_app(people, "0"), port=0, log_level="critical"))
server._log_started_message = lambda listeners: print(listeners[0].getsockname()[1], flush=True)
server.run()
"""


@contextmanager
def killed_in_the_end(folder: Path, server: ScriptedServer, first_id: int) -> Iterator[str]:
    """A server in a process of its own, killed without a warning. Its address."""
    command = [sys.executable, "-c", SERVER, str(folder), server.base, str(first_id)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/api/v1"
        finally:
            process.kill()


@pytest.mark.torture
def test_what_was_answered_before_a_kill_is_stored_and_cleaned_after_it_once(
    tmp_path: Path, server: ScriptedServer
) -> None:
    mind = Mind(server)
    mind.answers("notes", hang)
    with killed_in_the_end(tmp_path, server, 1) as address:
        answer = httpx2.post(f"{address}/chat", json={"messages": talk(51)}, timeout=60)
        assert answer.json()["round"] == 1
        _await(lambda: mind.asked("notes"))
    mind.answers("notes", _extraction)
    with killed_in_the_end(tmp_path, server, 100_000) as address:
        _await(lambda: len(httpx2.get(f"{address}/memory/list", timeout=60).json()) == 25)
        again = httpx2.post(f"{address}/chat", json={"messages": talk(51)}, timeout=60)
        assert again.status_code == 200
        assert len(httpx2.get(f"{address}/memory/list", timeout=60).json()) == 25
    with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as connection:
        assert connection.execute("SELECT count(*) FROM conversation").fetchone() == (52,)
        assert connection.execute("SELECT count(*) FROM session").fetchone() == (1,)


def _await(happened: Callable[[], object]) -> None:
    """Wait until it has happened, a minute at the most."""
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


# -- recall --------------------------------------------------------------------------------------------------------


def test_the_five_memories_that_matter_most_stand_behind_the_last_words_and_not_in_the_instruction(
    api: Served, server: ScriptedServer
) -> None:
    number = api.ask("POST", "/system-instructions", json={"text": "You are brief."}).json()["id"]
    api.chat(talk(51), system_instruction_id=number)
    api.settle()
    question = [{"role": "user", "content": "What does cat number 7 wear?"}]
    assert api.chat(question, system_instruction_id=number, session="later").json()["memories_used"] == 5
    sent = asked(server)[-1]["messages"]
    assert sent[0] == {"role": "system", "content": "You are brief."}
    assert [one["role"] for one in sent] == ["system", "user"]
    assert sent[1]["content"].startswith("What does cat number 7 wear?\n\n")
    memories = [json.loads(line) for line in sent[1]["content"].splitlines() if line.startswith("{")]
    assert len(memories) == 5
    assert any("number 7" in one["memory"] for one in memories)
    assert all(one["importance"] == 5 and one["key_points"] for one in memories)


def test_memories_of_one_instruction_are_recalled_with_no_other_and_with_nobody_else(
    api: Served, server: ScriptedServer
) -> None:
    api.chat(talk(51))
    api.settle()
    number = api.ask("POST", "/system-instructions", json={"text": "You are brief."}).json()["id"]
    question = [{"role": "user", "content": "What does cat number 7 wear?"}]
    assert api.chat(question, system_instruction_id=number).json()["memories_used"] == 0
    assert api.chat(question, "bob").json()["memories_used"] == 0
    assert api.memories("bob") == []
    answered = [sent["messages"] for sent in asked(server) if sent["messages"][-1]["content"].endswith("7 wear?")]
    assert len(answered) == 2
    assert "collar" not in json.dumps(answered)
    assert api.chat(question).json()["memories_used"] == 5


def test_without_vectors_memories_are_recalled_by_their_words(api: Served, server: ScriptedServer) -> None:
    api.chat(talk(51))
    api.settle()
    path = folder_of(api.people.settings.data_dir, "ann") / "memory.db"
    for text, used in (("A collar for my 7th?", 5), ("Zebras", 0)):
        with closing(sqlite3.connect(path)) as connection, connection:
            assert connection.execute("DELETE FROM note_vector").rowcount == 25
        answer = api.chat([{"role": "user", "content": text}], session=text)
        assert answer.json()["memories_used"] == used
        api.settle()


# -- memories ------------------------------------------------------------------------------------------------------


@pytest.fixture
def remembered(api: Served) -> Served:
    api.chat(talk(51))
    api.settle()
    return api


def test_memories_are_listed_as_their_clients_read_them(remembered: Served, clock: SetClock) -> None:
    listed = remembered.memories()
    assert len(listed) == 25
    assert list(listed[0]) == [
        "id", "summary", "key_points", "memory_type", "importance_score", "created_at",
    ]  # fmt: skip
    assert isinstance(json.loads(listed[0]["key_points"]), list)
    assert 1 <= listed[0]["importance_score"] <= 10
    assert listed[0]["memory_type"] in ("active", "passive")
    assert datetime.fromisoformat(listed[0]["created_at"]).tzinfo is None
    assert len(listed[0]["created_at"]) == 19
    assert remembered.memories(limit=2, offset=1) == listed[1:3]
    assert remembered.memories(system_instruction_id=7) == []


def test_the_table_has_the_columns_and_the_indexes_that_its_readers_know(remembered: Served) -> None:
    columns = [row[1] for row in remembered.rows("PRAGMA table_info(conversation_memories)")]
    assert columns == [
        "id", "user_id", "system_instruction_id", "conversation_round", "original_content", "summary",
        "key_points", "importance_score",
        "memory_type", "should_remember", "embedding", "created_at", "updated_at", "is_deleted", "deleted_at",
    ]  # fmt: skip
    named = {row[0] for row in remembered.rows("SELECT name FROM sqlite_master WHERE name GLOB 'ix_user_*'")}
    assert named == {"ix_user_system_created", "ix_user_system_deleted"}
    owners = remembered.rows("SELECT DISTINCT user_id, system_instruction_id FROM conversation_memories")
    assert owners == [("ann", None)]


def test_readers_of_the_table_find_what_was_said_and_the_vector_as_json(remembered: Served) -> None:
    rows = remembered.rows("SELECT summary, original_content, embedding, should_remember FROM conversation_memories")
    assert rows
    for _, said, embedding, should in rows:
        assert said.startswith("User: ")
        assert should == 1
        assert len(json.loads(embedding)) > 1


def test_a_memory_that_is_deleted_is_listed_and_recalled_no_more(remembered: Served, server: ScriptedServer) -> None:
    gone = next(one for one in remembered.memories() if "number 7 " in one["summary"])
    answer = remembered.ask("DELETE", f"/memory/{gone['id']}")
    assert (answer.status_code, answer.json()) == (200, {"message": "记忆已删除", "id": gone["id"]})
    assert gone["id"] not in [one["id"] for one in remembered.memories()]
    remembered.chat([{"role": "user", "content": "What does cat number 7 wear?"}], session="later")
    assert "cat number 7 has" not in json.dumps(asked(server)[-1])
    assert remembered.ask("DELETE", f"/memory/{gone['id']}").status_code == 404
    shown = remembered.rows("SELECT is_deleted, deleted_at IS NOT NULL, updated_at = deleted_at FROM"
                            " conversation_memories WHERE is_deleted")  # fmt: skip
    assert shown == [(1, 1, 1)]
    with remembered.people.companion("ann") as companion:
        assert not any("number 7 " in fact.restatement for fact in companion.memory.facts.all(current=True))


def test_somebody_elses_memory_cannot_be_deleted_and_is_not_found(remembered: Served) -> None:
    number = remembered.memories()[0]["id"]
    remembered.chat([{"role": "user", "content": "Hello"}], "bob")
    for path in (f"/memory/{number}", f"/memory/{number}?purge=true"):
        assert remembered.ask("DELETE", path, "bob").status_code == 404
    assert len(remembered.memories()) == 25


def test_a_memory_that_is_purged_is_in_no_file(remembered: Served) -> None:
    gone = next(one for one in remembered.memories() if "number 7 " in one["summary"])
    answer = remembered.ask("DELETE", f"/memory/{gone['id']}?purge=true")
    assert answer.status_code == 200
    assert answer.json()["proof"]["traces"] == 0
    assert answer.json()["proof"]["searched"] > 0
    folder = folder_of(remembered.people.settings.data_dir, "ann")
    held = [path for path in folder.rglob("*") if path.is_file() and b"number 7 has" in path.read_bytes()]
    assert held == []
    remembered.chat(talk(53))
    assert remembered.rows("SELECT count(*) FROM conversation WHERE text LIKE '%number 7 %'") == [(0,)]


def test_old_memories_are_cleared_by_months_and_by_themselves_after_three(remembered: Served, clock: SetClock) -> None:
    assert remembered.ask("POST", "/memory/clear-old").json() == {"message": "已清理 0 条旧记忆", "count": 0}
    clock.pass_by(days=62)
    for months, count in ((3, 0), (2, 25), (2, 0)):
        answer = remembered.ask("POST", f"/memory/clear-old?months={months}")
        assert answer.json() == {"message": f"已清理 {count} 条旧记忆", "count": count}
    assert remembered.memories() == []


def test_a_reply_lets_memories_of_three_months_ago_go_behind_it(remembered: Served, clock: SetClock) -> None:
    clock.pass_by(days=100)
    remembered.chat([{"role": "user", "content": "It has been a while."}], session="later")
    remembered.settle()
    # The session that fell silent was saved behind the same reply, and its last round became a memory of today.
    assert ["number 25 has" in one["summary"] for one in remembered.memories()] == [True]
    with remembered.people.companion("ann") as companion:
        assert companion.memory.facts.all(current=True)


def test_bounds_are_kept(api: Served) -> None:
    for method, path, code in (
        ("DELETE", "/memory/list", 405),
        ("DELETE", "/memory/0", 404),
        ("DELETE", f"/memory/{2**63 - 1}", 404),
        ("DELETE", f"/memory/{2**63}", 422),
        ("POST", "/memory/clear-old?months=0", 422),
        ("POST", "/memory/clear-old?months=1201", 422),
        ("POST", "/memory/clear-old?months=1200", 200),
        ("GET", "/memory/list?limit=0", 422),
    ):
        answer = api.ask(method, path)
        assert answer.status_code == code, (method, path)
        assert code != 405 or answer.headers["allow"] == "GET", (method, path)


def test_memories_of_all_instructions_have_numbers_of_their_own(api: Served) -> None:
    number = api.ask("POST", "/system-instructions", json={"text": "You are brief."}).json()["id"]
    api.chat(talk(51))
    api.chat(talk(51, "dog"), system_instruction_id=number)
    api.settle()
    listed = api.memories()
    assert len({one["id"] for one in listed}) == 50
    dogs = api.memories(system_instruction_id=number)
    assert len(dogs) == 25
    assert all("dog" in one["summary"] for one in dogs)
    assert api.ask("DELETE", f"/memory/{dogs[0]['id']}").status_code == 200
    assert len(api.memories(system_instruction_id=number)) == 24
    assert len(api.memories()) == 49


# -- system instructions -------------------------------------------------------------------------------------------


def test_system_instructions_are_made_listed_and_changed_by_their_person_alone(api: Served) -> None:
    made = api.ask("POST", "/system-instructions", json={"title": "Poet", "text": "You are a poet."})
    assert made.status_code == 201
    number = made.json()["id"]
    own, other = api.ask("GET", "/system-instructions").json()
    assert (own["id"], other) == (1, made.json())
    assert api.ask("GET", f"/system-instructions/{number}").json() == made.json()
    changed = api.ask("PATCH", f"/system-instructions/{number}", json={"text": "You are a chemist."}).json()
    assert (changed["title"], changed["text"]) == ("Poet", "You are a chemist.")
    put = api.ask("PUT", f"/system-instructions/{number}", json={"title": "Chemist", "text": "Be exact."}).json()
    assert (put["title"], put["text"]) == ("Chemist", "Be exact.")
    assert [one["id"] for one in api.ask("GET", "/system-instructions", "bob").json()] == [1]
    for method, body in (("GET", None), ("PUT", {"text": "Mine now."}), ("PATCH", {"text": "Mine now."})):
        assert api.ask(method, f"/system-instructions/{number}", "bob", json=body).status_code == 404
    assert api.ask("POST", "/system-instructions", json={"text": " \n"}).status_code == 422


def test_the_published_body_is_answered_on_a_fresh_server(api: Served) -> None:
    page = (ROOT / "docs" / "chat_api.md").read_text(encoding="utf-8")
    command = shlex.split(page.split("```")[1].replace("\\\n", ""))
    assert command[:3] == ["curl", "-s", "http://127.0.0.1:8123/api/v1/chat"]
    body = json.loads(command[command.index("-d") + 1])
    answered = api.ask("POST", "/chat", json=body)
    assert answered.status_code == 200
    assert answered.json()["message"]
    assert api.ask("GET", "/system-instructions/1").json()["id"] == 1
    assert api.ask("PUT", "/system-instructions/1", json={"text": "Mine."}).status_code == 409
    assert api.rows("SELECT count(*) FROM conversation") == [(2,)]


def test_an_unknown_instruction_is_answered_with_how_to_make_one(api: Served) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}], "system_instruction_id": 7}
    refused = api.ask("POST", "/chat", json=body)
    assert refused.status_code == 404
    assert "POST /api/v1/system-instructions" in refused.json()["detail"]


def test_a_changed_instruction_counts_from_the_next_message_on(api: Served, server: ScriptedServer) -> None:
    number = api.ask("POST", "/system-instructions", json={"text": "You are a poet."}).json()["id"]
    api.chat(talk(1), system_instruction_id=number)
    api.ask("PATCH", f"/system-instructions/{number}", json={"text": "You are a chemist."})
    api.chat(talk(3), system_instruction_id=number)
    assert [sent["messages"][0]["content"] for sent in asked(server)] == ["You are a poet.", "You are a chemist."]
    assert api.rows("SELECT count(DISTINCT session_id), count(*) FROM conversation", instruction=number) == [(1, 4)]


def test_what_a_person_asks_to_have_forgotten_is_in_no_later_prompt_and_becomes_no_memory(
    api: Served, server: ScriptedServer
) -> None:
    said = [*talk(48), {"role": "user", "content": "I owe Bob nine hundred euros."}]
    said += [{"role": "assistant", "content": "Nine hundred."}, {"role": "user", "content": "Please forget that."}]
    for messages in (said[:49], said, [*said, {"role": "assistant", "content": "Yes."}, *talk(1, "dog")]):
        api.chat(messages)
    api.settle()
    assert "nine hundred" not in json.dumps(asked(server)[-1]["messages"]).casefold()
    assert not any("Bob" in one["summary"] for one in api.memories())


def test_two_requests_at_once_are_both_answered_and_stored_in_one_session_each(
    api: Served, server: ScriptedServer
) -> None:
    def talk_to(name: str) -> None:
        for count in (1, 3, 5):
            assert api.chat(talk(count, name), session=name).status_code == 200

    threads = [threading.Thread(target=talk_to, args=(name,)) for name in ("cat", "dog", "bird")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    stored = api.rows("SELECT s.client_key, count(*) FROM conversation JOIN session s USING (session_id) GROUP BY 1")
    assert stored == [("id:bird", 6), ("id:cat", 6), ("id:dog", 6)]
