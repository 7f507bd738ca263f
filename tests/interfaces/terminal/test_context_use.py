"""How full the context is: in /status, and under a reply before it is too late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.support.house import friend, marked
from tests.support.server import ScriptedServer, delta, say, stream


def counting(tokens: int) -> Any:
    """A reply whose server counted this many tokens in the prompt."""
    return say("I see.", prompt_tokens=tokens)


def test_a_prompt_that_fills_most_of_the_context_is_told_under_the_reply_and_in_status(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(counting(12_000), counting(120_000))
    terminal = chat(columns=110, rows=60, **connected)
    terminal.prompt()
    terminal.say("one")
    terminal.see("I see.")
    terminal.prompt()
    assert "The prompt is long" not in terminal.text()
    terminal.say("/status")
    terminal.see("12,000 tokens in the last prompt (9% of 128,000; the model's real limit is unknown)")
    terminal.prompt()
    terminal.say("/context")
    terminal.see("your message: about 1 token\n")
    terminal.prompt()
    terminal.say("two")
    terminal.see(
        "The prompt is long: 120,000 tokens (94% of 128,000). /save starts a new session and keeps everything."
    )


def test_what_a_server_did_not_count_is_not_told(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    server.script(stream(delta(content="I see."), delta("stop")))
    terminal = chat(columns=110, rows=60, **connected)
    terminal.prompt()
    terminal.say("one")
    terminal.see("I see.")
    terminal.prompt()
    terminal.say("/status all")
    terminal.see("version")
    assert "None" not in terminal.text()


def test_the_limit_that_a_server_names_when_it_refuses_a_prompt_is_the_limit_from_then_on(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    refusal = {
        "error": {
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    }
    server.script(counting(10), lambda exchange: exchange.send(400, refusal), counting(4_000))
    terminal = chat(columns=110, rows=60, **connected)
    terminal.prompt()
    for at, text in enumerate(("one", "two"), 1):
        terminal.say(text)
        terminal.see("I see.", times=at)
        terminal.prompt()
    terminal.see("98% of what the model can read is used (4,000 of 4,096 tokens).")
    terminal.say("/status")
    terminal.see("4,000 of 4,096 tokens (98%) in the last prompt")


@pytest.mark.parametrize(
    ("language", "said", "tasks"),
    [
        (
            "en",
            ("I live in Lyon.", "Please forget everything I said about Lyon and never mention it again.", "It rains."),
            ("requests to forget", "verification"),
        ),
        ("zh", ("我住在里昂。", "请把我说过的关于里昂的事全都忘掉，以后别再提。", "下雨了。"), ("忘记请求", "核对")),
    ],
)
def test_status_counts_what_each_task_behind_the_talk_took(
    chat: Chat,
    server: ScriptedServer,
    connected: dict[str, str],
    language: str,
    said: Sequence[str],
    tasks: Sequence[str],
) -> None:
    none = '{"asks": "nothing", "turns": []}'
    server.answer = lambda request: none if marked(request, "forget") else friend(request)
    terminal = chat(columns=250, rows=90, LANGUAGE=language, GREETING="off", **connected)
    terminal.prompt()
    for line in (*said, "/save", "/status all"):
        terminal.say(line)
        terminal.prompt()
    for task in tasks:
        terminal.see(f"{task} 100,005")
