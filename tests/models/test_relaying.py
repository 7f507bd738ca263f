"""Requests of other programs reach the server as they are, and its answers come back as they came."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from domain import errors
from domain.workers import CancelToken
from models.client import Client
from models.relaying import Answer, Relay, RelayedReply
from tests.support.server import ScriptedServer, answer, delta, hang, say, stream, whole


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def relay(server: ScriptedServer) -> Iterator[Relay]:
    client = Client(server.base, "sk-relay", 20.0)
    yield Relay(client, "m", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    client.close()


BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "你好"}]}],
    "tools": [{"type": "function", "function": {"name": "look"}}],
    "an_unknown_field": {"kept": [1, None]},
}


def test_every_field_of_a_request_arrives_with_our_key(relay: Relay, server: ScriptedServer) -> None:
    server.script(say("hello"))
    came = relay.send("POST", "/chat/completions", BODY, CancelToken())
    assert came.status == 200
    assert came.reply.text == "hello"
    assert came.reply.is_whole
    assert server.chats == [BODY]
    assert server.requests[-1].headers["authorization"] == "Bearer sk-relay"


def test_a_stream_comes_event_by_event_and_says_what_it_came_to(relay: Relay, server: ScriptedServer) -> None:
    server.script(stream(delta(content="hel"), delta(content="lo"), delta(finish="stop")))
    heard = RelayedReply()
    for event in relay.stream("/chat/completions", {**BODY, "stream": True}, CancelToken()):
        assert isinstance(event, bytes)
        heard.add_body(json.loads(event or b"{}"))
    assert (heard.text, heard.finish, heard.is_whole) == ("hello", "stop", True)


def test_what_separates_lines_in_a_text_separates_no_events(relay: Relay, server: ScriptedServer) -> None:
    said = ("第一行\u2028第二行", "\u2029", "\x85。")
    events = [json.dumps(delta(content=text), ensure_ascii=False).encode() for text in said]
    server.script(stream(*(b"data: " + event + b"\n\n" for event in events), delta("stop")))
    came = [event for event in relay.stream("/chat/completions", {**BODY, "stream": True}, CancelToken()) if event]
    assert came[:3] == events


def test_a_refusal_keeps_its_status_its_body_and_when_to_come_again(relay: Relay, server: ScriptedServer) -> None:
    refusal = {"error": {"message": "slow down", "type": "rate", "param": None, "code": "r"}}
    server.script(answer(refusal, 429, **{"Retry-After": "7"}), answer(refusal, 429))
    (came,) = relay.stream("/chat/completions", {**BODY, "stream": True}, CancelToken())
    assert isinstance(came, Answer)
    assert (came.status, json.loads(came.body), came.headers["retry-after"]) == (429, refusal, "7")
    assert relay.send("POST", "/chat/completions", BODY, CancelToken()).status == 429


def test_a_refusal_that_repeats_our_key_is_told_without_it(relay: Relay, server: ScriptedServer) -> None:
    refusal = {"error": {"message": "slow down, sk-relay", "code": "too_often"}}
    server.script(answer(refusal, 429), answer(refusal, 429))
    (streamed,) = relay.stream("/chat/completions", {**BODY, "stream": True}, CancelToken())
    assert isinstance(streamed, Answer)
    for came in (streamed, relay.send("POST", "/chat/completions", BODY, CancelToken())):
        assert json.loads(came.body)["error"]["message"] == "slow down, [secret]"
        assert came.status == 429


def test_a_call_of_a_tool_is_no_reply(relay: Relay, server: ScriptedServer) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    body = whole("") | {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    server.script(answer(body))
    came = relay.send("POST", "/chat/completions", BODY, CancelToken())
    assert not came.reply.is_whole
    assert json.loads(came.body)["choices"][0]["message"] == message


def test_a_stream_that_breaks_raises(relay: Relay, server: ScriptedServer) -> None:
    server.script(stream(delta(content="hel"), end="cut"))
    with pytest.raises(errors.ModelError):
        list(relay.stream("/chat/completions", {**BODY, "stream": True}, CancelToken()))


def test_a_call_that_is_given_up_is_hung_up(relay: Relay, server: ScriptedServer) -> None:
    server.script(hang)
    stop = CancelToken()
    threading.Thread(target=lambda: (server_was_asked(server), stop.set())).start()
    with pytest.raises(errors.Interrupted):
        relay.send("POST", "/chat/completions", BODY, stop)


def server_was_asked(server: ScriptedServer) -> None:
    pause = threading.Event()
    while not server.chats:
        pause.wait(0.01)


def heard(*events: dict[str, object]) -> RelayedReply:
    found = RelayedReply()
    for event in events:
        found.add_body(event)
    return found


def test_of_several_replies_the_first_is_heard() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    found = heard(delta(content="yes"), second, delta(finish="length"))
    assert (found.text, found.ended, found.is_whole) == ("yes", "length", True)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>She likes cats.</think>\n\nHello.", "Hello."),
        ("<think>never ends", ""),
        ("Hello \x00.", "Hello ."),
        ([{"type": "text", "text": "Hello."}, {"type": "thinking", "thinking": "hm"}], "Hello."),
    ],
)
def test_of_a_reply_the_words_to_the_person_are_heard(said: object, text: str) -> None:
    assert heard(whole(said)).text == text


@pytest.mark.parametrize(
    "body",
    [
        whole("Hello.", "content_filter"),
        whole("Let me look.", "tool_calls"),
        whole("Let me look.", tool_calls=[{"id": "1"}]),
        whole("Hello.", None),
        whole(" \x00"),
        {"error": {"message": "overloaded"}},
    ],
    ids=["filtered", "calls a tool", "calls a tool and stops", "no end", "nothing said", "an error"],
)
def test_what_is_no_whole_reply_is_not_taken_for_one(body: dict[str, object]) -> None:
    assert not heard(body).is_whole


def test_half_a_character_arrives_as_it_was_sent(relay: Relay, server: ScriptedServer) -> None:
    server.script(say("hello"))
    body = {**BODY, "messages": [{"role": "user", "content": "half a \ud83d"}]}
    assert relay.send("POST", "/chat/completions", body, CancelToken()).status == 200
    assert server.chats == [body]
