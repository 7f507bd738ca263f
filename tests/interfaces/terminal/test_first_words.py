"""The companion speaks first above the prompt, in a real terminal; ``/open`` shows and settles what is open."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.facts import Learned
from domain.matters import NewMatter
from domain.workers import CancelToken
from interfaces.terminal.work_runner import FirstWords
from memory import Memory
from tests.contract.test_knowing import window_of
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.test_facts import opened, told
from tests.support.program import run
from tests.support.served import until
from tests.support.server import Exchange, ScriptedServer, hang, say

INTERVIEW = "I have a job interview at the harbour office."


def due(home: Path) -> None:
    """The same in the memory of the chat."""
    with opened(home) as memory:
        make_due(memory)


def make_due(memory: Memory) -> None:
    """An interview that took place yesterday, as was said two days before."""
    now = datetime.now().astimezone()
    said, day = (now - timedelta(days=3)).isoformat(timespec="seconds"), (now - timedelta(days=1)).date().isoformat()
    later = (now + timedelta(days=9)).date().isoformat()
    with memory.in_one_commit():  # a job that looks in between finds a silent session and asks the model about it
        spoken = told(memory, INTERVIEW, "Good luck!", said)
        matter = NewMatter("event", spoken.user.text_id, 0, len(INTERVIEW), due_from=day, due_to=day, precision="day",
                           key="harbour interview job office", next_review=day, expires=later)  # fmt: skip
        assert memory.fact_log.learn(Learned(window_of(spoken)), [matter])


def was_noted(home: Path) -> bool:
    """Whether a greeting is noted as made."""
    with closing(sqlite3.connect(f"file:{home}/data/memory.db?mode=ro", uri=True)) as store:
        return bool(store.execute("SELECT 1 FROM open_matter WHERE asked = 1").fetchall())


def test_it_asks_above_the_prompt_and_the_answer_goes_on_from_there(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    due(tmp_path)
    server.script(say("", pieces=["How did the ", "interview go", "? Tell me."]))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.see("How did the interview go? Tell me.")
    terminal.wait(lambda: terminal.line().startswith(">"), "the prompt below the greeting")
    terminal.say("/why")
    terminal.see("this is due")
    terminal.see(INTERVIEW[:30])
    terminal.say("They took me!")
    terminal.see("You said:")
    sent = [one["content"] for one in server.chats[-1]["messages"]]
    assert sent[-2:] == ["How did the interview go? Tell me.", "They took me!"]
    terminal.say("/exit")
    terminal.see("Take care. See you.")


def test_on_a_plain_terminal_it_is_a_line_between_two_prompts(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    due(tmp_path)
    server.script(say("How did the interview go?"))
    terminal = chat("--plain", **connected)
    terminal.see("How did the interview go?")
    terminal.prompt()
    assert b"> \r\nHow did the interview go?\r\n\r\n> " in terminal.raw
    assert b"\x1b" not in terminal.raw
    terminal.send("They took me!\n")
    terminal.see("You said:")
    sent = [one["content"] for one in server.chats[-1]["messages"]]
    assert sent[-2:] == ["How did the interview go?", "They took me!"]


@pytest.mark.parametrize("enter", [True, False])
def test_on_a_plain_terminal_typing_ends_it_and_no_key_is_lost(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, enter: bool
) -> None:
    due(tmp_path)
    go_on = threading.Event()

    def play(exchange: Exchange) -> None:
        if first := "Say the first words" in exchange.json["messages"][-1]["content"]:
            go_on.wait(60)
        say("How did the interview go?" if first else "Hello to you.")(exchange)

    server.script(*[play] * 9)
    terminal = chat("--plain", **connected)
    terminal.prompt()
    terminal.wait(lambda: bool(server.chats), "the request for a greeting")
    terminal.send("Hello\n" if enter else "Hello")
    terminal.wait(lambda: "> Hello" in terminal.text(), "the first keys")
    if enter:
        terminal.see("Hello to you.")
    go_on.set()
    if not enter:
        terminal.wait(lambda: was_noted(tmp_path), "the greeting")
        terminal.send(" there\n")
    terminal.see("Hello to you.")
    assert "How did the interview go?" not in terminal.text()
    contents = [one["content"] for one in server.chats[-1]["messages"]]
    assert contents[-1].endswith("Hello" if enter else "Hello there")
    assert "How did the interview go?" not in contents


@pytest.mark.parametrize("given", ["-p", "--batch"])
def test_a_script_is_never_greeted(
    server: ScriptedServer, connected: dict[str, str], tmp_path: Path, given: str
) -> None:
    due(tmp_path)
    (tmp_path / "env").touch(0o600)
    words = ["-p", "Hello"] if given == "-p" else ["--batch", "-"]
    done = run(tmp_path, "--env-file", str(tmp_path / "env"), *words, given="Hello\n", **connected)
    assert done.code == 0
    assert all("Say the first words" not in one["messages"][-1]["content"] for one in server.chats)
    with opened(tmp_path) as memory:
        assert memory.matters.greeting() == ("", 0)


def test_a_model_that_says_nothing_never_keeps_the_first_key(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    due(tmp_path)

    def play(exchange: Exchange) -> None:
        first = "Say the first words" in exchange.json["messages"][-1]["content"]
        (hang if first else say("Hello to you."))(exchange)

    server.script(*[play] * 9)
    terminal = chat(**connected)
    terminal.prompt()
    terminal.wait(lambda: bool(server.chats), "the request for a greeting")
    terminal.send("Hello")
    terminal.wait(lambda: terminal.line().startswith("> Hello"), "the first keys")
    terminal.send("\r")
    terminal.see("Hello to you.")
    assert server.chats[-1]["messages"][-1]["content"].endswith("Hello")


def test_the_prompt_waits_neither_for_the_beginning_nor_for_the_end_of_the_first_words() -> None:
    go_on, stops = threading.Event(), []

    class Slow:
        greeting = None

        def greet(self, stop: CancelToken) -> Iterator[Any]:
            stops.append(stop)
            go_on.wait(60)
            return iter(())

    slow: Any = Slow()
    words = FirstWords(slow, logging.Logger("test", logging.CRITICAL))
    for step in (lambda: words.begin(lambda: None), words.end, words.entered, words.drop):
        step()
        assert not words.ended  # it came back though nothing was answered
    go_on.set()
    until(lambda: words.ended)
    assert [one.is_set for one in stops] == [True]


def test_open_lists_what_is_open_and_settles_it(chat: Chat, tmp_path: Path) -> None:
    due(tmp_path)
    terminal = chat(columns=120)
    terminal.prompt()
    terminal.say("/open")
    terminal.see(INTERVIEW)
    terminal.see("/open N done")
    terminal.say("/open 7 done")
    terminal.see("Nothing open has the number 7.")
    terminal.say("/open 1 later whenever")
    terminal.see("is not a future date")
    terminal.say("/open 1 later tomorrow")
    tomorrow = (datetime.now().astimezone() + timedelta(days=1)).date().isoformat()
    terminal.see(f"Not before {tomorrow}")
    terminal.say("/open 1 drop")
    terminal.see("I won't bring it up again")
    terminal.say("/open")
    terminal.see("Nothing is open.")
