"""In doubt the person is asked in one line whether something is kept out of future conversations (P22)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal
from tests.support.program import run

LINES = [
    (
        "en",
        "Josef drinks.",
        "forget i said anything about josef",
        "Should I keep this out of future conversations? y/n",
        "no",
    ),
    ("zh", "约瑟夫酗酒。", "请忘掉约瑟夫的事。", "这件事以后都不再提了吗？y/n", "不"),
]
EACH = pytest.mark.parametrize(("language", "secret", "request_", "question", "no"), LINES)


def asked(terminal: Terminal, secret: str, request_: str, question: str) -> None:
    terminal.prompt()
    terminal.say(secret)
    terminal.prompt()
    terminal.say(request_)
    terminal.see(question)
    terminal.prompt()


def rows(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(next(home.rglob("memory.db")), timeout=60)) as database:
        return database.execute(query).fetchall()


HIDDEN = "SELECT text FROM conversation WHERE hidden = 1 AND role = 'user'"


@EACH
def test_a_yes_keeps_it_hidden_and_is_no_message(
    chat: Chat, tmp_path: Path, language: str, secret: str, request_: str, question: str, no: str
) -> None:
    terminal = chat(LANGUAGE=language)
    asked(terminal, secret, request_, question)
    terminal.say("y")
    terminal.see({"en": "I won't bring it up again.", "zh": "好，以后不再提。"}[language])
    terminal.prompt()
    assert len(rows(tmp_path, HIDDEN)) == 2
    assert len(rows(tmp_path, "SELECT text FROM conversation")) == 4


@EACH
def test_a_no_shows_it_again(
    chat: Chat, tmp_path: Path, language: str, secret: str, request_: str, question: str, no: str
) -> None:
    terminal = chat(LANGUAGE=language)
    asked(terminal, secret, request_, question)
    terminal.say(no)
    terminal.see({"en": "I may mention this again: 4", "zh": "又可以提了：4"}[language])
    terminal.prompt()
    assert rows(tmp_path, HIDDEN) == []


def test_anything_else_is_said_and_leaves_it_hidden(chat: Chat, tmp_path: Path) -> None:
    terminal = chat(LANGUAGE="en")
    asked(terminal, *LINES[0][1:4])
    for said in ("How are you?", "no"):
        terminal.say(said)
        query = f"SELECT 1 FROM conversation WHERE text = 'User: {said}'"
        terminal.wait(lambda query=query: rows(tmp_path, query) == [(1,)], "it is a message")
        terminal.prompt()
    assert len(rows(tmp_path, HIDDEN)) == 2


def test_forget_erases_what_was_asked_about(chat: Chat, tmp_path: Path) -> None:
    terminal = chat(LANGUAGE="en")
    asked(terminal, *LINES[0][1:4])
    terminal.say("/forget")
    terminal.see("This will be erased for good")
    terminal.send("y\r")
    terminal.see("Searched")
    terminal.prompt()
    assert rows(tmp_path, "SELECT text FROM conversation") == []


@EACH
def test_a_script_is_not_asked_but_told_what_is_hidden(
    tmp_path: Path, language: str, secret: str, request_: str, question: str, no: str
) -> None:
    (tmp_path / "env").touch(0o600)
    ran = run(
        tmp_path, "--env-file", str(tmp_path / "env"), "--batch", "-",
        given=f"{secret}\n{request_}\n", LANGUAGE=language,
    )  # fmt: skip
    assert question not in ran.out + ran.err
    assert {"en": "I won't bring these 2 up again (2 exchanges)", "zh": "这 2 处以后都不再提（2 轮）"}[
        language
    ] in ran.err
    assert len(rows(tmp_path, HIDDEN)) == 2
