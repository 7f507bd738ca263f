"""Models that misbehave: every row of the table of faults ends as it says, and nothing is taken for a reply
that is none.
"""

from __future__ import annotations

import logging

import pytest

from domain.workers import CancelToken
from models.chat import Patience
from tests.support.faults import FAULTS, Fault
from tests.support.server import ScriptedServer, answer, delta, redirect, status, stream, whole
from tests.support.talking import ASKED, KEY, models_at, played


@pytest.fixture
def server():
    with ScriptedServer() as opened:
        yield opened


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_ends_as_the_table_says(fault: Fault, server):
    fault.script(server)
    llm = models_at(fault.base(server), request_timeout=fault.timeout)
    found = played(llm.chat(ASKED, CancelToken()))
    llm.close()
    assert len(found.retries) == fault.tries - 1
    if fault.error is None:
        assert found.error is None
        assert found.reply.text == fault.reply
        assert found.reply.finish == fault.finish
        assert found.text.strip() == fault.reply
    else:
        assert type(found.error) is fault.error
        assert found.error.key == fault.key
        assert found.reply is None
        assert found.text + (f"[{found.reasoning}]" if found.reasoning else "") == fault.shown
        assert found.error.details["shown"] == len(found.text)
        assert {"status", "said", "model", "base"} <= set(found.error.details)
    assert KEY not in str(found.error)


def test_every_fault_has_a_name_of_its_own():
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names)


def test_a_retry_tells_why_and_for_how_long(server):
    server.script(status(500, "tired"), "Hello.")
    llm = models_at(server.base, patience=Patience(first=0.01, jitter=lambda: 1.0))
    retry = played(llm.chat(ASKED, CancelToken())).retries[0]
    llm.close()
    assert (retry.attempt, retry.tries, retry.seconds) == (2, 3, pytest.approx(0.015))
    assert retry.error.details["said"] == "tired"
    assert retry.error.details["status"] == 500


def test_the_pause_doubles_and_never_undercuts_what_the_server_asks():
    from domain import errors

    patience = Patience(first=1.0, jitter=lambda: 0.0)
    limited = errors.RateLimited()
    assert [patience.pause_before_next(failed, limited) for failed in (1, 2, 3)] == [1.0, 2.0, None]
    limited.retry_after = 20.0
    assert patience.pause_before_next(1, limited) == 20.0
    limited.retry_after = 61.0
    assert patience.pause_before_next(1, limited) is None
    assert patience.pause_before_next(1, errors.QuotaExhausted()) is None


def test_no_key_is_sent_to_another_host(server):
    with ScriptedServer() as other:
        server.script(redirect(f"http://localhost:{other.port}/v1/chat/completions"))
        llm = models_at(server.base)
        error = played(llm.chat(ASKED, CancelToken())).error
        llm.close()
        assert error.key == "model.redirected"
        assert error.details["location"] == f"http://localhost:{other.port}/v1/chat/completions"
        assert other.requests == []


def test_a_redirect_on_the_same_host_is_followed(server):
    server.script(redirect("/v1/chat/completions?again"), "Hello.")
    llm = models_at(server.base)
    assert played(llm.chat(ASKED, CancelToken())).reply.text == "Hello."
    llm.close()


def test_a_key_in_the_servers_words_is_masked(server):
    server.script(status(401, f"Incorrect API key provided: {KEY}."))
    llm = models_at(server.base)
    error = played(llm.chat(ASKED, CancelToken())).error
    llm.close()
    assert error.details["said"] == "Incorrect API key provided: [secret]."


def test_the_servers_words_are_one_inert_line(server):
    server.script(status(400, "no\x1b[2J\n\u202eway " + "x" * 5000))
    llm = models_at(server.base)
    said = played(llm.chat(ASKED, CancelToken())).error.details["said"]
    llm.close()
    assert said.startswith("no[2J way x")
    assert len(said) <= 200


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ({"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}, 8192),
        ({"error": {"message": "too big", "type": "exceed_context_size_error", "n_ctx": 4096}}, 4096),
        ({"error": {"message": "prompt is too long"}}, None),
    ],
)
def test_a_prompt_that_is_too_long_tells_how_much_fits(server, body, limit):
    server.script(answer(body, 400))
    llm = models_at(server.base)
    error = played(llm.chat(ASKED, CancelToken())).error
    llm.close()
    assert error.details["limit"] == limit


@pytest.mark.parametrize(
    ("body", "code", "key"),
    [
        ({"detail": "Not Found"}, 404, "model.no_such_path"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, 422, "model.bad_request"),
        ({"code": "Arrearage", "message": "Access denied, account overdue"}, 400, "model.quota"),
        ({"error": {"message": "API key not valid. Please pass a valid API key."}}, 400, "model.unauthorized"),
        ({"error": {"message": "Content Exists Risk"}}, 400, "model.content_filtered"),
        ({"error": {"message": "输入内容包含敏感信息", "code": "1301"}}, 400, "model.content_filtered"),
        ({"error": {"message": "余额不足", "code": "1113"}}, 429, "model.quota"),
        ({"error": {"message": "Request too large"}}, 413, "model.context_too_long"),
        ("upstream request timeout", 504, "model.timed_out"),
        ({"error": None}, 418, "model.bad_request"),
        ([1, 2], 500, "model.server_fault"),
    ],
)
def test_errors_are_known_in_the_forms_that_servers_use(server, body, code, key):
    server.script(*[answer(body, code)] * 3)
    llm = models_at(server.base)
    error = played(llm.chat(ASKED, CancelToken())).error
    llm.close()
    assert error.key == key


def test_a_whole_reply_is_checked_like_a_streamed_one(server):
    server.script(answer(whole(" Hi. ", "length")), *[answer(whole("Hi.", None))] * 3)
    llm = models_at(server.base, stream=False)
    first, second = played(llm.chat(ASKED, CancelToken())), played(llm.chat(ASKED, CancelToken()))
    llm.close()
    assert (first.reply.text, first.reply.finish) == ("Hi.", "length")
    assert second.error.key == "model.cut_reply"
    assert "stream" not in server.chats[0]


def test_a_server_that_refuses_to_count_tokens_is_asked_without(server):
    server.script(status(400, "Unrecognized request argument supplied: stream_options"), "Hello.", "Again.")
    llm = models_at(server.base)
    first, second = played(llm.chat(ASKED, CancelToken())), played(llm.chat(ASKED, CancelToken()))
    llm.close()
    assert (first.reply.text, second.reply.text, first.retries) == ("Hello.", "Again.", [])
    assert ["stream_options" in request for request in server.chats] == [True, False, False]


def test_a_prompt_that_was_silently_cut_is_noticed(server):
    from llm import PromptMessage
    from tests.support.server import say

    long = (PromptMessage("user", "All happy families are alike. " * 2_000),)
    server.script(say("Hm.", prompt_tokens=2_048), say("Hm.", prompt_tokens=13_000), say("Hm.", prompt_tokens=0))
    llm = models_at(server.base)
    assert [played(llm.chat(long, CancelToken())).reply.truncated for _ in range(3)] == [True, False, False]
    llm.close()


def test_thinking_is_told_apart_from_the_reply(server):
    server.script(stream(delta(reasoning_content="one "), delta(content="<think>two</think>three"), delta("stop")))
    llm = models_at(server.base)
    found = played(llm.chat(ASKED, CancelToken()))
    llm.close()
    assert (found.reasoning, found.text, found.reply.text) == ("one two", "three", "three")


def test_a_reply_longer_than_any_limit_is_cut_and_marked(server):
    from models.chat import CollectedReply, Part

    collected = CollectedReply(limit=10)
    collected.add_part(Part(text="123456"))
    collected.add_part(Part(text="789abcdef"))
    assert collected.is_full
    assert (collected.make_reply(None, "m", 0.0, False).text, collected.make_reply(None, "m", 0.0, False).finish) == (
        "123456789a",
        "length",
    )


def test_a_fault_leaves_its_words_in_the_log_and_never_the_key(server, caplog):
    log = logging.getLogger("old-friend-test")
    log.setLevel(logging.DEBUG)
    server.script(status(401, f"bad key {KEY}"), "Hello.")
    llm = models_at(server.base, log)
    played(llm.chat(ASKED, CancelToken()))
    played(llm.chat(ASKED, CancelToken()))
    llm.close()
    written = "\n".join(record.getMessage() for record in caplog.records)
    assert "You are kind." in written
    assert "Hello?" in written
    assert "Hello." in written
    assert "wanted-model" in written
    assert "401" in written
    assert KEY not in written
