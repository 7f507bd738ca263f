"""How models misbehave: one table of everything a server may do to us, and what must come of it.

Each row can be played against the models alone, or against the whole program with a terminal. What is stored
is the same in every row that ends in an error: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from domain import errors
from domain.records import Finish
from tests.support.server import (
    Exchange,
    Play,
    ScriptedServer,
    answer,
    closed_port,
    cut_body,
    delta,
    hang,
    hang_up,
    html,
    redirect,
    reset,
    say,
    status,
    stream,
    usage_chunk,
    whole,
)

HELLO = "Hello, old friend."
_WRONG_KEY = {"message": "Incorrect API key provided: sk-test-0123456789abcdef0123", "code": "invalid_api_key"}


@dataclass(frozen=True)
class Fault:
    """One row. ``plays`` has one play a try; the last is played again for every further try.

    Either ``error`` and ``key`` say how it ends, after ``shown`` had been shown, or ``reply`` and ``finish``
    do. ``tries``: how often the server is asked. ``timeout``: the REQUEST_TIMEOUT in seconds that the row
    needs.
    """

    name: str
    plays: tuple[Play, ...] = ()
    error: type[errors.ModelError] | None = None
    key: str = ""
    tries: int = 1
    shown: str = ""
    reply: str = HELLO
    finish: Finish = "stop"
    timeout: float = 10.0
    base: Callable[[ScriptedServer], str] = lambda server: server.base

    @property
    def stored(self) -> bool:
        """Whether a round is stored in the end."""
        return self.error is None

    def script(self, server: ScriptedServer) -> None:
        """Put the row on a server."""
        if self.plays:
            repeated = max(0, self.tries - len(self.plays))
            server.script(*self.plays, *(self.plays[-1],) * repeated)


def _in_a_second(exchange: Exchange) -> None:
    """429 with a date one second from now, by the server's own clock."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    status(429, "slow down", Retry_After=date)(exchange)


def _text(*words: str) -> list[dict[str, object]]:
    return [delta(content=word) for word in words]


_LONG = "x" * 1_000_000
_CUT = b'{"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hel'

UNREACHED = (
    Fault(
        "connection_refused",
        error=errors.Unreachable,
        key="model.unreachable",
        tries=3,
        base=lambda server: f"http://127.0.0.1:{closed_port()}/v1",
    ),
    Fault(
        "dns",
        error=errors.Unreachable,
        key="model.no_such_host",
        tries=3,
        base=lambda server: "http://old-friend.invalid/v1",
    ),
    Fault(
        "tls", error=errors.Insecure, key="model.insecure", base=lambda server: f"https://127.0.0.1:{server.port}/v1"
    ),
    Fault("closed_without_a_word", (hang_up,), errors.Unreachable, "model.connection_lost", tries=3),
    Fault("reset_without_a_word", (reset,), errors.Unreachable, "model.connection_lost", tries=3),
    Fault("hang_before_headers", (hang,), errors.TimedOut, "model.timed_out", tries=2, timeout=0.3),
    Fault("hang_after_headers", (stream(end="open"),), errors.TimedOut, "model.timed_out", tries=2, timeout=0.3),
    Fault(
        "redirect_to_another_host",
        (redirect("http://old-friend.invalid/v1/chat/completions"),),
        errors.NotFound,
        "model.redirected",
    ),
    Fault("redirect_that_loses_the_body", (redirect("/v1/elsewhere", 302),), errors.NotFound, "model.redirected"),
)

REFUSED = (
    Fault("429", (status(429, "slow down"),), errors.RateLimited, "model.rate_limited", tries=3),
    Fault("429_retry_after_seconds", (status(429, "slow down", Retry_After="1"), say(HELLO)), tries=2),
    Fault("429_retry_after_date", (_in_a_second, say(HELLO)), tries=2),
    Fault(
        "429_retry_after_an_hour",
        (status(429, "slow down", Retry_After="3600"),),
        errors.RateLimited,
        "model.rate_limited",
    ),
    Fault(
        "429_insufficient_quota",
        (status(429, "You exceeded your current quota", type="insufficient_quota", error_code="insufficient_quota"),),
        errors.QuotaExhausted,
        "model.quota",
    ),
    Fault("402", (status(402, "Insufficient Balance"),), errors.QuotaExhausted, "model.quota"),
    *(
        Fault(str(code), (status(code, "overloaded"),), errors.ServerFault, "model.server_fault", tries=3)
        for code in (500, 502, 503, 529)
    ),
    Fault("500_then_well", (status(500), say(HELLO)), tries=2),
    Fault("502_with_a_web_page", (html(502),), errors.ServerFault, "model.server_fault", tries=3),
    Fault("401", (answer({"error": _WRONG_KEY}, 401),), errors.Unauthorized, "model.unauthorized"),
    Fault("403", (status(403, "Country, region, or territory not supported"),), errors.Unauthorized, "model.forbidden"),
    Fault(
        "404_model",
        (status(404, "The model `nope` does not exist", error_code="model_not_found"),),
        errors.NotFound,
        "model.no_such_model",
    ),
    Fault(
        "404_model_ollama",
        (status(404, 'model "nope" not found, try pulling it first', type="api_error"),),
        errors.NotFound,
        "model.no_such_model",
    ),
    Fault(
        "400_model_deepseek",
        (status(400, "Model Not Exist", type="invalid_request_error"),),
        errors.NotFound,
        "model.no_such_model",
    ),
    Fault("404_path", (), errors.NotFound, "model.no_such_path", base=lambda server: server.base + "/nowhere"),
    Fault("404_path_web_page", (html(404),), errors.NotFound, "model.no_such_path"),
    Fault("400", (status(400, "temperature must be positive"),), errors.BadRequest, "model.bad_request"),
    Fault(
        "context_openai",
        (
            status(
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                type="invalid_request_error",
                error_code="context_length_exceeded",
            ),
        ),
        errors.ContextTooLong,
        "model.context_too_long",
    ),
    Fault(
        "context_llama_cpp",
        (
            answer(
                {
                    "error": {
                        "code": 400,
                        "message": "the request exceeds the available context size, try increasing it",
                        "type": "exceed_context_size_error",
                        "n_prompt_tokens": 9000,
                        "n_ctx": 8192,
                    }
                },
                400,
            ),
        ),
        errors.ContextTooLong,
        "model.context_too_long",
    ),
    Fault(
        "context_vllm",
        (
            answer(
                {
                    "object": "error",
                    "message": "This model's maximum context length is 8192 tokens. However, you "
                    "requested 9000 tokens (8500 in the messages, 500 in the completion).",
                    "type": "BadRequestError",
                    "param": None,
                    "code": 400,
                },
                400,
            ),
        ),
        errors.ContextTooLong,
        "model.context_too_long",
    ),
    Fault(
        "content_filter_error",
        (status(400, "The response was filtered", error_code="content_filter"),),
        errors.ContentFiltered,
        "model.content_filtered",
    ),
    Fault(
        "content_filter_finish", (stream(delta("content_filter")),), errors.ContentFiltered, "model.content_filtered"
    ),
    Fault(
        "content_filter_after_words",
        (stream(*_text("Well, "), delta("content_filter")),),
        errors.ContentFiltered,
        "model.content_filtered",
        shown="Well, ",
    ),
)

MALFORMED = (
    Fault("empty_reply", (say("", pieces=()),), errors.BadReply, "model.empty_reply", tries=3),
    Fault("white_space_only", (say(" \n ", pieces=(" ", "\n ")),), errors.BadReply, "model.empty_reply", tries=3),
    Fault(
        "thinking_only",
        (say("", pieces=(), reasoning="hm, hm"),),
        errors.BadReply,
        "model.only_thinking",
        shown="[hm, hm]",
    ),
    Fault("choices_empty", (answer({**whole(""), "choices": []}),), errors.BadReply, "model.empty_reply", tries=3),
    Fault("choices_null", (answer({**whole(""), "choices": None}),), errors.BadReply, "model.empty_reply", tries=3),
    Fault("content_is_a_number", (answer(whole(42)),), errors.BadReply, "model.empty_reply", tries=3),
    Fault("content_null", (answer(whole(None)),), errors.BadReply, "model.empty_reply", tries=3),
    Fault(
        "error_body_with_200",
        (answer({"error": {"message": "upstream broke", "code": 502}}),),
        errors.ServerFault,
        "model.server_fault",
        tries=3,
    ),
    Fault(
        "error_words_with_200", (answer({"error": "something odd"}),), errors.BadReply, "model.error_in_reply", tries=3
    ),
    Fault("html_with_200", (html(),), errors.BadReply, "model.html_reply", tries=3),
    Fault("nothing_with_200", (answer(b""),), errors.BadReply, "model.cut_reply", tries=3),
    Fault(
        "plain_text_with_200", (answer("ok", content_type="text/plain"),), errors.BadReply, "model.cut_reply", tries=3
    ),
    Fault("cut_json", (cut_body(_CUT, len(_CUT) + 100),), errors.BadReply, "model.cut_reply", tries=3),
    Fault("malformed_json", (answer(_CUT),), errors.BadReply, "model.malformed_reply", tries=3),
    Fault("deeply_nested_json", (answer(b"[" * 200_000),), errors.BadReply, "model.malformed_reply", tries=3),
    Fault(
        "broken_compression",
        (answer(b"not gzip", Content_Encoding="gzip"),),
        errors.BadReply,
        "model.malformed_reply",
        tries=3,
    ),
    Fault("stream_cut", (stream(*_text("Hello"), end="cut"),), errors.BadReply, "model.cut_reply", shown="Hello"),
    Fault("stream_reset", (stream(*_text("Hello"), end="reset"),), errors.BadReply, "model.cut_reply", shown="Hello"),
    Fault("stream_cut_before_words", (stream(delta(role="assistant"), end="cut"), say(HELLO)), tries=2),
    Fault(
        "no_finish_reason", (stream(*_text("Hello"), end="clean"),), errors.BadReply, "model.cut_reply", shown="Hello"
    ),
    Fault("done_without_finish_reason", (stream(*_text("Hello")),), errors.BadReply, "model.cut_reply", shown="Hello"),
    Fault(
        "error_event",
        (stream(*_text("Hello"), {"error": {"message": "overloaded", "code": 529}}),),
        errors.ServerFault,
        "model.server_fault",
        shown="Hello",
    ),
    Fault("error_event_before_words", (stream({"error": {"message": "overloaded", "code": 529}}), say(HELLO)), tries=2),
    Fault(
        "bad_line",
        (stream(*_text("Hello"), b"data: {not json\n\n"),),
        errors.BadReply,
        "model.malformed_reply",
        shown="Hello",
    ),
    Fault(
        "finish_reason_error",
        (stream(*_text("Hello"), delta("error")),),
        errors.ServerFault,
        "model.server_fault",
        shown="Hello",
    ),
)

FORGIVEN = (
    Fault("slow_tokens", (say(HELLO, pause=0.25),)),
    Fault("length", (say(HELLO, "length"),), finish="length"),
    Fault("a_whole_reply_where_a_stream_was_asked", (answer(whole(HELLO)),)),
    Fault(
        "invalid_utf8",
        (stream(b'data: {"choices":[{"index":0,"delta":{"content":"caf\xff\xfe!"}}]}\n\n', delta("stop")),),
        reply="caf\ufffd\ufffd!",
    ),
    Fault("lone_surrogate", (stream(*_text("a\ud83d", "b\udc00c"), delta("stop")),), reply="a\ufffdb\ufffdc"),
    Fault("one_character_in_two_halves", (stream(*_text("a\ud83d", "\ude00"), delta("stop")),), reply="a😀"),
    Fault("nul_and_escapes", (stream(*_text("a\x00b\x1b[31m"), delta("stop")),), reply="ab[31m"),
    Fault("comments", (stream(b": keep-alive\n\n", *_text(HELLO), b":\n\n", delta("stop"), b": bye\n\n"),)),
    Fault("odd_lines", (stream(b"id: 7\nretry: 3\nwhat is this\nevent: message\n", *_text(HELLO), delta("stop")),)),
    Fault(
        "no_empty_lines_between_events",
        (
            stream(
                b'data: {"choices":[{"delta":{"content":"Hello, "}}]}\ndata: {"choices":[{"delta":{"content":'
                b'"old friend."},"finish_reason":"stop"}]}\n'
            ),
        ),
    ),
    Fault(
        "carriage_returns",
        (
            stream(
                b'data: {"choices":[{"delta":{"content":"Hello, old friend."}, "finish_reason":"stop"}]}\r\n\r', b"\n"
            ),
        ),
    ),
    Fault("usage_chunk", (stream(*_text(HELLO), delta("stop"), usage_chunk()),)),
    Fault("reset_after_the_end", (stream(*_text(HELLO), delta("stop"), end="reset"),)),
    Fault("open_after_the_end", (stream(*_text(HELLO), delta("stop"), end="open"),)),
    Fault("reasoning_content", (say(HELLO, reasoning="Let me think. "),)),
    Fault("reasoning_field", (say(HELLO, reasoning="Let me think. ", field="reasoning"),)),
    Fault("think_section", (say(HELLO, pieces=("<thi", "nk>Let me", " think.</th", "ink>\n\n", HELLO)),)),
    Fault(
        "one_megabyte", (say(_LONG, pieces=[_LONG[at : at + 1000] for at in range(0, len(_LONG), 1000)]),), reply=_LONG
    ),
    Fault(
        "unclosed_tags",
        (say("<think" * 5_000 + "<blockquote>" * 5_000),),
        reply="<think" * 5_000 + "<blockquote>" * 5_000,
    ),
)

FAULTS: tuple[Fault, ...] = (*UNREACHED, *REFUSED, *MALFORMED, *FORGIVEN)
