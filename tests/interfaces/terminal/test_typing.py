"""Keys at the prompt, in a real pseudo-terminal."""

from __future__ import annotations

import stat
import sys
import time
from pathlib import Path

import pytest

from tests.interfaces.terminal.conftest import Chat
from tests.interfaces.terminal.pseudo import ROOT, Terminal, environment
from tests.server import ScriptedServer


def said(server: ScriptedServer) -> list[str]:
    """What the person said, as the model was told."""
    return [request["messages"][-1]["content"].split("\n\n")[-1] for request in server.chats]


def test_the_cursor_stands_after_wide_characters(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("你好")
    terminal.wait(lambda: terminal.screen.cursor.x == 6, "the cursor in column 6")
    terminal.send("\x7f")
    terminal.wait(lambda: terminal.screen.cursor.x == 4, "the cursor in column 4 after erasing one character")
    terminal.send("a们")
    terminal.wait(
        lambda: terminal.line().startswith("> 你a") and terminal.screen.cursor.x == 7, "mixed widths"
    )


def test_the_cursor_stands_right_after_wide_characters_wrapped(chat: Chat) -> None:
    terminal = chat(columns=20)
    terminal.prompt()
    terminal.send("你" * 12)
    terminal.wait(lambda: terminal.screen.cursor.x == 8, "three characters in the second row")


@pytest.mark.parametrize(
    "key", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[27;2;13~"], ids=["ctrl-j", "alt", "csi-u", "xterm"]
)
def test_a_new_line_key_makes_a_new_line_and_enter_sends(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], key: str
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send("first" + key + "second")
    terminal.send_after("second", "\r")
    terminal.see("You said:")
    assert said(server) == ["first\nsecond"]


def test_a_paste_of_several_lines_stays_whole_with_and_without_brackets(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send("\x1b[200~one\r\ntwo\nthree\x1b[201~")
    terminal.send_after("three", "\r")
    terminal.see("You said: one")
    terminal.prompt()
    terminal.send("four\rfive\rsix")
    terminal.send_after("six", "\r")
    terminal.see("You said: four")
    assert said(server) == ["one\ntwo\nthree", "four\nfive\nsix"]


def test_a_pasted_block_is_never_a_command(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send("\x1b[200~/reset\nis a command\x1b[201~")
    terminal.send_after("is a command", "\r")
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_what_looks_like_a_command_of_a_chinese_keyboard_is_one(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("、save")
    terminal.see("nothing to save")
    terminal.prompt()
    terminal.say("／ｓａｖｅ")
    terminal.see("nothing to save", times=2)


def test_an_unknown_command_is_not_sent_and_a_path_is(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("/sav")
    terminal.see("Did you mean /save?")
    terminal.prompt()
    terminal.say("/usr/bin")
    terminal.see("You said: /usr/bin")
    terminal.prompt()
    terminal.say("//help")
    terminal.see("You said: /help")
    assert said(server) == ["/usr/bin", "/help"]


def test_a_bare_exit_asks(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("exit")
    terminal.send_after("Leave?", "n\r")
    terminal.wait(lambda: terminal.line().startswith("> exit"), "the word at the prompt again")
    terminal.send("\x03")
    terminal.prompt()
    terminal.say("quit")
    terminal.see("Leave?", times=2)
    terminal.send("y\r")
    assert terminal.ended() == 0


def test_the_history_is_kept_across_runs_for_its_owner_only(chat: Chat, tmp_path: Path) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("remember this line")
    terminal.see("cannot really answer")
    terminal.prompt()
    terminal.send("\x04")
    assert terminal.ended() == 0
    assert stat.S_IMODE((tmp_path / "data" / "history").stat().st_mode) == 0o600
    again = chat()
    again.prompt()
    again.send("\x1b[A")
    again.wait(lambda: "remember this line" in again.line(), "the line of the earlier run")
    again.send("\x03")
    again.prompt()
    again.send("\x12this")
    again.wait(lambda: "remember this line" in again.near_cursor(), "the line found by Ctrl-R")


def test_tab_completes_commands_and_arguments_and_shows_help(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("/per")
    terminal.see("The two images")
    terminal.send("\t")
    terminal.wait(lambda: "/persona" in terminal.near_cursor(), "the completed command")
    terminal.send(" us")
    terminal.wait(lambda: "/persona us" in terminal.near_cursor(), "the beginning of the argument")
    terminal.send("\t")
    terminal.wait(lambda: "/persona user" in terminal.near_cursor(), "the completed argument")


def test_ctrl_l_clears_the_screen(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.send("text\x0c")
    terminal.wait(
        lambda: terminal.screen.cursor.y == 0 and terminal.line().startswith("> text"), "the prompt on top"
    )


def test_escape_twice_brings_the_last_message_back(chat: Chat) -> None:
    terminal = chat()
    terminal.prompt()
    terminal.say("what was this")
    terminal.see("cannot really answer")
    terminal.prompt()
    terminal.send("\x1b\x1b")
    terminal.wait(lambda: terminal.line().startswith("> what was this"), "the last message")


def test_ctrl_x_ctrl_e_opens_the_editor(chat: Chat, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho edited >> "$1"\n')
    editor.chmod(0o755)
    terminal = chat(EDITOR=str(editor))
    terminal.prompt()
    terminal.send("draft")
    terminal.send_after("draft", "\x18\x05")
    terminal.wait(lambda: "edited" in terminal.near_cursor(), "what the editor added")


def test_ctrl_z_leaves_for_the_shell_and_fg_comes_back(
    tmp_path: Path, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = Terminal(["sh", "-i"], environment(tmp_path, PS1="shell: ", ENV="", **connected))
    try:
        terminal.see("shell:")
        program = f"{sys.executable} {ROOT / 'main.py'} --data-dir {tmp_path / 'data'}"
        terminal.send(f"LOG_DIR={tmp_path / 'logs'} {program} --env-file /dev/null\n")
        terminal.prompt()
        terminal.send("half a")
        terminal.send_after("half a", "\x1a")
        terminal.wait(lambda: terminal.line().startswith("shell:"), "the shell")
        terminal.send("fg\n")
        terminal.wait(lambda: terminal.line().startswith("> half a"), "the prompt as it was left")
        terminal.send(" thought")
        terminal.send_after("half a thought", "\r")
        terminal.see("You said: half a thought")
    finally:
        terminal.close()


def test_bytes_that_are_no_utf8_and_controls_do_no_harm(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send(b"caf\xe9 \xff\xfe ok\xed\xa0\x80")
    terminal.send_after("ok", "\r")
    terminal.see("You said:")
    terminal.prompt()
    assert "caf" in said(server)[0]
    assert "ok" in said(server)[0]
    terminal.send("\x1b[200~a\u202eb\x1b]0;owned\x07c\u200bd\x1b[201~")
    terminal.wait(lambda: "c" in terminal.line(), "the paste")
    terminal.send("\r")
    terminal.see("You said:", times=2)
    terminal.prompt()
    assert "\u202e".encode() not in terminal.raw
    assert b"\x1b]0;owned" not in terminal.raw


def test_keys_typed_while_a_reply_streams_wait_at_the_prompt(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    from tests.server import say

    server.script(say("", pieces=[f"word{at} " for at in range(30)], pause=0.05))
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("hello")
    terminal.see("word3 ")
    terminal.send("typed\x7fd ahead\r")
    terminal.see("word29")
    terminal.wait(lambda: terminal.line().startswith("> typed ahead"), "what was typed ahead")
    time.sleep(0.2)
    terminal.read()
    assert "typed" not in terminal.text().split("word29")[0]
    assert len(server.chats) == 1


def streaming(server: ScriptedServer, terminal: Terminal) -> None:
    """Say something whose reply takes its time, and wait until it has begun."""
    from tests.server import say

    server.script(say("", pieces=[f"word{at} " for at in range(30)], pause=0.05))
    terminal.prompt()
    terminal.say("slow question")
    terminal.see("word3 ")


def test_lines_typed_ahead_come_one_after_the_other_and_a_command_is_one(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    streaming(server, terminal)
    terminal.send("and then?\r/history\rlast")
    terminal.see("word29")
    terminal.wait(lambda: terminal.line().rstrip() == "> and then?", "the first line alone")
    terminal.send("\r")
    terminal.see("You said: and then?")
    terminal.wait(lambda: terminal.line().rstrip() == "> /history", "the command alone")
    terminal.send("\r")
    terminal.wait(lambda: terminal.line().rstrip() == "> last", "the last line")
    assert said(server) == ["slow question", "and then?"]


def stopped(server: ScriptedServer, terminal: Terminal) -> None:
    """Stop a reply before anything was shown, so that what was said stands at the prompt again."""
    from tests.server import hang

    server.script(hang)
    terminal.prompt()
    terminal.say("slow question")
    terminal.wait(lambda: bool(server.chats), "the request")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().startswith("> slow question"), "what was said, at the prompt again")


def test_text_put_back_is_selected_and_typing_replaces_it(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send("/history")
    terminal.wait(
        lambda: terminal.line().rstrip() == "> /history", "the command in place of what stood there"
    )
    terminal.send("\r")
    terminal.see("Nothing was said")
    assert len(server.chats) == 1


def test_a_paste_replaces_what_was_put_back(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send("\x1b[200~another one\x1b[201~")
    terminal.wait(
        lambda: terminal.line().rstrip() == "> another one", "the paste in place of what stood there"
    )


def test_enter_sends_what_was_put_back(chat: Chat, server: ScriptedServer, connected: dict[str, str]) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send("\r")
    terminal.see("You said: slow question")
    assert said(server) == ["slow question"] * 2


@pytest.mark.parametrize(
    ("key", "edited"),
    [
        ("\x1b[D", "slow questioXn"),
        ("\x1b[C", "slow questionX"),
        ("\x1b[H", "Xslow question"),
        ("\x1b[F", "slow questionX"),
        ("\x01", "Xslow question"),
        ("\x05", "slow questionX"),
        ("\x02", "slow questioXn"),
        ("\x1bb", "slow Xquestion"),
    ],
    ids=["left", "right", "home", "end", "ctrl-a", "ctrl-e", "ctrl-b", "alt-b"],
)
def test_a_key_that_moves_lets_what_was_put_back_be_edited(
    chat: Chat, server: ScriptedServer, connected: dict[str, str], key: str, edited: str
) -> None:
    terminal = chat(**connected)
    stopped(server, terminal)
    terminal.send(key + "X")
    terminal.wait(lambda: terminal.line().rstrip() == f"> {edited}", "the edited line")


def test_a_command_typed_ahead_of_what_is_put_back_comes_first_and_nothing_is_lost(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    from tests.server import hang

    server.script(hang)
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("slow question")
    terminal.wait(lambda: bool(server.chats), "the request")
    terminal.send("/history\r")
    terminal.send("\x03")
    terminal.wait(lambda: terminal.line().rstrip() == "> /history", "the command alone")
    terminal.send("\r")
    terminal.see("Nothing was said")
    terminal.wait(lambda: terminal.line().rstrip() == "> slow question", "what was put back")
    terminal.send("\r")
    terminal.see("You said: slow question")


def test_a_message_that_is_edited_is_not_selected(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.say("good morning")
    terminal.see("You said:")
    terminal.prompt()
    terminal.say("/edit")
    terminal.wait(lambda: terminal.line().rstrip() == "> good morning", "the message")
    terminal.send("s")
    terminal.wait(lambda: terminal.line().rstrip() == "> good mornings", "the longer message")


def test_three_quotation_marks_open_and_end_a_block(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    for line in ('"""', "/reset", "is a command", '"""'):
        terminal.say(line)
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_a_block_whose_lines_come_before_they_can_be_drawn_is_one_message(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat(**connected)
    terminal.prompt()
    terminal.send('"""\r/reset\ris a command\r')
    terminal.wait(
        lambda: "command" in terminal.near_cursor() and not terminal.line().strip(), "the next line"
    )
    terminal.say('"""')
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_a_block_is_one_message_in_plain_reading_too(
    chat: Chat, server: ScriptedServer, connected: dict[str, str]
) -> None:
    terminal = chat("--plain", **connected)
    terminal.prompt()
    for line in ('"""', "/reset", "is a command", '"""'):
        terminal.send(f"{line}\r")
    terminal.see("You said:")
    assert said(server) == ["/reset\nis a command"]


def test_help_by_a_question_mark_and_other_names_of_commands(chat: Chat) -> None:
    terminal = chat(rows=60)
    terminal.prompt()
    terminal.say("?")
    terminal.see("/save")
    terminal.prompt()
    terminal.say("/clear")
    terminal.see("This session is empty already.")
    terminal.prompt()
    terminal.say("/rese")
    terminal.see("There is no /rese.")
    terminal.prompt()
    terminal.say("/bye")
    assert terminal.ended() == 0
