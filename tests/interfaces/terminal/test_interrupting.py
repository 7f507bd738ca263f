"""What Ctrl-C does in each state, and what is stored then; in a real pseudo-terminal."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from conversation import Conversation
from interfaces.interrupting import Wishes
from interfaces.terminal.line_source import TypeAhead
from interfaces.terminal.prompting import EditorLine, PromptHistory, PromptHooks, Terminal
from interfaces.terminal.work_runner import FirstWords
from tests.interfaces.terminal.conftest import Chat
from tests.support.server import ScriptedServer, hang, say, status, vectors


def stored(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "data" / "memory.db")) as database:
        return database.execute(query).fetchall()


def rounds(folder: Path) -> list[tuple[object, ...]]:
    return stored(folder, "SELECT role, text, finish FROM conversation ORDER BY seq")


def test_with_text_at_the_prompt_it_clears_the_line_and_up_brings_it_back(chat: Chat, tmp_path: Path) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("half a thought")
    terminal.send_after("half a thought", "\x03")
    terminal.prompt()
    terminal.send("\x1b[A")
    terminal.wait(lambda: terminal.line().startswith("> half a thought"), "the cleared line")
    assert rounds(tmp_path) == []
    assert not (tmp_path / "data" / "history").exists()


def test_at_an_empty_prompt_it_says_how_to_leave_and_leaves_at_the_second(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("\x03")
    terminal.see("Ctrl-C again")
    terminal.send("\x03\x03")  # two, so that a slow machine does not make the second one late
    assert terminal.ended() == 0


@pytest.mark.parametrize("kind", ["xterm-256color", "dumb"])
def test_a_second_ctrl_c_that_comes_late_does_not_leave(chat: Chat, kind: str) -> None:
    terminal = chat(TERM=kind)
    terminal.prompt()
    terminal.send("\x03")
    terminal.see("Ctrl-C again")
    time.sleep(2.1)
    terminal.send("\x03")
    terminal.see("Ctrl-C again", times=2)
    assert terminal.process.isalive()


def test_while_waiting_it_cancels_and_the_text_returns(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    server.script(hang)
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("are you there")
    terminal.see("thinking")
    terminal.wait(lambda: len(server.chats) == 1, "the request")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().startswith("> are you there"), "the text at the prompt")
    assert "thinking" not in terminal.text()
    assert rounds(tmp_path) == []
    terminal.send("\r")
    terminal.see("You said: are you there")


def test_while_a_memory_is_looked_for_it_cancels_and_the_next_message_waits_its_turn(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = chat(EMBEDDING_MODEL="embed-1", **connected)
    terminal.prompt()
    terminal.say("remember the lighthouse")
    terminal.see("You said: remember the lighthouse")
    terminal.prompt()
    terminal.wait(lambda: stored(tmp_path, "SELECT 1 FROM pending") == [], "every vector made")
    before = len(server.embeddings)
    go = threading.Event()
    server.embeds = lambda exchange: (go.wait(60), vectors()(exchange))[1]
    terminal.say("where is the lighthouse")
    terminal.wait(lambda: len(server.embeddings) > before, "the question for a vector")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().startswith("> where is the lighthouse"), "the text at the prompt")
    assert len(rounds(tmp_path)) == 2
    terminal.send("\r")
    go.set()
    terminal.see("You said: where is the lighthouse")
    terminal.prompt()
    assert len(rounds(tmp_path)) == 4


def test_while_streaming_it_stops_and_keeps_what_was_shown_marked(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    server.script(say("", pieces=[f"word{at} " for at in range(400)], pause=0.05))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("tell me much")
    terminal.see("word3 ")
    terminal.send("\x03")
    terminal.see("[interrupted]")
    terminal.prompt()
    (_, said, _), (_, reply, finish) = rounds(tmp_path)
    assert said == "User: tell me much"
    assert str(reply).startswith("Assistant: word0 word1 word2 word3")
    assert finish == "interrupted"
    assert "[interrupted]" not in str(reply)
    shown = [word for word in terminal.text().split() if word.startswith("word")]
    assert str(reply).removeprefix("Assistant: ").split() == shown
    assert len(shown) < 200, "stopped long before its end"


def test_in_a_retry_countdown_it_ends_it_and_the_text_returns(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    server.script(status(429, Retry_After="30"))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("too busy")
    terminal.see("Trying again in")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().startswith("> too busy"), "the text at the prompt")
    assert rounds(tmp_path) == []
    assert len(server.chats) == 1


def test_in_a_save_the_session_stays_active_and_the_save_goes_on_later(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    server.script("Hello, Ann.", "Ann said hello.", hang)
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("I am Ann")
    terminal.see("Hello, Ann.")
    terminal.prompt()
    terminal.say("/save")
    terminal.wait(lambda: len(server.chats) == 3, "the request for the notes")
    terminal.send("\x03")
    terminal.see("stays open")
    terminal.prompt()
    assert stored(tmp_path, "SELECT status FROM session") == [("active",)]
    assert stored(tmp_path, "SELECT step FROM step WHERE kind = 'save'") == [("summary",)]
    server.script('{"notes": []}')
    terminal.say("/save")
    terminal.see("is archived")
    assert stored(tmp_path, "SELECT status FROM session ORDER BY number") == [("archived",), ("active",)]
    assert stored(tmp_path, "SELECT summary FROM summary") == [("Ann said hello.",)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_gives_the_terminal_back_as_it_was(chat: Chat, number: signal.Signals) -> None:
    import termios

    terminal = chat()
    terminal.prompt()
    assert not termios.tcgetattr(terminal.process.child_fd)[3] & termios.ECHO
    os.kill(terminal.process.pid, number)
    assert terminal.ended() == 0
    assert termios.tcgetattr(terminal.process.child_fd)[3] & termios.ECHO


@pytest.mark.parametrize("streaming", [False, True], ids=["prompt", "reply"])
def test_a_terminal_that_goes_away_is_no_fault(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, streaming: bool
) -> None:
    server.script(say("", pieces=["So "] * 200, pause=0.05))
    terminal = chat(**connected)
    terminal.prompt()
    if streaming:
        terminal.say("precious words")
        terminal.see("So So So")
    terminal.process.ptyproc.fileobj.close()
    terminal.process.wait()
    assert not (tmp_path / "logs" / "errors.log").exists()
    again = chat(**connected)
    again.see("precious words" if streaming else "Old Friend")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_is_heard_at_a_question(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], number: signal.Signals, tmp_path: Path
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("something to keep")
    terminal.see("You said: something to keep")
    terminal.prompt()
    terminal.say("/reset")
    terminal.see("[y/N]")
    os.kill(terminal.process.pid, number)
    assert terminal.ended() == 0
    assert len(rounds(tmp_path)) == 2


@contextmanager
def editor_line(folder: Path, wishes: Wishes) -> Iterator[EditorLine]:
    """An editor line on a pseudo-terminal in this process."""
    ours, theirs = os.openpty()
    with (
        closing(os.fdopen(ours, "wb", buffering=0)),
        os.fdopen(theirs, "r", closefd=False) as stdin,
        os.fdopen(theirs, "w") as stdout,
        TypeAhead(theirs) as ahead,
    ):
        silent = cast("Conversation", SimpleNamespace(greet=lambda stop: iter(())))
        speaking = FirstWords(silent, logging.getLogger())
        hooks = PromptHooks(lambda before: (), lambda: None, lambda: "", lambda: "", lambda: None, speaking)
        history = PromptHistory(folder / "history", lambda: True)
        yield EditorLine(Terminal(stdin, stdout, colour=False), history, ahead, wishes, hooks)


def test_ctrl_c_right_before_a_question_breaks_it_off(tmp_path: Path) -> None:
    wishes = Wishes()
    with editor_line(tmp_path, wishes) as line:
        wishes.interrupt(signal.SIGINT, None)
        assert line.ask_question("Sure? ") is None


def test_a_signal_to_end_right_before_a_prompt_is_heard(tmp_path: Path) -> None:
    wishes = Wishes()
    with editor_line(tmp_path, wishes) as line:
        wishes.leave(signal.SIGTERM, None)
        assert line.read_input() is None


def test_after_a_kill_what_was_typed_is_offered_again(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    server.script(say("", pieces=["So "] * 100, pause=0.1))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("precious words")
    terminal.see("So So So So So So So So")
    os.kill(terminal.process.pid, signal.SIGKILL)
    assert terminal.ended() == -signal.SIGKILL
    again = chat(**connected)
    again.wait(lambda: again.line().startswith("> precious words"), "what was typed")
    assert "got no reply" in again.text()
    assert "So So" in again.text()


def test_a_failed_turn_gives_one_line_and_the_text_back(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    server.script(status(401))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("do you hear me")
    terminal.see("rejects the key …cdef from the environment")
    terminal.wait(lambda: terminal.line().startswith("> do you hear me"), "the text at the prompt")
    assert "Traceback" not in terminal.text()
    assert rounds(tmp_path) == []
    terminal.send("\r")
    terminal.see("You said: do you hear me")
    terminal.prompt()
    assert len(rounds(tmp_path)) == 2
