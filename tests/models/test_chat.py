"""Talking to a model: shown as it comes, stopped at once, never blocking, nothing left behind."""

from __future__ import annotations

import ssl
import threading
import time

import pytest

from conversation import result_of
from domain import errors
from domain.events import Notice, ReasoningDelta, Reply, TextDelta
from domain.workers import CancelToken
from llm import Layers, PromptMessage
from models.chat import Patience
from models.client import Client
from models.tasks import ExtractionTask
from tests.support.known import persona_task
from tests.support.server import ScriptedServer, delta, hang, say, status, stream
from tests.support.talking import ASKED, KEY, NOW, models_at, new_message, played


@pytest.fixture
def server():
    with ScriptedServer() as opened:
        yield opened


@pytest.fixture
def llm(server):
    opened = models_at(server.base, request_timeout=300.0)  # beyond every wait of a test
    yield opened
    opened.close()


def stop_soon(stop: CancelToken, server: ScriptedServer, seconds: float = 0.15) -> threading.Thread:
    """Stop a little after the server was asked, however long the client took to load."""

    def wait() -> None:
        until = time.monotonic() + 30
        while not server.requests and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(seconds)
        stop.set()

    timer = threading.Thread(target=wait)
    timer.start()
    return timer


def test_words_come_as_they_are_said(server, llm):
    heard = {word: threading.Event() for word in ("one ", "two ", "three")}

    def word_by_word(exchange):
        exchange.begin()
        for word, came in heard.items():
            exchange.event(delta(content=word))
            assert came.wait(60), f"{word!r} was not told before the next one was sent"
        exchange.event(delta("stop"))
        exchange.raw(b"data: [DONE]\n\n")
        exchange.end()

    server.script(word_by_word)
    found = played(
        llm.chat(ASKED, CancelToken()), lambda event, _: isinstance(event, TextDelta) and heard[event.text].set()
    )
    assert found.reply.text == "one two three"


def test_what_is_sent_is_what_was_given(server, llm):
    played(
        llm.chat(
            (PromptMessage("system", "Be kind."), PromptMessage("user", "你好\ud800"), PromptMessage("user", "?")),
            CancelToken(),
        )
    )
    request = server.requests[0]
    assert request.json["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "你好?"},
        {"role": "user", "content": "?"},
    ]
    assert request.json["model"] == "wanted-model"
    assert request.json["stream"] is True
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_nothing_of_the_environment_is_sent(server, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-elsewhere-0123456789")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    llm = models_at(server.base, openai_api_key="")
    assert played(llm.chat(ASKED, CancelToken())).reply is not None
    llm.close()
    headers = server.requests[0].headers
    assert not [name for name in headers if name.startswith(("authorization", "openai-", "x-stainless-os"))]


def test_the_reply_tells_model_tokens_and_time(server, llm):
    server.script(say("Hi.", prompt_tokens=123))
    reply = played(llm.chat(ASKED, CancelToken())).reply
    assert (reply.model, reply.prompt_tokens, reply.completion_tokens) == ("scripted-model", 123, 5)
    assert reply.seconds > 0


def test_stopped_before_the_first_word_nothing_counts(server, llm):
    server.script(hang)
    stop = CancelToken()
    timer = stop_soon(stop, server)
    found = played(llm.chat(ASKED, stop))
    timer.join()
    assert isinstance(found.error, errors.Interrupted)


def test_stopped_while_thinking_nothing_counts(server, llm):
    server.script(stream(delta(reasoning_content="hm"), end="open"))
    stop = CancelToken()
    found = played(llm.chat(ASKED, stop), lambda event, _: isinstance(event, ReasoningDelta) and stop.set())
    assert isinstance(found.error, errors.Interrupted)


def test_stopped_after_the_first_word_the_reply_is_what_was_shown(server, llm):
    server.script(stream(delta(content="Once upon "), end="open"))
    stop = CancelToken()
    found = played(llm.chat(ASKED, stop), lambda event, _: isinstance(event, TextDelta) and stop.set())
    assert (found.reply.text, found.reply.finish) == ("Once upon", "interrupted")


def test_stopped_while_a_retry_is_due_it_is_not_tried(server):
    server.script(status(500))
    llm = models_at(server.base, patience=Patience(first=3_600.0, most=3_600.0))
    stop = CancelToken()
    timer = stop_soon(stop, server)
    found = played(llm.chat(ASKED, stop))
    timer.join()
    llm.close()
    assert isinstance(found.error, errors.Interrupted)
    assert len(server.requests) == 1


def test_a_stopped_call_lets_go_of_the_connection(server, llm):
    gone = threading.Event()

    def endless(exchange):
        exchange.begin()
        try:
            while True:
                exchange.event(delta(content="more "))
                exchange.pause(0.01)
        except OSError:
            if not server.closing.is_set():
                gone.set()
            raise

    server.script(endless)
    stop = CancelToken()
    played(llm.chat(ASKED, stop), lambda event, _: isinstance(event, TextDelta) and stop.set())
    assert gone.wait(60)


def test_a_caller_who_walks_away_lets_go_too(server, llm):
    server.script(stream(delta(content="Hi"), end="open"), "Hello.")
    events = llm.chat(ASKED, CancelToken())
    while not isinstance(next(events), TextDelta):
        pass
    events.close()
    assert played(llm.chat(ASKED, CancelToken())).reply.text == "Hello."


def test_a_call_given_up_before_any_answer_is_hung_up(server, llm):
    gone = threading.Event()

    def thinking(exchange):
        if exchange.handler.connection.recv(1) == b"":
            gone.set()
        exchange.cut()

    server.script(thinking)
    stop = CancelToken()
    timer = stop_soon(stop, server)
    played(llm.chat(ASKED, stop))
    timer.join()
    assert gone.wait(60)


def test_a_call_that_blocks_without_any_timeout_is_hung_up_at_once(server):
    server.script(hang)
    llm, stop = models_at(server.base, request_timeout=3_600.0), CancelToken()
    timer = stop_soon(stop, server)
    found = played(llm.chat(ASKED, stop))
    timer.join()
    llm.close()
    assert isinstance(found.error, errors.Interrupted)


def test_only_the_stand_in_is_told_more_than_the_prompt(server, llm):
    from tests.support.talking import answered, spoken

    answered(llm, Layers(text="Hello?", now=NOW))
    result_of(llm.summarise("", [spoken("I have a cat.", "Nice.")], CancelToken()))
    llm.update_persona(persona_task("user", "", "Li Wei has a cat."), "en", CancelToken())
    assert [sorted(request) for request in server.chats] == [["messages", "model", "stream", "stream_options"]] * 3


@pytest.mark.parametrize("reply", ["-", "—", " “-”. "])
def test_a_summary_may_say_that_nothing_remains(server, llm, reply):
    from tests.support.talking import spoken

    server.script(reply)
    assert result_of(llm.summarise("", [spoken("Forget it.", "Yes.")], CancelToken())) == ""


def test_a_wish_to_stop_that_came_before_sends_nothing(server, llm):
    stop = CancelToken()
    stop.set()
    assert isinstance(played(llm.chat(ASKED, stop)).error, errors.Interrupted)
    assert server.requests == []


def test_a_prompt_beyond_all_measure_is_not_sent(server, llm):
    found = played(llm.chat((PromptMessage("user", "x" * 4_000_001),), CancelToken()))
    assert isinstance(found.error, errors.ContextTooLong)
    assert found.error.details["model"] == "wanted-model"
    assert server.requests == []


def test_comments_do_not_keep_a_dead_server_alive_for_ever(server):
    def comments_only(exchange):
        exchange.begin()
        while True:
            exchange.raw(b": wait\n\n")
            exchange.pause(0.01)

    server.script(comments_only)
    llm = models_at(server.base, request_timeout=0.03, patience=Patience(tries=1))
    found = played(llm.chat(ASKED, CancelToken()))
    llm.close()
    assert isinstance(found.error, errors.TimedOut)


def test_the_client_library_is_loaded_by_the_first_call_and_not_before():
    import subprocess
    import sys
    from pathlib import Path

    heavy = ("openai", "httpx2", "numpy", "lancedb", "offline")
    code = f"import sys, llm; print([name for name in {heavy} if name in sys.modules])"
    here = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here)
    assert ran.stdout.strip() == "[]"


def test_certificates_are_loaded_for_tls_alone(monkeypatch):
    loaded, load = [], ssl.SSLContext.load_verify_locations

    def count(context, *given, **named):
        loaded.append(context)
        load(context, *given, **named)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", count)
    for base, contexts in (("http://127.0.0.1:9/v1", 0), ("https://127.0.0.1:9/v1", 1)):
        client = Client(base, KEY, 5)
        client.load_openai()
        client.close()
        assert len(loaded) == contexts
        loaded.clear()


def test_a_client_can_be_closed_twice_and_used_again(server):
    client = Client(server.base, KEY, 5.0)
    assert client.load_openai() is client.load_openai()
    client.close()
    client.close()
    client.load_openai()
    client.close()


def test_the_models_of_a_server_are_listed(server, llm):
    server.models = ["b", "a\x1b[2J", "a\x1b[2J", " "]
    assert llm.models() == ["a[2J", "b"]


def test_a_list_of_models_that_is_none_is_an_error(server):
    llm = models_at(server.base + "/nowhere")
    with pytest.raises(errors.NotFound):
        llm.models()
    llm.close()


def test_the_models_say_who_they_are(server, llm):
    described = llm.described
    assert (described.model, described.base, described.demo) == ("wanted-model", server.base, False)


def test_a_summary_is_asked_for_and_checked(server, llm):
    from tests.support.talking import spoken

    server.script("```\nLi Wei has a cat. <blockquote>old</blockquote>\n```")
    assert result_of(llm.summarise("", [spoken("I have a cat.", "Nice.")], CancelToken())) == "Li Wei has a cat."


def test_a_summary_that_was_cut_loses_its_half_sentence(server, llm):
    from tests.support.talking import spoken

    server.script(say("Li Wei has a cat. She is called Mi", "length"))
    assert result_of(llm.summarise("", [spoken("I have a cat.", "Nice.")], CancelToken())) == "Li Wei has a cat."


def test_what_the_program_reads_itself_comes_as_it_was_written_also_where_it_was_cut(server, llm):
    server.script(say('{"notes": [{"turns": [1], "te', "length"))
    assert (
        llm.extract_notes(ExtractionTask([new_message("user", "Hi")]), "en", CancelToken())
        == '{"notes": [{"turns": [1], "te'
    )


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_stands_in_the_thinking_alone_is_taken_where_it_holds_json(server, stream):
    llm = models_at(server.base, stream=stream, patience=Patience(tries=1))
    server.script(say("", reasoning='Well. {"notes": []}'), say("", reasoning="Hm, what now?"))
    assert llm.extract_notes(ExtractionTask([new_message("user", "Hi")]), "en", CancelToken()) == 'Well. {"notes": []}'
    with pytest.raises(errors.BadReply):
        llm.extract_notes(ExtractionTask([new_message("user", "Hi")]), "en", CancelToken())
    llm.close()


def test_a_summary_that_is_stopped_is_none(server, llm):
    from tests.support.talking import spoken

    stop = CancelToken()
    server.script(stream(delta(content="Li "), end="open"))
    timer = stop_soon(stop, server)
    with pytest.raises(errors.Interrupted):
        result_of(llm.summarise("", [spoken("I have a cat.", "Nice.")], stop))
    timer.join()


def test_rounds_too_long_for_the_model_are_folded_in_parts(server, llm):
    from tests.support.talking import spoken

    rounds = [spoken(f"fact {number} " + "x" * 900, "ok", number) for number in range(1, 5)]

    def small(exchange):
        text = exchange.json["messages"][1]["content"]
        if len(text) > 1_600:
            status(400, "too long", error_code="context_length_exceeded")(exchange)
        else:
            say(f"Summary of {text.count('speaker')} turns, after {'Summary' in text}.")(exchange)

    server.script(*[small] * 20)
    assert result_of(llm.summarise("", rounds, CancelToken())) == "Summary of 2 turns, after True."
    assert result_of(llm.summarise("", [spoken("y" * 500_000, "ok")], CancelToken())).startswith("Summary of 2")


def test_a_round_that_the_filter_refuses_is_left_out_of_the_summary(server, llm):
    from tests.support.talking import spoken

    def filtered(exchange):
        text = exchange.json["messages"][1]["content"]
        if "poison" in text:
            status(400, "flagged", error_code="content_filter")(exchange)
        else:
            say("Summary of " + ", ".join(word for word in ("one", "two", "three") if word in text) + ".")(exchange)

    server.script(*[filtered] * 20)
    rounds = [spoken("one", "ok", 1), spoken("poison two", "ok", 2), spoken("three", "ok", 3)]
    steps = llm.summarise("", rounds, CancelToken())
    assert next(steps) == Notice("compaction.left_out", {"rounds": 1})
    assert result_of(steps) == "Summary of one, three."
    assert result_of(llm.summarise("As it was.", rounds[1:2], CancelToken())) == "As it was."
    assert result_of(llm.summarise("", rounds[1:2], CancelToken())) == ""


def test_the_last_event_is_the_reply(server, llm):
    assert isinstance(played(llm.chat(ASKED, CancelToken())).events[-1], Reply)


def test_what_follows_a_fold_is_done_without_where_the_model_refuses_it(server, llm):
    from tests.support.talking import spoken

    def filtered(exchange):
        refused = "poison" in exchange.json["messages"][1]["content"]
        (status(400, "flagged", error_code="content_filter") if refused else say("Summary."))(exchange)

    server.script(*[filtered] * 3)
    following = [spoken("poison", "ok", 2), spoken("later", "ok", 3), spoken("last", "ok", 4)]
    assert result_of(llm.summarise("", [spoken("one", "ok", 1)], CancelToken(), following=following)) == "Summary."
    first, second = (request["messages"][1]["content"] for request in server.chats)
    assert "later" in first
    assert "last" not in first
    assert "next_rounds" not in second
