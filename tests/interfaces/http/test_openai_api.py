"""Any client of OpenAI gains a memory: what it sends passes through, what its person said is stored once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.interfaces.http.running import Running, running
from tests.server import ScriptedServer, answer, delta, say, stream


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Running]:
    with running(tmp_path, model) as served:
        yield served


@pytest.fixture
def client(served: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1", max_retries=0) as client:
        yield client


def stored(served: Running, person: str = "me") -> list[tuple[str, str]]:
    with served.people.companion(person) as companion:
        sessions = companion.memory.recent_sessions(50)
        rounds = [one for session in sessions for one in companion.memory.rounds(session.session_id)]
    return [(one.user.words, one.assistant.words) for one in rounds]


def of(*said: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]


def test_a_round_is_stored_once_however_often_its_history_comes_again(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    model.script(say("Nice cat."), say("Nice cat."), say("Grey."))
    for _ in range(2):
        client.chat.completions.create(model="m", messages=of("My cat is called Douban."))
    client.chat.completions.create(
        model="m", messages=of("My cat is called Douban.", "Nice cat.", "She is grey.")
    )
    assert stored(served) == [("My cat is called Douban.", "Nice cat."), ("She is grey.", "Grey.")]


def test_what_was_said_in_one_chat_is_known_in_another(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    model.script(say("Nice cat."), say("Douban!"))
    client.chat.completions.create(model="m", messages=of("My cat is called Douban."))
    raw = client.chat.completions.with_raw_response.create(model="m", messages=of("What is my cat called?"))
    sent = model.chats[-1]["messages"]
    assert "My cat is called Douban." in sent[-1]["content"]
    assert sent[-1]["content"].endswith("What is my cat called?")
    assert raw.headers["x-memory"] == "on"
    assert int(raw.headers["x-memory-count"]) >= 1


def test_a_stream_ends_after_its_round_is_stored(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    model.script(say("Nice little cat.", pieces=["Nice ", "little ", "cat."]))
    said = ""
    with httpx2.stream(
        "POST", f"{served.base}/v1/chat/completions",
        json={"model": "m", "messages": of("My cat is called Douban."), "stream": True},
    ) as came:  # fmt: skip
        for line in came.iter_lines():
            if line == "data: [DONE]":
                assert stored(served) == [("My cat is called Douban.", "Nice little cat.")]
            elif line.startswith("data: "):
                said += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
    assert said == "Nice little cat."


def test_a_stream_that_breaks_says_so_and_stores_nothing(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    model.script(stream(delta(content="Nice "), end="cut"))
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(model="m", messages=of("My cat is Douban."), stream=True))
    assert stored(served) == []


def test_unknown_fields_and_tools_pass_through_and_only_the_last_reply_is_stored(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}  # fmt: skip
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": called, "finish_reason": "tool_calls"}]}  # fmt: skip
    model.script(answer(whole), say("Twelve degrees."))
    asked: list[Any] = of("How warm is it at home?")
    more: dict[str, Any] = {
        "extra_body": {"my_field": [1]},
        "tools": [{"type": "function", "function": {"name": "look"}}],
    }
    client.chat.completions.create(model="m", messages=asked, **more)
    assert stored(served) == []
    asked += [called, {"role": "tool", "tool_call_id": "1", "content": "12"}]
    client.chat.completions.create(model="m", messages=asked, **more)
    assert stored(served) == [("How warm is it at home?", "Twelve degrees.")]
    assert model.chats[-1]["my_field"] == [1]
    assert model.chats[-1]["messages"][0] == model.chats[-2]["messages"][0]
    assert model.chats[-1]["messages"][1:] == asked[1:]


@pytest.mark.parametrize("headers", [{"X-Memory": "off"}, {}])
def test_what_a_client_asks_for_itself_or_with_the_memory_off_stores_nothing(
    served: Running, client: openai.OpenAI, model: ScriptedServer, headers: dict[str, str]
) -> None:
    said = "Something private." if headers else "### Task:\nGenerate a title summarizing the chat history."
    model.script(say("Yes."))
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=of(said), extra_headers=headers
    )
    assert raw.headers["x-memory"] == ("off" if headers else "side")
    assert stored(served) == []
    assert model.chats[-1]["messages"] == of(said)


def test_an_error_of_the_server_keeps_its_status_and_shape(
    client: openai.OpenAI, model: ScriptedServer
) -> None:
    refusal = {"error": {"message": "slow down", "type": "rate", "param": None, "code": "r"}}
    model.script(answer(refusal, 429, Retry_After="7"))
    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(model="m", messages=of("hi"))
    assert caught.value.response.headers["retry-after"] == "7"
    assert "slow down" in str(caught.value)


def test_a_chat_goes_on_when_its_memory_is_in_use_elsewhere(
    served: Running, client: openai.OpenAI, model: ScriptedServer, tmp_path: Path
) -> None:
    from people import folder_of
    from storage.owner import Owner

    owner = Owner(folder_of(tmp_path / "data", "me"), served.people.clock)
    owner.acquire()
    model.script(say("Hello."))
    raw = client.chat.completions.with_raw_response.create(model="m", messages=of("hi"))
    owner.release()
    assert raw.headers["x-memory"] == "failed"
    assert raw.parse().choices[0].message.content == "Hello."


def test_models_are_those_of_the_server_and_ours(client: openai.OpenAI, model: ScriptedServer) -> None:
    names = [one.id for one in client.models.list()]
    assert names[0] == "old-friend"
    assert client.models.retrieve("old-friend").id == "old-friend"


def test_two_persons_share_nothing(served: Running, model: ScriptedServer) -> None:
    secrets = {name: served.people.registry.add_token(name, name) for name in ("ann", "ben")}
    clients = {
        name: openai.OpenAI(api_key=secret, base_url=f"{served.base}/v1") for name, secret in secrets.items()
    }
    model.script(say("Nice."), say("No idea."))
    clients["ann"].chat.completions.create(model="m", messages=of("My cat is called Douban."))
    clients["ben"].chat.completions.create(model="m", messages=of("What is my cat called, Douban?"))
    assert "My cat" not in json.dumps(model.chats[-1]).replace("What is my cat", "")
    assert [stored(served, name) for name in ("ann", "ben")] == [
        [("My cat is called Douban.", "Nice.")], [("What is my cat called, Douban?", "No idea.")],
    ]  # fmt: skip
    for client in clients.values():
        client.close()
