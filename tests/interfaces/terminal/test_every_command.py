"""Every command, typed in a real terminal, in both languages."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from domain.quotations import COMMAND_NAMES
from interfaces.terminal.commands.command_table import TABLE
from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import Terminal
from tests.support.server import ScriptedServer

#: What each command shows when it is typed in a session with one round, after one session was archived.
SHOWN = {
    "save": ("1/4 writing the summary", "1/4 写摘要"),
    "reset": ("Clear this session (1 exchange)?", "清空这次会话（1 轮）吗？"),
    "exit": ("Take care. See you.", "回头见，保重。"),
    "help": ("this session", "这次会话"),
    "retry": ("You said:", "You said:"),
    "edit": ("Your last message is at the prompt", "上一句已放回输入框"),
    "redo": ("There is nothing to bring back.", "没有可恢复的。"),
    "model": ("answers now", "现在由它回答"),
    "remember": ("Nothing is hidden", "没有隐藏什么"),
    "undo": ("Took back 1 exchange.", "已撤回 1 轮。"),
    "history": ("> where do I live", "> where do I live"),
    "memory": ("1 past conversation, ", "以前 1 次聊天，"),
    "diary": ("The diary is off", "现在不写日记"),
    "life": ("There is no chapter yet: every 8 saved sessions", "每存够 8 次会话"),
    "facts": ("Ann lives in Oslo.", "Ann lives in Oslo."),
    "open": ("Nothing is open.", "眼下没有惦记的事。"),
    "ask": ("What do you want to know?", "想知道什么？"),
    "why": ("/why full: in detail", "/why full：详细"),
    "forget": ("What should I forget?", "要忘掉什么？"),
    "erased": ("Nothing has been erased here.", "这里没有抹去过什么。"),
    "persona": ("User persona", "你的画像"),
    "sessions": ("· now", "· 当前"),
    "export": ("Wrote 1 session to", "已把 1 次会话写入"),
    "import": ("Nothing has been imported yet. /import FILE imports", "还没有导入过什么。"),
    "copy": ("The last reply is copied", "上一条回复已复制"),
    "context": ("recalled memories: about", "回忆：约"),
    "status": ("/status all shows the rest", "/status all 显示其余"),
    "debug": ("/debug is off.", "/debug 现在是关着的。"),
    "setup": ("Where is the model?", "模型在哪里？"),
    "incognito": ("/incognito is off.", "/incognito 现在是关着的。"),
}
#: What is typed then, once this stands at the cursor.
ANSWERED = {"reset": ("[y/N]", "n\r"), "setup": ("[1]", "\x03"), "edit": ("> where do I live", "\x03")}


LIVES = {"turns": [1], "text": "Ann lives in Oslo."}
HOME = {**LIVES, "subject": "Ann", "attribute": "home", "value": "Oslo", "about": "person"}
NOTED = json.dumps({"notes": [{**LIVES, "facts": [HOME]}]})
CHANGED = json.dumps({"operations": [{"facts": [1], "operation": "add", "text": "Ann lives in Oslo."}]})


def talked(chat: Chat, server: ScriptedServer, settings: dict[str, str]) -> Terminal:
    """A chat with one archived session and one round in the present one."""
    server.script("Nice to meet you.", "Ann lives in Oslo.", NOTED, "1 yes", CHANGED)
    terminal = chat(columns=110, rows=50, **settings)
    terminal.prompt()
    terminal.say("I am Ann and I live in Oslo")
    terminal.see("Nice to meet you.")
    terminal.prompt()
    terminal.say("/save")
    terminal.see("4/4")
    terminal.prompt()
    terminal.say("where do I live")
    terminal.see("You said:")
    terminal.prompt()
    return terminal


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_says_its_piece(
    chat: Chat,
    server: ScriptedServer,
    connected: dict[str, str],
    language: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(SHOWN) == {command.name for command in TABLE}
    terminal = talked(chat, server, {"LANGUAGE": language, **connected})
    last = ["ask", "retry", "edit", "undo", "save", "exit"]
    for name in [*sorted(set(SHOWN) - set(last)), *last]:
        before = len(terminal.text())
        shown = SHOWN[name][language == "zh"]
        if name == "save":
            terminal.say("something to keep")
            terminal.see("something to keep", times=2)
            terminal.prompt()
            server.script("A summary.", "A persona.", "Another persona.")
        terminal.say(f"/{name}")
        if name == "exit":
            break
        terminal.wait(lambda before=before, shown=shown: shown in terminal.text()[before:], f"/{name}: {shown}")
        if name in ANSWERED:
            terminal.send_after(*ANSWERED[name])
        terminal.prompt()
    assert terminal.ended() == 0
    assert "Traceback" not in terminal.text()
    assert "\n\n\n" not in terminal.text().strip(), "one empty line between two things, never two"
    assert not (tmp_path / "logs" / "errors.log").exists()


def test_undo_right_after_reset_brings_it_back(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    terminal = talked(chat, server, connected)
    terminal.say("/reset")
    terminal.see("[y/N]")
    terminal.send("y\r")
    terminal.see("Cleared: 1 exchange.")
    terminal.prompt()
    terminal.say("/undo")
    terminal.see("Brought back 1 exchange.")
    terminal.prompt()
    terminal.say("/history")
    terminal.see("> where do I live", times=2)


def test_forget_shows_asks_erases_and_proves(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = talked(chat, server, connected)
    terminal.say("/forget Oslo")
    terminal.see("[y/N]")
    assert "I am Ann and I live in Oslo" in terminal.text()
    terminal.send("\r")
    terminal.see("Nothing was changed.")
    terminal.prompt()
    terminal.say("/forget Oslo")
    terminal.see("[y/N]", times=2)
    terminal.send("y\r")
    terminal.see("0 found")
    steps = [line[:3] for line in terminal.text().split("[y/N]")[-1].splitlines() if line[1:3] == "/2"]
    assert steps == ["1/2", "2/2"]
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    for path in (tmp_path / "data").rglob("*"):
        assert not path.is_file() or b"Oslo" not in path.read_bytes(), path


def test_why_calls_out_a_quotation_of_what_was_never_said(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = talked(chat, server, connected)
    server.script("<blockquote>I live in Oslo</blockquote> and <blockquote>my yacht is red</blockquote>, you said.")
    terminal.say("where is it that I live")
    terminal.see("you said.")
    terminal.prompt()
    rows = [row.strip() for row in terminal.text().splitlines()]
    assert rows[rows.index("│ my yacht is red") + 1] == "│ (not in memory)"
    assert rows[rows.index("│ I live in Oslo") + 1] != "│ (not in memory)"
    terminal.say("/why")
    terminal.see("The reply quotes words that are not in any memory: my yacht is red")
    terminal.prompt()
    assert "quoted in the reply" in terminal.text()
    assert "no memory: I live" not in terminal.text()


def test_an_export_holds_the_session_and_is_for_its_owner(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = talked(chat, server, connected)
    target = tmp_path / "all.json"
    terminal.say(f"/export all json {target}")
    terminal.see("Wrote 2 sessions")
    terminal.prompt()
    found = json.loads(target.read_text(encoding="utf-8"))
    assert [message["text"] for message in found["sessions"][0]["turns"]] == [
        "I am Ann and I live in Oslo",
        "Nice to meet you.",
    ]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    terminal.say(f"/export all json {target}")
    terminal.see("already exists")


def test_a_persona_is_edited_compared_and_restored(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho "Ann likes tea." > "$1"\n')
    editor.chmod(0o755)
    terminal = talked(chat, server, {"EDITOR": str(editor), **connected})
    terminal.say("/persona user edit")
    terminal.see("saved as version")
    terminal.prompt()
    assert (tmp_path / "data/persona/user_image.txt").read_text() == "Ann likes tea.\n"
    terminal.say("/persona user diff")
    terminal.see("+ Ann likes tea.")
    terminal.prompt()
    terminal.say("/persona user restore 1")
    terminal.see("is current again")
    terminal.prompt()
    assert (tmp_path / "data/persona/user_image.txt").read_text() == "Ann lives in Oslo.\n"


def test_an_archived_session_is_resumed_after_the_present_one_was_saved(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = talked(chat, server, connected)
    server.script("A question.", "I am a friend of Ann.", "Ann lives in Oslo.")
    terminal.say("/resume 1")
    terminal.see("Back in: Ann lives in Oslo.")
    terminal.prompt()
    terminal.say("/history")
    terminal.see("> I am Ann and I live in Oslo", times=3)


def test_edit_replaces_the_last_round_only_when_it_is_sent(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = talked(chat, server, connected)
    terminal.say("/edit")
    terminal.wait(lambda: terminal.line().startswith("> where do I live"), "the last message")
    terminal.send("\x03")
    terminal.prompt()
    terminal.say("another")
    terminal.see("You said: another")
    terminal.prompt()
    terminal.say("/edit")
    terminal.wait(lambda: terminal.line().startswith("> another"), "the last message")
    terminal.send(" one")
    terminal.send_after("another one", "\r")
    terminal.see("You said: another one")
    terminal.prompt()
    said = [message["content"] for message in server.chats[-1]["messages"] if message["role"] == "user"]
    assert "another" not in said
    assert any("where do I live" in text for text in said)


def test_incognito_writes_nothing(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], tmp_path: Path
) -> None:
    terminal = chat("--incognito", **connected)
    terminal.prompt()
    terminal.say("a deep secret")
    terminal.see("You said: a deep secret")
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"deep secret" not in path.read_bytes(), path


def test_every_command_is_left_out_of_what_is_recalled() -> None:
    assert {command.name for command in TABLE} <= set(COMMAND_NAMES)
