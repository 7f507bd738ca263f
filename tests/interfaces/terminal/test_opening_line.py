"""The first line of a chat: who is there, when both last spoke, how much is remembered, then which session it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from interfaces.messages import Words
from interfaces.terminal.session_view import spoken_when
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal
from tests.support.house import friend
from tests.support.server import ScriptedServer

#: A Wednesday.
NOW = datetime(2026, 3, 4, 9, 0).astimezone()


def ago(days: int, hour: int) -> str:
    return (NOW - timedelta(days=days)).replace(hour=hour).isoformat()


@pytest.mark.parametrize(
    ("then", "en", "zh"),
    [
        (ago(0, 8), "earlier today", "今天"),
        (ago(1, 18), "yesterday evening", "昨天晚上"),
        (ago(1, 23), "yesterday evening", "昨天晚上"),
        (ago(1, 2), "in the early hours of yesterday", "昨天凌晨"),
        (ago(1, 9), "yesterday morning", "昨天上午"),
        (ago(3, 20), "on Sunday", "星期天"),
        (ago(6, 20), "on Thursday", "星期四"),
        (ago(7, 20), "seven days ago", "七天前"),
        (ago(55, 20), "seven weeks ago", "七周前"),
        (ago(-2, 20), "on 2026-03-06", "2026-03-06"),
    ],
)
def test_when_both_last_spoke_is_told_in_days_of_the_calendar(then: str, en: str, zh: str) -> None:
    assert spoken_when(Words("en"), then, NOW) == en
    assert spoken_when(Words("zh"), then, NOW).strip() == zh


def moved_back(tmp_path: Path, when: datetime) -> None:
    """All that was said was said then."""
    with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as database:
        database.execute("UPDATE conversation SET timestamp = ?", (when.isoformat(timespec="seconds"),))
        database.commit()


def first_row(terminal: Terminal) -> str:
    terminal.prompt()
    return terminal.text().splitlines()[0]


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Mei · we last talked yesterday evening · I remember 1 evening"),
        ("zh", "Mei · 上次聊天是昨天晚上 · 记得 1 个晚上的聊天"),
    ],
)
def test_the_first_line_says_when_both_last_spoke_and_what_is_remembered(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, language: str, line: str
) -> None:
    settings = {**connected, "COMPANION_NAME": "Mei", "LANGUAGE": language}
    terminal = chat(**settings)
    terminal.prompt()
    terminal.say("hello")
    terminal.see("You said: hello")
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    moved_back(tmp_path, (datetime.now().astimezone() - timedelta(days=1)).replace(hour=20, minute=15))
    assert "".join(first_row(chat(**settings)).split()) == "".join(line.split())


def test_the_first_line_is_one_row_whatever_the_name(chat: Chat) -> None:
    terminal = chat(columns=60, COMPANION_NAME="A name of a most uncommon length, of many words indeed")
    assert first_row(terminal).endswith("…")
    assert terminal.text().splitlines()[2].startswith("No model is connected")


def sessions(tmp_path: Path) -> list[tuple[str, str]]:
    """The id and the start of each session, as a person reads them, oldest first."""
    with closing(sqlite3.connect(tmp_path / "data" / "memory.db")) as database:
        rows = database.execute("SELECT session_id, start_timestamp FROM session ORDER BY position").fetchall()
    here = [datetime.fromisoformat(began).astimezone() for _, began in rows]
    return [(session_id, f"{began:%Y-%m-%d %H:%M}") for (session_id, _), began in zip(rows, here, strict=True)]


@pytest.mark.parametrize(("language", "line"), [("en", "Session {} · began {}"), ("zh", "会话 {} · 始于 {}")])
def test_the_session_is_named_at_every_start_and_after_a_save_and_goes_on_after_any_pause(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path, language: str, line: str
) -> None:
    server.answer = friend
    settings = {**connected, "LANGUAGE": language}
    terminal = chat(columns=100, rows=50, **settings)
    terminal.prompt()
    (first,) = sessions(tmp_path)
    assert terminal.text().splitlines()[1].rstrip() == line.format(*first)
    terminal.say("hello")
    terminal.see("Reply to: hello")
    terminal.prompt()
    terminal.say("/exit")
    assert terminal.ended() == 0
    moved_back(tmp_path, datetime.now().astimezone() - timedelta(days=400))
    again = chat(columns=100, rows=50, **settings)
    again.prompt()
    assert sessions(tmp_path) == [first]
    assert again.text().splitlines()[1].rstrip() == line.format(*first)
    assert "> hello" in again.text()
    again.say("/save")
    again.wait(lambda: len(sessions(tmp_path)) == 2, "a new session")
    again.see(line.format(*sessions(tmp_path)[1]))


def test_the_versions_of_each_persona_count_from_one(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    server.answer = friend
    persona = tmp_path / "data/persona/user_image.txt"
    terminal = chat(columns=100, rows=60, **connected)
    terminal.prompt()
    for at in (1, 2):
        first = persona.read_text() if at == 2 else ""
        terminal.say(f"I had {at} cups of tea.")
        terminal.see(f"Reply to: I had {at}")
        terminal.prompt()
        terminal.say("/save")
        terminal.see("is archived", times=at)
        terminal.prompt()
    assert "To undo this: /persona user restore 1" in terminal.text()
    terminal.say("/persona user")
    terminal.see("user persona · changed at /save · version 2")
    terminal.prompt()
    assert "version 4" not in terminal.text()
    terminal.say("/persona user restore 1")
    terminal.see("Version 1 of the user persona is current again.")
    assert "1 cups" in first
    assert persona.read_text() == first
