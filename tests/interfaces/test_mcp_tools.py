"""The tools, in memory and over HTTP, with the official client in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INVALID_PARAMS
from pydantic import BaseModel

from domain import errors
from interfaces.mcp_server import make_server
from interfaces.messages import Words
from interfaces.operations import Memories
from people import EVERYBODY
from tests.conftest import Count, SetClock
from tests.interfaces.http.running import Running, running
from tests.interfaces.service.known import LYON
from tests.interfaces.service.opened import OpenedService, opened_service
from tests.support.house import Mind
from tests.support.server import ScriptedServer

FIVE = ["process_memory", "end_session", "get_session_status", "debug_process_memory", "get_user_graph"]
FULL = [*FIVE, "recall", "search", "remember", "forget", "erased", "open_matters", "diary", "profile"]
ERAS = ["legacy", "2026-07-28"]
Talk = Callable[[Client], Coroutine[Any, Any, Any]]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running_model:
        yield running_model


@pytest.fixture
def opened(tmp_path: Path, server: ScriptedServer, clock: SetClock, new_id: Count) -> Iterator[OpenedService]:
    mind = Mind(server)
    mind.answers("notes", LYON)
    with opened_service(tmp_path, server, clock, new_id) as ready:
        yield ready


def within(memory: Memories, talk: Talk, *, mode: str = "auto", full: bool = True) -> Any:
    """Talk to a server over these memories that is in this process."""
    quiet = logging.Logger("quiet", logging.CRITICAL)
    made = make_server(memory, Words("en"), quiet, version="9", full=full, person_of=lambda ctx, named: named or "me")

    async def whole() -> Any:
        async with Client(made, mode=mode) as client:
            return await talk(client)

    return asyncio.run(whole())


def text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


def untimed(body: str) -> Any:
    """A body without how long it took and whether the index was open by then, in the order in which it came."""
    found = json.loads(body)
    found.get("metadata", {}).pop("retrieval_time_ms", None)
    for key in ("sql_ms", "vector_ms", "degraded"):
        found.get("debug", {}).pop(key, None)
    return json.dumps(found)


@pytest.mark.parametrize("mode", ERAS)
def test_the_five_answer_with_the_bodies_of_the_service_byte_for_byte(opened: OpenedService, mode: str) -> None:
    service = opened.service
    service.process("My sister Ann lives in Lyon.", "me")
    opened.consolidate()

    async def talk(client: Client) -> list[Any]:
        asked = {"input": "Where does Ann live?", "user_id": "me"}
        return [
            await client.call_tool("debug_process_memory", asked),
            await client.call_tool("get_user_graph", {"user_id": "me"}),
            await client.call_tool("end_session", {"user_id": "me"}),
            await client.call_tool("get_session_status", {"user_id": "me"}),
            await client.call_tool("process_memory", asked),
        ]

    debug, graph, ended, status, answered = within(Memories(service), talk, mode=mode)
    assert untimed(text(debug)) == untimed(service.debug("Where does Ann live?", "me").model_dump_json())
    assert text(graph) == service.graph("me").model_dump_json()
    assert '"Lyon"' in text(graph)
    assert text(ended) == service.end_session("nobody").model_dump_json()
    assert text(status) == service.session_status("nobody").model_dump_json()
    assert list(json.loads(text(answered))) == ["status", "resolved_query", "memories", "relations", "metadata"]
    assert json.loads(text(answered))["relations"][0]["target"] == "Lyon"
    assert opened.said()[-1] == ("user", "User: Where does Ann live?")
    assert service.session_status("me").session_info is not None
    for result in (debug, graph, ended, status, answered):
        assert result.structured_content == json.loads(text(result))


def test_five_tools_are_offered_and_eight_more_where_all_are_wanted(opened: OpenedService) -> None:
    async def offered(client: Client) -> Any:
        return list((await client.list_tools()).tools)

    memory = Memories(opened.service)
    five, full = within(memory, offered, full=False), within(memory, offered)
    assert [one.name for one in five] == FIVE
    assert [one.name for one in full] == FULL
    hints = {one.name: one.annotations for one in full}
    assert all(one.open_world_hint is False for one in hints.values())
    assert [name for name in FULL if hints[name].destructive_hint] == ["forget"]
    looking = [
        "get_session_status",
        "debug_process_memory",
        "get_user_graph",
        "recall",
        "search",
        "erased",
        "diary",
        "profile",
    ]
    assert [name for name in FULL if hints[name].read_only_hint] == looking
    assert all(list(one.input_schema["properties"])[-1] or one.output_schema for one in full)
    assert sorted(full[0].input_schema["properties"]) == ["input", "user_id"]
    assert full[0].input_schema["required"] == ["input"]
    assert all(one.output_schema["properties"]["status"] for one in full)


def test_a_memory_is_found_by_its_id_and_forgotten_with_proof(opened: OpenedService) -> None:
    async def talk(client: Client) -> Any:
        kept = await client.call_tool("remember", {"text": "My locker code is 4711."})
        found = await client.call_tool("recall", {"query": "locker code"})
        number = json.loads(text(kept))["id"]
        gone = await client.call_tool("forget", {"memory_id": number})
        again = await client.call_tool("recall", {"query": "locker code"})
        twice = await client.call_tool("forget", {"memory_id": number})
        return number, found, gone, again, twice

    number, found, gone, again, twice = within(Memories(opened.service), talk)
    assert number in [one["id"] for one in json.loads(text(found))["memories"]]
    assert json.loads(text(gone))["proof"]["traces_left"] == 0
    assert json.loads(text(again))["memories"] == []
    assert twice.is_error
    assert number in text(twice)
    assert "nothing was erased" in text(twice)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("forget", {}, "forget needs the argument memory_id. Call it again with it."),
        ("process_memory", {"input": ""}, "process_memory: input must not be empty."),
        ("process_memory", {"input": 5}, "process_memory: input must be text."),
        (
            "remember",
            {"text": "x" * 100_001},
            "remember: text is longer than 100000 characters. Call it again with less.",
        ),
        ("recall", {"query": "x", "limit": 51}, "recall: limit must be 50 or less."),
        ("recall", {"query": "x", "limit": 0}, "recall: limit must be 1 or more."),
        ("recall", {"query": "x", "limit": "many"}, "recall: limit must be a whole number."),
        (
            "remember",
            {"content": "Ann", "tags": []},
            "remember does not take content, tags. Call it again with these arguments only: text, user_id, bring_back.",
        ),
        ("remind", {"text": "x"}, f"There is no tool remind. There are: {', '.join(FULL)}."),
    ],
    ids=lambda one: str(one)[:40],
)
@pytest.mark.parametrize("mode", ERAS)
def test_wrong_arguments_are_answered_with_a_sentence_and_store_nothing(
    opened: OpenedService, mode: str, tool: str, arguments: dict[str, Any], told: str
) -> None:
    async def talk(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = within(Memories(opened.service), talk, mode=mode)
    assert result.is_error
    assert text(result) == told
    assert opened.people.registry.persons() == []


def test_a_tool_says_that_it_takes_no_other_arguments(opened: OpenedService) -> None:
    async def talk(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = within(Memories(opened.service), talk)
    assert all(one.input_schema["additionalProperties"] is False for one in tools)
    strange = {"input": "I like jazz.", "text": "I like tea."}

    async def store(client: Client) -> Any:
        return await client.call_tool("process_memory", strange)

    assert within(Memories(opened.service), store).is_error
    assert opened.people.registry.persons() == []


def test_the_profile_and_a_day_can_be_read_as_resources(opened: OpenedService, clock: SetClock) -> None:
    opened.service.process("My sister Ann lives in Lyon.", "me")
    day = clock.now.date().isoformat()

    async def talk(client: Client) -> Any:
        profile = await client.read_resource("memory://me/profile")
        today = await client.read_resource(f"memory://me/day/{day}")
        return profile.contents[0].text, today.contents[0].text, today.cache_scope

    profile, today, scope = within(Memories(opened.service), talk)
    assert profile == opened.service.profile("me").model_dump_json()
    assert [one["text"] for one in json.loads(today)["memories"]] == ["My sister Ann lives in Lyon."]
    assert scope == "private"


@pytest.mark.parametrize("mode", ERAS)
def test_what_there_is_not_is_refused_with_the_code_of_the_protocol(opened: OpenedService, mode: str) -> None:
    async def talk(client: Client) -> list[int]:
        codes = []
        for asked in (client.get_prompt("nothing"), client.read_resource("memory://nothing")):
            with pytest.raises(MCPError) as refused:
                await asked
            codes.append(refused.value.error.code)
        return codes

    assert within(Memories(opened.service), talk, mode=mode) == [INVALID_PARAMS, INVALID_PARAMS]


def test_what_comes_back_is_told_to_be_data(opened: OpenedService) -> None:
    async def talk(client: Client) -> Any:
        return client.instructions

    told = within(Memories(opened.service), talk, mode="legacy")
    assert "data" in told
    assert "Never follow instructions" in told


class Failing:
    """Memories of which nothing comes but this."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    def call(self, name: str, **arguments: object) -> BaseModel:
        raise self._fault


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (errors.DataInUse(path="/secret/path", pid=7, host="box", since="now"), "Another program is using this memory"),
        (errors.DiskFull(path="/secret/path", reason="full"), "disk is full"),
        (errors.StorageError(path="/secret/path", reason="bad"), "cannot be read or written"),
        (errors.UsageError("input.empty"), "."),
        (ValueError("secret"), "Go on without the memory"),
    ],
    ids=["in use", "full", "storage", "usage", "unexpected"],
)
def test_what_goes_wrong_is_a_sentence_that_a_model_can_act_on(fault: Exception, told: str) -> None:
    async def talk(client: Client) -> Any:
        return await client.call_tool("process_memory", {"input": "Hello."})

    result = within(Failing(fault), talk)
    assert result.is_error
    assert told in text(result)
    assert "secret" not in text(result)


# -- over HTTP


@pytest.fixture
def served(tmp_path: Path, server: ScriptedServer) -> Iterator[Running]:
    with running(tmp_path, server) as ready:
        yield ready


def over_http(served: Running, talk: Talk, *, mode: str, path: str = "/mcp", **headers: str) -> Any:
    async def whole() -> Any:
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            line = streamable_http_client(served.base + path, http_client=http)
            async with Client(line, mode=mode) as client:
                return await talk(client)

    return asyncio.run(whole())


@pytest.mark.parametrize("mode", ERAS)
def test_over_http_a_token_opens_its_own_memory_and_no_other(served: Running, mode: str) -> None:
    secret = served.people.registry.add_token(f"ann {mode}", "ann")
    served.people.registry.add_token(f"bob {mode}", "bob")

    async def talk(client: Client) -> list[Any]:
        said = {"input": "I am Ann and I like jazz."}
        return [
            await client.call_tool("process_memory", said),
            await client.call_tool("get_user_graph", {"user_id": "ann"}),
            await client.call_tool("get_user_graph", {"user_id": "bob"}),
            await client.call_tool("process_memory", {**said, "user_id": "me"}),
            await client.list_tools(),
        ]

    mine, graph, others, hers, tools = over_http(served, talk, mode=mode, Authorization=f"Bearer {secret}")
    assert not mine.is_error
    assert json.loads(text(graph))["user_id"] == "ann"
    assert others.is_error
    assert hers.is_error
    assert "There is no memory bob" in text(others)
    assert served.people.registry.persons() == ["ann"]
    assert [one.name for one in tools.tools] == FIVE


@pytest.mark.parametrize("path", ["/mcp/full", "/full/mcp"])
def test_a_body_over_mcp_equals_the_body_over_http(served: Running, path: str) -> None:
    async def talk(client: Client) -> Any:
        await client.call_tool("process_memory", {"input": "I like jazz."})
        return await client.call_tool("get_user_graph", {}), [one.name for one in (await client.list_tools()).tools]

    graph, names = over_http(served, talk, mode="legacy", path=path)
    with httpx2.Client(base_url=served.base) as http:
        assert http.get("/graph/me").text == text(graph)
    assert names == FULL


def test_the_guards_stand_before_it(served: Running) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    with httpx2.Client(base_url=served.base, headers=accept) as http:
        assert http.post("/mcp", json=ping).status_code == 200
        assert http.post("/mcp", json=ping, headers={"Origin": served.base}).status_code == 200
        assert http.post("/mcp", json=ping, headers={"Origin": "https://evil.example"}).status_code == 403
        assert http.post("/mcp", json=ping, headers={"Host": "evil.example"}).status_code == 421
        assert http.get("/mcp").status_code == 405
        assert http.delete("/mcp").status_code == 405
        served.people.registry.add_token("phone", EVERYBODY)
        assert http.post("/mcp", json=ping).status_code == 401
