"""Any client of OpenAI gains a memory: what it sends passes through, what its person said is stored once."""

from __future__ import annotations

import http.client
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import openai
import pytest

from interfaces.http.openai_api import _add_keepalives
from language.scripts import estimate_all
from people import folder_of
from storage.programs import FolderLock
from tests.interfaces.http.running import Running, now, running
from tests.support.house import talks
from tests.support.served import PATIENCE, until
from tests.support.server import Exchange, Play, ScriptedServer, answer, delta, say, status, stream, whole


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(talks) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ScriptedServer) -> Iterator[Running]:
    with running(tmp_path, model) as served:
        yield served


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, ScriptedServer]]:
    """One for all that is refused, after which nothing is stored; and its model."""
    with ScriptedServer(talks) as model, running(tmp_path_factory.mktemp("refusing"), model) as served:
        yield served, model


@pytest.fixture
def client(served: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1", max_retries=0) as client:
        yield client


def stored(served: Running, person: str = "me") -> list[tuple[str, str]]:
    with served.people.companion(person) as companion:
        sessions = companion.memory.sessions.recent(50)
        rounds = [one for session in sessions for one in companion.memory.messages.rounds(session.session_id)]
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
    client.chat.completions.create(model="m", messages=of("My cat is called Douban.", "Nice cat.", "She is grey."))
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


def test_a_stream_ends_after_its_round_is_stored(served: Running, client: openai.OpenAI, model: ScriptedServer) -> None:
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
    raw = client.chat.completions.with_raw_response.create(model="m", messages=of(said), extra_headers=headers)
    assert raw.headers["x-memory"] == ("off" if headers else "side")
    assert stored(served) == []
    assert model.chats[-1]["messages"] == of(said)


def test_an_error_of_the_server_keeps_its_status_and_shape(client: openai.OpenAI, model: ScriptedServer) -> None:
    refusal = {"error": {"message": "slow down", "type": "rate", "param": None, "code": "r"}}
    model.script(answer(refusal, 429, Retry_After="7"))
    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(model="m", messages=of("hi"))
    assert caught.value.response.headers["retry-after"] == "7"
    assert "slow down" in str(caught.value)


@contextmanager
def restoring(folder: Path, served: Running, person: str = "me") -> Iterator[None]:
    """Another program has a memory alone until this ends."""
    with FolderLock(folder_of(folder / "data", person), served.people.clock):
        yield


CHATS = {"/v1/chat/completions": {"model": "m"}, "/api/v1/chat": {}}


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("path", CHATS)
def test_a_chat_whose_memory_is_being_restored_is_refused_and_never_answered_without_it(
    served: Running, model: ScriptedServer, tmp_path: Path, path: str, *, streams: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    body = {**CHATS[path], "messages": of("My cat is Douban."), "stream": streams}
    with restoring(tmp_path, served):
        refused = httpx2.post(f"{served.base}{path}", json=body, timeout=PATIENCE)
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    told = refused.json()
    assert told["error"]["type"] == "server_error" if path.startswith("/v1") else told["detail"]
    assert not model.chats
    assert stored(served) == []
    assert [one.getMessage() for one in caplog.records if one.name == "served" and one.levelname == "ERROR"] == []


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("play", "status", "says"),
    [
        (status(401), 502, "OPENAI_API_KEY"),
        (status(403), 502, "OPENAI_API_KEY"),
        (status(402), 502, "credit"),
        (status(400, "API key not valid"), 502, "OPENAI_API_KEY"),
        (answer("<html><title>Bad gateway</title></html>", 502, "text/html"), 503, "failed"),
        (answer("<html>Not here</html>", 404, "text/html"), 502, "rejected"),
        (answer({"error": {"message": "no such model", "code": "model_not_found"}}, 404), 404, "no such model"),
        (answer({"error": {"message": "temperature: too hot"}}, 400), 400, "too hot"),
        (answer({"error": {"message": "slow down"}}, 429), 429, "slow down"),
        (answer({"error": {"message": "overloaded"}}, 503), 503, "overloaded"),
    ],
)  # fmt: skip
def test_a_refusal_of_the_servers_own_key_is_a_bad_gateway_and_others_stay_what_they_are(
    refusing: tuple[Running, ScriptedServer], play: Play, status: int, says: str, *, streams: bool
) -> None:
    served, model = refusing
    model.script(play)
    body = {"model": "m", "messages": of("My cat is Douban."), "stream": streams}
    refused = httpx2.post(f"{served.base}/v1/chat/completions", json=body, timeout=PATIENCE)
    assert refused.status_code == status
    assert says in refused.json()["error"]["message"]
    assert refused.json()["error"].get("code") != "invalid_api_key"
    assert stored(served) == []


def test_models_are_those_of_the_server_and_ours(client: openai.OpenAI, model: ScriptedServer) -> None:
    names = [one.id for one in client.models.list()]
    assert names[0] == "old-friend"
    assert client.models.retrieve("old-friend").id == "old-friend"


def test_two_persons_share_nothing(served: Running, model: ScriptedServer) -> None:
    secrets = {name: served.people.registry.add_token(name, name) for name in ("ann", "ben")}
    clients = {name: openai.OpenAI(api_key=secret, base_url=f"{served.base}/v1") for name, secret in secrets.items()}
    model.script(say("Nice."), say("No idea."))
    clients["ann"].chat.completions.create(model="m", messages=of("My cat is called Douban."))
    clients["ben"].chat.completions.create(model="m", messages=of("What is my cat called, Douban?"))
    assert "My cat" not in json.dumps(model.chats[-1]).replace("What is my cat", "")
    assert [stored(served, name) for name in ("ann", "ben")] == [
        [("My cat is called Douban.", "Nice.")], [("What is my cat called, Douban?", "No idea.")],
    ]  # fmt: skip
    for client in clients.values():
        client.close()


def waits_for_nobody(gone: threading.Event, *, begins: bool) -> Play:
    """Begins to answer, or does not, and then says nothing until somebody hangs up."""

    def play(exchange: Exchange) -> None:
        if begins:
            exchange.begin()
            exchange.event(delta(content="Nice "))
        exchange.handler.connection.recv(1)
        gone.set()

    return play


@pytest.mark.parametrize(("streams", "begins"), [(True, True), (True, False), (False, False)])
def test_a_client_that_hangs_up_has_its_request_hung_up(
    served: Running, model: ScriptedServer, *, streams: bool, begins: bool
) -> None:
    gone = threading.Event()
    model.script(waits_for_nobody(gone, begins=begins))
    body = json.dumps({"model": "m", "messages": of("My cat is Douban."), "stream": streams})
    with closing(http.client.HTTPConnection(served.base.removeprefix("http://"))) as line:
        line.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        until(lambda: model.chats)
    assert gone.wait(PATIENCE)
    assert stored(served) == []


def test_a_stream_that_begins_again_after_an_erasure_hangs_up_its_first_request_and_counts_both(
    served: Running, model: ScriptedServer
) -> None:
    gone, secret = threading.Event(), served.people.registry.add_token("phone", "ann")
    asked = {"model": "m", "messages": of("What is my cat called?" + " Please tell." * 200), "stream": True}

    def begins(exchange: Exchange) -> None:
        with served.people.companion("ann") as companion:
            erasure = companion.memory.erasure
            erasure.remove(erasure.scope_of_words("Douban"))
        waits_for_nobody(gone, begins=True)(exchange)

    def answers(exchange: Exchange) -> None:
        assert gone.wait(PATIENCE)
        stream(delta(content="No idea."), delta("stop"))(exchange)

    def ask(body: dict[str, Any]) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {secret}"}
        return httpx2.post(f"{served.base}/v1/chat/completions", json=body, headers=headers, timeout=PATIENCE)

    model.script(say("Nice."), begins, answers)
    ask({"model": "m", "messages": of("My cat is called Douban.")})
    spent = served.people.registry.usage.spent("phone", now().date().isoformat())
    told = ask(asked)
    assert told.text.endswith("data: [DONE]\n\n")
    assert ["Douban" in json.dumps(one) for one in model.chats] == [True, True, False]
    both = served.people.registry.usage.spent("phone", now().date().isoformat()) - spent
    assert both > 1.8 * estimate_all([json.dumps(asked["messages"])])


def test_the_tokens_of_an_answer_that_was_asked_for_again_and_of_several_prompts_add_up(
    served: Running, model: ScriptedServer
) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    used = {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750}
    secret = served.people.registry.add_token("phone", "ann")

    def call(exchange: Exchange) -> None:
        with served.people.companion("ann") as companion:
            erasure = companion.memory.erasure
            erasure.remove(erasure.scope_of_words("Douban"))
        exchange.send(200, whole(None, "tool_calls", tool_calls=calls, usage=used))

    model.script(*(answer(whole(text, usage=used)) for text in ("One.", "Two.")), call, answer(whole("3.", usage=used)))
    with openai.OpenAI(api_key=secret, base_url=f"{served.base}/v1", max_retries=0) as client:
        client.completions.create(model="m", prompt=["My cat is called Douban.", "She is grey."])
        assert served.people.registry.usage.spent("phone", now().date().isoformat()) == 1_500
        client.chat.completions.create(model="m", messages=of("What is my cat called?"))
    assert served.people.registry.usage.spent("phone", now().date().isoformat()) == 3_000


def test_a_server_that_ends_hangs_up(served: Running, model: ScriptedServer) -> None:
    gone = threading.Event()
    model.script(waits_for_nobody(gone, begins=False))
    came: list[int] = []

    def ask() -> None:
        body = {"model": "m", "messages": of("My cat is Douban.")}
        came.append(httpx2.post(f"{served.base}/v1/chat/completions", json=body, timeout=60).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: model.chats)
    served.stop.set()
    asking.join()
    assert (came, stored(served)) == ([503], [])


@pytest.mark.parametrize(
    "end",
    [
        stream(delta(content="Nice "), {"error": {"message": "overloaded", "type": "server_error"}}),
        stream(delta(content="Nice "), {"object": "error", "message": "overloaded", "code": 500}),
        stream(delta(content="Nice ")),
        stream(),
    ],
    ids=["an error", "an error of another shape", "no end", "nothing"],
)
def test_a_stream_that_goes_wrong_ends_with_an_error_and_without_its_last_word(
    served: Running, model: ScriptedServer, end: Play
) -> None:
    model.script(end)
    body = {"model": "m", "messages": of("My cat is Douban."), "stream": True}
    told = httpx2.post(f"{served.base}/v1/chat/completions", json=body, timeout=PATIENCE).text.split("\n\n")
    assert json.loads(told[-2].removeprefix("data: "))["error"]["message"]
    assert sum('"error":' in one for one in told) == 1
    assert "data: [DONE]" not in told
    assert stored(served) == []


def test_thinking_and_second_replies_pass_through_and_are_not_stored(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "Other."}, "finish_reason": "stop"}]}
    model.script(stream(delta(content="<think>hm</think>Nice."), second, delta(finish="length")))
    events = list(client.chat.completions.create(model="m", n=2, messages=of("My cat is Douban."), stream=True))
    assert [one.choices[0].delta.content for one in events[:2]] == ["<think>hm</think>Nice.", "Other."]
    with served.people.companion("me") as companion:
        (session,) = companion.memory.sessions.recent(5)
        (one,) = companion.memory.messages.rounds(session.session_id)
    assert (one.assistant.words, one.assistant.finish) == ("Nice.", "length")


def test_a_reply_that_says_nothing_stores_nothing(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    model.script(say(""), say("\x00"))
    for _ in range(2):
        client.chat.completions.create(model="m", messages=of("My cat is Douban."))
    assert stored(served) == []


def test_the_profile_stays_the_same_whatever_language_is_spoken(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    with served.people.companion("me") as companion:
        companion.memory.personas.write("user", "Ann lives in Oslo.", "hand")
    for said in ("Hello, how are you?", "你好，你今天怎么样？"):
        client.chat.completions.create(model="m", messages=of(said))
    first, second = (chat["messages"][0] for chat in model.chats)
    assert first == second
    assert "Ann lives in Oslo." in first["content"]


def test_the_name_that_an_answer_gives_a_conversation_may_be_used(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    said = of("My cat is Douban.", "Nice.", "She is grey.")
    model.script(say("Nice."), say("Grey."))
    first = client.chat.completions.with_raw_response.create(model="m", messages=said[:1])
    named = {"X-Session-Id": first.headers["x-session-id"]}
    client.chat.completions.create(model="m", messages=said, extra_headers=named)
    assert stored(served) == [("My cat is Douban.", "Nice."), ("She is grey.", "Grey.")]


def test_what_a_person_asks_to_have_forgotten_is_recalled_no_more(
    served: Running, client: openai.OpenAI, model: ScriptedServer
) -> None:
    said = of("My cat is called Douban.", "Nice.", "Please forget what I said about my cat.")
    model.script(say("Nice."), say("As you wish."))
    client.chat.completions.create(model="m", messages=said[:1])
    client.chat.completions.create(model="m", messages=said)
    raw = client.chat.completions.with_raw_response.create(model="m", messages=of("Who is Douban, my cat?"))
    assert raw.headers["x-memory-count"] == "0"
    assert "called Douban" not in json.dumps(model.chats[-1])


@pytest.mark.parametrize("late", [False, True])
def test_what_is_hidden_while_a_turn_waits_for_tools_is_not_in_its_continuation(
    served: Running, client: openai.OpenAI, model: ScriptedServer, *, late: bool
) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]

    def hide() -> None:
        with served.people.companion("me") as companion:
            companion.memory.rounds.hide([one.text_id for one in told])

    def call(exchange: Exchange) -> None:
        if late:  # before the reply that calls the tool is there
            hide()
        exchange.send(200, whole(None, "tool_calls", tool_calls=calls))

    model.script(say("Nice."), call, say("Grey."))
    client.chat.completions.create(model="m", messages=of("My cat is called Douban."))
    with served.people.companion("me") as companion:
        (session,) = companion.memory.sessions.recent(5)
        told = companion.memory.messages.of_session(session.session_id)
    asked: list[Any] = of("How is my cat called?")
    client.chat.completions.create(model="m", messages=asked)
    assert "called Douban" in json.dumps(model.chats[-1])
    if not late:
        hide()
    asked += [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": "1", "content": "12"}]
    client.chat.completions.create(model="m", messages=asked)
    assert "called Douban" not in json.dumps(model.chats[-1])


def test_a_program_that_speaks_for_everybody_names_the_person_by_a_header_or_by_user(
    served: Running, model: ScriptedServer
) -> None:
    secret = served.people.registry.add_token("backend", "*")
    with openai.OpenAI(api_key=secret, base_url=f"{served.base}/v1") as client:
        ask = client.chat.completions.with_raw_response.create
        model.script(say("2"), say("3"), say("4"))
        with pytest.raises(openai.BadRequestError) as refused:
            ask(model="m", messages=of("Whose is this?"))
        ask(model="m", messages=of("I am Ann."), user="ann")
        ask(model="m", messages=of("I am Ben."), extra_headers={"X-OpenWebUI-User-Id": "ben"})
        ask(model="m", messages=of("I am Cai."), user="ann", extra_headers={"X-User-Id": "cai"})
    assert refused.value.code == "person.unnamed"
    assert len(model.chats) == 3
    assert [stored(served, name) for name in ("me", "ann", "ben", "cai")] == [
        [], [("I am Ann.", "2")], [("I am Ben.", "3")], [("I am Cai.", "4")],
    ]  # fmt: skip


def test_a_program_of_one_person_speaks_for_that_person_whatever_it_calls_its_users(
    served: Running, model: ScriptedServer
) -> None:
    secret = served.people.registry.add_token("webui", "ann")
    model.script(say("1"))
    with openai.OpenAI(api_key=secret, base_url=f"{served.base}/v1") as client:
        client.chat.completions.create(
            model="m", messages=of("I am Ann."), user="ben", extra_headers={"X-OpenWebUI-User-Id": "ben"}
        )
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="m", messages=of("I am Ben."), extra_headers={"X-User-Id": "ben"})
    assert (stored(served, "ann"), stored(served, "ben")) == ([("I am Ann.", "1")], [])


def test_vectors_come_from_the_server_that_makes_them(tmp_path: Path, model: ScriptedServer) -> None:
    with ScriptedServer(talks) as other:
        with running(
            tmp_path, model, EMBEDDING_MODEL="e", EMBEDDING_API_BASE=other.base, EMBEDDING_API_KEY="sk-other"
        ) as served, openai.OpenAI(api_key="none", base_url=f"{served.base}/v1") as client:  # fmt: skip
            made = client.embeddings.create(model="e", input=["cat", "dog"])
        assert len(made.data) == 2
        assert [one.headers["authorization"] for one in other.requests] == ["Bearer sk-other"]
        assert not model.requests


def test_a_chat_that_fell_silent_is_saved_and_gone_on_with_in_a_new_session(
    tmp_path: Path, model: ScriptedServer
) -> None:
    said = of("My cat is Douban.", "Nice.", "She is grey.")
    passed = timedelta()
    with running(tmp_path, model, lambda: now() + passed, ARCHIVE_AFTER="8") as served:
        with openai.OpenAI(api_key="none", base_url=f"{served.base}/v1") as client:
            model.script(say("Nice."))
            client.chat.completions.create(model="m", messages=said[:1])
            passed = timedelta(hours=9)
            model.script(say("Grey."))
            client.chat.completions.create(model="m", messages=said)
        with served.people.companion("me") as companion:
            first, second = reversed(companion.memory.sessions.recent(5))
            companion.start_maintenance()
            until(lambda: companion.memory.sessions.find(first.session_id).status == "archived")
            assert companion.memory.sessions.find(second.session_id).status == "active"


def test_the_stand_in_ends_its_stream_once_and_after_the_round_is_stored(tmp_path: Path) -> None:
    with running(tmp_path, None) as served:
        body = {"messages": of("My cat is Douban."), "stream": True}
        told = httpx2.post(f"{served.base}/v1/chat/completions", json=body, timeout=PATIENCE).text
        assert told.count("[DONE]") == 1
        assert told.endswith("data: [DONE]\n\n")
        assert len(stored(served)) == 1


def test_a_memory_that_fails_after_the_reply_is_told_in_place_of_the_end(
    served: Running, model: ScriptedServer, tmp_path: Path
) -> None:
    def reply_and_break(exchange: Exchange) -> None:
        with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as database:
            database.execute("ALTER TABLE conversation RENAME TO gone")
        say("Nice.")(exchange)

    model.script(reply_and_break)
    body = {"messages": of("My cat is Douban."), "stream": True}
    told = httpx2.post(f"{served.base}/v1/chat/completions", json=body, timeout=PATIENCE).text
    assert "[DONE]" not in told
    assert json.loads(told.split("\n\n")[-2].removeprefix("data: "))["error"]["type"] == "server_error"


def test_a_stream_is_kept_open_while_the_server_is_silent() -> None:
    silent = threading.Event()

    def events() -> Iterator[bytes]:
        yield b"first"
        silent.wait(PATIENCE)
        yield b"last"

    told = _add_keepalives(events(), after=0.01)
    assert next(told) == b"first"
    assert next(told) == b""
    silent.set()
    assert [event for event in told if event] == [b"last"]


@pytest.mark.parametrize("name", ["..%2Ffiles", "a/%2E%2E/%2E%2E/files", ".", "a//b"])
def test_the_name_of_a_model_leads_to_no_other_path_of_the_server(
    refusing: tuple[Running, ScriptedServer], name: str
) -> None:
    served, model = refusing
    asked = len(model.requests)
    with closing(http.client.HTTPConnection(served.base.removeprefix("http://"))) as line:
        line.request("GET", f"/v1/models/{name}")
        assert line.getresponse().status == 404
    assert len(model.requests) == asked


@pytest.mark.parametrize("name", ["org/model:7b", "a%3Fb%23c", "%13", "%E6%A8%A1"])
def test_any_other_name_of_a_model_is_asked_for_as_it_is(refusing: tuple[Running, ScriptedServer], name: str) -> None:
    served, model = refusing
    with closing(http.client.HTTPConnection(served.base.removeprefix("http://"))) as line:
        line.request("GET", f"/v1/models/{name}")
        assert line.getresponse().status == 404
    assert unquote(model.requests[-1].path) == unquote(f"/v1/models/{name}")
