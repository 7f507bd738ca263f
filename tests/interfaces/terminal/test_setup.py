"""``/setup`` in a real terminal against a real server on loopback."""

from __future__ import annotations

import io
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from dotenv import dotenv_values

from interfaces.messages import Words
from language.scripts import Language
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal
from tests.support.server import Exchange, ScriptedServer, closed_port, hang, say, status

KEY = "sk-setup-0123456789abcdef"


def other(terminal: Terminal, base: str) -> None:
    """Begin the set-up and name a server."""
    terminal.prompt()
    terminal.say("/setup")
    terminal.see("another one: enter its base URL")
    terminal.see("Number [1]:")
    number = re.findall(r"(\d+)  another one", terminal.text())[-1]
    terminal.send(f"{number}\r")
    terminal.see("Base URL:")
    terminal.send(f"{base}\r")


def env(tmp_path: Path) -> dict[str, str | None]:
    return dotenv_values(stream=io.StringIO((tmp_path / "env").read_text(encoding="utf-8")), interpolate=False)


def test_setup_connects_a_model_and_writes_all_settings_for_the_owner(
    chat: Chat, server: ScriptedServer, tmp_path: Path
) -> None:
    server.models = ["chat-large", "chat-small", "text-embed-1"]
    terminal = chat(columns=150, rows=40)
    other(terminal, server.base.removesuffix("/v1"))
    terminal.see("Key (not shown")
    terminal.send(f"{KEY}\r")
    terminal.see("Models (Tab completes): chat-large, chat-small")
    terminal.send("sma\t")
    terminal.wait(lambda: "chat-small" in terminal.line(), "the completed model")
    terminal.send("\r")
    terminal.see("chat-small answers.")
    terminal.see("Send every message")
    terminal.see("[y/N]")
    terminal.send("y\r")
    terminal.see("What is your companion called?")
    terminal.send("Ada\r")
    terminal.see("What should it call you?")
    terminal.send("\r")
    terminal.see("Who is it?")
    terminal.send("Ada is calm, she's “wise”.\r")
    terminal.see("speak first")
    terminal.send("n\r")
    terminal.see("is saved, readable only by you")
    terminal.prompt()
    assert KEY.encode() not in terminal.raw
    assert stat.S_IMODE((tmp_path / "env").stat().st_mode) == 0o600
    found = env(tmp_path)
    assert found["OPENAI_API_BASE"] == server.base
    assert found["OPENAI_API_KEY"] == KEY
    assert (found["CHAT_MODEL"], found["EMBEDDING_MODEL"]) == ("chat-small", "text-embed-1")
    assert (found["COMPANION_NAME"], found["GREETING"]) == ("Ada", "off")
    assert "# MAX_CONV_NUM=20" in (tmp_path / "env").read_text(encoding="utf-8")
    assert (tmp_path / "data/persona/self_image.txt").read_text(encoding="utf-8") == "Ada is calm, she's “wise”.\n"
    terminal.say("hello Ada")
    terminal.see("You said: hello Ada")
    assert server.chats[-1]["model"] == "chat-small"
    assert "Ada is calm" in server.chats[-1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("language", "person", "persona"),
    [
        ("en", "What should it call you? (Enter keeps Ann):", "(Enter keeps its persona as it is):"),
        ("zh", "怎么称呼你？（按 Enter 沿用“Ann”）：", "（按 Enter 则不变）："),
    ],
)
def test_what_is_set_already_is_kept_by_enter_and_the_question_says_so(
    chat: Chat, server: ScriptedServer, tmp_path: Path, language: Language, person: str, persona: str
) -> None:
    (tmp_path / "env").write_text(f"USER_NAME=Ann\nLANGUAGE={language}\n")
    (tmp_path / "data/persona").mkdir(parents=True)
    (tmp_path / "data/persona/self_image.txt").write_text("Calm.\n", encoding="utf-8")
    say = Words(language).say
    terminal = chat(columns=150, rows=40)
    terminal.prompt()
    terminal.say("/setup")
    terminal.see(say("setup.choose", default=1))
    terminal.send(re.findall(rf"(\d+)  {re.escape(say('setup.other'))}", terminal.text())[-1] + "\r")
    terminal.see(say("setup.base"))
    terminal.send(f"{server.base}\r")
    called = say("setup.companion", default="")[:6]
    for question in (say("setup.key")[:6], say("setup.model", default="")[:3], called, person, persona, "y/n"):
        terminal.see(question)
        terminal.send("\r")
    terminal.see(say("setup.written", path="")[-10:])
    assert env(tmp_path)["USER_NAME"] == "Ann"
    assert (tmp_path / "data/persona/self_image.txt").read_text(encoding="utf-8") == "Calm.\n"


def asked(server: ScriptedServer) -> list[tuple[str, str]]:
    """The method and the path of every request."""
    return [(request.method, request.path) for request in server.requests]


class Slow(ScriptedServer):
    """Takes every request and answers none of those with a ``slow`` method."""

    slow = ("GET", "POST")

    def play(self, exchange: Exchange) -> None:
        (hang if exchange.request.method in self.slow else super().play)(exchange)


LISTED, GENERATED = ("GET", "/v1/models"), ("POST", "/v1/chat/completions")


def test_a_server_that_says_nothing_is_asked_once_for_its_models_and_once_for_a_word(
    chat: Chat, tmp_path: Path
) -> None:
    with Slow() as server:
        terminal = chat(columns=150, rows=40, REQUEST_TIMEOUT="2")
        other(terminal, server.base)
        terminal.see("Key (not shown")
        terminal.send("\r")
        terminal.see(f"asking {server.base} … 1 s · Ctrl-C stops")
        terminal.see(f"{server.base} did not answer")
        assert asked(server) == [LISTED]
        terminal.see("Model [")
        terminal.send("big\r")
        terminal.see("trying big … 1 s")
        terminal.see("Save it anyway?")
        terminal.send("y\r")
        terminal.see("What is your companion called?")
        assert asked(server) == [LISTED, GENERATED]


@pytest.mark.parametrize("slow", ["GET", "POST"])
def test_ctrl_c_leaves_while_a_slow_server_is_waited_for(chat: Chat, tmp_path: Path, slow: str) -> None:
    with Slow() as server:
        server.slow = (slow,)
        terminal = chat(columns=150, rows=40)
        other(terminal, server.base)
        terminal.see("Key (not shown")
        terminal.send("\r")
        if slow == "POST":
            terminal.see("Model [")
            terminal.send("\r")
        terminal.see(" … 1 s")
        terminal.send("\x03")
        terminal.see("Nothing was changed.")
        terminal.prompt()
        assert asked(server) == ([LISTED] if slow == "GET" else [LISTED, GENERATED])
        assert (tmp_path / "env").read_text() == ""


def test_one_listing_and_one_generation_that_is_hung_up_at_its_first_word(
    chat: Chat, server: ScriptedServer, tmp_path: Path
) -> None:
    terminal = chat(columns=150, rows=40)
    server.script(say("", pieces=["word "] * 2_000, pause=0.05))
    other(terminal, server.base)
    for question in ("Key (not shown", "Model [", "What is your", "What should it", "Who is it?", "speak first"):
        terminal.see(question)
        terminal.send("\r")
    terminal.see("is saved, readable only by you")
    assert asked(server) == [LISTED, GENERATED]
    assert env(tmp_path)["OPENAI_API_BASE"] == server.base


def test_a_plain_screen_says_once_what_is_waited_for(chat: Chat) -> None:
    with Slow() as server:
        terminal = chat(columns=150, rows=40, TERM="dumb", REQUEST_TIMEOUT="2")
        terminal.see(">")
        terminal.send("/setup\r")
        terminal.see("Number [1]:")
        terminal.send(re.findall(r"(\d+)  another one", terminal.text())[-1] + "\r")
        terminal.see("Base URL:")
        terminal.send(f"{server.base}\r")
        terminal.see("Key (not shown")
        terminal.send("\r")
        terminal.see("did not answer")
        assert terminal.text().count(f"asking {server.base} …") == 1


class ListsAnywhere(ScriptedServer):
    """Lists its models at any address, and chats under ``/v1`` alone."""

    def play(self, exchange: Exchange) -> None:
        if exchange.request.path == "/models":
            exchange = replace(exchange, request=replace(exchange.request, path="/v1/models"))
        super().play(exchange)


def test_an_address_that_lists_models_and_does_not_chat_is_tried_with_v1(chat: Chat, tmp_path: Path) -> None:
    with ListsAnywhere() as server:
        terminal = chat(columns=150, rows=40)
        other(terminal, server.base.removesuffix("/v1"))
        for question in ("Key (not shown", "Model [", "What is your", "What should it", "Who is it?", "speak first"):
            terminal.see(question)
            terminal.send("\r")
        terminal.see(f"The address that answers is {server.base}.")
        terminal.see("is saved, readable only by you")
        assert env(tmp_path)["OPENAI_API_BASE"] == server.base


@pytest.mark.parametrize("after", ["Number [1]:", "Base URL:", "Key (not shown", "Model [", "What is your companion"])
def test_ctrl_c_at_any_question_leaves_nothing_half_written(
    chat: Chat, server: ScriptedServer, tmp_path: Path, after: str
) -> None:
    (tmp_path / "env").write_text("MAX_CONV_NUM=17\n")
    terminal = chat(columns=150)
    terminal.prompt()
    terminal.say("/setup")
    steps = [
        ("Number [1]:", None),
        ("Base URL:", server.base),
        ("Key (not shown", ""),
        ("Model [", ""),
        ("What is your", ""),
    ]
    for question, answer in steps:
        terminal.see(question)
        if question.startswith(after[:12]):
            terminal.send("\x03")
            break
        given = re.findall(r"(\d+)  another one", terminal.text())[-1] if answer is None else answer
        terminal.send(f"{given}\r")
    terminal.see("Nothing was changed.")
    terminal.prompt()
    assert (tmp_path / "env").read_text() == "MAX_CONV_NUM=17\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "env"]


def test_settings_that_stood_in_the_file_are_kept(chat: Chat, server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "env").write_text("MAX_CONV_NUM=7\nREFRESH_EVERY_CONV_NUM=3\nOTHER_PROGRAM='its value'\n")
    terminal = chat(columns=150)
    other(terminal, server.base)
    for question in (
        "Key (not shown",
        "Model [",
        "What is your companion",
        "What should it call",
        "Who is it?",
        "speak first",
    ):
        terminal.see(question)
        terminal.send("\r")
    terminal.see("is saved, readable only by you")
    terminal.prompt()
    found = env(tmp_path)
    assert (found["MAX_CONV_NUM"], found["REFRESH_EVERY_CONV_NUM"], found["OTHER_PROGRAM"]) == ("7", "3", "its value")


def test_a_model_that_does_not_answer_is_asked_again_and_written_only_after_a_yes(
    chat: Chat, server: ScriptedServer, tmp_path: Path
) -> None:
    missing = status(404, "The model `x` does not exist", error_code="model_not_found")
    server.script(missing, missing)
    terminal = chat(columns=150)
    other(terminal, server.base)
    terminal.see("Key (not shown")
    terminal.send("\r")
    terminal.see("Model [")
    terminal.send("wrong-name\r")
    terminal.see("has no model wrong-name. Enter another name.")
    terminal.see("Model [wrong-name]:")
    terminal.send("\r")
    terminal.see("Save it anyway?")
    terminal.send("\r")
    terminal.see("Model [wrong-name]:", times=2)
    terminal.send("right-name\r")
    terminal.see("right-name answers.")
    terminal.see("What is your companion called?")
    terminal.send("\x03")
    terminal.see("Nothing was changed.")
    assert (tmp_path / "env").read_text() == ""


class AsksForAKey(ScriptedServer):
    """Takes one key and no other."""

    def play(self, exchange: Exchange) -> None:
        if KEY not in exchange.request.headers.get("authorization", ""):
            status(401)(exchange)
        else:
            super().play(exchange)


def test_a_wrong_key_is_said_in_one_sentence_and_asked_again(chat: Chat, tmp_path: Path) -> None:
    with AsksForAKey() as server:
        terminal = chat(columns=150, rows=40)
        other(terminal, server.base)
        terminal.see("Key (not shown")
        terminal.send("sk-wrong-0123456789\r")
        terminal.see(f"{server.base} rejects this key. Enter another one.\n")
        terminal.see("Key (not shown; Enter keeps …6789):")
        terminal.send(f"{KEY}\r")
        for question in ("Model [", "What is your companion", "What should it call", "Who is it?", "speak first"):
            terminal.see(question)
            terminal.send("\r")
        terminal.see("is saved, readable only by you")
        assert "?." not in terminal.text()
        assert "Nothing was changed" not in terminal.text()
        assert env(tmp_path)["OPENAI_API_KEY"] == KEY


def test_an_address_where_nothing_answers_is_asked_again(chat: Chat, server: ScriptedServer, tmp_path: Path) -> None:
    terminal = chat(columns=150, rows=40)
    nowhere = f"http://127.0.0.1:{closed_port()}/v1"
    other(terminal, nowhere)
    terminal.see("Key (not shown")
    terminal.send("\r")
    terminal.see("Enter the address again.")
    terminal.see(f"Base URL (Enter keeps {nowhere}):")
    terminal.send(f"{server.base}\r")
    for question in ("Model [", "What is your companion", "What should it call", "Who is it?", "speak first"):
        terminal.see(question)
        terminal.send("\r")
    terminal.see("is saved, readable only by you")
    assert env(tmp_path)["OPENAI_API_BASE"] == server.base


def test_a_key_goes_to_another_server_only_when_the_person_says_so(
    chat: Chat, server: ScriptedServer, tmp_path: Path
) -> None:
    terminal = chat(columns=150, rows=40)
    other(terminal, f"http://127.0.0.1:{closed_port()}/v1")
    terminal.see("Key (not shown")
    terminal.send(f"{KEY}\r")
    terminal.see("Base URL (Enter keeps")
    terminal.send(f"{server.base}\r")
    terminal.see("Enter keeps …cdef):")
    assert server.requests == []
    terminal.send("\r")
    terminal.see("Model [")
    assert all(KEY in request.headers["authorization"] for request in server.requests)


def test_no_message_is_sent_for_vectors_unless_the_person_says_yes(
    chat: Chat, server: ScriptedServer, tmp_path: Path
) -> None:
    server.models = ["chat-large", "text-embed-1"]
    terminal = chat(columns=140, rows=40)
    other(terminal, server.base)
    for question in ("Key (not shown", "Model [", f"Send every message to {server.base}"):
        terminal.see(question)
        terminal.send("\r")
    for question in ("What is your companion", "What should it call", "Who is it?", "speak first"):
        terminal.see(question)
        terminal.send("\r")
    terminal.see("is saved, readable only by you")
    assert not env(tmp_path).get("EMBEDDING_MODEL")


def test_a_server_of_its_own_for_embeddings_stays(chat: Chat, server: ScriptedServer, tmp_path: Path) -> None:
    kept = {"EMBEDDING_MODEL": "mine", "EMBEDDING_API_BASE": server.base, "EMBEDDING_API_KEY": "sk-own-12345"}
    (tmp_path / "env").write_text("".join(f"{name}={value}\n" for name, value in kept.items()))
    server.models = ["chat-large", "text-embed-1"]
    terminal = chat(columns=150, rows=40)
    other(terminal, server.base)
    for question in (
        "Key (not",
        "Model [",
        "What is your companion",
        "What should it call",
        "Who is it?",
        "speak first",
    ):
        terminal.see(question)
        terminal.send("\r")
    terminal.see("is saved, readable only by you")
    assert kept.items() <= env(tmp_path).items()


@pytest.mark.parametrize(
    ("flags", "switch", "writes"),
    [((), "on", False), (("--incognito",), "off", True)],
    ids=["switched on", "switched off"],
)
def test_whether_anything_is_written_stays_as_it_was_through_setup(
    chat: Chat, server: ScriptedServer, tmp_path: Path, flags: tuple[str, ...], switch: str, writes: bool
) -> None:
    terminal = chat(*flags, columns=150)
    terminal.prompt()
    terminal.say(f"/incognito {switch}")
    terminal.see("Storing again." if writes else "from now on nothing is stored")
    other(terminal, server.base)
    for question in (
        "Key (not",
        "Model [",
        "What is your companion",
        "What should it call",
        "Who is it?",
        "speak first",
    ):
        terminal.see(question)
        terminal.send("\r")
    terminal.see("is saved, readable only by you")
    terminal.prompt()
    terminal.say("a deep secret")
    terminal.see("You said: a deep secret")
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    assert (b"deep secret" in (tmp_path / "data/memory.db").read_bytes()) == writes
