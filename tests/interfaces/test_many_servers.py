"""Two servers, each a process of its own, on one database: what one counts, does or erases holds for the other."""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from fastapi import FastAPI

from domain.errors import StorageError
from interfaces.http.app import make_app
from interfaces.service.service_sessions import ServiceSessions, SessionWatch
from jobs.maintenance import Maintenance
from people import Companion, People, Registry, registry_in
from tests.interfaces.http import running as in_here
from tests.interfaces.http.running import running
from tests.storage.postgres.server import own_database
from tests.support.house import Mind, talks
from tests.support.program import connected
from tests.support.served import Server, program, until
from tests.support.server import Exchange, ScriptedServer, answer, delta, say, whole

CHAT = "/v1/chat/completions"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return own_database(tmp_path)


@pytest.fixture
def registry(tmp_path: Path, url: str) -> Iterator[Registry]:
    with closing(Registry(registry_in(tmp_path), lambda: datetime.now(UTC), url)) as registry:
        yield registry


@contextmanager
def servers(folder: Path, url: str, base: str, count: int = 2, **settings: str) -> Iterator[list[Server]]:
    """So many processes that serve from one database."""
    given = connected(base, EMBEDDING_MODEL="built-in", DATABASE_URL=url, **settings)
    with ExitStack() as running:
        for number in range(count):
            (folder / str(number)).mkdir()
        yield [running.enter_context(program(folder / str(number), **given)) for number in range(count)]


def administrator(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url.replace("app:secret", "postgres"), autocommit=True)


def said(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_two_servers_together_let_in_exactly_as_many_requests_as_one_may(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    token, other = registry.add_token("phone", "ann"), registry.add_token("watch", "ann")
    with servers(tmp_path, url, server.base, REQUESTS_PER_MINUTE="7") as both, ThreadPoolExecutor(8) as at_once:
        asked = at_once.map(lambda number: both[number % 2].ask("GET", "/nothing", token=token), range(30))
        answers = list(asked)
        assert Counter(one.status for one in answers) == {404: 7, 429: 23}
        assert all(1 <= int(one.headers["retry-after"]) <= 60 for one in answers if one.status == 429)
        assert both[1].ask("GET", "/nothing", token=other).status == 404
        with administrator(url) as connection:  # as if the first of them had come a minute ago
            connection.execute("UPDATE registry.arrival SET at = at - interval '1 minute' WHERE place IN (0, 1)")
        statuses = [both[number % 2].ask("GET", "/nothing", token=token).status for number in range(4)]
        assert statuses == [404, 404, 429, 429]


def test_what_is_under_way_on_one_server_counts_on_the_other_until_that_one_dies(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    go_on, came = threading.Event(), threading.Semaphore(0)

    def reply(request: Any) -> str:
        came.release()
        assert go_on.wait(100)
        return "Yes."

    server.answer = reply
    token = registry.add_token("phone", "ann")
    with servers(tmp_path, url, server.base, REQUESTS_AT_ONCE="2") as (first, second), ThreadPoolExecutor(2) as at_once:
        waiting = [at_once.submit(one.ask, "POST", CHAT, said("Hello."), token=token) for one in (first, second)]
        for _ in waiting:
            assert came.acquire(timeout=100)
        assert [one.ask("GET", "/page/sessions", token=token).status for one in (first, second)] == [429, 429]
        assert first.process
        first.process.kill()
        assert first.process.wait(60)
        with pytest.raises(OSError):
            waiting[0].result()
        assert second.ask("GET", "/page/sessions", token=token).status == 429
        with administrator(url) as connection:  # half a minute later
            connection.execute(
                "UPDATE registry.program SET until = now() WHERE name IN"
                " (SELECT name FROM registry.program ORDER BY until LIMIT 1)"
            )
        assert second.ask("GET", "/page/sessions", token=token).status == 200
        go_on.set()
        assert waiting[1].result().status == 200
        until(lambda: not registry.server or not registry.server.ask("SELECT 1 FROM registry.under_way"))


def test_the_tokens_of_a_day_are_those_of_both_servers(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    used: dict[str, Any] = {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750}
    server.scripted = talks
    server.script(*[answer(whole("Nice cat.") | {"usage": used})] * 2)
    token, other = registry.add_token("phone", "ann"), registry.add_token("watch", "ann")
    with servers(tmp_path, url, server.base, TOKENS_PER_DAY="1500") as (first, second):
        answers = [one.ask("POST", CHAT, said("My cat is Douban."), token=token).status for one in (first, second)]
        assert answers == [200, 200]
        refused = [one.ask("POST", CHAT, said("And she is grey."), token=token).status for one in (first, second)]
        assert refused == [429, 429]
        assert second.ask("POST", CHAT, said("And she is grey."), token=other).status == 200
    registry.remove_person("ann")
    with administrator(url) as connection:
        assert connection.execute("SELECT caller FROM registry.usage").fetchall() == []


# -- erasures, and what waits for tools


WAYS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "the page": lambda text: ("/page/chat", {"text": text}),
    "the chat API": lambda text: ("/api/v1/chat", said(text)),
    "OpenAI's": lambda text: (CHAT, said(text)),
    "OpenAI's, streamed": lambda text: (CHAT, {**said(text), "stream": True}),
    "a response": lambda text: ("/v1/responses", {"model": "m", "input": text}),
}


def erase(server: Server, token: str, words: str) -> None:
    """Erase what holds these words, as a person does on the page."""
    wish = {"what": "words", "named": words}
    mark = server.ask("POST", "/page/forget/scope", wish, token=token).json["mark"]
    assert server.ask("POST", "/page/forget", {**wish, "mark": mark}, token=token).status == 200


def prompts(server: ScriptedServer, text: str) -> list[str]:
    """The prompts that end with this text."""
    ending = [one["messages"] for one in server.chats if one["messages"][-1]["content"].endswith(text)]
    return [json.dumps(messages) for messages in ending]


def test_what_is_erased_on_one_server_is_in_no_later_prompt_of_the_other(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    server.answer = lambda request: "I see."
    token = registry.add_token("phone", "ann")
    with servers(tmp_path, url, server.base) as (first, second):
        for one in (first, second):  # both have read the whole memory
            assert one.ask("POST", "/page/chat", {"text": "My cat is called Douban."}, token=token).status == 200
            assert one.ask("POST", "/page/chat", {"text": "What is my cat called?"}, token=token).status == 200
        assert all("Douban" in one for one in prompts(server, "What is my cat called?"))
        erase(first, token, "Douban")
        for way in WAYS.values():
            question = f"What is my cat called, {len(server.chats)}?"
            path, body = way(question)
            assert second.ask("POST", path, body, token=token).status == 200
            assert ["Douban" in one for one in prompts(server, question)] == [False]


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_that_has_not_begun_when_something_is_erased_elsewhere_is_asked_for_again_without_it(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer, way: str
) -> None:
    go_on, came = threading.Event(), threading.Event()

    def reply(request: Any) -> str:
        if not request["messages"][-1]["content"].endswith("What is my cat called?"):
            return "I see."
        if not came.is_set():
            came.set()
            assert go_on.wait(100)
            return "She is called Douban."
        return "I do not know."

    server.answer = reply
    token = registry.add_token("phone", "ann")
    with servers(tmp_path, url, server.base) as (first, second), ThreadPoolExecutor(1) as beside:
        assert first.ask("POST", "/page/chat", {"text": "My cat is called Douban."}, token=token).status == 200
        path, body = WAYS[way]("What is my cat called?")
        waiting = beside.submit(second.ask, "POST", path, body, token=token)
        assert came.wait(100)
        erase(first, token, "Douban")
        go_on.set()
        answered = waiting.result()
        assert answered.status == 200
        recalled = way != "the chat API"  # which finds what is extracted from the client's history alone
        assert ["Douban" in one for one in prompts(server, "What is my cat called?")] == [recalled, False]
        if way != "the page":  # there the first words may have been shown by then, and are said to be void
            assert b"Douban" not in answered.body
        assert b"error" not in answered.body.replace(b'"error": null', b"").replace(b'"error":null', b"")
        with administrator(url) as connection:
            spoken = connection.execute("SELECT text FROM conversation WHERE role = 'assistant'").fetchall()
        assert sorted(text for (text,) in spoken) == ["Assistant: I do not know.", "Assistant: I see."]


def test_a_stream_that_has_begun_when_something_is_erased_elsewhere_ends_with_an_error_and_stores_nothing(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    go_on, came = threading.Event(), threading.Event()

    def slowly(exchange: Exchange) -> None:
        exchange.begin()
        exchange.event(delta(content="She is "))
        came.set()
        assert go_on.wait(100)
        exchange.event(delta(content="called Douban."))
        exchange.event(delta("stop"))
        exchange.end()

    token = registry.add_token("phone", "ann")
    server.scripted = talks
    server.script("I see.", slowly)
    with servers(tmp_path, url, server.base) as (first, second):
        assert first.ask("POST", "/page/chat", {"text": "My cat is called Douban."}, token=token).status == 200
        with closing(http.client.HTTPConnection("127.0.0.1", second.port, timeout=100)) as line:
            body = json.dumps({**said("What is my cat called?"), "stream": True})
            heads = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            line.request("POST", CHAT, body, heads)
            answered = line.getresponse()
            assert b"She is" in answered.readline()
            assert came.wait(100)
            erase(first, token, "Douban")
            go_on.set()
            rest = answered.read()
        assert (b'"error"' in rest, b"[DONE]" in rest) == (True, False)
        with administrator(url) as connection:
            assert connection.execute("SELECT 1 FROM conversation WHERE text LIKE '%%She is%%'").fetchall() == []


@pytest.mark.parametrize(
    "words", ["What is my cat called?", "### Task:\nGenerate a title summarizing the chat history."]
)
def test_a_turn_that_called_tools_on_one_server_goes_on_on_the_other_but_not_with_what_was_erased(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer, words: str
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    called = answer(whole(None, "tool_calls", tool_calls=[call]))
    token = registry.add_token("phone", "ann")
    asked = {"model": "m", "input": words, "tools": [{"type": "function", "name": "look"}]}
    results = [{"type": "function_call_output", "call_id": "1", "output": "12"}]
    with servers(tmp_path, url, server.base) as (first, second):
        server.scripted = talks
        server.script("I see.", called, called, "Twelve.", "Twelve.")
        assert first.ask("POST", "/page/chat", {"text": "My cat is called Douban."}, token=token).status == 200
        begun = [first.ask("POST", "/v1/responses", asked, token=token).json["id"] for _ in range(2)]
        for number, response in enumerate(begun):
            more = {**asked, "input": results, "previous_response_id": response}
            answered = second.ask("POST", "/v1/responses", more, token=token)
            assert (answered.status, b"Twelve." in answered.body) == ((200, True) if number == 0 else (400, False))
            if number == 0:
                assert server.chats[-1]["messages"][:-2] == server.chats[-2]["messages"]  # the same bytes
                erase(first, token, "Douban")
        with administrator(url) as connection:
            assert connection.execute("SELECT 1 FROM step").fetchall() == []


def test_a_person_who_was_erased_on_one_server_may_begin_anew_on_the_other(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    server.answer = lambda request: "I see."
    token = registry.add_token("desk", "*")
    with servers(tmp_path, url, server.base) as (first, second):
        for one in (first, second):
            answered = one.ask("POST", CHAT, said("My cat is Douban."), token=token, X_User_Id="bob")
            assert answered.status == 200
        assert first.ask("DELETE", "/admin/people/bob", token=token).status == 200
        again = said("What is my cat called?")
        statuses = [
            one.ask("POST", CHAT, again, token=token, X_User_Id="bob").status for one in (second, second, first)
        ]
        assert statuses == [503, 200, 200]  # at first it finds that what it has open is gone
        assert ["Douban" in one for one in prompts(server, "What is my cat called?")] == [False] * 3


# -- work that happens later


def test_what_a_killed_server_was_to_do_another_one_does_and_opens_no_one_else(
    tmp_path: Path, url: str, registry: Registry, server: ScriptedServer
) -> None:
    notes, dead = threading.Semaphore(0), threading.Event()

    def reply(exchange: Exchange) -> None:
        is_task = "Task:" in exchange.json["messages"][0]["content"]
        if is_task and not dead.is_set():
            notes.release()
            exchange.pause(100)
        elif is_task:
            say('{"notes": []}')(exchange)
        else:
            say("I see.")(exchange)

    server.script(*[reply] * 50)
    tokens = {name: registry.add_token(name, name) for name in ("ann", "bob", "cat")}
    history = [{"role": role, "content": f"{role} {at}"} for at in range(26) for role in ("user", "assistant")][:51]
    with servers(tmp_path, url, server.base) as (first, _):
        for name in ("bob", "cat"):
            assert first.ask("POST", "/api/v1/chat", said("Hello."), token=tokens[name]).status == 200
        assert first.ask("POST", "/api/v1/chat", {"messages": history}, token=tokens["ann"]).status == 200
        assert notes.acquire(timeout=100)
        assert first.process
        first.process.kill()
        first.process.wait(60)
        dead.set()
        with administrator(url) as connection:
            find = "SELECT count(*) FILTER (WHERE done_at <> ''), count(*) FROM client_extraction"
            assert connection.execute(find).fetchall() == [(0, 1)]
            own = "(SELECT program FROM job WHERE kind = 'client_history')"
            connection.execute(f"UPDATE registry.program SET until = now() WHERE name = {own}")  # half a minute later
            until(lambda: connection.execute(find).fetchall() == [(1, 1)])
            opened = connection.execute("SELECT name FROM registry.due WHERE program IS NOT NULL").fetchall()
        assert opened == [('["ann", null]',)]


def test_what_comes_due_with_time_after_its_server_has_closed_is_done_by_another(
    tmp_path: Path, url: str, mind: Mind, server: ScriptedServer
) -> None:
    now = [datetime(2026, 3, 1, 9, tzinfo=UTC)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with running(tmp_path / "b", server, clock=lambda: now[0], DATABASE_URL=url) as second:
        with running(tmp_path / "a", server, clock=lambda: now[0], DATABASE_URL=url) as first:
            token, other = first.people.registry.add_token("ann", "ann"), first.people.registry.add_token("bob", "bob")
            for path, body, secret in (
                ("/page/chat", {"text": "My sister lives in Lyon."}, token),
                ("/process", {"input": "My sister lives in Lyon.", "user_id": "bob"}, other),
            ):
                heads = {"Authorization": f"Bearer {secret}"}
                answered = httpx2.post(f"{first.base}{path}", json=body, headers=heads, timeout=60)
                assert answered.status_code == 200, answered.text
        assert mind.asked("notes") == []
        assert [*second.people.open_now()] == []
        now[0] += timedelta(days=2)
        until(lambda: len(mind.asked("notes")) == 2)
        assert second.people.registry.server
        find = "SELECT name FROM registry.due WHERE program = $1 ORDER BY name"
        held = second.people.registry.server.ask(find, second.people.registry.server.programs.name)
        assert [tuple(row) for row in held] == [('["ann", null]',), ('["bob", null]',)]


def test_what_is_due_when_a_server_starts_waits_until_it_serves_and_has_its_sessions_ended(
    tmp_path: Path, url: str, mind: Mind, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [datetime(2026, 3, 1, 9, tzinfo=UTC)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with running(tmp_path / "a", server, clock=lambda: now[0], DATABASE_URL=url) as first:
        secret = first.people.registry.add_token("bob", "bob")
        body = {"input": "My sister lives in Lyon.", "user_id": "bob"}
        heads = {"Authorization": f"Bearer {secret}"}
        assert httpx2.post(f"{first.base}/process", json=body, headers=heads, timeout=60).status_code == 200
    now[0] += timedelta(days=2)
    looked, checked = threading.Event(), list[tuple[str, bool]]()
    take_due, check = Registry.take_due, SessionWatch.check

    def take(registry: Registry, most: int) -> list[tuple[str, int | None]]:
        taken = take_due(registry, most)
        looked.set()
        return taken

    def note(watch: SessionWatch, companion: Companion, sessions: ServiceSessions) -> bool:
        checked.append((companion.person, ended := check(watch, companion, sessions)))
        return ended

    def make_late(people: People, version: str) -> FastAPI:
        assert not looked.wait(1)  # loading the models takes longer
        return make_app(people, version)

    monkeypatch.setattr(Registry, "take_due", take)
    monkeypatch.setattr(SessionWatch, "check", note)
    monkeypatch.setattr(SessionWatch, "sweep", lambda watch, sessions_of: 0)
    monkeypatch.setattr(in_here, "make_app", make_late)
    with running(tmp_path / "b", server, clock=lambda: now[0], DATABASE_URL=url):
        until(lambda: checked)
        assert checked == [("bob", True)]
        until(lambda: len(mind.asked("notes")) == 1)


def test_a_memory_is_closed_and_free_though_it_cannot_be_found_when_it_is_due(
    tmp_path: Path, url: str, mind: Mind, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(maintenance: Maintenance) -> None:
        raise ValueError("no moment")

    monkeypatch.setattr(Maintenance, "next_look", fail)
    with running(tmp_path, server, DATABASE_URL=url) as first, first.people.companion("ann") as companion:
        memory = companion.memory
    with pytest.raises(StorageError, match="closed"):
        memory.sessions.counts()
    with administrator(url) as connection:
        found = connection.execute("SELECT program, look > 0 FROM registry.due").fetchall()
    assert found == [(None, True)]
