"""What Open WebUI sends: the list of models, a streamed chat with its headers, and the orders that it gives for itself.

The bodies and headers are of the form that its backend gives them; the orders have its headings, in words of our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.interfaces.http.running import Running, running
from tests.support.house import talks
from tests.support.served import PATIENCE
from tests.support.server import ScriptedServer, answer, say, whole

PERSON = {
    "X-OpenWebUI-User-Name": "Ann",
    "X-OpenWebUI-User-Id": "u-1",
    "X-OpenWebUI-User-Email": "ann@example.org",
    "X-OpenWebUI-User-Role": "user",
    "X-OpenWebUI-Chat-Id": "c-1",
}
TALK = "USER: My cat is called Douban.\nASSISTANT: Nice cat."
HISTORY = f"### Chat History:\n<chat_history>\n{TALK}\n</chat_history>"
ORDERS = {
    "title": "### Task:\nGenerate a title of a few words for the chat history.\n### Guidelines:\n- No emojis.\n"
    f'### Output:\nJSON format: {{ "title": "..." }}\n{HISTORY}',
    "tags": "### Task:\nGenerate up to three tags for the main themes of the chat history.\n"
    f'### Output:\nJSON format: {{ "tags": ["..."] }}\n{HISTORY}',
    "follow-ups": "### Task:\nSuggest some follow-up questions that the user might ask next in this conversation.\n"
    f'### Output:\nJSON format: {{ "follow_ups": ["..."] }}\n{HISTORY}',
}


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Running]:
    with running(tmp_path, model) as served:
        yield served


@pytest.fixture
def webui(served: Running) -> Iterator[httpx2.Client]:
    secret = served.people.registry.add_token("webui", "*")
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **PERSON}
    with httpx2.Client(base_url=f"{served.base}/v1", headers=headers, timeout=PATIENCE) as client:
        yield client


def stored(served: Running, person: str) -> list[tuple[str, str]]:
    with served.people.companion(person) as companion:
        sessions = companion.memory.sessions.recent(50)
        rounds = [one for each in sessions for one in companion.memory.messages.rounds(each.session_id)]
    return [(one.user.words, one.assistant.words) for one in rounds]


def asked(*said: str, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
    return {"model": "old-friend", "messages": messages, **more}


def test_a_model_can_be_chosen_that_is_called_old_friend(webui: httpx2.Client) -> None:
    listed = webui.get("/models").json()
    assert listed["object"] == "list"
    assert "old-friend" in [one["id"] for one in listed["data"]]


def test_a_chat_that_is_streamed_is_its_users_and_stored_once(
    served: Running, webui: httpx2.Client, model: ScriptedServer
) -> None:
    model.script(say("Nice cat.", prompt_tokens=9))
    body = asked("My cat is called Douban.", stream=True, stream_options={"include_usage": True})
    with webui.stream("POST", "/chat/completions", json=body) as came:
        assert came.headers["content-type"].startswith("text/event-stream")
        told = [line.removeprefix("data: ") for line in came.iter_lines() if line.startswith("data: ")]
    *chunks, end = told
    assert end == "[DONE]"
    read = [json.loads(chunk) for chunk in chunks]
    words = [choice["delta"].get("content") or "" for one in read for choice in one["choices"]]
    assert "".join(words) == "Nice cat."
    assert read[-1]["usage"]["prompt_tokens"] == 9
    assert stored(served, "u-1") == [("My cat is called Douban.", "Nice cat.")]
    assert stored(served, "me") == []


@pytest.mark.parametrize("order", ORDERS)
def test_what_it_asks_for_itself_is_passed_on_as_it_is_and_stored_nowhere(
    served: Running, webui: httpx2.Client, model: ScriptedServer, order: str
) -> None:
    model.script(say("Nice cat."), answer(whole('{"title": "A cat"}')))
    webui.post("/chat/completions", json=asked("My cat is called Douban.", stream=False))
    sent = asked(ORDERS[order], stream=False, max_completion_tokens=1000)
    came = webui.post("/chat/completions", json=sent)
    assert (came.status_code, came.headers["x-memory"]) == (200, "side")
    assert came.json()["choices"][0]["message"]["content"] == '{"title": "A cat"}'
    passed = model.chats[-1]
    assert passed["messages"] == sent["messages"]
    assert passed["max_completion_tokens"] == 1000
    assert stored(served, "u-1") == [("My cat is called Douban.", "Nice cat.")]


def test_what_was_said_in_one_chat_is_known_in_the_next_one_of_the_same_user_alone(
    webui: httpx2.Client, model: ScriptedServer
) -> None:
    model.script(say("Nice cat."), say("Douban."), say("I do not know."))
    webui.post("/chat/completions", json=asked("My cat is called Douban."))
    for user, known in (("u-1", True), ("u-2", False)):
        headers = {"X-OpenWebUI-User-Id": user, "X-OpenWebUI-Chat-Id": f"c-2-{user}"}
        webui.post("/chat/completions", json=asked("What is my cat called?"), headers=headers)
        assert ("Douban" in json.dumps(model.chats[-1])) is known
