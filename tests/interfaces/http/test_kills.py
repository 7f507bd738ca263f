"""``kill -9``, a power cut and a full disk in the middle of requests, through the APIs that programs use."""

from __future__ import annotations

import http.client
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.service.known import LYON
from tests.support.house import friend, marked
from tests.support.program import _read as rows
from tests.support.program import connected
from tests.support.served import Server, ended, program, until
from tests.support.server import Exchange, ScriptedServer, hang, say
from tests.torture import http_clients

BUILT_IN = {"EMBEDDING_MODEL": "built-in"}
CHAT, COMPLETIONS = "/api/v1/chat", "/v1/chat/completions"


class Model(ScriptedServer):
    """Answers as a friend, notes that Ann lives in Lyon, and never answers what is held."""

    def __init__(self) -> None:
        super().__init__()
        self.holds = True

    def play(self, exchange: Exchange) -> None:
        """Answer one request."""
        if exchange.request.path != "/v1/chat/completions":
            super().play(exchange)
        elif self.holds and (marked(exchange.json, "notes") or "Never" in self.said(exchange.json)):
            hang(exchange)
        elif marked(exchange.json, "notes"):
            say(LYON)(exchange)
        else:
            say(friend(exchange.json))(exchange)

    @staticmethod
    def said(request: Any) -> str:
        """The last words of a prompt."""
        return str(request["messages"][-1]["content"])

    def held(self) -> int:
        """How many requests came that are never answered."""
        return sum(marked(one, "notes") or "Never" in self.said(one) for one in self.chats)


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


def messages(*said: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "model": "old-friend",
        "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)],
    }


def begun(server: Server, path: str, body: Any) -> http.client.HTTPConnection:
    """A request that is under way."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return line


def said(home: Path) -> list[str]:
    """What the person said, in the order in which it is stored."""
    found = rows(home, "SELECT text FROM conversation WHERE role = 'user' ORDER BY seq")
    return [text.removeprefix("User: ") for (text,) in found]


def test_killed_in_the_middle_each_request_has_stored_what_it_answered_and_nothing_else_and_jobs_go_on(
    tmp_path: Path, model: Model
) -> None:
    settings = connected(model.base, **BUILT_IN)
    with program(tmp_path, **settings) as server, ExitStack() as lines:
        for path, text in ((CHAT, "I am Ann."), (COMPLETIONS, "I have a boat.")):
            assert server.ask("POST", path, messages(text)).status == 200
        whole = server.ask("POST", COMPLETIONS, messages("It is green.") | {"stream": True})
        assert b"[DONE]" in whole.body
        event = {"input": "My sister Ann lives in Lyon.", "user_id": "me"}
        assert server.ask("POST", "/process", event).status == 200
        assert server.ask("POST", "/end-session", {"user_id": "me"}).status == 200
        for path, body in (
            (CHAT, messages("Never one.")),
            (COMPLETIONS, messages("Never two.")),
            (COMPLETIONS, messages("Never three.") | {"stream": True}),
        ):
            lines.enter_context(closing(begun(server, path, body)))
        until(lambda: model.held() == 4)
        assert server.process
        server.process.kill()
        server.process.wait(60)
    answered = ["I am Ann.", "I have a boat.", "It is green.", "My sister Ann lives in Lyon."]
    assert said(tmp_path) == answered
    assert rows(tmp_path, "SELECT count(*) FROM note") == [(0,)]
    model.holds = False
    with program(tmp_path, **settings) as server:
        for path, text in ((CHAT, "Never one."), (COMPLETIONS, "Never two."), (CHAT, "I am Ann.")):
            assert server.ask("POST", path, messages(text)).status == 200
        until(lambda: rows(tmp_path, _ARCHIVED) == [(1,)])
        assert ended(server)[0] == 0
    assert rows(tmp_path, "SELECT count(*) FROM note") == [(1,)]
    assert sorted(said(tmp_path)) == sorted([*answered, "Never one.", "Never two."])
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


_ARCHIVED = "SELECT count(*) FROM session WHERE client = 'service' AND status = 'archived'"


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_what_was_answered_survives_a_power_cut() -> None:
    tried = http_clients.cut(stride=40)
    assert tried.violations == []
    assert tried.points > 20


def test_on_a_full_disk_what_is_answered_is_stored_and_what_is_refused_can_be_sent_again() -> None:
    tried = http_clients.full((0, 24))
    assert tried.violations == []
    if tried.skipped:
        pytest.skip(tried.skipped)
